//! Forks on their way from an old log into the one that takes its place: each
//! node is looked for in the new log, and each fork put at it again.

use foldhash::fast::FixedState;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use crate::model::event::{EventKind, EventRef};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::contain::identity;
use super::fork::{Fork, numbered};
use super::view::LogView;

/// The forks that a new log is to get.
#[derive(Debug)]
pub struct Carry {
    taken: BTreeSet<HeadName>,
    /// Those that the new log has.
    standing: Vec<Fork>,
    /// Those that it is to get.
    forks: Vec<Fork>,
    renamed: Vec<(HeadName, HeadName)>,
}

impl Carry {
    /// Returns an empty list of forks for this new log.
    pub fn into_log<R: ReadAt>(new: &LogView<R>) -> Carry {
        let node = |name: &HeadName| new.state().head(name).unwrap_or(Seq::ROOT);
        Carry {
            taken: new.state().heads().map(|(name, _)| name.clone()).collect(),
            standing: new.forks().iter().map(|name| Fork { name: name.clone(), node: node(name) }).collect(),
            forks: Vec::new(),
            renamed: Vec::new(),
        }
    }

    /// Adds the forks of an old log, and returns those whose node the new log does not
    /// have.
    ///
    /// # Errors
    /// When either cannot be read.
    pub fn take<A: ReadAt, B: ReadAt>(&mut self, old: &mut LogView<A>, new: &mut LogView<B>) -> Result<Vec<HeadName>, StreamError> {
        if old.forks().is_empty() {
            return Ok(Vec::new());
        }
        let names = old.forks().to_vec();
        let reserved: BTreeSet<HeadName> = names.iter().cloned().collect();
        let nodes: Vec<Seq> = names.iter().map(|name| old.state().head(name).unwrap_or(Seq::ROOT)).collect();
        let mut lost = Vec::new();
        for (name, node) in names.into_iter().zip(found_again(&nodes, old, new)?) {
            match node {
                Some(node) => self.put(name, node, &reserved),
                None => lost.push(name),
            }
        }
        Ok(lost)
    }

    fn put(&mut self, name: HeadName, node: Seq, reserved: &BTreeSet<HeadName>) {
        if self.has(&name, node) {
            return;
        }
        // The source may have given that name to a head of its own since.
        let is_taken = |other: &HeadName| self.taken.contains(other) || reserved.contains(other);
        let new_name = if self.taken.contains(&name) { numbered(&name.name, 2, is_taken) } else { name.clone() };
        if new_name != name {
            self.renamed.push((name, new_name.clone()));
        }
        self.taken.insert(new_name.clone());
        self.forks.push(Fork { name: new_name, node });
    }

    /// Tells whether a fork stands at a node already, under its name or, where that
    /// is taken, under one made from it.
    fn has(&self, name: &HeadName, node: Seq) -> bool {
        let is_taken = self.taken.contains(name);
        let is_made_from = |other: &str| {
            let number = other.strip_prefix(name.name.as_str()).and_then(|rest| rest.strip_prefix('-'));
            is_taken && number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut there = self.standing.iter().chain(&self.forks).filter(|fork| fork.node == node);
        there.any(|fork| fork.name == *name || is_made_from(&fork.name.name))
    }

    /// Returns those that the new log is to get.
    #[must_use]
    pub fn forks(&self) -> &[Fork] {
        &self.forks
    }

    /// Returns those that have another name now, and which.
    #[must_use]
    pub fn renamed(&self) -> &[(HeadName, HeadName)] {
        &self.renamed
    }
}

/// What tells a node from others: its content, its depth, and the path to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NodeMark {
    /// What the last entry of it says; of a repeat that is its last message.
    says: u64,
    depth: u64,
    /// All that stands on the path to it.
    path: u64,
    /// How many nodes of its kind stand before it in the log with that path.
    nth: u32,
}

