//! What a message says, as parts, and back.

use crate::adapters::kit::mapping::{Content, Leftovers, Rendering, To};
use crate::json::{self, Escapes, Member, Value};

use super::decode::EMPTY;
use super::wire::{ATTACHMENT, ATTACHMENTS, CALL_ID, MEDIA, REASONING, SYSTEM_PARTS, TEXT, TOOL_CALLS};

/// The mark of a record without a content at all; an empty one makes no part.
const NO_CONTENT: &str = "$no_content";

/// The one mapping of contents.
pub(super) struct Parts;

impl Content for Parts {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let get = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| Value::from(*value));
        let mut left = Leftovers::default();
        let mut list = List::open(out);
        let text = get(TEXT).filter(|value| value.is_string());
        match (get(TEXT), text) {
            (None, _) => left.marks.push(NO_CONTENT),
            (Some(_), None) => left.values.push(TEXT),
            (Some(_), Some(_)) => {}
        }
        if let Some(reasoning) = get(REASONING) {
            if reasoning.is_string() && reasoning.text() != EMPTY {
                list.string_part("thinking", "text", reasoning, writer);
            } else {
                left.values.push(REASONING);
            }
        }
        let call_id = get(CALL_ID).filter(|value| value.is_string() && value.text() != EMPTY);
        if get(CALL_ID).is_some() && call_id.is_none() {
            left.values.push(CALL_ID);
        }
        match (call_id, text) {
            (Some(id), text) => {
                list.next();
                list.out.extend_from_slice(b"{\"type\":\"tool_result\",\"call_id\":");
                json::push_carried_string(id, writer, list.out);
                list.out.extend_from_slice(b",\"content\":[");
                if let Some(text) = text.filter(|text| text.text() != EMPTY) {
                    list.out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                    json::push_carried_string(text, writer, list.out);
                    list.out.push(b'}');
                }
                list.out.extend_from_slice(b"]}");
            }
            (None, Some(text)) if text.text() != EMPTY => list.string_part("text", "text", text, writer),
            (None, _) => {}
        }
        for (name, encode) in [
            (MEDIA, encode_media as fn(Value<'_>, Escapes, &mut List<'_>) -> bool),
            (ATTACHMENTS, encode_attachments),
            (SYSTEM_PARTS, encode_system_parts),
            (TOOL_CALLS, encode_tool_calls),
        ] {
            if let Some(value) = get(name) {
                let mark = (list.out.len(), list.empty);
                let fits = value.is_array() && value.elements().next().is_some() && encode(value, writer, &mut list);
                if !fits {
                    list.out.truncate(mark.0);
                    list.empty = mark.1;
                    left.values.push(name);
                }
            }
        }
        list.out.push(b']');
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        if parts == b"[]" {
            if name == TEXT && !marked(NO_CONTENT) {
                to.out.extend_from_slice(EMPTY);
            }
            return;
        }
        let parts = Value::from(parts);
        match name {
            TEXT => {
                let text = find(parts, "text", "text").or_else(|| find(find(parts, "tool_result", "content")?, "text", "text"));
                if text.is_some() || !marked(NO_CONTENT) {
                    to.style.push_value_at(text.map_or(EMPTY, Value::text), to.depth, to.out);
                }
            }
            REASONING => push_found(find(parts, "thinking", "text"), to),
            CALL_ID => push_found(find(parts, "tool_result", "call_id"), to),
            SYSTEM_PARTS => push_found(find(parts, "other", SYSTEM_PARTS), to),
            MEDIA => decode_list(parts, to, &|part| if part.first("attached").is_none() { file_uri(part) } else { None }, &|uri, to| {
                to.style.push_value_at(uri, to.depth, to.out);
            }),
            ATTACHMENTS => decode_list(parts, to, &|part| part.first("attached").and(is(part, "file")), &|part, to| {
                ATTACHMENT.render_object(part.text(), to);
            }),
            TOOL_CALLS => decode_list(
                parts,
                to,
                &|part| is(part, "tool_call").or_else(|| is(part, "other").filter(|part| part.first("tool_call").is_some())),
                &decode_tool_call,
            ),
            _ => {}
        }
    }
}

/// A list of parts under construction.
struct List<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> List<'o> {
    fn open(out: &'o mut Vec<u8>) -> List<'o> {
        out.push(b'[');
        List { out, empty: true }
    }

    fn next(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
    }

    fn string_part(&mut self, kind: &str, name: &str, string: Value<'_>, writer: Escapes) {
        self.next();
        self.out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"{name}\":").as_bytes());
        json::push_carried_string(string, writer, self.out);
        self.out.push(b'}');
    }
}

fn encode_media(value: Value<'_>, writer: Escapes, list: &mut List<'_>) -> bool {
    let fits = value.elements().all(|element| element.is_string());
    if fits {
        value.elements().for_each(|element| list.string_part("file", "uri", element, writer));
    }
    fits
}

fn encode_attachments(value: Value<'_>, writer: Escapes, list: &mut List<'_>) -> bool {
    value.elements().all(|element| {
        list.next();
        let members: Vec<Member<'_>> = element.all_members();
        element.is_object() && ATTACHMENT.push_object(&members, &[("type", "\"file\""), ("attached", "true")], writer, list.out)
    })
}

fn encode_system_parts(value: Value<'_>, writer: Escapes, list: &mut List<'_>) -> bool {
    list.next();
    list.out.extend_from_slice(b"{\"type\":\"other\",\"system_parts\":");
    json::push_carried_value(value, writer, list.out);
    list.out.push(b'}');
    true
}

