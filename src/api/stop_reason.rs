//! Why a model stopped.

use serde::Serialize;
use std::fmt;

/// Why a model stopped, in one vocabulary for all programs and providers.
///
/// The source's own word is beside it where it says more, in
/// [`Message::source_stop_reason`](super::Message::source_stop_reason).
///
/// ```
/// use everlog::StopReason;
/// assert_eq!(StopReason::of("tool_calls"), StopReason::ToolUse);
/// assert_eq!(StopReason::of("toolUse"), StopReason::ToolUse);
/// assert_eq!(StopReason::of("injected"), StopReason::Other);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// A tool is to be called.
    ToolUse,
    /// The answer reached the largest number of tokens.
    MaxTokens,
    /// Somebody stopped it.
    Aborted,
    /// It failed.
    Error,
    /// A word that this version does not know.
    Other,
}

impl StopReason {
    /// Returns the reason that a source's word stands for.
    #[must_use]
    pub fn of(word: &str) -> StopReason {
        match word.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "endturn" | "stop_sequence" | "stopsequence" | "completed" | "end" => StopReason::EndTurn,
            "tool_use" | "tooluse" | "tool_calls" | "tool-calls" | "toolcalls" | "function_call" => StopReason::ToolUse,
            "max_tokens" | "maxtokens" | "length" | "max_output_tokens" => StopReason::MaxTokens,
            "aborted" | "abort" | "interrupted" | "cancelled" | "canceled" => StopReason::Aborted,
            "error" => StopReason::Error,
            _ => StopReason::Other,
        }
    }

    /// Returns the reason's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            StopReason::EndTurn => "end_turn",
            StopReason::ToolUse => "tool_use",
            StopReason::MaxTokens => "max_tokens",
            StopReason::Aborted => "aborted",
            StopReason::Error => "error",
            StopReason::Other => "other",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
