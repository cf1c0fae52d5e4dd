//! Lines as the standard library splits them.

/// Returns the lines as `BufRead::lines` gives them, each with the offset at
/// which it begins: they end at a line feed, before which one carriage return
/// is left out. The last line need not end. Bytes that are not UTF-8 are kept,
/// where the original returns an error.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (start, rest) = (at, text.get(at..).filter(|rest| !rest.is_empty())?);
        let end = memchr::memchr(b'\n', rest);
        at = end.map_or(text.len(), |end| start + end + 1);
        let line = end.map_or(rest, |end| &rest[..end]);
        // A carriage return that no line feed follows belongs to the line.
        Some((start, end.and_then(|_| line.strip_suffix(b"\r")).unwrap_or(line)))
    })
}

/// Tells whether `line.trim().is_empty()`: nothing but white space by Unicode.
#[must_use]
pub fn is_blank(line: &[u8]) -> bool {
    match line.first() {
        None => true,
        Some(first) if first.is_ascii_graphic() => false,
        Some(_) => std::str::from_utf8(line).is_ok_and(|line| line.trim().is_empty()),
    }
}
