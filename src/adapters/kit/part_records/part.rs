//! A part's file as parts of a message's content, and back. The call of a tool and
//! its result are one part of the program and two of the log.

use std::borrow::Cow;

use crate::adapters::kit::mapping::{Table, To, has_a_name_twice, last_of_each};
use crate::json::{self, Escapes, Kind, Member};
use crate::runtimes::javascript::is_text;

use super::message::{Owner, member};
use super::schema::{
    COMPACT, FILE, GIVEN_INPUT, GIVEN_MESSAGE, GIVEN_OUTPUT, GIVEN_SESSION, GIVEN_STATE, REASONING, STATE_COMPLETED, STATE_FAILED,
    STATE_OPEN, TEXT, TOOL, WRITER,
};

/// Appends a part in the log's form.
pub(in crate::adapters) fn push(record: &[u8], owner: Owner<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    if json::kind_of(record) == Kind::Object {
        let all = json::all_members(record);
        let members: Cow<'_, [Member<'_>]> = if has_a_name_twice(&all) { last_of_each(&all).into() } else { all.into() };
        if push_known(&members, owner, out) {
            return;
        }
        out.truncate(start);
    }
    out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
    json::push_carried_value(record, WRITER, out);
    out.push(b'}');
}

/// Appends a part of a type that the log has a word for. `false` where it is
/// another, or has not the members that such a part needs.
fn push_known(members: &[Member<'_>], owner: Owner<'_>, out: &mut Vec<u8>) -> bool {
    let get = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value);
    let has_text = |name: &str| get(name).is_some_and(|value| json::kind_of(value) == Kind::String);
    let is = |name: &str| get("type").is_some_and(|kind| is_text(json::Value::trusted(kind), name));
    let is_given = |name: &str, value: &[u8]| match name {
        GIVEN_SESSION => owner.session == Some(value),
        GIVEN_MESSAGE => owner.message == Some(value),
        _ => false,
    };
    if is("text") && has_text("text") {
        return TEXT.push_object_given(members, &[("type", "\"text\"")], &is_given, WRITER, out);
    }
    if is("reasoning") && has_text("text") {
        return REASONING.push_object_given(members, &[("type", "\"thinking\"")], &is_given, WRITER, out);
    }
    if is("file") && has_text("url") {
        let media = get("mime").map(json::unescape);
        let kind = if media.is_some_and(|media| media.starts_with("image/")) { "\"image\"" } else { "\"file\"" };
        return FILE.push_object_given(members, &[("type", kind)], &is_given, WRITER, out);
    }
    if is("tool") && has_text("callID") && has_text("tool") {
        let is_given = |name: &str, value: &[u8]| name == GIVEN_STATE || is_given(name, value);
        let Some(state) = get("state").and_then(State::of) else { return false };
        return TOOL.push_object_given(members, &[("type", "\"tool_call\"")], &is_given, WRITER, out)
            && state.push(get("callID").unwrap_or_default(), out);
    }
    false
}

/// The state of a tool.
struct State<'a> {
    members: Vec<Member<'a>>,
    input: Option<&'a [u8]>,
    answer: Answer<'a>,
}

/// What a tool answered, a JSON string.
#[derive(Clone, Copy)]
enum Answer<'a> {
    /// Nothing yet.
    Open,
    Completed(&'a [u8]),
    Failed(&'a [u8]),
}

impl<'a> Answer<'a> {
    fn text(self) -> Option<&'a [u8]> {
        match self {
            Answer::Open => None,
            Answer::Completed(text) | Answer::Failed(text) => Some(text),
        }
    }

    /// Returns the keys of a state with this answer.
    fn table(self) -> &'static Table {
        match self {
            Answer::Open => &STATE_OPEN,
            Answer::Completed(_) => &STATE_COMPLETED,
            Answer::Failed(_) => &STATE_FAILED,
        }
    }
}

