//! The program's journal of a session, the table `event`: what was said of each
//! message and part, also after they are gone from their own tables. An event that
//! says what a message of the log says names that message in place of its text.

use std::collections::{BTreeMap, HashSet};

use crate::adapters::kit::part_records::member;
use crate::json::{self, Escapes, Value};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::rows::{RowValue, RowsHeader};
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{self, decode_utf8, parse_date, stringify, to_iso_string};

use super::facts::ROWID;
use super::reader::{Origin, Reader, Source};
use super::record::Record;
use super::text::{Columns, RowsText, quoted, row};

/// The table.
pub(super) const TABLE: &str = "event";

/// In `ext`: the element of the content of `from` that the part begins with.
const PART: &str = "$part";

/// The columns that are members of the event.
const KNOWN: [&str; 4] = ["id", "seq", "type", "data"];

/// What an event is about, by the beginning of its type; a version follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Message,
    Part,
    RemovedPart,
    Other,
}

impl About {
    fn of(kind: &str) -> About {
        let unversioned = kind.rsplit_once('.').map_or(kind, |(name, _)| name);
        match unversioned {
            "message.updated" => About::Message,
            "message.part.updated" => About::Part,
            "message.part.removed" => About::RemovedPart,
            _ => About::Other,
        }
    }

    /// The member of its data that is the object.
    fn member(self) -> Option<&'static str> {
        match self {
            About::Message => Some("info"),
            About::Part => Some("part"),
            About::RemovedPart | About::Other => None,
        }
    }
}

/// What the journal has of a message that is in no table: the lines of the last events
/// that say what it and its parts were.
#[derive(Debug, Default)]
pub(super) struct Gone {
    pub(super) info: Option<usize>,
    pub(super) parts: BTreeMap<String, usize>,
}

/// The messages that the journal has and that are not among these.
pub(super) fn gone(text: &RowsText<'_>, live: &HashSet<&str>) -> BTreeMap<String, Gone> {
    let number = |columns: &Columns<'_, '_>| if let Some(RowValue::Integer(number)) = columns.get("seq") { number } else { 0 };
    let mut events: Vec<(i64, usize)> = text.rows_of(TABLE).map(|(line, columns)| (number(&columns), line)).collect();
    events.sort_unstable();
    let mut gone: BTreeMap<String, Gone> = BTreeMap::new();
    for (_, line) in events {
        let Some((kind, data)) = text.row(line).and_then(|columns| columns.text("type").zip(columns.text("data"))) else { continue };
        let about = About::of(&kind);
        let Some(data) = javascript::Value::parse(data.as_bytes()).filter(|_| about != About::Other) else { continue };
        let object = about.member().map_or(data, |member| data.get(member));
        let id = |name: &str| object.get(name).lossy();
        let message = match about {
            About::Message => id("id"),
            About::Part | About::RemovedPart => id("messageID"),
            About::Other => None,
        };
        let Some(message) = message.filter(|message| !live.contains(message.as_str())) else { continue };
        let gone = gone.entry(message).or_default();
        match (about, id("id"), id("partID")) {
            (About::Message, _, _) => gone.info = Some(line),
            (About::Part, Some(part), _) => _ = gone.parts.insert(part, line),
            (About::RemovedPart, _, Some(part)) => _ = gone.parts.remove(&part),
            (About::Part | About::RemovedPart | About::Other, _, _) => {}
        }
    }
    gone
}

/// The message or part that the event at a line says.
pub(super) fn object_of(text: &RowsText<'_>, line: usize) -> Option<Vec<u8>> {
    let columns = text.row(line)?;
    let (kind, data) = columns.text("type").zip(columns.text("data"))?;
    let object = javascript::Value::parse(data.as_bytes())?.get(About::of(&kind).member()?);
    object.defined().map(|token| decode_utf8(token).into_owned())
}

/// Puts the event that a row of the journal is, where it gives the row back.
pub(super) fn put(reader: &mut Reader<'_, '_, '_>, columns: &Columns<'_, '_>, own: &[u8]) -> Result<Option<Seq>, StreamError> {
    let Some(event) = Event::of(columns) else { return Ok(None) };
    let Some(data) = javascript::Value::parse(event.data.as_bytes()) else { return Ok(None) };
    let object = event.about.member().map(|member| data.get(member)).filter(|object| !object.is_undefined());
    let time = data.get("time").number().filter(|_| event.about == About::Part).and_then(|ms| to_iso_string(ms as i64));
    let source = object.and_then(|object| {
        let source = *reader.sources.get(&object.get("id").lossy()?)?;
        (source.is_exact && origin(reader.text, source)? == object.token()).then_some((source, object))
    });
    if let Some((source, object)) = source {
        let payload = event.payload(columns, &format!("\"from\":{}", source.node).into_bytes(), source.at);
        let again = data_of(event.about, object.token(), time.as_deref()).and_then(|data| row_of(&payload, &data, columns.header));
        if again.as_deref() == Some(own) {
            return reader.to.put(EventKind::Custom, time.as_deref(), None, &payload).map(Some);
        }
    }
    let mut carried = b"\"data\":".to_vec();
    json::push_carried_value(data.token(), Escapes::Utf8, &mut carried);
    let payload = event.payload(columns, &carried, None);
    let again = carried_data(&payload).and_then(|data| row_of(&payload, &data, columns.header));
    if again.as_deref() != Some(own) {
        return Ok(None);
    }
    reader.to.put(EventKind::Custom, time.as_deref(), None, &payload).map(Some)
}

