//! What the next start of Gemini CLI deletes by itself. Its clean-up is on by
//! default: it takes what it cannot load, what cannot be resumed, what is older
//! than a month, and everything that has the same eight characters in its name.

use std::collections::BTreeMap;

use crate::adapters::gemini_cli::listed::{AsListed, as_listed, is_listed, short_id};
use crate::adapters::maintenance::Maintenance;
use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Severity};
use crate::model::folder::{FolderView, ListedKind};
use crate::model::location::Location;
use crate::runtimes::javascript::to_iso_string;

/// Where a project has its sessions.
const CHATS: &str = "chats/";

/// Sessions that were last written so long ago are deleted.
const MOST_AGE_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Audit of Gemini CLI's sessions.
pub(super) struct GeminiCliMaintenance;

impl Maintenance for GeminiCliMaintenance {
    fn format(&self) -> &'static str {
        "gemini-cli"
    }

    fn audit(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
        let now_ms = evidence.now_ns / 1_000_000;
        let files = sessions(folder);
        let look = |(path, written_ms): &(&'_ [u8], i64)| doom(as_listed(&folder.all_bytes(path), *written_ms), now_ms);
        let seen: Vec<(&[u8], Option<Doom>)> = files.iter().map(|file| (file.0, look(file))).collect();
        let mut doomed: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
        for (path, doom) in &seen {
            if let Some(id) = short_id(base(path)).filter(|_| doom.is_some()) {
                doomed.entry(id).or_insert(path);
            }
        }
        let with_others = |path: &[u8]| short_id(base(path)).and_then(|id| doomed.get(id).copied());
        seen.iter()
            .filter_map(|(path, doom)| match (doom, with_others(path)) {
                (Some(doom), _) => Some(item(path, doom)),
                (None, Some(other)) => Some(item(path, &Doom::With(String::from_utf8_lossy(base(other)).into_owned()))),
                (None, None) => None,
            })
            .collect()
    }
}

/// Why the next start deletes a file.
enum Doom {
    Unreadable,
    NothingToResume,
    Subagent,
    /// It is due since then, in milliseconds since the epoch.
    Old(i64),
    /// Another file with the same characters in its name goes.
    With(String),
}

fn doom(listed: AsListed, now_ms: i64) -> Option<Doom> {
    match listed {
        AsListed::Unreadable => Some(Doom::Unreadable),
        AsListed::Subagent => Some(Doom::Subagent),
        AsListed::NothingToResume => Some(Doom::NothingToResume),
        AsListed::Session(updated) => updated.map(|updated| updated + MOST_AGE_MS).filter(|due| *due < now_ms).map(Doom::Old),
    }
}

fn item(path: &[u8], doom: &Doom) -> AuditItem {
    let location = Location::file(RelPath::new(path).to_string());
    let (rule, why, severity) = match doom {
        Doom::Unreadable => ("unreadable", "it cannot load this file".to_owned(), Severity::Warn),
        // A stub that a start has left holds nothing of its own.
        Doom::NothingToResume => ("nothing_to_resume", "nothing in it can be resumed".to_owned(), Severity::Info),
        Doom::Subagent => ("subagent", "it belongs to a subagent, and lies among sessions".to_owned(), Severity::Warn),
        Doom::Old(due) => {
            let due = to_iso_string(*due).unwrap_or_default();
            ("age", format!("it is due since {due}, 30 days after it was last written"), Severity::Warn)
        }
        Doom::With(other) => ("same_characters", format!("it goes by eight characters of names, and deletes `{other}`"), Severity::Warn),
    };
    let message = format!("Gemini CLI's next start in this project deletes it by its default settings: {why}");
    AuditItem::new(FindingCode::WouldDelete, location, message).matters(severity).text("rule", rule)
}

/// The files that the program's list looks at, and when they were written, in
/// milliseconds since the epoch.
fn sessions<'f>(folder: &FolderView<'f>) -> Vec<(&'f [u8], i64)> {
    let is_session = |path: &[u8], kind: &ListedKind| *kind == ListedKind::File && is_listed(base(path));
    let inside: Vec<(&[u8], i64)> = folder
        .beginning(CHATS)
        .filter(|(path, entry)| memchr::memchr(b'/', &path[CHATS.len()..]).is_none() && is_session(path, &entry.kind))
        .map(|(path, entry)| (path, entry.mtime_ns / 1_000_000))
        .collect();
    if !inside.is_empty() {
        return inside;
    }
    folder.direct().filter(|(path, entry)| is_session(path, &entry.kind)).map(|(path, entry)| (path, entry.mtime_ns / 1_000_000)).collect()
}

fn base(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
}
