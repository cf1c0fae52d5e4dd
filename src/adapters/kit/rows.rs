//! The rows of a database: each becomes an event, and each event the line of its
//! row again. What a program says with a row, its adapter puts as a fact; every
//! other row, and the schema, is carried as it is.

use crate::adapters::kit::conversion::Conversion;
use crate::json::Value;
use crate::model::event::{EventKind, EventRef};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::rows::{LeftOut, RowsHeader, RowsLine, lines};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

/// What such a text holds, in its recipe's words.
pub(in crate::adapters) const ROWS: &str = "rows";

const ROW_BEFORE: &[u8] = b"{\"row\":";

/// Puts what a row says, where that is a fact, and returns its event.
pub(in crate::adapters) type PutFact<'f, 'a> =
    dyn FnMut(&mut Conversion<'a, '_>, &RowsHeader, Value<'a>) -> Result<Option<Seq>, StreamError> + 'f;

/// Puts an event for each line. `fact` puts what a row says, where it is a fact
/// from which its row can be rendered again, and returns its event.
pub(in crate::adapters) fn read<'a>(
    to: &mut Conversion<'a, '_>,
    path: &'a RelPath,
    text: &'a [u8],
    fact: &mut PutFact<'_, 'a>,
) -> Result<(), StreamError> {
    let mut recipe = RecipeBuilder::default();
    let mut header: Option<RowsHeader> = None;
    for line in lines(text) {
        let said = match (RowsLine::read(line), &header) {
            (Some(RowsLine::Row(row)), Some(header)) => fact(to, header, row)?,
            (Some(RowsLine::Rows(next)), _) => {
                header = Some(next);
                None
            }
            _ => None,
        };
        let seq = match said {
            Some(seq) => seq,
            None => put_line(to, path, line)?,
        };
        // Events between two rows render to nothing.
        recipe.events(seq, seq, |_, _| true);
    }
    to.rebuilt(path, ROWS, None, recipe);
    Ok(())
}

/// Puts a line that no fact says, as it is, and tells of rows that are left out.
pub(in crate::adapters) fn put_line(to: &mut Conversion<'_, '_>, path: &RelPath, line: &[u8]) -> Result<Seq, StreamError> {
    if line.starts_with(b"[") {
        return to.put(EventKind::Row, None, None, &[ROW_BEFORE, line, b"}"].concat());
    }
    if let Some(RowsLine::LeftOut(left_out)) = RowsLine::read(line) {
        note_left_out(to, path, &left_out);
    }
    to.put(EventKind::Row, None, None, line)
}

/// Names a table whose rows a restored database will lack.
pub(in crate::adapters) fn note_left_out(to: &mut Conversion<'_, '_>, path: &RelPath, left_out: &LeftOut) {
    let LeftOut { table, rows, why } = left_out;
    if *rows > 0 {
        let message = format!("the rows of the table {table} are left out, {rows} in number: {why}");
        to.findings.add(FindingCode::RowsLeftOut, Location::of_path(path), message);
    }
}

/// Returns the line that was put as it is.
pub(in crate::adapters) fn line_of(payload: &[u8]) -> &[u8] {
    payload.strip_prefix(ROW_BEFORE).and_then(|rest| rest.strip_suffix(b"}")).unwrap_or(payload)
}

/// Renders the row of a fact, in the columns of its table; nothing for an event
/// that is not a row.
pub(in crate::adapters) type FactRow = dyn Fn(&EventRef<'_>, &RowsHeader) -> Option<Vec<u8>>;

/// Returns a renderer of rows, some of which are facts of the program.
pub(in crate::adapters) fn renderer(fact: Box<FactRow>) -> Box<dyn RecordRenderer> {
    Box::new(Rows { header: None, fact })
}

struct Rows {
    /// What the next rows are of.
    header: Option<RowsHeader>,
    fact: Box<FactRow>,
}

impl RecordRenderer for Rows {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let event = log.event(seq)?;
        if event.kind != EventKind::Row {
            let row = self.header.as_ref().and_then(|header| (self.fact)(&event, header));
            return row.map_or(Ok(()), |row| out.record(&row));
        }
        let line = line_of(event.payload);
        if let Some(RowsLine::Rows(header)) = RowsLine::read(line) {
            self.header = Some(header);
        }
        out.record(line)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, _: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"))
    }
}
