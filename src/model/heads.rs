//! Heads: named pointers to a node, whose history is the walk to the root.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

use super::ids::Seq;

/// What a head stands for in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// A branch that the program can load.
    Branch,
    /// A compacted view of a branch.
    View,
    /// The list that a model is given.
    Context,
    /// A copy kept for recovery.
    Backup,
    /// The state that an event log of the source replays to.
    Events,
}

impl HeadKind {
    const NAMES: [(&'static str, HeadKind); 5] = [
        ("branch", HeadKind::Branch),
        ("view", HeadKind::View),
        ("context", HeadKind::Context),
        ("backup", HeadKind::Backup),
        ("events", HeadKind::Events),
    ];
}

/// A head's full name, written `kind:name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeadName {
    /// What it stands for.
    pub kind: HeadKind,
    /// Its name in the source.
    pub name: String,
}

impl HeadName {
    /// Returns a head of this kind and name.
    pub fn new(kind: HeadKind, name: impl Into<String>) -> HeadName {
        HeadName { kind, name: name.into() }
    }

    /// Returns the head that every log starts on.
    #[must_use]
    pub fn main() -> HeadName {
        HeadName::new(HeadKind::Branch, "main")
    }

    /// Reads what a person types: a bare name is a branch.
    #[must_use]
    pub fn parse(text: &str) -> HeadName {
        if let Some((kind, name)) = text.split_once(':')
            && let Some((_, kind)) = HeadKind::NAMES.iter().find(|(word, _)| *word == kind)
        {
            return HeadName::new(*kind, name);
        }
        HeadName::new(HeadKind::Branch, text)
    }
}

impl fmt::Display for HeadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = HeadKind::NAMES.iter().find(|(_, kind)| *kind == self.kind).map_or("", |(word, _)| word);
        write!(f, "{word}:{}", self.name)
    }
}

/// How a head moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadOp {
    /// Becomes the current head (or, without a name, none is current).
    Switch,
    /// Is created here and becomes current.
    Branch,
    /// Moves to a node that was appended.
    Append,
    /// Moves to an ancestor.
    Undo,
    /// Moves to the end of an edited list.
    Edit,
    /// Moves to the end of a list that was loaded as a whole.
    Load,
}

/// The payload of a `head` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// What the head stands for.
    pub kind: HeadKind,
    /// Its name in the source.
    pub name: String,
    /// Where it stands now; 0 is the root.
    pub node: Seq,
    /// How it came there.
    pub op: HeadOp,
    /// How many steps an undo names, where the source names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Which element an edit replaced, where the source says so by index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// The number of the source's own record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<RecordNumber>,
}

impl Head {
    /// Returns a move of `head` to `node`.
    #[must_use]
    pub fn to(head: &HeadName, node: Seq, op: HeadOp) -> Head {
        Head { kind: head.kind, name: head.name.clone(), node, op, n: None, index: None, source_id: None }
    }

    /// Returns the head's full name.
    #[must_use]
    pub fn head_name(&self) -> HeadName {
        HeadName::new(self.kind, self.name.clone())
    }
}

/// The payload of a `repeat` event: the messages on the walk from `last` back
/// to `first` stand here once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// The first message of the run.
    pub first: Seq,
    /// The last message of the run, a descendant of `first` or `first` itself.
    pub last: Seq,
    /// The number of the source's own record, where the repeat is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<RecordNumber>,
}

/// The number that a source gives one of its records. In a log it is a text, as
/// every `source_id`; older logs have the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordNumber(pub u64);

impl Serialize for RecordNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RecordNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordNumber, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        value.get().trim_matches('"').parse().map(RecordNumber).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_record_is_a_text_and_is_read_from_older_logs_too() {
        let repeat = Repeat { first: Seq::new(2), last: Seq::new(3), source_id: Some(RecordNumber(7)) };
        let json = serde_json::to_string(&repeat).unwrap();
        assert_eq!(json, r#"{"first":2,"last":3,"source_id":"7"}"#);
        for json in [json.as_str(), r#"{"first":2,"last":3,"source_id":7}"#] {
            assert_eq!(serde_json::from_str::<Repeat>(json).unwrap(), repeat);
        }
    }

    #[test]
    fn a_typed_head_name_may_leave_the_kind_out() {
        assert_eq!(HeadName::parse("alt"), HeadName::new(HeadKind::Branch, "alt"));
        assert_eq!(HeadName::parse("events:main"), HeadName::new(HeadKind::Events, "main"));
        assert_eq!(HeadName::parse("branch:events:x").name, "events:x");
        assert_eq!(HeadName::parse("v1:2"), HeadName::new(HeadKind::Branch, "v1:2"));
        assert_eq!(HeadName::new(HeadKind::View, "c-1").to_string(), "view:c-1");
    }
}
