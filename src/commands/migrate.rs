//! `everlog migrate`: convert, prove, replace.

use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::adapters::adapter::{Adapter, Standing};
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::live::Running;
use crate::store::lock::{HeldLocks, StoreLock};
use crate::store::pruned::Pruned;
use crate::store::receipts::{self, Line, Receipt, Receipts};
use crate::store::replace::{Ready, commit, sweep};

use super::convert::{ConvertError, Converted, Mode, Target, convert};
use super::earlier::existing;
use super::error::CommandError;
use super::migrate_report::{Reports, Status, UnitReport, report_all};
use super::prune::{say_all_went, say_damaged};
use super::retire::{self, Finished};
use super::source::{ListedSource, Selection, Source, SourceUnit};
use super::unchanged::{Standing as LogStanding, as_before, at_first_sight, log_standing};
use super::{batch, retired, unretire};

/// What to migrate, and how.
#[derive(Debug)]
pub struct MigrateJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Where logs go.
    pub dest: PathBuf,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Adapter>,
    /// For real, or not.
    pub mode: Mode,
    /// What becomes of the sources.
    pub sources: Sources,
    /// What if the program of the sessions runs.
    pub live: Live,
    /// Whether sizes and times are believed.
    pub trust: Trust,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under the store.
    pub disk: &'a dyn Disk,
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

/// What if the program of the sessions runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Live {
    /// Nothing is done.
    Refused,
    /// What is there now is converted; nothing is renamed.
    Allowed,
}

/// Whether a file of the same size and time is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    SizeAndTime,
    /// Nothing is believed.
    Nothing,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &MigrateJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.dest);
    let (mut known, listed) = rayon::join(|| Receipts::load(&store), || ListedSource::list(&job.source));
    let believed = (trust(job) == Trust::SizeAndTime).then_some(&known);
    let mut source = listed?.discover(&job.adapters, &job.selection, believed);
    // What was retired may be gone since: the receipts know of it.
    let has_receipts = job.sources == Sources::Unretire && store.receipts().is_file();
    if source.units.is_empty() && source.recognised > 0 && !has_receipts {
        out.summary(&format!("0 of {} chosen: nothing to do", text::count(source.recognised as u64, "session")));
        return Ok(ExitStatus::Well);
    }
    if source.units.is_empty() && !source.discovery.recognised_any() && !has_receipts {
        say_all_went(&source, &job.source, &Pruned::read(&store)?, &job.adapters, out)?;
    }
    refuse_nesting(&source, &job.dest)?;
    let running = source.running();
    if let Some(Running { process, file }) = running.values().next().filter(|_| job.live == Live::Refused) {
        return Err(CommandError::Live { process: *process, file: file.clone() });
    }
    let _lock = match job.mode {
        Mode::DryRun => None,
        Mode::Replace => {
            let lock = StoreLock::take(&store, job.disk)?;
            sweep(job.disk, store.root())?;
            Some(lock)
        }
    };
    if !known.are_those_of(&store) {
        // Another run has written them before we had the lock.
        known = Receipts::load(&store);
    }
    if job.sources == Sources::Unretire {
        return Ok(unretire::unretire(&source, &store, &mut known, job, out)?);
    }
    let mut finished = Finished::new();
    if job.sources == Sources::Retire && job.mode == Mode::Replace && running.is_empty() {
        finished = retire::finish(&source, &known, &store, job.disk)?;
    }
    if !finished.is_empty() {
        source = Source::open(&job.source, &job.adapters, &job.selection)?;
    }
    retired::settle(&mut source, &store, &known);
    let (reports, interrupted) = convert_all(&source, &store, (known, finished), &running, job, out)?;
    report_all(&source, &reports, job, out);
    let status = match interrupted {
        Some(done) => Err(CommandError::Interrupted { done, of: source.units.len() }),
        None => Ok(exit_status(&source, &reports)),
    };
    // Of many sessions much was found. Nobody need wait until all of it is freed.
    rayon::spawn(move || drop((source, reports)));
    status
}

