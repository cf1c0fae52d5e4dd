//! What a file is, by its content.

use crate::model::folder::FolderView;
use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::{Lines, Newlines};

use super::decode::is_folded;
use super::encode::decoded;
use super::layout::sanitised;
use super::normal::Record;
use super::whole::decode_meta;

/// More than any meta file that the program writes.
const LARGEST_META: u64 = 16 * 1024 * 1024;

/// Objects up to this size are looked at whole, where their beginning does not
/// say what they are.
const LARGEST_LOOK: u64 = 64 * 1024 * 1024;

/// A file named `*.jsonl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinesFile {
    /// Its first records are messages.
    Messages,
    /// Nothing in it says what it is.
    Unclear,
    /// Somebody else's records.
    Foreign,
}

/// A file named `*.meta.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MetaFile {
    /// It has every key that the program writes.
    Ours { key: String, aliases: Vec<String> },
    /// The program would read it, with zeros for what it lacks; so it would many
    /// an object of somebody else.
    Partial { key: String, aliases: Vec<String> },
    /// Nothing that the program could read, as after a crash.
    Broken,
    /// Too large or too strange for one.
    Foreign,
}

impl MetaFile {
    /// The session's key and what else it answers to, where that can be read.
    pub(super) fn names(&self) -> Option<(&str, &[String])> {
        match self {
            MetaFile::Ours { key, aliases } | MetaFile::Partial { key, aliases } => Some((key, aliases)),
            MetaFile::Broken | MetaFile::Foreign => None,
        }
    }

    /// Whether it says by itself that it is a session's, no lines being beside it.
    pub(super) fn stands_alone(&self, stem: &str) -> bool {
        match self {
            MetaFile::Ours { .. } | MetaFile::Broken => true,
            MetaFile::Partial { key, .. } => !key.is_empty() && sanitised(key) == stem,
            MetaFile::Foreign => false,
        }
    }
}

/// A file named `*.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LegacyFile {
    /// A session under the name of its key.
    Ours { key: String },
    /// A session under another name.
    Renamed { key: String },
    /// No JSON, as after a crash.
    Broken,
    /// Some other object.
    Object,
    /// Some other JSON.
    Other,
}

impl LegacyFile {
    /// The name that its session has as lines.
    pub(super) fn base(&self, stem: &str) -> String {
        match self {
            LegacyFile::Ours { key } | LegacyFile::Renamed { key } if !key.is_empty() => sanitised(key),
            LegacyFile::Ours { .. } | LegacyFile::Renamed { .. } | LegacyFile::Broken | LegacyFile::Object | LegacyFile::Other => {
                sanitised(stem)
            }
        }
    }
}

/// Whether a name is one of the program's temporaries.
pub(super) fn is_temporary(name: &str) -> bool {
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    name.strip_prefix(".tmp-").is_some_and(numbers)
        || (name.starts_with("session-") && name.ends_with(".tmp"))
        || name.ends_with(".jsonl.tmp")
        || name.ends_with(".meta.json.tmp")
}

/// Keys that messages of other programs have and picoclaw's have not.
const OTHERS: [&str; 7] = ["type", "id", "parentId", "timestamp", "uuid", "sessionId", "seq"];

pub(super) fn lines(first: &[u8], size: u64) -> LinesFile {
    let whole = first.len() as u64 == size;
    let mut found = LinesFile::Unclear;
    for line in Lines::new(first, Newlines::LineFeed).take(64) {
        if line.text.trim_ascii().is_empty() || (line.end.is_empty() && !whole) {
            continue;
        }
        let mut members = Vec::new();
        if json::scan_object(line.text, Dialect::Strict, &mut members).is_err() {
            continue;
        }
        if members.iter().any(|member| OTHERS.contains(&member.name().as_ref())) {
            return LinesFile::Foreign;
        }
        if Record::is_whole(line.text) {
            found = LinesFile::Messages;
        }
    }
    found
}

