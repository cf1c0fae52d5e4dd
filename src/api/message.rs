//! One message, typed.

use serde::Serialize;

use crate::json::{self, Dialect, Kind};
use crate::log::edited_payload;
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shown::Shown;
use crate::model::stream::StreamError;

use super::json::Json;
use super::part::{Part, Shell, ToolCall, ToolResult, content, joined, unusual_tool_calls};
use super::reading::Object;
use super::role::{Role, SHELL};
use super::stop_reason::StopReason;
use super::text::Text;
use super::time::utc;
use super::usage::Usage;

/// One message of a session, as it is shown.
///
/// A message means the same whatever program it comes from. Where a source says
/// something in words of its own, they are beside the common ones, and
/// [`raw`](Message::raw) has everything that the log knows.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// use everlog::{Role, StopReason};
///
/// let messages = log.messages(&log.active())?.collect::<Result<Vec<_>, _>>()?;
/// let answer = &messages[1];
/// assert_eq!((answer.role, answer.stop_reason), (Role::Assistant, Some(StopReason::ToolUse)));
/// assert_eq!(answer.tool_calls().next().and_then(|call| call.name.as_deref()), Some("read"));
/// assert_eq!(answer.time().as_deref(), Some("2026-01-02T08:00:03.000Z"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// The number of its event in the log, which is its identity.
    pub seq: Seq,
    /// Its place among the messages that are shown, from 0.
    pub index: u64,
    /// Whether it is a message, or a summary that stands among them.
    pub kind: MessageKind,
    /// The source's own time, with its own zone and digits.
    pub ts: Option<String>,
    /// Who said it.
    pub role: Role,
    /// The source's own word for the role, where it is another.
    pub source_role: Option<String>,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// The source's own id of it.
    pub source_id: Option<String>,
    /// The name of who said it, where the source has one.
    pub name: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The provider of that model.
    pub provider: Option<String>,
    /// What it took.
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop_reason: Option<StopReason>,
    /// The source's own word for that.
    pub source_stop_reason: Option<String>,
    /// What failed. A source that only marks a message as an error gives the
    /// message's own text.
    pub error: Option<String>,
    /// Who would not see it: `loader`, `display`, `model`.
    pub hidden_from: Vec<String>,
    /// The payload of its event, with the edit that is shown in it.
    pub raw: Json,
}

/// What stands among the messages that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// A message.
    Message,
    /// A summary that takes the place of what was said before it.
    Compaction,
    /// A summary of a branch that was left.
    BranchSummary,
}

/// The member of a payload with the source's own word for the role.
const SOURCE_ROLE: &str = "source_role";

impl Message {
    /// Reads an item of a path; `None` where it shows no message.
    ///
    /// # Errors
    /// When the payload is not valid JSON.
    #[doc(hidden)]
    pub fn of(shown: &Shown<'_>, index: u64) -> Result<Option<Message>, StreamError> {
        let event = &shown.event;
        let Some(kind) = MessageKind::of(event.kind) else { return Ok(None) };
        let edited = shown.edit.map(|edit| edited_payload(event, &edit));
        let payload = edited.as_deref().unwrap_or(event.payload);
        // Reading a log only looks at the beginning of a line: whoever wrote the
        // rest need not have been everlog.
        json::scan_object(payload, Dialect::Strict, &mut Vec::new())
            .map_err(|error| StreamError::log(event.seq, format!("has a payload that is not valid JSON: {error}")))?;
        let raw = Json::of(payload);
        Ok(Some(Message::read(event.seq, index, kind, event.ts.map(str::to_owned), raw)))
    }

