//! Sessions of other programs as Hermes WebUI's own: one sidecar.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::adapters::kit::chat;
use crate::adapters::kit::object::{Object, list, token};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, Entry, Piece, Stop, Transcript};
use crate::model::files::RelPath;
use crate::runtimes::python::number::float_json;

use super::wire::{DOCUMENT_STYLE, MESSAGES};

/// The member of a row with what the program cannot say. It keeps all that begin
/// with an underscore, and sends none of them to the model.
const CARRIED: &str = "_everlog";

/// So many digits of the seed make an id of the program's own form.
const ID_DIGITS: usize = 12;

/// The exporter of Hermes WebUI.
pub(super) struct HermesWebUiExporter;

impl Exporter for HermesWebUiExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::Thinking,
                Ability::Images,
                Ability::DearImages,
                Ability::StopReasons,
                Ability::Models,
                Ability::Titles,
                Ability::Cwd,
                Ability::Times,
            ],
            // Of two exchanges with equal texts and times the second is not sent.
            needs: &[Need::AbsoluteCwd, Need::RisingTimes, Need::SingleAnswers, Need::SpokenAnswers, Need::ToolNames],
            digits: 6,
        }
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        payload.first("ext")?.first(CARRIED)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.hex()[..ID_DIGITS].to_owned();
        let last = session.entries.last().map_or(session.created, |entry| entry.time);
        let rows: Vec<Vec<u8>> = session.entries.iter().enumerate().filter_map(|(n, entry)| row(n + 1, entry)).collect();
        let models = session.entries.iter().rev().filter_map(|entry| match &entry.body {
            Body::Answer(answer) => answer.model.as_deref(),
            Body::System(_)
            | Body::User(_)
            | Body::Result(_)
            | Body::Note { .. }
            | Body::Compaction { .. }
            | Body::BranchSummary(_)
            | Body::Model { .. }
            | Body::Title(_) => None,
        });
        let mut sidecar = Object::new();
        sidecar.text("session_id", &id);
        sidecar.text("title", session.title.as_deref().unwrap_or("Untitled"));
        sidecar.text("workspace", session.cwd.as_deref().unwrap_or("/"));
        sidecar.text("model", models.into_iter().next().unwrap_or("unknown"));
        // The program takes 0 for a time that is missing.
        let first = Instant::EPOCH.after(1_000);
        sidecar.json("created_at", seconds(session.created.max(first)));
        sidecar.json("updated_at", seconds(last.max(first)));
        if session.title.is_some() {
            sidecar.json("manual_title", "true");
        }
        sidecar.json("message_count", rows.len().to_string());
        sidecar.json(MESSAGES, list(rows));
        sidecar.json("tool_calls", "[]");
        let mut bytes = Vec::new();
        sidecar.push(DOCUMENT_STYLE, &mut bytes);
        let name = format!("{id}.json");
        ExportedSession {
            files: vec![(RelPath::new(&name), bytes)],
            root: RelPath::new(""),
            go_on: format!("session {id} in the list of Hermes WebUI, which must not run while the file is put there"),
            name,
        }
    }
}

fn row(number: usize, entry: &Entry) -> Option<Vec<u8>> {
    let (role, content, pieces) = chat::said(&entry.body)?;
    let mut row = Object::new();
    row.text("role", role);
    if let Body::Result(result) = &entry.body {
        row.text("name", &result.name);
        row.text("tool_name", &result.name);
    }
    if pieces.iter().any(|piece| matches!(piece, Piece::Image(_))) {
        row.json("content", list(pieces.iter().filter_map(part)));
    } else {
        row.text("content", &content);
    }
    match &entry.body {
        Body::Result(result) => row.text("tool_call_id", &result.call_id),
        Body::Answer(answer) => push_answer(answer, &mut row),
        Body::User(_)
        | Body::Note { .. }
        | Body::System(_)
        | Body::BranchSummary(_)
        | Body::Compaction { .. }
        | Body::Model { .. }
        | Body::Title(_) => {}
    }
    row.json("id", number.to_string());
    row.json("timestamp", seconds(entry.time));
    if let Body::Answer(Answer { model: Some(model), .. }) = &entry.body {
        row.text("_usedModel", model);
    }
    if let Some(carried) = &entry.carried {
        row.json(CARRIED, carried);
    }
    Some(row.finish())
}

/// Returns a text or a picture of a person's message.
fn part(piece: &Piece) -> Option<Vec<u8>> {
    let mut part = Object::new();
    match piece {
        Piece::Text(text) => {
            part.text("type", "text");
            part.text("text", text);
        }
        Piece::Image(image) => {
            let mut address = Object::new();
            address.json("url", token(&format!("data:{};base64,{}", image.media_type, image.data)));
            part.text("type", "image_url");
            part.json("image_url", address.finish());
        }
        Piece::Thinking { .. } | Piece::Call(_) => return None,
    }
    Some(part.finish())
}

fn push_answer(answer: &Answer, row: &mut Object) {
    let thinking = chat::thinking(answer);
    if !thinking.is_empty() {
        row.text("reasoning", &thinking);
    }
    if let Some(stop) = answer.stop {
        let word = match stop {
            Stop::EndTurn => "stop",
            Stop::ToolUse => "tool_calls",
            Stop::MaxTokens => "length",
            Stop::Aborted => "cancelled",
            Stop::Error => "error",
        };
        row.text("finish_reason", word);
    }
    if !thinking.is_empty() {
        row.text("reasoning_content", &thinking);
    }
    if let Some(calls) = chat::calls(answer, &["id", "call_id"]) {
        row.json("tool_calls", calls);
    }
}

/// Seconds since the beginning of 1970, as CPython writes a float.
fn seconds(time: Instant) -> String {
    const MICROS: f64 = 1e6;
    float_json(time.micros() as f64 / MICROS)
}
