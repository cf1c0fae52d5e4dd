//! Adding to a log where it lies: what is there is not touched, and counts until
//! what is new is complete.

use std::path::Path;

use super::disk::Disk;
use super::error::StoreError;

/// Adds bytes at the end of a file, which ends at `at`, and makes them safe.
/// Where not all could be written, what was is taken away again.
///
/// # Errors
/// When it cannot.
pub fn add(disk: &dyn Disk, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
    if let Err(error) = disk.extend(path, at, bytes) {
        if matches!(error, StoreError::Io { .. }) {
            // Whoever comes next does it where this fails too.
            let _ = disk.truncate(path, at);
        }
        return Err(error);
    }
    disk.sync(path)
}

/// Cuts the file off at `len`, for good.
///
/// # Errors
/// When it cannot.
pub fn cut(disk: &dyn Disk, path: &Path, len: u64) -> Result<(), StoreError> {
    disk.truncate(path, len)?;
    disk.sync(path)
}
