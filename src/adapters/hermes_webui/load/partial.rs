//! Which rows of `messages` the load drops: a row marked `_partial` that says
//! the same as the partial row directly before it.

use crate::json::{Kind, Value};
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::text::strip;
use crate::runtimes::python::value::{is_truthy, pick, str_or_empty};

/// What makes two partial rows the same.
#[derive(Debug, PartialEq, Eq)]
struct Signature {
    content: Vec<u8>,
    reasoning: Vec<u8>,
    tools: Vec<Tool>,
}

#[derive(Debug, PartialEq, Eq)]
struct Tool {
    name: Vec<u8>,
    args: Vec<u8>,
    is_done: bool,
    is_error: bool,
    preview: Vec<u8>,
}

/// Returns the indexes of the rows that are dropped, in order; none where looking at
/// the rows raises.
#[must_use]
pub fn dropped(messages: Value<'_>) -> Option<Vec<usize>> {
    let mut dropped = Vec::new();
    let mut previous = None;
    for (index, row) in messages.elements().enumerate() {
        previous = match signature(row)? {
            Some(signature) if previous.as_ref() == Some(&signature) => {
                dropped.push(index);
                previous
            }
            other => other,
        };
    }
    Some(dropped)
}

/// Returns the signature of a partial row, if the row is one; outside, whether it can
/// be made at all.
fn signature(row: Value<'_>) -> Option<Option<Signature>> {
    if !row.is_object() {
        return Some(None);
    }
    let [partial, content, reasoning, calls] = pick(row, ["_partial", "content", "reasoning", "_partial_tool_calls"]);
    if !partial.is_some_and(is_truthy) {
        return Some(None);
    }
    let tools = match calls.filter(|calls| is_truthy(*calls)).map(|calls| (calls.kind(), calls)) {
        Some((Kind::Array, calls)) => calls.elements().filter(|call| call.is_object()).map(tool).collect(),
        // One by one these are strings, which say nothing.
        Some((Kind::Object | Kind::String, _)) | None => Vec::new(),
        // What cannot be gone through raises.
        Some((Kind::Number | Kind::True | Kind::False | Kind::Null, _)) => return None,
    };
    let text = |value: Option<Value<'_>>| strip(&str_or_empty(value)).to_vec();
    Some(Some(Signature { content: text(content), reasoning: text(reasoning), tools }))
}

fn tool(call: Value<'_>) -> Tool {
    let [name, args, done, error, preview, snippet] = pick(call, ["name", "args", "done", "is_error", "preview", "snippet"]);
    let mut written = Vec::new();
    push(args.filter(|args| is_truthy(*args)).unwrap_or(Value::EMPTY_OBJECT), Form::SortedRepr, &mut written);
    Tool {
        name: str_or_empty(name).into_owned(),
        args: written,
        is_done: done.is_some_and(is_truthy),
        is_error: error.is_some_and(is_truthy),
        preview: str_or_empty(preview.filter(|preview| is_truthy(*preview)).or(snippet)).into_owned(),
    }
}
