//! The messages of a session: those of its tables in the order of the program, and
//! those that are gone from there and that its journal still has.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use crate::adapters::kit::mapping::To;
use crate::adapters::kit::part_records::{COMPACT, Content, Normal, Owner, member, normal, render, render_part, role_of, without_record};
use crate::json::{self, Value};
use crate::model::event::EventKind;
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::rows::RowValue;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{self, decode_utf8};

use super::journal::{self, Gone};
use super::reader::{Origin, Reader, Source};
use super::record::{DATA, NoRecord, Record};
use super::text::{Columns, RowsText, quoted};
use super::write::{message_row, part_row};

/// Why a message is not seen that is in no table.
const REMOVED: &str = "removed";
/// Why a message is not seen of which only parts are in a table.
const NO_ROW: &str = "its own row is gone or not readable";

/// The rows of messages and parts by number of line, in the order of the program.
pub(super) struct Messages {
    live: Vec<Row>,
    parts: HashMap<String, Vec<Row>>,
}

struct Row {
    time: SortKey,
    id: String,
    line: usize,
}

/// A value in the order of SQLite: nothing, numbers, and everything else.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SortKey {
    Null,
    Integer(i64),
    Real(f64),
    Other,
}

impl SortKey {
    fn of(value: Option<RowValue<'_>>) -> SortKey {
        match value {
            None | Some(RowValue::Null) => SortKey::Null,
            Some(RowValue::Integer(number)) => SortKey::Integer(number),
            Some(RowValue::Real(number)) => SortKey::Real(number),
            Some(RowValue::Text(_) | RowValue::Blob(_)) => SortKey::Other,
        }
    }

    fn rank(self) -> (u8, f64, i64) {
        match self {
            SortKey::Null => (0, 0.0, 0),
            SortKey::Integer(number) => (1, number as f64, number),
            SortKey::Real(number) => (1, number, number as i64),
            SortKey::Other => (2, 0.0, 0),
        }
    }

    fn compare(self, other: SortKey) -> Ordering {
        let (a, b) = (self.rank(), other.rank());
        a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1)).then_with(|| a.2.cmp(&b.2))
    }
}

/// A part on its way into its message's content.
struct Part {
    id: String,
    object: Vec<u8>,
    origin: Origin,
}

impl Part {
    fn value(&self) -> javascript::Value<'_> {
        javascript::Value::accepted(self.object.as_slice())
    }
}

impl Messages {
    pub(super) fn of(text: &RowsText<'_>) -> Messages {
        let row = |line: usize, columns: &Columns<'_, '_>| {
            Some(Row { time: SortKey::of(columns.get("time_created")), id: columns.text("id")?, line })
        };
        let mut live: Vec<Row> = text.rows_of("message").filter_map(|(line, columns)| row(line, &columns)).collect();
        live.sort_by(|a, b| a.time.compare(b.time).then_with(|| a.id.cmp(&b.id)));
        let mut parts: HashMap<String, Vec<Row>> = HashMap::new();
        for (line, columns) in text.rows_of("part") {
            if let Some((row, message)) = row(line, &columns).zip(columns.text("message_id")) {
                parts.entry(message).or_default().push(row);
            }
        }
        parts.values_mut().for_each(|parts| parts.sort_by(|a, b| a.id.cmp(&b.id)));
        Messages { live, parts }
    }

    /// Puts all of them. Returns the id of a message or part whose data is not JSON, if
    /// there is one: then the program does not load the session.
    pub(super) fn put(mut self, reader: &mut Reader<'_, '_, '_>) -> Result<Option<String>, StreamError> {
        let mut not_json = None;
        let mut gone = journal::gone(reader.text, &self.live.iter().map(|row| row.id.as_str()).collect());
        let mut known: BTreeMap<String, Seq> = BTreeMap::new();
        let mut node = Seq::ROOT;
        for row in &self.live {
            let Some(columns) = reader.text.row(row.line) else { continue };
            let record = match Record::of_message(&columns) {
                Ok(record) => record,
                Err(NoRecord::NoId) => continue,
                Err(NoRecord::NotJson) => {
                    not_json.get_or_insert_with(|| row.id.clone());
                    continue;
                }
            };
            let parts = rows_of_parts(reader.text, self.parts.remove(&row.id), &mut not_json);
            let content = Content::of(parts.iter().map(Part::value), Owner::of_record(&record.object));
            let normal = normal(&record.object, &content.list, None, &mut reader.shapes);
            node = put(reader, &normal, node)?;
            known.insert(row.id.clone(), node);
            note(reader, (&normal, node), Some((&record.id, &record.object, Origin::Row(row.line))), (&parts, &content));
        }
        if node.is_root() {
            reader.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        }
        let rest: Vec<String> = self.parts.keys().cloned().collect();
        rest.into_iter().for_each(|id| _ = gone.entry(id).or_default());
        self.put_gone(reader, gone, known, &mut not_json)?;
        Ok(not_json)
    }

