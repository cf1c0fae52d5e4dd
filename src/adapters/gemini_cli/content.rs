//! The content of a message as canonical parts, and back.
//!
//! A message says its content in up to three keys: `thoughts` beside the
//! content, the content itself (a text, a part or a list of parts), and
//! `toolCalls` with what came of each call. The parts stand in that order. A
//! part from `thoughts` has a `subject`, a part from `toolCalls` a `run`; no
//! part of the content has either.

use crate::adapters::kit::mapping::{Content, Leftovers, To};
use crate::json::{self, Escapes, Kind};

use super::fields::{is_type, member, push_list};
use super::parts::{Part, push_part, render_part};
use super::response::{Response, push_run, render_result};
use super::schema::{CALL, CALLS, CONTENT, RUN, THOUGHT, THOUGHTS};

/// The content is a text where a list is usual.
const TEXT: &str = "$text";
/// The content is a list where a text is usual.
const LIST: &str = "$list";
/// The content is a single part.
const ONE: &str = "$part";
/// The content has no `thoughts` where an empty list is usual.
const NO_THOUGHTS: &str = "$no_thoughts";

/// The message has no content.
const NO_CONTENT: &str = "$no_content";
/// The message is a turn of a saved chat.
pub(super) const TURN_MARK: &str = "$turn";

/// What the writer makes of the content of a kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usual {
    /// A list of parts.
    List,
    /// The same, in a turn of a saved chat.
    Turn,
    /// A text.
    Text,
    /// A text, and `thoughts` beside it even where there are none.
    Answer,
}

impl Usual {
    /// Tells what is usual for a message with this role, given as JSON.
    pub(super) fn of_role(role: &[u8]) -> Usual {
        match role {
            b"\"user\"" | b"\"tool\"" => Usual::List,
            b"\"assistant\"" => Usual::Answer,
            _ => Usual::Text,
        }
    }
}

/// The content of messages of one kind.
pub(super) struct MessageContent(pub Usual);

impl Content for MessageContent {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let get = |name: &str| values.iter().rev().find(|(held, _)| *held == name).map(|(_, value)| *value);
        let mut left = Leftovers::default();
        if self.0 == Usual::Turn {
            left.marks.push(TURN_MARK);
        }
        out.push(b'[');
        let start = out.len();
        match get(THOUGHTS) {
            Some(b"[]") if self.0 == Usual::Answer => {}
            Some(thoughts) => fit(out, leave(&mut left, THOUGHTS), |out| push_thoughts(thoughts, writer, start, out)),
            None if self.0 == Usual::Answer => left.marks.push(NO_THOUGHTS),
            None => {}
        }
        let content = get(CONTENT);
        let mut calls_in_content = Vec::new();
        if let Some(content) = content {
            let mark = match (json::kind_of(content), self.0) {
                (Kind::String, Usual::List | Usual::Turn) => Some(TEXT),
                (Kind::Array, Usual::Text | Usual::Answer) => Some(LIST),
                (Kind::Object, _) => Some(ONE),
                (Kind::String | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null, _) => None,
            };
            match json::kind_of(content) {
                Kind::String if content != b"\"\"" => push_one(&Part::Text(content), writer, start, out),
                Kind::String => {}
                Kind::Array => {
                    for item in json::elements(content) {
                        let part = Part::of(item);
                        if let Part::Call { call, .. } = &part {
                            calls_in_content.push(*call);
                        }
                        push_one(&part, writer, start, out);
                    }
                }
                Kind::Object => push_one(&Part::of(content), writer, start, out),
                Kind::Number | Kind::True | Kind::False | Kind::Null => left.values.push(CONTENT),
            }
            left.marks.extend(mark);
        } else {
            left.marks.push(NO_CONTENT);
        }
        if let Some(calls) = get(CALLS) {
            fit(out, leave(&mut left, CALLS), |out| push_calls(calls, &calls_in_content, writer, start, out));
        }
        out.push(b']');
        left
    }

    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        match name {
            THOUGHTS => {
                let thoughts: Vec<&[u8]> = json::elements(parts).filter(|part| member(part, "subject").is_some()).collect();
                if !thoughts.is_empty() || (self.0 == Usual::Answer && !marked(NO_THOUGHTS)) {
                    push_list(&thoughts, to, |thought, to| THOUGHT.render_object(thought, to));
                }
            }
            CONTENT if marked(NO_CONTENT) => {}
            CONTENT => {
                let own: Vec<&[u8]> = own_parts(parts).collect();
                let is_text = marked(TEXT) || (matches!(self.0, Usual::Text | Usual::Answer) && !marked(LIST));
                match own.as_slice() {
                    [only] if marked(ONE) => render_part(only, to),
                    [only] if is_text => match member(only, "text") {
                        Some(text) => to.style.push_value_at(text, to.depth, to.out),
                        None => push_list(&own, to, |part, to| render_part(part, to)),
                    },
                    [] if is_text => to.out.extend_from_slice(b"\"\""),
                    _ => push_list(&own, to, |part, to| render_part(part, to)),
                }
            }
            CALLS => render_calls(parts, to),
            _ => {}
        }
    }
}

/// Notes a value as left over where its parts could not be made.
fn leave<'b>(left: &'b mut Leftovers, name: &'static str) -> impl FnOnce() + use<'b> {
    move || left.values.push(name)
}

/// Writes parts, all or none.
fn fit(out: &mut Vec<u8>, leave: impl FnOnce(), push: impl FnOnce(&mut Vec<u8>) -> bool) {
    let before = out.len();
    if !push(out) {
        out.truncate(before);
        leave();
    }
}

