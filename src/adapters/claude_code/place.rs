//! Where the records of a transcript stand: the rules by which the SDK (0.3.326)
//! links them, finds the leaf, and lists what belongs to it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::adapters::kit::tree::entry::{Entry as TreeEntry, get, with_members};
use crate::adapters::kit::tree::scan::Scan as TreeScan;
use crate::json::{self, Kind, Member};
use crate::runtimes::javascript as js;

use super::schema::{Node, Record, Transcript, inside, is_of_type, text};

pub(super) type Entry<'a> = TreeEntry<'a, Transcript>;
pub(super) type Scan<'a> = TreeScan<'a, Transcript>;

/// Above this size the loader skips what a compaction left behind.
const LARGE: usize = 5 * 1024 * 1024;
/// The loader looks for a boundary's mark only so far into its line…
const MARK_WITHIN: usize = 256;
const MARK: &[u8] = b"\"compact_boundary\"";
/// …and reads blocks of this size, missing a boundary line that crosses two.
const READ_BLOCK: usize = 1024 * 1024;

/// The records that the loader links, and how.
pub(super) struct Tree {
    /// The entries that are nodes, in the order in which their uuids come first;
    /// of equal uuids the last record counts.
    pub nodes: Vec<usize>,
    pub is_node: Vec<bool>,
    /// The parent of each entry, after compactions were linked anew.
    pub parents: Vec<Option<usize>>,
    by_uuid: HashMap<Vec<u8>, usize>,
    uuids: HashMap<usize, Vec<u8>>,
    /// The first entry that is read at all.
    first: usize,
}

/// Which rules count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    Main,
    Agent,
}

