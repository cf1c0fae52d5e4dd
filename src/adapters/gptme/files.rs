//! The entries of `files`: each is a URI, or a path that `pathlib` normalises.

use std::borrow::Cow;

use crate::json::{self, RAW_KEY, Value};
use crate::runtimes::python::{pathlib, value};
use crate::runtimes::wtf8::{self, Piece, lossy};

/// Tells whether gptme takes a text for a URI: `scheme://`.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else { return false };
    let mut chars = scheme.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
}

/// Returns the texts that a loop over a value gives, with U+FFFD for lone surrogates.
pub(super) fn iterated(value: Value<'_>) -> Vec<String> {
    value::iterated(value).iter().map(|text| lossy(text).into_owned()).collect()
}

/// Returns the texts that a loop over a value gives, as JSON strings.
pub(super) fn iterated_tokens(value: Value<'_>) -> Vec<Vec<u8>> {
    value::iterated(value).iter().map(|text| token(text)).collect()
}

/// Returns a text that may have lone surrogates, as a JSON string.
fn token(text: &[u8]) -> Vec<u8> {
    let mut token = vec![b'"'];
    for piece in wtf8::pieces(text) {
        match piece {
            Piece::Text(text) => json::push_escaped(text, &mut token),
            Piece::Lone(unit) => wtf8::push_unit_escape(unit, &mut token),
        }
    }
    token.push(b'"');
    token
}

/// Returns the path of a file part as `str(Path(…))` gives it, as a JSON string; `None`
/// where that is the path as it is.
pub(super) fn normal_token(name: Value<'_>) -> Option<Vec<u8>> {
    // The log carries a string with a lone surrogate as `$raw`.
    let raw = name.first(RAW_KEY).and_then(Value::as_str);
    let text = match &raw {
        Some(raw) => wtf8::decode(raw.as_bytes()),
        None => Cow::Owned(name.to_str().into_owned().into_bytes()),
    };
    let normal = pathlib::normal(&text);
    (*normal != *text).then(|| token(&normal))
}

/// `str(Path(text))`.
pub(super) fn path_text(text: &str) -> String {
    lossy(&pathlib::normal(text.as_bytes())).into_owned()
}

/// Tells whether `pathlib` sees a suffix in the last part of a path.
pub(super) fn has_suffix(path: &str) -> bool {
    !pathlib::suffix(path.as_bytes()).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_has_a_scheme() {
        assert!(is_uri("http://h/p//q") && is_uri("C://x") && !is_uri("1http://x") && !is_uri("/a://b"));
    }
}
