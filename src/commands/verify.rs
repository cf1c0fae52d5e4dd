//! `everlog verify`: the CI check. Logs by themselves, against their source, or
//! against replays that were kept.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::adapters::ALL;
use crate::adapters::adapter::Standing;
use crate::model::files::RelPath;
use crate::report::differences::Showing;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::listing::mtime_ns;
use crate::store::receipts::Receipts;
pub use crate::verify::Level;

use super::error::CommandError;
use super::logs::{self, Asked, LogFile};
use super::sample::Sample;
use super::source::{Selection, Source, SourceUnit};
use super::verify_check::{Checked, Checker};
use super::{audit, batch, golden, retired, verify_report};

/// What to verify, and how strictly.
#[derive(Debug)]
pub struct VerifyJob {
    /// A store, or one log.
    pub logs: PathBuf,
    /// The source to compare with.
    pub source: Option<PathBuf>,
    /// The replays to compare with.
    pub golden: Option<PathBuf>,
    /// Which sessions.
    pub selection: Selection,
    /// Which part of them.
    pub sample: Option<Sample>,
    /// How far each is checked.
    pub level: Level,
    /// Whether findings count.
    pub strictness: Strictness,
    /// How differences are shown.
    pub showing: Showing,
    /// How many differences of one log are shown.
    pub most: usize,
    /// A JUnit report to write.
    pub junit: Option<PathBuf>,
    /// Annotations.
    pub annotations: Annotations,
    /// The time: `YYYY-MM-DDTHH:MM:SS`, in UTC.
    pub timestamp: String,
    /// How many sessions at once.
    pub jobs: usize,
}

/// Whether findings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Only differences do.
    Differences,
    /// Findings at `warn` or above do too, and logs without a source.
    Findings,
}

/// Annotations on stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Annotations {
    /// None.
    None,
    /// As GitHub Actions reads them.
    GitHub {
        /// The folder that files are named from.
        workspace: PathBuf,
        /// The file that a summary is added to.
        summary: Option<PathBuf>,
    },
}

/// How one log fares. The names are stable: programs match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Same,
    /// The source has no such session (any more); the log is good by itself.
    NoSource,
    /// An earlier log that was not whole when it was kept, and is unchanged.
    KeptDamaged,
    /// The log is not as it was sealed, or does not come to what it should.
    Differs,
    /// Lines of the log are no events, or do not fit together.
    Damaged,
    /// The log is good by itself, and its source has other bytes.
    SourceChanged,
    /// A log was written, and no log stands there any more.
    LogGone,
    /// The source has a session without a log.
    NoLog,
    /// The source has something that is recognised and cannot be converted.
    NotConverted,
    /// The replay is not the one that was kept.
    GoldenChanged,
    /// No replay was kept of this session.
    GoldenMissing,
    /// A replay was kept of a session that has no log.
    GoldenLeft,
    /// The log could not be read.
    Unreadable,
}

/// All verdicts, in the order in which they are counted.
pub(super) const VERDICTS: [Verdict; 13] = [
    Verdict::Same,
    Verdict::NoSource,
    Verdict::KeptDamaged,
    Verdict::Differs,
    Verdict::Damaged,
    Verdict::SourceChanged,
    Verdict::LogGone,
    Verdict::NoLog,
    Verdict::NotConverted,
    Verdict::GoldenChanged,
    Verdict::GoldenMissing,
    Verdict::GoldenLeft,
    Verdict::Unreadable,
];

impl Verdict {
    /// What a run ends in that comes to this.
    #[must_use]
    pub fn exit(self) -> ExitStatus {
        match self {
            Verdict::Same | Verdict::NoSource | Verdict::NotConverted | Verdict::KeptDamaged => ExitStatus::Well,
            Verdict::Differs
            | Verdict::Damaged
            | Verdict::SourceChanged
            | Verdict::LogGone
            | Verdict::NoLog
            | Verdict::GoldenChanged
            | Verdict::GoldenMissing
            | Verdict::GoldenLeft => ExitStatus::Found,
            Verdict::Unreadable => ExitStatus::Failed,
        }
    }
}

/// One log that is to be checked.
pub(super) struct Item<'a> {
    pub log: LogFile,
    /// Its path below the store, as a key.
    pub key: String,
    /// What its session is called.
    pub unit_name: String,
    pub kept: Kept,
    /// Its session in the source.
    pub unit: Option<&'a SourceUnit>,
    /// The unit of what was noted when it was made.
    pub noted: Option<RelPath>,
}

/// Which of a session's logs it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The one under its name.
    Current,
    /// One that held more than its successor.
    Earlier,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be checked at all.
