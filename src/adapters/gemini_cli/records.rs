//! A patch log: each line is a message, a patch, a rewind or metadata, and
//! becomes the events that say the same.

use crate::adapters::format::Check;
use crate::adapters::kit::mapping::{Table, To};
use crate::adapters::kit::salvage::{DamageKind, LineEnd, dissect};
use crate::json::{self, Dialect, Style};
use crate::model::event::EventKind;
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{Type, Value, decode_utf8, is_blank};

use super::classify::classify;
use super::fields::last_of_each;
use super::fields::member;
use super::fold::{Record, id_of, list_of};
use super::lane::{Lane, Listed, no_record_between};
use super::message::{RecordKind, Sight};
use super::messages::{Bytes, Looked, WRITER};
use super::reader::Reader;
use super::schema::{HOLDS_RECORDS, LINES, METADATA, METADATA_LIST, PATCH, PATCH_LIST, REWIND};

/// Why a record cut out of a rejected line is not seen.
pub(super) const SALVAGED: &str = "salvaged from a broken line";
/// Why a message is not seen at which the program throws.
const THROWN: &str = "the loader throws at it";
/// Why an element of a list is not seen.
const NOT_REACHED: &str = "the loader throws before it";
/// Why an element of a list is not seen that another one takes the place of.
const REPLACED: &str = "another one of its id follows in the list";

/// A file of records on its way into the log.
pub(super) struct Journal<'a> {
    pub path: &'a RelPath,
    pub bytes: &'a [u8],
    pub style: Style,
    pub recipe: RecipeBuilder,
    damage: Option<OpenDamage>,
}

/// Rejected bytes that the next ones may still add to.
struct OpenDamage {
    line: u64,
    start: usize,
    end: usize,
    wound: DamageKind,
}

impl<'a> Journal<'a> {
    pub(super) fn new(path: &'a RelPath, bytes: &'a [u8], style: Style) -> Journal<'a> {
        Journal { path, bytes, style, recipe: RecipeBuilder::default(), damage: None }
    }
}

/// Which record a `meta` event stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetaKind {
    Metadata,
    Patch,
    Rewind,
}

impl MetaKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            MetaKind::Metadata => "\"metadata\"",
            MetaKind::Patch => "\"patch\"",
            MetaKind::Rewind => "\"rewind\"",
        }
    }

    /// The keys of such a record; those of one with a list of messages have a
    /// place for it.
    fn table(self, has: Has) -> &'static Table {
        match (self, has) {
            (MetaKind::Metadata, Has::List) => &METADATA_LIST,
            (MetaKind::Metadata, Has::NoList) => &METADATA,
            (MetaKind::Patch, Has::List) => &PATCH_LIST,
            (MetaKind::Patch, Has::NoList) => &PATCH,
            (MetaKind::Rewind, Has::List | Has::NoList) => &REWIND,
        }
    }

    pub(super) fn of_word(word: &[u8]) -> Option<MetaKind> {
        [MetaKind::Metadata, MetaKind::Patch, MetaKind::Rewind].into_iter().find(|kind| kind.word().as_bytes() == word)
    }
}

/// Whether a record has a list of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Has {
    List,
    NoList,
}

/// An element of a list of messages, as a `meta` event names it.
#[derive(Debug, Clone, Copy)]
enum Element<'a> {
    Message(Seq),
    Value(&'a [u8]),
}

/// The list of messages of a record.
enum List<'a> {
    /// It has none.
    None,
    /// The path to a node.
    Path(Seq),
    /// These, one by one.
    Each(Vec<Element<'a>>),
}

