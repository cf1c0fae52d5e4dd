//! A session's files to events.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::tree::entry::{get, text_of, with_members};
use crate::adapters::kit::tree::file::Placed;
use crate::adapters::kit::tree::read::Reader as TreeReader;
use crate::adapters::kit::tree::retell::Context;
use crate::adapters::kit::tree::{forest, notes, scan};
use crate::json::{self, Kind, Member};
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry as FileEntry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};

use super::beside::Beside;
use super::discover::{self, Name};
use super::place::{self, Entry, File, Scan, Tree};
use super::queue::{self, Below, Deliveries};
use super::schema::{ID, KNOWN_TYPES, Node, PROGRAM, Record, Transcript, Way, is_id};

type Reader<'a, 's> = TreeReader<'a, 's, Transcript>;

/// Converts a session.
///
/// # Errors
/// When the events cannot be written.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader::new(Conversion::new(files, check, events, findings));
    let mut main = None;
    let mut agents: Vec<(&RelPath, &[u8], Option<String>)> = Vec::new();
    for (path, bytes) in regular(files) {
        match discover::judge(path.as_bytes()) {
            Name::Transcript(_) if main.is_none() => main = Some((path, bytes)),
            Name::Subagent(id) => agents.push((path, bytes, Some(format!("agent-{id}")))),
            Name::FlatAgent => agents.push((path, bytes, None)),
            Name::Transcript(_) | Name::Other => {}
        }
    }
    if main.is_none() && agents.is_empty() {
        main = regular(files).next().filter(|_| files.lone_file().is_some());
    }
    let error = match main {
        Some((path, bytes)) => transcript(&mut reader, path, bytes)?,
        None => {
            let session = Session::new(SessionKind::Orphan, ID, files.name());
            let session = Session { above: agents.first().and_then(|(path, _, _)| above(path)), ..session };
            reader.to.put_json(EventKind::Session, &session)?;
            reader.set_main(Seq::ROOT)?;
            None
        }
    };
    for (path, bytes, head) in agents {
        agent(&mut reader, path, bytes, head)?;
    }
    let active = HeadName::main().to_string();
    reader
        .to
        .put_json(EventKind::Outcome, &Outcome { active: Some(active.clone()), error: error.map(str::to_owned), ..Outcome::default() })?;
    reader.to.events.close_facts(&active)?;
    reader.trailer()
}

fn regular(files: &Files) -> impl Iterator<Item = (&RelPath, &[u8])> {
    files.iter().filter_map(|(path, entry)| match entry {
        FileEntry::File(file) => Some((path, file.bytes.as_slice())),
        FileEntry::Link { .. } | FileEntry::Rows(_) | FileEntry::EmptyFolder => None,
    })
}

/// A list of records as one head shows them.
struct Shown {
    list: Vec<usize>,
    ways: Vec<Way>,
}

/// The main transcript: the chain of its leaf is the path of the main head. Returns
/// why the program fails to load it.
fn transcript<'a>(reader: &mut Reader<'a, '_>, path: &'a RelPath, bytes: &'a [u8]) -> Result<Option<&'static str>, StreamError> {
    let mut scan = scan::scan(path, bytes, PROGRAM, Transcript, reader.to.findings);
    let tree = Tree::of(&scan, bytes, File::Main);
    let (leaf, leaves) = if tree.error.is_some() { (None, Vec::new()) } else { tree.leaves(&scan.entries) };
    let beside = Beside::of(&tree, &scan.entries);
    let deliveries = Deliveries::of(&tree, &scan.entries);
    let below = Below::of(&tree);
    let shown = |scan: &Scan<'_>, leaf: usize| {
        let mut list = beside.list(&scan.entries, &tree.chain(leaf));
        let chain = list.len();
        queue::append_below(&below, &scan.entries, leaf, &mut list);
        let ways = queue::ways(&scan.entries, &deliveries, &list, chain, File::Main);
        Shown { list, ways }
    };
    let main = leaf.map_or(Shown { list: Vec::new(), ways: Vec::new() }, |leaf| shown(&scan, leaf));
    let others: BTreeMap<String, Shown> =
        place::other_leaves(&scan.entries, &leaves, &main.list).into_iter().map(|(name, leaf)| (name, shown(&scan, leaf))).collect();
    // What the main head leaves open, the others decide: each record is shown one way.
    let lists: Vec<&Shown> = std::iter::once(&main).chain(others.values()).collect();
    show_by(&mut scan, &tree, &lists, File::Main);
    for (n, entry) in scan.entries.iter_mut().enumerate() {
        // A boundary that was itself preserved hides nothing.
        if entry.kind == Record::Boundary && tree.parents[n].is_some() {
            entry.kind = Record::Other;
        }
    }
    let placed = placed(&tree, tree.settled(&scan.entries, &main.list));
    reader.to.put_json(EventKind::Session, &session(reader.to.files, path, &scan))?;
    let seqs = reader.file(path, bytes, &scan, &placed)?;
    reader.set_main(main.list.last().map_or(Seq::ROOT, |last| seqs[*last]))?;
    other_heads(reader, path, &scan, &placed, &seqs, others)?;
    note_oddities(reader.to.findings, path, &scan, &tree);
    Ok(tree.error)
}

