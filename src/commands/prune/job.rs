//! What `everlog prune` was asked to do.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::adapters::format::Format;
use crate::model::retention::{Policy, Rule};
use crate::pipeline::source::Selection;
use crate::store::disk::Disk;

/// What to prune, and how.
#[derive(Debug)]
pub struct PruneJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Where its logs are.
    pub dest: PathBuf,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Format>,
    /// Which rules.
    pub rules: Vec<Rule>,
    /// What is due.
    pub policy: Policy,
    /// How long a file must not have been written, in nanoseconds.
    pub idle_ns: i64,
    /// Whether a log must have what is removed.
    pub copies: Copies,
    /// Where old files are moved instead of being removed.
    pub trash: Option<PathBuf>,
    /// Plan, do, or undo.
    pub action: Action,
    /// How many sessions at once.
    pub jobs: usize,
    /// The time, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under it all.
    pub disk: &'a dyn Disk,
}

/// Whether a log must have what is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// It must, and be proven to.
    InLogs,
    /// What no log has is gone.
    GivenUp,
}

/// Plan, do, or undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Print what would go.
    Plan,
    /// Say whether something should have gone by now.
    Check,
    /// Do it.
    Apply,
    /// Print the whole case of what is in one file.
    Explain(PathBuf),
    /// Bring back what a prune took: the last one, or the one of this name.
    Undo(Option<String>),
}
