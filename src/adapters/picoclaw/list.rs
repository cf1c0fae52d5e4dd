//! A list of messages on its way into the log, whether its records stand on
//! lines or in a whole file.

use std::collections::HashMap;

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::known::{Known, Origin};
use crate::adapters::kit::place::{Placing, Repeats};
use crate::adapters::kit::salvage::DamageKind;
use crate::json::Style;
use crate::model::event::{Body, Draft, EventKind};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::go::KeyForm;

use super::normal::{Normal, Record, Sight, render};
use super::wire::MESSAGE;

/// The messages of a session, each stored once.
pub(super) struct Messages<'a> {
    known: Known<'a>,
    /// Messages that the loader does not see for where they stand, not for
    /// what they are: the same bytes elsewhere may be seen.
    salvaged: Known<'a>,
    repeats: Repeats,
    pub shapes: Shapes,
    /// The shape of each message that is not in the usual one.
    shape_of: HashMap<Seq, usize>,
    normal: Normal,
}

/// One list.
pub(super) struct List<'a> {
    pub path: &'a RelPath,
    pub bytes: &'a [u8],
    pub style: Style,
    /// How deep its records stand in the file.
    pub depth: usize,
    pub placing: Placing,
    pub recipe: RecipeBuilder,
    /// How many messages it has so far.
    pub len: usize,
    damage: Option<OpenDamage>,
}

/// Rejected bytes that the next ones may still add to.
struct OpenDamage {
    line: u64,
    start: usize,
    end: usize,
    kind: DamageKind,
}

/// A record, and what follows it in its file.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    pub bytes: &'a [u8],
    pub end: &'a [u8],
    pub line: u64,
    /// From 1, in its line.
    pub byte: u64,
}

impl<'a> List<'a> {
    pub(super) fn new(path: &'a RelPath, bytes: &'a [u8], style: Style, depth: usize, placing: Placing) -> List<'a> {
        List { path, bytes, style, depth, placing, recipe: RecipeBuilder::default(), len: 0, damage: None }
    }

    fn place(&self, placed: Placed<'_>) -> Location {
        Location::at(self.path.to_string(), placed.line, placed.byte)
    }
}

impl<'a> Messages<'a> {
    pub(super) fn new() -> Messages<'a> {
        Messages {
            known: Known::new(),
            salvaged: Known::new(),
            repeats: Repeats::default(),
            shapes: Shapes::new(MESSAGE.order()),
            shape_of: HashMap::new(),
            normal: Normal::default(),
        }
    }

    /// Places a record whose very bytes are in the log already; says whether
    /// it is one.
    pub(super) fn known_bytes(
        &mut self,
        to: &mut Conversion<'a, '_>,
        list: &mut List<'a>,
        placed: Placed<'a>,
    ) -> Result<bool, StreamError> {
        let Some(message) = self.known.by_record(placed.bytes, 0) else { return Ok(false) };
        close_damage(to, list)?;
        list.placing.known(message, to.events, &mut self.repeats, &mut |n| (n == 0).then_some(message))?;
        list.len += 1;
        let mut rendered = None;
        if to.check == Check::EachRecord
            && let Ok(record) = Record::decode(placed.bytes)
        {
            // As it was first read, which may have been from another style.
            let writer = self.known.origin(message).map_or(list.style.escapes, |(_, escapes, _)| escapes);
            self.normal.fill(&record, record.sight(), writer);
            rendered = Some(self.rendered(message, list));
        }
        piece(to, list, placed, message, rendered.as_deref());
        Ok(true)
    }

    /// Places a record.
    pub(super) fn record(
        &mut self,
        to: &mut Conversion<'a, '_>,
        list: &mut List<'a>,
        placed: Placed<'a>,
        record: &Record<'_>,
        sight: Sight,
    ) -> Result<Seq, StreamError> {
        close_damage(to, list)?;
        note_oddities(to, list, placed, record);
        let (message, is_new) = self.put(to, list, placed, record, sight)?;
        // A copy in other bytes is looked at at once: that its message renders
        // to the first one proves nothing about it.
        let rendered = (!is_new || to.check == Check::EachRecord).then(|| self.rendered(message, list));
        piece(to, list, placed, message, rendered.as_deref());
        Ok(message)
    }

    /// Places a message that has no bytes of its own in its file; what new ones
    /// render to is added to `rendered`.
    pub(super) fn unbound(
        &mut self,
        to: &mut Conversion<'a, '_>,
        list: &mut List<'a>,
        record: &Record<'_>,
        rendered: &mut Vec<u8>,
    ) -> Result<(), StreamError> {
        let placed = Placed { bytes: b"", end: b"", line: 1, byte: 1 };
        let (message, is_new) = self.put(to, list, placed, record, record.sight())?;
        if is_new {
            rendered.extend(self.rendered(message, list));
        }
        Ok(())
    }

    /// Puts a record, and returns its message and whether that is a new one.
    fn put(
        &mut self,
        to: &mut Conversion<'a, '_>,
        list: &mut List<'a>,
        placed: Placed<'a>,
        record: &Record<'_>,
        sight: Sight,
    ) -> Result<(Seq, bool), StreamError> {
        self.normal.fill(record, sight, list.style.escapes);
        let is_salvaged = sight != record.sight();
        let known = if is_salvaged { &self.salvaged } else { &self.known };
        let found = known.by_normal(self.normal.ts.as_deref().unwrap_or_default(), &self.normal.payload);
        let message = match found {
            Ok(message) => {
                list.placing.known(message, to.events, &mut self.repeats, &mut |n| (n == 0).then_some(message))?;
                message
            }
            Err(hash) => {
                let parent = list.placing.parent_of_new(to.events, &mut self.repeats)?;
                let shape = if record.form == KeyForm::Plain { MESSAGE.shape(&record.members, &mut self.shapes) } else { 0 };
                let shaped = (shape > 0).then(|| self.normal.with_shape(shape));
                let payload = shaped.as_deref().unwrap_or(&self.normal.payload);
                let body = Body::Json(EventKind::Message, payload);
                let message = to.events.put(Draft { ts: self.normal.ts.as_deref(), parent: Some(parent), body })?;
                if shape > 0 {
                    self.shape_of.insert(message, shape);
                }
                let known = if is_salvaged { &mut self.salvaged } else { &mut self.known };
                let origin = Origin { record: placed.bytes, hash: known.hash(placed.bytes), escapes: list.style.escapes, file_time: 0 };
                known.add(origin, hash, message);
                list.placing.added(message);
                message
            }
        };
        list.len += 1;
        Ok((message, found.is_err()))
    }

    /// Returns what the message that was just looked at renders to in a list.
    fn rendered(&self, message: Seq, list: &List<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        let shaped = self.shape_of.get(&message).map(|shape| self.normal.with_shape(*shape));
        let payload = shaped.as_deref().unwrap_or(&self.normal.payload);
        // A shape of our own table is always there.
        let _ = render(payload, self.normal.ts.as_deref(), &self.shapes, list.style, list.depth, &mut out);
        out
    }

    /// Returns the node that the list has come to, with a number of its own.
    pub(super) fn node(&mut self, to: &mut Conversion<'a, '_>, list: &mut List<'a>) -> Result<Seq, StreamError> {
        list.placing.parent_of_new(to.events, &mut self.repeats)
    }

    /// The list is complete.
    pub(super) fn finish(&mut self, to: &mut Conversion<'a, '_>, mut list: List<'a>) -> Result<(Seq, RecipeBuilder), StreamError> {
        close_damage(to, &mut list)?;
        let List { placing, recipe, .. } = list;
        Ok((placing.finish(to.events, &mut self.repeats)?, recipe))
    }
}

