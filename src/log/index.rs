//! Where each event of a log stands, what it says, and what stands above it:
//! a few bytes per event, so that a log is never held in memory.

use std::ops::Range;

use crate::model::event::{EventKind, Run};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

const NO_NODE: u32 = u32::MAX;

/// How far back two nodes of one run may stand from each other: after a
/// longer stretch of other lines a new run begins, which is as true.
const LONGEST_GAP: u32 = 64;

/// The walk to a node, first to last.
#[derive(Debug, Clone)]
pub(super) struct Path {
    /// Its nodes, repeats expanded.
    pub nodes: Vec<Seq>,
    /// The repeats on it, last to first.
    pub repeats: Vec<Expanded>,
}

/// A repeat, and the places of a path that it stands for.
#[derive(Debug, Clone)]
pub(super) struct Expanded {
    pub seq: Seq,
    pub places: Range<usize>,
}

/// The table of a log's events, by number.
#[derive(Debug, Clone)]
pub(super) struct Index {
    starts: Vec<u64>,
    kinds: Vec<EventKind>,
    parents: Vec<u32>,
    /// Number, first and last of every repeat, by number.
    repeats: Vec<(Seq, Seq, Seq)>,
    /// For every node but repeats, the first of its run on its own path. Two
    /// neighbours of a path share a run or not whatever else stands on it, so
    /// this never changes, and a path's runs cost what they are and not what
    /// they hold, whichever branch is asked for.
    run_firsts: Vec<Seq>,
    /// How many runs the path to each node has.
    run_counts: Vec<u32>,
    last_node: Seq,
    end: u64,
}

impl Index {
    pub(super) fn new() -> Index {
        // Entry 0 is the root, so that numbers are indexes.
        Index {
            starts: vec![0],
            kinds: vec![EventKind::Unknown],
            parents: vec![NO_NODE],
            repeats: Vec::new(),
            run_firsts: vec![Seq::ROOT],
            run_counts: vec![0],
            last_node: Seq::ROOT,
            end: 0,
        }
    }

    pub(super) fn push(&mut self, kind: EventKind, parent: Option<Seq>, repeat: Option<(Seq, Seq)>, line_len: u64) -> Seq {
        let seq = self.next();
        let (run_first, runs) = match (parent, repeat) {
            (None, _) => (Seq::ROOT, 0),
            (Some(parent), None) if self.continues(parent, seq) => (self.run_first(parent), self.run_count(parent)),
            (Some(parent), None) => (seq, self.run_count(parent).saturating_add(1)),
            (Some(parent), Some((first, last))) => {
                let inside = self.run_count(last).saturating_sub(self.run_count(first));
                let begins = u32::from(!self.follows(self.end_of(parent), first));
                (Seq::ROOT, self.run_count(parent).saturating_add(inside).saturating_add(begins))
            }
        };
        self.run_firsts.push(run_first);
        self.run_counts.push(runs);
        if parent.is_some() {
            self.last_node = seq;
        }
        self.starts.push(self.end);
        self.kinds.push(kind);
        self.parents.push(parent.map_or(NO_NODE, Seq::number));
        if let Some((first, last)) = repeat {
            self.repeats.push((seq, first, last));
        }
        self.end += line_len;
        seq
    }

    /// Returns the number that the next event will have.
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

    /// Returns the bytes of an event's line, its `\n` included.
    pub(super) fn span(&self, seq: Seq) -> Option<(u64, u64)> {
        if seq.is_root() {
            return None;
        }
        let start = *self.starts.get(seq.index())?;
        Some((start, self.starts.get(seq.index() + 1).copied().unwrap_or(self.end)))
    }

    /// Returns the first and the last message of a repeat; `None` for other events.
    pub(super) fn repeat(&self, seq: Seq) -> Option<(Seq, Seq)> {
        if self.kind(seq) != EventKind::Repeat {
            return None;
        }
        let at = self.repeats.binary_search_by_key(&seq, |(seq, _, _)| *seq).ok()?;
        self.repeats.get(at).map(|(_, first, last)| (*first, *last))
    }

    /// Returns the last node that a node adds to a path: itself, if it is not a repeat.
    fn end_of(&self, node: Seq) -> Seq {
        self.repeat(node).map_or(node, |(_, last)| last)
    }

    fn run_first(&self, node: Seq) -> Seq {
        self.run_firsts.get(node.index()).copied().unwrap_or(Seq::ROOT)
    }

    /// Returns how many runs the path to a node has.
    pub(super) fn run_count(&self, node: Seq) -> u32 {
        self.run_counts.get(node.index()).copied().unwrap_or(0)
    }

    /// Tells whether the next node, below `parent`, goes on with its run.
    fn continues(&self, parent: Seq, next: Seq) -> bool {
        parent == self.last_node
            && !parent.is_root()
            && next.number() - parent.number() <= LONGEST_GAP
            && self.kind(parent) != EventKind::Repeat
    }

