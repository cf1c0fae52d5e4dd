//! The texts of transcripts in the rows of a session, and in the files beside it.

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files};
use crate::model::packing::unpack;
use crate::model::rows::{RowValue, RowsLine, lines};
use crate::runtimes::javascript::{Value, is_blank};

/// Everything that can be loaded.
#[derive(Default)]
pub struct Source {
    /// Whether the rows are those of a session.
    pub is_session: bool,
    /// The events of the live transcript, in their order.
    pub transcript: Vec<Vec<u8>>,
    /// The events of each archive, by its name.
    pub archives: BTreeMap<String, Vec<Vec<u8>>>,
    /// Whether the transcript was moved to where it cannot be read.
    pub lacks_cold: bool,
}

/// A row by the names of its columns.
type Row<'f> = BTreeMap<String, RowValue<'f>>;

fn bytes<'r>(row: &'r Row<'_>, column: &str) -> Option<&'r [u8]> {
    match row.get(column)? {
        RowValue::Text(bytes) | RowValue::Blob(bytes) => Some(bytes),
        RowValue::Null | RowValue::Integer(_) | RowValue::Real(_) => None,
    }
}

/// What was compressed or not; nothing where it is damaged.
fn opened(bytes: &[u8]) -> Option<Vec<u8>> {
    // The mark of a Zstandard frame.
    if bytes.starts_with(&0xfd2f_b528_u32.to_le_bytes()) { unpack(bytes) } else { Some(bytes.to_vec()) }
}

impl Source {
    /// Reads the rows of a session.
    pub fn of(files: &Files) -> Source {
        let mut source = Source::default();
        let mut events: Vec<(i64, Vec<u8>)> = Vec::new();
        let mut cold: Option<Option<Vec<Vec<u8>>>> = None;
        let rows = files.rows().map(|(_, text)| text);
        let mut table = String::new();
        let mut columns: Vec<String> = Vec::new();
        let mut is_own = false;
        for line in lines(rows.unwrap_or_default()) {
            match RowsLine::read(line) {
                Some(RowsLine::Rows(header)) => {
                    columns = header.rowid.then(String::new).into_iter().chain(header.listed().map(str::to_owned)).collect();
                    is_own = header.all.is_some();
                    table = header.table;
                }
                Some(RowsLine::Row(row)) => {
                    let row: Row<'_> = columns.iter().cloned().zip(row.elements().filter_map(RowValue::read)).collect();
                    match table.as_str() {
                        "session_windows" => source.is_session |= is_own,
                        "transcript_events" if is_own => events.extend(event(&row)),
                        "session_transcript_archives" => source.archives.extend(archive(&row)),
                        "session_transcript_cold_archives" if is_own => cold = Some(from_cold(&row, files)),
                        _ => {}
                    }
                }
                Some(RowsLine::Database(_) | RowsLine::Schema(_) | RowsLine::LeftOut(_)) | None => {}
            }
        }
        events.sort_by_key(|(seq, _)| *seq);
        source.transcript = events.into_iter().map(|(_, text)| text).collect();
        if let Some(cold) = cold.filter(|_| source.transcript.is_empty()) {
            source.lacks_cold = cold.is_none();
            source.transcript = cold.unwrap_or_default();
        }
        source
    }
}

fn event(row: &Row<'_>) -> Option<(i64, Vec<u8>)> {
    let Some(RowValue::Integer(seq)) = row.get("seq") else { return None };
    let text = match bytes(row, "event_json") {
        Some(text) => text.to_vec(),
        None => {
            let packed = bytes(row, "event_zstd")?;
            // The program fails on what it cannot unpack as on what is not JSON.
            unpack(packed).unwrap_or_else(|| packed.to_vec())
        }
    };
    Some((*seq, text))
}

fn archive(row: &Row<'_>) -> Option<(String, Vec<Vec<u8>>)> {
    let name = row.get("archive_name")?.as_text().filter(|name| !name.is_empty())?.to_owned();
    let plain = opened(bytes(row, "archive_blob")?)?;
    Some((name, plain.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)).map(<[u8]>::to_vec).collect()))
}

/// The events of a cold archive; nothing where it cannot be read.
fn from_cold(row: &Row<'_>, files: &Files) -> Option<Vec<Vec<u8>>> {
    let name = row.get("archive_name").and_then(RowValue::as_text).unwrap_or_default();
    let of_file = || {
        files.iter().find_map(|(path, entry)| match entry {
            Entry::File(file) if path.to_string().rsplit('/').next() == Some(name) => Some(file.bytes.as_slice()),
            Entry::File(_) | Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        })
    };
    let plain = opened(bytes(row, "archive_blob").or_else(of_file)?)?;
    let mut events = Vec::new();
    for line in plain.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)) {
        let record = Value::parse(line)?;
        let row = record.get("row");
        let text = row.get("event_json").text().filter(|_| record.get("kind").is("event"));
        let seq = row.get("seq").token();
        events.extend(
            text.map(|text| (std::str::from_utf8(seq).ok().and_then(|seq| seq.parse().ok()).unwrap_or_default(), text.into_owned())),
        );
    }
    events.sort_by_key(|(seq, _): &(i64, Vec<u8>)| *seq);
    Some(events.into_iter().map(|(_, text)| text).collect())
}
