//! Logs on disk, opened with the adapter of their format.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::by_id;
use crate::adapters::format::Format;
use crate::log::{LogProblem, LogView};
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::stream::{ReadAt, StreamError};
use crate::store::{StoreError, disk};

/// One log on disk.
#[derive(Debug, Clone)]
pub struct LogFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The folder it lies in, below the store it was found in.
    pub below: RelPath,
    /// Its path below the store it was found in, or its own name.
    pub relative: RelPath,
    /// That path as reports show it.
    pub name: String,
    /// Its size, where it was found in a folder.
    pub bytes: Option<u64>,
}

/// Why a log cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum LogError {
    /// The disk.
    Store(StoreError),
    /// The log as a whole.
    Log {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: LogProblem,
    },
    /// The log at an event.
    Stream {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// A format that this build does not know.
    UnknownFormat {
        /// The format.
        format: String,
    },
}

impl From<StoreError> for LogError {
    fn from(error: StoreError) -> Self {
        LogError::Store(error)
    }
}

/// Opens a log of any format, as far as the event `until`.
///
/// # Errors
/// When it is not a log that this build understands.
pub fn open_any(path: &Path, until: Option<Seq>) -> Result<LogView<Arc<File>>, LogError> {
    let file = Arc::new(disk::open(path)?);
    LogView::open_until(file, until).map_err(|source| LogError::Log { path: path.to_owned(), source })
}

/// Opens a log, as far as the event `until`, and finds its adapter.
///
/// # Errors
/// When it is not a log that this build understands.
pub fn open(path: &Path, until: Option<Seq>) -> Result<(LogView<Arc<File>>, &'static dyn Format), LogError> {
    let view = open_any(path, until)?;
    let adapter = by_id(&view.session.format).ok_or_else(|| LogError::UnknownFormat { format: view.session.format.clone() })?;
    Ok((view, adapter))
}

/// Returns the folder at which the paths of a log's files begin: the one its log lies in, one
/// below it that is the session, or one above it.
#[must_use]
pub fn session_folder<R: ReadAt>(view: &LogView<R>, log: &LogFile) -> RelPath {
    let own = view.session.own_folder();
    if let Some(above) = view.session.above {
        let parts: Vec<&[u8]> = log.below.as_bytes().split(|byte| *byte == b'/').collect();
        return RelPath::new(parts[..parts.len().saturating_sub(above as usize)].join(&b'/'));
    }
    if own.as_bytes().is_empty() { log.below.clone() } else { own.below(&log.below) }
}