    /// Tells whether `seq`, next to `before` on a path, belongs to the same run: no
    /// other node stands between them.
    fn follows(&self, before: Seq, seq: Seq) -> bool {
        !before.is_root()
            && before < seq
            && seq.number() - before.number() <= LONGEST_GAP
            && !(before.number() + 1..seq.number()).any(|between| self.is_node(Seq::new(between)))
    }

    /// Returns the nodes on the walk to `node`, repeats expanded, as runs.
    pub(super) fn runs(&self, node: Seq) -> Result<Vec<Run>, StreamError> {
        // From the end to the beginning, and turned round at last.
        let mut runs = Vec::new();
        let mut at = node;
        while self.is_node(at) {
            let Some((first, last)) = self.repeat(at) else {
                let first = self.run_first(at);
                self.push_run(&mut runs, first, at);
                at = self.parent(first);
                continue;
            };
            let mut end = last;
            loop {
                let begin = self.run_first(end);
                if begin.is_root() || end < first || !self.is_node(first) {
                    return Err(StreamError::log(at, format!("repeats {first} to {last}, which is not a run of messages")));
                }
                if begin <= first {
                    break;
                }
                self.push_run(&mut runs, begin, end);
                end = self.parent(begin);
            }
            self.push_run(&mut runs, first, end);
            at = self.parent(at);
        }
        runs.reverse();
        Ok(runs)
    }

    /// Puts a run before those that are there, or makes it one with the first
    /// of them.
    fn push_run(&self, runs: &mut Vec<Run>, first: Seq, last: Seq) {
        let (Some((start, _)), Some((_, end))) = (self.span(first), self.span(last)) else { return };
        match runs.last_mut() {
            Some(after) if self.follows(last, after.0) => *after = Run(first, after.1, start, after.3),
            _ => runs.push(Run(first, last, start, end)),
        }
    }

    /// The messages of a repeat, last to first.
    fn run_backwards(&self, repeat: Seq, out: &mut Vec<Seq>) -> Result<(), StreamError> {
        let Some((first, last)) = self.repeat(repeat) else {
            return Err(StreamError::log(repeat, "is not a repeat"));
        };
        let mut node = last;
        loop {
            // Parents are smaller than their nodes, so this ends.
            if node < first || self.kind(node) != EventKind::Message {
                return Err(StreamError::log(repeat, format!("repeats {first} to {last}, which is not a run of messages")));
            }
            out.push(node);
            if node == first {
                return Ok(());
            }
            node = self.parent(node);
        }
    }

    /// Tells whether every repeat names a run of messages, for all paths at once:
    /// walking each of them could take time without end.
    pub(super) fn check_repeats(&self) -> Result<(), StreamError> {
        let len = self.parents.len();
        // A node's descendants follow it in one stretch of an order in
        // which each node stands before those below it.
        let mut sizes = vec![1_u32; len];
        for at in (1..len).rev() {
            let above = self.parent(Seq::new(at as u32)).index();
            sizes[above] += sizes[at];
        }
        let (mut places, mut free) = (vec![0_u32; len], vec![1_u32; len]);
        let mut others = vec![0_u32; len];
        for at in 1..len {
            let above = self.parent(Seq::new(at as u32)).index();
            places[at] = free[above];
            free[above] += sizes[at];
            free[at] = places[at] + 1;
            others[at] = others[above] + u32::from(self.kinds[at] != EventKind::Message);
        }
        for &(repeat, first, last) in &self.repeats {
            let (top, end) = (first.index(), last.index());
            let is_run = self.is_node(first)
                && end < len
                && self.kind(first) == EventKind::Message
                && (places[top]..places[top] + sizes[top]).contains(&places[end])
                && others[top] == others[end];
            if !is_run {
                return Err(StreamError::log(repeat, format!("repeats {first} to {last}, which is not a run of messages")));
            }
        }
        Ok(())
    }

    /// Returns the nodes on the walk to `node` with repeats expanded, first to last. A
    /// repeat can stand on a path many times over in a hostile log, so the walk
    /// stops at `limit`.
    pub(super) fn path(&self, node: Seq, limit: usize) -> Result<Path, StreamError> {
        let (mut nodes, mut repeats) = (Vec::new(), Vec::new());
        let mut at = node;
        while !at.is_root() {
            let after = nodes.len();
            if self.kind(at) == EventKind::Repeat {
                self.run_backwards(at, &mut nodes)?;
                repeats.push(Expanded { seq: at, places: after..nodes.len() });
            } else {
                nodes.push(at);
            }
            if nodes.len() > limit {
                return Err(StreamError::log(node, "has a path longer than any source could have had"));
            }
            at = self.parent(at);
        }
        nodes.reverse();
        for Expanded { places, .. } in &mut repeats {
            *places = nodes.len() - places.end..nodes.len() - places.start;
        }
        Ok(Path { nodes, repeats })
    }
}

#[cfg(test)]
mod tests;
