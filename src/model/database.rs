//! A database as rows of cells: what an adapter may ask, and never how it is
//! stored.

use std::fmt;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Cell {
    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Bytes(_) => None,
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Integer(number) => Some(*number as f64),
            Cell::Real(number) => Some(*number),
            Cell::Null | Cell::Text(_) | Cell::Bytes(_) => None,
        }
    }
}

/// Which rows are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Query<'q> {
    /// From which table.
    pub table: &'q str,
    /// Which columns, in this order.
    pub columns: &'q [&'q str],
    /// Only rows whose column holds this text.
    pub only: Option<(&'q str, &'q str)>,
    /// By which columns the rows are sorted.
    pub order: &'q [&'q str],
}

/// Why rows could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablesError(pub String);

impl fmt::Display for TablesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TablesError {}

/// A database that can be read.
pub trait Tables {
    /// The columns of a table; none where there is no such table.
    fn columns(&self, table: &str) -> Vec<String>;

    /// Hands out the rows of a query, one by one.
    ///
    /// # Errors
    /// When they cannot be read.
    fn rows(&self, query: &Query<'_>, take: &mut dyn FnMut(&[Cell])) -> Result<(), TablesError>;
}