pub(super) fn meta(view: &FolderView<'_>, name: &str, size: u64) -> MetaFile {
    if size > LARGEST_META {
        return MetaFile::Foreign;
    }
    let bytes = view.all_bytes(name);
    let mut members = Vec::new();
    if json::scan_object(&bytes, Dialect::Strict, &mut members).is_err() {
        return MetaFile::Broken;
    }
    let has = |name: &str| members.iter().any(|member| is_folded(name, &member.name()));
    let is_complete = ["key", "summary", "skip", "count", "created_at", "updated_at"].into_iter().all(has);
    let Ok(meta) = decode_meta(&bytes) else {
        // An object that lacks keys and has others of the wrong kind is hardly one.
        return if is_complete { MetaFile::Broken } else { MetaFile::Foreign };
    };
    let (key, aliases) = (decoded(meta.key), meta.aliases.list().iter().map(|alias| decoded(alias)).collect());
    if is_complete { MetaFile::Ours { key, aliases } } else { MetaFile::Partial { key, aliases } }
}

pub(super) fn legacy(view: &FolderView<'_>, name: &str, size: u64) -> LegacyFile {
    let stem = super::layout::stem(name);
    let named = |key: String| if key == stem || sanitised(&key) == stem { LegacyFile::Ours { key } } else { LegacyFile::Renamed { key } };
    let first = view.first_bytes(name);
    if let Some(key) = key_before_messages(&first) {
        return named(key);
    }
    if size > LARGEST_LOOK {
        return LegacyFile::Other;
    }
    let bytes = if first.len() as u64 == size { first } else { view.all_bytes(name) };
    let mut members: Vec<Member<'_>> = Vec::new();
    if json::scan_object(&bytes, Dialect::Strict, &mut members).is_err() {
        let is_json = json::scan_value(&bytes, Dialect::Strict).is_ok_and(|scan| bytes[scan.end..].trim_ascii().is_empty());
        return if is_json { LegacyFile::Other } else { LegacyFile::Broken };
    }
    // As the program finds them: in other letters too, and the last one counts.
    let get = |name: &str| members.iter().rfind(|member| is_folded(name, &member.name())).map(|member| member.value);
    let is_known =
        |member: &Member<'_>| ["key", "messages", "summary", "created", "updated"].iter().any(|name| is_folded(name, &member.name()));
    let is_session = || {
        get("messages").is_some_and(|list| match json::kind_of(list) {
            Kind::Array => members.iter().all(is_known) || holds_messages(list),
            Kind::Null => members.iter().all(is_known),
            Kind::Object | Kind::String | Kind::Number | Kind::True | Kind::False => false,
        })
    };
    match get("key").filter(|key| json::kind_of(key) == Kind::String && is_session()) {
        Some(key) => named(decoded(key)),
        None => LegacyFile::Object,
    }
}

/// Whether a list is of messages and nothing else.
fn holds_messages(list: &[u8]) -> bool {
    let is_message = |element: &[u8]| {
        let has = |name: &str| json::members(element).any(|member| is_folded(name, &member.name()));
        json::kind_of(element) == Kind::Object && has("role") && has("content")
    };
    let mut elements = json::elements(list).peekable();
    elements.peek().is_some() && elements.all(is_message)
}

/// The key of a session that begins as the program writes it, be it whole or
/// cut off.
fn key_before_messages(first: &[u8]) -> Option<String> {
    let after = |text: &'_ [u8], word: &[u8]| -> Option<usize> {
        let start = text.iter().position(|b| !b.is_ascii_whitespace())?;
        text[start..].starts_with(word).then_some(start + word.len())
    };
    let mut at = 0;
    for word in [&b"{"[..], b"\"key\"", b":"] {
        at += after(&first[at..], word)?;
    }
    at += first[at..].iter().position(|b| !b.is_ascii_whitespace())?;
    let scan = json::scan_value(&first[at..], Dialect::Strict).ok().filter(|_| first[at] == b'"')?;
    let key = &first[at..at + scan.end];
    at += scan.end;
    for word in [&b","[..], b"\"messages\"", b":"] {
        at += after(&first[at..], word)?;
    }
    (after(&first[at..], b"[").is_some() || after(&first[at..], b"null").is_some()).then(|| decoded(key))
}
