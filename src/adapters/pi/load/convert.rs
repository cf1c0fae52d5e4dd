//! The conversions that JavaScript does by itself: an object to a primitive,
//! anything to a number, anything to a point in time.

use super::Failure;
use super::date;
use super::number;
use super::value::{Type, Value};

/// `new Date(value).getTime()`.
pub(super) fn time_of(value: Value<'_>) -> Result<f64, Failure> {
    Ok(match value.type_of() {
        Type::String | Type::Array | Type::Object => date::parse(&text_of(value)?),
        Type::Undefined | Type::Null | Type::Boolean | Type::Number => date::clip(number_of(value)?),
    })
}

/// `Number(value)`.
pub(super) fn number_of(value: Value<'_>) -> Result<f64, Failure> {
    Ok(match value.type_of() {
        Type::Undefined => f64::NAN,
        Type::Null => 0.0,
        Type::Boolean => f64::from(u8::from(value.is_truthy())),
        Type::Number => value.number().unwrap_or(f64::NAN),
        Type::String | Type::Array | Type::Object => number::of_text(&text_of(value)?),
    })
}

/// `String(value)`; a lone surrogate becomes U+FFFD, which is as little a part
/// of a number or a date.
///
/// The text of an array is that of its elements with commas between them, and
/// so for arrays in it: brackets vanish, and one pass will do however deep.
fn text_of(value: Value<'_>) -> Result<String, Failure> {
    let mut text = String::new();
    let mut rest = value.token();
    while let Some(&byte) = rest.first() {
        let len = match byte {
            b'[' | b']' | b' ' | b'\t' | b'\n' | b'\r' => 1,
            b',' => {
                text.push(',');
                1
            }
            _ => {
                let (element, len) = Value::first(rest);
                push_text(element, &mut text)?;
                len
            }
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(text)
}

/// What a value other than an array adds to the text.
fn push_text(value: Value<'_>, text: &mut String) -> Result<(), Failure> {
    match value.type_of() {
        Type::Undefined | Type::Null | Type::Array => {}
        Type::Boolean => text.push_str(if value.is_truthy() { "true" } else { "false" }),
        Type::Number => text.push_str(&number::to_text(value.number().unwrap_or(f64::NAN))),
        Type::String => text.push_str(&value.lossy().unwrap_or_default()),
        // A property of that name hides the function, and is none itself.
        Type::Object if value.get("toString").type_of() != Type::Undefined => return Err(Failure::TypeError),
        Type::Object => text.push_str("[object Object]"),
    }
    Ok(())
}
