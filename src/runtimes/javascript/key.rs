//! When two values are the same: `===`, and the keys of a `Map`.

use std::borrow::Cow;

use crate::json::{Kind, Value};
use crate::runtimes::wtf8;

use super::number::{number, number_text};
use super::text::push_string;

/// A value as the key of a `Map`. Two values have equal keys exactly where `===`
/// holds (NaN, the one exception, cannot come out of JSON).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// A property that is missing.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// The bits of the double, both zeros being one.
    Number(u64),
    /// The characters in WTF-8.
    Text(Cow<'a, [u8]>),
    /// The address of its text, because an object equals only itself.
    Object(usize),
}

impl<'a> Key<'a> {
    /// Returns the key of a value.
    #[must_use]
    pub fn of(value: Option<impl Into<Value<'a>>>) -> Key<'a> {
        let Some(value) = value.map(Into::into) else { return Key::Undefined };
        match value.kind() {
            Kind::Null => Key::Null,
            Kind::True => Key::Boolean(true),
            Kind::False => Key::Boolean(false),
            // Adding zero turns the negative zero into the positive one.
            Kind::Number => Key::Number((number(value.text()) + 0.0).to_bits()),
            Kind::String => Key::Text(wtf8::decode(value.text())),
            Kind::Array | Kind::Object => Key::Object(value.address()),
        }
    }
}

/// Returns the canonical JSON text of a value that is the same wherever it
/// is: equal texts are equal [`Key`]s. A missing value has the empty text,
/// objects and arrays have none.
///
/// Strings without escapes, nearly all ids, are not copied.
#[must_use]
pub fn map_key<'v>(value: Option<impl Into<Value<'v>>>) -> Option<Cow<'v, [u8]>> {
    let Some(value) = value.map(Into::into) else { return Some(Cow::Borrowed(b"")) };
    let kind = value.kind();
    let value = value.text();
    match kind {
        Kind::Object | Kind::Array => None,
        Kind::String if !value.contains(&b'\\') => Some(Cow::Borrowed(value)),
        Kind::String => {
            let mut key = Vec::with_capacity(value.len());
            push_string(&wtf8::decode(value), &mut key);
            Some(Cow::Owned(key))
        }
        Kind::Number => Some(Cow::Owned(number_text(number(value)).into_bytes())),
        Kind::True | Kind::False | Kind::Null => Some(Cow::Borrowed(value)),
    }
}
