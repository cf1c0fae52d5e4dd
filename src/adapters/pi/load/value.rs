//! A JSON value as it stands in the file, read the way JavaScript would read
//! what `JSON.parse` made of it: the last of equal keys counts, numbers are
//! doubles, strings are UTF-16, and what is missing is `undefined`.

use std::borrow::{Borrow, Cow};

use crate::model::json::{Dialect, Kind, Member, kind_of, members, scan_value};

use super::text;

/// What `typeof` can tell apart, and `null` and arrays besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Undefined,
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// The text of one accepted value, without white space around it; empty where
/// there is no value at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a>(&'a [u8]);

impl<'a> Value<'a> {
    pub(super) const UNDEFINED: Value<'static> = Value(b"");

    /// The value that fills a whole line, or nothing where `JSON.parse` fails.
    pub(super) fn parse(line: &'a [u8]) -> Option<Value<'a>> {
        let is_blank = |bytes: &[u8]| bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
        let end = scan_value(line, Dialect::Strict).ok()?.end;
        let (value, behind) = line.split_at_checked(end)?;
        is_blank(behind).then(|| Value(value.trim_ascii_start()))
    }

    /// The value that a line holds of which it is known that it holds one.
    pub(super) fn accepted(line: &'a [u8]) -> Value<'a> {
        Value(line.trim_ascii())
    }

    /// The value at the start of an accepted text, and its length.
    pub(super) fn first(text: &'a [u8]) -> (Value<'a>, usize) {
        let len = scan_value(text, Dialect::Strict).map_or(text.len(), |scan| scan.end).max(1);
        (Value(text.get(..len).unwrap_or(text)), len)
    }

    pub(super) fn token(self) -> &'a [u8] {
        self.0
    }

    pub(super) fn type_of(self) -> Type {
        if self.0.is_empty() {
            return Type::Undefined;
        }
        match kind_of(self.0) {
            Kind::String => Type::String,
            Kind::Number => Type::Number,
            Kind::Object => Type::Object,
            Kind::Array => Type::Array,
            Kind::True | Kind::False => Type::Boolean,
            Kind::Null => Type::Null,
        }
    }

    /// Whether `value == null` holds.
    pub(super) fn is_nullish(self) -> bool {
        matches!(self.type_of(), Type::Undefined | Type::Null)
    }

    pub(super) fn is_truthy(self) -> bool {
        match self.type_of() {
            Type::Undefined | Type::Null => false,
            Type::Boolean => self.0 == b"true",
            Type::Number => self.number() != Some(0.0),
            Type::String => self.0 != b"\"\"",
            Type::Array | Type::Object => true,
        }
    }

    /// The double, where this is a number; too large a one is infinite.
    pub(super) fn number(self) -> Option<f64> {
        if self.type_of() != Type::Number {
            return None;
        }
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// The characters, where this is a string (see [`text`] for their form).
    pub(super) fn text(self) -> Option<Cow<'a, [u8]>> {
        (self.type_of() == Type::String).then(|| text::decode(self.0))
    }

    /// Whether this is the string `plain`.
    pub(super) fn is(self, plain: &str) -> bool {
        self.text().is_some_and(|text| *text == *plain.as_bytes())
    }

    /// The string in Rust's terms: a lone surrogate becomes U+FFFD.
    pub(super) fn lossy(self) -> Option<String> {
        self.text().map(|text| text::lossy(&text))
    }

    /// The members of an object in the order of the file, repeated keys
    /// included; of anything else none.
    pub(super) fn members(self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> {
        self.raw_members().map(|member| (member.key, Value(member.value)))
    }

    /// The same as spans of the file.
    pub(super) fn raw_members(self) -> impl Iterator<Item = Member<'a>> {
        members(if self.type_of() == Type::Object { self.0 } else { b"{}" })
    }

    /// Several properties in one go; what is missing is `undefined`.
    pub(super) fn get_all<const N: usize>(self, names: [&str; N]) -> [Value<'a>; N] {
        pick(self.raw_members(), names)
    }

    pub(super) fn get(self, name: &str) -> Value<'a> {
        let [found] = self.get_all([name]);
        found
    }
}

/// The values that have these names among the members of one object; of equal
/// names the last counts.
pub(super) fn pick<'a, const N: usize>(members: impl IntoIterator<Item = impl Borrow<Member<'a>>>, names: [&str; N]) -> [Value<'a>; N] {
    let mut found = [Value::UNDEFINED; N];
    for member in members {
        let member = member.borrow();
        if let Some((_, place)) = names.iter().zip(&mut found).find(|(name, _)| is_key(member.key, name)) {
            *place = Value(member.value);
        }
    }
    found
}

/// Whether a key token, quotes included, spells this name.
pub(super) fn is_key(key: &[u8], name: &str) -> bool {
    let inner = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
    // An escape is longer than the character that it spells: only a longer key can
    // be the name in other letters.
    inner == name.as_bytes() || (inner.len() > name.len() && inner.contains(&b'\\') && *text::decode(key) == *name.as_bytes())
}