/// What is believed. Before a source is renamed nothing is: its log must be
/// proven now.
fn trust(job: &MigrateJob<'_>) -> Trust {
    match job.sources {
        Sources::Retire => Trust::Nothing,
        Sources::Stay | Sources::Unretire => job.trust,
    }
}

/// A log must not become a source of the next run, nor a source be written to.
pub(super) fn refuse_nesting(source: &Source, named: &Path) -> Result<(), CommandError> {
    let dest = std::path::absolute(named).map_err(StoreError::io("find", named))?;
    // The part of it that exists may be a link to elsewhere.
    let mut real = dest.clone();
    let mut rest = Vec::new();
    while !real.exists() {
        match (real.file_name(), real.parent()) {
            (Some(name), Some(parent)) => {
                rest.push(name.to_owned());
                real = parent.to_owned();
            }
            _ => break,
        }
    }
    let mut real = std::fs::canonicalize(&real).unwrap_or(real);
    real.extend(rest.into_iter().rev());
    if real.starts_with(&source.root) || source.root.starts_with(&real) {
        return Err(CommandError::Nested { source: source.root.clone(), dest: named.to_owned() });
    }
    Ok(())
}

/// Units of one commit: enough to share a sync, few enough to lose little.
const GROUP_UNITS: usize = 256;
const GROUP_BYTES: u64 = 64 * 1024 * 1024;

/// Converted sessions that wait for their names.
#[derive(Default)]
struct Group {
    ready: Vec<Ready>,
    /// Their receipts as lines, by unit.
    lines: Vec<(String, Vec<u8>)>,
    superseded: Vec<PathBuf>,
    bytes: u64,
}

struct Committer<'a> {
    store: &'a Store,
    disk: &'a dyn Disk,
    group: Mutex<Group>,
    /// One commit at a time, beside the conversions that go on.
    committing: Mutex<()>,
    /// Where the receipts of those stand that have their names.
    noted: Mutex<Vec<Line>>,
    /// Units whose log did not get its name, and why.
    failed: Mutex<BTreeMap<String, String>>,
}

impl Committer<'_> {
    fn add(&self, converted: &mut Converted, ready: Ready) -> Result<(), ConvertError> {
        let line = converted.receipt.line()?;
        let full = {
            let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            group.ready.push(ready);
            group.lines.push((converted.receipt.unit.clone(), line));
            group.superseded.append(&mut converted.superseded);
            group.bytes += converted.receipt.log_bytes;
            group.ready.len() >= GROUP_UNITS || group.bytes >= GROUP_BYTES
        };
        if full {
            self.commit();
        }
        Ok(())
    }

    fn commit(&self) {
        let _one = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let group = std::mem::take(&mut *self.group.lock().unwrap_or_else(PoisonError::into_inner));
        if group.ready.is_empty() {
            return;
        }
        let done = commit(self.disk, self.store.root(), &group.ready)
            .and_then(|()| group.superseded.iter().try_for_each(|earlier| self.disk.remove(earlier)))
            .and_then(|()| receipts::append(self.store, self.disk, &group.lines));
        match done {
            Ok(lines) => self.noted.lock().unwrap_or_else(PoisonError::into_inner).extend(lines),
            Err(error) => {
                // Those that have their names are not there any more.
                for one in &group.ready {
                    let _ = self.disk.remove(&one.from);
                }
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                failed.extend(group.lines.into_iter().map(|(unit, _)| (unit, why.clone())));
            }
        }
    }
}