/// The text of a message or part that is in the log.
fn origin(text: &RowsText<'_>, source: Source) -> Option<Vec<u8>> {
    match (source.origin, source.at) {
        (Origin::Row(line), None) => Record::of_message(&text.row(line)?).ok().map(|record| record.object),
        (Origin::Row(line), Some(_)) => Record::of_part(&text.row(line)?).ok().map(|record| record.object),
        (Origin::Event(line), _) => object_of(text, line),
    }
}

/// A row of the journal.
struct Event {
    id: String,
    ordinal: i64,
    kind: String,
    about: About,
    data: String,
}

impl Event {
    fn of(columns: &Columns<'_, '_>) -> Option<Event> {
        let Some(RowValue::Integer(ordinal @ 0..)) = columns.get("seq") else { return None };
        let kind = columns.text("type")?;
        // A name that this reader gives is never that of a column.
        let is_ours = columns.values.iter().any(|(name, _)| name.starts_with('$'));
        (!is_ours).then_some(Event { id: columns.text("id")?, ordinal, about: About::of(&kind), kind, data: columns.text("data")? })
    }

    fn payload(&self, columns: &Columns<'_, '_>, says: &[u8], at: Option<usize>) -> Vec<u8> {
        let mut ext: Vec<Vec<u8>> = Vec::new();
        let mut push = |name: &str, value: &[u8]| ext.push([&quoted(name), b":".as_slice(), value].concat());
        columns.rowid.iter().for_each(|number| push(ROWID, number.text()));
        at.iter().for_each(|at| push(PART, at.to_string().as_bytes()));
        columns.values.iter().filter(|(name, _)| !KNOWN.contains(name)).for_each(|(name, value)| push(name, value.text()));
        let head = format!(",\"ordinal\":{},", self.ordinal);
        let begin: [&[u8]; 6] = [b"{\"source_id\":", &quoted(&self.id), b",\"type\":", &quoted(&self.kind), head.as_bytes(), says];
        let mut out = begin.concat();
        if !ext.is_empty() {
            out.extend_from_slice(b",\"ext\":{");
            out.extend_from_slice(&ext.join(&b','));
            out.push(b'}');
        }
        out.push(b'}');
        out
    }
}

/// The data of an event that says this object.
fn data_of(about: About, object: &[u8], ts: Option<&str>) -> Option<String> {
    let session = member(object, "sessionID")?;
    let name = about.member()?;
    let mut data = [b"{\"sessionID\":", session, format!(",\"{name}\":").as_bytes(), object].concat();
    if let Some(ms) = ts.and_then(parse_date) {
        data.extend_from_slice(format!(",\"time\":{ms}").as_bytes());
    }
    data.push(b'}');
    String::from_utf8(data).ok()
}

fn carried_data(payload: &[u8]) -> Option<String> {
    String::from_utf8(stringify(Value::trusted(member(payload, "data")?))).ok()
}

/// The row of an event with this data.
fn row_of(payload: &[u8], data: &str, header: &RowsHeader) -> Option<Vec<u8>> {
    let text = |name: &str| Value::trusted(member(payload, name)?).as_str().map(|text| text.into_owned());
    let ext = member(payload, "ext");
    let mut others: Vec<&[u8]> = Vec::new();
    if header.rowid {
        others.push(member(ext?, ROWID)?);
    }
    let ordinal = member(payload, "ordinal")?;
    others.extend(header.listed().filter(|name| !["id", "type", "data"].contains(name)).map(|name| match name {
        "seq" => ordinal,
        _ => ext.and_then(|ext| member(ext, name)).unwrap_or(b"null"),
    }));
    let others = [b"[", others.join(&b',').as_slice(), b"]"].concat();
    Some(row(header, Value::trusted(&others), &[("id", &text("source_id")?), ("type", &text("type")?), ("data", data)]))
}

/// The message or part whose text an event has: its node, and where in its content it
/// begins.
pub(super) fn from(payload: &[u8]) -> Option<(Seq, Option<usize>)> {
    let node = Value::trusted(member(payload, "from")?).parse::<u32>()?;
    let at = member(payload, "ext").and_then(|ext| member(ext, PART)).and_then(|at| Value::trusted(at).parse());
    Some((Seq::new(node), at))
}

/// Renders the row of an event; `object` is what it is from, if it is from a message.
pub(super) fn render(payload: &[u8], ts: Option<&str>, object: Option<&[u8]>, header: &RowsHeader) -> Option<Vec<u8>> {
    let about = About::of(&json::unescape(member(payload, "type")?));
    let data = match object {
        Some(object) => data_of(about, object, ts)?,
        None => carried_data(payload)?,
    };
    row_of(payload, &data, header)
}
