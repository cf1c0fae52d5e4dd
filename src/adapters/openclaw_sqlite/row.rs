//! Rows whose texts other events say: a row then has `null` in the place of such a
//! text, and names the events.
//!
//! | in `of` | the value of the column is |
//! |---|---|
//! | `"event_json": 12` | what event 12 is rendered to |
//! | `"event_zstd": 12` | there as it is, and holds what event 12 is rendered to |
//! | `"message_json": 12` | the message of what event 12 is rendered to |
//! | `"entry_json": 12` | the entry that event 12 has of the list of sessions |
//! | `"archive_blob": [12, "…", ["…", 13, "…"]]` | there as it is, and holds these lines |
//!
//! A blob cannot be made again from what it holds: another build of the same library
//! makes other bytes. It is kept, and where it no longer holds what its events say, the
//! text of those takes its place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::adapters::kit::entries::schema::EntrySchema;
use crate::adapters::kit::tree::entry::get;
use crate::adapters::kit::tree::file::ENTRIES;
use crate::adapters::kit::tree::render;
use crate::adapters::kit::tree::schema::TreeSchema;
use crate::json::{self, Kind, Value};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::packing::{ZSTD_MAGIC, unpack};
use crate::model::rows::{RowValue, RowsHeader, RowsLine};
use crate::model::shape::Order;
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};
use crate::runtimes::javascript as js;

use super::schema::SCHEMA;

/// What the rows of a session hold, in their recipe's words.
pub(super) const ROWS: &str = "rows";
/// What a file beside the database holds.
pub(super) const PACKED: &str = "packed";

/// What an event is rendered to.
pub(super) type TextOf<'t> = dyn FnMut(Seq) -> Result<Vec<u8>, StreamError> + 't;

/// The array of a row, from what is kept of it and from what events say.
pub(super) fn compose(header: &RowsHeader, row: Value<'_>, of: Value<'_>, text_of: &mut TextOf<'_>) -> Result<Vec<u8>, StreamError> {
    let skip = usize::from(header.rowid);
    let mut values: Vec<Vec<u8>> = row.elements().map(|value| value.text().to_vec()).collect();
    for member in of.members() {
        let at = header.listed().position(|column| member.is(column)).map(|at| at + skip);
        let Some(value) = at.and_then(|at| values.get_mut(at)) else { continue };
        let held = || RowValue::read(Value::trusted(value));
        let said = match member.name().as_ref() {
            "message_json" => message_of(&text_of(seq_of(member.value()))?),
            "archive_blob" => lines_of(member.value(), most_of(value.len()), text_of)?,
            _ => text_of(seq_of(member.value()))?,
        };
        let is_held = matches!(held(), Some(RowValue::Blob(blob)) if holds(&blob, &said));
        if !is_held {
            *value = RowValue::Text(said.into()).to_json();
        }
    }
    Ok([b"[".as_slice(), &values.join(&b','), b"]"].concat())
}

/// Whether bytes are a text, packed or not.
fn holds(bytes: &[u8], text: &[u8]) -> bool {
    if bytes.starts_with(&ZSTD_MAGIC) { unpack(bytes).as_deref() == Some(text) } else { bytes == text }
}

fn seq_of(number: Value<'_>) -> Seq {
    Seq::new(number.parse().unwrap_or_default())
}

/// The message in an entry.
fn message_of(entry: &[u8]) -> Vec<u8> {
    let members = if json::kind_of(entry) == Kind::Object { json::all_members(entry) } else { Vec::new() };
    get(&members, "message").map(<[u8]>::to_vec).unwrap_or_default()
}

/// The bytes of a text, which need not be UTF-8.
fn bytes_of(text: Value<'_>) -> Vec<u8> {
    match RowValue::read(text) {
        Some(RowValue::Text(text)) => text.into_owned(),
        Some(RowValue::Null | RowValue::Integer(_) | RowValue::Real(_) | RowValue::Blob(_)) | None => Vec::new(),
    }
}

