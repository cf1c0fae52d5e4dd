//! The answer of a tool: a `functionResponse` as a `tool_result`, and back.

use std::borrow::Cow;

use crate::adapters::kit::mapping::To;
use crate::json::{self, Escapes, Kind, Member};

use super::fields::{last_of_each, member, push_list};
use super::schema::RESPONSE;

/// A `functionResponse`, and what follows it in a call's result.
pub(super) struct Response<'a> {
    members: Vec<Member<'a>>,
    more: Vec<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// Takes the result of a call that answers this very call.
    pub(super) fn of(result: &'a [u8], call: &[Member<'_>]) -> Option<Response<'a>> {
        if json::kind_of(result) != Kind::Array {
            return None;
        }
        let mut items = json::elements(result);
        let response = Response::of_part(items.next()?)?;
        let answers = |name: &str, asked: &Member<'_>| response.members.iter().any(|own| own.is(name) && own.value == asked.value);
        let answers = answers("id", &call[0]) && answers("name", &call[1]);
        let more: Vec<&[u8]> = items.collect();
        (answers && more.iter().all(|more| can_be_wrapped(more))).then_some(Response { more, ..response })
    }

    /// Takes a part that is a `functionResponse` and nothing else.
    pub(super) fn of_part(part: &'a [u8]) -> Option<Response<'a>> {
        if json::kind_of(part) != Kind::Object {
            return None;
        }
        let [only] = json::all_members(part).try_into().ok()?;
        let only: Member<'a> = only;
        if !only.is("functionResponse") || json::kind_of(only.value) != Kind::Object {
            return None;
        }
        let members = last_of_each(&json::all_members(only.value));
        let response = members.iter().find(|member| member.is("response"))?.value;
        can_be_wrapped(response).then_some(Response { members, more: Vec::new() })
    }

    /// Writes the part. `None` where it could not be given back.
    pub(super) fn push(&self, run: Option<&[u8]>, writer: Escapes, out: &mut Vec<u8>) -> Option<()> {
        let given = self.members.iter().find(|member| member.is("response"))?.value;
        let (content, is_error) = self.content(given);
        let content: Vec<Member<'_>> = self
            .members
            .iter()
            .map(|member| if member.is("response") { Member { key: member.key, value: &content } } else { *member })
            .collect();
        let front: &[(&'static str, &str)] = match is_error {
            IsError::Yes => &[("type", "\"tool_result\""), ("is_error", "true")],
            IsError::No => &[("type", "\"tool_result\"")],
        };
        if !RESPONSE.push_object(&content, front, writer, out) {
            return None;
        }
        if let Some(run) = run {
            push_run(run, out);
        }
        Some(())
    }

    /// The response as a list of parts, in the source's own escapes.
    fn content(&self, response: &[u8]) -> (Vec<u8>, IsError) {
        let mut out = b"[".to_vec();
        let only: Option<[Member<'_>; 1]> =
            Some(response).filter(|value| json::kind_of(value) == Kind::Object).and_then(|value| json::all_members(value).try_into().ok());
        let text = only.as_ref().map(|[only]| only).filter(|only| json::kind_of(only.value) == Kind::String);
        let is_error = match text {
            Some(only) if only.is("output") => Some(IsError::No),
            Some(only) if only.is("error") => Some(IsError::Yes),
            _ => None,
        };
        match (text, is_error) {
            (Some(only), Some(_)) => push_wrapped(b"{\"type\":\"text\",\"text\":", only.value, &mut out),
            _ => push_wrapped(b"{\"type\":\"other\",\"value\":", response, &mut out),
        }
        for more in &self.more {
            out.push(b',');
            push_wrapped(b"{\"type\":\"other\",\"value\":", more, &mut out);
        }
        out.push(b']');
        (out, is_error.unwrap_or(IsError::No))
    }
}

/// Tells whether a value can stand in a list of ours. One that is nested too
/// deep, or has a key that a log cannot say, makes a log carry the list around
/// it as text, in which no part would be seen.
fn can_be_wrapped(value: &[u8]) -> bool {
    let has = |what: &[u8]| memchr::memmem::find(value, what).is_some();
    json::kind_of(value) == Kind::String || says_text(value) || (json::deepest(value) < DEEPEST && !has(b"$raw") && !has(b"\\u"))
}

/// Tells whether a response is one text under its usual name. The text alone goes
/// into the list, whatever is escaped in it: terminals print colours.
fn says_text(response: &[u8]) -> bool {
    if json::kind_of(response) != Kind::Object {
        return false;
    }
    let only: Option<[Member<'_>; 1]> = json::all_members(response).try_into().ok();
    only.is_some_and(|[only]| matches!(only.key, b"\"output\"" | b"\"error\"") && json::kind_of(only.value) == Kind::String)
}

/// A value that is not nested as deep as this stands in a list by itself.
const DEEPEST: usize = 64;

/// Whether a response says that its tool failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsError {
    Yes,
    No,
}

fn push_wrapped(open: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(open);
    out.extend_from_slice(value);
    out.push(b'}');
}

/// Renders a `tool_result` as the part that it was.
pub(super) fn render_response(part: &[u8], to: To<'_>) {
    let To { style, depth, out } = to;
    out.push(b'{');
    style.push_break(depth + 1, out);
    style.push_name("functionResponse", out);
    style.push_colon(out);
    let mut given = json::all_members(part);
    given.retain(|member| !member.is("run"));
    let failed = given.iter().any(|member| member.is("is_error") && member.value == b"true");
    let is_error = if failed { IsError::Yes } else { IsError::No };
    let response = given.iter().find(|member| member.is("content")).and_then(|content| response_of(content.value, is_error));
    if let (Some(response), Some(content)) = (&response, given.iter_mut().find(|member| member.is("content"))) {
        content.value = response;
    }
    RESPONSE.render_opened_object(&given, To { style, depth: depth + 1, out });
    style.push_break(depth, out);
    out.push(b'}');
}

/// The response that a list of parts says, in the log's form.
fn response_of(content: &[u8], is_error: IsError) -> Option<Cow<'_, [u8]>> {
    let first = Some(content).filter(|content| json::kind_of(content) == Kind::Array).and_then(|content| json::elements(content).next())?;
    if let Some(value) = member(first, "value") {
        return Some(Cow::Borrowed(value));
    }
    let mut out: Vec<u8> = match is_error {
        IsError::Yes => b"{\"error\":".to_vec(),
        IsError::No => b"{\"output\":".to_vec(),
    };
    out.extend_from_slice(member(first, "text")?);
    out.push(b'}');
    Some(Cow::Owned(out))
}

/// Puts the `run` of a part at its end.
pub(super) fn push_run(run: &[u8], out: &mut Vec<u8>) {
    out.pop();
    out.extend_from_slice(b",\"run\":");
    out.extend_from_slice(run);
    out.push(b'}');
}

/// Renders the `result` of a call: its response, and what follows that.
pub(super) fn render_result(result: &[u8], to: To<'_>) {
    let content = member(result, "content").filter(|content| json::kind_of(content) == Kind::Array).unwrap_or(b"[]");
    let more: Vec<&[u8]> = json::elements(content).skip(1).filter_map(|part| member(part, "value")).collect();
    let items: Vec<(usize, &[u8])> = std::iter::once(result).chain(more).enumerate().collect();
    push_list(&items, to, |(n, item), to| match n {
        0 => render_response(item, to),
        _ => to.style.push_value_at(item, to.depth, to.out),
    });
}
