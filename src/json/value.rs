//! Validated JSON text: a [`Value`] is made by validation alone, so that whoever
//! holds one need not check it again, and reading it cannot fail.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::string::{decode_string, unescape};

/// What a value is, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    String,
    /// A number, `NaN` and the infinities included.
    Number,
    /// An object.
    Object,
    /// An array.
    Array,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// The text of one JSON value that was validated, without white space around it.
///
/// A value is a view of its source: `text` is the source's own bytes, and numbers,
/// escapes, repeated keys and their order are as they were written. It costs
/// two words, and nothing is parsed before it is asked for. `==` compares the bytes;
/// [`Value::is_same_as`] compares what programs read.
///
/// ```
/// use everlog::json::{Dialect, Kind, validate};
///
/// let source = br#" {"id": 1.10, "name": "\u00e9", "id": 2} "#;
/// let value = validate(source, Dialect::Strict)?.value;
/// assert_eq!(value.kind(), Kind::Object);
/// assert_eq!(value.get("id").map(|id| id.text()), Some(&b"2"[..]));
/// assert_eq!(value.first("id").map(|id| id.text()), Some(&b"1.10"[..]));
/// assert_eq!(value.get("name").and_then(|name| name.as_str()).as_deref(), Some("é"));
/// assert_eq!(value.span_in(source), 1..40);
/// # Ok::<(), everlog::json::ScanError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value<'a>(&'a [u8]);

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", self.0.escape_ascii())
    }
}

impl Default for Value<'_> {
    /// Returns `null`.
    fn default() -> Self {
        Value::NULL
    }
}

impl<'a> Value<'a> {
    /// `null`, for what has to be some value.
    pub const NULL: Value<'static> = Value(b"null");

    /// `true`.
    pub const TRUE: Value<'static> = Value(b"true");

    /// The number 0.
    pub const ZERO: Value<'static> = Value(b"0");

    /// An object without members.
    pub const EMPTY_OBJECT: Value<'static> = Value(b"{}");

    /// An array without elements.
    pub const EMPTY_ARRAY: Value<'static> = Value(b"[]");

    /// Takes a span that a scan of this module has validated.
    #[inline(always)]
    pub(super) fn scanned(text: &'a [u8]) -> Value<'a> {
        Value(text)
    }

    /// Takes a text as valid because of who wrote it: a writer of this crate, into an
    /// event of a log or just now. Never a source's bytes: those are validated.
    ///
    /// Somebody may have edited a log and sealed it again. Reading a value whose
    /// text is not valid gives wrong members or ends early; it never panics.
    #[inline(always)]
    #[must_use]
    pub(crate) fn trusted(text: &'a [u8]) -> Value<'a> {
        Value(text)
    }

    /// Returns the bytes of the value as they are in the source.
    #[inline(always)]
    #[must_use]
    pub fn text(self) -> &'a [u8] {
        self.0
    }

    /// Returns what the value is.
    #[inline]
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Tells whether it is a string.
    #[inline]
    #[must_use]
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Tells whether it is an object.
    #[inline]
    #[must_use]
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Tells whether it is an array.
    #[inline]
    #[must_use]
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Tells whether it is a number, `NaN` and the infinities included.
    #[inline]
    #[must_use]
    pub fn is_number(self) -> bool {
        self.kind() == Kind::Number
    }

    /// Tells whether it is `null`.
    #[inline]
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0.first() == Some(&b'n')
    }

    /// Returns the text of a string, with U+FFFD for lone surrogates; nothing for any
    /// other value. Borrowed where it holds no escape.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        self.is_string().then(|| unescape(self.0))
    }

    /// Returns the text of a string, with U+FFFD for lone surrogates; the empty text
    /// for any other value.
    #[must_use]
    pub fn to_str(self) -> Cow<'a, str> {
        self.as_str().unwrap_or_default()
    }

    /// Returns the text of a string without lone surrogates; nothing for any other
    /// value.
    #[must_use]
    pub fn as_exact_str(self) -> Option<Cow<'a, str>> {
        if self.0.contains(&b'\\') {
            return if self.is_string() { decode_string(self.0).ok().map(Cow::Owned) } else { None };
        }
        self.as_str()
    }

    /// Tells whether it is a string of this text, however it is escaped.
    #[inline]
    #[must_use]
    pub fn is_str(self, text: &str) -> bool {
        self.is_string() && spells(self.0, text)
    }

    /// Returns the number that this text is in Rust, where it is one of that type.
    #[must_use]
    pub fn parse<N: std::str::FromStr>(self) -> Option<N> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }

    /// Returns a number that tells this value from every other one in memory, for
    /// programs in which an object equals only itself.
    #[must_use]
    pub fn address(self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Returns where the value is in the text that it was read from.
    #[must_use]
    pub fn span_in(self, source: &[u8]) -> Range<usize> {
        span_in(source, self.0)
    }
}

