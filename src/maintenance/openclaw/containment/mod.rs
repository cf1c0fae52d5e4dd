//! Which records of OpenClaw's transcripts are in the database that later versions
//! keep, by the rules of that database's own import.

mod beside;
mod files;
mod importer;
mod lines;
mod rescue;
mod rows;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::adapters::containment::{
    Answer, Containment, Found, Judged, JudgedFile, NewStore, OldStore, RecordPlace, Rescue, StoreFiles, Verdict,
};
use crate::model::database::{Cell, Query, Tables, TablesError};
use crate::model::digest::{HalfDigest, half_digest};
use crate::model::packing;
use crate::runtimes::javascript::{Value, stringify};

use crate::maintenance::elsewhere::Elsewhere;
use crate::maintenance::records::{Outcome, Reading, Record, Rows, judge};
use crate::maintenance::value_loss::lost;

use files::{Named, Packing, Transcript};
use importer::{Import, Version};
use rescue::Rescuer;
use rows::{Events, SessionRows};

/// Transcripts in the database.
pub(super) struct TranscriptsInDatabase;

/// The versions of the schema whose tables are known.
const KNOWN_SCHEMAS: std::ops::RangeInclusive<i64> = 4..=23;

impl Containment for TranscriptsInDatabase {
    fn knows(&self, tables: &dyn Tables) -> bool {
        let known = tables.columns("transcript_events");
        ["session_id", "seq", "event_json"].iter().all(|name| known.iter().any(|column| column == name))
    }

    fn database_folder(&self) -> Option<&'static str> {
        Some("agent")
    }

    fn cannot_rescue(&self) -> Option<&'static str> {
        None
    }

    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, rescue: Rescue, answer: &mut dyn Answer) -> Result<(), TablesError> {
        let OldStore::Files(files) = old else {
            return Err(TablesError("only transcripts in files can be compared with this program's database".to_owned()));
        };
        refuse_unknown_schema(new.tables)?;
        let unread = RefCell::new(Vec::new());
        let events = Events::of(new, &unread);
        let paths = files.paths();
        let named = Named::of(files, &paths);
        let mut elsewhere = Elsewhere::default();
        let mut rescuer = (rescue == Rescue::Wanted).then(Rescuer::default);
        for file in files::transcripts(&paths) {
            let bytes = read(files, &file);
            let judged = judge_file(&file, &bytes, &named, events, &mut elsewhere, answer)?;
            if let (Some(rescuer), Some(judged)) = (&mut rescuer, judged) {
                rescuer.take(&file, &judged, answer)?;
            }
        }
        if let Some(rescuer) = rescuer {
            rescuer.finish(answer)?;
        }
        beside::search(events, &mut elsewhere)?;
        elsewhere.into_judged().into_iter().for_each(|judged| answer.judged(judged));
        unread.into_inner().into_iter().for_each(|what| answer.unread(what));
        Ok(())
    }
}

