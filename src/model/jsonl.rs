//! Lines of a text file by universal newlines: `\n`, `\r\n` and a lone `\r`
//! all end one, as in Python's text mode.

use std::borrow::Cow;

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u64,
    /// Where it starts in the file.
    pub offset: usize,
    /// Its bytes without the line end.
    pub text: &'a [u8],
    /// Its line end as it stands there; empty at the end of a file.
    pub end: &'a [u8],
}

/// Which bytes end a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Newlines {
    /// `\n`, `\r\n` and `\r`.
    Universal,
    /// `\n` alone; a `\r` before it belongs to the line end all the same, and
    /// elsewhere to the text.
    LineFeed,
}

/// The lines of a file, cheap to copy for a look ahead.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u64,
    newlines: Newlines,
    /// Most files hold no `\r` at all: looked for once.
    has_returns: bool,
}

impl<'a> Lines<'a> {
    /// Returns the lines of this text.
    #[must_use]
    pub fn new(text: &'a [u8], newlines: Newlines) -> Lines<'a> {
        Lines { text, at: 0, number: 0, newlines, has_returns: memchr::memchr(b'\r', text).is_some() }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (len, end_len) = match (self.has_returns, self.newlines) {
            (true, Newlines::Universal) => match memchr::memchr2(b'\n', b'\r', rest) {
                Some(at) if rest[at] == b'\r' && rest.get(at + 1) == Some(&b'\n') => (at, 2),
                Some(at) => (at, 1),
                None => (rest.len(), 0),
            },
            (true, Newlines::LineFeed) => match memchr::memchr(b'\n', rest) {
                Some(at) if at > 0 && rest[at - 1] == b'\r' => (at - 1, 2),
                Some(at) => (at, 1),
                None => (rest.len(), 0),
            },
            (false, _) => match memchr::memchr(b'\n', rest) {
                Some(at) => (at, 1),
                None => (rest.len(), 0),
            },
        };
        let offset = self.at;
        self.at += len + end_len;
        self.number += 1;
        Some(Line { number: self.number, offset, text: &rest[..len], end: &rest[len..len + end_len] })
    }
}

/// Returns the text, with U+FFFD for what is not UTF-8. Nearly all of it is, and to make
/// sure of that is quicker than to look for what is not.
#[must_use]
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, newlines: Newlines) -> Vec<(&str, &str)> {
        let as_text = |bytes| std::str::from_utf8(bytes).unwrap();
        Lines::new(text.as_bytes(), newlines).map(|l| (as_text(l.text), as_text(l.end))).collect()
    }

    #[test]
    fn every_byte_belongs_to_a_line_or_its_end() {
        assert_eq!(split("a\r\nb\rc\n\nd", Newlines::Universal), [("a", "\r\n"), ("b", "\r"), ("c", "\n"), ("", "\n"), ("d", "")]);
        assert_eq!(split("a\r\nb\rc\n", Newlines::LineFeed), [("a", "\r\n"), ("b\rc", "\n")]);
        assert_eq!(split("", Newlines::Universal), []);
    }
}
