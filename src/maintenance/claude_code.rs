//! What Claude Code's cleanup takes within a week, what it left of sessions whose
//! transcripts are gone, and ids that lead to several sessions. The cleanup is on
//! by default, goes by the times of files, and runs seconds after each start.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::claude_code::discover::{is_uuid, transcript_of};
use crate::adapters::format::RETIRED_SUFFIX;
use crate::adapters::maintenance::{Maintenance, OpenMarks};
use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Severity};
use crate::model::folder::{FolderView, ListedKind};
use crate::model::location::Location;
use crate::runtimes::javascript::{Value, to_iso_string};

const DAY_NS: i64 = 24 * 60 * 60 * 1_000_000_000;
/// How far ahead the audit looks.
const SOON_NS: i64 = 7 * DAY_NS;
/// What the program's settings are called, and the period without them.
const SETTINGS: &str = "settings.json";
const DEFAULT_DAYS: i64 = 30;
/// An empty list, which older releases wrote for every start.
const EMPTY_LIST: u64 = 2;

/// Audit of Claude Code's sessions.
pub(super) struct ClaudeCodeMaintenance;

impl Maintenance for ClaudeCodeMaintenance {
    fn format(&self) -> &'static str {
        "claude-code"
    }

    fn open_marks(&self) -> Option<OpenMarks> {
        // The files with keys beside them are never read.
        Some(OpenMarks { folder: "sessions", levels_above: 2, home: "CLAUDE_CONFIG_DIR", session: "sessionId", started: "procStart" })
    }

    fn audit(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
        let transcripts = Transcripts::of(folder);
        let mut items = due(folder, &transcripts, evidence.now_ns);
        items.extend(repeated(&transcripts));
        items.extend(orphans(folder, &transcripts));
        items
    }
}

/// The transcripts of a folder: the program's own folder, or one project's.
struct Transcripts<'f> {
    /// Those that are not retired, each with its time.
    live: Vec<(&'f [u8], i64)>,
    /// The paths of all sessions by their ids, without what retiring adds.
    by_id: BTreeMap<String, BTreeSet<&'f [u8]>>,
}

