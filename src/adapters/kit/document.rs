//! A document: one JSON object that is a whole file, some of whose members are
//! lists of records. The records become events of their own; everything around
//! them is the *frame*, which one `meta` event stands for.
//!
//! The frame is cut at its lists, `{ … [` and `] … [` and `] … }`: its parts.
//! A recipe names a part as `{"doc":SEQ,"part":0}`, and has the records and what
//! stands between them in between, so that it holds no matter how the file is
//! laid out inside its lists. A part that is not as the program would have
//! written it is kept as a residual.

use std::collections::HashMap;
use std::ops::Range;

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::mapping::{Table, Target, To};
use crate::json::{self, Dialect, Escapes, Facts, Member, Outline, ScanError, Separators, Style, Value};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{LogAccess, RecordSink, StreamError};

/// A file that is one JSON object.
#[derive(Debug)]
pub(in crate::adapters) struct Document<'a> {
    bytes: &'a [u8],
    /// All of them, equal keys included.
    pub all: Vec<Member<'a>>,
    /// Its members; of equal keys the last, as every loader has it.
    pub members: Vec<Member<'a>>,
    /// Its lists of records, in file order.
    lists: Vec<Outline<'a>>,
    /// What else was noticed.
    pub facts: Facts,
    start: usize,
    end: usize,
}

/// One piece of a document, in file order and without a gap.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) enum DocumentPiece<'a, 'd> {
    /// A part of the frame.
    Part(usize, &'a [u8]),
    /// White space around the object, or around the records of a list.
    Gap(&'a [u8]),
    /// A record of a list.
    Record {
        list: &'static str,
        /// Where it begins in the file.
        offset: usize,
        value: Value<'a>,
        /// Its members, where it is an object.
        members: &'d [Member<'a>],
        /// What stands between it and the next one.
        end: &'a [u8],
    },
}

impl<'a> Document<'a> {
    /// ValueKind a file apart, the lists of records as the table names them.
    ///
    /// # Errors
    /// When it is not one JSON object.
    pub(in crate::adapters) fn parse(bytes: &'a [u8], dialect: Dialect, table: &Table) -> Result<Document<'a>, ScanError> {
        let mut all = Vec::new();
        let mut lists = Vec::new();
        let list_name = |member: &Member<'_>| {
            let row = table.0.iter().find(|(key, goes)| matches!(goes, Target::List) && member.is(key));
            row.map(|(name, _)| *name)
        };
        let facts = json::scan_outline(bytes, dialect, &list_name, &mut all, &mut lists)?;
        let mut last: HashMap<_, usize> = HashMap::with_capacity(all.len());
        for (at, member) in all.iter().enumerate() {
            last.insert(member.name(), at);
        }
        let members: Vec<Member<'a>> = all.iter().enumerate().filter(|(at, m)| last[&m.name()] == *at).map(|(_, m)| *m).collect();
        lists.retain(|list| members.iter().any(|member| member.value().address() == list.value().address()));
        let start = bytes.iter().position(|b| *b == b'{').unwrap_or(0);
        let end = bytes.iter().rposition(|b| *b == b'}').map_or(bytes.len(), |at| at + 1);
        Ok(Document { bytes, all, members, lists, facts, start, end })
    }

    /// Returns the value of a member.
    pub(in crate::adapters) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.members.iter().find(|member| member.is(key)).map(Member::value)
    }

    /// Returns what stands between its members.
    pub(in crate::adapters) fn separators(&self) -> Separators {
        let inside = &self.bytes[self.start..self.end];
        let colon = memchr::memmem::find(inside, b"\":").and_then(|at| inside.get(at + 2));
        match (inside.get(1), colon) {
            (Some(b'\n'), _) => Separators::Indented,
            (_, Some(b' ')) => Separators::Spaced,
            _ => Separators::Compact,
        }
    }

    /// Returns the writing style; the escapes are known from the program.
    pub(in crate::adapters) fn style(&self, escapes: Escapes) -> Style {
        Style { separators: self.separators(), escapes }
    }

    /// Returns the payload of the event that stands for the frame, without its closing
    /// brace; `front` are members of our own.
    pub(in crate::adapters) fn payload(&self, table: &Table, front: &[(&'static str, &str)], writer: Escapes) -> Vec<u8> {
        let mut out = Vec::new();
        // It has no key twice, so it can always be said.
        table.push_object(&self.members, front, writer, &mut out);
        out.pop();
        out
    }

    /// Returns the pieces of the file.
    pub(in crate::adapters) fn pieces<'d>(&'d self) -> impl Iterator<Item = DocumentPiece<'a, 'd>> + use<'a, 'd> {
        let (bytes, end) = (self.bytes, self.end);
        let gap = |from: usize, to: usize| (from < to).then(|| DocumentPiece::Gap(&bytes[from..to]));
        let mut at = self.start;
        let lists: Vec<_> = self.lists.iter().map(|list| (list, list.value().span_in(bytes))).collect();
        let last = lists.len();
        let inside = lists.into_iter().enumerate().flat_map(move |(n, (list, array))| {
            let part = DocumentPiece::Part(n, &bytes[at..=array.start]);
            let close = array.end - 1;
            at = close;
            std::iter::once(part).chain(records(bytes, list, array.start + 1, close))
        });
        let tail_from = self.lists.last().map_or(self.start, |list| list.value().span_in(bytes).end - 1);
        let tail = std::iter::once(DocumentPiece::Part(last, &bytes[tail_from..end])).chain(gap(end, bytes.len()));
        gap(0, self.start).into_iter().chain(inside).chain(tail)
    }
}

