//! What validation answers: a value and facts about it, or why the text is not
//! JSON.

use std::fmt;

use super::members::Member;
use super::value::Value;

/// The rules that decide what is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8259.
    Strict,
    /// CPython's `json.loads`: also takes `NaN`, `Infinity` and `-Infinity`.
    Python,
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// The byte offset in the text that was scanned.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
    /// Whether more text could have made it valid.
    pub fault: Fault,
}

/// The two ways in which a text is not a complete JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The text was cut off: it is the beginning of valid JSON. A string that is
    /// never closed counts as cut off whatever it holds, because another program may
    /// have written after it.
    Truncated,
    /// No text after it could make it valid.
    Invalid,
}

impl ScanError {
    /// Returns an error at a byte that no JSON text may have there.
    #[must_use]
    pub fn invalid(at: usize, what: &'static str) -> ScanError {
        ScanError { at, what, fault: Fault::Invalid }
    }
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
    /// The deepest nesting: 1 for a flat object, 0 for a scalar.
    pub depth: usize,
    /// The number of digits of the longest integer (CPython refuses more than 4300).
    pub longest_integer: usize,
}

/// A value that was validated at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan<'a> {
    /// The value without the white space before it.
    pub value: Value<'a>,
    /// Where it ends in the text.
    pub end: usize,
    /// What else was noticed.
    pub facts: Facts,
}

/// A list of the outermost object, of which the scan noted the elements.
#[derive(Debug)]
pub struct Outline<'a> {
    /// The name that the caller gave it.
    pub name: &'static str,
    /// The whole array.
    pub(super) array: &'a [u8],
    /// Each element, and where its members end among all.
    pub(super) elements: Vec<(&'a [u8], usize)>,
    pub(super) members: Vec<Member<'a>>,
}

impl<'a> Outline<'a> {
    /// Returns the whole array.
    #[must_use]
    pub fn value(&self) -> Value<'a> {
        Value::scanned(self.array)
    }

    /// Returns the elements in order, each with its members where it is an object.
    pub fn elements<'o>(&'o self) -> impl Iterator<Item = (Value<'a>, &'o [Member<'a>])> + use<'a, 'o> {
        let mut from = 0;
        self.elements.iter().map(move |&(element, to)| (Value::scanned(element), &self.members[std::mem::replace(&mut from, to)..to]))
    }
}