impl<'a> Reader<'a, '_> {
    /// Reads a patch log, or what is left of one, and follows it with a head.
    pub(super) fn records(&mut self, path: &'a RelPath, bytes: &'a [u8], head: Option<HeadName>) -> Result<(), StreamError> {
        let style = Style { separators: Style::of_file(bytes, LINES).separators, ..LINES };
        let mut journal = Journal::new(path, bytes, style);
        let mut lane = Lane::begin(&mut self.to, head)?;
        for line in Lines::new(bytes, Newlines::Universal) {
            self.line(&mut journal, &mut lane, line)?;
        }
        self.close_damage(&mut journal)?;
        lane.finish(&mut self.to)?;
        self.to.rebuilt(path, HOLDS_RECORDS, style.unless(LINES), journal.recipe);
        Ok(())
    }

    fn line(&mut self, journal: &mut Journal<'a>, lane: &mut Lane, line: Line<'a>) -> Result<(), StreamError> {
        if is_blank(line.text) {
            self.close_damage(journal)?;
            let gap = &journal.bytes[line.offset..line.offset + line.text.len() + line.end.len()];
            journal.recipe.gap(&String::from_utf8_lossy(gap));
            return Ok(());
        }
        let Some(value) = Value::parse(line.text) else { return self.rejected(journal, lane, line) };
        self.close_damage(journal)?;
        if let Err(error) = std::str::from_utf8(line.text) {
            let place = Location::at(journal.path.to_string(), line.number, error.valid_up_to() as u64 + 1);
            self.to.findings.add(FindingCode::ReplacedBytes, place, "bytes that are not UTF-8; Gemini CLI shows U+FFFD for each");
        }
        if value.type_of() != Type::Object {
            return self.unknown(journal, line, value);
        }
        match Record::of(value) {
            Record::Rewind(id) => {
                let known = lane.len();
                lane.rewind(&mut self.to, &mut self.messages, &id)?;
                self.note_rewind(journal, line, &id, known, lane.len());
                self.meta(journal, line, MetaKind::Rewind, value, &List::None)
            }
            Record::Message(id) => self.message(journal, lane, line, &id, value),
            Record::Patch(set) => {
                let list = match list_of(set) {
                    Some(list) => self.refill(journal, lane, line, list)?,
                    None => List::None,
                };
                self.meta(journal, line, MetaKind::Patch, set, &list)
            }
            Record::Metadata => {
                let list = match list_of(value) {
                    Some(list) => self.add_each(journal, lane, line, list)?,
                    None => List::None,
                };
                self.meta(journal, line, MetaKind::Metadata, value, &list)
            }
            Record::Unknown => self.unknown(journal, line, value),
        }
    }

    fn message(
        &mut self,
        journal: &mut Journal<'a>,
        lane: &mut Lane,
        line: Line<'a>,
        id: &[u8],
        value: Value<'a>,
    ) -> Result<(), StreamError> {
        let record = value.token();
        let is_seen = classify(value).is_ok();
        let looked = self.messages.look(record, if is_seen { Sight::Shown } else { Sight::Hidden(THROWN) });
        let bytes = match &looked {
            Looked::Known(_, bytes) => *bytes,
            Looked::New(_) => Bytes::Same,
        };
        let seq = if is_seen {
            lane.set(&mut self.to, &mut self.messages, id, looked)?
        } else {
            let place = Location::at(journal.path.to_string(), line.number, 1);
            let message = "Gemini CLI throws at this message and loads the session without it; kept, hidden from its loader";
            self.to.findings.add(FindingCode::RejectedRecord, place, message);
            lane.beside(&mut self.to, &mut self.messages, looked)?
        };
        let is_plain = bytes == Bytes::Same && record.len() == line.text.len() && std::str::from_utf8(record).is_ok();
        let rendered = (self.to.check == Check::EachRecord || !is_plain).then(|| {
            let mut out = Vec::new();
            self.messages.push_rendered(seq, (journal.style, 0), &mut out);
            out
        });
        self.piece(journal, line, seq, rendered);
        Ok(())
    }

    /// Clears the list and fills it from a patch.
    fn refill(&mut self, journal: &mut Journal<'a>, lane: &mut Lane, line: Line<'a>, list: &'a [u8]) -> Result<List<'a>, StreamError> {
        let mut elements: Vec<ListElement<'a>> = Vec::new();
        let mut seen: Vec<Listed<'a>> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let mut throws = false;
        for element in json::elements(list).map(Value::accepted) {
            let id = id_of(element).map(std::borrow::Cow::into_owned);
            let Some(id) = id else {
                elements.push(ListElement { record: element.token(), sight: None });
                continue;
            };
            let sight = if throws {
                Sight::Hidden(NOT_REACHED)
            } else if classify(element).is_err() {
                throws = true;
                Sight::Hidden(THROWN)
            } else {
                Sight::Shown
            };
            if sight == Sight::Shown {
                if let Some((place, before)) = places.get(&id).copied() {
                    let (place, before): (usize, usize) = (place, before);
                    if elements[before].record != element.token() {
                        elements[before].sight = Some(Sight::Hidden(REPLACED));
                    }
                    seen[place].record = element.token();
                    places.insert(id, (place, elements.len()));
                } else {
                    places.insert(id.clone(), (seen.len(), elements.len()));
                    seen.push(Listed { id, record: element.token() });
                }
            }
            elements.push(ListElement { record: element.token(), sight: Some(sight) });
        }
        if throws {
            let place = Location::at(journal.path.to_string(), line.number, 1);
            let message = "Gemini CLI throws at a message of this list and takes only what stands before it";
            self.to.findings.add(FindingCode::RejectedRecord, place, message);
        }
        let is_plain = elements.len() == seen.len() && elements.iter().all(|element| element.sight == Some(Sight::Shown));
        lane.refill(&mut self.to, &mut self.messages, seen)?;
        if is_plain {
            return Ok(List::Path(lane.node));
        }
        self.each(lane, elements).map(List::Each)
    }

    /// Adds the messages of a metadata line to the list.
    fn add_each(&mut self, journal: &mut Journal<'a>, lane: &mut Lane, line: Line<'a>, list: &'a [u8]) -> Result<List<'a>, StreamError> {
        let mut elements: Vec<ListElement<'a>> = Vec::new();
        let mut throws = false;
        let was_empty = lane.len() == 0;
        for element in json::elements(list).map(Value::accepted) {
            let Some(id) = id_of(element) else {
                elements.push(ListElement { record: element.token(), sight: None });
                continue;
            };
            let sight = if throws {
                Sight::Hidden(NOT_REACHED)
            } else if classify(element).is_err() {
                throws = true;
                Sight::Hidden(THROWN)
            } else {
                Sight::Shown
            };
            if sight == Sight::Shown {
                let looked = self.messages.look(element.token(), sight);
                lane.set(&mut self.to, &mut self.messages, &id, looked)?;
            }
            elements.push(ListElement { record: element.token(), sight: Some(sight) });
        }
        if throws {
            let place = Location::at(journal.path.to_string(), line.number, 1);
            let message = "Gemini CLI throws at a message of this list and takes only what stands before it";
            self.to.findings.add(FindingCode::RejectedRecord, place, message);
        }
        let is_plain = was_empty && elements.len() == lane.len() && elements.iter().all(|element| element.sight == Some(Sight::Shown));
        if is_plain {
            return Ok(List::Path(lane.node));
        }
        self.each(lane, elements).map(List::Each)
    }

    /// The elements of a list one by one; those that are not seen are put beside
    /// it.
    fn each(&mut self, lane: &mut Lane, elements: Vec<ListElement<'a>>) -> Result<Vec<Element<'a>>, StreamError> {
        let mut each = Vec::with_capacity(elements.len());
        for ListElement { record, sight } in elements {
            each.push(match sight {
                None => Element::Value(record),
                Some(sight) => {
                    let looked = self.messages.look(record, sight);
                    Element::Message(lane.beside(&mut self.to, &mut self.messages, looked)?)
                }
            });
        }
        Ok(each)
    }

    /// Puts the event of a record that is not a message, and notes the record.
    fn meta(
        &mut self,
        journal: &mut Journal<'a>,
        line: Line<'a>,
        kind: MetaKind,
        value: Value<'a>,
        list: &List<'a>,
    ) -> Result<(), StreamError> {
        let members: Vec<_> = value.members().collect();
        let mut payload = Vec::new();
        let front = [("of", kind.word())];
        let table = kind.table(if matches!(list, List::None) { Has::NoList } else { Has::List });
        if !table.push_object(&members, &front, WRITER, &mut payload) {
            payload.clear();
            table.push_object(&last_of_each(&members), &front, WRITER, &mut payload);
        }
        if payload.is_empty() {
            // A patch may be a list, which says nothing.
            payload.extend_from_slice(format!("{{\"of\":{}}}", kind.word()).as_bytes());
        }
        payload.pop();
        match list {
            List::None => {}
            List::Path(node) => payload.extend_from_slice(format!(",\"messages\":{node}").as_bytes()),
            List::Each(elements) => {
                payload.extend_from_slice(b",\"messages\":[");
                for (n, element) in elements.iter().enumerate() {
                    if n > 0 {
                        payload.push(b',');
                    }
                    match element {
                        Element::Message(seq) => payload.extend_from_slice(seq.to_string().as_bytes()),
                        Element::Value(value) => {
                            payload.extend_from_slice(b"{\"value\":");
                            json::push_carried_value(value, WRITER, &mut payload);
                            payload.push(b'}');
                        }
                    }
                }
                payload.push(b']');
            }
        }
        payload.push(b'}');
        let payload = decode_utf8(&payload);
        let seq = self.to.put(EventKind::Meta, None, None, &payload)?;
        let stands_alone = kind != MetaKind::Patch || json::members(line.text.trim_ascii()).count() == 1;
        let is_usual = std::str::from_utf8(line.text).is_ok() && value.type_of() == Type::Object && stands_alone;
        let rendered = (self.to.check == Check::EachRecord || !is_usual).then(|| self.rendered_meta(&payload, list, journal.style, kind));
        self.piece(journal, line, seq, rendered);
        Ok(())
    }

    fn rendered_meta(&mut self, payload: &[u8], list: &List<'a>, style: Style, kind: MetaKind) -> Vec<u8> {
        let mut items: Vec<Vec<u8>> = Vec::new();
        let mut push = |reader: &mut Self, element: Element<'_>| {
            let mut out = Vec::new();
            match element {
                Element::Message(seq) => reader.messages.push_rendered(seq, (style, kind.depth()), &mut out),
                Element::Value(value) => {
                    let mut carried = Vec::new();
                    json::push_carried_value(value, WRITER, &mut carried);
                    style.push_value_at(&carried, kind.depth(), &mut out);
                }
            }
            items.push(out);
        };
        match list {
            List::None => {}
            List::Path(node) => {
                let path = self.path_to(*node);
                path.into_iter().for_each(|seq| push(self, Element::Message(seq)));
            }
            List::Each(elements) => elements.iter().for_each(|element| push(self, *element)),
        }
        kind.render(payload, &items, style)
    }

    /// The messages on the way to a node, repeats expanded.
    fn path_to(&self, node: Seq) -> Vec<Seq> {
        let mut path = Vec::new();
        let mut at = node;
        while !at.is_root() {
            let (first, mut message) = (self.messages.repeats.first_message(at), self.messages.repeats.last_message(at));
            loop {
                path.push(message);
                if message == first {
                    break;
                }
                message = self.to.events.parent(message);
            }
            at = self.to.events.parent(at);
        }
        path.reverse();
        path
    }

    /// A line that the program skips: carried whole.
    fn unknown(&mut self, journal: &mut Journal<'a>, line: Line<'a>, value: Value<'a>) -> Result<(), StreamError> {
        let place = Location::at(journal.path.to_string(), line.number, 1);
        self.to.findings.add(FindingCode::UnknownRecord, place, "a line of a kind that Gemini CLI does not know; it passes it over");
        let mut payload = b"{\"type\":\"line\",\"data\":".to_vec();
        json::push_carried_value(value.token(), WRITER, &mut payload);
        payload.push(b'}');
        let payload = decode_utf8(&payload);
        let seq = self.to.put(EventKind::Custom, None, None, &payload)?;
        let mut rendered = Vec::new();
        journal.style.push_value(member(&payload, "data").unwrap_or_default(), &mut rendered);
        self.piece(journal, line, seq, Some(rendered));
        Ok(())
    }

    fn piece(&mut self, journal: &mut Journal<'a>, line: Line<'a>, seq: Seq, rendered: Option<Vec<u8>>) {
        journal.recipe.line_end(&String::from_utf8_lossy(line.end));
        match rendered {
            Some(rendered) if rendered != line.text => {
                let count = self.to.residual((seq, seq), &rendered, line.text);
                journal.recipe.residual(count);
            }
            _ => journal.recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next)),
        }
    }

    /// A line that is not JSON. Complete messages in it are kept as such, hidden
    /// from the loader.
    fn rejected(&mut self, journal: &mut Journal<'a>, lane: &mut Lane, line: Line<'a>) -> Result<(), StreamError> {
        let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
        self.broken(journal, lane, (line.text, line.end), (line.number, line.offset), end)
    }

    /// Bytes that the loader does not take for JSON, with the line end after
    /// them.
    pub(super) fn broken(
        &mut self,
        journal: &mut Journal<'a>,
        lane: &mut Lane,
        (text, line_end): (&'a [u8], &'a [u8]),
        (number, offset): (u64, usize),
        end: LineEnd,
    ) -> Result<(), StreamError> {
        let (at, why) = match json::scan_value(text, Dialect::Strict) {
            Err(error) => (error.at, error.what),
            Ok(scan) => (scan.end, "something behind the value"),
        };
        let is_whole: &dyn Fn(&[u8]) -> bool = if self.messages.kind == RecordKind::Turn { &is_turn } else { &is_message };
        let pieces = dissect(text, at, end, Dialect::Strict, is_whole);
        let wound = pieces.iter().find_map(|piece| piece.damage).unwrap_or(DamageKind::Fused);
        let salvaged = pieces.iter().filter(|piece| piece.damage.is_none()).count();
        let mut sentence = wound.sentence("Gemini CLI", why);
        if salvaged > 0 {
            let records = if salvaged == 1 { "a complete message".to_owned() } else { format!("{salvaged} complete messages") };
            sentence.push_str(&format!("; {records} on it, lost to Gemini CLI, can be seen with `everlog replay --salvage`"));
        }
        let place = Location::of_offset(journal.path.to_string(), journal.bytes, (offset + at).min(journal.bytes.len()));
        self.to.findings.add(wound.finding(), place, sentence);
        if salvaged == 0 {
            return self.damage(journal, number, (offset, offset + text.len() + line_end.len()), wound);
        }
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let line_end: &[u8] = if n == last { line_end } else { b"" };
            match piece.damage {
                Some(wound) => {
                    self.damage(journal, number, (offset + piece.start, offset + piece.end + line_end.len()), wound)?;
                }
                None => {
                    self.close_damage(journal)?;
                    let record = &text[piece.start..piece.end];
                    let looked = self.messages.look(record, Sight::Hidden(SALVAGED));
                    let seq = lane.beside(&mut self.to, &mut self.messages, looked)?;
                    let mut rendered = Vec::new();
                    self.messages.push_rendered(seq, (journal.style, 0), &mut rendered);
                    let line = Line { number, offset: offset + piece.start, text: record, end: line_end };
                    self.piece(journal, line, seq, Some(rendered));
                }
            }
        }
        Ok(())
    }

    /// Takes bytes that the loader rejects, from `start` to `end` of the file.
    fn damage(&mut self, journal: &mut Journal<'a>, line: u64, (start, end): (usize, usize), wound: DamageKind) -> Result<(), StreamError> {
        match &mut journal.damage {
            Some(open) if open.wound == wound && open.end == start => open.end = end,
            _ => {
                self.close_damage(journal)?;
                journal.damage = Some(OpenDamage { line, start, end, wound });
            }
        }
        Ok(())
    }

    /// Writes the damage that is open.
    pub(super) fn close_damage(&mut self, journal: &mut Journal<'a>) -> Result<(), StreamError> {
        if let Some(OpenDamage { line, start, end, wound }) = journal.damage.take() {
            let seq = self.to.put_damage(journal.path, line, start, wound.word(), &journal.bytes[start..end])?;
            journal.recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next));
        }
        Ok(())
    }

    fn note_rewind(&mut self, journal: &Journal<'a>, line: Line<'a>, id: &[u8], before: usize, left: usize) {
        if left == 0 && before > 1 {
            let id = String::from_utf8_lossy(id);
            let message = format!("a rewind to `{id}` takes back all {before} messages; they are kept as a branch that was left");
            self.to.findings.add(FindingCode::LinesSkipped, Location::at(journal.path.to_string(), line.number, 1), message);
        }
    }
}

