//! Which files are databases of opencode.

use crate::adapters::format::{Confidence, Found, Standing, UnitClaim};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

use super::layout::NAME;

/// How every database begins that has a page.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// No database has a smaller page; what is shorter holds no row.
const SMALLEST_PAGE: u64 = 512;

/// Claims every database that has a name as the program gives it; also one that is
/// still empty and has all of its pages in the write-ahead log. What is inside of it
/// is looked at when it is opened.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    claimed(folder, is_named_by_the_program)
}

/// Claims the file that somebody says is such a database, whatever its name.
pub(super) fn discover_chosen(folder: &FolderView<'_>) -> Found {
    claimed(folder, |name| is_named_by_the_program(name) || folder.named_file() == Some(name))
}

fn is_named_by_the_program(name: &[u8]) -> bool {
    let (begin, end) = NAME;
    name.len() >= begin.len() + end.len() && name.starts_with(begin.as_bytes()) && name.ends_with(end.as_bytes())
}

fn claimed(folder: &FolderView<'_>, is_its_name: impl Fn(&[u8]) -> bool) -> Found {
    let mut found = Found::default();
    for (path, entry) in folder.direct() {
        if entry.kind == ListedKind::File && is_its_name(path) && is_database(folder, path, entry.size) {
            found.units.push(claim(folder, path));
        }
    }
    found
}

fn is_database(folder: &FolderView<'_>, path: &[u8], size: u64) -> bool {
    let first = folder.first_bytes(path);
    (first.starts_with(MAGIC) && size >= SMALLEST_PAGE)
        || (first.iter().all(|byte| *byte == 0) && folder.has_file([path, b"-wal"].concat()))
}

fn claim(folder: &FolderView<'_>, name: &[u8]) -> UnitClaim {
    let with = |end: &str| [name, end.as_bytes()].concat();
    let files = ["", "-journal", "-wal"].iter().map(|end| with(end)).filter(|path| folder.has_file(path)).map(RelPath::new).collect();
    let shared = with("-shm");
    let left_out = folder
        .has_file(&shared)
        .then(|| (RelPath::new(&shared), FindingCode::LockFile, "memory that SQLite shares between programs; it holds no rows".to_owned()));
    UnitClaim {
        name: RelPath::new(name),
        root: RelPath::new(""),
        files,
        left_out: left_out.into_iter().collect(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    }
}
