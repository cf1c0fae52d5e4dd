//! Files of entries to events: each entry once, below its parent, and how each
//! file is rebuilt from them.

use std::hash::{BuildHasher, Hash, Hasher};

use crate::adapters::adapter::Check;
use crate::adapters::conversion::Conversion;
use crate::adapters::mapping::{self, ParentId, Parents, Rendered, Setting, Taken};
use crate::model::event::{Body, Draft as EventDraft, EventKind};
use crate::model::files::RelPath;
use crate::model::heads::{HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::json::{Escapes, Member, Separators, Style};
use crate::model::map::Map;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{EventSink, StreamError};

use super::content::Parts;
use super::draft::{Draft, event_kind, leave_last, push_whole, shape_text, whole};
use super::entry::{Entry, Inside, get};
use super::forest::{self, ById};
use super::ids::{FileIds, KnownIds, underlying};
use super::js;
use super::scan::{Piece, Scan};
use super::tables::{self, Record, Words};

/// How these programs write.
pub(in crate::adapters) const USUAL: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// What a message that the loader does not see says about it.
const SALVAGED: &[u8] = b"{\"from\":[\"loader\"],\"why\":\"salvaged from a broken line\"}";

/// Where the entries of a file stand, by the rules of its program.
pub(in crate::adapters) struct Placed {
    pub words: Words,
    /// The entry above each, headers and all.
    pub parents: Vec<Option<usize>>,
    /// Which entries stand in the tree at all, besides headers.
    pub is_node: Vec<bool>,
    /// Which entries can be found by their id.
    pub is_named: Vec<bool>,
    /// Whether entries that change others do so.
    pub edits: Edits,
    /// Whether roles of an older version are shown by another name.
    pub renames: Renames,
    /// Which entry a compaction keeps first, where it says so by number.
    pub first_kept: std::collections::HashMap<usize, usize>,
}

/// Whether the loader renames roles of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Renames {
    Nothing,
    Hooks,
}

/// Whether a program knows entries that change others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Edits {
    Count,
    Unknown,
}

/// Entries of a session on their way into the log.
pub(in crate::adapters) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    shapes: Shapes,
    /// Records that are in the log.
    known: Map<RecordKey<'a>, Seq>,
    /// The residuals of those that cannot be rendered, for every file that has
    /// the record.
    residual_of: Map<Seq, u32>,
    /// Headers that are in the log, by their bytes.
    headers: Map<&'a [u8], Seq>,
    /// Messages that are in the log, by what they say, and their shapes.
    messages: Map<[u64; 2], (Seq, usize)>,
    /// The message that each repeat stands for.
    pub(super) repeat_of: Map<Seq, Seq>,
    /// The id of each record's event.
    id_of: Map<Seq, Vec<u8>>,
    /// The node that was put last.
    pub last_node: Seq,
    /// Edits of the last file whose targets are not in the log before them.
    pub early_edits: Vec<usize>,
}

/// A record by its bytes, the event above, and how its file has parents: an event
/// is rendered as its file wants it. Records are long: each is hashed once.
#[derive(PartialEq, Eq)]
struct RecordKey<'a> {
    hash: u64,
    text: &'a [u8],
    above: Seq,
    parents: Parents,
}

impl<'a> RecordKey<'a> {
    fn new(text: &'a [u8], above: Seq, parents: Parents, hasher: &impl BuildHasher) -> RecordKey<'a> {
        let hash = hasher.hash_one((text, above, parents));
        RecordKey { hash, text, above, parents }
    }
}

impl Hash for RecordKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// One file of them.
pub(super) struct File<'a, 'f> {
    path: &'a RelPath,
    pub(super) scan: &'f Scan<'a>,
    pub(super) placed: &'f Placed,
    pub(super) by_id: ById<'f>,
    parents: Parents,
    pub(super) seqs: Vec<Seq>,
    /// The residual of each event that needs one.
    residuals: Map<Seq, u32>,
}

/// What a file holds, in its recipe's words.
const ENTRIES: &str = "entries";
/// The same, where entries do not name those above them.
const LINEAR_ENTRIES: &str = "linear entries";

/// Whether entries of a file that holds this name those above them.
pub(in crate::adapters) fn parents_of(holds: &str) -> Option<Parents> {
    match holds {
        ENTRIES => Some(Parents::Written),
        LINEAR_ENTRIES => Some(Parents::Unwritten),
        _ => None,
    }
}

impl<'a, 'f> File<'a, 'f> {
    pub(super) fn new(path: &'a RelPath, scan: &'f Scan<'a>, placed: &'f Placed) -> File<'a, 'f> {
        let first = scan.entries.iter().find(|entry| entry.kind != Record::Header && entry.is_object());
        File {
            path,
            scan,
            placed,
            by_id: forest::by_id(&scan.entries, |n| placed.is_named[n]),
            parents: if first.is_some_and(|entry| entry.parent.is_none()) { Parents::Unwritten } else { Parents::Written },
            seqs: vec![Seq::ROOT; scan.entries.len()],
            residuals: Map::default(),
        }
    }
}

impl<'a, 's> Reader<'a, 's> {
    pub(in crate::adapters) fn new(to: Conversion<'a, 's>) -> Reader<'a, 's> {
        Reader {
            to,
            shapes: Shapes::new(Order::default()),
            known: Map::default(),
            residual_of: Map::default(),
            headers: Map::default(),
            messages: Map::default(),
            repeat_of: Map::default(),
            id_of: Map::default(),
            last_node: Seq::ROOT,
            early_edits: Vec::new(),
        }
    }

