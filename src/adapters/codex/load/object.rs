//! Objects as they are sent.

use crate::json::Value;
use crate::runtimes::rust::{printed, push_string};

/// An object that is being written.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    separator: u8,
}

impl<'o> Object<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Object<'o> {
        Object { out, separator: b'{' }
    }

    /// Writes a member whose value is written by `write`.
    pub(super) fn member(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(std::mem::replace(&mut self.separator, b','));
        push_string(name, self.out);
        self.out.push(b':');
        write(self.out);
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.member(name, |out| push_string(text, out));
    }

    /// Writes a value that was accepted. A string says the same with the escapes
    /// that it was written with.
    pub(super) fn value(&mut self, name: &str, value: Value<'_>) {
        self.member(name, |out| match value.is_string() {
            true => out.extend_from_slice(value.text()),
            false => out.extend_from_slice(&printed(value)),
        });
    }

    /// Writes a value unless it is missing or null.
    pub(super) fn present(&mut self, name: &str, value: Option<Value<'_>>) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.value(name, value);
        }
    }

    /// Writes a value, and null where it is missing.
    pub(super) fn nullable(&mut self, name: &str, value: Option<Value<'_>>) {
        self.value(name, value.unwrap_or_default());
    }

    pub(super) fn close(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}
