//! Places a list of messages in the tree of a log: along existing nodes as long as
//! they are equal, then as repeats of known runs and new messages below them.

use std::collections::HashMap;

use crate::model::event::{Body, Draft, EventKind};
use crate::model::heads::{Head, HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::stream::{EventSink, StreamError};

/// How many repeats below one node that begin alike are compared: a hostile source
/// may have any number of them.
const MOST_CANDIDATES: usize = 8;

/// The repeats of a log, to be walked again instead of written again.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Repeats {
    /// By parent and first message.
    below: HashMap<(Seq, Seq), Vec<Seq>>,
    /// First and last message of each.
    runs: HashMap<Seq, (Seq, Seq)>,
}

impl Repeats {
    /// Puts a repeat and remembers it.
    pub(in crate::adapters) fn put(&mut self, events: &mut dyn EventSink, parent: Seq, first: Seq, last: Seq) -> Result<Seq, StreamError> {
        let repeat = Repeat { first, last, source_id: None };
        let seq = events.put(Draft { ts: None, parent: Some(parent), body: Body::Repeat(&repeat) })?;
        self.note(seq, parent, first, last);
        Ok(seq)
    }

    /// Remembers a repeat that was put.
    pub(in crate::adapters) fn note(&mut self, seq: Seq, parent: Seq, first: Seq, last: Seq) {
        self.below.entry((parent, first)).or_default().push(seq);
        self.runs.insert(seq, (first, last));
    }

    /// Returns the last message of a node: its own, or that of its run.
    pub(in crate::adapters) fn last_message(&self, node: Seq) -> Seq {
        self.runs.get(&node).map_or(node, |(_, last)| *last)
    }

    /// Returns the first message of a node.
    pub(in crate::adapters) fn first_message(&self, node: Seq) -> Seq {
        self.runs.get(&node).map_or(node, |(first, _)| *first)
    }

    /// Returns the longest repeat below `parent` whose whole run is what comes next,
    /// and how many messages that is.
    fn matching(&self, events: &dyn EventSink, parent: Seq, ahead: &mut dyn FnMut(usize) -> Option<Seq>) -> Option<(Seq, usize)> {
        let candidates = self.below.get(&(parent, ahead(0)?))?;
        let mut best: Option<(Seq, usize)> = None;
        for &candidate in candidates.iter().rev().take(MOST_CANDIDATES) {
            let (first, last) = self.runs[&candidate];
            let mut run = vec![last];
            while let Some(&top) = run.last()
                && top != first
            {
                run.push(events.parent(top));
            }
            let fits = run.iter().rev().enumerate().all(|(n, message)| ahead(n) == Some(*message));
            if fits && best.is_none_or(|(_, len)| run.len() > len) {
                best = Some((candidate, run.len()));
            }
        }
        best
    }
}

/// One list on its way into the tree.
#[derive(Debug)]
pub(in crate::adapters) struct Placing {
    /// Where the list has come to.
    node: Seq,
    /// The head to be made where the list leaves what is there; `None` once it
    /// is made, or where none is wanted.
    head: Option<HeadName>,
    /// The head that is made, and current.
    made: Option<HeadName>,
    /// Whether the list still goes along what is there.
    shared: bool,
    /// A run of known messages not yet written.
    run: Option<(Seq, Seq)>,
    /// Messages that a repeat which is walked along covers already.
    covered: usize,
}

impl Placing {
    /// Returns a list that makes this head.
    pub(in crate::adapters) fn for_head(head: HeadName) -> Placing {
        Placing { node: Seq::ROOT, head: Some(head), made: None, shared: true, run: None, covered: 0 }
    }

    /// Returns a list that makes no head: the first one, or that of an event.
    pub(in crate::adapters) fn without_head() -> Placing {
        Placing { node: Seq::ROOT, head: None, made: Some(HeadName::main()), shared: true, run: None, covered: 0 }
    }

    /// Returns where the list has come to, with what is known of it written.
    pub(in crate::adapters) fn node(&self) -> Seq {
        self.node
    }

    /// Returns the head that the list's own nodes move, once there is one.
    pub(in crate::adapters) fn made_head(&self) -> Option<&HeadName> {
        self.made.as_ref()
    }

    /// Places a message that is in the log. `ahead(n)` is the n-th message from
    /// this one on, as far as they are known.
    pub(in crate::adapters) fn known(
        &mut self,
        message: Seq,
        events: &mut dyn EventSink,
        repeats: &mut Repeats,
        ahead: &mut dyn FnMut(usize) -> Option<Seq>,
    ) -> Result<(), StreamError> {
        if self.covered > 0 {
            self.covered -= 1;
            return Ok(());
        }
        if self.shared {
            if events.parent(message) == self.node && events.kind(message) == EventKind::Message {
                self.node = message;
                return Ok(());
            }
            if let Some((repeat, len)) = repeats.matching(events, self.node, ahead) {
                self.node = repeat;
                self.covered = len - 1;
                return Ok(());
            }
            self.leave(events)?;
        }
        match &mut self.run {
            Some((_, last)) if events.parent(message) == *last => *last = message,
            _ => {
                self.write_run(events, repeats)?;
                self.run = Some((message, message));
            }
        }
        Ok(())
    }

    /// Makes ready for a new message: its parent.
    pub(in crate::adapters) fn parent_of_new(&mut self, events: &mut dyn EventSink, repeats: &mut Repeats) -> Result<Seq, StreamError> {
        self.leave(events)?;
        self.write_run(events, repeats)?;
        Ok(self.node)
    }

    /// A new message was put below that parent.
    pub(in crate::adapters) fn added(&mut self, message: Seq) {
        self.node = message;
    }

    /// The list is complete: its node.
    pub(in crate::adapters) fn finish(mut self, events: &mut dyn EventSink, repeats: &mut Repeats) -> Result<Seq, StreamError> {
        self.leave(events)?;
        self.write_run(events, repeats)?;
        Ok(self.node)
    }

    /// Leaves what is there: from here on the list has nodes of its own.
    fn leave(&mut self, events: &mut dyn EventSink) -> Result<(), StreamError> {
        self.shared = false;
        if let Some(head) = self.head.take() {
            let made = Head::to(&head, self.node, HeadOp::Branch);
            events.put(Draft { ts: None, parent: None, body: Body::Head(&made) })?;
            self.made = Some(head);
        }
        Ok(())
    }

    fn write_run(&mut self, events: &mut dyn EventSink, repeats: &mut Repeats) -> Result<(), StreamError> {
        if let Some((first, last)) = self.run.take() {
            self.node = repeats.put(events, self.node, first, last)?;
        }
        Ok(())
    }
}
