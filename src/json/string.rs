//! Strings between their three forms: the source's token, the log's token, and
//! plain text.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::LazyLock;

use super::byte_set::ByteSet;

/// The one key of an object that carries, as text, a value which not every
/// JSON parser takes.
pub const RAW_KEY: &str = "$raw";

/// Which characters a writer escapes in strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Escapes {
    /// CPython's default: everything outside 0x20..0x7E becomes `\uXXXX`.
    #[default]
    Ascii,
    /// Only quotes, backslashes and U+0000–U+001F: JavaScript, jq, and
    /// CPython with `ensure_ascii=False`.
    Utf8,
    /// Go's `encoding/json`: as `Utf8`, and `<`, `>`, `&`, U+2028, U+2029.
    Go,
}

/// Tells whether the log escapes this character: what reaches a terminal as control,
/// or ends a line for some readers.
fn is_escaped_in_log(c: char) -> bool {
    matches!(c, '"' | '\\' | '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

/// `\u` and four lower-case hex digits.
pub(super) fn push_hex_escape(unit: u16, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\u");
    for shift in [12, 8, 4, 0] {
        out.push(HEX[usize::from(unit >> shift) & 15]);
    }
}

fn push_log_char(c: char, out: &mut Vec<u8>) {
    if !is_escaped_in_log(c) {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    match c {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        other => push_hex_escape(u32::from(other) as u16, out),
    }
}

/// Writes plain text as the inside of a log string.
pub fn push_escaped(text: &str, out: &mut Vec<u8>) {
    const CLOSER_LOOK: ByteSet<3> = ByteSet::of([b'"', b'\\', 0x7f]).and_controls().and_non_ascii();
    if !CLOSER_LOOK.is_in(text.as_bytes()) {
        return out.extend_from_slice(text.as_bytes());
    }
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        if is_escaped_in_log(c) {
            out.extend_from_slice(&text.as_bytes()[plain..at]);
            push_log_char(c, out);
            plain = at + c.len_utf8();
        }
    }
    out.extend_from_slice(&text.as_bytes()[plain..]);
}

/// Writes plain text as a log string, quotes included.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    push_escaped(text, out);
    out.push(b'"');
}

/// Writes a key of the log's own and its colon: a plain word.
#[inline]
pub fn push_own_key(word: &'static str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A lone surrogate, which no UTF-8 string can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoneSurrogate;

/// Carries the inside of a source string into the log. An escape that the
/// source's writer would itself have produced becomes the character; any other
/// is kept as it is, so that rendering gives it back.
pub(super) fn push_carried(inner: &[u8], writer: Escapes, out: &mut Vec<u8>) -> Result<(), LoneSurrogate> {
    let mut rest = inner;
    while let Some(at) = first_unicode_escape(rest) {
        push_without_unicode_escapes(&rest[..at], out);
        rest = &rest[at..];
        // After one, more follow: text that is not ASCII comes in words.
        while rest.starts_with(b"\\u") {
            let (c, len) = decode_unicode_escape(rest).ok_or(LoneSurrogate)?;
            if is_writers_own(&rest[..len], c, writer) {
                push_log_char(c, out);
            } else {
                out.extend_from_slice(&rest[..len]);
            }
            rest = &rest[len..];
        }
    }
    push_without_unicode_escapes(rest, out);
    Ok(())
}

/// Returns the offset of the first `\u` escape in the inside of a string. All other
/// escapes are skipped without being looked at.
#[must_use]
pub fn first_unicode_escape(inner: &[u8]) -> Option<usize> {
    static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u"));
    const BACKSLASHES: ByteSet<1> = ByteSet::of([b'\\']);
    // Setting up a longer search would cost more than walking from one to the next.
    const SHORT: usize = 128;
    if inner.len() <= SHORT {
        let found = BACKSLASHES.walk(inner, 0, |at| (inner.get(at + 1) != Some(&b'u')).then_some(at + 2));
        return (found < inner.len()).then_some(found);
    }
    let mut from = 0;
    loop {
        let at = from + ESCAPE.find(&inner[from..])?;
        let backslashes = inner[..at].iter().rev().take_while(|b| **b == b'\\').count();
        if backslashes.is_multiple_of(2) {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Copies raw text, and escapes the characters that the log does not allow raw.
fn push_without_unicode_escapes(text: &[u8], out: &mut Vec<u8>) {
    const MARKS: ByteSet<1> = ByteSet::of([0x7f]).and_non_ascii();
    let (mut copied, mut at) = (0, 0);
    loop {
        at = MARKS.next(text, at);
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { break };
        let end = at + rest.iter().position(|&b| b < 0x7f).unwrap_or(rest.len());
        let run = &text[at..end];
        if !std::str::from_utf8(run).is_ok_and(|run| !run.chars().any(is_escaped_in_log)) {
            out.extend_from_slice(&text[copied..at]);
            String::from_utf8_lossy(run).chars().for_each(|c| push_log_char(c, out));
            copied = end;
        }
        at = end;
    }
    out.extend_from_slice(&text[copied..]);
}

/// Tells whether a writer with these escapes writes this character as exactly this
/// `\u` escape.
fn is_writers_own(escape: &[u8], c: char, writer: Escapes) -> bool {
    let has_short_form = matches!(c, '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}');
    let escapes_it = match writer {
        Escapes::Ascii => !matches!(c, ' '..='~'),
        Escapes::Utf8 => c < ' ',
        Escapes::Go => c < ' ' || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
    };
    escapes_it && !has_short_form && !escape.iter().any(u8::is_ascii_uppercase)
}

/// Returns the character of a `\uXXXX` escape, or of a pair of them, and its length.
pub(super) fn decode_unicode_escape(text: &[u8]) -> Option<(char, usize)> {
    let unit = |from: usize| -> Option<u32> {
        let digits = text.get(from..from + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    };
    let first = unit(0)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 6));
    }
    let second = unit(6)?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|c| (c, 12))
}

/// Returns bytes as text, with U+FFFD for what is not UTF-8. What is, as nearly all, is
/// told many times faster by asking for that first.
#[must_use]
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns the text of a string token, quotes included in the token.
///
/// # Errors
/// With lone surrogates replaced by U+FFFD, where there are any.
pub fn decode_string(token: &[u8]) -> Result<String, String> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::with_capacity(inner.len());
    let mut lone = false;
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        text.push_str(&lossy(&rest[..at]));
        rest = &rest[at..];
        let len = match rest.get(1) {
            Some(b'u') => match decode_unicode_escape(rest) {
                Some((c, len)) => {
                    text.push(c);
                    len
                }
                None => {
                    lone = true;
                    text.push('\u{fffd}');
                    6
                }
            },
            Some(short) => {
                text.push(match short {
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    other => char::from(*other),
                });
                2
            }
            None => 1,
        };
        rest = rest.get(len..).unwrap_or_default();
    }
    text.push_str(&lossy(rest));
    if lone { Err(text) } else { Ok(text) }
}

