//! Differences as a person reads them: where, what, and both sides of it, never
//! more than a screenful.

use std::fmt::Write as _;

use crate::json::Value;
use crate::verify::Difference;
use crate::verify::difference::{DiffLine, Side, Sides, USUAL_CONTEXT, Window, visible, visible_bytes};
use crate::verify::structure::{Changes, ValueChange};

use super::fitted::{columns, fitted};
use super::styled::Styled;
use super::terminal::Tint;
use super::text::{count, thousands};
use super::words::word_diff;

/// So many changes of one message are shown.
const CHANGES: usize = 10;

/// So many columns of a line are shown.
const LONGEST_LINE: usize = 200;

/// Whether reports may quote what sessions hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// A window around a difference.
    Windows,
    /// Nothing.
    Nothing,
}

/// How differences are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Showing {
    /// Whether they are quoted.
    pub quoting: Quoting,
    /// How much is shown around them.
    pub context: usize,
}

impl Default for Showing {
    fn default() -> Showing {
        Showing { quoting: Quoting::Windows, context: USUAL_CONTEXT }
    }
}

/// Returns a difference, at a place that is named in full.
#[must_use]
pub fn difference(difference: &Difference, at: &str, showing: Showing) -> Styled {
    let mut text = Styled::from(&format!("error: {}\n  at {}", visible(&difference.what), visible(at)));
    if let Some(event) = difference.event {
        let _ = write!(text, "\n  rebuilt from line {event} of the log");
    }
    text.append(sides(difference, showing));
    text
}

/// Returns both sides of a difference, each line after a line end.
#[must_use]
pub fn sides(difference: &Difference, showing: Showing) -> Styled {
    if showing.quoting == Quoting::Nothing {
        return Styled::new();
    }
    match &difference.sides {
        Sides::None => Styled::new(),
        Sides::Texts { source, log } => two_lines(&visible(source), &visible(log)),
        Sides::Bytes { source, log, more } => bytes(source, log, *more),
        Sides::Json(changes) => json_changes(changes, showing),
        Sides::Lines { lines, more } => text_lines(lines, *more),
    }
}

fn two_lines(source: &str, log: &str) -> Styled {
    let mut text = Styled::from("\n  --- source\n  +++ log");
    for (tint, mark, side) in [(Tint::Removed, "-", source), (Tint::Added, "+", log)] {
        text.push_str("\n  ");
        text.push(tint, &format!("{mark} {}", fitted(side, LONGEST_LINE)));
    }
    text
}

/// Returns two windows, one above the other, and a mark under the byte in question.
fn bytes(source: &Window, log: &Window, more: Option<u64>) -> Styled {
    let window = |window: &Window| {
        let end = window.offset + window.bytes.len() as u64;
        let cut = |is_cut| if is_cut { "…" } else { "" };
        format!("{}{}{}", cut(window.offset > 0), visible_bytes(&window.bytes), cut(end < window.of))
    };
    let heading = |side: &str, mark: &str, window: &Window| format!("\n  {mark} {side}, from byte {}", thousands(window.offset));
    let before = format!("{}{}", if source.offset > 0 { "…" } else { "" }, visible_bytes(&source.bytes[..source.at]));
    let mut text = Styled::from(&heading("source", "---", source));
    text.push_str(&heading("log", "+++", log));
    for (tint, mark, side) in [(Tint::Removed, "-", source), (Tint::Added, "+", log)] {
        text.push_str("\n  ");
        text.push(tint, &format!("{mark} {}", window(side)));
    }
    let place = source.offset + source.at as u64;
    let _ = write!(text, "\n    {}^ byte {}", " ".repeat(columns(&before)), thousands(place));
    if source.at == source.bytes.len() {
        text.push_str(", where the source ends");
    } else if log.at == log.bytes.len() {
        text.push_str(", where the log's side ends");
    }
    match more {
        Some(0) | None => {}
        Some(1) => text.push_str("\n  1 more line in this file differs"),
        Some(more) => {
            let _ = write!(text, "\n  {} more lines in this file differ", thousands(more));
        }
    }
    text
}

