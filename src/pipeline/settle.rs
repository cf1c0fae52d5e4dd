//! The fourth stage: a proven log beside what the store has of its session. Every
//! earlier log that holds more than the new one is kept, and forks are carried
//! over.

use std::path::PathBuf;

use crate::adapters::format::ReadSummary;
use crate::log::fork::Fork;
use crate::log::{LogView, SealState};
use crate::model::files::{Entry, Files};
use crate::model::finding::Finding;
use crate::store::blobs;
use crate::store::layout::Store;
use crate::store::receipts::Receipt;
use crate::store::replace::{Ready, Temporary};
use crate::verify::Difference;

use super::error::ConvertError;
use super::previous::{Earlier, Existing, Successor, existing, is_needed, old_name};
use super::prove::Proven;
use super::pruned::History;
use super::receipt::receipt_of;
use super::snapshot::Snapshot;
use super::target::{Mode, Target};

/// A proven log that was compared with the store, ready to be committed.
#[derive(Debug)]
pub struct Settled {
    /// What the report and the next run need to know.
    pub receipt: Receipt,
    /// What the new log is to the existing one.
    pub change: LogChange,
    /// The log and its name; none where nothing is to be replaced.
    pub(super) ready: Option<Ready>,
    /// Earlier logs that the new one contains.
    pub(super) superseded: Vec<PathBuf>,
    /// Findings that only this run can see.
    pub notes: Vec<Finding>,
}

/// What a new log is to the existing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogChange {
    /// No log exists yet.
    Created,
    /// The new log takes its place.
    Changed,
    /// They are equal, byte for byte.
    Unchanged,
}

/// Compares a proven log with the existing logs of its session, and makes it
/// ready to take their place.
///
/// # Errors
/// When an existing log cannot be read, or the new one cannot carry its forks.
pub fn settle(proven: Proven<'_>, snapshot: &Snapshot<'_>, target: Target<'_>) -> Result<Settled, ConvertError> {
    let Proven { temporary, written, kind, summary, proof, about, mut findings } = proven;
    let log_name = Store::log_name(&snapshot.unit.name);
    let log_path = target.store.path(&log_name);
    let history = History { unit: snapshot.unit, files: &snapshot.files, store: target.store, pruned: target.pruned };
    let mut notes = Vec::new();
    let mut new = Successor::Closed(&temporary.file);
    let mut earlier = Earlier::default();
    let mut keep_as = None;
    let keep = |seal: &SealState| -> Result<Option<PathBuf>, ConvertError> {
        Ok(Some(target.store.earlier(&log_name, &old_name(seal, &log_path)?)))
    };
    let change = match existing(&log_path, target, &mut notes)? {
        Existing::Nothing => LogChange::Created,
        Existing::Unreadable => {
            keep_as = keep(&SealState::Missing)?;
            earlier.add_unjudged();
            LogChange::Changed
        }
        Existing::Log(old) if old.began_as(written.bytes, &written.sha256) => {
            new = Successor::Existing(old);
            LogChange::Unchanged
        }
        Existing::Log(mut old) => {
            let lacking = new.lacks(&mut old, &history)?;
            if !lacking.is_nothing() || old.was_extended() {
                keep_as = keep(old.seal())?;
                earlier.add(lacking);
            } else if is_needed(target, &log_name, old.seal()) {
                keep_as = keep(old.seal())?;
                earlier.add_needed();
            }
            LogChange::Changed
        }
        Existing::Doubtful(mut old) => {
            keep_as = keep(old.seal())?;
            earlier.add(new.lacks(&mut old, &history)?);
            LogChange::Changed
        }
    };
    earlier.compare(target, &log_name, keep_as.as_deref(), &mut new, &history, &mut notes)?;
    earlier.note(&log_name, &mut findings);
    add_forks(&temporary, new.forks(&log_name, &mut notes)?)?;
    drop(new);
    let receipt = Receipt { about: Some(about), ..receipt_of(snapshot, (&written, kind), &summary, proof, findings.into_list()) };
    let mut superseded = Vec::new();
    if target.mode == Mode::Replace {
        store_blobs(&snapshot.files, &summary, target)?;
        superseded = earlier.superseded;
    }
    let replaces = target.mode == Mode::Replace && change != LogChange::Unchanged;
    let ready = replaces.then(|| Ready { from: temporary.keep(), to: log_path, keep_as });
    Ok(Settled { receipt, change, ready, superseded, notes })
}

/// Stores the companions that the log names by their hash.
fn store_blobs(files: &Files, summary: &ReadSummary, target: Target<'_>) -> Result<(), ConvertError> {
    for path in &summary.blobs {
        if let (Some(Entry::File(file)), Some(sha256)) = (files.entry(path), summary.hashes.get(path)) {
            blobs::put(target.store, target.disk, sha256, &file.bytes)?;
        }
    }
    Ok(())
}

/// Appends forks to a new log, and reads it back. Its receipt still names the log
/// without them.
fn add_forks(temporary: &Temporary<'_>, (lines, forks): (Vec<u8>, &[Fork])) -> Result<(), ConvertError> {
    if forks.is_empty() {
        return Ok(());
    }
    temporary.fill(&lines)?;
    let log = LogView::open(&temporary.file).map_err(ConvertError::Log)?;
    let has = |fork: &Fork| log.state().head(&fork.name) == Some(fork.node);
    if matches!(log.seal(), SealState::Good { .. }) && log.forks().len() == forks.len() && forks.iter().all(has) {
        return Ok(());
    }
    Err(ConvertError::Unproven(Box::new(Difference::in_log("the new log does not carry the forks of the old one", None))))
}
