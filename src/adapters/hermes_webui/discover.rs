//! Which folders hold WebUI sessions, and which files make one session.

use std::collections::BTreeMap;

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::json::{self, Dialect, Member, Value};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

use super::layout::{INDEX, RUNS, Role, TURNS, is_id, role};

/// The states that a turn journal names.
const TURN_EVENTS: [&str; 5] = ["submitted", "worker_started", "assistant_started", "completed", "interrupted"];

/// Where sessions and what was uploaded to them lie in the program's folder.
const SESSIONS: &str = "sessions/";
const UPLOADS: &str = "attachments/";

/// Claims the sessions of a sessions folder and what serves all of them, or
/// what was uploaded to the sessions of a folder inside.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = sessions(folder);
    found.units.extend(uploads(folder));
    found
}

/// Returns what was uploaded lies beside the sessions: a unit for each session.
fn uploads(folder: &FolderView<'_>) -> Vec<UnitClaim> {
    let mut by_id: BTreeMap<&str, Vec<RelPath>> = BTreeMap::new();
    for (path, _) in folder.beginning(UPLOADS).filter(|(_, entry)| matches!(entry.kind, ListedKind::File | ListedKind::Link)) {
        let Some(below) = path.strip_prefix(UPLOADS.as_bytes()) else { continue };
        let id = below.split(|b| *b == b'/').next().and_then(|id| std::str::from_utf8(id).ok()).unwrap_or_default();
        if is_id(id) && id.len() < below.len() {
            by_id.entry(id).or_default().push(RelPath::new(below));
        }
    }
    let is_sessions = |path: &[u8], kind: &ListedKind| {
        let path = std::str::from_utf8(path).ok().filter(|_| *kind == ListedKind::File);
        let named = path.and_then(|path| path.strip_prefix(SESSIONS)).and_then(|name| Some((name, role(name, RETIRED_SUFFIX)?.0)));
        path.zip(named).is_some_and(|(path, (name, role))| proves(path, name, role, folder))
    };
    if by_id.is_empty() || !folder.beginning(SESSIONS).any(|(path, entry)| is_sessions(path, &entry.kind)) {
        return Vec::new();
    }
    let claim = |(id, files): (&str, Vec<RelPath>)| UnitClaim {
        name: RelPath::new(format!("{UPLOADS}{id}")),
        root: RelPath::new(UPLOADS.trim_end_matches('/')),
        files,
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    };
    by_id.into_iter().map(claim).collect()
}

fn sessions(folder: &FolderView<'_>) -> Found {
    let mut groups: BTreeMap<&[u8], Group<'_>> = BTreeMap::new();
    let (mut empty_runs, mut odd_names) = (Vec::new(), Vec::new());
    for (path, entry) in folder.near(&[TURNS, RUNS]) {
        let Ok(text) = std::str::from_utf8(path) else {
            odd_names.extend((entry.kind == ListedKind::File && is_oddly_named(path, folder)).then_some(path));
            continue;
        };
        match &entry.kind {
            ListedKind::File | ListedKind::Link => {
                if let Some((role, id)) = role(text, RETIRED_SUFFIX) {
                    groups.entry(id.as_bytes()).or_default().files.push((text, role, entry.kind == ListedKind::File));
                }
            }
            ListedKind::Folder => empty_runs.extend(text.strip_prefix(RUNS).filter(|id| !id.contains('/')).map(|id| (id, text))),
            ListedKind::Special | ListedKind::Unreadable(_) => {}
        }
    }
    if odd_names.is_empty() && !groups.values().any(|group| group.proves(folder)) {
        return Found::default();
    }
    for (id, text) in empty_runs {
        if let Some(group) = groups.get_mut(id.as_bytes()).filter(|group| !group.files.iter().any(|(_, role, _)| *role == Role::Run)) {
            group.empty_runs = Some(text);
        }
    }
    let mut found = Found { units: odd_names.into_iter().map(oddly_named).collect(), strays: Vec::new() };
    for (id, group) in groups {
        match group.claim(&String::from_utf8_lossy(id), folder) {
            Ok(claim) => found.units.push(claim),
            Err(left) => found.strays.extend(left.into_iter().map(|(path, code, message)| Stray { path, code, message })),
        }
    }
    found
}

/// Tells whether a file whose name is not UTF-8 holds a session by its content.
fn is_oddly_named(path: &[u8], folder: &FolderView<'_>) -> bool {
    !path.contains(&b'/') && path.ends_with(b".json") && is_sidecar("", &folder.first_bytes(path))
}

/// Such a file is a session by itself: its name is not an id, and nothing else bears it.
fn oddly_named(path: &[u8]) -> UnitClaim {
    UnitClaim {
        name: RelPath::new(path),
        root: RelPath::new(""),
        files: vec![RelPath::new(path)],
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: vec![RelPath::new(path)],
        confidence: Confidence::Sure,
        standing: Standing::Live,
    }
}

