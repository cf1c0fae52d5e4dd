//! The inverse of reading: events back to the records of a rollout.

use crate::adapters::kit::mapping::To;
use crate::json::{self, Member};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};

use super::document;
use super::home;
use super::lay::HOLDS_RECORDS;
use super::members::{get, number};
use super::message::{self, Afterwards, Form, LINES};
use super::repeated::repeated;

/// The renderer for what a file holds.
pub(super) fn renderer(holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
    let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
    if holds == HOLDS_RECORDS {
        return Some(Box::new(Records { shapes, open: None, record: Vec::new() }));
    }
    document::renderer(holds, style, &shapes).or_else(|| home::renderer(holds))
}

/// The records of a rollout.
struct Records {
    shapes: Shapes,
    open: Option<OpenCompaction>,
    record: Vec<u8>,
}

/// A compaction whose list is not complete.
struct OpenCompaction {
    payload: Vec<u8>,
    ts: Option<String>,
    left: u64,
    items: Vec<Vec<u8>>,
    /// The text of the last message, where the list is the program's own.
    summary: Option<String>,
    size: u64,
}

impl Records {
    fn fault(seq: Seq) -> StreamError {
        StreamError::log(seq, "names a shape that the log does not have")
    }

    /// Writes the message of an event.
    fn message(&mut self, log: &mut dyn LogAccess, seq: Seq, form: Form) -> Result<(), StreamError> {
        let event = log.event(seq)?;
        let given: Vec<Member<'_>> = json::all_members(event.payload);
        let form = if get(&given, "words").is_some() { Form::Item } else { form };
        self.record.clear();
        let to = To { style: LINES, depth: 0, out: &mut self.record };
        message::render_message(event.payload, &given, event.ts, form, &self.shapes, to).ok_or_else(|| Records::fault(seq))
    }

    /// Takes an event of an open compaction.
    fn item(&mut self, log: &mut dyn LogAccess, mut open: OpenCompaction, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        let is_rebuilt = get(&json::all_members(&open.payload), "rebuilt").is_some();
        // Of a list that the program makes only the summary is its record's: the last.
        let message = match log.kind(seq) == EventKind::Repeat {
            true if is_rebuilt && open.left > 1 => None,
            true => Some(repeated(log, seq)?),
            false => Some(seq),
        };
        if let Some(message) = message.filter(|message| log.kind(*message) == EventKind::Message) {
            if is_rebuilt {
                let payload: Vec<Member<'_>> = json::all_members(log.event(message)?.payload);
                let parts = json::opened_elements(get(&payload, "content").unwrap_or(b"[]"));
                open.summary = Some(parts.filter_map(|(_, part)| get(&part, "text").map(json::unescape)).collect());
            } else {
                self.message(log, message, Form::Item)?;
                open.size = open.size.saturating_add(self.record.len() as u64);
                if open.size > out.room() {
                    return Err(StreamError::TooLong);
                }
                open.items.push(self.record.clone());
            }
        }
        open.left -= 1;
        self.go_on(open, seq, out)
    }

    /// Keeps a compaction open, or writes it where its list is complete.
    fn go_on(&mut self, open: OpenCompaction, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if open.left > 0 {
            self.open = Some(open);
            return Ok(());
        }
        let given: Vec<Member<'_>> = json::all_members(&open.payload);
        let after = match get(&given, "rebuilt") {
            Some(_) => Afterwards::Summary(open.summary.as_deref().unwrap_or_default().into()),
            None => Afterwards::Items(&open.items),
        };
        self.record.clear();
        message::render_compaction(&open.payload, &given, open.ts.as_deref(), after, &self.shapes, &mut self.record)
            .ok_or_else(|| Records::fault(seq))?;
        out.record(&self.record)
    }
}

impl RecordRenderer for Records {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if let Some(open) = self.open.take() {
            return self.item(log, open, seq, out);
        }
        match log.kind(seq) {
            EventKind::Message => {
                self.message(log, seq, Form::Record)?;
                out.record(&self.record)
            }
            EventKind::Repeat => {
                let message = repeated(log, seq)?;
                self.message(log, message, Form::Record)?;
                out.record(&self.record)
            }
            EventKind::Compaction => {
                let event = log.event(seq)?;
                let left = number(&json::all_members(event.payload), "events").unwrap_or(0);
                let open = OpenCompaction {
                    payload: event.payload.to_vec(),
                    ts: event.ts.map(str::to_owned),
                    left,
                    items: Vec::new(),
                    summary: None,
                    size: 0,
                };
                self.go_on(open, seq, out)
            }
            EventKind::Custom => {
                let event = log.event(seq)?;
                let given: Vec<Member<'_>> = json::all_members(event.payload);
                self.record.clear();
                message::render_other(event.payload, &given, event.ts, &self.shapes, &mut self.record)
                    .ok_or_else(|| Records::fault(seq))?;
                out.record(&self.record)
            }
            EventKind::Session
            | EventKind::Head
            | EventKind::Outcome
            | EventKind::Edit
            | EventKind::Hide
            | EventKind::BranchSummary
            | EventKind::ModelChange
            | EventKind::SettingChange
            | EventKind::Label
            | EventKind::Usage
            | EventKind::Turn
            | EventKind::Run
            | EventKind::Meta
            | EventKind::Checkpoint
            | EventKind::Damage
            | EventKind::Shapes
            | EventKind::Residual
            | EventKind::File
            | EventKind::Row
            | EventKind::Seal
            | EventKind::Unknown => Ok(()),
        }
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, piece: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        let shown = String::from_utf8_lossy(&piece[..piece.len().min(80)]).into_owned();
        Err(StreamError::log(Seq::ROOT, format!("does not know the recipe piece {shown}")))
    }
}
