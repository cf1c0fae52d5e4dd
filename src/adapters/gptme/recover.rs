//! The list that the program's own replay of an event log comes to, by its
//! rules and with its failures. Only asked where records are out of order or
//! of another form than the writer's.

use crate::model::json::{self, Dialect, Kind};
use crate::model::jsonl::{Lines, Newlines};

/// CPython refuses to convert longer integers, and here nobody catches that.
pub(super) const LONGEST_INTEGER: usize = 4300;

/// A line nested this deep makes CPython's parser give up.
pub(super) const DEEPEST: usize = 994;

/// Python's `bytes.strip`.
pub(super) fn strip(text: &[u8]) -> &[u8] {
    let is_blank = |b: &u8| matches!(b, b'\t'..=b'\r' | b' ');
    let start = text.iter().position(|b| !is_blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !is_blank(b)).map_or(start, |at| at + 1);
    &text[start..end]
}

/// The messages that the replay ends in, or the exception that it ends in.
pub(super) fn recover(file: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    let mut events: Vec<&[u8]> = Vec::new();
    for line in Lines::new(file, Newlines::LineFeed) {
        let text = strip(line.text);
        if text.is_empty() || std::str::from_utf8(text).is_err() {
            continue;
        }
        if super::damage::opens_deeper_than(text, DEEPEST) {
            return Err("RecursionError");
        }
        match json::scan_value(text, Dialect::Python) {
            Ok(scan) if text[scan.end..].trim_ascii().is_empty() => {
                if scan.facts.longest_integer > LONGEST_INTEGER {
                    return Err("ValueError");
                }
                events.push(text);
            }
            _ => {}
        }
    }
    // The search for a checkpoint asks every event for its type.
    if events.iter().any(|event| json::kind_of(event) != Kind::Object) {
        return Err("AttributeError");
    }
    let checkpoint = events.iter().rev().find(|event| is_type(event, "checkpoint"));
    let mut messages = Vec::new();
    let mut start = Number::Int(0);
    if let Some(checkpoint) = checkpoint {
        messages = list(field(field(checkpoint, "payload")?, "messages")?)?;
        start = number(field(checkpoint, "seq")?)?;
    }
    for event in events {
        if number(field(event, "seq")?)?.at_most(start) {
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

fn get<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    // The last of equal keys wins.
    json::members(object).filter(|member| member.name() == name).last().map(|member| member.value)
}

/// `object[name]` as Python has it.
fn field<'a>(object: &'a [u8], name: &str) -> Result<&'a [u8], &'static str> {
    if json::kind_of(object) != Kind::Object {
        return Err("TypeError");
    }
    get(object, name).ok_or("KeyError")
}

fn is_type(event: &[u8], name: &str) -> bool {
    get(event, "type").is_some_and(|kind| json::kind_of(kind) == Kind::String && json::unescape(kind) == name)
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn at_most(self, other: Number) -> bool {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => a <= b,
            (a, b) => a.as_float() <= b.as_float(),
        }
    }

    fn as_float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// What can be compared with a number.
fn number(value: &[u8]) -> Result<Number, &'static str> {
    match json::kind_of(value) {
        Kind::True => Ok(Number::Int(1)),
        Kind::False => Ok(Number::Int(0)),
        Kind::Number => {
            let text = String::from_utf8_lossy(value);
            Ok(text.parse().map_or_else(|_| Number::Float(text.parse().unwrap_or(f64::NAN)), Number::Int))
        }
        Kind::String | Kind::Array | Kind::Object | Kind::Null => Err("TypeError"),
    }
}

/// `int(event.get("payload", {}).get("n", 1))`, as a count to pop.
fn undo_steps(event: &[u8]) -> Result<usize, &'static str> {
    let Some(payload) = get(event, "payload") else { return Ok(1) };
    if json::kind_of(payload) != Kind::Object {
        return Err("AttributeError");
    }
    let Some(n) = get(payload, "n") else { return Ok(1) };
    let steps = match json::kind_of(n) {
        Kind::String => python_int(&json::unescape(n))?,
        Kind::Number => match number(n)? {
            Number::Int(value) => value,
            Number::Float(value) if value.is_nan() => return Err("ValueError"),
            Number::Float(value) if value.is_infinite() => return Err("OverflowError"),
            Number::Float(value) => value.trunc() as i128,
        },
        Kind::True => 1,
        Kind::False => 0,
        Kind::Array | Kind::Object | Kind::Null => return Err("TypeError"),
    };
    Ok(usize::try_from(steps.max(0)).unwrap_or(usize::MAX))
}

fn python_int(text: &str) -> Result<i128, &'static str> {
    let plain = text.trim().replace('_', "");
    plain.parse().map_err(|_| "ValueError")
}

/// `[dict(m) for m in value]`.
fn list(value: &[u8]) -> Result<Vec<&[u8]>, &'static str> {
    match json::kind_of(value) {
        Kind::Array => {
            let items: Vec<&[u8]> = json::elements(value).collect();
            for item in &items {
                as_dict(item)?;
            }
            Ok(items)
        }
        Kind::String if value == b"\"\"" => Ok(Vec::new()),
        Kind::Object if json::members(value).next().is_none() => Ok(Vec::new()),
        Kind::String | Kind::Object => Err("ValueError"),
        Kind::Number | Kind::True | Kind::False | Kind::Null => Err("TypeError"),
    }
}

/// `dict(value)`: anything but an object can at best be empty, and is then no
/// message either.
fn as_dict(value: &[u8]) -> Result<(), &'static str> {
    match json::kind_of(value) {
        Kind::Object => Ok(()),
        Kind::String => {
            if value == b"\"\"" {
                Ok(())
            } else {
                Err("ValueError")
            }
        }
        Kind::Array => match json::elements(value).next().map(json::kind_of) {
            None => Ok(()),
            Some(Kind::String | Kind::Array | Kind::Object) => Err("ValueError"),
            Some(Kind::Number | Kind::True | Kind::False | Kind::Null) => Err("TypeError"),
        },
        Kind::Number | Kind::True | Kind::False | Kind::Null => Err("TypeError"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: &str, kind: &str, payload: &str) -> String {
        format!("{{\"seq\": {seq}, \"ts\": \"t\", \"type\": \"{kind}\", \"payload\": {payload}}}\n")
    }

    fn recovered(lines: &[String]) -> Result<Vec<String>, &'static str> {
        let file = lines.concat();
        recover(file.as_bytes()).map(|list| list.iter().map(|message| String::from_utf8_lossy(message).into_owned()).collect())
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
        assert_eq!(recovered(&["5\n".to_owned()]), Err("AttributeError"));
        assert_eq!(recovered(&["{}\n".to_owned()]), Err("KeyError"));
        assert_eq!(recovered(&[event("\"1\"", "undo", "{}")]), Err("TypeError"));
        assert_eq!(recovered(&[event("1", "undo", "{\"n\": null}")]), Err("TypeError"));
        assert_eq!(recovered(&[event("1", "message_edit", "{\"index\": 0, \"message\": {}}")]), Err("KeyError"));
    }
}