type LeftOut = (RelPath, FindingCode, String);

/// Files that bear one id.
#[derive(Default)]
struct Group<'f> {
    /// Path, what it is, and whether it is a regular file.
    files: Vec<(&'f str, Role, bool)>,
    /// A folder for run journals with nothing in it.
    empty_runs: Option<&'f str>,
}

impl Group<'_> {
    /// Tells whether one of these files says by its content whose folder this is.
    fn proves(&self, folder: &FolderView<'_>) -> bool {
        self.files.iter().filter(|(_, _, is_file)| *is_file).any(|(path, role, _)| proves(path, path, *role, folder))
    }

    /// One unit; or, where nothing here belongs to a session, what is left
    /// over.
    fn claim(self, id: &str, folder: &FolderView<'_>) -> Result<UnitClaim, Vec<LeftOut>> {
        let is_shared = self.files.iter().any(|(_, role, _)| matches!(role, Role::Index | Role::Store));
        let name = if is_shared || id == INDEX { id.to_owned() } else { format!("{id}.json") };
        let has = |wanted: Role| self.files.iter().any(|(_, role, _)| *role == wanted);
        let is_retired = has(Role::Retired) && !has(Role::Sidecar) && !has(Role::Backup);
        let mut claim = UnitClaim {
            name: RelPath::new(name),
            root: RelPath::new(""),
            files: Vec::new(),
            left_out: Vec::new(),
            shared: SharedFacts::default(),
            retires: Vec::new(),
            confidence: Confidence::Sure,
            standing: if is_retired { Standing::Retired } else { Standing::Live },
        };
        for (name, role, is_file) in &self.files {
            let path = RelPath::new(*name);
            match role {
                Role::Sidecar if *is_file && is_unlisted(name, folder) => {}
                // A backup would come back to life by itself.
                Role::Sidecar | Role::Backup => {
                    claim.retires.push(path.clone());
                    claim.files.push(path);
                }
                Role::TurnShard | Role::TurnLegacy | Role::Run | Role::Index | Role::Store => claim.files.push(path),
                Role::Retired => {
                    let name = path.as_text().and_then(|name| name.strip_suffix(RETIRED_SUFFIX)).unwrap_or_default();
                    claim.retires.push(RelPath::new(name));
                    claim.files.push(path);
                }
                Role::Temporary => temporary(path, folder, &mut claim),
            }
        }
        claim.retires.dedup();
        if claim.files.is_empty() {
            return Err(claim.left_out);
        }
        // The program lists any object under such a name; another one may know it.
        let is_object_of_others = |(name, role, is_file): &(&str, Role, bool)| {
            *role == Role::Sidecar
                && *is_file
                && (is_export(name, &folder.first_bytes(name)) || !has_session_keys(&folder.first_bytes(name)))
        };
        if self.files.iter().all(is_object_of_others) {
            claim.confidence = Confidence::Likely;
        }
        claim.files.extend(self.empty_runs.map(RelPath::new));
        claim.files.sort();
        Ok(claim)
    }
}

/// Tells whether a file says by its content that it lies in a sessions folder, where
/// it has this name.
fn proves(path: &str, name: &str, role: Role, folder: &FolderView<'_>) -> bool {
    match role {
        Role::Sidecar | Role::Backup | Role::Retired => is_sidecar(name, &folder.first_bytes(path)),
        Role::TurnShard | Role::TurnLegacy => is_turn_journal(name, &folder.first_bytes(path)),
        Role::Run => is_run_journal(&folder.first_bytes(path)),
        Role::Index => is_index(&folder.first_bytes(path)),
        Role::Store | Role::Temporary => false,
    }
}

