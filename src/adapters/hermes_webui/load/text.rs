//! Python's `str` as bytes: UTF-8, in which a lone surrogate stands as UTF-8
//! would write its number. Equal strings have equal bytes.

use std::borrow::Cow;

/// The text of an accepted string token.
#[must_use]
pub fn decode(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let Some(first) = memchr::memchr(b'\\', inner) else { return Cow::Borrowed(inner) };
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    let mut plain = first;
    loop {
        let (before, behind) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        text.extend_from_slice(before);
        if behind.is_empty() {
            return Cow::Owned(text);
        }
        let (code, len) = escape(behind);
        push_code(code, &mut text);
        rest = behind.get(len..).unwrap_or_default();
        plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
    }
}

/// The character that the escape at the start of a text stands for, and how
/// long that escape is; two halves of a pair are one character.
fn escape(text: &[u8]) -> (u32, usize) {
    let simple = |code: u8| (u32::from(code), 2);
    match text.get(1) {
        Some(b'u') => match (unit(text), text.get(6..).and_then(unit)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => (0x1_0000 + ((high & 0x3ff) << 10 | (low & 0x3ff)), 12),
            (code, _) => (code.unwrap_or_default(), 6),
        },
        Some(b'b') => simple(8),
        Some(b't') => simple(9),
        Some(b'n') => simple(10),
        Some(b'f') => simple(12),
        Some(b'r') => simple(13),
        Some(&itself) => simple(itself),
        None => (0x5c, 1),
    }
}

/// The number of the `\uXXXX` at the start of a text, if one is there.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |code, &digit| Some(code << 4 | char::from(digit).to_digit(16)?))
}

fn push_code(code: u32, text: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
    }
}

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Characters.
    Text(&'a str),
    /// One half of a surrogate pair without the other.
    Lone(u32),
}

/// A text cut at its lone surrogates, which are never two of a pair: those have
/// been joined.
pub fn pieces(text: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let chunk = rest.utf8_chunks().next()?;
        let valid = chunk.valid();
        if !valid.is_empty() {
            rest = rest.get(valid.len()..).unwrap_or_default();
            return Some(Piece::Text(valid));
        }
        let (lone, behind) = rest.split_at_checked(3).unwrap_or((rest, &[]));
        rest = behind;
        Some(Piece::Lone(lone.iter().skip(1).fold(0xd, |code, &b| code << 6 | u32::from(b & 0x3f))))
    })
}

/// The text as Rust can hold it: a lone surrogate is spelt out as its escape.
#[must_use]
pub fn spelt(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Lone(code) => out.push_str(&format!("\\u{code:04x}")),
        }
    }
    out
}

/// Writes a text as a JSON string of one form: only what must be escaped is.
pub fn push_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => text.bytes().for_each(|byte| push_byte(byte, out)),
            Piece::Lone(code) => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
    }
    out.push(b'"');
}

fn push_byte(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        0..0x20 => return out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        0x20.. => return out.push(byte),
    };
    out.extend([b'\\', short]);
}

/// What `str.isspace` says of a character.
#[must_use]
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// `str.strip()`.
#[must_use]
pub fn strip(text: &[u8]) -> &[u8] {
    // One character at a time: a text of 1 MB rarely has more than one blank at an end.
    let (mut from, mut to) = (0, text.len());
    while let Some(c) = first_char(text.get(from..).unwrap_or_default()).filter(|c| is_space(*c)) {
        from += c.len_utf8();
    }
    while let Some(c) = last_char(text.get(from..to).unwrap_or_default()).filter(|c| is_space(*c)) {
        to -= c.len_utf8();
    }
    text.get(from..to).unwrap_or_default()
}

/// The first character, if it is one that Rust can hold.
fn first_char(text: &[u8]) -> Option<char> {
    text.get(..text.len().min(4))?.utf8_chunks().next()?.valid().chars().next()
}

/// The last character, if it is one that Rust can hold.
fn last_char(text: &[u8]) -> Option<char> {
    let len = text.iter().rev().take(4).position(|b| b & 0xc0 != 0x80)? + 1;
    std::str::from_utf8(text.get(text.len() - len..)?).ok()?.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_characters_and_halves_of_pairs_stay_apart() {
        let text = decode(br#""a\/\u00e9\ud83d\ude00\ud83d\n""#);
        assert_eq!(text, [b"a/", "é😀".as_bytes(), b"\xed\xa0\xbd\n"].concat());
        assert_eq!(spelt(&text), "a/é😀\\ud83d\n");
        let mut out = Vec::new();
        push_json(&text, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "\"a/é😀\\ud83d\\n\"");
        assert_eq!(spelt(b"\xed\xbf\xbf"), "\\udfff");
    }

    #[test]
    fn strip_takes_what_python_calls_space() {
        for (text, stripped) in
            [("\x1c\u{2003} a b \x1f\u{85}", "a b"), ("\u{200b}a", "\u{200b}a"), ("  ", ""), ("", ""), ("\u{3000}é", "é")]
        {
            assert_eq!(strip(text.as_bytes()), stripped.as_bytes());
        }
        assert_eq!(strip(b" \xed\xa0\xbd "), b"\xed\xa0\xbd");
        assert_eq!(strip(b"\xed\xa0\xbd"), b"\xed\xa0\xbd");
    }
}
