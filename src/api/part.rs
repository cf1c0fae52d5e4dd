//! What a message consists of.

use crate::json::{self, Kind};

use super::json::Json;
use super::reading::{Object, is_json};
use super::text::Text;

/// One part of a message.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// use everlog::Part;
///
/// for message in log.messages(&log.active())? {
///     for part in message?.parts {
///         match part {
///             Part::Text(text) => println!("{text}"),
///             Part::ToolCall(call) => println!("calls {}", call.name.unwrap_or_default()),
///             Part::ToolResult(result) => println!("gets {}", result.text()),
///             _ => {}
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// What was said.
    Text(Text),
    /// What the model thought before it spoke.
    Thinking(Thinking),
    /// A picture.
    Image(Media),
    /// A file that was given along.
    File(Media),
    /// A tool that the model calls.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// A command that a person ran.
    Shell(Shell),
    /// Anything else, as the log carries it.
    Other(Json),
}

/// What a model thought.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinking {
    /// The thought.
    pub text: Text,
    /// The provider's signature of it.
    pub signature: Option<String>,
}

/// A picture or a file: where it is, or its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Media {
    /// Its path on the machine of the session.
    pub path: Option<String>,
    /// Its address; a `data:` address has the bytes in it.
    pub uri: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Its media type, such as `image/png`.
    pub media_type: Option<String>,
    /// The source's own hash of its bytes.
    pub hash: Option<String>,
    /// Its bytes in base64, where the session has them.
    pub data: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The call's id, which the result repeats.
    pub id: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// What the tool is called with.
    pub arguments: Option<Arguments>,
}

/// What a tool is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// JSON, where the source stores JSON.
    Json(Json),
    /// Text, where the source stores a string. It nearly always holds JSON.
    Text(Text),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: Option<String>,
    /// The tool's name.
    pub name: Option<String>,
    /// Whether the tool failed, where the source says so.
    pub is_error: Option<bool>,
    /// The answer: text and pictures.
    pub content: Vec<Part>,
}

/// A command that a person ran.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shell {
    /// The command line.
    pub command: Text,
    /// What it printed.
    pub output: Text,
    /// How it ended, where the source says so.
    pub exit_code: Option<i64>,
}

impl Arguments {
    fn of(value: &[u8]) -> Arguments {
        if json::kind_of(value) == Kind::String { Arguments::Text(Text::of(value)) } else { Arguments::Json(Json::of(value)) }
    }

    /// Returns the arguments as JSON; `None` where they are text that is not JSON.
    #[must_use]
    pub fn json(&self) -> Option<Json> {
        match self {
            Arguments::Json(json) => Some(json.clone()),
            Arguments::Text(text) => is_json(text.as_str().as_bytes()).then(|| {
                // What not every parser takes becomes `$raw` here, as in a log.
                let mut carried = Vec::new();
                json::push_carried_value(text.as_str().trim().as_bytes(), json::Escapes::Utf8, &mut carried);
                Json::of(&carried)
            }),
        }
    }
}

impl ToolResult {
    /// Returns all text of the answer, its parts joined by line ends.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.content)
    }
}

impl Shell {
    /// Reads a command from an object with these names.
    pub(super) fn of(object: &Object<'_>, exit_code: &str) -> Option<Shell> {
        Some(Shell {
            command: object.text("command")?,
            output: object.text("output").unwrap_or_else(|| Text::of(b"\"\"")),
            exit_code: object.number(exit_code).map(|code| code as i64),
        })
    }
}

impl Media {
    fn of(part: &Object<'_>) -> Media {
        Media {
            path: part.string("path"),
            uri: part.string("uri").or_else(|| part.string("ref")),
            name: part.string("name"),
            media_type: part.string("media_type").or_else(|| part.string("mimeType")),
            hash: part.string("hash"),
            data: part.string("data"),
        }
    }
}

/// Joins the text parts among these.
pub(super) fn joined(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None }).collect();
    texts.join("\n")
}

/// How deep a part is: a result of a tool holds parts, but no further results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Message,
    Result,
}

/// Reads the `content` of a payload. An edit may have put the source's own form
/// there, which can be a string.
pub(super) fn content(payload: &Object<'_>) -> Vec<Part> {
    contents(payload, Depth::Message)
}

fn contents(object: &Object<'_>, depth: Depth) -> Vec<Part> {
    match object.get("content") {
        Some(value) if json::kind_of(value) == Kind::String => vec![Part::Text(Text::of(value))],
        Some(value) if Text::is_raw(value) => vec![Part::Text(Text::of(value))],
        _ => object.list("content").map(|value| part(value, depth)).collect(),
    }
}

