//! What the program would show of a message: `{info, parts}`, as its interface
//! answers.

use crate::adapters::kit::mapping::To;
use crate::json;
use crate::model::event::EventKind;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{Numbers, printed};

use super::message::{self, Owner, member};
use super::part;
use super::schema::{COMPACT, MESSAGE};

/// Makes what renders the messages of a log with these shapes.
pub(in crate::adapters) fn message_renderer(shapes: &[Order]) -> Box<MessageRenderer> {
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    Box::new(move |shown, show| {
        let event = shown.event;
        if event.kind != EventKind::Message {
            return Ok(());
        }
        let mut line = b"{\"info\":".to_vec();
        message::render(event.payload, event.ts, &shapes, COMPACT, &mut line)
            .ok_or_else(|| StreamError::log(event.seq, "has a shape that the log does not list"))?;
        line.extend_from_slice(b",\"parts\":[");
        let items: Vec<&[u8]> = member(event.payload, "content").into_iter().flat_map(json::elements).collect();
        let owner = Owner::of_payload(event.payload);
        let mut at = 0;
        while at < items.len() {
            if at > 0 {
                line.push(b',');
            }
            at += part::render(&items[at..], owner, To { style: COMPACT, depth: 0, out: &mut line }).max(1);
        }
        line.extend_from_slice(b"]}");
        show(&printed(json::Value::trusted(&line), Numbers::Printed));
        Ok(())
    })
}
