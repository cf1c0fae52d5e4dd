//! What Python does with the values that `json.loads` gives: truth, `str()`,
//! iteration, `==` and `<=`.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::json::{Kind, Member, Value};
use crate::runtimes::wtf8::{codes, decode, push_code};

use super::dict::Dict;
use super::dumps::{Form, push};
use super::exception::Exception;
use super::number::{Number, double};

/// `bool(value)`.
#[must_use]
pub fn is_truthy<'v>(value: impl Into<Value<'v>>) -> bool {
    let value = value.into();
    let is_filled = |closer: u8| value.text().iter().skip(1).find(|b| !b.is_ascii_whitespace()) != Some(&closer);
    match value.kind() {
        Kind::String => value.text().len() > 2,
        Kind::Object => is_filled(b'}'),
        Kind::Array => is_filled(b']'),
        Kind::True => true,
        Kind::False | Kind::Null => false,
        // An integer that no double can hold is infinite here, and true.
        Kind::Number => double(value.text()) != 0.0,
    }
}

/// `str(value)`: a string is itself, all else is as `repr` writes it.
#[must_use]
pub fn str_of<'v>(value: impl Into<Value<'v>>) -> Cow<'v, [u8]> {
    let value = value.into();
    match value.kind() {
        Kind::String => decode(value.text()),
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => {
            let mut out = Vec::new();
            push(value, Form::Repr, &mut out);
            Cow::Owned(out)
        }
    }
}

/// `str(value or "")`, where a missing value is `None`.
#[must_use]
pub fn str_or_empty<'v>(value: Option<impl Into<Value<'v>>>) -> Cow<'v, [u8]> {
    value.map(Into::into).filter(|value: &Value<'_>| is_truthy(*value)).map_or(Cow::Borrowed(&[]), str_of)
}

/// `[str(item) for item in value]`: the elements of a list, the characters of a
/// string, the keys of an object. Other values cannot be iterated, and give none.
#[must_use]
pub fn iterated<'v>(value: impl Into<Value<'v>>) -> Vec<Cow<'v, [u8]>> {
    let value = value.into();
    let character = |code: u32| {
        let mut text = Vec::new();
        push_code(code, &mut text);
        Cow::Owned(text)
    };
    match value.kind() {
        Kind::Array => value.elements().map(str_of).collect(),
        Kind::String => codes(&decode(value.text())).map(character).collect(),
        Kind::Object => Dict::of_object(value).texts().map(|(key, _)| Cow::Owned(key.to_vec())).collect(),
        Kind::Number | Kind::True | Kind::False | Kind::Null => Vec::new(),
    }
}

/// The values that an object has under some names, in one walk over it; of
/// equal keys the last counts.
#[must_use]
pub fn pick<'a, const N: usize>(object: impl Into<Value<'a>>, names: [&str; N]) -> [Option<Value<'a>>; N] {
    object.into().get_each(names)
}

/// Returns the value of a key among these members; of equal keys the last counts.
#[must_use]
pub fn last_named<'a>(members: &[Member<'a>], name: &str) -> Option<Value<'a>> {
    members.iter().rev().find(|member| member.is(name)).map(Member::value)
}

/// `left == right`.
#[must_use]
pub fn equals(left: Value<'_>, right: Value<'_>) -> bool {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
        // All NaNs are one object, and an object equals itself inside a list.
        return a.order(&b) == Some(Ordering::Equal) || (left.text() == b"NaN" && right.text() == b"NaN");
    }
    match (left.kind(), right.kind()) {
        (Kind::String, Kind::String) => decode(left.text()) == decode(right.text()),
        (Kind::Null, Kind::Null) => true,
        (Kind::Array, Kind::Array) => {
            let (mut a, mut b) = (left.elements(), right.elements());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(a), Some(b)) if equals(a, b) => {}
                    _ => return false,
                }
            }
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
pub fn at_most(left: Value<'_>, right: Value<'_>) -> Result<bool, Exception> {
    if let (Some(a), Some(b)) = (Number::of(left), Number::of(right)) {
        return Ok(a.order(&b).is_some_and(Ordering::is_le));
    }
    match (left.kind(), right.kind()) {
        (Kind::String, Kind::String) => Ok(decode(left.text()) <= decode(right.text())),
        (Kind::Array, Kind::Array) => {
            let (mut a, mut b) = (left.elements(), right.elements());
            loop {
                match (a.next(), b.next()) {
                    (Some(a), Some(b)) if equals(a, b) => {}
                    (Some(a), Some(b)) => return at_most(a, b),
                    (a, _) => return Ok(a.is_none()),
                }
            }
        }
        _ => Err(Exception::Type),
    }
}
