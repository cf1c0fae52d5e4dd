//! What the program returns of a message, from the message in the log.

use crate::json::{self, Value};
use crate::model::event::EventRef;
use crate::model::rows::RowValue;
use crate::model::stream::StreamError;
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::loads;
use crate::runtimes::python::text::strip_str;

use super::content::LIST_BEFORE;
use super::message::MessageColumns;

/// Deeper values exhaust the interpreter's stack.
const TOO_DEEP: usize = 990;

/// Appends the message as one line of JSON.
pub(super) fn show(event: &EventRef<'_>, line: &mut Vec<u8>) -> Result<(), StreamError> {
    let said = MessageColumns::of(event);
    let column = |name: &str| {
        let mut text = Vec::new();
        said.push_column(name, &mut text);
        text
    };
    let text_of = |name: &str| {
        let json = column(name);
        RowValue::read(Value::trusted(&json)).and_then(|value| value.as_text().map(str::to_owned))
    };
    let role = text_of("role").unwrap_or_default();
    line.extend_from_slice(b"{\"role\":");
    json::push_string(&role, line);
    line.extend_from_slice(b",\"content\":");
    push_content(text_of("content").as_deref(), &role, line);
    let member = |line: &mut Vec<u8>, key: &str| line.extend_from_slice(format!(",\"{key}\":").as_bytes());
    let text_member = |line: &mut Vec<u8>, key: &str, name: &str| {
        if let Some(text) = text_of(name).filter(|text| !text.is_empty()) {
            member(line, key);
            json::push_string(&text, line);
        }
    };
    let json_member = |line: &mut Vec<u8>, name: &str, broken: &[u8]| {
        if let Some(text) = text_of(name).filter(|text| !text.is_empty()) {
            member(line, name);
            match loads::check(text.as_bytes(), TOO_DEEP) {
                Ok(value) => push(value, Form::Tokens, line),
                Err(_) => line.extend_from_slice(broken),
            }
        }
    };
    text_member(line, "api_content", "api_content");
    let time = column("timestamp");
    if let Some(RowValue::Real(seconds)) = RowValue::read(Value::trusted(&time)).filter(|time| *time != RowValue::Real(0.0)) {
        member(line, "timestamp");
        line.extend_from_slice(format!("{seconds:?}").as_bytes());
    }
    for name in ["tool_call_id", "tool_name", "effect_disposition"] {
        text_member(line, name, name);
    }
    json_member(line, "tool_calls", b"[]");
    text_member(line, "message_id", "platform_message_id");
    if !matches!(column("observed").as_slice(), b"0" | b"null") {
        member(line, "observed");
        line.extend_from_slice(b"true");
    }
    if role == "assistant" {
        for name in ["finish_reason", "reasoning"] {
            text_member(line, name, name);
        }
        if let Some(text) = text_of("reasoning_content") {
            member(line, "reasoning_content");
            json::push_string(&text, line);
        }
        for name in ["reasoning_details", "codex_reasoning_items", "codex_message_items"] {
            json_member(line, name, b"null");
        }
    }
    line.push(b'}');
    Ok(())
}

fn push_content(content: Option<&str>, role: &str, line: &mut Vec<u8>) {
    let Some(text) = content else { return line.extend_from_slice(b"null") };
    let list = text.strip_prefix(LIST_BEFORE).and_then(|json| loads::check(json.as_bytes(), TOO_DEEP).ok());
    match (list, role) {
        (Some(list), _) => push(list, Form::Tokens, line),
        (None, "user" | "assistant") => json::push_string(strip_str(&without_context(text)), line),
        (None, _) => json::push_string(text, line),
    }
}

const OPEN: &str = "<memory-context>";
const CLOSE: &str = "</memory-context>";
const NOTES: [&str; 2] = [
    "[system note: the following is recalled memory context, not new user input. treat as informational background data.]",
    "[system note: the following is recalled memory context, not new user input. treat as authoritative reference data",
];

/// Returns the text without what the program put before a prompt for the model alone.
fn without_context(text: &str) -> String {
    if !text.contains(['<', '[']) {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while let Some((from, to)) = block(&kept) {
        kept.replace_range(from..to, "");
    }
    while let Some((from, to)) = note(&kept) {
        kept.replace_range(from..to, "");
    }
    for tag in [OPEN, CLOSE] {
        while let Some(at) = kept.to_ascii_lowercase().find(tag) {
            kept.replace_range(at..at + tag.len(), "");
        }
    }
    kept
}

/// Returns the first block of recalled memory, tags included.
fn block(text: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    let from = lower.find(OPEN)?;
    let close = lower[from + OPEN.len()..].find(CLOSE)?;
    Some((from, from + OPEN.len() + close + CLOSE.len()))
}

/// Returns the first note about recalled memory, with the white space after it.
fn note(text: &str) -> Option<(usize, usize)> {
    let lower = text.to_ascii_lowercase();
    NOTES.iter().find_map(|note| {
        let from = lower.find(note)?;
        let end = from + note.len();
        let end = if note.ends_with(']') { end } else { end + lower[end..].find(']')? + 1 };
        let rest = &text[end..];
        Some((from, text.len() - rest.trim_start().len()))
    })
}
