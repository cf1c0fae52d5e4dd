//! What the first bytes of a file say: whether it is of this program.

use crate::json::{self, Dialect, Kind};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::javascript::{Type, Value};

/// So many lines of a file are looked at.
const FEW_LINES: usize = 64;

/// The types of messages that the program writes.
const TYPES: [&str; 5] = ["user", "gemini", "info", "error", "warning"];

/// Tells whether the beginning of a file is that of a session, by its metadata.
pub(super) fn is_session(first: &[u8]) -> bool {
    // Every file of a folder is looked at, whichever program's it is.
    if memchr::memmem::find(first, b"\"projectHash\"").is_none() {
        return false;
    }
    let names_both = |value: Value<'_>| {
        let [session, project] = value.get_all(["sessionId", "projectHash"]);
        session.type_of() == Type::String && project.type_of() == Type::String
    };
    objects(first).any(|value| names_both(value) || names_both(value.get("$set"))) || begins_whole(first)
}

/// Tells whether the beginning of a file is that of a session whose metadata is
/// lost: patches, or answers of the model.
pub(super) fn is_headless(first: &[u8]) -> bool {
    objects(first).any(|value| {
        let [set, kind, id, time] = value.get_all(["$set", "type", "id", "timestamp"]);
        let is_message = TYPES.iter().any(|known| kind.is(known)) && id.type_of() == Type::String && time.type_of() == Type::String;
        let [updated, messages] = set.get_all(["lastUpdated", "messages"]);
        is_message || updated.type_of() == Type::String || messages.type_of() == Type::Array
    })
}

fn objects(first: &[u8]) -> impl Iterator<Item = Value<'_>> {
    let lines = Lines::new(first, Newlines::Universal).take(FEW_LINES);
    lines.filter_map(|line| Value::parse(line.text)).filter(|value| value.type_of() == Type::Object)
}

/// A whole-file session begins with its metadata, be it complete or cut off.
fn begins_whole(first: &[u8]) -> bool {
    let mut has = [false; 2];
    for (key, value) in first_members(first) {
        for (name, has) in ["\"sessionId\"", "\"projectHash\""].iter().zip(&mut has) {
            *has |= key == name.as_bytes() && value.first() == Some(&b'"');
        }
    }
    has == [true; 2]
}

/// The outermost members in the first bytes of an object, as far as they are
/// complete.
fn first_members(first: &[u8]) -> Vec<(&[u8], &[u8])> {
    let blank = |at: usize| at + first[at.min(first.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut found = Vec::new();
    let mut at = blank(0);
    if first.get(at) != Some(&b'{') {
        return found;
    }
    at = blank(at + 1);
    while first.get(at) == Some(&b'"') {
        let Ok(key) = json::scan_value(&first[at..], Dialect::Strict) else { break };
        let name = &first[at..at + key.end];
        at = blank(at + key.end);
        if first.get(at) != Some(&b':') {
            break;
        }
        at = blank(at + 1);
        let Ok(value) = json::scan_value(&first[at..], Dialect::Strict) else { break };
        found.push((name, &first[at..at + value.end]));
        at = blank(at + value.end);
        if first.get(at) != Some(&b',') {
            break;
        }
        at = blank(at + 1);
    }
    found
}

/// Tells whether the beginning of a file is that of a saved chat: turns with a
/// role and parts, in a list by itself or under `history`.
pub(super) fn is_chat(first: &[u8]) -> bool {
    let text = first.trim_ascii_start();
    let list = match text.first() {
        Some(b'[') => text,
        Some(b'{') => {
            let Some(rest) = text[1..].trim_ascii_start().strip_prefix(b"\"history\"") else { return false };
            match rest.trim_ascii_start().strip_prefix(b":") {
                Some(list) => list.trim_ascii_start(),
                None => return false,
            }
        }
        _ => return false,
    };
    let Some(turn) = list.strip_prefix(b"[") else { return false };
    let rest = turn.trim_ascii_start();
    if rest.starts_with(b"]") {
        // An empty history says nothing, but its key does.
        return text.starts_with(b"{");
    }
    let Some(rest) = rest.strip_prefix(b"{") else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b"\"role\"") else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start) else { return false };
    let Some(rest) = rest.strip_prefix(b"\"user\"").or_else(|| rest.strip_prefix(b"\"model\"")) else { return false };
    let Some(rest) = rest.trim_ascii_start().strip_prefix(b",") else { return false };
    rest.trim_ascii_start().starts_with(b"\"parts\"")
}

/// Tells whether a file is the list of a project's prompts.
pub(super) fn is_prompts(first: &[u8]) -> bool {
    let text = first.trim_ascii_start();
    let Some(row) = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start) else { return false };
    let names: Vec<&[u8]> = first_members(row).into_iter().map(|(key, _)| key).collect();
    ["\"sessionId\"", "\"messageId\"", "\"type\"", "\"message\""].iter().all(|name| names.contains(&name.as_bytes()))
}

/// Tells whether a file is the list of projects.
pub(super) fn is_projects(bytes: &[u8]) -> bool {
    Value::parse(bytes).is_some_and(|value| {
        let projects = value.get("projects");
        projects.type_of() == Type::Object && projects.members().all(|member| json::kind_of(member.value) == Kind::String)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_told_by_their_metadata() {
        assert!(is_session(b"{\"sessionId\":\"a\",\"projectHash\":\"b\"}\n"));
        assert!(is_session(b"\n{\"$set\":{\"sessionId\":\"a\",\"projectHash\":\"b\"}}\n"));
        assert!(is_session(b"{\n  \"sessionId\": \"a\",\n  \"projectHash\": \"b\",\n  \"messages\": [\n    {\"id\""));
        assert!(!is_session(b"{\"sessionId\":\"a\",\"cwd\":\"/\"}\n"));
        assert!(!is_session(b"{\"text\":\"\\\"sessionId\\\":\\\"a\\\",\\\"projectHash\\\":\\\"b\\\"\"}\n"));
        assert!(is_headless(b"{\"$set\":{\"lastUpdated\":\"2026-11-18T06:29:38.503Z\"}}\n"));
        assert!(!is_headless(b"{\"id\":\"a\",\"type\":\"message\",\"timestamp\":\"x\"}\n"));
    }

    #[test]
    fn saved_chats_are_told_by_their_turns() {
        assert!(is_chat(b"{\n  \"history\": [\n    {\n      \"role\": \"user\",\n      \"parts\": [\n"));
        assert!(is_chat(b"[\n  {\n    \"role\": \"model\",\n    \"parts\": ["));
        assert!(!is_chat(b"[{\"role\":\"user\",\"content\":\"x\"}]"));
        assert!(!is_chat(b"[]"));
    }
}
