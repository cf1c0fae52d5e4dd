//! In place of making databases, in a build without them: none can be restored.

use std::convert::Infallible;
use std::fmt;
use std::fs::File;

use crate::model::database::DatabaseFormat;
use crate::model::rows::LeftOut;

use super::database::WHY;
use super::error::StoreError;

/// Why a database cannot be made from its rows.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The disk failed.
    Store(StoreError),
    /// The build has no databases.
    Refused {},
    /// A line is wrong. No line is looked at.
    Line {
        /// Nothing is of this kind.
        never: Infallible,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Store(error) => error.fmt(f),
            BuildError::Refused {} => f.write_str(WHY),
            BuildError::Line { never } => match *never {},
        }
    }
}

impl std::error::Error for BuildError {}

/// A database that is being made. There is none.
#[derive(Debug)]
pub enum DatabaseBuilder {}

impl DatabaseBuilder {
    /// Refuses to make a database.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> Result<DatabaseBuilder, BuildError> {
        Err(BuildError::Refused {})
    }

    /// Takes one line.
    ///
    /// # Errors
    /// Never.
    pub fn line(&mut self, _text: &[u8]) -> Result<(), BuildError> {
        match *self {}
    }

    /// Returns the finished file.
    ///
    /// # Errors
    /// Never.
    pub fn finish(self, _format: &dyn DatabaseFormat) -> Result<BuiltDatabase, BuildError> {
        match self {}
    }
}

/// A database that was made. There is none.
#[derive(Debug)]
pub struct BuiltDatabase {
    /// The file.
    pub file: File,
    /// How many bytes it has.
    pub bytes: u64,
    /// Tables whose rows its logs do not have.
    pub left_out: Vec<LeftOut>,
    _never: Infallible,
}
