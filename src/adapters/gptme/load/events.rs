//! An event log, and the messages that `recover_messages` makes of it. The
//! program itself never calls that function; it raises on much that a damaged
//! or foreign log may hold, and what it raises is part of the answer.

use std::borrow::Cow;

use crate::json::{Kind, Value};
use crate::model::files::SourceFile;
use crate::runtimes::python::convert::int;
use crate::runtimes::python::datetime::DateTime;
use crate::runtimes::python::dict::Dict;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::loads::{Failure, loads};
use crate::runtimes::python::text::byte_lines;
use crate::runtimes::python::value::{at_most, last_named};
use crate::runtimes::wtf8::decode;

use super::attachments::Hashes;
use super::record::{Reader, Writer};

/// So deep a nesting raises `RecursionError` in `json.loads` below
/// `recover_messages`, when that is called from the top of a module: measured
/// with gptme 0.35.1 on CPython 3.11.7, where 993 still parses.
const TOO_DEEP: usize = 994;

/// A message that has been recovered, as the text of an object.
type Recovered<'a> = Cow<'a, [u8]>;

/// The keys of an event that matter, each by its last mention.
#[derive(Debug, Clone, Copy, Default)]
struct Event<'a> {
    seq: Option<Value<'a>>,
    kind: EventKind,
    payload: Option<Value<'a>>,
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
    let written = DateTime::of_mtime(file.mtime_ns);
    for text in &recovered {
        if let Ok(message) = reader.read(text)
            && message.has_timestamp()
        {
            show(writer.write(&message, Hashes::as_read(&message).value(), &written));
        }
    }
    Ok(())
}

/// Returns what `recover_messages` raises for a log, if anything.
#[must_use]
pub fn exception(file: &SourceFile) -> Option<Exception> {
    recover(&file.bytes).err()
}

/// Tells whether a file's first object looks like an event: version 0.32 kept the
/// events of all branches where a branch called `events` would be.
#[must_use]
pub fn holds_events(file: &SourceFile) -> bool {
    let mut found = Vec::new();
    for line in lines(&file.bytes) {
        if loads(line, TOO_DEEP, &mut found).is_ok_and(|value| value.is_object()) {
            let has = |name: &str| found.iter().any(|member| member.is(name));
            return has("seq") && has("payload");
        }
    }
    false
}

/// Returns the lines that `_iter_event_lines` yields: those that are UTF-8.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    byte_lines(bytes).filter(|line| line.is_ascii() || std::str::from_utf8(line).is_ok())
}

/// `read_events`.
fn read_events(bytes: &[u8]) -> Result<Vec<Event<'_>>, Exception> {
    let mut found = Vec::new();
    let mut events = Vec::new();
    for line in lines(bytes) {
        match loads(line, TOO_DEEP, &mut found) {
            Ok(value) if value.is_object() => events.push(Event {
                seq: last_named(&found, "seq"),
                kind: last_named(&found, "type").map_or(EventKind::Other, EventKind::of),
                payload: last_named(&found, "payload"),
            }),
            Ok(_) => events.push(Event { kind: EventKind::NoObject, ..Event::default() }),
            Err(Failure::Syntax(_)) => {}
            Err(Failure::LongInteger) => return Err(Exception::Value),
            Err(Failure::TooDeep) => return Err(Exception::Recursion),
        }
    }
    Ok(events)
}

impl EventKind {
    fn of(value: Value<'_>) -> EventKind {
        if !value.is_string() {
            return EventKind::Other;
        }
        match decode(value.text()).as_ref() {
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
    let mut start = Value::ZERO;
    if let Some(checkpoint) = events.iter().rev().find(|event| event.kind == EventKind::Checkpoint) {
        messages = list_of(checkpoint)?;
        start = checkpoint.seq.ok_or(Exception::Key)?;
    }
    for event in &events {
        if at_most(event.seq.ok_or(Exception::Key)?, start)? {
            continue;
        }
        match event.kind {
            EventKind::Append => messages.push(message_of(subscript(event, "message")?)?),
            EventKind::Undo => messages.truncate(messages.len().saturating_sub(undone(event)?)),
            EventKind::Edit => messages = list_of(event)?,
            EventKind::Checkpoint | EventKind::Other | EventKind::NoObject => {}
        }
    }
    Ok(messages)
}

/// `event["payload"][name]`.
fn subscript<'a>(event: &Event<'a>, name: &str) -> Result<Value<'a>, Exception> {
    let payload = event.payload.ok_or(Exception::Key)?;
    match payload.kind() {
        Kind::Object => payload.get(name).ok_or(Exception::Key),
        Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
    }
}

/// Returns the messages of a checkpoint or of an edit.
fn list_of<'a>(event: &Event<'a>) -> Result<Vec<Recovered<'a>>, Exception> {
    let list = subscript(event, "messages")?;
    match list.kind() {
        Kind::Array => list.elements().map(message_of).collect(),
        // What is iterated here are characters and keys, and only an empty
        // string can be made a `dict`.
        Kind::String if list.text().len() > 2 => Err(Exception::Value),
        Kind::String => Ok(Vec::new()),
        Kind::Object => {
            let keys = Dict::of_object(list);
            keys.texts().map(|(key, _)| if key.is_empty() { Ok(Cow::Borrowed(b"{}".as_slice())) } else { Err(Exception::Value) }).collect()
        }
        Kind::Number | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
    }
}

/// `_migrate_metadata(dict(message))`: it does not touch the fields that a
/// message has, but refuses keys that are not strings.
fn message_of(message: Value<'_>) -> Result<Recovered<'_>, Exception> {
    if message.is_object() {
        return Ok(Cow::Borrowed(message.text()));
    }
    let dict = Dict::of(message)?;
    if dict.has_only_text_keys() { Ok(Cow::Owned(dict.to_json())) } else { Err(Exception::Type) }
}

/// `int(event.get("payload", {}).get("n", 1))`, as a count of messages.
fn undone(event: &Event<'_>) -> Result<usize, Exception> {
    let Some(payload) = event.payload else { return Ok(1) };
    if !payload.is_object() {
        return Err(Exception::Attribute);
    }
    let count = payload.get("n").map_or(Ok("1".to_owned()), int)?;
    // Beyond all counts there are no more messages to drop.
    Ok(if count.starts_with('-') { 0 } else { count.parse().unwrap_or(usize::MAX) })
}
