//! Gemini CLI's records by table, in the order of its writer: which key of the
//! source becomes which fact.

use crate::adapters::kit::mapping::{Table, Target, ValueKind, Vocabulary};
use crate::adapters::kit::words::roles;
use crate::json::{Escapes, Separators, Style};

/// The types of messages that are roles.
pub(super) static MESSAGE_ROLES: Vocabulary = roles(&[("\"gemini\"", "\"assistant\""), ("\"user\"", "\"user\"")]);

/// The roles of a model history.
pub(super) static TURN_ROLES: Vocabulary = roles(&[("\"model\"", "\"assistant\""), ("\"user\"", "\"user\"")]);

/// A message, on a line or in a list.
pub(super) const MESSAGE: Table = Table(&[
    ("id", Target::To("source_id", ValueKind::Text)),
    ("timestamp", Target::Time),
    ("type", Target::Word(&MESSAGE_ROLES)),
    ("content", Target::Content(CONTENT)),
    ("displayContent", Target::Ext),
    ("thoughts", Target::Content(THOUGHTS)),
    ("tokens", Target::Object("usage", &TOKENS)),
    ("model", Target::To("model", ValueKind::Text)),
    ("toolCalls", Target::Content(CALLS)),
]);

/// A turn of a model history, as `/chat save` keeps it.
pub(super) const TURN: Table = Table(&[("role", Target::Word(&TURN_ROLES)), ("parts", Target::Content(CONTENT))]);

/// The members of a message's payload.
pub(super) const MESSAGE_ORDER: &[&str] = &["role", "source_role", "content", "source_id", "model", "usage", "hidden"];

pub(super) const CONTENT: &str = "content";
pub(super) const THOUGHTS: &str = "thoughts";
pub(super) const CALLS: &str = "calls";

const TOKENS: Table = Table(&[
    ("input", Target::To("input", ValueKind::Number)),
    ("output", Target::To("output", ValueKind::Number)),
    ("cached", Target::To("cache_read", ValueKind::Number)),
    ("thoughts", Target::To("reasoning", ValueKind::Number)),
    ("tool", Target::To("tool", ValueKind::Number)),
    ("total", Target::To("total", ValueKind::Number)),
]);

/// A thought that is listed beside the content.
pub(super) const THOUGHT: Table = Table(&[
    ("subject", Target::To("subject", ValueKind::Text)),
    ("description", Target::To("text", ValueKind::Text)),
    ("timestamp", Target::To("ts", ValueKind::Any)),
]);

/// A text part of the content.
pub(super) const TEXT_PART: Table =
    Table(&[("text", Target::To("text", ValueKind::Text)), ("thoughtSignature", Target::To("signature", ValueKind::Text))]);

/// A thought part of the content.
pub(super) const THOUGHT_PART: Table = Table(&[
    ("text", Target::To("text", ValueKind::Text)),
    ("thought", Target::Constant("true")),
    ("thoughtSignature", Target::To("signature", ValueKind::Text)),
]);

/// A `functionCall`.
pub(super) const CALL: Table = Table(&[
    ("id", Target::To("id", ValueKind::Text)),
    ("name", Target::To("name", ValueKind::Text)),
    ("args", Target::To("arguments", ValueKind::Any)),
]);

/// A `functionResponse`, whose response is given as content.
pub(super) const RESPONSE: Table = Table(&[
    ("id", Target::To("call_id", ValueKind::Text)),
    ("name", Target::To("name", ValueKind::Text)),
    ("response", Target::To("content", ValueKind::Holder)),
    ("parts", Target::To("parts", ValueKind::Any)),
]);

/// An `inlineData`.
pub(super) const INLINE: Table =
    Table(&[("data", Target::To("data", ValueKind::Text)), ("mimeType", Target::To("media_type", ValueKind::Text))]);

/// A `fileData`.
pub(super) const FILE: Table =
    Table(&[("fileUri", Target::To("uri", ValueKind::Text)), ("mimeType", Target::To("media_type", ValueKind::Text))]);

/// What an entry of `toolCalls` says after the call itself.
pub(super) const RUN: Table = Table(&[
    ("result", Target::To("result", ValueKind::Any)),
    ("status", Target::To("status", ValueKind::Text)),
    ("timestamp", Target::To("ts", ValueKind::Any)),
    ("agentId", Target::To("agent", ValueKind::Text)),
    ("resultDisplay", Target::To("display", ValueKind::Any)),
    ("description", Target::To("description", ValueKind::Any)),
    ("displayName", Target::To("display_name", ValueKind::Any)),
    ("renderOutputAsMarkdown", Target::To("markdown", ValueKind::Any)),
]);

/// The first line of a patch log, and others like it.
pub(super) const METADATA: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// Such a record with a list of messages.
pub(super) const METADATA_LIST: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("messages", Target::List),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// What a patch sets.
pub(super) const PATCH: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// Such a record with a list of messages.
pub(super) const PATCH_LIST: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("messages", Target::List),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// A rewind.
pub(super) const REWIND: Table = Table(&[("$rewindTo", Target::To("to", ValueKind::Text))]);

/// A whole-file session.
pub(super) const WHOLE: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("messages", Target::List),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("userMessageCount", Target::To("user_messages", ValueKind::Any)),
    ("hasResumableContent", Target::To("resumable", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// A whole-file session without a list of messages.
pub(super) const WHOLE_ALONE: Table = Table(&[
    ("sessionId", Target::To("session_id", ValueKind::Any)),
    ("projectHash", Target::To("project_hash", ValueKind::Any)),
    ("startTime", Target::To("created", ValueKind::Any)),
    ("lastUpdated", Target::To("updated", ValueKind::Any)),
    ("directories", Target::To("directories", ValueKind::Any)),
    ("kind", Target::To("kind", ValueKind::Any)),
    ("userMessageCount", Target::To("user_messages", ValueKind::Any)),
    ("hasResumableContent", Target::To("resumable", ValueKind::Any)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("memoryScratchpad", Target::To("scratchpad", ValueKind::Any)),
]);

/// A saved chat.
pub(super) const SAVED: Table = Table(&[("history", Target::List), ("authType", Target::To("auth", ValueKind::Any))]);

/// A saved chat without a list of turns.
pub(super) const SAVED_ALONE: Table = Table(&[("authType", Target::To("auth", ValueKind::Any))]);

/// How lines are written.
pub(super) const LINES: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// How whole files are written.
pub(super) const DOCUMENT: Style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };

/// How deep a message stands in a whole file.
pub(super) const DEPTH_IN_WHOLE: usize = 2;

/// How deep a turn stands in a saved chat that is a bare list.
pub(super) const DEPTH_IN_LIST: usize = 1;

/// What a file holds, in its recipe's words.
pub(super) const HOLDS_RECORDS: &str = "records";
pub(super) const HOLDS_WHOLE: &str = "session";
pub(super) const HOLDS_SAVED: &str = "history";
pub(super) const HOLDS_LIST: &str = "turns";
