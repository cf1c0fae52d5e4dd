//! The state that a log's lines fold to: where each head stands, which one is
//! current, and the current head's path as runs of lines.

use std::collections::BTreeMap;

use crate::model::event::{Checkpoint, Run};
use crate::model::heads::{Head, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::index::Index;

/// Heads and the current one.
#[derive(Debug, Clone)]
pub struct State {
    heads: BTreeMap<HeadName, Seq>,
    current: Option<HeadName>,
}

impl Default for State {
    fn default() -> Self {
        State { heads: BTreeMap::new(), current: Some(HeadName::main()) }
    }
}

impl State {
    /// Where a head stands, if there is one of that name.
    #[must_use]
    pub fn head(&self, name: &HeadName) -> Option<Seq> {
        self.heads.get(name).copied()
    }

    /// Every head and its node.
    pub fn heads(&self) -> impl Iterator<Item = (&HeadName, Seq)> {
        self.heads.iter().map(|(name, node)| (name, *node))
    }

    /// How many heads there are.
    pub(super) fn head_count(&self) -> usize {
        self.heads.len()
    }

    /// The head that appends move.
    #[must_use]
    pub fn current(&self) -> Option<&HeadName> {
        self.current.as_ref()
    }

    /// A message or a repeat was appended.
    pub(super) fn node(&mut self, seq: Seq) {
        let Some(current) = &self.current else { return };
        match self.heads.get_mut(current) {
            Some(node) => *node = seq,
            None => {
                self.heads.insert(current.clone(), seq);
            }
        }
    }

    /// A head moved.
    pub(super) fn head_moved(&mut self, head: &Head) {
        let name = head.head_name();
        match head.op {
            HeadOp::Switch if head.name.is_empty() => self.current = None,
            HeadOp::Switch => self.current = Some(name),
            HeadOp::Branch => {
                self.heads.insert(name.clone(), head.node);
                self.current = Some(name);
            }
            HeadOp::Append | HeadOp::Undo | HeadOp::Edit | HeadOp::Load => {
                self.heads.insert(name, head.node);
            }
        }
    }
}

/// The path of the current head as runs, kept up to date as the log grows, so
/// that a checkpoint costs what changed and not what there is.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRuns {
    runs: Vec<Run>,
    node: Seq,
    /// The runs are not those of `node` and must be computed anew.
    stale: bool,
}

/// How far back two nodes of one run may stand from each other: behind a
/// longer stretch of other lines a new run begins, which is as true.
const LONGEST_GAP: u32 = 64;

impl PathRuns {
    /// A node was appended to the current head.
    pub(super) fn append(&mut self, node: Seq, index: &Index) -> Result<(), StreamError> {
        if index.parent(node) != self.node {
            self.stale = true;
        }
        self.node = node;
        if self.stale {
            return Ok(());
        }
        for message in index.expanded(node)? {
            push(&mut self.runs, message, index);
        }
        Ok(())
    }

    /// The current head stands elsewhere now. A short way up is undone step by
    /// step; anything else waits for the next checkpoint.
    pub(super) fn moved(&mut self, node: Seq, index: &Index) -> Result<(), StreamError> {
        let mut steps = 0;
        while !self.stale && self.node != node {
            if self.node < node || self.node.is_root() || steps > 1000 {
                self.stale = true;
                break;
            }
            for message in index.expanded(self.node)?.into_iter().rev() {
                pop(&mut self.runs, message, index);
            }
            self.node = index.parent(self.node);
            steps += 1;
        }
        self.node = node;
        Ok(())
    }

    pub(super) fn runs(&mut self, index: &Index) -> Result<&[Run], StreamError> {
        if self.stale {
            self.runs = runs_to(self.node, index)?;
            self.stale = false;
        }
        Ok(&self.runs)
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }
}

fn runs_to(node: Seq, index: &Index) -> Result<Vec<Run>, StreamError> {
    let mut runs = Vec::new();
    for message in index.path(node, usize::MAX)? {
        push(&mut runs, message, index);
    }
    Ok(runs)
}

fn push(runs: &mut Vec<Run>, seq: Seq, index: &Index) {
    let Some((start, end)) = index.span(seq) else { return };
    if let Some(Run(_, last, _, run_end)) = runs.last_mut()
        && *last < seq
        && seq.number() - last.number() <= LONGEST_GAP
        && !(last.number() + 1..seq.number()).any(|between| index.is_node(Seq::new(between)))
    {
        *last = seq;
        *run_end = end;
        return;
    }
    runs.push(Run(seq, seq, start, end));
}

fn pop(runs: &mut Vec<Run>, seq: Seq, index: &Index) {
    let Some(Run(first, last, _, end)) = runs.last_mut() else { return };
    if *first >= seq {
        runs.pop();
        return;
    }
    let above = (first.number()..seq.number()).rev().map(Seq::new).find(|&seq| index.is_node(seq));
    if let Some(above) = above
        && let Some((_, above_end)) = index.span(above)
    {
        *last = above;
        *end = above_end;
    }
}

/// The checkpoint for the current head, or for `of` where it is another.
pub(super) fn checkpoint(state: &State, path: &mut PathRuns, of: Option<&HeadName>, index: &Index) -> Result<Checkpoint, StreamError> {
    let heads = state.heads().map(|(name, node)| (name.to_string(), node)).collect();
    let current = state.current().map(ToString::to_string);
    let (of, runs) = match of {
        Some(head) => (head.to_string(), runs_to(state.head(head).unwrap_or(Seq::ROOT), index)?),
        None => (current.clone().unwrap_or_default(), path.runs(index)?.to_vec()),
    };
    Ok(Checkpoint { heads, current, of, path: runs })
}
