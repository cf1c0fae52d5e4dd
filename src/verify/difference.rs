//! Evidence that two things which should be the same are not.

use std::fmt;

use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::printable::push_visible;

use super::structure::Changes;

/// One thing that differs, where it is, and both sides of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, in words that stand alone.
    pub what: String,
    /// Where.
    pub place: DifferenceAt,
    /// The event that says otherwise, where the place is not in the log itself.
    pub event: Option<Seq>,
    /// What there is on both sides.
    pub sides: Sides,
}

/// Where a difference is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceAt {
    /// In the log: at a line and a byte of it, both from 1, where one is to
    /// blame.
    Log(Option<(u64, u64)>),
    /// In a file of the session.
    File(Location),
}

/// What the source has and what the log gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sides {
    /// Nothing that could be shown.
    None,
    /// Two short texts.
    Texts {
        /// What the source has.
        source: String,
        /// What the log gives.
        log: String,
    },
    /// Bytes around the place where two files part.
    Bytes {
        /// Of the source.
        source: Window,
        /// Of what the log rebuilds.
        log: Window,
        /// How many more lines differ; `None` where nobody counted.
        more: Option<u64>,
    },
    /// Two JSON values, compared member by member.
    Json(Changes),
    /// Two texts, compared line by line.
    Lines {
        /// The lines that differ, and some around them.
        lines: Vec<DiffLine>,
        /// How many more lines differ.
        more: u64,
    },
}

/// One line of two texts that are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    /// Which of them has it.
    pub on: Side,
    /// Its text, without its end.
    pub text: String,
}

/// Which of two sides has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Both.
    Both,
    /// The first: the source, or what was kept.
    First,
    /// The second: the log, or what there is now.
    Second,
}

/// A piece of a file around a byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The offset of the first byte that is shown.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Which of them is the one in question; their number where it is the end.
    pub at: usize,
    /// How many bytes the file has in all.
    pub of: u64,
}

impl Window {
    /// Returns a window of a file around `at`.
    #[must_use]
    pub fn around(file: &[u8], at: usize, context: usize) -> Window {
        let at = at.min(file.len());
        let from = at.saturating_sub(context);
        let to = at.saturating_add(context).saturating_add(1).min(file.len());
        Window { offset: from as u64, bytes: file[from..to].to_vec(), at: at - from, of: file.len() as u64 }
    }
}

impl Difference {
    /// Returns a difference in a file of the session, without two sides to show.
    pub fn in_file(what: impl Into<String>, location: Location) -> Difference {
        Difference { what: what.into(), place: DifferenceAt::File(location), event: None, sides: Sides::None }
    }

    /// Returns a difference in the log itself.
    pub fn in_log(what: impl Into<String>, line: Option<u64>) -> Difference {
        Difference { what: what.into(), place: DifferenceAt::Log(line.map(|line| (line, 1))), event: None, sides: Sides::None }
    }

    /// Returns a difference at an event of the log; the root has no line.
    pub fn at_event(what: impl Into<String>, seq: Seq) -> Difference {
        Difference::in_log(what, (!seq.is_root()).then(|| u64::from(seq.number())))
    }

    /// Returns the difference with a short text for each side.
    #[must_use]
    pub fn with_texts(self, source: impl Into<String>, log: impl Into<String>) -> Difference {
        Difference { sides: Sides::Texts { source: source.into(), log: log.into() }, ..self }
    }
}

impl fmt::Display for DifferenceAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DifferenceAt::Log(None) => f.write_str("log"),
            DifferenceAt::Log(Some((line, byte))) => write!(f, "log:{line}:{byte}"),
            DifferenceAt::File(location) => location.fmt(f),
        }
    }
}

/// How much is shown around a difference unless somebody asks for more.
pub const USUAL_CONTEXT: usize = 40;

/// Returns a text in which control characters can be seen and do nothing.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(c, &mut out));
    out
}

/// Returns bytes as a text that terminals can show: those that are not UTF-8 are
/// written as `\xNN`.
#[must_use]
pub fn visible_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push_visible(c, &mut out));
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_where_its_file_does() {
        let window = Window::around(b"0123456789", 8, 4);
        assert_eq!((window.offset, window.bytes.as_slice(), window.at), (4, &b"456789"[..], 4));
        let end = Window::around(b"0123", 9, usize::MAX);
        assert_eq!((end.offset, end.bytes.as_slice(), end.at, end.of), (0, &b"0123"[..], 4, 4));
    }

    #[test]
    fn bytes_that_are_no_text_can_be_told_apart() {
        assert_eq!(visible_bytes(b"a\xff\x00\n\xc3\xa9\xe2\x82"), "a\\xff\\u{0}\\né\\xe2\\x82");
    }
}
