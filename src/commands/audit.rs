//! `everlog audit`: what is wrong in a source, and what `repair` could mend.
//! Read-only: everything that a conversion would find, and what needs a look
//! at the whole folder.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::adapters::adapter::{Adapter, Check, Standing};
use crate::log::LogWriter;
use crate::model::audit::{AuditItem, Mending};
use crate::model::files::{Files, RelPath};
use crate::model::finding::{Finding, FindingCode, Findings, Severity};
use crate::model::location::Location;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer, Talk};
use crate::report::text;
use crate::store::{StoreError, snapshot};
use crate::verify::difference::visible;

use super::convert::ConvertError;
use super::error::CommandError;
use super::evidence::Clock;
use super::source::{Selection, Source, SourceUnit};
use super::{batch, evidence};

/// What to look at.
#[derive(Debug)]
pub struct AuditJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Adapter>,
    /// How many sessions at once.
    pub jobs: usize,
    /// The time, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
}

/// One finding as it is printed.
#[derive(Debug, Serialize)]
struct Reported {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(flatten)]
    item: AuditItem,
}

#[derive(Debug, Default, Serialize)]
struct Summary {
    sessions: usize,
    findings: u64,
    errors: u64,
    warnings: u64,
    infos: u64,
    repairable: u64,
    codes: BTreeMap<FindingCode, u64>,
}

/// Runs the command.
///
/// # Errors
/// When the source cannot be read, or nothing in it is recognised.
pub fn run(job: &AuditJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let source = Source::open(&job.source, &job.adapters, &job.selection)?;
    if source.units.is_empty() && source.recognised == 0 && !source.discovery.recognised_any() {
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.source.clone(), looked_for });
    }
    let mut found = of_units(&source, job)?;
    found.extend(of_folders(&source, job));
    found.extend(of_source(&source));
    found.sort_by(|a, b| {
        let key = |reported: &'_ Reported| (reported.item.finding.location.clone(), reported.item.finding.code);
        key(a).cmp(&key(b))
    });
    let mut summary = Summary { sessions: source.units.len(), ..Summary::default() };
    for reported in &found {
        summary.count(&reported.item);
        print(reported, out);
    }
    print_summary(&summary, out);
    Ok(if summary.warnings + summary.errors > 0 { ExitStatus::Found } else { ExitStatus::Well })
}

/// What converting each session would find; one that cannot be read is a
/// finding and keeps no other from being looked at.
fn of_units(source: &Source, job: &AuditJob<'_>) -> Result<Vec<Reported>, CommandError> {
    let items: Vec<(&SourceUnit, u64)> = source.units.iter().map(|unit| (unit, unit.bytes(&source.listing))).collect();
    let results = batch::run(&items, job.jobs, job.stop, |unit, _| Ok(of_unit(unit, source)));
    let done = results.iter().flatten().count();
    if done < items.len() {
        return Err(CommandError::Interrupted { done, of: items.len() });
    }
    let each = items.iter().zip(results.into_iter().flatten()).flat_map(|((unit, _), result)| {
        let findings = result.unwrap_or_else(|error| vec![unreadable(&error)]);
        let kept = findings.into_iter().filter(|finding| !unit.found.adapter.audit_covers(finding));
        kept.map(|finding| Reported { format: Some(unit.found.adapter.id()), item: placed(finding, unit) }).collect::<Vec<_>>()
    });
    Ok(each.collect())
}

/// What converting one session would find.
pub(super) fn of_unit(unit: &SourceUnit, source: &Source) -> Vec<Finding> {
    match unit.found.standing {
        Standing::Retired => left_out(unit).into_list(),
        Standing::Live | Standing::PerhapsRetired => {
            of_files(unit, || snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files))
        }
    }
}

fn left_out(unit: &SourceUnit) -> Findings {
    let mut findings = Findings::default();
    for (path, code, message) in &unit.found.left_out {
        findings.add(*code, Location::file(path.to_string()), message.clone());
    }
    findings
}

/// What converting these files of a session would find.
pub(super) fn of_files(unit: &SourceUnit, take: impl FnOnce() -> Result<Files, StoreError>) -> Vec<Finding> {
    let mut findings = left_out(unit);
    let read = || -> Result<(), ConvertError> {
        let files = take()?.with_beside(unit.found.beside.clone());
        let mut writer = LogWriter::new(std::io::sink());
        unit.found.adapter.read(&files, Check::ByProof, &mut writer, &mut findings)?;
        writer.finish()?;
        Ok(())
    };
    let failed = batch::caught(read, ConvertError::Bug).err();
    let mut list = findings.into_list();
    list.extend(failed.as_ref().map(unreadable));
    list
}

