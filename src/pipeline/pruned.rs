//! Whether what a source no longer has was pruned: an earlier log whose files
//! are pruned as the tombstones say, converted anew, holds nothing that the
//! present one lacks.

use std::fs::File;

use crate::adapters::format::Check;
use crate::log::LogView;
use crate::log::contain;
use crate::log::restore::{FilePlan, file_plan};
use crate::model::digest::sha256_hex;
use crate::model::event::FileKind;
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::Findings;
use crate::model::retention::{Edit, edited};
use crate::store::blobs;
use crate::store::layout::Store;
use crate::store::pruned::{Pruned, Tombstone};
use crate::verify::build_log;

use super::error::ConvertError;
use super::old_bytes::{in_memory, old_bytes};
use super::source::SourceUnit;
use super::tombstone;

/// A session now, and what was pruned before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub unit: &'a SourceUnit,
    /// Its files as they are.
    pub files: &'a Files,
    pub store: &'a Store,
    pub pruned: &'a Pruned,
}

impl History<'_> {
    /// Tells whether all that a new log lacks of an old one was pruned.
    pub fn explains(&self, old: &mut LogView<File>, new: &mut LogView<File>) -> Result<bool, ConvertError> {
        let stones: Vec<&Tombstone> = self.pruned.files().filter(|stone| stone.unit == self.unit.name.key()).collect();
        if stones.is_empty() {
            return Ok(false);
        }
        let files = self.pruned_files(old, &stones)?;
        // A session that cannot be proven at first is converted the other way.
        for check in [Check::ByProof, Check::EachRecord] {
            let built = build_log(self.unit.found.adapter, &files, check, Vec::new(), &mut Findings::default())?;
            let mut then = LogView::open(built.out).map_err(ConvertError::Log)?;
            if contain::missing(&mut then, new)?.is_nothing() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the files that a log has, without what was pruned of them.
    fn pruned_files(&self, log: &mut LogView<File>, stones: &[&Tombstone]) -> Result<Files, ConvertError> {
        let mut files = Files::new(self.unit.own_name());
        for seq in log.files().to_vec() {
            let mut plan = file_plan(log, seq)?;
            let entry = match plan.entry.kind {
                FileKind::File => {
                    let bytes = self.bytes(log, &plan)?;
                    self.without(bytes, &plan.path, stones).map(|bytes| self.file(&plan.path, bytes, stones))
                }
                FileKind::Link => plan.target.take().map(|target| Entry::Link { target }),
                FileKind::Folder => Some(Entry::EmptyFolder),
                // No prune takes rows out of a database.
                FileKind::Rows => Some(Entry::Rows(SourceFile { bytes: self.bytes(log, &plan)?, mtime_ns: 0 })),
            };
            if let Some(entry) = entry {
                files.insert(plan.path, entry);
            }
        }
        Ok(files.with_shared_facts(self.unit.found.shared_facts().clone()))
    }

    fn bytes(&self, log: &mut LogView<File>, plan: &FilePlan) -> Result<Vec<u8>, ConvertError> {
        match &plan.entry.blob {
            Some(blob) => Ok(blobs::get(self.store, blob)?),
            None => Ok(in_memory(log, self.unit.found.adapter, plan)?),
        }
    }

    /// Returns a file with the time that it has, which prune does not change.
    fn file(&self, path: &RelPath, bytes: Vec<u8>, stones: &[&Tombstone]) -> Entry {
        let mtime_ns = match self.files.entry(path) {
            Some(Entry::File(now)) => Some(now.mtime_ns),
            Some(Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder) | None => None,
        };
        let of_stone = || stones.iter().find(|stone| is_of(stone, path)).map(|stone| stone.mtime_ns);
        Entry::File(SourceFile { bytes, mtime_ns: mtime_ns.or_else(of_stone).unwrap_or(0) })
    }

    /// Returns what prunes left of a file; nothing where they removed it.
    fn without(&self, mut bytes: Vec<u8>, path: &RelPath, stones: &[&Tombstone]) -> Option<Vec<u8>> {
        for stone in stones.iter().filter(|stone| is_of(stone, path)) {
            let is_it = sha256_hex(&bytes) == stone.old.sha256;
            // Its program had written on before more of it was pruned.
            let longer = || old_bytes(self.store, &[*stone]).ok()?.into_iter().find(|old| old.starts_with(&bytes));
            let later = if is_it { None } else { longer() };
            let Some(old) = later.as_ref().or(is_it.then_some(&bytes)) else { continue };
            // A forged tombstone must not make a loss look like a prune.
            if tombstone::doubt(stone, old, stones).is_some() {
                continue;
            }
            stone.new.as_ref()?;
            let within: Vec<Edit> = stone.edits.iter().filter(|edit| edit.to <= bytes.len() as u64).cloned().collect();
            bytes = edited(&bytes, &within).unwrap_or(bytes);
        }
        Some(bytes)
    }
}

/// Tells whether a tombstone is of the file that a log has under this path.
fn is_of(stone: &Tombstone, path: &RelPath) -> bool {
    stone.log_path.as_ref() == Some(&path.key())
}
