//! One part of a content, as the program has it and as the log has it.

use crate::adapters::kit::mapping::{Table, To};
use crate::json::{self, Escapes, Kind, Member};

use super::fields::{is_type, last_of_each, member};
use super::response::{Response, render_response};
use super::schema::{CALL, FILE, INLINE, TEXT_PART, THOUGHT_PART};

/// A part of the program's own, by what the log makes of it.
pub(super) enum Part<'a> {
    /// A bare text as the whole content.
    Text(&'a [u8]),
    /// A text that stands in a list by itself.
    BareText(&'a [u8]),
    /// `{text}`.
    Said(Vec<Member<'a>>),
    /// `{text, thought: true}`.
    Thought(Vec<Member<'a>>),
    /// `{functionCall}`, with or without a signature.
    Call { call: &'a [u8], signature: Option<&'a [u8]>, place: SignaturePlace },
    /// `{functionResponse}`.
    Response(Response<'a>, &'a [u8]),
    /// `{inlineData}`.
    Inline(Vec<Member<'a>>, &'a [u8]),
    /// `{fileData}`.
    File(Vec<Member<'a>>, &'a [u8]),
    /// Anything else.
    Other(&'a [u8]),
}

/// On which side of a call its signature stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignaturePlace {
    After,
    Before,
}

impl<'a> Part<'a> {
    /// Tells what an element of a content list, or the content itself, is.
    pub(super) fn of(item: &'a [u8]) -> Part<'a> {
        match json::kind_of(item) {
            Kind::String => return Part::BareText(item),
            Kind::Object => {}
            Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => return Part::Other(item),
        }
        let members = json::all_members(item);
        let is_object = |member: &Member<'_>| json::kind_of(member.value) == Kind::Object;
        match members.as_slice() {
            [only] if only.is("functionCall") && is_object(only) => {
                Part::Call { call: only.value, signature: None, place: SignaturePlace::After }
            }
            [call, signature] if call.is("functionCall") && is_object(call) && signature.is("thoughtSignature") => {
                Part::Call { call: call.value, signature: Some(signature.value), place: SignaturePlace::After }
            }
            [signature, call] if call.is("functionCall") && is_object(call) && signature.is("thoughtSignature") => {
                Part::Call { call: call.value, signature: Some(signature.value), place: SignaturePlace::Before }
            }
            [only] if only.is("functionResponse") => match Response::of_part(item) {
                Some(response) => Part::Response(response, item),
                None => Part::Other(item),
            },
            [only] if only.is("inlineData") && is_object(only) => Part::Inline(json::all_members(only.value), item),
            [only] if only.is("fileData") && is_object(only) => Part::File(json::all_members(only.value), item),
            _ => {
                let has_text = members.iter().any(|member| member.is("text") && json::kind_of(member.value) == Kind::String);
                let thought = members.iter().find(|member| member.is("thought"));
                // What decides the part's own type, or ours, is not carried beside a text.
                let is_more = members.iter().any(|member| ["subject", "run", "type", "bare"].iter().any(|name| member.is(name)));
                let is_call = members
                    .iter()
                    .any(|member| ["functionCall", "functionResponse", "inlineData", "fileData"].iter().any(|name| member.is(name)));
                match thought {
                    Some(thought) if has_text && thought.value == b"true" && !is_more && !is_call => Part::Thought(members),
                    None if has_text && !is_more && !is_call => Part::Said(members),
                    _ => Part::Other(item),
                }
            }
        }
    }
}

/// Writes a part in the log's form.
pub(super) fn push_part(part: &Part<'_>, writer: Escapes, out: &mut Vec<u8>) {
    let before = out.len();
    let (fits, whole): (bool, &[u8]) = match part {
        Part::Text(text) => {
            push_value(b"{\"type\":\"text\",\"text\":", text, writer, out);
            out.push(b'}');
            (true, text)
        }
        Part::BareText(text) => {
            push_value(b"{\"type\":\"text\",\"text\":", text, writer, out);
            out.extend_from_slice(b",\"bare\":true}");
            (true, text)
        }
        Part::Said(members) => return push_or_other(&TEXT_PART, members, "\"text\"", writer, out),
        Part::Thought(members) => return push_or_other(&THOUGHT_PART, members, "\"thinking\"", writer, out),
        Part::Call { call, signature, place } => {
            let fits = CALL.push_object(&last_of_each(&json::all_members(call)), &[("type", "\"tool_call\"")], writer, out);
            if let Some(signature) = signature.filter(|_| fits) {
                out.pop();
                push_value(b",\"signature\":", signature, writer, out);
                let mark: &[u8] = if *place == SignaturePlace::Before { b",\"signature_first\":true}" } else { b"}" };
                out.extend_from_slice(mark);
            }
            (fits, call)
        }
        Part::Response(response, item) => (response.push(None, writer, out).is_some(), item),
        Part::Inline(members, item) => {
            let media = members.iter().find(|member| member.is("mimeType")).map(|member| json::unescape(member.value));
            let kind = if media.is_some_and(|media| media.starts_with("image/")) { "\"image\"" } else { "\"file\"" };
            let has_data = members.iter().any(|member| member.is("data") && json::kind_of(member.value) == Kind::String);
            (has_data && INLINE.push_object(members, &[("type", kind)], writer, out), item)
        }
        Part::File(members, item) => {
            let has_uri = members.iter().any(|member| member.is("fileUri") && json::kind_of(member.value) == Kind::String);
            (has_uri && FILE.push_object(members, &[("type", "\"file\"")], writer, out), item)
        }
        Part::Other(item) => (false, item),
    };
    if !fits {
        out.truncate(before);
        push_value(b"{\"type\":\"other\",\"value\":", whole, writer, out);
        out.push(b'}');
    }
}

fn push_or_other(table: &Table, members: &[Member<'_>], kind: &'static str, writer: Escapes, out: &mut Vec<u8>) {
    let before = out.len();
    if !table.push_object(members, &[("type", kind)], writer, out) {
        // Of equal keys the last counts, as JSON.parse has it; the bytes are the residual's.
        out.truncate(before);
        table.push_object(&last_of_each(members), &[("type", kind)], writer, out);
    }
}

fn push_value(open: &[u8], value: &[u8], writer: Escapes, out: &mut Vec<u8>) {
    out.extend_from_slice(open);
    json::push_carried_value(value, writer, out);
}

/// Renders a part of the content as it was.
pub(super) fn render_part(part: &[u8], to: To<'_>) {
    let To { style, depth, out } = to;
    if is_type(part, "text") {
        return match member(part, "bare") {
            Some(_) => style.push_value_at(member(part, "text").unwrap_or(b"\"\""), depth, out),
            None => TEXT_PART.render_object(part, To { style, depth, out }),
        };
    }
    if is_type(part, "thinking") {
        return THOUGHT_PART.render_object(part, To { style, depth, out });
    }
    if is_type(part, "tool_result") {
        return render_response(part, To { style, depth, out });
    }
    if is_type(part, "tool_call") {
        let signature = member(part, "signature").map(|signature| ("thoughtSignature", signature));
        let is_first = member(part, "signature_first").is_some();
        let before = signature.filter(|_| is_first);
        let after = signature.filter(|_| !is_first);
        return wrapped("functionCall", &CALL, part, (before, after), To { style, depth, out });
    }
    if is_type(part, "image") || is_type(part, "file") {
        return match member(part, "uri") {
            Some(_) => wrapped("fileData", &FILE, part, (None, None), To { style, depth, out }),
            None => wrapped("inlineData", &INLINE, part, (None, None), To { style, depth, out }),
        };
    }
    style.push_value_at(member(part, "value").unwrap_or(b"null"), depth, out);
}

/// A member that the object has before or after the part itself.
type Neighbour<'v> = Option<(&'static str, &'v [u8])>;

/// Renders an object that stands under one key, with what stands around it.
fn wrapped(key: &str, table: &Table, part: &[u8], (before, after): (Neighbour<'_>, Neighbour<'_>), to: To<'_>) {
    let To { style, depth, out } = to;
    out.push(b'{');
    let mut first = true;
    let mut open = |name: &str, out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            style.push_comma(out);
        }
        style.push_break(depth + 1, out);
        style.push_name(name, out);
        style.push_colon(out);
    };
    if let Some((name, value)) = before {
        open(name, out);
        style.push_value_at(value, depth + 1, out);
    }
    open(key, out);
    table.render_object(part, To { style, depth: depth + 1, out });
    if let Some((name, value)) = after {
        open(name, out);
        style.push_value_at(value, depth + 1, out);
    }
    style.push_break(depth, out);
    out.push(b'}');
}