/// Any odd number without a pattern will do: paths of equal entries are told
/// apart by their order.
const ORDER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the marks of a log's nodes, by number. Repeats cost nothing, because the mark
/// of a run is the difference of two paths.
fn marks<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<NodeMark>, StreamError> {
    let nothing = NodeMark { says: 0, depth: 0, path: 0, nth: 0 };
    let mut marks = vec![nothing; log.last().index() + 1];
    let mut alike: HashMap<(u64, EventKind), u32, FixedState> = HashMap::default();
    for seq in (1..=log.last().number()).map(Seq::new) {
        if !log.is_node(seq) {
            continue;
        }
        let above = marks[log.parent(seq).index()];
        let (says, depth, path) = match log.repeat(seq) {
            Some((first, last)) => {
                let (last, before) = (marks[last.index()], marks[log.parent(first).index()]);
                let len = last.depth.saturating_sub(before.depth);
                let shift = power(ORDER, len);
                let run = last.path.wrapping_sub(before.path.wrapping_mul(shift));
                (last.says, above.depth.saturating_add(len), above.path.wrapping_mul(shift).wrapping_add(run))
            }
            None => {
                let says = identity(&log.event(seq)?);
                (says, above.depth.saturating_add(1), above.path.wrapping_mul(ORDER).wrapping_add(says))
            }
        };
        let before = alike.entry((path, log.kind(seq))).or_default();
        marks[seq.index()] = NodeMark { says, depth, path, nth: *before };
        *before += 1;
    }
    Ok(marks)
}

fn power(base: u64, exponent: u64) -> u64 {
    let (mut result, mut square, mut left) = (1_u64, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    result
}

/// What a node was found by, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    Id,
    Words,
}

/// How well a node of the new log stands for one of the old: the least is the
/// best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    by: By,
    has_other_path: bool,
    depth_apart: u64,
    is_other_kind: bool,
    nth_apart: u32,
    node: Seq,
}

/// Returns the source's id of a node's record. Repeats have numbers that are counted from 1 in
/// each of several files.
fn record_id<'e>(event: &EventRef<'e>) -> Option<Cow<'e, str>> {
    if event.kind == EventKind::Repeat { None } else { event.source_id() }
}

/// Returns where nodes of the old log stand in the new one: by the source's id, else by
/// what they say; of several on the same path, else nearest to the same depth.
fn found_again<A: ReadAt, B: ReadAt>(nodes: &[Seq], old: &mut LogView<A>, new: &mut LogView<B>) -> Result<Vec<Option<Seq>>, StreamError> {
    let (old_marks, new_marks) = (marks(old)?, marks(new)?);
    let mut by_id: HashMap<String, Vec<usize>, FixedState> = HashMap::default();
    let mut by_words: HashMap<u64, Vec<usize>, FixedState> = HashMap::default();
    for (n, node) in nodes.iter().enumerate() {
        if !old.is_node(*node) {
            continue;
        }
        by_words.entry(old_marks[node.index()].says).or_default().push(n);
        if let Some(id) = record_id(&old.event(*node)?) {
            by_id.entry(id.into_owned()).or_default().push(n);
        }
    }
    let mut best: Vec<Option<Fit>> = vec![None; nodes.len()];
    for seq in (1..=new.last().number()).map(Seq::new) {
        if !new.is_node(seq) {
            continue;
        }
        let (mark, kind) = (new_marks[seq.index()], new.kind(seq));
        let mut offer = |n: usize, by: By, old_kind: EventKind| {
            let wanted = old_marks[nodes[n].index()];
            let fit = Fit {
                by,
                has_other_path: wanted.path != mark.path,
                depth_apart: wanted.depth.abs_diff(mark.depth),
                is_other_kind: kind != old_kind,
                nth_apart: wanted.nth.abs_diff(mark.nth),
                node: seq,
            };
            best[n] = Some(best[n].map_or(fit, |before| before.min(fit)));
        };
        for &n in by_words.get(&mark.says).into_iter().flatten() {
            offer(n, By::Words, old.kind(nodes[n]));
        }
        if by_id.is_empty() {
            continue;
        }
        if let Some(id) = record_id(&new.event(seq)?) {
            for &n in by_id.get(id.as_ref()).into_iter().flatten() {
                offer(n, By::Id, old.kind(nodes[n]));
            }
        }
    }
    let found = |(n, node): (usize, &Seq)| if node.is_root() { Some(Seq::ROOT) } else { best[n].map(|fit| fit.node) };
    Ok(nodes.iter().enumerate().map(found).collect())
}