/// No more than this can be in so many packed bytes: a log that names one long event
/// again and again would fill the memory.
fn most_of(packed: usize) -> usize {
    packed.saturating_mul(1000).saturating_add(64 << 20)
}

/// The lines that a packed transcript holds.
fn lines_of(lines: Value<'_>, most: usize, text_of: &mut TextOf<'_>) -> Result<Vec<u8>, StreamError> {
    let mut out = Vec::new();
    for (n, line) in lines.elements().enumerate() {
        if out.len() > most {
            return Err(StreamError::TooLong);
        }
        if n > 0 {
            out.push(b'\n');
        }
        match line.kind() {
            Kind::Number => out.extend(text_of(seq_of(line))?),
            Kind::Array => {
                let mut parts = line.elements();
                let mut part = || parts.next().unwrap_or_default();
                out.extend(bytes_of(part()));
                js::push_string(&text_of(seq_of(part()))?, &mut out);
                out.extend(bytes_of(part()));
            }
            Kind::String | Kind::Object | Kind::True | Kind::False | Kind::Null => out.extend(bytes_of(line)),
        }
    }
    Ok(out)
}

/// A file beside the database, as a piece of its recipe: the packed bytes, and the lines
/// that they hold.
pub(super) fn packed_piece(bytes: &[u8], lines: &[u8]) -> String {
    let lines = String::from_utf8_lossy(lines);
    format!("{{\"packed\":\"{}\",\"of\":{lines}}}", STANDARD.encode(bytes))
}

/// The renderer of rows, and of files that hold a transcript.
pub(super) fn renderer(holds: &str, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let entries = (holds == ROWS || holds == PACKED).then(|| render::renderer(SCHEMA, ENTRIES, shapes))??;
    Some(Box::new(Rows { header: None, entries }))
}

struct Rows {
    /// What the next rows are of.
    header: Option<RowsHeader>,
    entries: Box<dyn RecordRenderer>,
}

impl Rows {
    fn text(&mut self, log: &mut dyn LogAccess, seq: Seq) -> Result<Vec<u8>, StreamError> {
        if log.kind(seq) == EventKind::Meta {
            let event = log.event(seq)?;
            if let (Some(_), Some(entry)) = (event.value().first("store"), event.value().first("entry")) {
                let mut out = Vec::new();
                EntrySchema::STYLE.push_value(entry, &mut out);
                return Ok(out);
            }
        }
        let mut text = Text(Vec::new());
        self.entries.render(log, seq, &mut text)?;
        Ok(text.0)
    }
}

impl RecordRenderer for Rows {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Row {
            return Ok(());
        }
        let payload = log.event(seq)?.payload.to_vec();
        let event = Value::trusted(&payload);
        match (event.first("row"), event.first("of"), self.header.clone()) {
            (Some(row), Some(of), Some(header)) => {
                let row = compose(&header, row, of, &mut |seq| self.text(log, seq))?;
                out.record(&row)
            }
            (Some(row), _, _) => out.record(row.text()),
            (None, _, _) => {
                if let Some(RowsLine::Rows(header)) = RowsLine::read(&payload) {
                    self.header = Some(header);
                }
                out.record(&payload)
            }
        }
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let piece = Value::trusted(piece);
        let bytes = piece.first("packed").and_then(|packed| STANDARD.decode(packed.as_str()?.as_bytes()).ok());
        let (Some(bytes), Some(lines)) = (bytes, piece.first("of")) else {
            return Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"));
        };
        let said = lines_of(lines, most_of(bytes.len()), &mut |seq| self.text(log, seq))?;
        out.text(if holds(&bytes, &said) { &bytes } else { &said })
    }
}

/// A record that is taken for its text.
struct Text(Vec<u8>);

impl RecordSink for Text {
    fn room(&self) -> u64 {
        u64::MAX
    }

    fn record(&mut self, record: &[u8]) -> Result<(), StreamError> {
        self.text(record)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), StreamError> {
        self.0.extend_from_slice(text);
        Ok(())
    }
}
