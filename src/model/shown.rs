//! The nodes of a path that are shown, and who renders them: the log knows which
//! nodes and their places, the adapter knows what its program would show of each.

use std::cell::Cell;

use super::event::{EventKind, EventRef};
use super::stream::StreamError;

/// The place of a node among those that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// On a path without a compaction, or after the last one.
    Plain,
    /// Before the last compaction, which keeps it.
    Kept,
    /// The last compaction itself, which stands first.
    Compaction,
    /// An earlier compaction among what the last one keeps.
    OlderCompaction,
}

/// One node that is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The node: of any kind but `repeat`, `edit` and `hide`.
    pub event: EventRef<'a>,
    /// Where it stands.
    pub place: Place,
    /// The `edit` event that replaces something of it. One that leaves it out
    /// does not come here.
    pub edit: Option<EventRef<'a>>,
    /// What the event is rendered to in its file, where that is known already.
    pub record: Option<&'a [u8]>,
}

impl<'a> Shown<'a> {
    /// Returns a node by itself.
    #[must_use]
    pub fn plain(event: EventRef<'a>) -> Shown<'a> {
        Shown { event, place: Place::Plain, edit: None, record: None }
    }
}

/// Renders a node as its program would show it: no line, one, or several, each of JSON
/// in the program's own shape.
pub type MessageRenderer = dyn Fn(&Shown<'_>, &mut dyn FnMut(&[u8])) -> Result<(), StreamError>;

/// Appends what the program would show of one message: a line of JSON.
pub type MessageLine = dyn Fn(&EventRef<'_>, &mut Vec<u8>) -> Result<(), StreamError>;

/// Shows messages, one line each, and nothing else.
#[must_use]
pub fn messages(line_of: Box<MessageLine>) -> Box<MessageRenderer> {
    let buffer = Cell::new(Vec::new());
    Box::new(move |shown, show| {
        if shown.event.kind != EventKind::Message {
            return Ok(());
        }
        let mut line = buffer.take();
        line.clear();
        line_of(&shown.event, &mut line)?;
        show(&line);
        buffer.set(line);
        Ok(())
    })
}
