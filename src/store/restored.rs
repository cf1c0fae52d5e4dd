//! Putting rebuilt files on disk: below one folder, over nothing that exists. A
//! run that was cut short is gone on with: what has the right bytes already is
//! left as it is, and what it left under temporary names is removed.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::digest::hex;
use crate::model::files::RelPath;

use super::disk::{self, Disk, Look, folder_of};
use super::error::StoreError;
use super::inside::going_down;
use super::layout::path_below;
use super::lock::FileLock;
use super::replace::{Temporary, sweep_one, temporary_in};
use super::walk;

/// A folder that files are restored into, by one run at a time.
#[derive(Debug)]
pub struct RestoreFolder<'d> {
    root: PathBuf,
    disk: &'d dyn Disk,
    /// Nothing where the filesystem has no locks for folders.
    _lock: Option<FileLock>,
}

/// What is to stand at a path.
#[derive(Debug, Clone, Copy)]
pub enum Expected<'a> {
    /// A file of this size and hash.
    File {
        /// How many bytes.
        size: u64,
        /// Their hash.
        sha256: &'a str,
    },
    /// A link to this target.
    Link(&'a [u8]),
    /// A folder.
    Folder,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// What is to stand there.
    AsExpected,
}

impl<'d> RestoreFolder<'d> {
    /// Restores below this folder, which is made if need be.
    ///
    /// # Errors
    /// When it cannot be made, or another run restores into it.
    pub fn at(root: &Path, disk: &'d dyn Disk) -> Result<Self, StoreError> {
        let root = walk::real_path(root);
        disk.create_folders(&root)?;
        let root = fs::canonicalize(&root).map_err(StoreError::io("find", &root))?;
        let lock = FileLock::of_folder(&root)?;
        Ok(RestoreFolder { root, disk, _lock: lock })
    }

    /// Returns where a path of a log lies below the folder.
    ///
    /// # Errors
    /// When it leads out.
    pub(super) fn place(&self, path: &RelPath) -> Result<PathBuf, StoreError> {
        going_down(path)?;
        Ok(path_below(&self.root, path))
    }

    /// Tells whether a path is free, or has what is to stand there already.
    ///
    /// # Errors
    /// When something else stands there, or a link is on the way there.
    pub fn standing(&self, path: &RelPath, expected: Expected<'_>) -> Result<Standing, StoreError> {
        let full = self.place(path)?;
        let exists = |is_as_expected: Result<bool, StoreError>| match is_as_expected {
            Ok(true) => Ok(Standing::AsExpected),
            Ok(false) | Err(StoreError::Planted { .. }) => Err(StoreError::Exists { path: full.clone() }),
            Err(error) => Err(error),
        };
        // A link on the way there is another matter than something at its end.
        match walk::is_folder("open", folder_of(&full)) {
            Ok(true) => {}
            Ok(false) => return Ok(Standing::Nothing),
            Err(error) => return Err(error),
        }
        let Ok(meta) = fs::symlink_metadata(&full) else { return Ok(Standing::Nothing) };
        match expected {
            Expected::Folder => exists(Ok(meta.is_dir())),
            Expected::Link(target) => {
                exists(Ok(meta.is_symlink() && fs::read_link(&full).is_ok_and(|there| there.as_os_str().as_bytes() == target)))
            }
            Expected::File { size, sha256 } => {
                exists(if meta.is_file() && meta.len() == size { has_hash(&full, size, sha256) } else { Ok(false) })
            }
        }
    }

    /// Tells whether a file of this size stands at a path, as far as that can be seen
    /// without reading it: then it takes no more room.
    #[must_use]
    pub fn seems_there(&self, path: &RelPath, size: u64) -> bool {
        let full = path_below(&self.root, path);
        path.stays_inside() && fs::symlink_metadata(full).is_ok_and(|meta| meta.is_file() && meta.len() == size)
    }

    /// Returns how many bytes can be written to the folder's disk; nothing where that is
    /// not known.
    #[must_use]
    pub fn free(&self) -> Option<u64> {
        let state = rustix::fs::statvfs(&self.root).ok()?;
        // Some filesystems do not count their blocks.
        (state.f_blocks > 0).then(|| state.f_bavail.saturating_mul(state.f_frsize))
    }

    /// Returns the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Removes the temporaries that a run which was cut short has left where
    /// these files lie.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn sweep<'p>(&self, files: impl Iterator<Item = &'p RelPath>) -> Result<(), StoreError> {
        let places = files.filter_map(|path| self.place(path).ok()).map(|full| folder_of(&full).to_owned());
        let folders: BTreeSet<PathBuf> = places.collect();
        let is_there = |folder: &&PathBuf| walk::is_folder("open", folder).unwrap_or(false);
        folders.iter().filter(is_there).try_for_each(|folder| sweep_one(self.disk, folder))
    }

    /// Creates a file to be filled; it gets its name when it is whole.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn file(&self, path: &RelPath) -> Result<Restoring<'d>, StoreError> {
        let full = self.place(path)?;
        self.disk.create_folders(folder_of(&full))?;
        Ok(Restoring { disk: self.disk, temporary: temporary_in(self.disk, folder_of(&full))?, full })
    }

    /// Creates a link.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn link(&self, path: &RelPath, target: &[u8]) -> Result<PathBuf, StoreError> {
        let full = self.place(path)?;
        self.disk.create_folders(folder_of(&full))?;
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        self.disk.symlink(target, &full)?;
        Ok(full)
    }

    /// Creates an empty folder.
    ///
    /// # Errors
    /// When something stands there, or it cannot be made.
    pub fn folder(&self, path: &RelPath) -> Result<(), StoreError> {
        self.disk.create_folders(&self.place(path)?)
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
}

/// Tells whether a file has these bytes. No more of it is read than there should be: it
/// may grow meanwhile.
fn has_hash(path: &Path, size: u64, sha256: &str) -> Result<bool, StoreError> {
    let mut file: std::io::Take<File> = disk::open(path)?.take(size.saturating_add(1));
    let mut hash = Sha256::new();
    let mut read = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer).map_err(StoreError::io("read", path))? {
            0 => break,
            more => {
                hash.update(&buffer[..more]);
                read += more as u64;
            }
        }
    }
    Ok(read == size && hex(&hash.finalize()) == sha256)
}

/// A file that is being restored: under its name it is whole or absent.
#[derive(Debug)]
pub struct Restoring<'d> {
    disk: &'d dyn Disk,
    temporary: Temporary<'d>,
    full: PathBuf,
}

impl Restoring<'_> {
    /// Returns what to write its bytes to.
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
        // Before it has its name, or a power cut could leave a name with no bytes
        // after it, which the next run would take for somebody else's file.
        self.disk.sync(self.temporary.path())?;
        self.temporary.name(&self.full)?;
        Ok(self.full)
    }
}