/// Adds a record to its file's recipe, by its message or as a residual.
fn piece<'a>(to: &mut Conversion<'a, '_>, list: &mut List<'a>, placed: Placed<'a>, message: Seq, rendered: Option<&[u8]>) {
    list.recipe.line_end(&String::from_utf8_lossy(placed.end));
    match rendered {
        Some(rendered) if rendered != placed.bytes => {
            let count = to.residual((message, message), rendered, placed.bytes);
            list.recipe.residual(count);
        }
        _ => list.recipe.events(message, message, |end, next| no_record_between(to.events, end, next)),
    }
}

/// Takes bytes that the loader rejects, from `start` to `end` of the file.
pub(super) fn damage<'a>(
    to: &mut Conversion<'a, '_>,
    list: &mut List<'a>,
    line: u64,
    (start, end): (usize, usize),
    kind: DamageKind,
) -> Result<(), StreamError> {
    match &mut list.damage {
        Some(open) if open.kind == kind && open.end == start => {
            open.end = end;
            Ok(())
        }
        _ => {
            close_damage(to, list)?;
            list.damage = Some(OpenDamage { line, start, end, kind });
            Ok(())
        }
    }
}

/// Writes the damage that is open.
pub(super) fn close_damage<'a>(to: &mut Conversion<'a, '_>, list: &mut List<'a>) -> Result<(), StreamError> {
    if let Some(OpenDamage { line, start, end, kind }) = list.damage.take() {
        let seq = to.put_damage(list.path, line, start, kind.word(), &list.bytes[start..end])?;
        list.recipe.events(seq, seq, |end, next| no_record_between(to.events, end, next));
    }
    Ok(())
}

/// Adds bytes between records.
pub(super) fn gap<'a>(to: &mut Conversion<'a, '_>, list: &mut List<'a>, bytes: &[u8]) -> Result<(), StreamError> {
    close_damage(to, list)?;
    if !bytes.is_empty() {
        list.recipe.gap(&String::from_utf8_lossy(bytes));
    }
    Ok(())
}

fn note_oddities(to: &mut Conversion<'_, '_>, list: &List<'_>, placed: Placed<'_>, record: &Record<'_>) {
    for field in record.unknown_fields() {
        let message = format!("field `{field}` is unknown to picoclaw, which drops it at its next rewrite");
        to.findings.add(FindingCode::UnknownField, list.place(placed), message);
    }
    if record.form == KeyForm::Odd
        && let Err(error) = std::str::from_utf8(placed.bytes)
    {
        let place = Location::at(list.path.to_string(), placed.line, placed.byte + error.valid_up_to() as u64);
        to.findings.add(FindingCode::ReplacedBytes, place, "bytes that are not UTF-8; picoclaw shows U+FFFD for each");
    }
}

/// Tells whether neither a message nor damage stands between two events.
fn no_record_between(events: &dyn EventSink, end: Seq, next: Seq) -> bool {
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| !matches!(events.kind(seq), EventKind::Message | EventKind::Damage))
}
