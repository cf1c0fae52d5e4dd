//! Picoclaw's records by table, in the order of its writer.

use crate::adapters::mapping::{Goes, Table, Takes};
use crate::model::json::{Escapes, Separators, Style};

/// A message, on a line or in a list.
pub(super) const MESSAGE: Table = Table(&[
    ("role", Goes::To("role", Takes::Text)),
    ("content", Goes::Content(TEXT)),
    ("model_name", Goes::To("model", Takes::Text)),
    ("created_at", Goes::Time),
    ("media", Goes::Content(MEDIA)),
    ("attachments", Goes::Content(ATTACHMENTS)),
    ("reasoning_content", Goes::Content(REASONING)),
    ("system_parts", Goes::Content(SYSTEM_PARTS)),
    ("tool_calls", Goes::Content(TOOL_CALLS)),
    ("tool_call_id", Goes::Content(CALL_ID)),
]);

/// The members of a message's payload.
pub(super) const MESSAGE_ORDER: &[&str] = &["role", "content", "model", "hidden"];

pub(super) const TEXT: &str = "text";
pub(super) const MEDIA: &str = "media";
pub(super) const ATTACHMENTS: &str = "attachments";
pub(super) const REASONING: &str = "reasoning";
pub(super) const SYSTEM_PARTS: &str = "system_parts";
pub(super) const TOOL_CALLS: &str = "tool_calls";
pub(super) const CALL_ID: &str = "call_id";

/// A file beside a message.
pub(super) const ATTACHMENT: Table = Table(&[
    ("type", Goes::To("kind", Takes::Text)),
    ("ref", Goes::To("ref", Takes::Text)),
    ("url", Goes::To("uri", Takes::Text)),
    ("filename", Goes::To("name", Takes::Text)),
    ("content_type", Goes::To("media_type", Takes::Text)),
]);

/// A meta file.
pub(super) const META: Table = Table(&[
    ("key", Goes::To("key", Takes::Text)),
    ("summary", Goes::To("summary", Takes::Text)),
    ("skip", Goes::To("skip", Takes::Number)),
    ("count", Goes::To("count", Takes::Number)),
    ("created_at", Goes::To("created", Takes::Text)),
    ("updated_at", Goes::To("updated", Takes::Text)),
    ("scope", Goes::To("scope", Takes::Any)),
    ("aliases", Goes::To("aliases", Takes::Holder)),
]);

/// A legacy session, a whole file.
pub(super) const LEGACY: Table = Table(&[
    ("key", Goes::To("key", Takes::Text)),
    ("messages", Goes::List),
    ("summary", Goes::To("summary", Takes::Text)),
    ("created", Goes::To("created", Takes::Text)),
    ("updated", Goes::To("updated", Takes::Text)),
]);

/// How lines are written.
pub(super) const LINES: Style = Style { separators: Separators::Compact, escapes: Escapes::Go };

/// How whole files are written.
pub(super) const WHOLE: Style = Style { separators: Separators::Indented, escapes: Escapes::Go };

/// The style of a file with these separators. Go never writes `<`, `>` or `&`
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