/// Returns where a part of a text is in it: an empty range at the text's end where
/// it is not a part of it.
#[must_use]
pub fn span_in(source: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(source.as_ptr().addr());
    match start.checked_add(part.len()) {
        Some(end) if end <= source.len() => start..end,
        _ => source.len()..source.len(),
    }
}

/// Tells whether a string token, quotes included, spells this text. Most tokens have
/// no escapes, so that their bytes decide.
#[inline(always)]
pub(super) fn spells(token: &[u8], text: &str) -> bool {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    // An escape is longer than its character, and begins with a backslash: nearly
    // every other token is told apart by its length or first byte.
    let may_be_escaped = || inner.len() > text.len() && (inner[0] == b'\\' || text.as_bytes().first() == Some(&inner[0]));
    inner == text.as_bytes() || (may_be_escaped() && spells_with_escapes(token, text))
}

fn spells_with_escapes(token: &[u8], text: &str) -> bool {
    memchr::memchr(b'\\', token).is_some() && decode_string(token).is_ok_and(|decoded| decoded == text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Dialect, validate};

    fn value(text: &str) -> Value<'_> {
        validate(text.as_bytes(), Dialect::Python).unwrap().value
    }

    #[test]
    fn values_of_other_kinds_have_no_members_and_no_elements() {
        for text in [r#""a\":1""#, r#""\":""#, "null", "-1", "NaN", r#"["a",{"b":1}]"#, "[]", "{}"] {
            assert_eq!(value(text).members().count(), 0, "{text}");
            assert!(value(text).get("a").is_none() && value(text).get("b").is_none(), "{text}");
        }
        for text in [r#""abc""#, "12", "true", r#"{"a":[1]}"#, "{}", "[]"] {
            assert_eq!(value(text).elements().count(), 0, "{text}");
        }
    }

    #[test]
    fn the_last_and_the_first_of_equal_names() {
        let object = value(r#"{"a":1,"b":2,"\u0061":3}"#);
        let text = |value: Option<Value<'_>>| value.map(|value| String::from_utf8(value.text().to_vec()).unwrap());
        assert_eq!((text(object.get("a")).as_deref(), text(object.first("a")).as_deref()), (Some("3"), Some("1")));
        let [b, a, c] = object.get_each(["b", "a", "c"]);
        assert_eq!((text(b).as_deref(), text(a).as_deref(), c), (Some("2"), Some("3"), None));
    }

    #[test]
    fn a_string_is_its_text_however_it_is_escaped() {
        for token in [r#""né""#, r#""n\u00e9""#, r#""\u006e\u00E9""#] {
            assert!(value(token).is_str("né") && !value(token).is_str("n"), "{token}");
            assert_eq!(value(token).as_exact_str().as_deref(), Some("né"));
        }
        assert_eq!((value(r#""\ud800""#).as_str().as_deref(), value(r#""\ud800""#).as_exact_str()), (Some("\u{fffd}"), None));
        assert!(!value(r#""\ud800""#).is_str("\u{fffd}"));
        assert_eq!((value("[1]").as_str(), value("1").is_str("1")), (None, false));
    }

    #[test]
    fn a_span_is_the_place_in_the_source() {
        let source = br#" { "a" : [ "x" ] } "#;
        let object = validate(source, Dialect::Strict).unwrap().value;
        let element = object.get("a").unwrap().elements().next().unwrap();
        assert_eq!((object.span_in(source), element.span_in(source)), (1..18, 11..14));
        assert_eq!(element.span_in(b"another text"), 12..12);
    }
}
