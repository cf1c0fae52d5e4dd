//! The events of a log: their kinds, and the payloads that the log itself
//! understands. Messages and other facts are carried as JSON text.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::fact::Fact;
use super::files::RelPath;
use super::heads::{Head, Repeat};
use super::ids::Seq;
use super::packing::Packing;
pub use super::text_or_bytes::{bytes_of, text_or_b64};
use crate::json::Value;

/// The version of the log format that this build writes.
pub const LOG_VERSION: u32 = 1;

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
            /// The kind with this name in a log.
            #[must_use]
            pub fn from_name(name: &[u8]) -> EventKind {
                $(if name == $name.as_bytes() { return EventKind::$variant; })*
                EventKind::Unknown
            }

            /// The name in a log.
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
    BranchSummary "branch_summary" "A summary of a branch left behind.",
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

    /// The source's own id of it, where that is a text.
    #[must_use]
    pub fn source_id(&self) -> Option<Cow<'a, str>> {
        memchr::memmem::find(self.payload, b"\"source_id\":")?;
        self.value().first("source_id")?.as_str()
    }

    /// Whether this is a message that the `loader`, the `display` or a `model`
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

/// The payload of `session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The log format's version.
    pub version: u32,
    /// `session`, or what else the files are.
    pub kind: SessionKind,
    /// The source format's id.
    pub format: String,
    /// The session's id in its program.
    pub id: String,
    /// The folder that the session is, where it is one; its files' paths are
    /// relative to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// That folder's name in base64, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder_b64: Option<String>,
    /// How many folders above the one of its log the paths of its files begin, where
    /// its files lie in several folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u32>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The source format's own version, where the source says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format_version: Option<String>,
    /// `rows` where the source is a database: its rows are promised, each value with
    /// its storage class, and not the bytes of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
    /// When it was begun, in the source's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The session that it was made from, in the source's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// The session beside it that its program opens when asked for its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The session beside it whose messages its program copied to its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<String>,
}

impl Session {
    /// The folder that it is, by the bytes of its name; empty where it is none.
    #[must_use]
    pub fn own_folder(&self) -> RelPath {
        RelPath::new(bytes_of(self.folder.as_deref(), self.folder_b64.as_deref()).unwrap_or_default())
    }

    /// A session of which nothing else is known yet.
    pub fn new(kind: SessionKind, format: &str, id: impl Into<String>) -> Session {
        Session {
            version: LOG_VERSION,
            kind,
            format: format.to_owned(),
            id: id.into(),
            folder: None,
            folder_b64: None,
            above: None,
            title: None,
            cwd: None,
            format_version: None,
            fidelity: None,
            created: None,
            parent_session: None,
            canonical: None,
            promoted_from: None,
        }
    }

    /// Returns the session as one that has a folder of its own.
    #[must_use]
    pub fn in_folder(mut self, name: &[u8]) -> Session {
        (self.folder, self.folder_b64) = text_or_b64(name);
        self
    }
}

/// What restoring a log promises of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Every row of a database, each value with its storage class.
    Rows,
}

/// What the files of a unit are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// One session.
    #[default]
    Session,
    /// What is left of one whose main file is gone.
    Orphan,
    /// A file that keeps something about many sessions.
    Store,
    /// A list of sessions.
    Index,
    /// A list of scheduled jobs.
    Jobs,
}

impl SessionKind {
    /// Every kind, in the order in which they are counted.
    pub const ALL: [SessionKind; 5] =
        [SessionKind::Session, SessionKind::Orphan, SessionKind::Store, SessionKind::Index, SessionKind::Jobs];

    /// Tells whether it is one session.
    #[must_use]
    pub fn is_session(&self) -> bool {
        *self == SessionKind::Session
    }

    /// Returns the words that people count units of this kind by: one, and many.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            SessionKind::Session => ("session", "sessions"),
            SessionKind::Orphan => ("orphan", "orphans"),
            SessionKind::Store => ("store", "stores"),
            SessionKind::Index => ("list of sessions", "lists of sessions"),
            SessionKind::Jobs => ("list of jobs", "lists of jobs"),
        }
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

/// The payload of `damage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The file, relative to the session.
    pub file: String,
    /// The line where it begins, from 1.
    pub line: u64,
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// Why the loader rejects it.
    pub reason: String,
    /// Its runs of zero bytes: where in it each begins, and how long it is. They
    /// are counted because a log needs six bytes to write one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nul: Vec<(u64, u64)>,
    /// The bytes without those runs, where they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes without those runs in base64, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
}

/// From so many zero bytes on, a run of them is counted.
const COUNTED_RUN: usize = 8;

/// The bytes of a damage: its runs of zero bytes, as counts, and what else it has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DamagedBytes {
    /// Where in the damage each run begins, and how long it is.
    pub nul: Vec<(u64, u64)>,
    /// The bytes without those runs.
    pub rest: Vec<u8>,
}

impl DamagedBytes {
    /// Counts the runs in these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> DamagedBytes {
        let (mut nul, mut rest) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(start) = memchr::memchr(0, &bytes[at..]).map(|found| at + found) {
            let len = bytes[start..].iter().take_while(|byte| **byte == 0).count();
            if len >= COUNTED_RUN {
                nul.push((start as u64, len as u64));
                rest.extend_from_slice(&bytes[at..start]);
            } else {
                rest.extend_from_slice(&bytes[at..start + len]);
            }
            at = start + len;
        }
        rest.extend_from_slice(&bytes[at..]);
        DamagedBytes { nul, rest }
    }

    /// The pieces in order: bytes, and behind them so many zero bytes. `None`
    /// where a run does not follow the one before it.
    #[must_use]
    pub fn pieces(&self) -> Option<Vec<(&[u8], u64)>> {
        let mut pieces = Vec::with_capacity(self.nul.len() + 1);
        let (mut at, mut rest) = (0u64, self.rest.as_slice());
        for (start, len) in &self.nul {
            let (before, behind) = rest.split_at_checked(usize::try_from(start.checked_sub(at)?).ok()?)?;
            pieces.push((before, *len));
            rest = behind;
            at = start.checked_add(*len)?;
        }
        pieces.push((rest, 0));
        Some(pieces)
    }
}

impl Damage {
    /// Its bytes, whichever way a log has them; `None` where it has none.
    #[must_use]
    pub fn bytes(&self) -> Option<DamagedBytes> {
        match (bytes_of(self.text.as_deref(), self.b64.as_deref()), self.nul.is_empty()) {
            // As older logs have it: runs written out.
            (Some(bytes), true) => Some(DamagedBytes::of(&bytes)),
            (Some(rest), false) => Some(DamagedBytes { nul: self.nul.clone(), rest }),
            (None, false) if self.text.is_none() && self.b64.is_none() => Some(DamagedBytes { nul: self.nul.clone(), rest: Vec::new() }),
            (None, _) => None,
        }
    }
}

/// The payload of `residual`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Residual {
    /// The events whose record this is, first and last.
    pub of: (Seq, Seq),
    /// The recipe's piece that it stands for, where it is no whole record.
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

/// A payload as the log writes it: compact JSON, with the characters that the
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
