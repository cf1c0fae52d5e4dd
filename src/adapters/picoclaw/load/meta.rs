//! The `.meta.json` beside a history.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cursor::{Cursor, Refused};
use super::fill::{Fill, Raw, Slice, members};
use super::moment::Moment;
use super::text;

/// What the file says.
#[derive(Debug, Default)]
pub struct Meta<'a> {
    key: Cow<'a, str>,
    /// What the program keeps of messages that it has dropped.
    pub summary: Cow<'a, str>,
    /// How many lines of the history are dropped.
    pub skip: i64,
    count: i64,
    created_at: Moment,
    updated_at: Moment,
    scope: Raw<'a>,
    aliases: Slice<Cow<'a, str>>,
}

impl<'a> Fill<'a> for Meta<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "key" => self.key.fill(from),
            "summary" => self.summary.fill(from),
            "skip" => self.skip.fill(from),
            "count" => self.count.fill(from),
            "created_at" => self.created_at.fill(from),
            "updated_at" => self.updated_at.fill(from),
            "scope" => self.scope.fill(from),
            "aliases" => self.aliases.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Meta<'_> {
    /// What the file says beyond the summary, by name.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        let time = |moment: &Moment| (!moment.is_zero()).then(|| moment.text());
        let aliases = self.aliases.items();
        let facts = [
            ("key", Some(self.key.to_string()).filter(|key| !key.is_empty())),
            ("skip", Some(self.skip.to_string())),
            ("count", Some(self.count.to_string())),
            ("created_at", time(&self.created_at)),
            ("updated_at", time(&self.updated_at)),
            ("scope", self.scope.0.map(compact)),
            ("aliases", Some(aliases).filter(|aliases| !aliases.is_empty()).and_then(|aliases| serde_json::to_string(aliases).ok())),
        ];
        facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
    }
}

/// A JSON value without the white space between its tokens.
fn compact(value: &[u8]) -> String {
    let mut out = Vec::with_capacity(value.len());
    let mut is_inside = false;
    let mut is_escaped = false;
    for byte in value {
        if is_inside {
            is_inside = is_escaped || *byte != b'"';
            is_escaped = !is_escaped && *byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            is_inside = *byte == b'"';
        }
        out.push(*byte);
    }
    text::mended(&out).into_owned()
}
