//! A record of an event log exactly as it stands on disk.

use crate::json::{self, Dialect, Member, Scan, ScanError, Style, Value};
use crate::model::time::is_log_time;

/// What an event log holds, in its recipe's words.
pub(super) const EVENTS: &str = "events";

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
    Append(Value<'a>),
    /// The whole list after an edit.
    Edit(Value<'a>),
    /// One message by its place, as the format's first description has it.
    EditAt(u64, Value<'a>),
    Undo(Option<u64>),
    Checkpoint(Value<'a>),
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
pub(super) fn parse<'a>(text: &'a [u8], spare: &mut Vec<Member<'a>>) -> Result<(Parsed<'a>, Scan<'a>), ScanError> {
    match json::validate_object(text, Dialect::Python, spare) {
        Ok(scan) => Ok((usual(spare).map_or(Parsed::Other, Parsed::Usual), scan)),
        Err(error) => match json::validate(text, Dialect::Python) {
            Ok(scan) => Ok((Parsed::Other, scan)),
            Err(_) => Err(error),
        },
    }
}

fn usual<'a>(members: &[Member<'a>]) -> Option<EventRecord<'a>> {
    let [seq, ts, kind, payload] = members else { return None };
    if [seq, ts, kind, payload]
        .iter()
        .zip([&b"\"seq\""[..], b"\"ts\"", b"\"type\"", b"\"payload\""])
        .any(|(member, key)| member.key() != key)
    {
        return None;
    }
    let number = whole_number(seq.value())?;
    let ts = ts.value().text().strip_prefix(b"\"")?.strip_suffix(b"\"").filter(|ts| is_log_time(ts))?;
    if !payload.value().is_object() {
        return None;
    }
    let fields: Vec<Member<'a>> = payload.value().all_members();
    let fields: Vec<(&[u8], Value<'a>)> = fields.iter().map(|field| (field.key(), field.value())).collect();
    let step = match (kind.value().text(), fields.as_slice()) {
        (b"\"message_append\"", [(b"\"message\"", message)]) => Step::Append(*message),
        (b"\"message_edit\"", [(b"\"messages\"", list)]) if list.is_array() => Step::Edit(*list),
        (b"\"message_edit\"", [(b"\"index\"", index), (b"\"message\"", message)]) => Step::EditAt(whole_number(*index)?, *message),
        (b"\"undo\"", []) => Step::Undo(None),
        (b"\"undo\"", [(b"\"n\"", n)]) => Step::Undo(Some(whole_number(*n)?)),
        (b"\"checkpoint\"", [(b"\"messages\"", list)]) if list.is_array() => Step::Checkpoint(*list),
        _ => return None,
    };
    Some(EventRecord { number, ts: std::str::from_utf8(ts).ok()?, step })
}

/// Returns a number that is written as we would write it.
fn whole_number(number: Value<'_>) -> Option<u64> {
    let value: u64 = number.parse()?;
    (value.to_string().as_bytes() == number.text()).then_some(value)
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
