//! A database as rows of cells: what an adapter may ask, and never how it is
//! stored; and what it answers: which rows belong to which session.

use std::fmt;

use super::files::RelPath;

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
    /// Returns the text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Null | Cell::Integer(_) | Cell::Real(_) | Cell::Bytes(_) => None,
        }
    }

    /// Returns the number, if it is one.
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

/// A message as a database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseMessage {
    /// The session that it belongs to.
    pub session: String,
    /// Who speaks.
    pub role: String,
    /// What it says, in each of the forms in which the program keeps it
    /// elsewhere.
    pub texts: Vec<String>,
}

/// A database that can be read.
pub trait Tables {
    /// Returns the columns of a table; none where there is no such table.
    fn columns(&self, table: &str) -> Vec<String>;

    /// Hands out the rows of a query, one by one.
    ///
    /// # Errors
    /// When they cannot be read.
    fn rows(&self, query: &Query<'_>, take: &mut dyn FnMut(&[Cell])) -> Result<(), TablesError>;
}

/// Which rows of a database belong to which session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DatabaseLayout {
    /// The version of its schema, in the program's own words.
    pub version: String,
    /// The sessions, in the order of their program.
    pub sessions: Vec<DatabaseSession>,
    /// The tables whose rows name a session. Rows that name none of them, and all
    /// rows of other tables, belong to no session.
    pub owned: Vec<OwnedTable>,
    /// Tables whose rows are left out, and why; the tables themselves stay.
    pub left_out: Vec<(String, String)>,
}

/// What becomes of the rows of tables that hold credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Credentials {
    /// They stay in the database.
    #[default]
    LeftOut,
    /// They are carried as any other row.
    Carried,
}

/// One session of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseSession {
    /// Its id, as rows have it.
    pub id: String,
    /// Files that hold a part of it, relative to the folder of the database.
    pub files: Vec<RelPath>,
}

/// A table whose rows name a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnedTable {
    /// The table.
    pub table: &'static str,
    /// The column that has the session's id.
    pub column: &'static str,
}

/// Why a database has no layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayoutError {
    /// It is another program's.
    Foreign,
    /// Its schema is one that this version does not know: what is wrong with it.
    Unknown(String),
    /// It cannot be read.
    Tables(TablesError),
}

impl From<TablesError> for LayoutError {
    fn from(error: TablesError) -> LayoutError {
        LayoutError::Tables(error)
    }
}

/// How a program keeps its sessions in a database.
pub trait DatabaseFormat: Sync {
    /// Says which rows belong to which session.
    ///
    /// # Errors
    /// When the database is not this program's, or of a schema that is not known.
    fn layout(&self, tables: &dyn Tables) -> Result<DatabaseLayout, LayoutError>;

    /// Returns the statement that fills a full-text table from the rows of the other
    /// tables. The rows of such a table are neither carried nor compared.
    fn full_text(&self, _table: &str) -> Option<&'static str> {
        None
    }
}
