//! Putting rebuilt files on disk: below one folder, over nothing that exists.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::files::RelPath;

use super::disk::Disk;
use super::error::StoreError;
use super::layout::path_below;

/// A folder that files are restored into.
#[derive(Debug)]
pub struct RestoreFolder<'d> {
    root: PathBuf,
    disk: &'d dyn Disk,
}

impl<'d> RestoreFolder<'d> {
    /// Restores below this folder, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn at(root: &Path, disk: &'d dyn Disk) -> Result<Self, StoreError> {
        disk.create_folders(root)?;
        let root = fs::canonicalize(root).map_err(StoreError::io("find", root))?;
        Ok(RestoreFolder { root, disk })
    }

    /// Where a path of a log lies below the folder. No path leads out: none is
    /// absolute, none climbs, and no link is passed on the way.
    ///
    /// # Errors
    /// When it would.
    fn place(&self, path: &RelPath) -> Result<PathBuf, StoreError> {
        let outside = || StoreError::Outside { path: path.to_string() };
        let bytes = path.as_bytes();
        if bytes.is_empty() || bytes.contains(&0) || bytes.split(|b| *b == b'/').any(|part| matches!(part, b"" | b"." | b"..")) {
            return Err(outside());
        }
        let full = path_below(&self.root, path);
        let mut above = full.parent();
        while let Some(folder) = above.filter(|folder| *folder != self.root) {
            if fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink()) {
                return Err(outside());
            }
            above = folder.parent();
        }
        if fs::symlink_metadata(&full).is_ok() {
            return Err(StoreError::Exists { path: full });
        }
        Ok(full)
    }

    /// Creates a file to be filled.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn file(&self, path: &RelPath) -> Result<(File, PathBuf), StoreError> {
        let full = self.place(path)?;
        self.make_parent(&full)?;
        self.disk.create_private(&full).map(|file| (file, full))
    }

    /// Creates a file with these bytes.
    ///
    /// # Errors
    /// When something stands there, or it cannot be written.
    pub fn whole_file(&self, path: &RelPath, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let (mut file, full) = self.file(path)?;
        file.write_all(bytes).map_err(StoreError::io("write", &full))?;
        Ok(full)
    }

    /// Creates a link.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn link(&self, path: &RelPath, target: &[u8]) -> Result<PathBuf, StoreError> {
        let full = self.place(path)?;
        self.make_parent(&full)?;
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        std::os::unix::fs::symlink(target, &full).map_err(StoreError::io("link", &full))?;
        Ok(full)
    }

    /// Creates an empty folder.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn folder(&self, path: &RelPath) -> Result<(), StoreError> {
        let full = self.place(path)?;
        self.disk.create_folders(&full)
    }

    /// Gives a restored file the permissions and time it had, as receipts have
    /// them; never more than its owner may do with set-id bits.
    ///
    /// # Errors
    /// When it cannot.
    pub fn set_mode_and_time(&self, full: &Path, mode: u32, mtime_ns: i64) -> Result<(), StoreError> {
        let file = File::options().write(true).open(full).map_err(StoreError::io("open", full))?;
        let since = std::time::Duration::from_nanos(u64::try_from(mtime_ns).unwrap_or(0));
        file.set_modified(std::time::UNIX_EPOCH + since).map_err(StoreError::io("set the time of", full))?;
        super::disk::set_mode(&file, mode & 0o777, full)
    }

    /// Removes a file that turned out wrong.
    ///
    /// # Errors
    /// When it cannot.
    pub fn discard(&self, full: &Path) -> Result<(), StoreError> {
        self.disk.remove(full)
    }

    fn make_parent(&self, full: &Path) -> Result<(), StoreError> {
        full.parent().map_or(Ok(()), |folder| self.disk.create_folders(folder))
    }
}
