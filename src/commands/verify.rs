//! `everlog verify`: the CI check. Logs by themselves, against their source, or
//! against replays that were kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
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
use super::logs::{self, Asked, LogFile, Looked, Unread};
use super::verify_check::{Checked, Checker};
use super::verify_job::Item;
pub use super::verify_job::{Annotations, Kept, Strictness, Verdict, VerifyJob};
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
    let Looked { logs: found, mut unread } = logs::look(&job.logs)?;
    let root = if job.looks_at_the_rest() { verify_store::root(job, &asked)? } else { None };
    // A folder around several stores is none.
    let store = asked.store.clone().or_else(|| Store::of_log(&found.first()?.path));
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
    let units = source.as_ref().map(|source| units_by_log(source, &asked)).unwrap_or_default();
    let every = items((found, &mut unread), job, &asked, &receipts, &units)?;
    let nothing_meant = match every.len() {
        0 => Some(CommandError::NoLogs { path: job.logs.clone() }),
        _ if every.iter().any(|item| job.selection.takes_name(&item.unit_name)) => None,
        of => Some(CommandError::NothingChosen { path: job.logs.clone(), of }),
    };
    let has_logs = if every.iter().any(|item| item.kept == Kept::Current) { Logs::Some } else { Logs::None };
    let mut have: BTreeSet<String> = every.iter().map(|item| item.key.clone()).collect();
    let mut chosen = choose(every, job, source.as_ref());
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
    let bytes = |item: &Item<'_>| item.log.path.metadata().map_or(0, |meta| meta.len());
    let progress = out.progress(chosen.iter().map(bytes).sum(), chosen.len() as u64);
    // A log is read through a window; what is in memory is the source.
    let held =
        |item: &Item<'_>| source.as_ref().map_or(0, |source| item.unit.map_or_else(|| bytes(item), |unit| unit.bytes(&source.listing)));
    let mut checked = batch::by_size(&chosen, held, job.jobs, |item| {
        let checked = Checker { receipts: &receipts, ..checker }.check(item);
        progress.session_done(bytes(item));
        checked
    });
    drop(progress);
    // A migration that runs at the same time writes logs before their receipts:
    // what these say against a log is asked again, not reported at once.
    let mut pause = FIRST_PAUSE;
    for _ in 0..ATTEMPTS {
        let is_disputed = checked.iter().any(|one| one.verdict.is_disputed()) || !receipts.damaged().is_empty();
        let written = store.as_ref().filter(|store| is_disputed && verify_store::is_being_written(store, &receipts));
        let Some(store) = written else { break };
        std::thread::sleep(pause);
        pause = LONGEST_PAUSE.min(pause * 2);
        receipts = Receipts::load(store);
        let noted = units_by_receipt(&receipts);
        for (item, one) in chosen.iter_mut().zip(&mut checked).filter(|(_, one)| one.verdict.is_disputed()) {
            item.noted = noted.get(&item.key).cloned();
            *one = Checker { receipts: &receipts, ..checker }.check(item);
        }
    }
    // A folder that is not in a store has none of the names of its receipts.
    for receipt in receipts.iter().filter(|_| asked.store.is_some()) {
        let (log, unit) = (RelPath::from_key(&receipt.log), RelPath::from_key(&receipt.unit).to_string());
        let place = asked.place_of(&job.logs, &log);
        // One that is a file now was written since logs were listed.
        let is_there = place.symlink_metadata().is_ok_and(|meta| meta.is_file());
        let is_meant = asked.takes(&log) && job.selection.takes_name(&unit) && job.takes(&log.to_string());
        if have.insert(receipt.log.clone()) && is_meant && !is_there {
            checked.push(Checked::gone(&log, unit, place));
        }
    }
    let unread = unread.iter().filter(|unread| have.insert(asked.name_below(&unread.relative).key()));
    let unread = unread.filter(|unread| job.takes(&unread.relative.to_string()));
    checked.extend(unread.map(|unread| Checked::unread(unread, &job.logs)));
    let mut told_root = None;
    if job.looks_at_the_rest() {
        checked.extend(verify_store::about_receipts(job, &asked, &receipts, has_logs));
        let (root, wrong_root) = verify_store::about_root(job, root, &checked);
        checked.extend(wrong_root);
        told_root = root;
    }
    if let Some(source) = &source {
        let is_without = |log: &str, unit: &SourceUnit| {
            let name = RelPath::from_key(log);
            unit.found.standing == Standing::Live && asked.takes(&name) && !have.contains(log) && job.takes(&name.to_string())
        };
        let meant = units.iter().filter(|(log, unit)| is_without(log, unit) && job.selection.takes(unit, &source.listing));
        checked.extend(meant.map(|(log, unit)| checker.without_log(log, unit)));
        let beyond = if job.looks_at_the_rest() { audit::beyond_sessions(source) } else { Vec::new() };
        let unconverted = beyond.into_iter().filter(|finding| finding.code.is_unconverted());
        let meant = unconverted.filter(|finding| job.selection.takes_name(&finding.location.file));
        let mut acceptance = baseline.acceptance();
        checked.extend(meant.map(|finding| checker.not_converted(&finding, &mut acceptance)));
    }
    if let Some(folder) = &job.golden {
        let left = golden::left_over(folder, &asked, &have)?;
        let meant = left.iter().filter(|name| job.selection.takes_name(name) && job.takes(name));
        checked.extend(meant.map(|name| Checked::golden_left(folder, name)));
    }
    if let Some(error) = nothing_meant.filter(|_| checked.is_empty()) {
        return Err(error);
    }
    checked.sort_by(|a, b| a.order().cmp(&b.order()));
    verify_report::report(&checked, job, told_root.as_deref(), out)?;
    Ok(verify_report::exit_status(&checked, job.strictness))
}

