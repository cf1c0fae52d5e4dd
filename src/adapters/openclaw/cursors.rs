//! The pass over a transcript's rows that finds its leaf: one cursor is the
//! leaf that is shown, the other what the next row hangs below. Rows that the
//! program does not know are passed through on the way up.

use std::collections::{HashMap, HashSet};

use crate::json::{self, Kind};
use crate::runtimes::javascript as js;

/// What a line is to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Header,
    /// A node of the tree.
    Canonical,
    /// A navigation record.
    Leaf,
    /// Passed through on the way up.
    Opaque,
    /// Kept, and without effect.
    Inert,
}

/// An id, or what stands in the place of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Id {
    Absent,
    Null,
    Empty,
    Name(u32),
    /// What is not text.
    Other,
}

/// The ids of a file by number.
#[derive(Debug, Default)]
pub(super) struct Ids {
    names: HashMap<Vec<u8>, u32>,
    next: u32,
}

impl Ids {
    pub(super) fn of(&mut self, value: Option<&[u8]>) -> Id {
        if let Some(id) = self.find(value) {
            return id;
        }
        let Some(key) = js::map_key(value) else { return Id::Other };
        self.names.insert(key.into_owned(), self.next);
        self.invent()
    }

    /// Reads a value that may not be an id of the file at all.
    pub(super) fn find(&self, value: Option<&[u8]>) -> Option<Id> {
        let Some(value) = value else { return Some(Id::Absent) };
        match json::kind_of(value) {
            Kind::Null => Some(Id::Null),
            Kind::String if value.len() == 2 => Some(Id::Empty),
            Kind::String => js::map_key(Some(value)).and_then(|key| self.names.get(key.as_ref()).copied()).map(Id::Name),
            Kind::Number | Kind::True | Kind::False | Kind::Object | Kind::Array => Some(Id::Other),
        }
    }

    /// Returns an id that no row has.
    pub(super) fn invent(&mut self) -> Id {
        self.next += 1;
        Id::Name(self.next - 1)
    }

    pub(super) fn count(&self) -> usize {
        self.next as usize
    }
}

/// A row with its ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkedRow {
    pub row: Row,
    pub id: Id,
    pub parent: Id,
    pub is_side: bool,
    /// Of a leaf row.
    pub target: Id,
    pub append: Id,
}

/// What the pass leaves behind.
#[derive(Debug)]
pub(super) struct Cursors {
    lines: Vec<LinkedRow>,
    leaf: Id,
    append: Id,
    /// The last entry of each id.
    by_id: Vec<Option<usize>>,
    /// The parent of each row that is passed through, by its id.
    links: Vec<Option<Id>>,
    /// Parents that follow from where the leaf stood; they stay with the id.
    logical: Vec<Option<Id>>,
    /// Leaf rows that name what was not there.
    ignored: HashSet<Id>,
    /// Where links ended the last time, and how often links were changed then.
    shortcuts: Vec<(Id, u32)>,
    changes: u32,
}

impl Cursors {
    /// Goes over the rows; `count` is how many ids there are.
    pub(super) fn follow(lines: &[LinkedRow], count: usize) -> Cursors {
        let mut cursors = Cursors {
            lines: lines.to_vec(),
            leaf: Id::Null,
            append: Id::Null,
            by_id: vec![None; count],
            links: vec![None; count],
            logical: vec![None; count],
            ignored: HashSet::new(),
            shortcuts: vec![(Id::Null, 0); count],
            changes: 1,
        };
        for (n, line) in lines.iter().enumerate() {
            match line.row {
                Row::Canonical => cursors.entry(n, line),
                Row::Leaf => cursors.leaf_row(line),
                Row::Opaque => {
                    cursors.link(line.id, line.parent);
                    cursors.append = line.id;
                }
                Row::Header | Row::Inert => {}
            }
        }
        cursors
    }

    fn entry(&mut self, n: usize, line: &LinkedRow) {
        let Id::Name(id) = line.id else { return };
        let hangs_on = !line.is_side && line.parent == self.append && self.leaf != self.append;
        if line.parent == Id::Absent || hangs_on {
            self.logical[id as usize] = Some(self.leaf);
        }
        if self.by_id[id as usize].is_none() && self.links[id as usize].is_some() {
            self.changes += 1;
        }
        self.by_id[id as usize] = Some(n);
        self.append = line.id;
        if !line.is_side {
            self.leaf = line.id;
        }
    }

