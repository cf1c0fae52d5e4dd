//! What `migrate` says: one line per session for programs, a summary for people.

use serde::Serialize;
use std::borrow::Cow;

use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::location::Location;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::layout::Store;
use crate::store::receipts::Receipt;
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

/// What became of the sessions that were begun, each with its number.
pub(super) type Reports = Vec<(usize, UnitReport)>;

/// What became of one session, as far as the session itself does not tell: a
/// folder of many sessions has many of them until the end.
#[derive(Debug)]
pub struct UnitReport {
    /// What became of it.
    pub(super) status: Status,
    log: Log,
    source_bytes: u64,
    log_bytes: u64,
    residual_bytes: u64,
    messages: u64,
    events: u32,
    /// What was found and is to be said.
    pub(super) findings: Vec<Finding>,
    /// How much else was found in ordinary life.
    infos: u64,
    rest: Option<Box<Rest>>,
}

/// Where a session's log is.
#[derive(Debug, PartialEq, Eq)]
enum Log {
    None,
    /// Under the name that follows from the session's.
    Own,
    Other(Box<RelPath>),
}

/// What few sessions have.
#[derive(Debug, Default)]
struct Rest {
    error: Option<String>,
    hint: Option<&'static str>,
    retired: Vec<String>,
    /// Whether it has to do with another session.
    is_related: bool,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
struct ReportLine<'r> {
    unit: String,
    format: &'static str,
    status: Status,
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
    findings: &'r [Finding],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    retired: &'r [String],
}

impl Log {
    fn of(unit: &str, log: &str) -> Log {
        if Store::is_log_name(unit, log) { Log::Own } else { Log::Other(Box::new(RelPath::from_key(log))) }
    }

