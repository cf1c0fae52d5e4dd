//! Who uses the files that an earlier prune took something from.

use std::collections::BTreeMap;

use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::retention::{Stay, StayCode};
use crate::store::layout::path_below;
use crate::store::live::Running;
use crate::store::lock::HeldLocks;
use crate::store::pruned::Tombstone;

use crate::commands::evidence;
use crate::commands::source::Source;

/// What runs and what is locked, as it was when we began.
pub(super) struct Users<'a> {
    source: &'a Source,
    locks: HeldLocks,
    running: BTreeMap<RelPath, Running>,
}

impl<'a> Users<'a> {
    pub fn now(source: &'a Source) -> Users<'a> {
        Users { source, locks: HeldLocks::now(), running: source.running() }
    }

    /// Why a file is not to be touched now.
    pub fn of(&self, stone: &Tombstone) -> Option<Stay> {
        if let Some((_, Running { process, .. })) = self.running.iter().find(|(folder, _)| is_below(&stone.path(), folder)) {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process} works on these sessions")));
        }
        if let Some(process) = stone.writer.filter(|process| evidence::writer_runs(*process, i64::MAX)) {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process}, which writes it by its name, runs")));
        }
        let units = self.source.units.iter().filter(|unit| unit.name.key() == stone.unit);
        let beside = units.flat_map(|unit| unit.found.left_out.iter().map(|left_out| (left_out, &unit.found.root)));
        let locks = beside.filter(|((_, code, _), _)| *code == FindingCode::LockFile).map(|((path, _, _), root)| path.below(root));
        let mut held = locks.chain([stone.path()]).filter_map(|path| self.locks.holder(&path_below(&self.source.root, &path)));
        held.next().map(|process| Stay::new(StayCode::Held, format!("process {process} has it locked")))
    }
}

fn is_below(path: &RelPath, folder: &RelPath) -> bool {
    folder.as_bytes().is_empty() || path.as_bytes().strip_prefix(folder.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
}
