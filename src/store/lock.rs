//! One writer per store, or one for each part of a larger run; and whether a
//! program holds a session open.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::shard::Shard;

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;
use super::walk;

/// The lock of a file, until dropped or until the process dies.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes it, unless somebody has it.
    ///
    /// # Errors
    /// When another process has it, or it cannot be taken.
    pub fn take(file: File) -> Result<FileLock, (File, TryLockError)> {
        match file.try_lock() {
            Ok(()) => Ok(FileLock { file }),
            Err(error) => Err((file, error)),
        }
    }

    /// Takes it together with others who do, unless somebody has it alone.
    ///
    /// # Errors
    /// When a process has it alone, or it cannot be taken.
    pub fn share(file: File) -> Result<FileLock, (File, TryLockError)> {
        match file.try_lock_shared() {
            Ok(()) => Ok(FileLock { file }),
            Err(error) => Err((file, error)),
        }
    }

    /// Takes the lock of a folder itself, so that no file for it is left there.
    /// Nothing where the filesystem has no locks for folders.
    ///
    /// # Errors
    /// When another process has it, or the folder cannot be opened.
    pub fn of_folder(folder: &Path) -> Result<Option<FileLock>, StoreError> {
        match FileLock::take(walk::open_any("open", folder)?) {
            Ok(lock) => Ok(Some(lock)),
            Err((_, TryLockError::WouldBlock)) => Err(StoreError::Locked { path: folder.to_owned() }),
            Err((_, TryLockError::Error(_))) => Ok(None),
        }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Lets go of it before the file is closed.
    pub fn release(&self) {
        // If that fails, closing is all there is left.
        let _ = self.file.unlock();
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // To close the file is not enough: a process that was started just now
        // has it too, for as long as it has not become another program.
        self.release();
    }
}

/// The right to write to a store.
#[derive(Debug)]
pub struct StoreLock {
    /// The store's own one; for a part of a larger run its own one too.
    _locks: Vec<FileLock>,
}

impl StoreLock {
    /// Takes the lock of a store. A part of a larger run shares it with the parts
    /// beside it: with no other run, and with no part of another number of parts,
    /// whose sessions would be some of its own.
    ///
    /// # Errors
    /// When another process has it, or the file cannot be made.
    pub fn take(store: &Store, disk: &dyn Disk) -> Result<StoreLock, StoreError> {
        store.refuse_planted()?;
        disk.create_folders(&store.private())?;
        let path = store.lock();
        let file = disk.open_lock(&path)?;
        let Some(shard) = store.shard() else {
            let lock = FileLock::take(file).map_err(|(_, error)| refused(error, path, store))?;
            return Ok(StoreLock { _locks: vec![lock] });
        };
        let shared = FileLock::share(file).map_err(|(_, error)| refused(error, path, store))?;
        let path = store.lock_of(shard);
        let own = FileLock::take(disk.open_lock(&path)?).map_err(|(_, error)| refused(error, path, store))?;
        // Of two that start at once each has its own lock by now, so at least one of
        // them sees the other.
        refuse_other_numbers(store, shard)?;
        Ok(StoreLock { _locks: vec![shared, own] })
    }

    /// Waits until no other part of the larger run has this, and keeps them out of
    /// it: of what belongs to the store and to no session, each has to see what the
    /// one before has written.
    ///
    /// # Errors
    /// When the file cannot be made or locked.
    pub fn wait_for_turn(&self, store: &Store, disk: &dyn Disk) -> Result<FileLock, StoreError> {
        let path = store.shared_lock();
        let file = disk.open_lock(&path)?;
        file.lock().map_err(StoreError::io("lock", &path))?;
        Ok(FileLock { file })
    }
}

fn refused(error: TryLockError, path: PathBuf, store: &Store) -> StoreError {
    match error {
        TryLockError::WouldBlock => StoreError::Locked { path: store.root().to_owned() },
        TryLockError::Error(source) => StoreError::Io { doing: "lock", path, source },
    }
}

/// Refuses to go on while a part of another number of parts runs.
fn refuse_other_numbers(store: &Store, shard: Shard) -> Result<(), StoreError> {
    for (other, path) in store.locks_of_parts().into_iter().filter(|(other, _)| other.of() != shard.of()) {
        let Ok((file, _)) = disk::open_regular(&path) else { continue };
        match FileLock::share(file) {
            Ok(free) => drop(free),
            Err((_, TryLockError::WouldBlock)) => return Err(StoreError::OtherShards { path: store.root().to_owned(), of: other.of() }),
            Err((_, TryLockError::Error(source))) => return Err(StoreError::Io { doing: "lock", path, source }),
        }
    }
    Ok(())
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
        let table = disk::read(Path::new("/proc/locks")).unwrap_or_default();
        let table = String::from_utf8_lossy(&table);
        let held = table.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let flock = words.iter().position(|word| *word == "FLOCK")?;
            let inode = words.get(flock + 4)?.rsplit(':').next()?.parse().ok()?;
            Some((inode, (*words.get(flock + 3)?).to_owned()))
        });
        HeldLocks { held: held.collect() }
    }

    /// Asks the system while other work goes on: Linux waits for all processors
    /// before it tells.
    #[must_use]
    pub fn ask() -> AskedLocks {
        AskedLocks { answer: std::thread::Builder::new().spawn(HeldLocks::now) }
    }

    /// The same without the locks of a store that is being written: where nobody
    /// holds another, no file needs to be asked about.
    #[must_use]
    pub fn besides(mut self, store: &Store) -> HeldLocks {
        let parts = store.locks_of_parts().into_iter().map(|(_, path)| path);
        for path in parts.chain([store.lock(), store.shared_lock()]) {
            if let Ok(meta) = std::fs::symlink_metadata(path) {
                self.held.retain(|(inode, _)| *inode != meta.ino());
            }
        }
        self
    }

    /// The process that holds a lock on a file; its path is asked for only where
    /// there are locks.
    #[must_use]
    pub fn holder(&self, path: impl FnOnce() -> PathBuf) -> Option<&str> {
        if self.held.is_empty() {
            return None;
        }
        let inode = std::fs::symlink_metadata(path()).ok()?.ino();
        self.held.iter().find(|(held, _)| *held == inode).map(|(_, process)| process.as_str())
    }
}

/// A question about locks.
#[derive(Debug)]
pub struct AskedLocks {
    answer: std::io::Result<std::thread::JoinHandle<HeldLocks>>,
}

impl AskedLocks {
    /// The answer.
    #[must_use]
    pub fn answer(self) -> HeldLocks {
        // No thread to be had, or none that came back: asked here.
        self.answer.ok().and_then(|asked| asked.join().ok()).unwrap_or_else(HeldLocks::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_lock_ends_with_its_value_even_where_a_child_still_has_the_file() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let held = FileLock::take(named.reopen().unwrap()).unwrap();
        let shared = held.file().try_clone().unwrap();
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(shared)).spawn().unwrap();
        assert!(FileLock::take(named.reopen().unwrap()).is_err());
        drop(held);
        assert!(FileLock::take(named.reopen().unwrap()).is_ok());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
