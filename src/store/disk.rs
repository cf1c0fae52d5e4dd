//! The seam: the only place that writes, renames, links, syncs or removes.
//! Everything that changes the disk goes through [`Disk`], so that a test can
//! put another one in its place and let it die at any step.

#![expect(clippy::disallowed_methods, reason = "this is the one place that may")]

use rustix::fs::{AtFlags, Mode, OFlags};
use std::fs::{self, File};
use std::io;
use std::io::Read;
use std::os::unix::fs::{FileExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::files::RelPath;
use crate::model::stream::ReadAt;

use super::error::StoreError;
use super::walk;
pub(super) use super::walk::folder_of;

/// Changes to the disk. Others may write to the same folders: no path may pass
/// through a symbolic link, and what is opened to be written must be a regular
/// file. A path that a person has named is resolved with [`walk::real_path`]
/// before it comes here.
pub trait Disk: Sync + std::fmt::Debug {
    /// Creates a file that only its owner can read; refuses one that exists.
    ///
    /// # Errors
    /// When it cannot.
    fn create_private(&self, path: &Path) -> Result<File, StoreError>;

    /// Opens a private file to lock it; it is made if need be.
    ///
    /// # Errors
    /// When it cannot.
    fn open_lock(&self, path: &Path) -> Result<File, StoreError>;

    /// Writes bytes where an open file stands; `path` is its name. Not synced.
    ///
    /// # Errors
    /// When it cannot write them all.
    fn write(&self, path: &Path, file: &File, bytes: &[u8]) -> Result<(), StoreError>;

    /// Gives an open file its owner, time and permissions; `path` is its name.
    ///
    /// # Errors
    /// When it cannot.
    fn dress(&self, path: &Path, file: &File, look: Look) -> Result<(), StoreError>;

    /// Makes sure that a file's bytes, or a folder's names, survive a power cut.
    ///
    /// # Errors
    /// When it cannot.
    fn sync(&self, path: &Path) -> Result<(), StoreError>;

    /// Makes sure that everything on the filesystem of a folder survives a power cut,
    /// with one call.
    ///
    /// # Errors
    /// When it cannot.
    fn sync_all_below(&self, folder: &Path) -> Result<(), StoreError>;

    /// Gives a file another name, replacing what had it.
    ///
    /// # Errors
    /// When it cannot.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError>;

    /// Gives a file another name; refuses one that exists.
    ///
    /// # Errors
    /// When it cannot.
    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), StoreError>;

    /// Gives a file a second name; refuses one that exists.
    ///
    /// # Errors
    /// When it cannot.
    fn link(&self, from: &Path, to: &Path) -> Result<(), StoreError>;

    /// Makes a symbolic link; refuses a name that exists.
    ///
    /// # Errors
    /// When it cannot.
    fn symlink(&self, target: &Path, path: &Path) -> Result<(), StoreError>;

    /// Adds bytes at the end of a private file, which is made if need be. Not
    /// synced: only for what can be made again.
    ///
    /// # Errors
    /// When it cannot.
    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError>;

    /// Adds bytes at the end of a file that is there and ends at `at`. Not
    /// synced.
    ///
    /// # Errors
    /// When it cannot, or the file ends elsewhere.
    fn extend(&self, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError>;

    /// Cuts a file off at `len`. Not synced.
    ///
    /// # Errors
    /// When it cannot.
    fn truncate(&self, path: &Path, len: u64) -> Result<(), StoreError>;

    /// Removes a file.
    ///
    /// # Errors
    /// When it cannot.
    fn remove(&self, path: &Path) -> Result<(), StoreError>;

    /// Creates one folder, readable by its owner only; one that is there will
    /// do. Not synced.
    ///
    /// # Errors
    /// When it cannot.
    fn create_folder(&self, path: &Path) -> Result<(), StoreError>;

    /// Creates a folder and those above it, and makes their names safe.
    ///
    /// # Errors
    /// When it cannot.
    fn create_folders(&self, path: &Path) -> Result<(), StoreError> {
        let mut missing = Vec::new();
        for folder in path.ancestors().take_while(|folder| !folder.as_os_str().is_empty()) {
            if walk::is_folder("create the folder", folder)? {
                break;
            }
            missing.push(folder);
        }
        for folder in missing.into_iter().rev() {
            self.create_folder(folder)?;
            // A name in a folder that is itself not safe is not safe either.
            self.sync(folder_of(folder))?;
        }
        Ok(())
    }
}

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its permission bits.
    pub mode: u32,
    /// Its user and group, where they are to be others than ours.
    pub owner: Option<(u32, u32)>,
    /// Its time, in nanoseconds since the epoch, where it is to be another
    /// than now.
    pub mtime_ns: Option<i64>,
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_private(&self, path: &Path) -> Result<File, StoreError> {
        walk::open_file("create", path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)
    }

    fn open_lock(&self, path: &Path) -> Result<File, StoreError> {
        // A network file system gives shared locks only on files that can be read.
        walk::open_file("open", path, OFlags::RDWR | OFlags::CREATE)
    }

    fn write(&self, path: &Path, mut file: &File, bytes: &[u8]) -> Result<(), StoreError> {
        io::Write::write_all(&mut file, bytes).map_err(StoreError::io("write", path))
    }

    fn dress(&self, path: &Path, file: &File, look: Look) -> Result<(), StoreError> {
        if let Some((uid, gid)) = look.owner {
            // Only the superuser may give files away; to others they belong
            // already.
            let _ = fchown(file, Some(uid), Some(gid));
        }
        if let Some(mtime_ns) = look.mtime_ns {
            file.set_modified(moment(mtime_ns)).map_err(StoreError::io("set the time of", path))?;
        }
        file.set_permissions(fs::Permissions::from_mode(look.mode)).map_err(StoreError::io("set the permissions of", path))
    }

    fn sync(&self, path: &Path) -> Result<(), StoreError> {
        walk::open_any("sync", path)?.sync_all().map_err(StoreError::io("sync", path))
    }

    fn sync_all_below(&self, folder: &Path) -> Result<(), StoreError> {
        let opened = walk::open_any("sync", folder)?;
        #[cfg(target_os = "linux")]
        return rustix::fs::syncfs(&opened).map_err(|error| StoreError::io("sync", folder)(error.into()));
        #[cfg(not(target_os = "linux"))]
        {
            // No such call: everything that is written is synced by itself.
            rustix::fs::sync();
            opened.sync_all().map_err(StoreError::io("sync", folder))
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        let doing = "rename a file to";
        let (old, new) = (walk::place(doing, from)?, walk::place(doing, to)?);
        rustix::fs::renameat(&old, old.name, &new, new.name).map_err(|error| StoreError::io(doing, to)(error.into()))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            let doing = "rename a file to";
            let (old, new) = (walk::place(doing, from)?, walk::place(doing, to)?);
            match renameat_with(&old, old.name, &new, new.name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::EXIST) => return Err(StoreError::Exists { path: to.to_owned() }),
                // A filesystem that does not know the flag: the way below.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(StoreError::io(doing, to)(error.into())),
            }
        }
        self.link(from, to).and_then(|()| self.remove(from))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        let doing = "link a file to";
        let (old, new) = (walk::place(doing, from)?, walk::place(doing, to)?);
        match rustix::fs::linkat(&old, old.name, &new, new.name, AtFlags::empty()) {
            Err(rustix::io::Errno::EXIST) => Err(StoreError::Exists { path: to.to_owned() }),
            done => done.map_err(|error| StoreError::io(doing, to)(error.into())),
        }
    }

    fn symlink(&self, target: &Path, path: &Path) -> Result<(), StoreError> {
        let new = walk::place("link", path)?;
        match rustix::fs::symlinkat(target, &new, new.name) {
            Err(rustix::io::Errno::EXIST) => Err(StoreError::Exists { path: path.to_owned() }),
            done => done.map_err(|error| StoreError::io("link", path)(error.into())),
        }
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut file = walk::open_in_place("open", path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        io::Write::write_all(&mut file, bytes).map_err(StoreError::io("write", path))
    }

    fn extend(&self, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let file = walk::open_in_place("open", path, OFlags::WRONLY)?;
        if file.size().map_err(StoreError::io("read", path))? != at {
            return Err(StoreError::Unsteady { path: path.to_owned() });
        }
        file.write_all_at(bytes, at).map_err(StoreError::io("write", path))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<(), StoreError> {
        let file = walk::open_in_place("open", path, OFlags::WRONLY)?;
        file.set_len(len).map_err(StoreError::io("shorten", path))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        let old = walk::place("remove", path)?;
        rustix::fs::unlinkat(&old, old.name, AtFlags::empty()).map_err(|error| StoreError::io("remove", path)(error.into()))
    }

    fn create_folder(&self, path: &Path) -> Result<(), StoreError> {
        let new = walk::place("create the folder", path)?;
        match rustix::fs::mkdirat(&new, new.name, Mode::RWXU) {
            // Two sessions of one folder are converted at once.
            Err(rustix::io::Errno::EXIST) => walk::is_folder("create the folder", path).map(|_| ()),
            made => made.map_err(|error| StoreError::io("create the folder", path)(error.into())),
        }
    }
}

/// Reads a whole regular file; a path that a person has named is resolved first.
///
/// # Errors
/// When it cannot, or something else stands there.
pub fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    let size = file.size().map_err(StoreError::io("read", path))?;
    reserve(&mut bytes, size).map_err(StoreError::io("read", path))?;
    file.read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    Ok(bytes)
}

