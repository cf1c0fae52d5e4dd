//! Logs as the user names them: one, several, or a whole store.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::format::Format;
use crate::log::{LogView, SealState};
use crate::model::files::RelPath;
use crate::model::folder::{Listed, ListedKind};
use crate::model::ids::Seq;
use crate::pipeline::open;
use crate::store::disk;
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::listing;
use crate::store::receipts::Receipts;
use crate::store::walk;

pub use crate::pipeline::open::{LogFile, session_folder};

use super::error::CommandError;

/// Finds the logs at a path: the file itself, or every log below a folder.
///
/// # Errors
/// When there are none, or the folder cannot be read.
pub fn find(path: &Path) -> Result<Vec<LogFile>, CommandError> {
    let logs = look(path)?.logs;
    if logs.is_empty() { Err(CommandError::NoLogs { path: path.to_owned() }) } else { Ok(logs) }
}

/// What lies at a path: logs, and what may be a log and cannot be looked at.
#[derive(Debug, Default)]
pub struct Looked {
    /// The logs.
    pub logs: Vec<LogFile>,
    /// What was not looked at.
    pub unread: Vec<Unread>,
}

/// What lies at a path, as [`Looked`] has it, and of logs no more than their names.
#[derive(Debug, Default)]
pub struct Names {
    /// The logs' paths below the store, or the log's own name.
    pub logs: Vec<RelPath>,
    /// What was not looked at.
    pub unread: Vec<Unread>,
}

/// What lies at a path, as [`Looked`] has it, and of logs no more than their names and
/// sizes.
#[derive(Debug, Default)]
pub struct Sizes {
    /// The logs' paths below the folder, or the log's own name, each with its size;
    /// none where that is not known yet.
    pub logs: Vec<(RelPath, Option<u64>)>,
    /// What was not looked at.
    pub unread: Vec<Unread>,
}

/// Something in a folder of logs that was not looked at.
#[derive(Debug)]
pub struct Unread {
    /// Where it is, below the folder.
    pub relative: RelPath,
    /// Why it was not looked at.
    pub why: NotRead,
}

/// Why something in a folder of logs was not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRead {
    /// A link has the name of a log; links in a store are never followed.
    Link,
    /// Something that is neither a file nor a folder nor a link has the name of
    /// a log.
    Special,
    /// The system refused to read it.
    Refused(String),
    /// The store's receipts name a log there, and none can be reached.
    Gone,
}

impl std::fmt::Display for NotRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotRead::Link => f.write_str("a link has the name of a log, and is not followed"),
            NotRead::Special => f.write_str("something that is not a file has the name of a log"),
            NotRead::Refused(why) => write!(f, "cannot be read: {why}"),
            NotRead::Gone => f.write_str("the store's receipts name this log, and it is not there"),
        }
    }
}

/// Finds the logs at a path, and what may be one and cannot be looked at. There
/// may be none.
///
/// # Errors
/// When the file or folder itself cannot be read.
pub fn look(path: &Path) -> Result<Looked, CommandError> {
    if !path.is_dir() {
        let (asked, Names { logs, unread }) = (Asked::of(path), look_at_names(path)?);
        return Ok(Looked { logs: logs.into_iter().map(|name| asked.log(path, name)).collect(), unread });
    }
    below(path, path, |path| !is_private(path))
}

/// Finds what [`look`] finds, where it may be a million logs and they are looked at
/// one by one: [`Asked::log`] gives the rest of each.
///
/// # Errors
/// When the file or folder itself cannot be read.
pub fn look_at_names(path: &Path) -> Result<Names, CommandError> {
    if !path.is_dir() {
        disk::open(path)?;
        let name = RelPath::new(path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default());
        return Ok(Names { logs: vec![name], unread: Vec::new() });
    }
    names_below(path, path, |path| !is_private(path))
}

/// Finds what [`look_at_names`] finds, with the sizes of the logs.
///
/// # Errors
/// When the file or folder itself cannot be read.
pub fn look_at_sizes(path: &Path) -> Result<Sizes, CommandError> {
    if !path.is_dir() {
        let Names { logs, unread } = look_at_names(path)?;
        return Ok(Sizes { logs: logs.into_iter().map(|name| (name, None)).collect(), unread });
    }
    let (logs, unread) = below_as(path, path, |path| !is_private(path), |entry, relative| (relative, Some(entry.size)))?;
    Ok(Sizes { logs, unread })
}

fn is_private(path: &RelPath) -> bool {
    path.as_bytes().split(|b| *b == b'/').any(|part| part == b".everlog")
}

/// A log that should be at a path and cannot be read there.
#[derive(Debug)]
pub struct MissingLog {
    /// Its path below the folder that was named.
    pub relative: RelPath,
    /// What is in its place.
    pub why: String,
}

