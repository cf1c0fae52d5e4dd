//! An event log, and the messages that `recover_messages` makes of it. The
//! program itself never calls that function; it raises on much that a damaged
//! or foreign log may hold, and what it raises is part of the answer.

use std::borrow::Cow;

use crate::model::files::SourceFile;
use crate::model::json::{Kind, Member, kind_of};

use super::attachments::Hashes;
use super::exception::Exception;
use super::isoparse::Stamp;
use super::lines::{of_bytes, strip};
use super::number::{Number, Sign};
use super::pairs::Dict;
use super::parse::{Parser, elements, members};
use super::record::{Reader, Writer};
use super::text::decode;
use super::token::{Failure, LONGEST_INTEGER};
use super::value::at_most;

/// So deep a nesting raises `RecursionError` in `json.loads` below
/// `recover_messages`, when that is called from the top of a module: measured
/// with gptme 0.35.1 on CPython 3.11.7, where 993 still parses.
const TOO_DEEP: usize = 994;

/// A message that has been recovered, as the text of an object.
type Recovered<'a> = Cow<'a, [u8]>;

/// The keys of an event that matter, each by its last mention.
#[derive(Debug, Clone, Copy, Default)]
struct Event<'a> {
    seq: Option<&'a [u8]>,
    kind: EventKind,
    payload: Option<&'a [u8]>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum EventKind {
    Append,
    Undo,
    Edit,
    Checkpoint,
    #[default]
    Other,
    /// The line is JSON, but no object.
    NoObject,
}

/// Shows what an event log recovers to: those messages that a transcript
/// holding them would show, and that say when they were written.
///
/// # Errors
/// As `recover_messages` raises; then nothing is shown.
pub fn show(file: &SourceFile, show: &mut dyn FnMut(&[u8])) -> Result<(), Exception> {
    let recovered = recover(&file.bytes)?;
    let mut reader = Reader::new(usize::MAX);
    let mut writer = Writer::default();
    let written = Stamp::of_mtime(file.mtime_ns);
    for text in &recovered {
        if let Ok(message) = reader.read(text)
            && message.has_timestamp()
        {
            show(writer.write(&message, &Hashes::as_read(&message), &written));
        }
    }
    Ok(())
}

/// What `recover_messages` raises for a log, if anything.
#[must_use]
pub fn exception(file: &SourceFile) -> Option<Exception> {
    recover(&file.bytes).err()
}

/// Whether a file's first object looks like an event: version 0.32 kept the
/// events of all branches where a branch called `events` would be.
#[must_use]
pub fn holds_events(file: &SourceFile) -> bool {
    let mut parser = Parser::new(TOO_DEEP);
    let mut found = Vec::new();
    for line in lines(&file.bytes) {
        if parser.whole(line, &mut found) == Ok(Kind::Object) {
            let has = |name: &[u8]| found.iter().any(|member| is_named(member, name));
            return has(b"seq") && has(b"payload");
        }
    }
    false
}

/// The lines that `_iter_event_lines` yields: those that are UTF-8.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    of_bytes(bytes).filter(|line| line.is_ascii() || std::str::from_utf8(line).is_ok())
}

fn is_named(member: &Member<'_>, name: &[u8]) -> bool {
    let inner = member.key.get(1..member.key.len().saturating_sub(1)).unwrap_or_default();
    inner == name || (inner.contains(&b'\\') && decode(member.key) == name)
}

fn last_named<'a>(members: &[Member<'a>], name: &[u8]) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| is_named(member, name)).map(|member| member.value)
}

/// `read_events`.
fn read_events(bytes: &[u8]) -> Result<Vec<Event<'_>>, Exception> {
    let mut parser = Parser::new(TOO_DEEP);
    let mut found = Vec::new();
    let mut events = Vec::new();
    for line in lines(bytes) {
        match parser.whole(line, &mut found) {
            Ok(Kind::Object) => events.push(Event {
                seq: last_named(&found, b"seq"),
                kind: last_named(&found, b"type").map_or(EventKind::Other, EventKind::of),
                payload: last_named(&found, b"payload"),
            }),
            Ok(Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False | Kind::Null) => {
                events.push(Event { kind: EventKind::NoObject, ..Event::default() });
            }
            Err(Failure::Syntax) => {}
            Err(Failure::LongInteger) => return Err(Exception::Value),
            Err(Failure::TooDeep) => return Err(Exception::Recursion),
        }
    }
    Ok(events)
}

impl EventKind {
    fn of(value: &[u8]) -> EventKind {
        if kind_of(value) != Kind::String {
            return EventKind::Other;
        }
        match decode(value).as_slice() {
            b"message_append" => EventKind::Append,
            b"undo" => EventKind::Undo,
            b"message_edit" => EventKind::Edit,
            b"checkpoint" => EventKind::Checkpoint,
            _ => EventKind::Other,
        }
    }
}

