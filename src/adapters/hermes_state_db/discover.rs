//! Which files are a database of the Hermes agent.

use crate::adapters::format::{Confidence, Found, Standing, UnitClaim};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::FolderView;

use super::layout::NAME;

/// How every database begins that has a page.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// No database has a smaller page; what is shorter holds no row.
const SMALLEST_PAGE: u64 = 512;

/// Claims a `state.db` that is a SQLite database, also one that is still empty and
/// has all of its pages in the write-ahead log. What is inside of it is looked at
/// when it is opened.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    let name = match folder.named_file() {
        Some(named) => named.to_vec(),
        None => NAME.as_bytes().to_vec(),
    };
    let with = |suffix: &str| [name.as_slice(), suffix.as_bytes()].concat();
    let is_database = || {
        let first = folder.first_bytes(&name);
        let has_page = folder.get(&name).is_some_and(|entry| entry.size >= SMALLEST_PAGE);
        (first.starts_with(MAGIC) && has_page) || (first.iter().all(|byte| *byte == 0) && folder.has_file(with("-wal")))
    };
    if !folder.has_file(&name) || !is_database() {
        return found;
    }
    let files: Vec<RelPath> =
        ["", "-journal", "-wal"].iter().map(|end| with(end)).filter(|path| folder.has_file(path)).map(RelPath::new).collect();
    let shared = with("-shm");
    let left_out = folder
        .has_file(&shared)
        .then(|| (RelPath::new(&shared), FindingCode::LockFile, "memory that SQLite shares between programs; it holds no rows".to_owned()));
    found.units.push(UnitClaim {
        name: RelPath::new(&name),
        root: RelPath::new(""),
        files,
        left_out: left_out.into_iter().collect(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    });
    found
}
