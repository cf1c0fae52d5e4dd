//! A conversion in progress: what is in the log already, and how each row comes back.

use std::collections::HashMap;

use crate::adapters::format::ReadSummary;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::part_records::MESSAGE;
use crate::adapters::kit::rows;
use crate::json;
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::Shapes;
use crate::model::stream::StreamError;

use super::text::{Line, RowsText};

/// Where the text of a message or part of the log is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The row at this line.
    Row(usize),
    /// The event at this line.
    Event(usize),
}

/// A message or part that is in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    pub(super) node: Seq,
    /// The element of the content that a part begins with.
    pub(super) at: Option<usize>,
    pub(super) origin: Origin,
    /// Whether the log gives that text back to the byte.
    pub(super) is_exact: bool,
}

/// How the row of a message or part is rebuilt.
struct Piece {
    of: Seq,
    /// As the recipe has it.
    json: String,
    /// What it is rendered to, where that is not the row.
    other: Option<Vec<u8>>,
}

/// A conversion in progress.
pub(super) struct Reader<'a, 's, 't> {
    pub(super) to: Conversion<'a, 's>,
    pub(super) path: &'a RelPath,
    bytes: &'a [u8],
    pub(super) text: &'t RowsText<'a>,
    pub(super) shapes: Shapes,
    recipe: RecipeBuilder,
    /// The messages and parts of the log by their ids.
    pub(super) sources: HashMap<String, Source>,
    /// How the rows of messages and parts are rebuilt, by the numbers of their lines.
    pieces: HashMap<usize, Piece>,
}

impl<'a, 's, 't> Reader<'a, 's, 't> {
    pub(super) fn new(to: Conversion<'a, 's>, path: &'a RelPath, bytes: &'a [u8], text: &'t RowsText<'a>) -> Reader<'a, 's, 't> {
        let shapes = Shapes::new(MESSAGE.order());
        Reader { to, path, bytes, text, shapes, recipe: RecipeBuilder::default(), sources: HashMap::new(), pieces: HashMap::new() }
    }

    /// Notes how the row at a line is rebuilt from a message.
    pub(super) fn note_piece(&mut self, line: usize, of: Seq, json: String, rendered: Vec<u8>) {
        let is_it = self.text.lines.get(line).is_some_and(|line| line.bytes == rendered);
        self.pieces.insert(line, Piece { of, json, other: (!is_it).then_some(rendered) });
    }

    /// Notes that the next line is rebuilt from this event.
    pub(super) fn rebuild_from(&mut self, seq: Seq) {
        // Events between two rows render to nothing.
        self.recipe.events(seq, seq, |_, _| true);
    }

    /// Notes that the next line is rebuilt from a message; `false` where it is not the row
    /// of one.
    pub(super) fn rebuild_from_piece(&mut self, n: usize, line: Line<'a>) -> Result<bool, StreamError> {
        let Some(Piece { of, json, other }) = self.pieces.remove(&n) else { return Ok(false) };
        match other {
            None => self.recipe.own(json),
            Some(rendered) => {
                // A piece renders the end of its line too.
                let span = json::span_in(self.bytes, line.bytes);
                let with_end = self.bytes.get(span.start..=span.end).unwrap_or(line.bytes);
                let count = self.to.residual_piece(of, json, &[rendered.as_slice(), b"\n"].concat(), with_end)?;
                self.recipe.residual(count);
            }
        }
        Ok(true)
    }

    /// Puts what a log ends with.
    pub(super) fn finish(mut self) -> Result<ReadSummary, StreamError> {
        self.to.rebuilt(self.path, rows::ROWS, None, self.recipe);
        self.to.trailer(self.shapes.others())
    }
}
