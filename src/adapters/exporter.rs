//! The trait of a format that sessions can be exported to: another program
//! lists, loads and continues what it writes.

use crate::json::Value;
use crate::model::export::ability::Abilities;
use crate::model::export::transcript::Transcript;
use crate::model::files::RelPath;

/// A format as the target of an export: pure, a transcript in and files out.
pub trait Exporter: Sync {
    /// What its sessions can say, and what they cannot do without. The transcript
    /// holds nothing else, so that [`Exporter::write`] loses nothing.
    fn abilities(&self) -> Abilities;

    /// Writes a session. Reading its files again must give one node for each
    /// entry, in the same order, on the path of the head that is shown.
    fn write(&self, session: &Transcript) -> ExportedSession;

    /// Tells whether the program offers a tool of this name; one that sends calls of
    /// foreign tools to the model as they are need not say.
    fn offers(&self, _tool: &str) -> bool {
        true
    }

    /// Finds in the payload of a message what [`Entry::carried`] put there.
    ///
    /// [`Entry::carried`]: crate::model::export::transcript::Entry::carried
    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        payload.first("ext")?.first(CARRIED)
    }
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
