//! Replacing files so that each is the old one or the new one, whatever
//! happens: written beside, synced, renamed, and the folder synced. Many logs
//! go together, because a sync costs the same for one file as for a hundred.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::StoreError;
use super::layout::TEMPORARY;

/// A file on its way to a name.
#[derive(Debug)]
pub struct Temporary {
    /// The open file, private to its owner.
    pub file: File,
    /// Where it lies.
    pub path: PathBuf,
}

/// Creates a temporary in a folder, under a name that the next run can sweep.
///
/// # Errors
/// When it cannot.
pub fn temporary_in(folder: &Path) -> Result<Temporary, StoreError> {
    let made =
        tempfile::Builder::new().prefix(".").suffix(TEMPORARY).tempfile_in(folder).map_err(StoreError::io("create a file in", folder))?;
    let (file, path) = made.keep().map_err(|error| StoreError::io("create a file in", folder)(error.error))?;
    Ok(Temporary { file, path })
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
        let folder = parent(keep);
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
        folders.insert(parent(&one.to));
    }
    if folders.len() >= SYNC_TOGETHER {
        return disk.sync_all_below(root);
    }
    folders.into_iter().try_for_each(|folder| disk.sync(folder))
}

fn parent(path: &Path) -> &Path {
    // A bare name lies in the folder that we are in.
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether a name is that of a temporary.
fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(b".") && name.ends_with(TEMPORARY.as_bytes())
}

/// Removes what runs that were cut short have left in one folder.
///
/// # Errors
/// When something cannot be removed.
pub(super) fn sweep_one(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let left = entries.filter(|entry| is_temporary(entry.file_name().as_encoded_bytes()));
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
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if is_folder {
                folders.push(entry.path());
            } else if is_temporary(name) {
                disk.remove(&entry.path())?;
                swept += 1;
            }
        }
    }
    Ok(swept)
}
