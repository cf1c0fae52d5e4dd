//! The lines of a text as `str.splitlines` cuts them: also at marks that no
//! writer of JSON lines means as an end.

use crate::model::stops::Stops;

use super::parse::{Failure, check};
use super::text::strip;

/// The lines of a text that is valid UTF-8, without their ends.
pub fn split(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (line, end) = first_end(rest);
        let found = rest.get(..line);
        rest = rest.get(line + end..).unwrap_or_default();
        found
    })
}

/// How long the first line is, and how long its end.
fn first_end(text: &[u8]) -> (usize, usize) {
    /// What the end of a line begins with.
    const MARKS: Stops<2> = Stops::at([0xc2, 0xe2]).and_controls();
    let mut at = MARKS.next(text, 0);
    while let Some(&byte) = text.get(at) {
        let rest = text.get(at + 1..).unwrap_or_default();
        match byte {
            b'\r' if rest.first() == Some(&b'\n') => return (at, 2),
            0x0a..=0x0d | 0x1c..=0x1e => return (at, 1),
            0xc2 if rest.first() == Some(&0x85) => return (at, 2),
            0xe2 if rest.starts_with(&[0x80, 0xa8]) || rest.starts_with(&[0x80, 0xa9]) => return (at, 3),
            _ => at = MARKS.next(text, at + 1),
        }
    }
    (at, 0)
}

/// What a reader of JSON lines makes of a line that is not blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// An object.
    Event(&'a [u8]),
    /// Not JSON, or another value.
    Malformed,
}

/// The lines of a journal that are not blank. Ends behind the first that the
/// reader would not survive, which is an error.
pub fn events(text: &[u8], too_deep: usize) -> impl Iterator<Item = Result<Line<'_>, Failure>> {
    let mut failed = false;
    split(text).filter(|line| !strip(line).is_empty()).map_while(move |line| {
        if failed {
            return None;
        }
        Some(match check(line, too_deep) {
            Ok(value) if value.starts_with(b"{") => Ok(Line::Event(value)),
            Ok(_) | Err(Failure::Syntax) => Ok(Line::Malformed),
            Err(Failure::Limit) => {
                failed = true;
                Err(Failure::Limit)
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_python_ends_them() {
        let text = "a\r\nb\rc\n\nd\u{b}e\u{c}f\u{1c}g\u{1d}h\u{1e}i\u{85}j\u{2028}k\u{2029}l\u{1f}m\u{200b}\u{86}";
        let lines: Vec<&str> = split(text.as_bytes()).map(|line| std::str::from_utf8(line).unwrap()).collect();
        assert_eq!(lines, ["a", "b", "c", "", "d", "e", "f", "g", "h", "i", "j", "k", "l\u{1f}m\u{200b}\u{86}"]);
        assert_eq!(split(b"a\n").count(), 1);
        assert_eq!(split(b"").count(), 0);
    }

    #[test]
    fn blank_lines_count_for_nothing_and_other_values_as_malformed() {
        let text = "{}\n \u{2003}\n[1]\n{\"a\":1\n\u{feff}{}\n{\"a\":\"x\u{2028}y\"}\n".as_bytes();
        let read: Vec<_> = events(text, 9).collect();
        assert_eq!(read.iter().filter(|line| **line == Ok(Line::Malformed)).count(), 5);
        assert_eq!(read.len(), 6);
        let text = b"{}\n[[[[\n{}\n";
        assert_eq!(events(text, 3).collect::<Vec<_>>(), [Ok(Line::Event(b"{}")), Err(Failure::Limit)]);
    }
}