/// The sessions of a source, by the logs that they have or should have.
fn units_by_log<'a>(source: &'a Source, asked: &Asked) -> BTreeMap<String, &'a SourceUnit> {
    let below = |folder: &RelPath| -> BTreeMap<String, &'a SourceUnit> {
        source.units.iter().map(|unit| (Store::log_name(&unit.name).below(folder).key(), unit)).collect()
    };
    let units = below(&RelPath::new(""));
    let folder = asked.folder_like(&source.root);
    let is_named_so = folder.as_bytes().is_empty() || units.keys().any(|log| asked.takes(&RelPath::from_key(log)));
    if is_named_so { units } else { below(&folder) }
}

/// Everything that could be checked: the logs that were named, and those that
/// the store keeps from before.
fn items<'a>(
    (found, unread): (Vec<LogFile>, &mut Vec<Unread>),
    job: &VerifyJob,
    asked: &Asked,
    receipts: &Receipts,
    units: &BTreeMap<String, &'a SourceUnit>,
) -> Result<Vec<Item<'a>>, CommandError> {
    let by_log = units_by_receipt(receipts);
    let mut items: Vec<Item<'a>> = Vec::new();
    for log in found {
        let key = asked.name_of(&log).key();
        let noted = by_log.get(&key).cloned();
        let unit_name = noted.as_ref().map(ToString::to_string).unwrap_or_else(|| unit_name(&key));
        let unit = units.get(&key).copied();
        items.push(Item { log, key, unit_name, kept: Kept::Current, unit, noted });
    }
    // A store as a whole is checked as a whole.
    let whole = asked.store.as_ref().filter(|_| asked.is_whole_store());
    let earlier = whole.map(logs::look_at_earlier).transpose()?.unwrap_or_default();
    unread.extend(earlier.unread);
    for mut log in earlier.logs {
        log.path = job.logs.join(log.path.strip_prefix(whole.map_or(Path::new(""), Store::root)).unwrap_or(&log.path));
        let key = log.relative.key();
        let unit_name = earlier_unit_name(&key);
        items.push(Item { log, key, unit_name, kept: Kept::Earlier, unit: None, noted: None });
    }
    Ok(items)
}

/// The units that receipts name, by their logs.
fn units_by_receipt(receipts: &Receipts) -> BTreeMap<String, RelPath> {
    receipts.iter().map(|receipt| (receipt.log, RelPath::from_key(&receipt.unit))).collect()
}

fn unit_name(key: &str) -> String {
    let name = RelPath::from_key(key).to_string();
    name.strip_suffix(LOG_SUFFIX).unwrap_or(&name).to_owned()
}

/// `.everlog/earlier/a/b.0123456789abcdef.everlog.jsonl` is of `a/b`.
pub(super) fn earlier_unit_name(key: &str) -> String {
    let name = unit_name(key);
    let name = name.strip_prefix(".everlog/earlier/").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(unit, _)| unit).to_owned()
}

/// What of that is meant.
fn choose<'a>(every: Vec<Item<'a>>, job: &VerifyJob, source: Option<&Source>) -> Vec<Item<'a>> {
    let is_new = |item: &Item<'_>| {
        let log_is = item.log.path.metadata().is_ok_and(|meta| job.selection.takes_time(mtime_ns(&meta)));
        log_is || source.zip(item.unit).is_some_and(|(source, unit)| job.selection.takes_files(unit, &source.listing))
    };
    let is_named = |item: &Item<'_>| job.selection.takes_name(&item.unit_name) && job.takes(&item.name_for_shards());
    let named = every.into_iter().filter(is_named);
    let mut chosen: Vec<Item<'a>> = named.filter(|item| is_new(item)).collect();
    if let Some(sample) = job.sample {
        let names: Vec<&str> = chosen.iter().map(|item| item.unit_name.as_str()).collect();
        let mut taken = sample.choose(&names).into_iter();
        chosen.retain(|_| taken.next().unwrap_or(true));
    }
    chosen
}
