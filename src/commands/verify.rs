//! `everlog verify`: the CI check. Logs by themselves, or against their source.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::adapters::ALL;
use crate::adapters::adapter::Standing;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, Severity};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text::{self, Quoting};
use crate::store::disk::RealDisk;
use crate::store::layout::Store;
use crate::store::receipts::Receipts;
use crate::store::{StoreError, blobs, snapshot};
use crate::verify::difference::visible;
use crate::verify::{Difference, Proof, check_log, prove};

use super::error::CommandError;
use super::logs::{self, LogFile};
use super::source::{Selection, Source, SourceUnit};
use super::{batch, retired};

/// What to verify, and how strictly.
#[derive(Debug)]
pub struct VerifyJob {
    /// A store, or one log.
    pub logs: PathBuf,
    /// The source to compare with.
    pub source: Option<PathBuf>,
    /// Which sessions.
    pub selection: Selection,
    /// Whether findings count.
    pub strictness: Strictness,
    /// Whether differences are quoted.
    pub quoting: Quoting,
    /// A JUnit report to write.
    pub junit: Option<PathBuf>,
    /// Annotations for GitHub.
    pub annotations: Annotations,
    /// How many sessions at once.
    pub jobs: usize,
}

/// Whether findings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Only differences do.
    Differences,
    /// Findings at `warn` or above do too.
    Findings,
}

/// Annotations on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotations {
    /// None.
    None,
    /// As GitHub Actions reads them.
    GitHub,
}

