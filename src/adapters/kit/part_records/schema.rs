//! The records by table: which key of the source becomes which fact.

use crate::adapters::kit::mapping::{Table, Target, ValueKind, Vocabulary};
use crate::adapters::kit::words;
use crate::json::{Escapes, Separators, Style};

/// Why a model stopped, in the program's words and the log's.
static STOP_REASONS: Vocabulary = words::stop_reasons(&[
    ("\"stop\"", "\"end_turn\""),
    ("\"tool-calls\"", "\"tool_use\""),
    ("\"length\"", "\"max_tokens\""),
    ("\"error\"", "\"error\""),
]);

/// The object of a message. Its `time` is given apart: when it was made is the
/// event's time, and when it was completed is a member.
pub(in crate::adapters) const MESSAGE: Table = Table(&[
    ("id", Target::To("source_id", ValueKind::Text)),
    ("sessionID", Target::To("session", ValueKind::Text)),
    ("role", Target::Word(&words::COMMON_ROLES)),
    ("time", Target::To("completed", ValueKind::Any)),
    ("summary", Target::Ext),
    ("error", Target::Ext),
    ("parentID", Target::Ext),
    ("modelID", Target::To("model", ValueKind::Text)),
    ("providerID", Target::To("provider", ValueKind::Text)),
    ("mode", Target::Ext),
    ("agent", Target::Ext),
    ("path", Target::Ext),
    ("cost", Target::Inside("usage", "cost", ValueKind::Number)),
    ("tokens", Target::Object("usage", &TOKENS)),
    ("finish", Target::Word(&STOP_REASONS)),
]);

/// The members of a message's payload.
pub(super) const MESSAGE_ORDER: &[&str] = &[
    "role",
    "source_role",
    "content",
    "source_id",
    "session",
    "model",
    "provider",
    "usage",
    "stop_reason",
    "source_stop_reason",
    "error",
    "completed",
    "hidden",
];

const TOKENS: Table = Table(&[
    ("total", Target::To("total", ValueKind::Number)),
    ("input", Target::To("input", ValueKind::Number)),
    ("output", Target::To("output", ValueKind::Number)),
    ("reasoning", Target::To("reasoning", ValueKind::Number)),
    ("cache", Target::Spread(&CACHE)),
]);

const CACHE: Table =
    Table(&[("read", Target::To("cache_read", ValueKind::Number)), ("write", Target::To("cache_write", ValueKind::Number))]);

/// What the message of a part says too: the session's id, and the message's own.
pub(super) const GIVEN_SESSION: &str = "session";
pub(super) const GIVEN_MESSAGE: &str = "message";
/// The state of a tool, which is given as a call and its result.
pub(super) const GIVEN_STATE: &str = "state";
/// The members of a state that the call and its result say.
pub(super) const GIVEN_INPUT: &str = "input";
pub(super) const GIVEN_OUTPUT: &str = "output";

const PART_ID: (&str, Target) = ("id", Target::To("source_id", ValueKind::Text));
const PART_SESSION: (&str, Target) = ("sessionID", Target::Given(GIVEN_SESSION));
const PART_MESSAGE: (&str, Target) = ("messageID", Target::Given(GIVEN_MESSAGE));

/// A text.
pub(super) const TEXT: Table = Table(&[
    PART_ID,
    PART_SESSION,
    PART_MESSAGE,
    ("type", Target::Constant("\"text\"")),
    ("text", Target::To("text", ValueKind::Text)),
    ("synthetic", Target::Ext),
    ("ignored", Target::Ext),
    ("time", Target::Ext),
    ("metadata", Target::Ext),
]);

/// A thought.
pub(super) const REASONING: Table = Table(&[
    PART_ID,
    PART_SESSION,
    PART_MESSAGE,
    ("type", Target::Constant("\"reasoning\"")),
    ("text", Target::To("text", ValueKind::Text)),
    ("time", Target::Ext),
    ("metadata", Target::Ext),
]);

/// A file that a person attached.
pub(super) const FILE: Table = Table(&[
    PART_ID,
    PART_SESSION,
    PART_MESSAGE,
    ("type", Target::Constant("\"file\"")),
    ("mime", Target::To("media_type", ValueKind::Text)),
    ("filename", Target::To("name", ValueKind::Text)),
    ("url", Target::To("uri", ValueKind::Text)),
    ("source", Target::Ext),
]);

/// A call of a tool, with its state.
pub(super) const TOOL: Table = Table(&[
    PART_ID,
    PART_SESSION,
    PART_MESSAGE,
    ("type", Target::Constant("\"tool\"")),
    ("callID", Target::To("id", ValueKind::Text)),
    ("tool", Target::To("name", ValueKind::Text)),
    ("state", Target::Given(GIVEN_STATE)),
    ("metadata", Target::Ext),
]);

/// The state of a tool that is to run, or runs.
pub(super) const STATE_OPEN: Table = Table(&[
    ("status", Target::To("status", ValueKind::Text)),
    ("input", Target::Given(GIVEN_INPUT)),
    ("raw", Target::Ext),
    ("title", Target::To("title", ValueKind::Any)),
    ("metadata", Target::To("metadata", ValueKind::Any)),
    ("time", Target::To("time", ValueKind::Any)),
]);

/// The state of a tool that has answered.
pub(super) const STATE_COMPLETED: Table = Table(&[
    ("status", Target::To("status", ValueKind::Text)),
    ("input", Target::Given(GIVEN_INPUT)),
    ("output", Target::Given(GIVEN_OUTPUT)),
    ("title", Target::To("title", ValueKind::Any)),
    ("metadata", Target::To("metadata", ValueKind::Any)),
    ("time", Target::To("time", ValueKind::Any)),
    ("attachments", Target::Ext),
]);

/// The state of a tool that failed.
pub(super) const STATE_FAILED: Table = Table(&[
    ("status", Target::To("status", ValueKind::Text)),
    ("input", Target::Given(GIVEN_INPUT)),
    ("error", Target::Given(GIVEN_OUTPUT)),
    ("metadata", Target::To("metadata", ValueKind::Any)),
    ("time", Target::To("time", ValueKind::Any)),
]);

/// How a value is shown, and kept while it is put together.
pub(in crate::adapters) const COMPACT: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// JavaScript escapes as little as it can.
pub(in crate::adapters) const WRITER: Escapes = Escapes::Utf8;
