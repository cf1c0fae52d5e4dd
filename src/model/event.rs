//! The events of a log: their kinds, and the payloads that the log itself
//! understands. Messages and other facts are carried as JSON text.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use super::damage::{Damage, DamagedBytes};
use super::fact::Fact;
use super::heads::{Head, Repeat};
use super::ids::Seq;
use super::packing::Packing;
pub use super::session::{Fidelity, LOG_VERSION, Session, SessionKind};
pub use super::text_or_bytes::{bytes_of, text_or_b64};
use crate::json::Value;

macro_rules! kinds {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// What an event says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum EventKind {
            $(#[doc = $doc] $variant,)*
            /// A type that this version does not know: kept, and skipped.
            Unknown,
        }

        impl EventKind {
            /// Returns the kind with this name in a log.
            #[must_use]
            pub fn from_name(name: &[u8]) -> EventKind {
                $(if name == $name.as_bytes() { return EventKind::$variant; })*
                EventKind::Unknown
            }

            /// Returns the name in a log.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(EventKind::$variant => $name,)*
                    EventKind::Unknown => "unknown",
                }
            }
        }
    };
}

kinds! {
    Message "message" "One message: a node.",
    Repeat "repeat" "A run of messages that stands here once more: a node.",
    Session "session" "First line: what the log is of.",
    Head "head" "A named pointer moves.",
    Outcome "outcome" "What a load by the source program ends in.",
    Edit "edit" "Another content in the place of one entry.",
    Hide "hide" "Logical truncation.",
    Compaction "compaction" "A summary in the place of a path.",
    BranchSummary "branch_summary" "A summary of a branch that was left.",
    ModelChange "model_change" "Another model from here on.",
    SettingChange "setting_change" "Another setting from here on.",
    Label "label" "A name for a node.",
    Usage "usage" "Token counts.",
    Turn "turn" "A state of one turn.",
    Run "run" "One entry of a run's log.",
    Meta "meta" "A change of session metadata.",
    Custom "custom" "What a plugin or a newer version wrote.",
    Checkpoint "checkpoint" "Derived: the state so far, by reference.",
    Row "row" "One row of a database that no fact says, or a part of its schema.",
    Damage "damage" "Bytes that the source's loader rejects.",
    Shapes "shapes" "Key orders besides the usual one.",
    Residual "residual" "A record that its event cannot render.",
    File "file" "How one source file is rebuilt.",
    Seal "seal" "Last line: all before it, hashed.",
}

/// What an adapter puts into a log. The log gives it its number.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// The source's own time, in the log's form.
    pub ts: Option<&'a str>,
    /// The node above, for nodes.
    pub parent: Option<Seq>,
    /// What it says.
    pub body: Body<'a>,
}

/// What an event says: the log follows heads and repeats itself, and carries
/// everything else.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// A payload in log form.
    Json(EventKind, &'a [u8]),
    /// A repeat.
    Repeat(&'a Repeat),
    /// A head move.
    Head(&'a Head),
}

/// An event as it stands in a log.
#[derive(Debug, Clone, Copy)]
pub struct EventRef<'a> {
    /// Its number.
    pub seq: Seq,
    /// The source's own time.
    pub ts: Option<&'a str>,
    /// What it says.
    pub kind: EventKind,
    /// The node above, for nodes.
    pub parent: Option<Seq>,
    /// The payload's JSON text.
    pub payload: &'a [u8],
}

impl<'a> EventRef<'a> {
    /// Returns the payload as a value. A log writer made its text, so that it is not
    /// validated again.
    #[inline]
    #[must_use]
    pub fn value(&self) -> Value<'a> {
        Value::trusted(self.payload)
    }

    /// Returns the source's own id of it, where that is a text.
    #[must_use]
    pub fn source_id(&self) -> Option<Cow<'a, str>> {
        memchr::memmem::find(self.payload, b"\"source_id\":")?;
        self.value().first("source_id")?.as_str()
    }

    /// Tells whether this is a message that the `loader`, the `display` or a `model`
    /// would not see.
    #[must_use]
    pub fn is_hidden_from(&self, who: &str) -> bool {
        static HIDDEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"hidden\":"));
        self.kind == EventKind::Message
            && HIDDEN.find(self.payload).is_some()
            && self.value().members().filter(|member| member.is("hidden")).any(|hidden| {
                let from = hidden.value().members().filter(|member| member.is("from"));
                from.flat_map(|from| from.value().elements()).any(|name| name.is_str(who))
            })
    }
}

/// The payload of `outcome`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The head that is shown by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The model the session is set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A summary of what is no longer shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Why the source program fails to load the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Heads that it fails to load, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, String>,
    /// What the session took, where its program counts that for the session and not
    /// for each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<SessionUsage>,
    /// What else the program derives from the session, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Fact>,
}

impl Outcome {
    /// Returns what the program calls the session, where that is not known from the
    /// beginning: the log's first line says a title that is.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.facts.get("name")? {
            Fact::Text(name) => Some(name),
            Fact::Json(_) => None,
        }
    }
}

