//! Content of a row as canonical parts, and back.
//!
//! A row says its content in up to seven keys: text or parts, reasoning (often
//! twice), tool calls, and on the row of a tool its name (often twice) and the
//! call that it answers.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::mapping::{Beside, Content, To};
use crate::model::json::{self, Escapes, Kind, Member};

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
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Beside {
        // Of equal keys the last counts, as the program has it.
        let get = |name: &str| values.iter().rev().find(|(held, _)| *held == name).map(|(_, value)| *value);
        let text = |name: &str| get(name).filter(|value| json::kind_of(value) == Kind::String);
        let mut beside = Beside::default();
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
        let content_fits = get("content").is_none_or(|content| parts.content(content, &mut beside));
        if answers.is_some() {
            parts.out.extend_from_slice(b"]}");
            parts.empty = false;
        }
        let calls_fit = get("calls").is_none_or(|calls| parts.calls(calls));
        parts.out.push(b']');

        for (fits, key) in [(content_fits, "content"), (calls_fit, "calls")] {
            if !fits {
                beside.left.push(key);
            }
        }
        let mut rest = |key: &'static str, fits: bool, same: Option<(&[u8], &'static str)>| match (get(key), same) {
            (None, _) => {}
            (Some(value), Some((other, mark))) if value == other => beside.marks.push(mark),
            (Some(_), _) if fits => {}
            (Some(_), _) => beside.left.push(key),
        };
        rest("reasoning", reasoning.is_some(), None);
        rest("reasoning_content", false, reasoning.map(|text| (text, SAME_REASONING)));
        rest("call_id", answers.is_some(), None);
        rest("name", name.is_some(), None);
        rest("tool_name", false, name.map(|text| (text, SAME_NAME)));
        beside
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        let of_type = |wanted: &'static str| parts_of_type(parts, wanted).next();
        let of_result = |key: &str| of_type("tool_result").and_then(|result| member(result, key));
        let found = match name {
            "reasoning" => of_type("thinking").and_then(|part| member(part, "text")),
            "reasoning_content" => of_type("thinking").and_then(|part| member(part, "text")).filter(|_| marked(SAME_REASONING)),
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

    fn value(&mut self, key: &str, value: &[u8]) {
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        json::push_carried_value(value, self.writer, self.out);
    }

    fn content(&mut self, content: &[u8], beside: &mut Beside) -> bool {
        match json::kind_of(content) {
            Kind::String => {
                self.open("text");
                self.value("text", content);
                self.out.push(b'}');
                true
            }
            Kind::Array => {
                for item in json::elements(content) {
                    self.item(item);
                }
                beside.marks.push(LIST);
                true
            }
            Kind::Number | Kind::Object | Kind::True | Kind::False | Kind::Null => false,
        }
    }

    /// One part of the program's own: texts and images are ours too, anything
    /// else is carried whole.
    fn item(&mut self, item: &[u8]) {
        match simple_item(item) {
            Some(Item::Text(text)) => {
                self.open("text");
                self.value("text", text);
            }
            Some(Item::Image(uri)) => {
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
    fn calls(&mut self, calls: &[u8]) -> bool {
        if json::kind_of(calls) != Kind::Array || json::elements(calls).next().is_none() || !json::elements(calls).all(is_usual_call) {
            return false;
        }
        for call in json::elements(calls) {
            self.open("tool_call");
            for (key, value) in [("id", member(call, "id")), ("name", function(call, "name")), ("arguments", function(call, "arguments"))] {
                if let Some(value) = value {
                    self.value(key, value);
                }
            }
            let beside: Vec<Member<'_>> =
                json::members(call).filter(|m| matches!(m.name().as_ref(), "call_id" | "response_item_id")).collect();
            for (n, held) in beside.iter().enumerate() {
                self.out.extend_from_slice(if n == 0 { b",\"ext\":{" } else { b"," });
                json::push_carried_string(held.key, self.writer, self.out);
                self.out.push(b':');
                json::push_carried_value(held.value, self.writer, self.out);
            }
            self.out.extend_from_slice(if beside.is_empty() { b"}" } else { b"}}" });
        }
        true
    }
}

fn member<'v>(object: &'v [u8], name: &str) -> Option<&'v [u8]> {
    json::members(object).find(|member| member.is(name)).map(|member| member.value)
}

fn function<'v>(call: &'v [u8], name: &str) -> Option<&'v [u8]> {
    member(call, "function").and_then(|function| member(function, name))
}

/// The type of a part in the log: its first member.
fn part_type(part: &[u8]) -> Option<&str> {
    let first = json::members(part).next().filter(|member| member.key == b"\"type\"")?;
    std::str::from_utf8(first.value.get(1..first.value.len().checked_sub(1)?)?).ok()
}

