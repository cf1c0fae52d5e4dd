//! What `verify` says of a store as a whole: its receipts and its root.

use crate::model::files::RelPath;
use crate::store::StoreError;
use crate::store::layout::{RECEIPTS, Store};
use crate::store::lock::HeldLocks;
use crate::store::receipts::Receipts;
use crate::store::root;
use crate::verify::{Difference, Level};

use super::error::CommandError;
use super::logs::Asked;
use super::verify_job::{Kept, Verdict, VerifyJob};
use super::verify_row::{Checked, Located};

/// Computes the root of what was asked for, where that is a whole folder of
/// logs.
///
/// # Errors
/// When a root was asked for of a part of a store: it would say nothing about
/// the rest.
pub(super) fn root(job: &VerifyJob, asked: &Asked) -> Result<Option<Result<String, StoreError>>, CommandError> {
    if asked.is_whole_folder() {
        return Ok(Some(root::root_of(&job.logs)));
    }
    match &job.root {
        Some(_) => Err(CommandError::RootOfPart { path: job.logs.clone() }),
        None => Ok(None),
    }
}

/// Tells whether somebody writes to a store, or has written since its receipts
/// were read.
pub(super) fn is_being_written(store: &Store, receipts: &Receipts) -> bool {
    // In this order: a migration that ends between the two looks has written its
    // receipts before it lets go of the lock.
    HeldLocks::now().holder(|| store.lock()).is_some() || !receipts.are_those_of(store)
}

/// Whether what was asked for has logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Logs {
    Some,
    None,
}

/// Reports a store's receipts that are missing or are not as they were written.
pub(super) fn about_receipts(job: &VerifyJob, asked: &Asked, receipts: &Receipts, logs: Logs) -> Vec<Checked> {
    let row_in = |file: &str, what: String, line: Option<u64>| {
        let place = asked.place_of(&job.logs, &RelPath::new(file));
        let mut row = Checked::new(file.to_owned(), String::new(), Kept::Current);
        row.verdict = Verdict::ReceiptDamaged;
        row.path = place.clone();
        row.differences.push(Located { difference: Difference::in_log(what, line), file: place, line, byte: line.map(|_| 1) });
        row
    };
    let row = |what: String, line: Option<u64>| row_in(RECEIPTS, what, line);
    // Against its source a log is proven without a receipt.
    let has_logs = logs == Logs::Some;
    if asked.store.is_none() {
        // A store that lost its own folder may have lost logs with it. Who keeps its
        // root knows better; and who asks for seals only, as the commit hook does of the
        // logs that are staged, asks of each log by itself.
        let is_alone = job.level == Level::Seal;
        let is_blind = !is_alone && asked.is_whole_folder() && has_logs && job.source.is_none() && job.root.is_none();
        let what = "the folder has logs and no `.everlog` with their receipts: nothing says which other logs there should be";
        return if is_blind { vec![row(what.to_owned(), None)] } else { Vec::new() };
    }
    if receipts.are_absent() && job.source.is_none() && asked.is_whole_store() && has_logs {
        return vec![row("the store has logs and no receipts: nothing says which logs were written here".to_owned(), None)];
    }
    let is_meant = |unit: &Option<String>| {
        let unit = unit.as_ref().map(|unit| RelPath::from_key(unit));
        unit.is_none_or(|unit| job.selection.takes_name(&unit.to_string()))
    };
    let damaged = receipts.damaged().iter().filter(|damaged| asked.is_whole_store() && is_meant(&damaged.unit));
    let rows = damaged.map(|damaged| {
        let of = damaged.unit.as_ref().map(|unit| format!(" of {}", RelPath::from_key(unit))).unwrap_or_default();
        row_in(&damaged.file, format!("the receipt{of} is not as it was written, and counts for nothing"), Some(damaged.line))
    });
    rows.collect()
}

/// Compares a store's root with the one that was asked for. Returns the root,
/// where it could be computed, and what is wrong with it.
pub(super) fn about_root(
    job: &VerifyJob,
    root: Option<Result<String, StoreError>>,
    mut verdicts: impl Iterator<Item = Verdict>,
) -> (Option<String>, Option<Checked>) {
    let mut row = Checked::new("root".to_owned(), String::new(), Kept::Current);
    row.path.clone_from(&job.logs);
    match (root, &job.root) {
        (None, _) | (Some(Err(_)), None) => (None, None),
        (Some(Err(error)), Some(_)) => {
            row.verdict = Verdict::Unreadable;
            row.error = Some(error.into());
            (None, Some(row))
        }
        (Some(Ok(is)), Some(wanted)) if is != *wanted => {
            let told = if verdicts.any(names_the_log) {
                "the logs named here are new, gone or others than before"
            } else {
                "a log is new, gone or another one than before, and no receipt tells which"
            };
            row.verdict = Verdict::RootDiffers;
            let what = format!("the store has the root {is}, not {wanted}: {told}");
            row.differences.push(Located { difference: Difference::in_log(what, None), file: job.logs.clone(), line: None, byte: None });
            (Some(is), Some(row))
        }
        (Some(Ok(is)), _) => (Some(is), None),
    }
}

/// Tells whether a verdict by itself names a log that makes a root another one.
fn names_the_log(verdict: Verdict) -> bool {
    match verdict {
        Verdict::LogGone | Verdict::OtherLog | Verdict::NoReceipt | Verdict::Differs | Verdict::Damaged | Verdict::Unreadable => true,
        Verdict::Same
        | Verdict::NoSource
        | Verdict::KeptDamaged
        | Verdict::SourceChanged
        | Verdict::ReceiptDamaged
        | Verdict::RootDiffers
        | Verdict::NoLog
        | Verdict::NotConverted
        | Verdict::GoldenChanged
        | Verdict::GoldenMissing
        | Verdict::GoldenLeft => false,
    }
}
