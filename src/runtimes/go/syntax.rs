//! Limits and words of the syntax check of `encoding/json`, and `json.Compact`.

use crate::json::{self, Value};

use super::strings::is_space;

/// How many objects and arrays may stand inside each other.
pub const MAX_DEPTH: usize = 10_000;

/// The error of a text that ends within a value. No other syntax error needs
/// its exact words here.
pub const UNEXPECTED_END: &str = "unexpected end of JSON input";

/// `json.Compact`: the value without the white space between its tokens, which
/// stay as they are.
#[must_use]
pub fn compact<'v>(value: impl Into<Value<'v>>) -> Vec<u8> {
    let value = value.into().text();
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        let end = if *byte == b'"' { json::token_end(value, at) } else { at + 1 };
        if !is_space(*byte) {
            out.extend_from_slice(&value[at..end]);
        }
        at = end;
    }
    out
}
