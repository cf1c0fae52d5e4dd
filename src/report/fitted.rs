//! Text that is cut to the width of a terminal, which counts columns and not
//! characters.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::styled::Styled;
use super::terminal::{Terminal, Tint};

/// A line that is being put together and ends where the terminal does.
#[derive(Debug)]
pub struct FittedLine {
    text: Styled,
    left: usize,
}

impl FittedLine {
    /// Returns an empty line.
    #[must_use]
    pub fn new(terminal: Terminal) -> FittedLine {
        FittedLine { text: Styled::new(), left: terminal.columns }
    }

    /// Returns how many columns are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds a piece, as much of it as there is room for.
    pub fn push(&mut self, tint: Tint, piece: &str) {
        let shown = fitted(piece, self.left);
        self.left -= columns(&shown);
        self.text.push(tint, &shown);
    }

    /// Returns the line.
    #[must_use]
    pub fn finish(self) -> Styled {
        self.text
    }
}

/// Returns how many columns a text takes. What a person sees as one character counts as
/// one, also where it consists of several: a family of emoji takes two columns.
#[must_use]
pub fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// Returns a text, or as much of it as fits into so many columns with a `…` after it.
#[must_use]
pub fn fitted(text: &str, room: usize) -> String {
    let (mut used, mut cut) = (0, 0);
    for (at, character) in text.grapheme_indices(true) {
        used += character.width();
        if used > room {
            return if room == 0 { String::new() } else { format!("{}…", &text[..cut]) };
        }
        // So far the text fits with a `…` after it.
        if used < room {
            cut = at + character.len();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::terminal::{Colours, Edge};

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(fitted("hello", 5), "hello");
        assert_eq!(fitted("hello", 4), "hel…");
        assert_eq!(fitted("你好吗", 6), "你好吗");
        assert_eq!(fitted("你好吗", 5), "你好…");
        assert_eq!(fitted("你好吗", 4), "你…");
        assert_eq!(fitted("x", 0), "");
        assert_eq!(fitted("👩\u{200d}👩\u{200d}👧 ok", 4), "👩\u{200d}👩\u{200d}👧 …");
        assert_eq!(columns("👩\u{200d}👩\u{200d}👧 ❤\u{fe0f} e\u{301}"), 7);
        for room in 0..12 {
            assert!(columns(&fitted("a你b好\u{301}cd吗", room)) <= room);
        }
    }

    #[test]
    fn colours_take_no_room_and_can_be_left_out() {
        let line = |colours| {
            let mut line = FittedLine::new(Terminal { columns: 6, edge: Edge::Hard });
            line.push(Tint::Id, "abc");
            line.push(Tint::Plain, " def");
            line.finish().render(colours)
        };
        assert_eq!(line(Colours::None), "abc d…");
        assert_eq!(line(Colours::Shown), "\u{1b}[33mabc\u{1b}[0m d…");
    }
}
