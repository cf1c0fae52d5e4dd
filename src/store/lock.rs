//! One writer per store, and whether a program holds a session open.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::disk::Disk;
use super::error::StoreError;
use super::layout::Store;

/// The right to write to a store, until dropped or until the process dies.
#[derive(Debug)]
pub struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock of a store.
    ///
    /// # Errors
    /// When another process has it, or the file cannot be made.
    pub fn take(store: &Store, disk: &dyn Disk) -> Result<StoreLock, StoreError> {
        disk.create_folders(&store.private())?;
        let path = store.lock();
        let file = disk.open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(StoreLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: store.root().to_owned() }),
            Err(TryLockError::Error(source)) => Err(StoreError::Io { doing: "lock", path, source }),
        }
    }
}

/// The locks that the system knows of, looked at without taking any: to try a
/// lock of another program could make that program fail.
#[derive(Debug, Clone, Default)]
pub struct HeldLocks {
    /// Inode and process of each.
    held: Vec<(u64, String)>,
}

impl HeldLocks {
    /// Asks the system; where it does not tell, none are known.
    #[must_use]
    pub fn now() -> HeldLocks {
        let table = super::disk::read(Path::new("/proc/locks")).unwrap_or_default();
        let table = String::from_utf8_lossy(&table);
        let held = table.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let flock = words.iter().position(|word| *word == "FLOCK")?;
            let inode = words.get(flock + 4)?.rsplit(':').next()?.parse().ok()?;
            Some((inode, (*words.get(flock + 3)?).to_owned()))
        });
        HeldLocks { held: held.collect() }
    }

    /// The process that holds a lock on a file.
    #[must_use]
    pub fn holder(&self, path: &Path) -> Option<&str> {
        if self.held.is_empty() {
            return None;
        }
        let inode = std::fs::symlink_metadata(path).ok()?.ino();
        self.held.iter().find(|(held, _)| *held == inode).map(|(_, process)| process.as_str())
    }
}
