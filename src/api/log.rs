//! A log on disk, opened for reading.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::log::{LogView, SealState};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::store::disk;

use super::error::Error;
use super::head::Head;
use super::messages::{Messages, View};
use super::session::Session;

/// A log on disk, opened for reading.
///
/// Opening reads the log once, to check its seal and to find its heads. It keeps
/// a few bytes for each event in memory, never the messages themselves.
///
/// ```
/// use everlog::Log;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// assert!(log.is_intact());
/// for message in log.messages(&log.active())? {
///     let message = message?;
///     println!("{:>9}: {}", message.role, message.text());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Log {
    pub(super) path: PathBuf,
    pub(super) view: LogView<Arc<File>>,
    session: Session,
}

impl Log {
    /// Opens the log at a path.
    ///
    /// # Errors
    /// [`Error::Store`] when the file cannot be read, [`Error::Log`] when it is
    /// not a log that this version understands.
    pub fn open(path: impl AsRef<Path>) -> Result<Log, Error> {
        let path = path.as_ref().to_owned();
        let file = Arc::new(disk::open(&path)?);
        let view = LogView::open(file).map_err(|source| Error::Log { path: path.clone(), source })?;
        let session = Session::of(&view.session, &view.outcome);
        Ok(Log { path, view, session })
    }

    /// Returns what the log is of.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Tells whether the log is as it was sealed. A log that is not can still be
    /// read, up to its last good seal where it has one.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        match self.view.seal() {
            SealState::Good { .. } => true,
            SealState::Followed { .. } | SealState::Broken { .. } | SealState::Missing => false,
        }
    }

    /// Returns all heads, in the order of their kinds and names.
    pub fn heads(&self) -> impl Iterator<Item = Head> {
        let active = self.view.active();
        self.view.state().heads().map(move |(name, node)| Head { name: name.clone(), node, is_active: *name == active })
    }

    /// Finds a head by its name: `main`, `view:compacted`, `backup:old.json`.
    ///
    /// # Errors
    /// [`Error::NoSuchHead`], with the names of all heads.
    pub fn head(&self, name: &str) -> Result<Head, Error> {
        let wanted = HeadName::parse(name);
        self.heads()
            .find(|head| head.name == wanted)
            .ok_or_else(|| Error::NoSuchHead { head: wanted.to_string(), known: self.heads().map(|head| head.to_string()).collect() })
    }

    /// Returns the head that the source program shows. Of a session without
    /// messages it has no history.
    #[must_use]
    pub fn active(&self) -> Head {
        let name = self.view.active();
        let node = self.view.state().head(&name).unwrap_or(Seq::ROOT);
        Head { name, node, is_active: true }
    }

    /// Reads everything that was said on a head, one message at a time.
    ///
    /// Repeats are resolved; compactions and summaries of branches are messages
    /// of their own kinds. This is what `everlog replay` prints.
    ///
    /// # Errors
    /// [`Error::Read`] when the log cannot be read.
    pub fn messages(&self, head: &Head) -> Result<Messages, Error> {
        self.messages_as(head, View::Conversation)
    }

    /// Reads what a model would be given of a head: what is left after
    /// compactions and edits. This is what `everlog replay --context` prints.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
    /// let said = log.context(&log.active())?.map(|message| Ok(message?.text())).collect::<Result<Vec<_>, everlog::Error>>()?;
    /// assert_eq!(said, ["A flag was wanted; the environment is used.", "Approach B: DRY_RUN=1.", "Now document it."]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Read`] when the log cannot be read.
    pub fn context(&self, head: &Head) -> Result<Messages, Error> {
        self.messages_as(head, View::Context)
    }

    /// Reads a head in one of the views.
    ///
    /// # Errors
    /// [`Error::Read`] when the log cannot be read.
    pub fn messages_as(&self, head: &Head, view: View) -> Result<Messages, Error> {
        Messages::new(self.view.second(), self.path.clone(), head.node, view)
    }
}
