//! `everlog verify --tables`: whether the rows of Parquet files are what the logs say.
//! The rows are read back and compared with rows that are made from the logs again.

use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::pipeline::batch;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::walk::real_path;
use crate::tables::manifest::{self, FileLine, PartLine};
use crate::tables::parquet::PartReader;
use crate::tables::plan::file_of;
use crate::tables::rows::{RowSink, rows_of};
use crate::tables::schema::VERSION;
use crate::tables::{Cell, Row, TableError, TableName};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::export_tables::read;
use super::tables_listing::{self, Listing};
use super::tables_parts::{foreign, hash_of, place};

/// So much of a value is quoted.
const QUOTED: usize = 60;

/// Which tables to compare with which logs.
#[derive(Debug)]
pub struct VerifyTablesJob {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// The folder of the tables.
    pub tables: PathBuf,
    /// How many parts at once.
    pub jobs: usize,
    /// Whether values are quoted.
    pub quotes: Quotes,
}

/// Whether values are quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    /// They are.
    Shown,
    /// Nothing of what sessions say is printed.
    Hidden,
}

/// Something in which tables and logs differ.
#[derive(Debug, Serialize)]
struct Difference {
    /// The file, or the log.
    at: String,
    what: String,
}

/// The report for programs.
#[derive(Debug, Serialize)]
struct Report<'a> {
    schema: u32,
    tables: &'a Path,
    verdict: &'static str,
    parts: u64,
    sessions: u64,
    rows: u64,
    differences: &'a [Difference],
}

/// What was compared.
#[derive(Debug, Default)]
struct TablesDiff {
    sessions: u64,
    rows: u64,
    differences: Vec<Difference>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be compared at all.
pub fn run(job: &VerifyTablesJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let listing = tables_listing::list(&job.store)?;
    let failed = listing.complain(out);
    let dest = real_path(&job.tables);
    if dest.is_file() {
        let what = "this is one file; only the folder that `export --to parquet` writes can be compared with its logs".to_owned();
        return Err(CommandError::Tables(TableError::File { path: dest, what }));
    }
    let unusable = |what: String| CommandError::Tables(TableError::File { path: dest.join(manifest::NAME), what });
    let manifest = read(&dest)?.ok_or_else(|| unusable("there is no manifest of tables".to_owned()))?.map_err(unusable)?;
    let by_log: HashMap<&str, usize> = listing.entries.iter().enumerate().map(|(n, entry)| (entry.log.as_str(), n)).collect();
    let mut all = TablesDiff::default();
    let compared = batch::each(&manifest.parts, job.jobs, |part| {
        // What reads Parquet may not be ready for every damage.
        let bug = |what: String| TableError::File { path: place(&dest, &part.part, TableName::Sessions), what };
        batch::caught(|| compare(part, &dest, &listing, &by_log, job.quotes), bug)
    });
    for (part, compared) in manifest.parts.iter().zip(compared) {
        match compared {
            Ok(one) => {
                all.sessions += one.sessions;
                all.rows += one.rows;
                all.differences.extend(one.differences);
            }
            Err(error) => all.differences.push(Difference { at: part.part.clone(), what: error.to_string() }),
        }
    }
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for session in manifest.parts.iter().flat_map(|part| &part.sessions) {
        *seen.entry(session.log.as_str()).or_default() += 1;
    }
    let named = |log: &str, what: &str| Difference { at: visible(log), what: what.to_owned() };
    let missing = listing.entries.iter().filter(|entry| !seen.contains_key(entry.log.as_str()));
    all.differences.extend(missing.map(|entry| named(&entry.log, "this log is not in the tables")));
    let mut twice: Vec<&str> = seen.iter().filter(|(_, count)| **count > 1).map(|(log, _)| *log).collect();
    twice.sort_unstable();
    all.differences.extend(twice.into_iter().map(|log| named(log, "this log is in the tables more than once")));
    let of_nothing = foreign(&dest, &manifest.parts);
    let below = |path: &Path| path.strip_prefix(&dest).unwrap_or(path).display().to_string();
    all.differences.extend(of_nothing.iter().map(|path| named(&below(path), "the manifest does not know this file")));
    report(job, &all, manifest.parts.len() as u64, out);
    Ok(if all.differences.is_empty() && failed == 0 { ExitStatus::Well } else { ExitStatus::Found })
}

fn report(job: &VerifyTablesJob, all: &TablesDiff, parts: u64, out: &Printer) {
    let verdict = if all.differences.is_empty() { "ok" } else { "differs" };
    if out.form() == Form::Json {
        let TablesDiff { sessions, rows, differences } = all;
        out.object(&Report { schema: VERSION, tables: &job.tables, verdict, parts, sessions: *sessions, rows: *rows, differences });
    }
    for Difference { at, what } in &all.differences {
        out.complain(&format!("error: {what}\n  at {at}"));
    }
    if !all.differences.is_empty() {
        out.complain("hint: `everlog export --to parquet` brings the tables up to date; it writes a file again that you have removed");
    }
    let rows = text::count(all.rows, "row");
    let from = text::count(all.sessions, "log");
    out.summary(&match all.differences.len() as u64 {
        0 => format!("the tables equal the logs: {rows} of {from}"),
        count => format!("the tables differ from the logs in {}", text::count(count, "place")),
    });
}

/// Compares one part with the logs of its sessions.
fn compare(
    part: &PartLine,
    dest: &Path,
    listing: &Listing,
    by_log: &HashMap<&str, usize>,
    quotes: Quotes,
) -> Result<TablesDiff, TableError> {
    let mut compared = TablesDiff::default();
    let mut files = Vec::new();
    for (table, FileLine { rows, bytes: _, sha256 }) in TableName::ALL.into_iter().zip(&part.files) {
        let path = place(dest, &part.part, table);
        let mut differs =
            |what: &str| compared.differences.push(Difference { at: visible(&file_of(&part.part, table)), what: what.to_owned() });
        match hash_of(&path) {
            Ok(hash) if hash == *sha256 => {}
            Ok(_) => {
                differs("this file is not as it was written");
                continue;
            }
            Err(error) => {
                differs(&error.to_string());
                continue;
            }
        }
        let file = PartReader::open(&path, table)?;
        if file.rows() != *rows {
            differs("this file has another number of rows than the manifest says");
        }
        files.push((table, file));
    }
    let mut sink = Comparing { part: &part.part, files, quotes, rows: 0, differences: Vec::new() };
    for session in &part.sessions {
        let differs = |what: &str| Difference { at: visible(&session.log), what: what.to_owned() };
        let Some(n) = by_log.get(session.log.as_str()) else {
            sink.differences.push(differs("the tables have rows of this log, and the store does not have it"));
            // Its rows stand between those of others.
            for (at, table) in TableName::ALL.into_iter().enumerate() {
                let file = sink.files.iter_mut().find(|(of, _)| *of == table);
                file.map_or(Ok(()), |(_, file)| file.skip(session.rows[at]))?;
            }
            continue;
        };
        match rows_of(&listing.subject(*n), &mut sink) {
            Ok(sha256) if sha256 == session.log_sha256 => compared.sessions += 1,
            Ok(_) => {
                sink.differences.push(differs("the log has changed since the tables were made"));
                // Nothing after it stands where it should.
                sink.files.clear();
            }
            Err(error) if error.is_of_log() => {
                sink.differences.push(differs(&error.to_string()));
                sink.files.clear();
            }
            Err(error) => return Err(error),
        }
    }
    let left = sink.left()?;
    compared.rows = sink.rows;
    compared.differences.extend(sink.differences);
    compared.differences.extend(left);
    Ok(compared)
}

/// Compares rows that are made from logs with rows of files.
struct Comparing<'p> {
    part: &'p str,
    /// Files whose rows are compared still: after a difference nothing is.
    files: Vec<(TableName, PartReader)>,
    quotes: Quotes,
    rows: u64,
    differences: Vec<Difference>,
}

