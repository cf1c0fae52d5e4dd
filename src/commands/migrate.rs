//! `everlog migrate`: convert, prove, replace.

use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use crate::adapters::adapter::{Adapter, Standing};
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::folder::ListedKind;
use crate::model::location::Location;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::lock::{HeldLocks, StoreLock};
use crate::store::receipts::{self, Receipt, Receipts};
use crate::store::replace::{Ready, commit, sweep};
use crate::store::snapshot;

use super::convert::{Change, ConvertError, Converted, Mode, Target, convert};
use super::error::CommandError;
use super::source::{Selection, Source, SourceUnit};
use super::{batch, retire};

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

/// Whether a file of the same size and time is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is.
    SizeAndTime,
    /// Nothing is believed.
    Nothing,
}

/// What became of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A first log.
    Created,
    /// Another log than before.
    Changed,
    /// The same log as before.
    Unchanged,
    /// No log.
    Failed,
    /// Not looked at.
    Skipped,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
pub struct UnitReport {
    unit: String,
    format: &'static str,
    status: Status,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    source_bytes: u64,
    log_bytes: u64,
    residual_bytes: u64,
    messages: u64,
    events: u32,
    findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retired: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &MigrateJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let source = Source::open(&job.source, &job.adapters, &job.selection)?;
    if source.units.is_empty() && source.discovery.ties.is_empty() {
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.source.clone(), looked_for });
    }
    refuse_nesting(&source, job)?;
    let store = Store::at(&job.dest);
    let _lock = match job.mode {
        Mode::DryRun => None,
        Mode::Replace => {
            let lock = StoreLock::take(&store, job.disk)?;
            sweep(job.disk, store.root())?;
            Some(lock)
        }
    };
    if job.sources == Sources::Unretire {
        return retire::unretire(&source, &store, job, out);
    }
    let (mut reports, interrupted) = convert_all(&source, &store, job, out)?;
    report_all(&source, &mut reports, job, out);
    match interrupted {
        Some(done) => Err(CommandError::Interrupted { done, of: source.units.len() }),
        None => Ok(exit_status(&source, &reports)),
    }
}

/// A log must not become a source of the next run, nor a source be written to.
fn refuse_nesting(source: &Source, job: &MigrateJob<'_>) -> Result<(), CommandError> {
    let dest = std::path::absolute(&job.dest).map_err(StoreError::io("find", &job.dest))?;
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
        return Err(CommandError::Nested { source: source.root.clone(), dest: job.dest.clone() });
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
    receipts: Vec<Receipt>,
    superseded: Vec<PathBuf>,
    bytes: u64,
}

struct Committer<'a> {
    store: &'a Store,
    disk: &'a dyn Disk,
    group: Mutex<Group>,
    /// One commit at a time, beside the conversions that go on.
    committing: Mutex<()>,
    failure: Mutex<Option<StoreError>>,
}

impl Committer<'_> {
    fn add(&self, converted: &mut Converted) {
        let Some(ready) = converted.ready.take() else { return };
        let full = {
            let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            group.ready.push(ready);
            group.receipts.push(converted.receipt.clone());
            group.superseded.append(&mut converted.superseded);
            group.bytes += converted.receipt.log_bytes;
            group.ready.len() >= GROUP_UNITS || group.bytes >= GROUP_BYTES
        };
        if full {
            self.commit();
        }
    }

    fn commit(&self) {
        let _one = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let group = std::mem::take(&mut *self.group.lock().unwrap_or_else(PoisonError::into_inner));
        if group.ready.is_empty() {
            return;
        }
        let done = commit(self.disk, self.store.root(), &group.ready)
            .and_then(|()| group.superseded.iter().try_for_each(|earlier| self.disk.remove(earlier)))
            .and_then(|()| receipts::append(self.store, self.disk, &group.receipts));
        if let Err(error) = done {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

/// What became of every unit, and how many were done if the run was stopped.
fn convert_all(
    source: &Source,
    store: &Store,
    job: &MigrateJob<'_>,
    out: &Printer,
) -> Result<(Vec<UnitReport>, Option<usize>), CommandError> {
    let mut known = Receipts::load(store);
    let items: Vec<(&SourceUnit, u64)> = source.units.iter().map(|unit| (unit, unit.bytes(&source.listing))).collect();
    let progress = out.progress(items.iter().map(|(_, bytes)| bytes).sum(), items.len() as u64);
    let target = Target { store, disk: job.disk, mode: job.mode };
    let committer = Committer { store, disk: job.disk, group: Mutex::default(), committing: Mutex::default(), failure: Mutex::default() };
    let locks = HeldLocks::now();
    let results = batch::run(&items, job.jobs, job.stop, |unit| {
        let done = one_unit(unit, source, store, job, &known, target).map(|mut done| {
            if let Outcome::Converted(converted) = &mut done {
                note_if_live(unit, source, &locks, converted);
                committer.add(converted);
            }
            done
        });
        progress.session_done(unit.bytes(&source.listing));
        done
    });
    committer.commit();
    drop(progress);
    if let Some(error) = committer.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error.into());
    }
    let mut reports = Vec::new();
    let mut begun = 0;
    for ((unit, _), result) in items.iter().zip(results) {
        let Some(result) = result else { continue };
        begun += 1;
        let mut report = report_of(unit, result, &known);
        if let Some((receipt, report)) = report.1.zip(Some(&mut report.0)) {
            let mut receipt = receipt;
            if job.sources == Sources::Retire && job.mode == Mode::Replace {
                retire::retire(source, unit, &mut receipt, job.disk, report)?;
            }
            known.put(receipt);
        }
        reports.push(report.0);
    }
    if job.mode == Mode::Replace {
        known.save(store, job.disk)?;
    }
    Ok((reports, (begun < source.units.len()).then_some(begun)))
}

