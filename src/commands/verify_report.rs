//! What `verify` says: to people, to programs, to JUnit and to GitHub.

use serde::Serialize;
use std::error::Error;
use std::path::Path;

use crate::model::finding::{Finding, FindingCode, Severity};
use crate::report::differences::{self, Showing};
use crate::report::exit::ExitStatus;
use crate::report::findings::FindingList;
use crate::report::github::{Annotation, Notice, table};
use crate::report::junit::{self, Case, CaseResult, Suite, Trouble};
use crate::report::printer::{Form, Printer};
use crate::report::styled::Styled;
use crate::report::text;
use crate::store::disk::{Disk, RealDisk};
use crate::store::replace;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::verify_job::{Annotations, Kept, Strictness, Verdict, VerifyJob};
use super::verify_row::{Checked, Located, counting, status, verdict_status};
use super::verify_rows::Rows;
use super::verify_totals::{Closing, Counts, counted_as, summary};

/// The version of what `--json` prints. Members may be added; a change of
/// those that are there makes it another one.
pub(super) const SCHEMA: u32 = 1;

/// So many lines of a summary for GitHub, which takes no more than a megabyte.
const SUMMARY_ROWS: usize = 100;

/// Reports everything that was checked. Returns what the run ends in: the worst of
/// what it found.
pub(super) fn report(rows: &Rows<'_>, job: &VerifyJob, root: Option<&str>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut list = FindingList::default();
    let mut counts = Counts::default();
    for one in rows.iter() {
        if out.form() == Form::Json {
            out.object(&json(&one, job.showing));
        }
        say(&one, job, &mut list, out);
        counts.add(&one, job.strictness);
    }
    list.say(out);
    let summary = summary(&counts, job, root);
    if let Annotations::GitHub { workspace, .. } = &job.annotations {
        annotate(rows, job, workspace, out);
    }
    let status = counts.exit;
    if out.form() == Form::Json {
        out.object(&Closing { schema: SCHEMA, summary: counts.totals(job, root) });
    }
    if let Annotations::GitHub { summary: Some(path), .. } = &job.annotations {
        RealDisk.append(path, markdown(rows, job, &summary).as_bytes())?;
    }
    if let Some(path) = &job.junit {
        write_junit(rows, job, path)?;
    }
    out.summary(&summary);
    Ok(status)
}

/// What a person reads of one log: nothing, where all is well.
fn say(one: &Checked, job: &VerifyJob, list: &mut FindingList, out: &Printer) {
    if one.verdict == Verdict::NotConverted && status(one, job.strictness) == ExitStatus::Well {
        // Nothing differs, so this is not an error; but nobody may think that it was compared.
        say_not_converted(one, out);
    } else if let Some(detail) = detail(one, job.showing).filter(|_| one.verdict != Verdict::KeptDamaged) {
        out.complain(detail);
    }
    if let Some(what) = note(one.verdict) {
        out.say(&format!("note: {what}\n  at {}", visible(&one.log)));
    }
    if job.strictness == Strictness::Findings {
        counting(one).for_each(|(file, finding)| list.add(&shown_finding(file, finding), ""));
    }
}

/// Warns of what is in the source and in no log.
fn say_not_converted(one: &Checked, out: &Printer) {
    for located in &one.differences {
        out.say(&format!("warning: {}\n  at {}", located.difference.what, visible(&located.at())));
    }
    if let Some(hint) = hint(one.verdict) {
        out.say(&format!("hint: {hint}"));
    }
}

/// Returns what there is to say where nothing differs.
pub(super) fn note(verdict: Verdict) -> Option<&'static str> {
    if verdict == Verdict::NoSource {
        Some("the source no longer has this session; its log is good by itself")
    } else if verdict == Verdict::KeptDamaged {
        Some("this earlier log was not whole when it was kept, and is unchanged since")
    } else {
        None
    }
}

/// Returns a finding with its file as the user would name it.
fn shown_finding(file: &Path, finding: &Finding) -> Finding {
    let mut shown = finding.clone();
    let name = file.display().to_string();
    // Without the source its place can only be told within the log's session.
    if !name.ends_with(&shown.location.file) {
        shown.message = format!("{} ({})", shown.message, shown.location);
        (shown.location.line, shown.location.byte) = (None, None);
    }
    shown.location.file = name;
    shown
}

