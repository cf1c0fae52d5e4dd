//! The records of tree-shaped sessions by table: which key goes where.

use crate::adapters::mapping::Goes::{Constant, Content, Ext, Node, Object, Open, Parent, Time, To, Word};
use crate::adapters::mapping::Table;
use crate::adapters::mapping::Takes::{Any, Number, Text};

/// Roles in the log's words, where they differ.
const ROLES: &[(&str, &str)] = &[("\"toolResult\"", "\"tool\"")];

/// The order of a message's payload.
pub(in crate::adapters) const MESSAGE: &[&str] =
    &["role", "content", "source_id", "name", "model", "provider", "usage", "stop_reason", "error", "source_type", "words", "hidden"];

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
    ("cost", Object("cost", &COST)),
]);

/// The tutorial's usage.
const FLAT_USAGE: Table = Table(&[("inputTokens", To("input", Number)), ("outputTokens", To("output", Number))]);

const USER: Table = Table(&[("role", Word("role", ROLES)), ("content", Content("content"))]);

const ASSISTANT: Table = Table(&[
    ("role", Word("role", ROLES)),
    ("content", Content("content")),
    ("api", Ext),
    ("provider", To("provider", Text)),
    ("model", To("model", Text)),
    ("usage", Object("usage", &USAGE)),
    ("stopReason", To("stop_reason", Text)),
    ("timestamp", Ext),
    ("errorMessage", To("error", Text)),
]);

const RESULT: Table = Table(&[
    ("role", Word("role", ROLES)),
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

const TUTORIAL_ASSISTANT: Table = Table(&[
    ("role", Word("role", ROLES)),
    ("stopReason", To("stop_reason", Text)),
    ("content", Content("content")),
    ("model", To("model", Text)),
    ("usage", Object("usage", &FLAT_USAGE)),
]);

const TUTORIAL_RESULT: Table = Table(&[
    ("role", Word("role", ROLES)),
    ("toolCallId", Content("call_id")),
    ("toolName", Content("tool_name")),
    ("isError", Content("is_error")),
    ("content", Content("content")),
]);

/// The kinds of records in a file of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Record {
    Header,
    UserMessage,
    AssistantMessage,
    ResultMessage,
    CustomMessage,
    Thinking,
    Model,
    Compaction,
    BranchSummary,
    Custom,
    Label,
    Info,
    Usage,
    Edit,
    /// Anything else, carried whole.
    Whole,
}

/// Whose words the records are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Words {
    Pi,
    Harness,
    Tutorial,
}

impl Words {
    /// The word that events carry, where they are not pi's own.
    pub(in crate::adapters) fn mark(self) -> Option<&'static [u8]> {
        match self {
            Words::Pi => None,
            Words::Harness => Some(b"\"harness\""),
            Words::Tutorial => Some(b"\"tutorial\""),
        }
    }

    /// Whose words an event with this mark is in.
    pub(in crate::adapters) fn marked(mark: Option<&[u8]>) -> Words {
        match mark {
            Some(b"\"tutorial\"") => Words::Tutorial,
            Some(b"\"harness\"") => Words::Harness,
            _ => Words::Pi,
        }
    }
}

macro_rules! entry {
    ($name:literal, $($row:expr),* $(,)?) => {
        Table(&[("type", Constant(concat!("\"", $name, "\""))), ("id", To("source_id", Text)), ("parentId", Parent), ("timestamp", Time), $($row),*])
    };
}

/// Entries that pi builds from their content first.
macro_rules! content_first {
    ($name:literal, $($row:expr),* $(,)?) => {
        Table(&[("type", Constant(concat!("\"", $name, "\""))), $($row,)* ("id", To("source_id", Text)), ("parentId", Parent), ("timestamp", Time)])
    };
}

