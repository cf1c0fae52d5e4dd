//! What JavaScript does with parsed values: truth, coercion to a number, and
//! how `JSON.stringify` writes them again. All on the text of accepted values.

use std::borrow::Cow;
use std::ops::Range;

use crate::model::json::{Bare, Kind, each_bare, kind_of, lossy, members, token_end};

use super::text::{decode, shown, trim};

/// An object that hides `toString`, which coercion answers with a `TypeError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCoercible;

/// The member of this name; of equal names the last counts.
#[must_use]
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(object).filter(|member| member.is(name)).last().map(|member| member.value)
}

/// Whether a value is this string.
#[must_use]
pub fn is_text(value: &[u8], text: &str) -> bool {
    kind_of(value) == Kind::String && *decode(value) == *text.as_bytes()
}

/// The double that a number token stands for.
#[must_use]
pub fn number(token: &[u8]) -> f64 {
    std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `Boolean(value)`.
#[must_use]
pub fn is_truthy(value: &[u8]) -> bool {
    match kind_of(value) {
        Kind::String => value.len() > 2,
        Kind::Number => number(value) != 0.0,
        Kind::Object | Kind::Array | Kind::True => true,
        Kind::False | Kind::Null => false,
    }
}

/// `Number(value)`, as a comparison with a number applies it.
///
/// # Errors
/// Where JavaScript finds no way to make a primitive value of it.
pub fn to_number(value: &[u8]) -> Result<f64, NotCoercible> {
    match kind_of(value) {
        Kind::Number => Ok(number(value)),
        Kind::True => Ok(1.0),
        Kind::False | Kind::Null => Ok(0.0),
        Kind::String => Ok(number_of_text(&decode(value))),
        Kind::Object => object_text(value).map(|_| f64::NAN),
        Kind::Array => number_of_list(value),
    }
}

/// An object becomes `[object Object]`, unless a member covers the method that
/// says so; no member that comes from JSON can be called.
fn object_text(object: &[u8]) -> Result<(), NotCoercible> {
    if member(object, "toString").is_some() { Err(NotCoercible) } else { Ok(()) }
}

/// A list becomes its elements with commas between, lists inside it likewise:
/// a number only where there is no comma at all. Goes from token to token, as
/// lists may be nested without limit.
fn number_of_list(list: &[u8]) -> Result<f64, NotCoercible> {
    let mut sum = 0.0;
    let mut at = 0;
    while let Some(rest) = list.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.first() {
            Some(b'{') => {
                let object = first_object(rest);
                object_text(object)?;
                sum = f64::NAN;
                at += object.len();
            }
            Some(b'"') => {
                let token = rest.get(..token_end(rest, 0)).unwrap_or(rest);
                sum += number_of_text(&decode(token));
                at += token.len();
            }
            Some(b'[' | b']' | b' ' | b'\t' | b'\r' | b'\n') => at += 1,
            Some(b',') => {
                sum = f64::NAN;
                at += 1;
            }
            _ => {
                let len = rest.iter().take_while(|b| !matches!(b, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n')).count().max(1);
                let token = rest.get(..len).unwrap_or(rest);
                sum += match kind_of(token) {
                    // Absent and null are written as nothing, which counts as 0.
                    Kind::Null => 0.0,
                    Kind::Number => number(token),
                    Kind::True | Kind::False | Kind::String | Kind::Object | Kind::Array => f64::NAN,
                };
                at += len;
            }
        }
    }
    Ok(sum)
}

/// The object that an accepted text begins with.
fn first_object(text: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = token_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    text.get(..at).unwrap_or(text)
}

fn number_of_text(text: &[u8]) -> f64 {
    let text = trim(text);
    let unsigned = text.strip_prefix(b"+").or_else(|| text.strip_prefix(b"-")).unwrap_or(text);
    let radix = |base: u32, digits: &[u8]| {
        let digit = |sum: Option<f64>, b: &u8| Some(sum? * f64::from(base) + f64::from(char::from(*b).to_digit(base)?));
        digits.iter().fold((!digits.is_empty()).then_some(0.0), digit).unwrap_or(f64::NAN)
    };
    match text {
        b"" => 0.0,
        [b'0', b'x' | b'X', digits @ ..] => radix(16, digits),
        [b'0', b'o' | b'O', digits @ ..] => radix(8, digits),
        [b'0', b'b' | b'B', digits @ ..] => radix(2, digits),
        _ if unsigned == b"Infinity" => number(text.strip_suffix(b"inity").unwrap_or(text)),
        _ if text.iter().all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) => number(text),
        _ => f64::NAN,
    }
}

/// The place in a list that a number names, if it names one.
#[must_use]
pub fn index(value: &[u8]) -> Option<usize> {
    let number = number(value);
    let is_index = (0.0..4_294_967_295.0).contains(&number) && number == number.trunc();
    is_index.then_some(number as usize)
}

/// Writes a value as `JSON.stringify` would, but for what is equal all the
/// same: escapes, the form of numbers, and members that a later one replaces.
pub fn push(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&written(value));
}

