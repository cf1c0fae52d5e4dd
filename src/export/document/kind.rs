//! The trait of a kind of document.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::model::export::transcript::Transcript;

use super::said::Said;

/// A kind of document.
///
/// [`Exporter::write`] gives the document as the first of its files, under the
/// name [`DOCUMENT`]; whoever writes it to disk gives it the name of its session.
pub trait Document: Exporter {
    /// Its name on the command line.
    fn id(&self) -> &'static str;

    /// What it is, in a few words.
    fn describes(&self) -> &'static str;

    /// What the names of its files end in, without the dot.
    fn ending(&self) -> &'static str;

    /// Whether sessions share a file.
    fn sharing(&self) -> Sharing {
        Sharing::FileEach
    }

    /// What becomes of a session that no provider would take as it is.
    fn form(&self) -> SessionForm {
        SessionForm::AsItWas
    }

    /// Reads a document again: one thing said for each entry of the transcript that
    /// it was made of.
    ///
    /// # Errors
    /// When it is not what [`Exporter::write`] makes.
    fn read(&self, session: &ExportedSession, written: &Transcript) -> Result<Vec<Said>, String>;
}

/// The name that a document has until it is written to disk.
pub const DOCUMENT: &str = "session";

/// Whether sessions share a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Each has its own.
    FileEach,
    /// Each is a line of one file with this name.
    LineEach(&'static str),
}

/// What becomes of a session that no provider would take as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionForm {
    /// It stays as it was: a call that was never answered has no result, and an
    /// answer may come first.
    AsItWas,
    /// Calls are closed, and the user speaks first, as in a request.
    AsRequest,
}
