//! Files of entries to events: each entry once, below its parent, and how each
//! file is rebuilt from them.

use std::hash::{BuildHasher, Hash, Hasher};
use std::marker::PhantomData;

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::mapping::{self, ParentId, Parents, Rendered, Setting};
use crate::model::event::{Body, Draft as EventDraft, EventKind};
use crate::model::files::RelPath;
use crate::model::heads::{HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::map::Map;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{EventSink, StreamError};

use super::draft::{Draft, leave_last, push_whole, shape_text, whole};
use super::entry::{Entry, Inside, get};
use super::file::{File, Placed, Residuals};
use super::forest;
use super::ids::{FileIds, KnownIds, underlying};
use super::scan::{Piece, Scan};
use super::schema::{Pass, RepeatedState, Surroundings, TreeSchema};

/// The member `hidden` of a message that the loader does not see.
const SALVAGED: &[u8] = b"{\"from\":[\"loader\"],\"why\":\"salvaged from a broken line\"}";

/// The member `hidden` of a message that its program has yet to take up.
const WAITING: &[u8] = b"{\"from\":[\"loader\"],\"why\":\"accepted, and not yet in the transcript\"}";

/// Shorter values are stored each time.
const WORTH_SHARING: usize = 256;

/// Entries of a session on their way into the log.
pub(in crate::adapters) struct Reader<'a, 's, S> {
    pub to: Conversion<'a, 's>,
    schema: PhantomData<S>,
    shapes: Shapes,
    /// Records that are in the log.
    known: Map<RecordKey<'a>, Seq>,
    /// The residuals of those that cannot be rendered, for every file that has
    /// the record.
    residual_of: Map<Seq, u32>,
    /// What events are rendered to that do not give back their text, where the adapter
    /// keeps residuals.
    pub rendered: Map<Seq, Vec<u8>>,
    /// Headers that are in the log, by their bytes.
    headers: Map<&'a [u8], Seq>,
    /// Messages that are in the log, by what they say, and their shapes.
    messages: Map<[u64; 2], (Seq, usize)>,
    /// The message that each repeat repeats.
    pub(super) repeat_of: Map<Seq, Seq>,
    /// The id of each record's event.
    id_of: Map<Seq, Vec<u8>>,
    /// The first event with each value that may be repeated, and the value of each.
    first_with: Map<&'a [u8], Seq>,
    value_of: Map<Seq, &'a [u8]>,
    /// The node that was put last.
    pub last_node: Seq,
    /// Edits of the last file whose targets are not in the log before them.
    pub early_edits: Vec<usize>,
}

/// A record by its bytes, what its event says besides, the event above, and how its
/// file has parents: an event is rendered as its file wants it. Records are long: each
/// is hashed once.
#[derive(PartialEq, Eq)]
struct RecordKey<'a> {
    hash: u64,
    text: &'a [u8],
    unwritten: String,
    above: Seq,
    parents: Parents,
}

