//! Content of a row as canonical parts, and back.
//!
//! A row says its content in up to seven keys: text or parts, reasoning (often
//! twice), tool calls, and on the row of a tool its name (often twice) and the
//! call that it answers.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::kit::mapping::{Content, Leftovers, To};
use crate::json::{self, Escapes, Kind, Member, Value};

/// `reasoning_content` says the same as `reasoning`.
const SAME_REASONING: &str = "$reasoning_content";
/// `tool_name` says the same as `name`.
const SAME_NAME: &str = "$tool_name";
/// The content is a list of parts, not a text.
const LIST: &str = "$parts";

/// The keys of a tool call, as the program writes them.
const CALL_KEYS: [&str; 5] = ["id", "call_id", "response_item_id", "type", "function"];

pub(super) struct Rows;

impl Content for Rows {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        // Of equal keys the last counts, as the program has it.
        let get = |name: &str| values.iter().rev().find(|(held, _)| *held == name).map(|(_, value)| Value::from(*value));
        let text = |name: &str| get(name).filter(|value| value.is_string());
        let mut left = Leftovers::default();
        let mut parts = Parts { out, writer, empty: true };
        parts.out.push(b'[');
        let reasoning = text("reasoning");
        if let Some(reasoning) = reasoning {
            parts.open("thinking");
            parts.value("text", reasoning);
            parts.out.push(b'}');
        }
        let answers = text("call_id");
        let name = text("name").filter(|_| answers.is_some());
        if let Some(answers) = answers {
            parts.open("tool_result");
            parts.value("call_id", answers);
            if let Some(name) = name {
                parts.value("name", name);
            }
            parts.out.extend_from_slice(b",\"content\":[");
            parts.empty = true;
        }
        let content_fits = get("content").is_none_or(|content| parts.content(content, &mut left));
        if answers.is_some() {
            parts.out.extend_from_slice(b"]}");
            parts.empty = false;
        }
        let calls_fit = get("calls").is_none_or(|calls| parts.calls(calls));
        parts.out.push(b']');

        for (fits, key) in [(content_fits, "content"), (calls_fit, "calls")] {
            if !fits {
                left.values.push(key);
            }
        }
        let mut rest = |key: &'static str, fits: bool, same: Option<(Value<'_>, &'static str)>| match (get(key), same) {
            (None, _) => {}
            (Some(value), Some((other, mark))) if value == other => left.marks.push(mark),
            (Some(_), _) if fits => {}
            (Some(_), _) => left.values.push(key),
        };
        rest("reasoning", reasoning.is_some(), None);
        rest("reasoning_content", false, reasoning.map(|text| (text, SAME_REASONING)));
        rest("call_id", answers.is_some(), None);
        rest("name", name.is_some(), None);
        rest("tool_name", false, name.map(|text| (text, SAME_NAME)));
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        let parts = Value::from(parts);
        let of_type = |wanted: &'static str| parts_of_type(parts, wanted).next();
        let of_result = |key: &str| of_type("tool_result").and_then(|result| result.first(key));
        let found = match name {
            "reasoning" => of_type("thinking").and_then(|part| part.first("text")),
            "reasoning_content" => of_type("thinking").and_then(|part| part.first("text")).filter(|_| marked(SAME_REASONING)),
            "call_id" => of_result("call_id"),
            "name" => of_result("name"),
            "tool_name" => of_result("name").filter(|_| marked(SAME_NAME)),
            "content" => {
                let inside = of_result("content").unwrap_or(parts);
                return if marked(LIST) { decode_list(inside, to) } else { decode_text(inside, to) };
            }
            "calls" => return decode_calls(parts, to),
            _ => None,
        };
        if let Some(value) = found {
            to.style.push_value_at(value, to.depth, to.out);
        }
    }
}

/// The parts under construction.
struct Parts<'o> {
    out: &'o mut Vec<u8>,
    writer: Escapes,
    empty: bool,
}

impl Parts<'_> {
    fn open(&mut self, kind: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        self.out.extend_from_slice(b"{\"type\":\"");
        self.out.extend_from_slice(kind.as_bytes());
        self.out.push(b'"');
    }

    fn value(&mut self, key: &str, value: Value<'_>) {
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        json::push_carried_value(value, self.writer, self.out);
    }

    fn content(&mut self, content: Value<'_>, left: &mut Leftovers) -> bool {
        match content.kind() {
            Kind::String => {
                self.open("text");
                self.value("text", content);
                self.out.push(b'}');
                true
            }
            Kind::Array => {
                for item in content.elements() {
                    self.item(item);
                }
                left.marks.push(LIST);
                true
            }
            Kind::Number | Kind::Object | Kind::True | Kind::False | Kind::Null => false,
        }
    }

    /// One part of the program's own: texts and images are ours too, anything
    /// else is carried whole.
    fn item(&mut self, item: Value<'_>) {
        match simple_item(item) {
            Some(ContentPart::Text(text)) => {
                self.open("text");
                self.value("text", text);
            }
            Some(ContentPart::Image(uri)) => {
                self.open("image");
                self.value("uri", uri);
            }
            None => {
                self.open("other");
                self.value("value", item);
            }
        }
        self.out.push(b'}');
    }

    /// The tool calls, if all of them have the program's own form.
    fn calls(&mut self, calls: Value<'_>) -> bool {
        if !calls.is_array() || calls.elements().next().is_none() || !calls.elements().all(is_usual_call) {
            return false;
        }
        for call in calls.elements() {
            self.open("tool_call");
            for (key, value) in [("id", call.first("id")), ("name", function(call, "name")), ("arguments", function(call, "arguments"))] {
                if let Some(value) = value {
                    self.value(key, value);
                }
            }
            let beside: Vec<Member<'_>> = call.members().filter(|m| matches!(m.name().as_ref(), "call_id" | "response_item_id")).collect();
            for (n, held) in beside.iter().enumerate() {
                self.out.extend_from_slice(if n == 0 { b",\"ext\":{" } else { b"," });
                json::push_carried_string(held.key(), self.writer, self.out);
                self.out.push(b':');
                json::push_carried_value(held.value(), self.writer, self.out);
            }
            self.out.extend_from_slice(if beside.is_empty() { b"}" } else { b"}}" });
        }
        true
    }
}

