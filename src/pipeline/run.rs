//! Every session of a source through all stages, several at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::adapters::format::Standing;
use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::store::StoreError;
use crate::store::commit::Committer;
use crate::store::layout::Store;
use crate::store::receipts::{Receipt, Receipts};

use super::batch;
use super::commit::{Committed, commit};
use super::error::ConvertError;
use super::previous::existing;
use super::prove::convert_and_prove;
use super::retired::{RetiredUnit, check_retired};
use super::settle::settle;
use super::snapshot::snapshot;
use super::source::{Source, SourceUnit};
use super::target::{Mode, Target};
use super::unchanged::{LogState, Trust, log_state, unchanged, unchanged_as_listed};

/// A source, and how it is converted.
#[derive(Debug, Clone, Copy)]
pub struct Conversion<'a> {
    /// The source.
    pub source: &'a Source,
    /// Where its logs go.
    pub target: Target<'a>,
    /// Whether sizes and times are trusted.
    pub trust: Trust,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set to stop after the sessions that have begun.
    pub stop: &'a AtomicBool,
}

/// What happened to one session.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not kept")]
pub enum Outcome<'r> {
    /// It is what its receipt says; with findings that only this run can see.
    Unchanged(Cow<'r, Receipt>, Vec<Finding>),
    /// It was converted and proven.
    Converted(Box<Committed>),
    /// It was retired before; its log stays.
    Retired(RetiredUnit),
}

/// A session that the pipeline is done with.
#[derive(Debug)]
pub struct Finished<'a> {
    /// Its size on disk.
    pub bytes: u64,
    /// What happened to it.
    pub outcome: Result<Outcome<'a>, ConvertError>,
    /// Its receipt of an earlier run.
    pub previous: Option<&'a Receipt>,
}

/// What became of the sessions of a source.
#[derive(Debug)]
pub struct Run<R> {
    /// What the caller made of each, in the order of the source's units; `None`
    /// for those that were not begun because the run was stopped.
    pub results: Vec<Option<R>>,
    /// Units whose proven log did not get its name, and why.
    pub failed: BTreeMap<String, String>,
    /// Why receipts of logs that have their names could not be written.
    pub unsaved: Option<StoreError>,
}

