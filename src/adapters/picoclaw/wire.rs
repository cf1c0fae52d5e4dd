//! Picoclaw's records by table, in the order of its writer.

use crate::adapters::kit::mapping::{Table, Target, ValueKind};
use crate::adapters::kit::words;
use crate::json::{Escapes, Separators, Style};

/// A message, on a line or in a list.
pub(super) const MESSAGE: Table = Table(&[
    ("role", Target::Word(&words::COMMON_ROLES)),
    ("content", Target::Content(TEXT)),
    ("model_name", Target::To("model", ValueKind::Text)),
    ("created_at", Target::Time),
    ("media", Target::Content(MEDIA)),
    ("attachments", Target::Content(ATTACHMENTS)),
    ("reasoning_content", Target::Content(REASONING)),
    ("system_parts", Target::Content(SYSTEM_PARTS)),
    ("tool_calls", Target::Content(TOOL_CALLS)),
    ("tool_call_id", Target::Content(CALL_ID)),
]);

/// The members of a message's payload.
pub(super) const MESSAGE_ORDER: &[&str] = &["role", "source_role", "content", "model", "hidden"];

pub(super) const TEXT: &str = "text";
pub(super) const MEDIA: &str = "media";
pub(super) const ATTACHMENTS: &str = "attachments";
pub(super) const REASONING: &str = "reasoning";
pub(super) const SYSTEM_PARTS: &str = "system_parts";
pub(super) const TOOL_CALLS: &str = "tool_calls";
pub(super) const CALL_ID: &str = "call_id";

/// A file beside a message.
pub(super) const ATTACHMENT: Table = Table(&[
    ("type", Target::To("kind", ValueKind::Text)),
    ("ref", Target::To("ref", ValueKind::Text)),
    ("url", Target::To("uri", ValueKind::Text)),
    ("filename", Target::To("name", ValueKind::Text)),
    ("content_type", Target::To("media_type", ValueKind::Text)),
]);

/// A meta file.
pub(super) const META: Table = Table(&[
    ("key", Target::To("key", ValueKind::Text)),
    ("summary", Target::To("summary", ValueKind::Text)),
    ("skip", Target::To("skip", ValueKind::Number)),
    ("count", Target::To("count", ValueKind::Number)),
    ("created_at", Target::To("created", ValueKind::Text)),
    ("updated_at", Target::To("updated", ValueKind::Text)),
    ("scope", Target::To("scope", ValueKind::Any)),
    ("aliases", Target::To("aliases", ValueKind::Holder)),
]);

/// A legacy session, a whole file.
pub(super) const LEGACY: Table = Table(&[
    ("key", Target::To("key", ValueKind::Text)),
    ("messages", Target::List),
    ("summary", Target::To("summary", ValueKind::Text)),
    ("created", Target::To("created", ValueKind::Text)),
    ("updated", Target::To("updated", ValueKind::Text)),
]);

/// How lines are written.
pub(super) const LINES: Style = Style { separators: Separators::Compact, escapes: Escapes::Go };

/// How whole files are written.
pub(super) const WHOLE: Style = Style { separators: Separators::Indented, escapes: Escapes::Go };

/// Returns the style of a file with these separators. Go never writes `<`, `>` or `&`
/// as they are, so a file that has one went through another program's hands.
pub(super) fn style_of(bytes: &[u8], separators: Separators) -> Style {
    let head = &bytes[..bytes.len().min(64 * 1024)];
    let escapes = match separators {
        Separators::Spaced => Style::of_file(bytes, Style::default()).escapes,
        Separators::Compact | Separators::Indented if memchr::memchr3(b'<', b'>', b'&', head).is_some() => Escapes::Utf8,
        Separators::Compact | Separators::Indented => Escapes::Go,
    };
    Style { separators, escapes }
}

/// How deep a message stands in a legacy file.
pub(super) const DEPTH_IN_LEGACY: usize = 2;

/// What a file holds, in its recipe's words.
pub(super) const HOLDS_LINES: &str = "messages";
pub(super) const HOLDS_META: &str = "meta";
pub(super) const HOLDS_LEGACY: &str = "session";