/// Sorts what an interrupted write left: a whole document is carried. A link
/// has no bytes to look at.
fn temporary(path: RelPath, folder: &FolderView<'_>, claim: &mut UnitClaim) {
    let name = path.as_text().unwrap_or_default();
    if folder.has_file(name) && is_whole(&folder.all_bytes(name)) {
        let what = "left by an interrupted write; it holds a complete document and is carried".to_owned();
        claim.left_out.push((path.clone(), FindingCode::TemporaryKept, what));
        claim.files.push(path);
    } else {
        let what = "left by an interrupted write; incomplete, and not carried".to_owned();
        claim.left_out.push((path, FindingCode::TemporaryLeft, what));
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    json::validate(bytes, Dialect::Python).is_ok()
}

/// A JSON file that the program does not list: complete, and no object. What cannot
/// be read may be a session that was damaged.
pub(crate) fn is_unlisted(path: &str, folder: &FolderView<'_>) -> bool {
    let is_object = folder.first_bytes(path).trim_ascii_start().starts_with(b"{");
    !is_object && is_whole(&folder.all_bytes(path))
}

/// Tells whether an object begins with anything of a session.
fn has_session_keys(first: &[u8]) -> bool {
    let members = first_members(first);
    let is_cut_off = !is_whole(first);
    members.iter().any(|(key, _)| super::layout::SESSION_KEYS.contains(&key.as_str())) || is_cut_off
}

/// Returns the outermost keys in the first bytes of an object, each with its value as
/// far as that is complete.
fn first_members(first: &[u8]) -> Vec<(String, Option<Value<'_>>)> {
    let mut found = Vec::new();
    let blank = |at: usize| at + first[at.min(first.len())..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    let mut at = blank(0);
    if first.get(at) != Some(&b'{') {
        return found;
    }
    at = blank(at + 1);
    while first.get(at) == Some(&b'"') {
        let Ok(key) = json::scan_value(&first[at..], Dialect::Python) else { break };
        let name = key.value.to_str().into_owned();
        at = blank(at + key.end);
        if first.get(at) != Some(&b':') {
            break;
        }
        at = blank(at + 1);
        match json::scan_value(&first[at..], Dialect::Python) {
            Ok(scan) => {
                found.push((name, Some(scan.value)));
                at = blank(at + scan.end);
            }
            Err(_) => {
                found.push((name, None));
                break;
            }
        }
        if first.get(at) != Some(&b',') {
            break;
        }
        at = blank(at + 1);
    }
    found
}

/// The agent's own transcripts have neither title nor workspace.
fn is_sidecar(path: &str, first: &[u8]) -> bool {
    let found = first_members(first);
    let has = |name: &str| found.iter().any(|(key, _)| key == name);
    has("session_id") && has("title") && has("workspace") && !is_export(path, first)
}

/// The WebUI's export button writes the same object under another name.
fn is_export(path: &str, first: &[u8]) -> bool {
    let Some(named) = path.strip_prefix("hermes-").and_then(|name| name.split('.').next()) else { return false };
    first_members(first).iter().any(|(key, value)| key == "session_id" && value.is_some_and(|value| value.is_str(named)))
}

fn is_index(first: &[u8]) -> bool {
    let text = first.trim_ascii_start();
    let Some(row) = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start) else { return false };
    let found = first_members(row);
    ["session_id", "message_count"].iter().all(|name| found.iter().any(|(key, _)| key == name))
}

fn any_line(first: &[u8], accepts: impl Fn(&[Member<'_>]) -> bool) -> bool {
    let mut members = Vec::new();
    first.split(|b| *b == b'\n').take(64).any(|line| json::scan_object(line, Dialect::Python, &mut members).is_ok() && accepts(&members))
}

fn is_turn_journal(path: &str, first: &[u8]) -> bool {
    let id = path.strip_prefix(TURNS).and_then(|name| name.split('~').next()).map(|id| id.strip_suffix(".jsonl").unwrap_or(id));
    any_line(first, |members| {
        let text = |name: &str| members.iter().find(|member| member.name() == name).map(|member| member.value().to_str());
        text("turn_id").is_some()
            && text("session_id").as_deref() == id
            && text("event").is_some_and(|event| TURN_EVENTS.contains(&event.as_ref()))
    })
}

fn is_run_journal(first: &[u8]) -> bool {
    any_line(first, |members| {
        let has = |name: &str| members.iter().any(|member| member.name() == name);
        let is_object = |name: &str| members.iter().any(|member| member.name() == name && member.value().is_object());
        has("event_id") && has("run_id") && has("seq") && has("terminal_state") && is_object("payload")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sidecar_is_told_by_its_first_bytes() {
        let whole = "{\n  \"session_id\": \"ab\",\n  \"title\": null,\n  \"workspace\": \"/w\",\n  \"messages\": [\n    {\"role\"";
        assert!(is_sidecar("ab.json", whole.as_bytes()));
        assert!(!is_sidecar("hermes-ab.json", whole.as_bytes()));
        assert!(is_sidecar("hermes-x.json", whole.as_bytes()));
        assert!(!is_sidecar("ab.json", br#"{"session_id": "ab", "messages": []}"#));
        assert!(!is_sidecar("ab.json", b"[1]"));
        assert!(is_index(b"[\n  {\n    \"session_id\": \"a\", \"message_count\": 3"));
        assert!(!is_index(b"[]"));
    }

    #[test]
    fn a_journal_is_told_by_one_line() {
        let line = br#"{"event":"submitted","version":1,"session_id":"ab","turn_id":"t"}"#;
        assert!(is_turn_journal("_turn_journal/ab~7.jsonl", &[b"garbage\n", &line[..]].concat()));
        assert!(is_turn_journal("_turn_journal/ab.jsonl", line));
        assert!(!is_turn_journal("_turn_journal/cd.jsonl", line));
        assert!(!is_run_journal(line));
    }
}
