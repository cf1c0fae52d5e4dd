//! Where each event of a log stands, what it says, and what stands above it:
//! a few bytes per event, so that a log is never held in memory.

use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

const NO_NODE: u32 = u32::MAX;

/// The table of a log's events, by number.
#[derive(Debug, Clone)]
pub(super) struct Index {
    starts: Vec<u64>,
    kinds: Vec<EventKind>,
    parents: Vec<u32>,
    /// Number, first and last of every repeat, by number.
    repeats: Vec<(Seq, Seq, Seq)>,
    end: u64,
}

impl Index {
    pub(super) fn new() -> Index {
        // Entry 0 is the root, so that numbers are indexes.
        Index { starts: vec![0], kinds: vec![EventKind::Unknown], parents: vec![NO_NODE], repeats: Vec::new(), end: 0 }
    }

    pub(super) fn push(&mut self, kind: EventKind, parent: Option<Seq>, repeat: Option<(Seq, Seq)>, line_len: u64) -> Seq {
        let seq = self.next();
        self.starts.push(self.end);
        self.kinds.push(kind);
        self.parents.push(parent.map_or(NO_NODE, Seq::number));
        if let Some((first, last)) = repeat {
            self.repeats.push((seq, first, last));
        }
        self.end += line_len;
        seq
    }

    /// The number that the next event will have.
    pub(super) fn next(&self) -> Seq {
        Seq::new(self.starts.len() as u32)
    }

    pub(super) fn last(&self) -> Seq {
        Seq::new(self.starts.len() as u32 - 1)
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    pub(super) fn kind(&self, seq: Seq) -> EventKind {
        self.kinds.get(seq.index()).copied().unwrap_or(EventKind::Unknown)
    }

    pub(super) fn is_node(&self, seq: Seq) -> bool {
        self.parents.get(seq.index()).is_some_and(|&parent| parent != NO_NODE)
    }

    pub(super) fn parent(&self, seq: Seq) -> Seq {
        match self.parents.get(seq.index()) {
            Some(&parent) if parent != NO_NODE => Seq::new(parent),
            _ => Seq::ROOT,
        }
    }

    /// The bytes of an event's line, its `\n` included.
    pub(super) fn span(&self, seq: Seq) -> Option<(u64, u64)> {
        if seq.is_root() {
            return None;
        }
        let start = *self.starts.get(seq.index())?;
        Some((start, self.starts.get(seq.index() + 1).copied().unwrap_or(self.end)))
    }

    /// The messages of a repeat, last to first.
    fn run_backwards(&self, repeat: Seq, out: &mut Vec<Seq>) -> Result<(), StreamError> {
        let Ok(at) = self.repeats.binary_search_by_key(&repeat, |(seq, _, _)| *seq) else {
            return Err(StreamError::log(repeat, "is no repeat"));
        };
        let (_, first, last) = self.repeats[at];
        let mut node = last;
        loop {
            // Parents are smaller than their nodes, so this ends.
            if node < first || self.kind(node) != EventKind::Message {
                return Err(StreamError::log(repeat, format!("repeats {first} to {last}, which is no run of messages")));
            }
            out.push(node);
            if node == first {
                return Ok(());
            }
            node = self.parent(node);
        }
    }

    /// The nodes on the walk to `node` with repeats expanded, first to last. A
    /// repeat can stand on a path many times over in a hostile log, so the walk
    /// stops at `limit`.
    pub(super) fn path(&self, node: Seq, limit: usize) -> Result<Vec<Seq>, StreamError> {
        let mut path = Vec::new();
        let mut at = node;
        while !at.is_root() {
            if self.kind(at) == EventKind::Repeat {
                self.run_backwards(at, &mut path)?;
            } else {
                path.push(at);
            }
            if path.len() > limit {
                return Err(StreamError::log(node, "has a path longer than any source could have had"));
            }
            at = self.parent(at);
        }
        path.reverse();
        Ok(path)
    }

    /// The messages that one node adds to a path, first to last.
    pub(super) fn expanded(&self, node: Seq) -> Result<Vec<Seq>, StreamError> {
        if self.kind(node) != EventKind::Repeat {
            return Ok(vec![node]);
        }
        let mut run = Vec::new();
        self.run_backwards(node, &mut run)?;
        run.reverse();
        Ok(run)
    }
}
