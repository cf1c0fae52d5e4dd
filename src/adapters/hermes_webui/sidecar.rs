//! Sidecars and their backups: whole-file objects with two lists of rows. And
//! the files that serve a whole folder.

use crate::adapters::format::Check;
use crate::adapters::kit::document::{Document as Whole, DocumentPiece, Frame};
use crate::adapters::kit::known::Origin;
use crate::adapters::kit::place::Placing;
use crate::json::{self, Dialect, Elements, Escapes, Style, Value};
use crate::model::event::{Body, Draft, EventKind};
use crate::model::files::{RelPath, SourceFile};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::python::convert::int;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::loads::LONGEST_INTEGER;
use crate::runtimes::python::pathlib;
use crate::runtimes::python::value::is_truthy;
use crate::runtimes::wtf8::decode;

use super::message::{Hidden, Normal, partial_signature, render};
use super::reader::Reader;
use super::turns::DEEPEST;
use super::wire::{CONTEXT, DOCUMENT_STYLE, MESSAGES, SIDECAR};
use super::write::SIDECARS;

/// Which of a session's documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Sidecar,
    Backup,
}

impl Which {
    pub(super) fn head(self, list: &str) -> HeadName {
        match (self, list == MESSAGES) {
            (Which::Sidecar, true) => HeadName::main(),
            (Which::Sidecar, false) => HeadName::new(HeadKind::Context, "main"),
            (Which::Backup, true) => HeadName::new(HeadKind::Backup, "bak"),
            (Which::Backup, false) => HeadName::new(HeadKind::Backup, "bak-context"),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Which::Sidecar => "\"sidecar\"",
            Which::Backup => "\"backup\"",
        }
    }
}

/// A document, or why it is not one.
pub(super) struct Document<'a> {
    pub path: &'a RelPath,
    pub bytes: &'a [u8],
    whole: Result<Whole<'a>, (usize, &'static str)>,
    /// How many rows the program counts in it; -1 where it cannot.
    pub count: i64,
}

impl<'a> Document<'a> {
    pub(super) fn of(path: &'a RelPath, file: &'a SourceFile) -> Document<'a> {
        let bytes = file.bytes.as_slice();
        let parsed = match std::str::from_utf8(bytes) {
            Err(error) => Err((error.valid_up_to(), "not UTF-8")),
            Ok(_) => match Whole::parse(bytes, Dialect::Python, &SIDECAR) {
                Err(error) => Err((error.at, error.what)),
                Ok(whole) if whole.facts.depth >= DEEPEST => Err((0, "nested deeper than its parser goes")),
                Ok(whole) if whole.facts.longest_integer > LONGEST_INTEGER => Err((0, "an integer longer than its parser takes")),
                Ok(whole) => Ok(whole),
            },
        };
        let rows = parsed.as_ref().ok().and_then(|whole| whole.get(MESSAGES)).filter(|rows| rows.is_array());
        let count = rows.map_or(-1, |rows| rows.elements().count() as i64);
        let whole = parsed.and_then(|whole| match refused(&whole) {
            None => Ok(whole),
            Some(why) => Err((0, why)),
        });
        Document { path, bytes, whole, count }
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.whole.as_ref().ok().and_then(|whole| whole.get(key))
    }

    /// Says why the program cannot read it, and where.
    pub(super) fn fault(&self) -> Option<(Location, &'static str)> {
        let (at, why) = self.whole.as_ref().err()?;
        Some((Location::of_offset(self.path.to_string(), self.bytes, *at), why))
    }
}

/// Says why the program cannot make a session of an object: it takes some members
/// for paths and some for whole numbers, and others than those make it fail.
fn refused(whole: &Whole<'_>) -> Option<&'static str> {
    let is_path = |value: Value<'_>| value.is_string() && pathlib::resolved(&decode(value.text())).is_some();
    if whole.get("self").is_some() {
        return Some("a member that is named like its own parameter");
    }
    let optional = ["created_workspace", "worktree_path", "worktree_repo_root"];
    let folders = optional.iter().filter_map(|key| whole.get(key)).filter(|value| is_truthy(*value));
    if !whole.get("workspace").into_iter().chain(folders).all(is_path) {
        return Some("a folder that is not a path");
    }
    let is_infinite = |value: Value<'_>| int(value) == Err(Exception::Overflow);
    let counts = ["message_count", "post_compression_context_tokens_estimate"];
    counts.iter().filter_map(|key| whole.get(key)).any(is_infinite).then_some("a count that is infinite")
}

/// One list of rows on its way into the log.
pub(super) struct List {
    pub name: &'static str,
    pub placing: Placing,
    /// The last unfinished answer, which the next rows may only repeat.
    pub partial: Option<Vec<u8>>,
}

/// What a row is, and where it goes.
pub(super) struct RowTarget<'r> {
    pub recipe: &'r mut RecipeBuilder,
    pub style: Style,
    pub hidden: Option<Hidden>,
}

