//! What `JSON.parse` returns, as a view of the parsed text.

use std::borrow::{Borrow, Cow};

use crate::json::{self, Dialect, Kind, Member, validate};
use crate::runtimes::wtf8;

use super::number::number;
use super::properties::order;
use super::text::lossy;

/// What `typeof` tells apart, and `null` and arrays besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A property that is missing.
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A double.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// Any other object.
    Object,
}

/// A JSON value as the program sees it; nothing is `undefined`.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a>(Option<json::Value<'a>>);

impl<'a> Value<'a> {
    /// `undefined`.
    pub const UNDEFINED: Value<'static> = Value(None);

    /// `JSON.parse(text)`, or nothing where it throws. Bytes that are not UTF-8
    /// may stand in strings and count as U+FFFD.
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Option<Value<'a>> {
        validate(text, Dialect::Strict).ok().map(|scan| Value(Some(scan.value)))
    }

    /// Returns the value of a text that was validated before. It may be empty, and white
    /// space may be around the value.
    #[must_use]
    pub fn accepted(text: impl Into<json::Value<'a>>) -> Value<'a> {
        Value(Some(text.into().text().trim_ascii()).filter(|text| !text.is_empty()).map(json::Value::trusted))
    }

    /// Returns the value, unless it is `undefined`.
    #[must_use]
    pub fn value(self) -> Option<json::Value<'a>> {
        self.0
    }

    /// Returns the text of the value; empty where it is `undefined`.
    #[must_use]
    pub fn token(self) -> &'a [u8] {
        self.defined().unwrap_or_default()
    }

    /// Returns the text of the value, unless it is `undefined`.
    #[must_use]
    pub fn defined(self) -> Option<&'a [u8]> {
        self.0.map(json::Value::text)
    }

    /// Returns its type.
    #[must_use]
    pub fn type_of(self) -> Type {
        let Some(value) = self.0 else { return Type::Undefined };
        match value.kind() {
            Kind::String => Type::String,
            Kind::Number => Type::Number,
            Kind::Object => Type::Object,
            Kind::Array => Type::Array,
            Kind::True | Kind::False => Type::Boolean,
            Kind::Null => Type::Null,
        }
    }

    /// Tells whether `value === undefined`.
    #[must_use]
    pub fn is_undefined(self) -> bool {
        self.0.is_none()
    }

    /// Tells whether `value == null`.
    #[must_use]
    pub fn is_nullish(self) -> bool {
        matches!(self.type_of(), Type::Undefined | Type::Null)
    }

    /// `Boolean(value)`.
    #[must_use]
    pub fn is_truthy(self) -> bool {
        self.0.is_some_and(is_truthy)
    }

    /// Returns the double, if it is a number.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        self.0.filter(|value| value.is_number()).map(|value| number(value.text()))
    }

    /// Returns the characters in WTF-8, if it is a string.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, [u8]>> {
        self.0.filter(|value| value.is_string()).map(|value| wtf8::decode(value.text()))
    }

    /// Tells whether `value === text`.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        self.0.is_some_and(|value| is_text(value, text))
    }

    /// Returns the string with U+FFFD for lone surrogates, if it is a string.
    #[must_use]
    pub fn lossy(self) -> Option<String> {
        self.text().map(|text| lossy(&text))
    }

    /// Returns the members of an object as they stand in the text, repeated keys
    /// included; none of anything else.
    pub fn members(self) -> impl Iterator<Item = Member<'a>> {
        self.0.unwrap_or_default().members()
    }

    /// `Object.entries(value)` of an object, in the engine's order and each name
    /// once; none of anything else.
    #[must_use]
    pub fn properties(self) -> Vec<(Cow<'a, [u8]>, Value<'a>)> {
        let all: Vec<_> = self.members().map(|member| (wtf8::decode(member.key()), Value(Some(member.value())))).collect();
        let names: Vec<&[u8]> = all.iter().map(|(name, _)| &**name).collect();
        match order(&names) {
            None => all,
            Some(order) => order.into_iter().filter_map(|at| all.get(at).cloned()).collect(),
        }
    }

    /// Several properties in one pass; those that are missing are `undefined`.
    #[must_use]
    pub fn get_all<const N: usize>(self, names: [&str; N]) -> [Value<'a>; N] {
        pick(self.members(), names)
    }

    /// One property; `undefined` where it is missing.
    #[must_use]
    pub fn get(self, name: &str) -> Value<'a> {
        let [found] = self.get_all([name]);
        found
    }
}

/// The values that have these names among the members of one object; of equal
/// names the last counts.
pub fn pick<'a, const N: usize>(members: impl IntoIterator<Item = impl Borrow<Member<'a>>>, names: [&str; N]) -> [Value<'a>; N] {
    let mut found = [Value::UNDEFINED; N];
    for member in members {
        let member = member.borrow();
        if let Some((_, place)) = names.iter().zip(&mut found).find(|(name, _)| is_key(member.key(), name)) {
            *place = Value(Some(member.value()));
        }
    }
    found
}

/// Returns the property of this name of an object; of equal names the last counts.
#[must_use]
pub fn member<'a>(object: impl Into<json::Value<'a>>, name: &str) -> Option<&'a [u8]> {
    object.into().members().filter(|member| is_key(member.key(), name)).last().map(|member| member.value().text())
}

/// Tells whether a key token, quotes included, spells this name.
#[must_use]
pub fn is_key(key: &[u8], name: &str) -> bool {
    let inner = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    // An escape is longer than its character, so only a longer key can spell the
    // name in another way; the first byte tells nearly all of those apart.
    let may_be_escaped = || inner.len() > name.len() && (inner[0] == b'\\' || name.as_bytes().first() == Some(&inner[0]));
    inner == name.as_bytes() || (may_be_escaped() && inner.contains(&b'\\') && *wtf8::decode(key) == *name.as_bytes())
}

/// Tells whether a value is this string.
#[must_use]
pub fn is_text<'v>(value: impl Into<json::Value<'v>>, text: &str) -> bool {
    let value = value.into();
    value.is_string() && is_key(value.text(), text)
}

/// `Boolean(value)`.
#[must_use]
pub fn is_truthy<'v>(value: impl Into<json::Value<'v>>) -> bool {
    let value = value.into();
    match value.kind() {
        Kind::String => value.text().len() > 2,
        Kind::Number => number(value.text()) != 0.0,
        Kind::Object | Kind::Array | Kind::True => true,
        Kind::False | Kind::Null => false,
    }
}
