//! A disk that dies.

use everlog::store::StoreError;
use everlog::store::disk::{Disk, RealDisk};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A disk that does so many steps and then none any more.
#[derive(Debug)]
pub struct DyingDisk {
    steps: AtomicUsize,
    alive_for: usize,
}

impl DyingDisk {
    pub fn after(alive_for: usize) -> DyingDisk {
        DyingDisk { steps: AtomicUsize::new(0), alive_for }
    }

    pub fn steps(&self) -> usize {
        self.steps.load(Ordering::SeqCst)
    }

    pub fn survived(&self) -> bool {
        self.steps() <= self.alive_for
    }

    fn step(&self, path: &Path) -> Result<(), StoreError> {
        if self.steps.fetch_add(1, Ordering::SeqCst) < self.alive_for {
            return Ok(());
        }
        Err(StoreError::Io { doing: "go on with", path: path.to_owned(), source: std::io::Error::other("the machine has died") })
    }
}

impl Disk for DyingDisk {
    fn create_private(&self, path: &Path) -> Result<File, StoreError> {
        self.step(path).and_then(|()| RealDisk.create_private(path))
    }
    fn sync(&self, path: &Path) -> Result<(), StoreError> {
        self.step(path).and_then(|()| RealDisk.sync(path))
    }
    fn sync_all_below(&self, folder: &Path) -> Result<(), StoreError> {
        self.step(folder).and_then(|()| RealDisk.sync_all_below(folder))
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        self.step(to).and_then(|()| RealDisk.rename(from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        self.step(to).and_then(|()| RealDisk.rename_new(from, to))
    }
    fn link(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        self.step(to).and_then(|()| RealDisk.link(from, to))
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        self.step(path).and_then(|()| RealDisk.append(path, bytes))
    }
    fn extend(&self, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        // Death comes in the middle of the bytes.
        self.step(path).inspect_err(|_| RealDisk.extend(path, at, &bytes[..bytes.len() / 2]).unwrap_or_default())?;
        RealDisk.extend(path, at, bytes)
    }
    fn truncate(&self, path: &Path, len: u64) -> Result<(), StoreError> {
        self.step(path).and_then(|()| RealDisk.truncate(path, len))
    }
    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.step(path).and_then(|()| RealDisk.remove(path))
    }
    fn create_folders(&self, path: &Path) -> Result<(), StoreError> {
        self.step(path).and_then(|()| RealDisk.create_folders(path))
    }
}
