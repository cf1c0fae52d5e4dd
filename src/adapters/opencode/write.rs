//! The inverse of reading: events back to the rows that they are of.

use crate::adapters::kit::mapping::To;
use crate::adapters::kit::part_records::{COMPACT, MESSAGE, Owner, member, render, render_part};
use crate::adapters::kit::rows;
use crate::json::{self, Value};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::rows::{RowsHeader, RowsLine};
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::record::{DATA, MESSAGE_IDS, PART_IDS, apart};
use super::text::row;
use super::{facts, journal};

/// The renderer of a log's rows.
pub(super) fn renderer(holds: &str, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    (holds == rows::ROWS).then(|| Box::new(Rows { header: None, shapes, opened: None }) as Box<dyn RecordRenderer>)
}

/// The row of a message from its object, and the values of its other columns. Empty
/// where the object has lost its ids.
pub(super) fn message_row(object: &[u8], others: Value<'_>, header: &RowsHeader) -> Vec<u8> {
    let Some((ids, data)) = apart(object, MESSAGE_IDS) else { return Vec::new() };
    row(header, others, &[("id", ids.first().map_or("", String::as_str)), (DATA, &data)])
}

/// The row of a part, in the same way.
pub(super) fn part_row(object: &[u8], others: Value<'_>, header: &RowsHeader) -> Vec<u8> {
    let Some((ids, data)) = apart(object, PART_IDS) else { return Vec::new() };
    let id = |n: usize| ids.get(n).map_or("", String::as_str);
    row(header, others, &[("id", id(0)), ("message_id", id(2)), (DATA, &data)])
}

/// A message that was read from the log.
struct Opened {
    seq: Seq,
    ts: Option<String>,
    payload: Vec<u8>,
    /// The elements of its content, by their places in the payload.
    items: Vec<std::ops::Range<usize>>,
}

struct Rows {
    /// What the next rows are of.
    header: Option<RowsHeader>,
    shapes: Shapes,
    /// The last message that was asked for: its parts come one after the other.
    opened: Option<Opened>,
}

impl Rows {
    fn opened(&mut self, log: &mut dyn LogAccess, seq: Seq) -> Result<&Opened, StreamError> {
        let opened = match self.opened.take().filter(|opened| opened.seq == seq) {
            Some(opened) => opened,
            None => {
                let event = log.event(seq)?;
                if event.kind != EventKind::Message {
                    return Err(StreamError::log(seq, "is not a message, and a row is of it"));
                }
                let payload = event.payload.to_vec();
                let list = member(&payload, "content").unwrap_or(b"[]");
                let items = json::elements(list).map(|item| json::span_in(&payload, item)).collect();
                Opened { seq, ts: event.ts.map(str::to_owned), items, payload }
            }
        };
        Ok(self.opened.insert(opened))
    }

    /// The object of a message.
    fn message(&mut self, log: &mut dyn LogAccess, seq: Seq) -> Result<Vec<u8>, StreamError> {
        self.opened(log, seq)?;
        let mut out = Vec::new();
        let rendered =
            self.opened.as_ref().and_then(|message| render(&message.payload, message.ts.as_deref(), &self.shapes, COMPACT, &mut out));
        rendered.map(|()| out).ok_or_else(|| StreamError::log(seq, "has a shape that the log does not list"))
    }

    /// The object of the part that begins with this element of a message's content.
    fn part(&mut self, log: &mut dyn LogAccess, seq: Seq, at: usize) -> Result<Vec<u8>, StreamError> {
        let message = self.opened(log, seq)?;
        let two = message.items.iter().skip(at).take(2);
        let items: Vec<&[u8]> = two.filter_map(|item| message.payload.get(item.clone())).collect();
        let mut out = Vec::new();
        match render_part(&items, Owner::of_payload(&message.payload), To { style: COMPACT, depth: 0, out: &mut out }) {
            0 => Err(StreamError::log(seq, format!("has no part {at}"))),
            _ => Ok(out),
        }
    }

    fn header(&self) -> Result<RowsHeader, StreamError> {
        self.header.clone().ok_or_else(|| StreamError::log(Seq::ROOT, "has a row before the name of its table"))
    }

    fn fact(&mut self, log: &mut dyn LogAccess, seq: Seq, header: &RowsHeader) -> Result<Option<Vec<u8>>, StreamError> {
        let event = log.event(seq)?;
        if header.table != journal::TABLE {
            return Ok(facts::row_of(event.kind, event.value(), header));
        }
        let Some((from, at)) = journal::from(event.payload) else {
            return Ok(journal::render(event.payload, event.ts, None, header));
        };
        let (payload, ts) = (event.payload.to_vec(), event.ts.map(str::to_owned));
        let object = match at {
            Some(at) => self.part(log, from, at)?,
            None => self.message(log, from)?,
        };
        Ok(journal::render(&payload, ts.as_deref(), Some(&object), header))
    }
}

impl RecordRenderer for Rows {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let kind = log.kind(seq);
        if kind == EventKind::Row {
            let event = log.event(seq)?;
            let line = rows::line_of(event.payload);
            if let Some(RowsLine::Rows(header)) = RowsLine::read(line) {
                self.header = Some(header);
            }
            return out.record(line);
        }
        // Messages stand between the rows; each is named by a piece of its own.
        if !matches!(kind, EventKind::Meta | EventKind::Custom) {
            return Ok(());
        }
        let header = self.header()?;
        match self.fact(log, seq, &header)? {
            Some(row) => out.record(&row),
            None => Err(StreamError::log(seq, "is not a row of its table")),
        }
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        // A recipe is read as JSON before its pieces are handed out.
        let piece = Value::trusted(piece);
        let number = |name: &str| piece.first(name).and_then(|value| value.parse::<u32>());
        let header = self.header()?;
        let others = piece.first("columns").unwrap_or_default();
        let mut row = if let Some(seq) = number("message").map(Seq::new) {
            message_row(&self.message(log, seq)?, others, &header)
        } else if let (Some(at), Some(seq)) = (number("part"), number("of").map(Seq::new)) {
            part_row(&self.part(log, seq, at as usize)?, others, &header)
        } else {
            let shown = String::from_utf8_lossy(&piece.text()[..piece.text().len().min(80)]).into_owned();
            return Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")));
        };
        row.push(b'\n');
        out.text(&row)
    }
}
