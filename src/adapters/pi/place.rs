//! Where pi's entries stand: the rules of its own loader, of the harness that
//! shares its files, and of the tutorial.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::kit::entries::context::{self, Lineage};
use crate::adapters::kit::entries::facts::{self, Labels};
use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{Edits, Entry, EntrySchema, Placed, Renames, Scan};
use crate::adapters::kit::tree::entry::{Value, get, text_of, with_members};
use crate::adapters::kit::tree::forest::{self, ById};
use crate::adapters::kit::tree::retell::Context;
use crate::adapters::kit::tree::scan::Piece;
use crate::json::{self, Kind, Member};
use crate::model::fact::Fact;
use crate::model::heads::HeadName;
use crate::runtimes::javascript as js;

use super::harness;
use super::schema::{AGENT, HARNESS, SCHEMA, TUTORIAL};

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
    pub leaf: Leaf,
    /// Entries from which the walk up never ends.
    pub circular: Vec<bool>,
    /// Every other leaf, by its id.
    pub others: BTreeMap<String, usize>,
    /// Why the file cannot be opened at all.
    pub error: Option<&'static str>,
}

/// The entry that the session ends at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    Nowhere,
    At(usize),
    /// At an entry that is not there.
    Lost,
}

impl Leaf {
    pub(super) fn entry(self) -> Option<usize> {
        match self {
            Leaf::At(entry) => Some(entry),
            Leaf::Nowhere | Leaf::Lost => None,
        }
    }
}

pub(super) const NO_SESSION: &str = "Session file is not a valid pi session";
pub(super) const NO_HARNESS_SESSION: &str = "Session file is not a valid harness session";
pub(super) const CIRCLE: &str = "the branch is a circle";
pub(super) const TYPE_ERROR: &str = "TypeError";

