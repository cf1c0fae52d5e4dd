//! Putting rebuilt files on disk: below one folder, over nothing that exists.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::files::RelPath;

use super::disk::{Disk, Look, folder_of};
use super::error::StoreError;
use super::layout::path_below;
use super::replace::{Temporary, temporary_in};

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
        if !path.stays_inside() {
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

    /// Creates a file to be filled; it gets its name when it is whole.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn file(&self, path: &RelPath) -> Result<Restoring<'d>, StoreError> {
        let full = self.place(path)?;
        self.make_parent(&full)?;
        Ok(Restoring { temporary: temporary_in(self.disk, folder_of(&full))?, full })
    }

    /// Creates a link.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn link(&self, path: &RelPath, target: &[u8]) -> Result<PathBuf, StoreError> {
        let full = self.place(path)?;
        self.make_parent(&full)?;
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        self.disk.symlink(target, &full)?;
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

    /// Makes everything that was restored safe.
    ///
    /// # Errors
    /// When it cannot.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync_all_below(&self.root)
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

/// A file that is being restored: under its name it is whole or absent.
#[derive(Debug)]
pub struct Restoring<'d> {
    temporary: Temporary<'d>,
    full: PathBuf,
}

impl Restoring<'_> {
    /// What to write its bytes to.
    #[must_use]
    pub fn bytes(&self) -> &Temporary<'_> {
        &self.temporary
    }

    /// Gives it the permissions and time that it had, as receipts have them
    /// (never the set-id bits), and its name.
    ///
    /// # Errors
    /// When it cannot, or something stands there by now.
    pub fn done(self, was: Option<(u32, i64)>) -> Result<PathBuf, StoreError> {
        if let Some((mode, mtime_ns)) = was {
            self.temporary.dress(Look { mode: mode & 0o777, owner: None, mtime_ns: Some(mtime_ns) })?;
        }
        self.temporary.name(&self.full)?;
        Ok(self.full)
    }
}
