//! Restoring: the original files of logs, byte for byte. A run that was stopped
//! or killed is continued by the next: files that have their bytes already count
//! as restored.

mod databases;
mod error;
mod plan;
mod rebuilt;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::log::SealState;
use crate::model::rows::LeftOut;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::restored::{RestoreFolder, Standing};

use super::batch;
use super::open::{LogFile, open};

use self::databases::{Databases, Made};
pub use self::error::RestoreError;
pub use self::plan::Superseded;
use self::plan::{EntryKind, LogPlan, PathOwners, Stores, settle};
use self::rebuilt::one_file;

/// What to restore, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Restoration<'a> {
    /// The logs.
    pub logs: &'a [LogFile],
    /// The folder to restore into.
    pub dest: &'a Path,
    /// How many logs at once.
    pub jobs: usize,
    /// Set to stop after the logs that have begun.
    pub stop: &'a AtomicBool,
    /// The disk under the folder.
    pub disk: &'a dyn Disk,
}

/// What became of logs that were to be restored.
#[derive(Debug)]
pub struct RestoreRun {
    /// What became of each log, in their order; `None` for a log that was not begun
    /// because the run was stopped.
    pub results: Vec<Option<Result<Restored, RestoreError>>>,
    /// Files that a newer log has otherwise, and that were not restored.
    pub superseded: Vec<Superseded>,
}

/// The files that came out of one log.
#[derive(Debug)]
pub struct Restored {
    /// How many files.
    pub files: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many of the files had their bytes already.
    pub already: u64,
    /// How many of the files are databases, which come back row for row.
    pub databases: u64,
    /// Tables whose rows a database lacks, because its logs do not have them.
    pub left_out: Vec<LeftOut>,
    /// Whether the log is as it was sealed.
    pub seal: SealState,
    /// The files that were made, for the case that a link of the same log cannot be.
    made: Vec<PathBuf>,
}

impl Restored {
    fn and(mut self, more: Restored) -> Restored {
        self.files += more.files;
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.already += more.already;
        self.databases += more.databases;
        self.left_out.extend(more.left_out);
        self.made.extend(more.made);
        self
    }
}

/// Restores logs into a folder. Nothing there is ever overwritten, and nothing is
/// written outside of it.
///
/// # Errors
/// When nothing could be done at all. What is wrong with one log never stops the
/// others.
pub fn restore(job: &Restoration<'_>) -> Result<RestoreRun, RestoreError> {
    let stores = Stores::of(job.logs)?;
    let read = batch::each(job.logs, job.jobs, |log| batch::caught(|| LogPlan::of(log, &stores), RestoreError::Bug));
    let mut failures: Vec<Option<RestoreError>> = Vec::with_capacity(job.logs.len());
    let mut plans: Vec<Option<LogPlan>> = Vec::with_capacity(job.logs.len());
    for result in read {
        let (plan, failure) = match result {
            Ok(plan) => (Some(plan), None),
            Err(error) => (None, Some(error)),
        };
        plans.push(plan);
        failures.push(failure);
    }
    let mut settled = settle(job.logs, &mut plans);
    let folder = RestoreFolder::at(job.dest, job.disk)?;
    folder.sweep(plans.iter().flatten().flat_map(|plan| &plan.entries).map(|entry| &entry.path))?;
    refuse_what_has_no_room(&folder, &plans, &mut failures)?;
    let mut results = restore_all(job, &plans, failures, &folder, &stores);
    restore_passed_on(job, &plans, &mut results, &mut settled, (&folder, &stores));
    let databases = Databases { logs: job.logs, plans: &plans, stop: job.stop, folder: &folder };
    let made = databases.restore(|n| matches!(results.get(n), Some(Some(Ok(_)))));
    for (n, made) in made {
        results[n] = match (made, results[n].take()) {
            (Made::Stopped, _) => None,
            (Made::Failed(error), Some(Ok(done))) => Some(Err(taken_back(&done.made, &folder, error))),
            (Made::Failed(error), _) => Some(Err(error)),
            (Made::Database(made), Some(Ok(done))) => Some(Ok(Restored {
                files: done.files + 1,
                bytes: done.bytes.saturating_add(made.bytes),
                already: done.already + u64::from(made.standing == Standing::AsExpected),
                databases: done.databases + 1,
                left_out: made.left_out,
                ..done
            })),
            (Made::Database(_), result) => result,
        };
    }
    folder.sync()?;
    Ok(RestoreRun { results, superseded: settled.superseded(&plans) })
}

