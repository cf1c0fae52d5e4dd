//! The parts of one message, as the content of a message in the log.

use crate::json;
use crate::runtimes::javascript::{Value, decode_utf8};

use super::message::Owner;
use super::part;

/// The content of a message, and where in it each part of the program begins.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Content {
    pub list: Vec<u8>,
    pub places: Vec<usize>,
}

impl Content {
    /// Puts parts together that are of one message.
    pub(in crate::adapters) fn of<'p>(parts: impl Iterator<Item = Value<'p>>, owner: Owner<'_>) -> Content {
        let mut list = b"[".to_vec();
        let mut places = Vec::new();
        let mut at = 0;
        for part in parts {
            if at > 0 {
                list.push(b',');
            }
            places.push(at);
            let start = list.len();
            part::push(&decode_utf8(part.token()), owner, &mut list);
            // A call and its result are two.
            list.insert(start, b'[');
            list.push(b']');
            at += json::elements(&list[start..]).count();
            list.pop();
            list.remove(start);
        }
        list.push(b']');
        Content { list, places }
    }
}

/// Returns who said what only the parts are left of: a model's answer has steps.
pub(in crate::adapters) fn role_of<'p>(mut parts: impl Iterator<Item = Value<'p>>) -> &'static str {
    let is_of_model = |part: Value<'p>| {
        let kind = part.get("type");
        ["step-start", "step-finish", "tool", "reasoning"].iter().any(|name| kind.is(name))
    };
    if parts.any(is_of_model) { "assistant" } else { "user" }
}
