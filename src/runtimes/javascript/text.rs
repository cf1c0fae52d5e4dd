//! Strings: from the bytes of a file, and to JSON. In between they are WTF-8
//! (see [`crate::runtimes::wtf8`]).

use std::borrow::Cow;

use crate::runtimes::wtf8::{self, Piece};

/// `new TextDecoder().decode(bytes)`, but the byte order mark stays: U+FFFD
/// stands for every longest prefix of a character that breaks off.
#[must_use]
pub fn decode_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Cow::Borrowed(bytes),
        Err(_) => Cow::Owned(String::from_utf8_lossy(bytes).into_owned().into_bytes()),
    }
}

/// Returns a string as the program writes it to a UTF-8 file: every lone surrogate
/// becomes U+FFFD.
#[must_use]
pub fn lossy(text: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for piece in wtf8::pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Lone(_) => out.push('\u{fffd}'),
        }
    }
    out
}

/// Tells whether a string holds half of a surrogate pair without the other half.
#[must_use]
pub fn has_lone_surrogate(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_err()
}

/// `JSON.stringify(text)`, quotes included. Only controls, quotes, backslashes
/// and lone surrogates are escaped.
pub fn push_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for piece in wtf8::pieces(text) {
        match piece {
            Piece::Text(text) => push_escaped(text.as_bytes(), out),
            Piece::Lone(unit) => wtf8::push_unit_escape(unit, out),
        }
    }
    out.push(b'"');
}

fn push_escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    // Stretches without escapes, nearly all of a text, are copied in one piece.
    while let Some(at) = rest.iter().position(|b| matches!(b, 0..0x20 | b'"' | b'\\')) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            byte @ (b'"' | b'\\') => out.extend([b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => wtf8::push_unit_escape(u16::from(control), out),
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}
