//! The seam: the only place that writes, renames, links, syncs or removes.
//! Everything that changes the disk goes through [`Disk`], so that a test can
//! put another one in its place and let it die at any step.

#![expect(clippy::disallowed_methods, reason = "this is the one place that may")]

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::files::RelPath;
use crate::model::stream::ReadAt;

use super::error::StoreError;

/// Changes to the disk.
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

    /// The same for everything on the filesystem of a folder, in one go.
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

    /// Takes away what stands behind `len` in a file. Not synced.
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
        let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()).collect();
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

/// The folder that a name lies in; a bare name lies in the one that we are in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_private(&self, path: &Path) -> Result<File, StoreError> {
        let made = File::options().read(true).write(true).create_new(true).mode(0o600).open(path);
        match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::Exists { path: path.to_owned() }),
            made => made.map_err(StoreError::io("create", path)),
        }
    }

    fn open_lock(&self, path: &Path) -> Result<File, StoreError> {
        File::options().create(true).truncate(false).write(true).mode(0o600).open(path).map_err(StoreError::io("open", path))
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
        File::open(path).and_then(|file| file.sync_all()).map_err(StoreError::io("sync", path))
    }

    fn sync_all_below(&self, folder: &Path) -> Result<(), StoreError> {
        let opened = File::open(folder).map_err(StoreError::io("sync", folder))?;
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
        fs::rename(from, to).map_err(StoreError::io("rename a file to", to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::EXIST) => return Err(StoreError::Exists { path: to.to_owned() }),
                // A filesystem that does not know the flag: the way below.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
                Err(error) => return Err(StoreError::io("rename a file to", to)(error.into())),
            }
        }
        self.link(from, to).and_then(|()| self.remove(from))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StoreError> {
        match fs::hard_link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(StoreError::Exists { path: to.to_owned() }),
            done => done.map_err(StoreError::io("link a file to", to)),
        }
    }

    fn symlink(&self, target: &Path, path: &Path) -> Result<(), StoreError> {
        std::os::unix::fs::symlink(target, path).map_err(StoreError::io("link", path))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut file = File::options().create(true).append(true).mode(0o600).open(path).map_err(StoreError::io("open", path))?;
        io::Write::write_all(&mut file, bytes).map_err(StoreError::io("write", path))
    }

    fn extend(&self, path: &Path, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let file = File::options().write(true).open(path).map_err(StoreError::io("open", path))?;
        if file.size().map_err(StoreError::io("read", path))? != at {
            return Err(StoreError::Unsteady { path: path.to_owned() });
        }
        file.write_all_at(bytes, at).map_err(StoreError::io("write", path))
    }

    fn truncate(&self, path: &Path, len: u64) -> Result<(), StoreError> {
        let file = File::options().write(true).open(path).map_err(StoreError::io("open", path))?;
        file.set_len(len).map_err(StoreError::io("shorten", path))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        fs::remove_file(path).map_err(StoreError::io("remove", path))
    }

    fn create_folder(&self, path: &Path) -> Result<(), StoreError> {
        use std::os::unix::fs::DirBuilderExt;
        match fs::DirBuilder::new().mode(0o700).create(path) {
            // Two sessions of one folder are converted at once.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made.map_err(StoreError::io("create the folder", path)),
        }
    }
}

/// Reads a whole file.
///
/// # Errors
/// When it cannot.
pub fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    fs::read(path).map_err(StoreError::io("read", path))
}

/// Opens a file for reading.
///
/// # Errors
/// When it cannot.
pub fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(StoreError::io("open", path))
}

/// A folder that is open: what lies in it is found without going all the way.
#[derive(Debug)]
pub struct OpenFolder(OwnedFd);

impl OpenFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it cannot.
    pub fn at(path: &Path) -> Result<OpenFolder, StoreError> {
        open(path).map(|file| OpenFolder(file.into()))
    }

    /// Opens a file below it for reading.
    ///
    /// # Errors
    /// When it cannot.
    pub fn open(&self, path: &RelPath) -> io::Result<File> {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, path.as_bytes(), flags, rustix::fs::Mode::empty())?.into())
    }
}

/// Opens a regular file of a source. What stands there may have changed since
/// it was listed: a link is not followed, and a pipe does not keep us waiting.
///
/// # Errors
/// When it cannot, or it is no regular file any more.
pub fn open_regular(path: &Path) -> Result<(File, fs::Metadata), StoreError> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path).and_then(|file| {
        let meta = file.metadata()?;
        if meta.is_file() { Ok((file, meta)) } else { Err(io::Error::other("it is no regular file any more")) }
    });
    opened.map_err(StoreError::io("read", path))
}

/// A moment before or after the epoch.
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
