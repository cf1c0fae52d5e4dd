//! Which texts serde_json parses into a value.

use crate::json::{Dialect, Lexeme, Value, each_number_or_space, validate};
use crate::runtimes::wtf8;

/// How deep serde_json follows arrays and objects inside each other.
pub const MAX_DEPTH: usize = 127;

/// Returns the value that serde_json, with its feature `arbitrary_precision`, reads
/// from a text into a type with flattened members, as a view of the text; nothing
/// where it fails.
#[must_use]
pub fn parse(text: &[u8]) -> Option<Value<'_>> {
    let scan = validate(text, Dialect::Strict).ok()?;
    let accepted = scan.facts.depth <= MAX_DEPTH
        && std::str::from_utf8(text).is_ok()
        && !has_lone_surrogate(text)
        && has_integers_of_64_bits(scan.value);
    accepted.then_some(scan.value)
}

/// Returns the value of a text that was parsed before: the span of a value that
/// [`parse`] returned, or of a value inside it. Nothing is checked again.
#[must_use]
pub fn accepted(text: &[u8]) -> Value<'_> {
    Value::trusted(text)
}

/// Returns the number where serde_json reads an integer that is not negative: `-0` is
/// one, `1.0` and `1e2` are not, and what exceeds 64 bits is nowhere.
#[must_use]
pub fn unsigned(value: Value<'_>) -> Option<u64> {
    let digits = if value.text() == b"-0" { b"0" } else { value.text() };
    let is_plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok())?
}

/// Tells whether it is a number that is no integer to serde_json: one with a point or
/// an exponent, however large.
#[must_use]
pub fn is_float(value: Value<'_>) -> bool {
    value.is_number() && has_point(value.text())
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

/// Tells whether every integer has 64 bits: serde_json keeps the text of a number with a
/// point or an exponent, whatever its size, and rejects the whole text for an integer
/// that is too large.
fn has_integers_of_64_bits(value: Value<'_>) -> bool {
    // So many characters are surely in range.
    const SAFE: usize = 18;
    let mut fits = true;
    each_number_or_space(value.text(), |lexeme, range| {
        let token = value.text().get(range).unwrap_or_default();
        fits &= lexeme == Lexeme::WhiteSpace || token.len() <= SAFE || has_point(token) || is_of_64_bits(token);
    });
    fits
}

fn has_point(number: &[u8]) -> bool {
    number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

fn is_of_64_bits(integer: &[u8]) -> bool {
    let text = std::str::from_utf8(integer).unwrap_or_default();
    if text.starts_with('-') { text.parse::<i64>().is_ok() } else { text.parse::<u64>().is_ok() }
}
