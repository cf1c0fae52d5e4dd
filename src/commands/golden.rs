//! Replays that are kept: one text per session, written by `replay --all -o`
//! and compared by `verify --golden`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::files::RelPath;
use crate::model::folder::ListedKind;
use crate::pipeline::batch;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::{self, Disk};
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::store::lock::FileLock;
use crate::store::{listing, replace};
use crate::verify::difference::visible;
use crate::verify::golden::{GOLDEN_SUFFIX, replay_text};

use super::error::CommandError;
use super::logs::{self, Asked, LogFile};

/// Which replays to keep, and where.
#[derive(Debug)]
pub struct GoldenJob<'a> {
    /// A store, or one log.
    pub logs: PathBuf,
    /// The folder for the replays.
    pub out: PathBuf,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Where changes go.
    pub disk: &'a dyn Disk,
}

/// What became of one replay.
enum Written {
    Changed,
    Unchanged,
    /// Somebody wanted no more.
    NotYet,
    Doubtful(&'static str),
}

/// Runs `replay --all -o`.
///
/// # Errors
/// When nothing could be written at all.
pub fn run(job: &GoldenJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (found, missing) = logs::find_all(&job.logs)?;
    let asked = Asked::of(&job.logs);
    let keys: BTreeSet<String> = found.iter().map(|log| asked.name_of(log).key()).collect();
    job.disk.create_folders(&job.out)?;
    let _lock = FileLock::of_folder(&job.out)?;
    replace::sweep(job.disk, &job.out)?;
    let results = batch::each(&found, job.jobs, |log| batch::caught(|| one(log, &asked, job), CommandError::Bug));
    let (mut changed, mut unchanged, mut not_yet, mut status) = (0, 0, 0, ExitStatus::Well);
    for (log, result) in found.iter().zip(results) {
        match result {
            Ok(Written::Changed) => changed += 1,
            Ok(Written::Unchanged) => unchanged += 1,
            Ok(Written::NotYet) => not_yet += 1,
            Ok(Written::Doubtful(why)) => {
                status = status.max(ExitStatus::Found);
                out.complain(&format!("{why}; its replay is not kept\n  at {}", visible(&log.path.display().to_string())));
            }
            Err(error) => {
                status = status.max(ExitStatus::Failed);
                out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
            }
        }
    }
    if not_yet > 0 {
        return Err(CommandError::Interrupted { done: found.len() - not_yet, of: found.len() });
    }
    for log in &missing {
        status = status.max(ExitStatus::Found);
        let place = path_below(&job.logs, &log.relative);
        out.complain(&format!("error: {}; its replay is not kept\n  at {}", log.why, visible(&place.display().to_string())));
    }
    if !missing.is_empty() {
        out.complain(&format!("hint: {}", logs::MISSING_HINT));
    }
    let left = left_over(&job.out, &asked, |log| keys.contains(&log.key()))?;
    for name in &left {
        out.say(&format!(
            "note: a replay is kept of a session that has no log\n  at {}",
            visible(&path_of(&job.out, name).display().to_string())
        ));
    }
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": { "written": changed, "unchanged": unchanged, "missing": missing.len(), "left": left } }));
    }
    let place = visible(&job.out.display().to_string());
    let lost = if missing.is_empty() { String::new() } else { format!("; {} missing", text::count(missing.len() as u64, "log")) };
    out.summary(&format!("{} kept in {place}: {changed} written, {unchanged} unchanged{lost}", text::count(changed + unchanged, "replay")));
    Ok(status)
}

fn one(log: &LogFile, asked: &Asked, job: &GoldenJob<'_>) -> Result<Written, CommandError> {
    if job.stop.load(Ordering::Relaxed) {
        return Ok(Written::NotYet);
    }
    let (mut view, adapter) = logs::open(&log.path, None)?;
    if let Some(warning) = logs::seal_warning(view.seal()) {
        return Ok(Written::Doubtful(warning));
    }
    let now = replay_text(&mut view, adapter).map_err(|source| CommandError::Stream { path: log.path.clone(), source })?;
    let path = golden_path(&job.out, &asked.name_of(log));
    // Equal bytes are not written again: a second run must not touch mtimes.
    if path.is_file() && disk::read(&path)? == now.as_bytes() {
        return Ok(Written::Unchanged);
    }
    job.disk.create_folders(path.parent().unwrap_or(&job.out))?;
    replace::put(job.disk, &path, now.as_bytes())?;
    Ok(Written::Changed)
}

/// Returns where the replay of a log is kept.
pub(super) fn golden_path(folder: &Path, log: &RelPath) -> PathBuf {
    let name = log.as_bytes().strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(log.as_bytes());
    path_below(folder, &RelPath::new([name, GOLDEN_SUFFIX.as_bytes()].concat()))
}

/// Returns where the replay of a session is kept.
pub(super) fn path_of(folder: &Path, session: &str) -> PathBuf {
    folder.join(format!("{session}{GOLDEN_SUFFIX}"))
}

/// Returns the sessions of which a replay is kept and none of these logs is, as far as
/// they were asked for.
pub(super) fn left_over(folder: &Path, asked: &Asked, has: impl Fn(&RelPath) -> bool) -> Result<Vec<String>, CommandError> {
    let listing = listing::list(folder)?;
    let files = listing.entries().iter().filter(|entry| entry.kind == ListedKind::File);
    let sessions = files.filter_map(|entry| entry.path.as_bytes().strip_suffix(GOLDEN_SUFFIX.as_bytes()));
    let is_left = |session: &&[u8]| {
        let log = RelPath::new([*session, LOG_SUFFIX.as_bytes()].concat());
        asked.takes(&log) && !has(&log)
    };
    Ok(sessions.filter(is_left).map(|session| RelPath::new(session).to_string()).collect())
}
