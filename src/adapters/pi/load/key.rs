//! Values as keys of a JavaScript `Map`: text, numbers and words are equal when
//! they say the same, an object only to itself.

use std::borrow::Cow;

use super::value::{Type, Value};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    Undefined,
    Null,
    Boolean(bool),
    /// The bits of the double, both zeros being one.
    Number(u64),
    Text(Cow<'a, [u8]>),
    /// Where it stands in memory, which no other object shares.
    Object(usize),
}

impl<'a> Key<'a> {
    pub(super) fn of(value: Value<'a>) -> Key<'a> {
        match value.type_of() {
            Type::Undefined => Key::Undefined,
            Type::Null => Key::Null,
            Type::Boolean => Key::Boolean(value.is_truthy()),
            // Adding zero turns its negative into the positive one.
            Type::Number => Key::Number((value.number().unwrap_or(f64::NAN) + 0.0).to_bits()),
            Type::String => Key::Text(value.text().unwrap_or_default()),
            Type::Array | Type::Object => Key::Object(value.token().as_ptr().addr()),
        }
    }
}