impl<'a> RecordKey<'a> {
    fn new(text: &'a [u8], unwritten: String, above: Seq, parents: Parents, hasher: &impl BuildHasher) -> RecordKey<'a> {
        let hash = hasher.hash_one((text, &unwritten, above, parents));
        RecordKey { hash, text, unwritten, above, parents }
    }
}

impl Hash for RecordKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<'a, 's, S: TreeSchema> Reader<'a, 's, S> {
    pub(in crate::adapters) fn new(to: Conversion<'a, 's>) -> Reader<'a, 's, S> {
        Reader {
            to,
            schema: PhantomData,
            shapes: Shapes::new(Order::default()),
            known: Map::default(),
            residual_of: Map::default(),
            rendered: Map::default(),
            headers: Map::default(),
            messages: Map::default(),
            repeat_of: Map::default(),
            id_of: Map::default(),
            first_with: Map::default(),
            value_of: Map::default(),
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
        scan: &Scan<'a, S>,
        placed: &Placed<S>,
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
                Piece::Damage { line, start, end, kind } => self.to.put_damage(path, *line, *start, kind.word(), &bytes[*start..*end])?,
                Piece::Entry(n, _) => {
                    self.entry_and_above(&mut file, *n)?;
                    file.seqs[*n]
                }
                Piece::Salvaged(entry, _) => self.salvaged(&mut file, entry)?,
            });
        }
        self.rebuilt(file, recipe)
    }

    /// Puts the entries of a list that is rebuilt by its adapter; returns the event of
    /// each. What those are rendered to that do not give back their text is in
    /// `rendered`.
    pub(in crate::adapters) fn entries(
        &mut self,
        path: &'a RelPath,
        scan: &Scan<'a, S>,
        placed: &Placed<S>,
    ) -> Result<Vec<Seq>, StreamError> {
        let mut file = File { parents: Parents::Written, keeps: Residuals::OfAdapter, ..File::new(path, scan, placed) };
        for n in 0..scan.entries.len() {
            self.entry_and_above(&mut file, n)?;
        }
        Ok(file.seqs)
    }

    /// Puts an entry that no list has, beside the conversation.
    pub(in crate::adapters) fn waiting(
        &mut self,
        path: &'a RelPath,
        scan: &Scan<'a, S>,
        placed: &Placed<S>,
    ) -> Result<Vec<Seq>, StreamError> {
        let mut file = File { parents: Parents::Written, keeps: Residuals::OfAdapter, ..File::new(path, scan, placed) };
        for (n, entry) in scan.entries.iter().enumerate() {
            file.seqs[n] = self.put(&mut file, entry, Seq::ROOT, None, Pass::Waiting)?;
        }
        Ok(file.seqs)
    }

    fn rebuilt(&mut self, file: File<'a, '_, S>, events: Vec<Seq>) -> Result<Vec<Seq>, StreamError> {
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
        self.to.rebuilt(file.path, file.holds(), None, recipe);
        Ok(file.seqs)
    }

    /// Puts an entry, after the entries above it that come later in the file.
    fn entry_and_above(&mut self, file: &mut File<'a, '_, S>, n: usize) -> Result<(), StreamError> {
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
            let pass = if file.placed.is_node[node] { Pass::InTree } else { Pass::BesideTree };
            file.seqs[node] = self.put(file, entry, above, kept, pass)?;
            if S::event_kind(entry.kind) == EventKind::Edit && self.to.events.kind(file.seqs[node]) != EventKind::Edit {
                self.early_edits.push(node);
            }
        }
        Ok(())
    }

    fn salvaged(&mut self, file: &mut File<'a, '_, S>, entry: &Entry<'a, S>) -> Result<Seq, StreamError> {
        let above =
            entry.parent.as_deref().and_then(|parent| forest::lookup(&file.by_id, parent)).map_or(Seq::ROOT, |above| file.seqs[above]);
        self.put(file, entry, above, None, Pass::Salvaged)
    }

    pub(super) fn put(
        &mut self,
        file: &mut File<'a, '_, S>,
        entry: &Entry<'a, S>,
        above: Seq,
        kept: Option<Seq>,
        pass: Pass,
    ) -> Result<Seq, StreamError> {
        let text = entry.line.text;
        let is_header = S::is_header(entry.kind);
        let is_node = !is_header && pass != Pass::BesideTree;
        let is_state = pass == Pass::BesideTree && S::REPEATED_STATE == RepeatedState::StoredOnce;
        let is_shared = (is_node && pass == Pass::InTree) || is_state;
        let record = RecordKey::new(text, file.placed.schema.unwritten(&entry.traits), above, file.parents, self.known.hasher());
        let known = if is_header { self.headers.get(text) } else { self.known.get(&record).filter(|_| is_shared) };
        if let Some(&known) = known {
            file.residuals.extend(self.residual_of.get(&known).map(|count| (known, *count)));
            return Ok(known);
        }
        let decoded = entry.text();
        let mut inside = Inside::of(entry, &decoded);
        leave_last(&mut inside.members);
        let by_table = if pass == Pass::BesideTree && S::REPEATED_STATE == RepeatedState::StoredEachTime {
            None
        } else {
            self.draft(file, entry, &mut inside, above, kept, pass)
        };
        let mut draft = by_table.unwrap_or_else(|| whole(&decoded, &inside.members, file.placed.schema, &entry.traits));
        let parent = is_node.then_some(above);
        let seq = match self.said_before(&mut draft, pass) {
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
        if pass == Pass::Retold {
            return Ok(seq);
        }
        if let Some(range) = draft.first.take() {
            self.first_with.insert(&text[range.clone()], seq);
            self.value_of.insert(seq, &text[range]);
        }
        if let Some(id) = &entry.id_text {
            self.id_of.insert(seq, id.to_vec());
        }
        if self.to.check == Check::EachRecord {
            let rendered = self.rendered(&draft, above, file);
            if rendered != text && file.keeps == Residuals::OfAdapter {
                self.rendered.insert(seq, rendered);
            } else if rendered != text {
                let count = self.to.residual((seq, seq), &rendered, text);
                file.residuals.insert(seq, count);
                self.residual_of.insert(seq, count);
            }
        }
        if pass == Pass::InTree || is_state {
            self.known.insert(record, seq);
        }
        if is_node {
            self.last_node = seq;
        }
        Ok(seq)
    }

    /// Returns the message that says the same, if there is one: each is stored once.
    /// The draft is then in that one's shape.
    fn said_before(&self, draft: &mut Draft<'_>, pass: Pass) -> Option<Seq> {
        if draft.kind != EventKind::Message || pass == Pass::Retold {
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
        file: &File<'a, '_, S>,
        entry: &Entry<'a, S>,
        inside: &mut Inside<'d>,
        above: Seq,
        kept: Option<Seq>,
        pass: Pass,
    ) -> Option<Draft<'d>> {
        let schema = file.placed.schema;
        let table = schema.table(entry.kind)?;
        let parent = match file.parents {
            Parents::Written => ParentId::Written(self.id_of.get(&above).map(Vec::as_slice)),
            Parents::Unwritten => ParentId::Unwritten,
        };
        let setting = Setting { writer: S::STYLE.escapes, parent };
        let ids = FileIds { file, pass, repeat_of: &self.repeat_of, first_with: &self.first_with };
        let members = &inside.members;
        let mut claim = table.claim_opened(members, std::mem::take(&mut inside.of_message), setting, &ids)?;
        // Of equal keys the last counts, and all must come back.
        if claim.opens_a_name_twice() {
            return None;
        }
        let kind = S::event_kind(entry.kind);
        // An id that is not a text, or spelled otherwise, leads somewhere all the same.
        let named = |key: &str| {
            let seq = forest::find(&file.by_id, get(members, key)).map(|n| underlying(file.seqs[n], &self.repeat_of));
            seq.filter(|seq| !seq.is_root())
        };
        schema.complete(entry.kind, &entry.traits, &mut claim, &Surroundings { members, named: &named, kept, pass })?;
        let hidden = match pass {
            Pass::Salvaged => Some(SALVAGED),
            Pass::Waiting => Some(WAITING),
            Pass::InTree | Pass::Retold | Pass::BesideTree => None,
        };
        if let Some(hidden) = hidden {
            // Only messages can be hidden; anything else is carried as it is.
            (kind == EventKind::Message).then_some(())?;
            claim.say("hidden", hidden.to_vec());
        }
        let first = claim.first.filter(|value| value.len() >= WORTH_SHARING && entry.is_utf8);
        let first = first.map(|value| {
            let start = value.as_ptr() as usize - entry.line.text.as_ptr() as usize;
            start..start + value.len()
        });
        let shape = claim.shape(table, members, &mut self.shapes);
        let mut payload = Vec::with_capacity(entry.line.text.len());
        claim.push_payload(S::payload_order(kind), S::content(), table, shape, S::STYLE.escapes, &mut payload);
        Some(Draft { kind, ts: claim.ts, payload, table: Some(table), shape, shape_text: shape_text(shape), first, key: None })
    }

    fn rendered(&mut self, draft: &Draft<'_>, above: Seq, file: &File<'a, '_, S>) -> Vec<u8> {
        let mut out = Vec::new();
        match draft.table {
            Some(table) => {
                let event = Rendered { payload: &draft.payload, ts: draft.ts, parent: above, parents: file.parents };
                let mut ids = KnownIds { value_of: &self.value_of, writer: S::STYLE.escapes, id_of: &self.id_of };
                // A shape of our own table is always there.
                let _ =
                    table.render(&event, &self.shapes, S::content(), &mut ids, mapping::To { style: S::STYLE, depth: 0, out: &mut out });
            }
            None => push_whole::<S>(&draft.payload, &mut out),
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
    pub(in crate::adapters) fn trailer(self) -> Result<crate::adapters::format::ReadSummary, StreamError> {
        self.to.trailer(self.shapes.others())
    }
}

/// Tells whether there is no record and no damage between two events.
fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    let is_none = |seq| matches!(events.kind(seq), EventKind::Head | EventKind::Checkpoint | EventKind::Outcome | EventKind::Session);
    next.number() - end.number() <= 64 && (end.number() + 1..next.number()).map(Seq::new).all(is_none)
}
