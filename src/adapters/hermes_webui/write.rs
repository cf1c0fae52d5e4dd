//! The inverse of reading: messages, turns and runs back to rows and lines.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::kit::document::render_part;
use crate::adapters::kit::mapping::{self, Ids, NoContent, Parents, Rendered, Table};
use crate::json::{self, Style, Value};
use crate::model::event::{EventKind, EventRef, Session};
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::Shown;
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::message::{self, sent_payload};
use super::wire::{DOCUMENT_STYLE, JOURNAL_STYLE, MESSAGE, RUN, SIDECAR, STORE, TURN, TURN_PROGRESS};

/// What the files of a session hold, in their recipes' words.
pub(super) const SIDECARS: &str = "sidecar";
pub(super) const TURNS: &str = "turns";
pub(super) const RUNS: &str = "runs";
pub(super) const INDEXES: &str = "index";
pub(super) const STORES: &str = "store";

/// Returns the renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let shapes = Shapes::with_others(MESSAGE.order(), shapes.to_vec());
    let kind = match holds {
        SIDECARS => Holds::Sidecar,
        TURNS => Holds::Turns,
        RUNS => Holds::Runs,
        INDEXES => Holds::Index,
        STORES => Holds::Store,
        _ => return None,
    };
    let usual = match kind {
        Holds::Sidecar | Holds::Index | Holds::Store => DOCUMENT_STYLE,
        Holds::Turns | Holds::Runs => JOURNAL_STYLE,
    };
    Some(Box::new(Files { kind, style: Style::named(style, usual)?, shapes, session: None, record: Vec::new(), whole: Vec::new() }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Sidecar,
    Turns,
    Runs,
    Index,
    Store,
}

struct Files {
    kind: Holds,
    style: Style,
    shapes: Shapes,
    /// The session's id as a JSON text, once it was asked for.
    session: Option<Vec<u8>>,
    record: Vec<u8>,
    /// A record with its transcript.
    whole: Vec<u8>,
}

impl RecordRenderer for Files {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let kind = log.kind(seq);
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        match (self.kind, kind) {
            (Holds::Sidecar, EventKind::Message) => push_row(&log.event(seq)?, &self.shapes, self.style, 2, None, &mut record)?,
            (Holds::Sidecar, EventKind::Custom) => push_data(&log.event(seq)?, self.style, 2, &mut record),
            (Holds::Index, EventKind::Meta) => push_data(&log.event(seq)?, self.style, 1, &mut record),
            (Holds::Turns, EventKind::Turn) | (Holds::Runs, EventKind::Run) => {
                let session = self.session(log)?;
                let event = log.event(seq)?;
                push_line(&event, &session, &self.shapes, self.style, &mut record)?;
                if kind == EventKind::Run && with_transcript(log, &record, &self.shapes, self.style, out.room(), &mut self.whole)?.is_some()
                {
                    std::mem::swap(&mut record, &mut self.whole);
                }
            }
            _ => {
                self.record = record;
                return Ok(());
            }
        }
        out.record(&record)?;
        self.record = record;
        Ok(())
    }

    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let table = if self.kind == Holds::Store { &STORE } else { &SIDECAR };
        if let Some(done) = render_part(piece, table, self.style, log, out) {
            return done;
        }
        let number = |name: &str| Value::trusted(piece).first(name)?.parse::<u32>();
        let (Some(seq), Some(shape)) = (number("message"), number("shape")) else {
            let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]).into_owned();
            return Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")));
        };
        let mut record = Vec::new();
        push_row(&log.event(Seq::new(seq))?, &self.shapes, self.style, 2, Some(shape as usize), &mut record)?;
        out.record(&record)
    }
}

impl Files {
    fn session(&mut self, log: &mut dyn LogAccess) -> Result<Vec<u8>, StreamError> {
        if let Some(known) = &self.session {
            return Ok(known.clone());
        }
        let first = Seq::ROOT.next();
        let event = log.event(first)?;
        let session: Session =
            serde_json::from_slice(event.payload).map_err(|e| StreamError::log(first, format!("is not a session: {e}")))?;
        let mut id = Vec::new();
        json::push_string(&session.id, &mut id);
        Ok(self.session.insert(id).clone())
    }
}

/// A message as a row, in its own shape or in another.
fn push_row(
    event: &EventRef<'_>,
    shapes: &Shapes,
    style: Style,
    depth: usize,
    shape: Option<usize>,
    out: &mut Vec<u8>,
) -> Result<(), StreamError> {
    let wrong = || StreamError::log(event.seq, "is not a message that can be written");
    if event.kind != EventKind::Message {
        return Err(wrong());
    }
    let done = match shape {
        None => message::render(event.payload, event.ts, shapes, style, depth, out),
        Some(shape) => message::render(&in_shape(event.payload, shape), event.ts, shapes, style, depth, out),
    };
    done.ok_or_else(wrong)
}

