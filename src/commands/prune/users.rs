//! Who uses the files that an earlier prune took something from.

use std::collections::BTreeMap;

use crate::model::files::RelPath;
use crate::model::retention::{Stay, StayCode};
use crate::store::layout::path_below;
use crate::store::live::Running;
use crate::store::lock::HeldLocks;
use crate::store::pruned::Tombstone;

use crate::commands::evidence;
use crate::pipeline::source::Source;

/// What runs and what is locked, as it was when we began.
pub(super) struct Users<'a> {
    source: &'a Source,
    locks: HeldLocks,
    running: BTreeMap<RelPath, Running>,
    /// The lock files of each unit, below the source.
    beside: BTreeMap<String, Vec<RelPath>>,
}

impl<'a> Users<'a> {
    pub fn now(source: &'a Source) -> Users<'a> {
        let mut beside: BTreeMap<String, Vec<RelPath>> = BTreeMap::new();
        for unit in &source.units {
            beside.entry(unit.name.key()).or_default().extend(unit.lock_files().map(|path| path.below(&unit.found.root)));
        }
        Users { source, locks: HeldLocks::now(), running: source.running(), beside }
    }

    /// Says why a file is not to be touched now.
    pub fn of(&self, stone: &Tombstone) -> Option<Stay> {
        if let Some((_, Running { process, .. })) = self.running.iter().find(|(folder, _)| is_below(&stone.path(), folder)) {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process} works on these sessions")));
        }
        if let Some(process) = stone.writer.filter(|process| evidence::writer_runs(*process, i64::MAX)) {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process}, which writes it by its name, runs")));
        }
        let locks = self.beside.get(&stone.unit).into_iter().flatten().cloned();
        let mut held = locks.chain([stone.path()]).filter_map(|path| self.locks.holder(|| path_below(&self.source.root, &path)));
        held.next().map(|process| Stay::new(StayCode::Held, format!("process {process} has it locked")))
    }
}

fn is_below(path: &RelPath, folder: &RelPath) -> bool {
    folder.as_bytes().is_empty() || path.as_bytes().strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}
