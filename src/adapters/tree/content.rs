//! The content of a tree entry as parts, and back.

use crate::adapters::mapping::Goes::{Constant, Ext, To as Goes};
use crate::adapters::mapping::Takes::{Any, Text};
use crate::adapters::mapping::{Beside, Content, Rendering, Table, To};
use crate::model::json::{self, Escapes, Kind, Member};

/// Content was one text and not a list of parts.
const ONE_TEXT: &str = "$text";
/// Content was a list without parts.
const EMPTY_LIST: &str = "$list";

const TEXT: Table = Table(&[("type", Constant("\"text\"")), ("text", Goes("text", Text)), ("textSignature", Goes("signature", Any))]);
const THINKING: Table = Table(&[
    ("type", Constant("\"thinking\"")),
    ("thinking", Goes("text", Text)),
    ("thinkingSignature", Goes("signature", Any)),
    ("redacted", Goes("redacted", Any)),
]);
const IMAGE: Table = Table(&[("type", Constant("\"image\"")), ("data", Goes("data", Text)), ("mimeType", Goes("media_type", Text))]);
const TOOL_CALL: Table = Table(&[
    ("type", Constant("\"toolCall\"")),
    ("id", Goes("id", Any)),
    ("name", Goes("name", Any)),
    ("arguments", Goes("arguments", Any)),
    ("thoughtSignature", Goes("signature", Any)),
    ("partialArgs", Ext),
]);
const TOOL_CALL_BY_INPUT: Table =
    Table(&[("type", Constant("\"toolCall\"")), ("id", Goes("id", Any)), ("name", Goes("name", Any)), ("input", Goes("arguments", Any))]);

/// Each kind of part: what it begins with in the log, and its table. A call
/// by `input` is told from one by `arguments` by a member of its own.
const PARTS: [(&[(&str, &str)], &Table); 5] = [
    (&[("type", "\"text\"")], &TEXT),
    (&[("type", "\"thinking\"")], &THINKING),
    (&[("type", "\"image\"")], &IMAGE),
    (&[("type", "\"tool_call\"")], &TOOL_CALL),
    (&[("type", "\"tool_call\""), ("by", "\"input\"")], &TOOL_CALL_BY_INPUT),
];

/// Parts as pi writes them.
pub(in crate::adapters) struct Parts;

impl Content for Parts {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Beside {
        let get = |name: &str| values.iter().rev().find(|(held, _)| *held == name).map(|(_, value)| *value);
        let mut beside = Beside::default();
        let is_result = ["call_id", "tool_name", "is_error"].iter().any(|name| get(name).is_some());
        out.push(b'[');
        if is_result {
            out.extend_from_slice(b"{\"type\":\"tool_result\"");
            for (held, name, kinds) in [
                ("call_id", "call_id", &[Kind::String][..]),
                ("tool_name", "name", &[Kind::String]),
                ("is_error", "is_error", &[Kind::True, Kind::False]),
            ] {
                match get(held) {
                    Some(value) if kinds.contains(&json::kind_of(value)) => {
                        out.push(b',');
                        json::push_string(name, out);
                        out.push(b':');
                        json::push_carried_value(value, writer, out);
                    }
                    Some(_) => beside.left.push(held),
                    None => {}
                }
            }
            out.extend_from_slice(b",\"content\":[");
        }
        match get("content") {
            None => {}
            Some(list) if json::kind_of(list) == Kind::Array => {
                let start = out.len();
                for (part, members) in json::opened_elements(list) {
                    if out.len() > start {
                        out.push(b',');
                    }
                    push_part(part, &members, writer, out);
                }
                if out.len() == start {
                    beside.marks.push(EMPTY_LIST);
                }
            }
            Some(text) if json::kind_of(text) == Kind::String => {
                out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                json::push_carried_string(text, writer, out);
                out.push(b'}');
                beside.marks.push(ONE_TEXT);
            }
            Some(_) => beside.left.push("content"),
        }
        if is_result {
            out.extend_from_slice(b"]}");
        }
        out.push(b']');
        beside
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        // From its start on: what is asked for mostly stands before long texts.
        let first = parts.get(1..).unwrap_or_default().trim_ascii_start();
        let result = Some(first).filter(|first| type_of(first) == Some(b"\"tool_result\""));
        let of_result = |name: &str| result.and_then(|result| json::members(result).find(|member| member.is(name)));
        let To { style, depth, out } = to;
        let plain = match name {
            "call_id" | "is_error" => of_result(name),
            "tool_name" => of_result("name"),
            _ => {
                let list = result.and_then(|result| json::from_member(result, "content")).unwrap_or(parts);
                return push_content(list, marked, To { style, depth, out });
            }
        };
        if let Some(member) = plain {
            style.push_value_at(member.value, depth, out);
        }
    }
}

