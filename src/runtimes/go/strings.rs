//! Text: UTF-8 that is repaired, white space, and keys in any case.

use std::borrow::Cow;

/// Returns the text of these bytes, with one U+FFFD for every byte that is not a part of
/// valid UTF-8. Most other languages write one for a whole cut character.
#[must_use]
pub fn to_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}

/// Tells whether `encoding/json` takes this byte for white space between tokens.
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// `unicode.IsSpace`. `strings.TrimSpace` leaves nothing of a text of which
/// every character is one.
#[must_use]
pub fn is_white_space(character: char) -> bool {
    character.is_whitespace()
}

/// Tells whether a key of an object is read into the field of this name, which has
/// small ASCII letters only. Beyond ASCII, two letters fold to one of those.
#[must_use]
pub fn matches_key(name: &str, key: &str) -> bool {
    let fold = |character: char| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.len() >= name.len() && name.chars().eq(key.chars().map(fold))
}