/// What happened to one unit.
enum Outcome {
    /// It is as its receipt says.
    AsBefore(Box<Receipt>),
    Converted(Box<Converted>),
    Retired(Box<Receipt>),
}

fn one_unit(
    unit: &SourceUnit,
    source: &Source,
    store: &Store,
    job: &MigrateJob<'_>,
    known: &Receipts,
    target: Target<'_>,
) -> Result<Outcome, ConvertError> {
    let receipt = known.get(&unit.name).filter(|receipt| log_is_there(receipt, store));
    if unit.found.standing == Standing::Retired {
        return receipt.map(|receipt| Outcome::Retired(Box::new(receipt.clone()))).ok_or(ConvertError::RetiredWithoutLog);
    }
    if let Some(receipt) = receipt.filter(|receipt| receipt.format == unit.found.adapter.id())
        && let Some(same) = as_before(unit, source, receipt, job.trust)?
    {
        return Ok(Outcome::AsBefore(Box::new(same)));
    }
    convert(unit, &source.folder_of(unit), &source.listing, target).map(|converted| Outcome::Converted(Box::new(converted)))
}

/// Whether the log of a receipt is the one that was written then: its size,
/// and the hash in its last line.
fn log_is_there(receipt: &Receipt, store: &Store) -> bool {
    let path = store.path(&crate::model::files::RelPath::new(receipt.log.as_bytes()));
    let Ok(file) = crate::store::disk::open(&path) else { return false };
    let file = crate::store::disk::OpenFile(file);
    let mut tail = Vec::new();
    use crate::model::stream::ReadAt;
    file.size().is_ok_and(|size| size == receipt.log_bytes)
        && file.fill_at(&mut tail, receipt.log_bytes.saturating_sub(256), 256).is_ok()
        && memchr::memmem::find(&tail, receipt.log_sha256.as_bytes()).is_some()
}

/// The receipt, brought up to date, of a source that has not changed.
fn as_before(unit: &SourceUnit, source: &Source, receipt: &Receipt, trust: Trust) -> Result<Option<Receipt>, ConvertError> {
    if trust == Trust::Nothing || receipt.files.len() != unit.found.files.len() {
        return Ok(None);
    }
    let listed: Vec<_> = unit.found.files.iter().map(|path| source.listing.get(&path.below(&unit.found.root))).collect();
    let all_same = receipt
        .files
        .iter()
        .zip(&unit.found.files)
        .zip(&listed)
        .all(|((was, path), listed)| was.path == path.to_string() && listed.is_some_and(|listed| was.is_as_listed(listed)));
    if all_same && left_out_as_before(unit, receipt) {
        return Ok(Some(receipt.clone()));
    }
    // Another time or mode: the bytes decide, unless a time is part of the log.
    let sizes_same = receipt.files.iter().zip(&listed).all(|(was, listed)| {
        listed.is_some_and(|listed| was.is_as_listed(listed) || (listed.kind == ListedKind::File && was.size == listed.size))
    });
    if receipt.uses_file_times || !sizes_same || !left_out_as_before(unit, receipt) {
        return Ok(None);
    }
    let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
    let mut same = receipt.clone();
    for ((was, path), listed) in same.files.iter_mut().zip(&unit.found.files).zip(&listed) {
        if let (Some(crate::model::files::Entry::File(file)), Some(listed)) = (files.entry(path), listed) {
            if was.sha256.as_deref() != Some(crate::model::digest::sha256_hex(&file.bytes).as_str()) {
                return Ok(None);
            }
            was.mtime_ns = file.mtime_ns;
            was.mode = listed.mode;
        }
    }
    Ok(Some(same))
}

