//! `everlog export`: sessions as another program's own, which it lists, loads and
//! continues, or as documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::adapters::exporter::{ExportedSession, Exporter, Listing};
use crate::adapters::format::Format;
use crate::export::document::{Document, Sharing, WantedDocument, export_document};
use crate::export::{self, Export, ExportError, Extension, Wanted};
use crate::log::SealState;
use crate::model::files::RelPath;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::pipeline::batch;
use crate::pipeline::open::LogFile;
use crate::redact::{Redactions, Redactor};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::installed::{self, InstallReceipt};
use crate::store::layout::path_below;
use crate::store::restored::RestoreFolder;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::export_files::{Names, SharedFile, in_own_folder, listed_entry, missing, named, write};
use super::export_report::{ExportedLog, losses, print_losses};
use super::{export_install, logs, nodes, redactions};

/// What to export, and where to.
#[derive(Debug)]
pub struct ExportJob<'a> {
    /// Logs, or stores.
    pub logs: Vec<PathBuf>,
    /// What to export to.
    pub target: ExportTarget,
    /// The folder that stands for the one in which the target keeps its sessions.
    pub dest: PathBuf,
    /// Whether that is the folder in which the program looks.
    pub placing: Placing,
    /// Another head than the one that is shown by default.
    pub head: Option<HeadName>,
    /// The path to this node instead of a head's.
    pub leaf: Option<String>,
    /// The state after this event.
    pub at: Option<Seq>,
    /// Another working folder.
    pub cwd: Option<String>,
    /// Another model.
    pub model: Option<String>,
    /// Another title.
    pub title: Option<String>,
    /// Whether what the target cannot say goes along.
    pub extension: Extension,
    /// What to do with a session that loses something.
    pub on_loss: OnLoss,
    /// What takes secrets out; nothing where they stay.
    pub redactor: Option<Redactor>,
    /// How many sessions at once.
    pub jobs: usize,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// What to export to.
#[derive(Clone, Copy)]
pub enum ExportTarget {
    /// The format of a program.
    Program(&'static dyn Format),
    /// A kind of document.
    Document(&'static dyn Document),
}

/// Where exported files go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placing {
    /// Into a folder that a person named.
    InFolder,
    /// Where the program looks, with a receipt.
    Installed(Installation),
}

/// What an installation has to know of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// The folders that environment variables name, in which a program may say that it
    /// runs.
    pub homes: BTreeMap<&'static str, PathBuf>,
    /// The time, in milliseconds since the epoch.
    pub now_ms: i64,
}

/// What to do with a session that loses something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// Say what, and write it.
    Report,
    /// Say what, and write nothing.
    Refuse,
}

impl ExportTarget {
    /// Returns its name on the command line.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            ExportTarget::Program(format) => format.id(),
            ExportTarget::Document(document) => document.id(),
        }
    }

    /// Tells whether its sessions share a file.
    fn sharing(self) -> Sharing {
        match self {
            ExportTarget::Program(_) => Sharing::FileEach,
            ExportTarget::Document(document) => document.sharing(),
        }
    }
}

impl fmt::Debug for ExportTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// So many bytes of logs are exported at once, where they are of several sessions.
const TOGETHER: u64 = 16 * 1024 * 1024;

/// What a session was made to, before it is written.
struct Made {
    export: Export,
    redactions: Option<Redactions>,
    /// What is wrong with the end of its log.
    warning: Option<&'static str>,
}

/// How many sessions came to what.
#[derive(Debug, Default)]
struct Tally {
    done: u64,
    failed: u64,
    lossy: u64,
    empty: u64,
    /// Of logs that are not as they were sealed: something may be missing.
    doubtful: u64,
}

/// A run that is under way.
struct Run<'r> {
    job: &'r ExportJob<'r>,
    out: &'r Printer,
    folder: RestoreFolder<'r>,
    /// The file that all sessions share, where the target has one.
    shared: Option<SharedFile<'r>>,
    /// The folders from which leftovers of a run that was cut short are removed.
    swept: BTreeSet<Vec<u8>>,
    tally: Tally,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &ExportJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut found: Vec<LogFile> = Vec::new();
    let mut tally = Tally::default();
    for path in &job.logs {
        let (more, missing) = logs::find_all(path)?;
        found.extend(more);
        tally.failed += missing.len() as u64;
        for log in missing {
            let place = path_below(path, &log.relative).display().to_string();
            out.complain(&format!("error: {}; it is not exported\n  at {}\nhint: {}", log.why, visible(&place), logs::MISSING_HINT));
        }
    }
    if let Placing::Installed(on) = &job.placing {
        export_install::refuse_running(job.target.id(), &job.dest, &on.homes)?;
    }
    let folder = RestoreFolder::at(&job.dest, job.disk)?;
    let shared = match job.target.sharing() {
        Sharing::LineEach(name) => {
            folder.sweep([RelPath::new(name)].iter())?;
            Some(SharedFile::new(&folder, name)?)
        }
        Sharing::FileEach => None,
    };
    let mut run = Run { job, out, folder, shared, swept: BTreeSet::new(), tally };
    for together in batches(&found) {
        let made = batch::each(together, job.jobs, |log| batch::caught(|| made(job, log), CommandError::Bug));
        // Written one after the other, in the order of the logs.
        together.iter().zip(made).for_each(|(log, made)| run.session(log, made));
    }
    match run.shared {
        // Not even its beginning: nobody would notice that the rest is missing.
        Some(shared) if shared.is_cut() => {
            run.tally.failed += std::mem::take(&mut run.tally.done);
        }
        Some(shared) if run.tally.done > 0 => shared.done(&run.folder)?,
        Some(_) | None => {}
    }
    run.folder.sync()?;
    Ok(summary(job, &run.tally, out))
}

