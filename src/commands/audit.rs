//! `everlog audit`: what is wrong in a source, and what `repair` could repair.
//! Read-only: everything that a conversion would find, and what needs a look
//! at the whole folder.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::adapters::format::{Check, Format, Standing};
use crate::maintenance;
use crate::model::audit::{AuditItem, RepairedBy};
use crate::model::event::SessionKind;
use crate::model::files::{Files, RelPath};
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::location::Location;
use crate::pipeline::batch;
use crate::pipeline::error::ConvertError;
use crate::pipeline::snapshot::{files_of, left_out};
use crate::pipeline::source::{Selection, Source, SourceUnit};
use crate::report::exit::ExitStatus;
use crate::report::findings::FindingList;
use crate::report::printer::{Form, Printer, Talk};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::receipts::Receipts;
use crate::verify::build_log;
use crate::verify::difference::visible;

use super::baseline::Baseline;
use super::detect::SessionLine;
use super::error::CommandError;
use super::evidence;
use super::evidence::Clock;
use super::kinds::Kinds;
use super::place;

/// What to look at.
#[derive(Debug)]
pub struct AuditJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// The store with the baseline of accepted findings.
    pub dest: PathBuf,
    /// What becomes of what is found.
    pub findings: Judgement,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Format>,
    /// How many sessions at once.
    pub jobs: usize,
    /// The time, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Where changes go.
    pub disk: &'a dyn Disk,
}

/// What becomes of what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It is reported.
    Report,
    /// It is written to the store's baseline.
    Accept(Covers),
}

/// How much of a source an audit looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Covers {
    /// All of it: what is not found again is no longer accepted.
    All,
    /// Some sessions: what was accepted of others stays accepted.
    Part,
}

/// One finding as it is printed.
#[derive(Debug, Serialize)]
struct Reported {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(flatten)]
    item: AuditItem,
    /// The finding and its session as `migrate` names them.
    #[serde(skip)]
    named: (String, Finding),
    /// Whether `migrate` reports it, and the audit of the folder says more.
    #[serde(skip)]
    is_covered: bool,
    /// Whether the baseline has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    accepted: bool,
}

impl Reported {
    /// Tells whether a baseline can have it. A session that fails to convert has no
    /// log: accepting that would let its loss pass for old damage.
    fn can_be_accepted(&self) -> bool {
        let (session, finding) = &self.named;
        !(finding.code == FindingCode::Unreadable && !session.is_empty() && finding.location.file.is_empty())
    }

    /// Returns a finding that belongs to no session.
    fn beyond(format: Option<&'static str>, item: AuditItem) -> Reported {
        Reported { format, named: (String::new(), item.finding.clone()), item, is_covered: false, accepted: false }
    }
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    #[serde(flatten)]
    units: Kinds,
    findings: u64,
    errors: u64,
    warnings: u64,
    infos: u64,
    repairable: u64,
    accepted: u64,
    codes: BTreeMap<FindingCode, u64>,
}

/// Runs the command.
///
/// # Errors
/// When the source cannot be read, or nothing in it is recognised.
pub fn run(job: &AuditJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.dest);
    let place = place::find(&store, &job.source)?;
    let source = Source::open_with_logs_in(&place, &job.source, &job.adapters, &job.selection)?;
    if source.units.is_empty() && source.recognised == 0 && !source.discovery.recognised_any() {
        tell_unconverted(&source, out);
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.source.clone(), looked_for });
    }
    let (mut found, units) = of_units(&source, job)?;
    found.extend(of_folders(&source, job));
    found.extend(of_source(&source));
    found.extend(of_logs(&source, &store));
    found.sort_by(|a, b| {
        let key = |reported: &'_ Reported| (reported.item.finding.location.clone(), reported.item.finding.code);
        key(a).cmp(&key(b))
    });
    let baseline = match job.findings {
        Judgement::Report => Baseline::read(&store)?,
        Judgement::Accept(covers) => accept(&found, covers, &store, job.disk)?,
    };
    let mut acceptance = baseline.acceptance();
    for reported in &mut found {
        let (session, finding) = &mut reported.named;
        reported.accepted = acceptance.settle(session, finding);
        reported.item.finding.severity = finding.severity;
    }
    let mut summary = Summary { units, ..Summary::default() };
    let mut list = FindingList::default();
    for reported in found.iter().filter(|reported| !reported.is_covered) {
        summary.count(reported);
        match out.form() {
            Form::Json => out.object(reported),
            Form::Text => add(reported, &mut list, out),
        }
    }
    list.print(out);
    print_summary(&summary, out);
    if matches!(job.findings, Judgement::Accept(_)) {
        let path = visible(&store.baseline().display().to_string());
        let refused = found.iter().filter(|reported| !reported.can_be_accepted()).count() as u64;
        let not = if refused == 0 { String::new() } else { format!("; {refused} not: a session that fails to convert cannot be accepted") };
        out.summary(&format!("{} accepted in {path}{not}; review and commit it", text::count(baseline.count(), "finding")));
    }
    Ok(if summary.warnings + summary.errors > 0 { ExitStatus::Found } else { ExitStatus::Well })
}

