//! Which files make one session: a transcript, and everything that has its id.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::json::{self, Dialect, Kind, Member};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, Listed, ListedKind};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::javascript as js;

use super::schema::KNOWN_TYPES;

/// What a path of a session's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// The transcript of the session with this id.
    Transcript(String),
    /// The transcript of the subagent with this id.
    Subagent(String),
    /// The transcript of a subagent beside its session, as older releases wrote it.
    FlatAgent,
    Other,
}

/// Judges a path, without what retiring added to it.
pub(super) fn judge(path: &[u8]) -> Name {
    let path = path.strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(path);
    let (folders, name) = path.iter().rposition(|b| *b == b'/').map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let Some(stem) = name.strip_suffix(b".jsonl").and_then(|stem| std::str::from_utf8(stem).ok()) else { return Name::Other };
    let is_below = folders.split(|b| *b == b'/').any(|folder| folder == b"subagents");
    match stem.strip_prefix("agent-") {
        Some(id) if is_below => Name::Subagent(id.to_owned()),
        Some(_) => Name::FlatAgent,
        None if !is_below && is_uuid(stem) => Name::Transcript(stem.to_owned()),
        None => Name::Other,
    }
}

/// The session whose transcript a path has the name of, retired or not.
#[must_use]
pub(crate) fn transcript_of(path: &[u8]) -> Option<String> {
    match judge(path) {
        Name::Transcript(id) => Some(id),
        Name::Subagent(_) | Name::FlatAgent | Name::Other => None,
    }
}

/// Tells whether a text has the form of a session's id.
#[must_use]
pub(crate) fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_right = |(at, byte): (usize, u8)| if HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

const PROJECTS: &str = "projects/";

/// Claims the sessions of a folder: of the program's own folder, where companions
/// of all projects lie, or of one project.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    let mut claims = Claims { units: BTreeMap::new(), by_id: HashMap::new() };
    let direct = folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File);
    let in_projects = folder.beginning(PROJECTS).filter(|(path, _)| path.iter().filter(|b| **b == b'/').count() == 2);
    let files: Vec<(&[u8], &Listed)> = direct.chain(in_projects.filter(|(_, entry)| entry.kind == ListedKind::File)).collect();
    for (path, entry) in &files {
        if let Name::Transcript(id) = judge(path) {
            claims.transcript(folder, path, entry.size, id, &mut found);
        }
    }
    for (path, entry) in &files {
        if judge(path) == Name::FlatAgent {
            claims.flat_agent(folder, path, entry.size);
        }
    }
    if !claims.units.is_empty() {
        claims.companions(folder);
    }
    for mut claim in claims.units.into_values() {
        claim.files.sort();
        found.units.push(claim);
    }
    found
}

/// The sessions of a folder, by the paths of their transcripts.
struct Claims {
    units: BTreeMap<Vec<u8>, UnitClaim>,
    /// The first transcript of each session id: companions of the program's folder
    /// are its own.
    by_id: HashMap<String, Vec<u8>>,
}

