//! Events back to the entries they were.

use crate::adapters::kit::mapping::{Ids, Parents, Rendered, To};
use crate::json::{self, Member};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::map::Map;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::draft::push_whole;
use super::file::parents_of;
use super::schema::TreeSchema;

/// Ids are remembered for so many events.
const MOST_IDS: usize = 1 << 20;

/// Returns the renderer for what a file holds.
pub(in crate::adapters) fn renderer<S: TreeSchema>(schema: S, holds: &str, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let parents = parents_of(holds)?;
    let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
    Some(Box::new(Entries { schema, parents, shapes, ids: Map::default(), payload: Vec::new(), record: Vec::new() }))
}

struct Entries<S> {
    schema: S,
    parents: Parents,
    shapes: Shapes,
    /// The ids of events, in log form, so that the event above need not be
    /// read again.
    ids: Map<Seq, Option<Vec<u8>>>,
    payload: Vec<u8>,
    record: Vec<u8>,
}

impl<S: TreeSchema> RecordRenderer for Entries<S> {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let mut parent = None;
        let mut message = None;
        // A message that is repeated here.
        if log.kind(seq) == EventKind::Repeat {
            let repeat = log.event(seq)?;
            (parent, message) = (repeat.parent, repeated(repeat.payload).filter(|message| *message < seq));
        }
        let event = log.event(message.unwrap_or(seq))?;
        let parent = if message.is_some() { parent } else { event.parent };
        let kind = event.kind;
        let ts = event.ts.map(str::to_owned);
        self.payload.clear();
        self.payload.extend_from_slice(event.payload);
        let given: Vec<Member<'_>> = json::all_members(&self.payload);
        let Some((record, schema)) = self.schema.of_event(kind, parent, &given) else { return Ok(()) };
        let parent = parent.unwrap_or(Seq::ROOT);
        self.record.clear();
        match schema.table(record) {
            None => push_whole::<S>(&self.payload, &mut self.record),
            Some(table) => {
                if self.ids.len() > MOST_IDS {
                    self.ids.clear();
                }
                self.ids.entry(seq).or_insert_with(|| id_of(&given));
                let rendered = Rendered { payload: &self.payload, ts: ts.as_deref(), parent, parents: self.parents };
                let mut ids = LogIds { log, known: &mut self.ids };
                let to = To { style: S::STYLE, depth: 0, out: &mut self.record };
                table
                    .render_members(&rendered, &given, &self.shapes, S::content(), &mut ids, to)
                    .ok_or_else(|| StreamError::log(seq, "names a shape that the log does not have"))?;
            }
        }
        out.record(&self.record)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, piece: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]).into_owned();
        Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")))
    }
}

/// Returns the one message that a repeat repeats.
fn repeated(payload: &[u8]) -> Option<Seq> {
    let member = |name: &str| json::members(payload).find(|member| member.name() == name).map(|member| member.value);
    let (first, last) = (member("first")?, member("last")?);
    (first == last).then(|| std::str::from_utf8(first).ok()?.parse().ok().map(Seq::new)).flatten()
}

fn id_of(members: &[Member<'_>]) -> Option<Vec<u8>> {
    members.iter().find(|member| member.is("source_id")).map(|member| member.value.to_vec())
}

struct LogIds<'l> {
    log: &'l mut dyn LogAccess,
    known: &'l mut Map<Seq, Option<Vec<u8>>>,
}

impl Ids for LogIds<'_> {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, seq: Seq) -> Option<Vec<u8>> {
        if let Some(known) = self.known.get(&seq) {
            return known.clone();
        }
        let message = self.log.event(seq).ok().filter(|event| event.kind == EventKind::Repeat).and_then(|event| repeated(event.payload));
        let named = message.filter(|message| *message < seq).unwrap_or(seq);
        let id = self.log.event(named).ok().and_then(|event| id_of(&json::all_members(event.payload)));
        self.known.insert(seq, id.clone());
        id
    }

    fn value(&mut self, seq: Seq, name: &str) -> Option<Vec<u8>> {
        let event = self.log.event(seq).ok()?;
        json::members(event.payload).find(|member| member.is(name)).map(|member| member.value.to_vec())
    }
}