/// `recover_messages`.
fn recover(bytes: &[u8]) -> Result<Vec<Recovered<'_>>, Exception> {
    let events = read_events(bytes)?;
    if events.iter().any(|event| event.kind == EventKind::NoObject) {
        return Err(Exception::Attribute);
    }
    let mut messages = Vec::new();
    let mut start: &[u8] = b"0";
    if let Some(checkpoint) = events.iter().rev().find(|event| event.kind == EventKind::Checkpoint) {
        messages = list_of(checkpoint)?;
        start = checkpoint.seq.ok_or(Exception::Key)?;
    }
    for event in &events {
        if at_most(event.seq.ok_or(Exception::Key)?, start)? {
            continue;
        }
        match event.kind {
            EventKind::Append => messages.push(message_of(subscript(event, b"message")?)?),
            EventKind::Undo => messages.truncate(messages.len().saturating_sub(undone(event)?)),
            EventKind::Edit => messages = list_of(event)?,
            EventKind::Checkpoint | EventKind::Other | EventKind::NoObject => {}
        }
    }
    Ok(messages)
}

/// `event["payload"][name]`.
fn subscript<'a>(event: &Event<'a>, name: &[u8]) -> Result<&'a [u8], Exception> {
    let payload = event.payload.ok_or(Exception::Key)?;
    match kind_of(payload) {
        Kind::Object => last_named(&members(payload), name).ok_or(Exception::Key),
        Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
    }
}

/// The messages of a checkpoint or of an edit.
fn list_of<'a>(event: &Event<'a>) -> Result<Vec<Recovered<'a>>, Exception> {
    let list = subscript(event, b"messages")?;
    match kind_of(list) {
        Kind::Array => elements(list).into_iter().map(message_of).collect(),
        // What is iterated here are characters and keys, and only an empty
        // string can be made a `dict`.
        Kind::String if list.len() > 2 => Err(Exception::Value),
        Kind::String => Ok(Vec::new()),
        Kind::Object => {
            let keys = Dict::of_object(list);
            keys.texts().map(|(key, _)| if key.is_empty() { Ok(Cow::Borrowed(b"{}".as_slice())) } else { Err(Exception::Value) }).collect()
        }
        Kind::Number | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
    }
}

/// `_migrate_metadata(dict(message))`: it does not touch the fields that a
/// message has, but refuses keys that are no strings.
fn message_of(message: &[u8]) -> Result<Recovered<'_>, Exception> {
    if kind_of(message) == Kind::Object {
        return Ok(Cow::Borrowed(message));
    }
    let dict = Dict::of(message)?;
    if dict.has_only_text_keys() { Ok(Cow::Owned(dict.to_json())) } else { Err(Exception::Type) }
}

/// `int(event.get("payload", {}).get("n", 1))`, as a count of messages.
fn undone(event: &Event<'_>) -> Result<usize, Exception> {
    let Some(payload) = event.payload else { return Ok(1) };
    if kind_of(payload) != Kind::Object {
        return Err(Exception::Attribute);
    }
    let Some(n) = last_named(&members(payload), b"n") else { return Ok(1) };
    match kind_of(n) {
        Kind::String => int_of_text(&decode(n)),
        Kind::Number | Kind::True | Kind::False => match Number::of(n) {
            Some(Number::Float(float)) if float.is_nan() => Err(Exception::Value),
            Some(Number::Float(float)) if float.is_infinite() => Err(Exception::Overflow),
            // Rounds towards 0, and stops at the ends of its range.
            Some(Number::Float(float)) => Ok(float as usize),
            Some(Number::Int(sign, digits)) => Ok(count(sign, &digits)),
            None => Err(Exception::Type),
        },
        Kind::Object | Kind::Array | Kind::Null => Err(Exception::Type),
    }
}

fn count(sign: Sign, digits: &[u8]) -> usize {
    match sign {
        Sign::Minus => 0,
        Sign::Plus => digits.iter().fold(0_usize, |count, b| count.saturating_mul(10).saturating_add(usize::from(b.saturating_sub(b'0')))),
    }
}

/// `int(text)`, for the digits of ASCII.
fn int_of_text(text: &[u8]) -> Result<usize, Exception> {
    let text = strip(text);
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (Sign::Minus, digits),
        [b'+', digits @ ..] => (Sign::Plus, digits),
        digits => (Sign::Plus, digits),
    };
    let is_number = digits.split(|b| *b == b'_').all(|group| !group.is_empty() && group.iter().all(u8::is_ascii_digit));
    let digits: Vec<u8> = digits.iter().copied().filter(|b| *b != b'_').collect();
    if is_number && digits.len() <= LONGEST_INTEGER { Ok(count(sign, &digits)) } else { Err(Exception::Value) }
}
