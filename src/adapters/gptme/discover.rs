//! Which folders are gptme conversations, and which of their files belong to
//! the session.

use crate::adapters::adapter::{Confidence, RETIRED_SUFFIX, Standing, UnitClaim};
use crate::model::files::{Beside, RelPath};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::json::{self, Dialect};
use crate::model::jsonl::{Lines, Newlines, decoded, trim_unicode};

use super::layout::{TRANSCRIPT, is_temporary};
use super::wire::Record;

/// The event types that the program writes.
const EVENT_TYPES: [&str; 4] = ["message_append", "message_edit", "undo", "checkpoint"];

/// Claims a folder that is one conversation.
pub(super) fn discover(folder: &FolderView<'_>) -> Option<UnitClaim> {
    let (confidence, standing) = judge(folder)?;
    let mut claim = UnitClaim {
        name: RelPath::new(""),
        root: RelPath::new(""),
        files: Vec::new(),
        left_out: Vec::new(),
        beside: Beside::default(),
        retires: vec![RelPath::new(TRANSCRIPT)],
        confidence,
        standing,
    };
    let mut folders = Vec::new();
    for (path, entry) in folder.entries() {
        let own = || entry.path.from_byte(entry.path.as_bytes().len() - path.len());
        match &entry.kind {
            ListedKind::Folder => folders.push(own()),
            ListedKind::Link => claim.files.push(own()),
            ListedKind::File => own_or_leave(folder, own(), &mut claim),
            ListedKind::Special => {
                let what = "neither a file nor a folder nor a link; not carried".to_owned();
                claim.left_out.push((RelPath::new(path), FindingCode::SpecialFile, what));
            }
            ListedKind::Unreadable(why) => {
                claim.left_out.push((RelPath::new(path), FindingCode::Unreadable, format!("cannot be read: {why}")));
            }
        }
    }
    // A folder that nothing in the log would bring back is carried by itself.
    folders.retain(|folder| {
        let inside = [folder.as_bytes(), b"/"].concat();
        let first = claim.files.partition_point(|file| file.as_bytes() < inside.as_slice());
        !claim.files.get(first).is_some_and(|file| file.as_bytes().starts_with(&inside))
    });
    claim.files.extend(childless(folders));
    claim.files.sort();
    Some(claim)
}

/// Of nested folders only the innermost: they bring back the others.
fn childless(folders: Vec<RelPath>) -> Vec<RelPath> {
    let holds_another = |folder: &RelPath| {
        let inside = [folder.as_bytes(), b"/"].concat();
        let next = folders.partition_point(|other| other.as_bytes() < inside.as_slice());
        folders.get(next).is_some_and(|other| other.as_bytes().starts_with(&inside))
    };
    folders.iter().filter(|folder| !holds_another(folder)).cloned().collect()
}

fn judge(folder: &FolderView<'_>) -> Option<(Confidence, Standing)> {
    if let Some(transcript) = folder.get(TRANSCRIPT) {
        match transcript.kind {
            ListedKind::File | ListedKind::Unreadable(_) => {}
            // Never followed, and never passed over in silence.
            ListedKind::Link => return Some((Confidence::Likely, Standing::Live)),
            ListedKind::Folder | ListedKind::Special => return None,
        }
        if folder.is_known(super::ID, TRANSCRIPT) {
            return Some((Confidence::Sure, Standing::Live));
        }
        return judge_transcript(&folder.first_bytes(TRANSCRIPT), transcript.size).map(|sure| (sure, Standing::Live));
    }
    let retired = format!("{TRANSCRIPT}{RETIRED_SUFFIX}");
    if folder.has_file(&retired) {
        let size = folder.get(&retired).map_or(0, |entry| entry.size);
        return judge_transcript(&folder.first_bytes(&retired), size).map(|sure| (sure, Standing::Retired));
    }
    // The transcript is lost, its event log is not.
    is_event_log(folder, "events.jsonl").then_some((Confidence::Sure, Standing::Live))
}

