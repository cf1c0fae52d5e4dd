//! `everlog restore`: the original files, byte for byte. A run that was stopped
//! or killed is continued by the same command: what has the right bytes already
//! counts as restored.

use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::model::rows::LeftOut;
use crate::pipeline::open::LogFile;
use crate::pipeline::restore::{Restoration, RestoreRun, restore};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::Disk;
use crate::store::layout::path_below;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs::{self, MissingLog};
use super::sessions::explained;

/// What to restore, and where to.
#[derive(Debug)]
pub struct RestoreJob<'a> {
    /// Logs, or stores.
    pub logs: Vec<PathBuf>,
    /// The folder to restore into.
    pub dest: PathBuf,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
struct RestoredLog {
    log: String,
    /// The exact name of the log, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_b64: Option<String>,
    files: u64,
    bytes: u64,
    /// How many of the files had their bytes already.
    already: u64,
    /// How many of the files are databases, which come back row for row.
    #[serde(skip_serializing_if = "is_zero")]
    databases: u64,
    /// Tables whose rows a database lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
    /// Files that a newer log has otherwise, and that were not restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<SupersededFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A file that was not restored.
#[derive(Debug, Serialize)]
struct SupersededFile {
    path: String,
    /// The exact path, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_b64: Option<String>,
    by: String,
}

/// All logs together.
#[derive(Default)]
struct Totals {
    files: u64,
    bytes: u64,
    already: u64,
    databases: u64,
    left_out: u64,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all, or it was stopped.
pub fn run(job: &RestoreJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut found, mut missing): (Vec<LogFile>, Vec<(PathBuf, MissingLog)>) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for path in &job.logs {
        let (logs, lost) = logs::find_all(path)?;
        // A log that is named twice is one log.
        found.extend(logs.into_iter().filter(|log| seen.insert(std::path::absolute(&log.path).unwrap_or_else(|_| log.path.clone()))));
        missing.extend(lost.into_iter().map(|lost| (path.clone(), lost)));
    }
    let done = restore(&Restoration { logs: &found, dest: &job.dest, jobs: job.jobs, stop: job.stop, disk: job.disk })?;
    report(job, &found, &missing, done, out)
}

/// Says what became of each log, and of all.
fn report(
    job: &RestoreJob<'_>,
    found: &[LogFile],
    missing: &[(PathBuf, MissingLog)],
    RestoreRun { results, superseded }: RestoreRun,
    out: &Printer,
) -> Result<ExitStatus, CommandError> {
    let (mut all, mut failed, mut doubtful, mut begun) = (Totals::default(), 0, 0, 0);
    for (n, (log, result)) in found.iter().zip(results).enumerate() {
        let Some(result) = result else { continue };
        begun += 1;
        let (name, log_b64) = (log.name.clone(), log.relative.as_b64());
        let mut restored = RestoredLog {
            log: name,
            log_b64,
            files: 0,
            bytes: 0,
            already: 0,
            databases: 0,
            left_out: Vec::new(),
            superseded: Vec::new(),
            error: None,
        };
        match result {
            Ok(done) => {
                (restored.files, restored.bytes, restored.already) = (done.files, done.bytes, done.already);
                (restored.databases, restored.left_out) = (done.databases, done.left_out);
                say_left_out(&log.name, &restored.left_out, out);
                if let Some(warning) = logs::seal_warning(&done.seal) {
                    doubtful += 1;
                    out.complain(&format!("{warning}\n  at {}", log.name));
                }
            }
            Err(error) => {
                let error = explained(CommandError::from(error));
                failed += 1;
                out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
                restored.error = Some(error.to_string());
            }
        }
        for one in superseded.iter().filter(|one| one.log == n) {
            doubtful += 1;
            let (path, by) = (one.path.to_string(), found[one.by].name.clone());
            out.complain(&format!(
                "warning: {path} was not restored from here: {by} has a newer one, which differs\n  at {}\nhint: restore this log alone into another folder to see the older one",
                log.name
            ));
            restored.superseded.push(SupersededFile { path, path_b64: one.path.as_b64(), by });
        }
        all.files += restored.files;
        all.bytes = all.bytes.saturating_add(restored.bytes);
        all.already += restored.already;
        all.databases += restored.databases;
        all.left_out += restored.left_out.len() as u64;
        if out.form() == Form::Json {
            out.object(&restored);
        }
    }
    report_missing(missing, out);
    let already = if all.already > 0 { format!(", {} of them there already", all.already) } else { String::new() };
    let mut failures = if failed > 0 { format!("; {} failed", text::count(failed, "log")) } else { String::new() };
    if !missing.is_empty() {
        failures += &format!("; {} missing", text::count(missing.len() as u64, "log"));
    }
    let exactness = match (all.databases, all.files - all.databases) {
        (0, _) => "byte for byte".to_owned(),
        (databases, 0) => format!("{} row for row", text::count(databases, "database")),
        (databases, files) => format!("{} byte for byte, {} row for row", text::count(files, "file"), text::count(databases, "database")),
    };
    let incomplete = match all.left_out {
        0 => String::new(),
        tables => format!(", without the rows of {}: not complete", text::count(tables, "table")),
    };
    out.summary(&format!(
        "{}{already} restored from {} to {}: {}, {exactness}{incomplete}{failures}",
        text::count(all.files, "file"),
        text::count(begun, "log"),
        job.dest.display(),
        text::size(all.bytes),
    ));
    if begun < found.len() as u64 {
        return Err(CommandError::Interrupted { done: usize::try_from(begun - failed).unwrap_or(usize::MAX), of: found.len() });
    }
    Ok(match failed {
        0 if doubtful == 0 && missing.is_empty() => ExitStatus::Well,
        n if n > 0 && n == found.len() as u64 => ExitStatus::Failed,
        _ => ExitStatus::Found,
    })
}

/// Names the tables that a restored database has no rows of.
fn say_left_out(log: &str, left_out: &[LeftOut], out: &Printer) {
    if left_out.is_empty() {
        return;
    }
    let one = |table: &LeftOut| format!("{} ({}: {})", visible(&table.table), text::count(table.rows, "row"), visible(&table.why));
    let tables = left_out.iter().map(one).collect::<Vec<_>>().join(", ");
    out.say(&format!("note: the database is not complete: its logs do not have the rows of {tables}\n  at {}", visible(log)));
}

/// Names the logs that should be there and are not.
fn report_missing(missing: &[(PathBuf, MissingLog)], out: &Printer) {
    for (path, log) in missing {
        let place = path_below(path, &log.relative).display().to_string();
        match out.form() {
            Form::Json => {
                out.object(&serde_json::json!({ "log": log.relative.to_string(), "files": 0, "bytes": 0, "already": 0, "error": log.why }))
            }
            Form::Text => {}
        }
        out.complain(&format!("error: {}; nothing of it was restored\n  at {}", log.why, visible(&place)));
    }
    if !missing.is_empty() {
        out.complain(&format!("hint: {}", logs::MISSING_HINT));
    }
}
