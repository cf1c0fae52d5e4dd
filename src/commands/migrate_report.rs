//! What `migrate` says: one line per session for programs, a summary for people.

use serde::Serialize;

use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::location::Location;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::receipts::{Receipt, Receipts};
use crate::verify::difference::visible;

use super::convert::{Change, ConvertError, Mode};
use super::migrate::{MigrateJob, Outcome, Sources};
use super::source::{Related, Source, SourceUnit};

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
    /// Where its files lie.
    #[serde(skip)]
    folder: String,
    format: &'static str,
    /// What became of it.
    pub(super) status: Status,
    #[serde(flatten)]
    related: Related,
    files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    source_bytes: u64,
    log_bytes: u64,
    residual_bytes: u64,
    messages: u64,
    events: u32,
    /// What was found.
    pub(super) findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    retired: Vec<String>,
}

/// The report of a unit, and its receipt where there is a new one.
pub(super) fn report_of(unit: &SourceUnit, result: Result<Outcome, ConvertError>, known: &Receipts) -> (UnitReport, Option<Receipt>) {
    let files = unit.found.files.iter().map(|file| unit.reported(file).to_string()).collect();
    let mut report = UnitReport {
        unit: unit.name.to_string(),
        folder: unit.reported_folder().to_string(),
        format: unit.found.adapter.id(),
        status: Status::Failed,
        related: unit.related(),
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
            report.log = known.get(&unit.name).map(|receipt| RelPath::from_key(&receipt.log).to_string());
            return (report, None);
        }
        Ok(Outcome::AsBefore(receipt, notes)) => {
            report.status = Status::Unchanged;
            report.findings = notes;
            *receipt
        }
        Ok(Outcome::Retired(retired)) => {
            report.status = Status::Skipped;
            report.log = Some(retired.log.to_string());
            report.log_bytes = retired.log_bytes;
            report.findings = retired.findings;
            return (report, None);
        }
        Ok(Outcome::Converted(converted)) => {
            report.status = match converted.change {
                Change::Created => Status::Created,
                Change::Changed => Status::Changed,
                Change::Unchanged => Status::Unchanged,
            };
            report.findings = converted.notes;
            converted.receipt
        }
    };
    report.log = Some(RelPath::from_key(&receipt.log).to_string());
    report.source_bytes = receipt.counts.source_bytes;
    report.log_bytes = receipt.log_bytes;
    report.residual_bytes = receipt.counts.residual_bytes;
    report.messages = receipt.counts.messages;
    report.events = receipt.counts.events;
    report.findings.extend(receipt.findings.iter().cloned());
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

pub(super) fn report_all(source: &Source, reports: &mut [UnitReport], job: &MigrateJob<'_>, out: &Printer) {
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
            let inside = if finding.code.is_of_log() { "" } else { report.folder.as_str() };
            out.say(&text::finding(finding, inside));
        }
        if let Some(error) = &report.error {
            let hint = report.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            out.complain(&format!("error: {}\n  at {}{hint}", visible(error), visible(&report.unit)));
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
    out.summary(&format!(
        "{} ({}): {} created, {} changed, {} unchanged, {} skipped, {} failed{would}",
        text::count(totals.sessions, "session"),
        formats.join(", "),
        totals.created,
        totals.changed,
        totals.unchanged,
        totals.skipped,
        totals.failed
    ));
    out.summary(&format!(
        "{} proven: {} of source rebuild byte for byte and {} replay as their program shows them; {} of logs in {}",
        text::count(proven, "session"),
        text::size(totals.source_bytes),
        text::count(totals.messages, "message"),
        text::size(totals.log_bytes),
        visible(&job.dest.display().to_string())
    ));
    let retired = reports.iter().map(|report| report.retired.len() as u64).sum();
    let count_at = |severity| {
        reports
            .iter()
            .flat_map(|report| &report.findings)
            .chain(&totals.findings)
            .filter(|finding| finding.severity == severity)
            .map(|finding| 1 + finding.more)
            .sum::<u64>()
    };
    say_unknown(totals, out);
    say_related(reports, out);
    let (infos, warnings, errors) = (count_at(Severity::Info), count_at(Severity::Warn), count_at(Severity::Error));
    out.summary(&format!(
        "{} to look at, {} in ordinary life; {}",
        text::count(warnings + errors, "finding"),
        infos,
        match (job.sources, retired) {
            (Sources::Retire, retired) => format!("{} renamed to *.migrated", text::count(retired, "file")),
            (Sources::Stay | Sources::Unretire, _) => "nothing in the source was changed".to_owned(),
        }
    ));
}

/// So many names are listed in a line of the summary.
const NAMED: usize = 3;

/// Names files that belong to no session: what is left behind is said.
fn say_unknown(totals: &Totals, out: &Printer) {
    let unknown: Vec<&Finding> = totals.findings.iter().filter(|finding| finding.code == FindingCode::UnknownFile).collect();
    let count = unknown.iter().map(|finding| 1 + finding.more).sum::<u64>();
    if count > 0 {
        let names: Vec<String> = unknown.iter().take(NAMED).map(|finding| visible(&finding.location.file)).collect();
        let more = if count > names.len() as u64 { " … (`everlog detect` names more)" } else { "" };
        let belong = if count == 1 { "belongs" } else { "belong" };
        out.summary(&format!("{} {belong} to no session and stayed behind: {}{more}", text::count(count, "file"), names.join(", ")));
    }
}

/// Names sessions that share their key or their messages with another one.
fn say_related(reports: &[UnitReport], out: &Printer) {
    let is_related = |report: &&UnitReport| report.findings.iter().any(|finding| finding.code.relates_sessions());
    let related: Vec<&UnitReport> = reports.iter().filter(is_related).collect();
    if !related.is_empty() {
        let names: Vec<String> = related.iter().take(NAMED).map(|report| visible(&report.unit)).collect();
        let more = if related.len() > names.len() { " …" } else { "" };
        let count = text::count(related.len() as u64, "session");
        out.summary(&format!("{count} with an alias, copy or key elsewhere (`everlog detect` says where): {}{more}", names.join(", ")));
    }
}

impl UnitReport {
    /// The session's log did not get its name after all.
    pub(super) fn fail(&mut self, error: &str) {
        self.status = Status::Failed;
        self.error = Some(error.to_owned());
    }

    /// Notes something that this run alone can see.
    pub(super) fn note(&mut self, code: FindingCode, file: &str, message: String) {
        self.findings.push(Finding { code, severity: code.severity(), location: Location::file(file), message, more: 0 });
    }

    /// Notes the files that were renamed.
    pub(super) fn retired(&mut self, files: Vec<String>) {
        self.retired = files;
    }

    /// Whether the session's log is proven.
    pub(super) fn is_proven(&self) -> bool {
        matches!(self.status, Status::Created | Status::Changed | Status::Unchanged)
    }
}
