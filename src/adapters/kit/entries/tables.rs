//! The records of entries by table: which key goes where.

use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::mapping::Target::{Constant, Content, Ext, Node, Object, Open, Parent, Time, To, Total, Word};
use crate::adapters::kit::mapping::ValueKind::{Any, Number, Text};
use crate::adapters::kit::mapping::Vocabulary;
use crate::adapters::kit::words;

use super::records::Record;

/// Roles in the log's words.
pub(in crate::adapters) static ROLES: Vocabulary = words::roles(&[
    ("\"user\"", "\"user\""),
    ("\"assistant\"", "\"assistant\""),
    ("\"toolResult\"", "\"tool\""),
    ("\"system\"", "\"system\""),
    // A command that a person typed.
    (SHELL_ROLE, "\"user\""),
]);

/// The role of a command that a person typed, as JSON.
pub(super) const SHELL_ROLE: &str = "\"bashExecution\"";

/// Reasons to stop in the log's words.
pub(in crate::adapters) static STOP_REASONS: Vocabulary = words::stop_reasons(&[
    ("\"stop\"", "\"end_turn\""),
    ("\"toolUse\"", "\"tool_use\""),
    ("\"length\"", "\"max_tokens\""),
    ("\"aborted\"", "\"aborted\""),
    ("\"error\"", "\"error\""),
]);

/// The order of a message's payload.
pub(in crate::adapters) const MESSAGE: &[&str] = &[
    "role",
    "source_role",
    "content",
    "source_id",
    "name",
    "model",
    "provider",
    "usage",
    "stop_reason",
    "source_stop_reason",
    "error",
    "source_type",
    "words",
    "hidden",
];

/// The order of every other payload.
pub(in crate::adapters) const OTHER: &[&str] = &[
    "source_id",
    "id",
    "version",
    "cwd",
    "parent_session",
    "name",
    "value",
    "title",
    "kind",
    "reason",
    "provider",
    "model",
    "full_name",
    "summary",
    "first_kept",
    "first_kept_index",
    "from_id",
    "tokens_before",
    "system_message",
    "target",
    "label",
    "replacement",
    "custom_type",
    "data",
    "usage",
    "note",
    "details",
    "from_hook",
    "words",
];

const COST: Table = Table(&[
    ("input", To("input", Number)),
    ("output", To("output", Number)),
    ("cacheRead", To("cache_read", Number)),
    ("cacheWrite", To("cache_write", Number)),
    ("total", To("total", Number)),
    ("totalFromProvider", Ext),
]);

const USAGE: Table = Table(&[
    ("input", To("input", Number)),
    ("output", To("output", Number)),
    ("cacheRead", To("cache_read", Number)),
    ("cacheWrite", To("cache_write", Number)),
    ("cacheWrite1h", Ext),
    ("reasoning", To("reasoning", Number)),
    ("totalTokens", To("total", Number)),
    ("cost", Total("cost", "cost_parts", &COST)),
]);

const USER: Table = Table(&[("role", Word(&ROLES)), ("content", Content("content"))]);

const SHELL: Table = Table(&[
    ("role", Word(&ROLES)),
    ("command", Content("command")),
    ("output", Content("output")),
    ("exitCode", Content("exit_code")),
    ("cancelled", Ext),
    ("truncated", Ext),
    ("fullOutputPath", Ext),
    ("timestamp", Ext),
    ("excludeFromContext", Ext),
]);

const ASSISTANT: Table = Table(&[
    ("role", Word(&ROLES)),
    ("content", Content("content")),
    ("api", Ext),
    ("provider", To("provider", Text)),
    ("model", To("model", Text)),
    ("usage", Object("usage", &USAGE)),
    ("stopReason", Word(&STOP_REASONS)),
    ("timestamp", Ext),
    ("errorMessage", To("error", Text)),
]);

const RESULT: Table = Table(&[
    ("role", Word(&ROLES)),
    ("toolCallId", Content("call_id")),
    ("toolName", Content("tool_name")),
    ("content", Content("content")),
    ("details", Ext),
    ("usage", Object("usage", &USAGE)),
    ("nestedCalls", Ext),
    ("isError", Content("is_error")),
    ("durationMs", Ext),
    ("timestamp", Ext),
]);

/// An entry whose own keys follow those that place it.
macro_rules! entry {
    ($name:literal, $($row:expr),* $(,)?) => {
        Table(&[("type", Constant(concat!("\"", $name, "\""))), ("id", To("source_id", Text)), ("parentId", Parent), ("timestamp", Time), $($row),*])
    };
}

/// Entries that the session manager builds from their content first.
macro_rules! content_first {
    ($name:literal, $($row:expr),* $(,)?) => {
        Table(&[("type", Constant(concat!("\"", $name, "\""))), $($row,)* ("id", To("source_id", Text)), ("parentId", Parent), ("timestamp", Time)])
    };
}

