//! What a file is, by its content.

use crate::json::{self, Dialect, Kind, Member, Value};
use crate::model::files::RelPath;
use crate::model::folder::FolderView;
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::go::{MAX_DEPTH, Text, matches_key, whole_value};

use super::decode::{self, Depth};
use super::layout::{key_before_messages, legacy_stem, sanitised};
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
    /// A link, which is not followed.
    Link,
}

/// A file named `*.meta.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MetaFile {
    /// It has every key that the program writes.
    Ours { key: String, aliases: Vec<String> },
    /// The program would read it, with zeros for what it lacks; so it would many
    /// an object of somebody else.
    Partial { key: String, aliases: Vec<String> },
    /// `null`, which the program reads, and which says nothing.
    Null,
    /// Nothing that the program could read, as after a crash.
    Broken,
    /// Too large or too strange for one.
    Foreign,
    /// A link, which is not followed.
    Link,
}

impl MetaFile {
    /// Returns the session's key and what else it answers to, where that can be read.
    pub(super) fn names(&self) -> Option<(&str, &[String])> {
        match self {
            MetaFile::Ours { key, aliases } | MetaFile::Partial { key, aliases } => Some((key, aliases)),
            MetaFile::Null | MetaFile::Broken | MetaFile::Foreign | MetaFile::Link => None,
        }
    }

    /// Tells whether it says by itself that it is a session's, no lines being beside it.
    pub(super) fn stands_alone(&self, stem: &RelPath) -> bool {
        match self {
            MetaFile::Ours { .. } | MetaFile::Null | MetaFile::Broken => true,
            MetaFile::Partial { key, .. } => !key.is_empty() && sanitised(key) == *stem,
            MetaFile::Foreign | MetaFile::Link => false,
        }
    }

    /// Tells whether the program can do nothing with the session beside it.
    pub(super) fn is_unreadable(&self) -> bool {
        match self {
            MetaFile::Ours { .. } | MetaFile::Partial { .. } | MetaFile::Null | MetaFile::Link => false,
            MetaFile::Broken | MetaFile::Foreign => true,
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
    /// Nothing, or the beginning of a session, as after a crash.
    Broken,
    /// No session, but the program would make one of it; without a key, under
    /// its name.
    Imported { key: String },
    /// Another object. Whether the program would make a session of it is asked only
    /// in its own folders: that costs as much as a look at everything in it.
    Object,
    /// Something else, which the program skips.
    Other,
}

impl LegacyFile {
    /// Returns its key, where it says one.
    pub(super) fn key(&self) -> Option<&str> {
        match self {
            LegacyFile::Ours { key } | LegacyFile::Renamed { key } | LegacyFile::Imported { key } => {
                Some(key.as_str()).filter(|key| !key.is_empty())
            }
            LegacyFile::Broken | LegacyFile::Object | LegacyFile::Other => None,
        }
    }

    /// Returns the name that its session has as lines.
    pub(super) fn base(&self, stem: &RelPath) -> RelPath {
        self.key().map_or_else(|| sanitised(stem), sanitised)
    }
}

/// Tells whether a name is one of the program's temporaries.
pub(super) fn is_temporary(name: &[u8]) -> bool {
    let numbers = |text: &[u8]| !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    name.strip_prefix(b".tmp-").is_some_and(numbers)
        || (name.starts_with(b"session-") && name.ends_with(b".tmp"))
        || name.ends_with(b".jsonl.tmp")
        || name.ends_with(b".meta.json.tmp")
}

/// Keys that messages of other programs have and picoclaw's have not.
const OTHERS: [&str; 7] = ["type", "id", "parentId", "timestamp", "uuid", "sessionId", "seq"];

pub(super) fn lines(view: &FolderView<'_>, name: &RelPath, size: u64) -> LinesFile {
    let first = view.first_bytes(name);
    let is_whole = first.len() as u64 == size;
    let found = first_lines(&first, if is_whole { Ending::Whole } else { Ending::Cut });
    // One line may be longer than a look at the beginning.
    let found = match found {
        None if !is_whole && size <= LARGEST_LOOK => first_lines(&view.all_bytes(name), Ending::Whole),
        found => found,
    };
    found.unwrap_or(LinesFile::Unclear)
}

/// So many records say whose they are.
const ENOUGH: usize = 64;

/// Whether the last line of some bytes is as long as it is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Whole,
    Cut,
}

/// Returns what the first records say; nothing where there are none.
fn first_lines(first: &[u8], ending: Ending) -> Option<LinesFile> {
    let mut found = None;
    let mut looked_at = 0;
    for line in Lines::new(first, Newlines::LineFeed).filter(|line| !line.end.is_empty() || ending == Ending::Whole) {
        let mut members = Vec::new();
        // What is not a record, or an empty one, says nothing.
        if json::scan_object(line.text, Dialect::Strict, &mut members).is_err() || members.is_empty() {
            continue;
        }
        looked_at += 1;
        if looked_at > ENOUGH {
            break;
        }
        if members.iter().any(|member| OTHERS.contains(&member.name().as_ref())) {
            return Some(LinesFile::Foreign);
        }
        if Record::is_whole(line.text) {
            found = Some(LinesFile::Messages);
        } else {
            found = found.or(Some(LinesFile::Unclear));
        }
    }
    found
}

pub(super) fn meta(view: &FolderView<'_>, name: &RelPath, size: u64) -> MetaFile {
    if size > LARGEST_META {
        return MetaFile::Foreign;
    }
    let bytes = view.all_bytes(name);
    let mut members = Vec::new();
    if json::scan_object(&bytes, Dialect::Strict, &mut members).is_err() {
        return if decode_meta(&bytes).is_ok() { MetaFile::Null } else { MetaFile::Broken };
    }
    let has = |name: &str| members.iter().any(|member| matches_key(name, &member.name()));
    let is_complete = ["key", "summary", "skip", "count", "created_at", "updated_at"].into_iter().all(has);
    let Ok(meta) = decode_meta(&bytes) else {
        // An object that lacks keys and has others of the wrong kind is hardly one.
        return if is_complete { MetaFile::Broken } else { MetaFile::Foreign };
    };
    let (key, aliases) = (meta.key.decoded().into_owned(), meta.aliases.items().iter().map(|alias| alias.decoded().into_owned()).collect());
    if is_complete { MetaFile::Ours { key, aliases } } else { MetaFile::Partial { key, aliases } }
}

pub(super) fn legacy(view: &FolderView<'_>, name: &RelPath, size: u64) -> LegacyFile {
    let stem = legacy_stem(name.as_bytes());
    let named = |key: String| {
        let fits = key.as_bytes() == stem || sanitised(&key).as_bytes() == stem;
        if fits { LegacyFile::Ours { key } } else { LegacyFile::Renamed { key } }
    };
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
        return match decoded_key(&bytes) {
            Some(key) => LegacyFile::Imported { key },
            None if begins_like_a_session(&bytes) => LegacyFile::Broken,
            None => LegacyFile::Other,
        };
    }
    // As the program finds them: in other letters too, and the last one counts.
    let get = |name: &str| members.iter().rfind(|member| matches_key(name, &member.name())).map(|member| member.value());
    let is_known = |member: &Member<'_>| MEMBERS.iter().any(|name| matches_key(name, &member.name()));
    let is_session = || {
        get("messages").is_some_and(|list| match list.kind() {
            Kind::Array => members.iter().all(is_known) || holds_messages(list),
            Kind::Null => members.iter().all(is_known),
            Kind::Object | Kind::String | Kind::Number | Kind::True | Kind::False => false,
        })
    };
    if let Some(key) = get("key").filter(|key| key.is_string() && is_session()) {
        return named(Text::of_token(key.text()).decoded().into_owned());
    }
    LegacyFile::Object
}

