//! A message as one flat object, for programs that read JSON Lines.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::event::to_log_json;
use crate::model::ids::Seq;

use super::message::{Message, MessageKind};
use super::part::{Arguments, Media, Part};
use super::role::Role;
use super::session::Session;
use super::stop_reason::StopReason;
use super::usage::Usage;

/// A message as one flat object: the lines of `everlog replay --json`.
///
/// Every member is always there, `null` where the source does not say it, so
/// that a table made of many messages has the same columns for all of them.
/// `docs/schema/message.schema.json` describes it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// for message in log.messages(&log.active())? {
///     let line = message?.flat(log.session()).to_json()?;
///     assert!(line.starts_with(r#"{"session":"s42","#));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct FlatMessage<'a> {
    /// The session's id in its program.
    pub session: &'a str,
    /// The program's format.
    pub format: &'a str,
    /// The number of the message's event in the log.
    pub seq: Seq,
    /// Its place among the messages that are shown, from 0.
    pub index: u64,
    /// Whether it is a message, or a summary that stands among them.
    #[serde(rename = "type")]
    pub kind: MessageKind,
    /// The source's own time.
    pub ts: Option<&'a str>,
    /// That time in UTC, where its zone is known.
    pub time: Option<String>,
    /// Who said it.
    pub role: Role,
    /// The source's own word for the role, where it is another.
    pub source_role: Option<&'a str>,
    /// All text parts, joined by line ends.
    pub text: String,
    /// All thinking, joined by line ends.
    pub thinking: Option<String>,
    /// The tools that are called.
    pub tool_calls: Vec<FlatToolCall<'a>>,
    /// What tools answered.
    pub tool_results: Vec<FlatToolResult<'a>>,
    /// A command that a person ran.
    pub shell: Option<FlatShell<'a>>,
    /// Pictures and files, without their bytes.
    pub files: Vec<FlatFile<'a>>,
    /// The name of who said it.
    pub name: Option<&'a str>,
    /// The model that wrote it.
    pub model: Option<&'a str>,
    /// The provider of that model.
    pub provider: Option<&'a str>,
    /// The tokens that it took.
    pub usage: Option<Usage>,
    /// What it cost.
    pub cost: Option<f64>,
    /// Why the model stopped.
    pub stop_reason: Option<StopReason>,
    /// The source's own word for that.
    pub source_stop_reason: Option<&'a str>,
    /// What failed.
    pub error: Option<&'a str>,
    /// Who would not see it.
    pub hidden_from: &'a [String],
    /// The source's own id of the message.
    pub source_id: Option<&'a str>,
    /// Whether some text is only readable, and not exactly what the source had;
    /// the event `seq` of the log has that.
    pub lossy: bool,
}

/// A call of a tool in a [`FlatMessage`].
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct FlatToolCall<'a> {
    /// The call's id.
    pub id: Option<&'a str>,
    /// The tool's name.
    pub name: Option<&'a str>,
    /// What it is called with: JSON, also where the source stores it in a
    /// string; a string only where that does not hold JSON.
    pub arguments: Option<Box<RawValue>>,
}

/// What a tool answered, in a [`FlatMessage`].
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct FlatToolResult<'a> {
    /// The id of the call.
    pub call_id: Option<&'a str>,
    /// The tool's name.
    pub name: Option<&'a str>,
    /// Whether the tool failed.
    pub is_error: Option<bool>,
    /// All text of the answer.
    pub text: String,
}

/// A command that a person ran, in a [`FlatMessage`].
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct FlatShell<'a> {
    /// The command line.
    pub command: &'a str,
    /// What it printed.
    pub output: &'a str,
    /// How it ended.
    pub exit_code: Option<i64>,
}

/// A picture or a file in a [`FlatMessage`].
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct FlatFile<'a> {
    /// `image` or `file`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its path.
    pub path: Option<&'a str>,
    /// Its address, unless that is its bytes.
    pub uri: Option<&'a str>,
    /// Its name.
    pub name: Option<&'a str>,
    /// Its media type.
    pub media_type: Option<&'a str>,
    /// Whether the session has its bytes.
    pub embedded: bool,
}

