//! Python's numbers, and what `float()` and `int()` make of other values.

use crate::model::digits::ascii_digit;
use crate::model::json::{Kind, kind_of};

use super::text::{Piece, decode, is_space, pieces};
use super::value::is_truthy;

/// Why a conversion fails. The two are told apart because the program often
/// catches the first and forgets the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unconvertible {
    /// `TypeError` or `ValueError`.
    NoNumber,
    /// `OverflowError`.
    TooLarge,
}

/// `CPython` parses no more digits than this from a string.
const LONGEST_INTEGER: usize = 4300;

/// Whether a number token is an integer to Python.
#[must_use]
pub fn is_integer(token: &[u8]) -> bool {
    token.iter().all(|b| b.is_ascii_digit() || *b == b'-')
}

/// The double of a number token; an integer without limit may become infinite.
#[must_use]
pub fn double(token: &[u8]) -> f64 {
    // Rust reads every form that JSON and Python add to it, but for a sign
    // before a word, which Python has only as `-Infinity`.
    std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `float(value or 0)`.
///
/// # Errors
/// As it raises.
pub fn float_or_zero(value: Option<&[u8]>) -> Result<f64, Unconvertible> {
    let Some(value) = value.filter(|value| is_truthy(value)) else { return Ok(0.0) };
    match kind_of(value) {
        Kind::Number if is_integer(value) => Some(double(value)).filter(|float| float.is_finite()).ok_or(Unconvertible::TooLarge),
        Kind::Number => Ok(double(value)),
        Kind::True => Ok(1.0),
        Kind::String => float_of_text(&decode(value)).ok_or(Unconvertible::NoNumber),
        Kind::False | Kind::Null | Kind::Array | Kind::Object => Err(Unconvertible::NoNumber),
    }
}

/// `int(value)`, in decimal.
///
/// # Errors
/// As it raises.
pub fn integer(value: &[u8]) -> Result<String, Unconvertible> {
    match kind_of(value) {
        Kind::Number if is_integer(value) => decimal(&String::from_utf8_lossy(value)).ok_or(Unconvertible::NoNumber),
        Kind::Number => {
            let float = double(value);
            match (float.is_nan(), float.is_infinite()) {
                (true, _) => Err(Unconvertible::NoNumber),
                (_, true) => Err(Unconvertible::TooLarge),
                // Rust writes a whole double with all its digits.
                (false, false) => decimal(&format!("{:.0}", float.trunc())).ok_or(Unconvertible::NoNumber),
            }
        }
        Kind::True => Ok("1".into()),
        Kind::False => Ok("0".into()),
        Kind::String => ascii_number(&decode(value)).and_then(|text| decimal(&text)).ok_or(Unconvertible::NoNumber),
        Kind::Null | Kind::Array | Kind::Object => Err(Unconvertible::NoNumber),
    }
}

/// An integer in the form that `str()` gives it.
fn decimal(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > LONGEST_INTEGER || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match digits.trim_start_matches('0') {
        "" => Some("0".into()),
        digits => Some(format!("{sign}{digits}")),
    }
}

fn float_of_text(text: &[u8]) -> Option<f64> {
    ascii_number(text)?.parse().ok()
}

/// A number in a string, in ASCII and without the underscores that may stand
/// between digits.
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
    let trimmed = ascii.trim_matches(|c| matches!(c, ' ' | '\t'..='\r'));
    let bytes = trimmed.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let misplaced = |at: usize| !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'_' && misplaced(at)) {
        return None;
    }
    Some(trimmed.replace('_', ""))
}

/// Writes a number token as Python's `repr` does.
pub fn push_repr(token: &[u8], out: &mut Vec<u8>) {
    if is_integer(token) {
        // The only integer that JSON can write in two ways.
        return out.extend_from_slice(if token == b"-0" { b"0" } else { token });
    }
    out.extend_from_slice(float_repr(double(token)).as_bytes());
}

/// The shortest digits that give the same double again: plain from 1e-4 up to
/// 1e16, with an exponent of at least two digits elsewhere.
fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let short = format!("{float:e}");
    let (digits, power) = short.split_once('e').unwrap_or((&short, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    if (-4..16).contains(&power) {
        format!("{float:?}")
    } else {
        format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: &str) -> Result<f64, Unconvertible> {
        float_or_zero(Some(value.as_bytes()))
    }

    #[test]
    fn float_takes_what_python_takes() {
        for (value, result) in [
            ("1.5", 1.5),
            ("\" 1_0.5e0\\u2003\"", 10.5),
            ("\"\u{ff11}\u{662}\"", 12.0),
            ("\"-Inf\"", f64::NEG_INFINITY),
            ("1e400", f64::INFINITY),
            ("\"1e400\"", f64::INFINITY),
            ("true", 1.0),
            ("\"\"", 0.0),
            ("[]", 0.0),
            ("null", 0.0),
            ("\".5\"", 0.5),
        ] {
            assert_eq!(float(value), Ok(result), "{value}");
        }
        assert!(float("\"nan\"").unwrap().is_nan());
        for value in ["\"x\"", "[1]", "{\"a\":1}", "\" \"", "\"1__0\"", "\"_1\"", "\"0x1\"", "\"\\u001c1\"", "\"\\ud8001\"", "\".\""] {
            assert_eq!(float(value), Err(Unconvertible::NoNumber), "{value}");
        }
        assert_eq!(float(&"9".repeat(400)), Err(Unconvertible::TooLarge));
        assert_eq!(float_or_zero(None), Ok(0.0));
    }

    #[test]
    fn int_takes_what_python_takes() {
        for (value, result) in [
            ("-0", "0"),
            ("-3.9", "-3"),
            ("1e22", "10000000000000000000000"),
            ("\" +0_12\"", "12"),
            ("true", "1"),
            ("18446744073709551617", "18446744073709551617"),
        ] {
            assert_eq!(integer(value.as_bytes()).as_deref(), Ok(result), "{value}");
        }
        for value in ["NaN", "\"1.0\"", "\"\"", "null", "[1]", "\"- 1\""] {
            assert_eq!(integer(value.as_bytes()), Err(Unconvertible::NoNumber), "{value}");
        }
        for value in ["Infinity", "-1e999"] {
            assert_eq!(integer(value.as_bytes()), Err(Unconvertible::TooLarge), "{value}");
        }
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (token, written) in [
            ("1e5", "100000.0"),
            ("1E16", "1e+16"),
            ("123456789012345678.0", "1.2345678901234568e+17"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("5e-324", "5e-324"),
            ("-0.0", "-0.0"),
            ("1.50", "1.5"),
            ("9007199254740993.0", "9007199254740992.0"),
            ("-1e400", "-inf"),
            ("-0", "0"),
            ("NaN", "nan"),
        ] {
            let mut out = Vec::new();
            push_repr(token.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), written);
        }
    }
}