enum Item<'v> {
    Text(&'v [u8]),
    Image(&'v [u8]),
}

/// A part with exactly the members that the program writes.
fn simple_item(item: &[u8]) -> Option<Item<'_>> {
    if json::kind_of(item) != Kind::Object {
        return None;
    }
    let found: Vec<Member<'_>> = json::members(item).take(3).collect();
    let [kind, held] = found.as_slice() else { return None };
    if kind.key != b"\"type\"" {
        return None;
    }
    match (kind.value, held.key) {
        (b"\"text\"", b"\"text\"") => Some(Item::Text(held.value)),
        (b"\"image_url\"", b"\"image_url\"") if json::kind_of(held.value) == Kind::Object => {
            let inside: Vec<Member<'_>> = json::members(held.value).take(2).collect();
            let [url] = inside.as_slice() else { return None };
            (url.key == b"\"url\"").then_some(Item::Image(url.value))
        }
        _ => None,
    }
}

fn is_usual_call(call: &[u8]) -> bool {
    if json::kind_of(call) != Kind::Object {
        return false;
    }
    let mut next = 0;
    let mut in_order = |object: &[u8], keys: &[&str]| {
        next = 0;
        json::members(object).all(|member| match keys.iter().position(|key| member.key == format!("\"{key}\"").as_bytes()) {
            Some(at) => std::mem::replace(&mut next, at + 1) <= at,
            None => false,
        })
    };
    let has_function = member(call, "function").is_some_and(|function| {
        json::kind_of(function) == Kind::Object && in_order(function, &["name", "arguments"]) && json::members(function).count() == 2
    });
    has_function && member(call, "id").is_some() && member(call, "type") == Some(b"\"function\"") && in_order(call, &CALL_KEYS)
}

/// For the types that are looked for in every message.
static FINDERS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| ["thinking", "tool_call", "tool_result"].map(Finder::new));

/// The parts of one type. Most lists have none of most types, which to look for
/// the word itself tells faster than to go from part to part.
fn parts_of_type<'p>(parts: &'p [u8], wanted: &'static str) -> impl Iterator<Item = &'p [u8]> {
    let finder = FINDERS.iter().find(|finder| finder.needle() == wanted.as_bytes());
    let is_there = finder.is_none_or(|finder| finder.find(parts).is_some());
    let list = if is_there { parts } else { b"[]" };
    json::elements(list).filter(move |part| part_type(part) == Some(wanted))
}

/// The parts that are the content itself.
fn own_parts(parts: &[u8]) -> impl Iterator<Item = &[u8]> {
    json::elements(parts).filter(|part| matches!(part_type(part), Some("text" | "image" | "other")))
}

fn decode_text(parts: &[u8], to: To<'_>) {
    if let Some(text) = own_parts(parts).find_map(|part| member(part, "text")) {
        to.style.push_value_at(text, to.depth, to.out);
    }
}

fn decode_list(parts: &[u8], to: To<'_>) {
    let mut list = vec![b'['];
    for part in own_parts(parts) {
        if list.len() > 1 {
            list.push(b',');
        }
        let value = |key: &str| member(part, key).unwrap_or(b"null");
        match part_type(part) {
            Some("text") => push(&mut list, &[b"{\"type\":\"text\",\"text\":", value("text"), b"}"]),
            Some("image") => push(&mut list, &[b"{\"type\":\"image_url\",\"image_url\":{\"url\":", value("uri"), b"}}"]),
            _ => push(&mut list, &[value("value")]),
        }
    }
    list.push(b']');
    to.style.push_value_at(&list, to.depth, to.out);
}

fn decode_calls(parts: &[u8], to: To<'_>) {
    let mut list = vec![b'['];
    for part in parts_of_type(parts, "tool_call") {
        if list.len() > 1 {
            list.push(b',');
        }
        let value = |key: &str| member(part, key).unwrap_or(b"null");
        push(&mut list, &[b"{\"id\":", value("id"), b","]);
        for held in member(part, "ext").into_iter().flat_map(json::members) {
            push(&mut list, &[held.key, b":", held.value, b","]);
        }
        push(&mut list, &[b"\"type\":\"function\",\"function\":{\"name\":", value("name"), b",\"arguments\":", value("arguments"), b"}}"]);
    }
    list.push(b']');
    if list.len() > 2 {
        to.style.push_value_at(&list, to.depth, to.out);
    }
}

fn push(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    for piece in pieces {
        out.extend_from_slice(piece);
    }
}
