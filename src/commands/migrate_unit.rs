//! What `migrate` did with one session, as its report keeps it until the end.

use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::model::event::SessionKind;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::location::Location;
use crate::pipeline::error::ConvertError;
use crate::pipeline::run::Outcome;
use crate::pipeline::settle::LogChange;
use crate::pipeline::source::{Related, SourceUnit};
use crate::report::printer::Form;
use crate::store::layout::Store;
use crate::store::receipts::Receipt;

/// What became of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A first log.
    Created,
    /// Another log than before.
    Changed,
    /// The log is unchanged.
    Unchanged,
    /// No log.
    Failed,
    /// Not looked at.
    Skipped,
}

/// When a session's log was proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Proven {
    /// By this run: rebuilt, replayed, and compared with the source.
    Now,
    /// By an earlier run. This one saw that the sizes, times and permissions of
    /// the source's files are those of then, and that the log has the size and
    /// ends in the seal that it had then.
    Earlier,
    /// By nobody.
    Not,
}

/// What became of the sessions of a source.
pub(super) struct Reports {
    /// In the order of the source's units; none of those that were not begun.
    by_unit: Vec<Option<UnitReport>>,
}

impl Reports {
    pub(super) fn new(by_unit: Vec<Option<UnitReport>>) -> Reports {
        Reports { by_unit }
    }

    /// The reports of the sessions that were begun, each with its unit's number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &UnitReport)> {
        self.by_unit.iter().enumerate().filter_map(|(n, report)| Some((n, report.as_ref()?)))
    }

    /// The same, to be changed.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut UnitReport)> {
        self.by_unit.iter_mut().enumerate().filter_map(|(n, report)| Some((n, report.as_mut()?)))
    }

    /// Notes something of the unit with this number that this run alone can see.
    pub(super) fn note(&mut self, n: usize, code: FindingCode, file: &str, message: String) {
        if let Some(report) = self.get_mut(n) {
            report.note(code, file, message);
        }
    }

    /// The report of the unit with this number.
    pub(super) fn get_mut(&mut self, n: usize) -> Option<&mut UnitReport> {
        self.by_unit.get_mut(n)?.as_mut()
    }

    /// How many sessions were begun.
    pub(super) fn begun(&self) -> usize {
        self.iter().count()
    }
}

/// What became of one session, as far as the session itself does not tell: a
/// folder of many sessions has many of them until the end.
#[derive(Debug)]
pub struct UnitReport {
    /// What became of it.
    pub(super) status: Status,
    pub(super) kind: SessionKind,
    pub(super) proven: Proven,
    pub(super) log: Log,
    pub(super) source_bytes: u64,
    pub(super) log_bytes: u64,
    pub(super) messages: u64,
    pub(super) events: u32,
    /// How many notes there are besides the findings.
    pub(super) infos: u64,
    pub(super) rest: Option<Box<Rest>>,
}

/// Where a session's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Log {
    None,
    /// Under the name that follows from the session's.
    Own,
    /// Where the rest of the report says.
    Other,
}

/// What few sessions have.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// What was found and is to be said.
    pub(super) findings: Vec<Finding>,
    /// Where its log is, if that does not follow from its name.
    pub(super) log: Option<RelPath>,
    pub(super) error: Option<String>,
    pub(super) hint: Option<&'static str>,
    pub(super) retired: Vec<String>,
    /// Bytes of the source that are kept verbatim, because no event renders them.
    pub(super) residual_bytes: u64,
    /// Which findings an earlier run has reported, by their places in the list.
    pub(super) repeated: Vec<u32>,
    /// How many of them the baseline accepts.
    pub(super) accepted: u64,
    /// Whether it has to do with another session.
    pub(super) is_related: bool,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
pub(super) struct ReportLine<'r> {
    unit: String,
    /// The unit's path in base64, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    format: &'static str,
    kind: SessionKind,
    status: Status,
    proven: Proven,
    #[serde(flatten)]
    related: Related,
    /// The main file of the database that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    /// Its id there; absent for what belongs to no session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'r str>,
    files: Vec<String>,
    /// All of them in base64, in the same order, where one is not UTF-8.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_b64: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_b64: Option<String>,
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

impl UnitReport {
    fn new(status: Status) -> UnitReport {
        UnitReport {
            status,
            kind: SessionKind::Session,
            proven: Proven::Not,
            log: Log::None,
            source_bytes: 0,
            log_bytes: 0,
            messages: 0,
            events: 0,
            infos: 0,
            rest: None,
        }
    }

    /// The report of what happened to a session, for this form of output.
    /// `was` is what an earlier run has reported of it.
    pub(super) fn of(outcome: Outcome<'_>, was: Option<&Receipt>, form: Form) -> UnitReport {
        let (mut report, receipt) = match outcome {
            Outcome::Unchanged(receipt, notes) => {
                let mut report = UnitReport::new(Status::Unchanged);
                report.proven = Proven::Earlier;
                notes.into_iter().for_each(|finding| report.add(finding, form));
                (report, receipt)
            }
            Outcome::Retired(retired) => {
                let mut report = UnitReport::new(Status::Skipped);
                report.set_log(retired.log);
                report.log_bytes = retired.log_bytes;
                retired.findings.into_iter().for_each(|finding| report.add(finding, form));
                return report;
            }
            Outcome::Converted(converted) => {
                let mut report = UnitReport::new(match converted.change {
                    LogChange::Created => Status::Created,
                    LogChange::Changed => Status::Changed,
                    LogChange::Unchanged => Status::Unchanged,
                });
                report.proven = Proven::Now;
                converted.notes.into_iter().for_each(|finding| report.add(finding, form));
                (report, Cow::Owned(converted.receipt))
            }
        };
        report.kind = receipt.kind;
        report.set_log_of(&receipt);
        report.source_bytes = receipt.counts.source_bytes;
        report.log_bytes = receipt.log_bytes;
        if receipt.counts.residual_bytes > 0 {
            report.rest().residual_bytes = receipt.counts.residual_bytes;
        }
        report.messages = receipt.counts.messages;
        report.events = receipt.counts.events;
        match receipt {
            Cow::Borrowed(receipt) => receipt.findings.iter().for_each(|finding| report.look_at(finding, form)),
            Cow::Owned(receipt) => receipt.findings.into_iter().for_each(|finding| report.add(finding, form)),
        }
        report.find_repeated(was);
        report
    }

