//! Go's compact JSON, and which members of an object it leaves out.

use super::moment::Moment;
use super::text::Text;

/// A value that Go can write.
pub trait Encode {
    /// Appends the value.
    fn push(&self, out: &mut Vec<u8>);
}

impl Encode for Text<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        Text::push(self, out);
    }
}

impl Encode for Moment {
    fn push(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        Moment::push(self, out);
        out.push(b'"');
    }
}

/// An object that is being written.
pub struct Members<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Members<'o> {
    /// Begins an object.
    pub fn open(out: &'o mut Vec<u8>) -> Members<'o> {
        out.push(b'{');
        let start = out.len();
        Members { out, start }
    }

    /// Ends it.
    pub fn close(self) {
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) {
        if self.out.len() > self.start {
            self.out.push(b',');
        }
        // The names of fields need no escapes.
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// A member that is never left out.
    pub fn always(&mut self, name: &str, value: &impl Encode) -> &mut Self {
        self.name(name);
        value.push(self.out);
        self
    }

    /// A text that is left out when it is empty.
    pub fn filled(&mut self, name: &str, value: &Text<'_>) -> &mut Self {
        if value.is_empty() { self } else { self.always(name, value) }
    }

    /// A member behind a pointer, left out when that leads nowhere.
    pub fn present(&mut self, name: &str, value: Option<&impl Encode>) -> &mut Self {
        match value {
            Some(value) => self.always(name, value),
            None => self,
        }
    }

    /// A list that is left out when it is empty.
    pub fn list(&mut self, name: &str, items: &[impl Encode]) -> &mut Self {
        if items.is_empty() {
            return self;
        }
        self.name(name);
        for (at, item) in items.iter().enumerate() {
            self.out.push(if at == 0 { b'[' } else { b',' });
            item.push(self.out);
        }
        self.out.push(b']');
        self
    }
}
