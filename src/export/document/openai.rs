//! Chat messages for fine-tuning: a session is one line, an object with its
//! messages in the form of the chat interface that most providers took over.

use serde::Serialize;

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability};
use crate::model::export::transcript::{Answer, Body, Call, CallResult, Image, Outcome, Piece, Transcript, text_of};
use crate::model::files::RelPath;

use super::kind::{DOCUMENT, Document, SessionForm, Sharing};
use super::said::Said;

/// Chat messages.
pub(super) struct OpenAi;

#[derive(Serialize)]
struct Line<'a> {
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Address },
}

#[derive(Serialize)]
struct Address {
    url: String,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Exporter for OpenAi {
    fn abilities(&self) -> Abilities {
        Abilities { can: &[Ability::SystemMessages, Ability::Images], needs: &[], digits: 9 }
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let messages = session.entries.iter().filter_map(|entry| message(&entry.body)).collect();
        // Our own records are maps with texts as keys, which always have a JSON text.
        let mut line = serde_json::to_vec(&Line { messages }).unwrap_or_default();
        line.push(b'\n');
        ExportedSession {
            files: vec![(RelPath::new(DOCUMENT), line)],
            root: RelPath::new(""),
            name: DOCUMENT.to_owned(),
            go_on: String::new(),
        }
    }
}

impl Document for OpenAi {
    fn id(&self) -> &'static str {
        "openai"
    }

    fn describes(&self) -> &'static str {
        "chat messages for fine-tuning, a session per line"
    }

    fn ending(&self) -> &'static str {
        "jsonl"
    }

    fn sharing(&self) -> Sharing {
        Sharing::LineEach("sessions.jsonl")
    }

    fn form(&self) -> SessionForm {
        SessionForm::AsRequest
    }

    fn read(&self, session: &ExportedSession, _written: &Transcript) -> Result<Vec<Said>, String> {
        let line = session.files.first().map(|(_, line)| line.trim_ascii_end()).ok_or("there is no line")?;
        let messages = Value::trusted(line).first("messages").ok_or("there are no messages")?;
        messages.elements().map(|message| Ok(Said { ts: None, body: read(message)? })).collect()
    }
}

fn message(body: &Body) -> Option<Message<'_>> {
    let plain = |role, content| Some(Message { role, tool_call_id: None, content: Some(content), tool_calls: Vec::new() });
    match body {
        Body::System(text) => plain("system", Content::Text(text.clone())),
        Body::User(pieces) | Body::Note { pieces, .. } => plain("user", content(pieces)),
        Body::Answer(answer) => {
            let text = text_of(&answer.pieces);
            let content = (!text.is_empty()).then_some(Content::Text(text));
            Some(Message { role: "assistant", tool_call_id: None, content, tool_calls: answer.calls().map(tool_call).collect() })
        }
        Body::Result(result) => Some(Message {
            role: "tool",
            tool_call_id: Some(&result.call_id),
            content: Some(Content::Text(text_of(&result.pieces))),
            tool_calls: Vec::new(),
        }),
        // Its abilities leave these out.
        Body::Compaction { .. } | Body::BranchSummary(_) | Body::Model { .. } | Body::Title(_) => None,
    }
}

fn content(pieces: &[Piece]) -> Content<'_> {
    if !pieces.iter().any(|piece| matches!(piece, Piece::Image(_))) {
        return Content::Text(text_of(pieces));
    }
    let parts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(Part::Text { text }),
        Piece::Image(image) => {
            Some(Part::ImageUrl { image_url: Address { url: format!("data:{};base64,{}", image.media_type, image.data) } })
        }
        Piece::Thinking { .. } | Piece::Call(_) => None,
    });
    Content::Parts(parts.collect())
}

fn tool_call(call: &Call) -> ToolCall<'_> {
    ToolCall { id: &call.id, r#type: "function", function: Function { name: &call.name, arguments: &call.arguments } }
}

fn read(message: Value<'_>) -> Result<Body, String> {
    let [role, content, calls, call_id] = message.get_each(["role", "content", "tool_calls", "tool_call_id"]);
    let role = role.map(|role| role.to_str().into_owned()).unwrap_or_default();
    let mut pieces: Vec<Piece> = match content {
        Some(text) if text.is_string() => vec![Piece::Text(text.to_str().into_owned())],
        Some(parts) => parts.elements().filter_map(read_part).collect(),
        None => Vec::new(),
    };
    match role.as_str() {
        "system" => Ok(Body::System(text_of(&pieces))),
        "user" => Ok(Body::User(pieces)),
        "assistant" => {
            pieces.extend(calls.into_iter().flat_map(Value::elements).map(|call| Piece::Call(read_call(call))));
            Ok(Body::Answer(Answer { pieces, model: None, provider: None, usage: None, stop: None, error: None }))
        }
        "tool" => {
            let call_id = call_id.map(|id| id.to_str().into_owned()).unwrap_or_default();
            Ok(Body::Result(CallResult { call_id, name: String::new(), outcome: Outcome::Done, pieces }))
        }
        other => Err(format!("a message has the role {other:?}")),
    }
}

fn read_part(part: Value<'_>) -> Option<Piece> {
    if let Some(text) = part.first("text") {
        return Some(Piece::Text(text.to_str().into_owned()));
    }
    let url = part.first("image_url")?.first("url")?.to_str().into_owned();
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Piece::Image(Image { media_type: media_type.to_owned(), data: data.to_owned() }))
}

fn read_call(call: Value<'_>) -> Call {
    let word = |value: Option<Value<'_>>| value.map(|value| value.to_str().into_owned()).unwrap_or_default();
    let function = call.first("function");
    Call {
        id: word(call.first("id")),
        name: word(function.and_then(|function| function.first("name"))),
        arguments: word(function.and_then(|function| function.first("arguments"))),
    }
}