fn json_changes(changes: &Changes, showing: Showing) -> Styled {
    let mut text = Styled::new();
    for change in changes.list.iter().take(CHANGES) {
        text.push_str("\n  ");
        text.append(json_change(change, showing));
    }
    let rest = changes.list.len().saturating_sub(CHANGES) as u64 + changes.more;
    if rest > 0 {
        let _ = write!(text, "\n  and {}", count(rest, "more change"));
    }
    text
}

/// One change on one line, with its path before it.
#[must_use]
pub fn json_change(change: &ValueChange, showing: Showing) -> Styled {
    let said = match (&change.from, &change.to) {
        (Some(from), Some(to)) => {
            let (from, to) = (Value::trusted(from), Value::trusted(to));
            // Two texts are compared as texts, all else as it is written.
            let texts = from.as_str().zip(to.as_str());
            let (from, to) = texts.unwrap_or_else(|| (String::from_utf8_lossy(from.text()), String::from_utf8_lossy(to.text())));
            word_diff(&from, &to, showing.context)
        }
        (from, to) => {
            let shown =
                |value: &Option<Vec<u8>>| value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default();
            word_diff(&shown(from), &shown(to), showing.context)
        }
    };
    if change.path.is_empty() {
        return said;
    }
    let mut text = Styled::from(&format!("{}: ", visible(&change.path)));
    text.append(said);
    text
}

fn text_lines(lines: &[DiffLine], more: u64) -> Styled {
    let mut text = Styled::from("\n  --- kept\n  +++ now");
    for line in lines {
        let (tint, mark) = match line.on {
            Side::Both => (Tint::Plain, ' '),
            Side::First => (Tint::Removed, '-'),
            Side::Second => (Tint::Added, '+'),
        };
        let shown = fitted(&visible(&line.text), LONGEST_LINE);
        text.push_str("\n  ");
        text.push(tint, &format!("{mark}{shown}"));
    }
    if more > 0 {
        let _ = write!(text, "\n  and {} that differ", count(more, "more line"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::location::Location;
    use crate::verify::difference::DifferenceAt;
    use crate::verify::structure::changes;

    fn found(sides: Sides) -> Difference {
        Difference { what: "it differs".to_owned(), place: DifferenceAt::File(Location::at("f", 1, 2)), event: None, sides }
    }

    #[test]
    fn bytes_are_shown_one_above_the_other() {
        let (source, log) = (b"one\ntwo\x00three\nfour", b"one\ntwo\x01three\nfour");
        let sides = Sides::Bytes { source: Window::around(source, 7, 4), log: Window::around(log, 7, 4), more: Some(2) };
        let text = difference(&found(sides), "f:2:4", Showing::default()).plain();
        let expected = "error: it differs\n  at f:2:4\n  --- source, from byte 3\n  +++ log, from byte 3\n  - …\\ntwo\\u{0}thre…\n  + …\\ntwo\\u{1}thre…\n          ^ byte 7\n  2 more lines in this file differ";
        assert_eq!(text, expected);
    }

    #[test]
    fn members_are_shown_with_their_words() {
        let sides = Sides::Json(changes(
            Value::trusted(br#"{"a":{"t":"old words here"},"n":1}"#),
            Value::trusted(br#"{"a":{"t":"new words here"},"m":[1]}"#),
        ));
        let text = difference(&found(sides), "f", Showing::default()).plain();
        assert_eq!(text, "error: it differs\n  at f\n  a.t: [-old-]{+new+} words here\n  n: [-1-]\n  m: {+[1]+}");
    }

    #[test]
    fn nothing_is_quoted_where_nothing_may_be() {
        let sides = Sides::Texts { source: "secret".to_owned(), log: "other".to_owned() };
        let showing = Showing { quoting: Quoting::Nothing, ..Showing::default() };
        assert_eq!(difference(&found(sides), "f", showing).plain(), "error: it differs\n  at f");
    }
}
