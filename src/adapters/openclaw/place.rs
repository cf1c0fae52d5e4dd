//! Where a transcript's entries stand: the rules of the session manager of
//! 2026.7.1, with its two cursors.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::kit::entries::context::{self, Lineage};
use crate::adapters::kit::entries::facts::{self, Labels};
use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{Entry, EntrySchema, Placed, Renames, Scan};
use crate::adapters::kit::tree::entry::{Value, get, text_of, with_members};
use crate::adapters::kit::tree::forest;
use crate::adapters::kit::tree::retell::Context;
use crate::adapters::kit::tree::scan::Piece;
use crate::json::{self, Kind};
use crate::model::fact::Fact;
use crate::model::heads::HeadName;
use crate::runtimes::javascript as js;

use super::cursors::{Cursors, Id, Ids, LinkedRow, Row};
use super::schema::SCHEMA;

/// What the loader makes of a transcript.
pub(super) struct Judged {
    pub placed: Placed,
    pub version: Option<String>,
    pub leaf: Option<usize>,
    /// Every other leaf, by its id.
    pub others: BTreeMap<String, usize>,
    pub has_header: bool,
    /// Whether a header has to be found or made up.
    pub is_recovered: bool,
    pub lineage: Lineage,
    /// Why the file cannot be opened at all.
    pub error: Option<&'static str>,
    rows: Vec<Row>,
    /// The parents that the program goes by, circles and all.
    wanted: Vec<Option<usize>>,
    /// Entries from which the walk up comes into a circle.
    circular: Vec<bool>,
    first_kept: HashMap<usize, usize>,
}

pub(super) const TYPE_ERROR: &str = "TypeError";
pub(super) const BAD_TIME: &str = "invalid timestamp";

fn row(entry: &Entry<'_>, lineage: Lineage) -> Row {
    let has_id = entry.id_text.as_deref().is_some_and(|id| id.len() > 2);
    let is_parent = entry.parent.as_deref().is_some_and(|parent| parent == b"null" || json::kind_of(parent) == Kind::String);
    let is_canonical = !matches!(entry.kind, Record::Usage | Record::Edit | Record::Whole);
    if entry.kind == Record::Header {
        Row::Header
    } else if is_canonical && (has_id || lineage == Lineage::ByLine) {
        Row::Canonical
    } else if !has_id || !is_parent {
        Row::Inert
    } else if entry.is_other("leaf") {
        leaf_row(entry)
    } else {
        Row::Opaque
    }
}

fn leaf_row(entry: &Entry<'_>) -> Row {
    let is_wellformed = with_members(entry, |members| {
        let is_place = |value: &[u8]| matches!(json::kind_of(value), Kind::Null | Kind::String);
        get(members, "targetId").is_some_and(is_place)
            && get(members, "appendParentId").is_none_or(is_place)
            && (get(members, "appendMode").is_none() || entry.traits.is_side)
    });
    if is_wellformed { Row::Leaf } else { Row::Inert }
}

/// Judges a transcript.
pub(super) fn judge(scan: &Scan<'_>) -> Judged {
    let entries = &scan.entries;
    let is_header = |entry: &Entry<'_>| entry.kind == Record::Header && entry.id_text.is_some();
    let header = entries.iter().find(|entry| is_header(entry));
    let has_header = entries.first().is_some_and(is_header);
    let is_recovered = !has_header && scan.pieces.iter().any(|piece| !matches!(piece, Piece::Gap(..)));
    let version =
        header.and_then(|entry| with_members(entry, |members| get(members, "version").filter(|v| *v != b"null").map(<[u8]>::to_vec)));
    let number = version.as_deref().map_or(Ok(1.0), js::to_number);
    let is_below = |limit: f64| header.is_some() && number.is_ok_and(|version| version < limit);
    let lineage = if is_below(2.0) { Lineage::ByLine } else { Lineage::ById };
    let asks_null = is_recovered && entries.iter().any(|entry| entry.value == Value::Null);
    let error = (asks_null || (header.is_some() && number.is_err())).then_some(TYPE_ERROR);

    let rows: Vec<Row> = entries.iter().map(|entry| row(entry, lineage)).collect();
    let mut ids = Ids::default();
    let mut cursors = Cursors::follow(&lines(entries, &rows, lineage, &mut ids), ids.count());
    let wanted = cursors.wanted();
    let leaf = cursors.leaf();
    let first_kept = first_kept(entries, &rows, &mut cursors, &ids, lineage);
    let others =
        if lineage == Lineage::ByLine || error.is_some() { BTreeMap::new() } else { other_leaves(entries, &cursors, &wanted, leaf) };
    let (parents, circular) = forest::cut(&wanted, leaf);
    Judged {
        placed: Placed {
            schema: EntrySchema { renames: if is_below(3.0) { Renames::Hooks } else { Renames::Nothing }, ..SCHEMA },
            is_node: rows.iter().map(|row| *row != Row::Inert).collect(),
            is_named: rows.iter().map(|row| *row == Row::Canonical && lineage == Lineage::ById).collect(),
            parents,
            first_kept: first_kept.clone(),
        },
        version: version.map(|version| String::from_utf8_lossy(&version).into_owned()),
        leaf,
        others,
        has_header,
        is_recovered,
        lineage,
        error,
        rows,
        wanted,
        circular,
        first_kept,
    }
}