/// Returns the text of a string token, borrowed where it holds no escape.
#[must_use]
pub fn unescape(token: &[u8]) -> Cow<'_, str> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if memchr::memchr(b'\\', inner).is_none() {
        return lossy(inner);
    }
    Cow::Owned(decode_string(token).unwrap_or_else(|lossy| lossy))
}

/// Returns the UTF-16 units of a string token, in which a lone surrogate is a
/// character too.
pub(super) fn units(token: &[u8]) -> Vec<u16> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let mut units = Vec::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        units.extend(lossy(&rest[..plain]).encode_utf16());
        rest = &rest[plain..];
        let taken = match rest.get(1) {
            None => return units,
            Some(b'u') => {
                let digits = rest.get(2..6).and_then(|d| std::str::from_utf8(d).ok());
                units.extend(digits.and_then(|d| u16::from_str_radix(d, 16).ok()));
                6
            }
            Some(b'n') => unit(&mut units, 10),
            Some(b'r') => unit(&mut units, 13),
            Some(b't') => unit(&mut units, 9),
            Some(b'b') => unit(&mut units, 8),
            Some(b'f') => unit(&mut units, 12),
            Some(&other) => unit(&mut units, u16::from(other)),
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

fn unit(units: &mut Vec<u16>, code: u16) -> usize {
    units.push(code);
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_that_is_itself_escaped_begins_no_escape() {
        for (inner, at) in
            [(r"\u0041", Some(0)), (r"a\\u0041", None), (r"\\\u0041", Some(2)), (r"\\u\\\\\u0041", Some(7)), (r"\n\\", None), ("", None)]
        {
            assert_eq!(first_unicode_escape(inner.as_bytes()), at, "{inner}");
            // After so much text the search takes the other way.
            let far = format!("{}{inner}", r"x\n\\".repeat(40));
            assert_eq!(first_unicode_escape(far.as_bytes()), at.map(|at| at + 200), "{inner}");
        }
    }
}
