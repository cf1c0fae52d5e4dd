//! What an entry of a document says, as an event that can be compared with those
//! of the log.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::export::source::SourceEvent;
use crate::model::event::EventKind;
use crate::model::export::transcript::{Answer, Body, CallResult, Clock, Entry, Outcome, Piece, Stop, Tokens};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

/// What one entry of a document says.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// Its time, where the document says one.
    pub ts: Option<String>,
    /// What it says.
    pub body: Body,
}

#[derive(Serialize)]
struct Payload<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Summary<'a> {
    summary: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PlainPart<'a> {
    Text { text: &'a str },
    Thinking { text: &'a str },
    Image { media_type: &'a str, data: &'a str },
}

#[derive(Serialize)]
struct CallPart<'a> {
    r#type: &'static str,
    id: &'a str,
    name: &'a str,
    arguments: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct ResultPart<'a> {
    r#type: &'static str,
    call_id: &'a str,
    name: &'a str,
    is_error: bool,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Plain(PlainPart<'a>),
    Call(CallPart<'a>),
    Result(ResultPart<'a>),
}

#[derive(Serialize)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    total: Option<u64>,
    cost: Option<f64>,
}

impl Said {
    /// What an entry says, in a document that says all of it.
    #[must_use]
    pub fn of(entry: &Entry) -> Said {
        let ts = (entry.clock == Clock::Said).then(|| format!("{}Z", entry.time.shortest()));
        Said { ts, body: entry.body.clone() }
    }

    /// Returns it as an event of a log.
    ///
    /// # Errors
    /// When the payload that is made of it is not valid JSON.
    pub(super) fn event(&self, seq: Seq) -> Result<SourceEvent, StreamError> {
        let (kind, payload) = payload(&self.body);
        SourceEvent::from_payload(seq, kind, self.ts.clone(), payload)
    }
}

/// Our own records are maps with texts as keys, which always have a JSON text.
fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn payload(body: &Body) -> (EventKind, Vec<u8>) {
    match body {
        Body::System(text) => (EventKind::Message, plain("system", vec![Part::Plain(PlainPart::Text { text })])),
        Body::Note { pieces, .. } => (EventKind::Message, plain("system", parts(pieces))),
        Body::User(pieces) => (EventKind::Message, plain("user", parts(pieces))),
        Body::Answer(answer) => (EventKind::Message, json(&answered(answer))),
        Body::Result(result) => (EventKind::Message, plain("tool", vec![Part::Result(result_part(result))])),
        Body::Compaction { summary, .. } => (EventKind::Compaction, json(&Summary { summary })),
        Body::BranchSummary(summary) => (EventKind::BranchSummary, json(&Summary { summary })),
        Body::Model { provider, model } => (EventKind::ModelChange, json(&serde_json::json!({ "provider": provider, "model": model }))),
        Body::Title(title) => (EventKind::Meta, json(&serde_json::json!({ "title": title }))),
    }
}

fn plain(role: &'static str, content: Vec<Part<'_>>) -> Vec<u8> {
    json(&Payload { role, content, model: None, provider: None, usage: None, stop_reason: None, error: None })
}

fn answered(answer: &Answer) -> Payload<'_> {
    Payload {
        role: "assistant",
        content: parts(&answer.pieces),
        model: answer.model.as_deref(),
        provider: answer.provider.as_deref(),
        usage: answer.usage.map(counts),
        stop_reason: answer.stop.map(word_of),
        error: answer.error.as_deref(),
    }
}

fn result_part(result: &CallResult) -> ResultPart<'_> {
    ResultPart {
        r#type: "tool_result",
        call_id: &result.call_id,
        name: &result.name,
        is_error: result.outcome == Outcome::Failed,
        content: parts(&result.pieces),
    }
}

fn parts(pieces: &[Piece]) -> Vec<Part<'_>> {
    pieces.iter().map(part).collect()
}

fn part(piece: &Piece) -> Part<'_> {
    match piece {
        Piece::Text(text) => Part::Plain(PlainPart::Text { text }),
        Piece::Thinking { text, .. } => Part::Plain(PlainPart::Thinking { text }),
        Piece::Image(image) => Part::Plain(PlainPart::Image { media_type: &image.media_type, data: &image.data }),
        Piece::Call(call) => Part::Call(CallPart { r#type: "tool_call", id: &call.id, name: &call.name, arguments: raw(&call.arguments) }),
    }
}

/// Returns JSON text as a value that is written as it is.
pub(super) fn raw(text: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).or_else(|_| to_raw_value(text)).ok()
}

fn counts(tokens: Tokens) -> Counts {
    Counts {
        input: tokens.input,
        output: tokens.output,
        cache_read: tokens.cache_read,
        cache_write: tokens.cache_write,
        reasoning: tokens.reasoning,
        total: tokens.total,
        cost: tokens.cost,
    }
}

/// The word of a log for why a model stopped.
pub(super) fn word_of(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Aborted => "aborted",
        Stop::Error => "error",
    }
}

/// The inverse of [`word_of`].
pub(super) fn stop_of(word: &str) -> Option<Stop> {
    [Stop::EndTurn, Stop::ToolUse, Stop::MaxTokens, Stop::Aborted, Stop::Error].into_iter().find(|stop| word_of(*stop) == word)
}
