//! `json.Marshal`.

use super::decode::Slice;
use super::time::Time;

/// A value that `json.Marshal` writes.
pub trait Marshal {
    /// Appends the value.
    fn marshal(&self, out: &mut Vec<u8>);

    /// Tells whether `omitempty` leaves it out. A struct is never empty.
    fn is_empty(&self) -> bool {
        false
    }
}

impl Marshal for Time {
    fn marshal(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        self.push(out);
        out.push(b'"');
    }
}

impl<T: Marshal> Marshal for Option<T> {
    fn marshal(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.marshal(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T: Marshal> Marshal for Slice<T> {
    fn marshal(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (at, item) in self.items().iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            item.marshal(out);
        }
        out.push(b']');
    }

    fn is_empty(&self) -> bool {
        self.items().is_empty()
    }
}

/// When a member of an object is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omit {
    /// Never.
    Never,
    /// When its value is empty: the tag `omitempty`.
    Empty,
}

/// A struct that is being written.
#[derive(Debug)]
pub struct Object<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Object<'o> {
    /// Begins an object.
    pub fn open(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        let start = out.len();
        Object { out, start }
    }

    /// Appends a member. The names of fields need no escapes.
    pub fn member(&mut self, name: &str, value: &impl Marshal, omit: Omit) {
        if omit == Omit::Empty && value.is_empty() {
            return;
        }
        if self.out.len() > self.start {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        value.marshal(self.out);
    }

    /// Ends the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}

/// Tells whether a text begins with a `\u` escape that `json.Marshal` writes: one of
/// five characters, or a control character that has no shorter escape.
#[must_use]
pub fn is_marshal_escape(text: &[u8]) -> bool {
    match text.strip_prefix(b"\\u").and_then(|digits| digits.get(..4)) {
        Some(b"003c" | b"003e" | b"0026" | b"2028" | b"2029") => true,
        Some([b'0', b'0', b'0', digit]) => matches!(digit, b'0'..=b'7' | b'b' | b'e' | b'f'),
        Some([b'0', b'0', b'1', digit]) => matches!(digit, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}

/// Which bytes begin something that [`push_string`] must look at.
const IS_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    let others = *b"\"\\<>&\xe2";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
};

/// Appends a string. Besides what JSON asks for, `<`, `>`, `&`, U+2028 and
/// U+2029 are escaped.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let len = push_special(special, out);
        rest = special.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the character that a text begins with, and says how many bytes of it
/// that took.
fn push_special(text: &[u8], out: &mut Vec<u8>) -> usize {
    let escape: &[u8] = match text {
        [b'"', ..] => b"\\\"",
        [b'\\', ..] => b"\\\\",
        [0x08, ..] => b"\\b",
        [0x0c, ..] => b"\\f",
        [b'\n', ..] => b"\\n",
        [b'\r', ..] => b"\\r",
        [b'\t', ..] => b"\\t",
        [b'<', ..] => b"\\u003c",
        [b'>', ..] => b"\\u003e",
        [b'&', ..] => b"\\u0026",
        [0xe2, 0x80, 0xa8, ..] => b"\\u2028",
        [0xe2, 0x80, 0xa9, ..] => b"\\u2029",
        [byte @ 0..0x20, ..] => &control_escape(*byte),
        [byte, ..] => std::slice::from_ref(byte),
        [] => b"",
    };
    out.extend_from_slice(escape);
    if escape.starts_with(b"\\u202") { 3 } else { 1 }
}

fn control_escape(byte: u8) -> [u8; 6] {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]
}
