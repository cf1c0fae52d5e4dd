//! Whole files of a source, written beside their place and looking like what
//! they take the place of.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::disk::{self, Disk};
use super::error::StoreError;
use super::replace::temporary_in;

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub mode: u32,
    pub owner: Option<(u32, u32)>,
    pub mtime_ns: Option<i64>,
}

/// A file that takes another's place looks like it; a new one like its folder,
/// or its program, which may be another user's, could not read it.
pub(super) fn look_of(target: &Path, now: Option<&Metadata>) -> Look {
    let folder = fs::metadata(parent(target)).ok();
    match now.or(folder.as_ref()) {
        Some(meta) => Look { mode: meta.mode() & 0o666, owner: Some((meta.uid(), meta.gid())), mtime_ns: None },
        None => Look { mode: 0o600, owner: None, mtime_ns: None },
    }
}

/// Writes a file's bytes into a temporary of a folder, safe from a power cut;
/// `path` is the name that it is to have.
pub(super) fn stage(disk: &dyn Disk, folder: &Path, bytes: &[u8], look: Look, path: &Path) -> Result<PathBuf, StoreError> {
    let temporary = temporary_in(folder)?;
    let write = || -> io::Result<()> {
        (&temporary.file).write_all(bytes)?;
        if let Some((uid, gid)) = look.owner {
            // Only the superuser may give files away; to others they belong
            // already.
            let _ = fchown(&temporary.file, Some(uid), Some(gid));
        }
        if let Some(mtime_ns) = look.mtime_ns.and_then(|ns| u64::try_from(ns).ok()) {
            temporary.file.set_modified(UNIX_EPOCH + Duration::from_nanos(mtime_ns))?;
        }
        Ok(())
    };
    write().map_err(StoreError::io("write", path))?;
    disk::set_mode(&temporary.file, look.mode, path)?;
    disk.sync(&temporary.path)?;
    Ok(temporary.path)
}

/// The folder of a file.
pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
