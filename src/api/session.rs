//! What a log is of.

use crate::model::event::{self, Outcome};

pub use crate::model::event::SessionKind;

/// What a log is of: one session of one program.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// let session = log.session();
/// assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("s42", Some("/repo")));
/// assert_eq!(session.model.as_deref(), Some("example-2"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Its id in its program.
    pub id: String,
    /// The program's format; `everlog formats` lists all of them.
    pub format: String,
    /// The format's own version, where the source says one.
    pub format_version: Option<String>,
    /// Whether this is one session, or a file about several of them.
    pub kind: SessionKind,
    /// Its title.
    pub title: Option<String>,
    /// The folder that it worked in.
    pub cwd: Option<String>,
    /// When it was begun, in the source's own words.
    pub created: Option<String>,
    /// The session that it was made from, in the source's own words.
    pub parent: Option<String>,
    /// The model that it is set to.
    pub model: Option<String>,
    /// A summary of what is no longer shown.
    pub summary: Option<String>,
    /// Why its own program fails to load it, where it does.
    pub error: Option<String>,
}

impl Session {
    /// Reads the first line of a log and its outcome.
    #[doc(hidden)]
    #[must_use]
    pub fn of(session: &event::Session, outcome: &Outcome) -> Session {
        Session {
            id: session.id.clone(),
            format: session.format.clone(),
            format_version: session.format_version.clone(),
            kind: session.kind,
            title: session.title.clone().or_else(|| outcome.name().map(str::to_owned)),
            cwd: session.cwd.clone(),
            created: session.created.clone(),
            parent: session.parent_session.clone(),
            model: outcome.model.clone(),
            summary: outcome.summary.clone(),
            error: outcome.error.clone(),
        }
    }
}
