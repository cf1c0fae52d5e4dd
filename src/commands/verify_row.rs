//! A row of what `verify` reports: one log, or something that should be one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::model::event::SessionKind;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, Severity};
use crate::model::location::Location;
use crate::report::exit::ExitStatus;
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::verify::Difference;

use super::error::CommandError;
use super::golden;
use super::logs::{NotRead, Unread};
use super::verify_job::{Kept, LogToCheck, Strictness, Verdict};

/// One line of the report.
#[derive(Debug)]
pub(super) struct Checked {
    /// The log's name below the store.
    pub log: String,
    /// Where it lies, as the user would name it.
    pub path: PathBuf,
    pub session: String,
    /// The exact name of the log, where it is not UTF-8.
    pub log_b64: Option<String>,
    pub kept: Kept,
    /// What the log is of, where it could be opened.
    pub kind: Option<SessionKind>,
    pub verdict: Verdict,
    /// Whether somebody has looked at this and accepted it.
    pub accepted: bool,
    pub bytes: u64,
    pub messages: u64,
    pub findings: Vec<(PathBuf, Finding)>,
    pub differences: Vec<Located>,
    /// How many more there are.
    pub more: u64,
    /// Why it could not be read.
    pub error: Option<CommandError>,
    pub took: Duration,
}

/// A difference, and the file that it is in.
#[derive(Debug)]
pub(super) struct Located {
    pub difference: Difference,
    pub file: PathBuf,
    pub line: Option<u64>,
    pub byte: Option<u64>,
}

impl Located {
    /// `file:line:byte`.
    pub(super) fn at(&self) -> String {
        Location { line: self.line, byte: self.byte, ..Location::file(self.file.display().to_string()) }.to_string()
    }
}

impl Checked {
    pub(super) fn new(log: String, session: String, kept: Kept) -> Checked {
        Checked {
            log,
            path: PathBuf::new(),
            session,
            log_b64: None,
            kept,
            kind: None,
            verdict: Verdict::Same,
            accepted: false,
            bytes: 0,
            messages: 0,
            findings: Vec::new(),
            differences: Vec::new(),
            more: 0,
            error: None,
            took: Duration::ZERO,
        }
    }

    /// A log before it is looked at.
    pub(super) fn of(item: &LogToCheck<'_>) -> Checked {
        let name = RelPath::from_key(&item.key);
        let mut checked = Checked::new(name.to_string(), item.unit_name.clone(), item.kept);
        checked.path.clone_from(&item.log.path);
        checked.log_b64 = name.as_b64();
        checked
    }

    /// Returns a kept replay whose session has no log.
    pub(super) fn golden_left(folder: &Path, session: &str) -> Checked {
        let mut checked = Checked::new(format!("{session}{LOG_SUFFIX}"), session.to_owned(), Kept::Current);
        checked.verdict = Verdict::GoldenLeft;
        let difference = Difference::in_file("a replay is kept of a session that has no log", Location::file(session));
        checked.differences.push(Located { difference, file: golden::path_of(folder, session), line: None, byte: None });
        checked
    }

    /// Returns a log that was written, and that is no more.
    pub(super) fn gone(log: &RelPath, session: String, file: PathBuf) -> Checked {
        let mut checked = Checked::new(log.to_string(), session, Kept::Current);
        checked.verdict = Verdict::LogGone;
        let what = match file.symlink_metadata() {
            Err(_) => "a log was written here, and is gone",
            Ok(meta) if meta.is_dir() => "a log was written here, and a folder is in its place",
            Ok(meta) if meta.is_symlink() => "a log was written here, and a link is in its place",
            Ok(meta) if meta.is_file() => "a log was written here, and a link is in the place of a folder above it",
            Ok(_) => "a log was written here, and something that is not a file is in its place",
        };
        let difference = Difference::in_log(what, None);
        checked.differences.push(Located { difference, file, line: None, byte: None });
        checked
    }

    /// Something with the name of a log that was not looked at.
    pub(super) fn unread(unread: &Unread, folder: &Path) -> Checked {
        let name = unread.relative.to_string();
        let kept = if name.starts_with(".everlog/") { Kept::Earlier } else { Kept::Current };
        let session = name.strip_suffix(LOG_SUFFIX).unwrap_or(&name).to_owned();
        let mut checked = Checked::new(name, session, kept);
        let file = path_below(folder, &unread.relative);
        checked.path.clone_from(&file);
        checked.verdict = match &unread.why {
            NotRead::Link | NotRead::Special => Verdict::NoReceipt,
            NotRead::Refused(_) => Verdict::Unreadable,
            NotRead::Gone => Verdict::LogGone,
        };
        let difference = Difference::in_log(unread.why.to_string(), None);
        checked.differences.push(Located { difference, file, line: None, byte: None });
        checked
    }

    /// Current logs first, each kind by name.
    pub(super) fn order(&self) -> (bool, &str) {
        (self.kept == Kept::Earlier, &self.log)
    }
}

/// Returns what one log comes to. Every report uses it.
pub(super) fn status(one: &Checked, strictness: Strictness) -> ExitStatus {
    let has_findings = strictness == Strictness::Findings && counting(one).next().is_some();
    verdict_status(one, strictness).max(if has_findings { ExitStatus::Found } else { ExitStatus::Well })
}

/// Returns what its verdict alone comes to, unless somebody has accepted it.
pub(super) fn verdict_status(one: &Checked, strictness: Strictness) -> ExitStatus {
    if one.accepted { one.verdict.exit() } else { by_verdict(one.verdict, strictness) }
}

/// Returns what a verdict comes to.
fn by_verdict(verdict: Verdict, strictness: Strictness) -> ExitStatus {
    let is_found =
        strictness == Strictness::Findings && matches!(verdict, Verdict::NoSource | Verdict::NotConverted | Verdict::KeptDamaged);
    verdict.exit().max(if is_found { ExitStatus::Found } else { ExitStatus::Well })
}

/// Returns the findings that count in a strict run.
pub(super) fn counting(one: &Checked) -> impl Iterator<Item = &(PathBuf, Finding)> {
    one.findings.iter().filter(|(_, finding)| finding.severity >= Severity::Warn)
}
