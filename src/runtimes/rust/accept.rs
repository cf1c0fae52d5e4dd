//! Which texts serde_json parses into a value.

use crate::json::{Dialect, Lexeme, Value, each_number_or_space, validate};
use crate::runtimes::wtf8;

/// How deep serde_json follows arrays and objects inside each other.
pub const MAX_DEPTH: usize = 127;

/// Returns the value that `serde_json::from_slice::<serde_json::Value>` reads
/// from a text, as a view of the text; nothing where it fails.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Value<'_>> {
    let scan = validate(text, Dialect::Strict).ok()?;
    let accepted =
        scan.facts.depth <= MAX_DEPTH && std::str::from_utf8(text).is_ok() && !has_lone_surrogate(text) && has_finite_numbers(scan.value);
    accepted.then_some(scan.value)
}

/// Returns the value of a text that was parsed before: the span of a value that
/// [`parse`] returned, or of a value inside it. Nothing is checked again.
#[must_use]
pub fn accepted(text: &[u8]) -> Value<'_> {
    Value::trusted(text)
}

/// Returns the number where serde_json reads an integer that is not negative:
/// `1.0`, `1e2` and `-0` are floats to it, and so is what exceeds 64 bits.
#[must_use]
pub fn unsigned(value: Value<'_>) -> Option<u64> {
    value.text().iter().all(u8::is_ascii_digit).then(|| value.parse())?
}

/// Tells whether an escape is half of a pair. In a valid text every backslash
/// is inside a string and begins an escape.
fn has_lone_surrogate(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = rest.get(at..).unwrap_or_default();
        let (code, len) = wtf8::unescape(escape);
        // A pair is decoded as one character: any surrogate that is left is alone.
        if (0xd800..0xe000).contains(&code) {
            return true;
        }
        rest = escape.get(len..).unwrap_or_default();
    }
    false
}

/// Tells whether every number is a finite double to serde_json, which rejects
/// the whole text otherwise. Its own parser decides: its default algorithm
/// rounds differently from Rust's.
fn has_finite_numbers(value: Value<'_>) -> bool {
    // The longest number without an exponent that surely is in range.
    const SAFE: usize = 300;
    let mut finite = true;
    each_number_or_space(value.text(), |lexeme, range| {
        let token = value.text().get(range).unwrap_or_default();
        let is_safe = lexeme == Lexeme::WhiteSpace || (token.len() <= SAFE && !token.iter().any(|byte| matches!(byte, b'e' | b'E')));
        finite &= is_safe || serde_json::from_slice::<f64>(token).is_ok();
    });
    finite
}
