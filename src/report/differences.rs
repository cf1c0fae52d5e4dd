//! Differences as a person reads them: where, what, and both sides of it, never
//! more than a screenful.

use std::fmt::Write as _;

use crate::model::json::{self, Kind};
use crate::verify::Difference;
use crate::verify::difference::{Line, Side, Sides, USUAL_CONTEXT, Window, visible, visible_bytes};
use crate::verify::structure::{Change, Changes};

use super::terminal::{Colours, Tint, columns, fitted, tinted};
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
    /// In which colours.
    pub colours: Colours,
}

impl Showing {
    /// The same for what is no terminal.
    #[must_use]
    pub fn plain(self) -> Showing {
        Showing { colours: Colours::None, ..self }
    }
}

impl Default for Showing {
    fn default() -> Showing {
        Showing { quoting: Quoting::Windows, context: USUAL_CONTEXT, colours: Colours::None }
    }
}

/// A difference, at a place that is named in full.
#[must_use]
pub fn difference(difference: &Difference, at: &str, showing: Showing) -> String {
    let mut text = format!("error: {}\n  at {}", visible(&difference.what), visible(at));
    if let Some(event) = difference.event {
        let _ = write!(text, "\n  rebuilt from line {event} of the log");
    }
    text.push_str(&sides(difference, showing));
    text
}

/// Both sides of a difference, each line after a line end.
#[must_use]
pub fn sides(difference: &Difference, showing: Showing) -> String {
    if showing.quoting == Quoting::Nothing {
        return String::new();
    }
    match &difference.sides {
        Sides::None => String::new(),
        Sides::Texts { source, log } => two_lines(&visible(source), &visible(log), showing),
        Sides::Bytes { source, log, more } => bytes(source, log, *more, showing),
        Sides::Json(changes) => json_changes(changes, showing),
        Sides::Lines { lines, more } => text_lines(lines, *more, showing),
    }
}

fn two_lines(source: &str, log: &str, showing: Showing) -> String {
    let line =
        |tint, mark: &str, text: &str| format!("\n  {}", tinted(showing.colours, tint, &format!("{mark} {}", fitted(text, LONGEST_LINE))));
    format!("\n  --- source\n  +++ log{}{}", line(Tint::Removed, "-", source), line(Tint::Added, "+", log))
}

/// Two windows, one above the other, and a mark under the byte in question.
fn bytes(source: &Window, log: &Window, more: Option<u64>, showing: Showing) -> String {
    let window = |window: &Window| {
        let end = window.offset + window.bytes.len() as u64;
        let cut = |is_cut| if is_cut { "…" } else { "" };
        format!("{}{}{}", cut(window.offset > 0), visible_bytes(&window.bytes), cut(end < window.of))
    };
    let heading = |side: &str, mark: &str, window: &Window| format!("\n  {mark} {side}, from byte {}", thousands(window.offset));
    let before = format!("{}{}", if source.offset > 0 { "…" } else { "" }, visible_bytes(&source.bytes[..source.at]));
    let mut text = heading("source", "---", source);
    text.push_str(&heading("log", "+++", log));
    let _ = write!(text, "\n  {}", tinted(showing.colours, Tint::Removed, &format!("- {}", window(source))));
    let _ = write!(text, "\n  {}", tinted(showing.colours, Tint::Added, &format!("+ {}", window(log))));
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

fn json_changes(changes: &Changes, showing: Showing) -> String {
    let mut text = String::new();
    for change in changes.list.iter().take(CHANGES) {
        let _ = write!(text, "\n  {}", json_change(change, showing));
    }
    let rest = changes.list.len().saturating_sub(CHANGES) as u64 + changes.more;
    if rest > 0 {
        let _ = write!(text, "\n  and {}", count(rest, "more change"));
    }
    text
}

/// One change on one line, with its path before it.
#[must_use]
pub fn json_change(change: &Change, showing: Showing) -> String {
    let said = match (&change.from, &change.to) {
        (Some(from), Some(to)) => {
            let is_text = json::kind_of(from) == Kind::String && json::kind_of(to) == Kind::String;
            let shown =
                |value: &[u8]| if is_text { json::unescape(value).into_owned() } else { String::from_utf8_lossy(value).into_owned() };
            word_diff(&shown(from), &shown(to), showing.context, showing.colours)
        }
        (from, to) => {
            let shown =
                |value: &Option<Vec<u8>>| value.as_ref().map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default();
            word_diff(&shown(from), &shown(to), showing.context, showing.colours)
        }
    };
    if change.path.is_empty() { said } else { format!("{}: {said}", visible(&change.path)) }
}

fn text_lines(lines: &[Line], more: u64, showing: Showing) -> String {
    let mut text = "\n  --- kept\n  +++ now".to_owned();
    for line in lines {
        let (tint, mark) = match line.on {
            Side::Both => (Tint::Plain, ' '),
            Side::First => (Tint::Removed, '-'),
            Side::Second => (Tint::Added, '+'),
        };
        let shown = fitted(&visible(&line.text), LONGEST_LINE);
        let _ = write!(text, "\n  {}", tinted(showing.colours, tint, &format!("{mark}{shown}")));
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
    use crate::verify::difference::Place;
    use crate::verify::structure::changes;

    fn found(sides: Sides) -> Difference {
        Difference { what: "it differs".to_owned(), place: Place::File(Location::at("f", 1, 2)), event: None, sides }
    }

    #[test]
    fn bytes_are_shown_one_above_the_other() {
        let (source, log) = (b"one\ntwo\x00three\nfour", b"one\ntwo\x01three\nfour");
        let sides = Sides::Bytes { source: Window::around(source, 7, 4), log: Window::around(log, 7, 4), more: Some(2) };
        let text = difference(&found(sides), "f:2:4", Showing::default());
        let expected = "error: it differs\n  at f:2:4\n  --- source, from byte 3\n  +++ log, from byte 3\n  - …\\ntwo\\u{0}thre…\n  + …\\ntwo\\u{1}thre…\n          ^ byte 7\n  2 more lines in this file differ";
        assert_eq!(text, expected);
    }

    #[test]
    fn members_are_shown_with_their_words() {
        let sides = Sides::Json(changes(br#"{"a":{"t":"old words here"},"n":1}"#, br#"{"a":{"t":"new words here"},"m":[1]}"#));
        let text = difference(&found(sides), "f", Showing::default());
        assert_eq!(text, "error: it differs\n  at f\n  a.t: [-old-]{+new+} words here\n  n: [-1-]\n  m: {+[1]+}");
    }

    #[test]
    fn nothing_is_quoted_where_nothing_may_be() {
        let sides = Sides::Texts { source: "secret".to_owned(), log: "other".to_owned() };
        let showing = Showing { quoting: Quoting::Nothing, ..Showing::default() };
        assert_eq!(difference(&found(sides), "f", showing), "error: it differs\n  at f");
    }
}
