//! What the program looks at in a message before it keeps it: whether a session
//! with it can be resumed. Looking can throw, and then the message is lost.

use crate::json::{self, Kind};
use crate::runtimes::javascript::{self as js, Type, Value};

/// The program threw while it looked at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Throws;

/// Whether a session with a message can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resumes {
    Yes,
    No,
}

/// Content lists nested as deep as this overflow the program's stack.
const DEEPEST_CONTENT: usize = 2000;

/// User texts that begin so are not content.
const IGNORED: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// Looks at a message as the program does.
pub(super) fn classify(message: Value<'_>) -> Result<Resumes, Throws> {
    let [content, kind, calls, thoughts] = message.get_all(["content", "type", "toolCalls", "thoughts"]);
    let text = if content.is_truthy() { text_of(content)? } else { Text::Is(Vec::new()) };
    if kind.is("user") {
        let text = text.trimmed()?;
        let is_ignored = text.is_empty() || IGNORED.iter().any(|start| text.starts_with(start.as_bytes()));
        return Ok(if is_ignored { Resumes::No } else { Resumes::Yes });
    }
    if kind.is("gemini") {
        let has_more = || length(calls) > 0.0 || length(thoughts) > 0.0;
        return Ok(if !text.trimmed()?.is_empty() || has_more() { Resumes::Yes } else { Resumes::No });
    }
    Ok(Resumes::No)
}

/// `value?.length ?? 0`, as far as it can be compared with 0.
fn length(value: Value<'_>) -> f64 {
    match value.type_of() {
        Type::Array => json::elements(value.token()).count() as f64,
        Type::String => value.text().map_or(0.0, |text| text.len() as f64),
        Type::Object => js::to_number(value.get("length").defined().unwrap_or(b"0")).unwrap_or(f64::NAN),
        Type::Undefined | Type::Null | Type::Boolean | Type::Number => 0.0,
    }
}

/// What the program takes for the text of a content.
enum Text<'a> {
    Is(Vec<u8>),
    /// A value that has no `trim`.
    Not(&'a [u8]),
}

impl Text<'_> {
    fn trimmed(&self) -> Result<&[u8], Throws> {
        match self {
            Text::Is(text) => Ok(js::trim(text)),
            Text::Not(_) => Err(Throws),
        }
    }
}

fn text_of(content: Value<'_>) -> Result<Text<'_>, Throws> {
    match content.type_of() {
        Type::String => Ok(Text::Is(content.text().unwrap_or_default().into_owned())),
        Type::Array => joined(content.token()).map(Text::Is),
        Type::Object => text_of_part(content),
        Type::Undefined | Type::Null | Type::Boolean | Type::Number => Ok(Text::Is(Vec::new())),
    }
}

/// The texts of a list, one after the other. Lists in it are walked without
/// recursion, because a file may nest them as deep as it likes.
fn joined(list: &[u8]) -> Result<Vec<u8>, Throws> {
    let mut out = Vec::new();
    let mut open: Vec<Box<dyn Iterator<Item = &[u8]> + '_>> = vec![Box::new(json::elements(list))];
    while let Some(inner) = open.last_mut() {
        let Some(item) = inner.next() else {
            open.pop();
            continue;
        };
        match json::kind_of(item) {
            Kind::Array => {
                if open.len() >= DEEPEST_CONTENT {
                    return Err(Throws);
                }
                open.push(Box::new(json::elements(item)));
            }
            Kind::String => out.extend_from_slice(&js::decode(item)),
            Kind::Object => match text_of_part(Value::accepted(item))? {
                Text::Is(text) => out.extend_from_slice(&text),
                // A join makes a text of anything.
                Text::Not(value) => out.extend_from_slice(&js::to_text(value).map_err(|_| Throws)?),
            },
            Kind::Number | Kind::True | Kind::False | Kind::Null => {}
        }
    }
    Ok(out)
}

/// The text of one part, or the label that stands for it.
fn text_of_part(part: Value<'_>) -> Result<Text<'_>, Throws> {
    let names =
        ["videoMetadata", "thought", "codeExecutionResult", "executableCode", "fileData", "functionCall", "functionResponse", "inlineData"];
    let found = part.get_all(names);
    if let Some((at, value)) = found.iter().enumerate().find(|(_, value)| !value.is_undefined()) {
        let is_opened = ["functionCall", "functionResponse", "inlineData"].contains(&names[at]);
        if is_opened && value.type_of() == Type::Null {
            return Err(Throws);
        }
        if names[at] == "inlineData" {
            let media = value.get("mimeType");
            if !media.is_nullish() && media.type_of() != Type::String {
                return Err(Throws);
            }
        }
        return Ok(Text::Is(b"[label]".to_vec()));
    }
    let text = part.get("text");
    match text.type_of() {
        Type::Undefined | Type::Null => Ok(Text::Is(Vec::new())),
        Type::String => Ok(Text::Is(text.text().unwrap_or_default().into_owned())),
        Type::Boolean | Type::Number | Type::Object | Type::Array => Ok(Text::Not(text.token())),
    }
}
