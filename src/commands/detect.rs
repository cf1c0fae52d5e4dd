//! `everlog detect`: what is there, without converting anything.

use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::adapters::format::{Check, Format, Standing};
use crate::log::decode_line;
use crate::model::event::{Session, SessionKind};
use crate::model::finding::{Finding, FindingCode, Findings, Severity};
use crate::model::location::Location;
use crate::pipeline::batch;
use crate::pipeline::snapshot::files_of;
use crate::pipeline::source::{Related, Selection, Source, SourceUnit};
use crate::report::exit::ExitStatus;
use crate::report::findings::{FindingList, is_of_other_tools, session_likelihood};
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::layout::path_below;
use crate::store::lock::HeldLocks;
use crate::verify::build_log;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::kinds::Kinds;

/// Where to look.
#[derive(Debug)]
pub struct DetectJob {
    /// The sources.
    pub paths: Vec<PathBuf>,
    /// Which formats.
    pub adapters: Vec<&'static dyn Format>,
    /// What is looked for in them.
    pub selection: Selection,
    /// How many sessions at once.
    pub jobs: usize,
}

#[derive(Debug, Serialize)]
struct Detected {
    unit: String,
    /// The unit's path in base64, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    /// The folder that its files lie in.
    #[serde(skip)]
    folder: String,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    kind: SessionKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(flatten)]
    related: Related,
    files: usize,
    bytes: u64,
    /// When its first and its last file was written, in nanoseconds.
    #[serde(skip)]
    written: Option<(i64, i64)>,
    retired: bool,
    live: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    live_process: Option<String>,
    findings: Vec<Finding>,
}

/// Runs the command.
///
/// # Errors
/// When a path cannot be read, or nothing at all is recognised.
pub fn run(job: &DetectJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut units, mut status) = (Kinds::default(), ExitStatus::Well);
    let mut programs: BTreeMap<&'static str, Totals> = BTreeMap::new();
    for path in &job.paths {
        let source = Source::open(path, &job.adapters, &job.selection)?;
        let (running, open) = (source.running(), source.open_sessions());
        // To ask takes longer than most sources do.
        let locks = if source.has_lock_files() { HeldLocks::now() } else { HeldLocks::default() };
        let looked_at = batch::each(&source.units, job.jobs, |unit| {
            let mut detected = look_at(unit, &source, &locks);
            if let Some(running) = running.get(&unit.found.root).or_else(|| open.get(&unit.name)) {
                detected.live = true;
                detected.live_process.get_or_insert_with(|| running.process.to_string());
            }
            detected
        });
        let mut list = FindingList::default();
        for detected in looked_at {
            if detected.findings.iter().any(|finding| finding.severity >= Severity::Warn) {
                status = ExitStatus::Found;
            }
            units.add(detected.kind);
            print_unit(&detected, &mut list, out);
            programs.entry(detected.format).or_default().add(&detected);
        }
        list.say(out);
        for tie in &source.discovery.ties {
            out.complain(&format!(
                "error: two formats fit equally well: {}\n  at {}",
                tie.formats.join(", "),
                visible(&tie.folder.to_string())
            ));
            status = ExitStatus::Found;
        }
        if source.discovery.findings.list().iter().any(|finding| finding.severity >= Severity::Warn) {
            status = ExitStatus::Found;
        }
        print_beyond(source.discovery.findings.list(), out);
    }
    if units.all() == 0 && status == ExitStatus::Well {
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.paths.first().cloned().unwrap_or_default(), looked_for });
    }
    print_table(&programs, out);
    out.text(&units.text());
    Ok(status)
}

/// What one program has.
#[derive(Debug, Default)]
struct Totals {
    sessions: u64,
    files: u64,
    bytes: u64,
    /// When the first and the last file was written, in nanoseconds.
    written: Option<(i64, i64)>,
}

impl Totals {
    fn add(&mut self, detected: &Detected) {
        // A list of sessions or a session store is not one itself.
        self.sessions += u64::from(detected.kind.is_session());
        self.files += detected.files as u64;
        self.bytes += detected.bytes;
        if let Some((first, last)) = detected.written {
            self.written = Some(self.written.map_or((first, last), |(from, to)| (from.min(first), to.max(last))));
        }
    }
}

/// What there is in all, program by program.
fn print_table(programs: &BTreeMap<&'static str, Totals>, out: &Printer) {
    if programs.is_empty() {
        return;
    }
    let date = |ns: i64| Timestamp::from_nanosecond(i128::from(ns)).map(|time| time.strftime("%Y-%m-%d").to_string()).unwrap_or_default();
    let width = programs.keys().map(|program| program.len()).chain([14]).max().unwrap_or_default();
    out.text(&format!("{:width$} {:>9} {:>9} {:>10}  written (UTC)", "program", "sessions", "files", "size"));
    for (program, totals) in programs {
        let written = match totals.written {
            Some((first, last)) if date(first) == date(last) => date(first),
            Some((first, last)) => format!("{} to {}", date(first), date(last)),
            None => String::new(),
        };
        let (sessions, files) = (text::thousands(totals.sessions), text::thousands(totals.files));
        out.text(&format!("{program:width$} {sessions:>9} {files:>9} {:>10}  {written}", text::size(totals.bytes)));
    }
}