/// Judges a file by its entries.
pub(super) fn judge(scan: &mut Scan<'_>) -> Judged {
    let header = scan.entries.first().filter(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let has_header = header.is_some();
    let version =
        header.and_then(|entry| with_members(entry, |members| get(members, "version").filter(|v| *v != b"null").map(<[u8]>::to_vec)));
    let of_harness = harness::version(&scan.entries);
    let version = version.or_else(|| of_harness.clone());
    let writer = if has_header { writer_of(scan, version.as_deref()) } else { Writer::Pi };
    if writer == Writer::Harness {
        // To the harness a second header is an entry like any other.
        for entry in scan.entries.iter_mut().skip(1).filter(|entry| entry.kind == Record::Header) {
            entry.kind = Record::Whole;
        }
    }
    let entries = &scan.entries;
    let number = version.as_deref().map_or(Ok(1.0), js::to_number);
    let is_below = |limit: f64| writer == Writer::Pi && number.is_ok_and(|version| version < limit);
    let lineage = if is_below(2.0) { Lineage::ByLine } else { Lineage::ById };
    let is_named: Vec<bool> = entries.iter().map(|entry| lineage == Lineage::ById && entry.kind != Record::Header).collect();
    let by_id = forest::by_id(entries, |n| is_named[n]);
    let settled = forest::settle(entries, wanted(entries, &by_id, lineage));
    let leaf = match of_harness {
        Some(_) => harness::tip(entries, &by_id).map_or(Leaf::Nowhere, Leaf::At),
        None => leaf(entries, &by_id, writer, lineage),
    };
    let throws = match writer {
        Writer::Pi => number.is_err() || (lineage == Lineage::ByLine && entries.iter().any(|e| e.value == Value::Scalar)),
        Writer::Harness => facts::of_file(entries.iter(), Labels::Trimmed).is_err(),
        Writer::Tutorial => false,
    };
    let error = if !has_header && !scan.pieces.is_empty() { Some(NO_SESSION) } else { throws.then_some(TYPE_ERROR) };
    let has_branches = lineage == Lineage::ById && error.is_none();
    let others = if has_branches { other_leaves(entries, &by_id, leaf, writer) } else { BTreeMap::new() };
    Judged {
        placed: Placed {
            schema: EntrySchema {
                dialect: match writer {
                    Writer::Pi => &AGENT,
                    Writer::Harness => &HARNESS,
                    Writer::Tutorial => &TUTORIAL,
                },
                edits: if writer == Writer::Pi && lineage == Lineage::ById { Edits::Count } else { Edits::Unknown },
                renames: if is_below(3.0) { Renames::Hooks } else { Renames::Nothing },
                ..SCHEMA
            },
            parents: settled.parents,
            is_node: vec![true; entries.len()],
            first_kept: if lineage == Lineage::ByLine { context::kept_by_number(entries) } else { HashMap::new() },
            is_named,
        },
        writer,
        version: version.map(|version| String::from_utf8_lossy(&version).into_owned()),
        lineage,
        leaf,
        circular: settled.circular,
        others,
        error,
    }
}

fn writer_of(scan: &Scan<'_>, version: Option<&[u8]>) -> Writer {
    let number = version.filter(|version| json::kind_of(version) == Kind::Number).map(js::number);
    let mut entries = scan.entries.iter().filter(|entry| entry.kind != Record::Header);
    if number == Some(1.0) && entries.clone().any(|entry| entry.id_text.is_some()) {
        return Writer::Tutorial;
    }
    let is_sign = |entry: &Entry<'_>| entry.is_other("leaf") || entry.is_other("active_tools_change");
    if number == Some(3.0) && entries.any(is_sign) && is_strict(scan) { Writer::Harness } else { Writer::Pi }
}

/// Tells whether the harness would take every line of a file.
fn is_strict(scan: &Scan<'_>) -> bool {
    let is_whole = scan.pieces.iter().all(|piece| matches!(piece, Piece::Entry(..) | Piece::Gap(..)));
    let kind = |members: &[Member<'_>], key: &str| get(members, key).map(json::kind_of);
    let is_filled = |members: &[Member<'_>], key: &str| get(members, key).is_some_and(|v| json::kind_of(v) == Kind::String && v.len() > 2);
    let header = |members: &[Member<'_>]| {
        ["id", "timestamp", "cwd"].iter().all(|key| is_filled(members, key))
            && matches!(kind(members, "parentSession"), None | Some(Kind::String))
            && matches!(kind(members, "metadata"), None | Some(Kind::Object))
    };
    let is_place = |members: &[Member<'_>], key: &str| matches!(kind(members, key), Some(Kind::Null | Kind::String));
    is_whole
        && scan.entries.iter().enumerate().all(|(n, entry)| {
            with_members(entry, |members| match n {
                0 => header(members),
                _ => {
                    kind(members, "type") == Some(Kind::String)
                        && is_filled(members, "id")
                        && is_place(members, "parentId")
                        && is_filled(members, "timestamp")
                        && (!entry.is_other("leaf") || is_place(members, "targetId"))
                }
            })
        })
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
    let parent = entry.parent.as_deref().filter(|parent| js::is_truthy(parent))?;
    forest::lookup(by_id, parent)
}

fn leaf(entries: &[Entry<'_>], by_id: &ById<'_>, writer: Writer, lineage: Lineage) -> Leaf {
    let Some(last) = entries.iter().rposition(|entry| entry.kind != Record::Header) else { return Leaf::Nowhere };
    let entry = &entries[last];
    if writer == Writer::Harness && entry.is_other("leaf") {
        return with_members(entry, |members| match get(members, "targetId") {
            None | Some(b"null") => Leaf::Nowhere,
            Some(target) => forest::lookup(by_id, target).map_or(Leaf::Lost, Leaf::At),
        });
    }
    // An id of `null` says that there is no leaf; one that is missing does not.
    let is_null = lineage == Lineage::ById && entry.id.as_deref() == Some(b"null");
    if is_null { Leaf::Nowhere } else { Leaf::At(last) }
}

/// Returns the entries that nothing hangs below, by their ids.
fn other_leaves(entries: &[Entry<'_>], by_id: &ById<'_>, leaf: Leaf, writer: Writer) -> BTreeMap<String, usize> {
    let mut has_child = vec![false; entries.len()];
    // An id that is an object is like no other.
    let held = |n: usize, entry: &Entry<'_>| entry.kind != Record::Header && entry.id.as_deref().is_none_or(|id| by_id.get(id) == Some(&n));
    for (n, entry) in entries.iter().enumerate() {
        if held(n, entry)
            && let Some(above) = named_parent(entry, by_id).filter(|above| *above != n)
        {
            has_child[above] = true;
        }
    }
    let leaves = entries.iter().enumerate().filter(|(n, entry)| held(*n, entry) && !has_child[*n] && leaf != Leaf::At(*n));
    let named = leaves.filter_map(|(n, entry)| entry.id_text.as_deref().and_then(|id| json::decode_string(id).ok()).map(|id| (id, n)));
    // None may be called as the active branch is. To pi an empty id is as good
    // as none, and the last entry stands in.
    let last = entries.iter().rposition(|entry| entry.kind != Record::Header).unwrap_or_default();
    let stands_in = |id: &str, n: usize| if id.is_empty() && writer == Writer::Pi { last } else { n };
    let main = HeadName::main().name;
    named.filter(|(id, _)| *id != main).map(|(id, n)| (id.clone(), stands_in(&id, n))).collect()
}

/// Which branches cannot be shown, and why.
pub(super) struct Failing<'j, 's, 'a> {
    judged: &'j Judged,
    entries: &'s [Entry<'a>],
    by_id: ById<'s>,
    /// Whether something on the path to an entry may fail.
    is_troubled: Vec<bool>,
}

impl<'j, 's, 'a> Failing<'j, 's, 'a> {
    pub(super) fn new(judged: &'j Judged, entries: &'s [Entry<'a>]) -> Failing<'j, 's, 'a> {
        let is_harness = judged.writer == Writer::Harness;
        let names_lost = |n: usize| {
            let named = entries[n].parent.as_deref().is_some_and(js::is_truthy);
            is_harness && named && judged.placed.parents[n].is_none()
        };
        let is_trouble = |n: usize| {
            let entry = &entries[n];
            entry.traits.lacks_message
                || names_lost(n)
                || entry.is_other("active_tools_change")
                || context::lacks_replacement(entry)
                || (context::is_timed(entry) && context::has_no_time_at_all(entry))
        };
        let is_troubled = forest::on_path(&judged.placed.parents, is_trouble);
        Failing { judged, entries, by_id: forest::by_id(entries, |n| judged.placed.is_named[n]), is_troubled }
    }

    /// Says why the branch to this entry cannot be shown.
    pub(super) fn why(&self, leaf: usize) -> Option<&'static str> {
        if self.judged.circular[leaf] {
            return Some(CIRCLE);
        }
        if !self.is_troubled[leaf] {
            return None;
        }
        let path = forest::path(&self.judged.placed.parents, Some(leaf));
        let is_harness = self.judged.writer == Writer::Harness;
        let first = path.first().map(|n| &self.entries[*n]);
        if is_harness && first.is_some_and(|entry| entry.parent.as_deref().is_some_and(js::is_truthy)) {
            return Some(NO_HARNESS_SESSION);
        }
        let fails =
            |entry: &Entry<'_>| entry.traits.lacks_message || (is_harness && entry.is_other("active_tools_change") && !has_tools(entry));
        (path.iter().any(|n| fails(&self.entries[*n])) || self.context_fails(&path)).then_some(TYPE_ERROR)
    }

    fn context_fails(&self, path: &[usize]) -> bool {
        let context = self.context(path);
        let fails = |n: usize| context::is_timed(&self.entries[n]) && context::has_no_time_at_all(&self.entries[n]);
        if context.ruling.is_some_and(fails) {
            return true;
        }
        let is_shown = |n: &usize| match self.judged.writer {
            Writer::Pi => self.entries[*n].kind != Record::Compaction,
            Writer::Harness => true,
            Writer::Tutorial => false,
        };
        if context.others().filter(is_shown).any(fails) {
            return true;
        }
        if self.judged.placed.schema.edits == Edits::Unknown {
            return false;
        }
        let edits = context.edits(self.entries);
        let renames = self.judged.placed.schema.renames;
        context.ruling.into_iter().chain(context.others().filter(is_shown)).any(|n| {
            let edit = self.entries[n].id.as_deref().and_then(|id| edits.get(id));
            edit.is_some_and(|edit| context::lacks_replacement(&self.entries[*edit])) && context::can_be_edited(&self.entries[n], renames)
        })
    }

    /// Returns what of a path is shown.
    pub(super) fn context<'p>(&self, path: &'p [usize]) -> Context<'p> {
        Context::of(path, self.entries, |compaction| match self.judged.lineage {
            Lineage::ByLine => self.judged.placed.first_kept.get(&compaction).copied(),
            Lineage::ById => with_members(&self.entries[compaction], |members| {
                let id = get(members, "firstKeptEntryId").filter(|id| js::is_truthy(id))?;
                forest::lookup(&self.by_id, id)
            }),
        })
    }
}

/// Tells whether a change of tools has a list of them, or a text.
fn has_tools(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| {
        get(members, "activeToolNames").is_some_and(|names| matches!(json::kind_of(names), Kind::Array | Kind::String))
    })
}

/// Returns what the loader derives besides messages: the model, and facts by name.
pub(super) fn derived(scan: &Scan<'_>, judged: &Judged) -> (Option<String>, BTreeMap<String, Fact>) {
    let entries = &scan.entries;
    let path = forest::path(&judged.placed.parents, judged.leaf.entry());
    let labels = if judged.writer == Writer::Harness { Labels::Trimmed } else { Labels::AsTheyAre };
    let mut derived = BTreeMap::new();
    if judged.writer != Writer::Tutorial {
        derived = facts::of_file(entries.iter(), labels).unwrap_or_default();
        derived.extend(facts::thinking_level(entries, &path).map(|level| ("thinking_level".to_owned(), level)));
    }
    let leaf_id = judged.leaf.entry().and_then(|leaf| entries[leaf].id_text.as_deref()).and_then(text_of);
    if let Some(leaf) = leaf_id.filter(|_| judged.lineage == Lineage::ById) {
        derived.insert("leaf".to_owned(), Fact::Text(leaf));
    }
    let model = match judged.writer {
        Writer::Pi | Writer::Harness => facts::model(entries, &path),
        Writer::Tutorial => tutorial_model(entries, &path),
    };
    (model, derived)
}

/// Returns the model at the end of a path in the tutorial, which knows no providers.
fn tutorial_model(entries: &[Entry<'_>], path: &[usize]) -> Option<String> {
    let named = |entry: &Entry<'_>| {
        with_members(entry, |members| {
            if entry.kind == Record::Model {
                return get(members, "model").and_then(text_of);
            }
            let model = json::members(get(members, "message")?).filter(|member| member.is("model")).last()?;
            text_of(model.value)
        })
    };
    facts::naming_a_model(entries, path).find_map(named)
}
