//! Text for people, in pieces that each have a colour. A colour is a property
//! of a piece, never a sequence inside its text: every control character in a
//! piece is somebody else's, and is escaped when the piece is printed.

use std::fmt;

use crate::model::printable::{is_unsafe_on_terminal, push_visible};

use super::terminal::{Colours, Tint};

/// Text in coloured pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Styled {
    pieces: Vec<(Tint, String)>,
}

impl Styled {
    /// Returns an empty text.
    #[must_use]
    pub fn new() -> Styled {
        Styled::default()
    }

    /// Returns a text of one piece.
    #[must_use]
    pub fn of(tint: Tint, text: impl Into<String>) -> Styled {
        Styled { pieces: vec![(tint, text.into())] }
    }

    /// Appends a piece.
    pub fn push(&mut self, tint: Tint, text: &str) {
        match self.pieces.last_mut() {
            Some((last, piece)) if *last == tint => piece.push_str(text),
            _ => self.pieces.push((tint, text.to_owned())),
        }
    }

    /// Appends a piece without a colour.
    pub fn push_str(&mut self, text: &str) {
        self.push(Tint::Plain, text);
    }

    /// Appends all pieces of another text.
    pub fn append(&mut self, other: Styled) {
        other.pieces.iter().for_each(|(tint, piece)| self.push(*tint, piece));
    }

    /// Returns the pieces, each with its colour.
    pub fn pieces(&self) -> impl Iterator<Item = (Tint, &str)> {
        self.pieces.iter().map(|(tint, piece)| (*tint, piece.as_str()))
    }

    /// Tells whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(_, piece)| piece.is_empty())
    }

    /// Returns the text without colours and without escapes, for files and for
    /// comparisons; only the printer may send it to a terminal.
    #[must_use]
    pub fn plain(&self) -> String {
        self.pieces.iter().map(|(_, piece)| piece.as_str()).collect()
    }

    /// Returns the text as a stream receives it: control characters escaped,
    /// line ends kept, and then our own colours around the pieces.
    #[must_use]
    pub fn render(&self, colours: Colours) -> String {
        let mut out = String::new();
        for (tint, piece) in self.pieces.iter().filter(|(_, piece)| !piece.is_empty()) {
            let code = tint.code();
            let is_coloured = colours == Colours::Shown && !code.is_empty();
            if is_coloured {
                out.push_str(&format!("\u{1b}[{code}m"));
            }
            push_escaped(piece, &mut out);
            if is_coloured {
                out.push_str("\u{1b}[0m");
            }
        }
        out
    }
}

fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        if c == '\n' { out.push(c) } else { push_visible(c, out) }
    }
}

/// Returns a line of JSON as a terminal may receive it: the same JSON value,
/// with every character that the terminal would obey as a `\u` escape.
#[must_use]
pub fn escaped_json(line: &[u8]) -> String {
    let mut out = String::with_capacity(line.len());
    let (mut is_in_string, mut is_after_backslash) = (false, false);
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                // White space between values may be any of these four.
                '\t' | '\r' | '\n' if !is_in_string => out.push(' '),
                c if is_unsafe_on_terminal(c) => {
                    let mut units = [0; 2];
                    c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
                }
                c => out.push(c),
            }
            is_in_string ^= c == '"' && !is_after_backslash;
            is_after_backslash = is_in_string && c == '\\' && !is_after_backslash;
        }
        // JSON has no escape for a byte that is not text.
        chunk.invalid().iter().for_each(|_| out.push_str("\\ufffd"));
    }
    out
}

impl fmt::Write for Styled {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

impl From<&str> for Styled {
    fn from(text: &str) -> Styled {
        Styled::of(Tint::Plain, text)
    }
}

impl From<&String> for Styled {
    fn from(text: &String) -> Styled {
        Styled::of(Tint::Plain, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_come_after_escaping() {
        let mut text = Styled::from("a\u{1b}[31m\u{9b}\nb");
        text.push(Tint::Added, "\u{202e}c");
        assert_eq!(text.render(Colours::None), "a\\u{1b}[31m\\u{9b}\nb\\u{202e}c");
        assert_eq!(text.render(Colours::Shown), "a\\u{1b}[31m\\u{9b}\nb\u{1b}[32m\\u{202e}c\u{1b}[0m");
    }

    #[test]
    fn json_keeps_its_value_and_loses_its_controls() {
        let line = "{\"a\u{9b}\":\t\"\u{202e}\\\"\u{7f}\u{e0041}\\u001b\\\\\",\r\"b\":1}";
        let shown = escaped_json(line.as_bytes());
        assert!(!shown.chars().any(is_unsafe_on_terminal), "{shown:?}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&shown), value(line));
        assert_eq!(escaped_json(b"\"\xff\x9b\t\""), "\"\\ufffd\\ufffd\\u0009\"");
    }
}
