//! The inverse of reading: events back to Gemini CLI's files.

use crate::adapters::kit::document;
use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::members::{self, MEMBERS};
use crate::json::{self, Kind, Style};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::fields::member;
use super::message::{RecordKind, render};
use super::project::{self, HOLDS_PROMPTS};
use super::records::MetaKind;
use super::schema::{
    DEPTH_IN_LIST, DEPTH_IN_WHOLE, DOCUMENT, HOLDS_LIST, HOLDS_RECORDS, HOLDS_SAVED, HOLDS_WHOLE, LINES, MESSAGE, SAVED, SAVED_ALONE,
    WHOLE, WHOLE_ALONE,
};

/// The renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    if holds == HOLDS_PROMPTS {
        return project::renderer(style);
    }
    if holds == MEMBERS {
        return members::renderer(style);
    }
    if holds == HOLDS_RECORDS {
        let rows = Rows { style: Style::named(style, LINES)?, depth: 0, shapes, table: None };
        return Some(Box::new(Records(rows)));
    }
    let has_list = style.is_none_or(|style| member(style.as_bytes(), "list").is_none());
    let (depth, table) = match (holds, has_list) {
        (HOLDS_WHOLE, true) => (DEPTH_IN_WHOLE, Some(&WHOLE)),
        (HOLDS_WHOLE, false) => (DEPTH_IN_WHOLE, Some(&WHOLE_ALONE)),
        (HOLDS_SAVED, true) => (DEPTH_IN_WHOLE, Some(&SAVED)),
        (HOLDS_SAVED, false) => (DEPTH_IN_WHOLE, Some(&SAVED_ALONE)),
        (HOLDS_LIST, _) => (DEPTH_IN_LIST, None),
        _ => return None,
    };
    Some(Box::new(Rows { style: Style::named(style, DOCUMENT)?, depth, shapes, table }))
}

/// The rows of a list that stands in a document.
struct Rows {
    style: Style,
    depth: usize,
    shapes: Shapes,
    /// What stands around the list.
    table: Option<&'static Table>,
}

impl Rows {
    fn message(&self, log: &mut dyn LogAccess, seq: Seq, depth: usize) -> Result<Vec<u8>, StreamError> {
        let event = log.event(seq)?;
        if event.kind != EventKind::Message {
            return Err(StreamError::log(seq, "is no message, and is listed as one"));
        }
        let mut out = Vec::new();
        render(event.payload, event.ts, RecordKind::of_payload(event.payload), &self.shapes, (self.style, depth), &mut out)
            .ok_or_else(|| StreamError::log(seq, "has a shape that the log does not list"))?;
        Ok(out)
    }

    fn carried(&self, log: &mut dyn LogAccess, seq: Seq) -> Result<Vec<u8>, StreamError> {
        let mut out = Vec::new();
        let data = member(log.event(seq)?.payload, "data").unwrap_or(b"null");
        self.style.push_value_at(data, self.depth, &mut out);
        Ok(out)
    }
}

fn unknown_piece(piece: &[u8]) -> StreamError {
    let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]);
    StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}"))
}

impl RecordRenderer for Rows {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let kind = log.kind(seq);
        if kind == EventKind::Message {
            let record = self.message(log, seq, self.depth)?;
            return out.record(&record);
        }
        if kind == EventKind::Custom {
            let record = self.carried(log, seq)?;
            return out.record(&record);
        }
        Ok(())
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let part = self.table.and_then(|table| document::render_part(piece, table, self.style, log, out));
        part.unwrap_or_else(|| Err(unknown_piece(piece)))
    }
}

/// The lines of a patch log.
struct Records(Rows);

impl Records {
    /// The messages that a `meta` event lists: a path, or each by itself.
    fn list(&self, log: &mut dyn LogAccess, list: &[u8], depth: usize, room: u64) -> Result<Vec<Vec<u8>>, StreamError> {
        let mut items = Vec::new();
        let mut size = 0u64;
        let mut add = |item: Vec<u8>| {
            size = size.saturating_add(item.len() as u64);
            items.push(item);
            if size > room { Err(StreamError::TooLong) } else { Ok(()) }
        };
        if json::kind_of(list) != Kind::Array {
            for seq in log.path(number(list)?)? {
                add(self.0.message(log, seq, depth)?)?;
            }
            return Ok(items);
        }
        for element in json::elements(list) {
            if json::kind_of(element) == Kind::Object {
                let mut out = Vec::new();
                self.0.style.push_value_at(member(element, "value").unwrap_or(b"null"), depth, &mut out);
                add(out)?;
            } else {
                add(self.0.message(log, number(element)?, depth)?)?;
            }
        }
        Ok(items)
    }
}

fn number(text: &[u8]) -> Result<Seq, StreamError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map(Seq::new).ok_or_else(|| StreamError::log(Seq::ROOT, "is no number of an event, and is listed as one"))
}

impl RecordRenderer for Records {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Meta {
            return self.0.render(log, seq, out);
        }
        let payload = log.event(seq)?.payload.to_vec();
        let Some(kind) = member(&payload, "of").and_then(MetaKind::of_word) else { return Ok(()) };
        let items = match member(&payload, "messages") {
            Some(list) => self.list(log, list, kind.depth(), out.room())?,
            None => Vec::new(),
        };
        out.record(&kind.render(&payload, &items, self.0.style))
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, piece: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(unknown_piece(piece))
    }
}
