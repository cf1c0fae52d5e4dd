//! The tree of a transcript: nodes by their uuid, what compactions re-link, and
//! which of the leaves is the session.

use std::collections::{HashMap, HashSet};

use crate::json::elements;
use crate::runtimes::javascript::{Key, Type, Value};

use super::record::{Absorbed, Line, Record};

/// A node's place in the order of first appearance.
pub(super) type Index = usize;

/// A value by which some record names another, or is named.
type Name = usize;

/// A compaction says of what it kept something that is no list of uuids: the SDK
/// throws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoList;

/// All nodes of a transcript.
pub(super) struct Tree<'a> {
    pub(super) records: Vec<Record<'a>>,
    pub(super) absorbed: Vec<Absorbed<'a>>,
    /// The uuids and contents of all queued prompts, those of replaced records, too.
    pub(super) commands: Vec<(Value<'a>, Value<'a>)>,
    /// Where each record stands in the file; of records with one uuid the last.
    places: Vec<usize>,
    names: HashMap<Key<'a>, Name>,
    nodes: Vec<Option<Index>>,
    parents: Vec<Name>,
    children: Children,
    /// As the records say it, whatever compactions re-linked.
    as_written: Children,
}

/// The nodes below each node, in their order.
#[derive(Default)]
struct Children {
    ends: Vec<usize>,
    all: Vec<Index>,
}

impl Children {
    fn of(&self, index: Index) -> &[Index] {
        let from = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[from..self.ends[index]]
    }
}

impl<'a> Tree<'a> {
    /// The tree of these lines.
    pub(super) fn new(lines: impl Iterator<Item = Line<'a>>) -> Tree<'a> {
        let mut tree = Tree {
            records: Vec::new(),
            absorbed: Vec::new(),
            commands: Vec::new(),
            places: Vec::new(),
            names: HashMap::new(),
            nodes: Vec::new(),
            parents: Vec::new(),
            children: Children::default(),
            as_written: Children::default(),
        };
        for (place, line) in lines.enumerate() {
            match line {
                Line::Absorbed(absorbed) => tree.absorbed.push(absorbed),
                Line::Node(record) => tree.add(record, place),
            }
        }
        tree.as_written = tree.all_children();
        tree
    }

    fn add(&mut self, record: Record<'a>, place: usize) {
        if record.is_attached("queued_command") {
            self.commands.push((record.uuid, record.attachment));
        }
        let (name, parent) = (self.name(record.uuid), self.name(record.parent));
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

    /// The name that a value is: values are the same name where `===` holds.
    fn name(&mut self, value: Value<'a>) -> Name {
        let next = self.nodes.len();
        let name = *self.names.entry(Key::of(value.value())).or_insert(next);
        if name == next {
            self.nodes.push(None);
        }
        name
    }

    /// The record with this uuid.
    pub(super) fn find(&self, uuid: Value<'a>) -> Option<Index> {
        self.names.get(&Key::of(uuid.value())).and_then(|name| self.nodes[*name])
    }

    /// The record above one; an empty name stands for none.
    pub(super) fn parent(&self, index: Index) -> Option<Index> {
        self.nodes[self.parents[index]].filter(|above| self.records[*above].uuid.is_truthy())
    }

    /// Where a record stands in the file.
    pub(super) fn place(&self, index: Index) -> usize {
        self.places[index]
    }

    /// Puts what compactions kept behind their summaries.
    ///
    /// # Errors
    /// Where the SDK throws.
    pub(super) fn relink(&mut self) -> Result<(), NoList> {
        let boundaries: Vec<Value<'a>> = self.records.iter().map(|record| record.compaction).filter(|kept| !kept.is_undefined()).collect();
        if boundaries.is_empty() {
            return Ok(());
        }
        let mut below: HashMap<Name, Vec<Index>> = HashMap::new();
        for (index, parent) in self.parents.iter().enumerate() {
            below.entry(*parent).or_default().push(index);
        }
        for boundary in boundaries {
            let [messages, segment] = boundary.get_all(["preservedMessages", "preservedSegment"]);
            if messages.is_truthy() {
                self.relink_messages(messages, &mut below)?;
            } else if segment.is_truthy() {
                let [head, anchor, tail] = segment.get_all(["headUuid", "anchorUuid", "tailUuid"]);
                let (anchor, tail) = (self.name(anchor), self.name(tail));
                let head = self.find(head);
                if let Some(head) = head {
                    self.set_parent(head, anchor, &mut below);
                }
                self.move_children(anchor, tail, head, &mut below);
            }
        }
        Ok(())
    }

    fn relink_messages(&mut self, messages: Value<'a>, below: &mut HashMap<Name, Vec<Index>>) -> Result<(), NoList> {
        let [uuids, anchor] = messages.get_all(["uuids", "anchorUuid"]);
        let is_empty = match uuids.type_of() {
            Type::Array => elements(uuids.token()).next().is_none(),
            Type::String => !uuids.is_truthy(),
            Type::Object => uuids.get("length").number() == Some(0.0),
            Type::Undefined | Type::Null | Type::Boolean | Type::Number => false,
        };
        if is_empty {
            return Ok(());
        }
        if uuids.type_of() != Type::Array {
            return Err(NoList);
        }
        let kept: Option<Vec<(Name, Index)>> = elements(uuids.token())
            .map(|uuid| {
                let name = self.name(Value::accepted(uuid));
                Some((name, self.nodes[name]?))
            })
            .collect();
        let Some(kept) = kept else { return Ok(()) };
        let (Some(&(_, first)), Some(&(last, _))) = (kept.first(), kept.last()) else { return Ok(()) };
        let anchor = self.name(anchor);
        let mut above = anchor;
        for &(name, index) in &kept {
            self.set_parent(index, above, below);
            above = name;
        }
        self.move_children(anchor, last, Some(first), below);
        Ok(())
    }

    fn set_parent(&mut self, index: Index, parent: Name, below: &mut HashMap<Name, Vec<Index>>) {
        self.parents[index] = parent;
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
            } else if self.parents[index] == from {
                self.set_parent(index, to, below);
            }
        }
    }

    /// Notes what hangs on what, once nothing is re-linked any more.
    pub(super) fn link(&mut self) {
        self.children = self.all_children();
    }

    fn all_children(&self) -> Children {
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
        Children { ends, all }
    }

    /// What hangs on a node, in the order of the nodes.
    pub(super) fn children(&self, index: Index) -> &[Index] {
        self.children.of(index)
    }

    /// What hangs on a node as the records say it.
    pub(super) fn children_as_written(&self, index: Index) -> &[Index] {
        self.as_written.of(index)
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