    /// The report of a session that could not be converted.
    pub(super) fn of_error(error: &ConvertError, was: Option<&Receipt>) -> UnitReport {
        let mut report = UnitReport::new(Status::Failed);
        let rest = report.rest();
        rest.error = Some(error_text(error));
        rest.hint = error.hint();
        // A log of an earlier run stays what it is.
        was.into_iter().for_each(|receipt| report.set_log_of(receipt));
        report
    }

    /// Says where its log is, as its receipt has it.
    fn set_log_of(&mut self, receipt: &Receipt) {
        if Store::is_log_name(&receipt.unit, &receipt.log) {
            self.log = Log::Own;
        } else {
            self.set_log(RelPath::from_key(&receipt.log));
        }
    }

    /// Says where its log is, below the store.
    fn set_log(&mut self, log: RelPath) {
        self.log = Log::Other;
        self.rest().log = Some(log);
    }

    /// The path of its log below the store.
    fn log_path(&self, unit: &SourceUnit) -> Option<RelPath> {
        match self.log {
            Log::None => None,
            Log::Own => Some(Store::log_name(&unit.name)),
            Log::Other => self.rest.as_ref().and_then(|rest| rest.log.clone()),
        }
    }

    /// What was found and is to be said.
    pub(super) fn findings(&self) -> &[Finding] {
        self.rest.as_ref().map_or(&[], |rest| &rest.findings)
    }

    /// The same, to be changed.
    pub(super) fn findings_mut(&mut self) -> &mut [Finding] {
        self.rest.as_mut().map_or(&mut [], |rest| &mut rest.findings)
    }

    /// Finds what an earlier run has reported already.
    fn find_repeated(&mut self, was: Option<&Receipt>) {
        let Some(was) = was.filter(|was| !was.findings.is_empty() && !self.findings().is_empty()) else { return };
        let key = |finding: &Finding| (finding.code, finding.location.file.clone(), finding.identity(), finding.more);
        let known: BTreeSet<_> = was.findings.iter().map(key).collect();
        let repeated: Vec<u32> = (0..).zip(self.findings()).filter(|(_, finding)| known.contains(&key(finding))).map(|(k, _)| k).collect();
        if !repeated.is_empty() {
            self.rest().repeated = repeated;
        }
    }

    pub(super) fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Takes in a finding. What people are not told one by one is only counted.
    fn add(&mut self, finding: Finding, form: Form) {
        if finding.code.relates_sessions() {
            self.rest().is_related = true;
        }
        match (form, finding.severity) {
            (Form::Text, Severity::Info) => self.infos += 1 + finding.more,
            (Form::Json, _) | (Form::Text, Severity::Warn | Severity::Error) => self.rest().findings.push(finding),
        }
    }

    /// Takes in a finding that is needed elsewhere, and is copied if it is kept.
    fn look_at(&mut self, finding: &Finding, form: Form) {
        match (form, finding.severity) {
            (Form::Text, Severity::Info) if !finding.code.relates_sessions() => self.infos += 1 + finding.more,
            _ => self.add(finding.clone(), form),
        }
    }

    /// What it says of its session.
    pub(super) fn line<'r>(&'r self, unit: &'r SourceUnit) -> ReportLine<'r> {
        let rest = self.rest.as_deref();
        let log = self.log_path(unit);
        let own_files = unit.part.as_ref().map_or(&*unit.found.files, |part| &part.files);
        let files: Vec<RelPath> = own_files.iter().map(|file| unit.reported(file)).collect();
        let is_exact = files.iter().all(|file| file.as_text().is_some());
        ReportLine {
            unit: unit.name.to_string(),
            path_b64: unit.name.as_b64(),
            format: unit.found.adapter.id(),
            kind: self.kind,
            status: self.status,
            proven: self.proven,
            related: unit.related(),
            database: unit.part.as_ref().map(|part| unit.reported(&part.main).to_string()),
            session: unit.part.as_ref().and_then(|part| part.session.as_deref()),
            files_b64: if is_exact { Vec::new() } else { files.iter().map(RelPath::to_b64).collect() },
            files: files.iter().map(ToString::to_string).collect(),
            log_b64: log.as_ref().and_then(RelPath::as_b64),
            log: log.map(|log| log.to_string()),
            source_bytes: self.source_bytes,
            log_bytes: self.log_bytes,
            residual_bytes: rest.map_or(0, |rest| rest.residual_bytes),
            messages: self.messages,
            events: self.events,
            findings: self.findings(),
            error: rest.and_then(|rest| rest.error.as_deref()),
            hint: rest.and_then(|rest| rest.hint),
            retired: rest.map(|rest| rest.retired.as_slice()).unwrap_or_default(),
        }
    }

    /// The session's log did not get its name after all.
    pub(super) fn fail(&mut self, error: &str) {
        self.status = Status::Failed;
        self.proven = Proven::Not;
        self.rest().error = Some(error.to_owned());
    }

    /// Notes something that this run alone can see.
    pub(super) fn note(&mut self, code: FindingCode, file: &str, message: String) {
        self.rest().findings.push(Finding::new(code, Location::file(file), message));
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
