//! A unit's files to events: the session's own file, its messages in the order of
//! their names, each with its parts, and the lists beside them.

use std::collections::BTreeMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::document::{Document, DocumentPiece, Frame};
use crate::adapters::kit::mapping::To;
use crate::adapters::kit::part_records::{
    COMPACT, Content, MESSAGE, Normal, Owner, WRITER, member, normal, render, render_part, role_of, without_record,
};
use crate::json::{self, Dialect, Separators, Style};
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::javascript::{Value, decode_utf8, to_iso_string};

use super::layout::{self, FileRole, live, stem};
use super::schema::{DOCUMENT, HOLDS_MESSAGE, HOLDS_PART, HOLDS_SESSION, HOLDS_VALUE, SESSION};

/// Why the program's loader gives up.
const NOT_LOADED: &str = "a file of a message or of a part is not JSON";
/// Why a message is not seen whose own file is gone.
const NO_FILE: &str = "its own file is gone";
/// Why a message is not seen whose own file is not JSON.
const BAD_FILE: &str = "its own file is not JSON";

/// One file of a unit.
#[derive(Clone, Copy)]
struct OneFile<'a> {
    path: &'a RelPath,
    bytes: &'a [u8],
}

/// The files of a unit by what they are.
#[derive(Default)]
struct Unit<'a> {
    session: Option<OneFile<'a>>,
    /// By id.
    messages: BTreeMap<&'a [u8], OneFile<'a>>,
    /// By the id of their message, in the order of their names.
    parts: BTreeMap<&'a [u8], Vec<OneFile<'a>>>,
    /// Files that are one value each, and what that is.
    values: Vec<(OneFile<'a>, &'static str)>,
}

impl<'a> Unit<'a> {
    fn of(files: &'a Files) -> Unit<'a> {
        let mut unit = Unit::default();
        for (path, entry) in files.iter() {
            let Entry::File(file) = entry else { continue };
            let one = OneFile { path, bytes: &file.bytes };
            match FileRole::of(path.as_bytes()) {
                FileRole::Session { .. } => unit.session = unit.session.or(Some(one)),
                FileRole::Message { id, .. } => _ = unit.messages.insert(id, one),
                FileRole::Part { message } => unit.parts.entry(message).or_default().push(one),
                FileRole::Todo { .. } => unit.values.push((one, "todo")),
                FileRole::Diff { .. } => unit.values.push((one, "session_diff")),
                FileRole::Project => unit.values.push((one, "project")),
                FileRole::Migration | FileRole::Unknown => {}
            }
        }
        unit
    }

    fn kind(&self) -> SessionKind {
        match &self.session {
            Some(_) => SessionKind::Session,
            None if self.messages.is_empty() && self.parts.is_empty() => SessionKind::Store,
            None => SessionKind::Orphan,
        }
    }
}

/// A part that is JSON, on its way into its message's content.
struct Part<'a> {
    file: OneFile<'a>,
    value: Value<'a>,
}

struct Reader<'a, 's> {
    to: Conversion<'a, 's>,
    shapes: Shapes,
    error: Option<String>,
}

/// Converts a unit.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let unit = Unit::of(files);
    let to = Conversion::new(files, check, events, findings);
    let mut reader = Reader { to, shapes: Shapes::new(MESSAGE.order()), error: None };
    reader.session(&unit)?;
    let rest = reader.messages(&unit)?;
    reader.removed(&rest)?;
    for (file, what) in &unit.values {
        reader.value(*file, what)?;
    }
    reader.finish()
}

/// The messages that have no readable file of their own, and their parts.
struct Removed<'a> {
    /// By the id of their message, and why it is not seen.
    parts: BTreeMap<&'a [u8], (Vec<OneFile<'a>>, &'static str)>,
    /// The messages of the main list by id.
    main: BTreeMap<&'a [u8], Seq>,
}

