//! What a file of lines looks like from its first bytes.

use crate::adapters::adapter::Confidence;
use crate::model::folder::FolderView;
use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::{Lines, Newlines};

use super::entry::get;
use super::js;

/// What a file's first records say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Looks {
    /// A session of entries.
    Session(Confidence),
    /// The same, with entries that only OpenClaw writes.
    OpenClaw,
    /// Events of a running agent, as `--mode json` prints them.
    Capture,
    /// The harness's fourth version.
    HarnessFour,
    /// Nothing at all.
    Blank,
    /// Something else.
    Foreign,
}

/// What is said of a retired file beside a live one of its name.
pub(in crate::adapters) const RETIRED_TWIN: &str =
    "retired before, and a live session of the same name lies beside it; the live one is converted";

/// After so many objects of another kind a file is not looked at further.
const MOST_OTHERS: usize = 8;

/// The types that an entry may have, besides those that are unknown.
const TYPES: [&str; 14] = [
    "message",
    "thinking_level_change",
    "model_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
    "usage",
    "context_edit",
    "leaf",
    "active_tools_change",
    "event",
];

/// Whether a value is the type of an entry or a header.
pub(super) fn is_known_type(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::String && {
        let entry_type = json::unescape(value);
        entry_type == "session" || TYPES.contains(&entry_type.as_ref())
    }
}

/// Judges a file by its first records, however far behind damage they lie.
pub(in crate::adapters) fn look_at(folder: &FolderView<'_>, name: &str, size: u64) -> Looks {
    let first = folder.first_bytes(name);
    look(&first, size).or_else(|| look(&folder.all_bytes_for_others_too(name), size)).unwrap_or(Looks::Foreign)
}

/// Judges a file by its first bytes; they may be too few to tell.
fn look(first: &[u8], size: u64) -> Option<Looks> {
    let whole = first.len() as u64 >= size;
    let (mut header, mut entries, mut others) = (None, 0, 0);
    let mut is_blank = true;
    for line in Lines::new(first, Newlines::LineFeed).filter(|line| !js::is_blank(line.text)) {
        is_blank = false;
        if line.end.is_empty() && !whole {
            break;
        }
        let text = js::decoded(line.text);
        // A byte order mark breaks the line for the loader, not for a look.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
        let mut members = Vec::new();
        if json::scan_object(text, Dialect::Strict, &mut members).is_err() {
            continue;
        }
        match kind(&members) {
            Line::Header(confidence) => header = header.max(Some(confidence)),
            Line::Entry => entries += 1,
            Line::Event if header.is_some() => return Some(Looks::Capture),
            Line::HarnessFour => return Some(Looks::HarnessFour),
            Line::Event | Line::Other => others += 1,
        }
        if entries > 2 || (header.is_none() && others > MOST_OTHERS) {
            break;
        }
    }
    let is_openclaw = [&b"\"customType\":\"openclaw"[..], b"\"customType\":\"model-snapshot\"", b"\"provider\":\"openclaw\""]
        .iter()
        .any(|sign| memchr::memmem::find(first, sign).is_some());
    let is_session = header.is_some() || entries > others;
    match header {
        _ if is_session && is_openclaw => Some(Looks::OpenClaw),
        Some(confidence) => Some(Looks::Session(confidence)),
        None if is_session => Some(Looks::Session(Confidence::Likely)),
        None if is_blank && whole => Some(Looks::Blank),
        None => (others > 0 || whole).then_some(Looks::Foreign),
    }
}

enum Line {
    Header(Confidence),
    Entry,
    Event,
    HarnessFour,
    Other,
}

fn kind(members: &[Member<'_>]) -> Line {
    let is_text = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::String);
    let is_number = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::Number);
    if get(members, "kind") == Some(b"\"header\"") && get(members, "v") == Some(b"4") {
        return Line::HarnessFour;
    }
    let Some(entry_type) = get(members, "type").filter(|value| json::kind_of(value) == Kind::String) else { return Line::Other };
    let entry_type = json::unescape(entry_type);
    if entry_type == "session" {
        // Our own logs begin with a numbered line of that type.
        return match (is_text("id"), is_text("cwd") || is_text("timestamp")) {
            (true, true) => Line::Header(Confidence::Sure),
            _ if is_number("version") && !is_number("seq") => Line::Header(Confidence::Likely),
            _ => Line::Other,
        };
    }
    let known = TYPES.contains(&entry_type.as_ref());
    let has_id = is_text("id") && get(members, "parentId").is_some();
    // Version 1 has no ids; its lines carry a time and what they are about.
    let is_old = is_text("timestamp") && !is_number("seq") && get(members, "message").is_none_or(|m| json::kind_of(m) == Kind::Object);
    match (known, has_id) {
        (true, true) => Line::Entry,
        (true, false) if is_old => Line::Entry,
        (false, true) if is_text("timestamp") => Line::Entry,
        (false, _) if is_running(&entry_type) => Line::Event,
        _ => Line::Other,
    }
}

/// The types of events that a running agent prints.
fn is_running(entry_type: &str) -> bool {
    matches!(entry_type, "agent_start" | "agent_end" | "turn_start" | "turn_end")
        || entry_type.starts_with("message_")
        || entry_type.starts_with("tool_execution_")
}

/// Whether a folder is one of OpenClaw's: its session store lies there, or
/// archives by its names, or it has the path that OpenClaw gives to agents, or
/// a transcript is named by nothing but its id (pi puts a time before).
pub(in crate::adapters) fn is_openclaw(folder: &FolderView<'_>) -> bool {
    const ARCHIVES: [&[u8]; 3] = [b".jsonl.reset.", b".jsonl.deleted.", b".jsonl.imported-"];
    let has_store =
        folder.has_file("sessions.json") && memchr::memmem::find(&folder.first_bytes("sessions.json"), b"\"sessionId\"").is_some();
    let is_archive = |path: &[u8]| ARCHIVES.iter().any(|word| memchr::memmem::find(path, word).is_some());
    let is_sign = |path: &[u8]| !path.contains(&b'/') && (is_archive(path) || is_named_by_id(folder, path));
    let mut parts = folder.path().as_bytes().rsplit(|b| *b == b'/');
    let is_agents = parts.next() == Some(b"sessions") && parts.nth(1) == Some(b"agents");
    has_store || is_agents || folder.entries().take(256).any(|(path, _)| is_sign(path))
}

/// Whether a file's name is the id in its header, a UUID.
fn is_named_by_id(folder: &FolderView<'_>, path: &[u8]) -> bool {
    let name = std::str::from_utf8(path).unwrap_or_default();
    let Some(id) = name.strip_suffix(".jsonl").filter(|id| is_uuid(id)) else { return false };
    let first = folder.first_bytes(name);
    let header = Lines::new(&first, Newlines::LineFeed).next();
    let mut members = Vec::new();
    header.is_some_and(|line| {
        json::scan_object(line.text, Dialect::Strict, &mut members).is_ok()
            && matches!(kind(&members), Line::Header(Confidence::Sure))
            && get(&members, "id").is_some_and(|own| json::unescape(own) == id)
    })
}

fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_right = |(at, byte): (usize, u8)| if HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}
