//! A message's payload in the log, taken apart for rendering.

use crate::model::json::{self, Member, Style};

use super::message::ABSENT;

/// A message's payload, taken apart. All spans are in log form.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub role: &'a [u8],
    /// The text parts; a record has one string, so several are joined.
    texts: Vec<&'a [u8]>,
    pub call_id: Option<&'a [u8]>,
    pub files: Vec<FilePart<'a>>,
    pub model: Option<&'a [u8]>,
    pub usage: Option<&'a [u8]>,
    pub pinned: bool,
    pub hidden_from_display: bool,
    pub hidden_from_model: bool,
    pub ext: Vec<Member<'a>>,
    pub shape: usize,
}

#[derive(Debug)]
pub(super) struct FilePart<'a> {
    pub name: &'a [u8],
    pub is_uri: bool,
    pub hash: Option<&'a [u8]>,
}

/// How our own writer begins a payload with one text part: parts of it need
/// not be looked for.
const PLAIN_CONTENT: &[u8] = b",\"content\":[{\"type\":\"text\",\"text\":";
/// The same for the result of a tool call.
const RESULT_CONTENT: &[u8] = b",\"content\":[{\"type\":\"tool_result\",\"call_id\":";

impl<'a> Parts<'a> {
    pub(super) fn of(payload: &'a [u8]) -> Parts<'a> {
        let mut parts = Parts::default();
        let mut rest = payload;
        if let Some(plain) = split_plain(payload) {
            parts.role = plain.role;
            parts.call_id = plain.call_id;
            parts.texts.push(plain.text);
            rest = plain.behind;
        }
        // `members` starts behind the opening byte, whatever that is.
        for member in json::members(rest) {
            match member.name().as_ref() {
                "role" => parts.role = member.value,
                "content" => parts.content(member.value, 0),
                "model" => parts.model = Some(member.value),
                "usage" => parts.usage = Some(member.value),
                "pinned" => parts.pinned = member.value == b"true",
                "hidden" => parts.hidden(member.value),
                "ext" => parts.ext = json::all_members(member.value),
                "shape" => parts.shape = std::str::from_utf8(member.value).ok().and_then(|n| n.parse().ok()).unwrap_or(0),
                _ => {}
            }
        }
        parts
    }

    /// Results stand inside parts; a hostile log could nest them for ever.
    fn content(&mut self, list: &'a [u8], depth: usize) {
        for part in json::elements(list) {
            let fields: Vec<Member<'a>> = json::all_members(part);
            let field = |name: &str| fields.iter().find(|member| member.is(name)).map(|member| member.value);
            match field("type") {
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

    fn hidden(&mut self, hidden: &'a [u8]) {
        let from = json::members(hidden).find(|member| member.name() == "from");
        for who in from.iter().flat_map(|member| json::elements(member.value)) {
            self.hidden_from_display |= who == b"\"display\"";
            self.hidden_from_model |= who == b"\"model\"";
        }
    }

    pub(super) fn ext(&self, key: &str) -> Option<&'a [u8]> {
        self.ext.iter().rev().find(|member| member.is(key)).map(|member| member.value)
    }

    pub(super) fn is_absent(&self, key: &str) -> bool {
        self.ext(ABSENT).is_some_and(|list| json::elements(list).any(|name| json::unescape(name) == key))
    }

    pub(super) fn push_text(&self, style: Style, out: &mut Vec<u8>) {
        match self.texts.as_slice() {
            [only] => style.push_value(only, out),
            several => {
                let joined: String = several.iter().map(|text| json::unescape(text)).collect();
                let mut token = Vec::new();
                json::push_string(&joined, &mut token);
                style.push_string(&token, out);
            }
        }
    }
}

/// A payload with one text, as we write it.
struct Plain<'a> {
    role: &'a [u8],
    call_id: Option<&'a [u8]>,
    text: &'a [u8],
    /// From the first byte behind the content on.
    behind: &'a [u8],
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
    Some(Plain { role, call_id, text: &rest[..end], behind: rest[end..].strip_prefix(close)? })
}

/// A string token without escapes, and what is behind it.
fn plain_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let len = 2 + memchr::memchr2(b'"', b'\\', text.strip_prefix(b"\"")?)?;
    let (token, rest) = text.split_at(len);
    token.ends_with(b"\"").then_some((token, rest))
}