/// What became of every unit, and how many were done if the run was stopped.
fn convert_all(
    source: &Source,
    store: &Store,
    (mut known, finished): (Receipts, Finished),
    running: &BTreeMap<RelPath, Running>,
    job: &MigrateJob<'_>,
    out: &Printer,
) -> Result<(Reports, Option<usize>), CommandError> {
    let items: Vec<(&SourceUnit, u64)> = source.units.par_iter().map(|unit| (unit, unit.bytes(&source.listing))).collect();
    let progress = out.progress(items.iter().map(|(_, bytes)| bytes).sum(), items.len() as u64);
    let pruned = Pruned::read(store)?;
    say_damaged(&pruned, store, out);
    let target = Target { store, disk: job.disk, pruned: &pruned, mode: job.mode };
    let committer = Committer {
        store,
        disk: job.disk,
        group: Mutex::default(),
        committing: Mutex::default(),
        noted: Mutex::default(),
        failed: Mutex::default(),
    };
    // The answer takes a while, so only where a session has a lock file.
    let locks = source.has_lock_files().then(HeldLocks::ask);
    let taken = taken_names(source, store);
    let mut results: Vec<_> = if trust(job) == Trust::SizeAndTime && taken.is_empty() {
        let as_before = |bytes: u64, receipt: &Receipt| {
            progress.session_done(bytes);
            Ok((UnitReport::of(Outcome::AsBefore(Cow::Borrowed(receipt), Vec::new()), out.form()), None))
        };
        at_first_sight(&items, source, &known, store, as_before)
    } else {
        items.iter().map(|_| None).collect()
    };
    let rest: Vec<usize> = (0..items.len()).filter(|n| results[*n].is_none()).collect();
    let to_do: Vec<(&SourceUnit, u64)> = rest.iter().map(|n| items[*n]).collect();
    let done = batch::run(&to_do, job.jobs, job.stop, |unit, bytes| {
        let was = known.get(&unit.name);
        let done = match taken.get(&unit.name) {
            Some(other) => Err(ConvertError::SameName { other: other.to_string() }),
            None => one_unit(unit, source, job, was.as_ref(), target),
        };
        // Only what the report needs is kept until the end.
        let done = done.and_then(|mut outcome| {
            let line = noted(&mut outcome, was.as_ref(), &committer, job.mode)?;
            Ok((UnitReport::of(outcome, out.form()), line))
        });
        progress.session_done(bytes);
        Ok(done.unwrap_or_else(|error| (UnitReport::of_error(&error, was.as_ref()), None)))
    });
    rest.into_iter().zip(done).for_each(|(n, done)| results[n] = done);
    committer.commit();
    drop(progress);
    let failed = committer.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    known.take_in(store, committer.noted.into_inner().unwrap_or_else(PoisonError::into_inner))?;
    let (mut reports, mut to_retire) = (Vec::with_capacity(items.len()), Vec::new());
    let locks = locks.map(|locks| locks.answer().besides(store)).unwrap_or_default();
    let live: Vec<_> = items.par_iter().map(|(unit, _)| live_process(unit, source, &locks)).collect();
    for (n, (((unit, _), result), by_lock)) in items.iter().zip(results).zip(live).enumerate() {
        let Some(result) = result else { continue };
        let (mut report, line) = result.unwrap_or_else(|bug| (UnitReport::of_error(&bug, known.get(&unit.name).as_ref()), None));
        if !finished.is_empty() || !failed.is_empty() {
            let key = unit.name.key();
            finished.get(&key).into_iter().for_each(|files| report.retired(files.clone()));
            failed.get(&key).into_iter().for_each(|error| report.fail(error));
        }
        let by_file = running.get(&unit.found.root).map(|running| running.process.to_string());
        let live = by_lock.or(by_file.as_deref());
        if let Some(process) = live {
            report.note(
                FindingCode::SessionLive,
                "",
                format!("process {process} has this session open; what it writes from now on needs another run"),
            );
        }
        if report.is_proven() {
            if let Some(line) = line {
                known.put_line(unit.name.key(), line);
            }
            match live {
                _ if job.sources != Sources::Retire => {}
                Some(_) => report.note(FindingCode::NotRetired, "", "not renamed: its program has it open".to_owned()),
                None => to_retire.push((reports.len(), *unit)),
            }
        }
        reports.push((n, report));
    }
    if job.mode == Mode::Replace {
        retire::retire(source, &to_retire, &mut reports, &mut known, store, job.disk)?;
        known.save(store, job.disk)?;
    }
    let begun = reports.len();
    Ok((reports, (begun < source.units.len()).then_some(begun)))
}

