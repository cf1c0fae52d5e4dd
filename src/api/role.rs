//! Who said a message.

use serde::Serialize;
use std::fmt;

/// Who said a message, in the four words that most programs share.
///
/// A source's own word for anything else is beside it, in
/// [`Message::source_role`](super::Message::source_role).
///
/// ```
/// use everlog::Role;
/// assert_eq!(Role::Assistant.name(), "assistant");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The program itself: instructions, notes of its extensions, summaries, and
    /// whatever has a role that this version does not know.
    System,
    /// The person, also where they ran a command of their own.
    User,
    /// The model.
    Assistant,
    /// A tool, answering a call.
    Tool,
}

impl Role {
    /// Reads the role in a log. The second value is the source's own word, where
    /// the role does not say it.
    pub(super) fn of(word: Option<&str>) -> (Role, Option<String>) {
        match word {
            Some("system") => (Role::System, None),
            Some("user") => (Role::User, None),
            Some("assistant") => (Role::Assistant, None),
            Some("tool") => (Role::Tool, None),
            // A command that a person typed, which is in the log with its output.
            Some(SHELL) => (Role::User, Some(SHELL.to_owned())),
            other => (Role::System, other.map(str::to_owned)),
        }
    }

    /// Returns the role's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// The word that logs have for a command which a person ran.
pub(super) const SHELL: &str = "bashExecution";

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
