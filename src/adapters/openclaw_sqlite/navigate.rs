//! The pass over a transcript's entries that finds its leaf, by the rules of
//! OpenClaw 2026.9: those of its file-backed versions, and what a reset adds. After
//! one, nothing before it can be returned to, and what hangs elsewhere goes on from
//! the leaf.

use std::collections::{HashMap, HashSet};

use crate::adapters::kit::entries::schema::Entry;
use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind};
use crate::runtimes::javascript as js;

use super::known::Role;

/// An id by number; none for `null`.
type Id = Option<u32>;

/// What the pass needs of an entry.
#[derive(Debug, Clone, Copy)]
struct Line {
    role: Role,
    id: u32,
    parent: Id,
    has_parent: bool,
    is_side: bool,
    /// Of a leaf row, and of a label.
    target: Id,
    /// Of a leaf row: absent, or what it says.
    append: Option<Id>,
    is_label: bool,
    /// The first entry that a boundary keeps.
    kept: Id,
}

/// The entries of a transcript, and where its leaf stands.
#[derive(Debug)]
pub(super) struct Navigation {
    lines: Vec<Line>,
    pub(super) leaf: Option<usize>,
    /// The entry that each node hangs below, as the program goes up.
    pub(super) wanted: Vec<Option<usize>>,
    /// Which entries are nodes: a label of nothing is not.
    pub(super) is_node: Vec<bool>,
    names: Names,
}

/// The ids of a transcript, and what is known by them.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Vec<u8>, u32>,
    /// The last node of each id.
    node: Vec<Option<usize>>,
    /// What each row that is not a node leads to.
    link: Vec<Option<Id>>,
    /// Parents that follow from where the leaf stood.
    logical: Vec<Option<Id>>,
    /// Where walks over links ended the last time, and how often links had changed.
    shortcut: Vec<(Id, u32)>,
    changes: u32,
    /// The number of the empty text, which is the id of nothing.
    empty: Id,
}

impl Names {
    fn of(&mut self, value: &[u8]) -> Id {
        if json::kind_of(value) != Kind::String {
            return None;
        }
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(js::decode(value).into_owned()).or_insert(next);
        if number == next {
            self.node.push(None);
            self.link.push(None);
            self.logical.push(None);
            self.shortcut.push((None, 0));
            if value.len() == 2 {
                self.empty = Some(number);
            }
        }
        Some(number)
    }

    fn node_of(&self, id: Id) -> Option<usize> {
        id.and_then(|id| self.node[id as usize])
    }

    fn link_of(&self, id: Id) -> Option<Id> {
        id.and_then(|id| self.link[id as usize])
    }

    fn set_link(&mut self, id: u32, to: Id) {
        if self.link[id as usize].is_some_and(|before| before != to) {
            self.changes += 1;
        }
        self.link[id as usize] = Some(to);
    }

    fn set_node(&mut self, id: u32, node: usize) {
        if self.node[id as usize].is_none() && self.link[id as usize].is_some() {
            self.changes += 1;
        }
        self.node[id as usize] = Some(node);
    }

    /// The first node from an id upwards, or the empty id, at which the program stops; a
    /// walk leaves shortcuts to its end, so that a long chain is walked once.
    fn resolve(&mut self, from: Id) -> Id {
        let mut way = Vec::new();
        let mut passed = HashSet::new();
        let mut at = from;
        let end = loop {
            let Some(name) = at else { break None };
            if self.node[name as usize].is_some() {
                break at;
            }
            if !passed.insert(name) {
                break None;
            }
            let (end, when) = self.shortcut[name as usize];
            let Some(next) = self.link[name as usize] else { break at };
            way.push(name);
            at = if when == self.changes { end } else { next };
        };
        for name in way {
            self.shortcut[name as usize] = (end, self.changes);
        }
        end.filter(|name| self.node[*name as usize].is_some() || self.empty == Some(*name))
    }
}

/// Where the program stands while it reads.
struct Cursors {
    leaf: Id,
    append: Id,
    has_reset: bool,
    after_reset: HashSet<u32>,
    invalid: HashSet<u32>,
}

