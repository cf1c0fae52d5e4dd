//! One list of messages, line by line: conversation, branch, view, backup.

use std::borrow::Cow;

use crate::adapters::format::Check;
use crate::json::Style;
use crate::model::event::{Body, Draft, EventKind};
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::python::text::strip;

use super::damage::dissect;
use super::layout;
use super::message::{Normal, normalise};
use super::read::{DEEPEST_MAIN, DEEPEST_OTHER, Reader, shown};
use super::render;
use super::wire::{Record, Rejection, Time};
use crate::adapters::kit::known::{NormalHash, Origin, RecordHash};
use crate::adapters::kit::place::Placing;
use crate::adapters::kit::salvage::DamageKind;

/// What a file of messages holds, in its recipe's words.
pub(super) const MESSAGES: &str = "messages";

/// One list on its way into the log.
struct List<'a> {
    path: &'a RelPath,
    style: Style,
    file_time: (String, u32),
    deepest: usize,
    placing: Placing,
    recipe: RecipeBuilder,
    messages: Vec<Seq>,
    damage: Option<OpenDamage>,
    /// Whether the loader shows this list at all; a stray copy cannot make a
    /// load fail.
    is_loaded: Loaded,
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Loaded {
    ByProgram,
    ByNobody,
}

/// Rejected bytes that the next line may still add to.
struct OpenDamage {
    line: u64,
    start: usize,
    end: usize,
    kind: DamageKind,
}