    fn leaf_row(&mut self, line: &LinkedRow) {
        let is_known =
            |id: Id| id == Id::Null || self.entry_of(id).is_some() || (self.link_of(id).is_some() && !self.ignored.contains(&id));
        if is_known(line.target) && (line.append == Id::Absent || is_known(line.append)) {
            self.leaf = self.through(line.target);
            self.link(line.id, self.leaf);
            self.append = if line.append == Id::Absent { self.leaf } else { line.append };
        } else {
            self.ignored.insert(line.id);
            let is_there = line.parent == Id::Empty || self.entry_of(line.parent).is_some() || self.link_of(line.parent).is_some();
            self.link(line.id, if is_there { line.parent } else { Id::Null });
        }
    }

    fn link(&mut self, id: Id, parent: Id) {
        let Id::Name(name) = id else { return };
        if self.links[name as usize].is_some_and(|before| before != parent) {
            self.changes += 1;
        }
        self.links[name as usize] = Some(parent);
    }

    fn entry_of(&self, id: Id) -> Option<usize> {
        match id {
            Id::Name(name) => self.by_id[name as usize],
            Id::Absent | Id::Null | Id::Empty | Id::Other => None,
        }
    }

    fn link_of(&self, id: Id) -> Option<Id> {
        match id {
            Id::Name(name) => self.links[name as usize],
            Id::Absent | Id::Null | Id::Empty | Id::Other => None,
        }
    }

    /// Returns the id of the entry that an id leads to, past whatever is passed through;
    /// nothing where it leads nowhere, or in a circle.
    fn through(&mut self, id: Id) -> Id {
        let mut way = Vec::new();
        let mut passed = HashSet::new();
        let mut at = id;
        let (end, found) = loop {
            match at {
                Id::Empty => break (at, at),
                Id::Absent | Id::Null | Id::Other => break (at, Id::Null),
                Id::Name(_) if self.entry_of(at).is_some() => break (at, at),
                Id::Name(name) => {
                    if !passed.insert(name) {
                        break (Id::Null, Id::Null);
                    }
                    let (end, when) = self.shortcuts[name as usize];
                    let Some(next) = self.links[name as usize] else { break (at, Id::Null) };
                    way.push(name);
                    at = if when == self.changes { end } else { next };
                }
            }
        };
        for name in way {
            self.shortcuts[name as usize] = (end, self.changes);
        }
        found
    }

    /// Tells whether an entry can be found by its id.
    pub(super) fn is_held(&self, n: usize) -> bool {
        self.lines[n].row == Row::Canonical && self.entry_of(self.lines[n].id) == Some(n)
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        self.entry_of(self.leaf)
    }

    /// Returns the entry above each row.
    pub(super) fn wanted(&mut self) -> Vec<Option<usize>> {
        (0..self.lines.len()).map(|n| self.above(n)).collect()
    }

    fn above(&mut self, n: usize) -> Option<usize> {
        let line = self.lines[n];
        let logical = match (line.row, line.id) {
            (Row::Header | Row::Inert, _) => return None,
            (Row::Canonical, Id::Name(id)) if self.is_held(n) => self.logical[id as usize],
            _ => None,
        };
        let id = logical.unwrap_or_else(|| self.through(line.parent));
        self.entry_of(id).filter(|above| *above != n || self.is_held(n))
    }

    /// Returns the entry that a compaction keeps first by this name. A row that is no
    /// entry stands for the entry above it, or else for one below.
    pub(super) fn kept_by_name(&mut self, compaction: usize, named: Option<Id>) -> Option<usize> {
        let named = named?;
        if let Some(entry) = self.entry_of(named) {
            return Some(entry);
        }
        self.link_of(named)?;
        let above = self.through(named);
        if above != Id::Null {
            return self.entry_of(above);
        }
        let parent = self.above(compaction);
        self.below_on_way(named, parent).or_else(|| self.below(named)).or(parent)
    }

    /// Returns the entry passed last on the way up to a row, by what rows say themselves.
    fn below_on_way(&self, row: Id, from: Option<usize>) -> Option<usize> {
        let mut passed = HashSet::new();
        let mut last = None;
        let mut at = from.map_or(Id::Null, |from| self.lines[from].id);
        while matches!(at, Id::Name(_)) && passed.insert(at) {
            if at == row {
                return last;
            }
            match self.entry_of(at) {
                Some(entry) => {
                    last = Some(entry);
                    at = self.lines[entry].parent;
                }
                None => at = self.link_of(at).unwrap_or(Id::Absent),
            }
        }
        None
    }

    /// Returns the first entry that stands below a row with nothing but such rows
    /// between.
    fn below(&self, row: Id) -> Option<usize> {
        let mut in_vain = HashSet::new();
        let mut leads_there = |line: &LinkedRow| {
            let mut at = line.parent;
            while let Some(next) = self.link_of(at).filter(|_| in_vain.insert(at)) {
                if at == row {
                    return true;
                }
                at = next;
            }
            false
        };
        let below = self.lines.iter().find(|line| line.row == Row::Canonical && leads_there(line))?;
        self.entry_of(below.id)
    }
}
