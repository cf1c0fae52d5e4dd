//! `everlog detect`: what is there, without converting anything.

use serde::Serialize;
use std::path::PathBuf;

use crate::adapters::adapter::{Adapter, Check, Standing};
use crate::log::{LogWriter, decode_line};
use crate::model::event::{Session, SessionKind};
use crate::model::finding::{Finding, FindingCode, Findings, Severity};
use crate::model::location::Location;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::layout::path_below;
use crate::store::lock::HeldLocks;
use crate::store::snapshot;
use crate::verify::difference::visible;

use super::batch;
use super::error::CommandError;
use super::source::{Related, Selection, Source, SourceUnit};

/// Where to look.
#[derive(Debug)]
pub struct DetectJob {
    /// The sources.
    pub paths: Vec<PathBuf>,
    /// Which formats.
    pub adapters: Vec<&'static dyn Adapter>,
    /// What is looked for in them.
    pub selection: Selection,
    /// How many sessions at once.
    pub jobs: usize,
}

#[derive(Debug, Serialize)]
struct Detected {
    unit: String,
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
    let (mut sessions, mut status) = (0, ExitStatus::Well);
    for path in &job.paths {
        let source = Source::open(path, &job.adapters, &job.selection)?;
        let running = source.running();
        // To ask takes longer than most sources do.
        let locks = if source.has_lock_files() { HeldLocks::now() } else { HeldLocks::default() };
        let looked_at = batch::each(&source.units, job.jobs, |unit| {
            let mut detected = look_at(unit, &source, &locks);
            if let Some(running) = running.get(&unit.found.root) {
                detected.live = true;
                detected.live_process.get_or_insert_with(|| running.process.to_string());
            }
            detected
        });
        for detected in looked_at {
            if detected.findings.iter().any(|finding| finding.severity >= Severity::Warn) {
                status = ExitStatus::Found;
            }
            print_unit(&detected, out);
            sessions += 1;
        }
        for tie in &source.discovery.ties {
            out.complain(&format!("error: two formats fit equally well: {}\n  at {}", tie.formats.join(", "), tie.folder));
            status = ExitStatus::Found;
        }
        for finding in source.discovery.findings.list() {
            if finding.code == FindingCode::UnsupportedVersion {
                status = ExitStatus::Found;
            }
            match out.form() {
                Form::Json => out.object(finding),
                Form::Text => out.say(&text::finding(finding, "")),
            }
        }
    }
    if sessions == 0 && status == ExitStatus::Well {
        let looked_for = job.adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: job.paths.first().cloned().unwrap_or_default(), looked_for });
    }
    out.text(&text::count(sessions, "session"));
    Ok(status)
}

fn look_at(unit: &SourceUnit, source: &Source, locks: &HeldLocks) -> Detected {
    let folder = source.folder_of(unit);
    let mut findings = Findings::default();
    for (path, code, message) in &unit.found.left_out {
        findings.add(*code, Location::file(path.to_string()), message.clone());
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
        folder: unit.reported_folder().to_string(),
        format: unit.found.adapter.id(),
        version,
        kind,
        title,
        related: unit.related(),
        files: unit.found.files.len(),
        bytes: unit.bytes(&source.listing),
        retired: unit.found.standing == Standing::Retired,
        live: live_process.is_some(),
        live_process,
        findings: findings.into_list(),
    }
}

/// Takes the same road as a conversion, to nowhere: what it would find is what
/// there is to say.
fn session_of(unit: &SourceUnit, source: &Source, findings: &mut Findings) -> Result<Option<Session>, CommandError> {
    let folder = source.folder_of(unit);
    let stream = |source| CommandError::Stream { path: folder.clone(), source };
    let files = snapshot::take(&folder, unit.own_name(), &unit.found.files)?.with_beside(unit.found.beside.clone());
    let mut writer = LogWriter::new(SessionLine::default());
    unit.found.adapter.read(&files, Check::ByProof, &mut writer, findings).map_err(stream)?;
    let (line, _) = writer.finish().map_err(stream)?;
    Ok(line.session())
}

/// Keeps the first bytes of a log, where the session event is, and forgets
/// the rest.
#[derive(Default)]
struct SessionLine(Vec<u8>);

impl SessionLine {
    fn session(&self) -> Option<Session> {
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

fn print_unit(unit: &Detected, out: &Printer) {
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
        out.say(&text::finding(finding, &unit.folder));
    }
}
