//! `everlog contains OLD NEW` where NEW is a database: record by record, by the rules
//! of the database's own program.

use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::adapters::containment::{Containment, Found, Judged, NewStore, OldStore, RecordPlace, StoreFiles, Verdict};
use crate::maintenance;
use crate::model::database::{Tables, TablesError};
use crate::model::files::{Entry, RelPath};
use crate::model::folder::ListedKind;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::database::DatabaseCopy;
use crate::store::layout::LOG_SUFFIX;
use crate::store::snapshot;
use crate::store::{disk, listing};
use crate::verify::difference::visible;

use super::compare::CompareJob;
use super::error::CommandError;

/// How a SQLite database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What `--json` says of one record.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    found: Found,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    why: Vec<String>,
}

/// How many records have each verdict, and where they were found.
#[derive(Debug, Default, Serialize)]
struct Totals {
    records: u64,
    #[serde(flatten)]
    verdicts: BTreeMap<Verdict, u64>,
    /// Records that are where their program shows them.
    live: u64,
    /// Records that are somewhere in the database.
    database: u64,
    /// Records that are somewhere in the state folder, the database included.
    state_folder: u64,
}

impl Totals {
    fn add(&mut self, judged: &Judged) {
        self.records += 1;
        *self.verdicts.entry(judged.verdict).or_default() += 1;
        let (live, database, state_folder) = match judged.found {
            Found::Live => (1, 1, 1),
            Found::Database => (0, 1, 1),
            Found::StateFolder => (0, 0, 1),
            Found::Nowhere => (0, 0, 0),
        };
        self.live += live;
        self.database += database;
        self.state_folder += state_folder;
    }

    fn is_contained(&self) -> bool {
        self.verdicts.keys().all(|verdict| verdict.is_contained())
    }
}

/// Tells whether the thing at this path is a database.
fn is_database(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    disk::open_regular(path).is_ok_and(|(mut file, _)| file.read_exact(&mut first).is_ok()) && first == *MAGIC
}

/// The files of a folder.
struct Folder {
    root: PathBuf,
    paths: Vec<RelPath>,
}

impl Folder {
    fn of(root: &Path) -> Result<Folder, CommandError> {
        let listing = listing::list(root)?;
        let files = listing.entries().iter().filter(|entry| entry.kind == ListedKind::File);
        Ok(Folder { root: root.to_owned(), paths: files.map(|entry| entry.path.clone()).collect() })
    }
}

/// Reads one file of a folder, unchanged while it is read.
fn read(root: &Path, path: &RelPath) -> Result<Vec<u8>, TablesError> {
    let files = snapshot::take(root, b"", std::slice::from_ref(path)).map_err(|error| TablesError(error.to_string()))?;
    match files.entry(path) {
        Some(Entry::File(file)) => Ok(file.bytes.clone()),
        Some(Entry::Link { .. } | Entry::EmptyFolder | Entry::Rows(_)) | None => Err(TablesError("not a regular file".to_owned())),
    }
}

impl StoreFiles for Folder {
    fn paths(&self) -> Vec<RelPath> {
        self.paths.clone()
    }

    fn read(&self, path: &RelPath) -> Result<Vec<u8>, TablesError> {
        read(&self.root, path)
    }
}

