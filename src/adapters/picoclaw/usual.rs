//! The short way for messages as nearly all are: no field without a canonical
//! place, keys in the writer's order. What it does not know it leaves to the
//! table, and both write the same.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::kit::mapping::{Rendering, To};
use crate::json::{self, Style, token_end};
use crate::runtimes::go::{Time, is_marshal_escape};

use super::decode::EMPTY;

/// A payload as the log writes it, read from front to back so that each text
/// is scanned once.
struct Cursor<'p> {
    rest: &'p [u8],
}

impl<'p> Cursor<'p> {
    fn takes(&mut self, word: &[u8]) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, word: &[u8]) -> Option<()> {
        self.takes(word).then_some(())
    }

    fn string(&mut self) -> Option<&'p [u8]> {
        if self.rest.first() != Some(&b'"') {
            return None;
        }
        let (token, rest) = self.rest.split_at(token_end(self.rest, 0));
        self.rest = rest;
        Some(token)
    }

    /// Returns a string that is not empty.
    fn some_string(&mut self) -> Option<&'p [u8]> {
        self.string().filter(|token| *token != EMPTY)
    }
}

/// What a message says.
#[derive(Default)]
struct MessageMembers<'p> {
    role: &'p [u8],
    text: Option<&'p [u8]>,
    reasoning: Option<&'p [u8]>,
    call_id: Option<&'p [u8]>,
    model: Option<&'p [u8]>,
    media: Vec<&'p [u8]>,
    /// Id, name, arguments and signature.
    tool_calls: Vec<[&'p [u8]; 4]>,
}

impl<'p> MessageMembers<'p> {
    /// `None` where something in it is not usual.
    fn of(payload: &'p [u8]) -> Option<MessageMembers<'p>> {
        let mut said = MessageMembers::default();
        let mut at = Cursor { rest: payload };
        at.expect(b"{\"role\":")?;
        said.role = at.string()?;
        at.expect(b",\"content\":[")?;
        while !at.takes(b"]") {
            at.takes(b",");
            said.part(&mut at)?;
        }
        if at.takes(b",\"model\":") {
            said.model = Some(at.some_string()?);
        }
        (at.rest == b"}").then_some(said)
    }

    fn part(&mut self, at: &mut Cursor<'p>) -> Option<()> {
        at.expect(b"{\"type\":\"")?;
        if at.takes(b"text\",\"text\":") {
            self.text = Some(at.string()?);
        } else if at.takes(b"thinking\",\"text\":") {
            self.reasoning = Some(at.some_string()?);
        } else if at.takes(b"tool_result\",\"call_id\":") {
            self.call_id = Some(at.some_string()?);
            at.expect(b",\"content\":[")?;
            if at.takes(b"{\"type\":\"text\",\"text\":") {
                self.text = Some(at.string()?);
                at.expect(b"}")?;
            }
            at.expect(b"]")?;
        } else if at.takes(b"tool_call\",\"id\":") {
            let id = at.string()?;
            at.expect(b",\"name\":")?;
            let name = at.string()?;
            at.expect(b",\"arguments\":")?;
            let arguments = at.string()?;
            let signature = if at.takes(b",\"signature\":") { at.some_string()? } else { EMPTY };
            self.tool_calls.push([id, name, arguments, signature]);
        } else {
            at.expect(b"file\",\"uri\":")?;
            self.media.push(at.string()?);
        }
        at.expect(b"}")
    }
}

/// Renders a payload; says whether it could.
pub(super) fn render(payload: &[u8], ts: Option<&str>, style: Style, depth: usize, out: &mut Vec<u8>) -> bool {
    let Some(said) = MessageMembers::of(payload) else { return false };
    let mut object = Rendering::open(style, depth, out);
    object.value("role", said.role);
    object.value("content", said.text.unwrap_or(EMPTY));
    if let Some(model) = said.model {
        object.value("model_name", model);
    }
    if let Some(ts) = ts {
        let To { out, .. } = object.key("created_at");
        out.push(b'"');
        out.extend_from_slice(ts.as_bytes());
        out.push(b'"');
    }
    list(&mut object, "media", &said.media, &|uri, to| to.style.push_string(uri, to.out));
    if let Some(reasoning) = said.reasoning {
        object.value("reasoning_content", reasoning);
    }
    list(&mut object, "tool_calls", &said.tool_calls, &tool_call);
    if let Some(call_id) = said.call_id {
        object.value("tool_call_id", call_id);
    }
    object.close();
    true
}

fn tool_call([id, name, arguments, signature]: &[&[u8]; 4], to: To<'_>) {
    let mut object = Rendering::open(to.style, to.depth, to.out);
    object.value("id", id);
    object.value("type", b"\"function\"");
    let To { style, depth, out } = object.key("function");
    let mut inner = Rendering::open(style, depth, out);
    inner.value("name", name);
    inner.value("arguments", arguments);
    if *signature != EMPTY {
        inner.value("thought_signature", signature);
    }
    inner.close();
    object.close();
}

/// Shows a message as the program would write it again, where that is what it
/// renders to: nothing that the program would leave out or say otherwise.
pub(super) fn show(payload: &[u8], ts: Option<&str>, style: Style, out: &mut Vec<u8>) -> bool {
    let is_own = |ts: &str| Time::parse(ts.as_bytes()).is_some_and(|time| time.text() == ts);
    ts.is_none_or(is_own) && has_own_escapes_only(payload) && render(payload, ts, style, 0, out)
}

fn list<T>(object: &mut Rendering<'_>, key: &str, items: &[T], push: &dyn Fn(&T, To<'_>)) {
    if items.is_empty() {
        return;
    }
    let To { style, depth, out } = object.key(key);
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            style.push_comma(out)
        } else {
            out.push(b'[')
        }
        style.push_break(depth + 1, out);
        push(item, To { style, depth: depth + 1, out });
    }
    style.push_break(depth, out);
    out.push(b']');
}

/// Tells whether every escape of a payload is one that Go writes too. Outside of
/// strings there is no backslash, so these are the escapes of its strings. Only
/// two kinds may be of another's making: `\/`, and some `\u`.
fn has_own_escapes_only(payload: &[u8]) -> bool {
    static SLASH: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\/"));
    let mut rest = payload;
    while let Some(at) = json::first_unicode_escape(rest) {
        if !is_marshal_escape(&rest[at..]) {
            return false;
        }
        rest = &rest[at + 6..];
    }
    // A backslash before a slash may itself be escaped: that goes the long way.
    SLASH.find(payload).is_none()
}
