//! The list that one file comes to, and the moves of its head: what the program
//! does to its map of messages, done to a path of the log's tree.

use std::collections::HashMap;

use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::place::Placing;
use crate::model::event::EventKind;
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::stream::{EventSink, StreamError};

use super::message::Sight;
use super::messages::{Looked, Messages};

/// One place of the list.
#[derive(Debug, Clone)]
struct Slot {
    id: Vec<u8>,
    message: Seq,
    /// The node that has brought it: the message itself, or a repeat.
    node: Seq,
}

/// The list of one file, with the head that follows it.
#[derive(Debug)]
pub(super) struct Lane {
    /// None where the program shows nothing of the file.
    head: Option<HeadName>,
    slots: Vec<Slot>,
    places: HashMap<Vec<u8>, usize>,
    /// The end of the list.
    pub node: Seq,
    /// Whether the log knows the head yet.
    is_made: bool,
}

/// A message of a list that is set as a whole.
pub(super) struct Listed<'a> {
    pub id: Vec<u8>,
    pub record: &'a [u8],
}

impl Lane {
    /// An empty list, which makes this head.
    pub(super) fn begin(to: &mut Conversion<'_, '_>, head: Option<HeadName>) -> Result<Lane, StreamError> {
        // The log begins on its main head, which the first node makes.
        let is_made = head.as_ref() != Some(&HeadName::main());
        match head.as_ref().filter(|_| is_made) {
            Some(head) => to.put_head(head, Seq::ROOT, HeadOp::Branch)?,
            None if is_made => switch_to_none(to)?,
            None => {}
        }
        Ok(Lane { head, slots: Vec::new(), places: HashMap::new(), node: Seq::ROOT, is_made })
    }

    /// Makes the head, where no record did.
    pub(super) fn finish(self, to: &mut Conversion<'_, '_>) -> Result<(), StreamError> {
        match self.head.filter(|_| !self.is_made) {
            Some(head) => to.put_head(&head, Seq::ROOT, HeadOp::Branch),
            None => Ok(()),
        }
    }