/// Makes what was found the baseline of a store.
fn accept(found: &[Reported], covers: Covers, store: &Store, disk: &dyn Disk) -> Result<Baseline, CommandError> {
    if !store.private().is_dir() {
        return Err(CommandError::NoStore { path: store.root().to_owned() });
    }
    let mut baseline = Baseline::default();
    let is_meant = |reported: &&Reported| reported.named.1.severity >= Severity::Warn && reported.can_be_accepted();
    for Reported { named: (session, finding), .. } in found.iter().filter(is_meant) {
        baseline.accept(session, finding);
    }
    match covers {
        Covers::All => {}
        Covers::Part => baseline.keep(Baseline::read(store)?),
    }
    baseline.write(store, disk)?;
    Ok(baseline)
}

/// Returns what `migrate` alone can see, from its receipts: what earlier logs have and the
/// source has not. Its other findings may be of a source that was repaired since.
fn of_logs(source: &Source, store: &Store) -> Vec<Reported> {
    if !store.private().is_dir() {
        return Vec::new();
    }
    let receipts = Receipts::load(store);
    let mut found = Vec::new();
    for (unit, receipt) in source.units.iter().filter_map(|unit| Some((unit, receipts.get(&unit.name)?))) {
        for finding in receipt.findings.iter().filter(|finding| finding.severity >= Severity::Warn && finding.code.is_of_log()) {
            let named = (receipt.unit.clone(), finding.clone());
            let mut item = AuditItem { finding: finding.clone(), repaired_by: RepairedBy::Hand, facts: BTreeMap::new() };
            // Its place is below the store.
            item.finding.location.file = store.path(&RelPath::new(finding.location.file.as_bytes())).display().to_string();
            found.push(Reported { format: Some(unit.found.adapter.id()), item, named, is_covered: false, accepted: false });
        }
    }
    found
}

/// Returns what converting each session would find; one that cannot be read is a
/// finding and keeps no other from being looked at.
fn of_units(source: &Source, job: &AuditJob<'_>) -> Result<(Vec<Reported>, Kinds), CommandError> {
    let items: Vec<(&SourceUnit, u64)> = source.units.iter().map(|unit| (unit, unit.bytes(&source.listing))).collect();
    let results = batch::run(&items, job.jobs, job.stop, |unit, _| Ok(examine_unit(unit, source)));
    let done = results.iter().flatten().count();
    if done < items.len() {
        return Err(CommandError::Interrupted { done, of: items.len() });
    }
    let mut units = Kinds::default();
    let each = items.iter().zip(results.into_iter().flatten()).flat_map(|((unit, _), result)| {
        let (findings, kind) = result.unwrap_or_else(|error| (vec![unreadable(&error)], SessionKind::Session));
        units.add(kind);
        let report = |finding: Finding| Reported {
            format: Some(unit.found.adapter.id()),
            is_covered: maintenance::of(unit.found.adapter.id()).audit_covers(&finding),
            named: (unit.name.key(), finding.clone()),
            item: placed(finding, unit),
            accepted: false,
        };
        findings.into_iter().map(report).collect::<Vec<_>>()
    });
    let found = each.collect();
    Ok((found, units))
}

/// Returns what converting one session would find.
pub(super) fn of_unit(unit: &SourceUnit, source: &Source) -> Vec<Finding> {
    examine_unit(unit, source).0
}

/// Returns the items, and what the unit is: a session where that cannot be told.
fn examine_unit(unit: &SourceUnit, source: &Source) -> (Vec<Finding>, SessionKind) {
    match unit.found.standing {
        Standing::Retired => (left_out(unit).into_list(), SessionKind::Session),
        Standing::Live | Standing::PerhapsRetired => examine(unit, || files_of(unit, &source.folder_of(unit))),
    }
}

/// Returns what converting these files of a session would find.
pub(super) fn of_files(unit: &SourceUnit, take: impl FnOnce() -> Result<Files, StoreError>) -> Vec<Finding> {
    examine(unit, take).0
}

fn examine(unit: &SourceUnit, take: impl FnOnce() -> Result<Files, StoreError>) -> (Vec<Finding>, SessionKind) {
    let mut findings = left_out(unit);
    let read = || -> Result<SessionKind, ConvertError> {
        let files = take()?;
        let built = build_log(unit.found.adapter, &files, Check::ByProof, SessionLine::default(), &mut findings)?;
        findings.identify(&files);
        Ok(built.out.session().map(|session| session.kind).unwrap_or_default())
    };
    let read = batch::caught(read, ConvertError::Bug);
    let mut list = findings.into_list();
    list.extend(read.as_ref().err().map(unreadable));
    (list, read.unwrap_or_default())
}

fn unreadable(error: &ConvertError) -> Finding {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Finding::new(FindingCode::Unreadable, Location::file(""), format!("{error}{cause}"))
}

