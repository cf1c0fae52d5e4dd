//! A message with other texts: a walk over every text that it has.

use crate::json::{self, Kind};

use super::json::Json;
use super::message::Message;
use super::part::{Arguments, Media, Part, Shell, Thinking, ToolCall, ToolResult};
use super::reading::is_json;
use super::text::Text;

/// A text of a message, for who rewrites it.
pub(crate) struct TextToRewrite<'a> {
    /// The text, without escapes.
    pub(crate) text: &'a str,
    /// The name of the JSON member that it is the value of, where it is one.
    pub(crate) member: Option<&'a str>,
    /// Where the text is.
    pub(crate) place: SaidIn,
    /// Whose words the names of the members around it are.
    pub(crate) names: NamesOf,
}

/// Where a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SaidIn {
    /// In a member of the message.
    Message,
    /// In the payload of its event, which says everything once more.
    Payload,
}

/// Whose words the names of members are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamesOf {
    /// The program's.
    Program,
    /// A tool's.
    Tool,
}

impl<'a> TextToRewrite<'a> {
    fn alone(text: &'a str) -> TextToRewrite<'a> {
        TextToRewrite { text, member: None, place: SaidIn::Message, names: NamesOf::Program }
    }
}

/// Returns what takes the place of a text; `None` where it stays.
pub(crate) type Rewrite<'r> = dyn FnMut(TextToRewrite<'_>) -> Option<String> + 'r;

/// JSON that is nested deeper is not opened. No log has that: it carries such
/// values as text.
const DEEPEST: usize = 128;

/// A text that cannot be looked into, so that nobody knows what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl Message {
    /// Returns the message with every text of it rewritten. Its own ids, those of
    /// its calls and its signatures stay, wherever they stand.
    ///
    /// # Errors
    /// [`Unreadable`] where some text cannot be looked into.
    pub(crate) fn rewritten(mut self, rewrite: &mut Rewrite<'_>) -> Result<Message, Unreadable> {
        let fixed = fixed_texts(&self);
        let mut rewrite = |said: TextToRewrite<'_>| if fixed.iter().any(|text| text == said.text) { None } else { rewrite(said) };
        for part in &mut self.parts {
            rewrite_part(part, &mut rewrite)?;
        }
        let strings = [&mut self.source_role, &mut self.name, &mut self.model, &mut self.provider, &mut self.error];
        strings.into_iter().for_each(|string| rewrite_string(string, &mut rewrite));
        self.raw = json(&self.raw, Walk::PAYLOAD, &mut rewrite)?;
        Ok(self)
    }
}

/// Returns the texts that stay as they are: ids and signatures.
fn fixed_texts(message: &Message) -> Vec<String> {
    let of_parts = message.parts.iter().filter_map(|part| match part {
        Part::Thinking(thinking) => thinking.signature.clone(),
        Part::ToolCall(call) => call.id.clone(),
        Part::ToolResult(result) => result.call_id.clone(),
        Part::Text(_) | Part::Image(_) | Part::File(_) | Part::Shell(_) | Part::Other(_) => None,
    });
    of_parts.chain(message.source_id.clone()).filter(|text| !text.is_empty()).collect()
}

fn rewrite_part(part: &mut Part, rewrite: &mut Rewrite<'_>) -> Result<(), Unreadable> {
    match part {
        Part::Text(text) => rewrite_text(text, rewrite),
        Part::Thinking(Thinking { text, signature: _ }) => rewrite_text(text, rewrite),
        Part::Image(media) | Part::File(media) => {
            rewrite_media(media, rewrite);
            Ok(())
        }
        Part::ToolCall(ToolCall { id: _, name, arguments }) => {
            rewrite_string(name, rewrite);
            match arguments {
                Some(arguments) => rewrite_arguments(arguments, rewrite),
                None => Ok(()),
            }
        }
        Part::ToolResult(ToolResult { call_id: _, name, is_error: _, content }) => {
            rewrite_string(name, rewrite);
            content.iter_mut().try_for_each(|part| rewrite_part(part, rewrite))
        }
        Part::Shell(Shell { command, output, exit_code: _ }) => {
            rewrite_text(command, rewrite)?;
            rewrite_text(output, rewrite)
        }
        Part::Other(other) => {
            *other = json(other, Walk::MESSAGE, rewrite)?;
            Ok(())
        }
    }
}

fn rewrite_media(media: &mut Media, rewrite: &mut Rewrite<'_>) {
    let Media { path, uri, name, media_type, hash: _, data } = media;
    [path, uri, name, media_type].into_iter().for_each(|string| rewrite_string(string, rewrite));
    if let Some(text) = data
        && let Some(new) = rewrite(TextToRewrite { member: Some("data"), ..TextToRewrite::alone(text) })
    {
        *text = new;
    }
}

fn rewrite_string(string: &mut Option<String>, rewrite: &mut Rewrite<'_>) {
    if let Some(text) = string
        && let Some(new) = rewrite(TextToRewrite::alone(text))
    {
        *text = new;
    }
}

fn rewrite_text(text: &mut Text, rewrite: &mut Rewrite<'_>) -> Result<(), Unreadable> {
    if let Some(new) = rewrite(TextToRewrite::alone(text.as_str())) {
        *text = Text::plain(new);
    } else if let Some(original) = text.original() {
        let new = json(original, Walk::MESSAGE, rewrite)?;
        if new != *original {
            *text = Text::of(new.as_str().as_bytes());
        }
    }
    Ok(())
}

