//! The records of Hermes WebUI, key by key, in the order of its writer.

use crate::adapters::kit::mapping::{Table, Target, ValueKind};
use crate::adapters::kit::words;
use crate::json::{Escapes, Separators, Style};

use Target::{Content, Ext, Given, List, NumberText, Seconds, To, Unless, Word};
use ValueKind::{Any, Flag, Text};

/// Sidecars, backups, the index: `json.dumps(…, ensure_ascii=False, indent=2)`.
pub(super) const DOCUMENT_STYLE: Style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };
/// Journals: one compact object a line.
pub(super) const JOURNAL_STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// One row of `messages` or `context_messages`. Rows are written by many parts
/// of the program, each with an order of its own; this is the commonest.
pub(super) const MESSAGE: Table = Table(&[
    ("role", Word(&words::COMMON_ROLES)),
    ("name", Content("name")),
    ("tool_name", Content("tool_name")),
    ("content", Content("content")),
    ("tool_call_id", Content("call_id")),
    ("reasoning", Content("reasoning")),
    ("finish_reason", Word(&words::CHAT_STOP_REASONS)),
    ("reasoning_content", Content("reasoning_content")),
    ("tool_calls", Content("calls")),
    ("_db_persisted", Ext),
    ("id", NumberText("source_id")),
    ("timestamp", Seconds),
    ("_error", To("error", Flag)),
    ("_turnDuration", Ext),
    ("_turnTps", Ext),
    ("_firstTokenMs", Ext),
    ("_usedModel", To("model", Text)),
    ("_active_turn_token", Ext),
    ("api_content", Ext),
    ("_state_db_row_id", Ext),
]);

/// The members of a message in a log.
pub(super) const MESSAGE_ORDER: [&str; 9] =
    ["role", "source_role", "content", "source_id", "model", "stop_reason", "source_stop_reason", "error", "hidden"];

/// What the program leaves out of the rows that it sends to a browser.
pub(super) const NOT_SENT: [&str; 3] = ["_active_turn_token", "api_content", "_state_db_row_id"];

/// One line of a turn journal.
pub(super) const TURN: Table = Table(&[
    ("event", To("state", Text)),
    ("stream_id", To("stream_id", Text)),
    ("role", Unless("role", "\"user\"")),
    ("content", To("message", Text)),
    ("attachments", To("attachments", Any)),
    ("workspace", To("cwd", Text)),
    ("model", To("model", Text)),
    ("model_provider", To("provider", Text)),
    ("created_at", Seconds),
    ("version", Given("version")),
    ("session_id", Given("session_id")),
    ("turn_id", To("turn_id", Text)),
    ("terminal", To("terminal", Flag)),
]);

/// The lines that follow a submission have their ids in another place.
pub(super) const TURN_PROGRESS: Table = Table(&[
    ("event", To("state", Text)),
    ("created_at", Seconds),
    ("assistant_message_index", To("message_index", Any)),
    ("reason", To("reason", Text)),
    ("stream_id", To("stream_id", Text)),
    ("turn_id", To("turn_id", Text)),
    ("version", Given("version")),
    ("session_id", Given("session_id")),
    ("terminal", To("terminal", Flag)),
]);

/// The members of a turn in a log.
pub(super) const TURN_ORDER: [&str; 13] = [
    "turn_id",
    "state",
    "stream_id",
    "reason",
    "message",
    "attachments",
    "message_index",
    "role",
    "cwd",
    "model",
    "provider",
    "terminal",
    "hidden",
];

/// One line of a run journal.
pub(super) const RUN: Table = Table(&[
    ("version", Given("version")),
    ("event_id", Given("event_id")),
    ("seq", NumberText("source_id")),
    ("run_id", To("run_id", Text)),
    ("session_id", Given("session_id")),
    ("event", To("event", Text)),
    ("type", Given("event")),
    ("created_at", Seconds),
    ("terminal", Unless("terminal", "false")),
    ("terminal_state", Unless("terminal_state", "null")),
    ("payload", To("data", Any)),
]);

/// The members of a run in a log, after its kind.
pub(super) const RUN_ORDER: [&str; 8] = ["kind", "run_id", "source_id", "event", "terminal", "terminal_state", "hidden", "data"];

