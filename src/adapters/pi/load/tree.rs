//! The entries of a session as a tree: which entry an id means, what hangs below
//! what, and where the session stands.

use crate::model::map::Map;

use crate::runtimes::javascript::{Key, Type, Value, has_lone_surrogate, lossy};

use super::failure::Failure;
use super::flavour::{Flavour, Migration};
use super::record::{Index, Kind, Records};

/// What stands above an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parent {
    /// It names none.
    Root,
    /// It names one that the file does not have.
    Missing,
    Entry(Index),
}

/// What is known about the walk from an entry to its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    Unknown,
    /// The entry is on the walk that is being looked at.
    Open,
    Ends,
    Endless,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Before all entries.
    Nowhere,
    Entry(Index),
    /// The harness was sent to an entry that is not there.
    Missing,
}

#[derive(Debug)]
pub(super) struct Tree<'a> {
    pub(super) records: Records<'a>,
    pub(super) flavour: Flavour,
    parents: Vec<Parent>,
    walks: Vec<Walk>,
    by_id: Map<Key<'a>, Index>,
    pub(super) leaf: Leaf,
}

impl<'a> Tree<'a> {
    pub(super) fn new(records: Records<'a>, flavour: Flavour) -> Result<Tree<'a>, Failure> {
        let mut tree = Tree { records, flavour, parents: Vec::new(), walks: Vec::new(), by_id: Map::default(), leaf: Leaf::Nowhere };
        match flavour {
            Flavour::Pi(Migration::Chain) => tree.chain()?,
            Flavour::Pi(Migration::Hooks | Migration::None) | Flavour::Harness | Flavour::Tutorial => tree.link(),
        }
        tree.walks = walks(&tree.parents);
        Ok(tree)
    }

    /// Tells whether a record is an entry; to the harness a second header is one.
    fn is_entry(&self, index: Index) -> bool {
        match self.flavour {
            Flavour::Pi(_) | Flavour::Tutorial => self.records.kind(index) != Kind::Session,
            Flavour::Harness => index > 0,
        }
    }

    /// Each entry below the one before it. What cannot have properties cannot be
    /// given an id, and the program fails.
    fn chain(&mut self) -> Result<(), Failure> {
        self.parents = vec![Parent::Root; self.records.len()];
        let mut last = Parent::Root;
        for (index, parent) in self.parents.iter_mut().enumerate() {
            let kind = self.records.kind(index);
            if kind == Kind::Session {
                continue;
            }
            if kind == Kind::Scalar {
                return Err(Failure::TypeError);
            }
            *parent = last;
            last = Parent::Entry(index);
        }
        if let Parent::Entry(index) = last {
            self.leaf = Leaf::Entry(index);
        }
        Ok(())
    }

    /// Each entry below the one that its `parentId` names; of several with one
    /// id the last is meant, wherever it stands.
    fn link(&mut self) {
        let entries: Vec<Index> = (0..self.records.len()).filter(|index| self.is_entry(*index)).collect();
        for &index in &entries {
            self.by_id.insert(Key::of(self.records.id(index).defined()), index);
        }
        self.parents = vec![Parent::Root; self.records.len()];
        for &index in &entries {
            let parent = self.records.parent_id(index);
            if parent.is_truthy()
                && let Some(place) = self.parents.get_mut(index)
            {
                *place = self.by_id.get(&Key::of(parent.defined())).map_or(Parent::Missing, |parent| Parent::Entry(*parent));
            }
        }
        self.leaf = entries.last().map_or(Leaf::Nowhere, |last| self.leaf_after(*last));
    }

    /// Returns where the session stands after its last entry.
    fn leaf_after(&self, last: Index) -> Leaf {
        let entry = self.records.value(last);
        if self.flavour == Flavour::Harness && self.records.kind(last) == Kind::Leaf {
            let target = entry.get("targetId");
            return match self.by_id.get(&Key::of(target.defined())) {
                _ if target.type_of() == Type::Null => Leaf::Nowhere,
                Some(index) => Leaf::Entry(*index),
                None => Leaf::Missing,
            };
        }
        // An id of `null` says that there is no leaf; one that is missing does not.
        if self.records.id(last).type_of() == Type::Null { Leaf::Nowhere } else { Leaf::Entry(last) }
    }

    /// Returns the id of an entry as the program knows it; new ids are random, and
    /// therefore not told.
    pub(super) fn id(&self, index: Index) -> Value<'a> {
        match self.flavour {
            Flavour::Pi(Migration::Chain) => Value::UNDEFINED,
            Flavour::Pi(Migration::Hooks | Migration::None) | Flavour::Harness | Flavour::Tutorial => self.records.id(index),
        }
    }