fn rewrite_arguments(arguments: &mut Arguments, rewrite: &mut Rewrite<'_>) -> Result<(), Unreadable> {
    match arguments {
        Arguments::Json(value) => *value = json(value, Walk::ARGUMENTS, rewrite)?,
        Arguments::Text(text) => {
            // Escapes in the inner JSON could hide what its text says.
            let inner = Arguments::Text(text.clone()).json();
            let new = match inner {
                Some(inner) => Some(json(&inner, Walk::ARGUMENTS, rewrite)?).filter(|new| *new != inner).map(|new| new.to_string()),
                None => rewrite(TextToRewrite::alone(text.as_str())),
            };
            if let Some(new) = new {
                *text = Text::plain(new);
            }
        }
    }
    Ok(())
}

/// Returns a JSON value with its texts rewritten: strings, and the names and
/// numbers among its members.
fn json(value: &Json, from: Walk<'_>, rewrite: &mut Rewrite<'_>) -> Result<Json, Unreadable> {
    let mut out = Vec::with_capacity(value.as_str().len());
    push_value(value.as_str().as_bytes(), from, rewrite, &mut out)?;
    Ok(Json::of(&out))
}

/// Where the walk over a JSON value is.
#[derive(Clone, Copy)]
struct Walk<'a> {
    place: SaidIn,
    names: NamesOf,
    member: Option<&'a str>,
    depth: usize,
}

impl<'a> Walk<'a> {
    const MESSAGE: Walk<'static> = Walk { place: SaidIn::Message, names: NamesOf::Program, member: None, depth: 0 };
    const ARGUMENTS: Walk<'static> = Walk { names: NamesOf::Tool, ..Walk::MESSAGE };
    const PAYLOAD: Walk<'static> = Walk { place: SaidIn::Payload, ..Walk::MESSAGE };

    fn said<'s>(&self, text: &'s str) -> TextToRewrite<'s>
    where
        'a: 's,
    {
        TextToRewrite { text, member: self.member, place: self.place, names: self.names }
    }
}

fn push_value(value: &[u8], walk: Walk<'_>, rewrite: &mut Rewrite<'_>, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    if walk.depth > DEEPEST {
        return Err(Unreadable);
    }
    match json::kind_of(value) {
        Kind::String => {
            let text = json::unescape(value);
            match inner_json(&text, walk, rewrite)?.or_else(|| rewrite(walk.said(&text))) {
                Some(new) => json::push_string(&new, out),
                None => out.extend_from_slice(value),
            }
        }
        // A number only says something by its name.
        Kind::Number if walk.member.is_some() => match rewrite(walk.said(&json::lossy(value))) {
            Some(new) => json::push_string(&new, out),
            None => out.extend_from_slice(value),
        },
        Kind::Object if Text::is_raw(value) => push_raw(value, walk, rewrite, out)?,
        Kind::Object => push_object(value, walk, rewrite, out)?,
        Kind::Array => {
            out.push(b'[');
            for (n, element) in json::elements(value).enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                push_value(element, Walk { depth: walk.depth + 1, ..walk }, rewrite, out)?;
            }
            out.push(b']');
        }
        Kind::Number | Kind::True | Kind::False | Kind::Null => out.extend_from_slice(value),
    }
    Ok(())
}

/// Returns what takes the place of a text that is JSON itself, of which the
/// escapes could hide what it says.
fn inner_json(text: &str, walk: Walk<'_>, rewrite: &mut Rewrite<'_>) -> Result<Option<String>, Unreadable> {
    let could_be = text.trim_start().starts_with(['{', '[']) && text.contains('\\');
    if !could_be || !is_json(text.as_bytes()) {
        return Ok(None);
    }
    let (mut inner, mut new) = (Vec::new(), Vec::new());
    json::push_carried_value(text.trim().as_bytes(), json::Escapes::Utf8, &mut inner);
    push_value(&inner, Walk { depth: walk.depth + 1, ..walk }, rewrite, &mut new)?;
    Ok((new != inner).then(|| json::lossy(&new).into_owned()))
}

fn push_object(value: &[u8], walk: Walk<'_>, rewrite: &mut Rewrite<'_>, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    out.push(b'{');
    for (n, member) in json::all_members(value).iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let name = member.name();
        match rewrite(Walk { member: None, ..walk }.said(&name)) {
            Some(new) => json::push_string(&new, out),
            None => json::push_string(&name, out),
        }
        out.push(b':');
        let names = if matches!(&*name, "arguments" | "input" | "args") { NamesOf::Tool } else { walk.names };
        push_value(member.value, Walk { names, member: Some(&name), depth: walk.depth + 1, ..walk }, rewrite, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// A value that a log carries as its text: a string with half a surrogate pair,
/// or what not every parser takes.
fn push_raw(value: &[u8], walk: Walk<'_>, rewrite: &mut Rewrite<'_>, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    let text = Text::of(value);
    let is_string = json::all_members(value).first().is_some_and(|member| json::unescape(member.value).starts_with('"'));
    // Of any other value this is its JSON: an escape in it could hide a text.
    if !is_string && text.as_str().contains('\\') {
        return Err(Unreadable);
    }
    match rewrite(walk.said(text.as_str())) {
        Some(new) => json::push_string(&new, out),
        None => out.extend_from_slice(value),
    }
    Ok(())
}
