//! Where the records of a transcript stand: the rules by which the SDK (0.3.326)
//! links them, finds the leaf, and lists what belongs to it.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::adapters::kit::tree::entry::{Entry as TreeEntry, get, with_members};
use crate::adapters::kit::tree::scan::Scan as TreeScan;
use crate::json::{self, Kind, Member};
use crate::runtimes::javascript as js;

use super::schema::{Node, Record, Transcript, inside, text};

pub(super) type Entry<'a> = TreeEntry<'a, Transcript>;
pub(super) type Scan<'a> = TreeScan<'a, Transcript>;

/// Above this size the loader skips what a compaction left behind.
const LARGE: usize = 5 * 1024 * 1024;
/// The loader looks for a boundary's mark only so far into its line…
const MARK_WITHIN: usize = 256;
const MARK: &[u8] = b"\"compact_boundary\"";
/// …and reads blocks of this size. Of a line that crosses two, and does not begin in
/// the last bytes of one, it looks at the first bytes instead.
const READ_BLOCK: usize = 1024 * 1024;
const LAST_BYTES: usize = 30;
const FIRST_BYTES: &[u8] = b"{\"type\":\"system\"";
/// Why a session does not load at all.
const NO_LIST: &str = "a compaction says of the messages that it kept something that is not a list of them";

