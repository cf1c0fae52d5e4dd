//! The content of items as parts, and back.

use crate::adapters::kit::mapping::Target::{Constant, Ext, To as Field};
use crate::adapters::kit::mapping::ValueKind::Text;
use crate::adapters::kit::mapping::{Content, Leftovers, Table, To};
use crate::json::{self, Escapes, Kind, Member};

use super::members::get;

/// An output was one text and not a list of parts.
const ONE_TEXT: &str = "$text";
/// Reasoning had no content of its own.
const NO_CONTENT: &str = "$content";
/// Reasoning had no content, and said so.
const NULL_CONTENT: &str = "$null_content";
/// Reasoning had no encrypted form, and said so.
const NULL_ENCRYPTED: &str = "$null_encrypted";

const INPUT_TEXT: Table = Table(&[("type", Constant("\"input_text\"")), ("text", Field("text", Text))]);
const OUTPUT_TEXT: Table =
    Table(&[("type", Constant("\"output_text\"")), ("text", Field("text", Text)), ("annotations", Ext), ("logprobs", Ext)]);
const IMAGE: Table = Table(&[("type", Constant("\"input_image\"")), ("image_url", Field("uri", Text)), ("detail", Ext)]);
const SUMMARY_TEXT: Table = Table(&[("type", Constant("\"summary_text\"")), ("text", Field("text", Text))]);
const REASONING_TEXT: Table = Table(&[("type", Constant("\"reasoning_text\"")), ("text", Field("text", Text))]);

/// One kind of part: its type in the source, what it begins with in the log, and its
/// table.
type PartKind = (&'static [u8], &'static [(&'static str, &'static str)], &'static Table);

const INPUTS: &[PartKind] = &[
    (b"\"input_text\"", &[("type", "\"text\"")], &INPUT_TEXT),
    (b"\"output_text\"", &[("type", "\"text\""), ("form", "\"output\"")], &OUTPUT_TEXT),
    (b"\"input_image\"", &[("type", "\"image\"")], &IMAGE),
];
const OUTPUTS: &[PartKind] = &[
    (b"\"output_text\"", &[("type", "\"text\"")], &OUTPUT_TEXT),
    (b"\"input_text\"", &[("type", "\"text\""), ("form", "\"input\"")], &INPUT_TEXT),
    (b"\"input_image\"", &[("type", "\"image\"")], &IMAGE),
];
const SUMMARIES: &[PartKind] = &[(b"\"summary_text\"", &[("type", "\"thinking\"")], &SUMMARY_TEXT)];
const THOUGHTS: &[PartKind] = &[(b"\"reasoning_text\"", &[("type", "\"thinking\""), ("form", "\"full\"")], &REASONING_TEXT)];

/// Whose texts a message has: what the usual type of its texts is.
pub(super) enum Texts {
    Input,
    Output,
}

/// The content of a reasoning item.
pub(super) struct Reasoning;

/// The call of a tool.
pub(super) struct Call;

/// The output of a tool.
pub(super) struct Output;

/// An item that is carried as it is.
pub(super) struct Whole;

fn part_of<'p>(part: &[u8], members: &[Member<'_>], kinds: &'p [PartKind]) -> Option<&'p PartKind> {
    if json::kind_of(part) != Kind::Object {
        return None;
    }
    let name = get(members, "type")?;
    kinds.iter().find(|(known, _, _)| *known == name)
}

fn push_parts(list: &[u8], kinds: &[PartKind], writer: Escapes, out: &mut Vec<u8>) {
    for (part, members) in json::opened_elements(list) {
        comma(out);
        let start = out.len();
        let pushed = part_of(part, &members, kinds).is_some_and(|(_, front, table)| table.push_object(&members, front, writer, out));
        if !pushed {
            out.truncate(start);
            out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
            json::push_carried_value(part, writer, out);
            out.push(b'}');
        }
    }
}

fn comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'[') {
        out.push(b',');
    }
}