impl Claims {
    fn transcript(&mut self, folder: &FolderView<'_>, path: &[u8], size: u64, id: String, found: &mut Found) {
        let (live, standing) = match path.strip_suffix(RETIRED_SUFFIX.as_bytes()) {
            Some(live) => (live, Standing::Retired),
            None => (path, Standing::Live),
        };
        if standing == Standing::Retired && folder.has_file(live) {
            let message = "retired before, and a live session of the same name lies beside it; the live one is converted".to_owned();
            found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::RetiredChanged, message });
            return;
        }
        let is_in_project = path.starts_with(PROJECTS.as_bytes()) || is_project(folder.path().as_bytes());
        let confidence = match look(&folder.first_bytes(path), size).or_else(|| look(&folder.all_bytes_for_others_too(path), size)) {
            Some(Looks::Transcript) => Confidence::Sure,
            Some(Looks::Nothing) if is_in_project => Confidence::Likely,
            Some(Looks::Nothing | Looks::Foreign) | None => return,
        };
        self.by_id.entry(id).or_insert_with(|| live.to_vec());
        self.units.insert(live.to_vec(), unit(path, live, confidence, standing));
    }

    /// A subagent's transcript belongs to the session that its records name.
    fn flat_agent(&mut self, folder: &FolderView<'_>, path: &[u8], size: u64) {
        let first = folder.first_bytes(path);
        if look(&first, size) != Some(Looks::Transcript) {
            return;
        }
        let session = records(&first).find_map(|members| members.into_iter().find(|(key, _)| key == "sessionId").map(|(_, id)| id));
        let beside = path.iter().rposition(|b| *b == b'/').map_or(&b""[..], |at| &path[..=at]);
        let home = session.map(|id| [beside, id.as_bytes(), b".jsonl"].concat());
        match home.and_then(|home| self.units.get_mut(&home)) {
            Some(claim) => claim.files.push(RelPath::new(path)),
            None => {
                let mut orphan = unit(path, path, Confidence::Sure, Standing::Live);
                // Only it says what the subagent was for, and which call began it.
                let meta = path.strip_suffix(b".jsonl").map(|stem| [stem, b".meta.json"].concat());
                orphan.files.extend(meta.filter(|meta| folder.has_file(meta)).map(RelPath::new));
                self.units.insert(path.to_vec(), orphan);
            }
        }
    }

    /// Adds the files that lie below a session's own folder, and those of the
    /// program's folder that have its id.
    fn companions(&mut self, folder: &FolderView<'_>) {
        for (path, entry) in folder.entries() {
            if !matches!(entry.kind, ListedKind::File | ListedKind::Link) {
                continue;
            }
            let Some(home) = self.home(path) else { continue };
            let Some(claim) = self.units.get_mut(&home) else { continue };
            if path.ends_with(b"/.lock") {
                let message = "a lock of Claude Code; it belongs to no session".to_owned();
                claim.left_out.push((RelPath::new(path), FindingCode::LockFile, message));
            } else {
                claim.files.push(RelPath::new(path));
            }
        }
    }

    /// The transcript that a companion belongs to.
    fn home(&self, path: &[u8]) -> Option<Vec<u8>> {
        let parts: Vec<&str> = std::str::from_utf8(path).ok()?.split('/').collect();
        let own = |parts: &[&str]| -> Option<Vec<u8>> {
            let home = format!("{}.jsonl", parts.join("/")).into_bytes();
            self.units.contains_key(&home).then_some(home)
        };
        match parts.as_slice() {
            ["projects", project, id, _, ..] => own(&["projects", project, id]),
            ["tasks" | "file-history" | "session-env", id, _, ..] => self.by_id.get(*id).cloned(),
            ["todos", name] => {
                let id = name.get(..36)?;
                let rest = name.get(36..)?;
                let is_todo = rest == ".json" || (rest.starts_with("-agent-") && rest.ends_with(".json"));
                self.by_id.get(id).filter(|_| is_todo).cloned()
            }
            [id, _, ..] => own(&[id]),
            _ => None,
        }
    }
}

/// Whether a folder is a project of the program's folder.
fn is_project(path: &[u8]) -> bool {
    path.rsplit(|b| *b == b'/').nth(1) == Some(b"projects")
}

