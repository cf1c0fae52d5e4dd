//! Where a transcript's entries stand: the rules of the session manager of
//! 2026.7.1, with its two cursors.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::adapters::tree::entry::{Entry, get, text_of, with_members};
use crate::adapters::tree::facts;
use crate::adapters::tree::forest;
use crate::adapters::tree::js;
use crate::adapters::tree::read::{Placed, Renames};
use crate::adapters::tree::scan::Scan;
use crate::adapters::tree::tables::{Record, Words};
use crate::model::json::{self, Kind};

/// What the loader makes of a transcript.
pub(super) struct Judged {
    pub placed: Placed,
    pub version: Option<String>,
    pub leaf: Option<usize>,
    /// Every other leaf, by its id.
    pub others: BTreeMap<String, usize>,
    pub has_header: bool,
    pub is_linear: bool,
}

/// What a line is to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
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

fn row(entry: &Entry<'_>, is_linear: bool) -> Row {
    let has_id = entry.id_text.as_deref().is_some_and(|id| id.len() > 2);
    let is_parent = entry.parent.as_deref().is_some_and(|parent| parent == b"null" || json::kind_of(parent) == Kind::String);
    match entry.kind {
        Record::Header => Row::Header,
        Record::UserMessage
        | Record::AssistantMessage
        | Record::ResultMessage
        | Record::CustomMessage
        | Record::Thinking
        | Record::Model
        | Record::Compaction
        | Record::BranchSummary
        | Record::Custom
        | Record::Label
        | Record::Info
            if has_id || (is_linear && entry.is_object) =>
        {
            Row::Canonical
        }
        _ if entry.other_type == b"\"leaf\"" && entry.id_text.is_some() && is_parent => Row::Leaf,
        _ if entry.id_text.is_some() && is_parent => Row::Opaque,
        _ => Row::Inert,
    }
}

