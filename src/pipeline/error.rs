//! Why a session could not be converted.

use std::fmt;

use crate::log::LogProblem;
use crate::model::stream::StreamError;
use crate::store::StoreError;
use crate::verify::Difference;

/// Why a session could not be converted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// The disk.
    Store(StoreError),
    /// The log could not be written or read back.
    Stream(StreamError),
    /// The file that was read back is not a valid log.
    Log(LogProblem),
    /// A proof failed: nothing was kept.
    Unproven(Box<Difference>),
    /// The existing log was written by a newer version.
    NewerLog(u32),
    /// The session was retired, and its log is gone.
    RetiredWithoutLog,
    /// Its log would take the place of another session's.
    SameName {
        /// That session.
        other: String,
    },
    /// A panic: a bug in everlog, kept to its session.
    Bug(String),
}

impl ConvertError {
    /// Returns what a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ConvertError::Store(error) => error.hint(),
            ConvertError::Unproven(_) | ConvertError::Bug(_) => {
                Some("the source is untouched and no log was kept; this is a bug in everlog, please report it")
            }
            ConvertError::NewerLog(_) => Some("upgrade everlog, or choose another destination with `-o`"),
            ConvertError::SameName { .. } => Some("choose a destination with `-o` on a filesystem that tells them apart"),
            ConvertError::RetiredWithoutLog => Some("rename the *.migrated file back and migrate again"),
            ConvertError::Stream(StreamError::Io { source, .. }) => StoreError::io_hint(source.kind()),
            ConvertError::Stream(StreamError::OutOfProportion { .. }) => {
                Some("its files repeat a few bytes so often that no log of them would be read again; leave it out with `--exclude`")
            }
            ConvertError::Stream(_) | ConvertError::Log(_) => None,
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Store(error) => error.fmt(f),
            ConvertError::Stream(error) => error.fmt(f),
            ConvertError::Log(error) => error.fmt(f),
            ConvertError::Unproven(difference) => write!(f, "not proven: {} ({})", difference.what, difference.place),
            ConvertError::NewerLog(version) => write!(f, "the log that is there has version {version}, which is newer than this build"),
            ConvertError::RetiredWithoutLog => f.write_str("the session was retired, and its log is missing"),
            ConvertError::SameName { other } => {
                write!(f, "upper and lower case are the same in this destination: its log would take the place of that of {other}")
            }
            ConvertError::Bug(what) => write!(f, "a bug in everlog: {what}"),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ConvertError::Store(error) => error.source(),
            ConvertError::Stream(error) => error.source(),
            ConvertError::Log(error) => error.source(),
            ConvertError::Unproven(_)
            | ConvertError::NewerLog(_)
            | ConvertError::RetiredWithoutLog
            | ConvertError::SameName { .. }
            | ConvertError::Bug(_) => None,
        }
    }
}

impl From<StoreError> for ConvertError {
    fn from(error: StoreError) -> Self {
        ConvertError::Store(error)
    }
}

impl From<StreamError> for ConvertError {
    fn from(error: StreamError) -> Self {
        ConvertError::Stream(error)
    }
}