impl Record {
    /// The table of such records; none for those carried whole.
    pub(in crate::adapters) fn table(self, words: Words) -> Option<&'static Table> {
        static HEADER: Table = Table(&[
            ("type", Constant("\"session\"")),
            ("version", To("version", Any)),
            ("id", To("id", Text)),
            ("timestamp", Time),
            ("cwd", To("cwd", Text)),
            ("parentSession", To("parent_session", Text)),
            ("metadata", Ext),
        ]);
        static TUTORIAL_HEADER: Table = Table(&[
            ("type", Constant("\"session\"")),
            ("id", To("id", Text)),
            ("timestamp", Time),
            ("cwd", To("cwd", Text)),
            ("version", To("version", Any)),
        ]);
        static USER_MESSAGE: Table = entry!("message", ("message", Open(&USER)));
        static ASSISTANT_MESSAGE: Table = entry!("message", ("message", Open(&ASSISTANT)));
        static RESULT_MESSAGE: Table = entry!("message", ("message", Open(&RESULT)));
        static TUTORIAL_ASSISTANT_MESSAGE: Table = entry!("message", ("message", Open(&TUTORIAL_ASSISTANT)));
        static TUTORIAL_RESULT_MESSAGE: Table = entry!("message", ("message", Open(&TUTORIAL_RESULT)));
        static THINKING: Table = entry!("thinking_level_change", ("thinkingLevel", To("value", Any)));
        static MODEL: Table =
            entry!("model_change", ("provider", To("provider", Text)), ("modelId", To("model", Text)), ("model", To("full_name", Text)));
        static TUTORIAL_MODEL: Table = entry!("model_change", ("model", To("model", Text)));
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
        static PLAIN_CUSTOM_MESSAGE: Table = entry!(
            "custom_message",
            ("customType", To("name", Text)),
            ("content", Content("content")),
            ("display", Ext),
            ("details", Ext),
        );
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
        match (self, words) {
            (Record::Header, Words::Pi | Words::Harness) => Some(&HEADER),
            (Record::Header, Words::Tutorial) => Some(&TUTORIAL_HEADER),
            (Record::UserMessage, _) => Some(&USER_MESSAGE),
            (Record::AssistantMessage, Words::Pi | Words::Harness) => Some(&ASSISTANT_MESSAGE),
            (Record::AssistantMessage, Words::Tutorial) => Some(&TUTORIAL_ASSISTANT_MESSAGE),
            (Record::ResultMessage, Words::Pi | Words::Harness) => Some(&RESULT_MESSAGE),
            (Record::ResultMessage, Words::Tutorial) => Some(&TUTORIAL_RESULT_MESSAGE),
            (Record::CustomMessage, Words::Pi) => Some(&CUSTOM_MESSAGE),
            (Record::CustomMessage, Words::Harness | Words::Tutorial) => Some(&PLAIN_CUSTOM_MESSAGE),
            (Record::Thinking, _) => Some(&THINKING),
            (Record::Model, Words::Pi | Words::Harness) => Some(&MODEL),
            (Record::Model, Words::Tutorial) => Some(&TUTORIAL_MODEL),
            (Record::Compaction, _) => Some(&COMPACTION),
            (Record::BranchSummary, _) => Some(&BRANCH_SUMMARY),
            (Record::Custom, Words::Pi) => Some(&CUSTOM),
            (Record::Custom, Words::Harness | Words::Tutorial) => Some(&PLAIN_CUSTOM),
            (Record::Label, _) => Some(&LABEL),
            (Record::Info, _) => Some(&INFO),
            (Record::Usage, _) => Some(&USAGE_ENTRY),
            (Record::Edit, _) => Some(&EDIT),
            (Record::Whole, _) => None,
        }
    }

    /// The kind of record that an entry of this type is; a message is told
    /// apart by its role.
    pub(in crate::adapters) fn of(entry_type: &[u8], role: &[u8]) -> Record {
        match entry_type {
            b"\"session\"" => Record::Header,
            b"\"message\"" => match role {
                b"\"assistant\"" => Record::AssistantMessage,
                b"\"toolResult\"" => Record::ResultMessage,
                _ => Record::UserMessage,
            },
            b"\"custom_message\"" => Record::CustomMessage,
            b"\"thinking_level_change\"" => Record::Thinking,
            b"\"model_change\"" => Record::Model,
            b"\"compaction\"" => Record::Compaction,
            b"\"branch_summary\"" => Record::BranchSummary,
            b"\"custom\"" => Record::Custom,
            b"\"label\"" => Record::Label,
            b"\"session_info\"" => Record::Info,
            b"\"usage\"" => Record::Usage,
            b"\"context_edit\"" => Record::Edit,
            _ => Record::Whole,
        }
    }
}
