//! The state that a log's lines fold to: where each head stands and which one
//! is current.

use std::collections::BTreeMap;

use crate::model::event::{Checkpoint, EventKind};
use crate::model::heads::{Head, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::index::Index;

/// Heads and the current one.
#[derive(Debug, Clone)]
pub struct State {
    heads: BTreeMap<HeadName, Seq>,
    current: Option<HeadName>,
    /// Whether a node was put that takes others out of sight or changes them.
    pub(super) projects: bool,
}

impl Default for State {
    fn default() -> Self {
        State { heads: BTreeMap::new(), current: Some(HeadName::main()), projects: false }
    }
}

impl State {
    /// Returns where a head stands, if there is one of that name.
    #[must_use]
    pub fn head(&self, name: &HeadName) -> Option<Seq> {
        self.heads.get(name).copied()
    }

    /// Returns every head and its node.
    pub fn heads(&self) -> impl Iterator<Item = (&HeadName, Seq)> {
        self.heads.iter().map(|(name, node)| (name, *node))
    }

    /// Returns how many heads there are.
    #[must_use]
    pub fn head_count(&self) -> usize {
        self.heads.len()
    }

    /// Returns the head that appends move.
    #[must_use]
    pub fn current(&self) -> Option<&HeadName> {
        self.current.as_ref()
    }

    /// Returns where the current head stands.
    pub(super) fn current_node(&self) -> Seq {
        self.current().and_then(|name| self.head(name)).unwrap_or(Seq::ROOT)
    }

    /// A node was put.
    pub(super) fn node(&mut self, seq: Seq, kind: EventKind) {
        self.projects |= matches!(kind, EventKind::Hide | EventKind::Compaction | EventKind::Edit);
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

/// Returns the checkpoint for the current head, or for `of` where it is another.
pub(super) fn checkpoint(state: &State, of: Option<&HeadName>, index: &Index) -> Result<Checkpoint, StreamError> {
    let heads = state.heads().map(|(name, node)| (name.to_string(), node)).collect();
    let current = state.current().map(ToString::to_string);
    let node = of.map_or_else(|| state.current_node(), |head| state.head(head).unwrap_or(Seq::ROOT));
    let of = of.map(ToString::to_string).or_else(|| current.clone()).unwrap_or_default();
    Ok(Checkpoint { heads, current, of, projects: state.projects, path: index.runs(node)? })
}
