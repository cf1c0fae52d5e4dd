//! The conversions that JavaScript applies by itself: anything to text, to a
//! number, to a point in time.

use crate::json::{Dialect, Kind, Value, scan_value, token_end};
use crate::runtimes::wtf8;

use super::date::{parse_date, time_clip};
use super::number::{number, number_text, parse_number};
use super::text::lossy;

/// An object whose own property hides `toString`: JavaScript throws a
/// `TypeError` when it needs a primitive value, because no property that comes
/// from JSON can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeError;

/// `String(value)`, as WTF-8.
///
/// The text of an array is that of its elements with commas between them, and
/// the same holds for arrays inside it: brackets vanish, and one pass without a
/// stack is enough for any depth.
///
/// # Errors
/// [`TypeError`] where an object in it has a property `toString`.
pub fn to_text<'v>(value: impl Into<Value<'v>>) -> Result<Vec<u8>, TypeError> {
    let value = value.into().text();
    let mut text = Vec::new();
    let mut at = 0;
    let mut is_inside_array = false;
    while let Some(&byte) = value.get(at) {
        let end = match byte {
            b'[' => {
                is_inside_array = true;
                at + 1
            }
            b']' | b' ' | b'\t' | b'\n' | b'\r' => at + 1,
            b',' => {
                text.push(b',');
                at + 1
            }
            b'{' => {
                let object = scan_value(&value[at..], Dialect::Strict).map_err(|_| TypeError)?;
                if object.value.members().any(|member| member.is("toString")) {
                    return Err(TypeError);
                }
                text.extend_from_slice(b"[object Object]");
                at + object.end
            }
            b'"' => {
                let end = token_end(value, at);
                text.extend_from_slice(&wtf8::decode(&value[at..end]));
                end
            }
            _ => {
                let len = value[at..].iter().take_while(|b| !matches!(b, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r')).count();
                let token = &value[at..at + len];
                match Value::trusted(token).kind() {
                    // `null` is an empty text inside of an array only.
                    Kind::Null if is_inside_array => {}
                    Kind::Number => text.extend_from_slice(number_text(number(token)).as_bytes()),
                    Kind::Null | Kind::True | Kind::False | Kind::String | Kind::Object | Kind::Array => text.extend_from_slice(token),
                }
                at + len
            }
        };
        at = end.max(at + 1);
    }
    Ok(text)
}

/// `Number(value)`.
///
/// # Errors
/// See [`to_text`].
pub fn to_number<'v>(value: impl Into<Value<'v>>) -> Result<f64, TypeError> {
    let value = value.into();
    Ok(match value.kind() {
        Kind::Number => number(value.text()),
        Kind::True => 1.0,
        Kind::False | Kind::Null => 0.0,
        Kind::String => parse_number(&wtf8::decode(value.text())),
        Kind::Array | Kind::Object => parse_number(&to_text(value)?),
    })
}

/// `new Date(value).getTime()`; nothing where that is NaN,
/// as it is for `undefined`.
///
/// # Errors
/// See [`to_text`].
pub fn to_time<'v>(value: Option<impl Into<Value<'v>>>) -> Result<Option<i64>, TypeError> {
    let Some(value) = value.map(Into::into) else { return Ok(None) };
    Ok(match value.kind() {
        // A lone surrogate counts as a letter in a date, and so does U+FFFD.
        Kind::String | Kind::Array | Kind::Object => parse_date(&lossy(&to_text(value)?)),
        Kind::Number | Kind::True | Kind::False | Kind::Null => time_clip(to_number(value)?),
    })
}