/// A sidecar. Releases before 0.50.196 wrote their keys in another order.
pub(super) const SIDECAR: Table = Table(&[
    ("session_id", To("session_id", Any)),
    ("title", To("title", Any)),
    ("workspace", To("workspace", Any)),
    ("created_workspace", To("created_workspace", Any)),
    ("model", To("model", Any)),
    ("model_provider", To("model_provider", Any)),
    ("model_explicit_pick_signature", To("model_explicit_pick_signature", Any)),
    ("created_at", To("created_at", Any)),
    ("updated_at", To("updated_at", Any)),
    ("pinned", To("pinned", Any)),
    ("archived", To("archived", Any)),
    ("project_id", To("project_id", Any)),
    ("profile", To("profile", Any)),
    ("input_tokens", To("input_tokens", Any)),
    ("output_tokens", To("output_tokens", Any)),
    ("estimated_cost", To("estimated_cost", Any)),
    ("cache_read_tokens", To("cache_read_tokens", Any)),
    ("cache_write_tokens", To("cache_write_tokens", Any)),
    ("personality", To("personality", Any)),
    ("active_stream_id", To("active_stream_id", Any)),
    ("pending_user_message", To("pending_user_message", Any)),
    ("pending_attachments", To("pending_attachments", Any)),
    ("pending_started_at", To("pending_started_at", Any)),
    ("pending_user_source", To("pending_user_source", Any)),
    ("compression_anchor_visible_idx", To("compression_anchor_visible_idx", Any)),
    ("compression_anchor_message_key", To("compression_anchor_message_key", Any)),
    ("compression_anchor_summary", To("compression_anchor_summary", Any)),
    ("pre_compression_snapshot", To("pre_compression_snapshot", Any)),
    ("context_engine", To("context_engine", Any)),
    ("compression_anchor_engine", To("compression_anchor_engine", Any)),
    ("compression_anchor_mode", To("compression_anchor_mode", Any)),
    ("compression_anchor_details", To("compression_anchor_details", Any)),
    ("context_engine_state", To("context_engine_state", Any)),
    ("context_length", To("context_length", Any)),
    ("threshold_tokens", To("threshold_tokens", Any)),
    ("last_prompt_tokens", To("last_prompt_tokens", Any)),
    ("post_compression_context_tokens_estimate", To("post_compression_context_tokens_estimate", Any)),
    ("compression_recovery", To("compression_recovery", Any)),
    ("recommended_recovery_action", To("recommended_recovery_action", Any)),
    ("compression_recovery_source_session_id", To("compression_recovery_source_session_id", Any)),
    ("compression_recovery_action", To("compression_recovery_action", Any)),
    ("truncation_watermark", To("truncation_watermark", Any)),
    ("truncation_boundary", To("truncation_boundary", Any)),
    ("clear_generation", To("clear_generation", Any)),
    ("intentional_shrink_generation", To("intentional_shrink_generation", Any)),
    ("gateway_routing", To("gateway_routing", Any)),
    ("gateway_routing_history", To("gateway_routing_history", Any)),
    ("llm_title_generated", To("llm_title_generated", Any)),
    ("manual_title", To("manual_title", Any)),
    ("parent_session_id", To("parent_session_id", Any)),
    ("worktree_path", To("worktree_path", Any)),
    ("worktree_branch", To("worktree_branch", Any)),
    ("worktree_repo_root", To("worktree_repo_root", Any)),
    ("worktree_created_at", To("worktree_created_at", Any)),
    ("is_cli_session", To("is_cli_session", Any)),
    ("source_tag", To("source_tag", Any)),
    ("raw_source", To("raw_source", Any)),
    ("session_source", To("session_source", Any)),
    ("source_label", To("source_label", Any)),
    ("read_only", To("read_only", Any)),
    ("enabled_toolsets", To("enabled_toolsets", Any)),
    ("composer_draft", To("composer_draft", Any)),
    ("process_wakeup_pause", To("process_wakeup_pause", Any)),
    ("share_token", To("share_token", Any)),
    ("share_created_at", To("share_created_at", Any)),
    ("message_count", To("message_count", Any)),
    ("anchor_scene_index", To("anchor_scene_index", Any)),
    (MESSAGES, List),
    ("tool_calls", To("tool_calls", Any)),
    ("anchor_activity_scenes", To("anchor_activity_scenes", Any)),
    (CONTEXT, List),
]);

pub(super) const MESSAGES: &str = "messages";
pub(super) const CONTEXT: &str = "context_messages";

/// A file that serves the whole folder: an object whose members are all its own.
pub(super) const STORE: Table = Table(&[("version", To("version", Any)), ("ids", To("ids", Any))]);
