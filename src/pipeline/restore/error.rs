//! Why a log could not be restored.

use std::path::PathBuf;

use crate::pipeline::open::LogError;
use crate::store::StoreError;

/// Why a log could not be restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum RestoreError {
    /// The log cannot be used, or the disk failed.
    Log(LogError),
    /// The log names a file that cannot be restored anywhere.
    Unrestorable {
        /// The log.
        path: PathBuf,
        /// What is wrong, in words that follow "the log".
        what: String,
    },
    /// The log has no files to restore.
    NoFiles {
        /// The log.
        path: PathBuf,
    },
    /// A panic: a bug in everlog, kept to its log.
    Bug(String),
}

impl From<LogError> for RestoreError {
    fn from(error: LogError) -> Self {
        RestoreError::Log(error)
    }
}

impl From<StoreError> for RestoreError {
    fn from(error: StoreError) -> Self {
        RestoreError::Log(error.into())
    }
}
