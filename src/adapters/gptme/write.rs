//! The inverse of reading: messages and head moves back to gptme's records.

use crate::json::Style;
use crate::model::event::EventKind;
use crate::model::heads::{Head, HeadOp, RecordNumber, Repeat};
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::event_wire::{EVENTS, key, open};
use super::render;
use super::transcript::MESSAGES;
use super::wire::usual_order;

/// Returns the renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let style = Style::named(style, Style::default())?;
    let messages = Messages { style, shapes: Shapes::with_others(usual_order(), shapes.to_vec()), record: Vec::new() };
    match holds {
        MESSAGES => Some(Box::new(messages)),
        EVENTS => Some(Box::new(Events { messages })),
        _ => None,
    }
}

/// A list: one record per message.
struct Messages {
    style: Style,
    shapes: Shapes,
    record: Vec<u8>,
}

impl Messages {
    fn push(&self, log: &mut dyn LogAccess, seq: Seq, out: &mut Vec<u8>) -> Result<(), StreamError> {
        let event = log.event(seq)?;
        if event.kind != EventKind::Message {
            return Err(StreamError::log(seq, "is not a message, where one is expected"));
        }
        render::record(event.ts, event.payload, &self.shapes, self.style, out).map_err(|what| StreamError::log(seq, what))
    }
}

impl RecordRenderer for Messages {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Message {
            return Ok(());
        }
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        self.push(log, seq, &mut record)?;
        out.record(&record)?;
        self.record = record;
        Ok(())
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, piece: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(unknown_piece(piece))
    }
}

fn unknown_piece(piece: &[u8]) -> StreamError {
    StreamError::log(Seq::ROOT, format!("does not know the recipe piece {}", String::from_utf8_lossy(&piece[..piece.len().min(80)])))
}

/// An event log: a record where an event carries the source's own number.
struct Events {
    messages: Messages,
}

impl Events {
    fn list(&self, log: &mut dyn LogAccess, node: Seq, room: u64, out: &mut Vec<u8>) -> Result<(), StreamError> {
        key("messages", self.messages.style, out);
        out.push(b'[');
        for (n, seq) in log.path(node)?.into_iter().enumerate() {
            if n > 0 {
                self.messages.style.push_comma(out);
            }
            self.messages.push(log, seq, out)?;
            if out.len() as u64 > room {
                return Err(StreamError::TooLong);
            }
        }
        out.push(b']');
        Ok(())
    }

    fn append(&self, log: &mut dyn LogAccess, number: u64, ts: &str, message: Seq) -> Result<Vec<u8>, StreamError> {
        let mut out = Vec::new();
        open(number, ts, "message_append", self.messages.style, &mut out);
        key("message", self.messages.style, &mut out);
        self.messages.push(log, message, &mut out)?;
        out.extend_from_slice(b"}}");
        Ok(out)
    }

    fn head(&self, log: &mut dyn LogAccess, head: &Head, number: u64, ts: &str, room: u64) -> Result<Option<Vec<u8>>, StreamError> {
        let style = self.messages.style;
        let mut out = Vec::new();
        match head.op {
            HeadOp::Append => return self.append(log, number, ts, head.node).map(Some),
            HeadOp::Undo => {
                open(number, ts, "undo", style, &mut out);
                if let Some(n) = head.n {
                    key("n", style, &mut out);
                    out.extend_from_slice(n.to_string().as_bytes());
                }
            }
            HeadOp::Edit => {
                open(number, ts, "message_edit", style, &mut out);
                match head.index {
                    None => self.list(log, head.node, room, &mut out)?,
                    Some(index) => {
                        key("index", style, &mut out);
                        out.extend_from_slice(index.to_string().as_bytes());
                        style.push_comma(&mut out);
                        key("message", style, &mut out);
                        let path = log.path(head.node)?;
                        let message = usize::try_from(index).ok().and_then(|at| path.get(at).copied());
                        self.messages.push(log, message.unwrap_or(Seq::ROOT), &mut out)?;
                    }
                }
            }
            HeadOp::Load => {
                open(number, ts, "checkpoint", style, &mut out);
                self.list(log, head.node, room, &mut out)?;
            }
            HeadOp::Switch | HeadOp::Branch => return Ok(None),
        }
        out.extend_from_slice(b"}}");
        Ok(Some(out))
    }
}

impl RecordRenderer for Events {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let bad = |error: serde_json::Error| StreamError::log(seq, format!("cannot be read: {error}"));
        let kind = log.kind(seq);
        if !matches!(kind, EventKind::Repeat | EventKind::Head | EventKind::Custom) {
            return Ok(());
        }
        let event = log.event(seq)?;
        let ts = event.ts.unwrap_or_default().to_owned();
        if kind == EventKind::Custom {
            let mut record = Vec::new();
            if let Some(data) = event.value().first("data") {
                self.messages.style.push_value(data, &mut record);
            }
            return out.record(&record);
        }
        if kind == EventKind::Repeat {
            let repeat: Repeat = serde_json::from_slice(event.payload).map_err(bad)?;
            return match repeat.source_id {
                Some(RecordNumber(number)) => {
                    let record = self.append(log, number, &ts, repeat.last)?;
                    out.record(&record)
                }
                None => Ok(()),
            };
        }
        let head: Head = serde_json::from_slice(event.payload).map_err(bad)?;
        match head.source_id {
            Some(RecordNumber(number)) => match self.head(log, &head, number, &ts, out.room())? {
                Some(record) => out.record(&record),
                None => Ok(()),
            },
            None => Ok(()),
        }
    }

    /// A checkpoint that says what the events before it say already.
    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let Snapshot { snapshot, ts, source_id } = serde_json::from_slice(piece).map_err(|_| unknown_piece(piece))?;
        let mut record = Vec::new();
        open(source_id, &ts, "checkpoint", self.messages.style, &mut record);
        self.list(log, snapshot, out.room(), &mut record)?;
        record.extend_from_slice(b"}}");
        out.record(&record)
    }
}

/// The recipe piece of a checkpoint that says nothing new.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Snapshot {
    /// The node whose path it lists.
    pub snapshot: Seq,
    /// Its own time.
    pub ts: String,
    /// Its own number.
    pub source_id: u64,
}