/// Notes how each record is shown: as the first of these lists has it, else by itself.
fn show_by(scan: &mut Scan<'_>, tree: &Tree, lists: &[&Shown], file: File) {
    let mut by_list: HashMap<usize, Way> = HashMap::new();
    for (n, way) in lists.iter().flat_map(|shown| shown.list.iter().zip(&shown.ways)) {
        by_list.entry(*n).or_insert(*way);
    }
    // Of equal uuids the last record counts, and equal records are one event.
    let counting: Vec<usize> = (0..scan.entries.len()).map(|n| tree.counting(&scan.entries, n)).collect();
    for (n, entry) in scan.entries.iter_mut().enumerate() {
        entry.traits.shown.way = by_list.get(&counting[n]).copied().unwrap_or_else(|| queue::way(entry, file));
    }
}

fn placed(tree: &Tree, parents: Vec<Option<usize>>) -> Placed<Transcript> {
    let mut is_named = vec![false; parents.len()];
    tree.nodes.iter().for_each(|n| is_named[*n] = true);
    Placed { schema: Transcript, parents, is_node: tree.is_node.clone(), is_named, first_kept: HashMap::new() }
}

/// Sets the heads of the other tips. Where the tree of the log shows something else
/// than the program, the branch is told once more.
fn other_heads<'a>(
    reader: &mut Reader<'a, '_>,
    path: &'a RelPath,
    scan: &Scan<'a>,
    placed: &Placed<Transcript>,
    seqs: &[Seq],
    others: BTreeMap<String, Shown>,
) -> Result<(), StreamError> {
    let mut heads = Vec::new();
    for (name, shown) in others {
        let way_of = |n: usize| scan.entries[n].traits.shown.way;
        let own = forest::path(&placed.parents, shown.list.last().copied());
        let from = own.iter().rposition(|n| scan.entries[*n].kind == Record::Boundary).unwrap_or(0);
        let is_seen = |n: usize, way: Way| way != Way::Hidden && (place::is_message(&scan.entries[n]) || way == Way::QueuedCommand);
        let in_log: Vec<(usize, Way)> = own[from..].iter().map(|n| (*n, way_of(*n))).filter(|(n, way)| is_seen(*n, *way)).collect();
        let wanted: Vec<(usize, Way)> =
            shown.list.iter().copied().zip(shown.ways.iter().copied()).filter(|(n, way)| is_seen(*n, *way)).collect();
        let node = if in_log == wanted {
            shown.list.last().map_or(Seq::ROOT, |last| seqs[*last])
        } else {
            retell(reader, path, scan, placed, seqs, &wanted)?
        };
        heads.push((HeadName::new(HeadKind::Branch, name), node));
    }
    for (head, node) in heads {
        reader.to.put_head(&head, node, HeadOp::Append)?;
    }
    Ok(())
}

fn retell<'a>(
    reader: &mut Reader<'a, '_>,
    path: &'a RelPath,
    scan: &Scan<'a>,
    placed: &Placed<Transcript>,
    seqs: &[Seq],
    wanted: &[(usize, Way)],
) -> Result<Seq, StreamError> {
    let mut told = Scan { pieces: Vec::new(), entries: scan.entries.clone() };
    let mut again = HashSet::new();
    for (n, way) in wanted {
        if told.entries[*n].traits.shown.way != *way {
            told.entries[*n].traits.shown.way = *way;
            again.insert(*n);
        }
    }
    let list: Vec<usize> = wanted.iter().map(|(n, _)| *n).collect();
    let mut retelling = reader.retell(path, &told, placed, seqs)?;
    retelling.put_again(again);
    retelling.branch(&Context { ruling: None, kept: &[], after: &list }, &[])
}

/// The transcript of a subagent; one of older releases has no head, because the
/// program cannot show it.
fn agent<'a>(reader: &mut Reader<'a, '_>, path: &'a RelPath, bytes: &'a [u8], head: Option<String>) -> Result<(), StreamError> {
    reader.switch_to_nobody()?;
    let mut scan = scan::scan(path, bytes, PROGRAM, Transcript, reader.to.findings);
    let tree = Tree::of(&scan, bytes, File::Agent);
    let list = tree.last_message(&scan.entries).map(|leaf| tree.chain(leaf)).unwrap_or_default();
    let ways = queue::ways(&scan.entries, &Deliveries::default(), &list, list.len(), File::Agent);
    let agent: Option<Rc<str>> = head.as_deref().map(|head| Rc::from(about(reader.to.files, path, head)));
    let shown = Shown { list, ways };
    show_by(&mut scan, &tree, &[&shown], File::Agent);
    let list = shown.list;
    for entry in &mut scan.entries {
        entry.traits.shown.agent = agent.clone().filter(|_| place::is_message(entry) || entry.kind == Record::Queued);
    }
    let placed = placed(&tree, tree.settled(&scan.entries, &list));
    let seqs = reader.file(path, bytes, &scan, &placed)?;
    if let Some(head) = head {
        let node = list.last().map_or(Seq::ROOT, |last| seqs[*last]);
        reader.to.put_head(&HeadName::new(HeadKind::Branch, head), node, HeadOp::Load)?;
    }
    note_oddities(reader.to.findings, path, &scan, &tree);
    Ok(())
}

