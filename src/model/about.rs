//! What a list of sessions shows of one session.

use serde::{Deserialize, Serialize};

/// A session at a glance: what people know it by, and how much there is of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct About {
    /// Its id in its program.
    pub id: String,
    /// Its title, where its program gives it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first line of what a person said first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The folder that it worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time of its last message, in the form of the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Messages on its active branch, also those that a compaction replaced.
    pub messages: u64,
    /// How many of them a person said.
    pub turns: u64,
    /// Branches that its program, or a fork, can go on from.
    pub branches: u64,
}

impl About {
    /// Returns what the session is called: its title, or how it begins.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).or(self.prompt.as_deref())
    }
}
