//! Which files make one session: the rollouts of one thread.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::model::files::{RelPath, SharedFacts, Slice};
use crate::model::finding::FindingCode;
use crate::model::folder::{FIRST_BYTES, FolderView, ListedKind};
use crate::model::packing;

use super::home;
use super::names::{self, Form, Name};
use super::scan::{self, Header};

/// The folders that rollouts are in.
const ROOTS: [&str; 2] = ["sessions/", "archived_sessions/"];

/// Where writers have their locks.
const LOCKS: &str = "thread-writer-locks/";

/// A rollout that was found.
struct FoundRollout<'f> {
    path: &'f [u8],
    name: Name<'f>,
    header: Option<Header>,
}

/// Claims the threads of the program's folder, or of a part of its sessions.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    let is_home = ROOTS.iter().any(|root| folder.beginning(root).next().is_some());
    let paths: Vec<&[u8]> = if is_home { of_home(folder) } else { of_part(folder) };
    let mut rollouts = Vec::new();
    for path in paths {
        let Some(name) = names::parse(path) else { continue };
        let is_retired = path.ends_with(RETIRED_SUFFIX.as_bytes());
        if is_retired && folder.has_file(names::live(path)) {
            let message = "retired before, and a live session of the same name is beside it; the live one is converted".to_owned();
            found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::RetiredChanged, message });
            continue;
        }
        let header = header(folder, path, name.form);
        rollouts.push(FoundRollout { path, name, header });
    }
    if rollouts.is_empty() {
        return found;
    }
    let names = if folder.has_file(home::NAMES) { home::names_in(&folder.all_bytes(home::NAMES)) } else { BTreeMap::new() };
    // Of files of one name the last counts.
    rollouts.sort_by_key(|rollout| names::rank(rollout.path));
    let by_rollout: HashMap<&str, &FoundRollout<'_>> = rollouts.iter().map(|rollout| (rollout.name.rollout, rollout)).collect();
    let mut threads: BTreeMap<&str, Vec<&FoundRollout<'_>>> = BTreeMap::new();
    for rollout in &rollouts {
        let id = rollout.header.as_ref().and_then(|header| header.id.as_deref()).unwrap_or(rollout.name.thread);
        threads.entry(id).or_default().push(rollout);
    }
    for (id, mut files) in threads {
        files.sort_by_key(|rollout| names::rank(rollout.path));
        let title = names.get(id).map(|name| Slice { file: RelPath::new(home::NAMES), key: id.to_owned(), text: name.clone() });
        let mut slices: Vec<Slice> = title.into_iter().collect();
        slices.extend(bases(folder, &files, &by_rollout));
        found.units.push(unit(&files, SharedFacts { slices, ..SharedFacts::default() }));
    }
    if is_home {
        claim_home(folder, &mut found);
    }
    found
}

fn is_file(kind: &ListedKind) -> bool {
    *kind == ListedKind::File
}

/// What may be a rollout in the program's folder.
fn of_home<'f>(folder: &FolderView<'f>) -> Vec<&'f [u8]> {
    ROOTS.iter().flat_map(|root| folder.beginning(root)).filter(|(_, entry)| is_file(&entry.kind)).map(|(path, _)| path).collect()
}

/// What may be one in a folder of sessions, or of one year, month or day.
fn of_part<'f>(folder: &FolderView<'f>) -> Vec<&'f [u8]> {
    let is_date = |name: &[u8]| matches!(name.len(), 2 | 4) && name.iter().all(u8::is_ascii_digit);
    let has_dates = folder.direct().any(|(name, entry)| entry.kind == ListedKind::Folder && is_date(name));
    if !has_dates {
        return folder.direct().filter(|(_, entry)| is_file(&entry.kind)).map(|(path, _)| path).collect();
    }
    let is_in_dates = |path: &[u8]| memchr::memrchr(b'/', path).is_none_or(|at| path[..at].split(|b| *b == b'/').all(is_date));
    folder.entries().filter(|(path, entry)| is_file(&entry.kind) && is_in_dates(path)).map(|(path, _)| path).collect()
}

