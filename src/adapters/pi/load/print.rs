//! Printing a value so that it reads as what `JSON.stringify` would print.

use std::borrow::Cow;
use std::ops::Range;

use crate::model::json::{Bare, each_bare, token_end};

use super::number;
use super::text;
use super::value::Value;

/// How strings and numbers are spelt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// With the escapes and digits of the file, which mean the same.
    AsInFile,
    /// With those that `JSON.stringify` chooses, for what is compared as text.
    Canonical,
}

/// Prints a value in one pass that needs no stack, however deep it is. Repeated
/// keys stay: whoever reads them lets the last one count, as JavaScript does.
pub(super) fn push_value(value: Value<'_>, spelling: Spelling, out: &mut Vec<u8>) {
    let rest = push_changed(value.token(), spelling, out);
    out.extend_from_slice(value.token().get(rest..).unwrap_or_default());
}

/// The same in the spelling of the file; nothing is copied where that changes
/// nothing.
pub(super) fn printed<'a>(value: Value<'a>) -> Cow<'a, [u8]> {
    let mut out = Vec::new();
    match push_changed(value.token(), Spelling::AsInFile, &mut out) {
        0 => Cow::Borrowed(value.token()),
        rest => {
            out.extend_from_slice(value.token().get(rest..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// Whether a value is printed as it stands in the file.
pub(super) fn stands(value: Value<'_>) -> bool {
    matches!(printed(value), Cow::Borrowed(_))
}

/// Prints a value up to behind the last token that is printed otherwise than it
/// stands; says from where on the rest stays.
fn push_changed(token: &[u8], spelling: Spelling, out: &mut Vec<u8>) -> usize {
    // Nearly every value is UTF-8 as a whole, and then each string in it: what is
    // printed as it stands is copied in long pieces.
    if spelling == Spelling::Canonical || std::str::from_utf8(token).is_err() {
        return push_strings_too(token, spelling, out);
    }
    let mut copied = 0;
    each_bare(token, |bare, Range { start, end }| {
        let number = &token[start..end];
        if bare == Bare::Number && number::stays(number) {
            return;
        }
        out.extend_from_slice(&token[copied..start]);
        copied = end;
        if bare == Bare::Number {
            push_number(number, spelling, out);
        }
    });
    copied
}

/// The same where each string may be printed otherwise than it stands.
fn push_strings_too(token: &[u8], spelling: Spelling, out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(&byte) = token.get(at) {
        let start = at;
        match byte {
            b'"' => {
                at = token_end(token, start).max(start + 1);
                push_string(&token[start..at], spelling, out);
            }
            b'-' | b'0'..=b'9' => {
                let digits = token[start..].iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
                at = start + digits.count();
                push_number(&token[start..at], spelling, out);
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            _ => {
                at += 1;
                out.push(byte);
            }
        }
    }
    at
}

fn push_string(token: &[u8], spelling: Spelling, out: &mut Vec<u8>) {
    match spelling {
        Spelling::AsInFile => text::push_decoded(token, out),
        Spelling::Canonical => text::push_json(&text::decode(token), out),
    }
}

fn push_number(token: &[u8], spelling: Spelling, out: &mut Vec<u8>) {
    match spelling {
        Spelling::AsInFile => number::push_json(token, out),
        Spelling::Canonical => number::push_canonical(token, out),
    }
}

/// An object that is written member by member; what is `undefined` is left out.
#[derive(Debug)]
pub(super) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    separator: u8,
}

impl<'o> ObjectWriter<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> ObjectWriter<'o> {
        ObjectWriter { out, separator: b'{' }
    }

    fn separate(&mut self) {
        self.out.push(self.separator);
        self.separator = b',';
    }

    /// A member whose key and value stand in the file.
    pub(super) fn copy(&mut self, key: &[u8], value: Value<'_>) {
        self.separate();
        push_string(key, Spelling::AsInFile, self.out);
        self.out.push(b':');
        push_value(value, Spelling::AsInFile, self.out);
    }

    /// A member with a plain key.
    pub(super) fn member(&mut self, key: &str, value: Value<'_>) {
        if !value.token().is_empty() {
            self.raw(key, |out| push_value(value, Spelling::AsInFile, out));
        }
    }

    /// A member with a plain key, and a value that is written as it is.
    pub(super) fn raw(&mut self, key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.separate();
        text::push_json(key.as_bytes(), self.out);
        self.out.push(b':');
        write(self.out);
    }

    pub(super) fn close(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}