/// Writes parts as the source has them: those that one of these kinds fits, and those
/// that were carried as they are.
fn render_parts<'p>(parts: impl Iterator<Item = Vec<Member<'p>>>, kinds: &[PartKind], to: To<'_>) {
    let To { style, depth, out } = to;
    out.push(b'[');
    let mut empty = true;
    for part in parts {
        if !std::mem::take(&mut empty) {
            style.push_comma(out);
        }
        style.push_break(depth + 1, out);
        match kind_of_part(&part, kinds) {
            Some((_, _, table)) => table.render_opened_object(&part, To { style, depth: depth + 1, out }),
            None => style.push_value_at(get(&part, "value").unwrap_or(b"null"), depth + 1, out),
        }
    }
    if !empty {
        style.push_break(depth, out);
    }
    out.push(b']');
}

fn kind_of_part<'k>(part: &[Member<'_>], kinds: &'k [PartKind]) -> Option<&'k PartKind> {
    let has = |name: &str, value: &str| get(part, name) == Some(value.as_bytes());
    let fits =
        |(_, front, _): &&PartKind| front.iter().all(|(name, value)| has(name, value)) && (front.len() > 1 || get(part, "form").is_none());
    kinds.iter().find(fits)
}

fn parts_of(parts: &[u8]) -> impl Iterator<Item = Vec<Member<'_>>> {
    json::opened_elements(parts).map(|(_, members)| members)
}

impl Texts {
    fn kinds(&self) -> &'static [PartKind] {
        match self {
            Texts::Input => INPUTS,
            Texts::Output => OUTPUTS,
        }
    }
}

impl Content for Texts {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        out.push(b'[');
        for (_, list) in values {
            push_parts(list, self.kinds(), writer, out);
        }
        out.push(b']');
        Leftovers::default()
    }

    fn decode(&self, _: &str, parts: &[u8], _: &dyn Fn(&str) -> bool, to: To<'_>) {
        render_parts(parts_of(parts), self.kinds(), to);
    }
}