fn part(value: &[u8], depth: Depth) -> Part {
    let object = Object::of(value);
    let kind = object.string("type").unwrap_or_default();
    match (kind.as_str(), depth) {
        ("text", _) => object.text("text").map(Part::Text),
        ("thinking", _) => object.text("text").or_else(|| object.text("thinking")).map(|text| {
            let signature = object.string("signature").or_else(|| object.string("thinkingSignature"));
            Part::Thinking(Thinking { text, signature })
        }),
        ("image", _) => Some(Part::Image(Media::of(&object))),
        ("file", _) => Some(Part::File(Media::of(&object))),
        ("tool_call" | "toolCall" | "tool_use", _) => Some(Part::ToolCall(tool_call(&object))),
        ("tool_result", Depth::Message) => Some(Part::ToolResult(ToolResult {
            call_id: object.string("call_id"),
            name: object.string("name"),
            is_error: object.flag("is_error"),
            content: contents(&object, Depth::Result),
        })),
        ("shell", _) => Shell::of(&object, "exit_code").map(Part::Shell),
        // A part with members that its program's writer does not know is carried
        // whole, and says what it is all the same.
        ("other", _) => object.get("value").and_then(|value| said_by_other(&Object::of(value))),
        _ => None,
    }
    .unwrap_or_else(|| Part::Other(Json::of(value)))
}

fn said_by_other(value: &Object<'_>) -> Option<Part> {
    match value.string("type")?.as_str() {
        "text" => value.text("text").map(Part::Text),
        "toolCall" | "tool_use" => Some(Part::ToolCall(tool_call(value))),
        _ => None,
    }
}

/// Reads tool calls that the log carries as their source has them, because their
/// keys are in an order that the source's own writer does not use.
pub(super) fn unusual_tool_calls(ext: &Object<'_>) -> impl Iterator<Item = Part> {
    ext.list("tool_calls").map(|value| {
        let call = Object::of(value);
        let function = call.object("function");
        let arguments = function.get("arguments").map(Arguments::of);
        Part::ToolCall(ToolCall { id: call.string("id"), name: function.string("name"), arguments })
    })
}

fn tool_call(object: &Object<'_>) -> ToolCall {
    let arguments = object.get("arguments").or_else(|| object.get("input")).map(Arguments::of);
    ToolCall { id: object.string("id"), name: object.string("name"), arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<Part> {
        let payload = format!(r#"{{"content":{text}}}"#);
        content(&Object::of(payload.as_bytes()))
    }

    #[test]
    fn content_is_read_in_the_form_of_the_log_and_of_an_edit() {
        assert_eq!(joined(&parts(r#"[{"type":"text","text":"a"},{"type":"thinking","text":"t"},{"type":"text","text":"b"}]"#)), "a\nb");
        assert_eq!(joined(&parts(r#""as an edit has it""#)), "as an edit has it");
        assert_eq!(joined(&parts(r#"[{"type":"other","value":{"type":"text","text":"with more","x":1}}]"#)), "with more");
        assert_eq!(parts("null"), []);
    }

    #[test]
    fn arguments_are_json_where_their_text_is() {
        let call = |arguments: &str| {
            let list = format!(r#"[{{"type":"tool_call","id":"1","name":"n","arguments":{arguments}}}]"#);
            let Part::ToolCall(call) = parts(&list).remove(0) else { panic!("no call") };
            call.arguments.unwrap().json().map(|json| json.to_string())
        };
        assert_eq!(call(r#"{"a":1.50}"#).as_deref(), Some(r#"{"a":1.50}"#));
        assert_eq!(call(r#""{\"a\": 1.50}\n""#).as_deref(), Some(r#"{"a":1.50}"#));
        assert_eq!(call(r#""{\"a\":\"\\ud800\"}""#).as_deref(), Some(r#"{"a":{"$raw":"\"\\ud800\""}}"#));
        assert_eq!(call(r#""not JSON""#), None);
        assert_eq!(call(r#""""#), None);
    }

    #[test]
    fn a_result_inside_a_result_is_carried_and_not_opened() {
        let nested = r#"[{"type":"tool_result","call_id":"1","content":[{"type":"tool_result","content":[]},{"type":"text","text":"x"}]}]"#;
        let Part::ToolResult(result) = parts(nested).remove(0) else { panic!() };
        assert_eq!(result.text(), "x");
        assert!(matches!(result.content[0], Part::Other(_)));
    }
}