    /// Its name for reports.
    fn name(&self, unit: &SourceUnit) -> Option<String> {
        match self {
            Log::None => None,
            Log::Own => Some(Store::log_name(&unit.name).to_string()),
            Log::Other(log) => Some(log.to_string()),
        }
    }
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

pub(super) fn report_all(source: &Source, reports: &Reports, job: &MigrateJob<'_>, out: &Printer) {
    let mut totals = Totals { dry_run: job.mode == Mode::DryRun, findings: source.discovery.findings.list().to_vec(), ..Totals::default() };
    for (n, report) in reports {
        let Some(unit) = source.units.get(*n) else { continue };
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
            out.object(&report.line(unit));
        }
        for finding in report.findings.iter().filter(|finding| finding.severity >= Severity::Warn) {
            let inside = if finding.code.is_of_log() { String::new() } else { unit.reported_folder().to_string() };
            out.say(&text::finding(finding, &inside));
        }
        if let Some(Rest { error: Some(error), hint, .. }) = report.rest.as_deref() {
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            out.complain(&format!("error: {}\n  at {}{hint}", visible(error), visible(&unit.name.to_string())));
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
    summarise(&totals, source, reports, job, out);
    if out.form() == Form::Json {
        out.object(&Summary { summary: totals });
    }
}

fn summarise(totals: &Totals, source: &Source, reports: &Reports, job: &MigrateJob<'_>, out: &Printer) {
    let units = || reports.iter().filter_map(|(n, _)| source.units.get(*n));
    let mut formats: Vec<&str> = units().map(|unit| unit.found.adapter.id()).collect();
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
    let retired = reports.iter().filter_map(|(_, report)| report.rest.as_ref()).map(|rest| rest.retired.len() as u64).sum();
    let count_at = |severity| {
        reports
            .iter()
            .flat_map(|(_, report)| &report.findings)
            .chain(&totals.findings)
            .filter(|finding| finding.severity == severity)
            .map(|finding| 1 + finding.more)
            .sum::<u64>()
    };
    say_unknown(totals, out);
    say_related(source, reports, out);
    let more_infos: u64 = reports.iter().map(|(_, report)| report.infos).sum();
    let (infos, warnings, errors) = (count_at(Severity::Info) + more_infos, count_at(Severity::Warn), count_at(Severity::Error));
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
fn say_related(source: &Source, reports: &Reports, out: &Printer) {
    let is_related = |report: &UnitReport| report.rest.as_ref().is_some_and(|rest| rest.is_related);
    let related: Vec<&SourceUnit> =
        reports.iter().filter(|(_, report)| is_related(report)).filter_map(|(n, _)| source.units.get(*n)).collect();
    if !related.is_empty() {
        let names: Vec<String> = related.iter().take(NAMED).map(|unit| visible(&unit.name.to_string())).collect();
        let more = if related.len() > names.len() { " …" } else { "" };
        let count = text::count(related.len() as u64, "session");
        out.summary(&format!("{count} with an alias, copy or key elsewhere (`everlog detect` says where): {}{more}", names.join(", ")));
    }
}

impl UnitReport {
    fn new(status: Status) -> UnitReport {
        UnitReport {
            status,
            log: Log::None,
            source_bytes: 0,
            log_bytes: 0,
            residual_bytes: 0,
            messages: 0,
            events: 0,
            findings: Vec::new(),
            infos: 0,
            rest: None,
        }
    }

    /// The report of what happened to a session, for this form of output.
    pub(super) fn of(outcome: Outcome<'_>, form: Form) -> UnitReport {
        let (mut report, receipt) = match outcome {
            Outcome::AsBefore(receipt, notes) => {
                let mut report = UnitReport::new(Status::Unchanged);
                notes.into_iter().for_each(|finding| report.add(finding, form));
                (report, receipt)
            }
            Outcome::Retired(retired) => {
                let mut report = UnitReport::new(Status::Skipped);
                report.log = Log::Other(Box::new(retired.log));
                report.log_bytes = retired.log_bytes;
                retired.findings.into_iter().for_each(|finding| report.add(finding, form));
                return report;
            }
            Outcome::Converted(converted) => {
                let mut report = UnitReport::new(match converted.change {
                    Change::Created => Status::Created,
                    Change::Changed => Status::Changed,
                    Change::Unchanged => Status::Unchanged,
                });
                converted.notes.into_iter().for_each(|finding| report.add(finding, form));
                (report, Cow::Owned(converted.receipt))
            }
        };
        report.log = Log::of(&receipt.unit, &receipt.log);
        report.source_bytes = receipt.counts.source_bytes;
        report.log_bytes = receipt.log_bytes;
        report.residual_bytes = receipt.counts.residual_bytes;
        report.messages = receipt.counts.messages;
        report.events = receipt.counts.events;
        match receipt {
            Cow::Borrowed(receipt) => receipt.findings.iter().for_each(|finding| report.look_at(finding, form)),
            Cow::Owned(receipt) => receipt.findings.into_iter().for_each(|finding| report.add(finding, form)),
        }
        report.findings.shrink_to_fit();
        report
    }

    /// The report of a session that could not be converted.
    pub(super) fn of_error(error: &ConvertError, was: Option<&Receipt>) -> UnitReport {
        let mut report = UnitReport::new(Status::Failed);
        let rest = report.rest();
        rest.error = Some(error_text(error));
        rest.hint = error.hint();
        // A log of an earlier run stays what it is.
        report.log = was.map_or(Log::None, |receipt| Log::of(&receipt.unit, &receipt.log));
        report
    }

    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Takes in a finding. What people are not told one by one is only counted.
    fn add(&mut self, finding: Finding, form: Form) {
        if finding.code.relates_sessions() {
            self.rest().is_related = true;
        }
        match (form, finding.severity) {
            (Form::Text, Severity::Info) => self.infos += 1 + finding.more,
            (Form::Json, _) | (Form::Text, Severity::Warn | Severity::Error) => self.findings.push(finding),
        }
    }

    /// The same, where it is needed elsewhere.
    fn look_at(&mut self, finding: &Finding, form: Form) {
        match (form, finding.severity) {
            (Form::Text, Severity::Info) if !finding.code.relates_sessions() => self.infos += 1 + finding.more,
            _ => self.add(finding.clone(), form),
        }
    }

    /// What it says of its session.
    fn line<'r>(&'r self, unit: &SourceUnit) -> ReportLine<'r> {
        let rest = self.rest.as_deref();
        ReportLine {
            unit: unit.name.to_string(),
            format: unit.found.adapter.id(),
            status: self.status,
            related: unit.related(),
            files: unit.found.files.iter().map(|file| unit.reported(file).to_string()).collect(),
            log: self.log.name(unit),
            source_bytes: self.source_bytes,
            log_bytes: self.log_bytes,
            residual_bytes: self.residual_bytes,
            messages: self.messages,
            events: self.events,
            findings: &self.findings,
            error: rest.and_then(|rest| rest.error.as_deref()),
            hint: rest.and_then(|rest| rest.hint),
            retired: rest.map(|rest| rest.retired.as_slice()).unwrap_or_default(),
        }
    }

    /// The session's log did not get its name after all.
    pub(super) fn fail(&mut self, error: &str) {
        self.status = Status::Failed;
        self.rest().error = Some(error.to_owned());
    }

    /// Notes something that this run alone can see.
    pub(super) fn note(&mut self, code: FindingCode, file: &str, message: String) {
        self.findings.push(Finding { code, severity: code.severity(), location: Location::file(file), message, more: 0 });
    }

    /// Notes the files that were renamed.
    pub(super) fn retired(&mut self, files: Vec<String>) {
        self.rest().retired = files;
    }

    /// Whether the session's log is proven.
    pub(super) fn is_proven(&self) -> bool {
        matches!(self.status, Status::Created | Status::Changed | Status::Unchanged)
    }
}