/// Everything that is wrong with one log.
fn detail(one: &Checked, showing: Showing) -> Option<Styled> {
    let mut parts: Vec<Styled> = Vec::new();
    if let Some(error) = &one.error {
        parts.push(Styled::from(&text::error(error, Some(&one.log), error.hint().as_deref())));
    }
    parts.extend(one.differences.iter().map(|located| differences::difference(&located.difference, &located.at(), showing)));
    if one.more > 0 {
        parts.push(Styled::from(&format!("and {} in {}", text::count(one.more, "more difference"), visible(&one.log))));
    }
    if let Some(hint) = hint(one.verdict).filter(|_| !parts.is_empty()) {
        parts.push(Styled::from(&format!("hint: {hint}")));
    }
    parts.into_iter().reduce(|mut text, part| {
        text.push_str("\n");
        text.append(part);
        text
    })
}

/// Returns what to do about it.
pub(super) fn hint(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Same | Verdict::NoSource | Verdict::KeptDamaged | Verdict::Unreadable => None,
        Verdict::Differs | Verdict::Damaged | Verdict::LogGone => {
            Some("restore the log from a copy, or migrate its source again with `--rehash`")
        }
        Verdict::OtherLog | Verdict::NoReceipt => {
            Some("restore the store from a copy; where a migration was cut short, `everlog migrate SOURCE` finishes it")
        }
        Verdict::ReceiptDamaged => Some("`everlog migrate SOURCE --rehash` proves the logs again and writes their receipts"),
        Verdict::RootDiffers => Some("where that is meant to be, keep the new root; else restore the store from a copy"),
        Verdict::SourceChanged => Some("`everlog migrate` brings the log up to date and keeps what the source no longer has"),
        Verdict::NoLog => Some("`everlog migrate` makes one"),
        Verdict::NotConverted => Some("no log has what is in there: keep the source"),
        Verdict::GoldenChanged | Verdict::GoldenMissing => {
            Some("where that is meant to be, `everlog replay DEST --all -o FOLDER` keeps the new one: review its diff")
        }
        Verdict::GoldenLeft => Some("remove the file, or restore the log that it is of"),
    }
}

/// One line for a title or a message.
fn message(one: &Checked) -> String {
    let first = one.differences.first().map(|located| located.difference.what.clone());
    let error = one.error.as_ref().map(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("{error}{cause}")
    });
    let noted = note(one.verdict).map(str::to_owned);
    visible(&error.or(noted).or(first).unwrap_or_default())
}

/// What `--json` says of one log.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    log: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_b64: Option<&'a str>,
    session: &'a str,
    kept: Kept,
    verdict: Verdict,
    bytes: u64,
    messages: u64,
    differences: Vec<JsonDifference<'a>>,
    more_differences: u64,
    findings: Vec<JsonFinding<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize)]
struct JsonDifference<'a> {
    what: &'a str,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    /// The event of the log that the bytes come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_line: Option<u32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
}

#[derive(Debug, Serialize)]
struct JsonFinding<'a> {
    code: FindingCode,
    severity: Severity,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
    message: &'a str,
    more: u64,
}

fn json(one: &Checked, showing: Showing) -> Json<'_> {
    let difference = |located: &'_ Located| -> (String, String) {
        (located.file.display().to_string(), differences::sides(&located.difference, showing).plain().trim_start_matches('\n').to_owned())
    };
    Json {
        schema: SCHEMA,
        log: &one.log,
        log_b64: one.log_b64.as_deref(),
        session: &one.session,
        kept: one.kept,
        verdict: one.verdict,
        bytes: one.bytes,
        messages: one.messages,
        differences: one
            .differences
            .iter()
            .map(|located| {
                let (file, detail) = difference(located);
                let log_line = located.difference.event.map(|event| event.number());
                JsonDifference { what: &located.difference.what, file, line: located.line, byte: located.byte, log_line, detail }
            })
            .collect(),
        more_differences: one.more,
        findings: one
            .findings
            .iter()
            .map(|(_, finding)| JsonFinding {
                code: finding.code,
                severity: finding.severity,
                file: finding.location.file.clone(),
                line: finding.location.line,
                byte: finding.location.byte,
                message: &finding.message,
                more: finding.more,
            })
            .collect(),
        error: one.error.as_ref().map(|_| message(one)),
        hint: one.error.as_ref().and_then(CommandError::hint).or_else(|| hint(one.verdict).map(str::to_owned)),
    }
}