impl<'f> Transcripts<'f> {
    fn of(folder: &FolderView<'f>) -> Transcripts<'f> {
        let is_at_home = |path: &[u8]| match path.iter().filter(|byte| **byte == b'/').count() {
            0 => true,
            2 => path.starts_with(b"projects/"),
            _ => false,
        };
        let mut found = Transcripts { live: Vec::new(), by_id: BTreeMap::new() };
        for (path, entry) in folder.entries().filter(|(path, entry)| entry.kind == ListedKind::File && is_at_home(path)) {
            let Some(id) = transcript_of(path) else { continue };
            let live = path.strip_suffix(RETIRED_SUFFIX.as_bytes());
            found.by_id.entry(id).or_default().insert(live.unwrap_or(path));
            if live.is_none() {
                found.live.push((path, entry.mtime_ns));
            }
        }
        found
    }

    fn has(&self, id: &str, path: &str) -> bool {
        self.by_id.get(id).is_some_and(|paths| paths.contains(path.as_bytes()))
    }
}

/// After how many days the cleanup deletes, and which settings say so.
fn period(folder: &FolderView<'_>) -> (i64, &'static str) {
    // Nothing else of the settings is looked at: they may hold secrets.
    let said = folder.has_file(SETTINGS).then(|| folder.all_bytes(SETTINGS));
    let days = said.as_ref().and_then(|text| Value::parse(text)).and_then(|settings| settings.get("cleanupPeriodDays").number());
    match days.filter(|days| *days >= 0.0) {
        Some(days) => (days as i64, SETTINGS),
        None => (DEFAULT_DAYS, "the default"),
    }
}

/// Returns the transcripts that the cleanup takes within a week.
fn due(folder: &FolderView<'_>, transcripts: &Transcripts<'_>, now_ns: i64) -> Vec<AuditItem> {
    let (days, settings) = period(folder);
    let due_ns = |written_ns: i64| written_ns.saturating_add(days.saturating_mul(DAY_NS));
    let soon = transcripts.live.iter().filter(|(_, written)| due_ns(*written) <= now_ns.saturating_add(SOON_NS));
    soon.map(|(path, written)| {
        let due_ns = due_ns(*written);
        let due = to_iso_string(due_ns / 1_000_000).unwrap_or_default();
        let when = if due_ns <= now_ns { "at its next start, since" } else { "from" };
        let message = format!("Claude Code deletes it {when} {due}: {days} days after it was last written, by {settings}");
        let item = AuditItem::new(FindingCode::WouldDelete, location(path), message);
        item.text("rule", "age").text("due", due).count("days", days).text("settings", settings)
    })
    .collect()
}

/// Ids that are those of several sessions.
fn repeated(transcripts: &Transcripts<'_>) -> Vec<AuditItem> {
    let several = transcripts.by_id.iter().filter(|(_, paths)| paths.len() > 1);
    several
        .filter_map(|(id, paths)| {
            let (first, others) = (paths.first()?, paths.iter().skip(1));
            let others: Vec<String> = others.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
            let message = format!(
                "the id {id} is also that of {}; Claude Code asks for sessions by their id alone, and resumes one of them or none",
                others.join(", ")
            );
            Some(AuditItem::new(FindingCode::KeyTwice, location(first), message).text("others", others.join(" ")))
        })
        .collect()
}

/// Returns what there is of sessions that have no transcript.
fn orphans(folder: &FolderView<'_>, transcripts: &Transcripts<'_>) -> Vec<AuditItem> {
    let mut found: BTreeMap<String, (String, Severity, i64)> = BTreeMap::new();
    for (path, entry) in folder.entries().filter(|(_, entry)| entry.kind == ListedKind::File) {
        if path.ends_with(b"/.lock") || (path.starts_with(b"todos/") && entry.size <= EMPTY_LIST) {
            continue;
        }
        let Some((place, id, severity)) = std::str::from_utf8(path).ok().and_then(|path| companion(path, transcripts)) else { continue };
        found.entry(place).or_insert((id, severity, 0)).2 += 1;
    }
    let item = |(place, (id, severity, files)): (String, (String, Severity, i64))| {
        let message = format!("the transcript of their session, {id}, is gone");
        let item = AuditItem::new(FindingCode::OrphanCompanion, location(place.as_bytes()), message);
        item.matters(severity).text("session", id).count("files", files)
    };
    found.into_iter().map(item).collect()
}

/// Returns where a companion lies, the session that it is of, and how much it matters,
/// where that session has no transcript.
fn companion(path: &str, transcripts: &Transcripts<'_>) -> Option<(String, String, Severity)> {
    let parts: Vec<&str> = path.split('/').collect();
    let orphan = |place: String, id: &str, severity| is_uuid(id).then(|| (place, id.to_owned(), severity));
    // What subagents said and tools gave is in no other file.
    let own = |folder: String, id: &str| {
        let is_orphan = is_uuid(id) && !transcripts.has(id, &format!("{folder}.jsonl"));
        is_orphan.then(|| (folder, id.to_owned(), Severity::Warn))
    };
    match parts.as_slice() {
        ["projects", project, id, _, ..] => own(format!("projects/{project}/{id}"), id),
        [id, _, ..] if is_uuid(id) => own((*id).to_owned(), id),
        [kind @ ("tasks" | "file-history" | "session-env"), id, _, ..] if !transcripts.by_id.contains_key(*id) => {
            orphan(format!("{kind}/{id}"), id, Severity::Info)
        }
        ["todos", name] => {
            let id = name.get(..36).filter(|id| !transcripts.by_id.contains_key(*id))?;
            orphan(path.to_owned(), id, Severity::Info)
        }
        _ => None,
    }
}

fn location(path: &[u8]) -> Location {
    Location::file(RelPath::new(path).to_string())
}
