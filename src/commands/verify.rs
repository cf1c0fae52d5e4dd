//! `everlog verify`: the CI check. Logs by themselves, against their source, or
//! against replays that were kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use crate::adapters::ALL;
use crate::adapters::format::Standing;
use crate::model::files::RelPath;
use crate::pipeline::source::{Selection, Source, SourceUnit};
use crate::pipeline::{batch, retired};
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::listing::mtime_ns;
use crate::store::receipts::Receipts;
pub use crate::verify::Level;

use super::baseline::Baseline;
use super::error::CommandError;
use super::logs::{self, Asked, Names, Unread};
use super::verify_check::Checker;
pub use super::verify_job::{Annotations, Kept, Strictness, Verdict, VerifyJob};
use super::verify_row::Checked;
use super::verify_rows::{LogResult, NamedLog, Rows, earlier_unit_name};
use super::verify_store::Logs;
use super::{audit, golden, place, verify_report, verify_store};

/// How often a log is compared with its receipt while a migration runs, and how
/// long is waited before the second time; twice as long before each other, up to
/// the longest pause. Where migrations follow each other without a break, most
/// attempts meet a log whose receipt is not written yet.
const ATTEMPTS: u32 = 60;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Runs the command.
///
/// # Errors
/// When nothing could be checked at all.
pub fn run(job: &VerifyJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let asked = Asked::of(&job.logs);
    // There may be none, and somebody may know of logs that should be there.
    let Names { logs: found, mut unread } = logs::look_at_names(&job.logs)?;
    let root = if job.looks_at_the_rest() { verify_store::root(job, &asked)? } else { None };
    // A folder around several stores is not one.
    let store = asked.store.clone().or_else(|| Store::of_log(&asked.log(&job.logs, found.first()?.clone()).path));
    let mut source = match &job.source {
        Some(path) => {
            let place = store.as_ref().map(|store| place::find_in_part(store, &asked.part(), path)).transpose()?;
            Some(Source::open_with_logs_in(&place.unwrap_or_else(|| RelPath::new("")), path, ALL, &Selection::default())?)
        }
        None => None,
    };
    store.as_ref().map_or(Ok(()), Store::refuse_planted)?;
    let mut receipts = store.as_ref().map(Receipts::load).unwrap_or_default();
    if let (Some(source), Some(store)) = (&mut source, &store) {
        retired::settle(source, store, &receipts);
    }
    let source = source;
    let units = source.as_ref().map(|source| UnitsByLog::of(source, &asked));
    let every = every_log((found, &mut unread), job, &asked, units.as_ref())?;
    let unit_name = |log: &NamedLog<'_>| log.item(job, &asked, &receipts).unit_name;
    let nothing_meant = match every.len() {
        0 => Some(CommandError::NoLogs { path: job.logs.clone() }),
        _ if job.selection.takes_every_name() || every.iter().any(|log| job.selection.takes_name(&unit_name(log))) => None,
        of => Some(CommandError::NothingChosen { path: job.logs.clone(), of }),
    };
    // Of a part's own logs there may be none where the store has many.
    let has_more = job.shard.is_some() && every.iter().any(|log| log.kept == Kept::Current);
    let mut have = HaveLogs::of(&every, job, &asked);
    let chosen = choose(every, (job, &asked), source.as_ref(), unit_name);
    let none = Receipts::default();
    let baseline = store.as_ref().map(Baseline::read).transpose()?.unwrap_or_default();
    let owned = OnceLock::new();
    let checker = Checker {
        job,
        asked: &asked,
        source: source.as_ref(),
        store: store.as_ref(),
        receipts: &none,
        baseline: &baseline,
        form: out.form(),
        owned: &owned,
    };
    let rows = check_logs(&chosen, checker, &mut receipts, out);
    let mut besides = logs_gone(&receipts, &unread, checker, &mut have);
    let mut told_root = None;
    if job.looks_at_the_rest() {
        let is_current = chosen.iter().map(|log| log.kept).chain(besides.iter().map(|one| one.kept)).any(|kept| kept == Kept::Current);
        let has_logs = if has_more || is_current { Logs::Some } else { Logs::None };
        besides.extend(verify_store::about_receipts(job, &asked, &receipts, has_logs));
        let verdicts = rows.iter().map(LogResult::verdict).chain(besides.iter().map(|one| one.verdict));
        let (root, wrong_root) = verify_store::about_root(job, root, verdicts);
        besides.extend(wrong_root);
        told_root = root;
    }
    if let (Some(source), Some(units)) = (&source, &units) {
        besides.extend(without_logs(source, units, checker, &have));
    }
    if let Some(folder) = &job.golden {
        let left = golden::left_over(folder, &asked, |log| have.contains(log))?;
        let meant = left.iter().filter(|name| job.selection.takes_name(name) && job.takes(name));
        besides.extend(meant.map(|name| Checked::golden_left(folder, name)));
    }
    besides.sort_by(|a, b| a.order().cmp(&b.order()));
    let rows = Rows { job, asked: &asked, receipts: &receipts, logs: &chosen, rows, besides };
    if let Some(error) = nothing_meant.filter(|_| rows.is_empty()) {
        return Err(error);
    }
    verify_report::report(&rows, job, told_root.as_deref(), out)
}

