//! The `.meta.json` beside a history.

use std::collections::BTreeMap;

use crate::runtimes::go::{Raw, Slice, Text, Time, compact, record, to_utf8};

record! {
    /// What the file says.
    pub struct Meta<'a> {
        key: Text<'a> = "key",
        /// What the program keeps of messages that it has dropped.
        pub summary: Text<'a> = "summary",
        /// How many lines of the history are dropped.
        pub skip: i64 = "skip",
        count: i64 = "count",
        created_at: Time = "created_at",
        updated_at: Time = "updated_at",
        scope: Raw<'a> = "scope",
        aliases: Slice<Text<'a>> = "aliases",
    }
}

impl Meta<'_> {
    /// Returns what the file says beyond the summary, by name.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        let aliases: Vec<_> = self.aliases.items().iter().map(Text::decoded).collect();
        let facts = [
            ("key", self.key.non_empty()),
            ("skip", Some(self.skip.to_string())),
            ("count", Some(self.count.to_string())),
            ("created_at", self.created_at.non_zero()),
            ("updated_at", self.updated_at.non_zero()),
            ("scope", self.scope.0.map(|scope| to_utf8(&compact(scope)).into_owned())),
            ("aliases", Some(aliases).filter(|aliases| !aliases.is_empty()).and_then(|aliases| serde_json::to_string(&aliases).ok())),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
    }
}
