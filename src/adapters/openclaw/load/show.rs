//! Entries as the messages that the program makes of them.

use std::borrow::Cow;

use crate::json::{Kind, kind_of, members};
use crate::runtimes::javascript::{Numbers, decode, is_truthy, lossy, member, parse_date, printed_raw, push_printed_raw, stringify};

use super::rows::{Role, Row, Said, Type};
use super::tree::Age;

/// Tells whether an entry becomes a message that must have a time.
#[must_use]
pub fn needs_time(row: &Row<'_>) -> bool {
    row.kind() == Type::CustomMessage || is_branch_summary(row)
}

fn is_branch_summary(row: &Row<'_>) -> bool {
    row.kind() == Type::BranchSummary && row.member("summary").is_some_and(is_truthy)
}

/// Returns an entry's time in milliseconds, where that is a text.
#[must_use]
pub fn time(row: &Row<'_>) -> Option<i64> {
    let time = row.member("timestamp").filter(|time| kind_of(time) == Kind::String)?;
    parse_date(&lossy(&decode(time)))
}

/// The message in place of what a compaction leaves out.
pub fn push_summary(row: &Row<'_>, out: &mut Vec<u8>) {
    push_made("compactionSummary", &["summary", "tokensBefore"], row, out);
}

/// Returns the message of an entry that the program reads as it is stored; nothing where
/// it changes it, or the entry is another one.
#[must_use]
pub fn stored_message<'a>(row: &Row<'a>, age: Age) -> Option<Cow<'a, [u8]>> {
    let message = row.message.filter(|message| row.kind() == Type::Message && change(message, row.said, age).is_none())?;
    Some(if row.said.stands { Cow::Borrowed(message) } else { printed_raw(message, Numbers::Kept) })
}

/// The message of an entry; nothing where it has none.
pub fn push_entry(row: &Row<'_>, age: Age, out: &mut Vec<u8>) {
    if row.kind() == Type::Message {
        row.message.into_iter().for_each(|message| push_message(message, row.said, age, out));
    } else if row.kind() == Type::CustomMessage {
        push_made("custom", &["customType", "content", "display", "details"], row, out);
    } else if is_branch_summary(row) {
        push_made("branchSummary", &["summary", "fromId"], row, out);
    }
}

/// A message that the program makes of an entry's members.
fn push_made(role: &str, names: &[&str], row: &Row<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"role\":\"{role}\"").as_bytes());
    for name in names {
        if let Some(value) = row.member(name) {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            push(value, out);
        }
    }
    out.extend_from_slice(format!(",\"timestamp\":{}}}", time(row).unwrap_or_default()).as_bytes());
}

fn push(value: &[u8], out: &mut Vec<u8>) {
    push_printed_raw(value, Numbers::Kept, out);
}

/// Returns a value as text: strings as they are, all else as JSON.
#[must_use]
pub fn text_or_json(value: &[u8]) -> String {
    if kind_of(value) == Kind::String {
        return lossy(&decode(value));
    }
    String::from_utf8(stringify(value)).unwrap_or_default()
}

/// What the program changes in a message when it reads it.
enum Change<'a> {
    Role,
    TextToParts(&'a [u8]),
    PartToParts(&'a [u8]),
}

fn push_message(message: &[u8], said: Said, age: Age, out: &mut Vec<u8>) {
    let Some(change) = change(message, said, age) else { return push(message, out) };
    let changed = match change {
        Change::Role => "role",
        Change::TextToParts(_) | Change::PartToParts(_) => "content",
    };
    out.push(b'{');
    for member in members(message).filter(|member| member.name() != changed) {
        push(member.key, out);
        out.push(b':');
        push(member.value, out);
        out.push(b',');
    }
    match change {
        Change::Role => out.extend_from_slice(b"\"role\":\"custom\"}"),
        Change::TextToParts(text) => {
            out.extend_from_slice(b"\"content\":[{\"type\":\"text\",\"text\":");
            push(text, out);
            out.extend_from_slice(b"}]}");
        }
        Change::PartToParts(part) => {
            out.extend_from_slice(b"\"content\":[");
            push(part, out);
            out.extend_from_slice(b"]}");
        }
    }
}

fn change(message: &[u8], said: Said, age: Age) -> Option<Change<'_>> {
    let content = || member(message, "content");
    match (said.role, said.content) {
        (Role::Hook, _) if age.has_hook_roles() => Some(Change::Role),
        (Role::Assistant | Role::Result, Some(Kind::String)) => content().map(Change::TextToParts),
        (Role::Result, Some(Kind::Object)) => content().map(Change::PartToParts),
        (Role::Assistant | Role::Result | Role::Hook | Role::Other, _) => None,
    }
}
