//! What is shown of a path, item by item, and who turns an item into lines:
//! the log says which nodes and where they stand, the adapter what its program
//! would show of each.

use std::cell::Cell;

use super::event::{EventKind, EventRef};
use super::stream::StreamError;

/// Where an item stands among those that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// On a path without a compaction, or behind the last one.
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
    /// A node by itself.
    #[must_use]
    pub fn plain(event: EventRef<'a>) -> Shown<'a> {
        Shown { event, place: Place::Plain, edit: None, record: None }
    }
}

/// Hands on what the program would show of one item, as lines of JSON in the
/// program's own shape: none, one, or several.
pub type Shower = dyn Fn(&Shown<'_>, &mut dyn FnMut(&[u8])) -> Result<(), StreamError>;

/// Appends what the program would show of one message: a line of JSON.
pub type MessageLine = dyn Fn(&EventRef<'_>, &mut Vec<u8>) -> Result<(), StreamError>;

/// Shows messages, one line each, and nothing else.
#[must_use]
pub fn messages(line_of: Box<MessageLine>) -> Box<Shower> {
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
