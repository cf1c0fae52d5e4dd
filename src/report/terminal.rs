//! What a terminal can do: how wide it is, and whether it shows colours. Text
//! that is cut to its width counts columns, not characters.

use unicode_width::UnicodeWidthChar;

/// What lines for people are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// How many columns a line may have.
    pub columns: usize,
    /// Whether lines are coloured.
    pub colours: Colours,
}

/// Whether lines are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// They are.
    Shown,
    /// They are not.
    None,
}

/// What a piece of a line is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// The lines of a drawing.
    Guide,
    /// The name of an entry.
    Id,
    /// Who speaks, or what kind of entry it is.
    Role,
    /// A head, a label.
    Mark,
    /// The head that is shown by default.
    Active,
    /// Something that is wrong.
    Damage,
    /// What only the first of two sides has.
    Removed,
    /// What only the second of two sides has.
    Added,
    /// What was said.
    Plain,
}

impl Tint {
    fn code(self) -> &'static str {
        match self {
            Tint::Guide => "2",
            Tint::Id => "33",
            Tint::Role => "36",
            Tint::Mark => "35",
            Tint::Active => "1;32",
            Tint::Damage | Tint::Removed => "31",
            Tint::Added => "32",
            Tint::Plain => "",
        }
    }
}

/// A line that is being put together and ends where the terminal does.
#[derive(Debug)]
pub struct FittedLine {
    terminal: Terminal,
    text: String,
    left: usize,
}

impl FittedLine {
    /// An empty line.
    #[must_use]
    pub fn new(terminal: Terminal) -> FittedLine {
        FittedLine { terminal, text: String::new(), left: terminal.columns }
    }

    /// How many columns are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left
    }

    /// Adds a piece, as much of it as there is room for.
    pub fn push(&mut self, tint: Tint, piece: &str) {
        let shown = fitted(piece, self.left);
        self.left -= columns(&shown);
        self.text.push_str(&tinted(self.terminal.colours, tint, &shown));
    }

    /// The line.
    #[must_use]
    pub fn finish(self) -> String {
        self.text
    }
}

/// A piece of a line in its colour.
#[must_use]
pub fn tinted(colours: Colours, tint: Tint, piece: &str) -> String {
    if piece.is_empty() || colours == Colours::None || tint == Tint::Plain {
        return piece.to_owned();
    }
    format!("\u{1b}[{}m{piece}\u{1b}[0m", tint.code())
}

/// How many columns a text takes.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// A text, or as much of it as fits into so many columns with a `…` behind it.
#[must_use]
pub fn fitted(text: &str, room: usize) -> String {
    let (mut used, mut cut) = (0, 0);
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room {
            return if room == 0 { String::new() } else { format!("{}…", &text[..cut]) };
        }
        // So far the text fits with a `…` behind it.
        if used < room {
            cut = at + c.len_utf8();
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(fitted("hello", 5), "hello");
        assert_eq!(fitted("hello", 4), "hel…");
        assert_eq!(fitted("你好吗", 6), "你好吗");
        assert_eq!(fitted("你好吗", 5), "你好…");
        assert_eq!(fitted("你好吗", 4), "你…");
        assert_eq!(fitted("x", 0), "");
        for room in 0..12 {
            assert!(columns(&fitted("a你b好\u{301}cd吗", room)) <= room);
        }
    }

    #[test]
    fn colours_take_no_room_and_can_be_left_out() {
        let line = |colours| {
            let mut line = FittedLine::new(Terminal { columns: 6, colours });
            line.push(Tint::Id, "abc");
            line.push(Tint::Plain, " def");
            line.finish()
        };
        assert_eq!(line(Colours::None), "abc d…");
        assert_eq!(line(Colours::Shown), "\u{1b}[33mabc\u{1b}[0m d…");
    }
}