/// Whether the same strays lie about as did then.
fn left_out_as_before(unit: &SourceUnit, receipt: &Receipt) -> bool {
    let stray = |finding: &&Finding| {
        matches!(
            finding.code,
            FindingCode::LockFile
                | FindingCode::TemporaryKept
                | FindingCode::TemporaryLeft
                | FindingCode::SpecialFile
                | FindingCode::Unreadable
        )
    };
    let then: Vec<_> = receipt.findings.iter().filter(stray).map(|finding| (finding.code, finding.location.file.clone())).collect();
    let now: Vec<_> = unit.found.left_out.iter().map(|(path, code, _)| (*code, path.to_string())).collect();
    then == now
}

/// Says so when the program has the session open.
fn note_if_live(unit: &SourceUnit, source: &Source, locks: &HeldLocks, converted: &mut Converted) {
    let folder = source.folder_of(unit);
    for (path, code, _) in &unit.found.left_out {
        let lock = crate::store::layout::path_below(&folder, path);
        if *code == FindingCode::LockFile
            && let Some(process) = locks.holder(&lock)
        {
            let message = format!("process {process} has this session open; what it writes from now on needs another run");
            let location = Location::file(path.to_string());
            let code = FindingCode::SessionLive;
            converted.receipt.findings.push(Finding { code, severity: code.severity(), location, message, more: 0 });
        }
    }
}

/// The report of a unit, and its receipt where there is a new one.
fn report_of(unit: &SourceUnit, result: Result<Outcome, ConvertError>, known: &Receipts) -> (UnitReport, Option<Receipt>) {
    let files = unit.found.files.iter().map(|file| unit.reported(file).to_string()).collect();
    let mut report = UnitReport {
        unit: unit.name.to_string(),
        format: unit.found.adapter.id(),
        status: Status::Failed,
        files,
        log: None,
        source_bytes: 0,
        log_bytes: 0,
        residual_bytes: 0,
        messages: 0,
        events: 0,
        findings: Vec::new(),
        error: None,
        hint: None,
        retired: Vec::new(),
    };
    let receipt = match result {
        Err(error) => {
            report.error = Some(error_text(&error));
            report.hint = error.hint();
            // A log of an earlier run stays what it is.
            report.log = known.get(&unit.name).map(|receipt| receipt.log.clone());
            return (report, None);
        }
        Ok(Outcome::AsBefore(receipt)) => {
            report.status = Status::Unchanged;
            *receipt
        }
        Ok(Outcome::Retired(receipt)) => {
            report.status = Status::Skipped;
            let code = FindingCode::SourceRetired;
            let message = "migrated and retired; its log stays".to_owned();
            report.findings.push(Finding { code, severity: code.severity(), location: Location::file(""), message, more: 0 });
            *receipt
        }
        Ok(Outcome::Converted(converted)) => {
            report.status = match converted.change {
                Change::Created => Status::Created,
                Change::Changed => Status::Changed,
                Change::Unchanged => Status::Unchanged,
            };
            converted.receipt
        }
    };
    report.log = Some(receipt.log.clone());
    report.source_bytes = receipt.counts.source_bytes;
    report.log_bytes = receipt.log_bytes;
    report.residual_bytes = receipt.counts.residual_bytes;
    report.messages = receipt.counts.messages;
    report.events = receipt.counts.events;
    if report.status != Status::Skipped {
        report.findings.clone_from(&receipt.findings);
    }
    (report, Some(receipt))
}

