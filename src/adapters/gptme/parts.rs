//! A message's payload in the log, taken apart for rendering.

use crate::json::{self, Kind, Member, Members, Style, Value};

use super::message::ABSENT;

/// A message's payload, taken apart. All spans are in log form.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub role: Value<'a>,
    /// The text parts; a record has one string, so several are joined.
    texts: Vec<Value<'a>>,
    pub call_id: Option<Value<'a>>,
    pub files: Vec<FilePart<'a>>,
    pub model: Option<Value<'a>>,
    pub usage: Option<Value<'a>>,
    pub pinned: bool,
    pub hidden_from_display: bool,
    pub hidden_from_model: bool,
    pub ext: Vec<Member<'a>>,
    pub shape: usize,
}

#[derive(Debug)]
pub(super) struct FilePart<'a> {
    pub name: Value<'a>,
    pub is_uri: bool,
    pub hash: Option<Value<'a>>,
}

/// How our own writer begins a payload with one text part: parts of it need
/// not be looked for.
const PLAIN_CONTENT: &[u8] = b",\"content\":[{\"type\":\"text\",\"text\":";
/// How our own writer begins a payload with the result of one tool call.
const RESULT_CONTENT: &[u8] = b",\"content\":[{\"type\":\"tool_result\",\"call_id\":";

impl<'a> Parts<'a> {
    pub(super) fn of(payload: Value<'a>) -> Parts<'a> {
        let mut parts = Parts::default();
        let mut rest = payload.members();
        if let Some(plain) = split_plain(payload.text()) {
            parts.role = plain.role;
            parts.call_id = plain.call_id;
            parts.texts.push(plain.text);
            rest = plain.rest;
        }
        for member in rest {
            match member.name().as_ref() {
                // The source's own word comes after the log's.
                "role" | "source_role" => parts.role = member.value(),
                "content" => parts.content(member.value(), 0),
                "model" => parts.model = Some(member.value()),
                "usage" => parts.usage = Some(member.value()),
                "pinned" => parts.pinned = member.value().kind() == Kind::True,
                "hidden" => parts.hidden(member.value()),
                "ext" => parts.ext = member.value().all_members(),
                "shape" => parts.shape = member.value().parse().unwrap_or(0),
                _ => {}
            }
        }
        parts
    }

    /// Results stand inside parts; a hostile log could nest them for ever.
    fn content(&mut self, list: Value<'a>, depth: usize) {
        for part in list.elements() {
            let fields: Vec<Member<'a>> = part.all_members();
            let field = |name: &str| fields.iter().find(|member| member.is(name)).map(|member| member.value());
            match field("type").map(Value::text) {
                Some(b"\"text\"") => self.texts.extend(field("text")),
                Some(b"\"tool_result\"") => {
                    self.call_id = field("call_id");
                    if let Some(inner) = field("content").filter(|_| depth < 4) {
                        self.content(inner, depth + 1);
                    }
                }
                Some(b"\"file\"") => {
                    let (path, uri) = (field("path"), field("uri"));
                    if let Some(name) = path.or(uri) {
                        self.files.push(FilePart { name, is_uri: path.is_none(), hash: field("hash") });
                    }
                }
                _ => {}
            }
        }
    }

    fn hidden(&mut self, hidden: Value<'a>) {
        for who in hidden.first("from").into_iter().flat_map(Value::elements) {
            self.hidden_from_display |= who.text() == b"\"display\"";
            self.hidden_from_model |= who.text() == b"\"model\"";
        }
    }

    pub(super) fn ext(&self, key: &str) -> Option<Value<'a>> {
        self.ext.iter().rev().find(|member| member.is(key)).map(|member| member.value())
    }

    pub(super) fn is_absent(&self, key: &str) -> bool {
        self.ext(ABSENT).is_some_and(|list| list.elements().any(|name| name.is_str(key)))
    }

    pub(super) fn push_text(&self, style: Style, out: &mut Vec<u8>) {
        match self.texts.as_slice() {
            [only] => style.push_value(*only, out),
            several => {
                let joined: String = several.iter().map(|text| text.to_str()).collect();
                let mut token = Vec::new();
                json::push_string(&joined, &mut token);
                style.push_string(token.as_slice(), out);
            }
        }
    }
}

/// A payload with one text, as we write it.
struct Plain<'a> {
    role: Value<'a>,
    call_id: Option<Value<'a>>,
    text: Value<'a>,
    /// The members after the content.
    rest: Members<'a>,
}

/// Takes a payload apart by its exact form; `None` where it has another.
fn split_plain(payload: &[u8]) -> Option<Plain<'_>> {
    let rest = payload.strip_prefix(b"{\"role\":")?;
    let (role, rest) = plain_string(rest)?;
    let (call_id, rest) = match rest.strip_prefix(RESULT_CONTENT) {
        Some(rest) => {
            let (id, rest) = plain_string(rest)?;
            (Some(id), rest.strip_prefix(b",\"content\":[{\"type\":\"text\",\"text\":")?)
        }
        None => (None, rest.strip_prefix(PLAIN_CONTENT)?),
    };
    if rest.first() != Some(&b'"') {
        return None;
    }
    let end = json::token_end(rest, 0);
    let close: &[u8] = if call_id.is_some() { b"}]}]" } else { b"}]" };
    let after = rest[end..].strip_prefix(close)?;
    Some(Plain { role, call_id, text: Value::trusted(&rest[..end]), rest: Members::of_rest(after) })
}

/// Takes a string without escapes from the front of a text, and what follows it.
fn plain_string(text: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let len = 2 + memchr::memchr2(b'"', b'\\', text.strip_prefix(b"\"")?)?;
    let (token, rest) = text.split_at(len);
    token.ends_with(b"\"").then_some((Value::trusted(token), rest))
}
