//! `everlog migrate`: every session through the pipeline, then a report.

use rayon::prelude::*;
use std::collections::BTreeMap;

use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::location::Location;
use crate::pipeline::retired;
use crate::pipeline::run::{Conversion, Finished, Run, convert_sized};
use crate::pipeline::source::{ListedSource, Source, SourceUnit};
use crate::pipeline::target::{Mode, Target};
use crate::pipeline::unchanged::Trust;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::StoreError;
use crate::store::layout::{Store, path_below};
use crate::store::live::Running;
use crate::store::lock::{HeldLocks, StoreLock};
use crate::store::pruned::Pruned;
use crate::store::receipts::Receipts;
use crate::store::replace::sweep_store;
use crate::store::root::root_of;

use super::audit;
use super::baseline::Baseline;
use super::error::CommandError;
pub use super::migrate_job::{Live, MigrateJob, Requirement, Share, Sources};
use super::migrate_report::{report_all, settle_accepted};
use super::migrate_unit::{Reports, Status, UnitReport};
use super::overlap::refuse_overlap;
use super::place;
use super::prune::{say_all_went, say_damaged};
use super::retire::{self, RetiredFiles};
use super::unretire;

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &MigrateJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.dest).for_shard(job.shard);
    let (mut known, listed) = rayon::join(|| Receipts::load(&store), || ListedSource::list(&job.source));
    let trusted = (job.trusted() == Trust::SizeAndTime).then_some(&known);
    let listed = listed?;
    let mut place = place::choose(&store, listed.root(), &job.share)?;
    let mut source = listed.with_logs_in(place.folder.clone()).discover(&job.adapters, &job.selection, trusted);
    if !place.suits(&source) && !place.has_sessions_of(&source, &known) {
        place = place::choose_apart(&store, &source, &job.share)?;
        let listed = ListedSource::list(&job.source)?.with_logs_in(place.folder.clone());
        source = listed.discover(&job.adapters, &job.selection, trusted);
    }
    // What was retired may be gone since: the receipts know of it.
    let has_receipts = job.sources == Sources::Unretire && store.has_receipts();
    if source.units.is_empty() && source.recognised > 0 && !has_receipts {
        out.summary(&format!("0 of {} chosen: nothing to do", text::count(source.recognised as u64, "session")));
        return Ok(ExitStatus::Well);
    }
    if source.units.is_empty() && !source.discovery.recognised_any() && !has_receipts {
        audit::tell_unconverted(&source, out);
        say_all_went(&source, &job.source, &Pruned::read(&store)?, &job.adapters, out)?;
    }
    refuse_overlap(&source, &job.dest)?;
    let running = source.running();
    if let Some(Running { process, file }) = running.values().next().filter(|_| job.live == Live::Refused) {
        return Err(CommandError::Live { process: *process, file: file.clone() });
    }
    let lock = match job.mode {
        Mode::DryRun => None,
        Mode::Replace => {
            let lock = StoreLock::take(&store, job.disk)?;
            sweep_store(&store, job.disk)?;
            Some(lock)
        }
    };
    if !known.are_those_of(&store) {
        // Another run has written them before we had the lock.
        known = Receipts::load(&store);
    }
    match &lock {
        None => drop(place.with(&source, &store)?),
        // Before the first log: a run that is cut short leaves none that could be taken for
        // another source's.
        Some(_) if job.shard.is_none() => {
            known.compact(&store, job.disk)?;
            place.with(&source, &store)?.write(&store, job.disk)?;
        }
        Some(lock) => {
            let _turn = lock.wait_for_turn(&store, job.disk)?;
            place::choose_again(&place, &store, &source.root, &job.share)?.with(&source, &store)?.write(&store, job.disk)?;
        }
    }
    if job.sources == Sources::Unretire {
        return unretire_all(&mut source, &store, known, job, out);
    }
    let mut finished = RetiredFiles::new();
    if job.sources == Sources::Retire && job.mode == Mode::Replace && running.is_empty() {
        finished = retire::finish(&source, &known, &store, job.disk)?;
    }
    if !finished.is_empty() {
        source = Source::open_with_logs_in(&source.place, &job.source, &job.adapters, &job.selection)?;
    }
    retired::settle(&mut source, &store, &known);
    job.shard.iter().for_each(|shard| source.keep_shard(*shard));
    note_damaged(&known, &mut source);
    let Migrated { mut reports, interrupted, saved } = migrate_all(&source, &store, (known, finished), &running, job, out)?;
    let root = match job.mode {
        Mode::DryRun => None,
        // The other parts are still writing.
        Mode::Replace if job.shard.is_some() => None,
        // Over what is on disk now, whatever receipts say.
        Mode::Replace => Some(root_of(store.root())?),
    };
    let beyond = settle_accepted(&source, &mut reports, &Baseline::read(&store)?);
    report_all(&source, &reports, (&beyond, root), job, out);
    let complete = reports.iter().filter(|(_, report)| report.is_proven()).count();
    let status = match (saved, interrupted) {
        // A log that has its name by now is complete, whatever came after.
        (Err(error), _) => Err(CommandError::NotAllWritten { complete, of: source.units.len(), source: error }),
        (Ok(()), Some(done)) => Err(CommandError::Interrupted { done, of: source.units.len() }),
        (Ok(()), None) => Ok(exit_status(&source, &reports, &beyond.findings)),
    };
    // The copies of databases lie on the disk: they must be gone before the process is.
    source.units.iter_mut().for_each(|unit| unit.part = None);
    // Many sessions have many findings. Nobody need wait until all of them are freed.
    rayon::spawn(move || drop((source, reports)));
    status
}