/// An element of a list: who sees it, where it is a message at all.
struct ListElement<'a> {
    record: &'a [u8],
    sight: Option<Sight>,
}

/// Whether a salvaged object is a turn of a saved chat.
fn is_turn(text: &[u8]) -> bool {
    let Some(value) = Value::parse(text).filter(|value| value.type_of() == Type::Object) else { return false };
    let [role, parts] = value.get_all(["role", "parts"]);
    role.type_of() == Type::String && parts.type_of() == Type::Array
}

/// Whether a salvaged object is a message, and not some part of one.
fn is_message(text: &[u8]) -> bool {
    let Some(value) = Value::parse(text).filter(|value| value.type_of() == Type::Object) else { return false };
    let [id, kind, content] = value.get_all(["id", "type", "content"]);
    id.type_of() == Type::String && kind.type_of() == Type::String && !content.is_undefined()
}

impl MetaKind {
    /// How deep the messages of such a record stand in it.
    pub(super) fn depth(self) -> usize {
        match self {
            MetaKind::Metadata | MetaKind::Rewind => 2,
            MetaKind::Patch => 3,
        }
    }

    /// Renders the record that a payload stands for; `items` are its messages.
    pub(super) fn render(self, payload: &[u8], items: &[Vec<u8>], style: Style) -> Vec<u8> {
        let (mut open, mut close) = (Vec::new(), Vec::new());
        let depth = match self {
            MetaKind::Metadata | MetaKind::Rewind => 0,
            MetaKind::Patch => {
                open.push(b'{');
                style.push_break(1, &mut open);
                style.push_name("$set", &mut open);
                style.push_colon(&mut open);
                style.push_break(0, &mut close);
                close.push(b'}');
                1
            }
        };
        let mut inner = Vec::new();
        let has = if member(payload, "messages").is_some() { Has::List } else { Has::NoList };
        let lists = self.table(has).render_frame(payload, To { style, depth, out: &mut inner });
        let mut out = open;
        let at = lists.first().copied().unwrap_or(inner.len());
        out.extend_from_slice(&inner[..at]);
        for (n, item) in items.iter().enumerate() {
            if n > 0 {
                style.push_comma(&mut out);
            }
            style.push_break(depth + 2, &mut out);
            out.extend_from_slice(item);
        }
        if !items.is_empty() {
            style.push_break(depth + 1, &mut out);
        }
        out.extend_from_slice(&inner[at..]);
        out.extend_from_slice(&close);
        out
    }
}
