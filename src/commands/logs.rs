//! Logs as the user names them: one, several, or a whole store.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::adapter::Adapter;
use crate::adapters::by_id;
use crate::log::{LogView, SealState};
use crate::model::files::RelPath;
use crate::model::folder::ListedKind;
use crate::model::ids::Seq;
use crate::store::disk;
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::listing;

use super::error::CommandError;

/// One log on disk.
#[derive(Debug, Clone)]
pub struct LogFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The folder it lies in, below the store it was found in.
    pub below: RelPath,
    /// Its path below the store it was found in, or its own name.
    pub relative: RelPath,
    /// The same for reports.
    pub name: String,
}

/// Finds the logs at a path: the file itself, or every log below a folder.
///
/// # Errors
/// When there are none, or the folder cannot be read.
pub fn find(path: &Path) -> Result<Vec<LogFile>, CommandError> {
    if !path.is_dir() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        disk::open(path)?;
        let relative = RelPath::new(path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default());
        return Ok(vec![LogFile { path: path.to_owned(), below: RelPath::new(""), relative, name }]);
    }
    let is_private = |path: &RelPath| path.as_bytes().split(|b| *b == b'/').any(|part| part == b".everlog");
    let logs = below(path, path, |path| !is_private(path))?;
    if logs.is_empty() { Err(CommandError::NoLogs { path: path.to_owned() }) } else { Ok(logs) }
}

/// The logs of a store that held more than those that took their places.
///
/// # Errors
/// When they cannot be listed.
pub fn earlier(store: &Store) -> Result<Vec<LogFile>, CommandError> {
    let folder = store.earlier_folder();
    if folder.is_dir() { below(&folder, store.root(), |_| true) } else { Ok(Vec::new()) }
}

/// The logs below a folder, with their paths from another one above it.
fn below(folder: &Path, from: &Path, is_wanted: impl Fn(&RelPath) -> bool) -> Result<Vec<LogFile>, CommandError> {
    let listing = listing::list(folder)?;
    let prefix = RelPath::new(folder.strip_prefix(from).unwrap_or(Path::new("")).as_os_str().as_encoded_bytes());
    let is_log = |path: &RelPath| path.as_bytes().ends_with(LOG_SUFFIX.as_bytes()) && is_wanted(path);
    let wanted = listing.entries().iter().filter(|entry| entry.kind == ListedKind::File && is_log(&entry.path));
    let logs = wanted.map(|entry| {
        let relative = entry.path.below(&prefix);
        let bytes = relative.as_bytes();
        let below = RelPath::new(memchr::memrchr(b'/', bytes).map_or(&b""[..], |at| &bytes[..at]));
        LogFile { path: path_below(folder, &entry.path), below, name: relative.to_string(), relative }
    });
    Ok(logs.collect())
}

/// A log's path below its store, even where it alone was asked for.
#[must_use]
pub fn name_in_store(log: &LogFile, asked: &Path, store: Option<&Store>) -> RelPath {
    let full = std::path::absolute(&log.path).ok().filter(|_| !asked.is_dir());
    let below = full.as_ref().and_then(|path| path.strip_prefix(store?.root()).ok());
    below.map_or_else(|| log.relative.clone(), |path| RelPath::new(path.as_os_str().as_encoded_bytes()))
}

/// Opens a log of whatever format.
///
/// # Errors
/// When it is no log that this build understands.
pub fn open_any(path: &Path, until: Option<Seq>) -> Result<LogView<Arc<File>>, CommandError> {
    let file = Arc::new(disk::open(path)?);
    LogView::open_until(file, until).map_err(|source| CommandError::Log { path: path.to_owned(), source })
}

/// Opens a log and finds its adapter.
///
/// # Errors
/// When it is no log that this build understands.
pub fn open(path: &Path, until: Option<Seq>) -> Result<(LogView<Arc<File>>, &'static dyn Adapter), CommandError> {
    let view = open_any(path, until)?;
    let adapter = by_id(&view.session.format).ok_or_else(|| CommandError::UnknownFormat { format: view.session.format.clone() })?;
    Ok((view, adapter))
}

/// What to say about a log that is not as it was sealed; nothing where it is.
#[must_use]
pub fn seal_warning(seal: &SealState) -> Option<&'static str> {
    match seal {
        SealState::Good { .. } => None,
        SealState::Behind { .. } => Some("warning: something stands behind this log's last good seal"),
        SealState::Broken { .. } => Some("warning: this log was altered since it was sealed"),
        SealState::Missing => Some("warning: this log has no seal: it is incomplete"),
    }
}

/// The folder that a log's session is, below the one its log lies in.
#[must_use]
pub fn session_folder<R: crate::model::stream::ReadAt>(view: &LogView<R>, log: &LogFile) -> RelPath {
    let own = view.session.own_folder();
    if own.as_bytes().is_empty() { log.below.clone() } else { own.below(&log.below) }
}