/// Judges a transcript.
pub(super) fn judge(scan: &Scan<'_>) -> Judged {
    let entries = &scan.entries;
    let header = entries.iter().find(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let has_header = entries.first().is_some_and(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let version_value =
        header.and_then(|entry| with_members(entry, |members| get(members, "version").filter(|v| *v != b"null").map(<[u8]>::to_vec)));
    let version = version_value.as_deref().map_or(1.0, js::number);
    let is_linear = header.is_some() && version < 2.0;
    let rows: Vec<Row> = entries.iter().map(|entry| row(entry, is_linear)).collect();
    let walk = if is_linear { linear(entries, &rows) } else { Cursors::follow(entries, &rows) };
    let others = if is_linear { BTreeMap::new() } else { other_leaves(entries, &rows, &walk) };
    Judged {
        placed: Placed {
            words: Words::Pi,
            is_node: rows.iter().map(|row| *row != Row::Inert).collect(),
            parents: walk.parents,
            renames: if header.is_some() && version < 3.0 { Renames::Hooks } else { Renames::Nothing },
            first_kept: if is_linear { forest::kept_by_number(entries) } else { HashMap::new() },
        },
        version: version_value.map(|version| String::from_utf8_lossy(&version).into_owned()),
        leaf: walk.leaf,
        others,
        has_header,
        is_linear,
    }
}

/// Where each entry stands, and the leaf.
struct Walk {
    parents: Vec<Option<usize>>,
    leaf: Option<usize>,
    /// Which entry each id stands for.
    held: HashSet<usize>,
}

/// Version 1: each below the one before.
fn linear(entries: &[Entry<'_>], rows: &[Row]) -> Walk {
    let mut above = None;
    let parents = rows.iter().enumerate().map(|(n, row)| if *row == Row::Header { None } else { above.replace(n) }).collect();
    let leaf = rows.iter().rposition(|row| *row != Row::Header);
    Walk { parents, leaf, held: (0..entries.len()).collect() }
}

/// Where an id leads.
#[derive(Debug, Clone)]
enum Target {
    Node(usize),
    /// On to another id, or to the root.
    Through(Option<Vec<u8>>),
}

/// The two cursors: the leaf that is shown, and what the next line hangs below.
#[derive(Default)]
struct Cursors {
    leaf: Option<Vec<u8>>,
    append: Option<Vec<u8>>,
    by_id: HashMap<Vec<u8>, Target>,
    /// The logical parent of a node, where it is not the one it names.
    logical: HashMap<usize, Option<Vec<u8>>>,
}

fn key(id: &[u8]) -> Vec<u8> {
    js::map_key(Some(id)).unwrap_or_default().into_owned()
}

impl Cursors {
    fn follow(entries: &[Entry<'_>], rows: &[Row]) -> Walk {
        let mut cursors = Cursors::default();
        for (n, (entry, row)) in entries.iter().zip(rows).enumerate() {
            match row {
                Row::Canonical => cursors.canonical(n, entry),
                Row::Leaf => cursors.leaf_row(entry),
                Row::Opaque => {
                    let id = entry.id_text.as_deref().map(key).unwrap_or_default();
                    cursors.by_id.insert(id.clone(), Target::Through(parent_key(entry)));
                    cursors.append = Some(id);
                }
                Row::Header | Row::Inert => {}
            }
        }
        cursors.settle(entries, rows)
    }

    fn canonical(&mut self, n: usize, entry: &Entry<'_>) {
        let id = entry.id_text.as_deref().map(key).unwrap_or_default();
        let parent = parent_key(entry);
        let hangs_on = entry.parent.is_some() && !entry.is_side && parent == self.append && self.leaf != self.append;
        if entry.parent.is_none() || hangs_on {
            self.logical.insert(n, self.leaf.clone());
        }
        self.by_id.insert(id.clone(), Target::Node(n));
        self.append = Some(id.clone());
        if !entry.is_side {
            self.leaf = Some(id);
        }
    }

    fn leaf_row(&mut self, entry: &Entry<'_>) {
        let id = entry.id_text.as_deref().map(key).unwrap_or_default();
        let (target, append, is_valid) = with_members(entry, |members| {
            let place = |name: &str| get(members, name).map(|value| (value != b"null").then(|| key(value)));
            let is_place = |name: &str| get(members, name).is_none_or(|value| value == b"null" || json::kind_of(value) == Kind::String);
            let mode = get(members, "appendMode");
            let is_valid = get(members, "targetId").is_some()
                && is_place("targetId")
                && is_place("appendParentId")
                && mode.is_none_or(|mode| mode == b"\"side\"");
            (place("targetId").flatten(), place("appendParentId"), is_valid)
        });
        if !is_valid {
            self.by_id.insert(id.clone(), Target::Through(parent_key(entry)));
            self.append = Some(id);
            return;
        }
        let is_seen = |id: &Option<Vec<u8>>| id.as_ref().is_none_or(|id| self.by_id.contains_key(id));
        if is_seen(&target) && append.as_ref().is_none_or(is_seen) {
            self.leaf = self.through(target);
            self.append = append.flatten().or_else(|| self.leaf.clone());
            self.by_id.insert(id, Target::Through(self.leaf.clone()));
        } else {
            self.by_id.insert(id, Target::Through(parent_key(entry)));
        }
    }

    /// The id of the node that an id leads to, past whatever is passed through.
    fn through(&self, id: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut id = id;
        let mut steps = 0;
        while let Some(Target::Through(next)) = id.as_ref().and_then(|id| self.by_id.get(id)) {
            id = next.clone();
            steps += 1;
            if steps > self.by_id.len() {
                return None;
            }
        }
        id
    }

    fn node(&self, id: Option<Vec<u8>>) -> Option<usize> {
        match self.through(id).and_then(|id| self.by_id.get(&id).cloned()) {
            Some(Target::Node(n)) => Some(n),
            Some(Target::Through(_)) | None => None,
        }
    }

    fn settle(self, entries: &[Entry<'_>], rows: &[Row]) -> Walk {
        let wanted: Vec<Option<usize>> = entries
            .iter()
            .enumerate()
            .map(|(n, entry)| match rows[n] {
                Row::Header | Row::Inert => None,
                Row::Canonical | Row::Leaf | Row::Opaque => self.node(self.logical.get(&n).cloned().unwrap_or_else(|| parent_key(entry))),
            })
            .collect();
        let leaf = self.node(self.leaf.clone());
        let held = self.by_id.values().filter_map(|target| match target {
            Target::Node(n) => Some(*n),
            Target::Through(_) => None,
        });
        let held = held.collect();
        Walk { parents: cut(entries, wanted, leaf), leaf, held }
    }
}

/// The loader stops at an id that it has passed already: the branch that is
/// shown is cut there, and other circles by the common rule.
fn cut(entries: &[Entry<'_>], mut wanted: Vec<Option<usize>>, leaf: Option<usize>) -> Vec<Option<usize>> {
    let mut passed = HashSet::new();
    let mut at = leaf;
    while let Some(node) = at {
        passed.insert(node);
        if wanted[node].is_some_and(|above| passed.contains(&above)) {
            wanted[node] = None;
        }
        at = wanted[node];
    }
    forest::settle(entries, wanted).parents
}

fn parent_key(entry: &Entry<'_>) -> Option<Vec<u8>> {
    entry.parent.as_deref().filter(|parent| !js::is_falsy(parent)).map(key)
}

/// The nodes that no other hangs below, by their ids.
fn other_leaves(entries: &[Entry<'_>], rows: &[Row], walk: &Walk) -> BTreeMap<String, usize> {
    let mut has_child = vec![false; entries.len()];
    let is_held = |n: usize| rows[n] == Row::Canonical && walk.held.contains(&n);
    for n in (0..entries.len()).filter(|n| is_held(*n)) {
        if let Some(above) = walk.parents[n] {
            has_child[above] = true;
        }
    }
    let leaves = (0..entries.len()).filter(|n| is_held(*n) && !has_child[*n] && Some(*n) != walk.leaf);
    leaves.filter_map(|n| entries[n].id_text.as_deref().and_then(text_of).map(|id| (id, n))).collect()
}

/// What the loader derives besides messages: the model, and facts by name.
pub(super) fn derived(scan: &Scan<'_>, judged: &Judged) -> (Option<String>, BTreeMap<String, String>) {
    let entries = &scan.entries;
    let path = forest::path(&judged.placed.parents, judged.leaf);
    let mut derived = facts::of_file(entries);
    if let Some(level) = facts::thinking_level(entries, &path) {
        derived.insert("thinking_level".to_owned(), level);
    }
    if let Some(leaf) = judged.leaf.and_then(|leaf| entries[leaf].id_text.as_deref()).and_then(text_of).filter(|_| !judged.is_linear) {
        derived.insert("leaf".to_owned(), leaf);
    }
    if !judged.has_header && !entries.is_empty() {
        derived.insert("header_recovered".to_owned(), "true".to_owned());
    }
    (facts::model(entries, &path), derived)
}
