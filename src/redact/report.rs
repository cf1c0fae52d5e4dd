//! What was removed, and from where; never what it was.

use serde::Serialize;
use std::collections::BTreeMap;

use crate::model::ids::Seq;

/// Where something was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovedFrom {
    /// In what is said about the session: its title, its folder.
    Session,
    /// In the message with this number.
    Message(Seq),
}

/// One secret that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redaction {
    /// What is there instead of it.
    pub placeholder: String,
    /// What it was: `api-key`, `email`, `home`.
    pub kind: &'static str,
    /// How many times it was there.
    pub count: u64,
    /// Where it was, each place once.
    pub places: Vec<RemovedFrom>,
}

/// All that was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Redactions {
    /// The secrets, in the order in which they were found.
    pub removed: Vec<Redaction>,
    /// The messages that were left out, because nobody knows what they say.
    pub left_out: Vec<Seq>,
}

impl Redactions {
    /// Returns how often something of each kind was removed.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = BTreeMap::new();
        for redaction in &self.removed {
            *counts.entry(redaction.kind).or_default() += redaction.count;
        }
        counts
    }
}