/// The same; nothing is copied where it is written as it stands.
#[must_use]
pub fn written(value: &[u8]) -> Cow<'_, [u8]> {
    // Only strings can hold bytes that are not UTF-8, or the value would not
    // have been accepted: replacing them moves no token.
    match lossy(value) {
        Cow::Borrowed(text) => as_written(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(as_written(text.as_bytes()).into_owned()),
    }
}

fn as_written(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    // Where the bytes begin that are written as they stand, and are not yet.
    let mut kept = 0;
    each_bare(text, |bare, Range { start, end }| {
        let instead = match bare {
            Bare::Blanks => Some(&b""[..]),
            Bare::Number => number_instead(&text[start..end]),
        };
        if let Some(instead) = instead {
            out.extend_from_slice(&text[kept..start]);
            out.extend_from_slice(instead);
            kept = end;
        }
    });
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[kept..]);
    Cow::Owned(out)
}

/// No number of fewer digits is too large for a double.
const DIGITS_OF_LARGEST: usize = 309;

/// What is written instead of a number that no double holds as it stands.
fn number_instead(token: &[u8]) -> Option<&'static [u8]> {
    let is_plain = token.len() < DIGITS_OF_LARGEST && !token.iter().any(|b| matches!(b, b'e' | b'E'));
    if is_plain && !token.starts_with(b"-0") {
        return None;
    }
    let double = number(token);
    if !double.is_finite() {
        return Some(b"null");
    }
    (double == 0.0 && double.is_sign_negative()).then_some(b"0")
}

/// A value as text: strings as they are, all else as JSON.
#[must_use]
pub fn to_text(value: &[u8]) -> String {
    if kind_of(value) == Kind::String {
        return shown(&decode(value));
    }
    let mut out = Vec::new();
    push(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coercion_follows_javascript() {
        for (value, wanted) in [
            ("\" 0x10\\n\"", 16.0),
            ("\"\"", 0.0),
            ("\"-Infinity\"", f64::NEG_INFINITY),
            ("\"5.\"", 5.0),
            ("\"2e0\"", 2.0),
            ("[]", 0.0),
            ("[[ \"2\" ]]", 2.0),
            ("[null]", 0.0),
            ("[[],[]]", f64::NAN),
            ("[true]", f64::NAN),
            ("\"inf\"", f64::NAN),
            ("\"-0x1\"", f64::NAN),
            ("\"0x\"", f64::NAN),
            ("{\"valueOf\":1}", f64::NAN),
            ("[{\"a\":[\"}\"]}]", f64::NAN),
            ("true", 1.0),
            ("1e400", f64::INFINITY),
        ] {
            let found = to_number(value.as_bytes()).unwrap();
            assert!(found == wanted || (found.is_nan() && wanted.is_nan()), "{value}: {found}");
        }
        for value in ["{\"toString\":null}", "[1,[{\"toString\":0}]]"] {
            assert_eq!(to_number(value.as_bytes()), Err(NotCoercible), "{value}");
        }
        let deep = format!("{}3{}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(to_number(deep.as_bytes()), Ok(3.0));
    }

    #[test]
    fn numbers_are_written_as_they_are_unless_no_double_holds_them() {
        let long = format!("1{}", "0".repeat(308));
        let longer = format!("1{}", "0".repeat(309));
        for (value, wanted) in [
            ("[ 1e400 , -1E400,1e308, -0,-0.0e5 ,-0.5]", "[null,null,1e308,0,0,-0.5]"),
            ("{\"a\" :18446744073709551617,\"b\":\"1e400 \\ud800\"}", "{\"a\":18446744073709551617,\"b\":\"1e400 \\ud800\"}"),
            (&long, &long),
            (&longer, "null"),
            ("-1e-400", "0"),
        ] {
            assert_eq!(to_text(value.as_bytes()), wanted);
        }
        let mut out = Vec::new();
        push(b"\"\xff\xe2\x82\"", &mut out);
        assert_eq!(out, "\"\u{fffd}\u{fffd}\"".as_bytes());
    }

    #[test]
    fn of_equal_names_the_last_counts() {
        assert_eq!(member(br#"{"a":1,"\u0061":2,"b":3}"#, "a"), Some(&b"2"[..]));
        assert_eq!(member(br#"{"a\ud800":1}"#, "a"), None);
    }
}
