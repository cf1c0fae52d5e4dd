//! Why something could not be done.

use std::fmt;
use std::path::PathBuf;

use crate::log::LogProblem;
use crate::model::stream::StreamError;
use crate::pipeline::open::LogError;
use crate::pipeline::restore::RestoreError;
use crate::store::StoreError;

/// Why something could not be done.
///
/// [`Display`](fmt::Display) says what happened, `source` why, and
/// [`hint`](Error::hint) what can be done about it.
///
/// ```
/// let error = everlog::Log::open("no-such.everlog.jsonl").unwrap_err();
/// assert!(matches!(error, everlog::Error::Store(_)), "{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file or a folder could not be read or written.
    Store(StoreError),
    /// A file is not a log that this version understands.
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: LogProblem,
    },
    /// A log could not be read to its end, or not rebuilt from.
    Read {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        source: StreamError,
    },
    /// The log has no head of this name.
    NoSuchHead {
        /// The name.
        head: String,
        /// The names of all heads.
        known: Vec<String>,
    },
    /// A format that this version does not know.
    UnknownFormat {
        /// The format.
        format: String,
    },
    /// The folder for logs and the source are inside each other.
    Overlap {
        /// The source.
        source: PathBuf,
        /// The folder for logs.
        dest: PathBuf,
    },
    /// The program of the sessions runs.
    Running {
        /// Its process.
        process: u32,
        /// The file that says so.
        file: PathBuf,
    },
    /// The log has nothing that could be restored, or names files that cannot be.
    Unrestorable {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A bug in everlog.
    Bug(String),
}

impl Error {
    /// Returns what can be done about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::Store(source) => source.hint().map(str::to_owned),
            Error::NoSuchHead { known, .. } => Some(format!("the log has {}", known.join(", "))),
            Error::UnknownFormat { .. } => Some("a newer version of everlog may know it".to_owned()),
            Error::Overlap { .. } => Some("choose a folder beside the source".to_owned()),
            Error::Running { .. } => Some("stop it first, or convert what is there now with `ConvertOptions::allow_running`".to_owned()),
            Error::Bug(_) => Some("please report it".to_owned()),
            Error::Log { .. } | Error::Read { .. } | Error::Unrestorable { .. } => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(source) => source.fmt(f),
            Error::Log { path, source } => write!(f, "{source}, at {}", path.display()),
            Error::Read { path, source } => write!(f, "{source}, at {}", path.display()),
            Error::NoSuchHead { head, .. } => write!(f, "the log has no head {head}"),
            Error::UnknownFormat { format } => write!(f, "{format} is not a format that this version knows"),
            Error::Overlap { source, dest } => {
                write!(f, "the folder {} and the source {} are inside each other", dest.display(), source.display())
            }
            Error::Running { process, file } => {
                write!(f, "process {process} works on these sessions right now, says {}", file.display())
            }
            Error::Unrestorable { path, what } => write!(f, "{what}, at {}", path.display()),
            Error::Bug(what) => write!(f, "a bug in everlog: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Store(source) => source.source(),
            Error::Log { source, .. } => source.source(),
            Error::Read { source, .. } => source.source(),
            Error::NoSuchHead { .. }
            | Error::UnknownFormat { .. }
            | Error::Overlap { .. }
            | Error::Running { .. }
            | Error::Unrestorable { .. }
            | Error::Bug(_) => None,
        }
    }
}

impl From<RestoreError> for Error {
    fn from(error: RestoreError) -> Error {
        match error {
            RestoreError::Log(LogError::Store(source)) => Error::Store(source),
            RestoreError::Log(LogError::Log { path, source }) => Error::Log { path, source },
            RestoreError::Log(LogError::Stream { path, source }) => Error::Read { path, source },
            RestoreError::Log(LogError::UnknownFormat { format }) => Error::UnknownFormat { format },
            RestoreError::Unrestorable { path, what } => Error::Unrestorable { path, what },
            RestoreError::NoFiles { path } => Error::Unrestorable { path, what: "the log has no files".to_owned() },
            RestoreError::Bug(what) => Error::Bug(what),
        }
    }
}

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Error {
        Error::Store(source)
    }
}