/// Makes room for a file's bytes, or says that there is not so much memory: to
/// run out of it later would end the process, and all other sessions with it.
///
/// # Errors
/// When there is not so much.
pub(super) fn reserve(bytes: &mut Vec<u8>, size: u64) -> io::Result<()> {
    let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
    let size = usize::try_from(size).map_err(|_| too_much())?;
    bytes.try_reserve_exact(size.saturating_add(1)).map_err(|_| too_much())
}

/// Opens a regular file for reading; a path that a person has named is resolved
/// first.
///
/// # Errors
/// When it cannot, or something else stands there.
pub fn open(path: &Path) -> Result<File, StoreError> {
    walk::open_file("open", path, OFlags::RDONLY)
}

/// A folder that is open: what lies in it is found without going all the way.
#[derive(Debug)]
pub struct OpenFolder(File);

impl OpenFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it cannot.
    pub fn at(path: &Path) -> Result<OpenFolder, StoreError> {
        walk::open_any("open", path).map(OpenFolder)
    }

    /// Opens a regular file below it for reading.
    ///
    /// # Errors
    /// When it cannot.
    pub fn open(&self, path: &RelPath) -> io::Result<File> {
        let file = walk::open_below(&self.0, path)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
    }
}

/// Opens a regular file of a source. What stands there may have changed since
/// it was listed: a link is not followed, and a pipe does not keep us waiting.
///
/// # Errors
/// When it cannot, or it is not a regular file any more.
pub fn open_regular(path: &Path) -> Result<(File, fs::Metadata), StoreError> {
    let file = walk::open_file("read", path, OFlags::RDONLY)?;
    let meta = file.metadata().map_err(StoreError::io("read", path))?;
    Ok((file, meta))
}

/// Returns a moment before or after the epoch.
fn moment(ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(ns.unsigned_abs());
    if ns < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
}

impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        self.metadata().map(|meta| meta.len())
    }

    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        loop {
            match self.read_at(buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }
}