/// Converts every session of a source, and calls `finished` for each as soon as it
/// is done, from several threads: to show progress, and to keep what a report
/// needs of it. Logs are committed; `known` has their receipts, and is for the
/// caller to save.
///
/// # Errors
/// When receipts that were appended cannot be read. What happens to one session
/// never stops the others.
pub fn convert_all<R: Send>(
    job: &Conversion<'_>,
    known: &mut Receipts,
    finished: impl Fn(Finished<'_>) -> R + Sync,
) -> Result<Run<R>, StoreError> {
    convert_sized(job, &job.source.sizes(), known, finished)
}

/// Does what [`convert_all`] does where the sizes of all sessions are known
/// already: in a large folder of unchanged sessions they are a good part of the
/// work.
pub(crate) fn convert_sized<R: Send>(
    job: &Conversion<'_>,
    sizes: &[u64],
    known: &mut Receipts,
    finished: impl Fn(Finished<'_>) -> R + Sync,
) -> Result<Run<R>, StoreError> {
    let Conversion { source, target, .. } = *job;
    let committer = match target.mode {
        Mode::Replace => Some(Committer::new(target.store, target.disk, &*known)),
        Mode::DryRun => None,
    };
    let same_names = same_names(source, target.store);
    let done: Vec<Option<R>> = if job.trust == Trust::SizeAndTime && same_names.is_empty() {
        let unchanged = |bytes: u64, receipt: &Receipt| {
            let outcome = Ok(Outcome::Unchanged(Cow::Borrowed(receipt), Vec::new()));
            finished(Finished { bytes, outcome, previous: Some(receipt) })
        };
        unchanged_as_listed((source, sizes), known, target.store, unchanged)
    } else {
        sizes.iter().map(|_| None).collect()
    };
    let rest: Vec<(usize, u64)> = sizes.iter().copied().enumerate().filter(|(n, _)| done[*n].is_none()).collect();
    // Of a million sessions nothing is kept but what the caller makes of each, and the
    // receipts that are others than before.
    let (results, lines) = (Mutex::new(done), Mutex::new(Vec::new()));
    batch::by_size(
        &rest,
        |(_, bytes)| *bytes,
        job.jobs,
        |&(n, bytes)| {
            if job.stop.load(Ordering::Relaxed) {
                return;
            }
            let unit = &source.units[n];
            let previous = known.get(&unit.name);
            let work = || {
                let outcome = match same_names.get(&unit.name) {
                    Some(other) => Err(ConvertError::SameName { other: other.to_string() }),
                    None => one_session(unit, job, previous.as_ref(), committer.as_ref()),
                };
                let line = outcome.as_ref().map_or(Ok(None), |outcome| changed_receipt(outcome, previous.as_ref(), target.mode));
                let (outcome, line) = match line {
                    Ok(line) => (outcome, line),
                    Err(error) => (Err(error), None),
                };
                Ok((finished(Finished { bytes, outcome, previous: previous.as_ref() }), line))
            };
            let of_bug = |bug| (finished(Finished { bytes, outcome: Err(bug), previous: previous.as_ref() }), None);
            let (result, line) = batch::caught(work, ConvertError::Bug).unwrap_or_else(of_bug);
            locked(&results)[n] = Some(result);
            locked(&lines).extend(line.map(|line| (unit.name.key(), line)));
        },
    );
    let committed = committer.map(Committer::finish).unwrap_or_default();
    known.take_in(target.store, committed.receipts)?;
    for (unit, line) in lines.into_inner().unwrap_or_else(PoisonError::into_inner) {
        known.put_line(unit, line);
    }
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Run { results, failed: committed.failed, unsaved: committed.unsaved })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes one session through all stages, as far as it needs them.
fn one_session<'r>(
    unit: &SourceUnit,
    job: &Conversion<'_>,
    previous: Option<&'r Receipt>,
    committer: Option<&Committer<'_>>,
) -> Result<Outcome<'r>, ConvertError> {
    let Conversion { source, target, trust, .. } = *job;
    let store = target.store;
    let mut notes = Vec::new();
    let receipt = match previous.map(|receipt| (receipt, log_state(receipt, store))) {
        Some((receipt, LogState::Unfinished)) => {
            existing(&store.path(&RelPath::from_key(&receipt.log)), target, &mut notes)?;
            Some(receipt).filter(|receipt| log_state(receipt, store) == LogState::Intact)
        }
        Some((receipt, LogState::Intact)) => Some(receipt),
        Some((_, LogState::Other)) | None => None,
    };
    if unit.found.standing == Standing::Retired {
        let mut retired = check_retired(unit, source, store)?;
        retired.findings.splice(..0, notes);
        return Ok(Outcome::Retired(retired));
    }
    if let Some(receipt) = receipt.filter(|receipt| receipt.format == unit.found.adapter.id())
        && let Some(same) = unchanged(unit, source, receipt, trust)?
    {
        return Ok(Outcome::Unchanged(same, notes));
    }
    let snapshot = snapshot(unit, source)?;
    let mut settled = settle(convert_and_prove(&snapshot, target)?, &snapshot, target)?;
    settled.notes.splice(..0, notes);
    settled.receipt.retired = previous.and_then(|receipt| receipt.retired.clone());
    Ok(Outcome::Converted(Box::new(commit(settled, committer)?)))
}

/// Returns the line of a receipt that is another than it was, where the group
/// commit does not append it.
fn changed_receipt(outcome: &Outcome<'_>, previous: Option<&Receipt>, mode: Mode) -> Result<Option<Vec<u8>>, ConvertError> {
    let receipt = match outcome {
        // Nothing is written.
        _ if mode == Mode::DryRun => return Ok(None),
        Outcome::Retired(_) => return Ok(None),
        Outcome::Converted(committed) if committed.is_pending => return Ok(None),
        Outcome::Converted(committed) => &committed.receipt,
        Outcome::Unchanged(receipt, _) => &**receipt,
    };
    Ok(if previous == Some(receipt) { None } else { Some(receipt.line()?) })
}

/// Finds the units whose log would have the name of another unit's log, and that
/// unit, where the store does not tell upper from lower case.
fn same_names<'s>(source: &'s Source, store: &Store) -> BTreeMap<&'s RelPath, &'s RelPath> {
    let (mut first, mut same) = (BTreeMap::new(), BTreeMap::new());
    if store.folds_case() {
        for unit in &source.units {
            let folded = Store::log_name(&unit.name).to_string().to_lowercase();
            if let Some(other) = first.get(&folded) {
                same.insert(&unit.name, *other);
            } else {
                first.insert(folded, &unit.name);
            }
        }
    }
    same
}