/// What belongs to no session: likely sessions first, files of other tools in
/// one line.
fn print_beyond(findings: &[Finding], out: &Printer) {
    if out.form() == Form::Json {
        return findings.iter().for_each(|finding| out.object(finding));
    }
    let is_noise = |finding: &&Finding| finding.code == FindingCode::UnknownFile && is_of_other_tools(&finding.location.file);
    let (noise, mut others): (Vec<&Finding>, Vec<&Finding>) = findings.iter().partition(is_noise);
    others.sort_by_key(|finding| session_likelihood(&finding.location.file));
    let mut list = FindingList::default();
    others.into_iter().for_each(|finding| list.add(finding, ""));
    list.say(out);
    if let Some(first) = noise.first() {
        let count = text::count(noise.iter().map(|finding| 1 + finding.more).sum(), "file");
        out.say(&format!("info: {count} of other tools, such as {} [unknown_file]", visible(&first.location.file)));
    }
}

fn look_at(unit: &SourceUnit, source: &Source, locks: &HeldLocks) -> Detected {
    let folder = source.folder_of(unit);
    let mut findings = Findings::default();
    for (path, code, message) in &unit.found.left_out {
        findings.add(*code, Location::of_path(path), message.clone());
    }
    let (mut kind, mut title, mut version) = (SessionKind::Session, None, None);
    if unit.found.standing != Standing::Retired {
        match session_of(unit, source, &mut findings) {
            Ok(Some(session)) => (kind, title, version) = (session.kind, session.title, session.format_version),
            Ok(None) => {}
            Err(error) => findings.add(FindingCode::Unreadable, Location::file(""), error.to_string()),
        }
    }
    let live_process = unit.lock_files().find_map(|path| locks.holder(|| path_below(&folder, path)).map(str::to_owned));
    Detected {
        unit: unit.name.to_string(),
        path_b64: unit.name.as_b64(),
        folder: unit.reported_folder().to_string(),
        format: unit.found.adapter.id(),
        version,
        kind,
        title,
        related: unit.related(),
        files: unit.found.files.len(),
        bytes: unit.bytes(&source.listing),
        written: written(unit, source),
        retired: unit.found.standing == Standing::Retired,
        live: live_process.is_some(),
        live_process,
        findings: findings.into_list(),
    }
}

fn written(unit: &SourceUnit, source: &Source) -> Option<(i64, i64)> {
    let times = || unit.listed(&source.listing).flatten().map(|entry| entry.mtime_ns);
    Some((times().min()?, times().max()?))
}

/// Takes the same road as a conversion, to nowhere: what it would find is what
/// there is to say.
fn session_of(unit: &SourceUnit, source: &Source, findings: &mut Findings) -> Result<Option<Session>, CommandError> {
    let folder = source.folder_of(unit);
    let stream = |source| CommandError::Stream { path: folder.clone(), source };
    let files = files_of(unit, &folder)?;
    let built = build_log(unit.found.adapter, &files, Check::ByProof, SessionLine::default(), findings).map_err(stream)?;
    Ok(built.out.session())
}

/// Keeps the first bytes of a log, where the session event is, and forgets
/// the rest.
#[derive(Default)]
pub(super) struct SessionLine(Vec<u8>);

impl SessionLine {
    /// Returns what the session event says.
    pub(super) fn session(&self) -> Option<Session> {
        let line = self.0.split(|b| *b == b'\n').next()?;
        serde_json::from_slice(decode_line(line).ok()?.payload).ok()
    }
}

impl std::io::Write for SessionLine {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            self.0.extend_from_slice(&bytes[..end]);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn print_unit(unit: &Detected, list: &mut FindingList, out: &Printer) {
    if out.form() == Form::Json {
        return out.object(unit);
    }
    let mut notes = Vec::new();
    match unit.kind {
        SessionKind::Session => {}
        SessionKind::Orphan => notes.push("its main file is lost".to_owned()),
        SessionKind::Store => notes.push("about many sessions".to_owned()),
        SessionKind::Index => notes.push("a list of sessions".to_owned()),
        SessionKind::Jobs => notes.push("a list of jobs".to_owned()),
    }
    if unit.retired {
        notes.push("retired".to_owned());
    }
    let Related { canonical, promoted_from } = &unit.related;
    notes.extend(canonical.iter().map(|name| format!("canonical: {}", visible(name))));
    notes.extend(promoted_from.iter().map(|name| format!("promoted from {}", visible(name))));
    if let Some(process) = &unit.live_process {
        notes.push(format!("open in process {process}"));
    }
    let title = unit.title.as_ref().map(|title| format!("  \"{}\"", visible(title))).unwrap_or_default();
    let notes = if notes.is_empty() { String::new() } else { format!("  [{}]", notes.join(", ")) };
    out.text(&format!(
        "{:12} {}{title}  {}, {}{notes}",
        unit.version.as_ref().map_or_else(|| unit.format.to_owned(), |version| format!("{} {}", unit.format, visible(version))),
        visible(&unit.unit),
        text::count(unit.files as u64, "file"),
        text::size(unit.bytes)
    ));
    for finding in unit.findings.iter().filter(|finding| finding.severity >= Severity::Warn || finding.code.relates_sessions()) {
        list.add(finding, &unit.folder);
    }
}