/// Returns the rows with their ids; version 1 has none, and each row stands below the
/// one before.
fn lines(entries: &[Entry<'_>], rows: &[Row], lineage: Lineage, ids: &mut Ids) -> Vec<LinkedRow> {
    let mut previous = Id::Null;
    let mut line = |(entry, row): (&Entry<'_>, &Row)| {
        let mut line = LinkedRow {
            row: *row,
            id: ids.of(entry.id_text.as_deref()),
            parent: ids.of(entry.parent.as_deref()),
            is_side: entry.traits.is_side,
            target: Id::Absent,
            append: Id::Absent,
        };
        if *row == Row::Leaf {
            (line.target, line.append) =
                with_members(entry, |members| (ids.of(get(members, "targetId")), ids.of(get(members, "appendParentId"))));
        }
        if lineage == Lineage::ByLine && *row == Row::Canonical {
            line.id = ids.invent();
            line.parent = std::mem::replace(&mut previous, line.id);
        }
        line
    };
    entries.iter().zip(rows).map(&mut line).collect()
}

/// Returns the entry that each compaction keeps first, where its own id does not say.
fn first_kept(entries: &[Entry<'_>], rows: &[Row], cursors: &mut Cursors, ids: &Ids, lineage: Lineage) -> HashMap<usize, usize> {
    let compactions = (0..entries.len()).filter(|n| entries[*n].kind == Record::Compaction && rows[*n] == Row::Canonical);
    let compactions: Vec<usize> = compactions.collect();
    let mut kept = HashMap::new();
    for n in compactions {
        let (index, named) = with_members(&entries[n], |members| {
            let index = get(members, "firstKeptEntryIndex").filter(|index| json::kind_of(index) == Kind::Number).map(js::number);
            (index, ids.find(get(members, "firstKeptEntryId")))
        });
        let by_number = index.filter(|_| lineage == Lineage::ByLine).and_then(|index| entry_at(rows, index));
        let first = match by_number {
            // Ids are given one after another: a later entry still has its old one.
            Some(first) if first <= n => Some(first),
            Some(first) => cursors.kept_by_name(n, ids.find(entries[first].id_text.as_deref())),
            None => cursors.kept_by_name(n, named),
        };
        kept.extend(first.map(|first| (n, first)));
    }
    kept
}

/// Returns the entry at a place among everything, the header included, or else among
/// entries alone.
fn entry_at(rows: &[Row], index: f64) -> Option<usize> {
    let is_index = (1.0..4_294_967_295.0).contains(&index) && index == index.trunc();
    let after_header = is_index.then(|| index as usize - 1)?;
    let begins_with_header = rows.first() == Some(&Row::Header);
    let listed = |n: &usize| if begins_with_header { *n > 0 } else { rows[*n] != Row::Header };
    let row = (0..rows.len()).filter(listed).nth(after_header).filter(|n| rows[*n] == Row::Canonical);
    row.or_else(|| (0..rows.len()).filter(|n| rows[*n] == Row::Canonical).nth(after_header))
}

/// Returns the nodes that no other hangs below, by their ids.
fn other_leaves(entries: &[Entry<'_>], cursors: &Cursors, wanted: &[Option<usize>], leaf: Option<usize>) -> BTreeMap<String, usize> {
    let mut has_child = vec![false; entries.len()];
    for n in (0..entries.len()).filter(|n| cursors.is_held(*n)) {
        if let Some(above) = wanted[n] {
            has_child[above] = true;
        }
    }
    let main = HeadName::main().name;
    let leaves = (0..entries.len()).filter(|n| cursors.is_held(*n) && !has_child[*n] && Some(*n) != leaf);
    let named = leaves.filter_map(|n| entries[n].id_text.as_deref().and_then(text_of).map(|id| (id, n)));
    // Of names that look alike the first entry has it.
    let mut others = BTreeMap::new();
    for (id, n) in named.filter(|(id, _)| *id != main) {
        others.entry(id).or_insert(n);
    }
    others
}

impl Judged {
    /// Returns the way up from an entry as the program goes it, first to last: it stops
    /// at an entry that it has passed.
    pub(super) fn way(&self, leaf: Option<usize>) -> Vec<usize> {
        let Some(leaf) = leaf else { return Vec::new() };
        if !self.circular[leaf] {
            return forest::path(&self.wanted, Some(leaf));
        }
        let mut passed = std::collections::HashSet::new();
        let mut way = Vec::new();
        let mut at = Some(leaf);
        while let Some(node) = at.filter(|node| passed.insert(*node)) {
            way.push(node);
            at = self.wanted[node];
        }
        way.reverse();
        way
    }

    /// Tells whether the log's own tree cannot show the way to an entry.
    pub(super) fn is_round(&self, leaf: usize) -> bool {
        self.circular[leaf] && self.way(Some(leaf)) != forest::path(&self.placed.parents, Some(leaf))
    }

    /// Returns what of a way is shown.
    pub(super) fn context<'p>(&self, way: &'p [usize], entries: &[Entry<'_>], by_id: &forest::ById<'_>) -> Context<'p> {
        Context::of(way, entries, |compaction| {
            let named =
                || with_members(&entries[compaction], |members| get(members, "firstKeptEntryId").and_then(|id| forest::lookup(by_id, id)));
            self.first_kept.get(&compaction).copied().or_else(named)
        })
    }

    /// Tells whether a row is an entry of the tree.
    pub(super) fn is_entry(&self, n: usize) -> bool {
        self.rows[n] == Row::Canonical
    }
}

/// Which branches cannot be shown, and why.
pub(super) struct Failing<'j, 's, 'a> {
    judged: &'j Judged,
    entries: &'s [Entry<'a>],
    pub(super) by_id: forest::ById<'s>,
    is_troubled: Vec<bool>,
}

