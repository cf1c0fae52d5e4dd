//! Replacing files so that each is the old one or the new one, whatever
//! happens: written beside, synced, renamed, and the folder synced. Many logs
//! go together, because a sync costs the same for one file as for a hundred.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::{Disk, Look, folder_of};
use super::error::StoreError;
use super::layout::TEMPORARY;

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
    /// Where it lies.
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
        // behind it.
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
    for _ in 0..NAMES_TRIED {
        let path = folder.join(format!(".{}-{}{TEMPORARY}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        match disk.create_private(&path) {
            Ok(file) => return Ok(Temporary { file, path: Some(path), disk }),
            // Left by a process that had our number.
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

/// From so many files on one sync of the filesystem is cheaper than one each.
const SYNC_TOGETHER: usize = 4;

/// Replaces all of them: no name changes before all bytes are safe.
///
/// # Errors
/// At the first that fails; each name then has its old or its new file.
pub fn commit(disk: &dyn Disk, root: &Path, ready: &[Ready]) -> Result<(), StoreError> {
    // Before the renames, or a power cut could publish a name with no bytes
    // behind it.
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
    let folder = folder_of(path);
    let temporary = temporary_in(disk, folder)?;
    temporary.fill(bytes)?;
    temporary.replace(path)?;
    disk.sync(folder)
}

/// Whether a name is that of a temporary.
fn is_temporary(name: &[u8]) -> bool {
    // Exactly as `temporary_in` makes them: a person's file may end like that.
    let number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let own = name.strip_prefix(b".").and_then(|name| name.strip_suffix(TEMPORARY.as_bytes()));
    let parts = own.and_then(|own| memchr::memchr(b'-', own).map(|at| (&own[..at], &own[at + 1..])));
    parts.is_some_and(|(process, count)| number(process) && number(count))
}

/// Removes what runs that were cut short have left in one folder.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep_one(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let left = entries.filter(|entry| is_temporary(entry.file_name().as_encoded_bytes()) && is_file(entry));
    left.map(|entry| entry.path()).try_for_each(|path| disk.remove(&path))
}

/// Removes what runs that were cut short have left below a store.
///
/// # Errors
/// When something cannot be removed.
pub fn sweep(disk: &dyn Disk, root: &Path) -> Result<usize, StoreError> {
    let mut swept = 0;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if is_folder {
                folders.push(entry.path());
            } else if is_file && is_temporary(name) {
                disk.remove(&entry.path())?;
                swept += 1;
            }
        }
    }
    Ok(swept)
}
