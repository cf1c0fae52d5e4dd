//! Text that may hold lone surrogates, as bytes.
//!
//! Strings of Python and JavaScript may hold half of a surrogate pair without
//! the other half; Rust's may not. Here such a text is WTF-8: UTF-8, in which a
//! lone surrogate stands as UTF-8 would write its number. Two texts are equal
//! if their bytes are equal, and the order of the bytes is that of the code
//! points. The two halves of a pair are never stored apart.

use std::borrow::Cow;

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Characters.
    Text(&'a str),
    /// One half of a surrogate pair without the other.
    Lone(u16),
}

/// Decodes a valid JSON string token, quotes included. Bytes that are not
/// UTF-8 become U+FFFD, as decoders that replace errors make them.
#[must_use]
pub fn decode(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let Some(first) = memchr::memchr(b'\\', inner) else { return replaced(inner) };
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    let mut plain = first;
    loop {
        let (before, escape) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        text.extend_from_slice(&replaced(before));
        if escape.is_empty() {
            return Cow::Owned(text);
        }
        let (code, len) = unescape(escape);
        push_code(code, &mut text);
        rest = escape.get(len..).unwrap_or_default();
        plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
    }
}

/// Returns these bytes, with U+FFFD for what is not UTF-8. A surrogate that stands in
/// the source as raw bytes is not UTF-8 either, so it cannot pass for one of ours.
fn replaced(bytes: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(String::from_utf8_lossy(bytes).into_owned().into_bytes())
}

/// Returns the code point of the escape at the start of a text, and the length of the
/// escape. Two escapes that are the halves of a pair are one code point.
#[must_use]
pub fn unescape(text: &[u8]) -> (u32, usize) {
    let short = |code: u8| (u32::from(code), 2);
    match text.get(1) {
        Some(b'u') => match (unit(text), text.get(6..).and_then(unit)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => (0x1_0000 + ((high & 0x3ff) << 10 | (low & 0x3ff)), 12),
            (code, _) => (code.unwrap_or(0xfffd), 6),
        },
        Some(b'b') => short(8),
        Some(b't') => short(9),
        Some(b'n') => short(10),
        Some(b'f') => short(12),
        Some(b'r') => short(13),
        Some(&itself) => short(itself),
        None => (0xfffd, 1),
    }
}

/// Returns the number of the `\uXXXX` at the start of a text, if one is there.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}

/// Appends one code point, which may be a surrogate.
pub fn push_code(code: u32, text: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
    }
}

/// Splits a text at its lone surrogates.
pub fn pieces(text: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let chunk = rest.utf8_chunks().next()?;
        let valid = chunk.valid();
        if !valid.is_empty() {
            rest = rest.get(valid.len()..).unwrap_or_default();
            return Some(Piece::Text(valid));
        }
        let (lone, after) = rest.split_at_checked(3).unwrap_or((rest, &[]));
        rest = after;
        Some(Piece::Lone(lone.iter().skip(1).fold(0xd, |code, &b| code << 6 | u16::from(b & 0x3f))))
    })
}

/// Returns the code points of a text.
pub fn codes(text: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let &first = rest.first()?;
        let len = match first {
            0..0xc0 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        };
        let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = after;
        let lead = if len == 1 { u32::from(first) } else { u32::from(first) & (0x7f >> len) };
        Some(bytes.iter().skip(1).fold(lead, |code, &b| code << 6 | u32::from(b & 0x3f)))
    })
}

/// Returns the text as Rust can hold it: a lone surrogate is written as its escape.
#[must_use]
pub fn readable(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Lone(unit) => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out
}

/// Returns the text with U+FFFD in place of each lone surrogate.
#[must_use]
pub fn lossy(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return Cow::Borrowed(text);
    }
    let replaced = pieces(text).map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Lone(_) => "\u{fffd}",
    });
    Cow::Owned(replaced.collect())
}

/// Appends `\u` and the four lower-case hex digits of a UTF-16 unit.
pub fn push_unit_escape(unit: u16, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX[usize::from(unit >> shift) & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_characters_and_lone_halves_stay_apart() {
        let text = decode(br#""a\/\u00e9\ud83d\ude00\ud83d\n""#);
        assert_eq!(text, [b"a/", "é😀".as_bytes(), b"\xed\xa0\xbd\n"].concat());
        assert_eq!(readable(&text), "a/é😀\\ud83d\n");
        assert_eq!(readable(b"\xed\xbf\xbf"), "\\udfff");
        assert_eq!((lossy(&text).as_ref(), lossy("é".as_bytes()).as_ref()), ("a/é😀\u{fffd}\n", "é"));
        assert_eq!(pieces(&text).last(), Some(Piece::Text("\n")));
        assert_eq!(pieces(b"\xed\xa0\xbd").next(), Some(Piece::Lone(0xd83d)));
    }

    #[test]
    fn raw_bytes_that_are_not_utf8_are_replaced() {
        assert_eq!(decode(b"\"a\xff\xe2\x82b\""), "a\u{fffd}\u{fffd}b".as_bytes());
        assert_eq!(decode(b"\"\\n\xed\xa0\x80\""), "\n\u{fffd}\u{fffd}\u{fffd}".as_bytes());
        assert!(matches!(decode("\"é\"".as_bytes()), Cow::Borrowed(_)));
    }

    #[test]
    fn a_lone_surrogate_is_one_code_point_and_sorts_as_one() {
        assert_eq!(codes(&decode(br#""\ud800a\ud83d\ude00""#)).collect::<Vec<_>>(), [0xd800, 0x61, 0x1f600]);
        assert!(decode(br#""\udfff""#) < decode("\"\u{ffff}\"".as_bytes()));
        assert!(decode("\"\u{ffff}\"".as_bytes()) < decode("\"\u{10000}\"".as_bytes()));
        let mut out = Vec::new();
        push_unit_escape(0xd8af, &mut out);
        assert_eq!(out, b"\\ud8af");
    }
}