/// Finds the logs at a path as [`look`] does, and with them what should be a log
/// there and is not: those that the store's receipts name, and whatever has the
/// name of one and is not a file. Half a store must not pass for all of it.
///
/// # Errors
/// When there are none, or the folder cannot be read.
pub fn find_all(path: &Path) -> Result<(Vec<LogFile>, Vec<MissingLog>), CommandError> {
    let Looked { logs, mut unread } = look(path)?;
    let asked = Asked::of(path);
    let receipts = asked.store.as_ref().filter(|_| path.is_dir()).map(Receipts::load).unwrap_or_default();
    unread.extend(gone(path, &asked, &receipts, logs.iter().map(|log| asked.name_of(log)), &unread));
    let mut missing: Vec<MissingLog> =
        unread.into_iter().map(|unread| MissingLog { why: unread.why.to_string(), relative: unread.relative }).collect();
    missing.sort_by(|a, b| a.relative.cmp(&b.relative));
    if logs.is_empty() && missing.is_empty() { Err(CommandError::NoLogs { path: path.to_owned() }) } else { Ok((logs, missing)) }
}

/// The logs that the receipts of a store name, that `path` asks for, and that are
/// neither among those found there nor among what could not be looked at.
pub(super) fn gone(
    path: &Path,
    asked: &Asked,
    receipts: &Receipts,
    found: impl Iterator<Item = RelPath>,
    unread: &[Unread],
) -> Vec<Unread> {
    let have: BTreeSet<RelPath> = found.chain(unread.iter().map(|one| asked.name_below(&one.relative))).collect();
    let names = receipts.iter().map(|receipt| RelPath::from_key(&receipt.log)).filter(|log| asked.takes(log) && !have.contains(log));
    let names = names.filter(|log| !stands(path, asked, log));
    let below = |log: RelPath| {
        let place = asked.place_of(path, &log);
        RelPath::new(place.strip_prefix(path).unwrap_or(&place).as_os_str().as_encoded_bytes())
    };
    names.map(|log| Unread { relative: below(log), why: NotRead::Gone }).collect()
}

/// Tells whether a log that was not listed is there now: it was written since. Behind
/// a link there is none, for no link in a store is followed.
pub(super) fn stands(path: &Path, asked: &Asked, log: &RelPath) -> bool {
    walk::is_file(&asked.place_of(&walk::real_path(path), log)).unwrap_or(false)
}

/// What a person can do about logs that are missing.
pub const MISSING_HINT: &str = "restore them from a copy, or migrate their source again; `everlog verify STORE` names all that is wrong";

/// Returns the logs of a store that held more than those that took their places.
///
/// # Errors
/// When they cannot be listed.
pub fn earlier(store: &Store) -> Result<Vec<LogFile>, CommandError> {
    look_at_earlier(store).map(|looked| looked.logs)
}

/// Returns the logs, and what may be one and cannot be looked at.
///
/// # Errors
/// When they cannot be listed.
pub fn look_at_earlier(store: &Store) -> Result<Looked, CommandError> {
    let folder = store.earlier_folder();
    if folder.is_dir() { below(&folder, store.root(), |_| true) } else { Ok(Looked::default()) }
}

/// Returns the names of the logs that held more than those that took their places.
///
/// # Errors
/// When they cannot be listed.
pub fn look_at_earlier_names(store: &Store) -> Result<Names, CommandError> {
    let folder = store.earlier_folder();
    if folder.is_dir() { names_below(&folder, store.root(), |_| true) } else { Ok(Names::default()) }
}

/// Returns the names of the logs below a folder, from another one above it.
fn names_below(folder: &Path, from: &Path, is_wanted: impl Fn(&RelPath) -> bool) -> Result<Names, CommandError> {
    let (logs, unread) = below_as(folder, from, is_wanted, |_, relative| relative)?;
    Ok(Names { logs, unread })
}

/// Returns the logs below a folder, with their paths from another one above it.
fn below(folder: &Path, from: &Path, is_wanted: impl Fn(&RelPath) -> bool) -> Result<Looked, CommandError> {
    let mut below = RelPath::new("");
    let (logs, unread) = below_as(folder, from, is_wanted, |entry, relative| {
        let above = folder_of(&relative);
        if below.as_bytes() != above {
            below = RelPath::new(above);
        }
        let below = below.clone();
        LogFile { path: path_below(folder, &entry.path), below, name: relative.to_string(), relative, bytes: Some(entry.size) }
    })?;
    Ok(Looked { logs, unread })
}

/// Returns the part of a path before its last name.
fn folder_of(path: &RelPath) -> &[u8] {
    let bytes = path.as_bytes();
    memchr::memrchr(b'/', bytes).map_or(&b""[..], |at| &bytes[..at])
}