impl RowSink for Comparing<'_> {
    fn row(&mut self, table: TableName, row: Row) -> Result<(), TableError> {
        let Some(at) = self.files.iter().position(|(of, _)| *of == table) else { return Ok(()) };
        let found = self.files[at].1.next_row()?;
        self.rows += 1;
        let what = match found {
            None => "a row is missing".to_owned(),
            Some(found) => match table.table().columns.iter().zip(row.iter().zip(&found)).find(|(_, (log, file))| !log.says(file)) {
                None => return Ok(()),
                Some((column, (log, file))) => {
                    let quote = |cell| if self.quotes == Quotes::Shown { quoted(cell) } else { "another value".to_owned() };
                    format!("the column {} has {}, and the log says {}", column.name, quote(file), quote(log))
                }
            },
        };
        let seq = row.get(4).map(quoted).filter(|_| table == TableName::Messages).map(|seq| format!(", #{seq}")).unwrap_or_default();
        let log = row.get(2).and_then(Cell::as_text).map(visible).unwrap_or_default();
        self.differences.push(Difference { at: format!("{} ({log}{seq})", visible(&file_of(self.part, table))), what });
        self.files.remove(at);
        Ok(())
    }
}

impl Comparing<'_> {
    /// Files with rows that no log has.
    fn left(&mut self) -> Result<Vec<Difference>, TableError> {
        let mut left = Vec::new();
        for (table, file) in &mut self.files {
            if file.next_row()?.is_some() {
                let at = visible(&file_of(self.part, *table));
                left.push(Difference { at, what: "this file has rows that no log has".to_owned() });
            }
        }
        Ok(left)
    }
}

/// Returns a cell for people.
fn quoted(cell: &Cell) -> String {
    let whole = match cell {
        Cell::Null => "nothing".to_owned(),
        Cell::Text(text) => format!("{text:?}"),
        Cell::Shared(text) => format!("{text:?}"),
        Cell::Integer(number) | Cell::Time(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Flag(flag) => flag.to_string(),
        Cell::Texts(_) | Cell::Record(_) | Cell::Records(_) => format!("{cell:?}"),
    };
    let mut cut: String = whole.chars().take(QUOTED).collect();
    if cut.len() < whole.len() {
        cut.push('…');
    }
    visible(&cut)
}
