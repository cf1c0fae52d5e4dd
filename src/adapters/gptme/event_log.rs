//! An event log: appends, edits, undos and checkpoints as moves of one head.

use std::borrow::Cow;

use crate::adapters::format::Check;
use crate::json::{self, Scan, Style, Value};
use crate::model::event::{Body, Draft, EventKind};
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::heads::{Head, HeadKind, HeadName, HeadOp, RecordNumber, Repeat};
use crate::model::ids::Seq;
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{EventSink, StreamError};
use crate::model::time::is_log_time;
use crate::runtimes::python::loads::LONGEST_INTEGER;
use crate::runtimes::python::text::strip_bytes;

use crate::adapters::kit::salvage::{DamageKind, Piece};

use super::damage::dissect;
use super::event_wire::{EVENTS, EventRecord, Parsed, Step, key, open, parse};
use super::layout::{self, Marker};
use super::message::{Normal, normalise};
use super::read::{Lists, Reader, shown};
use super::recover::{self, recover};
use super::wire::{Record, Rejection, Time};
use super::write::Snapshot;
use crate::adapters::kit::known::{NormalHash, Origin};

/// One event log on its way into the log.
pub(super) struct Journal<'a> {
    path: &'a RelPath,
    pub style: Style,
    head: HeadName,
    recipe: RecipeBuilder,
    /// The list that the events come to: each message, and the node that
    /// brought it.
    pub state: Vec<(Seq, Seq)>,
    pub node: Seq,
    /// The program would not come to this list: records out of order, or of
    /// another form than the writer's.
    unusual: bool,
    last_number: u64,
}

/// A message of an event, in the log or to be put there.
pub(super) enum EventMessage<'a> {
    Known(Seq),
    New(Box<New<'a>>),
}

/// A message that is to be put.
pub(super) struct New<'a> {
    normal: Normal,
    hash: NormalHash,
    record: Record<'a>,
    origin: Origin<'a>,
}