    /// Returns the entry that has this id.
    pub(super) fn by_id(&self, id: Value<'a>) -> Option<Index> {
        self.by_id.get(&Key::of(id.defined())).copied()
    }

    /// Returns the leaf that a branch of this name has.
    pub(super) fn by_name(&self, name: &str) -> Result<Leaf, Failure> {
        let id = Key::Text(name.as_bytes().into());
        let index = *self.by_id.get(&id).ok_or(Failure::NoSuchBranch)?;
        // To pi an empty id is as good as none, and the last entry stands in.
        Ok(match self.flavour {
            Flavour::Pi(_) if name.is_empty() => self.last().map_or(Leaf::Nowhere, Leaf::Entry),
            Flavour::Pi(_) | Flavour::Harness | Flavour::Tutorial => Leaf::Entry(index),
        })
    }

    /// Returns the last entry of the file.
    fn last(&self) -> Option<Index> {
        (0..self.records.len()).rev().find(|index| self.is_entry(*index))
    }

    /// Returns the entries from the root to a leaf.
    pub(super) fn path(&self, leaf: Leaf) -> Result<Vec<Index>, Failure> {
        let mut at = match leaf {
            Leaf::Nowhere => return Ok(Vec::new()),
            Leaf::Entry(index) => index,
            Leaf::Missing => return Err(Failure::NotAHarnessSession),
        };
        if self.walks.get(at) == Some(&Walk::Endless) {
            return Err(Failure::Circle);
        }
        let mut path = vec![at];
        loop {
            match self.parents.get(at) {
                Some(Parent::Entry(parent)) => at = *parent,
                Some(Parent::Missing) if self.flavour == Flavour::Harness => return Err(Failure::NotAHarnessSession),
                Some(Parent::Root | Parent::Missing) | None => break,
            }
            path.push(at);
        }
        path.reverse();
        Ok(path)
    }

    /// Returns the ids of the entries below which nothing hangs, but for the active one,
    /// in the order of the file. Only entries that can be found by their id are
    /// part of the tree, and only ids that a head's name can hold are given.
    pub(super) fn other_leaves(&self) -> Vec<String> {
        let mut has_child = vec![false; self.records.len()];
        for &index in self.by_id.values() {
            if let Some(Parent::Entry(parent)) = self.parents.get(index)
                && *parent != index
                && let Some(place) = has_child.get_mut(*parent)
            {
                *place = true;
            }
        }
        let mut found: Vec<(Index, String)> = self
            .by_id
            .iter()
            .filter(|(_, index)| has_child.get(**index) == Some(&false) && self.leaf != Leaf::Entry(**index))
            .filter_map(|(key, index)| match key {
                Key::Text(id) if !has_lone_surrogate(id) => Some((*index, lossy(id))),
                Key::Text(_) | Key::Undefined | Key::Null | Key::Boolean(_) | Key::Number(_) | Key::Object(_) => None,
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }
}

/// For every entry whether the walk from it ends. Each is visited once.
fn walks(parents: &[Parent]) -> Vec<Walk> {
    let mut walks = vec![Walk::Unknown; parents.len()];
    let mut open = Vec::new();
    for start in 0..parents.len() {
        let mut at = start;
        let verdict = loop {
            match walks.get_mut(at) {
                Some(walk @ Walk::Unknown) => *walk = Walk::Open,
                Some(Walk::Open | Walk::Endless) => break Walk::Endless,
                Some(Walk::Ends) | None => break Walk::Ends,
            }
            open.push(at);
            match parents.get(at) {
                Some(Parent::Entry(parent)) => at = *parent,
                Some(Parent::Root | Parent::Missing) | None => break Walk::Ends,
            }
        };
        for index in open.drain(..) {
            if let Some(walk) = walks.get_mut(index) {
                *walk = verdict;
            }
        }
    }
    walks
}
