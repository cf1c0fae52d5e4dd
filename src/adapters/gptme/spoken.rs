//! What gptme keeps in the text of an answer: thoughts between tags, and calls as
//! lines of their own. Taken apart for an export, and kept out of foreign texts.

use std::borrow::Cow;
use std::ops::Range;

use crate::adapters::exporter::{Kinship, Spoken};
use crate::json::{self, Dialect, Escapes, Value};

/// The tags of thoughts; only the first is written today.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];
const SIGNATURE: (&str, &str) = ("\n<!-- think-sig: ", " -->");

/// A call in a text: `@name(id): {…}`.
struct CallLine<'t> {
    name: &'t str,
    id: &'t str,
    arguments: &'t str,
    span: Range<usize>,
}

/// A thought at the beginning of a text.
struct Thought<'t> {
    text: Cow<'t, str>,
    signature: Option<&'t str>,
}

/// Returns the payload of a message with its thoughts, its calls and the provider of its
/// model apart; `None` where it has none of them in its text.
pub(super) fn understood(spoken: Spoken<'_>) -> Option<Vec<u8>> {
    let [role, content] = spoken.payload.get_each(["role", "content"]);
    let mut parts = content?.elements();
    let first = parts.next()?;
    let text = first.first("type").filter(|kind| kind.is_str("text")).and_then(|_| first.first("text")?.as_str());
    if role.is_some_and(|role| role.is_str("system")) {
        let is_answer = spoken.kinship == Kinship::Foreign && spoken.before.is_some_and(awaits_a_result);
        return text.filter(|_| is_answer).map(|_| as_result(spoken.payload, first));
    }
    let model = spoken.payload.first("model").and_then(Value::as_str).filter(|model| model.contains('/'));
    let parted = text.filter(|_| role.is_some_and(|role| role.is_str("assistant"))).and_then(|text| parts_of(&text));
    if model.is_none() && parted.is_none() {
        return None;
    }
    Some(replaced(spoken.payload, parted.as_deref(), model.as_deref(), None))
}

/// Tells whether what a program says next answers a block of code in this message.
fn awaits_a_result(before: Value<'_>) -> bool {
    let parts = || before.first("content").into_iter().flat_map(Value::elements);
    let is = |part: Value<'_>, kind: &str| part.first("type").is_some_and(|found| found.is_str(kind));
    let has_calls = parts().any(|part| is(part, "tool_call"));
    let is_such_result = parts().any(|part| is(part, "tool_result") && part.first("call_id").is_none());
    is_such_result || (!has_calls && before.first("role").is_some_and(|role| role.is_str("assistant")))
}

/// Returns a message of the program as the result of a call without an id.
fn as_result(payload: Value<'_>, text: Value<'_>) -> Vec<u8> {
    let mut part = b"{\"type\":\"tool_result\",\"content\":[".to_vec();
    part.extend_from_slice(text.text());
    part.extend_from_slice(b"]}");
    replaced(payload, Some(&part), None, Some("tool"))
}

/// Returns the payload with other parts in the place of its first, with the provider and
/// the model of a text that names both, and with another role.
fn replaced(payload: Value<'_>, parts: Option<&[u8]>, model: Option<&str>, role: Option<&str>) -> Vec<u8> {
    let mut out = vec![b'{'];
    for member in payload.members() {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(member.key());
        out.push(b':');
        match (member.name().as_ref(), parts, model, role) {
            ("role", _, _, Some(role)) => json::push_string(role, &mut out),
            ("content", Some(parts), _, _) => {
                out.push(b'[');
                out.extend_from_slice(parts);
                for part in member.value().elements().skip(1) {
                    out.push(b',');
                    out.extend_from_slice(part.text());
                }
                out.push(b']');
            }
            ("model", _, Some(both), _) => {
                let (provider, model) = both.split_once('/').unwrap_or(("", both));
                json::push_string(model, &mut out);
                out.extend_from_slice(b",\"provider\":");
                json::push_string(provider, &mut out);
            }
            _ => out.extend_from_slice(member.value().text()),
        }
    }
    out.push(b'}');
    out
}

