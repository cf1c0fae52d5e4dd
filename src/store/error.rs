//! Why the disk could not do what was asked.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What went wrong on disk, for what, and where.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The system said no.
    Io {
        /// What was being done, in words that follow "cannot".
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file changed each time it was read.
    Unsteady {
        /// Which one.
        path: PathBuf,
    },
    /// A file is no longer what it was when a change of it was planned.
    Changed {
        /// Which one.
        path: PathBuf,
    },
    /// A program has a file open, or locked.
    Held {
        /// Which one.
        path: PathBuf,
    },
    /// Another run is writing to this store.
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// Parts of a larger run of another number of parts are writing to this store.
    OtherShards {
        /// The store.
        path: PathBuf,
        /// How many parts theirs has.
        of: u32,
    },
    /// Something stands where a file is to be written.
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Something else stands where a file or a folder of ours belongs.
    Planted {
        /// Where.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What belongs there.
        wanted: &'static str,
    },
    /// What is to be written needs more room than there is.
    NoRoom {
        /// Where to.
        path: PathBuf,
        /// How many bytes it needs.
        needs: u64,
        /// How many there are.
        free: u64,
    },
    /// A session needs more memory than there is.
    NoMemory {
        /// Its largest file.
        path: PathBuf,
        /// How many bytes its files have.
        bytes: u64,
        /// How many bytes of memory there are.
        free: u64,
    },
    /// A path of a log or receipt leads out of the folder that it is below.
    Outside {
        /// The path.
        path: String,
    },
    /// A database that cannot be converted.
    Database {
        /// Its main file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A blob that a log names is not there, or not what its name says.
    Blob {
        /// The hash.
        sha256: String,
    },
}

impl StoreError {
    /// For `map_err`: what was being done, and where.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { doing, path, source }
    }

    /// Returns what a person can do where the system said no.
    #[must_use]
    pub fn io_hint(kind: io::ErrorKind) -> Option<&'static str> {
        let hints = [
            (io::ErrorKind::PermissionDenied, "check the permissions, or run as the user who owns the files"),
            (io::ErrorKind::StorageFull, "free some space and run again: it goes on where it stopped"),
            (io::ErrorKind::FileTooLarge, "the file size limit is too low for this file: raise it (`ulimit -f unlimited`) and run again"),
            (io::ErrorKind::OutOfMemory, "there is not enough memory for it: use a machine with more, or leave it out"),
            (io::ErrorKind::ReadOnlyFilesystem, "choose another destination with `-o`"),
        ];
        hints.iter().find(|(one, _)| *one == kind).map(|(_, hint)| *hint)
    }

    /// Returns what a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Io { source, .. } => StoreError::io_hint(source.kind()),
            StoreError::Unsteady { .. } => Some("stop the program that writes it, and run again"),
            StoreError::Changed { .. } => {
                Some("nothing more was done; see what wrote it, then make a new plan (`everlog repair SOURCE`, `everlog prune SOURCE`)")
            }
            StoreError::Held { .. } => Some("run again when its program has closed it"),
            StoreError::Locked { .. } => Some("wait until the other run is done, or choose another destination with `-o`"),
            StoreError::OtherShards { .. } => Some("wait until those are done: runs of one number of parts follow those of another"),
            StoreError::Exists { .. } => Some("choose an empty folder with `-o`: nothing is ever overwritten"),
            StoreError::Planted { what: "a hard link to another file", .. } => {
                Some("writing to it would change that file too: put a copy in its place, and run again")
            }
            StoreError::Planted { .. } => {
                Some("everlog follows no links and opens no pipes or devices there: see who made it, remove it, and run again")
            }
            StoreError::NoRoom { .. } => Some("nothing was written: free some space, or choose a folder on another disk with `-o`"),
            StoreError::NoMemory { .. } => Some("convert it on a machine with more memory, or leave it out with `--exclude`"),
            StoreError::Outside { .. } => Some("nothing was done: this log or receipt was not made by everlog, or was changed since"),
            StoreError::Database { .. } => {
                Some("nothing of it was converted or changed; a newer everlog may know it, and a copy of its folder keeps it safe")
            }
            StoreError::Blob { .. } => Some("blobs lie in `.everlog/blobs` beside the logs; copy that folder too"),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io { doing, path, .. } => write!(f, "cannot {doing} {}", path.display()),
            StoreError::Unsteady { path } => write!(f, "{} changes while it is being read", path.display()),
            StoreError::Changed { path } => write!(f, "{} has changed since", path.display()),
            StoreError::Held { path } => write!(f, "a program has {} open", path.display()),
            StoreError::Locked { path } => write!(f, "another run is writing to {}", path.display()),
            StoreError::OtherShards { path, of } => write!(f, "a part of a run of {of} parts is writing to {}", path.display()),
            StoreError::Database { path, what } => write!(f, "the database {} cannot be converted: {what}", path.display()),
            StoreError::Exists { path } => write!(f, "{} exists already", path.display()),
            StoreError::Planted { path, what, wanted } => write!(f, "{} is {what}, where {wanted} belongs", path.display()),
            StoreError::NoRoom { path, needs, free } => {
                write!(f, "{needs} bytes are to be written to {}, and {free} are free there", path.display())
            }
            StoreError::NoMemory { path, bytes, free } => {
                let needed = super::memory::needed(*bytes);
                write!(
                    f,
                    "{} is too large: its session has {bytes} bytes and may take {needed} bytes of memory, of which {free} are free",
                    path.display()
                )
            }
            StoreError::Outside { path } => write!(f, "the path {path:?} leads out of the folder"),
            StoreError::Blob { sha256 } => write!(f, "the attachment {sha256} is missing or damaged"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreError::Io { source, .. } => Some(source),
            StoreError::Unsteady { .. }
            | StoreError::Changed { .. }
            | StoreError::Held { .. }
            | StoreError::Locked { .. }
            | StoreError::OtherShards { .. }
            | StoreError::Exists { .. }
            | StoreError::Planted { .. }
            | StoreError::NoRoom { .. }
            | StoreError::NoMemory { .. }
            | StoreError::Outside { .. }
            | StoreError::Database { .. }
            | StoreError::Blob { .. } => None,
        }
    }
}
