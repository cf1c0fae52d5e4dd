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

/// So many lines are looked at.
const MOST_LINES: usize = 64;

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

/// Judges a file by its first bytes.
pub(in crate::adapters) fn look(first: &[u8], size: u64) -> Looks {
    let whole = first.len() as u64 == size;
    let (mut has_header, mut seen_any, mut entries) = (false, false, 0);
    for line in Lines::new(first, Newlines::LineFeed).take(MOST_LINES) {
        if js::is_blank(line.text) {
            continue;
        }
        seen_any = true;
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
            Line::Header => has_header = true,
            Line::Entry => entries += 1,
            Line::Event if has_header => return Looks::Capture,
            Line::HarnessFour => return Looks::HarnessFour,
            Line::Event | Line::Other if !has_header && entries == 0 => return Looks::Foreign,
            Line::Event | Line::Other => {}
        }
        if entries > 2 {
            break;
        }
    }
    let is_openclaw = [&b"\"customType\":\"openclaw"[..], b"\"customType\":\"model-snapshot\"", b"\"provider\":\"openclaw\""]
        .iter()
        .any(|sign| memchr::memmem::find(first, sign).is_some());
    if is_openclaw && (has_header || entries > 0) {
        return Looks::OpenClaw;
    }
    match (has_header, entries > 0, seen_any) {
        (true, _, _) => Looks::Session(Confidence::Sure),
        (false, true, _) => Looks::Session(Confidence::Likely),
        (false, false, false) if whole => Looks::Blank,
        (false, false, _) => Looks::Foreign,
    }
}

enum Line {
    Header,
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
        return if is_text("id") && (is_text("cwd") || is_text("timestamp")) { Line::Header } else { Line::Other };
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
/// archives by its names, or it has the path that OpenClaw gives to agents.
pub(in crate::adapters) fn is_openclaw(folder: &FolderView<'_>) -> bool {
    const ARCHIVES: [&[u8]; 3] = [b".jsonl.reset.", b".jsonl.deleted.", b".jsonl.imported-"];
    let has_store =
        folder.has_file("sessions.json") && memchr::memmem::find(&folder.first_bytes("sessions.json"), b"\"sessionId\"").is_some();
    let is_archive = |path: &[u8]| !path.contains(&b'/') && ARCHIVES.iter().any(|word| memchr::memmem::find(path, word).is_some());
    let mut parts = folder.path().as_bytes().rsplit(|b| *b == b'/');
    let is_agents = parts.next() == Some(b"sessions") && parts.nth(1) == Some(b"agents");
    has_store || is_agents || folder.entries().take(256).any(|(path, _)| is_archive(path))
}
