//! Run journals: how a run ended, and what of its output can be shown again.

use crate::json::{self, Dialect, Value};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::python::text::{splitlines, strip};

use super::document::{get, is_true, text_of};

/// Hands out the events of a run as its own reader takes them; nothing where
/// that reader gives up.
pub(super) fn each_event(bytes: &[u8], mut take: impl FnMut(&[json::Member<'_>])) {
    if std::str::from_utf8(bytes).is_err() {
        return;
    }
    let mut members = Vec::new();
    for line in Lines::new(bytes, Newlines::Universal) {
        for part in splitlines(line.text) {
            let text = &line.text[part.start..part.start + part.len];
            if !strip(text).is_empty() && json::scan_object(text, Dialect::Python, &mut members).is_ok() {
                take(&members);
            }
        }
    }
}

/// Returns how a run ended; nothing where it has not.
pub(super) fn end_state(bytes: &[u8]) -> Option<String> {
    let (mut end, mut stream_end) = (None, None);
    each_event(bytes, |members| {
        if is_true(get(members, "terminal")) {
            let state = get(members, "terminal_state").filter(|state| is_true(Some(*state))).map(text_of);
            let is_stream_end = get(members, "event").map(text_of).as_deref() == Some("stream_end");
            let which = if is_stream_end { &mut stream_end } else { &mut end };
            *which = Some(state.unwrap_or_else(|| "completed".to_owned()));
        }
    });
    end.or(stream_end)
}

/// Returns the payload of an event, where it is an object.
pub(super) fn payload<'a>(members: &[json::Member<'a>]) -> Vec<json::Member<'a>> {
    get(members, "payload").filter(|value| value.is_object()).map(Value::all_members).unwrap_or_default()
}