    /// Puts a file's entries and says how it is rebuilt; returns the event of
    /// each entry.
    pub(in crate::adapters) fn file(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        scan: &Scan<'a>,
        placed: &Placed,
    ) -> Result<Vec<Seq>, StreamError> {
        let mut file = File::new(path, scan, placed);
        // Most entries are new, and most are messages.
        let count = scan.entries.len();
        self.known.reserve(count);
        self.messages.reserve(count);
        self.id_of.reserve(count);
        self.early_edits.clear();
        let mut recipe = Vec::new();
        for piece in &scan.pieces {
            recipe.push(match piece {
                Piece::Gap(..) => Seq::ROOT,
                Piece::Damage { line, start, end, wound } => self.to.put_damage(path, *line, *start, wound.word(), &bytes[*start..*end])?,
                Piece::Entry(n, _) => {
                    self.entry_and_above(&mut file, *n)?;
                    file.seqs[*n]
                }
                Piece::Salvaged(entry, _) => self.salvaged(&mut file, entry)?,
            });
        }
        self.rebuilt(file, recipe)
    }

    fn rebuilt(&mut self, file: File<'a, '_>, events: Vec<Seq>) -> Result<Vec<Seq>, StreamError> {
        let mut recipe = RecipeBuilder::default();
        for (piece, seq) in file.scan.pieces.iter().zip(events) {
            let line_end = match piece {
                Piece::Gap(bytes, times) => {
                    recipe.gaps(&String::from_utf8_lossy(bytes), *times);
                    continue;
                }
                Piece::Damage { .. } => None,
                Piece::Entry(_, end) | Piece::Salvaged(_, end) => Some(end),
            };
            if let Some(end) = line_end {
                recipe.line_end(&String::from_utf8_lossy(end));
            }
            match file.residuals.get(&seq) {
                Some(count) => recipe.residual(*count),
                None => recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next)),
            }
        }
        let holds = if file.parents == Parents::Written { ENTRIES } else { LINEAR_ENTRIES };
        self.to.rebuilt(file.path, holds, None, recipe);
        Ok(file.seqs)
    }

    /// Puts an entry, and before it whatever stands above it and comes later.
    fn entry_and_above(&mut self, file: &mut File<'a, '_>, n: usize) -> Result<(), StreamError> {
        let mut waiting = Vec::new();
        let mut at = Some(n);
        while let Some(node) = at.filter(|node| file.seqs[*node].is_root()) {
            waiting.push(node);
            at = file.placed.parents[node];
        }
        for node in waiting.into_iter().rev() {
            let entry = &file.scan.entries[node];
            let above = file.placed.parents[node].map_or(Seq::ROOT, |above| file.seqs[above]);
            let kept = file.placed.first_kept.get(&node).map(|kept| file.seqs[*kept]).filter(|kept| !kept.is_root());
            let seen = if file.placed.is_node[node] { Seen::ByLoader } else { Seen::Aside };
            file.seqs[node] = self.put(file, entry, above, kept, seen)?;
            if entry.kind == Record::Edit && file.placed.edits == Edits::Count && self.to.events.kind(file.seqs[node]) != EventKind::Edit {
                self.early_edits.push(node);
            }
        }
        Ok(())
    }

    fn salvaged(&mut self, file: &mut File<'a, '_>, entry: &Entry<'a>) -> Result<Seq, StreamError> {
        let above =
            entry.parent.as_deref().and_then(|parent| forest::lookup(&file.by_id, parent)).map_or(Seq::ROOT, |above| file.seqs[above]);
        self.put(file, entry, above, None, Seen::ByNobody)
    }

    pub(super) fn put(
        &mut self,
        file: &mut File<'a, '_>,
        entry: &Entry<'a>,
        above: Seq,
        kept: Option<Seq>,
        seen: Seen,
    ) -> Result<Seq, StreamError> {
        let text = entry.line.text;
        let is_header = entry.kind == Record::Header;
        let is_node = !is_header && seen != Seen::Aside;
        let is_shared = is_node && seen == Seen::ByLoader;
        let record = RecordKey::new(text, above, file.parents, self.known.hasher());
        let known = if is_header { self.headers.get(text) } else { self.known.get(&record).filter(|_| is_shared) };
        if let Some(&known) = known {
            file.residuals.extend(self.residual_of.get(&known).map(|count| (known, *count)));
            return Ok(known);
        }
        let decoded = entry.text();
        let mut inside = Inside::of(entry, &decoded);
        leave_last(&mut inside.members);
        let by_table = if seen == Seen::Aside { None } else { self.draft(file, entry, &mut inside, above, kept, seen) };
        let mut draft = by_table.unwrap_or_else(|| whole(&decoded, &inside.members, file.placed.words, file.placed.renames));
        let parent = is_node.then_some(above);
        let seq = match self.said_before(&mut draft, seen) {
            Some(message) => {
                let repeat = Repeat { first: message, last: message, source_id: None };
                let seq = self.to.events.put(EventDraft { ts: None, parent, body: Body::Repeat(&repeat) })?;
                self.repeat_of.insert(seq, message);
                seq
            }
            None => {
                let seq = self.to.put(draft.kind, draft.ts, parent, &draft.payload)?;
                if let Some(key) = draft.key {
                    self.messages.insert(key, (seq, draft.shape));
                }
                seq
            }
        };
        if is_header {
            self.headers.insert(text, seq);
        }
        if seen == Seen::Retold {
            return Ok(seq);
        }
        if let Some(id) = &entry.id_text {
            self.id_of.insert(seq, id.to_vec());
        }
        if self.to.check == Check::EachRecord {
            let rendered = self.rendered(&draft, above, file);
            if rendered != text {
                let count = self.to.residual((seq, seq), &rendered, text);
                file.residuals.insert(seq, count);
                self.residual_of.insert(seq, count);
            }
        }
        if seen == Seen::ByLoader {
            self.known.insert(record, seq);
        }
        if is_node {
            self.last_node = seq;
        }
        Ok(seq)
    }

    /// The message that says the same, if there is one: each is stored once.
    /// The draft is then in that one's shape.
    fn said_before(&self, draft: &mut Draft<'_>, seen: Seen) -> Option<Seq> {
        if draft.kind != EventKind::Message || seen == Seen::Retold {
            return None;
        }
        let said = draft.payload.strip_suffix(draft.shape_text.as_bytes()).unwrap_or(&draft.payload);
        let hash = |seed: u64| {
            let mut hasher = foldhash::quality::FixedState::with_seed(seed).build_hasher();
            hasher.write(said);
            hasher.write(draft.ts.unwrap_or_default().as_bytes());
            hasher.finish()
        };
        let key = [hash(1), hash(2)];
        draft.key = Some(key);
        let &(message, shape) = self.messages.get(&key)?;
        let end = shape_text(shape);
        let len = said.len();
        draft.payload.truncate(len);
        draft.payload.extend_from_slice(end.as_bytes());
        Some(message)
    }

    fn draft<'d>(
        &mut self,
        file: &File<'a, '_>,
        entry: &Entry<'a>,
        inside: &mut Inside<'d>,
        above: Seq,
        kept: Option<Seq>,
        seen: Seen,
    ) -> Option<Draft<'d>> {
        let words = file.placed.words;
        let table = entry.kind.table(words)?;
        let parent = match file.parents {
            Parents::Written => ParentId::Written(self.id_of.get(&above).map(Vec::as_slice)),
            Parents::Unwritten => ParentId::Unwritten,
        };
        let setting = Setting { writer: USUAL.escapes, parent };
        let ids = FileIds { file, seen, repeat_of: &self.repeat_of };
        let members = &inside.members;
        let mut taken = table.take_opened(members, std::mem::take(&mut inside.of_message), setting, &ids)?;
        // Of equal keys the last counts, and all must come back.
        if taken.opens_a_name_twice() {
            return None;
        }
        let kind = event_kind(entry.kind);
        self.add_words(file, entry.kind, members, &mut taken, kept, seen)?;
        let order = if kind == EventKind::Message { tables::MESSAGE } else { tables::OTHER };
        let shape = taken.shape(table, members, &mut self.shapes);
        let mut payload = Vec::with_capacity(entry.line.text.len());
        taken.push_payload(order, &Parts, table, shape, USUAL.escapes, &mut payload);
        Some(Draft { kind, ts: taken.ts, payload, table: Some(table), shape, shape_text: shape_text(shape), key: None })
    }

    /// What the event says besides the record's own words; nothing where the
    /// record cannot be such an event.
    fn add_words(
        &self,
        file: &File<'a, '_>,
        kind: Record,
        members: &[Member<'_>],
        taken: &mut Taken<'_>,
        kept: Option<Seq>,
        seen: Seen,
    ) -> Option<()> {
        // An id that is no text, or spelt otherwise, leads somewhere all the same.
        let event = |key: &str| {
            let seq = forest::find(&file.by_id, get(members, key)).map(|n| underlying(file.seqs[n], &self.repeat_of));
            seq.filter(|seq| !seq.is_root())
        };
        match kind {
            Record::UserMessage | Record::AssistantMessage | Record::ResultMessage => {
                let role = taken.member("role")?;
                if role == b"\"hookMessage\"" && file.placed.renames == Renames::Hooks {
                    taken.reword("role", b"\"role\"", b"\"custom\"");
                }
            }
            Record::CustomMessage => {
                taken.say("role", b"\"custom\"".to_vec());
                taken.say("source_type", b"\"custom_message\"".to_vec());
            }
            Record::Thinking => taken.say("name", b"\"thinking_level\"".to_vec()),
            Record::Compaction if !taken.points("first_kept") => {
                let named = event("firstKeptEntryId").filter(|_| get(members, "firstKeptEntryId").is_some_and(|id| !js::is_falsy(id)));
                if let Some(kept) = kept.or(named.filter(|_| seen != Seen::Retold)) {
                    taken.point("first_kept", kept);
                }
            }
            // An edit of nothing changes nothing, and neither does one to nothing.
            Record::Edit if file.placed.edits == Edits::Unknown => return None,
            Record::Edit => {
                get(members, "replacement")?;
                if !taken.points("target") {
                    taken.point("target", event("targetId")?);
                }
            }
            Record::Compaction
            | Record::Header
            | Record::Model
            | Record::BranchSummary
            | Record::Custom
            | Record::Label
            | Record::Info
            | Record::Usage
            | Record::Whole => {}
        }
        if let Some(mark) = file.placed.words.mark() {
            taken.say("words", mark.to_vec());
        }
        if seen == Seen::ByNobody {
            // Only messages can be hidden; anything else is carried whole.
            (event_kind(kind) == EventKind::Message).then_some(())?;
            taken.say("hidden", SALVAGED.to_vec());
        }
        Some(())
    }

    fn rendered(&mut self, draft: &Draft<'_>, above: Seq, file: &File<'a, '_>) -> Vec<u8> {
        let mut out = Vec::new();
        match draft.table {
            Some(table) => {
                let event = Rendered { payload: &draft.payload, ts: draft.ts, parent: above, parents: file.parents };
                let mut ids = KnownIds { id_of: &self.id_of };
                // A shape of our own table is always there.
                let _ = table.render(&event, &self.shapes, &Parts, &mut ids, mapping::To { style: USUAL, depth: 0, out: &mut out });
            }
            None => push_whole(&draft.payload, &mut out),
        }
        out
    }

    /// Puts the main head on its leaf, unless the last node that was put took it
    /// there.
    pub(in crate::adapters) fn set_main(&mut self, leaf: Seq) -> Result<(), StreamError> {
        if leaf.is_root() {
            return self.to.put_head(&HeadName::main(), leaf, HeadOp::Branch);
        }
        if self.last_node != leaf {
            self.to.put_head(&HeadName::main(), leaf, HeadOp::Append)?;
        }
        Ok(())
    }

    /// Ends the conversion.
    pub(in crate::adapters) fn trailer(self) -> Result<crate::adapters::adapter::ReadSummary, StreamError> {
        self.to.trailer(self.shapes.others())
    }
}

/// Whether the loader sees a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    ByLoader,
    /// Once more, on a path of its own.
    Retold,
    /// Kept by it, and no part of the tree.
    Aside,
    ByNobody,
}

/// Whether no record and no damage stands between two events.
fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    let is_none = |seq| matches!(events.kind(seq), EventKind::Head | EventKind::Checkpoint | EventKind::Outcome | EventKind::Session);
    next.number() - end.number() <= 64 && (end.number() + 1..next.number()).map(Seq::new).all(is_none)
}