/// Refuses a database of a version whose rows may be elsewhere than where they are
/// looked for: a record would be called missing.
fn refuse_unknown_schema(tables: &dyn Tables) -> Result<(), TablesError> {
    let mut version = None;
    if tables.columns("schema_meta").iter().any(|name| name == "schema_version") {
        let query = Query { table: "schema_meta", columns: &["schema_version"], only: Some(("meta_key", "primary")), order: &[] };
        tables.rows(&query, &mut |cells| {
            if let Cell::Integer(number) = cells[0] {
                version = Some(number);
            }
        })?;
    }
    match version {
        Some(version) if !KNOWN_SCHEMAS.contains(&version) => Err(TablesError(format!(
            "the schema of the database has version {version}, and {} to {} are known",
            KNOWN_SCHEMAS.start(),
            KNOWN_SCHEMAS.end()
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Reads a transcript; what is wrong with it where it cannot be read.
fn read(files: &dyn StoreFiles, file: &Transcript) -> Result<Vec<u8>, String> {
    let bytes = files.read(&file.path).map_err(|error| error.0)?;
    match file.packing {
        Packing::Plain => Ok(bytes),
        Packing::Zstd => packing::unpack(&bytes).ok_or_else(|| "not a complete Zstandard file".to_owned()),
    }
}

/// A transcript whose records are judged.
struct JudgedTranscript<'b> {
    bytes: &'b [u8],
    session: String,
    version: Version,
    records: Vec<(Record, Outcome)>,
    /// Complete entries inside of unreadable lines that the database does not have.
    salvaged: Salvaged,
}

/// Where entries are inside of unreadable lines, by the number of the line.
type Salvaged = BTreeMap<u64, Vec<Range<usize>>>;

fn judge_file<'b>(
    file: &Transcript,
    read: &'b Result<Vec<u8>, String>,
    named: &Named,
    events: Events<'_>,
    elsewhere: &mut Elsewhere,
    answer: &mut dyn Answer,
) -> Result<Option<JudgedTranscript<'b>>, TablesError> {
    let path = file.path.to_string();
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(why) => {
            let judged = Judged {
                verdict: Verdict::Unreadable,
                file: Some(path.clone()),
                place: RecordPlace::File,
                found: Found::Nowhere,
                found_in: None,
                why: vec![why.clone()],
            };
            answer.judged(judged);
            return Ok(None);
        }
    };
    let records = lines::records(bytes);
    let texts = || records.iter().filter(|record| matches!(record.reading, Reading::Value { .. })).map(|record| &bytes[record.at.clone()]);
    let header = texts().find_map(header_id);
    let mut exists = |id: &str| {
        let mut has_rows = false;
        events.live(Some(id), &mut |_, _| has_rows = true).is_ok() && has_rows
    };
    // A file that nothing names is of no session: none of its records is anywhere.
    let session = named.session(file, header, &mut exists).unwrap_or_default();
    let version = Version::of(texts());
    let importer = Import { session: &session, version };
    let rows = SessionRows { events, session: &session };
    let mut outcomes = judge(bytes, &records, &rows, &importer)?;
    let salvaged = salvage(bytes, &records, &mut outcomes, &rows)?;
    let lacking = outcomes.iter().filter(|outcome| !outcome.verdict.is_contained()).count() as u64;
    for (record, outcome) in records.iter().zip(&outcomes) {
        let judged = Judged {
            verdict: outcome.verdict,
            file: Some(path.clone()),
            place: RecordPlace::Line(record.line),
            found: outcome.found,
            found_in: None,
            why: outcome.why.clone(),
        };
        if outcome.verdict.is_contained() {
            answer.judged(judged);
        } else {
            elsewhere.add(judged, &texts_of(record, &bytes[record.at.clone()]));
        }
    }
    answer.file(JudgedFile { file: path, session: session.clone(), records: records.len() as u64, lacking });
    Ok(Some(JudgedTranscript { bytes, session, version, records: records.into_iter().zip(outcomes).collect(), salvaged }))
}

/// Returns the id that a header has.
fn header_id(text: &[u8]) -> Option<String> {
    let header = Value::parse(text).filter(|value| value.get("type").is("session"))?;
    header.get("id").lossy().or_else(|| header.get("sessionId").lossy()).filter(|id| !id.is_empty())
}

/// The texts under which a record is looked for elsewhere: another spelling is the same
/// record only where it says the same.
fn texts_of(record: &Record, text: &[u8]) -> Vec<HalfDigest> {
    match record.reading {
        Reading::Value { printed } if lost(text).is_empty() => vec![record.text, printed],
        Reading::Value { .. } | Reading::Unreadable { .. } => vec![record.text],
    }
}

/// Says of each unreadable line how many complete entries are inside of it, and how many
/// of them the database has. Returns those that it does not have.
fn salvage(file: &[u8], records: &[Record], outcomes: &mut [Outcome], rows: &dyn Rows) -> Result<Salvaged, TablesError> {
    let mut inside: BTreeMap<usize, Vec<(Range<usize>, Option<HalfDigest>)>> = BTreeMap::new();
    for (n, record) in records.iter().enumerate().filter(|(_, record)| matches!(record.reading, Reading::Unreadable { .. })) {
        for piece in lines::salvage(&file[record.at.clone()]) {
            let at = record.at.start + piece.start..record.at.start + piece.end;
            let printed = Value::parse(&file[at.clone()]).map(|value| half_digest(&stringify(value.token())));
            inside.entry(n).or_default().push((at, printed));
        }
    }
    if inside.is_empty() {
        return Ok(Salvaged::new());
    }
    let mut known = HashSet::new();
    rows.each(&mut |row| {
        known.insert(half_digest(row.text));
    })?;
    let mut salvaged = Salvaged::new();
    for (n, mut pieces) in inside {
        let all = pieces.len();
        pieces.retain(|(_, printed)| !printed.is_some_and(|printed| known.contains(&printed)));
        outcomes[n].why.push(format!("{all} complete inside, {} of them in the database", all - pieces.len()));
        salvaged.insert(records[n].line, pieces.into_iter().map(|(at, _)| at).collect());
    }
    Ok(salvaged)
}