pub fn run(job: &VerifyJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let asked = Asked::of(&job.logs);
    let found = match logs::find(&job.logs) {
        // Somebody may know of logs that should be there.
        Err(CommandError::NoLogs { .. }) => Vec::new(),
        found => found?,
    };
    // A folder around several stores is none.
    let store = asked.store.clone().or_else(|| Store::of_log(&found.first()?.path));
    let mut source = match &job.source {
        Some(path) => Some(Source::open(path, ALL, &Selection::default())?),
        None => None,
    };
    let receipts = store.as_ref().map(Receipts::load).unwrap_or_default();
    if let (Some(source), Some(store)) = (&mut source, &store) {
        retired::settle(source, store, &receipts);
    }
    let source = source;
    let units = source.as_ref().map(|source| units_by_log(source, &asked)).unwrap_or_default();
    let every = items(found, job, &asked, &receipts, &units)?;
    let nothing_meant = match every.len() {
        0 => Some(CommandError::NoLogs { path: job.logs.clone() }),
        _ if every.iter().any(|item| job.selection.takes_name(&item.unit_name)) => None,
        of => Some(CommandError::NothingChosen { path: job.logs.clone(), of }),
    };
    let mut have: BTreeSet<String> = every.iter().map(|item| item.key.clone()).collect();
    let chosen = choose(every, job, source.as_ref());
    let checker = Checker { job, source: source.as_ref(), store: store.as_ref(), receipts: &receipts, form: out.form() };
    let bytes = |item: &Item<'_>| item.log.path.metadata().map_or(0, |meta| meta.len());
    let progress = out.progress(chosen.iter().map(bytes).sum(), chosen.len() as u64);
    // A log is read through a window; what is in memory is the source.
    let held =
        |item: &Item<'_>| source.as_ref().map_or(0, |source| item.unit.map_or_else(|| bytes(item), |unit| unit.bytes(&source.listing)));
    let mut checked = batch::by_size(&chosen, held, job.jobs, |item| {
        let checked = checker.check(item);
        progress.session_done(bytes(item));
        checked
    });
    drop(progress);
    // A folder that is not in a store has none of the names of its receipts.
    for receipt in receipts.iter().filter(|_| asked.store.is_some()) {
        let (log, unit) = (RelPath::from_key(&receipt.log), RelPath::from_key(&receipt.unit).to_string());
        if asked.takes(&log) && have.insert(receipt.log.clone()) && job.selection.takes_name(&unit) {
            checked.push(Checked::gone(&log, unit, asked.place_of(&job.logs, &log)));
        }
    }
    if let Some(source) = &source {
        let is_without = |log: &str, unit: &SourceUnit| {
            unit.found.standing == Standing::Live && asked.takes(&RelPath::from_key(log)) && !have.contains(log)
        };
        let meant = units.iter().filter(|(log, unit)| is_without(log, unit) && job.selection.takes(unit, &source.listing));
        checked.extend(meant.map(|(log, unit)| checker.without_log(log, unit)));
        let unconverted = audit::beyond_sessions(source).into_iter().filter(|finding| finding.code.is_unconverted());
        let meant = unconverted.filter(|finding| job.selection.takes_name(&finding.location.file));
        checked.extend(meant.map(|finding| checker.not_converted(&finding)));
    }
    if let Some(folder) = &job.golden {
        let left = golden::left_over(folder, &asked, &have)?;
        checked.extend(left.iter().filter(|name| job.selection.takes_name(name)).map(|name| Checked::golden_left(folder, name)));
    }
    if let Some(error) = nothing_meant.filter(|_| checked.is_empty()) {
        return Err(error);
    }
    checked.sort_by(|a, b| a.order().cmp(&b.order()));
    verify_report::report(&checked, job, out)?;
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
    found: Vec<LogFile>,
    job: &VerifyJob,
    asked: &Asked,
    receipts: &Receipts,
    units: &BTreeMap<String, &'a SourceUnit>,
) -> Result<Vec<Item<'a>>, CommandError> {
    let by_log: BTreeMap<String, RelPath> = receipts.iter().map(|receipt| (receipt.log, RelPath::from_key(&receipt.unit))).collect();
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
    for mut log in whole.map(logs::earlier).transpose()?.unwrap_or_default() {
        log.path = job.logs.join(log.path.strip_prefix(whole.map_or(Path::new(""), Store::root)).unwrap_or(&log.path));
        let key = log.relative.key();
        let unit_name = earlier_unit_name(&key);
        items.push(Item { log, key, unit_name, kept: Kept::Earlier, unit: None, noted: None });
    }
    Ok(items)
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
    let named = every.into_iter().filter(|item| job.selection.takes_name(&item.unit_name));
    let mut chosen: Vec<Item<'a>> = named.filter(|item| is_new(item)).collect();
    if let Some(sample) = job.sample {
        let names: Vec<&str> = chosen.iter().map(|item| item.unit_name.as_str()).collect();
        let mut taken = sample.choose(&names).into_iter();
        chosen.retain(|_| taken.next().unwrap_or(true));
    }
    chosen
}
