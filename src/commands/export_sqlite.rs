//! `everlog export --to sqlite`: the tables of a store as one database.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::replace::{sweep_one, temporary_in};
use crate::store::walk::{is_file, real_path};
use crate::tables::rows::{RowSink, rows_of};
use crate::tables::schema::VERSION;
use crate::tables::sqlite::{DatabaseWriter, is_of_tables};
use crate::tables::{Row, TableError, TableName, plan};

use super::error::CommandError;
use super::tables_listing;

/// Of what to make a database, and where.
#[derive(Debug)]
pub struct SqliteJob<'a> {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// The file.
    pub file: PathBuf,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// The report for programs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    file: &'a Path,
    sessions: u64,
    failed: u64,
    rows: BTreeMap<&'static str, u64>,
}

/// Counts rows on their way.
struct Counting<'w> {
    writer: &'w mut DatabaseWriter,
    rows: BTreeMap<&'static str, u64>,
}

impl RowSink for Counting<'_> {
    fn row(&mut self, table: TableName, row: Row) -> Result<(), TableError> {
        *self.rows.entry(table.name()).or_default() += 1;
        self.writer.row(table, row)
    }
}

/// Runs the command. Tables of an earlier run are replaced as a whole.
///
/// # Errors
/// When nothing could be done at all, or it was stopped.
pub fn run(job: &SqliteJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let listing = tables_listing::list(&job.store)?;
    let mut failed = listing.complain(out) as u64;
    let file = real_path(&job.file);
    refuse_foreign(&file)?;
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    job.disk.create_folders(&folder)?;
    sweep_one(job.disk, &folder)?;
    let mut writer = DatabaseWriter::new()?;
    let parts = plan::parts(&listing.entries, &[]);
    let order: Vec<usize> = parts.into_iter().flat_map(|part| part.sessions).collect();
    let progress = out.progress(listing.entries.iter().map(|entry| entry.bytes).sum(), order.len() as u64);
    let mut rows: BTreeMap<&'static str, u64> = TableName::ALL.iter().map(|table| (table.name(), 0)).collect();
    let mut done = 0;
    for n in order.iter().copied() {
        if job.stop.load(Ordering::Relaxed) {
            return Err(CommandError::Interrupted { done: 0, of: order.len() });
        }
        let subject = listing.subject(n);
        let put = writer.session(|writer| {
            let mut counting = Counting { writer, rows: BTreeMap::new() };
            rows_of(&subject, &mut counting)?;
            Ok(counting.rows)
        });
        match put {
            Ok(more) => {
                done += 1;
                more.into_iter().for_each(|(table, count)| *rows.entry(table).or_default() += count);
            }
            Err(error) if error.is_of_log() => {
                failed += 1;
                let error = CommandError::from(error);
                out.complain(&text::error(&error, None, error.hint().as_deref()));
            }
            Err(error) => return Err(error.into()),
        }
        progress.session_done(listing.entries[n].bytes);
    }
    drop(progress);
    let temporary = temporary_in(job.disk, &folder)?;
    writer.finish(&temporary)?;
    temporary.replace(&file)?;
    job.disk.sync(&folder)?;
    if out.form() == Form::Json {
        out.object(&Report { schema: VERSION, file: &job.file, sessions: done, failed, rows: rows.clone() });
    }
    let messages = text::count(rows.get("messages").copied().unwrap_or(0), "message");
    out.summary(&format!("{} with {messages} in {}", text::count(done, "session"), job.file.display()));
    Ok(listing.status(failed))
}

/// Refuses to put tables in the place of a file that holds anything else.
fn refuse_foreign(file: &Path) -> Result<(), CommandError> {
    let is_free = file.symlink_metadata().is_err() || (is_file(file)? && is_of_tables(file)?);
    if is_free { Ok(()) } else { Err(StoreError::Exists { path: file.to_owned() }.into()) }
}
