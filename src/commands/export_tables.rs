//! `everlog export --to parquet`: the tables of a store as Parquet files. Only parts
//! with new or changed sessions are written again; a run that was cut short is
//! finished by the next one.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::pipeline::batch;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::{self, Disk};
use crate::store::lock::FileLock;
use crate::store::replace::{Ready, commit, put, sweep, sweep_one};
use crate::store::walk::real_path;
use crate::store::{StoreError, walk};
use crate::tables::manifest::{self, Header, Manifest, PartLine};
use crate::tables::plan::{self, PartitionBy};
use crate::tables::schema::VERSION;
use crate::tables::{TableError, TableName};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::tables_listing;
use super::tables_parts::{Before, Made, Maker, foreign, place};

/// Of what to make tables, and where.
#[derive(Debug)]
pub struct TablesJob<'a> {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// The folder of the tables.
    pub dest: PathBuf,
    /// What they are split by.
    pub by: Vec<PartitionBy>,
    /// How many parts at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// The report for programs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    tables: &'a Path,
    /// Logs with rows in the tables.
    sessions: u64,
    /// How many of them were read.
    read: u64,
    failed: u64,
    parts: u64,
    parts_written: u64,
    files_removed: u64,
    rows: BTreeMap<String, u64>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all, or it was stopped.
pub fn run(job: &TablesJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let listing = tables_listing::list(&job.store)?;
    let mut failed = listing.complain(out) as u64;
    let dest = real_path(&job.dest);
    job.disk.create_folders(&dest)?;
    let _lock = lock(&dest, job.disk)?;
    // No further than our own folders: somebody may have more in this one.
    sweep_one(job.disk, &dest)?;
    TableName::ALL.iter().try_for_each(|table| sweep(job.disk, &dest.join(table.name())).map(|_| ()))?;
    let before = read(&dest)?.and_then(Result::ok);
    let old = before.as_ref().map(Manifest::bytes).transpose().map_err(unwritable(&dest))?;
    let before = Before::of(before);
    let maker = Maker { dest: &dest, listing: &listing, before: &before, disk: job.disk };
    let parts = plan::parts(&listing.entries, &job.by);
    let bytes_of = |part: &plan::PartFile| part.sessions.iter().map(|n| listing.entries[*n].bytes).sum::<u64>();
    let progress = out.progress(parts.iter().map(bytes_of).sum(), listing.entries.len() as u64);
    let made = batch::each(&parts, job.jobs, |part| {
        let is_stopped = job.stop.load(Ordering::Relaxed);
        // What reads Parquet may not be ready for every file that lies there.
        let bug = |what: String| CommandError::Tables(TableError::File { path: place(&dest, &part.name, TableName::Sessions), what });
        let make = || batch::caught(|| maker.make(part), bug).and_then(|made| named_at_once(job.disk, &dest, made));
        let made = (!is_stopped).then(make).transpose();
        part.sessions.iter().for_each(|n| progress.session_done(listing.entries[*n].bytes));
        made
    });
    drop(progress);
    let (mut lines, mut ready): (Vec<PartLine>, Vec<Ready>) = (Vec::new(), Vec::new());
    let (mut written, mut read, mut finished) = (0, 0, 0);
    let mut errors = Vec::new();
    for (part, made) in parts.iter().zip(made) {
        let Some(made) = made? else { continue };
        finished += part.sessions.len();
        match made {
            Made::Unchanged(line) => lines.push(line),
            Made::New { line, ready: more, read: more_read, failed: more_failed } => {
                written += 1;
                read += more_read;
                lines.push(line);
                ready.extend(more);
                errors.extend(more_failed);
            }
            Made::Nothing(more_failed) => errors.extend(more_failed),
        }
    }
    if finished < listing.entries.len() {
        ready.iter().try_for_each(|one| job.disk.remove(&one.from))?;
        return Err(CommandError::Interrupted { done: finished, of: listing.entries.len() });
    }
    failed += errors.len() as u64;
    for error in errors.into_iter().map(CommandError::from) {
        out.complain(&text::error(&error, None, error.hint().as_deref()));
    }
    commit(job.disk, &dest, &ready)?;
    let gone = foreign(&dest, &lines);
    gone.iter().try_for_each(|path| job.disk.remove(path))?;
    let manifest = Manifest { header: Header::of(&job.by, &lines), parts: lines };
    let new = manifest.bytes().map_err(unwritable(&dest))?;
    if old.as_ref() != Some(&new) {
        // Last, so that what it names is there.
        put(job.disk, &dest.join(manifest::NAME), &new)?;
    }
    let report = Report {
        schema: VERSION,
        tables: &job.dest,
        sessions: manifest.parts.iter().map(|part| part.sessions.len() as u64).sum(),
        read,
        failed,
        parts: manifest.parts.len() as u64,
        parts_written: written,
        files_removed: gone.len() as u64,
        rows: manifest.header.rows.clone(),
    };
    say(&report, out);
    Ok(listing.status(failed))
}

fn say(report: &Report<'_>, out: &Printer) {
    if out.form() == Form::Json {
        out.object(report);
    }
    let messages = text::count(report.rows.get(TableName::Messages.name()).copied().unwrap_or(0), "message");
    let dest = visible(&report.tables.display().to_string());
    out.summary(&format!("{} with {messages} in the tables at {dest}", text::count(report.sessions, "log")));
    let unchanged = report.parts - report.parts_written;
    let parts = text::count(report.parts_written, "part");
    out.summary(&format!("{parts} written from {} that were read; {unchanged} unchanged", text::count(report.read, "log")));
}

fn unwritable(dest: &Path) -> impl FnOnce(serde_json::Error) -> CommandError {
    let path = dest.join(manifest::NAME);
    move |error| CommandError::Tables(TableError::File { path, what: error.to_string() })
}

/// Gives the files of a part their names at once where nothing has them: a run that is
/// cut short has then not worked in vain.
fn named_at_once(disk: &dyn Disk, dest: &Path, made: Made) -> Result<Made, CommandError> {
    match made {
        Made::New { line, ready, read, failed } if ready.iter().all(|one| one.to.symlink_metadata().is_err()) => {
            commit(disk, dest, &ready)?;
            Ok(Made::New { line, ready: Vec::new(), read, failed })
        }
        Made::New { .. } | Made::Unchanged(_) | Made::Nothing(_) => Ok(made),
    }
}

/// Takes the right to write to a folder of tables.
fn lock(dest: &Path, disk: &dyn Disk) -> Result<FileLock, StoreError> {
    let path = dest.join(manifest::LOCK);
    FileLock::take(disk.open_lock(&path)?).map_err(|(_, error)| match error {
        std::fs::TryLockError::WouldBlock => StoreError::Locked { path: dest.to_owned() },
        std::fs::TryLockError::Error(source) => StoreError::Io { doing: "lock", path, source },
    })
}

/// Returns the manifest of a folder of tables; none where there is none, and what is wrong
/// with it where it is damaged.
pub(super) fn read(dest: &Path) -> Result<Option<Result<Manifest, String>>, StoreError> {
    let path = dest.join(manifest::NAME);
    if !walk::is_file(&path)? {
        return Ok(None);
    }
    Ok(Some(Manifest::read(&disk::read(&path)?)))
}
