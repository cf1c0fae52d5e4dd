//! The text of a file as JavaScript sees it: lines end at `\n` alone, and white
//! space is what `String.prototype.trim` removes.

/// The lines of a text with their offsets; the rest behind the last `\n` is a
/// line too, unless it is empty.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let line = first_line(rest);
        at += line.len() + 1;
        Some((start, line))
    })
}

/// The text up to its first `\n`.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    let len = memchr::memchr(b'\n', text).unwrap_or(text.len());
    text.get(..len).unwrap_or_default()
}

/// Whether `trim` removes this character. The byte order mark counts, U+0085
/// does not.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, '\u{feff}') || (c.is_whitespace() && c != '\u{85}')
}

/// Whether nothing is left of a text when it is trimmed. Bytes that are no UTF-8
/// decode to U+FFFD, which stays.
pub(super) fn is_blank(text: &[u8]) -> bool {
    let begins_blank = text.first().is_none_or(|first| !first.is_ascii_graphic());
    begins_blank && text.utf8_chunks().all(|chunk| chunk.invalid().is_empty() && chunk.valid().chars().all(is_space))
}
