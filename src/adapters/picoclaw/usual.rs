//! The short way for messages as nearly all are: no field without a canonical
//! place, keys in the writer's order. What it does not know it leaves to the
//! table, and both write the same.

use crate::adapters::mapping::{Rendering, To};
use crate::model::json::{self, Style};

use super::content::decode_tool_call;
use super::decode::EMPTY;
use super::encode::is_own_escape;
use super::gotime::GoTime;
use super::wire::ATTACHMENT;

/// What the parts of a content say.
#[derive(Default)]
struct Said<'p> {
    text: Option<&'p [u8]>,
    reasoning: Option<&'p [u8]>,
    call_id: Option<&'p [u8]>,
    media: Vec<&'p [u8]>,
    attachments: Vec<&'p [u8]>,
    tool_calls: Vec<&'p [u8]>,
}

impl<'p> Said<'p> {
    /// `None` where a part is of no usual kind.
    fn of(parts: &'p [u8]) -> Option<Said<'p>> {
        let mut said = Said::default();
        for part in json::elements(parts) {
            let mut members = json::members(part);
            let kind = members.next().filter(|member| member.key == b"\"type\"")?;
            match kind.value {
                b"\"text\"" => said.text = Some(members.next().filter(|member| member.key == b"\"text\"")?.value),
                b"\"thinking\"" => said.reasoning = Some(members.next().filter(|member| member.key == b"\"text\"")?.value),
                b"\"tool_result\"" => {
                    said.call_id = Some(members.next().filter(|member| member.key == b"\"call_id\"")?.value);
                    let content = members.next().filter(|member| member.key == b"\"content\"")?.value;
                    if content != b"[]" {
                        let inner = Said::of_text(content)?;
                        said.text = Some(inner);
                    }
                }
                b"\"tool_call\"" => said.tool_calls.push(part),
                b"\"file\"" => match members.next() {
                    Some(member) if member.key == b"\"uri\"" => said.media.push(member.value),
                    Some(member) if member.key == b"\"attached\"" => said.attachments.push(part),
                    _ => return None,
                },
                _ => return None,
            }
        }
        Some(said)
    }

    /// The text of a list of one part.
    fn of_text(parts: &'p [u8]) -> Option<&'p [u8]> {
        let mut elements = json::elements(parts);
        let (only, None) = (elements.next()?, elements.next()) else { return None };
        let mut members = json::members(only);
        members.next().filter(|member| member.value == b"\"text\"")?;
        members.next().filter(|member| member.key == b"\"text\"").map(|member| member.value)
    }
}

/// Renders a payload; says whether it could.
pub(super) fn render(payload: &[u8], ts: Option<&str>, style: Style, depth: usize, out: &mut Vec<u8>) -> bool {
    let (mut role, mut parts, mut model) = (None, None, None);
    for member in json::members(payload) {
        match member.key {
            b"\"role\"" => role = Some(member.value),
            b"\"content\"" => parts = Some(member.value),
            b"\"model\"" => model = Some(member.value),
            b"\"hidden\"" => {}
            _ => return false,
        }
    }
    let (Some(role), Some(said)) = (role, parts.and_then(Said::of)) else { return false };
    let mut object = Rendering::open(style, depth, out);
    object.value("role", role);
    object.value("content", said.text.unwrap_or(EMPTY));
    if let Some(model) = model {
        object.value("model_name", model);
    }
    if let Some(ts) = ts {
        let To { out, .. } = object.key("created_at");
        out.push(b'"');
        out.extend_from_slice(ts.as_bytes());
        out.push(b'"');
    }
    list(&mut object, "media", &said.media, &|uri, to| to.style.push_value_at(uri, to.depth, to.out));
    list(&mut object, "attachments", &said.attachments, &|part, to| ATTACHMENT.render_object(part, to));
    if let Some(reasoning) = said.reasoning {
        object.value("reasoning_content", reasoning);
    }
    list(&mut object, "tool_calls", &said.tool_calls, &decode_tool_call);
    if let Some(call_id) = said.call_id {
        object.value("tool_call_id", call_id);
    }
    object.close();
    true
}

fn list(object: &mut Rendering<'_>, key: &str, items: &[&[u8]], push: &dyn Fn(&[u8], To<'_>)) {
    if items.is_empty() {
        return;
    }
    let To { style, depth, out } = object.key(key);
    for (n, item) in items.iter().enumerate() {
        out.extend_from_slice(if n > 0 { style.comma() } else { b"[" });
        style.push_break(depth + 1, out);
        push(item, To { style, depth: depth + 1, out });
    }
    style.push_break(depth, out);
    out.push(b']');
}

/// Whether a record, rendered as a line, is what the program would write again
/// without being read first: nothing that it would leave out or say otherwise.
pub(super) fn is_settled(payload: &[u8], ts: Option<&str>, record: &[u8]) -> bool {
    // In a string these would have their quotes escaped.
    let has = |word: &[u8]| memchr::memmem::find(payload, word).is_some();
    if has(b"\"ext\":") || has(b"\"shape\":") || has(b"\"type\":\"other\"") || has(b"\"attached\":") {
        return false;
    }
    if let Some(ts) = ts {
        let quoted = [b"\"", ts.as_bytes(), b"\""].concat();
        if GoTime::parse(&quoted).and_then(GoTime::text).as_deref() != Some(ts) {
            return false;
        }
    }
    has_own_escapes_only(record) && memchr::memmem::find_iter(record, b":\"\"").all(|at| may_be_empty(&record[..at]))
}

/// Whether the key that a text ends in is written with an empty value too.
fn may_be_empty(before: &[u8]) -> bool {
    [&b"\"content\""[..], b"\"role\"", b"\"id\"", b"\"name\"", b"\"arguments\""].iter().any(|key| before.ends_with(key))
}

/// Outside of strings there is no backslash, so the escapes of a record are
/// those of its strings.
fn has_own_escapes_only(record: &[u8]) -> bool {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &record[at..]) {
        at += found;
        match record.get(at + 1) {
            Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => at += 2,
            Some(b'u') if is_own_escape(&record[at..]) => at += 6,
            _ => return false,
        }
    }
    true
}
