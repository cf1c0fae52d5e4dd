//! A sidecar, a backup or another whole-file object as its program reads it.

use crate::model::json::{self, Dialect, Kind, Member};

/// CPython gives up on values nested this deep…
const DEEPEST: usize = 995;
/// …and on integers with more digits than this.
const LONGEST_INTEGER: usize = 4300;

/// One JSON object, or why it is none.
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

    pub(super) fn get(&self, key: &str) -> Option<&'a [u8]> {
        get(&self.members, key)
    }

    /// A member's text, where it is one.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(string)
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(number)
    }

    /// Whether a member is there and says something.
    pub(super) fn says(&self, key: &str) -> bool {
        is_true(self.get(key))
    }

    /// The elements of a member that is a list.
    pub(super) fn elements(&self, key: &str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.get(key).filter(|value| json::kind_of(value) == Kind::Array).into_iter().flat_map(json::elements)
    }

    /// How many messages the program counts; -1 where it cannot.
    pub(super) fn count(&self) -> i64 {
        match self.get("messages") {
            Some(list) if json::kind_of(list) == Kind::Array => json::elements(list).count() as i64,
            _ => -1,
        }
    }
}

/// A member's value; of equal keys the last.
pub(super) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| member.name() == key).map(|member| member.value)
}

/// A string's text.
pub(super) fn string(value: &[u8]) -> Option<String> {
    (json::kind_of(value) == Kind::String).then(|| json::unescape(value).into_owned())
}

/// A number as the program's own arithmetic has it.
pub(super) fn number(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok().filter(|_| json::kind_of(value) == Kind::Number)?;
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => text.parse().ok(),
    }
}

/// Whether Python takes a value for true.
pub(super) fn is_true(value: Option<&[u8]>) -> bool {
    let Some(value) = value else { return false };
    match json::kind_of(value) {
        Kind::String => value.len() > 2,
        Kind::Array => json::elements(value).next().is_some(),
        Kind::Object => json::members(value).next().is_some(),
        Kind::Number => number(value).is_none_or(|number| number != 0.0),
        Kind::True => true,
        Kind::False | Kind::Null => false,
    }
}

/// A value as Python's `str` has it, as far as that matters here: nothing for
/// what counts for nothing, the text of a string, else the JSON text.
pub(super) fn text_of(value: &[u8]) -> String {
    match json::kind_of(value) {
        _ if !is_true(Some(value)) => String::new(),
        Kind::String => json::unescape(value).into_owned(),
        Kind::Number | Kind::Object | Kind::Array | Kind::True | Kind::False | Kind::Null => String::from_utf8_lossy(value).into_owned(),
    }
}

/// A text with every run of white space made one blank, and none around it.
pub(super) fn squeezed(text: &str) -> String {
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A text without the white space around it, as Python strips it.
pub(super) fn stripped(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// A prompt without the note about the workspace that is put before it.
pub(super) fn without_workspace(text: &str) -> &str {
    match text.strip_prefix("[Workspace::v1: ").and_then(|rest| rest.split_once("]\n")) {
        Some((_, prompt)) => prompt,
        None => text,
    }
}
