//! Sessions of other programs as Codex's own: a rollout of enveloped lines, which
//! every release since 0.63 resumes.

use serde::Serialize;

use crate::adapters::exporter::{CARRIED, ExportedSession, Exporter};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, CallResult, Entry, Piece, Transcript, text_of};
use crate::model::files::RelPath;

use super::marks::is_harness_text;

/// The exporter of Codex.
pub(super) struct CodexExporter;

/// Who wrote the rollout, in the place of a release of Codex.
const ORIGINATOR: &str = "everlog";
const VERSION: &str = "0.0.0";

/// Codex's own word for the role of what is neither the person's nor the model's.
const DEVELOPER: &str = "developer";
/// What a system message is called that another program put among the messages.
const SYSTEM_NOTE: &str = "system-note";

impl Exporter for CodexExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::Notes,
                Ability::OwnThinking,
                Ability::Images,
                Ability::ResultImages,
                Ability::Order,
                Ability::Cwd,
                Ability::Times,
            ],
            needs: &[Need::SingleParts],
            digits: 3,
        }
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        // The member stands in the line, around the item.
        payload.first("ext")?.first("$entry")?.first(CARRIED)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid_of_time(session.created);
        // The program names files by local time, which is another one on each machine.
        let stamp = session.created.text(0);
        let day = stamp.get(..10).unwrap_or_default().replace('-', "/");
        let path = format!("sessions/{day}/rollout-{}-{id}.jsonl", stamp.replace(':', "-"));
        ExportedSession {
            files: vec![(RelPath::new(&path), lines(session, &id))],
            root: RelPath::new(""),
            name: path,
            go_on: format!("codex resume {id}"),
        }
    }
}

/// A line: its time, its type, and what it says.
#[derive(Serialize)]
struct Line<'a, P: Serialize> {
    timestamp: &'a str,
    r#type: &'static str,
    payload: P,
    // As a text, because Codex leaves out a line that is nested too deep.
    #[serde(skip_serializing_if = "Option::is_none", rename = "everlog")]
    carried: Option<&'a str>,
}

#[derive(Serialize)]
struct Meta<'a> {
    id: &'a str,
    timestamp: &'a str,
    cwd: &'a str,
    originator: &'static str,
    cli_version: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message { role: &'static str, content: Vec<Part<'a>> },
    Reasoning { summary: Vec<Part<'a>>, encrypted_content: Option<&'a str> },
    FunctionCall { name: &'a str, arguments: &'a str, call_id: &'a str },
    FunctionCallOutput { call_id: &'a str, output: Output<'a> },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    SummaryText { text: &'a str },
    InputImage { image_url: String },
}

/// What is shown of a message: without it, a session is resumed but not listed.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    UserMessage { message: String },
    AgentMessage { message: String },
}

fn lines(session: &Transcript, id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let created = time(session.created);
    let cwd = session.cwd.as_deref().unwrap_or("/");
    let meta = Meta { id, timestamp: &created, cwd, originator: ORIGINATOR, cli_version: VERSION, source: "cli" };
    push_line(&Line { timestamp: &created, r#type: "session_meta", payload: meta, carried: None }, &mut out);
    for entry in &session.entries {
        let timestamp = time(entry.time);
        let event =
            |payload, out: &mut Vec<u8>| push_line(&Line { timestamp: &timestamp, r#type: "event_msg", payload, carried: None }, out);
        let (before, after) = match event_of(entry) {
            Some(shown @ Event::AgentMessage { .. }) => (Some(shown), None),
            shown => (None, shown),
        };
        before.into_iter().for_each(|shown| event(shown, &mut out));
        let carried = entry.carried.as_deref();
        push_line(&Line { timestamp: &timestamp, r#type: "response_item", payload: item(entry), carried }, &mut out);
        after.into_iter().for_each(|shown| event(shown, &mut out));
    }
    out
}

fn time(time: Instant) -> String {
    format!("{}Z", time.text(3))
}

/// Our own records are maps with texts as keys, which always have a JSON text.
fn push_line(line: &impl Serialize, out: &mut Vec<u8>) {
    out.extend_from_slice(&serde_json::to_vec(line).unwrap_or_default());
    out.push(b'\n');
}

fn event_of(entry: &Entry) -> Option<Event> {
    match &entry.body {
        // What Codex itself said as the user was never shown.
        Body::User(pieces) => {
            let message = text_of(pieces);
            (!is_harness_text(&message)).then_some(Event::UserMessage { message })
        }
        Body::Answer(answer) if answer.pieces.iter().any(|piece| matches!(piece, Piece::Text(_))) => {
            Some(Event::AgentMessage { message: text_of(&answer.pieces) })
        }
        Body::Compaction { summary: text, .. } | Body::BranchSummary(text) => Some(Event::UserMessage { message: text.clone() }),
        Body::Answer(_) | Body::Result(_) | Body::Note { .. } | Body::System(_) | Body::Model { .. } | Body::Title(_) => None,
    }
}

fn item(entry: &Entry) -> Item<'_> {
    match &entry.body {
        Body::User(pieces) => message("user", pieces),
        Body::Note { kind, pieces } if kind == DEVELOPER || kind == SYSTEM_NOTE => message(DEVELOPER, pieces),
        Body::Note { pieces, .. } => message("user", pieces),
        Body::Answer(answer) => said(answer),
        Body::Result(result) => answered(result),
        Body::System(text) => Item::Message { role: DEVELOPER, content: vec![Part::InputText { text }] },
        Body::Compaction { summary: text, .. } | Body::BranchSummary(text) | Body::Model { model: text, .. } | Body::Title(text) => {
            Item::Message { role: "user", content: vec![Part::InputText { text }] }
        }
    }
}

fn message<'a>(role: &'static str, pieces: &'a [Piece]) -> Item<'a> {
    Item::Message { role, content: inputs(pieces) }
}

fn inputs(pieces: &[Piece]) -> Vec<Part<'_>> {
    let part = |piece| match piece {
        &Piece::Text(ref text) | &Piece::Thinking { ref text, .. } => Some(Part::InputText { text }),
        Piece::Image(image) => Some(Part::InputImage { image_url: format!("data:{};base64,{}", image.media_type, image.data) }),
        Piece::Call(_) => None,
    };
    pieces.iter().filter_map(part).collect()
}

/// One part of an answer: thoughts, texts or a call.
fn said(answer: &Answer) -> Item<'_> {
    if let Some(call) = answer.calls().next() {
        return Item::FunctionCall { name: &call.name, arguments: &call.arguments, call_id: &call.id };
    }
    let thoughts = || {
        answer
            .pieces
            .iter()
            .filter_map(|piece| if let Piece::Thinking { text, signature } = piece { Some((text, signature)) } else { None })
    };
    if thoughts().next().is_some() {
        let summary = thoughts().filter(|(text, _)| !text.is_empty()).map(|(text, _)| Part::SummaryText { text }).collect();
        return Item::Reasoning { summary, encrypted_content: thoughts().find_map(|(_, signature)| signature.as_deref()) };
    }
    let texts = answer.pieces.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(Part::OutputText { text }) } else { None });
    Item::Message { role: "assistant", content: texts.collect() }
}

fn answered(result: &CallResult) -> Item<'_> {
    let is_text = result.pieces.iter().all(|piece| matches!(piece, Piece::Text(_)));
    let output = if is_text { Output::Text(text_of(&result.pieces)) } else { Output::Parts(inputs(&result.pieces)) };
    Item::FunctionCallOutput { call_id: &result.call_id, output }
}
