//! The text of a session's rows, line by line, and a row by its columns.

use crate::json::{self, Value};
use crate::model::rows::{RowValue, RowsHeader, RowsLine, lines};

/// One line of the text, without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) bytes: &'a [u8],
    /// The number of its header, where it is a row.
    pub(super) header: Option<usize>,
}

/// The text of the rows of a session, or of those that belong to none.
#[derive(Debug)]
pub(super) struct RowsText<'a> {
    pub(super) lines: Vec<Line<'a>>,
    headers: Vec<RowsHeader>,
}

impl<'a> RowsText<'a> {
    pub(super) fn of(text: &'a [u8]) -> RowsText<'a> {
        let mut headers = Vec::new();
        let mut all = Vec::new();
        for bytes in lines(text) {
            let is_row = bytes.first() == Some(&b'[');
            if let (false, Some(RowsLine::Rows(header))) = (is_row, RowsLine::read(bytes)) {
                headers.push(header);
            }
            all.push(Line { bytes, header: headers.len().checked_sub(1).filter(|_| is_row) });
        }
        RowsText { lines: all, headers }
    }

    /// The header of a row.
    pub(super) fn header(&self, line: Line<'_>) -> Option<&RowsHeader> {
        self.headers.get(line.header?)
    }

    /// The row at a line, where it is one.
    pub(super) fn row(&self, n: usize) -> Option<Columns<'a, '_>> {
        let line = *self.lines.get(n)?;
        Some(Columns::of(self.header(line)?, Value::trusted(line.bytes)))
    }

    /// The rows of a table that all name one session, each with the number of its line.
    pub(super) fn rows_of<'t>(&'t self, table: &'t str) -> impl Iterator<Item = (usize, Columns<'a, 't>)> {
        self.lines.iter().enumerate().filter_map(move |(n, line)| {
            let header = self.header(*line).filter(|header| header.table == table && header.all.is_some())?;
            Some((n, Columns::of(header, Value::trusted(line.bytes))))
        })
    }
}

/// The values of a row by their columns.
#[derive(Debug)]
pub(super) struct Columns<'a, 'h> {
    pub(super) header: &'h RowsHeader,
    /// Its hidden row number, where the table has one.
    pub(super) rowid: Option<Value<'a>>,
    pub(super) values: Vec<(&'h str, Value<'a>)>,
}

impl<'a, 'h> Columns<'a, 'h> {
    fn of(header: &'h RowsHeader, row: Value<'a>) -> Columns<'a, 'h> {
        let mut elements = row.elements();
        let rowid = if header.rowid { elements.next() } else { None };
        Columns { header, rowid, values: header.listed().zip(elements).collect() }
    }

    /// The value of a column.
    pub(super) fn get(&self, column: &str) -> Option<RowValue<'a>> {
        self.values.iter().find(|(name, _)| *name == column).and_then(|(_, value)| RowValue::read(*value))
    }

    /// The text of a column, where it is one in UTF-8.
    pub(super) fn text(&self, column: &str) -> Option<String> {
        self.get(column)?.as_text().map(str::to_owned)
    }

    /// The session that the row names.
    pub(super) fn session(&self) -> &'h str {
        self.header.all.as_ref().map_or("", |(_, id)| id)
    }

    /// The values of all columns but these, as a list; its hidden number comes first.
    pub(super) fn others(&self, besides: &[&str]) -> Vec<u8> {
        let others = self.values.iter().filter(|(name, _)| !besides.contains(name)).map(|(_, value)| value.text());
        let all: Vec<&[u8]> = self.rowid.iter().map(|number| number.text()).chain(others).collect();
        [b"[", all.join(&b',').as_slice(), b"]"].concat()
    }
}

/// Puts a row together again: the columns that `known` has, and the others from a
/// list as [`Columns::others`] makes it.
pub(super) fn row(header: &RowsHeader, others: Value<'_>, known: &[(&str, &str)]) -> Vec<u8> {
    let mut others = others.elements();
    let mut other = || others.next().map_or_else(|| b"null".to_vec(), |value| value.text().to_vec());
    let mut values: Vec<Vec<u8>> = Vec::new();
    if header.rowid {
        values.push(other());
    }
    for column in header.listed() {
        let text = known.iter().find(|(name, _)| *name == column).map(|(_, text)| quoted(text));
        values.push(text.unwrap_or_else(&mut other));
    }
    [b"[", values.join(&b',').as_slice(), b"]"].concat()
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    out
}
