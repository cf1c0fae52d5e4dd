//! Why tables cannot be made or read.

use std::fmt;
use std::path::PathBuf;

use crate::log::LogProblem;
use crate::model::stream::StreamError;
use crate::store::StoreError;

/// Why tables cannot be made or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    /// The disk.
    Store(StoreError),
    /// A log as a whole.
    Log {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: LogProblem,
    },
    /// A log at an event.
    Stream {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// A value is longer than a file of a table can hold.
    TooLong {
        /// The column.
        column: &'static str,
    },
    /// A file of a table cannot be written or read.
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        what: String,
    },
}

impl TableError {
    /// Tells whether the log is to blame, and not the tables: others can go on.
    #[must_use]
    pub fn is_of_log(&self) -> bool {
        match self {
            TableError::Log { .. } | TableError::Stream { .. } | TableError::TooLong { .. } => true,
            TableError::Store(_) | TableError::File { .. } => false,
        }
    }

    #[cfg(any(feature = "databases", feature = "parquet"))]
    /// For `map_err`: a file of a table, and what went wrong with it.
    pub(super) fn file<E: fmt::Display>(path: &std::path::Path) -> impl FnOnce(E) -> TableError {
        let path = path.to_owned();
        move |error| TableError::File { path, what: error.to_string() }
    }
}

impl From<StoreError> for TableError {
    fn from(error: StoreError) -> TableError {
        TableError::Store(error)
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableError::Store(error) => error.fmt(f),
            TableError::Log { path, source } => write!(f, "{}: {source}", path.display()),
            TableError::Stream { path, source } => write!(f, "{}: {source}", path.display()),
            TableError::TooLong { column } => write!(f, "a value is too long for the column {column}"),
            TableError::File { path, what } => write!(f, "{}: {what}", path.display()),
        }
    }
}

impl std::error::Error for TableError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TableError::Store(error) => error.source(),
            TableError::Log { source, .. } => source.source(),
            TableError::Stream { source, .. } => source.source(),
            TableError::TooLong { .. } | TableError::File { .. } => None,
        }
    }
}
