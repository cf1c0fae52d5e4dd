//! Records on their way into events: by their table, or carried as they are.

use std::collections::HashSet;

use crate::adapters::kit::mapping::{Table, has_a_name_twice};
use crate::json::{self, Member};
use crate::model::event::EventKind;

use super::entry::get;
use super::schema::TreeSchema;

/// An event about to be put.
pub(super) struct Draft<'d> {
    pub(super) kind: EventKind,
    pub(super) ts: Option<&'d str>,
    pub(super) payload: Vec<u8>,
    pub(super) table: Option<&'static Table>,
    pub(super) shape: usize,
    /// What the payload ends in, with its shape.
    pub(super) shape_text: String,
    /// The place in the record of the value that later records may share.
    pub(super) first: Option<std::ops::Range<usize>>,
    /// What the message says, as a key.
    pub(super) key: Option<[u64; 2]>,
}

/// Returns what a payload of this shape ends in.
pub(super) fn shape_text(shape: usize) -> String {
    if shape == 0 { "}".to_owned() } else { format!(",\"shape\":{shape}}}") }
}

/// Of equal keys the last counts; what else stood there is left to the
/// residual.
pub(super) fn leave_last(members: &mut Vec<Member<'_>>) {
    if has_a_name_twice(members) {
        let mut later = HashSet::new();
        let is_last: Vec<bool> = members.iter().rev().map(|member| later.insert(member.name())).collect();
        let mut is_last = is_last.into_iter().rev();
        members.retain(|_| is_last.next().unwrap_or(true));
    }
}

/// Returns a record that no table fits, carried as it is.
pub(super) fn whole<'d, S: TreeSchema>(text: &[u8], members: &[Member<'d>], schema: S, traits: &S::Traits) -> Draft<'d> {
    let (before, after) = schema.frame(traits, members);
    let mut payload = b"{".to_vec();
    payload.extend_from_slice(before.as_bytes());
    for (name, key) in [("source_id", S::KEYS.id), ("record_type", S::KEYS.record_type)] {
        if let Some(value) = get(members, key).filter(|value| value.first() == Some(&b'"')) {
            json::push_string(name, &mut payload);
            payload.push(b':');
            json::push_carried_string(value, S::STYLE.escapes, &mut payload);
            payload.push(b',');
        }
    }
    payload.extend_from_slice(b"\"record\":");
    json::push_carried_value(text.trim_ascii(), S::STYLE.escapes, &mut payload);
    payload.extend_from_slice(after.as_bytes());
    payload.push(b'}');
    let ts = get(members, S::KEYS.time).and_then(|value| value.strip_prefix(b"\"")?.strip_suffix(b"\""));
    let ts = ts.filter(|ts| crate::model::time::is_log_time(ts)).and_then(|ts| std::str::from_utf8(ts).ok());
    Draft { kind: EventKind::Custom, ts, payload, table: None, shape: 0, shape_text: String::new(), first: None, key: None }
}

/// Renders a record that is carried as it is.
pub(in crate::adapters) fn push_whole<S: TreeSchema>(payload: &[u8], out: &mut Vec<u8>) {
    if let Some(record) = json::members(payload).find(|member| member.is("record")) {
        S::STYLE.push_value(record.value, out);
    }
}