impl Content for Reasoning {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let value = |name: &str| values.iter().find(|(held, _)| *held == name).map(|(_, value)| *value);
        let mut left = Leftovers::default();
        out.push(b'[');
        push_parts(value("summary").unwrap_or(b"[]"), SUMMARIES, writer, out);
        match value("content") {
            None => left.marks.push(NO_CONTENT),
            Some(list) if json::kind_of(list) == Kind::Array => {
                for (part, members) in json::opened_elements(list) {
                    comma(out);
                    let start = out.len();
                    let pushed =
                        part_of(part, &members, THOUGHTS).is_some_and(|(_, front, table)| table.push_object(&members, front, writer, out));
                    if !pushed {
                        out.truncate(start);
                        out.extend_from_slice(b"{\"type\":\"other\",\"form\":\"full\",\"value\":");
                        json::push_carried_value(part, writer, out);
                        out.push(b'}');
                    }
                }
            }
            Some(_) => left.marks.push(NULL_CONTENT),
        }
        match value("encrypted") {
            Some(sealed) if json::kind_of(sealed) == Kind::String => {
                comma(out);
                out.extend_from_slice(b"{\"type\":\"thinking\",\"text\":\"\",\"signature\":");
                json::push_carried_string(sealed, writer, out);
                out.extend_from_slice(b",\"redacted\":true}");
            }
            Some(_) => left.marks.push(NULL_ENCRYPTED),
            None => {}
        }
        out.push(b']');
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        let is_sealed = |part: &[Member<'_>]| get(part, "redacted").is_some();
        let is_full = |part: &[Member<'_>]| get(part, "form").is_some();
        // What is sealed has no text of its own, unless a log was edited.
        let is_said = |part: &[Member<'_>]| !is_sealed(part) || get(part, "text") != Some(b"\"\"");
        match name {
            "summary" => render_parts(parts_of(parts).filter(|part| is_said(part) && !is_full(part)), SUMMARIES, to),
            "content" if marked(NULL_CONTENT) => to.out.extend_from_slice(b"null"),
            "content" if marked(NO_CONTENT) => {}
            "content" => render_parts(parts_of(parts).filter(|part| is_full(part)), THOUGHTS, to),
            _ if marked(NULL_ENCRYPTED) => to.out.extend_from_slice(b"null"),
            _ => {
                if let Some(part) = parts_of(parts).find(|part| is_sealed(part)) {
                    to.style.push_value_at(get(&part, "signature").unwrap_or(b"null"), to.depth, to.out);
                }
            }
        }
    }
}

impl Content for Call {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let mut left = Leftovers::default();
        out.extend_from_slice(b"[{\"type\":\"tool_call\"");
        for (held, name) in [("call_id", "id"), ("name", "name"), ("arguments", "arguments")] {
            let Some((_, value)) = values.iter().find(|(known, _)| *known == held) else { continue };
            if held != "arguments" && json::kind_of(value) != Kind::String {
                left.values.push(held);
                continue;
            }
            out.push(b',');
            json::push_string(name, out);
            out.push(b':');
            json::push_carried_value(*value, writer, out);
        }
        out.extend_from_slice(b"}]");
        left
    }

    fn decode(&self, name: &str, parts: &[u8], _: &dyn Fn(&str) -> bool, to: To<'_>) {
        let name = if name == "call_id" { "id" } else { name };
        if let Some(value) = parts_of(parts).next().and_then(|part| get(&part, name)) {
            to.style.push_value_at(value, to.depth, to.out);
        }
    }
}

impl Content for Output {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let mut left = Leftovers::default();
        out.extend_from_slice(b"[{\"type\":\"tool_result\"");
        for held in ["call_id", "name"] {
            let Some((_, value)) = values.iter().find(|(known, _)| *known == held) else { continue };
            if json::kind_of(value) != Kind::String {
                left.values.push(held);
                continue;
            }
            out.push(b',');
            json::push_string(held, out);
            out.push(b':');
            json::push_carried_string(*value, writer, out);
        }
        out.extend_from_slice(b",\"content\":[");
        match values.iter().find(|(known, _)| *known == "content").map(|(_, value)| *value) {
            Some(text) if json::kind_of(text) == Kind::String => {
                out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                json::push_carried_string(text, writer, out);
                out.push(b'}');
                left.marks.push(ONE_TEXT);
            }
            Some(list) if json::kind_of(list) == Kind::Array => push_parts(list, INPUTS, writer, out),
            Some(_) => left.values.push("content"),
            None => {}
        }
        out.extend_from_slice(b"]}]");
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        let Some(result) = parts_of(parts).next() else { return };
        if name != "content" {
            if let Some(value) = get(&result, name) {
                to.style.push_value_at(value, to.depth, to.out);
            }
            return;
        }
        let content = get(&result, "content").unwrap_or(b"[]");
        if !marked(ONE_TEXT) {
            return render_parts(parts_of(content), INPUTS, to);
        }
        // A log that was edited may have several texts in the place of one.
        let texts: Vec<Vec<Member<'_>>> = parts_of(content).collect();
        match texts.as_slice() {
            [only] => to.style.push_value_at(get(only, "text").unwrap_or(b"\"\""), to.depth, to.out),
            several => {
                let joined: String = several.iter().filter_map(|part| get(part, "text").map(json::unescape)).collect();
                let mut token = Vec::new();
                json::push_string(&joined, &mut token);
                to.style.push_value_at(&token, to.depth, to.out);
            }
        }
    }
}

impl Content for Whole {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        out.push(b'[');
        if let Some((_, item)) = values.first() {
            out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
            json::push_carried_value(*item, writer, out);
            out.push(b'}');
        }
        out.push(b']');
        Leftovers::default()
    }

    fn decode(&self, _: &str, parts: &[u8], _: &dyn Fn(&str) -> bool, to: To<'_>) {
        if let Some(value) = parts_of(parts).next().and_then(|part| get(&part, "value")) {
            to.style.push_value_at(value, to.depth, to.out);
        }
    }
}
