//! A sidecar, a backup or another whole-file object as its program reads it.

use std::borrow::Cow;

use crate::json::{self, Dialect, Member, Value};
use crate::runtimes::python::loads::LONGEST_INTEGER;
use crate::runtimes::python::number::double;
use crate::runtimes::python::text::is_space;
use crate::runtimes::python::value::{is_truthy, last_named, str_or_empty};
use crate::runtimes::wtf8::lossy;

/// CPython gives up on values nested this deep.
const DEEPEST: usize = 995;

/// One JSON object, or why it is not one.
pub(super) struct Document<'a> {
    pub bytes: &'a [u8],
    /// Of equal keys the last counts.
    pub members: Vec<Member<'a>>,
    /// Where and why its program cannot read it.
    pub fault: Option<(usize, &'static str)>,
}

impl<'a> Document<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Document<'a> {
        let mut members = Vec::new();
        let fault = match std::str::from_utf8(bytes) {
            Err(error) => Some((error.valid_up_to(), "not UTF-8")),
            Ok(_) => match json::scan_object(bytes, Dialect::Python, &mut members) {
                Err(error) => Some((error.at, error.what)),
                Ok(facts) if facts.depth >= DEEPEST => Some((0, "nested deeper than its parser goes")),
                Ok(facts) if facts.longest_integer > LONGEST_INTEGER => Some((0, "an integer longer than its parser takes")),
                Ok(_) => None,
            },
        };
        if fault.is_some() {
            members.clear();
        }
        Document { bytes, members, fault }
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        get(&self.members, key)
    }

    /// Returns a member's text, where it is one.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(string)
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(number)
    }

    /// Tells whether a member is there and says something.
    pub(super) fn says(&self, key: &str) -> bool {
        is_true(self.get(key))
    }

    /// Returns the elements of a member that is a list.
    pub(super) fn elements(&self, key: &str) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.get(key).into_iter().flat_map(Value::elements)
    }

    /// Returns how many messages the program counts; -1 where it cannot.
    pub(super) fn count(&self) -> i64 {
        match self.get("messages") {
            Some(list) if list.is_array() => list.elements().count() as i64,
            _ => -1,
        }
    }
}

/// Returns a member's value; of equal keys the last.
pub(super) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<Value<'a>> {
    last_named(members, key)
}

/// Returns a string's text.
pub(super) fn string(value: Value<'_>) -> Option<String> {
    value.as_str().map(Cow::into_owned)
}

/// Returns a number as the program's own arithmetic has it.
pub(super) fn number(value: Value<'_>) -> Option<f64> {
    (value.is_number()).then(|| double(value.text()))
}

/// Tells whether Python takes a value for true.
pub(super) fn is_true(value: Option<Value<'_>>) -> bool {
    value.is_some_and(is_truthy)
}

/// `str(value or "")`, with U+FFFD for lone surrogates.
pub(super) fn text_of(value: Value<'_>) -> String {
    lossy(&str_or_empty(Some(value))).into_owned()
}

/// Returns a text with every run of white space made one blank, and none around it.
pub(super) fn squeezed(text: &str) -> String {
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a prompt without the note about the workspace that is put before it.
pub(super) fn without_workspace(text: &str) -> &str {
    match text.strip_prefix("[Workspace::v1: ").and_then(|rest| rest.split_once("]\n")) {
        Some((_, prompt)) => prompt,
        None => text,
    }
}
