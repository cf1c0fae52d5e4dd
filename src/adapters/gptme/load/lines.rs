//! Lines as Python splits and strips them. Both loaders pass over blank lines,
//! so the empty one that `\r\n` makes between its two characters does no harm.

/// The lines of a text file, without white space around them, that are not
/// blank. `\n`, `\r\n` and `\r` end a line, and `str.strip` strips it.
pub fn of_text(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(bytes, |rest| memchr::memchr2(b'\n', b'\r', rest)).map(strip).filter(|line| !line.is_empty())
}

/// The lines of a file that is read as bytes: only `\n` ends one, and
/// `bytes.strip` strips it.
pub fn of_bytes(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
    split(bytes, |rest| memchr::memchr(b'\n', rest)).filter_map(move |line| {
        let start = line.iter().position(|b| !is_space(b))?;
        let end = line.iter().rposition(|b| !is_space(b))?;
        line.get(start..=end)
    })
}

fn split(bytes: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = find(text) else {
            rest = None;
            return Some(text);
        };
        rest = text.get(end + 1..);
        text.get(..end)
    })
}

/// `str.strip`. Bytes that are not UTF-8 have become U+FFFD, which is no space.
#[must_use]
pub fn strip(text: &[u8]) -> &[u8] {
    let mut kept = text;
    while let Some(width) = space_at_start(kept) {
        kept = kept.get(width..).unwrap_or_default();
    }
    while let Some(width) = space_at_end(kept) {
        kept = kept.get(..kept.len() - width).unwrap_or_default();
    }
    kept
}

/// The length of these bytes, if they are one character and that is a space.
fn space(bytes: &[u8]) -> Option<usize> {
    let mut chars = std::str::from_utf8(bytes).ok()?.chars();
    let is_space = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    (chars.next().is_some_and(is_space) && chars.next().is_none()).then_some(bytes.len())
}

fn space_at_start(text: &[u8]) -> Option<usize> {
    match text.first()? {
        0x21..0x80 => None,
        _ => (1..=3).find_map(|width| space(text.get(..width)?)),
    }
}

fn space_at_end(text: &[u8]) -> Option<usize> {
    match text.last()? {
        0x21..0x80 => None,
        _ => (1..=3).find_map(|width| space(text.get(text.len().checked_sub(width)?..)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_a_line_at_any_newline_and_bytes_only_at_a_line_feed() {
        let file = b"a\r\nb\rc\n\n \x0b \nd\x1c\xff\n\xc2\xa0e";
        assert_eq!(of_text(file).collect::<Vec<_>>(), [&b"a"[..], b"b", b"c", b"d\x1c\xff", b"e"]);
        assert_eq!(of_bytes(file).collect::<Vec<_>>(), [&b"a"[..], b"b\rc", b"d\x1c\xff", b"\xc2\xa0e"]);
        assert_eq!(of_text(b"").count() + of_bytes(b"\n\n").count(), 0);
    }

    #[test]
    fn strips_every_space_that_python_knows_and_no_more() {
        for (text, kept) in
            [("\u{a0}\u{1c}x y\u{2003}\u{85}\u{1f}", "x y"), ("\u{feff}a\u{200b}", "\u{feff}a\u{200b}"), ("\u{3000} \t", "")]
        {
            assert_eq!(strip(text.as_bytes()), kept.as_bytes(), "{text:?}");
        }
        assert_eq!(strip(b"\xe3\x80 a\xe2\x80 "), b"\xe3\x80 a\xe2\x80");
        assert_eq!(strip(format!("a{}", "\u{3000}".repeat(5000)).as_bytes()), b"a");
    }
}