/// Returns a finding of a session, with its place below the source.
fn placed(mut finding: Finding, unit: &SourceUnit) -> AuditItem {
    let file = match finding.location.file.as_str() {
        "" => unit.name.to_string(),
        file => unit.reported(&RelPath::new(file)).to_string(),
    };
    finding.location.file = file;
    AuditItem { finding, repaired_by: RepairedBy::Hand, facts: BTreeMap::new() }
}

/// Returns what adapters find in folders as a whole.
fn of_folders(source: &Source, job: &AuditJob<'_>) -> Vec<Reported> {
    let mut found = Vec::new();
    for (adapter, folder) in evidence::folders(source) {
        let clock = Clock { now_ns: job.now_ns, stamp_ns: job.now_ns };
        let look =
            || evidence::with(source, adapter, &folder, clock, |view, evidence| Ok(maintenance::of(adapter.id()).audit(view, evidence)));
        let items = batch::caught(look, ConvertError::Bug).unwrap_or_else(|error| {
            let finding = unreadable(&error);
            vec![AuditItem { finding, repaired_by: RepairedBy::Hand, facts: BTreeMap::new() }]
        });
        for mut item in items.into_iter().filter(|item| is_meant(source, &folder, item)) {
            item.finding.location.file = evidence::seen_from_source(&item.finding.location.file, &folder);
            found.push(Reported::beyond(Some(adapter.id()), item));
        }
    }
    found
}

/// Tells whether a finding is about one of the sessions that were chosen.
fn is_meant(source: &Source, folder: &RelPath, item: &AuditItem) -> bool {
    if source.units.len() == source.recognised {
        return true;
    }
    let file = RelPath::new(item.finding.location.file.as_bytes());
    let owns = |unit: &SourceUnit| unit.found.files.contains(&file) || unit.name == file.below(folder);
    source.units.iter().filter(|unit| unit.found.root == *folder).any(owns)
}

fn of_source(source: &Source) -> Vec<Reported> {
    let report = |finding| Reported::beyond(None, AuditItem { finding, repaired_by: RepairedBy::Hand, facts: BTreeMap::new() });
    beyond_sessions(source).into_iter().map(report).collect()
}

/// Returns what belongs to no session, but for databases that the audit of their program
/// looks into.
pub(super) fn beyond_sessions(source: &Source) -> Vec<Finding> {
    let databases: Vec<&str> =
        source.units.iter().filter_map(|unit| maintenance::of(unit.found.adapter.id()).database()).map(|rule| rule.name).collect();
    let is_database = |finding: &Finding| {
        let name = finding.location.file.rsplit('/').next().unwrap_or_default();
        let name = name.strip_suffix("-wal").or(name.strip_suffix("-shm")).unwrap_or(name);
        finding.code == FindingCode::UnknownFile && databases.contains(&name)
    };
    of_discovery(source).into_iter().filter(|finding| !is_database(finding)).collect()
}

/// Names what could be a session and was not looked into, before an error says that
/// none was found.
pub(super) fn tell_unconverted(source: &Source, out: &Printer) {
    let unconverted = of_discovery(source).into_iter().filter(|finding| finding.code.is_unconverted());
    unconverted.for_each(|finding| out.complain(&text::finding(&finding, "")));
}

/// Returns what belongs to no session.
pub(super) fn of_discovery(source: &Source) -> Vec<Finding> {
    let ties = source.discovery.ties.iter().map(|tie| {
        let message = format!("two formats fit equally well: {}; choose with `--format`", tie.formats.join(", "));
        AuditItem::new(FindingCode::FormatUnclear, Location::file(tie.folder.to_string()), message).finding
    });
    ties.chain(source.discovery.findings.list().iter().cloned()).collect()
}

impl Summary {
    fn count(&mut self, reported: &Reported) {
        let item = &reported.item;
        let times = item.finding.more + 1;
        self.findings += times;
        self.accepted += if reported.accepted { times } else { 0 };
        match item.finding.severity {
            Severity::Info => self.infos += times,
            Severity::Warn => self.warnings += times,
            Severity::Error => self.errors += times,
        }
        self.repairable += if item.repaired_by == RepairedBy::Everlog { times } else { 0 };
        *self.codes.entry(item.finding.code).or_default() += times;
    }
}

fn add(reported: &Reported, list: &mut FindingList, out: &Printer) {
    let AuditItem { finding, repaired_by, .. } = &reported.item;
    if out.talk() == Talk::Quiet && finding.severity < Severity::Warn {
        return;
    }
    list.add_with(finding, "", if *repaired_by == RepairedBy::Everlog { "`everlog repair` can repair it" } else { "" });
}

fn print_summary(summary: &Summary, out: &Printer) {
    if out.form() == Form::Json {
        return out.object(&BTreeMap::from([("summary", summary)]));
    }
    let accepted = if summary.accepted == 0 { String::new() } else { format!(" ({} accepted)", text::thousands(summary.accepted)) };
    out.summary(&format!(
        "{}: {}, {}, {}{accepted}; {} can be repaired with `everlog repair`; nothing was changed",
        summary.units.text(),
        text::count(summary.errors, "error"),
        text::count(summary.warnings, "warning"),
        text::count(summary.infos, "note"),
        text::thousands(summary.repairable),
    ));
}