/// The subagent's id, and what its meta file says of who started it.
fn about(files: &Files, path: &RelPath, head: &str) -> String {
    let meta = path.as_bytes().strip_suffix(b".jsonl").map(|stem| [stem, b".meta.json"].concat()).unwrap_or_default();
    let bytes = regular(files).find(|(other, _)| other.as_bytes() == meta).map(|(_, bytes)| bytes).unwrap_or_default();
    let mut members: Vec<Member<'_>> = Vec::new();
    let is_meta = json::scan_object(bytes, json::Dialect::Strict, &mut members).is_ok();
    let mut out = b"{\"id\":".to_vec();
    json::push_string(head.strip_prefix("agent-").unwrap_or(head), &mut out);
    for (name, key, signs) in [("tool_use_id", "toolUseId", "_.:-"), ("parent_agent_id", "parentAgentId", "_-")] {
        // The program takes nothing else for an id.
        let value = get(&members, key).filter(|value| is_meta && is_id(value, signs));
        if let Some(value) = value {
            out.extend_from_slice(format!(",\"{name}\":").as_bytes());
            json::push_carried_string(value, json::Escapes::Utf8, &mut out);
        }
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

/// How many folders above its log the paths of a session's files begin: they lie in
/// several folders of the program's own one.
fn above(path: &RelPath) -> Option<u32> {
    let depth = path.as_bytes().iter().filter(|byte| **byte == b'/').count();
    u32::try_from(depth).ok().filter(|depth| *depth > 0)
}

/// The session as its records describe it.
fn session(files: &Files, path: &RelPath, scan: &Scan<'_>) -> Session {
    let mut session = Session::new(SessionKind::Session, ID, files.name());
    if let Name::Transcript(id) = discover::judge(path.as_bytes()) {
        session.id = id;
    }
    session.above = above(path);
    let (mut given, mut made_up, mut summed_up) = (None, None, None);
    for entry in scan.entries.iter().filter(|entry| entry.is_object()) {
        with_members(entry, |members| {
            let field = |key: &str| get(members, key).and_then(text_of).filter(|text| !text.is_empty());
            session.cwd = session.cwd.take().or_else(|| field("cwd"));
            session.created = session.created.take().or_else(|| field("timestamp"));
            session.format_version = field("version").filter(|_| entry.traits.node != Node::State).or(session.format_version.take());
            given = field("customTitle").or(given.take());
            made_up = field("aiTitle").or(made_up.take());
            summed_up = field("summary").filter(|_| entry.is_other("summary")).or(summed_up.take());
            let forked = get(members, "forkedFrom").filter(|from| json::kind_of(from) == Kind::Object);
            let parent = forked.and_then(|from| get(&json::all_members(from), "sessionId").and_then(text_of));
            session.parent_session = session.parent_session.take().or(parent).or_else(|| field("requestSessionId"));
        });
    }
    // What a person called it goes before what a model did.
    session.title = given.or_else(|| title_beside(files, path)).or(made_up).or(summed_up);
    session
}

/// The title that newer releases keep in a file beside the transcript.
fn title_beside(files: &Files, path: &RelPath) -> Option<String> {
    let place = [path.as_bytes().strip_suffix(b".jsonl")?, b"/custom-title.json"].concat();
    let bytes = regular(files).find(|(other, _)| other.as_bytes() == place).map(|(_, bytes)| bytes)?;
    let mut members: Vec<Member<'_>> = Vec::new();
    json::scan_object(bytes, json::Dialect::Strict, &mut members).ok()?;
    get(&members, "customTitle").and_then(text_of).filter(|title| !title.is_empty())
}

fn note_oddities(findings: &mut Findings, path: &RelPath, scan: &Scan<'_>, tree: &Tree) {
    let mut is_named = vec![false; scan.entries.len()];
    scan.entries.iter().enumerate().for_each(|(n, entry)| is_named[n] = entry.traits.node != Node::State);
    notes::repeats(findings, path, PROGRAM, &scan.entries, &is_named);
    // What stands before is not read at all, and names records that are there.
    for (n, entry) in scan.entries.iter().enumerate().skip(tree.first_read()).filter(|(n, _)| tree.is_node[*n]) {
        let names_one = entry.parent.as_deref().is_some_and(|parent| json::kind_of(parent) == Kind::String);
        if names_one && tree.parents[n].is_none() {
            let message = "names a record above it that is not there; the program shows nothing from before it on this branch";
            findings.add(FindingCode::LostParent, Location::at(path.to_string(), entry.line.number, 1), message);
        }
    }
    let is_unknown = |entry: &&Entry<'_>| entry.traits.node == Node::State && !KNOWN_TYPES.iter().any(|name| entry.is_other(name));
    notes::unknown_types(findings, path, PROGRAM, scan.entries.iter().filter(is_unknown));
}