impl<'j, 's, 'a> Failing<'j, 's, 'a> {
    pub(super) fn new(judged: &'j Judged, entries: &'s [Entry<'a>]) -> Failing<'j, 's, 'a> {
        let is_trouble =
            |n: usize| entries[n].traits.lacks_message || (context::is_timed(&entries[n]) && !context::has_sound_time(&entries[n]));
        let trouble: Vec<bool> = (0..entries.len()).map(is_trouble).collect();
        let is_troubled = match trouble.contains(&true) {
            true => {
                let above = forest::on_path(&judged.placed.parents, |n| trouble[n]);
                (0..entries.len()).map(|n| above[n] || judged.circular[n]).collect()
            }
            false => trouble,
        };
        Failing { judged, entries, by_id: forest::by_id(entries, |n| judged.placed.is_named[n]), is_troubled }
    }

    /// Says why the branch to this entry cannot be shown.
    pub(super) fn why(&self, leaf: usize) -> Option<&'static str> {
        if !self.is_troubled[leaf] {
            return None;
        }
        let way = self.judged.way(Some(leaf));
        if way.iter().any(|n| self.entries[*n].traits.lacks_message) {
            return Some(TYPE_ERROR);
        }
        let context = self.judged.context(&way, self.entries, &self.by_id);
        let is_bad = |n: usize| context::is_timed(&self.entries[n]) && !context::has_sound_time(&self.entries[n]);
        let is_older = |n: &usize| self.entries[*n].kind == Record::Compaction;
        let fails = context.ruling.is_some_and(is_bad) || context.others().filter(|n| !is_older(n)).any(is_bad);
        fails.then_some(BAD_TIME)
    }
}

/// Returns what the loader knows of a session before it makes messages of it.
pub(super) fn state(scan: &Scan<'_>, judged: &Judged) -> BTreeMap<String, Fact> {
    let entries = &scan.entries;
    let known: Vec<&Entry<'_>> = entries.iter().enumerate().filter(|(n, _)| judged.is_entry(*n)).map(|(_, entry)| entry).collect();
    let mut facts = facts::of_file(known.iter().copied(), Labels::AsTheyAre).unwrap_or_default();
    if let Some(leaf) =
        judged.leaf.and_then(|leaf| entries[leaf].id_text.as_deref()).and_then(text_of).filter(|_| judged.lineage == Lineage::ById)
    {
        facts.insert("leaf".to_owned(), Fact::Text(leaf));
    }
    if judged.is_recovered {
        facts.insert("header_recovered".to_owned(), Fact::Json("true".to_owned()));
    }
    facts
}

/// Returns the model and the thinking level of the active branch.
pub(super) fn settings(scan: &Scan<'_>, judged: &Judged) -> (Option<String>, Option<Fact>) {
    let way = judged.way(judged.leaf);
    (facts::model(&scan.entries, &way), facts::thinking_level(&scan.entries, &way))
}
