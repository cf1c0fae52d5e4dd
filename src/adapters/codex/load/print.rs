//! Items as they are sent: without what only the program needs.

use crate::json::Value;

use super::entry::{Entry, parts};
use super::item::Kind;
use super::object::Object;
use super::parts::{self, Part};

/// Writes the item that is sent for an entry.
pub(super) fn push(entry: &Entry<'_>, out: &mut Vec<u8>) {
    match entry {
        Entry::Stored(kind, item) => push_stored(*kind, *item, Output::Whole, out),
        Entry::Output(kind, item) => push_stored(*kind, *item, Output::WithoutEmptyTexts, out),
        Entry::Cut(item, parts) => push_message(*item, parts.iter().copied(), out),
        Entry::Prompt(id, texts) => push_prompt(*id, texts, out),
        Entry::Communication(payload) => push_communication(*payload, out),
    }
}

/// Which parts of an output are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Whole,
    WithoutEmptyTexts,
}

/// Writes the id of an item, where it is one that the server gave.
fn push_id(object: &mut Object<'_>, id: Option<Value<'_>>) {
    let is_servers = |id: &Value<'_>| id.to_str().split_once('_').is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
    object.present("id", id.filter(|id| id.is_string() && is_servers(id)));
}

fn push_message<'a>(item: Value<'a>, content: impl Iterator<Item = Value<'a>>, out: &mut Vec<u8>) {
    let [id, status, role, phase] = item.get_each(["id", "status", "role", "phase"]);
    let mut object = Object::new(out);
    object.text("type", Kind::Message.name());
    push_id(&mut object, id);
    object.present("status", status);
    object.nullable("role", role);
    object.member("content", |out| parts::push_list(content, out));
    object.present("phase", phase);
    object.close();
}

fn push_prompt(id: Option<Value<'_>>, texts: &[String], out: &mut Vec<u8>) {
    let mut object = Object::new(out);
    object.text("type", Kind::Message.name());
    push_id(&mut object, id);
    object.text("role", "user");
    object.member("content", |out| push_texts(texts.iter().map(String::as_str), out));
    object.close();
}

fn push_communication(payload: Value<'_>, out: &mut Vec<u8>) {
    let [id, author, recipient, content] = payload.get_each(["id", "author", "recipient", "content"]);
    let mut object = Object::new(out);
    object.text("type", Kind::AgentMessage.name());
    push_id(&mut object, id);
    object.nullable("author", author);
    object.nullable("recipient", recipient);
    match payload.get("encrypted_content").filter(|encrypted| encrypted.is_string()) {
        None => object.member("content", |out| push_texts(std::iter::once(content.unwrap_or_default().to_str().as_ref()), out)),
        Some(encrypted) => object.member("content", |out| push_sealed(payload, encrypted, out)),
    }
    object.close();
}

/// Writes what stands for a content that only the server can read.
fn push_sealed(payload: Value<'_>, encrypted: Value<'_>, out: &mut Vec<u8>) {
    let [author, recipient, trigger] = payload.get_each(["author", "recipient", "trigger_turn"]).map(Option::unwrap_or_default);
    let kind = if trigger.text() == b"true" { "NEW_TASK" } else { "MESSAGE" };
    let head = format!("Message Type: {kind}\nTask name: {}\nSender: {}\nPayload:\n", recipient.to_str(), author.to_str());
    push_texts(std::iter::once(head.as_str()), out);
    out.pop();
    out.push(b',');
    let mut part = Object::new(out);
    part.text("type", "encrypted_content");
    part.value("encrypted_content", encrypted);
    part.close();
    out.push(b']');
}

fn push_texts<'t>(texts: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut part = Object::new(out);
        part.text("type", "input_text");
        part.text("text", text);
        part.close();
    }
    out.push(b']');
}

fn push_stored(kind: Kind, item: Value<'_>, output: Output, out: &mut Vec<u8>) {
    if kind == Kind::Message {
        return push_message(item, parts(item), out);
    }
    let mut object = Object::new(out);
    object.text("type", kind.name());
    if !matches!(kind, Kind::GhostSnapshot | Kind::Unknown) {
        push_id(&mut object, item.get("id"));
        push_members(kind, item, output, &mut object);
    }
    object.close();
}