/// Checks logs side by side. Those that their receipts speak against are checked again
/// while a migration runs, with the receipts that it has written by then.
fn check_logs(chosen: &[NamedLog<'_>], checker: Checker<'_>, receipts: &mut Receipts, out: &Printer) -> Vec<LogResult> {
    let Checker { job, asked, source, store, .. } = checker;
    let bytes = |log: &NamedLog<'_>| asked.log(&job.logs, log.name.clone()).path.metadata().map_or(0, |meta| meta.len());
    let progress = out.progress(chosen.iter().map(bytes).sum(), chosen.len() as u64);
    // A log is read through a window; what is in memory is the source.
    let held = |log: &NamedLog<'_>| source.map_or(0, |source| log.unit.map_or_else(|| bytes(log), |unit| unit.bytes(&source.listing)));
    let known: &Receipts = receipts;
    let mut rows = batch::by_size(chosen, held, job.jobs, |log| {
        let checked = Checker { receipts: known, ..checker }.check(&log.item(job, asked, known));
        progress.session_done(bytes(log));
        LogResult::of(checked)
    });
    drop(progress);
    // A migration that runs at the same time writes logs before their receipts:
    // what these say against a log is asked again, not reported at once.
    let mut pause = FIRST_PAUSE;
    for _ in 0..ATTEMPTS {
        let is_disputed = rows.iter().any(|row| row.verdict().is_disputed()) || !receipts.damaged().is_empty();
        let written = store.filter(|store| is_disputed && verify_store::is_being_written(store, receipts));
        let Some(store) = written else { break };
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
        *receipts = Receipts::load(store);
        for (log, row) in chosen.iter().zip(&mut rows).filter(|(_, row)| row.verdict().is_disputed()) {
            *row = LogResult::of(Checker { receipts, ..checker }.check(&log.item(job, asked, receipts)));
        }
    }
    rows
}

/// Returns the logs that receipts name and that are not there, and the files with the
/// name of a log that could not be looked at. All of them are added to `have`.
fn logs_gone(receipts: &Receipts, unread: &[Unread], checker: Checker<'_>, have: &mut HaveLogs) -> Vec<Checked> {
    let Checker { job, asked, .. } = checker;
    let mut gone = Vec::new();
    // A folder that is not in a store has none of the names of its receipts.
    for receipt in receipts.iter().filter(|_| asked.store.is_some()) {
        let (log, unit) = (RelPath::from_key(&receipt.log), RelPath::from_key(&receipt.unit).to_string());
        let place = asked.place_of(&job.logs, &log);
        let is_meant = asked.takes(&log) && job.selection.takes_name(&unit) && job.takes(&log.to_string());
        if have.insert(&log) && is_meant && !logs::stands(&job.logs, asked, &log) {
            gone.push(Checked::gone(&log, unit, place));
        }
    }
    let unread = unread.iter().filter(|unread| have.insert(&asked.name_below(&unread.relative)));
    let unread = unread.filter(|unread| job.takes(&unread.relative.to_string()));
    gone.extend(unread.map(|unread| Checked::unread(unread, &job.logs)));
    gone
}

/// Returns the sessions of a source that have no log, and what of it cannot be
/// converted.
fn without_logs(source: &Source, units: &UnitsByLog<'_>, checker: Checker<'_>, have: &HaveLogs) -> Vec<Checked> {
    let Checker { job, asked, baseline, .. } = checker;
    let is_without = |log: &RelPath, unit: &SourceUnit| {
        unit.found.standing == Standing::Live && asked.takes(log) && !have.contains(log) && job.takes(&log.to_string())
    };
    let meant = units.iter().filter(|(log, unit)| is_without(log, unit) && job.selection.takes(unit, &source.listing));
    let mut without: Vec<Checked> = meant.map(|(log, unit)| checker.without_log(&log.key(), unit)).collect();
    let beyond = if job.looks_at_the_rest() { audit::beyond_sessions(source) } else { Vec::new() };
    let unconverted = beyond.into_iter().filter(|finding| finding.code.is_unconverted());
    let meant = unconverted.filter(|finding| job.selection.takes_name(&finding.location.file));
    let mut acceptance = baseline.acceptance();
    without.extend(meant.map(|finding| checker.not_converted(&finding, &mut acceptance)));
    without
}

/// The sessions of a source, by the logs that they have or should have.
struct UnitsByLog<'a> {
    /// The folder that these logs are below.
    folder: RelPath,
    units: &'a [SourceUnit],
    /// Those whose logs have other names than their own and an ending; all of them
    /// where they are not in order.
    odd: BTreeMap<RelPath, &'a SourceUnit>,
}