impl<'a> State<'a> {
    fn of(state: &'a [u8]) -> Option<State<'a>> {
        let members = (json::kind_of(state) == Kind::Object).then(|| json::all_members(state))?;
        let get = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value);
        let answer = match (get("output"), get("error")) {
            (None, None) => Answer::Open,
            (Some(output), None) => Answer::Completed(output),
            (None, Some(error)) => Answer::Failed(error),
            (Some(_), Some(_)) => return None,
        };
        let is_text = answer.text().is_none_or(|text| json::kind_of(text) == Kind::String);
        let input = get("input");
        is_text.then_some(State { members, input, answer })
    }

    /// Adds the state to a call, and its result after it.
    fn push(&self, call_id: &[u8], out: &mut Vec<u8>) -> bool {
        out.pop();
        if let Some(input) = self.input {
            push_member("arguments", input, out);
        }
        out.extend_from_slice(b",\"run\":");
        let is_said_apart = |name: &str, _: &[u8]| matches!(name, GIVEN_INPUT | GIVEN_OUTPUT);
        if !self.answer.table().push_object_given(&self.members, &[], &is_said_apart, WRITER, out) {
            return false;
        }
        out.push(b'}');
        if let Some(text) = self.answer.text() {
            out.extend_from_slice(b",{\"type\":\"tool_result\"");
            push_member("call_id", call_id, out);
            if matches!(self.answer, Answer::Failed(_)) {
                out.extend_from_slice(b",\"is_error\":true");
            }
            out.extend_from_slice(b",\"content\":[{\"type\":\"text\"");
            push_member("text", text, out);
            out.extend_from_slice(b"}]}");
        }
        true
    }
}

fn push_member(name: &'static str, value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    json::push_own_key(name, out);
    json::push_carried_value(value, Escapes::Utf8, out);
}

/// Renders the part that begins with this element of a message's content, and
/// returns how many elements it is made of.
pub(in crate::adapters) fn render(content: &[&[u8]], owner: Owner<'_>, to: To<'_>) -> usize {
    let Some(first) = content.first() else { return 0 };
    let mut given = json::all_members(first);
    let kind = member(first, "type").map(json::unescape).unwrap_or_default();
    if kind == "other" {
        to.style.push_value_at(member(first, "value").unwrap_or(b"null"), to.depth, to.out);
        return 1;
    }
    given.extend(owner.session.map(|value| Member { key: b"\"session\"", value }));
    given.extend(owner.message.map(|value| Member { key: b"\"message\"", value }));
    match kind.as_ref() {
        "thinking" => REASONING.render_opened_object(&given, to),
        "image" | "file" => FILE.render_opened_object(&given, to),
        "tool_call" => {
            let result = content.get(1).filter(|next| member(next, "type").is_some_and(|kind| json::unescape(kind) == "tool_result"));
            let state = state(first, result.copied());
            given.push(Member { key: b"\"state\"", value: &state });
            TOOL.render_opened_object(&given, to);
            return 1 + usize::from(result.is_some());
        }
        _ => TEXT.render_opened_object(&given, to),
    }
    1
}

/// Returns the state of a tool, from its call and its result.
fn state(call: &[u8], result: Option<&[u8]>) -> Vec<u8> {
    let mut members = member(call, "run").map(json::all_members).unwrap_or_default();
    members.extend(member(call, "arguments").map(|value| Member { key: b"\"input\"", value }));
    let content = result.and_then(|result| member(result, "content")).and_then(|content| json::elements(content).next());
    let text = content.and_then(|part| member(part, "text")).unwrap_or(b"\"\"");
    let answer = match result {
        None => Answer::Open,
        Some(result) if member(result, "is_error") == Some(b"true") => Answer::Failed(text),
        Some(_) => Answer::Completed(text),
    };
    members.extend(answer.text().map(|value| Member { key: b"\"output\"", value }));
    let mut out = Vec::new();
    answer.table().render_opened_object(&members, To { style: COMPACT, depth: 0, out: &mut out });
    out
}
