//! Replacing files so that each is the old one or the new one, whatever
//! happens: written beside, synced, renamed, and the folder synced. Many logs
//! go together, because a sync costs the same for one file as for a hundred.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::shard::Shard;

use super::disk::{Disk, Look, folder_of};
use super::error::StoreError;
use super::layout::{Store, TEMPORARY};

/// A file on its way to a name; without one it is removed again.
#[derive(Debug)]
pub struct Temporary<'d> {
    /// The open file, private to its owner.
    pub file: File,
    /// Where it lies, unless it is somebody else's by now.
    path: Option<PathBuf>,
    disk: &'d dyn Disk,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            // A leftover is swept by the next run.
            let _ = self.disk.remove(&path);
        }
    }
}

impl Temporary<'_> {
    /// Returns where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Leaves it to the caller.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }

    /// Takes its name away: it vanishes with this process, whatever happens.
    ///
    /// # Errors
    /// When it cannot.
    pub fn forget_name(&mut self) -> Result<(), StoreError> {
        self.path.take().map_or(Ok(()), |path| self.disk.remove(&path))
    }

    /// Makes its bytes safe and gives it a name, replacing what had it.
    ///
    /// # Errors
    /// When it cannot.
    pub fn replace(self, name: &Path) -> Result<(), StoreError> {
        // Before the rename, or a power cut could publish a name with no bytes
        // after it.
        self.disk.sync(self.path())?;
        self.disk.rename(self.path(), name)?;
        let _ = self.keep();
        Ok(())
    }

    /// Gives it a name that nobody has. Not synced.
    ///
    /// # Errors
    /// When it cannot.
    pub fn name(self, name: &Path) -> Result<(), StoreError> {
        self.disk.rename_new(self.path(), name)?;
        let _ = self.keep();
        Ok(())
    }

    /// Gives it its owner, time and permissions.
    ///
    /// # Errors
    /// When it cannot.
    pub fn dress(&self, look: Look) -> Result<(), StoreError> {
        self.disk.dress(self.path(), &self.file, look)
    }

    /// Adds bytes at its end.
    ///
    /// # Errors
    /// When they cannot all be written.
    pub fn fill(&self, bytes: &[u8]) -> Result<(), StoreError> {
        self.disk.write(self.path(), &self.file, bytes)
    }
}

impl io::Write for &Temporary<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.fill(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(StoreError::Io { source, .. }) => Err(source),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// So many names are tried for a temporary.
const NAMES_TRIED: usize = 10_000;

/// Tells the temporaries of one process apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Creates a temporary in a folder, under a name that the next run can sweep.
///
/// # Errors
/// When it cannot.
pub fn temporary_in<'d>(disk: &'d dyn Disk, folder: &Path) -> Result<Temporary<'d>, StoreError> {
    temporary_of(None, disk, folder)
}

/// Creates a temporary in a folder of a store, for the run that writes to the
/// store: one that is a part of a larger run has its part in the name, so that the
/// parts beside it leave the temporary alone.
///
/// # Errors
/// When it cannot.
pub fn temporary_for<'d>(store: &Store, disk: &'d dyn Disk, folder: &Path) -> Result<Temporary<'d>, StoreError> {
    temporary_of(store.shard(), disk, folder)
}

fn temporary_of<'d>(shard: Option<Shard>, disk: &'d dyn Disk, folder: &Path) -> Result<Temporary<'d>, StoreError> {
    let part = shard.map(|shard| format!("{}.", shard.in_names())).unwrap_or_default();
    for _ in 0..NAMES_TRIED {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{part}{}-{number}{TEMPORARY}", std::process::id()));
        match disk.create_private(&path) {
            Ok(file) => return Ok(Temporary { file, path: Some(path), disk }),
            // Left by a process that had our number, or of one on another machine.
            Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Exists { path: folder.to_owned() })
}

/// One replacement that is ready: a temporary, and the name it is to have.
#[derive(Debug)]
pub struct Ready {
    /// The temporary.
    pub from: PathBuf,
    /// The name.
    pub to: PathBuf,
    /// A second name for what has that name now, given before it is replaced.
    pub keep_as: Option<PathBuf>,
}

/// Replacements that are ready. Those that were not made when this is dropped leave
/// nothing behind: on a full disk least of all.
#[derive(Debug)]
pub struct Prepared<'d> {
    ready: Vec<Ready>,
    disk: &'d dyn Disk,
}

impl<'d> Prepared<'d> {
    /// None yet.
    #[must_use]
    pub fn new(disk: &'d dyn Disk) -> Self {
        Prepared { ready: Vec::new(), disk }
    }

    /// One more.
    pub fn push(&mut self, one: Ready) {
        self.ready.push(one);
    }