    /// How many messages it has.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    fn move_to(&mut self, to: &mut Conversion<'_, '_>, node: Seq, op: HeadOp) -> Result<(), StreamError> {
        self.node = node;
        self.is_made = true;
        self.head.as_ref().map_or(Ok(()), |head| to.put_head(head, node, op))
    }

    /// Sets one message: a known id keeps its place.
    pub(super) fn set<'a>(
        &mut self,
        to: &mut Conversion<'a, '_>,
        messages: &mut Messages<'a>,
        id: &[u8],
        looked: Looked<'a>,
    ) -> Result<Seq, StreamError> {
        let at = self.places.get(id).copied().unwrap_or(self.slots.len());
        if let (Looked::Known(seq, _), Some(slot)) = (&looked, self.slots.get(at))
            && slot.message == *seq
        {
            return Ok(*seq);
        }
        let tail: Vec<Slot> = self.slots.split_off((at + 1).min(self.slots.len()));
        self.slots.truncate(at);
        let parent = self.end(to, messages)?;
        let (message, node) = match looked {
            Looked::New(new) => {
                let seq = messages.put(to, *new, parent)?;
                (seq, seq)
            }
            Looked::Known(seq, _) if to.events.parent(seq) == parent && tail.is_empty() => {
                self.move_to(to, seq, HeadOp::Load)?;
                (seq, seq)
            }
            Looked::Known(seq, _) => (seq, messages.repeats.put(to.events, parent, seq, seq)?),
        };
        self.is_made = true;
        self.places.insert(id.to_vec(), at);
        self.slots.push(Slot { id: id.to_vec(), message, node });
        self.node = node;
        self.follow(to, messages, tail)?;
        Ok(message)
    }

    /// Puts the rest of a list after a place that has changed: the same
    /// messages once more, in runs.
    fn follow<'a>(&mut self, to: &mut Conversion<'a, '_>, messages: &mut Messages<'a>, tail: Vec<Slot>) -> Result<(), StreamError> {
        let mut from = 0;
        while let Some(first) = tail.get(from) {
            let run = tail[from..].windows(2).take_while(|two| to.events.parent(two[1].message) == two[0].message).count() + 1;
            let last = &tail[from + run - 1];
            self.node = messages.repeats.put(to.events, self.node, first.message, last.message)?;
            let node = self.node;
            self.slots.extend(tail[from..from + run].iter().map(|slot| Slot { node, ..slot.clone() }));
            from += run;
        }
        Ok(())
    }

    /// The node at the end of a list that was cut: inside a repeat nothing has a
    /// number, so a shorter one is written.
    fn end<'a>(&mut self, to: &mut Conversion<'a, '_>, messages: &mut Messages<'a>) -> Result<Seq, StreamError> {
        let Some(Slot { message, node, .. }) = self.slots.last().cloned() else { return Ok(Seq::ROOT) };
        if messages.repeats.last_message(node) == message {
            return Ok(node);
        }
        let (parent, first) = (to.events.parent(node), messages.repeats.first_message(node));
        let shorter = messages.repeats.put(to.events, parent, first, message)?;
        self.is_made = true;
        for slot in self.slots.iter_mut().rev().take_while(|slot| slot.node == node) {
            slot.node = shorter;
        }
        Ok(shorter)
    }

    /// Takes back everything from a message on, or all where it is not there.
    pub(super) fn rewind<'a>(&mut self, to: &mut Conversion<'a, '_>, messages: &mut Messages<'a>, id: &[u8]) -> Result<(), StreamError> {
        let at = self.places.get(id).copied().unwrap_or(0);
        for slot in self.slots.drain(at..) {
            self.places.remove(&slot.id);
        }
        let node = self.end(to, messages)?;
        self.move_to(to, node, HeadOp::Undo)
    }

    /// Sets the whole list, in which each id stands once.
    pub(super) fn refill<'a>(
        &mut self,
        to: &mut Conversion<'a, '_>,
        messages: &mut Messages<'a>,
        list: Vec<Listed<'a>>,
    ) -> Result<(), StreamError> {
        let is_same = list.len() == self.slots.len()
            && list.iter().zip(&self.slots).all(|(new, slot)| messages.by_record(new.record) == Some(slot.message));
        if is_same && self.is_made {
            return Ok(());
        }
        let mut placing = Placing::without_head();
        let mut placed = Vec::with_capacity(list.len());
        for (n, Listed { record, .. }) in list.iter().enumerate() {
            match messages.look(record, Sight::Shown) {
                Looked::Known(seq, _) => {
                    let mut runs = std::mem::take(&mut messages.repeats);
                    let mut ahead =
                        |k: usize| if k == 0 { Some(seq) } else { list.get(n + k).and_then(|later| messages.by_record(later.record)) };
                    let done = placing.known(seq, to.events, &mut runs, &mut ahead);
                    messages.repeats = runs;
                    done?;
                    placed.push(seq);
                }
                Looked::New(new) => {
                    let parent = placing.parent_of_new(to.events, &mut messages.repeats)?;
                    let seq = messages.put(to, *new, parent)?;
                    placing.added(seq);
                    placed.push(seq);
                }
            }
        }
        let node = placing.finish(to.events, &mut messages.repeats)?;
        let nodes = nodes_of(to.events, messages, &placed, node);
        self.places = list.iter().enumerate().map(|(n, new)| (new.id.clone(), n)).collect();
        let slots = list.into_iter().zip(placed).zip(nodes);
        self.slots = slots.map(|((Listed { id, .. }, message), node)| Slot { id, message, node }).collect();
        self.move_to(to, node, HeadOp::Load)
    }

    /// Puts a message beside the list: one that the loader does not see.
    pub(super) fn beside<'a>(
        &mut self,
        to: &mut Conversion<'a, '_>,
        messages: &mut Messages<'a>,
        looked: Looked<'a>,
    ) -> Result<Seq, StreamError> {
        match looked {
            Looked::Known(seq, _) => Ok(seq),
            Looked::New(new) => {
                let seq = messages.put(to, *new, self.node)?;
                self.move_to(to, self.node, HeadOp::Undo)?;
                Ok(seq)
            }
        }
    }
}

/// Makes no head the current one: what follows moves none.
pub(super) fn switch_to_none(to: &mut Conversion<'_, '_>) -> Result<(), StreamError> {
    to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)
}

/// Which node has brought each message of the list that ends at `node`.
fn nodes_of(events: &dyn EventSink, messages: &Messages<'_>, placed: &[Seq], node: Seq) -> Vec<Seq> {
    let mut nodes = vec![Seq::ROOT; placed.len()];
    let (mut at, mut end) = (node, placed.len());
    while end > 0 && !at.is_root() {
        let first = messages.repeats.first_message(at);
        loop {
            end -= 1;
            nodes[end] = at;
            if placed[end] == first || end == 0 {
                break;
            }
        }
        at = events.parent(at);
    }
    nodes
}

/// Tells whether nothing that a file of records is made of stands between two
/// events.
pub(super) fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    let is_record = |kind: EventKind| matches!(kind, EventKind::Message | EventKind::Custom | EventKind::Damage | EventKind::Meta);
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| !is_record(events.kind(seq)))
}
