//! The tree of a transcript: nodes by their uuid, what compactions re-link, and
//! which of the leaves is the session.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::json::elements;
use crate::runtimes::javascript::{Type, Value};

use super::record::{Absorbed, Line, Record};

/// A node's place in the order of first appearance.
pub(super) type Index = usize;

/// A uuid that some record has or names.
type Name = usize;

/// All nodes of a transcript.
pub(super) struct Tree<'a> {
    pub(super) records: Vec<Record<'a>>,
    pub(super) absorbed: Vec<Absorbed<'a>>,
    /// Where each record stands in the file; of records with one uuid the last.
    places: Vec<usize>,
    names: HashMap<Cow<'a, [u8]>, Name>,
    nodes: Vec<Option<Index>>,
    parents: Vec<Option<Name>>,
    children: Children,
}

/// The nodes below each node, in their order.
#[derive(Default)]
struct Children {
    ends: Vec<usize>,
    all: Vec<Index>,
}

impl<'a> Tree<'a> {
    /// The tree of these lines.
    pub(super) fn new(lines: impl Iterator<Item = Line<'a>>) -> Tree<'a> {
        let mut tree = Tree {
            records: Vec::new(),
            absorbed: Vec::new(),
            places: Vec::new(),
            names: HashMap::new(),
            nodes: Vec::new(),
            parents: Vec::new(),
            children: Children::default(),
        };
        for (place, line) in lines.enumerate() {
            match line {
                Line::Absorbed(absorbed) => tree.absorbed.push(absorbed),
                Line::Node(record) => tree.add(record, place),
            }
        }
        tree
    }

    fn add(&mut self, record: Record<'a>, place: usize) {
        let Some(name) = self.name(record.uuid) else { return };
        let parent = self.name(record.parent);
        match self.nodes[name] {
            Some(index) => {
                self.records[index] = record;
                self.places[index] = place;
                self.parents[index] = parent;
            }
            None => {
                self.nodes[name] = Some(self.records.len());
                self.records.push(record);
                self.places.push(place);
                self.parents.push(parent);
            }
        }
    }

    /// The name that a string is.
    fn name(&mut self, value: Value<'a>) -> Option<Name> {
        let next = self.nodes.len();
        let name = *self.names.entry(value.text()?).or_insert(next);
        if name == next {
            self.nodes.push(None);
        }
        Some(name)
    }

    fn parent(&self, index: Index) -> Option<Index> {
        self.parents[index].and_then(|name| self.nodes[name])
    }

    /// Puts what compactions kept behind their summaries.
    pub(super) fn relink(&mut self) {
        let boundaries: Vec<Value<'a>> = self.records.iter().map(|record| record.compaction).filter(|kept| !kept.is_undefined()).collect();
        if boundaries.is_empty() {
            return;
        }
        let mut below: HashMap<Name, Vec<Index>> = HashMap::new();
        for (index, parent) in self.parents.iter().enumerate() {
            below.entry(parent.unwrap_or(usize::MAX)).or_default().push(index);
        }
        for boundary in boundaries {
            let [messages, segment] = boundary.get_all(["preservedMessages", "preservedSegment"]);
            if messages.is_truthy() {
                self.relink_messages(messages, &mut below);
            } else if segment.is_truthy() {
                let [head, anchor, tail] = segment.get_all(["headUuid", "anchorUuid", "tailUuid"]);
                let (Some(anchor), Some(tail)) = (self.name(anchor), self.name(tail)) else { continue };
                let head = self.name(head).and_then(|name| self.nodes[name]);
                if let Some(head) = head {
                    self.set_parent(head, anchor, &mut below);
                }
                self.move_children(anchor, tail, head, &mut below);
            }
        }
    }

    fn relink_messages(&mut self, messages: Value<'a>, below: &mut HashMap<Name, Vec<Index>>) {
        let [uuids, anchor] = messages.get_all(["uuids", "anchorUuid"]);
        if uuids.type_of() != Type::Array {
            return;
        }
        let kept: Option<Vec<(Name, Index)>> =
            elements(uuids.token()).map(|uuid| self.name(Value::accepted(uuid)).and_then(|name| Some((name, self.nodes[name]?)))).collect();
        let Some(kept) = kept else { return };
        let (Some(&(_, first)), Some(&(last, _)), Some(anchor)) = (kept.first(), kept.last(), self.name(anchor)) else { return };
        let mut above = anchor;
        for &(name, index) in &kept {
            self.set_parent(index, above, below);
            above = name;
        }
        self.move_children(anchor, last, Some(first), below);
    }

    fn set_parent(&mut self, index: Index, parent: Name, below: &mut HashMap<Name, Vec<Index>>) {
        self.parents[index] = Some(parent);
        below.entry(parent).or_default().push(index);
    }

    /// Hangs all that hangs on one node on another, but for one of them.
    fn move_children(&mut self, from: Name, to: Name, but: Option<Index>, below: &mut HashMap<Name, Vec<Index>>) {
        if from == to {
            return;
        }
        for index in below.remove(&from).unwrap_or_default() {
            if Some(index) == but {
                below.entry(from).or_default().push(index);
            } else if self.parents[index] == Some(from) {
                self.set_parent(index, to, below);
            }
        }
    }

    /// Notes what hangs on what, once nothing is re-linked any more.
    pub(super) fn link(&mut self) {
        let parents: Vec<Option<Index>> = (0..self.records.len()).map(|index| self.parent(index)).collect();
        let mut ends = vec![0; self.records.len()];
        parents.iter().flatten().for_each(|parent| ends[*parent] += 1);
        let mut sum = 0;
        for end in &mut ends {
            sum += *end;
            *end = sum;
        }
        let mut all = vec![0; sum];
        // Filled from the end, each place becomes the start of its stretch.
        let mut at = ends.clone();
        for (index, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = parent {
                at[*parent] -= 1;
                all[at[*parent]] = index;
            }
        }
        self.children = Children { ends, all };
    }

    /// What hangs on a node, in the order of the nodes.
    pub(super) fn children(&self, index: Index) -> &[Index] {
        let from = index.checked_sub(1).map_or(0, |before| self.children.ends[before]);
        &self.children.all[from..self.children.ends[index]]
    }

    /// The nearest record above each node, itself included, that somebody said.
    fn nearest_said(&self) -> Vec<Option<Index>> {
        let mut nearest: Vec<Option<Option<Index>>> = vec![None; self.records.len()];
        let mut path = Vec::new();
        for start in 0..self.records.len() {
            let (mut at, mut found) = (Some(start), None);
            while let Some(index) = at {
                if let Some(known) = nearest[index] {
                    found = known;
                    break;
                }
                // Until it is known, a node has none above it: so a ring ends.
                nearest[index] = Some(None);
                path.push(index);
                if self.records[index].kind.is_said() {
                    found = Some(index);
                    break;
                }
                at = self.parent(index);
            }
            path.drain(..).for_each(|index| nearest[index] = Some(found));
        }
        nearest.into_iter().map(Option::flatten).collect()
    }

    /// The leaf of the session, and the leaves of all other branches.
    pub(super) fn leaves(&self) -> (Option<Index>, Vec<Index>) {
        let nearest = self.nearest_said();
        let mut is_named_by_main = vec![false; self.records.len()];
        for (index, record) in self.records.iter().enumerate() {
            if let Some(parent) = self.parent(index).filter(|_| record.is_main()) {
                is_named_by_main[parent] = true;
            }
        }
        let tips = || (0..self.records.len()).filter(|index| self.records[*index].is_main() && !is_named_by_main[*index]);
        let leaf = tips().filter(|tip| nearest[*tip].is_some()).max_by_key(|tip| self.places[*tip]).and_then(|tip| nearest[tip]);
        match leaf {
            Some(_) => (leaf, tips().filter_map(|tip| nearest[tip]).collect()),
            None => (self.last_resort(&nearest), Vec::new()),
        }
    }

    /// The leaf where no record is of the main conversation.
    fn last_resort(&self, nearest: &[Option<Index>]) -> Option<Index> {
        let tips = (0..self.records.len()).filter(|index| self.children(*index).is_empty());
        let is_plain = |leaf: &Index| {
            let record = &self.records[*leaf];
            !record.is_sidechain && !record.is_of_team && !record.is_meta
        };
        tips.filter_map(|tip| nearest[tip]).max_by_key(|leaf| (is_plain(leaf), self.places[*leaf]))
    }

    /// The way from the root to a node.
    pub(super) fn chain(&self, leaf: Index) -> Vec<Index> {
        let (mut chain, mut seen) = (Vec::new(), HashSet::new());
        let mut at = Some(leaf);
        while let Some(index) = at.filter(|index| seen.insert(*index)) {
            chain.push(index);
            at = self.parent(index);
        }
        chain.reverse();
        chain
    }

    /// The last record in the file that somebody said.
    pub(super) fn last_said(&self) -> Option<Index> {
        (0..self.records.len()).filter(|index| self.records[*index].kind.is_said()).max_by_key(|index| self.places[*index])
    }
}
