//! The real disk with somebody looking on, who may say no to any step.

use everlog::store::StoreError;
use everlog::store::disk::{Disk, Look, RealDisk};
use std::fmt::Debug;
use std::fs::File;
use std::path::Path;

/// One change of the disk.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    CreatePrivate { path: &'a Path },
    OpenLock { path: &'a Path },
    Write { path: &'a Path, file: &'a File, bytes: &'a [u8] },
    Dress { path: &'a Path, look: Look },
    Sync { path: &'a Path },
    SyncAllBelow { path: &'a Path },
    Rename { from: &'a Path, path: &'a Path },
    RenameNew { from: &'a Path, path: &'a Path },
    Link { from: &'a Path, path: &'a Path },
    Symlink { target: &'a Path, path: &'a Path },
    Append { path: &'a Path, bytes: &'a [u8] },
    Extend { path: &'a Path, at: u64, bytes: &'a [u8] },
    Truncate { path: &'a Path, len: u64 },
    Remove { path: &'a Path },
    CreateFolder { path: &'a Path },
}

impl<'a> Step<'a> {
    /// What it is done to.
    pub fn path(&self) -> &'a Path {
        match self {
            Step::CreatePrivate { path }
            | Step::OpenLock { path }
            | Step::Write { path, .. }
            | Step::Dress { path, .. }
            | Step::Sync { path }
            | Step::SyncAllBelow { path }
            | Step::Rename { path, .. }
            | Step::RenameNew { path, .. }
            | Step::Link { path, .. }
            | Step::Symlink { path, .. }
            | Step::Append { path, .. }
            | Step::Extend { path, .. }
            | Step::Truncate { path, .. }
            | Step::Remove { path }
            | Step::CreateFolder { path } => path,
        }
    }

    /// That it fails, and why.
    pub fn refused(&self, why: std::io::Error) -> StoreError {
        StoreError::Io { doing: "go on with", path: self.path().to_owned(), source: why }
    }
}

/// Who looks on.
pub trait Watch: Sync + Debug {
    /// Before a step is done; an error keeps it from being done.
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError>;
    /// After it was done.
    fn after(&self, _step: &Step<'_>) {}
}

/// The real disk, watched.
#[derive(Debug)]
pub struct Watched<W>(pub W);

impl<W: Watch> Watched<W> {
    fn step<T>(&self, step: Step<'_>, act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.0.before(&step)?;
        let done = act()?;
        self.0.after(&step);
        Ok(done)
    }
}

impl<W: Watch> Disk for Watched<W> {
    fn create_private(&self, path: &Path) -> Result<File, StoreError> {
        self.step(Step::CreatePrivate { path }, || RealDisk.create_private(path))
    }
    fn open_lock(&self, path: &Path) -> Result<File, StoreError> {
        self.step(Step::OpenLock { path }, || RealDisk.open_lock(path))
    }
    fn write(&self, path: &Path, file: &File, bytes: &[u8]) -> Result<(), StoreError> {
        self.step(Step::Write { path, file, bytes }, || RealDisk.write(path, file, bytes))
    }
    fn dress(&self, path: &Path, file: &File, look: Look) -> Result<(), StoreError> {
        self.step(Step::Dress { path, look }, || RealDisk.dress(path, file, look))
    }
    fn sync(&self, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Sync { path }, || RealDisk.sync(path))
    }
    fn sync_all_below(&self, path: &Path) -> Result<(), StoreError> {
        self.step(Step::SyncAllBelow { path }, || RealDisk.sync_all_below(path))
    }
    fn rename(&self, from: &Path, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Rename { from, path }, || RealDisk.rename(from, path))
    }
    fn rename_new(&self, from: &Path, path: &Path) -> Result<(), StoreError> {
        self.step(Step::RenameNew { from, path }, || RealDisk.rename_new(from, path))
    }
    fn link(&self, from: &Path, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Link { from, path }, || RealDisk.link(from, path))
    }
    fn symlink(&self, target: &Path, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Symlink { target, path }, || RealDisk.symlink(target, path))
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.step(Step::Append { path, bytes }, || RealDisk.append(path, bytes))
    }
    fn extend(&self, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.step(Step::Extend { path, at, bytes }, || RealDisk.extend(path, at, bytes))
    }
    fn truncate(&self, path: &Path, len: u64) -> Result<(), StoreError> {
        self.step(Step::Truncate { path, len }, || RealDisk.truncate(path, len))
    }
    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.step(Step::Remove { path }, || RealDisk.remove(path))
    }
    fn create_folder(&self, path: &Path) -> Result<(), StoreError> {
        self.step(Step::CreateFolder { path }, || RealDisk.create_folder(path))
    }
}