/// Logs of which the exports may be in memory together.
fn batches(found: &[LogFile]) -> Vec<&[LogFile]> {
    let (mut batches, mut from, mut bytes) = (Vec::new(), 0, 0_u64);
    for (at, log) in found.iter().enumerate() {
        let more = log.bytes.unwrap_or(0);
        if at > from && bytes.saturating_add(more) > TOGETHER {
            batches.push(&found[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes = bytes.saturating_add(more);
    }
    batches.push(&found[from..]);
    batches
}

impl Run<'_> {
    /// Writes what one session was made to, and says what came of it.
    fn session(&mut self, log: &LogFile, made: Result<Option<Made>, CommandError>) {
        let mut report = ExportedLog::of(log);
        match made {
            Ok(Some(Made { export, redactions, warning })) => {
                if let Some(warning) = warning {
                    self.tally.doubtful += 1;
                    self.out.complain(&format!("{warning}\n  at {}", visible(&log.name)));
                }
                self.settle(log, export, redactions, &mut report);
            }
            // Lists and job files are not sessions.
            Ok(None) => {
                self.tally.empty += 1;
                return;
            }
            Err(error) => {
                self.tally.failed += 1;
                self.out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
                report.error = Some(error.to_string());
            }
        }
        if self.out.form() == Form::Json {
            self.out.object(&report);
        }
    }

    fn settle(&mut self, log: &LogFile, export: Export, redactions: Option<Redactions>, report: &mut ExportedLog) {
        let (job, out) = (self.job, self.out);
        let is_lossless = !export.losses.is_lossy();
        self.tally.lossy += u64::from(!is_lossless);
        report.losses = losses(&export.losses);
        report.records = export.records;
        print_losses(log, &report.losses, job.target.id(), out);
        if let Some(redactions) = &redactions {
            redactions::say(&log.name, redactions, out);
        }
        report.redactions = redactions;
        if job.on_loss == OnLoss::Refuse && !is_lossless {
            self.tally.failed += 1;
            let what = "--strict refuses an export that loses something";
            let hint = "leave out `--strict`, or see what each code means in `docs/src/reference/losses.md`";
            out.complain(&format!("error: {what}\n  at {}\nhint: {hint}", visible(&log.name)));
            report.error = Some(what.to_owned());
            return;
        }
        let (name, go_on) = (export.session.name.clone(), export.session.go_on.clone());
        match self.written(log, export.session, export.listing, report) {
            Ok(()) => {
                self.tally.done += 1;
                let mut said = format!("{}: {}", visible(&log.name), report.files.join(", "));
                if let Some(receipt) = &report.receipt {
                    said += &format!("\n  to undo: everlog export --undo {}", text::shell_word(receipt));
                }
                if !go_on.is_empty() {
                    said += &format!("\n  continue with: {}", visible(&go_on));
                    (report.session, report.continue_with) = (Some(name), Some(go_on));
                }
                out.say(&said);
            }
            Err(error) => {
                self.tally.failed += 1;
                let is_there = matches!(error, StoreError::Exists { .. });
                let moved = "export into another folder, or move the existing file away: it is never overwritten";
                let hint = if is_there { Some(moved) } else { error.hint() };
                out.complain(&text::error(&error, Some(&log.name), hint));
                report.error = Some(error.to_string());
            }
        }
    }

    /// Writes the files of a session; one that has its bytes already is left as it
    /// is.
    fn written(
        &mut self,
        log: &LogFile,
        session: ExportedSession,
        listing: Option<Listing>,
        report: &mut ExportedLog,
    ) -> Result<(), StoreError> {
        let job = self.job;
        let files = match job.target {
            ExportTarget::Program(target) => match target.exporter().and_then(Exporter::marker) {
                Some(marker) => in_own_folder(&self.folder, &session.root, session.files, marker)?,
                None => session.files,
            },
            ExportTarget::Document(document) => {
                let names = if job.redactor.is_some() { Names::Hashed } else { Names::OfLogs };
                named(session.files, log, document, names)
            }
        };
        if let (Some(shared), Some((_, line))) = (&mut self.shared, files.first()) {
            shared.add(line, &self.folder)?;
            report.files = vec![shared.name()];
            return Ok(());
        }
        for (path, _) in &files {
            let bytes = path.as_bytes();
            let above = bytes.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |at| &bytes[..at]);
            // Once for each folder: thousands of documents lie in the same.
            if self.swept.insert(above.to_vec()) {
                self.folder.sweep([path].into_iter())?;
            }
        }
        // Nothing is written where any of them cannot be.
        let missing = missing(&self.folder, &files)?;
        let mut listed = None;
        if let Placing::Installed(on) = &job.placing {
            let path = installed::receipt_of(&log.path, self.folder.root(), job.target.id(), &files);
            listed = listing.map(|listing| listed_entry(&listing, on.now_ms));
            // Nothing is written where it cannot be listed.
            listed.as_ref().map_or(Ok(()), |listed| listed.fits(&self.folder))?;
            if !missing.is_empty() {
                let receipt = InstallReceipt::of(job.target.id(), &log.name, &session.name, self.folder.root(), &missing);
                InstallReceipt { listed: listed.clone(), ..receipt }.write(&path, job.disk)?;
            }
            // A run that was cut short may have written it, and what it says is added.
            if let Ok(receipt) = InstallReceipt::read(&path) {
                listed = receipt.listed;
                report.receipt = Some(path.display().to_string());
            }
        }
        write(&self.folder, &missing)?;
        if let Some(listed) = listed {
            listed.add(&self.folder, job.disk)?;
        }
        report.files = files.iter().map(|(path, _)| path.to_string()).collect();
        Ok(())
    }
}

fn summary(job: &ExportJob<'_>, tally: &Tally, out: &Printer) -> ExitStatus {
    let mut summary = format!("{} exported to {} as {}", text::count(tally.done, "session"), job.dest.display(), job.target.id());
    for (count, words) in [(tally.lossy, "with losses"), (tally.empty, "without messages"), (tally.failed, "failed")] {
        if count > 0 {
            summary += &format!("; {count} {words}");
        }
    }
    out.summary(&summary);
    match (tally.done, tally.failed, tally.doubtful) {
        (_, 0, 0) => ExitStatus::Well,
        (0, _, _) => ExitStatus::Failed,
        (_, _, _) => ExitStatus::Found,
    }
}

/// Makes the export of one log; nothing where it is of no session, or of an empty
/// one.
fn made(job: &ExportJob<'_>, log: &LogFile) -> Result<Option<Made>, CommandError> {
    let (mut view, adapter) = logs::open(&log.path, job.at)?;
    if !view.session.kind.is_session() {
        return Ok(None);
    }
    let warning = logs::seal_warning(view.seal()).filter(|_| !matches!(view.seal(), SealState::Good { .. }));
    let (node, head) = match &job.leaf {
        Some(leaf) => {
            let node = nodes::named(&mut view, &log.path, leaf)?;
            (node, format!("#{node}"))
        }
        None => {
            let head = job.head.clone().unwrap_or_else(|| view.active());
            let known = || view.state().heads().map(|(name, _)| name.to_string()).collect();
            let node = view.state().head(&head);
            match (node, &job.head) {
                (Some(node), _) => (node, head.to_string()),
                (None, None) => return Ok(None),
                (None, Some(_)) => return Err(CommandError::NoSuchHead { head: head.to_string(), known: known() }),
            }
        }
    };
    let (cwd, model, title) = (job.cwd.clone(), job.model.clone(), job.title.clone());
    let mut redactor = job.redactor.as_ref().map(Redactor::fresh);
    let export = match job.target {
        ExportTarget::Program(target) => {
            let folder = std::path::absolute(&job.dest).ok().map(|folder| folder.to_string_lossy().into_owned());
            let wanted = Wanted { target, node, head, cwd, model, title, folder, extension: job.extension };
            export::export_redacted(&mut view, Some(adapter), &wanted, redactor.as_mut())
        }
        ExportTarget::Document(document) => {
            let wanted = WantedDocument { document, node, head, cwd, model, title };
            export_document(&mut view, Some(adapter), &wanted, redactor.as_mut())
        }
    };
    match export {
        Ok(export) => Ok(Some(Made { export, redactions: redactor.map(|redactor| redactor.redactions().clone()), warning })),
        Err(ExportError::Empty) => Ok(None),
        Err(source) => Err(CommandError::Export { path: log.path.clone(), source }),
    }
}