/// Returns what stands inside one list: white space, and records with what is between
/// them.
fn records<'a, 'd>(
    bytes: &'a [u8],
    list: &'d Outline<'a>,
    open: usize,
    close: usize,
) -> impl Iterator<Item = DocumentPiece<'a, 'd>> + use<'a, 'd> {
    let mut elements = list.elements().peekable();
    let first = elements.peek().map_or(close, |(first, _)| first.span_in(bytes).start);
    let before = (open < first).then(|| DocumentPiece::Gap(&bytes[open..first]));
    let inside = std::iter::from_fn(move || {
        let (record, members) = elements.next()?;
        let Range { start: offset, end: after } = record.span_in(bytes);
        // White space after the last record stands before the frame goes on.
        let end = elements.peek().map_or(close, |(next, _)| next.span_in(bytes).start);
        Some(DocumentPiece::Record { list: list.name, offset, value: record, members, end: &bytes[after..end] })
    });
    before.into_iter().chain(inside)
}

/// A frame on its way into a recipe.
pub(in crate::adapters) struct Frame {
    event: Seq,
    /// The parts as the event renders them, where each is checked.
    rendered: Option<Vec<Vec<u8>>>,
}

impl Frame {
    /// Puts the event of a document's frame. `payload` is whole.
    pub(in crate::adapters) fn put(to: &mut Conversion<'_, '_>, table: &Table, payload: &[u8], style: Style) -> Result<Frame, StreamError> {
        let event = to.put(EventKind::Meta, None, None, payload)?;
        let rendered = (to.check == Check::EachRecord).then(|| parts(table, payload, style));
        Ok(Frame { event, rendered })
    }

    /// Adds a part to the recipe of its file, as the event renders it or as a
    /// residual.
    pub(in crate::adapters) fn part(
        &self,
        to: &mut Conversion<'_, '_>,
        recipe: &mut RecipeBuilder,
        n: usize,
        bytes: &[u8],
    ) -> Result<(), StreamError> {
        let piece = format!("{{\"doc\":{},\"part\":{n}}}", self.event);
        match self.rendered.as_ref().map(|parts| parts.get(n).map_or(&[][..], Vec::as_slice)) {
            Some(rendered) if rendered != bytes => {
                let count = to.residual_piece(self.event, piece, rendered, bytes)?;
                recipe.residual(count);
            }
            _ => recipe.own(piece),
        }
        Ok(())
    }

    /// Returns the event that stands for it.
    pub(in crate::adapters) fn event(&self) -> Seq {
        self.event
    }
}

/// Returns the parts of a frame.
fn parts(table: &Table, payload: &[u8], style: Style) -> Vec<Vec<u8>> {
    let mut whole = Vec::new();
    let lists = table.render_frame(payload, To { style, depth: 0, out: &mut whole });
    let mut parts = Vec::with_capacity(lists.len() + 1);
    let mut from = 0;
    for to in lists.into_iter().chain([whole.len()]) {
        parts.push(whole[from..to].to_vec());
        from = to;
    }
    parts
}

/// Returns what the first part of a frame renders to.
pub(in crate::adapters) fn first_part(table: &Table, payload: &[u8], style: Style) -> Vec<u8> {
    parts(table, payload, style).swap_remove(0)
}

/// Renders the part of a frame that a recipe's own piece names. `None` where
/// the piece is another.
pub(in crate::adapters) fn render_part(
    piece: &[u8],
    table: &Table,
    style: Style,
    log: &mut dyn LogAccess,
    out: &mut dyn RecordSink,
) -> Option<Result<(), StreamError>> {
    let number = |name: &str| {
        // A recipe is read as JSON before its pieces are handed out.
        Value::trusted(piece).first(name)?.parse::<u32>()
    };
    let (event, part) = (Seq::new(number("doc")?), number("part")?);
    let done = log.event(event).and_then(|found| {
        let payload = if found.kind == EventKind::Meta { found.payload } else { b"{}" };
        match parts(table, payload, style).get(part as usize) {
            Some(text) => out.text(text),
            None => Err(StreamError::log(event, format!("has no part {part}"))),
        }
    });
    Some(done)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
