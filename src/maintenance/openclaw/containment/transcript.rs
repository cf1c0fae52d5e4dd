//! One transcript: its records, judged by the rows of its session.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use crate::adapters::containment::{Answer, FoundIn, Judged, JudgedFile, RecordPlace, StoreFiles, Verdict};
use crate::model::database::TablesError;
use crate::model::digest::{HalfDigest, half_digest};
use crate::model::packing;
use crate::runtimes::javascript::{Value, stringify};

use crate::maintenance::elsewhere::Elsewhere;
use crate::maintenance::records::{Outcome, Reading, Record, Rows, judge};
use crate::maintenance::value_loss::lost;

use super::files::{Named, Packing, Transcript};
use super::importer::{Import, Version};
use super::lines;
use super::rows::{Events, SessionRows};

/// Reads a transcript; what is wrong with it where it cannot be read.
pub(super) fn read(files: &dyn StoreFiles, file: &Transcript) -> Result<Vec<u8>, String> {
    let bytes = files.read(&file.path).map_err(|error| error.0)?;
    match file.packing {
        Packing::Plain => Ok(bytes),
        Packing::Zstd => packing::unpack(&bytes).ok_or_else(|| "not a complete Zstandard file".to_owned()),
    }
}

/// A transcript whose records are judged.
pub(super) struct JudgedTranscript<'b> {
    pub bytes: &'b [u8],
    pub session: String,
    pub version: Version,
    pub records: Vec<(Record, Outcome)>,
    /// Complete entries inside of unreadable lines that the database does not have.
    pub salvaged: Salvaged,
}

/// Where entries are inside of unreadable lines, by the number of the line.
pub(super) type Salvaged = BTreeMap<u64, Vec<Range<usize>>>;

/// Judges every record of a transcript. Those that the session has are handed out now,
/// all others when they have been looked for elsewhere.
pub(super) fn judge_file<'b>(
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
                found: FoundIn::Nowhere,
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

/// Returns the texts under which a record is looked for elsewhere: another spelling is the same
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
    type Piece = (Range<usize>, Option<HalfDigest>);
    let mut inside: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
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