fn function<'v>(call: Value<'v>, name: &str) -> Option<Value<'v>> {
    call.first("function").and_then(|function| function.first(name))
}

/// Returns the type of a part in the log: its first member.
fn part_type(part: Value<'_>) -> Option<&str> {
    let first = part.members().next().filter(|member| member.key() == b"\"type\"")?.value().text();
    std::str::from_utf8(first.get(1..first.len().checked_sub(1)?)?).ok()
}

enum ContentPart<'v> {
    Text(Value<'v>),
    Image(Value<'v>),
}

/// Returns a part with exactly the members that the program writes.
fn simple_item(item: Value<'_>) -> Option<ContentPart<'_>> {
    if !item.is_object() {
        return None;
    }
    let found: Vec<Member<'_>> = item.members().take(3).collect();
    let [kind, held] = found.as_slice() else { return None };
    if kind.key() != b"\"type\"" {
        return None;
    }
    match (kind.value().text(), held.key()) {
        (b"\"text\"", b"\"text\"") => Some(ContentPart::Text(held.value())),
        (b"\"image_url\"", b"\"image_url\"") if held.value().is_object() => {
            let inside: Vec<Member<'_>> = held.value().members().take(2).collect();
            let [url] = inside.as_slice() else { return None };
            (url.key() == b"\"url\"").then_some(ContentPart::Image(url.value()))
        }
        _ => None,
    }
}

fn is_usual_call(call: Value<'_>) -> bool {
    if !call.is_object() {
        return false;
    }
    let mut next = 0;
    let mut in_order = |object: Value<'_>, keys: &[&str]| {
        next = 0;
        object.members().all(|member| match keys.iter().position(|key| member.key() == format!("\"{key}\"").as_bytes()) {
            Some(at) => std::mem::replace(&mut next, at + 1) <= at,
            None => false,
        })
    };
    let has_function = call
        .first("function")
        .is_some_and(|function| function.is_object() && in_order(function, &["name", "arguments"]) && function.members().count() == 2);
    let is_function = call.first("type").is_some_and(|kind| kind.text() == b"\"function\"");
    has_function && call.first("id").is_some() && is_function && in_order(call, &CALL_KEYS)
}

/// For the types that are looked for in every message.
static FINDERS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| ["thinking", "tool_call", "tool_result"].map(Finder::new));

/// Returns the parts of one type. Most lists have none of most types, which to look for
/// the word itself tells faster than to go from part to part.
fn parts_of_type<'p>(parts: Value<'p>, wanted: &'static str) -> impl Iterator<Item = Value<'p>> {
    let finder = FINDERS.iter().find(|finder| finder.needle() == wanted.as_bytes());
    let is_there = finder.is_none_or(|finder| finder.find(parts.text()).is_some());
    let list = if is_there { parts } else { Value::EMPTY_ARRAY };
    list.elements().filter(move |part| part_type(*part) == Some(wanted))
}

/// Returns the parts that are the content itself.
fn own_parts(parts: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    parts.elements().filter(|part| matches!(part_type(*part), Some("text" | "image" | "other")))
}

fn decode_text(parts: Value<'_>, to: To<'_>) {
    if let Some(text) = own_parts(parts).find_map(|part| part.first("text")) {
        to.style.push_value_at(text, to.depth, to.out);
    }
}

fn decode_list(parts: Value<'_>, to: To<'_>) {
    let mut list = vec![b'['];
    for part in own_parts(parts) {
        if list.len() > 1 {
            list.push(b',');
        }
        let value = |key: &str| part.first(key).unwrap_or_default().text();
        match part_type(part) {
            Some("text") => push(&mut list, &[b"{\"type\":\"text\",\"text\":", value("text"), b"}"]),
            Some("image") => push(&mut list, &[b"{\"type\":\"image_url\",\"image_url\":{\"url\":", value("uri"), b"}}"]),
            _ => push(&mut list, &[value("value")]),
        }
    }
    list.push(b']');
    to.style.push_value_at(list.as_slice(), to.depth, to.out);
}

fn decode_calls(parts: Value<'_>, to: To<'_>) {
    let mut list = vec![b'['];
    for part in parts_of_type(parts, "tool_call") {
        if list.len() > 1 {
            list.push(b',');
        }
        let value = |key: &str| part.first(key).unwrap_or_default().text();
        push(&mut list, &[b"{\"id\":", value("id"), b","]);
        for held in part.first("ext").into_iter().flat_map(Value::members) {
            push(&mut list, &[held.key(), b":", held.value().text(), b","]);
        }
        push(&mut list, &[b"\"type\":\"function\",\"function\":{\"name\":", value("name"), b",\"arguments\":", value("arguments"), b"}}"]);
    }
    list.push(b']');
    if list.len() > 2 {
        to.style.push_value_at(list.as_slice(), to.depth, to.out);
    }
}

fn push(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}
