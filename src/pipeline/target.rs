//! Where logs go.

use std::path::{Path, PathBuf};

use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::pruned::Pruned;

/// The store that logs go to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The store.
    pub store: &'a Store,
    /// The disk under it.
    pub disk: &'a dyn Disk,
    /// What was pruned, and may be brought back from logs there.
    pub pruned: &'a Pruned,
    /// Whether names may change.
    pub mode: Mode,
}

/// Whether a conversion writes logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Logs get their names.
    Replace,
    /// Everything but that.
    DryRun,
}

impl Target<'_> {
    /// Returns the folder for a log's temporary file: beside its final name, or
    /// for a dry run the system's.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub(super) fn scratch_folder(&self, log_path: &Path) -> Result<PathBuf, StoreError> {
        match self.mode {
            Mode::DryRun => Ok(std::env::temp_dir()),
            Mode::Replace => {
                let folder = log_path.parent().unwrap_or(self.store.root());
                self.disk.create_folders(folder)?;
                Ok(folder.to_owned())
            }
        }
    }
}