impl<'a> Reader<'a, '_> {
    /// Reads one event log.
    pub(super) fn event_log(&mut self, path: &'a RelPath, file: &'a SourceFile, head: &HeadName, lists: &Lists) -> Result<(), StreamError> {
        self.to.put_head(head, Seq::ROOT, HeadOp::Branch)?;
        let mut journal = Journal {
            path,
            style: Style::of_file(&file.bytes, Style::default()),
            head: head.clone(),
            recipe: RecipeBuilder::default(),
            state: Vec::new(),
            node: Seq::ROOT,
            unusual: false,
            last_number: 0,
        };
        for line in Lines::new(&file.bytes, Newlines::LineFeed) {
            self.event_line(&mut journal, line, &file.bytes)?;
        }
        if journal.unusual {
            self.follow_program(&mut journal, &file.bytes)?;
        }
        self.compare_with_lists(&journal, lists);
        self.to.rebuilt(path, EVENTS, journal.style.unless(Style::default()), journal.recipe);
        Ok(())
    }

    fn event_line(&mut self, journal: &mut Journal<'a>, line: Line<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        let text = strip_bytes(line.text);
        if text.is_empty() {
            let gap = &file[line.offset..line.offset + line.text.len() + line.end.len()];
            journal.recipe.gap(&String::from_utf8_lossy(gap));
            return Ok(());
        }
        let mut spare = Vec::new();
        let parsed = if std::str::from_utf8(text).is_ok() { parse(text, &mut spare).ok() } else { None };
        let Some((parsed, Scan { value, facts, .. })) = parsed else { return self.damaged_event(journal, line, file) };
        if facts.longest_integer > LONGEST_INTEGER || facts.depth >= recover::DEEPEST {
            journal.unusual = true;
        }
        let Parsed::Usual(record) = parsed else { return self.custom_event(journal, line, value, file) };
        journal.unusual |= record.number == 0 || record.number <= journal.last_number;
        journal.last_number = record.number.max(journal.last_number);
        if !self.step(journal, line, record)? {
            return self.custom_event(journal, line, value, file);
        }
        Ok(())
    }

    /// Turns a record in the writer's form into events. `false` where a message
    /// in it is not one: then it is carried as it is.
    fn step(&mut self, journal: &mut Journal<'a>, line: Line<'a>, record: EventRecord<'a>) -> Result<bool, StreamError> {
        match record.step {
            Step::Append(message) => {
                let Some(found) = self.find(message, journal.style) else { return Ok(false) };
                self.append(journal, line, record, message, found)?;
            }
            Step::Undo(n) => self.undo(journal, line, record, n)?,
            Step::Edit(list) | Step::Checkpoint(list) => {
                let messages: Vec<Value<'a>> = list.elements().collect();
                let is_checkpoint = matches!(record.step, Step::Checkpoint(_));
                if is_checkpoint && self.says_nothing_new(journal, &messages) && self.snapshot(journal, line, record, &messages)? {
                    return Ok(true);
                }
                if messages.iter().any(|message| self.find(*message, journal.style).is_none()) {
                    return Ok(false);
                }
                let first = self.to.events.next();
                self.set_list(journal, &messages)?;
                let op = if is_checkpoint { HeadOp::Load } else { HeadOp::Edit };
                let move_to = Head { source_id: Some(RecordNumber(record.number)), ..Head::to(&journal.head, journal.node, op) };
                self.close_record(journal, line, record, first, &move_to, &messages)?;
            }
            Step::EditAt(index, message) => {
                let at = usize::try_from(index).unwrap_or(usize::MAX);
                if at >= journal.state.len() || self.find(message, journal.style).is_none() {
                    return Ok(false);
                }
                // The program knows no such event.
                journal.unusual = true;
                let first = self.to.events.next();
                self.replace_at(journal, at, message)?;
                let edit = Head {
                    source_id: Some(RecordNumber(record.number)),
                    index: Some(index),
                    ..Head::to(&journal.head, journal.node, HeadOp::Edit)
                };
                self.close_record(journal, line, record, first, &edit, &[message])?;
            }
        }
        Ok(true)
    }

    /// Looks a message of an event up; `None` where the loader would not take
    /// it, or would have to guess its time.
    pub(super) fn find(&self, message: Value<'a>, style: Style) -> Option<EventMessage<'a>> {
        let hash = self.known.hash(message.text());
        if let Some(seq) = self.known.by_hash(hash, message.text(), 0) {
            return Some(EventMessage::Known(seq));
        }
        let record =
            Record::parse(message.text(), &mut Vec::new()).ok().filter(|record| matches!(record.time, Time::Log(_) | Time::Other(_)))?;
        let mut normal = Normal::default();
        normalise(&record, style.escapes, "", &mut normal);
        Some(match self.known.by_normal(&normal.ts, &normal.payload) {
            Ok(seq) => EventMessage::Known(seq),
            Err(normal_hash) => {
                let origin = Origin { record: message.text(), hash, escapes: style.escapes, file_time: 0 };
                EventMessage::New(Box::new(New { normal, hash: normal_hash, record, origin }))
            }
        })
    }

    pub(super) fn put_new(&mut self, mut new: Box<New<'a>>, parent: Seq) -> Result<Seq, StreamError> {
        self.put_message(new.origin, &new.record, (&mut new.normal, new.hash), parent)
    }

    fn append(
        &mut self,
        journal: &mut Journal<'a>,
        line: Line<'a>,
        record: EventRecord<'a>,
        message: Value<'a>,
        found: EventMessage<'a>,
    ) -> Result<(), StreamError> {
        let first = self.to.events.next();
        match found {
            EventMessage::Known(seq) => {
                let repeat = Repeat { first: seq, last: seq, source_id: Some(RecordNumber(record.number)) };
                let node = self.to.events.put(Draft { ts: Some(record.ts), parent: Some(journal.node), body: Body::Repeat(&repeat) })?;
                self.repeats.note(node, journal.node, seq, seq);
                journal.node = node;
                journal.state.push((seq, node));
                self.event_piece(journal, line, record, (first, node), &[message])
            }
            EventMessage::New(new) => {
                let seq = self.put_new(new, journal.node)?;
                journal.node = seq;
                journal.state.push((seq, seq));
                let moved = Head { source_id: Some(RecordNumber(record.number)), ..Head::to(&journal.head, seq, HeadOp::Append) };
                self.close_record(journal, line, record, first, &moved, &[message])
            }
        }
    }

    fn undo(&mut self, journal: &mut Journal<'a>, line: Line<'a>, record: EventRecord<'a>, n: Option<u64>) -> Result<(), StreamError> {
        let first = self.to.events.next();
        let steps = usize::try_from(n.unwrap_or(1)).unwrap_or(usize::MAX);
        journal.state.truncate(journal.state.len().saturating_sub(steps));
        journal.node = self.end_of(&mut journal.state)?;
        let moved = Head { n, source_id: Some(RecordNumber(record.number)), ..Head::to(&journal.head, journal.node, HeadOp::Undo) };
        self.close_record(journal, line, record, first, &moved, &[])
    }

    /// Tells whether a checkpoint lists just what the events before it come to.
    fn says_nothing_new(&self, journal: &Journal<'a>, messages: &[Value<'a>]) -> bool {
        messages.len() == journal.state.len()
            && messages.iter().zip(&journal.state).all(|(message, (seq, _))| self.known.by_record(message.text(), 0) == Some(*seq))
    }

    /// Notes a checkpoint in the recipe alone; `false` where it would not be
    /// rendered as it is.
    fn snapshot(
        &mut self,
        journal: &mut Journal<'a>,
        line: Line<'a>,
        record: EventRecord<'a>,
        messages: &[Value<'a>],
    ) -> Result<bool, StreamError> {
        if self.to.check == Check::EachRecord && self.rendered_event(journal, record, messages) != line.text {
            return Ok(false);
        }
        let piece = Snapshot { snapshot: journal.node, ts: record.ts.to_owned(), source_id: record.number };
        let piece = serde_json::to_string(&piece).map_err(|error| StreamError::Io { doing: "write the log", source: error.into() })?;
        journal.recipe.line_end(&String::from_utf8_lossy(line.end));
        journal.recipe.own(piece);
        Ok(true)
    }

    /// Puts the head move that closes a record, and notes the record.
    fn close_record(
        &mut self,
        journal: &mut Journal<'a>,
        line: Line<'a>,
        record: EventRecord<'a>,
        first: Seq,
        head: &Head,
        messages: &[Value<'a>],
    ) -> Result<(), StreamError> {
        let last = self.to.events.put(Draft { ts: Some(record.ts), parent: None, body: Body::Head(head) })?;
        self.event_piece(journal, line, record, (first, last), messages)
    }

    fn event_piece(
        &mut self,
        journal: &mut Journal<'a>,
        line: Line<'a>,
        record: EventRecord<'a>,
        of: (Seq, Seq),
        messages: &[Value<'a>],
    ) -> Result<(), StreamError> {
        journal.recipe.line_end(&String::from_utf8_lossy(line.end));
        if self.to.check == Check::EachRecord {
            let rendered = self.rendered_event(journal, record, messages);
            if rendered != line.text {
                let count = self.to.residual(of, &rendered, line.text);
                journal.recipe.residual(count);
                return Ok(());
            }
        }
        journal.recipe.events(of.0, of.1, |end, next| only_checkpoints_between(self.to.events, end, next));
        Ok(())
    }

    /// Returns what the events of a record render to.
    fn rendered_event(&self, journal: &Journal<'a>, record: EventRecord<'a>, messages: &[Value<'a>]) -> Vec<u8> {
        let style = journal.style;
        let mut out = Vec::new();
        let kind = match record.step {
            Step::Append(_) => "message_append",
            Step::Edit(_) | Step::EditAt(..) => "message_edit",
            Step::Undo(_) => "undo",
            Step::Checkpoint(_) => "checkpoint",
        };
        open(record.number, record.ts, kind, style, &mut out);
        match record.step {
            Step::Append(message) => {
                key("message", style, &mut out);
                self.push_rendered(message, style, &mut out);
            }
            Step::EditAt(index, message) => {
                key("index", style, &mut out);
                out.extend_from_slice(index.to_string().as_bytes());
                style.push_comma(&mut out);
                key("message", style, &mut out);
                self.push_rendered(message, style, &mut out);
            }
            Step::Undo(n) => {
                if let Some(n) = n {
                    key("n", style, &mut out);
                    out.extend_from_slice(n.to_string().as_bytes());
                }
            }
            Step::Edit(_) | Step::Checkpoint(_) => {
                key("messages", style, &mut out);
                out.push(b'[');
                for (n, message) in messages.iter().enumerate() {
                    if n > 0 {
                        style.push_comma(&mut out);
                    }
                    self.push_rendered(*message, style, &mut out);
                }
                out.push(b']');
            }
        }
        out.extend_from_slice(b"}}");
        out
    }

    fn push_rendered(&self, message: Value<'a>, style: Style, out: &mut Vec<u8>) {
        if let Some(EventMessage::Known(seq)) = self.find(message, style) {
            out.extend_from_slice(&self.rendered(seq, style));
        }
    }

    fn damaged_event(&mut self, journal: &mut Journal<'a>, line: Line<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        let scanned = json::scan_object(line.text, json::Dialect::Python, &mut Vec::new());
        let rejection = match scanned {
            Err(error) => Rejection::NotJson { at: error.at, what: error.what },
            Ok(_) => Rejection::NotJson { at: 0, what: "bytes that are not UTF-8" },
        };
        // An event is not a message: what is complete on a broken line is named,
        // and kept with the rest of it.
        let (pieces, at, why) = dissect(line, &rejection, &|_| true);
        let (kind, at) = match pieces.as_slice() {
            [Piece { damage: Some(kind), .. }] => (*kind, at),
            several => (DamageKind::Fused, several.iter().find(|piece| piece.damage.is_none()).map_or(0, |piece| piece.start)),
        };
        let place = Location::at(shown(journal.path), line.number, at as u64 + 1);
        self.to.findings.add(kind.finding(), place, kind.sentence("gptme", why));
        let bytes = &file[line.offset..line.offset + line.text.len() + line.end.len()];
        let seq = self.to.put_damage(journal.path, line.number, line.offset, kind.word(), bytes)?;
        journal.recipe.events(seq, seq, |end, next| only_checkpoints_between(self.to.events, end, next));
        Ok(())
    }

    /// A record of another kind or form: carried whole.
    fn custom_event(&mut self, journal: &mut Journal<'a>, line: Line<'a>, record: Value<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        journal.unusual = true;
        let kind = record.first("type").and_then(Value::as_str).unwrap_or(Cow::Borrowed("event"));
        let message = format!("an event `{kind}` in a form that gptme does not write; carried as it is");
        self.to.findings.add(FindingCode::UnknownEvent, Location::at(shown(journal.path), line.number, 1), message);
        let mut payload = b"{\"type\":".to_vec();
        json::push_string(&kind, &mut payload);
        payload.extend_from_slice(b",\"data\":");
        json::push_carried_value(record, journal.style.escapes, &mut payload);
        let ts = record.first("ts").and_then(|ts| ts.text().strip_prefix(b"\"")?.strip_suffix(b"\"")).filter(|ts| is_log_time(ts));
        let ts = ts.and_then(|ts| std::str::from_utf8(ts).ok());
        let mut rendered = Vec::new();
        payload.push(b'}');
        let data = Value::trusted(&payload).first("data").unwrap_or_default();
        journal.style.push_value(data, &mut rendered);
        let seq = self.to.events.put(Draft { ts, parent: None, body: Body::Json(EventKind::Custom, &payload) })?;
        journal.recipe.line_end(&String::from_utf8_lossy(line.end));
        if rendered == line.text {
            journal.recipe.events(seq, seq, |end, next| only_checkpoints_between(self.to.events, end, next));
        } else {
            let count = self.to.residual((seq, seq), &rendered, &file[line.offset..line.offset + line.text.len()]);
            journal.recipe.residual(count);
        }
        Ok(())
    }

    /// Where the program would come to another list than the events in file
    /// order do, the head is set to the program's.
    fn follow_program(&mut self, journal: &mut Journal<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        match recover(file) {
            Err(error) => {
                let message = format!("gptme could not replay this event log: {}", error.name());
                self.to.findings.add(FindingCode::EventsUnreadable, Location::file(shown(journal.path)), message);
                self.outcome.failures.insert(journal.head.to_string(), error.name().to_owned());
            }
            Ok(messages) => {
                let accepted: Vec<Value<'a>> =
                    messages.into_iter().filter(|message| self.find(*message, journal.style).is_some()).collect();
                if !self.says_nothing_new(journal, &accepted) {
                    self.set_list(journal, &accepted)?;
                    let head = journal.head.clone();
                    self.to.put_head(&head, journal.node, HeadOp::Load)?;
                }
            }
        }
        Ok(())
    }

    /// Says how the event log and the list it belongs to differ.
    fn compare_with_lists(&mut self, journal: &Journal<'a>, lists: &Lists) {
        let main = HeadName::main();
        let of = match layout::active_view(self.to.files) {
            Marker::View(view) => HeadName::new(HeadKind::View, view),
            Marker::Absent | Marker::Missing(_) | Marker::Undecodable => main,
        };
        if journal.head.name != "main" || self.outcome.failures.contains_key(&journal.head.to_string()) {
            return;
        }
        let Some(list) = lists.get(&of) else { return };
        let place = Location::file(shown(journal.path));
        let events: Vec<Seq> = journal.state.iter().map(|(message, _)| *message).collect();
        let startup = list.len().saturating_sub(events.len());
        if list[startup..] == events[..] {
            let all_system = list[..startup].iter().all(|message| self.is_system.get(message.index()) == Some(&true));
            if startup == 0 {
                return;
            }
            if all_system {
                let message = format!("the event log lacks the {startup} start-up messages that the conversation begins with");
                return self.to.findings.add(FindingCode::EventsLackStartup, place, message);
            }
        }
        let in_list: std::collections::HashSet<Seq> = list.iter().copied().collect();
        let in_events: std::collections::HashSet<Seq> = events.iter().copied().collect();
        let (lost, unlogged) = (in_events.difference(&in_list).count(), in_list.difference(&in_events).count());
        let message = format!(
            "the event log comes to {} messages and the conversation has {}; only in the events: {lost}, only in the conversation: {unlogged}",
            events.len(),
            list.len()
        );
        self.to.findings.add(FindingCode::EventsDisagree, place, message);
    }
}

fn only_checkpoints_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| events.kind(seq) == EventKind::Checkpoint)
}