/// Restores the files that failed logs should have given from the next newest
/// logs that have them, until no log fails any more.
fn restore_passed_on(
    job: &Restoration<'_>,
    plans: &[Option<LogPlan>],
    results: &mut [Option<Result<Restored, RestoreError>>],
    settled: &mut PathOwners,
    (folder, stores): (&RestoreFolder<'_>, &Stores),
) {
    loop {
        let failed = results.iter().enumerate().filter(|(_, result)| matches!(result, Some(Err(_)))).map(|(n, _)| n).collect();
        let more = settled.pass_on(&failed, plans);
        if more.is_empty() {
            return;
        }
        for (n, plan) in more {
            let rest = batch::caught(
                || files_of(&job.logs[n], &plan, folder, stores).and_then(|done| links_of(&plan, folder, done)),
                RestoreError::Bug,
            );
            if job.stop.load(Ordering::Relaxed) {
                return;
            }
            results[n] = match (results[n].take(), rest) {
                (Some(Ok(done)), Ok(rest)) => Some(Ok(done.and(rest))),
                (Some(Ok(done)), Err(error)) => Some(Err(taken_back(&done.made, folder, error))),
                (result, _) => result,
            };
        }
    }
}

/// Refuses up front what the disk has no room for: a log by itself, or else all
/// of them.
fn refuse_what_has_no_room(
    folder: &RestoreFolder<'_>,
    plans: &[Option<LogPlan>],
    failures: &mut [Option<RestoreError>],
) -> Result<(), RestoreError> {
    let Some(free) = folder.free() else { return Ok(()) };
    let no_room = |needs| StoreError::NoRoom { path: folder.root().to_owned(), needs, free };
    let mut all = 0u64;
    for (plan, failure) in plans.iter().zip(failures) {
        let needs = plan.as_ref().map_or(0, |plan| plan.needs(folder));
        if needs > free {
            *failure = Some(no_room(needs).into());
        } else {
            all = all.saturating_add(needs);
        }
    }
    if all > free { Err(no_room(all).into()) } else { Ok(()) }
}

/// Restores the files of all logs, then the links of those that came out well:
/// as long as files are written, no log's link can stand in another's way.
/// Nothing for a log that was not begun because the run was stopped.
fn restore_all(
    job: &Restoration<'_>,
    plans: &[Option<LogPlan>],
    failures: Vec<Option<RestoreError>>,
    folder: &RestoreFolder<'_>,
    stores: &Stores,
) -> Vec<Option<Result<Restored, RestoreError>>> {
    let to_do: Vec<(usize, &LogPlan)> = plans
        .iter()
        .enumerate()
        .filter(|(n, _)| failures[*n].is_none())
        .filter_map(|(n, plan)| plan.as_ref().map(|plan| (n, plan)))
        .collect();
    let done = batch::each(&to_do, job.jobs, |(n, plan)| {
        let is_begun = !job.stop.load(Ordering::Relaxed);
        is_begun.then(|| batch::caught(|| files_of(&job.logs[*n], plan, folder, stores), RestoreError::Bug))
    });
    let mut results: Vec<Option<Result<Restored, RestoreError>>> = failures.into_iter().map(|failure| failure.map(Err)).collect();
    for ((n, plan), done) in to_do.into_iter().zip(done) {
        results[n] = done.map(|done| done.and_then(|done| links_of(plan, folder, done)));
    }
    results
}

/// Restores the files and empty folders of a log.
fn files_of(log: &LogFile, plan: &LogPlan, folder: &RestoreFolder<'_>, stores: &Stores) -> Result<Restored, RestoreError> {
    let (mut view, adapter) = open(&log.path, None)?;
    let (store, _) = stores.get(log);
    let mut done =
        Restored { files: 0, bytes: 0, already: 0, databases: 0, left_out: Vec::new(), seal: plan.seal.clone(), made: Vec::new() };
    for (entry, is_own) in plan.entries.iter().zip(&plan.is_own) {
        let restored = match &entry.what {
            _ if !is_own => continue,
            EntryKind::Link { .. } | EntryKind::Rows { .. } => continue,
            EntryKind::Folder => {
                folder.standing(&entry.path, entry.what.expected()).and_then(|_| folder.folder(&entry.path)).map_err(Into::into)
            }
            EntryKind::File { size, .. } => {
                done.files += 1;
                done.bytes = done.bytes.saturating_add(*size);
                match folder.standing(&entry.path, entry.what.expected()) {
                    Ok(Standing::AsExpected) => {
                        done.already += 1;
                        Ok(())
                    }
                    Ok(Standing::Nothing) => one_file(&mut view, adapter, log, entry, folder, store).map(|full| done.made.push(full)),
                    Err(error) => Err(error.into()),
                }
            }
        };
        if let Err(error) = restored {
            return Err(taken_back(&done.made, folder, error));
        }
    }
    Ok(done)
}

/// Removes what was made of a session that cannot be restored as a whole: half a
/// session must not lie there as if it were one.
fn taken_back(made: &[PathBuf], folder: &RestoreFolder<'_>, error: RestoreError) -> RestoreError {
    let removed = made.iter().map(|full| folder.discard(full)).filter_map(Result::err).next();
    removed.map_or(error, Into::into)
}

/// Restores the links of a log.
fn links_of(plan: &LogPlan, folder: &RestoreFolder<'_>, mut done: Restored) -> Result<Restored, RestoreError> {
    for (entry, is_own) in plan.entries.iter().zip(&plan.is_own) {
        let (EntryKind::Link { target }, true) = (&entry.what, *is_own) else { continue };
        let linked = folder.standing(&entry.path, entry.what.expected()).and_then(|standing| match standing {
            Standing::AsExpected => Ok(None),
            Standing::Nothing => folder.link(&entry.path, target).map(Some),
        });
        match linked {
            Ok(made) => done.made.extend(made),
            Err(error) => return Err(taken_back(&done.made, folder, error.into())),
        }
    }
    Ok(done)
}
