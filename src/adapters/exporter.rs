//! The trait of a format that sessions can be exported to: another program
//! lists, loads and continues what it writes.

use crate::json::Value;
use crate::model::export::ability::Abilities;
use crate::model::export::transcript::{Body, Tokens, Transcript};
use crate::model::files::RelPath;

/// A format as the target of an export: pure, a transcript in and files out.
pub trait Exporter: Sync {
    /// What its sessions can say, and what they cannot do without. The transcript
    /// holds nothing else, so that [`Exporter::write`] loses nothing.
    fn abilities(&self) -> Abilities;

    /// Writes a session. Reading its files again must give one node for each
    /// entry, in the same order, on the path of the head that is shown.
    fn write(&self, session: &Transcript) -> ExportedSession;

    /// Takes apart what the program keeps in the text of a message, such as calls and
    /// thoughts: the payload as it would be if they had parts of their own; `None`
    /// where there is nothing of that kind.
    fn understood(&self, _message: Spoken<'_>) -> Option<Vec<u8>> {
        None
    }

    /// Tells whether the program offers a tool of this name; one that sends calls of
    /// foreign tools to the model as they are need not say.
    fn offers(&self, _tool: &str) -> bool {
        true
    }

    /// Tells whether the program sends the summary of a session's outcome to the
    /// model, before the messages.
    fn sends_summary(&self) -> bool {
        false
    }

    /// How many bytes a record may have, where the program cannot read a session with
    /// a longer one.
    fn longest_record(&self) -> Option<usize> {
        None
    }

    /// The number of records above which the program summarises a session at its
    /// next turn, and deletes the older ones.
    fn prunes_above(&self) -> Option<usize> {
        None
    }

    /// The entry with which the program lists a session, where it does not list every
    /// file that it finds.
    fn listing(&self, _session: &Transcript) -> Option<Listing> {
        None
    }

    /// Names the file in the session's folder that says whose folder it is. Where it
    /// speaks of another one, the program adds a number to the folder's name.
    fn marker(&self) -> Option<&'static str> {
        None
    }

    /// Finds in the payload of an event that is no message what an export put beside
    /// a session whose records keep nothing: what belongs to one record, in the order
    /// of the records.
    fn carried_beside<'v>(&self, _payload: Value<'v>) -> Option<Value<'v>> {
        None
    }

    /// Returns those of these counts that its sessions have a place for.
    fn counts(&self, tokens: Tokens) -> Tokens {
        tokens
    }

    /// Changes the texts of an entry from another program that this one would take
    /// for something else than what was said; tells whether it changed any.
    fn reword(&self, _entry: &mut Body) -> bool {
        false
    }

    /// Finds in the payload of a message what [`Entry::carried`] put there.
    ///
    /// [`Entry::carried`]: crate::model::export::transcript::Entry::carried
    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        payload.first("ext")?.first(CARRIED)
    }
}

/// Whether an event goes to its own format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinship {
    /// It does: what only its program understands can go along.
    SameFormat,
    /// It goes to another.
    Foreign,
}

impl Kinship {
    /// Whether what is of one format goes to the other.
    #[must_use]
    pub fn of(format: &str, target: &str) -> Kinship {
        if format == target { Kinship::SameFormat } else { Kinship::Foreign }
    }
}

/// A message of a log, and what was said before it.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'v> {
    /// Its payload.
    pub payload: Value<'v>,
    /// The payload of the message before it, taken apart.
    pub before: Option<Value<'v>>,
    /// Where the session goes.
    pub kinship: Kinship,
}

/// The name of the member that holds what a target cannot say.
pub const CARRIED: &str = "everlog";

/// A session in the files of its target.
#[derive(Debug, Clone)]
pub struct ExportedSession {
    /// Its files, below the folder in which the program keeps all its sessions.
    pub files: Vec<(RelPath, Vec<u8>)>,
    /// The folder at which the session's own paths begin, below the same.
    pub root: RelPath,
    /// The session's name, as `discover` would call it.
    pub name: String,
    /// The command that continues it.
    pub go_on: String,
}

/// The entry of a session in a file with which its program lists sessions.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The file: an object with a member for each session.
    pub file: RelPath,
    /// The name of the member.
    pub key: String,
    /// What the entry says, as names and their JSON.
    pub says: Vec<(&'static str, String)>,
    /// What it says besides: the time at which it was added, in milliseconds, by
    /// which the program tells what is too old to be kept.
    pub added: &'static [&'static str],
}
