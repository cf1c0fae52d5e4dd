//! A Python string written: as JSON, and as `repr` writes it.

use crate::json::byte_set::ByteSet;
use crate::runtimes::wtf8::{self, Piece, decode, pieces, push_unit_escape};

use super::text::is_printable;

/// Writes a text as `json.dumps` does, quotes included: all but ASCII escaped.
pub fn push_ascii(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    wtf8::codes(text).for_each(|code| push_ascii_code(code, out));
    out.push(b'"');
}

fn push_ascii_code(code: u32, out: &mut Vec<u8>) {
    match code {
        0x22 => out.extend_from_slice(b"\\\""),
        0x5c => out.extend_from_slice(b"\\\\"),
        0x20..0x7f => out.push(code as u8),
        0..0x20 => push_control(code as u8, out),
        0x1_0000.. => {
            push_unit_escape((0xd800 + ((code - 0x1_0000) >> 10)) as u16, out);
            push_unit_escape((0xdc00 + (code & 0x3ff)) as u16, out);
        }
        _ => push_unit_escape(code as u16, out),
    }
}

fn push_control(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        _ => return push_unit_escape(u16::from(byte), out),
    };
    out.extend([b'\\', short]);
}

/// Writes a text as `json.dumps(…, ensure_ascii=False)` does, except that a lone
/// surrogate, which no UTF-8 can hold, is written as its escape.
pub fn push_utf8(text: &[u8], out: &mut Vec<u8>) {
    const ESCAPED: ByteSet<2> = ByteSet::of([b'"', b'\\']).and_controls();
    out.push(b'"');
    for piece in pieces(text) {
        let text = match piece {
            Piece::Text(text) => text.as_bytes(),
            Piece::Lone(unit) => {
                push_unit_escape(unit, out);
                continue;
            }
        };
        let mut copied = 0;
        let end = ESCAPED.walk(text, 0, |at| {
            out.extend_from_slice(text.get(copied..at).unwrap_or_default());
            match text.get(at).copied().unwrap_or_default() {
                byte @ (b'"' | b'\\') => out.extend([b'\\', byte]),
                byte => push_control(byte, out),
            }
            copied = at + 1;
            Some(at + 1)
        });
        out.extend_from_slice(text.get(copied..end).unwrap_or_default());
    }
    out.push(b'"');
}

/// Copies a string token with all but ASCII escaped. Escapes that CPython would
/// write in another form are left alone: the strings are equal, and to look at
/// every escape of every message costs more than it is worth.
pub fn push_token_in_ascii(token: &[u8], out: &mut Vec<u8>) {
    if token.is_ascii() {
        return out.extend_from_slice(token);
    }
    for chunk in token.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0'..='\x7f' => out.push(c as u8),
                _ => push_ascii_code(u32::from(c), out),
            }
        }
        if !chunk.invalid().is_empty() {
            push_unit_escape(0xfffd, out);
        }
    }
}

/// Copies a key token in the form that CPython gives it, so that equal keys have
/// equal bytes.
pub fn push_key_in_ascii(token: &[u8], out: &mut Vec<u8>) {
    if token.iter().all(|b| matches!(b, 0x20..0x7f) && *b != b'\\') {
        return out.extend_from_slice(token);
    }
    push_ascii(&decode(token), out);
}

/// Writes a text as `repr` does: in single quotes, unless it holds such quotes
/// and no double ones.
pub fn push_repr(text: &[u8], out: &mut Vec<u8>) {
    let quote = if text.contains(&b'\'') && !text.contains(&b'"') { b'"' } else { b'\'' };
    out.push(quote);
    for code in wtf8::codes(text) {
        match code {
            0x09 => out.extend_from_slice(b"\\t"),
            0x0a => out.extend_from_slice(b"\\n"),
            0x0d => out.extend_from_slice(b"\\r"),
            _ if code == u32::from(quote) || code == 0x5c => out.extend([b'\\', code as u8]),
            _ if is_printable(code) => wtf8::push_code(code, out),
            0..0x100 => out.extend_from_slice(format!("\\x{code:02x}").as_bytes()),
            0x100..0x1_0000 => push_unit_escape(code as u16, out),
            0x1_0000.. => out.extend_from_slice(format!("\\U{code:08x}").as_bytes()),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_get_equal_bytes_and_values_keep_their_escapes() {
        let key = |token: &str| {
            let mut out = Vec::new();
            push_key_in_ascii(token.as_bytes(), &mut out);
            out
        };
        assert_eq!(key(r#""\u0061\/""#), key(r#""a/""#));
        assert_ne!(key(r#""\ud800""#), key(r#""\ud801""#));
        let mut out = Vec::new();
        push_token_in_ascii("\"\\/é\"".as_bytes(), &mut out);
        assert_eq!(out, br#""\/\u00e9""#);
        out.clear();
        push_token_in_ascii(b"\"a\xff\xe2\x82b\"", &mut out);
        assert_eq!(out, br#""a\ufffd\ufffdb""#);
    }
}
