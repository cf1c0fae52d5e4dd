//! `everlog contains OLD NEW` where NEW is a database: record by record, by the rules
//! of the database's own program.

use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use crate::adapters::containment::{
    Answer, Containment, FoundIn, Judged, JudgedFile, NewStore, OldStore, RecordPlace, Rescue, Rescued, Verdict,
};
use crate::maintenance;
use crate::model::database::{Tables, TablesError};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::database::DatabaseCopy;
use crate::store::disk;
use crate::store::layout::LOG_SUFFIX;
use crate::verify::difference::visible;

use super::compare::CompareJob;
use super::contains_folders::{Folder, State};
use super::contains_rescue::RescueFolder;
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
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<i64>,
    found: FoundIn,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_in: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    why: &'a [String],
}

/// What `--json` says of one file of records.
#[derive(Debug, Serialize)]
struct JsonFile<'a> {
    schema: u32,
    file: &'a str,
    session: &'a str,
    records: u64,
    lacking: u64,
    contained: bool,
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
    /// Files of many records, and those of them that are contained entirely.
    #[serde(skip_serializing_if = "is_zero")]
    files: u64,
    #[serde(skip_serializing_if = "is_zero")]
    files_contained: u64,
    /// Rows of the sessions of OLD that no record of it is.
    #[serde(skip_serializing_if = "is_zero")]
    only_in_new: u64,
    /// Records that were written out.
    #[serde(skip_serializing_if = "Option::is_none")]
    rescued: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Totals {
    fn add(&mut self, judged: &Judged) {
        self.records += 1;
        *self.verdicts.entry(judged.verdict).or_default() += 1;
        let (live, database, state_folder) = match judged.found {
            FoundIn::Live => (1, 1, 1),
            FoundIn::Database => (0, 1, 1),
            FoundIn::StateFolder => (0, 0, 1),
            FoundIn::Nowhere => (0, 0, 0),
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

/// Compares an old store with a database. Returns `None` where that is not what is
/// asked: NEW is not a database of a program with rules of its own, or OLD is logs.
///
/// # Errors
/// When a side cannot be read, OLD has no record of the database's program, or the
/// rescue cannot be written.
pub(super) fn run(job: &CompareJob, rescue: Option<&Path>, out: &Printer) -> Result<Option<ExitStatus>, CommandError> {
    if !is_database(&job.b) || has_logs(&job.a)? {
        return Ok(None);
    }
    let new = DatabaseCopy::of(&job.b)?;
    let Some(rules) = rules_of(&new) else { return Ok(None) };
    if let Some((folder, why)) = rescue.and_then(|folder| Some((folder, rules.cannot_rescue()?))) {
        return Err(CommandError::NoRescue { path: folder.to_owned(), why: why.to_owned() });
    }
    let without: Vec<&Path> = std::iter::once(job.a.as_path()).chain(rescue).collect();
    let state = State::around(&job.b, rules.database_folder(), &without);
    let new_store = NewStore { tables: &new, state: &state };
    let mut report = Report { totals: Totals::default(), shown: FileCounts::default(), rescue: rescue.map(RescueFolder::at), job, out };
    let wanted = if rescue.is_some() { Rescue::Wanted } else { Rescue::NotWanted };
    let done = if is_database(&job.a) {
        let old = DatabaseCopy::of(&job.a)?;
        rules.judge(OldStore::Database(&old), new_store, wanted, &mut report)
    } else {
        rules.judge(OldStore::Files(&Folder::of(&job.a)?), new_store, wanted, &mut report)
    };
    report.finish(done).map(Some)
}

/// Tells whether OLD is a log, or a folder with logs in it.
fn has_logs(old: &Path) -> Result<bool, CommandError> {
    if is_database(old) {
        return Ok(false);
    }
    if old.is_file() {
        return Ok(true);
    }
    Ok(Folder::of(old)?.has(LOG_SUFFIX))
}

/// Returns the rules of the program whose database this is.
fn rules_of(tables: &dyn Tables) -> Option<&'static dyn Containment> {
    maintenance::ALL.iter().filter_map(|program| program.containment()).find(|rules| rules.knows(tables))
}

/// How many records of a file were shown, and how many were not.
#[derive(Default)]
struct FileCounts {
    file: Option<String>,
    shown: usize,
    more: u64,
}

/// The answers, as they are printed.
struct Report<'j> {
    totals: Totals,
    shown: FileCounts,
    rescue: Option<RescueFolder>,
    job: &'j CompareJob,
    out: &'j Printer,
}

impl Answer for Report<'_> {
    fn judged(&mut self, judged: Judged) {
        self.totals.add(&judged);
        match self.out.form() {
            Form::Json => self.object(&judged),
            Form::Text if !judged.verdict.is_contained() => self.text(&judged),
            Form::Text => {}
        }
    }

    fn file(&mut self, file: JudgedFile) {
        let contained = file.lacking == 0;
        self.totals.files += 1;
        self.totals.files_contained += u64::from(contained);
        if self.out.form() == Form::Json {
            let JudgedFile { file, session, records, lacking } = &file;
            self.out.object(&JsonFile { schema: 1, file, session, records: *records, lacking: *lacking, contained });
        }
    }

    fn rescued(&mut self, file: Rescued) -> Result<(), TablesError> {
        let Some(rescue) = &mut self.rescue else { return Ok(()) };
        rescue.write(file).map_err(|error| {
            let stopped = TablesError(error.to_string());
            rescue.failed = Some(error);
            stopped
        })
    }

    fn only_in_new(&mut self, session: &str, row: i64) {
        self.totals.only_in_new += 1;
        if self.out.form() == Form::Json {
            self.out.object(&serde_json::json!({ "schema": 1, "only_in_new": { "session": session, "row": row } }));
        }
    }

    fn unread(&mut self, what: String) {
        self.out.complain(&format!("warning: {} cannot be read: nothing was found in it", visible(&what)));
    }
}

