//! What Python does with the values that `json.loads` gives: truth, `str()`,
//! `==`, `<=`, and `dict()`. All of them on the text of an accepted value.

use std::cmp::Ordering;

use crate::model::json::{Kind, kind_of};

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
        Kind::Object | Kind::Array | Kind::True | Kind::False | Kind::Null | Kind::Number => {
            let mut text = Vec::new();
            push_repr(value, &mut text);
            text
        }
    }
}

/// Recurses as deep as the value goes, which `json.loads` has limited.
fn push_repr(value: &[u8], out: &mut Vec<u8>) {
    match kind_of(value) {
        Kind::String => push_string_repr(&decode(value), out),
        Kind::True => out.extend_from_slice(b"True"),
        Kind::False => out.extend_from_slice(b"False"),
        Kind::Null => out.extend_from_slice(b"None"),
        Kind::Number => Number::of(value).iter().for_each(|number| number.push_repr(out)),
        Kind::Array => {
            out.push(b'[');
            for (at, element) in elements(value).into_iter().enumerate() {
                out.extend_from_slice(if at == 0 { b"" } else { b", " });
                push_repr(element, out);
            }
            out.push(b']');
        }
        Kind::Object => {
            out.push(b'{');
            for (at, (key, value)) in Dict::of_object(value).texts().enumerate() {
                out.extend_from_slice(if at == 0 { b"" } else { b", " });
                push_string_repr(key, out);
                out.extend_from_slice(b": ");
                push_repr(value, out);
            }
            out.push(b'}');
        }
    }
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
            ..0x100 => out.extend_from_slice(format!("\\x{code:02x}").as_bytes()),
            ..0x10000 => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
            _ => out.extend_from_slice(format!("\\U{code:08x}").as_bytes()),
        }
    }
    out.push(quote);
}

/// `str.isprintable`. Rust's `escape_debug` leaves the same categories alone, but
/// for a mark that stands first, and for characters younger than Python 3.11.
fn is_printable(code: u32) -> bool {
    match code {
        0x20..0x7f => true,
        0..0xa1 => false,
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
