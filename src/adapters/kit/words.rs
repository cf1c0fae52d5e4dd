//! The words that logs have for roles and for why a model stopped, and the words
//! of sources that several formats share.

use super::mapping::Vocabulary;

/// The role of whatever the four roles do not cover: the program itself.
pub(in crate::adapters) const SYSTEM: &[u8] = b"\"system\"";
/// The person.
pub(in crate::adapters) const USER: &[u8] = b"\"user\"";
/// A tool, answering a call.
pub(in crate::adapters) const TOOL: &[u8] = b"\"tool\"";

/// The member of a payload with the source's own word for a role.
pub(in crate::adapters) const SOURCE_ROLE: &str = "source_role";

const SYSTEM_WORD: &str = "\"system\"";
const OTHER_REASON: &str = "\"other\"";

/// Makes a vocabulary of roles.
pub(in crate::adapters) const fn roles(words: &'static [(&'static str, &'static str)]) -> Vocabulary {
    Vocabulary { name: "role", source_name: SOURCE_ROLE, words, other: SYSTEM_WORD }
}

/// Makes a vocabulary of reasons to stop.
pub(in crate::adapters) const fn stop_reasons(words: &'static [(&'static str, &'static str)]) -> Vocabulary {
    Vocabulary { name: "stop_reason", source_name: "source_stop_reason", words, other: OTHER_REASON }
}

/// Roles of sources that use the log's own words.
pub(in crate::adapters) static COMMON_ROLES: Vocabulary =
    roles(&[("\"user\"", "\"user\""), ("\"assistant\"", "\"assistant\""), ("\"system\"", "\"system\""), ("\"tool\"", "\"tool\"")]);

/// Reasons to stop as OpenAI's chat interface has them.
pub(in crate::adapters) static CHAT_STOP_REASONS: Vocabulary = stop_reasons(&[
    ("\"stop\"", "\"end_turn\""),
    ("\"tool_calls\"", "\"tool_use\""),
    ("\"length\"", "\"max_tokens\""),
    ("\"error\"", "\"error\""),
    ("\"cancelled\"", "\"aborted\""),
    ("\"function_call\"", "\"tool_use\""),
]);

/// Reasons to stop as Anthropic's messages interface has them.
pub(in crate::adapters) static MESSAGES_STOP_REASONS: Vocabulary = stop_reasons(&[
    ("\"end_turn\"", "\"end_turn\""),
    ("\"tool_use\"", "\"tool_use\""),
    ("\"max_tokens\"", "\"max_tokens\""),
    ("\"stop_sequence\"", "\"end_turn\""),
]);