impl Report<'_> {
    /// Prints a record that is not plainly in the database.
    fn object(&self, judged: &Judged) {
        if judged.verdict == Verdict::Identical {
            return;
        }
        let (line, index, row) = match judged.place {
            RecordPlace::File => (None, None, None),
            RecordPlace::Line(n) => (Some(n), None, None),
            RecordPlace::Index(n) => (None, Some(n), None),
            RecordPlace::Row(id) => (None, None, Some(id)),
        };
        let Judged { verdict, found, .. } = *judged;
        let (file, found_in, why) = (judged.file.as_deref(), judged.found_in.as_deref(), judged.why.as_slice());
        self.out.object(&Json { schema: 1, verdict, file, line, index, row, found, found_in, why });
    }

    /// Prints a record that is not in the database, the first ones of each file.
    fn text(&mut self, judged: &Judged) {
        // Where each record is a file, all of them are one list.
        let of = if judged.place == RecordPlace::File { None } else { judged.file.clone() };
        if of != self.shown.file {
            self.more();
            self.shown = FileCounts { file: of, ..FileCounts::default() };
        }
        if self.shown.shown >= self.job.most {
            self.shown.more += 1;
            return;
        }
        self.shown.shown += 1;
        let file = judged.file.as_deref().map(visible).unwrap_or_default();
        let place = match judged.place {
            RecordPlace::File => file,
            RecordPlace::Line(n) => format!("{file}:{n}"),
            RecordPlace::Index(n) => format!("{file}, message {n}"),
            RecordPlace::Row(id) => format!("row {id} of messages"),
        };
        let why = if judged.why.is_empty() { String::new() } else { format!(" ({})", visible(&judged.why.join(", "))) };
        let elsewhere = judged.found_in.as_deref().map(|place| format!("\n  it is in {}", visible(place))).unwrap_or_default();
        self.out.text(&format!("{}{why}\n  at {place}{elsewhere}", judged.verdict.word()));
    }

    /// Says how many more records there are like those that were shown.
    fn more(&self) {
        if self.shown.more > 0 {
            let file = self.shown.file.as_deref().map(|file| format!(" in {}", visible(file))).unwrap_or_default();
            self.out.text(&format!("… {} more{file}; `--max-diffs` shows more of them", text::thousands(self.shown.more)));
        }
    }

    fn finish(mut self, done: Result<(), TablesError>) -> Result<ExitStatus, CommandError> {
        if let Some(error) = self.rescue.as_mut().and_then(|rescue| rescue.failed.take()) {
            return Err(error.into());
        }
        done.map_err(|error| CommandError::NotCompared { path: self.job.a.clone(), why: error.0 })?;
        if self.totals.records == 0 {
            // Nothing is missing of nothing: that must not be read as an answer.
            let why = "there is no record of the database's program in it".to_owned();
            return Err(CommandError::NotCompared { path: self.job.a.clone(), why });
        }
        self.more();
        self.totals.rescued = self.rescue.as_ref().map(|rescue| rescue.records);
        if self.out.form() == Form::Json {
            self.out.object(&serde_json::json!({ "schema": 1, "summary": self.totals }));
        }
        self.out.summary(&self.totals.text());
        if let Some(rescue) = &self.rescue {
            rescue.tell(self.out);
        }
        Ok(if self.totals.is_contained() { ExitStatus::Well } else { ExitStatus::Found })
    }
}

impl Totals {
    /// Returns what of all records is in the database, and where: three answers, none of which
    /// follows from another.
    fn text(&self) -> String {
        let count = |verdict: &Verdict| self.verdicts.get(verdict).copied().unwrap_or_default();
        let counted = Verdict::ALL.iter().filter(|verdict| count(verdict) > 0);
        let counted: Vec<String> = counted.map(|verdict| format!("{} {}", text::thousands(count(verdict)), verdict.word())).collect();
        let of = |found: u64| match found {
            all if all == self.records => "all".to_owned(),
            0 => "none".to_owned(),
            some => format!("{} of {}", text::thousands(some), text::thousands(self.records)),
        };
        let mut lines = vec![
            format!("{} in OLD: {}", text::count(self.records, "record"), counted.join(", ")),
            format!("in the live session: {}", of(self.live)),
            format!("somewhere in the database: {}", of(self.database)),
            format!("somewhere in the state folder: {}", of(self.state_folder)),
        ];
        if self.files > 0 {
            let contained = text::thousands(self.files_contained);
            lines.push(format!("{contained} of {} contained entirely", text::count(self.files, "file")));
        }
        if self.only_in_new > 0 {
            lines.push(format!("{} of these sessions only in the database", text::count(self.only_in_new, "row")));
        }
        lines.join("\n")
    }
}
