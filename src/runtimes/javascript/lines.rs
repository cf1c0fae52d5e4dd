//! `text.split("\n")`: lines end at a line feed alone.

/// Returns the lines of a text with their offsets. The text after the last line feed is
/// a line too, unless it is empty.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let start = at;
        let line = first_line(rest);
        at += line.len() + 1;
        Some((start, line))
    })
}

/// Returns the text up to its first line feed.
#[must_use]
pub fn first_line(text: &[u8]) -> &[u8] {
    let len = memchr::memchr(b'\n', text).unwrap_or(text.len());
    &text[..len]
}
