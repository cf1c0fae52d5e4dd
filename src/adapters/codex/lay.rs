//! Rollouts into the log: each record once, along the list that the program makes of
//! them, and a head for every list that can be asked for.

use std::hash::{BuildHasher, Hasher};

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::mapping::To;
use crate::json;
use crate::model::event::{Body, Draft, EventKind};
use crate::model::heads::{HeadKind, HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::map::Map;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{EventSink, StreamError};

use super::history::{Alter, Slot, Source, Step};
use super::message::{self, Afterwards, Drafted, Form, LINES, Says};
use super::prepare::{BaseOf, Prepared};
use super::record::Record;
use super::scan::{Generation, NOT_COMPRESSED, Piece, RecordLine};
use super::tables;

/// What a file holds, in its recipe's words.
pub(super) const HOLDS_RECORDS: &str = "rollout";

/// The member `hidden` of a message that the loader does not see.
const SALVAGED: &str = "{\"from\":[\"loader\"],\"why\":\"salvaged from a broken line\"}";
/// The member `hidden` of a message that the loader leaves out.
const LEFT_OUT: &str = "{\"from\":[\"loader\",\"model\"],\"why\":\"the program does not hand it on\"}";

/// Heads for the lists before compactions and rollbacks: no more than the newest ones, because
/// a damaged session can have one on every line.
const MOST_CONTEXTS: usize = 64;

/// Where the records of a file go on.
struct Place {
    /// The end of the list in the tree.
    node: Seq,
    list: Vec<Slot>,
    /// Where the list begins: the root, or the compaction that made it.
    floor: Seq,
}

/// Rollouts on their way into the log.
pub(super) struct Layer<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub shapes: Shapes,
    /// Messages that are in the log, by what they say, and their shapes.
    messages: Map<[u64; 2], (Seq, usize)>,
    /// Messages by the item that they are, for compactions that repeat it.
    by_item: Map<u64, (&'a [u8], Seq)>,
    /// The current head, and where it is.
    head: Option<HeadName>,
    head_node: Seq,
}

/// What became of a record.
struct Put {
    first: Seq,
    last: Seq,
    residual: Option<u32>,
}

impl<'a, 's> Layer<'a, 's> {
    pub(super) fn new(to: Conversion<'a, 's>) -> Layer<'a, 's> {
        Layer {
            to,
            shapes: Shapes::new(Order::default()),
            messages: Map::default(),
            by_item: Map::default(),
            head: Some(HeadName::main()),
            head_node: Seq::ROOT,
        }
    }

    /// Puts the records of a rollout; without a head those of another thread, or of a
    /// file in whose place the program takes another one.
    pub(super) fn rollout(&mut self, prepared: &mut Prepared<'a>, n: usize, head: Option<HeadName>) -> Result<(), StreamError> {
        let mut start = match prepared.rollouts[n].base {
            BaseOf::Rollout { number, bytes } => prepared.thread.list(&prepared.steps(number, bytes)),
            BaseOf::Nothing | BaseOf::Missing | BaseOf::NotPaginated | BaseOf::Short { .. } | BaseOf::Circle => Vec::new(),
        };
        let path = prepared.rollouts[n].path;
        let at = self.node_of(&start);
        match &head {
            Some(head) if self.head.as_ref() != Some(head) || self.head_node != at => self.begin_head(head.clone(), at)?,
            Some(_) => {}
            None => self.no_head()?,
        }
        let node = self.settle(prepared, &mut start)?;
        let mut place = Place { node, list: start.clone(), floor: Seq::ROOT };
        let liveness = prepared.thread.liveness(&prepared.steps(n, usize::MAX));
        let pieces = std::mem::take(&mut prepared.rollouts[n].scan.pieces);
        let records = std::mem::take(&mut prepared.rollouts[n].scan.records);
        let mut steps = std::mem::take(&mut prepared.rollouts[n].steps).into_iter().peekable();
        let mut put_back = Vec::with_capacity(steps.len());
        let rollout = &prepared.rollouts[n];
        // A file that cannot be decompressed is carried as it is.
        let is_unreadable = rollout.scan.refused.as_deref() == Some(NOT_COMPRESSED);
        let (generation, bytes, is_paginated) = (rollout.scan.generation, rollout.bytes, rollout.scan.header.is_paginated);
        let says: &Says = match (path, generation) {
            (None, _) => &[("inherited", "true")],
            (Some(_), Generation::Bare) => &[("words", message::AS_STORED)],
            (Some(_), Generation::Enveloped) => &[],
        };
        let mut recipe = RecipeBuilder::default();
        for piece in &pieces {
            let put = match piece {
                Piece::Gap(gap, times) => {
                    recipe.gaps(&String::from_utf8_lossy(gap), *times);
                    continue;
                }
                Piece::Damage { line, start, end, kind } => {
                    let Some(path) = path else { continue };
                    let seq = self.to.put_damage(path, *line, *start, kind.word(), &bytes[*start..*end])?;
                    Put { first: seq, last: seq, residual: None }
                }
                Piece::Salvaged(line, end) => {
                    if path.is_none() {
                        continue;
                    }
                    recipe.line_end(&String::from_utf8_lossy(end));
                    self.hidden(line, generation, place.node, SALVAGED)?
                }
                Piece::Record(number, end) => {
                    let line = &records[*number];
                    let step = steps.next_if(|step| step.record == *number);
                    let step_of = step.as_ref().map(|step| step.step.clone());
                    put_back.extend(step);
                    recipe.line_end(&String::from_utf8_lossy(end));
                    if matches!(step_of, Some(Step::Meta)) && is_paginated && *number > 0 {
                        place.list.clone_from(&start);
                        (place.node, place.floor) = (node, Seq::ROOT);
                        self.move_head(node, HeadOp::Load)?;
                    }
                    match step_of {
                        Some(Step::Item(item)) => self.item(prepared, &mut place, line, item, says)?,
                        Some(Step::Compacted(compaction)) => {
                            let fate = if liveness.dead.contains(&compaction) { Fate::RolledBack } else { Fate::Counts };
                            self.compaction(prepared, &mut place, line, (compaction, fate), says)?
                        }
                        _ if path.is_none() => {
                            self.roll_back(prepared, &mut place, step_of.as_ref())?;
                            continue;
                        }
                        None if matches!(line.record, Record::Item(_)) => self.hidden(line, generation, place.node, LEFT_OUT)?,
                        step_of => {
                            let put = self.other(line, says)?;
                            self.roll_back(prepared, &mut place, step_of.as_ref())?;
                            put
                        }
                    }
                }
            };
            match put.residual {
                Some(count) => recipe.residual(count),
                None => recipe.events(put.first, put.last, |end, next| no_record_between(self.to.events, end, next)),
            }
        }
        if let Some(path) = path.filter(|_| !is_unreadable) {
            self.to.rebuilt(path, HOLDS_RECORDS, None, recipe);
        }
        let rollout = &mut prepared.rollouts[n];
        (rollout.scan.pieces, rollout.scan.records, rollout.steps) = (pieces, records, put_back);
        if head.is_some_and(|head| head != HeadName::main()) {
            let mut list = prepared.list(n);
            self.show_list(prepared, n, &mut list)?;
        }
        Ok(())
    }

    /// Makes the heads for what compactions, rollbacks and headers took away.
    pub(super) fn contexts(&mut self, prepared: &mut Prepared<'a>, main: usize) -> Result<(), StreamError> {
        let steps = prepared.steps(main, usize::MAX);
        let (mut compactions, mut rollbacks) = (0, 0);
        let mut cuts = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let (what, count) = match step {
                Step::Compacted(_) => ("compaction", &mut compactions),
                Step::RolledBack(turns) if *turns > 0 => ("rollback", &mut rollbacks),
                Step::RolledBack(_) | Step::Item(_) | Step::TurnStarted(_) | Step::TurnContext(_) | Step::UserEvent | Step::Meta => {
                    continue;
                }
            };
            *count += 1;
            cuts.push((at, format!("before-{what}-{count}")));
        }
        for (at, name) in cuts.split_off(cuts.len().saturating_sub(MOST_CONTEXTS)) {
            let mut list = prepared.thread.list(&steps[..at]);
            let node = self.node_of(&list);
            self.begin_head(HeadName::new(HeadKind::Backup, name), node)?;
            self.show_list(prepared, main, &mut list)?;
        }
        Ok(())
    }

    /// Puts the main head where a resume ends.
    pub(super) fn finish(&mut self, prepared: &mut Prepared<'a>, main: usize) -> Result<(), StreamError> {
        let mut list = prepared.main_list(main);
        if self.head != Some(HeadName::main()) || self.head_node.is_root() {
            let node = self.node_of(&list);
            self.begin_head(HeadName::main(), node)?;
        }
        self.show_list(prepared, main, &mut list)
    }

    fn no_head(&mut self) -> Result<(), StreamError> {
        if self.head.take().is_some() {
            self.to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)?;
        }
        Ok(())
    }

    fn begin_head(&mut self, head: HeadName, node: Seq) -> Result<(), StreamError> {
        self.to.put_head(&head, node, HeadOp::Branch)?;
        (self.head, self.head_node) = (Some(head), node);
        Ok(())
    }

    fn move_head(&mut self, node: Seq, op: HeadOp) -> Result<(), StreamError> {
        if let Some(head) = self.head.as_ref().filter(|_| self.head_node != node) {
            self.to.put_head(head, node, op)?;
        }
        self.head_node = node;
        Ok(())
    }

    /// How far a list is in the tree: its last node.
    fn node_of(&self, list: &[Slot]) -> Seq {
        let mut node = Seq::ROOT;
        for slot in list {
            if !self.goes_on(node, slot.node) {
                break;
            }
            node = slot.node;
        }
        node
    }

    /// Whether a node goes on from the one before it in a list.
    fn goes_on(&self, before: Seq, node: Seq) -> bool {
        if node.is_root() {
            return false;
        }
        let above = self.to.events.parent(node);
        // What is above a compaction is not shown.
        above == before || (before.is_root() && self.to.events.kind(above) == EventKind::Compaction)
    }

    /// Puts the rest of a list into the tree, as repeats; returns its node.
    fn settle(&mut self, prepared: &mut Prepared<'a>, list: &mut [Slot]) -> Result<Seq, StreamError> {
        let mut node = Seq::ROOT;
        let mut at = 0;
        while at < list.len() {
            if self.goes_on(node, list[at].node) {
                node = list[at].node;
                at += 1;
                continue;
            }
            let message = |slot: &Slot| prepared.thread.items[slot.item].message;
            let run = list[at..].windows(2).take_while(|two| {
                let (first, second) = (message(&two[0]), message(&two[1]));
                self.to.events.parent(second) == first && self.to.events.kind(first) == EventKind::Message
            });
            let last = at + run.count();
            node = self.repeat(node, message(&list[at]), message(&list[last]))?;
            for slot in &mut list[at..=last] {
                slot.node = node;
            }
            at = last + 1;
        }
        Ok(node)
    }

    /// Puts the current head on a list, with what is seen otherwise in it.
    fn show_list(&mut self, prepared: &mut Prepared<'a>, n: usize, list: &mut [Slot]) -> Result<(), StreamError> {
        let mut node = self.settle(prepared, list)?;
        self.move_head(node, HeadOp::Load)?;
        let (unanswered, uncalled) = if prepared.is_as_stored(n) { Default::default() } else { prepared.thread.unpaired(list) };
        for (at, slot) in list.iter().enumerate() {
            let replacement = match &slot.alter {
                Alter::Out => "null".to_owned(),
                Alter::Texts(texts) => format!("{{\"content\":{}}}", parts(texts)),
                Alter::Nothing | Alter::NoEmptyTexts if uncalled.contains(&at) => "null".to_owned(),
                Alter::NoEmptyTexts => "{\"shown_as\":\"without_empty_texts\"}".to_owned(),
                Alter::Nothing if unanswered.contains(&at) => "{\"shown_as\":\"unanswered_call\"}".to_owned(),
                Alter::Nothing => continue,
            };
            let target = prepared.thread.items[slot.item].message;
            let payload = format!("{{\"target\":{target},\"replacement\":{replacement}}}");
            node = self.to.put(EventKind::Edit, None, Some(node), payload.as_bytes())?;
            self.head_node = node;
        }
        Ok(())
    }

    fn repeat(&mut self, parent: Seq, first: Seq, last: Seq) -> Result<Seq, StreamError> {
        let repeat = Repeat { first, last, source_id: None };
        let seq = self.to.events.put(Draft { ts: None, parent: Some(parent), body: Body::Repeat(&repeat) })?;
        self.head_node = seq;
        Ok(seq)
    }

    fn roll_back(&mut self, prepared: &Prepared<'a>, place: &mut Place, step: Option<&Step>) -> Result<(), StreamError> {
        let Some(Step::RolledBack(turns)) = step else { return Ok(()) };
        prepared.thread.roll_back(&mut place.list, *turns);
        place.node = place.list.last().map_or(place.floor, |slot| slot.node);
        self.move_head(place.node, HeadOp::Undo)
    }

    /// Puts an item of a line of its own.
    fn item(
        &mut self,
        prepared: &mut Prepared<'a>,
        place: &mut Place,
        line: &RecordLine<'a>,
        item: usize,
        says: &Says,
    ) -> Result<Put, StreamError> {
        let record = line.text.trim_ascii_start();
        let is_bare = form_of(says) == Form::Item;
        let drafted = match line.record {
            Record::BetweenAgents => message::draft_agent_record(record, says, &mut self.shapes),
            Record::Item(kind) if is_bare => message::draft_item(record, kind, says, &mut self.shapes),
            Record::Item(kind) => message::draft_record(record, kind, says, &mut self.shapes),
            Record::Meta
            | Record::Compacted
            | Record::RolledBack
            | Record::TurnStarted
            | Record::TurnContext
            | Record::UserEvent
            | Record::Other
            | Record::Unknown => None,
        };
        let Some(drafted) = drafted else { return Err(odd(line)) };
        let said = self.message(drafted, place.node)?;
        let info = &mut prepared.thread.items[item];
        (info.message, info.node) = (said.message, said.node);
        if let Source::Stored(value) = info.source
            && said.shape == 0
            && (self.to.check == Check::ByProof || self.rendered(&said, Form::Item).as_deref() == Some(value))
        {
            self.by_item.entry(self.hash(value)).or_insert((value, said.message));
        }
        place.node = said.node;
        place.list.push(prepared.thread.slot(item));
        let form = if line.record == Record::BetweenAgents { Form::Record } else { form_of(says) };
        Ok(self.checked(line.text, (said.node, said.node), |own| own.rendered(&said, form)))
    }

    /// Puts a message that no list has.
    fn hidden(&mut self, line: &RecordLine<'a>, generation: Generation, above: Seq, why: &'static str) -> Result<Put, StreamError> {
        let Record::Item(item) = line.record else { return self.other(line, &[("hidden", why)]) };
        let mut says = vec![("hidden", why)];
        let record = line.text.trim_ascii_start();
        let drafted = match generation {
            Generation::Enveloped => message::draft_record(record, item, &says, &mut self.shapes),
            Generation::Bare => {
                says.push(("words", message::AS_STORED));
                message::draft_item(record, item, &says, &mut self.shapes)
            }
        };
        let Some(drafted) = drafted else { return Err(odd(line)) };
        let at = self.head_node;
        let said = self.message(drafted, above)?;
        self.move_head(at, HeadOp::Load)?;
        Ok(self.checked(line.text, (said.node, said.node), |own| own.rendered(&said, form_of(&says))))
    }

    /// Puts a record that is a fact beside the list.
    fn other(&mut self, line: &RecordLine<'a>, says: &Says) -> Result<Put, StreamError> {
        let record = line.text.trim_ascii_start();
        let drafted = if form_of(says) == Form::Record { message::draft_other(record, says, &mut self.shapes) } else { None };
        let Drafted { payload, ts, .. } =
            drafted.unwrap_or_else(|| Drafted { payload: message::draft_whole(record, says), ts: None, shape: 0 });
        let seq = self.to.put(EventKind::Custom, ts, None, &payload)?;
        Ok(self.checked(line.text, (seq, seq), |own| {
            let mut out = Vec::new();
            message::render_other(&payload, &json::all_members(&payload), ts, &own.shapes, &mut out).map(|()| out)
        }))
    }

    /// Puts a message, or a repeat of the one that says the same: each is stored once.
    fn message<'d>(&mut self, drafted: Drafted<'d>, parent: Seq) -> Result<Said<'d>, StreamError> {
        let Drafted { mut payload, ts, shape } = drafted;
        let end = shape_text(shape);
        let said = payload.strip_suffix(end.as_bytes()).unwrap_or(&payload);
        let hash = |seed: u64| {
            let mut hasher = foldhash::quality::FixedState::with_seed(seed).build_hasher();
            hasher.write(said);
            hasher.write(ts.unwrap_or_default().as_bytes());
            hasher.finish()
        };
        let key = [hash(1), hash(2)];
        if let Some((message, shape)) = self.messages.get(&key).copied() {
            let len = said.len();
            payload.truncate(len);
            payload.extend_from_slice(shape_text(shape).as_bytes());
            let node = self.repeat(parent, message, message)?;
            return Ok(Said { message, node, payload, ts, shape });
        }
        let seq = self.to.put(EventKind::Message, ts, Some(parent), &payload)?;
        self.messages.insert(key, (seq, shape));
        self.head_node = seq;
        Ok(Said { message: seq, node: seq, payload, ts, shape })
    }

    fn rendered(&self, said: &Said<'_>, form: Form) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let to = To { style: LINES, depth: 0, out: &mut out };
        message::render_message(&said.payload, &json::all_members(&said.payload), said.ts, form, &self.shapes, to).map(|()| out)
    }

    fn hash(&self, value: &[u8]) -> u64 {
        foldhash::quality::FixedState::with_seed(3).hash_one(value)
    }

    /// Puts a compaction, and the list that it makes after it.
    fn compaction(
        &mut self,
        prepared: &mut Prepared<'a>,
        place: &mut Place,
        line: &RecordLine<'a>,
        (number, fate): (usize, Fate),
        says: &Says,
    ) -> Result<Put, StreamError> {
        let compaction = &prepared.thread.compactions[number];
        let (items, summary) = (compaction.items.clone(), compaction.summary);
        let is_empty = json::unescape(compaction.message).is_empty();
        let before = place.node;
        let list: Vec<Slot> = match (&items, summary) {
            (Some(items), _) => items.iter().map(|item| prepared.thread.slot(*item)).collect(),
            (None, summary) => {
                prepared.thread.rebuilt(&place.list).into_iter().chain(summary.map(|item| prepared.thread.slot(item))).collect()
            }
        };
        let mut about = vec![("events", list.len().to_string())];
        about.extend(says.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let order = if items.is_none() {
            about.push(("rebuilt", "true".to_owned()));
            if is_empty { tables::OTHER_ORDER } else { tables::REBUILT_ORDER }
        } else {
            tables::OTHER_ORDER
        };
        let record = line.text.trim_ascii_start();
        let Some(drafted) = message::draft_compaction(record, &mut self.shapes, &about, order) else { return Err(odd(line)) };
        let first = self.to.put(EventKind::Compaction, drafted.ts, Some(before), &drafted.payload)?;
        self.head_node = first;
        let mut node = first;
        let mut laid = Vec::with_capacity(list.len());
        let mut rendered = Vec::new();
        for mut slot in list {
            let info = &prepared.thread.items[slot.item];
            node = if info.message.is_root() {
                let (message, node) = self.item_of_list(prepared, slot.item, node, says, &mut rendered)?;
                let info = &mut prepared.thread.items[slot.item];
                (info.message, info.node) = (message, node);
                node
            } else {
                let message = info.message;
                self.repeat(node, message, message)?
            };
            slot.node = node;
            laid.push(slot);
        }
        prepared.thread.compactions[number].laid = laid.clone();
        if fate == Fate::RolledBack && items.is_some() {
            self.move_head(before, HeadOp::Undo)?;
        } else {
            *place = Place { node, list: laid, floor: first };
        }
        let Drafted { payload, ts, .. } = drafted;
        let summary = json::unescape(prepared.thread.compactions[number].message);
        Ok(self.checked(line.text, (first, node), |own| {
            let after = if items.is_some() { Afterwards::Items(&rendered) } else { Afterwards::Summary(summary) };
            let mut out = Vec::new();
            message::render_compaction(&payload, &json::all_members(&payload), ts, after, &own.shapes, &mut out).map(|()| out)
        }))
    }

    /// Puts an item of a compaction's list.
    fn item_of_list(
        &mut self,
        prepared: &Prepared<'a>,
        item: usize,
        parent: Seq,
        says: &Says,
        rendered: &mut Vec<Vec<u8>>,
    ) -> Result<(Seq, Seq), StreamError> {
        let info = &prepared.thread.items[item];
        match &info.source {
            Source::Stored(value) => {
                let known = self.by_item.get(&self.hash(value)).filter(|(known, _)| known == value).map(|(_, message)| *message);
                if let Some(known) = known {
                    let node = self.repeat(parent, known, known)?;
                    rendered.push(value.to_vec());
                    return Ok((known, node));
                }
                let drafted = message::draft_item(value, info.item, says, &mut self.shapes);
                let Some(drafted) = drafted else { return Err(StreamError::log(parent, "has an item after it that cannot be said")) };
                let said = self.message(drafted, parent)?;
                if self.to.check == Check::EachRecord {
                    rendered.push(self.rendered(&said, Form::Item).unwrap_or_default());
                }
                Ok((said.message, said.node))
            }
            Source::Summary(text) => {
                let mut payload = b"{\"role\":\"user\",\"content\":".to_vec();
                payload.extend_from_slice(parts(std::slice::from_ref(&text.clone().into_owned())).as_bytes());
                for (name, value) in says {
                    payload.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
                }
                payload.push(b'}');
                let said = self.message(Drafted { payload, ts: None, shape: 0 }, parent)?;
                Ok((said.message, said.node))
            }
        }
    }

    /// What became of a record: where its events do not render to it, a residual.
    fn checked(&mut self, text: &'a [u8], (first, last): (Seq, Seq), render: impl FnOnce(&Self) -> Option<Vec<u8>>) -> Put {
        let mut put = Put { first, last, residual: None };
        if self.to.check == Check::EachRecord {
            let rendered = render(self).unwrap_or_default();
            if rendered != text {
                put.residual = Some(self.to.residual((first, last), &rendered, text));
            }
        }
        put
    }
}