/// An error and its causes in one line.
fn error_text(error: &ConvertError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

fn exit_status(source: &Source, reports: &[UnitReport]) -> ExitStatus {
    let failed = reports.iter().any(|report| report.status == Status::Failed) || !source.discovery.ties.is_empty();
    let found = reports.iter().flat_map(|report| &report.findings).chain(source.discovery.findings.list());
    if failed || found.into_iter().any(|finding| finding.severity >= Severity::Warn) { ExitStatus::Found } else { ExitStatus::Well }
}

/// The closing object of the report.
#[derive(Debug, Serialize)]
struct Summary {
    summary: Totals,
}

#[derive(Debug, Default, Serialize)]
struct Totals {
    sessions: u64,
    created: u64,
    changed: u64,
    unchanged: u64,
    failed: u64,
    skipped: u64,
    messages: u64,
    source_bytes: u64,
    log_bytes: u64,
    residual_bytes: u64,
    dry_run: bool,
    findings: Vec<Finding>,
}

fn report_all(source: &Source, reports: &mut [UnitReport], job: &MigrateJob<'_>, out: &Printer) {
    let mut totals = Totals { dry_run: job.mode == Mode::DryRun, findings: source.discovery.findings.list().to_vec(), ..Totals::default() };
    for report in reports.iter() {
        totals.sessions += 1;
        *match report.status {
            Status::Created => &mut totals.created,
            Status::Changed => &mut totals.changed,
            Status::Unchanged => &mut totals.unchanged,
            Status::Failed => &mut totals.failed,
            Status::Skipped => &mut totals.skipped,
        } += 1;
        totals.messages += report.messages;
        totals.source_bytes += report.source_bytes;
        totals.log_bytes += report.log_bytes;
        totals.residual_bytes += report.residual_bytes;
        if out.form() == Form::Json {
            out.object(report);
        }
        for finding in report.findings.iter().filter(|finding| finding.severity >= Severity::Warn) {
            out.say(&text::finding(finding, &report.unit));
        }
        if let Some(error) = &report.error {
            let hint = report.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            out.complain(&format!(
                "error: {}\n  at {}{hint}",
                crate::verify::difference::visible(error),
                crate::verify::difference::visible(&report.unit)
            ));
        }
    }
    for tie in &source.discovery.ties {
        out.complain(&format!(
            "error: two formats fit equally well: {}\n  at {}\nhint: choose with `--format {}`",
            tie.formats.join(", "),
            tie.folder,
            tie.formats[0]
        ));
    }
    for finding in source.discovery.findings.list().iter().filter(|finding| finding.severity >= Severity::Warn) {
        out.say(&text::finding(finding, ""));
    }
    summarise(&totals, reports, job, out);
    if out.form() == Form::Json {
        out.object(&Summary { summary: totals });
    }
}

fn summarise(totals: &Totals, reports: &[UnitReport], job: &MigrateJob<'_>, out: &Printer) {
    let mut formats: Vec<&str> = reports.iter().map(|report| report.format).collect();
    formats.sort_unstable();
    formats.dedup();
    let proven = totals.created + totals.changed + totals.unchanged;
    let would = if totals.dry_run { " (dry run: nothing was written)" } else { "" };
    out.text(&format!(
        "{} ({}): {} created, {} changed, {} unchanged, {} skipped, {} failed{would}",
        text::count(totals.sessions, "session"),
        formats.join(", "),
        totals.created,
        totals.changed,
        totals.unchanged,
        totals.skipped,
        totals.failed
    ));
    out.text(&format!(
        "{} proven: {} of source rebuild byte for byte and {} replay as their program shows them; {} of logs in {}",
        text::count(proven, "session"),
        text::size(totals.source_bytes),
        text::count(totals.messages, "message"),
        text::size(totals.log_bytes),
        job.dest.display()
    ));
    let count_at = |severity| {
        reports
            .iter()
            .flat_map(|report| &report.findings)
            .filter(|finding| finding.severity == severity)
            .map(|finding| 1 + finding.more)
            .sum::<u64>()
    };
    let (infos, warnings, errors) = (count_at(Severity::Info), count_at(Severity::Warn), count_at(Severity::Error));
    out.text(&format!(
        "{} to look at, {} in ordinary life; {}",
        text::count(warnings + errors, "finding"),
        infos,
        if job.sources == Sources::Retire { "proven sources were renamed to *.migrated" } else { "nothing in the source was changed" }
    ));
}

impl UnitReport {
    /// Notes the files that were renamed.
    pub(super) fn retired(&mut self, files: Vec<String>) {
        self.retired = files;
    }

    /// Whether the session's log is proven.
    pub(super) fn is_proven(&self) -> bool {
        matches!(self.status, Status::Created | Status::Changed | Status::Unchanged)
    }
}