fn type_of(part: &[u8]) -> Option<&[u8]> {
    (json::kind_of(part) == Kind::Object).then(|| json::members(part).find(|member| member.is("type"))).flatten().map(|member| member.value)
}

/// One part of the source in the log's words; of an object these are the members.
fn push_part(part: &[u8], members: &[Member<'_>], writer: Escapes, out: &mut Vec<u8>) {
    if json::kind_of(part) == Kind::Object {
        let has = |name: &str| members.iter().any(|member| member.is(name));
        let kind = members.iter().find(|member| member.is("type")).map(|member| member.value);
        let at = match kind {
            Some(b"\"text\"") => Some(0),
            Some(b"\"thinking\"") => Some(1),
            Some(b"\"image\"") => Some(2),
            Some(b"\"toolCall\"") if has("input") && !has("arguments") => Some(4),
            Some(b"\"toolCall\"") => Some(3),
            _ => None,
        };
        if let Some((front, table)) = at.map(|at| PARTS[at]) {
            let start = out.len();
            if table.push_object(members, front, writer, out) {
                return;
            }
            out.truncate(start);
        }
    }
    out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
    json::push_carried_value(part, writer, out);
    out.push(b'}');
}

/// The text of a list that holds nothing else, as the log writes it: the short
/// way for what most messages say. What stands behind the list does not matter.
fn only_text(list: &[u8]) -> Option<&[u8]> {
    const FRONT: &[u8] = b"[{\"type\":\"text\",\"text\":";
    let text = list.strip_prefix(FRONT).filter(|text| text.starts_with(b"\""))?;
    let (token, behind) = text.split_at(json::token_end(text, 0));
    behind.starts_with(b"}]").then_some(token)
}

/// The value of the first member of this name.
fn first<'a>(members: &[Member<'a>], name: &str) -> Option<&'a [u8]> {
    members.iter().find(|member| member.is(name)).map(|member| member.value)
}

fn push_content(list: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
    let To { style, depth, out } = to;
    if marked(ONE_TEXT) {
        // A log that was edited may have several texts in the place of one.
        let texts: Vec<&[u8]> =
            json::elements(list).filter_map(|part| json::members(part).find(|member| member.is("text"))).map(|text| text.value).collect();
        match texts.as_slice() {
            [only] => style.push_value_at(only, depth, out),
            several => {
                let joined: String = several.iter().map(|text| json::unescape(text)).collect();
                let mut token = Vec::new();
                json::push_string(&joined, &mut token);
                style.push_string(&token, out);
            }
        }
        return;
    }
    if let Some(text) = only_text(list) {
        out.push(b'[');
        style.push_break(depth + 1, out);
        let mut part = Rendering::open(style, depth + 1, out);
        part.value("type", b"\"text\"");
        part.value("text", text);
        part.close();
        style.push_break(depth, out);
        return out.push(b']');
    }
    let mut parts = json::opened_elements(list).peekable();
    if parts.peek().is_none() && !marked(EMPTY_LIST) {
        return;
    }
    out.push(b'[');
    for (n, (_, part)) in parts.enumerate() {
        if n > 0 {
            style.push_comma(out);
        }
        style.push_break(depth + 1, out);
        let by_input = first(&part, "by").is_some();
        let table = match first(&part, "type") {
            Some(b"\"text\"") => Some(&TEXT),
            Some(b"\"thinking\"") => Some(&THINKING),
            Some(b"\"image\"") => Some(&IMAGE),
            Some(b"\"tool_call\"") if by_input => Some(&TOOL_CALL_BY_INPUT),
            Some(b"\"tool_call\"") => Some(&TOOL_CALL),
            _ => None,
        };
        match table {
            Some(table) => table.render_opened_object(&part, To { style, depth: depth + 1, out }),
            None => style.push_value_at(first(&part, "value").unwrap_or(b"null"), depth + 1, out),
        }
    }
    if out.last() != Some(&b'[') {
        style.push_break(depth, out);
    }
    out.push(b']');
}
