//! A transcript as the session manager of 2026.7.1 indexes it: which rows are
//! entries, whose child each is, and where the active leaf stands.

use std::collections::BTreeMap;

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::{TypeError, to_number};

use super::entry::{Entry, NONE};
use super::failure::Failure;
use super::index::Index;
use super::keys::Key;
use super::links::Links;
use super::rows::{Row, Rows, Type, What};

/// How much older than version 3 a transcript says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// A list without ids, which get one and a parent each.
    Linear,
    /// A tree in which plugins' messages have another role.
    Hooks,
    /// As it is written now, or a version that compares with nothing.
    Current,
}

impl Age {
    /// Returns what a header's version amounts to.
    ///
    /// # Errors
    /// Where the version cannot be compared with a number.
    pub fn of(header: &Row<'_>) -> Result<Age, TypeError> {
        let version = header.member("version").filter(|version| kind_of(version) != Kind::Null);
        let version = version.map_or(Ok(1.0), to_number)?;
        Ok(match version {
            ..2.0 => Age::Linear,
            ..3.0 => Age::Hooks,
            _ => Age::Current,
        })
    }

    /// Tells whether plugins' messages may have a role that was renamed since.
    #[must_use]
    pub fn has_hook_roles(self) -> bool {
        match self {
            Age::Linear | Age::Hooks => true,
            Age::Current => false,
        }
    }
}

/// An indexed transcript.
#[derive(Debug)]
pub struct Tree<'a> {
    /// The parsed file.
    pub rows: Rows<'a>,
    /// Whether the program has to find or make up a header.
    pub is_recovered: bool,
    /// How old it is.
    pub age: Age,
    /// Everything after the header, in the order in which it is read.
    pub listed: Vec<u32>,
    /// All entries in file order.
    pub entries: Vec<Entry>,
    /// The id of the active leaf: `NULL` or `EMPTY` where nothing is active.
    pub leaf: Key,
    /// What each label says, by the id that it is for.
    pub labels: BTreeMap<Vec<u8>, &'a [u8]>,
    /// Links through rows that are not entries.
    pub links: Links,
    /// The entry that has an id: the last one, where several have.
    by_id: Vec<u32>,
    /// The parent of each entry that can be found by its id.
    parents: Vec<u32>,
    /// Which walk passed an entry last.
    passed: Vec<u32>,
    walks: u32,
}

impl<'a> Tree<'a> {
    /// Indexes a file.
    ///
    /// # Errors
    /// Where the program throws before it has any state.
    pub fn open(bytes: &'a [u8]) -> Result<Tree<'a>, Failure> {
        let mut rows = Rows::parse(bytes);
        let has_header = rows.rows.first().is_some_and(Row::is_header);
        let is_recovered = !has_header && rows.has_text;
        if is_recovered && rows.rows.iter().any(|row| row.what == What::Null) {
            return Err(Failure::Type);
        }
        // A header that is made up has the current version.
        let header = rows.rows.iter().find(|row| row.is_header());
        let age = header.map_or(Ok(Age::Current), Age::of).map_err(|_| Failure::Type)?;
        let is_listed = |(place, row): &(u32, &Row<'a>)| if has_header { *place > 0 } else { row.kind() != Type::Session };
        let listed: Vec<u32> = (0..).zip(&rows.rows).filter(is_listed).map(|(place, _)| place).collect();
        let entries = entries(&mut rows, &listed, age);
        let Index { leaf, labels, mut links, by_id, logical } = Index::build(&rows, &listed, &entries);
        let entry_of = |id: Key| by_id.get(id.place()).copied().unwrap_or(NONE);
        let parent_of = |(at, entry): (u32, &Entry)| {
            if entry_of(entry.id) != at {
                return NONE;
            }
            match logical.get(entry.id.place()) {
                Some(parent) if *parent != Key::ABSENT => entry_of(*parent),
                _ => entry_of(links.resolve(entry.named_parent)),
            }
        };
        let parents = (0..).zip(&entries).map(parent_of).collect();
        let passed = vec![0; entries.len()];
        Ok(Tree { rows, is_recovered, age, listed, entries, leaf, labels, links, by_id, parents, passed, walks: 0 })
    }

    /// Returns the row of an entry.
    #[must_use]
    pub fn row(&self, entry: u32) -> Option<&Row<'a>> {
        self.rows.at(self.entries.get(entry as usize)?.row)
    }

    /// Returns the type of an entry.
    #[must_use]
    pub fn kind(&self, entry: u32) -> Type {
        self.row(entry).map_or(Type::Other, Row::kind)
    }

    /// Returns the id of an entry.
    #[must_use]
    pub fn id(&self, entry: u32) -> Key {
        self.entries.get(entry as usize).map_or(Key::ABSENT, |entry| entry.id)
    }

    /// Returns the entry with an id, or `NONE`.
    #[must_use]
    pub fn with_id(&self, id: Key) -> u32 {
        self.by_id.get(id.place()).copied().unwrap_or(NONE)
    }

    /// Returns the parent of an entry that can be found by its id, or `NONE`.
    #[must_use]
    pub fn parent(&self, entry: u32) -> u32 {
        self.parents.get(entry as usize).copied().unwrap_or(NONE)
    }

    /// Returns the entries from the root to this one. A circle is gone round once.
    pub fn path_to(&mut self, entry: u32) -> Vec<u32> {
        self.walks += 1;
        let mut path = Vec::new();
        let mut at = entry;
        while let Some(passed) = self.passed.get_mut(at as usize)
            && std::mem::replace(passed, self.walks) != self.walks
        {
            path.push(at);
            at = self.parent(at);
        }
        path.reverse();
        path
    }

    /// Returns every entry that can be found by its id and that none has for its
    /// parent, but for the active leaf.
    #[must_use]
    pub fn other_leaves(&self) -> Vec<u32> {
        let mut is_leaf: Vec<bool> = (0..).zip(&self.entries).map(|(at, entry)| self.with_id(entry.id) == at).collect();
        for parent in std::iter::once(self.with_id(self.leaf)).chain(self.parents.iter().copied()) {
            if let Some(leaf) = is_leaf.get_mut(parent as usize) {
                *leaf = false;
            }
        }
        (0..).zip(is_leaf).filter(|(_, is_leaf)| *is_leaf).map(|(at, _)| at).collect()
    }
}

/// Tells whether the program takes a row for an entry.
#[must_use]
pub fn is_entry(row: &Row<'_>, age: Age) -> bool {
    row.kind().is_canonical() && (row.id.is_name() || age == Age::Linear)
}

fn entries(rows: &mut Rows<'_>, listed: &[u32], age: Age) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut previous = Key::NULL;
    for &place in listed {
        let Some(row) = rows.at(place).filter(|row| is_entry(row, age)) else { continue };
        let mut entry = Entry { row: place, id: row.id, named_parent: row.parent };
        if age == Age::Linear {
            entry.id = rows.keys.invent();
            entry.named_parent = std::mem::replace(&mut previous, entry.id);
        }
        entries.push(entry);
    }
    entries
}