/// A transcript's first lines: a message settles it; nothing but damage leaves
/// it likely, because the name is gptme's own; another record speaks against.
fn judge_transcript(first: &[u8], size: u64) -> Option<Confidence> {
    let whole = first.len() as u64 == size;
    for line in Lines::new(first, Newlines::Universal).take(64) {
        if line.is_blank() || (line.end.is_empty() && !whole) {
            continue;
        }
        let text = decoded(trim_unicode(line.text));
        let mut members = Vec::new();
        if Record::parse(text.as_bytes(), &mut members).is_ok() {
            return Some(Confidence::Sure);
        }
        if json::scan_object(text.as_bytes(), Dialect::Python, &mut members).is_ok()
            && !members.iter().any(|member| member.name() == "role")
        {
            return None;
        }
    }
    Some(Confidence::Likely)
}

fn is_event_log(folder: &FolderView<'_>, path: &str) -> bool {
    folder.has_file(path)
        && Lines::new(&folder.first_bytes(path), Newlines::LineFeed).take(64).any(|line| {
            let mut members = Vec::new();
            let Ok(_) = json::scan_object(line.text.trim_ascii(), Dialect::Python, &mut members) else { return false };
            let has = |name: &str| members.iter().any(|member| member.name() == name);
            let kind = members.iter().find(|member| member.name() == "type").map(|member| json::unescape(member.value));
            has("seq") && has("ts") && has("payload") && kind.is_some_and(|kind| EVENT_TYPES.contains(&kind.as_ref()))
        })
}

/// Sorts one file: the session's own, a lock, or a temporary.
fn own_or_leave(folder: &FolderView<'_>, path: RelPath, claim: &mut UnitClaim) {
    let name = path.as_text().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    if is_lock(name) {
        claim.left_out.push((path, FindingCode::LockFile, "a lock file of gptme; it belongs to no session".to_owned()));
        return;
    }
    let is_top_level_temporary = is_temporary(name) && path.as_text() == Some(name);
    if !is_top_level_temporary && !is_other_temporary(name) {
        claim.files.push(path);
        return;
    }
    if is_complete(&folder.all_bytes(path.as_text().unwrap_or_default())) {
        let what = "left by an interrupted write; it holds a complete document and is carried".to_owned();
        claim.left_out.push((path.clone(), FindingCode::TemporaryKept, what));
        claim.files.push(path);
    } else {
        let what = "left by an interrupted write; incomplete, and not carried".to_owned();
        claim.left_out.push((path, FindingCode::TemporaryLeft, what));
    }
}

fn is_lock(name: &str) -> bool {
    const LOCKS: [&str; 7] = [
        ".lock",
        ".events.jsonl.lock",
        ".config.lock",
        ".prompt-queue.lock",
        ".control.lock",
        ".compaction.jsonl.lock",
        ".subagent-meta.lock",
    ];
    LOCKS.contains(&name)
}

/// Temporaries of other files than lists.
fn is_other_temporary(name: &str) -> bool {
    let between = |start: &str, end: &str| name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end);
    between(".events.jsonl.", ".tmp")
        || between(".model_selection_trace.json.", ".tmp")
        || between(".subagent-meta-", ".tmp")
        || (between("tmp", ".toml.tmp") && is_temporary(name.trim_end_matches(".toml.tmp")))
}

/// Whether a leftover holds a whole document: lines of JSON to the last
/// newline, one JSON value, or TOML.
fn is_complete(bytes: &[u8]) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let is_json = |text: &[u8]| json::scan_value(text, Dialect::Python).is_ok_and(|scan| text[scan.end..].trim_ascii().is_empty());
    let lines_of_json = || {
        bytes.ends_with(b"\n")
            && Lines::new(bytes, Newlines::Universal).filter(|line| !line.is_blank()).all(|line| is_json(trim_unicode(line.text)))
    };
    let is_toml = || std::str::from_utf8(bytes).is_ok_and(|text| text.contains('[') && text.parse::<toml::Table>().is_ok());
    is_json(bytes) || lines_of_json() || is_toml()
}