fn unit(path: &[u8], live: &[u8], confidence: Confidence, standing: Standing) -> UnitClaim {
    UnitClaim {
        name: RelPath::new(live),
        root: RelPath::new(""),
        files: vec![RelPath::new(path)],
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: vec![RelPath::new(live)],
        confidence,
        standing,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looks {
    Transcript,
    /// No record that says anything: empty, blank, damaged.
    Nothing,
    Foreign,
}

/// The records of a file's first lines, each with its members that are texts.
fn records(first: &[u8]) -> impl Iterator<Item = Vec<(String, String)>> {
    let lines = Lines::new(first, Newlines::LineFeed).filter(|line| !js::is_blank(line.text));
    lines.filter_map(|line| {
        let start = line.text.iter().take_while(|byte| **byte <= b' ').count();
        let decoded = js::decode_utf8(&line.text[start..]);
        let decoded = decoded.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&decoded);
        let mut members: Vec<Member<'_>> = Vec::new();
        json::scan_object(decoded, Dialect::Strict, &mut members).ok()?;
        let mut texts = Vec::new();
        for member in &members {
            match json::kind_of(member.value) {
                Kind::String => texts.push((member.name().into_owned(), json::unescape(member.value).into_owned())),
                Kind::Null => texts.push((member.name().into_owned(), String::new())),
                Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False => {}
            }
        }
        Some(texts)
    })
}

/// Judges a file by its first bytes; they may be too few to tell.
fn look(first: &[u8], size: u64) -> Option<Looks> {
    const ENOUGH: usize = 16;
    let (mut states, mut others) = (0, 0);
    for texts in records(first).take(ENOUGH) {
        let has = |key: &str| texts.iter().any(|(known, _)| known == key);
        let kind = texts.iter().find(|(key, _)| key == "type").map(|(_, value)| value.as_str()).unwrap_or_default();
        let is_node = matches!(kind, "user" | "assistant" | "system" | "attachment" | "progress");
        if is_node && has("uuid") && has("parentUuid") && (has("sessionId") || has("timestamp")) {
            return Some(Looks::Transcript);
        }
        // Each release brings new types; lines of all types name their session.
        if (!kind.is_empty() && has("sessionId")) || KNOWN_TYPES.contains(&kind) {
            states += 1;
        } else if !texts.is_empty() {
            others += 1;
        }
    }
    let is_whole = first.len() as u64 >= size;
    match (states, others) {
        (0, 0) if is_whole => Some(Looks::Nothing),
        (0, 0) => None,
        (states, others) if states > others => Some(Looks::Transcript),
        _ => Some(Looks::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::folder::{Listing, Portion};
    use std::sync::Mutex;

    const RECORD: &str = "{\"parentUuid\":null,\"type\":\"user\",\"message\":{},\"uuid\":\"u\",\"timestamp\":\"t\",\"sessionId\":\"s\"}\n";
    const ID: &str = "0b0b0b0b-1111-4222-8333-000000000001";

    /// The units that are found in these files, each with its own, and the files that
    /// were read.
    fn found(paths: &[String]) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let mut listed = Vec::new();
        for path in paths {
            let entry = |path: RelPath, kind: ListedKind| Listed { path, kind, size: RECORD.len() as u64, mtime_ns: 0, mode: 0o600 };
            listed.extend(RelPath::new(path).folders().map(|folder| entry(folder, ListedKind::Folder)));
            listed.push(entry(RelPath::new(path), ListedKind::File));
        }
        let mut listed = Listing::new(listed).entries().to_vec();
        listed.dedup_by(|a, b| a.path == b.path);
        let listing = Listing::new(listed);
        let read = Mutex::new(Vec::new());
        let peek = |path: &RelPath, _: Portion| {
            read.lock().unwrap().push(path.to_string());
            RECORD.as_bytes().to_vec()
        };
        let root = RelPath::new("");
        let found = discover(&FolderView::new(&listing, &root, &peek));
        let units = found.units.iter().map(|unit| (unit.name.to_string(), unit.files.iter().map(ToString::to_string).collect())).collect();
        (units, read.into_inner().unwrap())
    }

    #[test]
    fn a_session_owns_what_has_its_id_and_secrets_are_not_read() {
        let own = [
            format!("file-history/{ID}/3ddebe3e4dfc1adb@v1"),
            format!("projects/-a/{ID}.jsonl"),
            format!("projects/-a/{ID}/subagents/deep/agent-a1.jsonl"),
            format!("projects/-a/{ID}/tool-results/x.txt"),
            format!("tasks/{ID}/1.json"),
            format!("todos/{ID}-agent-{ID}.json"),
        ];
        let others = [
            ".credentials.json".to_owned(),
            "settings.json".to_owned(),
            "history.jsonl".to_owned(),
            "sessions/7.0badc0de.key".to_owned(),
            "projects/-a/memory/note.md".to_owned(),
            "projects/-a/notes.jsonl".to_owned(),
            "todos/0b0b0b0b-1111-4222-8333-000000000002.json".to_owned(),
        ];
        let all: Vec<String> = own.iter().chain(&others).cloned().collect();
        let (units, read) = found(&all);
        assert_eq!(units, [(own[1].clone(), own.to_vec())]);
        assert_eq!(read, [own[1].clone()], "only the transcript decides");
    }

    #[test]
    fn one_id_in_two_projects_is_two_sessions() {
        let paths = [format!("projects/-a/{ID}.jsonl"), format!("projects/-b/{ID}.jsonl"), format!("todos/{ID}.json")];
        let (units, _) = found(&paths);
        assert_eq!(units, [(paths[0].clone(), vec![paths[0].clone(), paths[2].clone()]), (paths[1].clone(), vec![paths[1].clone()])]);
    }
}
