//! The records that have a table: which key goes where. The order of keys is that of
//! the newest release; older releases write other orders, which become shapes.

use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::mapping::Target::{Constant, Content as Blocks, Ext, Inside, Object, Open, Parent, Shared, Time, To, Word};
use crate::adapters::kit::mapping::ValueKind::{Any, Number, Text};
use crate::adapters::kit::words;

/// The order of a message's payload.
pub(super) const MESSAGE: &[&str] = &[
    "role",
    "source_role",
    "content",
    "source_id",
    "model",
    "usage",
    "stop_reason",
    "source_stop_reason",
    "error",
    "source_type",
    "shown_as",
    "agent",
    "hidden",
];
/// The order of every other payload.
pub(super) const OTHER: &[&str] = &["custom_type", "source_id", "tokens_before", "details", "data", "from"];

const USAGE: Table = Table(&[
    ("input_tokens", To("input", Number)),
    ("cache_creation_input_tokens", To("cache_write", Number)),
    ("cache_read_input_tokens", To("cache_read", Number)),
    ("output_tokens", To("output", Number)),
    ("output_tokens_details", Ext),
    ("server_tool_use", Ext),
    ("service_tier", Ext),
    ("cache_creation", Ext),
]);

const USER: Table = Table(&[("role", Word(&words::COMMON_ROLES)), ("content", Blocks("content"))]);

const ASSISTANT: Table = Table(&[
    ("id", Ext),
    ("type", Constant("\"message\"")),
    ("role", Word(&words::COMMON_ROLES)),
    ("model", To("model", Text)),
    ("content", Blocks("content")),
    ("stop_reason", Word(&words::MESSAGES_STOP_REASONS)),
    ("stop_sequence", Constant("null")),
    ("usage", Object("usage", &USAGE)),
    ("stop_details", Ext),
]);

/// The attachment of a prompt that was typed while a turn ran.
const QUEUED: Table = Table(&[
    ("type", Ext),
    ("prompt", Blocks("content")),
    ("source_uuid", Ext),
    ("delivery_id", Ext),
    ("commandMode", Ext),
    ("timestamp", Ext),
]);

/// A record of the newest release (2.1.326): the keys that place it, its own, and
/// those of the session. Older releases write other orders, which become shapes.
macro_rules! record {
    ($($row:expr),* $(,)?) => {
        Table(&[
            ("parentUuid", Parent),
            ("logicalParentUuid", Ext),
            ("isSidechain", Constant("false")),
            ("teamName", Ext),
            ("agentName", Ext),
            ("promptId", Ext),
            ("agentId", Ext),
            $($row,)*
            ("userType", Constant("\"external\"")),
            ("entrypoint", Ext),
            ("cwd", Ext),
            ("sessionId", Ext),
            ("version", Ext),
            ("gitBranch", Ext),
            ("slug", Ext),
            ("requestSessionId", Ext),
            ("forkedFrom", Ext),
        ])
    };
}

pub(super) static USER_RECORD: Table = record!(
    ("type", Constant("\"user\"")),
    ("message", Open(&USER)),
    ("isVisibleInTranscriptOnly", Ext),
    ("isCompactSummary", Ext),
    ("isMeta", Ext),
    ("turnCompanion", Ext),
    ("uuid", To("source_id", Text)),
    ("timestamp", Time),
    ("imagePasteIds", Ext),
    ("permissionMode", Ext),
    ("origin", Ext),
    ("promptSource", Ext),
    ("turnOrigin", Ext),
    ("turnPosition", Ext),
    ("queueSkipAttachments", Ext),
    ("toolUseResult", Ext),
    ("sandboxed", Ext),
    ("toolDenialKind", Ext),
    ("sourceToolAssistantUUID", Ext),
    ("permissionDecision", Ext),
    ("refusedMessageId", Ext),
    ("summarizedTurnPromptUuids", Ext),
);
pub(super) static ASSISTANT_RECORD: Table = record!(
    ("message", Open(&ASSISTANT)),
    ("costUSD", Inside("usage", "cost", Number)),
    ("durationMs", Ext),
    ("thinkingDurationMs", Ext),
    ("thinkingDisplay", Ext),
    ("toolInputStreamMs", Ext),
    ("apiBlockIndex", Ext),
    ("requestId", Ext),
    ("requestRef", Ext),
    ("requestedModel", Ext),
    ("promptCacheRequested", Ext),
    ("attributionAgent", Ext),
    ("type", Constant("\"assistant\"")),
    ("uuid", To("source_id", Text)),
    ("timestamp", Time),
    ("isAbortedMidStream", Ext),
    ("error", To("error", Text)),
    ("isApiErrorMessage", Ext),
    ("effort", Ext),
    ("perTurnEffort", Ext),
    ("madeBy", Ext),
    ("session_id", Ext),
);
pub(super) static QUEUED_RECORD: Table = record!(
    ("attachment", Open(&QUEUED)),
    ("type", Constant("\"attachment\"")),
    ("uuid", To("source_id", Text)),
    ("timestamp", Time),
    ("rendered", Ext),
    ("renderedRole", Ext),
    ("session_id", Ext),
);
pub(super) static ATTACHMENT_RECORD: Table = record!(
    ("attachment", Shared("data", "from")),
    ("type", Constant("\"attachment\"")),
    ("uuid", To("source_id", Text)),
    ("timestamp", Time),
    ("rendered", Ext),
    ("renderedRole", Ext),
    ("renderedBesideToolResult", Ext),
    ("session_id", Ext),
);
pub(super) static REQUEST_SHAPE: Table = Table(&[
    ("type", Constant("\"api-request-shape\"")),
    ("sessionId", Ext),
    ("agentId", Ext),
    ("shapeHash", Ext),
    ("timestamp", Time),
    ("version", Ext),
    ("shape", Shared("data", "from")),
]);
pub(super) static BOUNDARY_RECORD: Table = record!(
    ("type", Constant("\"system\"")),
    ("subtype", Constant("\"compact_boundary\"")),
    ("content", Ext),
    ("level", Ext),
    ("compactMetadata", To("details", Any)),
    ("uuid", To("source_id", Text)),
    ("timestamp", Time),
);