    /// Puts the messages that are in no table, each below the one before it. None of
    /// them is on the main list.
    fn put_gone(
        &mut self,
        reader: &mut Reader<'_, '_, '_>,
        gone: BTreeMap<String, Gone>,
        mut known: BTreeMap<String, Seq>,
        not_json: &mut Option<String>,
    ) -> Result<(), StreamError> {
        let mut count = 0;
        for (id, gone) in gone {
            // The loader never comes to a part whose message it does not list.
            let mut unseen = None;
            let mut parts = rows_of_parts(reader.text, self.parts.remove(&id), &mut unseen);
            let has_rows = !parts.is_empty();
            parts.extend(gone.parts.into_iter().filter_map(|(id, line)| {
                let object = journal::object_of(reader.text, line)?;
                Some(Part { id, object, origin: Origin::Event(line) })
            }));
            parts.sort_by(|a, b| a.id.cmp(&b.id));
            parts.dedup_by(|second, first| second.id == first.id);
            let info = gone.info.and_then(|line| Some((line, journal::object_of(reader.text, line)?)));
            if info.is_none() && parts.is_empty() {
                continue;
            }
            let why = if has_rows || not_json.as_ref() == Some(&id) { NO_ROW } else { REMOVED };
            let (message, session) = (quoted(&id), parts.iter().find_map(|part| member(&part.object, "sessionID")).map(<[u8]>::to_vec));
            let owner = match &info {
                Some((_, object)) => Owner::of_record(object),
                None => Owner { session: session.as_deref(), message: Some(&message) },
            };
            let content = Content::of(parts.iter().map(Part::value), owner);
            let normal = match &info {
                Some((_, object)) => normal(object, &content.list, Some(why), &mut reader.shapes),
                None => without_record(role_of(parts.iter().map(Part::value)), &content.list, owner, why),
            };
            if count == 0 {
                reader.to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)?;
            }
            let above = known.range(..id.clone()).next_back().map_or(Seq::ROOT, |(_, seq)| *seq);
            let node = put(reader, &normal, above)?;
            count += 1;
            let own = info.as_ref().map(|(line, object)| (id.as_str(), object.as_slice(), Origin::Event(*line)));
            note(reader, (&normal, node), own, (&parts, &content));
            known.insert(id, node);
        }
        if count > 0 {
            let message =
                format!("messages that were removed, or have no readable row: {count}; they are kept, hidden from opencode's loader");
            reader.to.findings.add(FindingCode::LinesSkipped, Location::file(reader.path.to_string()), message);
        }
        Ok(())
    }
}

/// The parts that these rows are; those whose data is not JSON are left out.
fn rows_of_parts(text: &RowsText<'_>, rows: Option<Vec<Row>>, not_json: &mut Option<String>) -> Vec<Part> {
    let mut parts = Vec::new();
    for row in rows.into_iter().flatten() {
        match text.row(row.line).map(|columns| Record::of_part(&columns)) {
            Some(Ok(record)) => parts.push(Part { id: record.id, object: record.object, origin: Origin::Row(row.line) }),
            Some(Err(NoRecord::NotJson)) => _ = not_json.get_or_insert(row.id),
            Some(Err(NoRecord::NoId)) | None => {}
        }
    }
    parts
}

fn put(reader: &mut Reader<'_, '_, '_>, normal: &Normal, parent: Seq) -> Result<Seq, StreamError> {
    reader.to.put(EventKind::Message, normal.ts.as_deref(), Some(parent), &decode_utf8(&normal.payload))
}

/// The message's own object with its id, and where that is from.
type Own<'o> = (&'o str, &'o [u8], Origin);

/// Notes where a message and its parts are from, and how their rows are rebuilt.
fn note(reader: &mut Reader<'_, '_, '_>, (normal, node): (&Normal, Seq), own: Option<Own<'_>>, (parts, content): (&[Part], &Content)) {
    let payload = decode_utf8(&normal.payload);
    if let Some((id, object, origin)) = own {
        let mut rendered = Vec::new();
        // A shape of our own table is always there.
        let _ = render(&payload, normal.ts.as_deref(), &reader.shapes, COMPACT, &mut rendered);
        reader.sources.insert(id.to_owned(), Source { node, at: None, origin, is_exact: rendered == object });
        if let Some((line, columns)) = row_at(reader.text, origin) {
            let others = columns.others(&["id", DATA]);
            let json = format!("{{\"message\":{node},\"columns\":{}}}", String::from_utf8_lossy(&others));
            reader.note_piece(line, node, json, message_row(&rendered, Value::trusted(&others), columns.header));
        }
    }
    let items: Vec<&[u8]> = member(&payload, "content").into_iter().flat_map(json::elements).collect();
    let owner = Owner::of_payload(&payload);
    for (part, at) in parts.iter().zip(&content.places) {
        let mut rendered = Vec::new();
        render_part(&items[*at..], owner, To { style: COMPACT, depth: 0, out: &mut rendered });
        let source = Source { node, at: Some(*at), origin: part.origin, is_exact: rendered == part.object };
        reader.sources.insert(part.id.clone(), source);
        if let Some((line, columns)) = row_at(reader.text, part.origin) {
            let others = columns.others(&["id", "message_id", DATA]);
            let json = format!("{{\"part\":{at},\"of\":{node},\"columns\":{}}}", String::from_utf8_lossy(&others));
            reader.note_piece(line, node, json, part_row(&rendered, Value::trusted(&others), columns.header));
        }
    }
}

fn row_at<'a, 't>(text: &'t RowsText<'a>, origin: Origin) -> Option<(usize, Columns<'a, 't>)> {
    match origin {
        Origin::Row(line) => Some((line, text.row(line)?)),
        Origin::Event(_) => None,
    }
}
