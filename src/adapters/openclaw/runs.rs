//! The log of a scheduled job: one line for each run that ended.

use crate::adapters::format::Check;
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::entries::schema::{Entry, EntrySchema};
use crate::adapters::kit::mapping::Target::{Ext, To};
use crate::adapters::kit::mapping::ValueKind::{Any, Text};
use crate::adapters::kit::mapping::{self, NoContent, NoIds, ParentId, Parents, Rendered, Setting, Table};
use crate::adapters::kit::tree::entry::{get, text_of, with_members};
use crate::adapters::kit::tree::scan::{self, Piece};
use crate::adapters::kit::tree::schema::TreeSchema;
use crate::json::{self, Dialect, Member, Style};
use crate::model::event::EventKind;
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};
use crate::runtimes::javascript as js;

use super::schema::{PROGRAM, SCHEMA};

/// What such a file holds, in its recipe's words.
pub(super) const RUNS: &str = "runs";

const RUN: Table = Table(&[
    ("ts", To("at_ms", Any)),
    ("jobId", To("job_id", Any)),
    ("action", To("event", Any)),
    ("status", To("state", Any)),
    ("error", To("error", Any)),
    ("summary", To("summary", Any)),
    ("diagnostics", Ext),
    ("delivered", Ext),
    ("deliveryStatus", Ext),
    ("deliveryError", Ext),
    ("delivery", Ext),
    ("sessionId", To("session_id", Any)),
    ("sessionKey", To("session_key", Any)),
    ("runId", To("run_id", Text)),
    ("runAtMs", To("run_at_ms", Any)),
    ("durationMs", To("duration_ms", Any)),
    ("nextRunAtMs", To("next_run_at_ms", Any)),
    ("model", To("model", Any)),
    ("provider", To("provider", Any)),
    ("usage", To("usage", Any)),
]);

const ORDER: &[&str] = &[
    "kind",
    "run_id",
    "job_id",
    "event",
    "state",
    "at_ms",
    "run_at_ms",
    "duration_ms",
    "next_run_at_ms",
    "session_id",
    "session_key",
    "model",
    "provider",
    "error",
    "summary",
    "usage",
];

/// A run log as OpenClaw reads it.
const RUN_LINES: EntrySchema = EntrySchema { is_record: is_run_line, ..SCHEMA };

const STYLE: Style = EntrySchema::STYLE;

/// Tells whether an object on a broken line is a line of a run log.
fn is_run_line(members: &[Member<'_>]) -> bool {
    let is_text = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == json::Kind::String);
    is_text("jobId") && is_text("action")
}

/// Tells whether an entry is a line of a run log: the first one decides what a file
/// is read as.
pub(super) fn is_run(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| {
        let is_text = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == json::Kind::String);
        get(members, "action").and_then(text_of).as_deref() == Some("finished") && is_text("jobId") && get(members, "type").is_none()
    })
}

/// Puts the lines of a run log.
pub(super) fn read<'a>(to: &mut Conversion<'a, '_>, path: &'a RelPath, bytes: &'a [u8], shapes: &mut Shapes) -> Result<(), StreamError> {
    let scan = scan::scan(path, bytes, PROGRAM, RUN_LINES, to.findings);
    let mut recipe = RecipeBuilder::default();
    for piece in &scan.pieces {
        match piece {
            Piece::Gap(gap, times) => recipe.gaps(&String::from_utf8_lossy(gap), *times),
            Piece::Damage { line, start, end, kind } => {
                let seq = to.put_damage(path, *line, *start, kind.word(), &bytes[*start..*end])?;
                recipe.events(seq, seq, |end, next| next.number() == end.number() + 1);
            }
            Piece::Entry(n, end) => one(to, scan.entries[*n].line.text, end, shapes, &mut recipe)?,
            Piece::Salvaged(entry, end) => one(to, entry.line.text, end, shapes, &mut recipe)?,
        }
    }
    to.rebuilt(path, RUNS, None, recipe);
    Ok(())
}

fn one<'a>(
    to: &mut Conversion<'a, '_>,
    text: &'a [u8],
    line_end: &[u8],
    shapes: &mut Shapes,
    recipe: &mut RecipeBuilder,
) -> Result<(), StreamError> {
    let decoded = js::decode_utf8(text);
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut payload = Vec::with_capacity(text.len());
    let setting = Setting { writer: STYLE.escapes, parent: ParentId::Unwritten };
    let is_object = json::scan_object(&decoded, Dialect::Strict, &mut members).is_ok();
    match RUN.claim(&members, setting, &NoIds).filter(|_| is_object) {
        Some(mut taken) => {
            taken.say("kind", b"\"cron\"".to_vec());
            let shape = RUN.shape(&members, shapes);
            taken.push_payload(ORDER, &NoContent, &RUN, shape, STYLE.escapes, &mut payload);
        }
        None => {
            payload.extend_from_slice(b"{\"kind\":\"cron\",\"record\":");
            json::push_carried_value(decoded.trim_ascii(), STYLE.escapes, &mut payload);
            payload.push(b'}');
        }
    }
    let seq = to.put(EventKind::Run, None, None, &payload)?;
    recipe.line_end(&String::from_utf8_lossy(line_end));
    if to.check == Check::EachRecord {
        let mut rendered = Vec::new();
        // A shape of our own table is always there.
        let _ = render(&payload, shapes, &mut rendered);
        if rendered != text {
            let count = to.residual((seq, seq), &rendered, text);
            recipe.residual(count);
            return Ok(());
        }
    }
    recipe.events(seq, seq, |end, next| next.number() == end.number() + 1);
    Ok(())
}

fn render(payload: &[u8], shapes: &Shapes, out: &mut Vec<u8>) -> Option<()> {
    if let Some(record) = json::members(payload).find(|member| member.name() == "record") {
        STYLE.push_value(record.value, out);
        return Some(());
    }
    let event = Rendered { payload, ts: None, parent: Seq::ROOT, parents: Parents::Unwritten };
    RUN.render(&event, shapes, &NoContent, &mut NoIds, mapping::To { style: STYLE, depth: 0, out })
}

/// Returns the renderer of run logs.
pub(super) fn renderer(shapes: &[Order]) -> Box<dyn RecordRenderer> {
    Box::new(Runs { shapes: Shapes::with_others(Order::default(), shapes.to_vec()) })
}

struct Runs {
    shapes: Shapes,
}

impl RecordRenderer for Runs {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Run {
            return Ok(());
        }
        let mut record = Vec::new();
        render(log.event(seq)?.payload, &self.shapes, &mut record)
            .ok_or_else(|| StreamError::log(seq, "names a shape that the log does not have"))?;
        out.record(&record)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, _: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"))
    }
}
