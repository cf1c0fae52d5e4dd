//! The inverse of reading: messages and meta events back to picoclaw's files.

use crate::adapters::kit::document;
use crate::adapters::kit::mapping::Table;
use crate::json::Style;
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::normal::render;
use super::wire::{DEPTH_IN_LEGACY, HOLDS_LEGACY, HOLDS_LINES, HOLDS_META, LEGACY, LINES, MESSAGE, META, WHOLE};

/// Returns the renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let (usual, table, depth) = match holds {
        HOLDS_LINES => (LINES, None, 0),
        HOLDS_META => (WHOLE, Some(&META), 0),
        HOLDS_LEGACY => (WHOLE, Some(&LEGACY), DEPTH_IN_LEGACY),
        _ => return None,
    };
    let style = Style::named(style, usual)?;
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    Some(Box::new(Records { style, table, depth, shapes, record: Vec::new() }))
}

struct Records {
    style: Style,
    /// What stands around the records, where they stand in a document.
    table: Option<&'static Table>,
    depth: usize,
    shapes: Shapes,
    record: Vec<u8>,
}

impl RecordRenderer for Records {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Message {
            return Ok(());
        }
        let event = log.event(seq)?;
        self.record.clear();
        render(event.payload, event.ts, &self.shapes, self.style, self.depth, &mut self.record)
            .ok_or_else(|| StreamError::log(seq, "has a shape that the log does not list"))?;
        out.record(&self.record)
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let part = self.table.and_then(|table| document::render_part(piece, table, self.style, log, out));
        part.unwrap_or_else(|| {
            let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]);
            Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")))
        })
    }
}