impl<'a> Reader<'a, '_> {
    /// Reads a sidecar or its backup.
    pub(super) fn document(&mut self, document: &Document<'a>, which: Which) -> Result<(), StreamError> {
        let Ok(whole) = &document.whole else { return self.broken(document, which) };
        let style = whole.style(escapes_of(document.bytes));
        let mut payload = whole.payload(&SIDECAR, &[("of", which.word())], style.escapes);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &SIDECAR, &payload, style)?;
        let mut recipe = RecipeBuilder::default();
        let mut list: Option<List> = None;
        let mut seen = Vec::new();
        for piece in whole.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => frame.part(&mut self.to, &mut recipe, n, bytes)?,
                DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                DocumentPiece::Record { list: name, offset, value, end, .. } => {
                    if list.as_ref().is_none_or(|list| list.name != name) {
                        self.finish_list(list.take())?;
                        list = Some(Self::begin_list(name, which, &seen));
                        seen.push(name);
                    }
                    let Some(list) = &mut list else { continue };
                    recipe.line_end(&String::from_utf8_lossy(end));
                    let place = RowTarget { recipe: &mut recipe, style, hidden: None };
                    let following = Elements::of_rest(&document.bytes[offset + value.text().len()..]);
                    self.row(list, which, value, place, following)?;
                }
            }
        }
        self.finish_list(list)?;
        // A list without rows, or what stands in place of one, is a head all
        // the same where the program would have one.
        for name in [MESSAGES, CONTEXT] {
            let is_list = whole.get(name).is_some_and(|value| value.is_array());
            if !seen.contains(&name) && (is_list || name == MESSAGES) {
                self.to.put_head(&which.head(name), Seq::ROOT, crate::model::heads::HeadOp::Branch)?;
            }
        }
        self.to.rebuilt(document.path, SIDECARS, style.unless(DOCUMENT_STYLE), recipe);
        Ok(())
    }

    pub(super) fn begin_list(name: &'static str, which: Which, before: &[&str]) -> List {
        let head = which.head(name);
        // The log starts on the main branch: it need not be made.
        let placing = if before.is_empty() && head == HeadName::main() { Placing::without_head() } else { Placing::for_head(head) };
        List { name, placing, partial: None }
    }

    pub(super) fn finish_list(&mut self, list: Option<List>) -> Result<(), StreamError> {
        if let Some(list) = list {
            list.placing.finish(self.to.events, &mut self.repeats)?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        list: &mut List,
        which: Which,
        row: Value<'a>,
        mut place: RowTarget<'_>,
        following: impl Iterator<Item = Value<'a>>,
    ) -> Result<(), StreamError> {
        if !row.is_object() {
            return self.odd_row(list, row, place);
        }
        // Only the program's own load of the main list drops repeats.
        let signature = if which == Which::Sidecar && list.name == MESSAGES { partial_signature(row) } else { None };
        if signature.is_some() && signature == list.partial {
            place.hidden = Some(Hidden::Collapsed);
        }
        list.partial = signature;
        let hash = self.known.hash(row.text());
        if place.hidden.is_none()
            && let Some(seq) = self.known.by_hash(hash, row.text(), 0)
        {
            self.place_known(list, seq, following)?;
            return self.row_piece(seq, row, place, None);
        }
        let normal = Normal::of(row, place.style.escapes, place.hidden);
        match self.known.by_normal(&normal.ts, &normal.payload) {
            Ok(seq) => {
                self.place_known(list, seq, following)?;
                let shape = normal.shape(&mut self.shapes);
                let other = (shape != self.shape_of.get(&seq).copied().unwrap_or(0)).then_some(shape);
                self.row_piece(seq, row, place, other)
            }
            Err(normal_hash) => {
                let parent = list.placing.parent_of_new(self.to.events, &mut self.repeats)?;
                let seq = self.put_row(&normal, parent)?;
                let origin =
                    Origin { record: row.text(), hash, escapes: place.style.escapes, file_time: u32::from(place.hidden.is_some()) };
                self.known.add(origin, normal_hash, seq);
                list.placing.added(seq);
                self.row_piece(seq, row, place, None)
            }
        }
    }

    /// Puts a message that the log does not have yet.
    pub(super) fn put_row(&mut self, normal: &Normal<'_>, parent: Seq) -> Result<Seq, StreamError> {
        let shape = normal.shape(&mut self.shapes);
        let payload = normal.finished(shape);
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        let seq = self.to.events.put(Draft { ts, parent: Some(parent), body: Body::Json(EventKind::Message, &payload) })?;
        if shape > 0 {
            self.shape_of.insert(seq, shape);
        }
        if self.wants_prints
            && let Some(prints) = normal.prints()
        {
            self.note_prints(prints, seq);
        }
        Ok(seq)
    }

    fn place_known(&mut self, list: &mut List, seq: Seq, mut following: impl Iterator<Item = Value<'a>>) -> Result<(), StreamError> {
        let mut seen = vec![Some(seq)];
        let known = &self.known;
        let mut ahead = |n: usize| {
            while seen.len() <= n {
                seen.push(following.next().and_then(|row| known.by_record(row.text(), 0)));
            }
            seen[n]
        };
        list.placing.known(seq, self.to.events, &mut self.repeats, &mut ahead)
    }

    /// A row that is not an object: the loader keeps it as it is.
    fn odd_row(&mut self, list: &mut List, row: Value<'a>, place: RowTarget<'_>) -> Result<(), StreamError> {
        let mut payload = br#"{"type":"row","data":"#.to_vec();
        json::push_carried_value(row, place.style.escapes, &mut payload);
        payload.push(b'}');
        list.partial = None;
        let parent = list.placing.parent_of_new(self.to.events, &mut self.repeats)?;
        let seq = self.to.put(EventKind::Custom, None, Some(parent), &payload)?;
        list.placing.added(seq);
        let rendered = (self.to.check == Check::EachRecord).then(|| {
            let mut out = Vec::new();
            if let Some(data) = Value::trusted(&payload).first("data") {
                place.style.push_value_at(data, 2, &mut out);
            }
            out
        });
        self.piece(seq, row.text(), place.recipe, rendered);
        Ok(())
    }

    /// Adds a row to its file's recipe: by its message, by its message in
    /// another shape, or as a residual.
    pub(super) fn row_piece(&mut self, seq: Seq, row: Value<'a>, place: RowTarget<'_>, shape: Option<usize>) -> Result<(), StreamError> {
        let row = row.text();
        if let Some(shape) = shape {
            if self.rendered(seq, place.style, shape) == row {
                place.recipe.own(format!("{{\"message\":{seq},\"shape\":{shape}}}"));
                return Ok(());
            }
            let usual = self.rendered(seq, place.style, self.shape_of.get(&seq).copied().unwrap_or(0));
            self.piece(seq, row, place.recipe, Some(usual));
            return Ok(());
        }
        let own = self.shape_of.get(&seq).copied().unwrap_or(0);
        // A copy in other bytes is looked at at once: its message's own record
        // proves nothing about it.
        let is_own = self.known.origin(seq).is_some_and(|(record, _, _)| record == row);
        let rendered = (self.to.check == Check::EachRecord || !is_own).then(|| self.rendered(seq, place.style, own));
        self.piece(seq, row, place.recipe, rendered);
        Ok(())
    }

    pub(super) fn piece(&mut self, seq: Seq, row: &'a [u8], recipe: &mut RecipeBuilder, rendered: Option<Vec<u8>>) {
        match rendered {
            Some(rendered) if rendered != row => {
                let count = self.to.residual((seq, seq), &rendered, row);
                recipe.residual(count);
            }
            _ => recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next)),
        }
    }

    /// Returns what a message renders to in a document. It is made again from the row
    /// that it was first read from.
    fn rendered(&self, seq: Seq, style: Style, shape: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let Some((row, escapes, _)) = self.known.origin(seq) else { return out };
        // Only rows of validated documents are known.
        let normal = Normal::of(Value::trusted(row), escapes, None);
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        // A shape of our own table is always there.
        let _ = render(&normal.finished(shape), ts, &self.shapes, style, 2, &mut out);
        out
    }
}

/// Returns how a document escapes: the program leaves everything raw, but an older
/// tool may have rewritten it.
pub(super) fn escapes_of(bytes: &[u8]) -> Escapes {
    let beyond_ascii = |at: usize| {
        let digits = bytes.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).is_some_and(|unit| unit > 0x9f)
    };
    let is_escaped = bytes.is_ascii() && memchr::memmem::find_iter(bytes, b"\\u").any(beyond_ascii);
    if is_escaped { Escapes::Ascii } else { Escapes::Utf8 }
}

/// Tells whether no record of a document stands between two events.
pub(super) fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    let is_record = |kind: EventKind| matches!(kind, EventKind::Message | EventKind::Custom | EventKind::Damage | EventKind::Meta);
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| !is_record(events.kind(seq)))
}
