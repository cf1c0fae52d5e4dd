//! A transcript as a file of entries, in the key order of the session manager.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::adapters::exporter::CARRIED;
use crate::json::Value;
use crate::model::export::transcript::{Answer, Body, CallResult, Entry, Outcome, Piece, Stop, Tokens, Transcript};

#[derive(Serialize)]
struct Header<'a> {
    r#type: &'static str,
    version: u32,
    id: &'a str,
    timestamp: String,
    cwd: &'a str,
    #[serde(rename = "parentSession", skip_serializing_if = "Option::is_none")]
    parent_session: Option<&'a str>,
}

/// What the first line says.
pub(in crate::adapters) struct Head<'a> {
    /// The session's id.
    pub id: &'a str,
    /// The folder that it worked in.
    pub cwd: &'a str,
    /// The session that it is a fork of.
    pub parent_session: Option<&'a str>,
}

/// An entry: its type, then its place, then its own members. A note has its own
/// members first.
#[derive(Serialize)]
struct EntryLine<'a, B: Serialize> {
    r#type: &'static str,
    id: &'a str,
    #[serde(rename = "parentId")]
    parent: Option<&'a str>,
    timestamp: String,
    #[serde(flatten)]
    body: B,
}

#[derive(Serialize)]
struct NoteLine<'a> {
    r#type: &'static str,
    #[serde(rename = "customType")]
    kind: &'a str,
    content: Vec<Part<'a>>,
    display: bool,
    id: &'a str,
    #[serde(rename = "parentId")]
    parent: Option<&'a str>,
    timestamp: String,
}

#[derive(Serialize)]
struct MessageBody<M: Serialize> {
    message: M,
}

#[derive(Serialize)]
struct User<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
    timestamp: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Assistant<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
    api: &'static str,
    provider: &'a str,
    model: &'a str,
    usage: Usage,
    stop_reason: &'static str,
    timestamp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    tool_name: &'a str,
    content: Vec<Part<'a>>,
    is_error: bool,
    timestamp: i64,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum PlainPart<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: &'a str,
        mime_type: &'a str,
    },
}

#[derive(Serialize)]
struct CallPart<'a> {
    r#type: &'static str,
    id: &'a str,
    name: &'a str,
    arguments: Option<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Plain(PlainPart<'a>),
    Call(CallPart<'a>),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<u64>,
    total_tokens: u64,
    cost: Cost,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    input: u32,
    output: u32,
    cache_read: u32,
    cache_write: u32,
    total: Number,
}

/// A number as JavaScript prints it: 0 and not 0.0.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compaction<'a> {
    summary: &'a str,
    first_kept_entry_id: &'a str,
    tokens_before: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BranchSummary<'a> {
    from_id: &'a str,
    summary: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelChange<'a> {
    provider: &'a str,
    model_id: &'a str,
}

#[derive(Serialize)]
struct Info<'a> {
    name: &'a str,
}

