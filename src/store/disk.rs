//! The seam: the only place that writes, renames, links, syncs or removes.
//! Everything that changes the disk goes through [`Disk`], so that a test can
//! put another one in its place and let it die at any step.

#![expect(clippy::disallowed_methods, reason = "this is the one place that may")]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::model::stream::ReadAt;

use super::error::StoreError;

/// Changes to the disk.
pub trait Disk: Sync + std::fmt::Debug {
    /// Creates a file that only its owner can read; refuses one that exists.
    ///
    /// # Errors
    /// When it cannot.
    fn create_private(&self, path: &Path) -> Result<File, StoreError>;

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

    /// Creates a folder and those above it, readable by their owner only.
    ///
    /// # Errors
    /// When it cannot.
    fn create_folders(&self, path: &Path) -> Result<(), StoreError>;
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

    fn create_folders(&self, path: &Path) -> Result<(), StoreError> {
        use std::os::unix::fs::DirBuilderExt;
        let made: Vec<&Path> = path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(StoreError::io("create the folder", path))?;
        // A name in a folder that is itself not safe is not safe either.
        for above in made.iter().filter_map(|folder| folder.parent()) {
            self.sync(if above.as_os_str().is_empty() { Path::new(".") } else { above })?;
        }
        Ok(())
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

/// Sets a file's permission bits.
///
/// # Errors
/// When it cannot.
pub fn set_mode(file: &File, mode: u32, path: &Path) -> Result<(), StoreError> {
    file.set_permissions(fs::Permissions::from_mode(mode)).map_err(StoreError::io("set the permissions of", path))
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
