//! A recipe: the pieces of a file in file order, as references to events.

use std::fmt::Write as _;

use super::ids::Seq;
use crate::json::{self, Kind, Value};

/// One piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Every record event and every damage from the first to the last.
    Events(Seq, Seq),
    /// Bytes between records, so many times.
    Gap {
        /// The bytes.
        bytes: String,
        /// How often.
        times: u64,
    },
    /// The verbatim record of this residual event.
    Residual(Seq),
    /// From here on a record ends in this.
    LineEnd(String),
    /// A piece that only the adapter understands.
    Own(&'a [u8]),
}

/// Reads a recipe piece by piece; `None` where it, or a piece, is not one.
#[must_use]
pub fn pieces(recipe: Value<'_>) -> Option<impl Iterator<Item = Option<Piece<'_>>>> {
    // One by one: a hostile recipe has many, and each takes more memory than text.
    recipe.is_array().then(|| recipe.elements().map(piece))
}

fn seq(number: Value<'_>) -> Option<Seq> {
    number.parse::<u64>().and_then(|n| u32::try_from(n).ok()).map(Seq::new)
}

fn piece(piece: Value<'_>) -> Option<Piece<'_>> {
    match piece.kind() {
        Kind::Number => seq(piece).map(|only| Piece::Events(only, only)),
        Kind::Array => {
            let mut ends = piece.elements();
            let (first, last) = (seq(ends.next()?)?, seq(ends.next()?)?);
            (ends.next().is_none() && first <= last).then_some(Piece::Events(first, last))
        }
        Kind::Object => {
            let found: Vec<_> = piece.all_members();
            let first = found.first()?;
            let text = || first.value().as_str().unwrap_or_default().into_owned();
            match first.name().as_ref() {
                "gap" => {
                    let times = found.get(1).map_or(Some(1), |member| member.value().parse())?;
                    Some(Piece::Gap { bytes: text(), times })
                }
                "residual" => seq(first.value()).map(Piece::Residual),
                "eol" => Some(Piece::LineEnd(text())),
                _ => Some(Piece::Own(piece.text())),
            }
        }
        Kind::String | Kind::True | Kind::False | Kind::Null => None,
    }
}

/// Writes a recipe, joining what can be joined.
#[derive(Debug, Default)]
pub struct RecipeBuilder {
    items: Vec<RecipeStep>,
    line_end: Option<String>,
}

#[derive(Debug)]
enum RecipeStep {
    Events(Seq, Seq),
    Gap(String, u64),
    LineEnd(String),
    /// Counted among the session's residuals, which get their numbers last.
    Residual(u32),
    Own(String),
}

impl RecipeBuilder {
    /// Adds the events from `first` to `last`. `joins` says whether no record
    /// of this file's kind stands between the end so far and `first`.
    pub fn events(&mut self, first: Seq, last: Seq, joins: impl FnOnce(Seq, Seq) -> bool) {
        if let Some(RecipeStep::Events(_, end)) = self.items.last_mut()
            && *end < first
            && joins(*end, first)
        {
            *end = last;
            return;
        }
        self.items.push(RecipeStep::Events(first, last));
    }

    /// Adds bytes between records.
    pub fn gap(&mut self, bytes: &str) {
        self.gaps(bytes, 1);
    }

    /// Adds the same bytes between records, so many times.
    pub fn gaps(&mut self, bytes: &str, more: u64) {
        if let Some(RecipeStep::Gap(open, times)) = self.items.last_mut()
            && open == bytes
        {
            *times += more;
            return;
        }
        self.items.push(RecipeStep::Gap(bytes.to_owned(), more));
    }

    /// Says how the next record's line ends; `\n` needs no saying at first.
    pub fn line_end(&mut self, end: &str) {
        if self.line_end.as_deref().unwrap_or("\n") == end {
            return;
        }
        self.items.push(RecipeStep::LineEnd(end.to_owned()));
        self.line_end = Some(end.to_owned());
    }

    /// Adds the session's residual with this count, from 0.
    pub fn residual(&mut self, count: u32) {
        self.items.push(RecipeStep::Residual(count));
    }

    /// Adds a piece that only the adapter understands: a JSON object.
    pub fn own(&mut self, piece: String) {
        self.items.push(RecipeStep::Own(piece));
    }

    /// Returns the recipe's JSON text, where the session's first residual has this number.
    #[must_use]
    pub fn finish(self, first_residual: Seq) -> String {
        let mut text = String::from("[");
        for (n, item) in self.items.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            // Writing to a string cannot fail.
            let _ = match item {
                RecipeStep::Events(first, last) if first == last => write!(text, "{first}"),
                RecipeStep::Events(first, last) => write!(text, "[{first},{last}]"),
                RecipeStep::Gap(bytes, 1) => write!(text, "{{\"gap\":{}}}", quoted(bytes)),
                RecipeStep::Gap(bytes, times) => write!(text, "{{\"gap\":{},\"times\":{times}}}", quoted(bytes)),
                RecipeStep::LineEnd(end) => write!(text, "{{\"eol\":{}}}", quoted(end)),
                RecipeStep::Residual(count) => write!(text, "{{\"residual\":{}}}", first_residual.number() + count),
                RecipeStep::Own(piece) => write!(text, "{piece}"),
            };
        }
        text.push(']');
        text
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_reads_back_as_it_was_built() {
        let at = Seq::new;
        let mut recipe = RecipeBuilder::default();
        recipe.events(at(2), at(2), |_, _| true);
        recipe.events(at(3), at(5), |_, _| true);
        recipe.gap("\n");
        recipe.gap("\n");
        recipe.events(at(9), at(9), |_, _| true);
        recipe.line_end("\r\n");
        recipe.residual(0);
        recipe.own("{\"snapshot\":4}".into());
        recipe.line_end("");
        recipe.events(at(3), at(3), |_, _| true);
        let text = recipe.finish(at(20));
        assert_eq!(text, r#"[[2,5],{"gap":"\n","times":2},9,{"eol":"\r\n"},{"residual":20},{"snapshot":4},{"eol":""},3]"#);
        let read: Vec<Piece<'_>> = pieces(Value::trusted(text.as_bytes())).unwrap().collect::<Option<_>>().unwrap();
        assert_eq!(read.len(), 8);
        assert_eq!(read[0], Piece::Events(at(2), at(5)));
        assert_eq!(read[1], Piece::Gap { bytes: "\n".into(), times: 2 });
        assert_eq!(read[5], Piece::Own(b"{\"snapshot\":4}"));
        let is_none = |text: &[u8]| pieces(Value::trusted(text)).is_none_or(|mut pieces| pieces.any(|piece| piece.is_none()));
        assert!(is_none(b"[[5,2]]"));
        assert!(is_none(b"[\"x\"]"));
    }
}