/// The records that the loader links, and how.
pub(super) struct Tree {
    /// The entries that are nodes, in the order in which their uuids come first;
    /// of equal uuids the last record counts.
    pub nodes: Vec<usize>,
    pub is_node: Vec<bool>,
    /// The parent of each entry, after compactions were linked anew.
    pub parents: Vec<Option<usize>>,
    /// The parent of each entry as it says itself.
    pub written: Vec<Option<usize>>,
    /// Why the loader fails.
    pub error: Option<&'static str>,
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
        let mut links: Vec<Option<Vec<u8>>> = entries.iter().map(|entry| key(entry.parent.as_deref())).collect();
        let mut tree = Tree {
            nodes,
            is_node,
            parents: Vec::new(),
            written: Vec::new(),
            error: None,
            uuids: by_uuid.iter().map(|(uuid, n)| (*n, uuid.clone())).collect(),
            by_uuid,
            first,
        };
        tree.written = tree.resolved(&links);
        let boundaries = tree.nodes.iter().copied().filter(|n| file == File::Main && entries[*n].kind == Record::Boundary);
        let mut relink = |n: usize| with_members(&entries[n], |members| tree.relink(&inside(members, "compactMetadata"), &mut links));
        let error = boundaries.map(&mut relink).find_map(Result::err);
        tree.parents = tree.resolved(&links);
        tree.error = error;
        tree
    }

    /// The parent of each entry, by its uuid; an empty one names nothing.
    fn resolved(&self, links: &[Option<Vec<u8>>]) -> Vec<Option<usize>> {
        let is_name = |uuid: &&Vec<u8>| uuid.as_slice() != b"\"\"";
        links.iter().map(|link| link.as_ref().filter(is_name).and_then(|uuid| self.by_uuid.get(uuid).copied())).collect()
    }

    /// The node with this uuid, a JSON string.
    pub(super) fn find(&self, uuid: Option<&[u8]>) -> Option<usize> {
        let uuid = uuid.filter(|uuid| json::kind_of(uuid) == Kind::String)?;
        js::map_key(Some(uuid)).and_then(|key| self.by_uuid.get(key.as_ref()).copied())
    }

    /// Links the messages that a compaction preserved after its summary, the anchor.
    /// Uuids that no record has are linked to as well: the way up ends there.
    ///
    /// # Errors
    /// Where the loader throws.
    fn relink(&self, about: &[Member<'_>], links: &mut [Option<Vec<u8>>]) -> Result<(), &'static str> {
        let is_set = |key: &str| get(about, key).is_some_and(js::is_truthy);
        let (head, tail, anchor);
        if is_set("preservedMessages") {
            let preserved = inside(about, "preservedMessages");
            let Some(run) = self.run(get(&preserved, "uuids"))? else { return Ok(()) };
            anchor = key(get(&preserved, "anchorUuid"));
            links[run[0]].clone_from(&anchor);
            for pair in run.windows(2) {
                links[pair[1]] = self.uuids.get(&pair[0]).cloned();
            }
            (head, tail) = (Some(run[0]), self.uuids.get(&run[run.len() - 1]).cloned());
        } else if is_set("preservedSegment") {
            let segment = inside(about, "preservedSegment");
            (head, tail, anchor) = (self.find(get(&segment, "headUuid")), key(get(&segment, "tailUuid")), key(get(&segment, "anchorUuid")));
            if let Some(head) = head {
                links[head].clone_from(&anchor);
            }
        } else {
            return Ok(());
        }
        for n in self.nodes.iter().filter(|n| anchor.is_some() && Some(**n) != head) {
            if links[*n] == anchor {
                links[*n].clone_from(&tail);
            }
        }
        Ok(())
    }

    /// The nodes that a list of uuids names, unless it is empty or names one that is
    /// not there.
    fn run(&self, uuids: Option<&[u8]>) -> Result<Option<Vec<usize>>, &'static str> {
        let Some(uuids) = uuids else { return Err(NO_LIST) };
        match json::kind_of(uuids) {
            Kind::Array => {
                let run: Option<Vec<usize>> = json::elements(uuids).map(|uuid| self.find(Some(uuid))).collect();
                Ok(run.filter(|run| !run.is_empty()))
            }
            // Something else of the length 0 counts as an empty list.
            Kind::String if uuids == b"\"\"" => Ok(None),
            Kind::Object
                if js::member(uuids, "length").is_some_and(|length| json::kind_of(length) == Kind::Number && !js::is_truthy(length)) =>
            {
                Ok(None)
            }
            Kind::String | Kind::Object | Kind::Number | Kind::True | Kind::False | Kind::Null => Err(NO_LIST),
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
        let find_unread = |uuid: Option<&[u8]>| uuid.and_then(|uuid| unread.get(&key(Some(uuid))?).copied());
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

/// What a uuid is looked up by, be there one or not; none where the value is an object
/// or a list, which equal nothing.
fn key(uuid: Option<&[u8]>) -> Option<Vec<u8>> {
    js::map_key(uuid).map(std::borrow::Cow::into_owned)
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
        let end = line.offset + line.text.len();
        // It was read from its first byte that is not blank, but here it is parsed from
        // its beginning, and only with its end.
        let start = memchr::memrchr(b'\n', &bytes[..line.offset]).map_or(0, |before| before + 1);
        if line.end.is_empty() || !bytes[start..line.offset].iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
            return false;
        }
        let whole = &bytes[start..end];
        let blocks_crossed = end / READ_BLOCK - start / READ_BLOCK;
        let is_cut = blocks_crossed > 1 || (blocks_crossed == 1 && READ_BLOCK - start % READ_BLOCK >= LAST_BYTES);
        let is_looked_at = match memchr::memmem::find(whole, MARK) {
            Some(_) if is_cut => whole.starts_with(FIRST_BYTES),
            Some(at) => at < MARK_WITHIN,
            None => false,
        };
        is_looked_at
            && with_members(entry, |members| {
                let is = |key: &str, wanted: &[u8]| text(members, key).as_deref() == Some(wanted);
                let about = inside(members, "compactMetadata");
                let keeps = |key: &str| get(&about, key).is_some_and(js::is_truthy);
                is("type", b"system") && is("subtype", b"compact_boundary") && !keeps("preservedSegment") && !keeps("preservedMessages")
            })
    };
    entries.iter().rposition(is_start).unwrap_or(0)
}

/// Sorts by time, as texts; those without one first.
pub(super) fn by_time(entries: &[Entry<'_>], nodes: &mut [usize]) {
    nodes.sort_by_cached_key(|n| with_members(&entries[*n], |members| text(members, "timestamp")).unwrap_or_default());
}

/// The leaves besides the active one, by the names of their heads.
pub(super) fn other_leaves(entries: &[Entry<'_>], leaves: &[usize], list: &[usize]) -> BTreeMap<String, usize> {
    let listed: HashSet<usize> = list.iter().copied().collect();
    let others = leaves.iter().filter(|leaf| !listed.contains(leaf));
    let named = others.filter_map(|leaf| Some((json::unescape(entries[*leaf].id_text.as_deref()?).into_owned(), *leaf)));
    named.filter(|(name, _)| name != "main").collect()
}
