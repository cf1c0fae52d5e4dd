//! What `everlog migrate` was asked to do.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::adapters::format::Format;
use crate::model::shard::Shard;
use crate::pipeline::source::Selection;
use crate::pipeline::target::Mode;
use crate::pipeline::unchanged::Trust;
use crate::store::disk::Disk;

pub use super::place::Share;

/// What to migrate, and how.
#[derive(Debug)]
pub struct MigrateJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Where logs go.
    pub dest: PathBuf,
    /// Whether other sources' logs go there, too.
    pub share: Share,
    /// Whether it must have sessions.
    pub requirement: Requirement,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Format>,
    /// For real, or not.
    pub mode: Mode,
    /// What becomes of the sources.
    pub sources: Sources,
    /// What if the program of the sessions runs.
    pub live: Live,
    /// Which part of a larger run it is, if it is one.
    pub shard: Option<Shard>,
    /// Whether sizes and times are trusted.
    pub trust: Trust,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under the store.
    pub disk: &'a dyn Disk,
}

impl MigrateJob<'_> {
    /// Returns what is trusted. Before a source is renamed nothing is: its log must be
    /// proven now.
    pub(super) fn trusted(&self) -> Trust {
        match self.sources {
            Sources::Retire => Trust::Nothing,
            Sources::Stay | Sources::Unretire => self.trust,
        }
    }
}

/// What becomes of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sources {
    /// They stay as they are.
    Stay,
    /// Those that are proven are renamed.
    Retire,
    /// Those that were renamed get their names back.
    Unretire,
}

/// Whether a source must have sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// It was named: one without sessions is an error.
    Required,
    /// It was found at its usual place, and may be empty.
    Optional,
}

/// What if the program of the sessions runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// Nothing is done.
    Refused,
    /// The files as they are now are converted; nothing is renamed.
    Allowed,
}