fn annotate(rows: &Rows<'_>, job: &VerifyJob, workspace: &Path, out: &Printer) {
    let mut list: Vec<Annotation> = Vec::new();
    for one in rows.iter() {
        let one = &*one;
        if verdict_status(one, job.strictness) != ExitStatus::Well {
            let title = format!("everlog: {}", counted_as(one.verdict));
            let text = |what: String| if one.more > 0 { format!("{what} (and {} more)", one.more) } else { what };
            list.extend(one.differences.iter().map(|located| Annotation {
                notice: Notice::Error,
                file: from_workspace(&located.file, workspace),
                at: located.line.map(|line| (line, located.byte.unwrap_or(1))),
                title: title.clone(),
                message: text(visible(&located.difference.what)),
            }));
            if one.differences.is_empty() || one.error.is_some() {
                let file = from_workspace(&one.path, workspace);
                list.push(Annotation { notice: Notice::Error, file, at: None, title, message: message(one) });
            }
        }
        if job.strictness == Strictness::Findings {
            list.extend(counting(one).map(|(file, finding)| {
                let shown = shown_finding(file, finding);
                Annotation {
                    notice: if finding.severity == Severity::Error { Notice::Error } else { Notice::Warning },
                    file: from_workspace(file, workspace),
                    at: shown.location.line.map(|line| (line, shown.location.byte.unwrap_or(1))),
                    title: format!("everlog: {}", text::code_name(finding.code)),
                    message: visible(&shown.message),
                }
            }));
        }
    }
    for annotation in list {
        let line = annotation.line();
        // Among JSON objects it would be noise; GitHub reads stderr too.
        if out.form() == Form::Json { out.complain(&line) } else { out.text(&line) }
    }
}

/// Returns a path from the top of a repository, where it lies in it.
fn from_workspace(path: &Path, workspace: &Path) -> String {
    let whole = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
    let (path, workspace) = (whole(path), whole(workspace));
    visible(&path.strip_prefix(&workspace).unwrap_or(&path).display().to_string())
}

/// Returns a summary of the job.
fn markdown(rows: &Rows<'_>, job: &VerifyJob, summary: &str) -> String {
    let mut text = format!("### everlog verify\n\n{summary}\n\n");
    let wrong = rows.iter().filter(|one| status(one, job.strictness) != ExitStatus::Well);
    let rows: Vec<Vec<String>> = wrong.map(|one| row(&one, job.strictness)).collect();
    if !rows.is_empty() {
        text.push_str(&table(&["session", "verdict", "what", "where"], &rows[..rows.len().min(SUMMARY_ROWS)]));
        if rows.len() > SUMMARY_ROWS {
            text.push_str(&format!("\nand {} more\n", rows.len() - SUMMARY_ROWS));
        }
        text.push('\n');
    }
    text
}

/// One log in that summary: by its verdict, or else by its first finding.
fn row(one: &Checked, strictness: Strictness) -> Vec<String> {
    let (what, message, place) = match counting(one).next() {
        Some((file, finding)) if verdict_status(one, strictness) == ExitStatus::Well => {
            let shown = shown_finding(file, finding);
            (text::code_name(finding.code), shown.message, shown.location.to_string())
        }
        Some(_) | None => {
            let place = one.differences.first().map_or_else(|| one.path.display().to_string(), Located::at);
            (counted_as(one.verdict).to_owned(), message(one), place)
        }
    };
    [one.session.as_str(), &what, &message, &place].into_iter().map(visible).collect()
}

fn write_junit(rows: &Rows<'_>, job: &VerifyJob, path: &Path) -> Result<(), CommandError> {
    let case = |one: &Checked| {
        let trouble = || Trouble {
            kind: serde_json::to_string(&one.verdict).unwrap_or_default().trim_matches('"').to_owned(),
            message: message(one),
            detail: detail(one, job.showing).unwrap_or_default().plain(),
        };
        let result = match verdict_status(one, job.strictness) {
            ExitStatus::Well if job.strictness == Strictness::Findings && counting(one).next().is_some() => {
                let list: Vec<String> = counting(one).map(|(file, finding)| text::finding(&shown_finding(file, finding), "")).collect();
                let message = list.first().and_then(|first| first.lines().next()).unwrap_or_default().to_owned();
                CaseResult::Failed(Trouble { kind: "findings".to_owned(), message, detail: list.join("\n") })
            }
            ExitStatus::Well => CaseResult::Passed,
            ExitStatus::Found => CaseResult::Failed(trouble()),
            ExitStatus::Failed => CaseResult::Errored(trouble()),
        };
        Case { name: one.log.clone(), took: one.took, result }
    };
    let suite =
        Suite { name: "everlog verify".to_owned(), timestamp: job.timestamp.clone(), cases: rows.iter().map(|one| case(&one)).collect() };
    Ok(replace::put(&RealDisk, path, junit::report(&suite).as_bytes())?)
}
