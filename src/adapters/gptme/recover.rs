//! The list that the program's own replay of an event log comes to, by its
//! rules and with its failures. Only asked where records are out of order or
//! of another form than the writer's.

use crate::json::{Kind, Value};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::python::convert::int;
use crate::runtimes::python::dict::Dict;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::loads::{Failure, check};
use crate::runtimes::python::text::strip_bytes;
use crate::runtimes::python::value::at_most;

/// A line nested this deep makes CPython's parser give up.
pub(super) const DEEPEST: usize = 994;

/// Returns the messages that the replay ends in, or the exception that it ends in.
pub(super) fn recover(file: &[u8]) -> Result<Vec<Value<'_>>, Exception> {
    let mut events: Vec<Value<'_>> = Vec::new();
    for line in Lines::new(file, Newlines::LineFeed) {
        let text = strip_bytes(line.text);
        if text.is_empty() || std::str::from_utf8(text).is_err() {
            continue;
        }
        match check(text, DEEPEST) {
            Ok(event) => events.push(event),
            Err(Failure::Syntax(_)) => {}
            Err(Failure::LongInteger) => return Err(Exception::Value),
            Err(Failure::TooDeep) => return Err(Exception::Recursion),
        }
    }
    // The search for a checkpoint asks every event for its type.
    if events.iter().any(|event| !event.is_object()) {
        return Err(Exception::Attribute);
    }
    let checkpoint = events.iter().rev().find(|event| is_type(**event, "checkpoint"));
    let mut messages = Vec::new();
    let mut start = Value::ZERO;
    if let Some(checkpoint) = checkpoint {
        messages = list(field(field(*checkpoint, "payload")?, "messages")?)?;
        start = field(*checkpoint, "seq")?;
    }
    for event in events {
        if at_most(field(event, "seq")?, start)? {
            continue;
        }
        if is_type(event, "message_append") {
            let message = field(field(event, "payload")?, "message")?;
            as_dict(message)?;
            messages.push(message);
        } else if is_type(event, "undo") {
            let steps = undo_steps(event)?;
            messages.truncate(messages.len().saturating_sub(steps));
        } else if is_type(event, "message_edit") {
            messages = list(field(field(event, "payload")?, "messages")?)?;
        }
    }
    Ok(messages)
}

/// `object[name]` as Python has it.
fn field<'a>(object: Value<'a>, name: &str) -> Result<Value<'a>, Exception> {
    if !object.is_object() {
        return Err(Exception::Type);
    }
    object.get(name).ok_or(Exception::Key)
}

fn is_type(event: Value<'_>, name: &str) -> bool {
    event.get("type").is_some_and(|kind| kind.is_str(name))
}

/// `int(event.get("payload", {}).get("n", 1))`, as a count to pop.
fn undo_steps(event: Value<'_>) -> Result<usize, Exception> {
    let Some(payload) = event.get("payload") else { return Ok(1) };
    if !payload.is_object() {
        return Err(Exception::Attribute);
    }
    let Some(n) = payload.get("n") else { return Ok(1) };
    let steps = int(n)?;
    Ok(if steps.starts_with('-') { 0 } else { steps.parse().unwrap_or(usize::MAX) })
}

/// `[dict(m) for m in value]`.
fn list(value: Value<'_>) -> Result<Vec<Value<'_>>, Exception> {
    match value.kind() {
        Kind::Array => {
            let items: Vec<Value<'_>> = value.elements().collect();
            items.iter().try_for_each(|item| as_dict(*item))?;
            Ok(items)
        }
        Kind::String if value.text() == b"\"\"" => Ok(Vec::new()),
        // Only an empty key makes a `dict`, and that is not a message.
        Kind::Object if value.members().all(|member| member.is("")) => Ok(Vec::new()),
        Kind::String | Kind::Object => Err(Exception::Value),
        Kind::Number | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
    }
}

/// `_migrate_metadata(dict(value))`, which refuses keys that are not strings.
fn as_dict(value: Value<'_>) -> Result<(), Exception> {
    if value.is_object() || Dict::of(value)?.has_only_text_keys() { Ok(()) } else { Err(Exception::Type) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: &str, kind: &str, payload: &str) -> String {
        format!("{{\"seq\": {seq}, \"ts\": \"t\", \"type\": \"{kind}\", \"payload\": {payload}}}\n")
    }

    fn recovered(lines: &[String]) -> Result<Vec<String>, Exception> {
        let file = lines.concat();
        recover(file.as_bytes()).map(|list| list.iter().map(|message| String::from_utf8_lossy(message.text()).into_owned()).collect())
    }

    #[test]
    fn the_last_checkpoint_in_the_file_rules() {
        let append = |seq: &str, id: &str| event(seq, "message_append", &format!("{{\"message\": {{\"m\": {id}}}}}"));
        let log = [append("9", "1"), event("5", "checkpoint", "{\"messages\": [{\"m\": 0}]}"), append("5", "2"), append("6", "3")];
        assert_eq!(recovered(&log).unwrap(), ["{\"m\": 0}", "{\"m\": 1}", "{\"m\": 3}"]);
        assert_eq!(recovered(&[append("0", "1"), append("0.5", "2"), append("true", "3")]).unwrap(), ["{\"m\": 2}", "{\"m\": 3}"]);
        let undone = [append("1", "1"), append("2", "2"), event("3", "undo", "{\"n\": \"1\"}"), event("4", "undo", "{\"n\": -3}")];
        assert_eq!(recovered(&undone).unwrap(), ["{\"m\": 1}"]);
    }

    #[test]
    fn failures_are_pythons() {
        assert_eq!(recovered(&["5\n".to_owned()]), Err(Exception::Attribute));
        assert_eq!(recovered(&["{}\n".to_owned()]), Err(Exception::Key));
        assert_eq!(recovered(&[event("\"1\"", "undo", "{}")]), Err(Exception::Type));
        assert_eq!(recovered(&[event("1", "undo", "{\"n\": null}")]), Err(Exception::Type));
        assert_eq!(recovered(&[event("1", "message_edit", "{\"index\": 0, \"message\": {}}")]), Err(Exception::Key));
    }
}
