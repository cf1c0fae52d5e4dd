//! What can be wrong with a log as a whole, and how far it can be trusted.

use std::fmt;

use crate::model::event::LOG_VERSION;

/// What is wrong with a log as a whole.
#[derive(Debug)]
pub enum LogProblem {
    /// It could not be read.
    Io(std::io::Error),
    /// It holds nothing, or does not begin with a session event.
    NotALog,
    /// It was written by a newer version.
    Version(u32),
    /// A line is not an event, or not the next one.
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong, in words that follow "line 7 …".
        what: String,
    },
}

impl fmt::Display for LogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogProblem::Io(_) => f.write_str("the log cannot be read"),
            LogProblem::NotALog => f.write_str("not an everlog log: the first line is not a `session` event"),
            LogProblem::Version(found) => write!(f, "log version {found} is newer than this build can read ({LOG_VERSION})"),
            LogProblem::Line { line, what } => write!(f, "line {line} {what}"),
        }
    }
}

impl std::error::Error for LogProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LogProblem::Io(source) => Some(source),
            LogProblem::NotALog | LogProblem::Version(_) | LogProblem::Line { .. } => None,
        }
    }
}

/// How far a log can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealState {
    /// The last line is a seal, and it is right.
    Good {
        /// The hash that it holds.
        sha256: String,
    },
    /// A good seal, with bytes after it.
    Followed {
        /// The line where that begins, from 1.
        line: u64,
    },
    /// A seal whose hash is not that of the bytes before it.
    Broken {
        /// The seal's line, from 1.
        line: u64,
    },
    /// No seal at all, or a last line that was cut off.
    Missing,
}
