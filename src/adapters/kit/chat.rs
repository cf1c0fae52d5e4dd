//! Answers in the manner of a chat interface, as several programs keep them: what
//! was thought in one text, and calls as functions with their arguments as text.

use crate::adapters::kit::object::{Object, list};
use crate::model::export::transcript::{Answer, Body, Piece, text_of};

/// Returns who says an entry, what it says, and with which pieces a person said it; `None`
/// for what is not said: a change of the model, a title.
pub(in crate::adapters) fn said(entry: &Body) -> Option<(&'static str, String, &[Piece])> {
    Some(match entry {
        Body::User(pieces) | Body::Note { pieces, .. } => ("user", text_of(pieces), pieces.as_slice()),
        Body::System(text) | Body::BranchSummary(text) | Body::Compaction { summary: text, .. } => ("user", text.clone(), &[]),
        Body::Answer(answer) => ("assistant", text_of(&answer.pieces), &[]),
        Body::Result(result) => ("tool", text_of(&result.pieces), &[]),
        Body::Model { .. } | Body::Title(_) => return None,
    })
}

/// Returns all that was thought, as one text.
pub(in crate::adapters) fn thinking(answer: &Answer) -> String {
    let thoughts = answer.pieces.iter().filter_map(|piece| match piece {
        Piece::Thinking { text, .. } => Some(text.as_str()),
        Piece::Text(_) | Piece::Image(_) | Piece::Call(_) => None,
    });
    thoughts.collect::<Vec<_>>().join("\n")
}

/// Returns the calls of an answer as a JSON list, each with its id under these names;
/// nothing where it has none.
pub(in crate::adapters) fn calls(answer: &Answer, ids: &[&str]) -> Option<Vec<u8>> {
    let calls = answer.calls().map(|call| {
        let mut function = Object::new();
        function.text("name", &call.name);
        function.text("arguments", &call.arguments);
        let mut object = Object::new();
        ids.iter().for_each(|name| object.text(name, &call.id));
        object.text("type", "function");
        object.json("function", function.finish());
        object.finish()
    });
    let calls: Vec<Vec<u8>> = calls.collect();
    (!calls.is_empty()).then(|| list(calls))
}