/// What a whole session took, as its program counts it. A count that it does not have
/// is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionUsage {
    /// The model that answered, where it is known; the last one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens that the models were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens that they answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Those of them that they thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// Tokens that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens that were put into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// All of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// What it cost, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Number>,
}

impl SessionUsage {
    /// Returns what is said, unless that is no model and counts of nothing.
    #[must_use]
    pub fn if_any(self) -> Option<SessionUsage> {
        let SessionUsage { model, input, output, reasoning, cache_read, cache_write, total, cost } = &self;
        let counts = [input, output, reasoning, cache_read, cache_write, total].into_iter().flatten();
        let is_any = counts.copied().any(|count| count > 0) || cost.as_ref().and_then(Number::as_f64).is_some_and(|cost| cost > 0.0);
        (is_any || model.is_some()).then_some(self)
    }
}

/// The payload of `hide`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hide {
    /// Everything on the path is hidden as far as this node stands on it; 0
    /// hides nothing.
    pub up_to: Seq,
    /// What hid it, in the adapter's words.
    #[serde(default)]
    pub why: String,
}

/// Of the payload of `compaction`, what the log itself understands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compaction {
    /// What is said in the place of the path before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<RawValue>>,
    /// From which node on the path before it is still shown; nothing of it
    /// where this is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<Seq>,
}

/// Of the payload of `edit`, what the log itself understands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Edit {
    /// The node that is shown otherwise.
    pub target: Seq,
    /// The members that are others now; nothing where the node is left out.
    #[serde(default)]
    pub replacement: Option<Box<RawValue>>,
}

/// The payload of `residual`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Residual {
    /// The events whose record this is, first and last.
    pub of: (Seq, Seq),
    /// The recipe's piece that it stands for, where it is not a whole record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piece: Option<Box<RawValue>>,
    /// What those events render to, hashed: when it changes, the residual is
    /// void and the rendering counts.
    pub digest: String,
    /// The record, where it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The record in base64, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
}

/// The payload of `file`.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileEntry {
    /// The path relative to the session's folder, where it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The path in base64, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_b64: Option<String>,
    /// What stands there.
    pub kind: FileKind,
    /// A link's target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A link's target in base64, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_b64: Option<String>,
    /// How many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The hash of those bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Which records it holds, in the adapter's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The writing style, where it is not the program's usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<Box<RawValue>>,
    /// The pieces in file order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Box<RawValue>>,
    /// How what the pieces make is compressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<Packing>,
    /// The whole text of a companion without records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The hash under which a companion's bytes are kept beside the logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A folder with nothing in it.
    Folder,
    /// Rows of a database: the size and the hash are those of their text.
    Rows,
}

/// The payload of `seal`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// How many events stand before it.
    pub events: u32,
    /// The byte offset of the last checkpoint's line.
    pub checkpoint: u64,
    /// The hash of all bytes before this line.
    pub sha256: String,
}

/// The payload of `checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Every head and its node.
    pub heads: BTreeMap<String, Seq>,
    /// The head that appends move, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// The head whose path follows.
    pub of: String,
    /// Whether a node was put so far that takes others out of sight or changes
    /// them, so that a path alone does not say what is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub projects: bool,
    /// Its nodes, repeats expanded, as runs.
    pub path: Vec<Run>,
}

/// Nodes that follow each other in the log and on a path: first and last
/// number, and the bytes from the first's line to the end of the last's.
/// Between them stand no nodes that are not on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run(pub Seq, pub Seq, pub u64, pub u64);

/// Returns a payload as the log writes it: compact JSON, with the characters that the
/// log escapes and `serde_json` does not.
///
/// # Errors
/// When the value cannot be JSON, which none of our payloads can cause.
pub fn to_log_json<T: Serialize>(payload: &T) -> Result<Vec<u8>, serde_json::Error> {
    let plain = serde_json::to_string(payload)?;
    // These characters stand only inside strings, so the text can be repaired
    // without looking at its structure.
    let is_unsafe = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}');
    if !plain.contains(is_unsafe) {
        return Ok(plain.into_bytes());
    }
    let mut safe = String::with_capacity(plain.len() + 16);
    for c in plain.chars() {
        if is_unsafe(c) {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
    }
    Ok(safe.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_hold_no_raw_control_characters() {
        let text = to_log_json(&"a\u{1b}\u{7f}\u{85}\u{2028}é").unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), r#""a\u001b\u007f\u0085\u2028é""#);
    }

    #[test]
    fn bytes_survive_whatever_they_are() {
        for bytes in [&b"plain"[..], b"\xff\x00", b""] {
            let (text, b64) = text_or_b64(bytes);
            assert_eq!(bytes_of(text.as_deref(), b64.as_deref()).unwrap(), bytes);
        }
        assert_eq!(bytes_of(None, Some("***")), None);
    }
}
