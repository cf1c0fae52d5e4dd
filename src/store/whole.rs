//! Whole files of a source, written beside their place and looking like what
//! they take the place of.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::disk::{Disk, Look, folder_of};
use super::error::StoreError;
use super::replace::temporary_in;

/// Returns a file that takes another's place looks like it; a new one like its folder,
/// or its program, which may be another user's, could not read it.
pub(super) fn look_of(target: &Path, now: Option<&Metadata>) -> Look {
    let folder = fs::metadata(folder_of(target)).ok();
    match now.or(folder.as_ref()) {
        Some(meta) => Look { mode: meta.mode() & 0o666, owner: Some((meta.uid(), meta.gid())), mtime_ns: None },
        None => Look { mode: 0o600, owner: None, mtime_ns: None },
    }
}

/// Writes a file's bytes into a temporary of a folder, safe from a power cut.
pub(super) fn stage(disk: &dyn Disk, folder: &Path, bytes: &[u8], look: Look) -> Result<PathBuf, StoreError> {
    let temporary = temporary_in(disk, folder)?;
    temporary.fill(bytes)?;
    temporary.dress(look)?;
    disk.sync(temporary.path())?;
    Ok(temporary.keep())
}
