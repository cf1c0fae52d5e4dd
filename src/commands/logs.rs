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

/// What was asked for: the part of a store that is judged, and nothing else.
#[derive(Debug)]
pub struct Asked {
    /// The store around it, if there is one.
    pub store: Option<Store>,
    /// The folder of that store that was named; none where it was one log.
    folder: Option<RelPath>,
}

impl Asked {
    /// What a path asks for.
    #[must_use]
    pub fn of(path: &Path) -> Asked {
        if !path.is_dir() {
            return Asked { store: Store::of_log(path), folder: None };
        }
        let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let store = Store::of_log(&whole.join(LOG_SUFFIX));
        let folder = store.as_ref().and_then(|store| whole.strip_prefix(store.root()).ok()).unwrap_or(Path::new(""));
        Asked { folder: Some(RelPath::new(folder.as_os_str().as_encoded_bytes())), store }
    }

    /// Whether it is a store as a whole.
    #[must_use]
    pub fn is_whole_store(&self) -> bool {
        self.store.is_some() && self.folder.as_ref().is_some_and(|folder| folder.as_bytes().is_empty())
    }

    /// Whether a log of this name, which may be missing, would be part of it.
    #[must_use]
    pub fn takes(&self, log: &RelPath) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.as_bytes().is_empty() || log.folders().any(|above| above == *folder))
    }

    /// A log's path below its store, even where a part of it was asked for.
    #[must_use]
    pub fn name_of(&self, log: &LogFile) -> RelPath {
        if let Some(folder) = &self.folder {
            return log.relative.below(folder);
        }
        let full = std::path::absolute(&log.path).ok();
        let below = full.as_ref().zip(self.store.as_ref()).and_then(|(path, store)| path.strip_prefix(store.root()).ok());
        below.map_or_else(|| log.relative.clone(), |path| RelPath::new(path.as_os_str().as_encoded_bytes()))
    }

    /// Where a log of this name would lie, named as `path` was, which asks for it.
    #[must_use]
    pub fn place_of(&self, path: &Path, log: &RelPath) -> PathBuf {
        let folder = self.folder.as_ref().map_or(0, |folder| folder.as_bytes().len());
        let below = log.as_bytes().get(folder..).unwrap_or_default();
        path_below(path, &RelPath::new(below.strip_prefix(b"/").unwrap_or(below)))
    }

    /// What the names of a source's sessions are below, where the source is the
    /// same part of a whole as what was asked for.
    #[must_use]
    pub fn folder_like(&self, source: &Path) -> RelPath {
        let is_same = |folder: &&RelPath| !folder.as_bytes().is_empty() && source.ends_with(path_below(Path::new(""), folder));
        self.folder.as_ref().filter(is_same).cloned().unwrap_or_else(|| RelPath::new(""))
    }
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