impl<'a> UnitsByLog<'a> {
    fn of(source: &'a Source, asked: &Asked) -> UnitsByLog<'a> {
        let units = &source.units;
        let folder = asked.folder_like(&source.root);
        let is_named_so = folder.as_bytes().is_empty() || units.iter().any(|unit| asked.takes(&Store::log_name(&unit.name)));
        let are_in_order = units.is_sorted_by(|a, b| a.name < b.name);
        let is_odd = |unit: &&SourceUnit| !are_in_order || !unit.name.as_text().is_some_and(Store::is_log_name_plain);
        let odd = units.iter().filter(is_odd).map(|unit| (Store::log_name(&unit.name), unit)).collect();
        UnitsByLog { folder: if is_named_so { RelPath::new("") } else { folder }, units, odd }
    }

    /// Returns the session that has a log.
    fn get(&self, log: &RelPath) -> Option<&'a SourceUnit> {
        let folder = self.folder.as_bytes();
        let own = if folder.is_empty() { Some(log.as_bytes()) } else { log.as_bytes().strip_prefix(folder)?.strip_prefix(b"/") }?;
        let name = RelPath::new(own.strip_suffix(LOG_SUFFIX.as_bytes())?);
        let usual = self.units.binary_search_by(|unit| unit.name.cmp(&name)).ok().map(|n| &self.units[n]);
        let is_its = |unit: &&SourceUnit| Store::log_name(&unit.name).as_bytes() == own;
        usual.filter(is_its).or_else(|| self.odd.get(&RelPath::new(own)).copied())
    }

    fn iter(&self) -> impl Iterator<Item = (RelPath, &'a SourceUnit)> {
        self.units.iter().map(|unit| (Store::log_name(&unit.name).below(&self.folder), unit))
    }
}

/// The names of all logs below the store that there are, or were looked for.
struct HaveLogs {
    listed: Vec<RelPath>,
    more: BTreeSet<RelPath>,
}

impl HaveLogs {
    fn of(every: &[NamedLog<'_>], job: &VerifyJob, asked: &Asked) -> HaveLogs {
        let name = |log: &NamedLog<'_>| match log.kept {
            Kept::Current => asked.name_of(&asked.log(&job.logs, log.name.clone())),
            Kept::Earlier => log.name.clone(),
        };
        let mut listed: Vec<RelPath> = every.iter().map(name).collect();
        listed.sort_unstable();
        HaveLogs { listed, more: BTreeSet::new() }
    }

    fn contains(&self, log: &RelPath) -> bool {
        self.listed.binary_search(log).is_ok() || self.more.contains(log)
    }

    /// Adds a name; says whether it is new.
    fn insert(&mut self, log: &RelPath) -> bool {
        self.listed.binary_search(log).is_err() && self.more.insert(log.clone())
    }
}

/// Everything that could be checked: the logs that were named, and those that
/// the store keeps from before.
fn every_log<'a>(
    (found, unread): (Vec<RelPath>, &mut Vec<Unread>),
    job: &VerifyJob,
    asked: &Asked,
    units: Option<&UnitsByLog<'a>>,
) -> Result<Vec<NamedLog<'a>>, CommandError> {
    let unit = |name: &RelPath| units.and_then(|units| units.get(&asked.name_of(&asked.log(&job.logs, name.clone()))));
    let mut every: Vec<NamedLog<'a>> = found.into_iter().map(|name| NamedLog { unit: unit(&name), name, kept: Kept::Current }).collect();
    // A store as a whole is checked as a whole.
    let whole = asked.store.as_ref().filter(|_| asked.is_whole_store());
    let earlier = whole.map(logs::look_at_earlier_names).transpose()?.unwrap_or_default();
    unread.extend(earlier.unread);
    every.extend(earlier.logs.into_iter().map(|name| NamedLog { name, kept: Kept::Earlier, unit: None }));
    Ok(every)
}

/// Returns what of that is meant.
fn choose<'a>(
    every: Vec<NamedLog<'a>>,
    (job, asked): (&VerifyJob, &Asked),
    source: Option<&Source>,
    unit_name: impl Fn(&NamedLog<'_>) -> String,
) -> Vec<NamedLog<'a>> {
    let is_new = |log: &NamedLog<'_>| {
        let path = asked.log(&job.logs, log.name.clone()).path;
        let log_is = path.metadata().is_ok_and(|meta| job.selection.takes_time(mtime_ns(&meta)));
        log_is || source.zip(log.unit).is_some_and(|(source, unit)| job.selection.takes_files(unit, &source.listing))
    };
    let is_of_part = |log: &NamedLog<'_>| match log.kept {
        Kept::Current => job.takes(&asked.name_of(&asked.log(&job.logs, log.name.clone())).to_string()),
        // An earlier log goes with the one that took its place.
        Kept::Earlier => job.takes(&earlier_unit_name(&log.name.key())),
    };
    let is_named = |log: &NamedLog<'_>| job.selection.takes_every_name() || job.selection.takes_name(&unit_name(log));
    let mut chosen = every;
    chosen.retain(|log| (job.shard.is_none() || is_of_part(log)) && is_named(log) && is_new(log));
    if let Some(sample) = job.sample {
        let names: Vec<String> = chosen.iter().map(unit_name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut taken = sample.choose(&names).into_iter();
        chosen.retain(|_| taken.next().unwrap_or(true));
    }
    chosen
}