/// Returns the parts of an answer's text; `None` where it is nothing but text.
fn parts_of(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((thought, after)) = thought(rest) {
        open(&mut out, "thinking");
        push_member(&mut out, "text", &thought.text);
        if let Some(signature) = thought.signature {
            push_member(&mut out, "signature", signature);
        }
        out.push(b'}');
        rest = after;
    }
    let calls = calls(rest);
    if calls.is_empty() && out.is_empty() {
        return None;
    }
    let mut at = 0;
    for call in &calls {
        push_text(&mut out, rest[at..call.span.start].strip_suffix('\n').unwrap_or(&rest[at..call.span.start]));
        open(&mut out, "tool_call");
        push_member(&mut out, "id", call.id);
        push_member(&mut out, "name", call.name);
        out.extend_from_slice(b",\"arguments\":");
        let mut compact = Vec::new();
        compact_value(call.arguments, &mut compact);
        json::push_carried_value(compact.as_slice(), Escapes::Ascii, &mut out);
        out.push(b'}');
        // The end of the call's own line.
        at = call.span.end + usize::from(rest[call.span.end..].starts_with('\n'));
    }
    push_text(&mut out, &rest[at.min(rest.len())..]);
    Some(out)
}

/// Appends valid JSON without the white space between its tokens.
fn compact_value(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = if *byte == b'"' { json::token_end(bytes, at) } else { at + 1 };
        if !byte.is_ascii_whitespace() {
            out.extend_from_slice(&bytes[at..end]);
        }
        at = end;
    }
}

fn open(out: &mut Vec<u8>, kind: &str) {
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(format!("{{\"type\":\"{kind}\"").as_bytes());
}

fn push_member(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(format!(",\"{name}\":").as_bytes());
    json::push_string(text, out);
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    if !text.is_empty() {
        open(out, "text");
        push_member(out, "text", text);
        out.push(b'}');
    }
}

/// Returns the thought that a text begins with, and what follows it.
fn thought(text: &str) -> Option<(Thought<'_>, &str)> {
    let (inner, after) = TAGS.iter().find_map(|(begin, end)| text.strip_prefix(begin)?.split_once(end))?;
    let after = after.strip_prefix('\n').unwrap_or(after);
    let after = after.strip_prefix('\n').unwrap_or(after);
    let signed = inner.split_once(SIGNATURE.0).and_then(|(before, rest)| Some((before, rest.split_once(SIGNATURE.1)?)));
    let (inner, signature) = match signed {
        Some((before, (signature, rest))) => (Cow::Owned(format!("{before}{rest}")), Some(signature.trim())),
        None => (Cow::Borrowed(inner), None),
    };
    let trimmed = inner.strip_prefix('\n').unwrap_or(&inner);
    let trimmed = trimmed.strip_suffix('\n').unwrap_or(trimmed).to_owned();
    Some((Thought { text: Cow::Owned(trimmed), signature }, after))
}

/// Returns the calls of a text that are outside of its blocks of code.
fn calls(text: &str) -> Vec<CallLine<'_>> {
    let mut found = Vec::new();
    if !text.contains('@') {
        return found;
    }
    let blocks = blocks(text);
    let mut from = 0;
    while let Some(start) = line_start(text, from, "@") {
        from = start + 1;
        if let Some(block) = blocks.iter().find(|block| block.contains(&start)) {
            from = block.end;
            continue;
        }
        let Some((name, id, open)) = call_head(&text[start..]) else { continue };
        let open = start + open;
        // A call that never ends ends the search.
        let Some(end) = object_end(text, open) else { break };
        let arguments = &text[open..end];
        if json::scan_object(arguments.as_bytes(), Dialect::Python, &mut Vec::new()).is_ok() {
            found.push(CallLine { name, id, arguments, span: start..end });
        }
        from = end;
    }
    found
}

/// Returns where the next line that begins so begins.
fn line_start(text: &str, from: usize, begin: &str) -> Option<usize> {
    let rest = text.get(from..)?;
    if (from == 0 || text[..from].ends_with('\n')) && rest.starts_with(begin) {
        return Some(from);
    }
    rest.match_indices('\n').map(|(at, _)| from + at + 1).find(|at| text[*at..].starts_with(begin))
}

/// Returns the name and the id of a call that a text begins with, and where its object
/// begins.
fn call_head(text: &str) -> Option<(&str, &str, usize)> {
    let line = text.split(['\n', '\r']).next()?.strip_prefix('@')?;
    for (at, _) in line.match_indices('(').filter(|(at, _)| *at > 0) {
        let id: &str = line[at + 1..].split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))).next()?;
        let after = at + 1 + id.len();
        if id.is_empty() || !line[after..].starts_with("):") {
            continue;
        }
        // The `@`, and `):`.
        let after = 1 + after + 2;
        let open = after + text[after..].len() - text[after..].trim_start().len();
        if text[open..].starts_with('{') {
            return Some((&line[..at], id, open));
        }
    }
    None
}

