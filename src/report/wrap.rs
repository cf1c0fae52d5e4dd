//! Text in lines that are no wider than a terminal. Lines end between words,
//! and between the characters of scripts that have no spaces; a character that
//! takes two columns, or consists of several, is never cut.

use unicode_segmentation::UnicodeSegmentation;

use crate::model::printable::push_visible;

use super::fitted::columns;
use super::styled::Styled;
use super::terminal::Tint;

/// Where a line may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    /// Between words; inside of one only where it is wider than a line.
    Words,
    /// Anywhere, so that every space is kept: code, and what tools print.
    Anywhere,
}

/// So many columns a tabulator takes.
const TAB: &str = "    ";

/// What must not begin a line of Chinese or Japanese text.
const CLOSING: &str = "、。，．：；？！）］｝」』】〉》’”ー々";

/// What must not end one.
const OPENING: &str = "（［｛「『【〈《‘“";

/// One character as a person sees it.
struct Cell<'a> {
    tint: Tint,
    text: &'a str,
    width: usize,
}

/// Returns a text as lines of at most so many columns. Control characters, line
/// ends aside, are escaped first, so that the columns are those that are seen.
#[must_use]
pub fn wrapped(text: &Styled, width: usize, breaks: Breaks) -> Vec<Styled> {
    // Two columns are what the widest characters need.
    let width = width.max(2);
    let (mut lines, mut line) = (Vec::new(), Styled::new());
    for (tint, piece) in text.pieces() {
        for (n, part) in piece.split('\n').enumerate() {
            if n > 0 {
                wrap_line(std::mem::take(&mut line), width, breaks, &mut lines);
            }
            let part = part.strip_suffix('\r').unwrap_or(part);
            let mut shown = String::with_capacity(part.len());
            part.chars().for_each(|c| if c == '\t' { shown.push_str(TAB) } else { push_visible(c, &mut shown) });
            line.push(tint, &shown);
        }
    }
    wrap_line(line, width, breaks, &mut lines);
    lines
}

fn wrap_line(line: Styled, width: usize, breaks: Breaks, lines: &mut Vec<Styled>) {
    if line.pieces().map(|(_, piece)| columns(piece)).sum::<usize>() <= width {
        return lines.push(line);
    }
    let graphemes = line.pieces().flat_map(|(tint, piece)| piece.graphemes(true).map(move |text| (tint, text)));
    let cells: Vec<Cell<'_>> = graphemes.map(|(tint, text)| Cell { tint, text, width: columns(text) }).collect();
    let (mut start, mut used, mut last_break) = (0, 0, None);
    for (at, cell) in cells.iter().enumerate() {
        if breaks == Breaks::Words && at > start && may_break(&cells[at - 1], cell) {
            last_break = Some(at);
        }
        // A space that does not fit is where the line ends anyway.
        let is_space = breaks == Breaks::Words && cell.text == " ";
        if used + cell.width > width && at > start && !is_space {
            let end = last_break.filter(|end| *end > start).unwrap_or(at);
            lines.push(joined(&cells[start..end], breaks));
            start = end;
            used = cells[start..at].iter().map(|cell| cell.width).sum();
            last_break = None;
        }
        used += cell.width;
    }
    lines.push(joined(&cells[start..], breaks));
}

/// Tells whether a line may end between two characters.
fn may_break(before: &Cell<'_>, after: &Cell<'_>) -> bool {
    if after.text == " " {
        return false;
    }
    let is_wide = before.width == 2 || after.width == 2;
    before.text == " " || (is_wide && !CLOSING.contains(after.text) && !OPENING.contains(before.text))
}

fn joined(cells: &[Cell<'_>], breaks: Breaks) -> Styled {
    let kept = match breaks {
        Breaks::Words => cells.iter().rposition(|cell| cell.text != " ").map_or(0, |last| last + 1),
        Breaks::Anywhere => cells.len(),
    };
    let mut line = Styled::new();
    cells[..kept].iter().for_each(|cell| line.push(cell.tint, cell.text));
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: usize, breaks: Breaks) -> Vec<String> {
        wrapped(&Styled::from(text), width, breaks).iter().map(Styled::plain).collect()
    }

    #[test]
    fn lines_end_between_words() {
        assert_eq!(lines("the quick brown fox", 10, Breaks::Words), ["the quick", "brown fox"]);
        assert_eq!(lines("a\n\n  b", 10, Breaks::Words), ["a", "", "  b"]);
        assert_eq!(lines("ab abcdefghij", 4, Breaks::Words), ["ab", "abcd", "efgh", "ij"]);
        assert_eq!(lines("ab   cd", 4, Breaks::Words), ["ab", "cd"]);
        assert_eq!(lines("ab  cd ", 4, Breaks::Anywhere), ["ab  ", "cd "]);
        assert_eq!(lines("", 4, Breaks::Words), [""]);
    }

    #[test]
    fn wide_characters_are_not_cut_and_close_their_line() {
        assert_eq!(lines("你好，世界", 5, Breaks::Words), ["你", "好，", "世界"]);
        assert_eq!(lines("说「你好」吧", 5, Breaks::Words), ["说", "「你", "好」", "吧"]);
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(lines(&family.repeat(3), 4, Breaks::Words), [family.repeat(2), family.to_owned()]);
        for width in 2..9 {
            for breaks in [Breaks::Words, Breaks::Anywhere] {
                let text = lines("a你b好 e\u{301}c👩\u{200d}👧d\u{1b}[31m吗", width, breaks);
                assert!(text.iter().all(|line| columns(line) <= width), "{width}: {text:?}");
            }
        }
    }

    #[test]
    fn colours_survive_the_end_of_a_line_and_controls_are_seen() {
        let mut text = Styled::of(Tint::Strong, "bold words");
        text.push(Tint::Plain, " and\u{1b}[31m");
        let shown = wrapped(&text, 6, Breaks::Words);
        assert_eq!(shown[0], Styled::of(Tint::Strong, "bold"));
        assert_eq!(shown[1], Styled::of(Tint::Strong, "words"));
        assert_eq!(shown[2..].iter().map(Styled::plain).collect::<String>(), "and\\u{1b}[31m");
    }
}