/// Returns what the program would make of an object that is not a session.
pub(super) fn object(bytes: &[u8]) -> LegacyFile {
    decoded_key(bytes).map_or(LegacyFile::Other, |key| LegacyFile::Imported { key })
}

/// Tells whether an object is a legacy session as the program writes it: its keys and no
/// others, in its order.
pub(super) fn is_as_written(bytes: &[u8]) -> bool {
    let mut members: Vec<Member<'_>> = Vec::new();
    if json::scan_object(bytes, Dialect::Strict, &mut members).is_err() {
        return false;
    }
    let names: Vec<_> = members.iter().map(Member::name).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let is_list = |value: Value<'_>| matches!(value.kind(), Kind::Array | Kind::Null) && value.elements().all(is_message);
    matches!(names.as_slice(), ["key", "messages", "created", "updated"] | ["key", "messages", "summary", "created", "updated"])
        && members.get(1).is_some_and(|messages| is_list(messages.value()))
}

/// The keys of a legacy session.
const MEMBERS: [&str; 5] = ["key", "messages", "summary", "created", "updated"];

/// Returns the key that the program would import a legacy file under, empty where only
/// its name says one; nothing where it would not. Costs as much as a look at
/// every message in it.
pub(super) fn decoded_key(bytes: &[u8]) -> Option<String> {
    let mut members: Vec<Member<'_>> = Vec::new();
    match json::scan_object(bytes, Dialect::Strict, &mut members) {
        Ok(facts) if facts.depth <= MAX_DEPTH => {
            decode::legacy(members.into_iter(), Depth::Messages).ok().map(|(legacy, _)| legacy.key.decoded().into_owned())
        }
        Ok(_) => None,
        Err(_) => whole_value(bytes).is_ok_and(Value::is_null).then(String::new),
    }
}

/// Tells whether something that is not JSON may be what is left of a session: nothing,
/// or an object whose first key, however much there is of it, is one of its.
fn begins_like_a_session(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Some(text) = text.iter().position(|b| !b.is_ascii_whitespace() && *b != 0).map(|start| &text[start..]) else { return true };
    let Some(inside) = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start) else { return false };
    let Some(key) = inside.strip_prefix(b"\"") else { return inside.is_empty() };
    match memchr::memchr2(b'"', 0, key) {
        Some(end) if key[end] == b'"' => MEMBERS.iter().any(|name| matches_key(name, &String::from_utf8_lossy(&key[..end]))),
        cut => MEMBERS.iter().any(|name| name.as_bytes().starts_with(&key[..cut.unwrap_or(key.len())])),
    }
}

fn is_message(element: Value<'_>) -> bool {
    let has = |name: &str| element.members().any(|member| matches_key(name, &member.name()));
    has("role") && has("content")
}

/// Tells whether a list is of messages and nothing else.
fn holds_messages(list: Value<'_>) -> bool {
    let mut elements = list.elements().peekable();
    elements.peek().is_some() && elements.all(is_message)
}
