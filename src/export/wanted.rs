//! What is asked of an export, and what comes of it.

use crate::adapters::exporter::{ExportedSession, Listing};
use crate::adapters::format::Format;
use crate::model::export::loss::Losses;
use crate::model::ids::Seq;

/// What is to be exported, and how.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The format that it is exported to.
    pub target: &'static dyn Format,
    /// The last node of the path.
    pub node: Seq,
    /// The name of that path, which makes one export another than the next.
    pub head: String,
    /// Another folder than that of the session.
    pub cwd: Option<String>,
    /// Another model than those of the answers.
    pub model: Option<String>,
    /// Another title than that of the session.
    pub title: Option<String>,
    /// The folder that it is exported to, for files that a session must name in full.
    pub folder: Option<String>,
    /// Whether what the target cannot say goes along in an extension member.
    pub extension: Extension,
}

/// Whether what the target cannot say goes along in an extension member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// It does, so that the session can come back as it was.
    Carried,
    /// It does not: the files have only what the target's own program writes.
    Bare,
}

/// An export that is proven.
#[derive(Debug)]
pub struct Export {
    /// The files of the target.
    pub session: ExportedSession,
    /// What is lost.
    pub losses: Losses,
    /// How many records it has.
    pub records: usize,
    /// The entry with which the program lists it, where it has one.
    pub listing: Option<Listing>,
}