impl<'a> Reader<'a, '_> {
    /// Reads one list; returns its messages in order.
    pub(super) fn transcript(&mut self, path: &'a RelPath, file: &'a SourceFile, head: &HeadName) -> Result<Vec<Seq>, StreamError> {
        let is_main = layout::transcript(self.to.files) == Some(path);
        let is_stray = head.kind == HeadKind::Backup && path.as_text() != Some("lossless.jsonl");
        let mut list = List {
            path,
            style: Style::of_file(&file.bytes, Style::default()),
            file_time: self.file_time(file),
            deepest: if is_main { DEEPEST_MAIN } else { DEEPEST_OTHER },
            // The log starts on the main branch: it need not be made, unless
            // nothing would move it.
            placing: if is_main && !file.bytes.is_empty() { Placing::without_head() } else { Placing::for_head(head.clone()) },
            recipe: RecipeBuilder::default(),
            messages: Vec::new(),
            damage: None,
            is_loaded: if is_stray { Loaded::ByNobody } else { Loaded::ByProgram },
        };
        let mut lines = Lines::new(&file.bytes, Newlines::Universal);
        while let Some(line) = lines.next() {
            self.line(&mut list, line, &lines, &file.bytes)?;
        }
        self.close_damage(&mut list, &file.bytes)?;
        let List { placing, recipe, messages, style, .. } = list;
        let node = placing.finish(self.to.events, &mut self.repeats)?;
        if is_main && messages.is_empty() && !file.bytes.is_empty() {
            self.to.put_head(head, node, HeadOp::Branch)?;
        }
        self.to.rebuilt(path, MESSAGES, style.unless(Style::default()), recipe);
        Ok(messages)
    }

    fn line(&mut self, list: &mut List<'a>, line: Line<'a>, following: &Lines<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        let hash = self.known.hash(line.text);
        if let Some(known) = self.known.by_hash(hash, line.text, list.file_time.1) {
            self.close_damage(list, file)?;
            return self.known_record(list, line, known, following);
        }
        let text = strip(line.text);
        if text.is_empty() {
            self.close_damage(list, file)?;
            list.recipe.gap(&String::from_utf8_lossy(&file[line.offset..line.offset + line.text.len() + line.end.len()]));
            return Ok(());
        }
        let text = decoded(text);
        let mut spare = Vec::with_capacity(12);
        match Record::parse(text.as_bytes(), &mut spare) {
            Err(rejection) => self.rejected(list, line, &rejection, file),
            Ok(record) => {
                self.close_damage(list, file)?;
                if matches!(text, Cow::Owned(_)) {
                    self.note_replaced_bytes(list, line);
                }
                self.note_oddities(list, line, &record);
                self.new_record(list, line, hash, &record, following)
            }
        }
    }

    /// A record whose bytes are in the log already.
    fn known_record(&mut self, list: &mut List<'a>, line: Line<'a>, message: Seq, following: &Lines<'a>) -> Result<(), StreamError> {
        self.place_known(list, message, following)?;
        let rendered = (self.to.check == Check::EachRecord).then(|| self.rendered(message, list.style));
        self.piece(list, line, message, rendered)
    }

    fn place_known(&mut self, list: &mut List<'a>, message: Seq, following: &Lines<'a>) -> Result<(), StreamError> {
        list.messages.push(message);
        let mut rest = following.clone().filter(|line| !strip(line.text).is_empty());
        let mut seen = vec![Some(message)];
        let known = &self.known;
        let file_time = list.file_time.1;
        let mut ahead = |n: usize| {
            while seen.len() <= n {
                seen.push(rest.next().and_then(|line| known.by_record(line.text, file_time)));
            }
            seen[n]
        };
        list.placing.known(message, self.to.events, &mut self.repeats, &mut ahead)
    }

    /// Returns what a message's event renders to in a style. The event is made again
    /// from the record that it was first read from.
    pub(super) fn rendered(&self, message: Seq, style: Style) -> Vec<u8> {
        let mut out = Vec::new();
        let Some((bytes, escapes, file_time)) = self.known.origin(message) else { return out };
        let text = String::from_utf8_lossy(strip(bytes));
        let mut spare = Vec::new();
        let Ok(record) = Record::parse(text.as_bytes(), &mut spare) else { return out };
        let mut normal = Normal::default();
        normalise(&record, escapes, self.file_time_text(file_time), &mut normal);
        normal.finish(self.shape_of.get(&message).copied().unwrap_or(0));
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        // A shape of our own table is always there.
        let _ = render::record(ts, &normal.payload, &self.shapes, style, &mut out);
        out
    }

    fn new_record(
        &mut self,
        list: &mut List<'a>,
        line: Line<'a>,
        hash: RecordHash,
        record: &Record<'_>,
        following: &Lines<'a>,
    ) -> Result<(), StreamError> {
        let mut normal = std::mem::take(&mut self.normal);
        normalise(record, list.style.escapes, &list.file_time.0, &mut normal);
        let known = self.known.by_normal(&normal.ts, &normal.payload);
        let message = match known {
            Ok(message) => {
                self.place_known(list, message, following)?;
                message
            }
            Err(normal_hash) => {
                let parent = list.placing.parent_of_new(self.to.events, &mut self.repeats)?;
                let file_time = if record.time == Time::Absent { list.file_time.1 } else { 0 };
                let origin = Origin { record: line.text, hash, escapes: list.style.escapes, file_time };
                let message = self.put_message(origin, record, (&mut normal, normal_hash), parent)?;
                list.placing.added(message);
                list.messages.push(message);
                message
            }
        };
        // A copy in other bytes is looked at at once: its message's own record
        // proves nothing about it.
        self.normal = normal;
        let rendered = (known.is_ok() || self.to.check == Check::EachRecord).then(|| self.rendered(message, list.style));
        self.piece(list, line, message, rendered)
    }

    /// Puts a message that the log does not have yet.
    pub(super) fn put_message(
        &mut self,
        origin: Origin<'a>,
        record: &Record<'_>,
        (normal, hash): (&mut Normal, NormalHash),
        parent: Seq,
    ) -> Result<Seq, StreamError> {
        let shape = self.last_shape.of(record, &mut self.shapes).unwrap_or(0);
        let unfinished = normal.payload.len();
        normal.finish(shape);
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        let draft = Draft { ts, parent: Some(parent), body: Body::Json(EventKind::Message, &normal.payload) };
        let seq = self.to.events.put(draft)?;
        normal.payload.truncate(unfinished);
        self.known.add(origin, hash, seq);
        if shape > 0 {
            self.shape_of.insert(seq, shape);
        }
        self.mark_role(seq, record.role);
        self.summary_times(record);
        Ok(seq)
    }

    /// Adds a record to its file's recipe, by its message or as a residual.
    fn piece(&mut self, list: &mut List<'a>, line: Line<'a>, message: Seq, rendered: Option<Vec<u8>>) -> Result<(), StreamError> {
        list.recipe.line_end(&String::from_utf8_lossy(line.end));
        match rendered {
            Some(rendered) if rendered != line.text => {
                let count = self.to.residual((message, message), &rendered, line.text);
                list.recipe.residual(count);
            }
            _ => list.recipe.events(message, message, |end, next| no_record_between(self.to.events, end, next)),
        }
        Ok(())
    }

    fn rejected(&mut self, list: &mut List<'a>, line: Line<'a>, rejection: &Rejection, file: &'a [u8]) -> Result<(), StreamError> {
        // Deep enough to break the parser before it sees that it is not JSON.
        if list.is_loaded == Loaded::ByProgram && super::damage::opens_deeper_than(line.text, list.deepest) {
            self.fails(Location::at(shown(list.path), line.number, 1), "RecursionError");
        }
        let accepts = |record: &[u8]| Record::parse(decoded(record).as_bytes(), &mut Vec::new()).is_ok();
        let (pieces, at, why) = dissect(line, rejection, &accepts);
        let last = pieces.len() - 1;
        let line_end = line.end.len();
        for (n, piece) in pieces.into_iter().enumerate() {
            let end = if n == last { line.text.len() + line_end } else { piece.end };
            let Some(kind) = piece.damage else {
                self.close_damage(list, file)?;
                let own_end = if n == last { line.end } else { b"" };
                let text = &line.text[piece.start..piece.end];
                self.salvaged(list, Line { text, offset: line.offset + piece.start, end: own_end, ..line }, piece.start)?;
                continue;
            };
            let byte = if matches!(kind, DamageKind::Fused | DamageKind::NulRun) { piece.start } else { at };
            let place = Location::at(shown(list.path), line.number, byte as u64 + 1);
            self.to.findings.add(kind.finding(), place, kind.sentence("gptme", why));
            let (start, end) = (line.offset + piece.start, line.offset + end);
            match &mut list.damage {
                Some(open) if open.kind == kind && open.end == start => open.end = end,
                _ => {
                    self.close_damage(list, file)?;
                    list.damage = Some(OpenDamage { line: line.number, start, end, kind });
                }
            }
        }
        Ok(())
    }

    /// A complete record on a broken line: the program does not see it, so it
    /// hangs beside the list, and moves no head.
    fn salvaged(&mut self, list: &mut List<'a>, line: Line<'a>, byte: usize) -> Result<(), StreamError> {
        let text = decoded(line.text);
        let mut spare = Vec::new();
        let Ok(mut record) = Record::parse(text.as_bytes(), &mut spare) else { return Ok(()) };
        record.is_salvaged = true;
        let message = "a complete record on a broken line, which gptme does not see; salvaged";
        self.to.findings.add(FindingCode::Salvaged, Location::at(shown(list.path), line.number, byte as u64 + 1), message);
        let mut normal = Normal::default();
        normalise(&record, list.style.escapes, &list.file_time.0, &mut normal);
        normal.finish(self.last_shape.of(&record, &mut self.shapes).unwrap_or(0));
        self.summary_times(&record);
        let current = list.placing.made_head().cloned();
        self.switch(None)?;
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        let seq = self.to.put(EventKind::Message, ts, Some(list.placing.node()), &normal.payload)?;
        self.switch(current.as_ref())?;
        let mut rendered = Vec::new();
        if self.to.check == Check::EachRecord {
            // A shape of our own table is always there.
            let _ = render::record(ts, &normal.payload, &self.shapes, list.style, &mut rendered);
        }
        let rendered = (self.to.check == Check::EachRecord).then_some(rendered);
        self.piece(list, line, seq, rendered)
    }

    fn switch(&mut self, head: Option<&HeadName>) -> Result<(), StreamError> {
        let nobody = HeadName::new(HeadKind::Branch, "");
        self.to.put_head(head.unwrap_or(&nobody), Seq::ROOT, HeadOp::Switch)
    }

    fn summary_times(&mut self, record: &Record<'_>) {
        self.to.summary.uses_file_times |= record.time == Time::Absent;
    }

    fn close_damage(&mut self, list: &mut List<'a>, file: &'a [u8]) -> Result<(), StreamError> {
        if let Some(open) = list.damage.take() {
            let seq = self.to.put_damage(list.path, open.line, open.start, open.kind.word(), &file[open.start..open.end])?;
            list.recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next));
        }
        Ok(())
    }

    fn note_replaced_bytes(&mut self, list: &List<'a>, line: Line<'a>) {
        let at = std::str::from_utf8(line.text).map_or_else(|error| error.valid_up_to(), |_| 0) as u64 + 1;
        let place = Location::at(shown(list.path), line.number, at);
        self.to.findings.add(FindingCode::ReplacedBytes, place, "bytes that are not UTF-8; gptme shows U+FFFD in their place");
    }

    fn note_oddities(&mut self, list: &List<'a>, line: Line<'a>, record: &Record<'_>) {
        let place = |byte| Location::at(shown(list.path), line.number, byte);
        for field in record.unknown_fields() {
            self.to.findings.add(FindingCode::UnknownField, place(1), format!("field `{field}` is unknown to gptme, which drops it"));
        }
        if list.is_loaded == Loaded::ByProgram
            && let Some(error) = record.fatal(list.deepest)
        {
            self.fails(Location::at(shown(list.path), line.number, 1), error);
        }
    }
}

/// Returns a line as the program decodes it: what is not UTF-8 is replaced.
fn decoded(text: &[u8]) -> Cow<'_, str> {
    // The usual case is UTF-8, and to check that is much faster than to repair.
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

/// Tells whether neither a message nor damage stands between two events.
fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| !matches!(events.kind(seq), EventKind::Message | EventKind::Damage))
}
