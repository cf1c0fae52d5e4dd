//! The messages of a unit, each stored once, whichever file or line it is in.

use std::collections::HashMap;

use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::known::{Known, NormalHash, Origin, RecordHash};
use crate::adapters::kit::place::Repeats;
use crate::json::{Escapes, Style};
use crate::model::event::{Body, Draft, EventKind};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::model::stream::StreamError;

use super::message::{Normal, RecordKind, Sight, render};
use super::schema::MESSAGE;

/// JavaScript escapes as little as it can.
pub(super) const WRITER: Escapes = Escapes::Utf8;

/// The messages of a unit.
pub(super) struct Messages<'a> {
    pub kind: RecordKind,
    known: Known<'a>,
    /// Messages that the loader does not see for where they are, not for what
    /// they are: the same bytes elsewhere may be seen.
    hidden: Known<'a>,
    /// Why a hidden message is hidden.
    why: HashMap<Seq, &'static str>,
    pub repeats: Repeats,
    pub shapes: Shapes,
    shape_of: HashMap<Seq, usize>,
}

/// A record that was looked up.
pub(super) enum Looked<'a> {
    /// A message of the log; its first record may have had other bytes.
    Known(Seq, Bytes),
    /// One that the log does not have yet.
    New(Box<New<'a>>),
}

/// Whether a record has the bytes that its message was first read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytes {
    Same,
    Other,
}

/// A message that is to be put.
pub(super) struct New<'a> {
    normal: Normal,
    shape: usize,
    hash: NormalHash,
    record: &'a [u8],
    record_hash: RecordHash,
    sight: Sight,
}

impl<'a> Messages<'a> {
    pub(super) fn new(kind: RecordKind) -> Messages<'a> {
        Messages {
            kind,
            known: Known::new(),
            hidden: Known::new(),
            why: HashMap::new(),
            repeats: Repeats::default(),
            shapes: Shapes::new(MESSAGE.order()),
            shape_of: HashMap::new(),
        }
    }

    /// Looks a record up.
    pub(super) fn look(&mut self, record: &'a [u8], sight: Sight) -> Looked<'a> {
        let known = if sight == Sight::Shown { &self.known } else { &self.hidden };
        let record_hash = known.hash(record);
        if let Some(seq) = known.by_hash(record_hash, record, 0).filter(|seq| self.is_hidden_so(*seq, sight)) {
            return Looked::Known(seq, Bytes::Same);
        }
        let (normal, shape) = Normal::of(record, self.kind, sight, WRITER, &mut self.shapes);
        let known = if sight == Sight::Shown { &self.known } else { &self.hidden };
        match known.by_normal(&normal.ts, &normal.with_shape(shape)) {
            Ok(seq) => Looked::Known(seq, Bytes::Other),
            Err(hash) => Looked::New(Box::new(New { normal, shape, hash, record, record_hash, sight })),
        }
    }

    /// The message with these very bytes, where the loader sees it.
    pub(super) fn by_record(&self, record: &[u8]) -> Option<Seq> {
        self.known.by_record(record, 0)
    }

    fn is_hidden_so(&self, seq: Seq, sight: Sight) -> bool {
        match sight {
            Sight::Shown => true,
            Sight::Hidden(why) => self.why.get(&seq) == Some(&why),
        }
    }

    /// Puts a message below a node.
    pub(super) fn put(&mut self, to: &mut Conversion<'a, '_>, new: New<'a>, parent: Seq) -> Result<Seq, StreamError> {
        let New { normal, shape, hash, record, record_hash, sight } = new;
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        let payload = normal.with_shape(shape);
        let seq = to.events.put(Draft { ts, parent: Some(parent), body: Body::Json(EventKind::Message, &payload) })?;
        if shape > 0 {
            self.shape_of.insert(seq, shape);
        }
        let origin = Origin { record, hash: record_hash, escapes: WRITER, file_time: 0 };
        match sight {
            Sight::Shown => self.known.add(origin, hash, seq),
            Sight::Hidden(why) => {
                self.why.insert(seq, why);
                self.hidden.add(origin, hash, seq);
            }
        }
        Ok(seq)
    }

    /// What a message renders to. It is made again from the record that it was
    /// first read from.
    pub(super) fn push_rendered(&mut self, seq: Seq, (style, depth): (Style, usize), out: &mut Vec<u8>) {
        let (known, sight) = match self.why.get(&seq) {
            Some(why) => (&self.hidden, Sight::Hidden(why)),
            None => (&self.known, Sight::Shown),
        };
        let Some((record, escapes, _)) = known.origin(seq) else { return };
        let (normal, _) = Normal::of(record, self.kind, sight, escapes, &mut self.shapes);
        let shape = self.shape_of.get(&seq).copied().unwrap_or(0);
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        // A shape of our own table is always there.
        let _ = render(&normal.with_shape(shape), ts, self.kind, &self.shapes, (style, depth), out);
    }
}