/// Writes the members of an item that is not a message.
fn push_members(kind: Kind, item: Value<'_>, output: Output, object: &mut Object<'_>) {
    let present = |object: &mut Object<'_>, names: &[&str]| names.iter().for_each(|name| object.present(name, item.get(name)));
    let nullable = |object: &mut Object<'_>, names: &[&str]| names.iter().for_each(|name| object.nullable(name, item.get(name)));
    match kind {
        Kind::Reasoning => push_reasoning(item, object),
        Kind::FunctionCall => present(object, &["status", "name", "namespace", "arguments", "call_id"]),
        Kind::FunctionCallOutput => {
            present(object, &["call_id", "name", "namespace"]);
            push_output(item, output, object);
        }
        Kind::CustomToolCall => present(object, &["status", "call_id", "name", "namespace", "input"]),
        Kind::CustomToolCallOutput => {
            present(object, &["call_id", "name"]);
            push_output(item, output, object);
        }
        Kind::WebSearchCall => {
            present(object, &["status"]);
            if let Some(action) = item.get("action").filter(|action| action.is_object()) {
                object.member("action", |out| push_search(action, out));
            }
        }
        Kind::LocalShellCall => {
            nullable(object, &["call_id", "status"]);
            object.member("action", |out| push_command(item.get("action").unwrap_or_default(), out));
        }
        Kind::ImageGenerationCall => present(object, &["status", "revised_prompt", "result"]),
        Kind::Compaction | Kind::ContextCompaction => present(object, &["encrypted_content"]),
        Kind::AgentMessage => {
            nullable(object, &["author", "recipient"]);
            object.member("content", |out| parts::push_list(parts(item), out));
        }
        Kind::ToolSearchCall => {
            nullable(object, &["call_id"]);
            present(object, &["status", "execution"]);
            nullable(object, &["arguments"]);
        }
        Kind::ToolSearchOutput => nullable(object, &["call_id", "status", "execution", "tools"]),
        Kind::AdditionalTools => nullable(object, &["role", "tools"]),
        Kind::Message | Kind::GhostSnapshot | Kind::Unknown => {}
    }
}

fn push_reasoning(item: Value<'_>, object: &mut Object<'_>) {
    let [summary, content, encrypted] = item.get_each(["summary", "content", "encrypted_content"]);
    object.member("summary", |out| parts::push_list(summary.unwrap_or_default().elements(), out));
    match content.filter(|content| content.is_array()) {
        None => object.value("content", Value::NULL),
        Some(list) if list.elements().any(|part| Part::of(part) == Some(Part::ReasoningText)) => {
            object.member("content", |out| parts::push_list(list.elements(), out));
        }
        // Only the raw thoughts of a model are sent back to it.
        Some(_) => {}
    }
    object.nullable("encrypted_content", encrypted);
}

fn push_output(item: Value<'_>, which: Output, object: &mut Object<'_>) {
    let output = item.get("output").unwrap_or_default();
    let is_empty = |part: &Value<'_>| part.get("text").is_some_and(|text| text.is_str(""));
    let is_sent = |part: &Value<'_>| which == Output::Whole || !is_empty(part);
    match output.is_array() {
        true => object.member("output", |out| parts::push_list(output.elements().filter(is_sent), out)),
        false => object.value("output", output),
    }
}

fn push_search(action: Value<'_>, out: &mut Vec<u8>) {
    let kind = action.get("type").unwrap_or_default().to_str();
    let (name, members): (&str, &[&str]) = match kind.as_ref() {
        "search" => ("search", &["query", "queries"]),
        "open_page" => ("open_page", &["url"]),
        "find_in_page" => ("find_in_page", &["url", "pattern"]),
        _ => ("other", &[]),
    };
    let mut object = Object::new(out);
    object.text("type", name);
    members.iter().for_each(|member| object.present(member, action.get(member)));
    object.close();
}

fn push_command(action: Value<'_>, out: &mut Vec<u8>) {
    let mut object = Object::new(out);
    object.text("type", "exec");
    for name in ["command", "timeout_ms", "working_directory", "env", "user"] {
        object.nullable(name, action.get(name));
    }
    object.close();
}
