//! `everlog export`: sessions as another program's own, which it lists, loads and
//! continues.

use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::adapters::exporter::ExportedSession;
use crate::adapters::format::Format;
use crate::export::{self, Export, ExportError, Extension, Wanted};
use crate::log::SealState;
use crate::model::digest::sha256_hex;
use crate::model::export::loss::{LossCode, Losses};
use crate::model::files::RelPath;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::pipeline::open::LogFile;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::restored::{Expected, RestoreFolder, Standing};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs;
use super::nodes;

/// So many places of a loss are printed.
const PLACES: usize = 5;

/// What to export, and where to.
#[derive(Debug)]
pub struct ExportJob<'a> {
    /// Logs, or stores.
    pub logs: Vec<PathBuf>,
    /// The format to export to.
    pub target: &'static dyn Format,
    /// The folder that stands for the one in which the target keeps its sessions.
    pub dest: PathBuf,
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
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// What to do with a session that loses something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLoss {
    /// Say what, and write it.
    Report,
    /// Say what, and write nothing.
    Refuse,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
struct ExportedLog {
    log: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    files: Vec<String>,
    records: usize,
    losses: Vec<Loss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continue_with: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One entry of the loss list.
#[derive(Debug, Serialize)]
struct Loss {
    code: &'static str,
    count: usize,
    places: Vec<Seq>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &ExportJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut found: Vec<LogFile> = Vec::new();
    for path in &job.logs {
        found.extend(logs::find_all(path)?.0);
    }
    let folder = RestoreFolder::at(&job.dest, job.disk)?;
    let (mut done, mut failed, mut lossy, mut empty) = (0_u64, 0_u64, 0_u64, 0_u64);
    for log in &found {
        let mut report = ExportedLog {
            log: log.name.clone(),
            session: None,
            files: Vec::new(),
            records: 0,
            losses: Vec::new(),
            continue_with: None,
            error: None,
        };
        match one(job, log, out) {
            Ok(Some(export)) => {
                lossy += u64::from(export.losses.is_lossy());
                report.losses = losses(&export.losses);
                report.records = export.records;
                let is_refused = job.on_loss == OnLoss::Refuse && export.losses.is_lossy();
                let written = if is_refused { Err(None) } else { write(&folder, &export.session).map_err(Some) };
                print_losses(log, &report.losses, job.target, out);
                match written {
                    Ok(files) => {
                        done += 1;
                        report.files = files;
                        out.say(&format!(
                            "{}: {}\n  continue with: {}",
                            visible(&log.name),
                            report.files.join(", "),
                            visible(&export.session.go_on)
                        ));
                        report.session = Some(export.session.name);
                        report.continue_with = Some(export.session.go_on);
                    }
                    Err(error) => {
                        failed += 1;
                        let what = error
                            .as_ref()
                            .map_or_else(|| "--strict refuses an export that loses something".to_owned(), ToString::to_string);
                        let hint = error.as_ref().map_or(
                            "leave out `--strict`, or see what each code means in `docs/src/reference/losses.md`",
                            |_| "export into another folder, or move the existing file away: it is never overwritten",
                        );
                        out.complain(&format!("error: {what}\n  at {}\nhint: {hint}", visible(&log.name)));
                        report.error = Some(what);
                    }
                }
            }
            // Lists and job files are no sessions.
            Ok(None) => {
                empty += 1;
                continue;
            }
            Err(error) => {
                failed += 1;
                out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
                report.error = Some(error.to_string());
            }
        }
        if out.form() == Form::Json {
            out.object(&report);
        }
    }
    folder.sync()?;
    let mut summary = format!("{} exported to {} as {}", text::count(done, "session"), job.dest.display(), job.target.id());
    for (count, words) in [(lossy, "with losses"), (empty, "without messages"), (failed, "failed")] {
        if count > 0 {
            summary += &format!("; {count} {words}");
        }
    }
    out.summary(&summary);
    Ok(match (done, failed) {
        (_, 0) => ExitStatus::Well,
        (0, _) => ExitStatus::Failed,
        (_, _) => ExitStatus::Found,
    })
}

/// Exports one log; nothing where it is of no session, or of an empty one.
fn one(job: &ExportJob<'_>, log: &LogFile, out: &Printer) -> Result<Option<Export>, CommandError> {
    let (mut view, adapter) = logs::open(&log.path, job.at)?;
    if !view.session.kind.is_session() {
        return Ok(None);
    }
    if let Some(warning) = logs::seal_warning(view.seal()).filter(|_| !matches!(view.seal(), SealState::Good { .. })) {
        out.complain(&format!("{warning}\n  at {}", visible(&log.name)));
    }
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
    let wanted = Wanted {
        target: job.target,
        node,
        head,
        cwd: job.cwd.clone(),
        model: job.model.clone(),
        title: job.title.clone(),
        folder: std::path::absolute(&job.dest).ok().map(|folder| folder.to_string_lossy().into_owned()),
        extension: job.extension,
    };
    match export::export(&mut view, Some(adapter), &wanted) {
        Ok(export) => Ok(Some(export)),
        Err(ExportError::Empty) => Ok(None),
        Err(source) => Err(CommandError::Export { path: log.path.clone(), source }),
    }
}

fn losses(losses: &Losses) -> Vec<Loss> {
    losses.iter().map(|(code, places)| Loss { code: code.name(), count: places.len(), places: places.iter().copied().collect() }).collect()
}

fn print_losses(log: &LogFile, losses: &[Loss], target: &dyn Format, out: &Printer) {
    if losses.is_empty() || out.form() == Form::Json {
        return;
    }
    let mut said = format!("note: {} cannot say everything of {}", target.id(), visible(&log.name));
    for loss in losses {
        let shown: Vec<String> = loss.places.iter().take(PLACES).map(|seq| format!("#{seq}")).collect();
        let more = loss.places.len().saturating_sub(PLACES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let meaning = LossCode::ALL.iter().find(|code| code.name() == loss.code).map_or("", |code| code.describe());
        said += &format!("\n  [{}] {}: {}{more}\n    {meaning}", loss.code, text::count(loss.count as u64, "event"), shown.join(", "));
    }
    out.say(&said);
}

/// Writes the files of a session; one that has its bytes already is left as it is.
fn write(folder: &RestoreFolder<'_>, session: &ExportedSession) -> Result<Vec<String>, StoreError> {
    let mut missing: Vec<(&RelPath, &[u8])> = Vec::new();
    // Nothing is written where any of them cannot be.
    for (path, bytes) in &session.files {
        let expected = Expected::File { size: bytes.len() as u64, sha256: &sha256_hex(bytes) };
        if folder.standing(path, expected)? == Standing::Nothing {
            missing.push((path, bytes));
        }
    }
    for (path, bytes) in missing {
        let file = folder.file(path)?;
        let full: &Path = folder.root();
        file.bytes().write_all(bytes).map_err(StoreError::io("write below", full))?;
        file.done(None)?;
    }
    Ok(session.files.iter().map(|(path, _)| path.to_string()).collect())
}