impl Navigation {
    /// Goes over the entries.
    pub(super) fn of(entries: &[Entry<'_>], roles: &[Role]) -> Navigation {
        let mut names = Names { changes: 1, ..Names::default() };
        let lines: Vec<Line> = entries.iter().zip(roles).map(|(entry, role)| line(entry, *role, &mut names)).collect();
        let mut cursors = Cursors { leaf: None, append: None, has_reset: false, after_reset: HashSet::new(), invalid: HashSet::new() };
        let mut is_node = vec![false; lines.len()];
        for (n, line) in lines.iter().enumerate() {
            match line.role {
                Role::Node | Role::Reset => is_node[n] = cursors.node(n, line, &mut names),
                Role::Leaf => cursors.leaf_row(line, &mut names),
                Role::Link => cursors.link(line, &mut names),
                Role::Inert => {}
            }
        }
        let leaf = names.node_of(cursors.leaf);
        let mut navigation = Navigation { lines, leaf, wanted: Vec::new(), is_node, names };
        navigation.wanted = (0..entries.len()).map(|n| navigation.above(n)).collect();
        navigation
    }

    /// Whether the program finds an entry by its id.
    pub(super) fn is_held(&self, n: usize) -> bool {
        self.is_node[n] && self.names.node[self.lines[n].id as usize] == Some(n)
    }

    fn above(&mut self, n: usize) -> Option<usize> {
        let line = self.lines[n];
        if line.role == Role::Inert {
            return None;
        }
        let logical = self.names.logical[line.id as usize].filter(|_| self.is_held(n));
        let above = logical.unwrap_or_else(|| self.names.resolve(line.parent));
        self.names.node_of(above).filter(|above| *above != n)
    }

    /// The entry that a boundary keeps first. A row that is not a node stands for the
    /// node above it, or else for one below.
    pub(super) fn first_kept(&mut self, boundary: usize) -> Option<usize> {
        let named = self.lines[boundary].kept?;
        if let Some(node) = self.names.node_of(Some(named)) {
            return Some(node);
        }
        self.names.link_of(Some(named))?;
        let found = self.names.resolve(Some(named));
        if found.is_some() {
            return self.names.node_of(found);
        }
        let parent = self.wanted[boundary];
        self.below_on_way(named, parent).or_else(|| self.below(named)).or(parent)
    }

    /// The node passed last on the way up to a row, by what rows say themselves.
    fn below_on_way(&self, row: u32, from: Option<usize>) -> Option<usize> {
        let mut passed = HashSet::new();
        let mut last = None;
        let mut at = from.map(|from| self.lines[from].id);
        while let Some(id) = at.filter(|id| passed.insert(*id)) {
            if id == row {
                return last;
            }
            match self.names.node[id as usize] {
                Some(node) => {
                    last = Some(node);
                    at = self.lines[node].parent;
                }
                None => at = self.names.link[id as usize].flatten(),
            }
        }
        None
    }

    /// The first node that hangs below a row with nothing but such rows between.
    fn below(&self, row: u32) -> Option<usize> {
        let mut in_vain = HashSet::new();
        let mut leads_there = |n: usize| {
            let mut at = self.lines[n].parent;
            while let (Some(id), Some(next)) = (at, self.names.link_of(at)) {
                if id == row {
                    return true;
                }
                if !in_vain.insert(id) {
                    return false;
                }
                at = next;
            }
            false
        };
        (0..self.lines.len()).filter(|n| self.is_held(*n)).find(|n| leads_there(*n))
    }
}

impl Cursors {
    /// A node; says whether it is one after all.
    fn node(&mut self, n: usize, line: &Line, names: &mut Names) -> bool {
        if line.is_label && names.node_of(line.target).is_none() {
            let above = names.resolve(line.parent);
            names.set_link(line.id, above);
            return false;
        }
        let is_cut_off = self.has_reset && !line.is_side && !line.parent.is_some_and(|parent| self.after_reset.contains(&parent));
        let goes_on = !line.is_side && line.parent == self.append && self.leaf != self.append;
        if is_cut_off || !line.has_parent || goes_on {
            names.logical[line.id as usize] = Some(self.leaf);
        }
        names.set_node(line.id, n);
        if line.role == Role::Reset {
            self.has_reset = true;
            self.after_reset.clear();
            self.after_reset.insert(line.id);
        } else {
            let parent = names.logical[line.id as usize].unwrap_or(line.parent);
            if self.has_reset && parent.is_some_and(|parent| self.after_reset.contains(&parent)) {
                self.after_reset.insert(line.id);
            }
        }
        self.append = Some(line.id);
        if !line.is_side {
            self.leaf = Some(line.id);
        }
        true
    }

    fn leaf_row(&mut self, line: &Line, names: &mut Names) {
        let is_known = |id: Id| {
            id.is_none_or(|name| {
                names.node[name as usize].is_some() || (names.link[name as usize].is_some() && !self.invalid.contains(&name))
            })
        };
        if !is_known(line.target) || !line.append.is_none_or(is_known) {
            self.invalid.insert(line.id);
            let above = through(line.parent, names);
            names.set_link(line.id, above);
            return;
        }
        let leaf = names.resolve(line.target);
        let append = line.append.map_or(leaf, |append| through(append, names));
        let is_before_reset = self.has_reset && !leaf.is_some_and(|leaf| self.after_reset.contains(&leaf));
        let (leaf, append) = if is_before_reset { (self.leaf, self.leaf) } else { (leaf, append) };
        names.set_link(line.id, leaf);
        if self.has_reset && leaf.is_some_and(|leaf| self.after_reset.contains(&leaf)) {
            self.after_reset.insert(line.id);
        }
        self.leaf = leaf;
        self.append = append;
    }

    fn link(&mut self, line: &Line, names: &mut Names) {
        names.set_link(line.id, line.parent);
        if self.has_reset && line.parent.is_some_and(|parent| self.after_reset.contains(&parent)) {
            self.after_reset.insert(line.id);
        }
        self.append = Some(line.id);
    }
}

/// An id that is there, or else the node that it leads to.
fn through(id: Id, names: &mut Names) -> Id {
    if names.node_of(id).is_some() || names.link_of(id).is_some() { id } else { names.resolve(id) }
}

fn line(entry: &Entry<'_>, role: Role, names: &mut Names) -> Line {
    let blank = Line {
        role,
        id: 0,
        parent: None,
        has_parent: false,
        is_side: entry.traits.is_side,
        target: None,
        append: None,
        is_label: false,
        kept: None,
    };
    if role == Role::Inert {
        return blank;
    }
    with_members(entry, |members| Line {
        id: get(members, "id").and_then(|id| names.of(id)).unwrap_or_default(),
        parent: get(members, "parentId").and_then(|parent| names.of(parent)),
        has_parent: get(members, "parentId").is_some(),
        target: get(members, "targetId").and_then(|target| names.of(target)),
        append: get(members, "appendParentId").map(|append| names.of(append)),
        is_label: get(members, "type").is_some_and(|kind| js::is_text(kind, "label")),
        kept: get(members, "firstKeptEntryId").and_then(|kept| names.of(kept)),
        ..blank
    })
}
