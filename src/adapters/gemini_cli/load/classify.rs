//! Whether a message is something that a session can be resumed for. Finding
//! that out can throw, and then the message is lost.

use crate::json::{Dialect, scan_value, token_end};
use crate::runtimes::javascript::{Type, Value, to_number, to_text, trim_start};

/// What a message is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// Somebody can go on from it.
    Resumable,
    /// It is only shown.
    Shown,
}

/// JavaScript has thrown an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thrown;

/// The parts that have a label instead of a text, in the order in which they are
/// looked for.
const LABELLED: [&str; 8] =
    ["videoMetadata", "thought", "codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse", "inlineData"];

/// Lists within each other, from which on the engine's stack is taken to overflow.
/// Node 20 bears 1000 of them and does not bear 3000.
const DEEPEST: usize = 2000;

/// What the user says to the program and not to the model.
const IGNORED: [&[u8]; 4] = [b"/", b"?", b"<session_context>", b"<hook_context>"];

/// What a message is worth.
pub(super) fn classify(message: Value<'_>) -> Result<Worth, Thrown> {
    let [kind, content, calls, thoughts] = message.get_all(["type", "content", "toolCalls", "thoughts"]);
    let mut start = Start::default();
    let is_text = push_texts(content, &mut start)?;
    let is_resumable = if kind.is("user") {
        is_text.then_some(()).ok_or(Thrown)?;
        !start.is_empty() && !IGNORED.iter().any(|ignored| start.0.starts_with(ignored))
    } else if kind.is("gemini") {
        is_text.then_some(()).ok_or(Thrown)?;
        !start.is_empty() || is_long(calls) || is_long(thoughts)
    } else {
        false
    };
    Ok(if is_resumable { Worth::Resumable } else { Worth::Shown })
}

/// Whether `value?.length > 0`.
fn is_long(value: Value<'_>) -> bool {
    match value.type_of() {
        Type::Array => !value.token().get(1..).unwrap_or_default().trim_ascii_start().starts_with(b"]"),
        Type::String => value.is_truthy(),
        Type::Object => value.get("length").defined().is_some_and(|length| to_number(length).is_ok_and(|length| length > 0.0)),
        Type::Undefined | Type::Null | Type::Boolean | Type::Number => false,
    }
}

/// The beginning of a text without the white space before it: no more is looked
/// at.
#[derive(Default)]
struct Start(Vec<u8>);

impl Start {
    const LONGEST: usize = 32;

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, text: &[u8]) {
        let text = if self.is_empty() { trim_start(text) } else { text };
        let room = Start::LONGEST.saturating_sub(self.0.len());
        self.0.extend_from_slice(&text[..room.min(text.len())]);
    }
}

/// Adds the text of a content; whether it is a text that can be trimmed.
fn push_texts(content: Value<'_>, start: &mut Start) -> Result<bool, Thrown> {
    if content.type_of() == Type::Array {
        return each_part(content.token(), |part| {
            if let Some(text) = part_text(part)? {
                // What is not text becomes one when the parts are joined.
                start.push(&to_text(text.token()).map_err(|_| Thrown)?);
            }
            Ok(())
        })
        .map(|()| true);
    }
    let text = part_text(content)?.unwrap_or(Value::accepted(b"\"\""));
    text.text().into_iter().for_each(|text| start.push(&text));
    Ok(text.type_of() == Type::String)
}

/// What stands for a part in the text of its message; nothing where that is empty.
fn part_text(part: Value<'_>) -> Result<Option<Value<'_>>, Thrown> {
    match part.type_of() {
        Type::String => return Ok(Some(part)),
        Type::Object => {}
        Type::Undefined | Type::Null | Type::Boolean | Type::Number | Type::Array => return Ok(None),
    }
    let found = part.get_all(LABELLED);
    let Some((label, value)) = LABELLED.into_iter().zip(found).find(|(_, value)| !value.is_undefined()) else {
        return Ok(Some(part.get("text")).filter(|text| !text.is_nullish()));
    };
    let is_opened = matches!(label, "functionCall" | "functionResponse" | "inlineData");
    let mime_type = if label == "inlineData" { value.get("mimeType") } else { Value::UNDEFINED };
    if (is_opened && value.is_nullish()) || (!mime_type.is_nullish() && mime_type.type_of() != Type::String) {
        return Err(Thrown);
    }
    Ok(Some(Value::accepted(b"\"[\"")))
}

/// Looks at the parts of a list and of the lists in it, in one pass.
fn each_part<'a>(list: &'a [u8], mut look: impl FnMut(Value<'a>) -> Result<(), Thrown>) -> Result<(), Thrown> {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(&byte) = list.get(at) {
        let end = match byte {
            b'[' => {
                depth += 1;
                at + 1
            }
            b']' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            b'"' => token_end(list, at),
            b'{' => at + scan_value(&list[at..], Dialect::Strict).map_err(|_| Thrown)?.end,
            _ => at + list[at..].iter().take_while(|byte| !matches!(byte, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r')).count(),
        };
        if depth > DEEPEST {
            return Err(Thrown);
        }
        if !matches!(byte, b'[' | b']' | b',' | b' ' | b'\t' | b'\n' | b'\r') {
            look(Value::accepted(&list[at..end]))?;
        }
        at = end.max(at + 1);
    }
    Ok(())
}
