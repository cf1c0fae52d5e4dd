//! What the tokenizer hands out.

use std::borrow::Cow;
use std::fmt;

use crate::model::stops::Stops;

use super::escape::{decode_string, lossy};

/// Whose rules decide what is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8259.
    Strict,
    /// CPython's `json.loads`: also takes `NaN`, `Infinity` and `-Infinity`.
    Python,
}

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

/// The kind of a value that [`scan_value`](super::scan_value) or
/// [`scan_object`](super::scan_object) has accepted.
#[must_use]
pub fn kind_of(value: &[u8]) -> Kind {
    match value.first() {
        Some(b'"') => Kind::String,
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b't') => Kind::True,
        Some(b'f') => Kind::False,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// One member of an object: both spans as they stand in the text.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key with its quotes.
    pub key: &'a [u8],
    /// The value without surrounding white space.
    pub value: &'a [u8],
}

impl<'a> Member<'a> {
    /// Whether this is the key's text. Most keys have no escapes, so their
    /// bytes decide.
    #[must_use]
    #[inline(always)]
    pub fn is(&self, name: &str) -> bool {
        let inner = self.key.get(1..self.key.len().saturating_sub(1)).unwrap_or_default();
        // An escape is longer than what it stands for, and begins with a backslash:
        // nearly every other key is told apart by its first byte.
        let may_be_escaped = || inner.len() > name.len() && (inner[0] == b'\\' || name.as_bytes().first() == Some(&inner[0]));
        inner == name.as_bytes() || (may_be_escaped() && self.is_another_spelling_of(name))
    }

    fn is_another_spelling_of(&self, name: &str) -> bool {
        self.is_escaped() && self.name() == name
    }

    /// Whether the key holds an escape, so that its bytes are not its text.
    #[must_use]
    pub fn is_escaped(&self) -> bool {
        const ESCAPE: Stops<1> = Stops::at([b'\\']);
        ESCAPE.next(self.key, 0) < self.key.len()
    }

    /// The key's text; an escaped key is decoded, a lone surrogate in it
    /// becomes U+FFFD (no key that we look for has one).
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        let inner = &self.key[1..self.key.len() - 1];
        if !self.is_escaped() {
            return lossy(inner);
        }
        Cow::Owned(decode_string(self.key).unwrap_or_else(|lossy| lossy))
    }
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// Byte offset in the text that was scanned.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl std::error::Error for ScanError {}

/// What a scan noticed about the whole text besides its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Deepest nesting: 1 for a flat object, 0 for a scalar.
    pub depth: usize,
    /// Digits of the longest integer (CPython refuses more than 4300).
    pub longest_integer: usize,
}

/// A text that has been accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Where the value ends in the text; white space may follow.
    pub end: usize,
    /// What else was noticed.
    pub facts: Facts,
}

/// A list of the outermost object, of which the elements were noted on the way.
#[derive(Debug)]
pub struct Outline<'a> {
    /// What it is called.
    pub name: &'static str,
    /// The whole array.
    pub array: &'a [u8],
    /// Each element, and where its members end among all.
    pub(super) elements: Vec<(&'a [u8], usize)>,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Outline<'a> {
    /// The elements in order; with the members of each that is an object.
    pub fn elements<'o>(&'o self) -> impl Iterator<Item = (&'a [u8], &'o [Member<'a>])> + use<'a, 'o> {
        let mut from = 0;
        self.elements.iter().map(move |&(element, to)| (element, &self.members[std::mem::replace(&mut from, to)..to]))
    }
}
