//! What a file of lines looks like from its first bytes, and whose a folder is.

use crate::adapters::format::Confidence;
use crate::adapters::kit::tree::entry::get;
use crate::json::{self, Dialect, Kind, Member};
use crate::model::folder::FolderView;
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::javascript as js;

/// What a file's first records say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Looks {
    /// A session of entries.
    Session(Confidence),
    /// A session of entries, with marks that only a host program writes.
    Hosted,
    /// Events of a running agent, as its JSON mode prints them.
    Capture,
    /// Writes of an agent's storage, version 4 or later: each line is one write or
    /// a list of writes.
    Writes,
    /// Nothing at all.
    Blank,
    /// Not a single record: zeros after a power cut, a line that was cut off,
    /// another encoding. `Likely` where it still begins as a session does.
    Damaged(Option<Confidence>),
    /// Something else.
    Foreign,
}

/// How the files of a host program that embeds the session manager are told from
/// those of others.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct HostSigns {
    /// Bytes that only its entries have.
    pub entries: &'static [&'static [u8]],
    /// The file that indexes its sessions, and bytes that it holds.
    pub store: (&'static str, &'static [u8]),
    /// Parts of the names of its archives.
    pub archives: &'static [&'static [u8]],
    /// The folder of its sessions, and the one two levels above.
    pub folders: (&'static [u8], &'static [u8]),
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

/// Judges a file by its first records, however much damage comes before them.
pub(in crate::adapters) fn look_at(folder: &FolderView<'_>, name: impl AsRef<[u8]>, size: u64, host: &HostSigns) -> Looks {
    let name = name.as_ref();
    let first = folder.first_bytes(name);
    // A session that came from a host program has the host's entries.
    let own = HostSigns { entries: &[], ..*host };
    let host = if is_of_working_folder(folder) { &own } else { host };
    look(&first, size, host).or_else(|| look(&folder.all_bytes_for_others_too(name), size, host)).unwrap_or(Looks::Foreign)
}

/// Whether a folder has the name that the session manager gives to the sessions of a
/// working folder, as in `--home-dev-project--`. A host has folders of its own.
fn is_of_working_folder(folder: &FolderView<'_>) -> bool {
    let path = folder.path().as_bytes();
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.len() > 4 && name.starts_with(b"--") && name.ends_with(b"--")
}

/// Whether bytes that hold no record begin as a session does: with a header that
/// was cut off, or in UTF-16.
fn begins_like_a_session(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"type\":\"session\"";
    let from = |bytes: &[u8]| {
        let text: Vec<u8> = bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).take(BEGINNING.len()).collect();
        text == BEGINNING
    };
    let every_second = |bytes: &[u8]| bytes.iter().copied().step_by(2).take(8 * BEGINNING.len()).collect::<Vec<u8>>();
    let in_utf16 = match bytes {
        [0xff, 0xfe, text @ ..] | [0xfe, 0xff, 0, text @ ..] | [0, text @ ..] => from(&every_second(text)),
        [b'{', 0, ..] => from(&every_second(bytes)),
        _ => false,
    };
    in_utf16 || from(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// Judges a file by its first bytes; they may be too few to tell.
fn look(first: &[u8], size: u64, host: &HostSigns) -> Option<Looks> {
    let whole = first.len() as u64 >= size;
    let (mut header, mut entries, mut others) = (None, 0, 0);
    let (mut is_blank, mut has_values) = (true, false);
    for line in Lines::new(first, Newlines::LineFeed).filter(|line| !js::is_blank(line.text)) {
        is_blank = false;
        if line.end.is_empty() && !whole {
            break;
        }
        let text = js::decode_utf8(line.text);
        // A byte order mark breaks the line for the loader, not for a look.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
        let mut members = Vec::new();
        if json::scan_object(text, Dialect::Strict, &mut members).is_err() {
            has_values |= json::scan_value(text, Dialect::Strict).is_ok_and(|scan| text[scan.end..].trim_ascii().is_empty());
            continue;
        }
        match kind(&members) {
            LineKind::Header(confidence) => header = header.max(Some(confidence)),
            LineKind::Entry => entries += 1,
            LineKind::Event if header.is_some() => return Some(Looks::Capture),
            LineKind::Writes => return Some(Looks::Writes),
            LineKind::Event | LineKind::Other => others += 1,
        }
        if entries > 2 || (header.is_none() && others > MOST_OTHERS) {
            break;
        }
    }
    let is_hosted = host.entries.iter().any(|sign| memchr::memmem::find(first, sign).is_some());
    let is_session = header.is_some() || entries > others;
    match header {
        _ if is_session && is_hosted => Some(Looks::Hosted),
        Some(confidence) => Some(Looks::Session(confidence)),
        None if is_session => Some(Looks::Session(Confidence::Likely)),
        None if is_blank && whole => Some(Looks::Blank),
        None if others == 0 && !has_values && whole => Some(Looks::Damaged(begins_like_a_session(first).then_some(Confidence::Likely))),
        None => (others > 0 || whole).then_some(Looks::Foreign),
    }
}

enum LineKind {
    Header(Confidence),
    Entry,
    Event,
    Writes,
    Other,
}

fn kind(members: &[Member<'_>]) -> LineKind {
    let is_text = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::String);
    let is_number = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::Number);
    let version = get(members, "v").or_else(|| get(members, "version"));
    if get(members, "kind") == Some(b"\"header\"") && version.is_some_and(|v| json::kind_of(v) == Kind::Number && js::number(v) >= 4.0) {
        return LineKind::Writes;
    }
    let Some(entry_type) = get(members, "type").filter(|value| json::kind_of(value) == Kind::String) else { return LineKind::Other };
    let entry_type = json::unescape(entry_type);
    if entry_type == "session" {
        // Our own logs begin with a numbered line of that type.
        return match (is_text("id"), is_text("cwd") || is_text("timestamp")) {
            (true, true) => LineKind::Header(Confidence::Sure),
            _ if is_number("version") && !is_number("seq") => LineKind::Header(Confidence::Likely),
            _ => LineKind::Other,
        };
    }
    let known = TYPES.contains(&entry_type.as_ref());
    let has_id = is_text("id") && get(members, "parentId").is_some();
    // Version 1 has no ids; its lines carry a time and what they are about.
    let is_old = is_text("timestamp") && !is_number("seq") && get(members, "message").is_none_or(|m| json::kind_of(m) == Kind::Object);
    match (known, has_id) {
        (true, true) => LineKind::Entry,
        (true, false) if is_old => LineKind::Entry,
        (false, true) if is_text("timestamp") => LineKind::Entry,
        (false, _) if is_running(&entry_type) => LineKind::Event,
        _ => LineKind::Other,
    }
}