/// Returns a message's payload, said to be in another shape.
pub(super) fn in_shape(payload: &[u8], shape: usize) -> Vec<u8> {
    let end = match memchr::memmem::rfind(payload, b",\"shape\":") {
        Some(at) if payload[at + 9..].iter().all(|b| b.is_ascii_digit() || *b == b'}') => at,
        _ => payload.len().saturating_sub(1),
    };
    let mut other = payload[..end].to_vec();
    if shape > 0 {
        other.extend_from_slice(format!(",\"shape\":{shape}").as_bytes());
    }
    other.push(b'}');
    other
}

/// The `data` of an event, as it stood in its file.
pub(super) fn push_data(event: &EventRef<'_>, style: Style, depth: usize, out: &mut Vec<u8>) {
    style.push_value_at(event.value().first("data").unwrap_or_default(), depth, out);
}

/// What the surroundings of a journal's line say about it.
pub(super) struct JournalRecord<'l> {
    /// The session's id as a JSON text.
    pub session: &'l [u8],
    pub run_id: Option<Value<'l>>,
    pub number: Option<Value<'l>>,
    pub event: Option<Value<'l>>,
}

impl Ids for JournalRecord<'_> {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }

    fn given(&self, name: &str) -> Option<Vec<u8>> {
        match name {
            "version" => Some(b"1".to_vec()),
            "session_id" => Some(self.session.to_vec()),
            "event" => self.event.map(|event| event.text().to_vec()),
            "event_id" => {
                let run = self.run_id.and_then(|run| run.text().strip_suffix(b"\""))?;
                Some([run, b":", self.number?.text(), b"\""].concat())
            }
            _ => None,
        }
    }
}

/// Returns which table a turn's line is written by.
pub(super) fn turn_table(state: Option<Value<'_>>) -> &'static Table {
    if state.is_some_and(|state| state.text() == b"\"submitted\"") { &TURN } else { &TURN_PROGRESS }
}

pub(super) fn push_line(event: &EventRef<'_>, session: &[u8], shapes: &Shapes, style: Style, out: &mut Vec<u8>) -> Result<(), StreamError> {
    let get = |name: &str| event.value().first(name);
    let table = if event.kind == EventKind::Run { &RUN } else { turn_table(get("state")) };
    let number = get("source_id").map(|id| Value::trusted(mapping::unquoted(id.text())));
    let mut line = JournalRecord { session, run_id: get("run_id"), number, event: get("event") };
    let rendered = Rendered { payload: event.payload, ts: event.ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    table
        .render(&rendered, shapes, &NoContent, &mut line, mapping::To { style, depth: 0, out })
        .ok_or_else(|| StreamError::log(event.seq, "names a shape that the log does not have"))
}

/// How a transcript in a run's data begins, where it stands for a path.
pub(super) const PATH: &str = "$path";
static PLACE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"messages\":{\"$path\":"));

/// Returns where a rendered line names a path in place of a transcript.
pub(super) fn transcript_place(line: &[u8]) -> Option<(usize, usize)> {
    // Inside a string the quotes would be escaped.
    let open = PLACE.find(line)? + b"\"messages\":".len();
    let len = memchr::memchr(b'}', &line[open..])?;
    Some((open, open + len + 1))
}

/// Writes a run's line with the transcript that its data stands for; nothing where
/// it has none.
fn with_transcript(
    log: &mut dyn LogAccess,
    line: &[u8],
    shapes: &Shapes,
    style: Style,
    room: u64,
    out: &mut Vec<u8>,
) -> Result<Option<()>, StreamError> {
    let Some((open, end)) = transcript_place(line) else { return Ok(None) };
    let named = Value::trusted(&line[open..end]);
    let node = named.members().next().and_then(|member| member.value().parse::<u32>());
    let Some(node) = node else { return Ok(None) };
    let is_sent = named.members().any(|member| member.name() == "as" && member.value().text() == b"\"sent\"");
    out.clear();
    out.extend_from_slice(&line[..open]);
    out.push(b'[');
    for (n, seq) in log.path(Seq::new(node))?.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let event = log.event(seq)?;
        if is_sent {
            let payload = sent_payload(event.value());
            push_row(&EventRef { payload: &payload, ..event }, shapes, style, 0, None, out)?;
        } else {
            push_row(&event, shapes, style, 0, None, out)?;
        }
        if out.len() as u64 > room {
            return Err(StreamError::TooLong);
        }
    }
    out.push(b']');
    out.extend_from_slice(&line[end..]);
    Ok(Some(()))
}

/// Shows a row as the program has it in memory.
pub(super) fn show(item: &Shown<'_>, shapes: &Shapes, line: &mut dyn FnMut(&[u8])) -> Result<(), StreamError> {
    let mut out = Vec::with_capacity(item.event.payload.len());
    if item.event.kind == EventKind::Message {
        push_row(&item.event, shapes, JOURNAL_STYLE, 0, None, &mut out)?;
    } else if item.event.kind == EventKind::Custom {
        push_data(&item.event, JOURNAL_STYLE, 0, &mut out);
    } else {
        return Ok(());
    }
    line(&out);
    Ok(())
}
