//! `int()` and `float()` of values, which need not be numbers.

use crate::json::{Kind, Value};
use crate::runtimes::digits::ascii_digit;
use crate::runtimes::wtf8::{Piece, decode, pieces};

use super::exception::Exception;
use super::loads::LONGEST_INTEGER;
use super::number::{double, is_integer, truncated};
use super::text::is_space;
use super::value::is_truthy;

/// `float(value)`.
///
/// # Errors
/// `OverflowError` for an integer that no double can hold, `ValueError` for a
/// string that is not a number, `TypeError` for other values.
pub fn float<'v>(value: impl Into<Value<'v>>) -> Result<f64, Exception> {
    let value = value.into();
    match value.kind() {
        // The integer `-0` has no sign; adding 0.0 removes the one that its text has.
        Kind::Number if is_integer(value.text()) => {
            Some(double(value.text()) + 0.0).filter(|float| float.is_finite()).ok_or(Exception::Overflow)
        }
        Kind::Number => Ok(double(value.text())),
        Kind::True => Ok(1.0),
        Kind::False => Ok(0.0),
        Kind::String => float_of_text(&decode(value.text())),
        Kind::Null | Kind::Array | Kind::Object => Err(Exception::Type),
    }
}

/// `float(value or 0)`, where a missing value is `None`.
///
/// # Errors
/// As [`float`].
pub fn float_or_zero<'v>(value: Option<impl Into<Value<'v>>>) -> Result<f64, Exception> {
    value.map(Into::into).filter(|value: &Value<'_>| is_truthy(*value)).map_or(Ok(0.0), float)
}

/// `int(value)`, in decimal.
///
/// # Errors
/// `OverflowError` for infinity, `ValueError` for NaN and for a string that is
/// not an integer, `TypeError` for other values.
pub fn int<'v>(value: impl Into<Value<'v>>) -> Result<String, Exception> {
    let value = value.into();
    match value.kind() {
        Kind::Number if is_integer(value.text()) => decimal(&String::from_utf8_lossy(value.text())),
        Kind::Number => match double(value.text()) {
            float if float.is_nan() => Err(Exception::Value),
            float if float.is_infinite() => Err(Exception::Overflow),
            float => Ok(truncated(float)),
        },
        Kind::True => Ok("1".into()),
        Kind::False => Ok("0".into()),
        Kind::String => int_of_text(&decode(value.text())),
        Kind::Null | Kind::Array | Kind::Object => Err(Exception::Type),
    }
}

/// `int(value or 0)`, in decimal, where a missing value is `None`.
///
/// # Errors
/// As [`int`].
pub fn int_or_zero<'v>(value: Option<impl Into<Value<'v>>>) -> Result<String, Exception> {
    value.map(Into::into).filter(|value: &Value<'_>| is_truthy(*value)).map_or_else(|| Ok("0".into()), int)
}

/// `float(text)`.
///
/// # Errors
/// `ValueError` where the text is not a number.
pub fn float_of_text(text: &[u8]) -> Result<f64, Exception> {
    ascii_number(text).and_then(|text| text.parse().ok()).ok_or(Exception::Value)
}

/// `int(text)`, in decimal.
///
/// # Errors
/// `ValueError` where the text is not an integer, or has too many digits.
pub fn int_of_text(text: &[u8]) -> Result<String, Exception> {
    decimal(&ascii_number(text).ok_or(Exception::Value)?)
}

/// Returns an integer as `str()` writes it.
fn decimal(text: &str) -> Result<String, Exception> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > LONGEST_INTEGER || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Exception::Value);
    }
    match digits.trim_start_matches('0') {
        "" => Ok("0".into()),
        digits => Ok(format!("{sign}{digits}")),
    }
}

/// Returns a number in a string, in ASCII: digits of any script become those of ASCII,
/// white space around it and single underscores between digits are removed.
fn ascii_number(text: &[u8]) -> Option<String> {
    let mut ascii = String::new();
    for piece in pieces(text) {
        let Piece::Text(piece) = piece else { return None };
        for c in piece.chars() {
            ascii.push(match c {
                '\0'..='\x7f' => c,
                _ if is_space(c) => ' ',
                _ => ascii_digit(c)?,
            });
        }
    }
    // Narrower than `str.strip`: U+001C to U+001F stay, and make it no number.
    let trimmed = ascii.trim_matches(|c| matches!(c, ' ' | '\t'..='\r'));
    let bytes = trimmed.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let misplaced = |at: usize| !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'_' && misplaced(at)) {
        return None;
    }
    Some(trimmed.replace('_', ""))
}