/// Compares an old store with a database. Returns `None` where that is not what is
/// asked: NEW is no database of a program with rules of its own, or OLD is logs.
///
/// # Errors
/// When a side cannot be read, or OLD has no record of the database's program.
pub(super) fn run(job: &CompareJob, out: &Printer) -> Result<Option<ExitStatus>, CommandError> {
    if !is_database(&job.b) || has_logs(&job.a)? {
        return Ok(None);
    }
    let new = DatabaseCopy::of(&job.b)?;
    let Some(rules) = rules_of(&new) else { return Ok(None) };
    let state = job.b.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
    let beside = |path: &RelPath| read(&state, path).ok();
    let new_store = NewStore { tables: &new, beside: &beside };
    let mut totals = Totals::default();
    let mut shown = 0;
    let mut take = |judged: Judged| {
        totals.add(&judged);
        shown += usize::from(report(&judged, shown, job, out));
    };
    let done = if is_database(&job.a) {
        let old = DatabaseCopy::of(&job.a)?;
        rules.judge(OldStore::Database(&old), new_store, &mut take)
    } else {
        rules.judge(OldStore::Files(&Folder::of(&job.a)?), new_store, &mut take)
    };
    done.map_err(|error| CommandError::NotCompared { path: job.a.clone(), why: error.0 })?;
    if totals.records == 0 {
        // Nothing is missing of nothing: that must not be read as an answer.
        let why = "there is no record of the database's program in it".to_owned();
        return Err(CommandError::NotCompared { path: job.a.clone(), why });
    }
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": totals }));
    }
    out.summary(&summary(&totals));
    Ok(Some(if totals.is_contained() { ExitStatus::Well } else { ExitStatus::Found }))
}

/// Tells whether OLD is a log, or a folder with logs in it.
fn has_logs(old: &Path) -> Result<bool, CommandError> {
    if is_database(old) {
        return Ok(false);
    }
    if old.is_file() {
        return Ok(true);
    }
    let is_log = |path: &RelPath| path.as_bytes().ends_with(LOG_SUFFIX.as_bytes());
    Ok(Folder::of(old)?.paths.iter().any(is_log))
}

/// The rules of the program whose database this is.
fn rules_of(tables: &dyn Tables) -> Option<&'static dyn Containment> {
    maintenance::ALL.iter().filter_map(|program| program.containment()).find(|rules| rules.knows(tables))
}

/// Prints a record that is not plainly in the database; of those that are there in
/// another form only in JSON. Tells whether it did as text.
fn report(judged: &Judged, shown: usize, job: &CompareJob, out: &Printer) -> bool {
    if judged.verdict == Verdict::Identical {
        return false;
    }
    let (index, row) = match judged.place {
        RecordPlace::File => (None, None),
        RecordPlace::Index(n) => (Some(n), None),
        RecordPlace::Row(id) => (None, Some(id)),
    };
    if out.form() == Form::Json {
        let (verdict, found) = (judged.verdict, judged.found);
        out.object(&Json { schema: 1, verdict, file: judged.file.as_deref(), index, row, found, why: judged.why.clone() });
        return false;
    }
    if judged.verdict.is_contained() || shown >= job.most {
        return false;
    }
    let file = judged.file.as_deref().map(visible).unwrap_or_default();
    let place = match judged.place {
        RecordPlace::File => file.to_string(),
        RecordPlace::Index(n) => format!("{file}, message {n}"),
        RecordPlace::Row(id) => format!("row {id} of messages"),
    };
    let why = if judged.why.is_empty() { String::new() } else { format!(" ({})", visible(&judged.why.join(", "))) };
    out.text(&format!("{}{why}\n  at {place}", judged.verdict.word()));
    true
}

fn summary(totals: &Totals) -> String {
    let count = |verdict: &Verdict| totals.verdicts.get(verdict).copied().unwrap_or_default();
    let counted: Vec<String> = Verdict::ALL
        .iter()
        .filter(|verdict| count(verdict) > 0)
        .map(|verdict| format!("{} {}", text::thousands(count(verdict)), verdict.word()))
        .collect();
    let judged = if counted.is_empty() { "none to compare".to_owned() } else { counted.join(", ") };
    let all = |found: u64| if found == totals.records { "all".to_owned() } else { text::thousands(found) };
    format!(
        "{} in OLD: {judged}\nin the live session: {}; somewhere in the database: {}; somewhere in the state folder: {}",
        text::count(totals.records, "record"),
        all(totals.live),
        all(totals.database),
        all(totals.state_folder)
    )
}
