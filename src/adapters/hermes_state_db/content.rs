//! The text columns of a message that hold JSON, as parts of a message and back.
//! What a column says is rendered again and compared; a column that comes out
//! otherwise is not a list of parts, and is kept as it is.

use crate::json::{self, Escapes, Separators, Style, Value};
use crate::runtimes::python::loads;

/// As Python's `json.dumps` writes.
const DUMPS: Style = Style { separators: Separators::Spaced, escapes: Escapes::Ascii };

/// What a content that is a list begins with.
pub(super) const LIST_BEFORE: &str = "\0json:";

/// Deeper values exhaust the interpreter's stack.
const TOO_DEEP: usize = 990;

fn parsed(text: &str) -> Option<Value<'_>> {
    loads::check(text.as_bytes(), TOO_DEEP).ok()
}

/// Returns the parts of a content that is a list: nothing where they do not say it exactly.
pub(super) fn parts_of_list(text: &str) -> Option<Vec<Vec<u8>>> {
    let list = parsed(text.strip_prefix(LIST_BEFORE)?).filter(|value| value.is_array())?;
    let parts: Vec<Vec<u8>> = list.elements().map(part_of).collect();
    let values: Vec<Value<'_>> = parts.iter().map(|part| Value::trusted(part)).collect();
    (list_of(&values).as_deref() == Some(text)).then_some(parts)
}

fn part_of(item: Value<'_>) -> Vec<u8> {
    let members = if item.is_object() { item.all_members() } else { Vec::new() };
    let mut out = Vec::new();
    match members.as_slice() {
        [kind, text] if kind.is("type") && kind.value().is_str("text") && text.is("text") && text.value().is_string() => {
            out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
            json::push_carried_string(text.value(), Escapes::Ascii, &mut out);
        }
        [kind, image] if kind.is("type") && kind.value().is_str("image_url") && image.is("image_url") && has_url_alone(image.value()) => {
            out.extend_from_slice(b"{\"type\":\"image\",\"uri\":");
            json::push_carried_string(image.value().first("url").unwrap_or_default(), Escapes::Ascii, &mut out);
        }
        _ => {
            out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
            json::push_carried_value(item, Escapes::Ascii, &mut out);
        }
    }
    out.push(b'}');
    out
}

fn has_url_alone(image: Value<'_>) -> bool {
    image.is_object() && matches!(image.all_members().as_slice(), [url] if url.is("url") && url.value().is_string())
}

/// Returns the content that these parts are the list of.
pub(super) fn list_of(parts: &[Value<'_>]) -> Option<String> {
    let mut out = LIST_BEFORE.as_bytes().to_vec();
    out.push(b'[');
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            out.extend_from_slice(b", ");
        }
        match part.first("type")?.as_str()?.as_ref() {
            "text" => {
                out.extend_from_slice(b"{\"type\": \"text\", \"text\": ");
                DUMPS.push_value(part.first("text")?, &mut out);
                out.push(b'}');
            }
            "image" => {
                out.extend_from_slice(b"{\"type\": \"image_url\", \"image_url\": {\"url\": ");
                DUMPS.push_value(part.first("uri")?, &mut out);
                out.extend_from_slice(b"}}");
            }
            _ => DUMPS.push_value(part.first("value")?, &mut out),
        }
    }
    out.push(b']');
    String::from_utf8(out).ok()
}

/// Returns the calls of a column of tool calls; nothing where they do not say it exactly.
pub(super) fn calls_of(text: &str) -> Option<Vec<Vec<u8>>> {
    let list = parsed(text).filter(|value| value.is_array())?;
    let calls: Vec<Vec<u8>> = list.elements().map(call_of).collect();
    let values: Vec<Value<'_>> = calls.iter().map(|call| Value::trusted(call)).collect();
    (column_of_calls(&values).as_deref() == Some(text)).then_some(calls)
}

/// Returns a call as the program writes it: its id, what its provider says of it, and the
/// function last.
fn call_of(item: Value<'_>) -> Vec<u8> {
    let members = if item.is_object() { item.all_members() } else { Vec::new() };
    let mut out = Vec::new();
    if let [id, more @ .., kind, function] = members.as_slice()
        && id.is("id")
        && id.value().is_string()
        && kind.is("type")
        && kind.value().is_str("function")
        && function.is("function")
        && function.value().is_object()
        && let [name, arguments] = function.value().all_members().as_slice()
        && name.is("name")
        && name.value().is_string()
        && arguments.is("arguments")
        && arguments.value().is_string()
    {
        out.extend_from_slice(b"{\"type\":\"tool_call\",\"id\":");
        json::push_carried_string(id.value(), Escapes::Ascii, &mut out);
        out.extend_from_slice(b",\"name\":");
        json::push_carried_string(name.value(), Escapes::Ascii, &mut out);
        out.extend_from_slice(b",\"arguments\":");
        json::push_carried_string(arguments.value(), Escapes::Ascii, &mut out);
        for (n, member) in more.iter().enumerate() {
            out.extend_from_slice(if n == 0 { b",\"ext\":{" } else { b"," });
            json::push_carried_string(Value::trusted(member.key()), Escapes::Ascii, &mut out);
            out.push(b':');
            json::push_carried_value(member.value(), Escapes::Ascii, &mut out);
        }
        if !more.is_empty() {
            out.push(b'}');
        }
        out.push(b'}');
        return out;
    }
    out.extend_from_slice(b"{\"type\":\"other\",\"tool_call\":");
    json::push_carried_value(item, Escapes::Ascii, &mut out);
    out.push(b'}');
    out
}

/// Tells whether a part is of the column of tool calls.
pub(super) fn is_call(part: Value<'_>) -> bool {
    part.first("type").is_some_and(|kind| kind.is_str("tool_call")) || part.first("tool_call").is_some()
}

/// Returns the column that these calls are in.
pub(super) fn column_of_calls(calls: &[Value<'_>]) -> Option<String> {
    let mut out = vec![b'['];
    for (n, call) in calls.iter().enumerate() {
        if n > 0 {
            out.extend_from_slice(b", ");
        }
        if let Some(other) = call.first("tool_call") {
            DUMPS.push_value(other, &mut out);
            continue;
        }
        out.extend_from_slice(b"{\"id\": ");
        DUMPS.push_value(call.first("id")?, &mut out);
        for member in call.first("ext").into_iter().flat_map(|ext| ext.members()) {
            out.extend_from_slice(b", ");
            DUMPS.push_string(Value::trusted(member.key()), &mut out);
            out.extend_from_slice(b": ");
            DUMPS.push_value(member.value(), &mut out);
        }
        out.extend_from_slice(b", \"type\": \"function\", \"function\": {\"name\": ");
        DUMPS.push_value(call.first("name")?, &mut out);
        out.extend_from_slice(b", \"arguments\": ");
        DUMPS.push_value(call.first("arguments")?, &mut out);
        out.extend_from_slice(b"}}");
    }
    out.push(b']');
    String::from_utf8(out).ok()
}
