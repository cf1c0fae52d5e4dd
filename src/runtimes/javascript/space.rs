//! White space: what `String.prototype.trim` removes.

/// Returns the length in bytes of the white space character at the start of a text, or
/// 0. Bytes that are not UTF-8 decode to U+FFFD, which is not white space.
fn space_at_start(text: &[u8]) -> usize {
    match text {
        [b'\t'..=b'\r' | b' ', ..] => 1,
        [0xc2, 0xa0, ..] => 2,
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..]
        | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

/// Returns the length in bytes of the white space character at the end of a text, or 0.
///
/// A lead byte starts a character no matter what stands before it, so looking
/// from the end finds the same characters as decoding from the start.
fn space_at_end(text: &[u8]) -> usize {
    let ends_with = |len: usize| text.len().checked_sub(len).is_some_and(|at| space_at_start(&text[at..]) == len);
    (1..=3).find(|len| ends_with(*len)).unwrap_or(0)
}

/// `text.trim()`, for WTF-8 and for bytes that are not decoded yet.
#[must_use]
pub fn trim(text: &[u8]) -> &[u8] {
    let mut text = trim_start(text);
    while let len @ 1.. = space_at_end(text) {
        text = &text[..text.len() - len];
    }
    text
}

/// `text.trimStart()`.
#[must_use]
pub fn trim_start(mut text: &[u8]) -> &[u8] {
    while let len @ 1.. = space_at_start(text) {
        text = &text[len..];
    }
    text
}

/// Tells whether `trim` leaves nothing of a text. The answer for a line of a session
/// is nearly always known after one byte.
#[must_use]
pub fn is_blank(text: &[u8]) -> bool {
    text.first().is_none_or(|first| !first.is_ascii_graphic()) && trim(text).is_empty()
}

/// Tells whether JavaScript takes a character for white space or a line end. The byte
/// order mark counts, U+0085 does not.
#[must_use]
pub fn is_space(c: char) -> bool {
    space_at_start(c.encode_utf8(&mut [0; 4]).as_bytes()) > 0
}