impl Tree {
    pub(super) fn of(scan: &Scan<'_>, bytes: &[u8], file: File) -> Tree {
        let entries = &scan.entries;
        let first = if file == File::Main { first_read(entries, bytes) } else { 0 };
        let counts = |entry: &Entry<'_>| match entry.traits.node {
            Node::User | Node::Assistant | Node::Attachment => true,
            Node::Progress | Node::System => file == File::Main,
            Node::State => false,
        };
        let mut by_uuid: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut order: Vec<Vec<u8>> = Vec::new();
        for (n, entry) in entries.iter().enumerate().skip(first).filter(|(_, entry)| counts(entry)) {
            let Some(id) = entry.id.as_deref() else { continue };
            if by_uuid.insert(id.to_vec(), n).is_none() {
                order.push(id.to_vec());
            }
        }
        let nodes: Vec<usize> = order.iter().filter_map(|id| by_uuid.get(id).copied()).collect();
        let is_node = entries.iter().map(|entry| entry.traits.node != Node::State).collect();
        let links = entries.iter().map(|entry| entry.parent.as_deref().and_then(key).filter(|parent| parent != b"null")).collect();
        let mut tree = Tree {
            nodes,
            is_node,
            parents: Vec::new(),
            uuids: by_uuid.iter().map(|(uuid, n)| (*n, uuid.clone())).collect(),
            by_uuid,
            first,
        };
        tree.parents = tree.resolved(entries, links, file);
        tree
    }

    /// The parent of each entry, by its uuid, once compactions are linked anew.
    fn resolved(&self, entries: &[Entry<'_>], mut links: Vec<Option<Vec<u8>>>, file: File) -> Vec<Option<usize>> {
        if file == File::Main {
            for boundary in self.nodes.iter().copied().filter(|n| entries[*n].kind == Record::Boundary) {
                with_members(&entries[boundary], |members| self.relink(&inside(members, "compactMetadata"), &mut links));
            }
        }
        links.iter().map(|link| link.as_ref().and_then(|uuid| self.by_uuid.get(uuid).copied())).collect()
    }

    /// The node with this uuid, a JSON string.
    fn find(&self, uuid: Option<&[u8]>) -> Option<usize> {
        let uuid = uuid.filter(|uuid| json::kind_of(uuid) == Kind::String)?;
        js::map_key(Some(uuid)).and_then(|key| self.by_uuid.get(key.as_ref()).copied())
    }

    /// Links the messages that a compaction preserved after its summary, the anchor.
    /// Uuids that no record has are linked to as well: the way up ends there.
    fn relink(&self, about: &[Member<'_>], links: &mut [Option<Vec<u8>>]) {
        let preserved = inside(about, "preservedMessages");
        let segment = inside(about, "preservedSegment");
        let (head, tail, anchor) = if preserved.is_empty() {
            (self.find(get(&segment, "headUuid")), get(&segment, "tailUuid").and_then(key), get(&segment, "anchorUuid").and_then(key))
        } else {
            let uuids = get(&preserved, "uuids").filter(|list| json::kind_of(list) == Kind::Array);
            let run: Option<Vec<usize>> = uuids.and_then(|list| json::elements(list).map(|uuid| self.find(Some(uuid))).collect());
            let Some(run) = run.filter(|run| !run.is_empty()) else { return };
            for pair in run.windows(2) {
                links[pair[1]] = self.uuids.get(&pair[0]).cloned();
            }
            (Some(run[0]), self.uuids.get(&run[run.len() - 1]).cloned(), get(&preserved, "anchorUuid").and_then(key))
        };
        let (Some(anchor), Some(tail)) = (anchor, tail) else { return };
        if let Some(head) = head {
            links[head] = Some(anchor.clone());
        }
        for n in self.nodes.iter().filter(|n| Some(**n) != head) {
            if links[*n].as_ref() == Some(&anchor) {
                links[*n] = Some(tail.clone());
            }
        }
    }

    /// The way up from a node, first to last: it ends at a missing parent, and where
    /// it would come round.
    pub(super) fn chain(&self, leaf: usize) -> Vec<usize> {
        let mut passed = HashSet::new();
        let mut chain = Vec::new();
        let mut at = Some(leaf);
        while let Some(node) = at.filter(|node| passed.insert(*node)) {
            chain.push(node);
            at = self.parents[node];
        }
        chain.reverse();
        chain
    }

    /// The nearest user or assistant record above a node, itself included.
    fn nearest_message(&self, entries: &[Entry<'_>], node: usize) -> Option<usize> {
        let mut passed = HashSet::new();
        let mut at = Some(node);
        while let Some(node) = at.filter(|node| passed.insert(*node)) {
            if is_message(&entries[node]) {
                return Some(node);
            }
            at = self.parents[node];
        }
        None
    }

    /// The leaf of a main transcript, and the leaves of all its tips.
    pub(super) fn leaves(&self, entries: &[Entry<'_>]) -> (Option<usize>, Vec<usize>) {
        let parents_of = |counts: &dyn Fn(usize) -> bool| -> HashSet<usize> {
            self.nodes.iter().filter(|n| counts(**n)).filter_map(|n| self.parents[*n]).collect()
        };
        let has_main_child = parents_of(&|n| is_main(&entries[n]));
        let mut tips: Vec<usize> = self.nodes.iter().copied().filter(|n| is_main(&entries[*n]) && !has_main_child.contains(n)).collect();
        tips.sort_unstable_by(|a, b| b.cmp(a));
        let leaves: Vec<usize> = tips.iter().filter_map(|tip| self.nearest_message(entries, *tip)).collect();
        if let Some(leaf) = leaves.first() {
            return (Some(*leaf), leaves);
        }
        let has_child = parents_of(&|_| true);
        let ends = self.nodes.iter().copied().filter(|n| !has_child.contains(n));
        let found: Vec<usize> = ends.filter_map(|n| self.nearest_message(entries, n)).collect();
        let is_plain = |n: &&usize| {
            let traits = &entries[**n].traits;
            !(traits.is_sidechain || traits.has_team || traits.is_meta)
        };
        (found.iter().filter(is_plain).max().or(found.iter().max()).copied(), Vec::new())
    }

    /// The leaf of a subagent's transcript: its last message.
    pub(super) fn last_message(&self, entries: &[Entry<'_>]) -> Option<usize> {
        self.nodes.iter().copied().filter(|n| is_message(&entries[*n])).max()
    }

    /// The records that the loader does not read, by uuid: of a large file all that
    /// stand before its last boundary.
    fn unread(&self, entries: &[Entry<'_>]) -> HashMap<Vec<u8>, usize> {
        let nodes = (0..self.first).filter(|n| self.is_node[*n]);
        nodes.filter_map(|n| Some((entries[n].id.as_deref()?.to_vec(), n))).collect()
    }

    /// The parents that the log has: those of the list where a record stands in it,
    /// and before a boundary what the compaction hid, whether or not the loader
    /// reads that.
    pub(super) fn settled(&self, entries: &[Entry<'_>], list: &[usize]) -> Vec<Option<usize>> {
        let mut parents = self.parents.clone();
        let unread = self.unread(entries);
        let find_unread = |uuid: Option<&[u8]>| uuid.and_then(key).and_then(|uuid| unread.get(&uuid).copied());
        for n in (0..self.first).filter(|n| self.is_node[*n]) {
            parents[n] = find_unread(entries[n].parent.as_deref()).or(parents[n]);
        }
        for pair in list.windows(2) {
            parents[pair[1]] = Some(pair[0]);
        }
        if let Some(first) = list.first() {
            parents[*first] = None;
        }
        cut_rings(&mut parents);
        let boundaries = entries.iter().enumerate().filter(|(n, entry)| entry.kind == Record::Boundary && parents[*n].is_none());
        for (boundary, entry) in boundaries.collect::<Vec<_>>() {
            let mut before = with_members(entry, |members| {
                let uuid = get(members, "logicalParentUuid");
                self.find(uuid).or_else(|| find_unread(uuid))
            });
            let mut steps = entries.len();
            // Preserved messages stand below the boundary: the history goes on above them.
            while let Some(n) = before.filter(|_| steps > 0) {
                if !leads_to(&parents, n, boundary) {
                    break;
                }
                let parent = entries[n].parent.as_deref();
                before = parent.and_then(|parent| self.find(Some(parent))).or_else(|| find_unread(parent));
                steps -= 1;
            }
            parents[boundary] = before.filter(|n| !leads_to(&parents, *n, boundary));
        }
        parents
    }

    /// The record that counts of those with an entry's uuid.
    pub(super) fn counting(&self, entries: &[Entry<'_>], n: usize) -> usize {
        entries[n].id.as_deref().filter(|_| self.is_node[n]).and_then(|id| self.by_uuid.get(id).copied()).unwrap_or(n)
    }

    /// The first entry that the loader reads of a large file.
    pub(super) fn first_read(&self) -> usize {
        self.first
    }
}

/// What a uuid is looked up by; none where the value is an object or a list.
fn key(uuid: &[u8]) -> Option<Vec<u8>> {
    js::map_key(Some(uuid)).map(std::borrow::Cow::into_owned)
}

fn leads_to(parents: &[Option<usize>], from: usize, to: usize) -> bool {
    let mut at = Some(from);
    while let Some(node) = at {
        if node == to {
            return true;
        }
        at = parents[node];
    }
    false
}

/// Makes a root of one record of each ring.
fn cut_rings(parents: &mut [Option<usize>]) {
    // 0 is unknown; other numbers are the walk that passed here.
    let mut passed = vec![0_usize; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while passed[at] == 0 {
            passed[at] = start + 1;
            match parents[at] {
                Some(above) if passed[above] == start + 1 => parents[at] = None,
                Some(above) => at = above,
                None => {}
            }
        }
    }
}

pub(super) fn is_message(entry: &Entry<'_>) -> bool {
    matches!(entry.traits.node, Node::User | Node::Assistant)
}

/// Whether a record is of the main conversation.
pub(super) fn is_main(entry: &Entry<'_>) -> bool {
    let traits = &entry.traits;
    !(traits.is_sidechain || traits.has_team || traits.is_fork_briefing || traits.node == Node::Progress)
}

/// In a large file the loader begins at the last boundary that preserves nothing.
fn first_read(entries: &[Entry<'_>], bytes: &[u8]) -> usize {
    if bytes.len() <= LARGE {
        return 0;
    }
    let is_start = |entry: &Entry<'_>| {
        let line = entry.line;
        let end = line.offset + line.text.len() + line.end.len();
        let crosses = line.offset / READ_BLOCK != end.saturating_sub(1) / READ_BLOCK;
        let is_marked = memchr::memmem::find(&line.text[..line.text.len().min(MARK_WITHIN + MARK.len())], MARK).is_some();
        entry.kind == Record::Boundary
            && is_marked
            && !crosses
            && with_members(entry, |members| {
                let about = inside(members, "compactMetadata");
                get(&about, "preservedSegment").is_none_or(|value| !js::is_truthy(value))
                    && get(&about, "preservedMessages").is_none_or(|value| !js::is_truthy(value))
            })
    };
    entries.iter().rposition(is_start).unwrap_or(0)
}

/// The records of one API message, over the whole file, and the ids of its calls.
#[derive(Default)]
struct Message {
    records: Vec<usize>,
    calls: Vec<Vec<u8>>,
}

/// The results and further blocks that stand beside a chain. Everything is found by
/// key: a long session has as many results as answers.
pub(super) struct Beside {
    messages: HashMap<Vec<u8>, Message>,
    /// The record with each tool call, and its message; none where two messages have it.
    caller: HashMap<Vec<u8>, Option<(usize, Vec<u8>)>>,
    /// The calls that each user record answers.
    answers: HashMap<usize, Vec<Vec<u8>>>,
    /// Records with answers, in map order: by the record above, and by the call.
    below: HashMap<usize, Vec<usize>>,
    answering: HashMap<Vec<u8>, Vec<usize>>,
    /// The place of each node in the map.
    place: HashMap<usize, usize>,
}

impl Beside {
    pub(super) fn of(tree: &Tree, entries: &[Entry<'_>]) -> Beside {
        let mut beside = Beside {
            messages: HashMap::new(),
            caller: HashMap::new(),
            answers: HashMap::new(),
            below: HashMap::new(),
            answering: HashMap::new(),
            place: tree.nodes.iter().enumerate().map(|(place, n)| (*n, place)).collect(),
        };
        for n in &tree.nodes {
            let entry = &entries[*n];
            match entry.traits.node {
                Node::Assistant => beside.add_answer(entry, *n),
                Node::User => {
                    let calls = with_members(entry, |members| ids_of(members, "tool_result", "tool_use_id"));
                    if calls.is_empty() {
                        continue;
                    }
                    if let Some(above) = tree.parents[*n] {
                        beside.below.entry(above).or_default().push(*n);
                    }
                    for call in &calls {
                        beside.answering.entry(call.clone()).or_default().push(*n);
                    }
                    beside.answers.insert(*n, calls);
                }
                Node::Progress | Node::System | Node::Attachment | Node::State => {}
            }
        }
        beside
    }

    fn add_answer(&mut self, entry: &Entry<'_>, n: usize) {
        let Some(id) = &entry.traits.message_id else { return };
        let calls = with_members(entry, |members| ids_of(members, "tool_use", "id"));
        for call in &calls {
            self.caller
                .entry(call.clone())
                .and_modify(|known| *known = known.take().filter(|(_, message)| message == id))
                .or_insert_with(|| Some((n, id.clone())));
        }
        let message = self.messages.entry(id.clone()).or_default();
        message.records.push(n);
        message.calls.extend(calls);
    }

    /// A chain with the records that belong to its answers.
    pub(super) fn list(&self, entries: &[Entry<'_>], chain: &[usize]) -> Vec<usize> {
        // The chain, and whatever was put beside it already.
        let mut listed: HashSet<usize> = chain.iter().copied().collect();
        let answered: HashSet<&Vec<u8>> = chain.iter().filter_map(|n| self.answers.get(n)).flatten().collect();
        let id_of = |n: usize| entries[n].traits.message_id.as_deref();
        let last: HashMap<&[u8], usize> = chain.iter().filter_map(|n| Some((id_of(*n)?, *n))).collect();
        let mut added: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut done: HashSet<&[u8]> = HashSet::new();
        for id in chain.iter().filter_map(|n| id_of(*n)) {
            let Some(last) = last.get(id).filter(|_| done.insert(id)) else { continue };
            let found = self.of_message(entries, id, &listed, &answered);
            listed.extend(&found);
            if !found.is_empty() {
                added.entry(*last).or_default().extend(found);
            }
        }
        chain.iter().flat_map(|n| std::iter::once(*n).chain(added.remove(n).unwrap_or_default())).collect()
    }

    fn of_message(&self, entries: &[Entry<'_>], id: &[u8], listed: &HashSet<usize>, answered: &HashSet<&Vec<u8>>) -> Vec<usize> {
        let Some(message) = self.messages.get(id) else { return Vec::new() };
        let is_free = |n: &usize| !listed.contains(n);
        let mut blocks: Vec<usize> = message.records.iter().copied().filter(is_free).collect();
        let children = message.records.iter().filter_map(|record| self.below.get(record)).flatten();
        let mut below: Vec<usize> = children.copied().filter(is_free).collect();
        let by_child: HashSet<&Vec<u8>> = below.iter().filter_map(|n| self.answers.get(n)).flatten().collect();
        let mut tied: Vec<usize> = Vec::new();
        for call in message.calls.iter().filter(|call| !answered.contains(call) && !by_child.contains(call)) {
            // A call that two messages have ties no result to either.
            let Some(Some((caller, of))) = self.caller.get(call) else { continue };
            let results = self.answering.get(call).into_iter().flatten().copied();
            tied.extend(results.filter(|n| {
                let is_rooted = entries[*n].parent.as_deref().is_none_or(|parent| parent == b"null");
                of == id && !is_rooted && is_free(n) && !below.contains(n) && same_agent(&entries[*caller], &entries[*n])
            }));
        }
        let in_map_order = |n: &usize| self.place.get(n).copied();
        below.sort_by_key(in_map_order);
        tied.sort_by_key(in_map_order);
        tied.dedup();
        below.extend(tied);
        by_time(entries, &mut blocks);
        by_time(entries, &mut below);
        blocks.extend(below);
        blocks
    }
}

/// Whether two records are of the same agent.
fn same_agent(a: &Entry<'_>, b: &Entry<'_>) -> bool {
    let agent = |entry: &Entry<'_>| with_members(entry, |members| text(members, "agentId"));
    a.traits.is_sidechain == b.traits.is_sidechain && agent(a) == agent(b)
}

/// Sorts by time, as texts; those without one first.
pub(super) fn by_time(entries: &[Entry<'_>], nodes: &mut [usize]) {
    nodes.sort_by_cached_key(|n| with_members(&entries[*n], |members| text(members, "timestamp")).unwrap_or_default());
}

/// The ids in the blocks of this type.
fn ids_of(members: &[Member<'_>], block_type: &str, key: &str) -> Vec<Vec<u8>> {
    let message = inside(members, "message");
    let Some(blocks) = get(&message, "content").filter(|content| json::kind_of(content) == Kind::Array) else { return Vec::new() };
    let blocks = json::elements(blocks).filter(|block| is_of_type(block, block_type));
    blocks.filter_map(|block| text(&json::all_members(block), key)).collect()
}

/// The leaves besides the active one, by the names of their heads.
pub(super) fn other_leaves(entries: &[Entry<'_>], leaves: &[usize], list: &[usize]) -> BTreeMap<String, usize> {
    let listed: HashSet<usize> = list.iter().copied().collect();
    let others = leaves.iter().filter(|leaf| !listed.contains(leaf));
    let named = others.filter_map(|leaf| Some((json::unescape(entries[*leaf].id_text.as_deref()?).into_owned(), *leaf)));
    named.filter(|(name, _)| name != "main").collect()
}