static HEADER: Table = Table(&[
    ("type", Constant("\"session\"")),
    ("version", To("version", Any)),
    ("id", To("id", Text)),
    ("timestamp", Time),
    ("cwd", To("cwd", Text)),
    ("parentSession", To("parent_session", Text)),
    ("metadata", Ext),
]);
static USER_MESSAGE: Table = entry!("message", ("message", Open(&USER)));
static SHELL_MESSAGE: Table = entry!("message", ("message", Open(&SHELL)));
static ASSISTANT_MESSAGE: Table = entry!("message", ("message", Open(&ASSISTANT)));
static RESULT_MESSAGE: Table = entry!("message", ("message", Open(&RESULT)));
static THINKING: Table = entry!("thinking_level_change", ("thinkingLevel", To("value", Any)));
static MODEL: Table =
    entry!("model_change", ("provider", To("provider", Text)), ("modelId", To("model", Text)), ("model", To("full_name", Text)));
static COMPACTION: Table = entry!(
    "compaction",
    ("summary", To("summary", Any)),
    ("firstKeptEntryIndex", To("first_kept_index", Any)),
    ("firstKeptEntryId", Node("first_kept")),
    ("tokensBefore", To("tokens_before", Any)),
    ("details", To("details", Any)),
    ("usage", Object("usage", &USAGE)),
    ("fromHook", To("from_hook", Any)),
    ("systemMessage", To("system_message", Any)),
);
static RESET: Table = entry!("reset", ("reason", To("reason", Any)), ("firstKeptEntryId", Node("first_kept")));
static BRANCH_SUMMARY: Table = entry!(
    "branch_summary",
    ("fromId", To("from_id", Any)),
    ("summary", To("summary", Any)),
    ("details", To("details", Any)),
    ("usage", Object("usage", &USAGE)),
    ("fromHook", To("from_hook", Any)),
);
static CUSTOM: Table = content_first!("custom", ("customType", To("custom_type", Any)), ("data", To("data", Any)));
static PLAIN_CUSTOM: Table = entry!("custom", ("customType", To("custom_type", Any)), ("data", To("data", Any)));
static CUSTOM_MESSAGE: Table = content_first!(
    "custom_message",
    ("customType", To("name", Text)),
    ("content", Content("content")),
    ("display", Ext),
    ("details", Ext),
);
static PLAIN_CUSTOM_MESSAGE: Table =
    entry!("custom_message", ("customType", To("name", Text)), ("content", Content("content")), ("display", Ext), ("details", Ext),);
static LABEL: Table = entry!("label", ("targetId", Node("target")), ("label", To("label", Any)));
static INFO: Table = entry!("session_info", ("name", To("title", Any)));
static USAGE_ENTRY: Table = entry!(
    "usage",
    ("kind", To("kind", Any)),
    ("provider", To("provider", Any)),
    ("model", To("model", Any)),
    ("usage", Object("usage", &USAGE)),
    ("note", To("note", Any)),
);
static EDIT: Table = entry!("context_edit", ("targetId", Node("target")), ("replacement", To("replacement", Any)));

/// Returns the table of a record as the session manager itself writes it; none for those
/// carried as they are.
pub(in crate::adapters) fn table(record: Record) -> Option<&'static Table> {
    match record {
        Record::Header => Some(&HEADER),
        Record::UserMessage => Some(&USER_MESSAGE),
        Record::ShellMessage => Some(&SHELL_MESSAGE),
        Record::AssistantMessage => Some(&ASSISTANT_MESSAGE),
        Record::ResultMessage => Some(&RESULT_MESSAGE),
        Record::CustomMessage => Some(&CUSTOM_MESSAGE),
        Record::Thinking => Some(&THINKING),
        Record::Model => Some(&MODEL),
        Record::Compaction => Some(&COMPACTION),
        Record::Reset => Some(&RESET),
        Record::BranchSummary => Some(&BRANCH_SUMMARY),
        Record::Custom => Some(&CUSTOM),
        Record::Label => Some(&LABEL),
        Record::Info => Some(&INFO),
        Record::Usage => Some(&USAGE_ENTRY),
        Record::Edit => Some(&EDIT),
        Record::Whole => None,
    }
}

/// Returns the table of a record whose writer puts the keys that place it first, always.
pub(in crate::adapters) fn placed_first(record: Record) -> Option<&'static Table> {
    match record {
        Record::CustomMessage => Some(&PLAIN_CUSTOM_MESSAGE),
        Record::Custom => Some(&PLAIN_CUSTOM),
        Record::Header
        | Record::UserMessage
        | Record::ShellMessage
        | Record::AssistantMessage
        | Record::ResultMessage
        | Record::Thinking
        | Record::Model
        | Record::Compaction
        | Record::Reset
        | Record::BranchSummary
        | Record::Label
        | Record::Info
        | Record::Usage
        | Record::Edit
        | Record::Whole => table(record),
    }
}
