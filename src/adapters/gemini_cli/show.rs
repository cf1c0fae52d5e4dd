//! What the program would show of a node: the record, as its loader returns it.

use crate::model::event::EventKind;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{Numbers, printed};

use super::fields::member;
use super::message::{RecordKind, render};
use super::schema::{LINES, MESSAGE};

/// Makes what renders the messages of a log with these shapes.
pub(super) fn message_renderer(shapes: &[Order]) -> Box<MessageRenderer> {
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    Box::new(move |shown, show| {
        let event = shown.event;
        let mut line = Vec::new();
        if event.kind == EventKind::Custom {
            LINES.push_value(member(event.payload, "data").unwrap_or(b"null"), &mut line);
        } else if event.kind == EventKind::Message {
            render(event.payload, event.ts, RecordKind::of_payload(event.payload), &shapes, (LINES, 0), &mut line)
                .ok_or_else(|| StreamError::log(event.seq, "has a shape that the log does not list"))?;
        } else {
            return Ok(());
        }
        show(&printed(&line, Numbers::Printed));
        Ok(())
    })
}