/// The header of a rollout, where it has one.
fn header(folder: &FolderView<'_>, path: &[u8], form: Form) -> Option<Header> {
    let first = folder.first_bytes(path);
    let has_line = |bytes: &[u8]| memchr::memchr(b'\n', bytes).is_some();
    match form {
        Form::Document => None,
        Form::Lines if has_line(&first) => scan::header_of(&first).map(|(_, header)| header),
        Form::Lines => scan::header_of(&folder.all_bytes(path)).map(|(_, header)| header),
        Form::Cold => {
            let plain = packing::unpack_first(&first, FIRST_BYTES);
            let plain = if has_line(&plain) { plain } else { packing::unpack(&folder.all_bytes(path)).unwrap_or_default() };
            scan::header_of(&plain).map(|(_, header)| header)
        }
    }
}

/// What other threads' rollouts say of these: those that they go on from, as far as they
/// count.
fn bases(folder: &FolderView<'_>, files: &[&FoundRollout<'_>], by_rollout: &HashMap<&str, &FoundRollout<'_>>) -> Vec<Slice> {
    let mut slices = Vec::new();
    let mut known: HashSet<String> = files.iter().map(|rollout| rollout.name.rollout.to_owned()).collect();
    let mut wanted: Vec<scan::Base> = files.iter().filter_map(|rollout| rollout.header.as_ref()?.base.clone()).collect();
    while let Some(base) = wanted.pop() {
        if !known.insert(base.rollout.clone()) {
            continue;
        }
        let Some(rollout) = by_rollout.get(base.rollout.as_str()) else { continue };
        let bytes = plain(folder, rollout);
        let text = bytes[..base.bytes.min(bytes.len())].to_vec();
        wanted.extend(rollout.header.as_ref().and_then(|header| header.base.clone()));
        slices.push(Slice { file: RelPath::new(rollout.path), key: base.rollout, text });
    }
    slices
}

fn plain(folder: &FolderView<'_>, rollout: &FoundRollout<'_>) -> Rc<Vec<u8>> {
    let bytes = folder.all_bytes(rollout.path);
    if rollout.name.form == Form::Cold { Rc::new(packing::unpack(&bytes).unwrap_or_default()) } else { bytes }
}

fn unit(files: &[&FoundRollout<'_>], shared: SharedFacts) -> UnitClaim {
    let live = |rollout: &&FoundRollout<'_>| RelPath::new(names::live(rollout.path));
    let is_live = files.iter().any(|rollout| !rollout.path.ends_with(RETIRED_SUFFIX.as_bytes()));
    let is_sure = files.iter().any(|rollout| rollout.header.is_some());
    let mut paths: Vec<RelPath> = files.iter().map(|rollout| RelPath::new(rollout.path)).collect();
    paths.sort();
    UnitClaim {
        name: files.first().map(live).unwrap_or_else(|| RelPath::new("")),
        root: RelPath::new(""),
        files: paths,
        left_out: Vec::new(),
        shared,
        retires: files.iter().map(live).collect(),
        confidence: if is_sure { Confidence::Sure } else { Confidence::Likely },
        standing: if is_live { Standing::Live } else { Standing::Retired },
    }
}

/// Claims the files that serve all threads, and names those that belong to none.
fn claim_home(folder: &FolderView<'_>, found: &mut Found) {
    for name in [home::PROMPTS, home::FIRST_PROMPTS, home::NAMES] {
        if folder.has_file(name) {
            found.units.push(UnitClaim {
                name: RelPath::new(name),
                root: RelPath::new(""),
                files: vec![RelPath::new(name)],
                left_out: Vec::new(),
                shared: SharedFacts::default(),
                retires: Vec::new(),
                confidence: Confidence::Likely,
                standing: Standing::Live,
            });
        }
    }
    for (path, _) in folder.beginning(LOCKS).filter(|(_, entry)| is_file(&entry.kind)) {
        let message = "a lock of Codex; it belongs to no session".to_owned();
        found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::LockFile, message });
    }
    for (path, entry) in folder.direct() {
        if is_file(&entry.kind) && path.ends_with(b".lock") {
            let message = "a lock of Codex; it belongs to no session".to_owned();
            found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::LockFile, message });
        }
    }
}
