//! A JSON object that an export writes, member by member.

use crate::json::{self, Style, Value};

/// A JSON object under construction.
pub(in crate::adapters) struct Object(Vec<u8>);

impl Object {
    /// Begins an object.
    pub(in crate::adapters) fn new() -> Object {
        Object(Vec::new())
    }

    /// Tells whether it has no members yet.
    pub(in crate::adapters) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a member with a JSON text as its value.
    pub(in crate::adapters) fn json(&mut self, name: &str, value: impl AsRef<[u8]>) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        json::push_string(name, &mut self.0);
        self.0.push(b':');
        self.0.extend_from_slice(value.as_ref());
    }

    /// Adds a member with a text as its value.
    pub(in crate::adapters) fn text(&mut self, name: &str, text: &str) {
        self.json(name, token(text));
    }

    /// Returns the object on one line.
    pub(in crate::adapters) fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }

    /// Writes the object as a program writes it.
    pub(in crate::adapters) fn push(self, style: Style, out: &mut Vec<u8>) {
        style.push_literal_at(Value::trusted(&self.finish()), 0, out);
    }
}

/// Returns a text as a JSON string.
pub(in crate::adapters) fn token(text: &str) -> Vec<u8> {
    let mut token = Vec::with_capacity(text.len() + 2);
    json::push_string(text, &mut token);
    token
}

/// JSON texts as a JSON list.
pub(in crate::adapters) fn list(items: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for item in items {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.push(b']');
    out
}