fn unreadable(error: &ConvertError) -> Finding {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let code = FindingCode::Unreadable;
    Finding { code, severity: code.severity(), location: Location::file(""), message: format!("{error}{cause}"), more: 0 }
}

/// A finding of a session, with its place below the source.
fn placed(mut finding: Finding, unit: &SourceUnit) -> AuditItem {
    let file = match finding.location.file.as_str() {
        "" => unit.name.to_string(),
        file => unit.reported(&RelPath::new(file)).to_string(),
    };
    finding.location.file = file;
    AuditItem { finding, mending: Mending::ByHand, facts: BTreeMap::new() }
}

/// What adapters find in folders as a whole.
fn of_folders(source: &Source, job: &AuditJob<'_>) -> Vec<Reported> {
    let mut found = Vec::new();
    for (adapter, folder) in evidence::folders(source) {
        let clock = Clock { now_ns: job.now_ns, stamp_ns: job.now_ns };
        let look = || evidence::with(source, adapter, &folder, clock, |view, evidence| Ok(adapter.audit(view, evidence)));
        let items = batch::caught(look, ConvertError::Bug).unwrap_or_else(|error| {
            let finding = unreadable(&error);
            vec![AuditItem { finding, mending: Mending::ByHand, facts: BTreeMap::new() }]
        });
        for mut item in items.into_iter().filter(|item| is_meant(source, &folder, item)) {
            item.finding.location.file = evidence::seen_from_source(&item.finding.location.file, &folder);
            found.push(Reported { format: Some(adapter.id()), item });
        }
    }
    found
}

/// Whether a finding is about one of the sessions that were chosen.
fn is_meant(source: &Source, folder: &RelPath, item: &AuditItem) -> bool {
    if source.units.len() == source.recognised {
        return true;
    }
    let file = RelPath::new(item.finding.location.file.as_bytes());
    let owns = |unit: &SourceUnit| unit.found.files.contains(&file) || unit.name == file.below(folder);
    source.units.iter().filter(|unit| unit.found.root == *folder).any(owns)
}

fn of_source(source: &Source) -> Vec<Reported> {
    let report = |finding| Reported { format: None, item: AuditItem { finding, mending: Mending::ByHand, facts: BTreeMap::new() } };
    beyond_sessions(source).into_iter().map(report).collect()
}

/// What belongs to no session.
pub(super) fn beyond_sessions(source: &Source) -> Vec<Finding> {
    let ties = source.discovery.ties.iter().map(|tie| {
        let message = format!("two formats fit equally well: {}; choose with `--format`", tie.formats.join(", "));
        AuditItem::new(FindingCode::FormatUnclear, Location::file(tie.folder.to_string()), message).finding
    });
    // A database that was looked into is known for what it is.
    let databases: Vec<&str> = source.units.iter().filter_map(|unit| unit.found.adapter.database()).map(|rule| rule.name).collect();
    let is_database = |finding: &&Finding| {
        let name = finding.location.file.rsplit('/').next().unwrap_or_default();
        let name = name.strip_suffix("-wal").or(name.strip_suffix("-shm")).unwrap_or(name);
        finding.code == FindingCode::UnknownFile && databases.contains(&name)
    };
    let others = source.discovery.findings.list().iter().filter(|finding| !is_database(finding));
    ties.chain(others.cloned()).collect()
}

impl Summary {
    fn count(&mut self, item: &AuditItem) {
        let times = item.finding.more + 1;
        self.findings += times;
        match item.finding.severity {
            Severity::Info => self.infos += times,
            Severity::Warn => self.warnings += times,
            Severity::Error => self.errors += times,
        }
        self.repairable += if item.mending == Mending::Possible { times } else { 0 };
        *self.codes.entry(item.finding.code).or_default() += times;
    }
}

fn print(reported: &Reported, out: &Printer) {
    if out.form() == Form::Json {
        return out.object(reported);
    }
    let AuditItem { finding, mending, .. } = &reported.item;
    if out.talk() == Talk::Quiet && finding.severity < Severity::Warn {
        return;
    }
    let code = serde_json::to_string(&finding.code).unwrap_or_default();
    let mend = if *mending == Mending::Possible { "; `everlog repair` can mend it" } else { "" };
    out.text(&format!("{}\n  {}{mend}", text::finding(finding, ""), visible(code.trim_matches('"'))));
}

fn print_summary(summary: &Summary, out: &Printer) {
    if out.form() == Form::Json {
        return out.object(&BTreeMap::from([("summary", summary)]));
    }
    out.summary(&format!(
        "{}: {}, {}, {} in ordinary life; {} can be mended by `everlog repair`; nothing was changed",
        text::count(summary.sessions as u64, "session"),
        text::count(summary.errors, "error"),
        text::count(summary.warnings, "warning"),
        text::thousands(summary.infos),
        text::thousands(summary.repairable),
    ));
}
