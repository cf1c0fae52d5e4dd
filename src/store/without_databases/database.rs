//! In place of databases, in a build without them: none can be opened.

use std::path::Path;

use crate::model::database::{Cell, Query, Tables, TablesError};

pub use super::database_files::{find, find_in_each};
use super::error::StoreError;

/// What is said of every database.
pub(super) const WHY: &str = "this build of everlog is one without databases";

/// A copy of a database. There is none.
#[derive(Debug)]
pub enum DatabaseCopy {}

impl DatabaseCopy {
    /// Refuses to open a database.
    ///
    /// # Errors
    /// Always.
    pub fn of(path: &Path) -> Result<DatabaseCopy, StoreError> {
        Err(StoreError::Database { path: path.to_owned(), what: WHY.to_owned() })
    }
}

impl Tables for DatabaseCopy {
    fn columns(&self, _table: &str) -> Vec<String> {
        match *self {}
    }

    fn rows(&self, _query: &Query<'_>, _take: &mut dyn FnMut(&[Cell])) -> Result<(), TablesError> {
        match *self {}
    }
}