/// Hands a converted session on; the line of a receipt that is another than it
/// was, where nothing is to be handed on.
fn noted(outcome: &mut Outcome<'_>, was: Option<&Receipt>, committer: &Committer<'_>, mode: Mode) -> Result<Option<Vec<u8>>, ConvertError> {
    let receipt = match outcome {
        // Nothing is written.
        _ if mode == Mode::DryRun => return Ok(None),
        Outcome::Retired(_) => return Ok(None),
        Outcome::AsBefore(receipt, _) => &**receipt,
        Outcome::Converted(converted) => {
            if let Some(ready) = converted.ready.take() {
                return committer.add(converted, ready).map(|()| None);
            }
            &converted.receipt
        }
    };
    Ok(if was == Some(receipt) { None } else { Some(receipt.line()?) })
}

/// The units whose log would have the name of another's, and whose, where upper
/// and lower case are the same.
fn taken_names<'s>(source: &'s Source, store: &Store) -> BTreeMap<&'s RelPath, &'s RelPath> {
    let (mut first, mut taken) = (BTreeMap::new(), BTreeMap::new());
    if store.folds_case() {
        for unit in &source.units {
            let folded = Store::log_name(&unit.name).to_string().to_lowercase();
            if let Some(other) = first.get(&folded) {
                taken.insert(&unit.name, *other);
            } else {
                first.insert(folded, &unit.name);
            }
        }
    }
    taken
}

/// What happened to one unit.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is not kept")]
pub(super) enum Outcome<'r> {
    /// It is as its receipt says; and what this run alone has seen.
    AsBefore(Cow<'r, Receipt>, Vec<Finding>),
    Converted(Box<Converted>),
    Retired(retired::RetiredUnit),
}

fn one_unit<'r>(
    unit: &SourceUnit,
    source: &Source,
    job: &MigrateJob<'_>,
    was: Option<&'r Receipt>,
    target: Target<'_>,
) -> Result<Outcome<'r>, ConvertError> {
    let store = target.store;
    let mut notes = Vec::new();
    let receipt = match was.map(|receipt| (receipt, log_standing(receipt, store))) {
        Some((receipt, LogStanding::Unfinished)) => {
            existing(&store.path(&RelPath::from_key(&receipt.log)), target, &mut notes)?;
            Some(receipt).filter(|receipt| log_standing(receipt, store) == LogStanding::There)
        }
        Some((receipt, LogStanding::There)) => Some(receipt),
        Some((_, LogStanding::Other)) | None => None,
    };
    if unit.found.standing == Standing::Retired {
        let mut retired = retired::look_at(unit, source, store)?;
        retired.findings.splice(..0, notes);
        return Ok(Outcome::Retired(retired));
    }
    if let Some(receipt) = receipt.filter(|receipt| receipt.format == unit.found.adapter.id())
        && let Some(same) = as_before(unit, source, receipt, trust(job))?
    {
        return Ok(Outcome::AsBefore(same, notes));
    }
    let mut converted = convert(unit, &source.folder_of(unit), &source.listing, target)?;
    converted.notes.splice(..0, notes);
    converted.receipt.retired = was.and_then(|receipt| receipt.retired.clone());
    Ok(Outcome::Converted(Box::new(converted)))
}

/// The process that has the session open.
fn live_process<'l>(unit: &SourceUnit, source: &Source, locks: &'l HeldLocks) -> Option<&'l str> {
    unit.lock_files().find_map(|path| locks.holder(|| path_below(&source.folder_of(unit), path)))
}

fn exit_status(source: &Source, reports: &Reports) -> ExitStatus {
    let failed = reports.iter().any(|(_, report)| report.status == Status::Failed) || !source.discovery.ties.is_empty();
    let found = reports.iter().flat_map(|(_, report)| &report.findings).chain(source.discovery.findings.list());
    if failed || found.into_iter().any(|finding| finding.severity >= Severity::Warn) { ExitStatus::Found } else { ExitStatus::Well }
}