    fn read(seq: Seq, index: u64, kind: MessageKind, ts: Option<String>, raw: Json) -> Message {
        let payload = Object::of(raw.as_str().as_bytes());
        let ext = payload.object("ext");
        let (role, mut source_role) = match kind {
            MessageKind::Message => Role::of(payload.string("role").as_deref()),
            MessageKind::Compaction | MessageKind::BranchSummary => (Role::System, None),
        };
        let mut parts = match kind {
            MessageKind::Message => content(&payload),
            MessageKind::Compaction | MessageKind::BranchSummary => payload.text("summary").map(Part::Text).into_iter().collect(),
        };
        parts.extend(unusual_tool_calls(&ext));
        // Older logs have a command in `ext`.
        if source_role.as_deref() == Some(SHELL) {
            parts.extend(Shell::of(&ext, "exitCode").map(Part::Shell));
        }
        // Older logs have the source's word as the role; where its program has a newer
        // word for it, the record's own is in `ext`.
        source_role = payload.string(SOURCE_ROLE).or(source_role);
        if let Some(word) = ext.string("role").filter(|_| source_role.is_some()) {
            source_role = Some(word);
        }
        let stop_reason = payload.string("stop_reason");
        let source_stop_reason = payload.string("source_stop_reason");
        let error = match payload.flag("error") {
            Some(true) => Some(joined(&parts)),
            Some(false) => None,
            None => payload.string("error"),
        };
        Message {
            seq,
            index,
            kind,
            ts,
            role,
            source_role,
            source_id: payload.string("source_id"),
            name: payload.string("name"),
            model: payload.string("model"),
            provider: payload.string("provider"),
            usage: Usage::of(&payload),
            stop_reason: stop_reason.as_deref().map(StopReason::of),
            source_stop_reason: source_stop_reason.or_else(|| stop_reason.filter(|word| StopReason::of(word).name() != word)),
            error,
            hidden_from: payload.object("hidden").list("from").map(|who| Text::of(who).into_string()).collect(),
            parts,
            raw,
        }
    }

    /// Returns all that was said: the text parts, joined by line ends.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.parts)
    }

    /// Returns all that was thought; `None` where nothing was.
    #[must_use]
    pub fn thinking(&self) -> Option<String> {
        let thoughts = self.parts.iter().filter_map(|part| if let Part::Thinking(thinking) = part { Some(thinking) } else { None });
        let texts: Vec<&str> = thoughts.map(|thinking| thinking.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Returns the tools that are called.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| if let Part::ToolCall(call) = part { Some(call) } else { None })
    }

    /// Returns what tools answered.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| if let Part::ToolResult(result) = part { Some(result) } else { None })
    }

    /// Returns the time in UTC; `None` where the source says no time, or no zone.
    #[must_use]
    pub fn time(&self) -> Option<String> {
        self.ts.as_deref().and_then(utc)
    }

    /// Returns the id of an answer at its provider, where the program keeps it.
    pub(crate) fn answer_id(&self) -> Option<String> {
        let payload = self.raw.as_str().as_bytes();
        let ext = json::members(payload).find(|member| member.is("ext"))?.value;
        if self.role != Role::Assistant || json::kind_of(ext) != Kind::Object {
            return None;
        }
        let id = json::members(ext).find(|member| member.is("id"))?.value;
        (json::kind_of(id) == Kind::String).then(|| json::unescape(id).into_owned())
    }

    /// Tells whether some text of it is only readable, and not what the source
    /// had: [`Text::original`] and [`raw`](Message::raw) have that.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.parts.iter().any(is_lossy)
    }
}

fn is_lossy(part: &Part) -> bool {
    let is_lossy_text = |text: &Text| text.original().is_some();
    match part {
        Part::Text(text) => is_lossy_text(text),
        Part::Thinking(thinking) => is_lossy_text(&thinking.text),
        Part::Shell(shell) => is_lossy_text(&shell.command) || is_lossy_text(&shell.output),
        // A result holds no further results, so this goes one level down.
        Part::ToolResult(result) => result.content.iter().any(is_lossy),
        Part::Image(_) | Part::File(_) | Part::ToolCall(_) | Part::Other(_) => false,
    }
}

impl MessageKind {
    /// Returns what an event shows as; `None` where it is not one of these.
    pub(crate) fn of(kind: EventKind) -> Option<MessageKind> {
        if kind == EventKind::Message {
            Some(MessageKind::Message)
        } else if kind == EventKind::Compaction {
            Some(MessageKind::Compaction)
        } else if kind == EventKind::BranchSummary {
            Some(MessageKind::BranchSummary)
        } else {
            None
        }
    }
}
