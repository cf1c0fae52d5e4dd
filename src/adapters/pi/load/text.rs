//! JavaScript strings as bytes: UTF-8 in which a lone surrogate has the three
//! bytes it would have if it were a character. Each string of UTF-16 units has
//! exactly one such form, so equal strings are equal bytes.

use std::borrow::Cow;

use super::lines::is_space;

const REPLACEMENT: &[u8] = "\u{fffd}".as_bytes();

/// The characters of a string token, quotes included in the token.
pub(super) fn decode(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none() {
        return match std::str::from_utf8(inner) {
            Ok(_) => Cow::Borrowed(inner),
            Err(_) => Cow::Owned(String::from_utf8_lossy(inner).into_owned().into_bytes()),
        };
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        push_decoded(plain, &mut out);
        let (code, len) = escaped(escape);
        push_code(code, &mut out);
        rest = escape.get(len..).unwrap_or_default();
    }
    push_decoded(rest, &mut out);
    Cow::Owned(out)
}

/// Raw bytes as the program decodes them: what is no UTF-8 becomes U+FFFD, one
/// for each longest prefix of a character.
pub(super) fn push_decoded(bytes: &[u8], out: &mut Vec<u8>) {
    if std::str::from_utf8(bytes).is_ok() {
        out.extend_from_slice(bytes);
        return;
    }
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice(REPLACEMENT);
        }
    }
}

/// The code point of the escape at the start of the text, and its length. Two
/// escapes that make a pair of surrogates are one code point.
fn escaped(text: &[u8]) -> (u32, usize) {
    match text.get(1) {
        Some(b'u') => {
            let high = unit(text, 0).unwrap_or(0xfffd);
            match unit(text, 6) {
                Some(low) if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) => {
                    (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
                }
                Some(_) | None => (high, 6),
            }
        }
        Some(b'n') => (10, 2),
        Some(b'r') => (13, 2),
        Some(b't') => (9, 2),
        Some(b'b') => (8, 2),
        Some(b'f') => (12, 2),
        Some(&other) => (u32::from(other), 2),
        None => (0xfffd, 1),
    }
}

/// The unit of a `\uXXXX` escape that stands at this place.
fn unit(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn push_code(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
    }
}

/// Whether a surrogate without its partner is among the characters.
pub(super) fn has_lone_surrogate(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_err()
}

/// The text with every lone surrogate replaced by one U+FFFD.
pub(super) fn lossy(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    pieces(text, |piece| match piece {
        Piece::Plain(plain) => out.push_str(plain),
        Piece::Surrogate(_) => out.push('\u{fffd}'),
    });
    out
}

/// The text without the white space around it.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let mut kept = text;
    if let Some(chunk) = kept.utf8_chunks().next() {
        let blank = chunk.valid().len() - chunk.valid().trim_start_matches(is_space).len();
        kept = kept.get(blank..).unwrap_or_default();
    }
    // Behind the last surrogate, or from the start, everything is UTF-8.
    let tail = kept
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .fold(0, |at, chunk| at + chunk.valid().len() + chunk.invalid().len());
    let last = std::str::from_utf8(kept.get(tail..).unwrap_or_default()).unwrap_or_default();
    kept.get(..tail + last.trim_end_matches(is_space).len()).unwrap_or_default()
}

/// Writes the string as `JSON.stringify` does, quotes included.
pub(super) fn push_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    pieces(text, |piece| match piece {
        Piece::Plain(plain) => push_escaped(plain, out),
        Piece::Surrogate(unit) => out.extend_from_slice(format!("\\u{unit:04x}").as_bytes()),
    });
    out.push(b'"');
}

fn push_escaped(plain: &str, out: &mut Vec<u8>) {
    for &byte in plain.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            control if control < b' ' => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
            other => out.push(other),
        }
    }
}

enum Piece<'a> {
    Plain(&'a str),
    Surrogate(u32),
}

/// The text cut at its lone surrogates. UTF-8 has none of their bytes, so each
/// is reported as three invalid chunks of one byte.
fn pieces(text: &[u8], mut each: impl FnMut(Piece<'_>)) {
    let mut surrogate = Vec::new();
    for chunk in text.utf8_chunks() {
        if !chunk.valid().is_empty() {
            each(Piece::Plain(chunk.valid()));
        }
        surrogate.extend_from_slice(chunk.invalid());
        if let [first, second, third] = surrogate.as_slice() {
            let bits = |byte: &u8| u32::from(byte & 0x3f);
            each(Piece::Surrogate((u32::from(first & 0xf) << 12) | (bits(second) << 6) | bits(third)));
            surrogate.clear();
        }
    }
}
