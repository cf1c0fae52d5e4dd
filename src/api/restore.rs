//! The original files of a log.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::model::files::RelPath;
use crate::pipeline::open::LogFile;
use crate::pipeline::restore::{Restoration, restore};
use crate::store::disk::RealDisk;

use super::error::Error;
use super::log::Log;

/// The files that a log was restored to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestoredFiles {
    /// How many files.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many of the files had their bytes already.
    pub already: u64,
}

impl Log {
    /// Rebuilds the session's original files below a folder, byte for byte.
    ///
    /// Each file is compared with the size and the hash that the log records
    /// before it gets its name. Nothing is overwritten, and nothing is written
    /// outside of the folder. Of a session that cannot be restored as a whole no
    /// file stays.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
    /// let restored = log.restore_to(folder.path())?;
    /// assert_eq!((restored.files, restored.bytes), (1, 2138));
    /// let original = std::fs::read("examples/sessions/two-branches.jsonl")?;
    /// assert_eq!(std::fs::read(folder.path().join("two-branches.jsonl"))?, original);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Store`] where another file has the name of one of the session's,
    /// or the disk fails; [`Error::Read`] where the log does not rebuild to what it
    /// records; [`Error::Unrestorable`] where it names paths that lead elsewhere.
    pub fn restore_to(&self, folder: impl AsRef<Path>) -> Result<RestoredFiles, Error> {
        let name = self.path.file_name().unwrap_or_default();
        let relative = RelPath::new(name.as_encoded_bytes());
        let name = name.to_string_lossy().into_owned();
        let log = LogFile { path: self.path.clone(), below: RelPath::new(""), relative, name, bytes: None };
        let (logs, stop) = ([log], AtomicBool::new(false));
        let job = Restoration { logs: &logs, dest: folder.as_ref(), jobs: 1, stop: &stop, disk: &RealDisk };
        let restored = restore(&job)?.results.into_iter().flatten().next();
        let restored = restored.ok_or_else(|| Error::Bug("the log was not restored, and nothing says why".to_owned()))??;
        Ok(RestoredFiles { files: restored.files, bytes: restored.bytes, already: restored.already })
    }
}
