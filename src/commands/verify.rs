//! `everlog verify`: the CI check. Logs by themselves, against their source, or
//! against replays that were kept.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::adapters::ALL;
use crate::adapters::adapter::Standing;
use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::report::differences::Showing;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::listing::mtime_ns;
use crate::store::receipts::Receipts;
pub use crate::verify::Level;

use super::error::CommandError;
use super::logs::{self, LogFile};
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
pub(super) const VERDICTS: [Verdict; 12] = [
    Verdict::Same,
    Verdict::NoSource,
    Verdict::KeptDamaged,
    Verdict::Differs,
    Verdict::Damaged,
    Verdict::SourceChanged,
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
            Verdict::Same | Verdict::NoSource | Verdict::KeptDamaged => ExitStatus::Well,
            Verdict::Differs
            | Verdict::Damaged
            | Verdict::SourceChanged
            | Verdict::NoLog
            | Verdict::NotConverted
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
    /// What was found when it was made.
    pub findings: Vec<Finding>,
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
    let found = logs::find(&job.logs)?;
    let store = Store::of_log(&found[0].path);
    let mut source = match &job.source {
        Some(path) => Some(Source::open(path, ALL, &Selection::default())?),
        None => None,
    };
    let receipts = store.as_ref().map(Receipts::load).unwrap_or_default();
    if let (Some(source), Some(store)) = (&mut source, &store) {
        retired::settle(source, store, &receipts);
    }
    let source = source;
    let units: BTreeMap<String, &SourceUnit> =
        source.iter().flat_map(|source| &source.units).map(|unit| (Store::log_name(&unit.name).key(), unit)).collect();
    let every = items(found, job, store.as_ref(), &receipts, &units)?;
    let have: BTreeSet<String> = every.iter().map(|item| item.key.clone()).collect();
    let chosen = choose(every, job, source.as_ref())?;
    let checker = Checker { job, source: source.as_ref(), store: store.as_ref() };
    let bytes = |item: &Item<'_>| item.log.path.metadata().map_or(0, |meta| meta.len());
    let progress = out.progress(chosen.iter().map(bytes).sum(), chosen.len() as u64);
    let mut checked = batch::each(&chosen, job.jobs, |item| {
        let checked = checker.check(item);
        progress.session_done(bytes(item));
        checked
    });
    drop(progress);
    if let Some(source) = &source {
        let without = units.iter().filter(|(log, unit)| unit.found.standing == Standing::Live && !have.contains(*log));
        let meant = without.filter(|(_, unit)| job.selection.takes(unit, &source.listing));
        checked.extend(meant.map(|(log, unit)| checker.without_log(log, unit)));
        let unconverted = audit::beyond_sessions(source).into_iter().filter(|finding| finding.code.is_unconverted());
        let meant = unconverted.filter(|finding| job.selection.takes_name(&finding.location.file));
        checked.extend(meant.map(|finding| checker.not_converted(&finding)));
    }
    if let Some(folder) = job.golden.as_ref().filter(|_| job.logs.is_dir()) {
        let left = golden::left_over(folder, &have)?;
        checked.extend(left.iter().filter(|name| job.selection.takes_name(name)).map(|name| Checked::golden_left(folder, name)));
    }
    checked.sort_by(|a, b| a.order().cmp(&b.order()));
    verify_report::report(&checked, job, out)?;
    Ok(verify_report::exit_status(&checked, job.strictness))
}

/// Everything that could be checked: the logs that were named, and those that
/// the store keeps from before.
fn items<'a>(
    found: Vec<LogFile>,
    job: &VerifyJob,
    store: Option<&Store>,
    receipts: &Receipts,
    units: &BTreeMap<String, &'a SourceUnit>,
) -> Result<Vec<Item<'a>>, CommandError> {
    let by_log: BTreeMap<&str, _> = receipts.iter().map(|receipt| (receipt.log.as_str(), receipt)).collect();
    let mut items: Vec<Item<'a>> = Vec::new();
    for log in found {
        let key = logs::name_in_store(&log, &job.logs, store).key();
        let receipt = by_log.get(key.as_str());
        let unit_name = receipt.map(|receipt| RelPath::from_key(&receipt.unit).to_string()).unwrap_or_else(|| unit_name(&key));
        let findings = receipt.map(|receipt| receipt.findings.clone()).unwrap_or_default();
        let unit = units.get(&key).copied();
        items.push(Item { log, key, unit_name, kept: Kept::Current, unit, findings });
    }
    // A store as a whole is checked as a whole.
    let whole = store.filter(|store| {
        std::fs::canonicalize(&job.logs).is_ok_and(|logs| std::fs::canonicalize(store.root()).is_ok_and(|root| root == logs))
    });
    for mut log in whole.map(logs::earlier).transpose()?.unwrap_or_default() {
        log.path = job.logs.join(log.path.strip_prefix(whole.map_or(Path::new(""), Store::root)).unwrap_or(&log.path));
        let key = log.relative.key();
        let unit_name = earlier_unit_name(&key);
        items.push(Item { log, key, unit_name, kept: Kept::Earlier, unit: None, findings: Vec::new() });
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
fn choose<'a>(every: Vec<Item<'a>>, job: &VerifyJob, source: Option<&Source>) -> Result<Vec<Item<'a>>, CommandError> {
    let count = every.len();
    let named: Vec<Item<'a>> = every.into_iter().filter(|item| job.selection.takes_name(&item.unit_name)).collect();
    if named.is_empty() && count > 0 {
        return Err(CommandError::NothingChosen { path: job.logs.clone(), of: count });
    }
    let is_new = |item: &Item<'_>| {
        let log_is = item.log.path.metadata().is_ok_and(|meta| job.selection.takes_time(mtime_ns(&meta)));
        log_is || source.zip(item.unit).is_some_and(|(source, unit)| job.selection.takes_files(unit, &source.listing))
    };
    let mut chosen: Vec<Item<'a>> = named.into_iter().filter(|item| is_new(item)).collect();
    if let Some(sample) = job.sample {
        let names: Vec<&str> = chosen.iter().map(|item| item.unit_name.as_str()).collect();
        let mut taken = sample.choose(&names).into_iter();
        chosen.retain(|_| taken.next().unwrap_or(true));
    }
    Ok(chosen)
}