impl Message {
    /// Returns the message as one flat object.
    #[must_use]
    pub fn flat<'a>(&'a self, session: &'a Session) -> FlatMessage<'a> {
        FlatMessage {
            session: &session.id,
            format: &session.format,
            seq: self.seq,
            index: self.index,
            kind: self.kind,
            ts: self.ts.as_deref(),
            time: self.time(),
            role: self.role,
            source_role: self.source_role.as_deref(),
            text: self.text(),
            thinking: self.thinking(),
            tool_calls: self.tool_calls().map(FlatToolCall::of).collect(),
            tool_results: self.tool_results().map(FlatToolResult::of).collect(),
            shell: self.parts.iter().find_map(FlatShell::of),
            files: self.parts.iter().filter_map(FlatFile::of).collect(),
            name: self.name.as_deref(),
            model: self.model.as_deref(),
            provider: self.provider.as_deref(),
            usage: self.usage,
            cost: self.usage.and_then(|usage| usage.cost),
            stop_reason: self.stop_reason,
            source_stop_reason: self.source_stop_reason.as_deref(),
            error: self.error.as_deref(),
            hidden_from: &self.hidden_from,
            source_id: self.source_id.as_deref(),
            lossy: self.is_lossy(),
        }
    }
}

impl FlatMessage<'_> {
    /// Returns the object as one line of JSON, without control characters.
    ///
    /// # Errors
    /// When it cannot be JSON, which no message causes.
    pub fn to_json(&self) -> serde_json::Result<String> {
        to_log_json(self).map(|line| String::from_utf8_lossy(&line).into_owned())
    }
}

impl<'a> FlatToolCall<'a> {
    pub(crate) fn of(call: &'a super::part::ToolCall) -> FlatToolCall<'a> {
        let arguments = call.arguments.as_ref().and_then(|arguments| {
            let text = match (arguments.json(), arguments) {
                (Some(json), _) => json.as_str().to_owned(),
                (None, Arguments::Json(json)) => json.as_str().to_owned(),
                (None, Arguments::Text(text)) => serde_json::to_string(text.as_str()).ok()?,
            };
            RawValue::from_string(text).ok()
        });
        FlatToolCall { id: call.id.as_deref(), name: call.name.as_deref(), arguments }
    }
}

impl<'a> FlatToolResult<'a> {
    fn of(result: &'a super::part::ToolResult) -> FlatToolResult<'a> {
        FlatToolResult { call_id: result.call_id.as_deref(), name: result.name.as_deref(), is_error: result.is_error, text: result.text() }
    }
}

impl<'a> FlatShell<'a> {
    fn of(part: &'a Part) -> Option<FlatShell<'a>> {
        let Part::Shell(shell) = part else { return None };
        Some(FlatShell { command: shell.command.as_str(), output: shell.output.as_str(), exit_code: shell.exit_code })
    }
}

impl<'a> FlatFile<'a> {
    fn of(part: &'a Part) -> Option<FlatFile<'a>> {
        match part {
            Part::Image(media) => Some(FlatFile::of_media("image", media)),
            Part::File(media) => Some(FlatFile::of_media("file", media)),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Shell(_) | Part::Other(_) => None,
        }
    }

    fn of_media(kind: &'static str, media: &'a Media) -> FlatFile<'a> {
        let has_bytes = |uri: &&str| uri.starts_with("data:");
        let uri = media.uri.as_deref();
        FlatFile {
            kind,
            path: media.path.as_deref(),
            uri: uri.filter(|uri| !has_bytes(uri)),
            name: media.name.as_deref(),
            media_type: media.media_type.as_deref(),
            embedded: media.data.is_some() || uri.as_ref().is_some_and(has_bytes),
        }
    }
}
