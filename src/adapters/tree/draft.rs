//! Records on their way into events: what is put, and what no table fits.

use std::collections::HashSet;

use crate::adapters::mapping::{Table, has_a_name_twice};
use crate::model::event::EventKind;
use crate::model::json::{self, Kind, Member};

use super::entry::get;
use super::js;
use super::read::{Renames, USUAL};
use super::tables::{Record, Words};

/// An event about to be put.
pub(super) struct Draft<'d> {
    pub(super) kind: EventKind,
    pub(super) ts: Option<&'d str>,
    pub(super) payload: Vec<u8>,
    pub(super) table: Option<&'static Table>,
    pub(super) shape: usize,
    /// What the payload ends in, with its shape.
    pub(super) shape_text: String,
    /// What the message says, as a key.
    pub(super) key: Option<[u64; 2]>,
}

/// What a payload of this shape ends in.
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

/// Whether a record is a message in a role that its program renames.
fn is_hook(members: &[Member<'_>]) -> bool {
    let message = get(members, "message").filter(|message| json::kind_of(message) == Kind::Object);
    message.is_some_and(|message| {
        let inside: Vec<Member<'_>> = json::all_members(message);
        js::map_key(get(&inside, "role")).as_deref() == Some(b"\"hookMessage\"")
    })
}

/// A record that no table fits, carried as it is.
pub(super) fn whole<'d>(text: &[u8], members: &[Member<'d>], words: Words, renames: Renames) -> Draft<'d> {
    let mut payload = b"{".to_vec();
    if renames == Renames::Hooks && is_hook(members) {
        payload.extend_from_slice(b"\"role\":\"custom\",");
    }
    for (name, key) in [("source_id", "id"), ("record_type", "type")] {
        if let Some(value) = get(members, key).filter(|value| value.first() == Some(&b'"')) {
            json::push_string(name, &mut payload);
            payload.push(b':');
            json::push_carried_string(value, USUAL.escapes, &mut payload);
            payload.push(b',');
        }
    }
    payload.extend_from_slice(b"\"record\":");
    json::push_carried_value(text.trim_ascii(), USUAL.escapes, &mut payload);
    if let Some(mark) = words.mark() {
        payload.extend_from_slice(b",\"words\":");
        payload.extend_from_slice(mark);
    }
    payload.push(b'}');
    let ts = get(members, "timestamp").and_then(|value| value.strip_prefix(b"\"")?.strip_suffix(b"\""));
    let ts = ts.filter(|ts| crate::model::time::is_log_time(ts)).and_then(|ts| std::str::from_utf8(ts).ok());
    Draft { kind: EventKind::Custom, ts, payload, table: None, shape: 0, shape_text: String::new(), key: None }
}

/// Renders a record that is carried as it is.
pub(in crate::adapters) fn push_whole(payload: &[u8], out: &mut Vec<u8>) {
    if let Some(record) = json::members(payload).find(|member| member.is("record")) {
        USUAL.push_value(record.value, out);
    }
}

pub(super) fn event_kind(record: Record) -> EventKind {
    match record {
        Record::UserMessage | Record::AssistantMessage | Record::ResultMessage | Record::CustomMessage => EventKind::Message,
        Record::Header | Record::Info => EventKind::Meta,
        Record::Thinking => EventKind::SettingChange,
        Record::Model => EventKind::ModelChange,
        Record::Compaction => EventKind::Compaction,
        Record::BranchSummary => EventKind::BranchSummary,
        Record::Custom | Record::Whole => EventKind::Custom,
        Record::Label => EventKind::Label,
        Record::Usage => EventKind::Usage,
        Record::Edit => EventKind::Edit,
    }
}
