//! The records of an exported transcript, in the key order of the program.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, CallResult, Entry, Outcome, Piece, Stop, Transcript};

/// The release in whose form records are written; every release since 1.0 takes it.
const VERSION: &str = "2.1.326";
/// What stands for the program's own way of being started without a terminal.
const ENTRYPOINT: &str = "sdk-cli";

/// A record: its place, what it says, and where it was said.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a, M: Serialize> {
    parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    #[serde(flatten)]
    said: M,
    uuid: &'a str,
    timestamp: String,
    user_type: &'static str,
    entrypoint: &'static str,
    cwd: &'a str,
    session_id: &'a str,
    version: &'static str,
    git_branch: &'static str,
    #[serde(skip_serializing_if = "Option::is_none", rename = "everlog")]
    carried: Option<Box<RawValue>>,
}

/// The type of a prompt comes before its message, that of an answer after it.
#[derive(Serialize)]
struct Prompt<'a> {
    r#type: &'static str,
    message: User<'a>,
}

#[derive(Serialize)]
struct Reply<'a> {
    message: Assistant<'a>,
    r#type: &'static str,
}

#[derive(Serialize)]
struct User<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
struct Assistant<'a> {
    id: String,
    r#type: &'static str,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    content: Vec<Block<'a>>,
    stop_reason: Option<&'static str>,
    stop_sequence: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_read_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        r#type: &'static str,
        text: &'a str,
    },
    Thinking {
        r#type: &'static str,
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    Image {
        r#type: &'static str,
        source: Source<'a>,
    },
    Call {
        r#type: &'static str,
        id: &'a str,
        name: &'a str,
        input: Option<Box<RawValue>>,
    },
    Result {
        tool_use_id: &'a str,
        r#type: &'static str,
        content: Content<'a>,
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Title<'a> {
    r#type: &'static str,
    custom_title: &'a str,
    session_id: &'a str,
}

/// The lines of a session: a chain of records, and its title.
pub(super) fn lines(session: &Transcript, id: &str, cwd: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parent: Option<String> = None;
    for entry in &session.entries {
        let uuid = session.seed.uuid_of(&entry.id);
        let place = Place { session: id, cwd, parent: parent.as_deref(), uuid: &uuid };
        push_line(&record(session, entry, &place), &mut out);
        parent = Some(uuid);
    }
    if let Some(title) = &session.title {
        push_line(&json(&Title { r#type: "custom-title", custom_title: title, session_id: id }), &mut out);
    }
    out
}

fn push_line(line: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(line.as_bytes());
    out.push(b'\n');
}

/// Our own records are maps with texts as keys, which always have a JSON text.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Where a record stands.
struct Place<'a> {
    session: &'a str,
    cwd: &'a str,
    parent: Option<&'a str>,
    uuid: &'a str,
}

fn record(session: &Transcript, entry: &Entry, place: &Place<'_>) -> String {
    match &entry.body {
        Body::Answer(answer) => {
            let id = format!("msg_{}", &session.seed.derive(&entry.id)[..24]);
            placed(Reply { message: assistant(answer, id), r#type: "assistant" }, entry, place)
        }
        Body::Result(result) => prompt(Content::Blocks(vec![answered(result)]), entry, place),
        Body::User(pieces) | Body::Note { pieces, .. } => prompt(content(pieces), entry, place),
        Body::System(text) | Body::Compaction { summary: text, .. } | Body::BranchSummary(text) | Body::Title(text) => {
            prompt(Content::Text(text), entry, place)
        }
        Body::Model { model, .. } => prompt(Content::Text(model), entry, place),
    }
}

fn prompt(content: Content<'_>, entry: &Entry, place: &Place<'_>) -> String {
    placed(Prompt { r#type: "user", message: User { role: "user", content } }, entry, place)
}

fn placed(said: impl Serialize, entry: &Entry, place: &Place<'_>) -> String {
    json(&Record {
        parent_uuid: place.parent,
        is_sidechain: false,
        said,
        uuid: place.uuid,
        timestamp: time(entry.time),
        user_type: "external",
        entrypoint: ENTRYPOINT,
        cwd: place.cwd,
        session_id: place.session,
        version: VERSION,
        git_branch: "",
        carried: entry.carried.clone().and_then(|member| RawValue::from_string(member).ok()),
    })
}

fn time(time: Instant) -> String {
    format!("{}Z", time.text(3))
}

/// One text is the content itself, anything else a list of blocks.
fn content(pieces: &[Piece]) -> Content<'_> {
    match pieces {
        [Piece::Text(text)] => Content::Text(text),
        _ => Content::Blocks(pieces.iter().map(block).collect()),
    }
}

fn block(piece: &Piece) -> Block<'_> {
    match piece {
        Piece::Text(text) => Block::Text { r#type: "text", text },
        Piece::Thinking { text, signature } => Block::Thinking { r#type: "thinking", thinking: text, signature: signature.as_deref() },
        Piece::Image(image) => {
            Block::Image { r#type: "image", source: Source { r#type: "base64", media_type: &image.media_type, data: &image.data } }
        }
        Piece::Call(call) => {
            let input = RawValue::from_string(call.arguments.clone()).or_else(|_| to_raw_value(&call.arguments)).ok();
            Block::Call { r#type: "tool_use", id: &call.id, name: &call.name, input }
        }
    }
}

fn assistant(answer: &Answer, id: String) -> Assistant<'_> {
    Assistant {
        id,
        r#type: "message",
        role: "assistant",
        model: answer.model.as_deref(),
        // A text in the place of the list ends the program.
        content: answer.pieces.iter().map(block).collect(),
        stop_reason: answer.stop.and_then(|stop| match stop {
            Stop::EndTurn => Some("end_turn"),
            Stop::ToolUse => Some("tool_use"),
            Stop::MaxTokens => Some("max_tokens"),
            Stop::Aborted | Stop::Error => None,
        }),
        stop_sequence: None,
        usage: answer.usage.map(|tokens| Usage {
            input_tokens: tokens.input,
            cache_creation_input_tokens: tokens.cache_write,
            cache_read_input_tokens: tokens.cache_read,
            output_tokens: tokens.output,
        }),
    }
}

fn answered(result: &CallResult) -> Block<'_> {
    let content = if result.pieces.is_empty() { Content::Text("") } else { content(&result.pieces) };
    Block::Result { tool_use_id: &result.call_id, r#type: "tool_result", content, is_error: result.outcome == Outcome::Failed }
}