/// Writes what separates a part from the one before it.
fn separate(start: usize, out: &mut Vec<u8>) {
    if out.len() > start {
        out.push(b',');
    }
}

fn push_one(part: &Part<'_>, writer: Escapes, start: usize, out: &mut Vec<u8>) {
    separate(start, out);
    push_part(part, writer, out);
}

fn push_thoughts(thoughts: &[u8], writer: Escapes, start: usize, out: &mut Vec<u8>) -> bool {
    if json::kind_of(thoughts) != Kind::Array || json::elements(thoughts).next().is_none() {
        return false;
    }
    json::elements(thoughts).all(|thought| {
        let members = if json::kind_of(thought) == Kind::Object { json::all_members(thought) } else { return false };
        let has_subject = members.iter().any(|member| member.is("subject") && json::kind_of(member.value) == Kind::String);
        separate(start, out);
        has_subject && THOUGHT.push_object(&members, &[("type", "\"thinking\"")], writer, out)
    })
}

/// Writes each entry of `toolCalls` as a call and its result. A call that the
/// content has too is not said again: its result has the `run`.
fn push_calls(calls: &[u8], in_content: &[&[u8]], writer: Escapes, start: usize, out: &mut Vec<u8>) -> bool {
    if json::kind_of(calls) != Kind::Array || json::elements(calls).next().is_none() {
        return false;
    }
    json::elements(calls).all(|entry| push_call(entry, in_content, writer, start, out).is_some())
}

fn push_call(entry: &[u8], in_content: &[&[u8]], writer: Escapes, start: usize, out: &mut Vec<u8>) -> Option<()> {
    let members = if json::kind_of(entry) == Kind::Object { json::all_members(entry) } else { return None };
    let (call, rest) = members.split_at_checked(3)?;
    let names = ["id", "name", "args"];
    let is_call = call.iter().zip(names).all(|(member, name)| member.is(name))
        && call[..2].iter().all(|member| json::kind_of(member.value) == Kind::String)
        && !rest.iter().any(|member| names.iter().any(|name| member.is(name)));
    if !is_call {
        return None;
    }
    let result = rest.first().filter(|member| member.is("result")).and_then(|member| Response::of(member.value, call));
    let rest = if result.is_some() { &rest[1..] } else { rest };
    let mut run = Vec::new();
    if !RUN.push_object(rest, &[], writer, &mut run) {
        return None;
    }
    let is_said = in_content.iter().any(|said| {
        let said = json::all_members(said);
        said.len() == 3 && said.iter().zip(call).zip(names).all(|((said, own), name)| said.is(name) && said.value == own.value)
    });
    match result {
        Some(result) if is_said => {
            separate(start, out);
            result.push(Some(&run), writer, out)?;
        }
        _ => {
            separate(start, out);
            if !CALL.push_object(call, &[("type", "\"tool_call\"")], writer, out) {
                return None;
            }
            push_run(&run, out);
            if let Some(result) = result {
                separate(start, out);
                result.push(None, writer, out)?;
            }
        }
    }
    Some(())
}

/// The parts of the content itself.
fn own_parts(parts: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_own = |part: &&[u8]| member(part, "run").is_none();
    json::elements(parts).filter(|part| member(part, "subject").is_none()).take_while(is_own)
}

/// Renders `toolCalls`, where there are any.
fn render_calls(parts: &[u8], to: To<'_>) {
    let own = own_parts(parts).count();
    let rest: Vec<&[u8]> = json::elements(parts).filter(|part| member(part, "subject").is_none()).skip(own).collect();
    let mut entries: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
    for part in rest {
        match entries.last_mut() {
            Some((_, result)) if member(part, "run").is_none() && result.is_none() => *result = Some(part),
            _ => entries.push((part, None)),
        }
    }
    if entries.is_empty() {
        return;
    }
    let calls_in_content: Vec<&[u8]> = own_parts(parts).filter(|part| is_type(part, "tool_call")).collect();
    push_list(&entries, to, |(part, result), to| render_call(part, *result, &calls_in_content, to));
}

fn render_call(part: &[u8], result: Option<&[u8]>, in_content: &[&[u8]], to: To<'_>) {
    let is_result = is_type(part, "tool_result");
    let id = member(part, if is_result { "call_id" } else { "id" });
    let call = if is_result { in_content.iter().copied().find(|call| member(call, "id") == id) } else { Some(part) };
    let result = if is_result { Some(part) } else { result };
    let To { style, depth, out } = to;
    let mut first = true;
    let mut key = |name: &str, out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            style.push_comma(out);
        }
        style.push_break(depth + 1, out);
        style.push_name(name, out);
        style.push_colon(out);
    };
    out.push(b'{');
    for (name, ours) in [("id", "id"), ("name", "name"), ("args", "arguments")] {
        if let Some(value) = call.and_then(|call| member(call, ours)) {
            key(name, out);
            style.push_value_at(value, depth + 1, out);
        }
    }
    if let Some(result) = result {
        key("result", out);
        render_result(result, To { style, depth: depth + 1, out });
    }
    let mut run = Vec::new();
    RUN.render_object(member(part, "run").unwrap_or(b"{}"), To { style, depth, out: &mut run });
    if run.len() > 2 {
        style.push_comma(out);
        out.extend_from_slice(&run[1..]);
    } else {
        style.push_break(depth, out);
        out.push(b'}');
    }
}
