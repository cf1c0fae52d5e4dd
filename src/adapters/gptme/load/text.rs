//! Python's `str` as bytes, and the way CPython writes one as JSON.
//!
//! A text is UTF-8, except that a lone surrogate, which Python's strings may
//! hold and Rust's may not, is written as UTF-8 would write its number. Order
//! and equality of the bytes are then those of Python's strings.

/// The text of an accepted string token. Bytes that are not UTF-8 become
/// U+FFFD, as `errors="replace"` makes them.
#[must_use]
pub fn decode(token: &[u8]) -> Vec<u8> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let mut text = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        push_lossy(rest.get(..at).unwrap_or_default(), &mut text);
        rest = rest.get(at..).unwrap_or_default();
        let (code, len) = unescape(rest);
        push_code(code, &mut text);
        rest = rest.get(len..).unwrap_or_default();
    }
    push_lossy(rest, &mut text);
    text
}

fn push_lossy(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
}

/// The code point of the escape that the text starts with, and its length.
fn unescape(text: &[u8]) -> (u32, usize) {
    let unit = |from: usize| -> Option<u32> {
        let escape = text.get(from..from + 6)?.strip_prefix(b"\\u")?;
        escape.iter().try_fold(0, |code, &digit| Some(code * 16 + char::from(digit).to_digit(16)?))
    };
    match text.get(1) {
        Some(b'u') => match (unit(0), unit(6)) {
            (Some(high @ 0xd800..=0xdbff), Some(low @ 0xdc00..=0xdfff)) => (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12),
            (code, _) => (code.unwrap_or(0xfffd), 6),
        },
        Some(b'n') => (0x0a, 2),
        Some(b'r') => (0x0d, 2),
        Some(b't') => (0x09, 2),
        Some(b'b') => (0x08, 2),
        Some(b'f') => (0x0c, 2),
        Some(&other) => (u32::from(other), 2),
        None => (0xfffd, 1),
    }
}

/// Adds one code point to a text.
pub fn push_code(code: u32, text: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
    }
}

/// The code points of a text.
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
        let (bytes, behind) = rest.split_at_checked(len).unwrap_or((rest, &[]));
        rest = behind;
        let lead = if len == 1 { u32::from(first) } else { u32::from(first) & (0x7f >> len) };
        Some(bytes.iter().skip(1).fold(lead, |code, &b| code << 6 | u32::from(b & 0x3f)))
    })
}

/// Writes a text as `json.dumps` does, quotes included.
pub fn push_json(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    codes(text).for_each(|code| push_json_code(code, out));
    out.push(b'"');
}

fn push_json_code(code: u32, out: &mut Vec<u8>) {
    match code {
        0x22 => out.extend_from_slice(b"\\\""),
        0x5c => out.extend_from_slice(b"\\\\"),
        0x0a => out.extend_from_slice(b"\\n"),
        0x0d => out.extend_from_slice(b"\\r"),
        0x09 => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0c => out.extend_from_slice(b"\\f"),
        0x20..0x7f => out.push(code as u8),
        0x10000.. => {
            push_unit(0xd800 + ((code - 0x10000) >> 10), out);
            push_unit(0xdc00 + (code & 0x3ff), out);
        }
        _ => push_unit(code, out),
    }
}

fn push_unit(unit: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(char::from_digit(unit >> shift & 15, 16).map_or(b'0', |digit| digit as u8));
    }
}

/// Copies a string token, with what is not ASCII escaped. Escapes that CPython
/// would write otherwise are left alone: the strings are equal, and to look at
/// every escape of every message costs more than it is worth.
pub fn push_token(token: &[u8], out: &mut Vec<u8>) {
    if token.is_ascii() {
        return out.extend_from_slice(token);
    }
    for chunk in token.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0'..='\x7f' => out.push(c as u8),
                _ => push_json_code(u32::from(c), out),
            }
        }
        if !chunk.invalid().is_empty() {
            push_unit(0xfffd, out);
        }
    }
}

/// Copies a key token in the one form that CPython gives it, so that equal keys
/// have equal bytes.
pub fn push_key(token: &[u8], out: &mut Vec<u8>) {
    if token.iter().all(|b| matches!(b, 0x20..0x7f) && *b != b'\\') {
        return out.extend_from_slice(token);
    }
    push_json(&decode(token), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumped(token: &[u8]) -> String {
        let mut out = Vec::new();
        push_json(&decode(token), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_string_is_written_as_cpython_writes_it() {
        for (token, written) in [
            (r#""a\/\u0041\u00E9\u000a\u007f""#, r#""a/A\u00e9\n\u007f""#),
            (r#""\ud83d\ude00 \ud83d \ude00\ud83d""#, r#""\ud83d\ude00 \ud83d \ude00\ud83d""#),
            ("\"😀é\u{7f}\"", r#""\ud83d\ude00\u00e9\u007f""#),
            (r#""\b\f\n\r\t\"\\""#, r#""\b\f\n\r\t\"\\""#),
        ] {
            assert_eq!(dumped(token.as_bytes()), written);
        }
        assert_eq!(dumped(b"\"a\xff\xe2\x82b\""), r#""a\ufffd\ufffdb""#);
    }

    #[test]
    fn a_lone_surrogate_is_one_code_point_and_sorts_as_one() {
        assert_eq!(codes(&decode(br#""\ud800a\ud83d\ude00""#)).collect::<Vec<_>>(), [0xd800, 0x61, 0x1f600]);
        assert!(decode(br#""\udfff""#) < decode("\"\u{ffff}\"".as_bytes()));
        assert!(decode("\"\u{ffff}\"".as_bytes()) < decode("\"\u{10000}\"".as_bytes()));
    }

    #[test]
    fn equal_keys_get_equal_bytes_and_tokens_stay_as_they_are() {
        let key = |token: &str| {
            let mut out = Vec::new();
            push_key(token.as_bytes(), &mut out);
            out
        };
        assert_eq!(key(r#""\u0061\/""#), key(r#""a/""#));
        assert_ne!(key(r#""\ud800""#), key(r#""\ud801""#));
        let mut out = Vec::new();
        push_token("\"\\/é\"".as_bytes(), &mut out);
        assert_eq!(out, br#""\/\u00e9""#);
    }
}
