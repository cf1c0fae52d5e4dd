//! Why a session is not exported.

use std::fmt;

use crate::model::ids::Seq;
use crate::model::stream::StreamError;

/// Why a session is not exported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The log cannot be read.
    Log(StreamError),
    /// Sessions cannot be exported to this format.
    NoTarget {
        /// The format.
        format: String,
    },
    /// Nothing was said on the path.
    Empty,
    /// What the target's reader or loader makes of the files is not what was to
    /// be exported.
    Unproven {
        /// The event that differs, where it is one.
        seq: Option<Seq>,
        /// What differs.
        what: String,
    },
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Log(source) => source.fmt(f),
            ExportError::NoTarget { format } => write!(f, "sessions cannot be exported to {format}"),
            ExportError::Empty => f.write_str("nothing was said on this branch, so that there is nothing to export"),
            ExportError::Unproven { seq: Some(seq), what } => write!(f, "the export is not what the log says: {what} of event {seq}"),
            ExportError::Unproven { seq: None, what } => write!(f, "the export is not what the log says: {what}"),
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ExportError::Log(source) => source.source(),
            ExportError::NoTarget { .. } | ExportError::Empty | ExportError::Unproven { .. } => None,
        }
    }
}

impl From<StreamError> for ExportError {
    fn from(error: StreamError) -> Self {
        ExportError::Log(error)
    }
}
