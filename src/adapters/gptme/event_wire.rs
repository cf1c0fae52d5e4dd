//! A record of an event log exactly as it stands on disk.

use crate::model::json::{self, Dialect, Facts, Kind, Member, ScanError, Style};
use crate::model::time::is_log_time;

/// An event record in the writer's own form.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventRecord<'a> {
    /// The record's own number.
    pub number: u64,
    /// Its time, in the log's form.
    pub ts: &'a str,
    pub step: Step<'a>,
}

/// What an event record does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Append(&'a [u8]),
    /// The whole list after an edit.
    Edit(&'a [u8]),
    /// One message by its place, as the format's first description has it.
    EditAt(u64, &'a [u8]),
    Undo(Option<u64>),
    Checkpoint(&'a [u8]),
}

/// A JSON record of an event log.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    /// In the writer's own form.
    Usual(EventRecord<'a>),
    /// Anything else that is JSON.
    Other,
}

/// Reads one record. An error is a line that is not JSON.
pub(super) fn parse<'a>(text: &'a [u8], spare: &mut Vec<Member<'a>>) -> Result<(Parsed<'a>, Facts), ScanError> {
    match json::scan_object(text, Dialect::Python, spare) {
        Ok(facts) => Ok((usual(spare).map_or(Parsed::Other, Parsed::Usual), facts)),
        Err(error) => match json::scan_value(text, Dialect::Python) {
            Ok(scan) if text[scan.end..].trim_ascii().is_empty() => Ok((Parsed::Other, scan.facts)),
            _ => Err(error),
        },
    }
}

fn usual<'a>(members: &[Member<'a>]) -> Option<EventRecord<'a>> {
    let [seq, ts, kind, payload] = members else { return None };
    if [seq, ts, kind, payload].iter().zip([&b"\"seq\""[..], b"\"ts\"", b"\"type\"", b"\"payload\""]).any(|(member, key)| member.key != key)
    {
        return None;
    }
    let number = whole_number(seq.value)?;
    let ts = ts.value.strip_prefix(b"\"")?.strip_suffix(b"\"").filter(|ts| is_log_time(ts))?;
    if json::kind_of(payload.value) != Kind::Object {
        return None;
    }
    let fields: Vec<Member<'a>> = json::all_members(payload.value);
    let fields: Vec<(&[u8], &'a [u8])> = fields.iter().map(|field| (field.key, field.value)).collect();
    let step = match (kind.value, fields.as_slice()) {
        (b"\"message_append\"", [(b"\"message\"", message)]) => Step::Append(message),
        (b"\"message_edit\"", [(b"\"messages\"", list)]) if json::kind_of(list) == Kind::Array => Step::Edit(list),
        (b"\"message_edit\"", [(b"\"index\"", index), (b"\"message\"", message)]) => Step::EditAt(whole_number(index)?, message),
        (b"\"undo\"", []) => Step::Undo(None),
        (b"\"undo\"", [(b"\"n\"", n)]) => Step::Undo(Some(whole_number(n)?)),
        (b"\"checkpoint\"", [(b"\"messages\"", list)]) if json::kind_of(list) == Kind::Array => Step::Checkpoint(list),
        _ => return None,
    };
    Some(EventRecord { number, ts: std::str::from_utf8(ts).ok()?, step })
}

/// A number that is written as we would write it.
fn whole_number(text: &[u8]) -> Option<u64> {
    let value: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (value.to_string().as_bytes() == text).then_some(value)
}

/// The outer part of a record: `{"seq": 1, "ts": "…", "type": "…", "payload": {`.
pub(super) fn open(number: u64, ts: &str, kind: &str, style: Style, out: &mut Vec<u8>) {
    out.push(b'{');
    let fields = [("seq", number.to_string()), ("ts", format!("\"{ts}\"")), ("type", format!("\"{kind}\""))];
    for (name, value) in fields {
        key(name, style, out);
        out.extend_from_slice(value.as_bytes());
        style.push_comma(out);
    }
    key("payload", style, out);
    out.push(b'{');
}

/// `"name": `.
pub(super) fn key(name: &str, style: Style, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.push(b'"');
    style.push_colon(out);
}
