//! What Python does with the values that `json.loads` gives: truth, `str()`,
//! `==`, `<=`, and `dict()`. All of them on the text of an accepted value.

use std::cmp::Ordering;

use crate::model::json::{Kind, kind_of};

use super::dump::{Dumper, Shape, string_token};
use super::exception::Exception;
use super::number::Number;
use super::pairs::Dict;
use super::parse::elements;
use super::text::{codes, decode, push_code};

/// `bool(value)`.
#[must_use]
pub fn is_truthy(value: &[u8]) -> bool {
    let holds_something = |closer: u8| value.iter().skip(1).find(|b| !b.is_ascii_whitespace()) != Some(&closer);
    match kind_of(value) {
        Kind::String => value.len() > 2,
        Kind::Object => holds_something(b'}'),
        Kind::Array => holds_something(b']'),
        Kind::True => true,
        Kind::False | Kind::Null => false,
        Kind::Number => Number::of(value).is_some_and(|number| number.is_truthy()),
    }
}

/// `str(value)`: a string is itself, all else is as `repr` writes it.
#[must_use]
pub fn str_of(value: &[u8]) -> Vec<u8> {
    match kind_of(value) {
        Kind::String => decode(value),
        Kind::Object | Kind::Array | Kind::True | Kind::False | Kind::Null | Kind::Number => repr(value),
    }
}

/// What `json.dumps` writes is what `repr` writes, but for the scalars.
fn repr(value: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    Dumper::default().push(value, Shape::Plain, &mut json);
    let mut out = Vec::with_capacity(json.len());
    let mut rest = json.as_slice();
    while let Some(&byte) = rest.first() {
        let len = match byte {
            b'[' | b']' | b'{' | b'}' | b',' | b':' | b' ' => 1,
            b'"' => string_token(rest).len(),
            _ => rest.iter().take_while(|b| !matches!(b, b',' | b']' | b'}')).count(),
        };
        let (token, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = behind;
        match (byte, token) {
            (b'"', _) => push_string_repr(&decode(token), &mut out),
            (_, b"true") => out.extend_from_slice(b"True"),
            (_, b"false") => out.extend_from_slice(b"False"),
            (_, b"null") => out.extend_from_slice(b"None"),
            (b'[' | b']' | b'{' | b'}' | b',' | b':' | b' ', _) => out.push(byte),
            _ => Number::of(token).iter().for_each(|number| number.push_repr(&mut out)),
        }
    }
    out
}

fn push_string_repr(text: &[u8], out: &mut Vec<u8>) {
    let quote = if text.contains(&b'\'') && !text.contains(&b'"') { b'"' } else { b'\'' };
    out.push(quote);
    for code in codes(text) {
        match code {
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0d => out.extend_from_slice(b"\\r"),
            _ if code == u32::from(quote) || code == 0x5c => out.extend([b'\\', code as u8]),
            _ if is_printable(code) => push_code(code, out),
            0..0x100 => out.extend_from_slice(format!("\\x{code:02x}").as_bytes()),
            0x100..0x10000 => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
            0x10000.. => out.extend_from_slice(format!("\\U{code:08x}").as_bytes()),
        }
    }
    out.push(quote);
}

/// `str.isprintable`. Rust's `escape_debug` leaves the same categories alone, but
/// for a mark that stands first, and for characters younger than Python 3.11.
fn is_printable(code: u32) -> bool {
    match code {
        0x20..0x7f => true,
        _ => char::from_u32(code).is_some_and(|c| !format!("a{c}").escape_debug().any(|c| c == '\\')),
    }
}

/// `left == right`.
#[must_use]
pub fn equals(left: &[u8], right: &[u8]) -> bool {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
        // All NaNs are one object, and an object equals itself inside a list.
        return a.order(&b) == Some(Ordering::Equal) || (left == b"NaN" && right == b"NaN");
    }
    match (kind_of(left), kind_of(right)) {
        (Kind::String, Kind::String) => decode(left) == decode(right),
        (Kind::Null, Kind::Null) => true,
        (Kind::Array, Kind::Array) => {
            let (a, b) = (elements(left), elements(right));
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| equals(a, b))
        }
        (Kind::Object, Kind::Object) => {
            let (a, b) = (Dict::of_object(left), Dict::of_object(right));
            a.len() == b.len() && a.texts().all(|(key, value)| b.get(key).is_some_and(|other| equals(value, other)))
        }
        _ => false,
    }
}

/// `left <= right`.
///
/// # Errors
/// `TypeError` where Python has no such order.
pub fn at_most(left: &[u8], right: &[u8]) -> Result<bool, Exception> {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
        return Ok(a.order(&b).is_some_and(Ordering::is_le));
    }
    match (kind_of(left), kind_of(right)) {
        (Kind::String, Kind::String) => Ok(decode(left) <= decode(right)),
        (Kind::Array, Kind::Array) => {
            let (a, b) = (elements(left), elements(right));
            match a.iter().zip(&b).find(|(a, b)| !equals(a, b)) {
                Some((a, b)) => at_most(a, b),
                None => Ok(a.len() <= b.len()),
            }
        }
        _ => Err(Exception::Type),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_is_that_of_python() {
        for falsy in ["0", "-0", "0.0", "-0e9", "1e-400", "\"\"", "[ ]", "{\t}", "false", "null"] {
            assert!(!is_truthy(falsy.as_bytes()), "{falsy}");
        }
        for truthy in ["1", "0.1", "NaN", "-Infinity", "\" \"", "[0]", "{ \"\":0}", "true", "1e400"] {
            assert!(is_truthy(truthy.as_bytes()), "{truthy}");
        }
    }

    #[test]
    fn order_is_that_of_python() {
        let order = |left: &str, right: &str| at_most(left.as_bytes(), right.as_bytes()).ok();
        for (left, right, answer) in [
            ("1", "true", Some(true)),
            ("1.5", "1", Some(false)),
            ("NaN", "NaN", Some(false)),
            ("\"10\"", "\"9\"", Some(true)),
            ("\"\\ud800\"", "\"\u{1f600}\"", Some(true)),
            ("[1,2]", "[1.0,3]", Some(true)),
            ("[1,[2],0]", "[1,[2]]", Some(false)),
            ("[NaN]", "[NaN,{}]", Some(true)),
            ("[{\"a\":1,\"b\":2}]", "[{\"b\":2.0,\"a\":true}]", Some(true)),
            ("[1]", "[\"1\"]", None),
            ("null", "null", None),
            ("{}", "{}", None),
            ("\"1\"", "1", None),
        ] {
            assert_eq!(order(left, right), answer, "{left} {right}");
        }
    }
}
