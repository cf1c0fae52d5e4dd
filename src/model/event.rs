//! The events of a log: their kinds, and the payloads that the log itself
//! understands. Messages and other facts are carried as JSON text.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::files::RelPath;
use super::heads::{Head, Repeat};
use super::ids::Seq;
use super::json::{self, Kind};

/// The version of the log format that this build writes.
pub const LOG_VERSION: u32 = 1;

macro_rules! kinds {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// What an event says.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum EventKind {
            $(#[doc = $doc] $variant,)*
            /// A type that this version does not know: kept, and passed over.
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
    /// The source's own id of it, where that is a text.
    #[must_use]
    pub fn source_id(&self) -> Option<Cow<'a, str>> {
        memchr::memmem::find(self.payload, b"\"source_id\":")?;
        let member = json::members(self.payload).find(|member| member.name() == "source_id")?;
        (json::kind_of(member.value) == Kind::String).then(|| json::unescape(member.value))
    }

    /// Whether this is a message that the `loader`, the `display` or a `model`
    /// would not see.
    #[must_use]
    pub fn is_hidden_from(&self, who: &str) -> bool {
        static HIDDEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"hidden\":"));
        self.kind == EventKind::Message
            && HIDDEN.find(self.payload).is_some()
            && json::members(self.payload).filter(|member| member.name() == "hidden").any(|member| {
                json::members(member.value)
                    .filter(|inner| inner.name() == "from")
                    .any(|from| json::elements(from.value).any(|name| json::unescape(name) == who))
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
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The folder that it worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The source format's own version, where the source says one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format_version: Option<String>,
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
            title: None,
            cwd: None,
            format_version: None,
            created: None,
            parent_session: None,
            canonical: None,
            promoted_from: None,
        }
    }

    /// The same, in a folder of its own.
    #[must_use]
    pub fn in_folder(mut self, name: &[u8]) -> Session {
        (self.folder, self.folder_b64) = text_or_b64(name);
        self
    }
}

/// What the files of a unit are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// One session.
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
    /// What else the program derives from the session, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
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
    /// The bytes, where they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64, where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
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

/// Bytes as text where they are UTF-8, else as base64: `(text, b64)`.
#[must_use]
pub fn text_or_b64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    use base64::Engine;
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(base64::engine::general_purpose::STANDARD.encode(bytes))),
    }
}

/// The inverse of [`text_or_b64`]; `None` where neither or bad base64 is given.
#[must_use]
pub fn bytes_of(text: Option<&str>, b64: Option<&str>) -> Option<Vec<u8>> {
    use base64::Engine;
    match (text, b64) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(b64)) => base64::engine::general_purpose::STANDARD.decode(b64).ok(),
        _ => None,
    }
}

/// A payload as the log writes it: compact JSON, with the characters that the
/// log escapes and `serde_json` does not.
///
/// # Errors
/// When the value cannot be JSON, which none of our payloads can cause.
pub fn to_log_json<T: Serialize>(payload: &T) -> Result<Vec<u8>, serde_json::Error> {
    let plain = serde_json::to_string(payload)?;
    // These characters stand only inside strings, so the text can be mended
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
