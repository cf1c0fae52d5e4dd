//! Where pi's entries stand: the rules of its own loader, of the harness that
//! shares its files, and of the tutorial.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::tree::entry::{Entry, get, text_of, with_members};
use crate::adapters::tree::facts;
use crate::adapters::tree::forest::{self, ById};
use crate::adapters::tree::js;
use crate::adapters::tree::read::{Placed, Renames};
use crate::adapters::tree::scan::{Piece, Scan};
use crate::adapters::tree::tables::{Record, Words};
use crate::model::json::{self, Kind};

/// Who wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// The coding agent.
    Pi,
    /// The agent core's harness, which keeps the leaf in records of its own.
    Harness,
    /// Nobody: the tutorial's schema.
    Tutorial,
}

/// What the loader makes of a file.
pub(super) struct Judged {
    pub placed: Placed,
    pub writer: Writer,
    pub version: Option<String>,
    pub lineage: Lineage,
    /// The entry that is shown up to.
    pub leaf: Option<usize>,
    /// Entries from which the walk up never ends.
    pub circular: Vec<bool>,
    /// Every other leaf, by its id.
    pub others: BTreeMap<String, usize>,
    pub error: Option<&'static str>,
}

/// How entries say what stands above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lineage {
    /// By id.
    ById,
    /// Not at all: it is the line before (version 1).
    ByLine,
}

pub(super) const NO_SESSION: &str = "Session file is not a valid pi session";
pub(super) const CIRCLE: &str = "the branch is a circle";

/// Judges a file by its entries.
pub(super) fn judge(scan: &Scan<'_>) -> Judged {
    let entries = &scan.entries;
    let header = entries.first().filter(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let version_value = entries
        .iter()
        .find(|entry| entry.kind == Record::Header)
        .and_then(|entry| with_members(entry, |members| get(members, "version").filter(|version| *version != b"null").map(<[u8]>::to_vec)));
    let writer = writer_of(scan, header, version_value.as_deref());
    let version = version_number(version_value.as_deref());
    let lineage = if writer == Writer::Pi && version < 2.0 { Lineage::ByLine } else { Lineage::ById };
    let by_id = forest::by_id(entries, |entry| entry.kind != Record::Header);
    let settled = forest::settle(entries, wanted(entries, &by_id, lineage));
    let last = entries.iter().rposition(|entry| entry.kind != Record::Header);
    let leaf = match writer {
        Writer::Pi | Writer::Tutorial => last,
        Writer::Harness => harness_leaf(entries, &by_id, last),
    };
    Judged {
        placed: Placed {
            words: if writer == Writer::Tutorial { Words::Tutorial } else { Words::Pi },
            parents: settled.parents,
            is_node: vec![true; entries.len()],
            renames: if writer == Writer::Pi && version < 3.0 { Renames::Hooks } else { Renames::Nothing },
            first_kept: if lineage == Lineage::ByLine { forest::kept_by_number(entries) } else { HashMap::new() },
        },
        writer,
        version: version_value.map(|version| String::from_utf8_lossy(&version).into_owned()),
        lineage,
        leaf,
        circular: settled.circular,
        others: if lineage == Lineage::ByLine { BTreeMap::new() } else { other_leaves(entries, &by_id, leaf) },
        error: (header.is_none() && !scan.pieces.is_empty()).then_some(NO_SESSION),
    }
}

/// A version as JavaScript compares it: what is no number is below nothing.
fn version_number(version: Option<&[u8]>) -> f64 {
    match version {
        None => 1.0,
        Some(value) if json::kind_of(value) == Kind::String => json::unescape(value).trim().parse().unwrap_or(f64::NAN),
        Some(b"true") => 1.0,
        Some(b"false") => 0.0,
        Some(value) => js::number(value),
    }
}

fn writer_of(scan: &Scan<'_>, header: Option<&Entry<'_>>, version: Option<&[u8]>) -> Writer {
    let mut entries = scan.entries.iter().filter(|entry| entry.kind != Record::Header);
    let has_ids = entries.clone().find(|entry| entry.is_object).is_some_and(|entry| entry.id_text.is_some());
    if header.is_some() && has_ids && version == Some(b"1") {
        return Writer::Tutorial;
    }
    let is_harness = |entry: &Entry<'_>| matches!(entry.other_type.as_slice(), b"\"leaf\"" | b"\"active_tools_change\"");
    let is_whole = scan.pieces.iter().all(|piece| matches!(piece, Piece::Entry(..) | Piece::Gap(_)));
    if header.is_some() && version == Some(b"3") && is_whole && entries.any(is_harness) { Writer::Harness } else { Writer::Pi }
}

fn wanted(entries: &[Entry<'_>], by_id: &ById<'_>, lineage: Lineage) -> Vec<Option<usize>> {
    let mut above = None;
    let parent = |(n, entry): (usize, &Entry<'_>)| {
        if entry.kind == Record::Header {
            return None;
        }
        match lineage {
            Lineage::ByLine => above.replace(n),
            Lineage::ById => named_parent(entry, by_id),
        }
    };
    entries.iter().enumerate().map(parent).collect()
}

fn named_parent(entry: &Entry<'_>, by_id: &ById<'_>) -> Option<usize> {
    let parent = entry.parent.as_deref().filter(|parent| !js::is_falsy(parent))?;
    forest::lookup(by_id, parent)
}

fn harness_leaf(entries: &[Entry<'_>], by_id: &ById<'_>, last: Option<usize>) -> Option<usize> {
    let entry = &entries[last?];
    if entry.other_type != b"\"leaf\"" {
        return last;
    }
    with_members(entry, |members| get(members, "targetId").and_then(|target| forest::lookup(by_id, target)))
}

/// The entries that nothing hangs below, by their ids.
fn other_leaves(entries: &[Entry<'_>], by_id: &ById<'_>, leaf: Option<usize>) -> BTreeMap<String, usize> {
    let mut has_child = vec![false; entries.len()];
    let held = |n: usize, entry: &Entry<'_>| entry.id.as_deref().and_then(|id| by_id.get(id)) == Some(&n);
    for (n, entry) in entries.iter().enumerate() {
        if held(n, entry)
            && let Some(above) = named_parent(entry, by_id).filter(|above| *above != n)
        {
            has_child[above] = true;
        }
    }
    let leaves = entries.iter().enumerate().filter(|(n, entry)| held(*n, entry) && !has_child[*n] && Some(*n) != leaf);
    leaves.filter_map(|(n, entry)| entry.id_text.as_deref().and_then(text_of).map(|id| (id, n))).collect()
}

/// What the loader derives besides messages: the model, and facts by name.
pub(super) fn derived(scan: &Scan<'_>, judged: &Judged) -> (Option<String>, BTreeMap<String, String>) {
    let entries = &scan.entries;
    let path = forest::path(&judged.placed.parents, judged.leaf);
    let mut derived = facts::of_file(entries);
    if let Some(level) = facts::thinking_level(entries, &path).filter(|_| judged.writer != Writer::Tutorial) {
        derived.insert("thinking_level".to_owned(), level);
    }
    let leaf_id = judged.leaf.and_then(|leaf| entries[leaf].id_text.as_deref()).and_then(text_of);
    if let Some(leaf) = leaf_id.filter(|_| judged.lineage == Lineage::ById) {
        derived.insert("leaf".to_owned(), leaf);
    }
    let model = match judged.writer {
        Writer::Pi | Writer::Harness => facts::model(entries, &path),
        Writer::Tutorial => facts::tutorial_model(entries, &path),
    };
    (model, derived)
}