/// The lines of a session: a header, and a chain of entries.
pub(in crate::adapters) fn lines(session: &Transcript, head: &Head<'_>) -> Vec<u8> {
    let Head { id, cwd, parent_session } = *head;
    let header = Header { r#type: "session", version: 3, id, timestamp: time(session.created), cwd, parent_session };
    let mut out = json(&header).into_bytes();
    out.push(b'\n');
    let mut parent = None;
    for entry in &session.entries {
        let mut line = line(session, entry, parent);
        if let Some(member) = &entry.carried {
            line.pop();
            line.push_str(&format!(",\"{CARRIED}\":{member}}}"));
        }
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        parent = Some(entry.id.as_str());
    }
    out
}

/// Finds what an export put into an entry, in the payload that a reader makes of
/// it: members of the entry that a message is in stand apart from its own.
pub(in crate::adapters) fn carried(payload: Value<'_>) -> Option<Value<'_>> {
    let ext = payload.first("ext")?;
    ext.first("$entry").and_then(|entry| entry.first(CARRIED)).or_else(|| ext.first(CARRIED))
}

fn time(time: crate::model::export::instant::Instant) -> String {
    format!("{}Z", time.text(3))
}

/// Our own records are maps with texts as keys, which always have a JSON text.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn line(session: &Transcript, entry: &Entry, parent: Option<&str>) -> String {
    let millis = entry.time.millis();
    match &entry.body {
        // The programs ignore a system message, or take it for their own.
        Body::System(text) => {
            let content = vec![Part::Plain(PlainPart::Text { text })];
            note(entry, parent, "system-note", content)
        }
        Body::User(pieces) => {
            placed(entry, parent, "message", MessageBody { message: User { role: "user", content: parts(pieces), timestamp: millis } })
        }
        Body::Answer(answer) => placed(entry, parent, "message", MessageBody { message: assistant(answer, millis) }),
        Body::Result(result) => placed(entry, parent, "message", MessageBody { message: answered(result, millis) }),
        Body::Note { kind, pieces } => note(entry, parent, kind, parts(pieces)),
        Body::Compaction { summary, first_kept, tokens_before } => {
            // An id that no entry has keeps nothing.
            let first_kept_entry_id = first_kept.and_then(|kept| session.entries.get(kept)).map_or("", |kept| kept.id.as_str());
            placed(entry, parent, "compaction", Compaction { summary, first_kept_entry_id, tokens_before: *tokens_before })
        }
        Body::BranchSummary(summary) => {
            placed(entry, parent, "branch_summary", BranchSummary { from_id: parent.unwrap_or("root"), summary })
        }
        Body::Model { provider, model } => placed(entry, parent, "model_change", ModelChange { provider, model_id: model }),
        Body::Title(name) => placed(entry, parent, "session_info", Info { name }),
    }
}

fn placed(entry: &Entry, parent: Option<&str>, kind: &'static str, body: impl Serialize) -> String {
    json(&EntryLine { r#type: kind, id: &entry.id, parent, timestamp: time(entry.time), body })
}

fn note(entry: &Entry, parent: Option<&str>, kind: &str, content: Vec<Part<'_>>) -> String {
    json(&NoteLine { r#type: "custom_message", kind, content, display: true, id: &entry.id, parent, timestamp: time(entry.time) })
}

fn parts(pieces: &[Piece]) -> Vec<Part<'_>> {
    pieces.iter().map(part).collect()
}

fn part(piece: &Piece) -> Part<'_> {
    match piece {
        Piece::Text(text) => Part::Plain(PlainPart::Text { text }),
        Piece::Thinking { text, signature } => {
            Part::Plain(PlainPart::Thinking { thinking: text, thinking_signature: signature.as_deref() })
        }
        Piece::Image(image) => Part::Plain(PlainPart::Image { data: &image.data, mime_type: &image.media_type }),
        Piece::Call(call) => {
            let arguments = RawValue::from_string(call.arguments.clone()).or_else(|_| to_raw_value(&call.arguments)).ok();
            Part::Call(CallPart { r#type: "toolCall", id: &call.id, name: &call.name, arguments })
        }
    }
}

fn assistant(answer: &Answer, timestamp: i64) -> Assistant<'_> {
    Assistant {
        role: "assistant",
        content: parts(&answer.pieces),
        api: "openai-completions",
        provider: answer.provider.as_deref().unwrap_or_default(),
        model: answer.model.as_deref().unwrap_or_default(),
        usage: usage(answer.usage.unwrap_or_default()),
        stop_reason: match answer.stop {
            Some(Stop::EndTurn) | None => "stop",
            Some(Stop::ToolUse) => "toolUse",
            Some(Stop::MaxTokens) => "length",
            Some(Stop::Aborted) => "aborted",
            Some(Stop::Error) => "error",
        },
        timestamp,
        error_message: answer.error.as_deref(),
    }
}

fn usage(tokens: Tokens) -> Usage {
    Usage {
        input: tokens.input.unwrap_or(0),
        output: tokens.output.unwrap_or(0),
        cache_read: tokens.cache_read.unwrap_or(0),
        cache_write: tokens.cache_write.unwrap_or(0),
        reasoning: tokens.reasoning,
        total_tokens: tokens.total.unwrap_or(0),
        cost: Cost { input: 0, output: 0, cache_read: 0, cache_write: 0, total: Number(tokens.cost.unwrap_or(0.0)) },
    }
}

fn answered(result: &CallResult, timestamp: i64) -> Answered<'_> {
    Answered {
        role: "toolResult",
        tool_call_id: &result.call_id,
        tool_name: &result.name,
        content: parts(&result.pieces),
        is_error: result.outcome == Outcome::Failed,
        timestamp,
    }
}
