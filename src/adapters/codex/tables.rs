//! The records of a rollout by table: which key goes where.

use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::mapping::Target::{Constant, Content, Ext, Open, Time, To, Word};
use crate::adapters::kit::mapping::ValueKind::{Any, Number, Text};
use crate::adapters::kit::mapping::Vocabulary;
use crate::adapters::kit::words::roles;

/// Roles in the log's words.
static ROLES: Vocabulary =
    roles(&[("\"user\"", "\"user\""), ("\"assistant\"", "\"assistant\""), ("\"developer\"", "\"system\""), ("\"system\"", "\"system\"")]);

/// The order of a message's payload.
pub(super) const MESSAGE_ORDER: &[&str] =
    &["role", "source_role", "content", "source_id", "hidden", "source_type", "inherited", "words", "ordinal"];

/// The order of every other payload.
pub(super) const OTHER_ORDER: &[&str] = &["summary", "events", "rebuilt", "custom_type", "data", "inherited", "words", "ordinal"];

/// An item, and the record of one.
macro_rules! item {
    ($name:ident, $record:ident, $($row:expr),* $(,)?) => {
        pub(super) static $name: Table = Table(&[$($row),*]);
        pub(super) static $record: Table = Table(&[
            ("timestamp", Time),
            ("ordinal", To("ordinal", Number)),
            ("type", Constant("\"response_item\"")),
            ("payload", Open(&$name)),
            ("metadata", Ext),
        ]);
    };
}

item!(
    MESSAGE,
    MESSAGE_RECORD,
    ("type", Constant("\"message\"")),
    ("status", Ext),
    ("id", To("source_id", Text)),
    ("role", Word(&ROLES)),
    ("content", Content("content")),
    ("phase", Ext),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    REASONING,
    REASONING_RECORD,
    ("type", Constant("\"reasoning\"")),
    ("id", To("source_id", Text)),
    ("summary", Content("summary")),
    ("content", Content("content")),
    ("encrypted_content", Content("encrypted")),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    FUNCTION_CALL,
    FUNCTION_CALL_RECORD,
    ("type", Constant("\"function_call\"")),
    ("status", Ext),
    ("id", To("source_id", Text)),
    ("name", Content("name")),
    ("namespace", Ext),
    ("arguments", Content("arguments")),
    ("call_id", Content("call_id")),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    CUSTOM_CALL,
    CUSTOM_CALL_RECORD,
    ("type", Constant("\"custom_tool_call\"")),
    ("id", To("source_id", Text)),
    ("status", Ext),
    ("call_id", Content("call_id")),
    ("name", Content("name")),
    ("namespace", Ext),
    ("input", Content("arguments")),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    SHELL_CALL,
    SHELL_CALL_RECORD,
    ("type", Constant("\"local_shell_call\"")),
    ("id", To("source_id", Text)),
    ("call_id", Content("call_id")),
    ("status", Ext),
    ("action", Content("arguments")),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    FUNCTION_OUTPUT,
    FUNCTION_OUTPUT_RECORD,
    ("type", Constant("\"function_call_output\"")),
    ("id", To("source_id", Text)),
    ("call_id", Content("call_id")),
    ("name", Content("name")),
    ("namespace", Ext),
    ("output", Content("content")),
    ("internal_chat_message_metadata_passthrough", Ext),
);
item!(
    CUSTOM_OUTPUT,
    CUSTOM_OUTPUT_RECORD,
    ("type", Constant("\"custom_tool_call_output\"")),
    ("id", To("source_id", Text)),
    ("call_id", Content("call_id")),
    ("name", Content("name")),
    ("output", Content("content")),
    ("internal_chat_message_metadata_passthrough", Ext),
);

/// The record of an item that is carried as it is.
pub(super) static WHOLE_RECORD: Table = Table(&[
    ("timestamp", Time),
    ("ordinal", To("ordinal", Number)),
    ("type", Constant("\"response_item\"")),
    ("payload", Content("item")),
    ("metadata", Ext),
]);

/// Such an item by itself.
pub(super) static WHOLE_ITEM: Table = Table(&[("payload", Content("item"))]);

/// The record of a message between agents.
pub(super) static AGENT_RECORD: Table = Table(&[
    ("timestamp", Time),
    ("ordinal", To("ordinal", Number)),
    ("type", Constant("\"inter_agent_communication\"")),
    ("payload", Content("item")),
]);

const COMPACTED: Table = Table(&[
    ("message", To("summary", Text)),
    // The events after it say what stands in this list.
    ("replacement_history", To("items", Any)),
    ("replacement_history_metadata", Ext),
    ("retained_context", Ext),
    ("window_number", Ext),
    ("first_window_id", Ext),
    ("previous_window_id", Ext),
    ("window_id", Ext),
    ("compaction_response_id", Ext),
    ("latest_token_usage_record", Ext),
    ("resume_metadata", Ext),
]);
/// The record of a compaction.
pub(super) static COMPACTED_RECORD: Table =
    Table(&[("timestamp", Time), ("ordinal", To("ordinal", Number)), ("type", Constant("\"compacted\"")), ("payload", Open(&COMPACTED))]);

/// Any other record.
pub(super) static OTHER_RECORD: Table =
    Table(&[("timestamp", Time), ("ordinal", To("ordinal", Number)), ("type", To("custom_type", Text)), ("payload", To("data", Any))]);

/// The order of a compaction's payload whose summary is the last message after it.
pub(super) const REBUILT_ORDER: &[&str] = &["events", "rebuilt", "inherited", "ordinal"];