fn encode_tool_calls(value: Value<'_>, writer: Escapes, list: &mut List<'_>) -> bool {
    for element in value.elements() {
        list.next();
        let start = list.out.len();
        if encode_tool_call(element, writer, list.out).is_none() {
            list.out.truncate(start);
            list.out.extend_from_slice(b"{\"type\":\"other\",\"tool_call\":");
            json::push_carried_value(element, writer, list.out);
            list.out.push(b'}');
        }
    }
    true
}

/// Returns a tool call in one of the forms that the program has written: its id and
/// type, what is called, and what else follows. `None` for any other.
fn encode_tool_call(value: Value<'_>, writer: Escapes, out: &mut Vec<u8>) -> Option<()> {
    if !value.is_object() {
        return None;
    }
    let is_text = |member: &Member<'_>| member.value().is_string();
    let mut rest = value.members().peekable();
    let id = rest.next_if(|member| member.key() == b"\"id\"" && is_text(member))?;
    let kind = rest.next_if(|member| member.key() == b"\"type\"" && is_text(member));
    let function = rest.next_if(|member| member.key() == b"\"function\"");
    out.extend_from_slice(b"{\"type\":\"tool_call\",\"id\":");
    json::push_carried_string(id.value(), writer, out);
    if let Some(function) = function {
        if !function.value().is_object() {
            return None;
        }
        let mut inner = function.value().members().peekable();
        for (key, name) in [(&b"\"name\""[..], &b",\"name\":"[..]), (b"\"arguments\"", b",\"arguments\":")] {
            let member = inner.next_if(|member| member.key() == key && is_text(member))?;
            out.extend_from_slice(name);
            json::push_carried_string(member.value(), writer, out);
        }
        if let Some(signature) = inner.next_if(|member| member.key() == b"\"thought_signature\"" && is_text(member)) {
            out.extend_from_slice(b",\"signature\":");
            json::push_carried_string(signature.value(), writer, out);
        }
        if inner.next().is_some() {
            return None;
        }
    }
    match kind {
        Some(kind) if kind.value().text() == b"\"function\"" => {}
        Some(kind) => {
            out.extend_from_slice(b",\"call_type\":");
            json::push_carried_string(kind.value(), writer, out);
        }
        None => out.extend_from_slice(b",\"call_type\":null"),
    }
    let mut others: Vec<&[u8]> = Vec::new();
    for member in rest {
        let is_known = matches!(member.key(), b"\"name\"" | b"\"arguments\"" | b"\"extra_content\"");
        if !is_known || others.contains(&member.key()) {
            return None;
        }
        out.extend_from_slice(if others.is_empty() { b",\"ext\":{" } else { b"," });
        others.push(member.key());
        out.extend_from_slice(member.key());
        out.push(b':');
        json::push_carried_value(member.value(), writer, out);
    }
    out.extend_from_slice(if others.is_empty() { b"}" } else { b"}}" });
    Some(())
}

fn decode_tool_call(part: Value<'_>, to: To<'_>) {
    if let Some(call) = is(part, "other").and_then(|part| part.first("tool_call")) {
        return to.style.push_value_at(call, to.depth, to.out);
    }
    const NAMES: [&[u8]; 6] = [b"\"id\"", b"\"call_type\"", b"\"name\"", b"\"arguments\"", b"\"signature\"", b"\"ext\""];
    let mut said: [Option<Value<'_>>; 6] = [None; 6];
    for member in part.members() {
        if let Some(at) = NAMES.iter().position(|name| *name == member.key()) {
            said[at] = Some(member.value());
        }
    }
    let ext = said[5];
    let [id, kind, name, arguments, signature, _] = said.map(|value| value.map(Value::text));
    let mut object = Rendering::open(to.style, to.depth, to.out);
    object.value("id", id.unwrap_or(EMPTY));
    match kind {
        None => object.value("type", b"\"function\""),
        Some(b"null") => {}
        Some(kind) => object.value("type", kind),
    }
    if name.is_some() || arguments.is_some() {
        let To { style, depth, out } = object.key("function");
        let mut inner = Rendering::open(style, depth, out);
        for (key, value) in [("name", name), ("arguments", arguments), ("thought_signature", signature)] {
            if let Some(value) = value {
                inner.value(key, value);
            }
        }
        inner.close();
    }
    if let Some(ext) = ext {
        ext.members().for_each(|member| object.member(&member));
    }
    object.close();
}

/// Returns the part, where it is of this kind.
fn is<'p>(part: Value<'p>, kind: &str) -> Option<Value<'p>> {
    part.first("type").filter(|found| found.is_str(kind)).map(|_| part)
}

/// Returns a member of the first part of this kind that has it.
fn find<'p>(parts: Value<'p>, kind: &str, name: &str) -> Option<Value<'p>> {
    parts.elements().find_map(|part| is(part, kind).and_then(|part| part.first(name)))
}

fn file_uri(part: Value<'_>) -> Option<Value<'_>> {
    is(part, "file").and_then(|part| part.first("uri"))
}

fn push_found(value: Option<Value<'_>>, to: To<'_>) {
    if let Some(value) = value {
        to.style.push_value_at(value, to.depth, to.out);
    }
}

/// Writes the list that these parts make; nothing where there are none.
fn decode_list<'p>(parts: Value<'p>, to: To<'_>, which: &dyn Fn(Value<'p>) -> Option<Value<'p>>, push: &dyn Fn(Value<'p>, To<'_>)) {
    let To { style, depth, out } = to;
    let mut any = false;
    for part in parts.elements() {
        let Some(part) = which(part) else { continue };
        if any {
            style.push_comma(out)
        } else {
            out.push(b'[')
        }
        any = true;
        style.push_break(depth + 1, out);
        push(part, To { style, depth: depth + 1, out });
    }
    if any {
        style.push_break(depth, out);
        out.push(b']');
    }
}