/// How one log fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Same,
    /// Something differs.
    Differs,
    /// It cannot be read.
    Unreadable,
    /// The source has no such session (any more).
    NoSource,
    /// The source has a session without a log.
    NoLog,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Checked {
    log: String,
    verdict: Verdict,
    bytes: u64,
    messages: u64,
    findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
    #[serde(skip)]
    text: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be checked at all.
pub fn run(job: &VerifyJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let found = logs::find(&job.logs)?;
    let mut source = match &job.source {
        Some(path) => Some(Source::open(path, ALL, &job.selection)?),
        None => None,
    };
    let store = Store::of_log(&found[0].path);
    let receipts = store.as_ref().map(Receipts::load).unwrap_or_default();
    if let (Some(source), Some(store)) = (&mut source, &store) {
        retired::settle(source, store, &receipts);
    }
    let source = source;
    let units: BTreeMap<String, &SourceUnit> =
        source.iter().flat_map(|source| &source.units).map(|unit| (Store::log_name(&unit.name).key(), unit)).collect();
    let names = log_keys(&found, &job.logs);
    let findings: BTreeMap<&str, &[Finding]> = receipts.iter().map(|receipt| (receipt.log.as_str(), receipt.findings.as_slice())).collect();
    let total = found.iter().filter_map(|log| log.path.metadata().ok()).map(|meta| meta.len()).sum();
    let progress = out.progress(total, found.len() as u64);
    let pairs: Vec<(&LogFile, &String)> = found.iter().zip(&names).collect();
    let check = |&(log, name): &(&LogFile, &String)| {
        let mut checked = one_log(log, &RelPath::from_key(name).to_string(), source.as_ref(), units.get(name).copied(), job);
        checked.findings = findings.get(name.as_str()).map(|list| list.to_vec()).unwrap_or_default();
        progress.session_done(log.path.metadata().map_or(0, |meta| meta.len()));
        checked
    };
    let mut checked = batch::each(&pairs, job.jobs, check);
    drop(progress);
    let have: BTreeSet<&String> = names.iter().collect();
    checked.extend(units.iter().filter(|(log, unit)| unit.found.standing == Standing::Live && !have.contains(log)).map(|(log, _)| {
        Checked {
            log: log.clone(),
            verdict: Verdict::NoLog,
            bytes: 0,
            messages: 0,
            findings: Vec::new(),
            difference: Some("the source has a session that has no log".to_owned()),
            at: None,
            text: None,
        }
    }));
    checked.sort_by(|a, b| a.log.cmp(&b.log));
    report(&checked, job, out)?;
    Ok(exit_status(&checked, job.strictness))
}

/// Each log's key below its store, even where a single one is asked for.
fn log_keys(found: &[LogFile], asked: &Path) -> Vec<String> {
    let store = Store::of_log(&found[0].path);
    let full_name = |log: &LogFile| -> Option<RelPath> {
        let path = std::path::absolute(&log.path).ok()?;
        Some(RelPath::new(path.strip_prefix(store.as_ref()?.root()).ok()?.as_os_str().as_encoded_bytes()))
    };
    let single = !asked.is_dir();
    found
        .iter()
        .map(|log| if single { full_name(log).unwrap_or_else(|| log.relative.clone()) } else { log.relative.clone() }.key())
        .collect()
}

fn exit_status(checked: &[Checked], strictness: Strictness) -> ExitStatus {
    let differs = checked.iter().any(|one| matches!(one.verdict, Verdict::Differs | Verdict::Unreadable | Verdict::NoLog));
    let found = strictness == Strictness::Findings
        && (checked.iter().any(|one| one.verdict == Verdict::NoSource)
            || checked.iter().flat_map(|one| &one.findings).any(|finding| finding.severity >= Severity::Warn));
    if differs || found { ExitStatus::Found } else { ExitStatus::Well }
}

fn one_log(log: &LogFile, name: &str, source: Option<&Source>, unit: Option<&SourceUnit>, job: &VerifyJob) -> Checked {
    let mut checked = Checked {
        log: name.to_owned(),
        verdict: Verdict::Same,
        bytes: 0,
        messages: 0,
        findings: Vec::new(),
        difference: None,
        at: None,
        text: None,
    };
    match batch::caught(|| compare(log, source, unit), CommandError::Bug) {
        Ok(Ok(proof)) => {
            (checked.bytes, checked.messages) = (proof.bytes, proof.messages);
            if source.is_some() && unit.is_none_or(|unit| unit.found.standing == Standing::Retired) {
                checked.verdict = Verdict::NoSource;
            }
        }
        Ok(Err(difference)) => {
            checked.verdict = Verdict::Differs;
            checked.text = Some(text::difference(&difference, name, job.quoting));
            checked.difference = Some(difference.what);
            checked.at = Some(difference.location.to_string());
        }
        Err(error) => {
            checked.verdict = Verdict::Unreadable;
            checked.text = Some(text::error(&error, Some(name), error.hint().as_deref()));
            checked.difference = Some(error.to_string());
        }
    }
    checked
}

fn compare(log: &LogFile, source: Option<&Source>, unit: Option<&SourceUnit>) -> Result<Result<Proof, Difference>, CommandError> {
    let (mut view, adapter) = logs::open(&log.path, None)?;
    let stream = |source| CommandError::Stream { path: log.path.clone(), source };
    let store = Store::of_log(&log.path);
    let blob = |sha256: &str| store.as_ref().and_then(|store| blobs::get(store, sha256).ok());
    let alone = check_log(&mut view, adapter, &blob).map_err(stream)?;
    match (alone, source, unit) {
        (Ok(_), Some(source), Some(unit)) if unit.found.standing == Standing::Live => {
            let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
            prove(&mut view, adapter, &files).map_err(stream)
        }
        (alone, _, _) => Ok(alone),
    }
}

fn report(checked: &[Checked], job: &VerifyJob, out: &Printer) -> Result<(), CommandError> {
    for one in checked {
        if out.form() == Form::Json {
            out.object(one);
        }
        if let Some(text) = &one.text {
            out.complain(text);
        } else if one.verdict != Verdict::Same {
            let what = match one.verdict {
                Verdict::NoLog => "error: the source has a session that has no log",
                Verdict::Same | Verdict::Differs | Verdict::Unreadable | Verdict::NoSource => {
                    "note: the source no longer has this session; its log is good by itself"
                }
            };
            out.say(&format!("{what}\n  at {}", visible(&one.log)));
        }
        if job.annotations == Annotations::GitHub && !matches!(one.verdict, Verdict::Same | Verdict::NoSource) {
            let what = one.difference.as_deref().unwrap_or("differs");
            let annotation = format!("::error file={}::{}", escape_annotation(&one.log), escape_annotation(what));
            // Among JSON objects it would be noise; GitHub reads stderr too.
            if out.form() == Form::Json { out.complain(&annotation) } else { out.line(annotation.as_bytes()) }
        }
    }
    if let Some(path) = &job.junit {
        write_junit(checked, path)?;
    }
    let count = |verdict| checked.iter().filter(|one| one.verdict == verdict).count() as u64;
    let against = if job.source.is_some() { "against their source" } else { "by themselves" };
    out.summary(&format!(
        "{} checked {against}: {} the same, {} differ, {} unreadable, {} without source, {} sessions without log; {} rebuilt",
        text::count(checked.iter().filter(|one| one.verdict != Verdict::NoLog).count() as u64, "log"),
        count(Verdict::Same),
        count(Verdict::Differs),
        count(Verdict::Unreadable),
        count(Verdict::NoSource),
        count(Verdict::NoLog),
        text::size(checked.iter().map(|one| one.bytes).sum())
    ));
    Ok(())
}

fn escape_annotation(text: &str) -> String {
    visible(text).replace('%', "%25").replace(',', "%2C").replace(':', "%3A")
}

fn write_junit(checked: &[Checked], path: &Path) -> Result<(), CommandError> {
    let failures = checked.iter().filter(|one| !matches!(one.verdict, Verdict::Same | Verdict::NoSource)).count();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"everlog verify\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n",
        checked.len()
    );
    for one in checked {
        xml.push_str(&format!("<testcase classname=\"everlog\" name=\"{}\"", escape_xml(&one.log)));
        match (&one.difference, one.verdict) {
            (_, Verdict::Same | Verdict::NoSource) | (None, _) => xml.push_str("/>\n"),
            (Some(what), Verdict::Differs | Verdict::Unreadable | Verdict::NoLog) => {
                let detail = one.text.as_deref().unwrap_or(what);
                xml.push_str(&format!("><failure message=\"{}\">{}</failure></testcase>\n", escape_xml(what), escape_xml(detail)));
            }
        }
    }
    xml.push_str("</testsuite>\n</testsuites>\n");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = crate::store::replace::temporary_in(folder)?;
    (&temporary.file).write_all(xml.as_bytes()).map_err(StoreError::io("write", path))?;
    let ready = crate::store::replace::Ready { from: temporary.path, to: path.to_owned(), keep_as: None };
    Ok(crate::store::replace::commit(&RealDisk, folder, &[ready])?)
}

fn escape_xml(text: &str) -> String {
    let safe: String = text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c }).collect();
    safe.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
