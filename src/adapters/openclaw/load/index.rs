//! The one pass over a transcript that finds its leaf. Two cursors move through
//! the file: the leaf, and the place where the next append would go, which rows
//! unknown to the program move as well.

use std::collections::{BTreeMap, HashSet};

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::{decode, is_truthy};

use super::entry::{Entry, NONE};
use super::keys::Key;
use super::links::Links;
use super::rows::{Mode, Row, Rows, Type, What};

/// What the pass leaves behind.
#[derive(Debug)]
pub struct Index<'a> {
    /// The id of the active leaf, `NULL` or `EMPTY`.
    pub leaf: Key,
    /// What each label says, by the id that it is for. Labels for what is no
    /// string cannot be asked for.
    pub labels: BTreeMap<Vec<u8>, &'a [u8]>,
    /// Links through rows that are not entries.
    pub links: Links,
    /// The entry that has an id.
    pub by_id: Vec<u32>,
    /// Parents that follow from where the leaf stood, not from what an entry
    /// says. They stay with an id even if a later entry takes it.
    pub logical: Vec<Key>,
}

impl<'a> Index<'a> {
    /// Goes over the rows after the header.
    #[must_use]
    pub fn build(rows: &Rows<'a>, listed: &[u32], entries: &[Entry]) -> Index<'a> {
        let places = rows.keys.places();
        let mut pass = Pass {
            index: Index {
                leaf: Key::NULL,
                labels: BTreeMap::new(),
                links: Links::new(places),
                by_id: vec![NONE; places],
                logical: vec![Key::ABSENT; places],
            },
            cursor: Key::NULL,
            ignored_leaves: HashSet::new(),
        };
        let mut entries = (0..).zip(entries).peekable();
        for &place in listed {
            let Some(row) = rows.at(place) else { continue };
            match (entries.next_if(|(_, entry)| entry.row == place), row.what) {
                (Some((at, entry)), _) => pass.entry(at, entry, row),
                (None, What::Record(Type::Leaf)) => pass.leaf(row, rows),
                (None, What::Record(kind)) if kind != Type::Session => pass.carried(row),
                (None, _) => {}
            }
        }
        pass.index
    }
}

struct Pass<'a> {
    index: Index<'a>,
    /// Where the next append would go.
    cursor: Key,
    /// Ids of leaf rows that name what is not there.
    ignored_leaves: HashSet<Key>,
}

impl<'a> Pass<'a> {
    fn entry(&mut self, at: u32, entry: &Entry, row: &Row<'a>) {
        let leaf = self.index.leaf;
        let goes_on_elsewhere = row.mode == Mode::Active && entry.named_parent == self.cursor && leaf != self.cursor;
        if (entry.named_parent == Key::ABSENT || goes_on_elsewhere)
            && let Some(logical) = self.index.logical.get_mut(entry.id.place())
        {
            *logical = leaf;
        }
        if let Some(place) = self.index.by_id.get_mut(entry.id.place()) {
            *place = at;
        }
        self.index.links.set_entry(entry.id);
        self.cursor = entry.id;
        if row.mode == Mode::Active {
            self.index.leaf = entry.id;
        }
        if row.kind() == Type::Label {
            self.label(row);
        }
    }

    fn label(&mut self, row: &Row<'a>) {
        let Some(target) = row.member("targetId").filter(|target| kind_of(target) == Kind::String) else { return };
        let target = decode(target).into_owned();
        match row.member("label").filter(|label| is_truthy(label)) {
            Some(label) => self.index.labels.insert(target, label),
            None => self.index.labels.remove(&target),
        };
    }

    /// A row that the program carries along.
    fn carried(&mut self, row: &Row<'a>) {
        if row.id.is_name() && is_reference(row.parent) {
            self.index.links.set(row.id, row.parent);
            self.cursor = row.id;
        }
    }

    /// A row that moves the leaf, if it is well formed and names what is there.
    fn leaf(&mut self, row: &Row<'a>, rows: &Rows<'a>) {
        let [target, append, mode] = ["targetId", "appendParentId", "appendMode"].map(|name| row.member(name));
        let can_refer = |value: &[u8]| matches!(kind_of(value), Kind::Null | Kind::String);
        let is_wellformed = row.id.is_name()
            && is_reference(row.parent)
            && target.is_some_and(can_refer)
            && append.is_none_or(can_refer)
            && (mode.is_none() || row.mode == Mode::Side);
        if !is_wellformed {
            return;
        }
        let known = |value| rows.keys.find(value).filter(|key| self.is_known(*key));
        let (target, append) = (known(target), append.map(|append| known(Some(append))));
        let (Some(target), None | Some(Some(_))) = (target, append) else {
            self.ignored_leaves.insert(row.id);
            let parent = if self.is_there(row.parent) || row.parent == Key::EMPTY { row.parent } else { Key::NULL };
            self.index.links.set(row.id, parent);
            return;
        };
        self.index.leaf = self.index.links.resolve(target);
        self.index.links.set(row.id, self.index.leaf);
        self.cursor = append.flatten().unwrap_or(self.index.leaf);
    }

    fn is_there(&self, id: Key) -> bool {
        self.index.links.is_entry(id) || self.index.links.holds(id)
    }

    fn is_known(&self, id: Key) -> bool {
        id == Key::NULL || self.index.links.is_entry(id) || (self.index.links.holds(id) && !self.ignored_leaves.contains(&id))
    }
}

fn is_reference(key: Key) -> bool {
    key == Key::NULL || key.is_string()
}