/// Gives retired files their names back; a damaged receipt may have named more.
fn unretire_all(
    source: &mut Source,
    store: &Store,
    mut known: Receipts,
    job: &MigrateJob<'_>,
    out: &Printer,
) -> Result<ExitStatus, CommandError> {
    note_damaged(&known, source);
    let findings = source.discovery.findings.list().iter();
    let damaged: Vec<&Finding> = findings.filter(|finding| finding.code == FindingCode::ReceiptDamaged).collect();
    damaged.iter().for_each(|finding| out.complain(&text::finding(finding, "")));
    let status = unretire::unretire(source, store, &mut known, job, out)?;
    Ok(if damaged.is_empty() { status } else { status.max(ExitStatus::Found) })
}

/// Notes receipts that are not as they were written. Their sessions are proven
/// again, and get new receipts.
fn note_damaged(known: &Receipts, source: &mut Source) {
    for damaged in known.damaged_of_own() {
        let of = damaged.unit.as_ref().map(|unit| format!(" of {}", RelPath::from_key(unit))).unwrap_or_default();
        let message = format!("the receipt{of} is not as it was written; it is not trusted, and its session is proven again");
        source.discovery.findings.add(FindingCode::ReceiptDamaged, Location::at(&damaged.file, damaged.line, 1), message);
    }
}

/// What became of a run.
struct Migrated {
    /// What became of every unit.
    reports: Reports,
    /// How many were done, if the run was stopped.
    interrupted: Option<usize>,
    /// Whether the receipts and the names of retired files could be written.
    saved: Result<(), StoreError>,
}

/// Converts every unit, and retires the sources of proven ones where that is
/// asked for.
fn migrate_all(
    source: &Source,
    store: &Store,
    (mut known, finished): (Receipts, RetiredFiles),
    running: &BTreeMap<RelPath, Running>,
    job: &MigrateJob<'_>,
    out: &Printer,
) -> Result<Migrated, CommandError> {
    let sizes = source.sizes();
    let progress = out.progress(sizes.iter().sum(), sizes.len() as u64);
    let pruned = Pruned::read(store)?;
    say_damaged(&pruned, store, out);
    let target = Target { store, disk: job.disk, pruned: &pruned, mode: job.mode };
    let conversion = Conversion { source, target, trust: job.trusted(), jobs: job.jobs, stop: job.stop };
    // The answer takes a while, so only where a session has a lock file.
    let locks = source.has_lock_files().then(HeldLocks::ask);
    // Only what the report needs is kept until the end.
    let Run { results, failed, unsaved } = convert_sized(&conversion, &sizes, &mut known, |Finished { bytes, outcome, previous }| {
        progress.session_done(bytes);
        match outcome {
            Ok(outcome) => UnitReport::of(outcome, previous, out.form()),
            Err(error) => UnitReport::of_error(&error, previous),
        }
    })?;
    drop(progress);
    let (mut reports, mut to_retire) = (Reports::new(results), Vec::new());
    let locks = locks.map(|locks| locks.answer().besides(store));
    let open = source.open_sessions();
    let live: Vec<_> = match &locks {
        Some(locks) => source.units.par_iter().map(|unit| live_process(unit, source, locks)).collect(),
        None => Vec::new(),
    };
    for (n, report) in reports.iter_mut() {
        let (unit, by_lock) = (&source.units[n], live.get(n).copied().flatten());
        if !finished.is_empty() || !failed.is_empty() {
            let key = unit.name.key();
            finished.get(&key).into_iter().for_each(|files| report.retired(files.clone()));
            failed.get(&key).into_iter().for_each(|error| report.fail(error));
        }
        let by_file = running.get(&unit.found.root).or_else(|| open.get(&unit.name)).map(|running| running.process.to_string());
        let live = by_lock.or(by_file.as_deref());
        if let Some(process) = live {
            let message = format!("process {process} has this session open; what it writes from now on needs another run");
            report.note(FindingCode::SessionLive, "", message);
        }
        if report.is_proven() && job.sources == Sources::Retire {
            match live {
                Some(_) => report.note(FindingCode::NotRetired, "", "not renamed: its program has it open".to_owned()),
                None => to_retire.push((n, unit)),
            }
        }
    }
    let saved = match job.mode {
        Mode::DryRun => Ok(()),
        // On a full disk this fails: the logs that have their names are there all
        // the same, and are reported.
        // Without its receipt a session must not be retired.
        Mode::Replace if unsaved.is_some() => unsaved.map_or(Ok(()), Err),
        Mode::Replace => {
            retire::retire(source, &to_retire, &mut reports, &mut known, store, job.disk).and_then(|()| known.save(store, job.disk))
        }
    };
    let begun = reports.begun();
    Ok(Migrated { reports, interrupted: (begun < source.units.len()).then_some(begun), saved })
}

/// Returns the process that has the session open.
fn live_process<'l>(unit: &SourceUnit, source: &Source, locks: &'l HeldLocks) -> Option<&'l str> {
    unit.lock_files().find_map(|path| locks.holder(|| path_below(&source.folder_of(unit), path)))
}

fn exit_status(source: &Source, reports: &Reports, beyond: &[Finding]) -> ExitStatus {
    let failed = reports.iter().any(|(_, report)| report.status == Status::Failed) || !source.discovery.ties.is_empty();
    let found = reports.iter().flat_map(|(_, report)| report.findings()).chain(beyond);
    if failed || found.into_iter().any(|finding| finding.severity >= Severity::Warn) { ExitStatus::Found } else { ExitStatus::Well }
}
