//! Strings: out of JSON as Go reads them, and into JSON as Go writes them.

use std::borrow::Cow;

use crate::model::stops::Stops;

use super::cursor::Quoted;

/// A string of a message, which is read, and in the end written again.
#[derive(Debug)]
pub enum Text<'a> {
    /// As it stands between its quotes, where Go would write just that.
    Settled(&'a [u8]),
    /// The characters of any other.
    Read(Cow<'a, str>),
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text::Settled(b"")
    }
}

impl<'a> Text<'a> {
    /// The string that stands thus between its quotes.
    #[must_use]
    pub fn of(quoted: Quoted<'a>) -> Text<'a> {
        const CLOSER_LOOK: Stops<3> = Stops::at([b'<', b'>', b'&']).and_beyond_ascii();
        let Quoted { inner, has_odd_escapes } = quoted;
        let is_settled = !has_odd_escapes && (!CLOSER_LOOK.is_in(inner) || is_settled(inner));
        if is_settled { Text::Settled(inner) } else { Text::Read(decoded(inner)) }
    }

    /// Whether it has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Text::Settled(inner) => inner.is_empty(),
            Text::Read(text) => text.is_empty(),
        }
    }

    /// Whether it is this text, in which nothing needs an escape.
    #[must_use]
    pub fn is(&self, plain: &str) -> bool {
        match self {
            Text::Settled(inner) => *inner == plain.as_bytes(),
            Text::Read(text) => text == plain,
        }
    }

    /// Whether all of it is white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let is_blank = |text: &str| text.chars().all(char::is_whitespace);
        match self {
            // Most texts say at once that they are not.
            Text::Settled([first, ..]) if first.is_ascii_graphic() && *first != b'\\' => false,
            Text::Settled(inner) => is_blank(&decoded(inner)),
            Text::Read(text) => is_blank(text),
        }
    }

    /// Appends it as Go writes it.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self {
            Text::Settled(inner) => {
                out.push(b'"');
                out.extend_from_slice(inner);
                out.push(b'"');
            }
            Text::Read(text) => push_string(text, out),
        }
    }
}

/// Whether reading a string and writing it again changes nothing, where its
/// escapes are those that Go writes: it is UTF-8, and what Go escapes is.
fn is_settled(inner: &[u8]) -> bool {
    let is_separator = |at: usize| matches!(inner.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9]));
    memchr::memchr3(b'<', b'>', b'&', inner).is_none()
        && std::str::from_utf8(inner).is_ok()
        && !memchr::memchr_iter(0xe2, inner).any(is_separator)
}

/// The characters of a string that stands thus between its quotes. Bytes that
/// are not UTF-8 and halves of surrogate pairs become U+FFFD, each by itself.
#[must_use]
pub fn decoded(inner: &[u8]) -> Cow<'_, str> {
    if memchr::memchr(b'\\', inner).is_none() {
        return mended(inner);
    }
    const ESCAPES: Stops<1> = Stops::at([b'\\']);
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let (plain, escape) = rest.split_at(ESCAPES.next(rest, 0));
        text.push_str(&mended(plain));
        if escape.is_empty() {
            return Cow::Owned(text);
        }
        let (character, len) = unescaped(escape);
        text.push(character);
        rest = escape.get(len..).unwrap_or_default();
    }
}

/// The text with one U+FFFD for every byte that is not UTF-8.
#[must_use]
pub fn mended(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // Not one for all of a cut character, as elsewhere.
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

/// The character of the escape that a text begins with, and its length.
fn unescaped(escape: &[u8]) -> (char, usize) {
    let letter = escape.get(1).copied().unwrap_or(b'\\');
    let plain = match letter {
        b'u' => return unescaped_unit(escape),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        other => char::from(other),
    };
    (plain, 2)
}

fn unescaped_unit(escape: &[u8]) -> (char, usize) {
    let first = unit(escape).unwrap_or_default();
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    let second = escape.get(6..).and_then(unit);
    match second {
        Some(second @ 0xdc00..0xe000) if first < 0xdc00 => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

/// The number in `\u1234`.
fn unit(escape: &[u8]) -> Option<u32> {
    let digits = escape.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A key in the form in which a field is looked up. All fields have small ASCII
/// names, and keys match them whatever their case; beyond ASCII, two letters
/// have one of that range as their other case.
#[must_use]
pub fn folded(key: &[u8]) -> Cow<'_, str> {
    let key = decoded(key);
    if key.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return key;
    }
    let fold = |character: char| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    Cow::Owned(key.chars().map(fold).collect())
}

/// Which bytes begin something that `push_string` must look at.
const IS_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    let others = *b"\"\\<>&\xe2";
    let mut at = 0;
    while at < others.len() {
        table[others[at] as usize] = true;
        at += 1;
    }
    table
};

/// Appends a string as Go writes it: besides what JSON asks for, `<`, `>`, `&`,
/// U+2028 and U+2029 are escaped.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let len = push_special(special, out);
        rest = special.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends the character that a text begins with, and says how many bytes of it
/// that took.
fn push_special(text: &[u8], out: &mut Vec<u8>) -> usize {
    let escape: &[u8] = match text {
        [b'"', ..] => b"\\\"",
        [b'\\', ..] => b"\\\\",
        [0x08, ..] => b"\\b",
        [0x0c, ..] => b"\\f",
        [b'\n', ..] => b"\\n",
        [b'\r', ..] => b"\\r",
        [b'\t', ..] => b"\\t",
        [b'<', ..] => b"\\u003c",
        [b'>', ..] => b"\\u003e",
        [b'&', ..] => b"\\u0026",
        [0xe2, 0x80, 0xa8, ..] => b"\\u2028",
        [0xe2, 0x80, 0xa9, ..] => b"\\u2029",
        [byte @ 0..0x20, ..] => &control_escape(*byte),
        [byte, ..] => std::slice::from_ref(byte),
        [] => b"",
    };
    out.extend_from_slice(escape);
    if escape.starts_with(b"\\u202") { 3 } else { 1 }
}

fn control_escape(byte: u8) -> [u8; 6] {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
    [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]
}
