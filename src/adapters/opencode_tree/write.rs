//! The inverse of reading: events back to opencode's files, one value each.

use crate::adapters::kit::document;
use crate::adapters::kit::mapping::To;
use crate::adapters::kit::part_records::{MESSAGE, Owner, member, render, render_part};
use crate::json::{self, Style, Value};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::schema::{DOCUMENT, HOLDS_MESSAGE, HOLDS_PART, HOLDS_SESSION, HOLDS_VALUE, SESSION};

/// Returns the renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    if ![HOLDS_MESSAGE, HOLDS_PART, HOLDS_SESSION, HOLDS_VALUE].contains(&holds) {
        return None;
    }
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    Some(Box::new(OneValue { style: Style::named(style, DOCUMENT)?, shapes }))
}

/// Files that are one value each.
struct OneValue {
    style: Style,
    shapes: Shapes,
}

impl OneValue {
    fn message(&self, log: &mut dyn LogAccess, seq: Seq) -> Result<Vec<u8>, StreamError> {
        let event = log.event(seq)?;
        let mut out = Vec::new();
        render(event.payload, event.ts, &self.shapes, self.style, &mut out)
            .ok_or_else(|| StreamError::log(seq, "has a shape that the log does not list"))?;
        Ok(out)
    }

    fn part(&self, log: &mut dyn LogAccess, seq: Seq, at: usize) -> Result<Vec<u8>, StreamError> {
        let payload = log.event(seq)?.payload;
        let parts = member(payload, "content").into_iter().flat_map(json::elements);
        // A part is one element, or a call and its result.
        let items: Vec<&[u8]> = parts.skip(at).take(2).collect();
        let mut out = Vec::new();
        match render_part(&items, Owner::of_payload(payload), To { style: self.style, depth: 0, out: &mut out }) {
            0 => Err(StreamError::log(seq, format!("has no part {at}"))),
            _ => Ok(out),
        }
    }

    fn value(&self, log: &mut dyn LogAccess, seq: Seq) -> Result<Vec<u8>, StreamError> {
        let mut out = Vec::new();
        self.style.push_value(member(log.event(seq)?.payload, "data").unwrap_or(b"null"), &mut out);
        Ok(out)
    }
}

impl RecordRenderer for OneValue {
    fn render(&mut self, _: &mut dyn LogAccess, _: Seq, _: &mut dyn RecordSink) -> Result<(), StreamError> {
        // Every record is named by a piece of its own.
        Ok(())
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        // A recipe is read as JSON before its pieces are handed out.
        let number = |name: &str| Value::trusted(piece).first(name).and_then(|value| value.parse::<u32>());
        let expect = |log: &dyn LogAccess, seq: Seq, kind: EventKind| match log.kind(seq) == kind {
            true => Ok(()),
            false => Err(StreamError::log(seq, format!("is not a {}, and a recipe names it as one", kind.name()))),
        };
        let rendered = if let Some(seq) = number("message").map(Seq::new) {
            expect(log, seq, EventKind::Message)?;
            self.message(log, seq)?
        } else if let (Some(at), Some(seq)) = (number("part"), number("of").map(Seq::new)) {
            expect(log, seq, EventKind::Message)?;
            self.part(log, seq, at as usize)?
        } else if let Some(seq) = number("value").map(Seq::new) {
            expect(log, seq, EventKind::Custom)?;
            self.value(log, seq)?
        } else {
            return document::render_part(piece, &SESSION, self.style, log, out).unwrap_or_else(|| {
                let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]);
                Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")))
            });
        };
        out.text(&rendered)
    }
}
