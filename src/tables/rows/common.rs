//! What the rows of all tables share.

use std::path::PathBuf;

use crate::model::finding::Finding;
use crate::model::ids::Seq;
use crate::tables::cell::{Cell, Row};
use crate::tables::error::TableError;
use crate::tables::schema::TableName;

/// A session to make rows of.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Where its log is.
    pub path: PathBuf,
    /// The log's name below its store, as a key.
    pub log: String,
    /// The month of its last message in UTC.
    pub month: Option<String>,
    /// What its receipt says was found.
    pub findings: Vec<Finding>,
}

/// Takes rows, those of each table in their order.
pub trait RowSink {
    /// Takes one.
    ///
    /// # Errors
    /// When it cannot be written.
    fn row(&mut self, table: TableName, row: Row) -> Result<(), TableError>;
}

/// The columns that all tables begin with.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub format: Cell,
    pub month: Cell,
    pub log: Cell,
    pub session: Cell,
}

impl Common {
    /// Returns the beginning of a row that will have so many cells.
    pub fn row(&self, table: TableName) -> Row {
        let mut row = Vec::with_capacity(table.table().columns.len());
        row.extend([&self.format, &self.month, &self.log, &self.session].map(Clone::clone));
        row
    }
}

pub(super) fn place_cell(place: Option<u32>) -> Cell {
    place.map_or(Cell::Null, |place| Cell::Integer(place.into()))
}

pub(super) fn seq_cell(seq: Seq) -> Cell {
    Cell::Integer(seq.number().into())
}

/// Returns the name of one of our words, as logs and receipts have it.
pub(super) fn word<T: serde::Serialize>(named: &T) -> Cell {
    let name = serde_json::to_value(named).ok();
    Cell::Text(name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned())
}