/// Returns where the object ends that begins at a place, by its braces outside of strings.
fn object_end(text: &str, open: usize) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_string = !is_string,
            b'{' if !is_string => depth += 1,
            b'}' if !is_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the blocks of code of a text: from a line that begins with back quotes to one
/// with nothing but as many.
fn blocks(text: &str) -> Vec<Range<usize>> {
    let mut fences = Vec::new();
    let mut from = 0;
    while let Some(start) = line_start(text, from, "```") {
        let quotes = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        let end = text[start..].find('\n').map_or(text.len(), |len| start + len);
        fences.push((start, quotes, end, text[start + quotes..end].trim().is_empty()));
        from = start + quotes;
    }
    let (mut blocks, mut at) = (Vec::new(), 0);
    while let Some((start, quotes, _, _)) = fences.get(at) {
        let close = fences[at + 1..].iter().position(|(_, closing, _, is_bare)| closing == quotes && *is_bare);
        match close {
            Some(close) => {
                blocks.push(*start..fences[at + 1 + close].2);
                at += close + 2;
            }
            None => at += 1,
        }
    }
    blocks
}

/// Returns a foreign text in which nothing is taken for a call or a thought; `None` where
/// nothing would be.
pub(super) fn fitting(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(start) = line_start(text, from, "@") {
        // Also in a block of code: the program reads a text line by line, and does not
        // know yet that the block will be closed.
        if call_head(&text[start..]).is_some() || ends_as_a_call(&text[start..]) {
            out.push_str(&text[copied..start]);
            out.push(' ');
            copied = start;
        }
        from = start + 1;
    }
    out.push_str(&text[copied..]);
    let mut is_altered = copied > 0 || out.len() > text.len();
    for tag in TAGS.iter().flat_map(|(begin, end)| [begin, end]) {
        if out.contains(tag) {
            out = out.replace(tag, &tag.replacen('<', "<\u{200b}", 1));
            is_altered = true;
        }
    }
    is_altered.then_some(out)
}

/// Tells whether a text is the beginning of a call, up to its object.
fn ends_as_a_call(text: &str) -> bool {
    text.trim_end().ends_with("):") && call_head(&format!("{}{{", text.trim_end())).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> String {
        parts_of(text).map(|parts| String::from_utf8(parts).unwrap()).unwrap_or_default()
    }

    #[test]
    fn thoughts_texts_and_calls_are_told_apart() {
        assert_eq!(
            parts(
                "<think>\nhm\n<!-- think-sig: S= -->\n</think>\n\nI look.\n@my tool(c:1.a): {\"a\": \"}\\\"\", \"b\": [1, 2]}\n@x(y): {}"
            ),
            concat!(
                r#"{"type":"thinking","text":"hm","signature":"S="},{"type":"text","text":"I look."},"#,
                r#"{"type":"tool_call","id":"c:1.a","name":"my tool","arguments":{"a":"}\"","b":[1,2]}},"#,
                r#"{"type":"tool_call","id":"y","name":"x","arguments":{}}"#
            )
        );
        assert_eq!(
            parts("@a(b): {\"x\": 1}\nand\nso"),
            r#"{"type":"tool_call","id":"b","name":"a","arguments":{"x":1}},{"type":"text","text":"and\nso"}"#
        );
    }

    #[test]
    fn what_the_program_does_not_take_for_a_call_is_text() {
        for text in ["a @b(c): {}", "@b(c) {}", "@b(): {}", "@(c): {}", "@b(c): {\"x\"", "```\n@b(c): {}\n```", "@b(c): {x}"] {
            assert_eq!(parts(text), "", "{text}");
        }
        // A block that is never closed is not one.
        assert!(parts("```\n@b(c): {}").contains("tool_call"));
    }

    #[test]
    fn foreign_texts_are_kept_from_being_calls_and_thoughts() {
        assert_eq!(fitting("@b(c): {}\nx\n@d(e):\n\n{").as_deref(), Some(" @b(c): {}\nx\n @d(e):\n\n{"));
        assert_eq!(fitting("x\n@d(e): ").as_deref(), Some("x\n @d(e): "));
        assert_eq!(fitting("a <think>b</think>").as_deref(), Some("a <\u{200b}think>b<\u{200b}/think>"));
        assert_eq!(fitting("@param(x): a number\n @b(c): {}"), None);
    }
}
