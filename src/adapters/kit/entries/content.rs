//! The content of a tree entry as parts, and back.

use crate::adapters::kit::mapping::Target::{Constant, Ext, To as Field};
use crate::adapters::kit::mapping::ValueKind::{Any, Text};
use crate::adapters::kit::mapping::{Content, Leftovers, Rendering, Table, To};
use crate::json::{self, Escapes, Kind, Member};

/// Content was one text and not a list of parts.
const ONE_TEXT: &str = "$text";
/// Content was a list without parts.
const EMPTY_LIST: &str = "$list";

const TEXT: Table = Table(&[("type", Constant("\"text\"")), ("text", Field("text", Text)), ("textSignature", Field("signature", Any))]);
const THINKING: Table = Table(&[
    ("type", Constant("\"thinking\"")),
    ("thinking", Field("text", Text)),
    ("thinkingSignature", Field("signature", Any)),
    ("redacted", Field("redacted", Any)),
]);
const IMAGE: Table = Table(&[("type", Constant("\"image\"")), ("data", Field("data", Text)), ("mimeType", Field("media_type", Text))]);
const TOOL_CALL: Table = Table(&[
    ("type", Constant("\"toolCall\"")),
    ("id", Field("id", Any)),
    ("name", Field("name", Any)),
    ("arguments", Field("arguments", Any)),
    ("thoughtSignature", Field("signature", Any)),
    ("partialArgs", Ext),
]);
const TOOL_CALL_BY_INPUT: Table = Table(&[
    ("type", Constant("\"toolCall\"")),
    ("id", Field("id", Any)),
    ("name", Field("name", Any)),
    ("input", Field("arguments", Any)),
]);

/// Each kind of part: what it begins with in the log, and its table. A call
/// by `input` is told from one by `arguments` by a member of its own.
const PARTS: [(&[(&str, &str)], &Table); 5] = [
    (&[("type", "\"text\"")], &TEXT),
    (&[("type", "\"thinking\"")], &THINKING),
    (&[("type", "\"image\"")], &IMAGE),
    (&[("type", "\"tool_call\"")], &TOOL_CALL),
    (&[("type", "\"tool_call\""), ("by", "\"input\"")], &TOOL_CALL_BY_INPUT),
];

/// The parts of an entry's content.
pub(in crate::adapters) struct Parts;

impl Content for Parts {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let get = |name: &str| values.iter().rev().find(|(held, _)| *held == name).map(|(_, value)| *value);
        let mut left = Leftovers::default();
        let is_result = ["call_id", "tool_name", "is_error"].iter().any(|name| get(name).is_some());
        out.push(b'[');
        if push_shell(values, writer, out, &mut left) {
            out.push(b']');
            return left;
        }
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
                    Some(_) => left.values.push(held),
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
                    left.marks.push(EMPTY_LIST);
                }
            }
            Some(text) if json::kind_of(text) == Kind::String => {
                out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
                json::push_carried_string(text, writer, out);
                out.push(b'}');
                left.marks.push(ONE_TEXT);
            }
            Some(_) => left.values.push("content"),
        }
        if is_result {
            out.extend_from_slice(b"]}");
        }
        out.push(b']');
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        // From its start on: most members that are asked for come before long texts.
        let first = parts.get(1..).unwrap_or_default().trim_ascii_start();
        let result = Some(first).filter(|first| type_of(first) == Some(b"\"tool_result\""));
        let of_result = |name: &str| result.and_then(|result| json::members(result).find(|member| member.is(name)));
        let To { style, depth, out } = to;
        let plain = match name {
            "call_id" | "is_error" => of_result(name),
            "tool_name" => of_result("name"),
            "command" | "output" | "exit_code" => {
                let shell = Some(first).filter(|first| type_of(first) == Some(SHELL));
                shell.and_then(|shell| json::members(shell).find(|member| member.is(name)))
            }
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

/// The type of a part that is a command with its output.
const SHELL: &[u8] = b"\"shell\"";

/// Writes a command that a person typed as a part. `false` where the values are of
/// another record; what does not fit is left over.
fn push_shell(values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>, left: &mut Leftovers) -> bool {
    const FIELDS: [(&str, Kind); 3] = [("command", Kind::String), ("output", Kind::String), ("exit_code", Kind::Number)];
    if !values.iter().any(|(held, _)| FIELDS.iter().any(|(name, _)| name == held)) {
        return false;
    }
    out.extend_from_slice(b"{\"type\":");
    out.extend_from_slice(SHELL);
    for (name, kind) in FIELDS {
        match values.iter().rev().find(|(held, _)| *held == name) {
            Some((_, value)) if json::kind_of(value) == kind => {
                out.push(b',');
                json::push_own_key(name, out);
                json::push_carried_value(value, writer, out);
            }
            Some((held, _)) => left.values.push(held),
            None => {}
        }
    }
    out.push(b'}');
    true
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

/// Returns the text of a list that holds nothing else, as the log writes it: the short
/// way for most messages. The bytes after the list do not matter.
fn only_text(list: &[u8]) -> Option<&[u8]> {
    const FRONT: &[u8] = b"[{\"type\":\"text\",\"text\":";
    let text = list.strip_prefix(FRONT).filter(|text| text.starts_with(b"\""))?;
    let (token, after) = text.split_at(json::token_end(text, 0));
    after.starts_with(b"}]").then_some(token)
}

/// Returns the value of the first member of this name.
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
