//! Objects that a program builds and prints.

use super::stringify::{Numbers, push_printed_raw};
use super::text::{decode_utf8, push_string};
use super::value::Value;

/// `JSON.stringify` of an object, property by property. A property that is
/// `undefined` is left out.
#[derive(Debug)]
pub struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    separator: u8,
}

impl<'o> ObjectWriter<'o> {
    /// Starts an object at the end of `out`.
    pub fn new(out: &'o mut Vec<u8>) -> ObjectWriter<'o> {
        ObjectWriter { out, separator: b'{' }
    }

    fn separate(&mut self) {
        self.out.push(self.separator);
        self.separator = b',';
    }

    /// Writes a property whose key and value stand in the source.
    pub fn copy(&mut self, key: &[u8], value: Value<'_>) {
        self.separate();
        self.out.extend_from_slice(&decode_utf8(key));
        self.out.push(b':');
        push_printed_raw(value.token(), Numbers::Printed, self.out);
    }

    /// Writes a property under a name of the program.
    pub fn member(&mut self, name: &str, value: Value<'_>) {
        if !value.is_undefined() {
            self.raw(name, |out| push_printed_raw(value.token(), Numbers::Printed, out));
        }
    }

    /// Writes a property whose value the caller prints.
    pub fn raw(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.separate();
        push_string(name.as_bytes(), self.out);
        self.out.push(b':');
        write(self.out);
    }

    /// Ends the object.
    pub fn close(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}