    /// Makes all of them, as [`commit`] does.
    ///
    /// # Errors
    /// At the first that fails.
    pub fn commit(mut self, root: &Path) -> Result<(), StoreError> {
        if !self.ready.is_empty() {
            commit(self.disk, root, &self.ready)?;
        }
        self.ready.clear();
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        for one in &self.ready {
            // One that has its name by now is not there any more.
            let _ = self.disk.remove(&one.from);
        }
    }
}

/// From so many files on one sync of the filesystem is cheaper than one each.
const SYNC_TOGETHER: usize = 4;

/// Replaces all of them: no name changes before all bytes are safe.
///
/// # Errors
/// At the first that fails; each name then has its old or its new file.
pub fn commit(disk: &dyn Disk, root: &Path, ready: &[Ready]) -> Result<(), StoreError> {
    // Before the renames, or a power cut could publish a name with no bytes
    // after it.
    if ready.len() >= SYNC_TOGETHER {
        disk.sync_all_below(root)?;
    } else {
        for one in ready {
            disk.sync(&one.from)?;
        }
    }
    let mut folders = BTreeSet::new();
    for keep_as in ready.iter().filter_map(|one| one.keep_as.as_ref().map(|keep| (keep, &one.to))) {
        let (keep, current) = keep_as;
        let folder = folder_of(keep);
        disk.create_folders(folder)?;
        match disk.link(current, keep) {
            // Kept by a run that was cut short: it has the hash in its name.
            Ok(()) | Err(StoreError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
        disk.sync(folder)?;
    }
    for one in ready {
        disk.rename(&one.from, &one.to)?;
        folders.insert(folder_of(&one.to));
    }
    if folders.len() >= SYNC_TOGETHER {
        return disk.sync_all_below(root);
    }
    folders.into_iter().try_for_each(|folder| disk.sync(folder))
}

/// Puts bytes under a name, replacing what had it.
///
/// # Errors
/// When it cannot; the name then has its old file.
pub fn put(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    put_of(None, disk, path, bytes)
}

/// Puts bytes under a name in a store, for the run that writes to the store.
///
/// # Errors
/// When it cannot; the name then has its old file.
pub fn put_for(store: &Store, disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    put_of(store.shard(), disk, path, bytes)
}

fn put_of(shard: Option<Shard>, disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let folder = folder_of(path);
    let temporary = temporary_of(shard, disk, folder)?;
    temporary.fill(bytes)?;
    temporary.replace(path)?;
    disk.sync(folder)
}

/// Whose a temporary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// A run's that was alone.
    Alone,
    /// A part's of a larger run.
    Part(Shard),
}

/// Whose temporary has this name, if it is one's.
fn temporary(name: &[u8]) -> Option<Left> {
    // Exactly as `temporary_of` makes them: a person's file may end like that.
    let own = std::str::from_utf8(name).ok()?.strip_prefix('.')?.strip_suffix(TEMPORARY)?;
    let (part, own) = own.split_once('.').map_or((None, own), |(part, own)| (Some(part), own));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (process, count) = own.split_once('-')?;
    let left = part.map_or(Some(Left::Alone), |part| Shard::from_name(part).map(Left::Part))?;
    (is_number(process) && is_number(count)).then_some(left)
}

/// Removes what runs that were cut short have left in one folder.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep_one(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let left = entries.filter(|entry| temporary(entry.file_name().as_encoded_bytes()).is_some() && is_file(entry));
    left.map(|entry| entry.path()).try_for_each(|path| disk.remove(&path))
}

/// Removes what runs that were cut short have left below a folder.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep(disk: &dyn Disk, root: &Path) -> Result<usize, StoreError> {
    sweep_those(disk, root, |_| true)
}

/// Removes what runs that were cut short have left in a store that is locked.
/// What the other parts of a larger run have there may be in use.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep_store(store: &Store, disk: &dyn Disk) -> Result<usize, StoreError> {
    // The lock keeps runs away that are not parts, and parts of another number.
    let is_in_use = |left| matches!((left, store.shard()), (Left::Part(other), Some(own)) if own.is_beside(other));
    sweep_those(disk, store.root(), |left| !is_in_use(left))
}

fn sweep_those(disk: &dyn Disk, root: &Path, is_meant: impl Fn(Left) -> bool) -> Result<usize, StoreError> {
    let mut swept = 0;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let name = entry.file_name();
            if is_folder {
                folders.push(entry.path());
            } else if is_file && temporary(name.as_encoded_bytes()).is_some_and(&is_meant) {
                disk.remove(&entry.path())?;
                swept += 1;
            }
        }
    }
    Ok(swept)
}
