//! `everlog export --install` and `--undo`: a session where its program looks, and
//! taken away again.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::maintenance;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::Disk;
use crate::store::installed::{InstallReceipt, copies_of};
use crate::store::live;
use crate::verify::difference::visible;

use super::error::CommandError;

/// Which installation to take back.
#[derive(Debug)]
pub struct UndoJob<'a> {
    /// Its receipt.
    pub receipt: PathBuf,
    /// The folders that environment variables name, in which a program may say that
    /// it runs.
    pub homes: BTreeMap<&'static str, PathBuf>,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// What was taken away, for programs.
#[derive(Serialize)]
struct UndoneExport<'a> {
    log: &'a str,
    session: &'a str,
    removed: Vec<String>,
    copies: String,
}

/// Refuses to change a folder on which its program works.
///
/// # Errors
/// When the program says that it runs.
pub(super) fn refuse_running(format: &str, folder: &Path, homes: &BTreeMap<&'static str, PathBuf>) -> Result<(), CommandError> {
    let Some(rule) = maintenance::of(format).process_file() else { return Ok(()) };
    let at_home = || homes.get(rule.home).and_then(|home| live::running(home, rule.name, 0, rule.program));
    match live::running(folder, rule.name, rule.levels_above, rule.program).or_else(at_home) {
        Some(running) => Err(CommandError::ProgramRuns { process: running.process, file: running.file }),
        None => Ok(()),
    }
}

/// Takes an installation back.
///
/// # Errors
/// When the file is not a receipt, the program runs, or it went on with the session.
pub fn undo(job: &UndoJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let receipt = InstallReceipt::read(&job.receipt)?;
    refuse_running(&receipt.target, &receipt.folder, &job.homes)?;
    let removed = receipt.undo(&job.receipt, job.disk)?;
    let copies = copies_of(&job.receipt);
    if out.form() == Form::Json {
        let removed = removed.iter().map(ToString::to_string).collect();
        out.object(&UndoneExport { log: &receipt.log, session: &receipt.session, removed, copies: copies.display().to_string() });
    } else {
        removed.iter().for_each(|path| out.say(&format!("removed {}", visible(&path.to_string()))));
    }
    out.summary(&format!(
        "{} of session {} removed from {}; copies are in {}",
        text::count(removed.len() as u64, "file"),
        visible(&receipt.session),
        visible(&receipt.folder.display().to_string()),
        visible(&copies.display().to_string())
    ));
    Ok(ExitStatus::Well)
}
