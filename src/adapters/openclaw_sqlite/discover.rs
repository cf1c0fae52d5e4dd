//! Which files are an agent's database, and which lie beside it.

use crate::adapters::format::{Confidence, Found, Standing, UnitClaim};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

use super::layout::{COLD, NAME, SESSIONS};

/// How every database begins that has a page.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// No database has a smaller page; what is shorter holds no row.
const SMALLEST_PAGE: u64 = 512;

/// Where a database's header has its program's own number for the schema.
const VERSION: std::ops::Range<usize> = 60..64;

/// The first versions hold no sessions.
const WITHOUT_SESSIONS: u32 = 1;

/// The folder of an agent in which its database lies.
const FOLDER: &str = "agent/";

/// What belongs to a database besides the main file and its two logs: locks, and what is
/// left of an index that was made anew.
const SCRATCH: [&str; 4] = [".generation-lock.sqlite", ".generation-writer.sqlite", ".reindex-lock.sqlite", ".memory-reindex-"];

/// Claims an agent's database: from the agent's folder, so that archives beside it can
/// belong to its sessions; or where it lies.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    let below = [FOLDER.as_bytes(), NAME.as_bytes()].concat();
    let names = match folder.named_file() {
        Some(named) => vec![named.to_vec()],
        None => vec![below, NAME.as_bytes().to_vec()],
    };
    found.units.extend(names.into_iter().filter_map(|name| claim(folder, &name)));
    found
}

fn claim(folder: &FolderView<'_>, name: &[u8]) -> Option<UnitClaim> {
    let with = |suffix: &str| [name, suffix.as_bytes()].concat();
    let has_log = folder.get(with("-wal")).is_some_and(|entry| entry.kind == ListedKind::File && entry.size > 0);
    let first = folder.has_file(name).then(|| folder.first_bytes(name))?;
    let is_empty = first.iter().all(|byte| *byte == 0);
    let has_page = first.starts_with(MAGIC) && folder.get(name).is_some_and(|entry| entry.size >= SMALLEST_PAGE);
    let version = first.get(VERSION).and_then(|version| version.try_into().ok()).map(u32::from_be_bytes);
    // The log may have a newer schema than the file.
    let may_have_sessions = has_log || version.is_some_and(|version| version > WITHOUT_SESSIONS);
    if !(has_page && may_have_sessions || is_empty && has_log) {
        return None;
    }
    let mut files: Vec<RelPath> =
        ["", "-journal", "-wal"].iter().map(|end| with(end)).filter(|path| folder.has_file(path)).map(RelPath::new).collect();
    if name.starts_with(FOLDER.as_bytes()) {
        let beside = folder.beginning(SESSIONS).filter(|(path, entry)| entry.kind == ListedKind::File && is_archive(path));
        files.extend(beside.map(|(path, _)| RelPath::new(path)));
    }
    let shared = with("-shm");
    let mut left_out = Vec::new();
    if folder.has_file(&shared) {
        let message = "memory that SQLite shares between programs; it holds no rows".to_owned();
        left_out.push((RelPath::new(&shared), FindingCode::LockFile, message));
    }
    let scratch =
        if name.starts_with(FOLDER.as_bytes()) { folder.beginning(FOLDER).collect() } else { folder.direct().collect::<Vec<_>>() };
    let is_scratch = |path: &[u8]| path.strip_prefix(name).is_some_and(|rest| SCRATCH.iter().any(|end| rest.starts_with(end.as_bytes())));
    for (path, _) in scratch.into_iter().filter(|(path, entry)| entry.kind == ListedKind::File && is_scratch(path)) {
        let message = "a lock or a half-made index of OpenClaw; it belongs to no session".to_owned();
        left_out.push((RelPath::new(path), FindingCode::LockFile, message));
    }
    Some(UnitClaim {
        name: RelPath::new(name),
        root: RelPath::new(""),
        files,
        left_out,
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    })
}

/// Whether a file is a cold archive, or the copy of an archive in the database.
fn is_archive(path: &[u8]) -> bool {
    let has_mark = || [".jsonl.deleted.", ".jsonl.reset."].iter().any(|mark| memchr::memmem::find(path, mark.as_bytes()).is_some());
    let (name, is_ours) = match path.strip_prefix(COLD.as_bytes()) {
        Some(name) => (name, name.ends_with(b".jsonl.zst")),
        None => (path.get(SESSIONS.len()..).unwrap_or_default(), path.ends_with(b".zst") && has_mark()),
    };
    is_ours && !name.contains(&b'/')
}
