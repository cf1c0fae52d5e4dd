//! A sessions folder by session: which files each has.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::adapters::format::RETIRED_SUFFIX;
use crate::adapters::hermes_webui::discover::is_unlisted;
use crate::adapters::hermes_webui::layout::{INDEX, Role, STORES, role};
use crate::model::folder::{FolderView, Listed, ListedKind};

use super::document::Document;

/// One file: its path below the sessions folder, and its entry.
#[derive(Clone, Copy)]
pub(super) struct SessionFile<'f> {
    pub path: &'f str,
    pub listed: &'f Listed,
}

/// The files of one session.
#[derive(Default)]
pub(super) struct Files<'f> {
    pub sidecar: Option<SessionFile<'f>>,
    pub backup: Option<SessionFile<'f>>,
    /// Shards in byte order of name, then the single journal of old releases.
    pub turns: Vec<SessionFile<'f>>,
    pub runs: Vec<SessionFile<'f>>,
    pub temporaries: Vec<SessionFile<'f>>,
    /// Converted before, and renamed: its program no longer sees it.
    pub is_retired: bool,
    /// A link or something else stands where a file should be.
    pub is_odd: bool,
}

impl<'f> Files<'f> {
    /// Everything of it but what an interrupted write left.
    pub(super) fn all(&self) -> impl Iterator<Item = &SessionFile<'f>> {
        self.sidecar.iter().chain(&self.backup).chain(&self.turns).chain(&self.runs)
    }

    /// Returns the journal of a run.
    pub(super) fn run(&self, stream: &str) -> Option<&SessionFile<'f>> {
        self.runs.iter().find(|place| place.path.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl")) == Some(stream))
    }
}

/// A sessions folder.
pub(super) struct Folder<'f> {
    pub view: &'f FolderView<'f>,
    pub sessions: BTreeMap<&'f str, Files<'f>>,
    pub index: Option<SessionFile<'f>>,
    /// A link, a folder or something else stands where the list should be.
    pub is_index_odd: bool,
    /// Sessions that were deleted for good.
    pub deleted: BTreeSet<String>,
    /// Whether anything in it is the program's own.
    pub is_sessions: bool,
}

impl<'f> Folder<'f> {
    pub(super) fn of(view: &'f FolderView<'f>) -> Folder<'f> {
        let mut folder =
            Folder { view, sessions: BTreeMap::new(), index: None, is_index_odd: false, deleted: BTreeSet::new(), is_sessions: false };
        for (path, listed) in view.entries() {
            let Some((path, (role, id))) = std::str::from_utf8(path).ok().and_then(|path| Some((path, role(path, RETIRED_SUFFIX)?))) else {
                continue;
            };
            folder.is_index_odd |= role == Role::Index && listed.kind != ListedKind::File;
            if listed.kind == ListedKind::Folder {
                continue;
            }
            folder.is_sessions = true;
            folder.add(SessionFile { path, listed }, role, id);
        }
        for files in folder.sessions.values_mut() {
            files.turns.sort_by_key(|place| (!place.path.contains('~'), place.path));
        }
        folder.deleted = tombstones(&view.all_bytes(STORES[0]));
        folder
    }

    fn add(&mut self, place: SessionFile<'f>, role: Role, id: &'f str) {
        if role == Role::Index {
            self.index = Some(place);
        }
        if matches!(role, Role::Index | Role::Store) || id == INDEX || (role == Role::Sidecar && is_unlisted(place.path, self.view)) {
            return;
        }
        let files = self.sessions.entry(id).or_default();
        if place.listed.kind != ListedKind::File {
            files.is_odd = true;
            return;
        }
        match role {
            Role::Sidecar => files.sidecar = Some(place),
            Role::Backup => files.backup = Some(place),
            Role::TurnShard | Role::TurnLegacy => files.turns.push(place),
            Role::Run => files.runs.push(place),
            Role::Temporary => files.temporaries.push(place),
            Role::Retired => files.is_retired = true,
            Role::Index | Role::Store => {}
        }
    }

    /// Returns all bytes of a file.
    pub(super) fn bytes(&self, place: &SessionFile<'_>) -> Vec<u8> {
        Rc::unwrap_or_clone(self.view.all_bytes(place.path))
    }
}

/// Returns the ids in the list of what was deleted.
fn tombstones(bytes: &[u8]) -> BTreeSet<String> {
    let document = Document::of(bytes);
    if document.number("version").map(f64::trunc) != Some(1.0) {
        return BTreeSet::new();
    }
    document.elements("ids").map(super::document::text_of).map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()).collect()
}

/// Tells whether a session of this id can have a sidecar: journals allow more names,
/// and a database any.
pub(super) fn can_have_sidecar(id: &str) -> bool {
    matches!(role(&format!("{id}.json"), RETIRED_SUFFIX), Some((Role::Sidecar, named)) if named == id)
}

/// Returns the process that wrote a shard.
pub(super) fn writer(place: &SessionFile<'_>) -> Option<u32> {
    place.path.strip_suffix(".jsonl")?.rsplit_once('~')?.1.parse().ok()
}
