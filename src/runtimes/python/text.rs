//! `str.strip`, `bytes.strip`, `str.splitlines`, `str.lower`, and the lines that
//! files give in text mode and in binary mode.

use crate::json::byte_set::ByteSet;
use crate::runtimes::wtf8::{Piece, pieces, push_code};

use super::printable::TOGGLES;

/// `str.isspace` of one character.
#[must_use]
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// `str.isprintable` of one code point, by Unicode 14, which Python 3.11 knows.
#[must_use]
pub fn is_printable(code: u32) -> bool {
    match code {
        0x20..0x7f => true,
        // An odd number of toggles lies at or below a printable code point.
        _ => TOGGLES.partition_point(|toggle| *toggle <= code) % 2 == 1,
    }
}

/// `str.strip()`. Bytes that are not UTF-8 count as text.
#[must_use]
pub fn strip(text: &[u8]) -> &[u8] {
    // Nearly every line begins and ends with a bracket.
    let plain = |b: Option<&u8>| b.is_none_or(|b| (0x21..0x7f).contains(b));
    if plain(text.first()) && plain(text.last()) {
        return text;
    }
    let mut kept = text;
    while let Some(width) = first_char(kept).filter(|c| is_space(*c)).map(char::len_utf8) {
        kept = kept.get(width..).unwrap_or_default();
    }
    while let Some(width) = last_char(kept).filter(|c| is_space(*c)).map(char::len_utf8) {
        kept = kept.get(..kept.len() - width).unwrap_or_default();
    }
    kept
}

/// `str.strip()` of a text without lone surrogates.
#[must_use]
pub fn strip_str(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Returns the first character, if it is one that Rust can hold.
fn first_char(text: &[u8]) -> Option<char> {
    text.get(..text.len().min(4))?.utf8_chunks().next()?.valid().chars().next()
}

/// Returns the last character, if it is one that Rust can hold.
fn last_char(text: &[u8]) -> Option<char> {
    let len = text.iter().rev().take(4).position(|b| b & 0xc0 != 0x80)? + 1;
    std::str::from_utf8(text.get(text.len() - len..)?).ok()?.chars().next()
}

/// `bytes.strip()`.
#[must_use]
pub fn strip_bytes(text: &[u8]) -> &[u8] {
    let is_blank = |b: &u8| matches!(b, b'\t'..=b'\r' | b' ');
    let start = text.iter().position(|b| !is_blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !is_blank(b)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

/// `str.lower()`.
#[must_use]
pub fn lower(text: &[u8]) -> Vec<u8> {
    // Rust's Unicode is younger: a letter that Python does not know stays. Such a
    // letter is not printable for Python, and every letter with a case is.
    let is_known = |c: char| is_printable(u32::from(c)) || c.is_whitespace() || c.is_control();
    let mut out = Vec::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) if text.is_ascii() => out.extend_from_slice(text.to_ascii_lowercase().as_bytes()),
            Piece::Text(text) => {
                for run in text.split_inclusive(|c| !is_known(c)) {
                    let end = run.char_indices().next_back().filter(|(_, c)| !is_known(*c)).map_or(run.len(), |(at, _)| at);
                    let (known, unknown) = run.split_at_checked(end).unwrap_or((run, ""));
                    out.extend_from_slice(known.to_lowercase().as_bytes());
                    out.extend_from_slice(unknown.as_bytes());
                }
            }
            Piece::Lone(unit) => push_code(u32::from(unit), &mut out),
        }
    }
    out
}

/// One line of a text, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Where the line starts.
    pub start: usize,
    /// How long the line is.
    pub len: usize,
    /// How long the end of the line is; 0 for the last line of a text.
    pub end_len: usize,
}

/// Returns the lines of `str.splitlines`, which ends lines also at characters that no
/// writer of JSON lines means as an end.
pub fn splitlines(text: &[u8]) -> impl Iterator<Item = Span> {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= text.len() {
            return None;
        }
        let (end, end_len) = line_end(text, start);
        let line = Span { start, len: end - start, end_len };
        start = end + end_len;
        Some(line)
    })
}

/// Returns where the line that starts here ends, and how long that end is.
fn line_end(text: &[u8], from: usize) -> (usize, usize) {
    /// The bytes that an end begins with.
    const MARKS: ByteSet<2> = ByteSet::of([0xc2, 0xe2]).and_controls();
    let length = |at: usize| match text.get(at..).unwrap_or_default() {
        [b'\r', b'\n', ..] => Some(2),
        [0x0a..=0x0d | 0x1c..=0x1e, ..] => Some(1),
        [0xc2, 0x85, ..] => Some(2),
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => Some(3),
        _ => None,
    };
    let end = MARKS.walk(text, from, |at| length(at).is_none().then_some(at + 1));
    (end, length(end).unwrap_or(0))
}

/// Returns the lines of a file that is read as text, stripped, without the blank ones.
/// `\n`, `\r\n` and `\r` end a line.
pub fn text_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    // The empty line that this finds inside `\r\n` is blank like any other.
    split(bytes, |rest| memchr::memchr2(b'\n', b'\r', rest)).map(strip).filter(|line| !line.is_empty())
}

/// Returns the lines of a file that is read as bytes, stripped, without the blank ones.
/// Only `\n` ends a line.
pub fn byte_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(bytes, |rest| memchr::memchr(b'\n', rest)).map(strip_bytes).filter(|line| !line.is_empty())
}

fn split(bytes: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = find(text) else {
            rest = None;
            return Some(text);
        };
        rest = text.get(end + 1..);
        text.get(..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_are_text() {
        assert_eq!(strip(b" \xff "), b"\xff");
        assert_eq!(strip(b"\xe3\x80 a\xe2\x80 "), b"\xe3\x80 a\xe2\x80");
        assert_eq!(strip(b" \x80\x80 "), b"\x80\x80");
        assert_eq!(strip(b" \xed\xa0\xbd "), b"\xed\xa0\xbd");
        let file = b"a\r\nb\rc\n\n \x0b \nd\x1c\xff\n\xc2\xa0e";
        assert_eq!(text_lines(file).collect::<Vec<_>>(), [&b"a"[..], b"b", b"c", b"d\x1c\xff", b"e"]);
        assert_eq!(byte_lines(file).collect::<Vec<_>>(), [&b"a"[..], b"b\rc", b"d\x1c\xff", b"\xc2\xa0e"]);
    }

    #[test]
    fn long_white_space_is_stripped_in_one_walk() {
        for space in [" ", "\u{3000}", "\u{85}"] {
            assert_eq!(strip(format!("a{}", space.repeat(100_000)).as_bytes()), b"a");
        }
    }
}
