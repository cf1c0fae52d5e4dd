//! Where a transcript's entries stand, what of each branch is shown, and why a
//! branch cannot be.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::kit::entries::context;
use crate::adapters::kit::entries::facts::{self, Labels};
use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{Entry, Placed, Scan};
use crate::adapters::kit::tree::entry::{get, text_of, with_members};
use crate::adapters::kit::tree::retell::Context;
use crate::adapters::kit::tree::{entry, forest};
use crate::model::fact::Fact;
use crate::model::heads::HeadName;
use crate::model::jsonl::Line;
use crate::runtimes::javascript as js;

use super::known::{Role, role_of};
use super::navigate::Navigation;
use super::pairs;
use super::schema::SCHEMA;

/// The texts of a transcript as entries.
pub(super) struct Transcript<'a> {
    pub(super) scan: Scan<'a>,
    /// The place of each entry among the texts.
    pub(super) places: Vec<usize>,
    /// The texts that are not JSON, by their places.
    pub(super) broken: Vec<usize>,
}

impl<'a> Transcript<'a> {
    /// Reads texts, one entry each.
    pub(super) fn of(texts: impl Iterator<Item = &'a [u8]>) -> Transcript<'a> {
        let mut transcript = Transcript { scan: Scan { pieces: Vec::new(), entries: Vec::new() }, places: Vec::new(), broken: Vec::new() };
        for (n, text) in texts.enumerate() {
            match entry::read(Line { number: n as u64 + 1, offset: 0, text, end: b"" }, SCHEMA) {
                Ok(entry) => {
                    transcript.scan.entries.push(entry);
                    transcript.places.push(n);
                }
                Err(_) => transcript.broken.push(n),
            }
        }
        transcript
    }
}

/// Why a transcript cannot be loaded, or a branch of it cannot be shown.
const NOT_JSON: &str = "SyntaxError";
const TYPE_ERROR: &str = "TypeError";
const LEGACY: &str = "legacy transcript";
const BAD_TIME: &str = "invalid timestamp";

/// What the loader makes of a transcript.
pub(super) struct Judged {
    pub(super) placed: Placed,
    /// What its header says.
    pub(super) version: Option<String>,
    pub(super) leaf: Option<usize>,
    /// Every other leaf, by its id.
    pub(super) others: BTreeMap<String, usize>,
    /// Why it cannot be loaded at all.
    pub(super) error: Option<&'static str>,
    navigation: Navigation,
    circular: Vec<bool>,
    /// Whether any entry could make a branch fail, or be shown otherwise than the tree
    /// of a log says: most transcripts have none, and may have many branches.
    has_bad_times: bool,
    may_be_odd: bool,
}

/// Whether an entry becomes a message of its own time, and has none.
fn lacks_time(entry: &Entry<'_>) -> bool {
    let is_timed = matches!(entry.kind, Record::CustomMessage | Record::Compaction) || context::is_told_summary(entry);
    is_timed && !context::has_sound_time(entry)
}

/// Judges a transcript.
pub(super) fn judge(transcript: &Transcript<'_>) -> Judged {
    let entries = &transcript.scan.entries;
    let header = entries.iter().find(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let version =
        header.and_then(|entry| with_members(entry, |members| get(members, "version").filter(|v| *v != b"null").map(<[u8]>::to_vec)));
    let number = version.as_deref().map_or(Ok(1.0), js::to_number);
    let error = match number {
        _ if !transcript.broken.is_empty() => Some(NOT_JSON),
        _ if entries.is_empty() => None,
        Err(_) => Some(TYPE_ERROR),
        Ok(version) if version < 3.0 => Some(LEGACY),
        Ok(_) => None,
    };
    let roles: Vec<Role> = entries.iter().map(role_of).collect();
    let mut navigation = Navigation::of(entries, &roles);
    let is_boundary = |n: &usize| navigation.is_node[*n] && matches!(entries[*n].kind, Record::Compaction | Record::Reset);
    let boundaries: Vec<usize> = (0..entries.len()).filter(is_boundary).collect();
    let first_kept: HashMap<usize, usize> = boundaries.into_iter().filter_map(|n| Some((n, navigation.first_kept(n)?))).collect();
    let (parents, circular) = forest::cut(&navigation.wanted, navigation.leaf);
    let others = if error.is_some() { BTreeMap::new() } else { other_leaves(entries, &navigation) };
    let may_be_odd = circular.contains(&true) || first_kept.keys().any(|n| entries[*n].kind == Record::Reset);
    Judged {
        has_bad_times: entries.iter().any(lacks_time),
        may_be_odd,
        placed: Placed {
            schema: SCHEMA,
            parents,
            is_node: roles.iter().zip(entries).map(|(role, entry)| *role != Role::Inert || entry.kind == Record::Header).collect(),
            is_named: navigation.is_node.clone(),
            first_kept,
        },
        version: version.map(|version| String::from_utf8_lossy(&version).into_owned()),
        leaf: navigation.leaf,
        others,
        error,
        navigation,
        circular,
    }
}

/// The nodes that no other hangs below, by their ids.
fn other_leaves(entries: &[Entry<'_>], navigation: &Navigation) -> BTreeMap<String, usize> {
    let mut has_child = vec![false; entries.len()];
    for n in (0..entries.len()).filter(|n| navigation.is_held(*n)) {
        if let Some(above) = navigation.wanted[n] {
            has_child[above] = true;
        }
    }
    let main = HeadName::main().name;
    let leaves = (0..entries.len()).filter(|n| navigation.is_held(*n) && !has_child[*n] && Some(*n) != navigation.leaf);
    let named = leaves.filter_map(|n| entries[n].id_text.as_deref().and_then(text_of).map(|id| (id, n)));
    // Of names that look alike the first entry has it.
    let mut others = BTreeMap::new();
    for (id, n) in named.filter(|(id, _)| *id != main) {
        others.entry(id).or_insert(n);
    }
    others
}

/// What is shown of a branch.
pub(super) struct Branch {
    ruling: Option<usize>,
    kept: Vec<usize>,
    after: Vec<usize>,
    /// Whether the tree of a log cannot say so.
    is_odd: bool,
}

impl Branch {
    pub(super) fn context(&self) -> Context<'_> {
        Context { ruling: self.ruling, kept: &self.kept, after: &self.after }
    }
}

impl Judged {
    /// The way up from an entry, first to last: it stops at an entry that it has
    /// passed.
    fn way(&self, leaf: usize) -> Vec<usize> {
        let mut passed = std::collections::HashSet::new();
        let mut way = Vec::new();
        let mut at = Some(leaf);
        while let Some(node) = at.filter(|node| passed.insert(*node)) {
            way.push(node);
            at = self.navigation.wanted[node];
        }
        way.reverse();
        way
    }

    fn branch(&self, leaf: usize, entries: &[Entry<'_>]) -> Branch {
        let way = self.way(leaf);
        let is_round = self.circular[leaf] && way != forest::path(&self.placed.parents, Some(leaf));
        let Some(at) = way.iter().rposition(|n| matches!(entries[*n].kind, Record::Compaction | Record::Reset)) else {
            return Branch { ruling: None, kept: Vec::new(), after: way, is_odd: is_round };
        };
        let first = self.placed.first_kept.get(&way[at]);
        let from = first.and_then(|first| way[..at].iter().position(|n| n == first)).unwrap_or(at);
        let mut kept = way[from..at].to_vec();
        let all = kept.len();
        if entries[way[at]].kind == Record::Reset {
            // Of what stands before a reset, only what was said is kept.
            kept = pairs::said(&kept, entries);
        }
        let is_odd = is_round || kept.len() != all;
        Branch { ruling: Some(way[at]), kept, after: way[at + 1..].to_vec(), is_odd }
    }

    /// What is shown of the branch to an entry, where the tree of a log cannot say so.
    pub(super) fn odd_branch(&self, leaf: usize, entries: &[Entry<'_>]) -> Option<Branch> {
        self.may_be_odd.then(|| self.branch(leaf, entries)).filter(|branch| branch.is_odd)
    }

    /// Why the branch to an entry cannot be shown.
    pub(super) fn why(&self, leaf: usize, entries: &[Entry<'_>]) -> Option<&'static str> {
        if !self.has_bad_times {
            return None;
        }
        let branch = self.branch(leaf, entries);
        let is_bad = |n: &usize| entries[*n].kind != Record::Compaction && lacks_time(&entries[*n]);
        let is_ruled_badly = branch.ruling.is_some_and(|n| lacks_time(&entries[n]));
        let fails = is_ruled_badly || branch.kept.iter().chain(&branch.after).any(is_bad);
        fails.then_some(BAD_TIME)
    }

    /// What the loader knows of a session before it makes messages of it.
    pub(super) fn state(&self, entries: &[Entry<'_>]) -> BTreeMap<String, Fact> {
        let known: Vec<&Entry<'_>> =
            entries.iter().enumerate().filter(|(n, _)| self.navigation.is_node[*n]).map(|(_, entry)| entry).collect();
        let mut facts = facts::of_file(known.iter().copied(), Labels::AsTheyAre).unwrap_or_default();
        if let Some(leaf) = self.leaf.and_then(|leaf| entries[leaf].id_text.as_deref()).and_then(text_of) {
            facts.insert("leaf".to_owned(), Fact::Text(leaf));
        }
        facts
    }

    /// The model and the thinking level of the active branch.
    pub(super) fn settings(&self, entries: &[Entry<'_>]) -> (Option<String>, Option<Fact>) {
        let way = self.leaf.map(|leaf| self.way(leaf)).unwrap_or_default();
        (facts::model(entries, &way), facts::thinking_level(entries, &way))
    }
}