/// Returns what `make` makes of the logs below a folder, and what cannot be looked at.
fn below_as<T>(
    folder: &Path,
    from: &Path,
    is_wanted: impl Fn(&RelPath) -> bool,
    mut make: impl FnMut(&Listed, RelPath) -> T,
) -> Result<(Vec<T>, Vec<Unread>), CommandError> {
    let listing = listing::list(folder)?;
    let prefix = RelPath::new(folder.strip_prefix(from).unwrap_or(Path::new("")).as_os_str().as_encoded_bytes());
    let is_log = |path: &RelPath| path.as_bytes().ends_with(LOG_SUFFIX.as_bytes()) && is_wanted(path);
    let wanted = listing.entries().iter().filter(|entry| entry.kind == ListedKind::File && is_log(&entry.path));
    let logs = wanted.map(|entry| make(entry, entry.path.below(&prefix))).collect();
    let not_read = |entry: &Listed| match &entry.kind {
        ListedKind::File | ListedKind::Folder => None,
        ListedKind::Link => is_log(&entry.path).then_some(NotRead::Link),
        ListedKind::Special => is_log(&entry.path).then_some(NotRead::Special),
        // Logs may be in a folder that cannot be read, whatever its name is. A
        // temporary of a migration that runs at the same time is gone by now.
        ListedKind::Unreadable(why) => {
            let is_gone = listing::is_gone(&path_below(folder, &entry.path));
            (is_wanted(&entry.path) && !is_gone).then(|| NotRead::Refused(why.to_string()))
        }
    };
    let unread = listing.entries().iter().filter_map(|entry| Some(Unread { relative: entry.path.below(&prefix), why: not_read(entry)? }));
    Ok((logs, unread.collect()))
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
    /// Returns what a path asks for.
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

    /// Returns the folder of the store that was named; empty where it was all of it, or one
    /// log.
    #[must_use]
    pub fn part(&self) -> RelPath {
        self.folder.clone().unwrap_or_else(|| RelPath::new(""))
    }

    /// Tells whether it is a store as a whole.
    #[must_use]
    pub fn is_whole_store(&self) -> bool {
        self.store.is_some() && self.folder.as_ref().is_some_and(|folder| folder.as_bytes().is_empty())
    }

    /// Tells whether a log of this name, which may be missing, would be part of it.
    #[must_use]
    pub fn takes(&self, log: &RelPath) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.as_bytes().is_empty() || log.folders().any(|above| above == *folder))
    }

    /// Returns the log of this name, where `path` asks for it: the log itself, or the folder
    /// that the name is below.
    #[must_use]
    pub fn log(&self, path: &Path, name: RelPath) -> LogFile {
        let at = if self.folder.is_some() { path_below(path, &name) } else { path.to_owned() };
        LogFile { path: at, below: RelPath::new(folder_of(&name)), name: name.to_string(), relative: name, bytes: None }
    }

    /// Returns a log's path below its store, even where a part of it was asked for.
    #[must_use]
    pub fn name_of(&self, log: &LogFile) -> RelPath {
        if let Some(folder) = &self.folder {
            return log.relative.below(folder);
        }
        let full = std::path::absolute(&log.path).ok();
        let below = full.as_ref().zip(self.store.as_ref()).and_then(|(path, store)| path.strip_prefix(store.root()).ok());
        below.map_or_else(|| log.relative.clone(), |path| RelPath::new(path.as_os_str().as_encoded_bytes()))
    }

    /// Returns the path below its store of something below what was asked for.
    #[must_use]
    pub fn name_below(&self, relative: &RelPath) -> RelPath {
        self.folder.as_ref().map_or_else(|| relative.clone(), |folder| relative.below(folder))
    }

    /// Tells whether it is a whole folder of logs: a store, or a folder that is
    /// no part of one.
    #[must_use]
    pub fn is_whole_folder(&self) -> bool {
        self.folder.is_some() && (self.store.is_none() || self.is_whole_store())
    }

    /// Returns where a log of this name would lie, named as `path` was, which asks for it.
    #[must_use]
    pub fn place_of(&self, path: &Path, log: &RelPath) -> PathBuf {
        let folder = self.folder.as_ref().map_or(0, |folder| folder.as_bytes().len());
        let below = log.as_bytes().get(folder..).unwrap_or_default();
        path_below(path, &RelPath::new(below.strip_prefix(b"/").unwrap_or(below)))
    }

    /// Returns what the names of a source's sessions are below, where the source is the
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
/// When it is not a log that this build understands.
pub fn open_any(path: &Path, until: Option<Seq>) -> Result<LogView<Arc<File>>, CommandError> {
    Ok(open::open_any(path, until)?)
}

/// Opens a log and finds its adapter.
///
/// # Errors
/// When it is not a log that this build understands.
pub fn open(path: &Path, until: Option<Seq>) -> Result<(LogView<Arc<File>>, &'static dyn Format), CommandError> {
    Ok(open::open(path, until)?)
}

/// Returns what to say about a log that is not as it was sealed; nothing where it is.
#[must_use]
pub fn seal_warning(seal: &SealState) -> Option<&'static str> {
    match seal {
        SealState::Good { .. } => None,
        SealState::Followed { .. } => Some("warning: something follows this log's last good seal"),
        SealState::Broken { .. } => Some("warning: this log was altered since it was sealed"),
        SealState::Missing => Some("warning: this log has no seal: it is incomplete"),
    }
}