/// What became of a compaction later in its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Counts,
    RolledBack,
}

/// A message that was put.
struct Said<'d> {
    message: Seq,
    node: Seq,
    /// What the log has of it.
    payload: Vec<u8>,
    ts: Option<&'d str>,
    shape: usize,
}

/// How the records of a file are rendered whose messages say this of it.
fn form_of(says: &Says) -> Form {
    if says.iter().any(|(name, _)| *name == "words") { Form::Item } else { Form::Record }
}

/// The fault of a record that was accepted and has no form in the log: a bug of ours.
fn odd(line: &RecordLine<'_>) -> StreamError {
    StreamError::log(Seq::ROOT, format!("has no form for the record on line {}; please report it", line.number))
}

fn shape_text(shape: usize) -> String {
    if shape == 0 { "}".to_owned() } else { format!(",\"shape\":{shape}}}") }
}

/// Texts as parts of a message.
fn parts(texts: &[String]) -> String {
    let mut out = b"[".to_vec();
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        json::push_string(text, &mut out);
        out.push(b'}');
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether there is no record and no damage between two events.
pub(super) fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    let is_none = |seq| matches!(events.kind(seq), EventKind::Head | EventKind::Checkpoint | EventKind::Outcome | EventKind::Session);
    next.number() - end.number() <= 64 && (end.number() + 1..next.number()).map(Seq::new).all(is_none)
}
