//! Text as JavaScript sees it: which characters are white space, and strings
//! as sequences of UTF-16 units, where half of a pair may stand alone.

use std::borrow::Cow;

use crate::model::json::lossy;

/// The length of the white space character that a text begins with, or 0.
/// Bytes that are not UTF-8 read as U+FFFD, which is none.
fn space_before(text: &[u8]) -> usize {
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

/// The same for the end of a text. A first byte starts a character whatever
/// stands before it, so that looking from the end finds the same characters.
fn space_behind(text: &[u8]) -> usize {
    (1..=3).find(|len| text.len().checked_sub(*len).and_then(|at| text.get(at..)).is_some_and(|end| space_before(end) == *len)).unwrap_or(0)
}

/// `String.prototype.trim`, which also takes a byte order mark away.
#[must_use]
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let (len @ 1.., rest) = (space_before(text), text) {
        text = rest.get(len..).unwrap_or_default();
    }
    while let (len @ 1.., rest) = (space_behind(text), text) {
        text = rest.get(..rest.len() - len).unwrap_or_default();
    }
    text
}

/// Whether JavaScript takes this character for white space or a line end.
#[must_use]
pub fn is_space(c: char) -> bool {
    space_before(c.encode_utf8(&mut [0; 4]).as_bytes()) > 0
}

/// What a string token holds, in UTF-8 but for halves of pairs, which take the
/// three bytes that UTF-8 forbids: equal bytes are equal strings.
#[must_use]
pub fn decode(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none() {
        return match lossy(inner) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        };
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(lossy(plain).as_bytes());
        let taken = push_escape(escape, &mut out);
        rest = escape.get(taken..).unwrap_or_default();
    }
    out.extend_from_slice(lossy(rest).as_bytes());
    Cow::Owned(out)
}

/// Writes what an escape stands for; the length of the escape.
fn push_escape(escape: &[u8], out: &mut Vec<u8>) -> usize {
    let plain = match escape.get(1) {
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => {
            let unit = hex_unit(escape).unwrap_or(0xfffd);
            let low = escape.get(6..).and_then(hex_unit).filter(|low| (0xdc00..0xe000).contains(low));
            if let (0xd800..0xdc00, Some(low)) = (unit, low) {
                push_code(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
                return 12;
            }
            push_code(unit, out);
            return 6;
        }
        Some(other) => *other,
        None => return 1,
    };
    out.push(plain);
    2
}

fn hex_unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn push_code(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
    }
}

/// A run of decoded text, or half of a pair that stands alone.
enum Piece<'t> {
    Text(Cow<'t, str>),
    Half(u32),
}

/// The pieces of what [`decode`] gives.
fn pieces(mut decoded: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        if let [0xed, second @ 0xa0..=0xff, third, rest @ ..] = decoded {
            decoded = rest;
            return Some(Piece::Half(0xd000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f)));
        }
        let is_half = |pair: &[u8]| matches!(pair, [0xed, 0xa0..=0xff]);
        let len = decoded.windows(2).position(is_half).unwrap_or(decoded.len());
        let (run, rest) = decoded.split_at(len);
        decoded = rest;
        (!run.is_empty()).then(|| Piece::Text(String::from_utf8_lossy(run)))
    })
}

/// Decoded text for people: half of a pair becomes U+FFFD.
#[must_use]
pub fn shown(decoded: &[u8]) -> String {
    pieces(decoded).fold(String::with_capacity(decoded.len()), |mut text, piece| {
        match piece {
            Piece::Text(run) => text.push_str(&run),
            Piece::Half(_) => text.push('\u{fffd}'),
        }
        text
    })
}

/// Decoded text as a JSON string, where half of a pair is an escape.
pub fn push_json(decoded: &[u8], out: &mut String) {
    out.push('"');
    for piece in pieces(decoded) {
        match piece {
            Piece::Half(unit) => out.push_str(&format!("\\u{unit:04x}")),
            Piece::Text(run) => {
                for c in run.chars() {
                    match c {
                        '"' | '\\' => out.extend(['\\', c]),
                        '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
                        other => out.push(other),
                    }
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trims_what_javascript_trims() {
        for (text, kept) in [
            (" \u{b}a\u{c}b\r\n", "a\u{c}b"),
            ("\u{feff}\u{a0}a\u{2028}\u{3000}\u{202f}\u{205f}\u{1680}\u{2009}", "a"),
            ("\u{85}a\u{180e}\u{200b}", "\u{85}a\u{180e}\u{200b}"),
            ("\u{1c}a\0", "\u{1c}a\0"),
            ("\u{feff}", ""),
            ("", ""),
        ] {
            assert_eq!(trim(text.as_bytes()), kept.as_bytes(), "{text:?}");
        }
        assert_eq!(trim(b" \xe3\x80 "), b"\xe3\x80");
        assert_eq!(trim(b"\xe3\xe3\x80\x80"), b"\xe3");
    }

    #[test]
    fn strings_are_equal_as_units() {
        for (a, b) in
            [(r#""\ud83d\ude00""#, "\"😀\""), (r#""\u0061\/\n""#, "\"a/\\u000a\""), (r#""x\ud800\ud83d\ude00""#, "\"x\\uD800😀\"")]
        {
            assert_eq!(decode(a.as_bytes()), decode(b.as_bytes()), "{a} {b}");
        }
        assert_ne!(decode(br#""\ud800""#), decode(br#""\ud801""#));
        assert_ne!(decode(br#""\ud800""#), decode("\"\u{fffd}\"".as_bytes()));
        assert_eq!(decode(b"\"\xff\""), "\u{fffd}".as_bytes());
    }

    #[test]
    fn half_a_pair_is_shown_and_written() {
        let decoded = decode(br#""a\udc00\u00e9\"\u0001\ud800""#);
        assert_eq!(shown(&decoded), "a\u{fffd}é\"\u{1}\u{fffd}");
        let mut json = String::new();
        push_json(&decoded, &mut json);
        assert_eq!(json, r#""a\udc00é\"\u0001\ud800""#);
    }
}