/// The types of events that a running agent prints.
fn is_running(entry_type: &str) -> bool {
    matches!(entry_type, "agent_start" | "agent_end" | "turn_start" | "turn_end")
        || entry_type.starts_with("message_")
        || entry_type.starts_with("tool_execution_")
}

/// Whether a folder is one of the host program's: its session store lies there, or
/// archives by its names, or it has the path that the host gives to sessions, or a
/// transcript is named by nothing but its id.
pub(in crate::adapters) fn is_hosted(folder: &FolderView<'_>, host: &HostSigns) -> bool {
    let (store, sign) = host.store;
    let has_store = folder.has_file(store) && memchr::memmem::find(&folder.first_bytes(store), sign).is_some();
    let stem = |name: &[u8]| host.archives.iter().find_map(|word| memchr::memmem::find(name, word));
    let is_archive = |name: &[u8]| stem(name).is_some_and(|end| is_archive_of(folder, name, end, host));
    let is_sign = |name: &[u8]| is_archive(name) || is_named_by_id(folder, name);
    let mut parts = folder.path().as_bytes().rsplit(|b| *b == b'/');
    let is_path = parts.next() == Some(host.folders.0) && parts.nth(1) == Some(host.folders.1);
    has_store || is_path || folder.direct().any(|(name, _)| is_sign(name))
}

/// Whether a file with the name of an archive is one: its name begins with the id
/// in its header, or with a UUID where the file is damaged. A name alone is no
/// sign: anybody may give it to a file of another program.
fn is_archive_of(folder: &FolderView<'_>, name: &[u8], stem: usize, host: &HostSigns) -> bool {
    let Some(stem) = std::str::from_utf8(&name[..stem]).ok() else { return false };
    let size = folder.get(name).map_or(0, |entry| entry.size);
    // The id alone, with a topic after it, or with the session's key before it.
    let is_of = |id: &str| {
        stem.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            || stem.strip_suffix(id).is_some_and(|key| key.ends_with('.'))
    };
    match look_at(folder, name, size, host) {
        Looks::Hosted => true,
        Looks::Session(_) => has_header_id(folder, name, is_of),
        Looks::Damaged(_) => is_uuid(stem.rsplit('.').next().unwrap_or(stem)),
        Looks::Capture | Looks::Writes | Looks::Blank | Looks::Foreign => false,
    }
}

/// Whether a file's name is the id in its header, a UUID.
fn is_named_by_id(folder: &FolderView<'_>, path: &[u8]) -> bool {
    let name = std::str::from_utf8(path).unwrap_or_default();
    let Some(id) = name.strip_suffix(".jsonl").filter(|id| is_uuid(id)) else { return false };
    has_header_id(folder, path, |own| own == id)
}

/// Whether a file begins with a header whose id is the wanted one.
fn has_header_id(folder: &FolderView<'_>, name: &[u8], is_wanted: impl Fn(&str) -> bool) -> bool {
    let first = folder.first_bytes(name);
    let header = Lines::new(&first, Newlines::LineFeed).next();
    let mut members = Vec::new();
    header.is_some_and(|line| {
        json::scan_object(line.text, Dialect::Strict, &mut members).is_ok()
            && matches!(kind(&members), LineKind::Header(Confidence::Sure))
            && get(&members, "id").is_some_and(|own| is_wanted(&json::unescape(own)))
    })
}

fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_right = |(at, byte): (usize, u8)| if HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}