/// Returns the values of parts.
fn values<'p>(parts: &'p [Part<'_>]) -> impl Iterator<Item = Value<'p>> + Clone {
    parts.iter().map(|part| part.value)
}

impl<'a> Reader<'a, '_> {
    fn finish(mut self) -> Result<ReadSummary, StreamError> {
        if self.error.is_some() {
            let message = "opencode answers the request for this session's messages with an error";
            self.to.findings.add(FindingCode::LoaderFails, Location::file(self.to.files.name().to_owned()), message);
        }
        let outcome = Outcome { active: Some(HeadName::main().to_string()), error: self.error.take(), ..Outcome::default() };
        self.to.put_json(EventKind::Outcome, &outcome)?;
        self.to.events.close_facts(&HeadName::main().to_string())?;
        self.to.trailer(self.shapes.others())
    }

    /// The session event, and the session's own file.
    fn session(&mut self, unit: &Unit<'a>) -> Result<(), StreamError> {
        let name = live(self.to.files.name_bytes());
        let id = String::from_utf8_lossy(stem(name).unwrap_or(name)).into_owned();
        let mut session = Session::new(unit.kind(), layout::ID, id);
        let file = unit.session.and_then(|file| Some((file, Value::parse(file.bytes)?)));
        if let Some((_, value)) = file {
            let [title, directory, version, parent, time] = value.get_all(["title", "directory", "version", "parentID", "time"]);
            let created = time.get("created").number().filter(|ms| ms.fract() == 0.0);
            session = Session {
                title: title.lossy().filter(|title| !title.is_empty()),
                cwd: directory.lossy(),
                format_version: version.lossy(),
                parent_session: parent.lossy(),
                created: created.and_then(|ms| to_iso_string(ms as i64)),
                ..session
            };
        }
        self.to.put_json(EventKind::Session, &session)?;
        let Some(file) = unit.session else {
            if unit.kind() == SessionKind::Orphan {
                let message = "the session's own file is gone; its messages are not";
                self.to.findings.add(FindingCode::SidecarMissing, Location::file(self.to.files.name().to_owned()), message);
            }
            return Ok(());
        };
        match Document::parse(file.bytes, Dialect::Strict, &SESSION) {
            Ok(document) => self.document(file, &document),
            Err(_) => self.damage(file, "opencode cannot show this session in its list; kept as damage"),
        }
    }

    fn document(&mut self, file: OneFile<'a>, document: &Document<'a>) -> Result<(), StreamError> {
        let style = document.style(WRITER);
        let mut payload = document.payload(&SESSION, &[("of", "\"session\"")], WRITER);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &SESSION, &decode_utf8(&payload), style)?;
        let mut recipe = RecipeBuilder::default();
        for piece in document.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => frame.part(&mut self.to, &mut recipe, n, bytes)?,
                DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                // The table names no list.
                DocumentPiece::Record { .. } => {}
            }
        }
        self.to.rebuilt(file.path, HOLDS_SESSION, style.unless(DOCUMENT), recipe);
        Ok(())
    }

    /// Returns the messages that have a file, in the order of their names.
    fn messages(&mut self, unit: &Unit<'a>) -> Result<Removed<'a>, StreamError> {
        let mut rest: BTreeMap<&'a [u8], (Vec<OneFile<'a>>, &'static str)> =
            unit.parts.iter().map(|(id, parts)| (*id, (parts.clone(), NO_FILE))).collect();
        let mut main = BTreeMap::new();
        let mut node = Seq::ROOT;
        for (id, file) in &unit.messages {
            let Some(value) = Value::parse(file.bytes) else {
                self.unreadable(*file)?;
                if let Some((_, why)) = rest.get_mut(id) {
                    *why = BAD_FILE;
                }
                continue;
            };
            let parts = rest.remove(id).map(|(parts, _)| parts).unwrap_or_default();
            let parts = self.parts(parts)?;
            let content = Content::of(values(&parts), Owner::of_record(value.token()));
            let normal = normal(value.token(), &content.list, None, &mut self.shapes);
            node = self.put(&normal, node)?;
            main.insert(*id, node);
            let mut rendered = Vec::new();
            // A shape of our own table is always there.
            let _ = render(&decode_utf8(&normal.payload), normal.ts.as_deref(), &self.shapes, style_of(value.token()), &mut rendered);
            self.piece(*file, (node, HOLDS_MESSAGE), value.token(), (format!("{{\"message\":{node}}}"), &rendered))?;
            self.part_files(&parts, &content, (node, &normal))?;
        }
        if node.is_root() {
            self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        }
        Ok(Removed { parts: rest, main })
    }

    /// The messages of which only parts are left, each below the one before it.
    /// None of them is on the main list.
    fn removed(&mut self, removed: &Removed<'a>) -> Result<(), StreamError> {
        if removed.parts.is_empty() {
            return Ok(());
        }
        self.to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)?;
        let mut known = removed.main.clone();
        let error = self.error.clone();
        for (id, (files, why)) in &removed.parts {
            let parts = self.parts(files.clone())?;
            if parts.is_empty() {
                continue;
            }
            let mut message = Vec::new();
            json::push_string(&String::from_utf8_lossy(id), &mut message);
            let session = parts.iter().find_map(|part| Owner::of_record(part.value.token()).session);
            let owner = Owner { session, message: Some(&message) };
            let content = Content::of(values(&parts), owner);
            let normal = without_record(role_of(values(&parts)), &content.list, owner, why);
            let above = known.range(..*id).next_back().map_or(Seq::ROOT, |(_, seq)| *seq);
            let node = self.put(&normal, above)?;
            known.insert(id, node);
            self.part_files(&parts, &content, (node, &normal))?;
        }
        // The loader never comes to a part whose message it does not list.
        self.error = error;
        if let Some(first) = removed.parts.values().find_map(|(files, _)| files.first()) {
            let what = match removed.parts.len() {
                1 => "a message whose own file is gone or not JSON; its".to_owned(),
                count => format!("{count} messages whose own files are gone or not JSON; their"),
            };
            let message = format!("opencode shows nothing of {what} parts are kept, hidden from its loader");
            self.to.findings.add(FindingCode::LinesSkipped, Location::file(first.path.to_string()), message);
        }
        Ok(())
    }

    fn put(&mut self, normal: &Normal, parent: Seq) -> Result<Seq, StreamError> {
        self.to.put(EventKind::Message, normal.ts.as_deref(), Some(parent), &decode_utf8(&normal.payload))
    }

    /// Returns the parts of one message that are JSON, by id; the others are damage.
    fn parts(&mut self, files: Vec<OneFile<'a>>) -> Result<Vec<Part<'a>>, StreamError> {
        let mut parts = Vec::with_capacity(files.len());
        for file in files {
            match Value::parse(file.bytes) {
                Some(value) => parts.push(Part { file, value }),
                None => self.unreadable(file)?,
            }
        }
        parts.sort_by_cached_key(|part| part.value.get("id").text());
        Ok(parts)
    }

    /// Notes how the files of a message's parts are rebuilt.
    fn part_files(&mut self, parts: &[Part<'a>], content: &Content, (node, normal): (Seq, &Normal)) -> Result<(), StreamError> {
        let payload = decode_utf8(&normal.payload);
        let items: Vec<&[u8]> = member(&payload, "content").into_iter().flat_map(json::elements).collect();
        let owner = Owner::of_payload(&payload);
        for (part, at) in parts.iter().zip(&content.places) {
            let token = part.value.token();
            let mut rendered = Vec::new();
            render_part(&items[*at..], owner, To { style: style_of(token), depth: 0, out: &mut rendered });
            self.piece(part.file, (node, HOLDS_PART), token, (format!("{{\"part\":{at},\"of\":{node}}}"), &rendered))?;
        }
        Ok(())
    }

    /// A file that is one value: a fact of the session.
    fn value(&mut self, file: OneFile<'a>, what: &'static str) -> Result<(), StreamError> {
        let Some(value) = Value::parse(file.bytes) else {
            return self.damage(file, "opencode cannot read it; kept as damage");
        };
        let mut payload = format!("{{\"type\":\"{what}\",\"data\":").into_bytes();
        json::push_carried_value(value.token(), WRITER, &mut payload);
        payload.push(b'}');
        let payload = decode_utf8(&payload);
        let seq = self.to.put(EventKind::Custom, None, None, &payload)?;
        let mut rendered = Vec::new();
        style_of(value.token()).push_value(member(&payload, "data").unwrap_or_default(), &mut rendered);
        self.piece(file, (seq, HOLDS_VALUE), value.token(), (format!("{{\"value\":{seq}}}"), &rendered))
    }

    /// Notes how a file of one value is rebuilt.
    fn piece(
        &mut self,
        file: OneFile<'a>,
        (of, holds): (Seq, &'static str),
        token: &'a [u8],
        (piece, rendered): (String, &[u8]),
    ) -> Result<(), StreamError> {
        let span = json::span_in(file.bytes, token);
        if let Err(error) = std::str::from_utf8(file.bytes) {
            let place = Location::of_offset(file.path.to_string(), file.bytes, error.valid_up_to());
            self.to.findings.add(FindingCode::ReplacedBytes, place, "bytes that are not UTF-8; opencode shows U+FFFD for each");
        }
        let mut recipe = RecipeBuilder::default();
        let gap = |recipe: &mut RecipeBuilder, bytes: &[u8]| {
            if !bytes.is_empty() {
                recipe.gap(&String::from_utf8_lossy(bytes));
            }
        };
        gap(&mut recipe, &file.bytes[..span.start]);
        if rendered == token {
            recipe.own(piece);
        } else {
            let count = self.to.residual_piece(of, piece, rendered, token)?;
            recipe.residual(count);
        }
        gap(&mut recipe, &file.bytes[span.end..]);
        self.to.rebuilt(file.path, holds, style_of(token).unless(DOCUMENT), recipe);
        Ok(())
    }

    /// A file of a message or part that is not JSON: the program loads nothing.
    fn unreadable(&mut self, file: OneFile<'a>) -> Result<(), StreamError> {
        self.damage(file, "opencode cannot load a session with this file; kept as damage")?;
        self.error.get_or_insert_with(|| NOT_LOADED.to_owned());
        Ok(())
    }

    fn damage(&mut self, file: OneFile<'a>, consequence: &str) -> Result<(), StreamError> {
        let at = json::validate(file.bytes, Dialect::Strict).err().map_or(0, |error| error.at);
        let message = format!("not JSON; {consequence}");
        self.to.findings.add(FindingCode::NotJson, Location::of_offset(file.path.to_string(), file.bytes, at), message);
        let mut recipe = RecipeBuilder::default();
        if !file.bytes.is_empty() {
            let seq = self.to.put_damage(file.path, 1, 0, "not_json", file.bytes)?;
            recipe.events(seq, seq, |_, _| false);
        }
        self.to.rebuilt(file.path, HOLDS_VALUE, None, recipe);
        Ok(())
    }
}

/// Returns how a value is written: indented, as the program does, or on one line.
fn style_of(token: &[u8]) -> Style {
    match token.get(1) {
        Some(b'\n') | Some(b']' | b'}') | None => DOCUMENT,
        Some(_) if json::kind_of(token) == json::Kind::Object || json::kind_of(token) == json::Kind::Array => {
            let colon = memchr::memmem::find(token, b"\":").and_then(|at| token.get(at + 2));
            let spaced = colon == Some(&b' ');
            Style { separators: if spaced { Separators::Spaced } else { Separators::Compact }, ..COMPACT }
        }
        Some(_) => DOCUMENT,
    }
}
