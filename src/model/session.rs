//! The first event of a log: what it is a log of.

use serde::{Deserialize, Serialize};

use super::files::RelPath;
use super::text_or_bytes::{bytes_of, text_or_b64};

/// The version of the log format that this build writes.
pub const LOG_VERSION: u32 = 1;

/// The payload of `session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The log format's version.
    pub version: u32,
    /// `session`, or what else the files are.
    pub kind: SessionKind,
    /// The source format's id.
    pub format: String,
    /// The session's id in its program.
    pub id: String,
    /// The folder that the session is, where it is one; its files' paths are
    /// relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// That folder's name in base64, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_b64: Option<String>,
    /// How many folders above the one of its log the paths of its files begin, where
    /// its files lie in several folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u32>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The source format's own version, where the source says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format_version: Option<String>,
    /// `rows` where the source is a database: its rows are promised, each value with
    /// its storage class, and not the bytes of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// When it was begun, in the source's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The session that it was made from, in the source's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// The session beside it that its program opens when asked for its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The session beside it whose messages its program copied to its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<String>,
}

impl Session {
    /// Returns the folder that it is, by the bytes of its name; empty where it is not one.
    #[must_use]
    pub fn own_folder(&self) -> RelPath {
        RelPath::new(bytes_of(self.folder.as_deref(), self.folder_b64.as_deref()).unwrap_or_default())
    }

    /// Returns a session of which nothing else is known yet.
    pub fn new(kind: SessionKind, format: &str, id: impl Into<String>) -> Session {
        Session {
            version: LOG_VERSION,
            kind,
            format: format.to_owned(),
            id: id.into(),
            folder: None,
            folder_b64: None,
            above: None,
            title: None,
            cwd: None,
            format_version: None,
            fidelity: None,
            created: None,
            parent_session: None,
            canonical: None,
            promoted_from: None,
        }
    }

    /// Returns the session as one that has a folder of its own.
    #[must_use]
    pub fn in_folder(mut self, name: &[u8]) -> Session {
        (self.folder, self.folder_b64) = text_or_b64(name);
        self
    }
}

/// What restoring a log promises of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Every row of a database, each value with its storage class.
    Rows,
}

/// What the files of a unit are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// One session.
    #[default]
    Session,
    /// What is left of one whose main file is gone.
    Orphan,
    /// A file that keeps something about many sessions.
    Store,
    /// A list of sessions.
    Index,
    /// A list of scheduled jobs.
    Jobs,
}

impl SessionKind {
    /// Every kind, in the order in which they are counted.
    pub const ALL: [SessionKind; 5] =
        [SessionKind::Session, SessionKind::Orphan, SessionKind::Store, SessionKind::Index, SessionKind::Jobs];

    /// Tells whether it is one session.
    #[must_use]
    pub fn is_session(&self) -> bool {
        *self == SessionKind::Session
    }

    /// Returns the words that people count units of this kind by: one, and many.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            SessionKind::Session => ("session", "sessions"),
            SessionKind::Orphan => ("orphan", "orphans"),
            SessionKind::Store => ("store", "stores"),
            SessionKind::Index => ("list of sessions", "lists of sessions"),
            SessionKind::Jobs => ("list of jobs", "lists of jobs"),
        }
    }
}
