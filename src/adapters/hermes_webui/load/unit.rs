//! Which file of a unit is what, told by its path below the sessions folder.

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files, SourceFile};

/// The files of one session, or one file that serves the whole folder.
#[derive(Debug, Default)]
pub struct Unit<'a> {
    /// The session's id, as its files are named; none for a folder's own file.
    pub id: Option<&'a [u8]>,
    /// `<id>.json`.
    pub sidecar: PathContent<'a>,
    /// `<id>.json.bak`.
    pub backup: PathContent<'a>,
    /// The turn journal's shards by name, the file of older releases last.
    pub turns: Vec<PathContent<'a>>,
    /// The run journals, by run id.
    pub runs: BTreeMap<&'a [u8], PathContent<'a>>,
    /// `_index.json`.
    pub index: PathContent<'a>,
    /// `_deleted_webui_sessions.json`.
    pub tombstones: PathContent<'a>,
}

/// What a reader finds at a path. Links lead nowhere: no other file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PathContent<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// These bytes.
    Bytes(&'a [u8]),
    /// A folder, which cannot be read.
    Folder,
}

impl<'a> PathContent<'a> {
    fn of(entry: &'a Entry) -> PathContent<'a> {
        match entry {
            Entry::File(SourceFile { bytes, .. }) => PathContent::Bytes(bytes),
            Entry::EmptyFolder => PathContent::Folder,
            Entry::Rows(_) | Entry::Link { .. } => PathContent::Nothing,
        }
    }

    /// Returns the file as strict UTF-8 text; none where reading it raises, or there is
    /// nothing to read.
    #[must_use]
    pub fn text(self) -> Option<&'a [u8]> {
        match self {
            PathContent::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::as_bytes),
            PathContent::Nothing | PathContent::Folder => None,
        }
    }
}

/// What a path says about the file.
enum PathKind<'a> {
    Sidecar(&'a [u8]),
    Backup(&'a [u8]),
    Shard(&'a [u8]),
    Legacy(&'a [u8]),
    Run(&'a [u8], &'a [u8]),
    Index,
    Tombstones,
    Other,
}

fn place(path: &[u8]) -> PathKind<'_> {
    let mut parts = path.split(|b| *b == b'/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(b"_index.json"), None, ..) => PathKind::Index,
        (Some(b"_deleted_webui_sessions.json"), None, ..) => PathKind::Tombstones,
        (Some(name), None, ..) if !name.starts_with(b"_") => match (name.strip_suffix(b".json.bak"), name.strip_suffix(b".json")) {
            (Some(id), _) => PathKind::Backup(id),
            (None, Some(id)) => PathKind::Sidecar(id),
            (None, None) => PathKind::Other,
        },
        (Some(b"_turn_journal"), Some(name), None, _) => match name.strip_suffix(b".jsonl") {
            Some(stem) => match stem.iter().position(|b| *b == b'~') {
                Some(at) if at > 0 => PathKind::Shard(stem.get(..at).unwrap_or_default()),
                Some(_) | None => PathKind::Legacy(stem),
            },
            None => PathKind::Other,
        },
        (Some(b"_run_journal"), Some(id), Some(name), None) => match name.strip_suffix(b".jsonl") {
            // A later release keeps a list of settled runs among them.
            Some(b"_terminal_runs") | None => PathKind::Other,
            Some(run) => PathKind::Run(id, run),
        },
        _ => PathKind::Other,
    }
}

impl<'a> Unit<'a> {
    /// Sorts the files of a unit. Its id is that of its sidecar, or else of the
    /// first file that has one.
    #[must_use]
    pub fn of(files: &'a Files) -> Unit<'a> {
        let mut unit = Unit::default();
        let (mut named_by_sidecar, mut named_by_other) = (None, None);
        let mut legacy = Vec::new();
        for (path, entry) in files.iter() {
            let found = PathContent::of(entry);
            match place(path.as_bytes()) {
                PathKind::Sidecar(id) => {
                    named_by_sidecar = Some(id);
                    unit.sidecar = found;
                }
                PathKind::Backup(id) => {
                    named_by_other = Some(id);
                    unit.backup = found;
                }
                PathKind::Shard(id) => {
                    named_by_other.get_or_insert(id);
                    unit.turns.push(found);
                }
                PathKind::Legacy(id) => {
                    named_by_other.get_or_insert(id);
                    legacy.push(found);
                }
                PathKind::Run(id, run) => {
                    named_by_other.get_or_insert(id);
                    unit.runs.insert(run, found);
                }
                PathKind::Index => unit.index = found,
                PathKind::Tombstones => unit.tombstones = found,
                PathKind::Other => {}
            }
        }
        unit.id = named_by_sidecar.or(named_by_other);
        if !unit.has_safe_id()
            && unit.index == PathContent::Nothing
            && unit.tombstones == PathContent::Nothing
            && let Some((path, file)) = files.lone_file()
            && !path.as_bytes().starts_with(b"_")
            && !path.as_bytes().ends_with(b".migrated")
            && !path.as_bytes().windows(4).any(|four| four == b".tmp")
        {
            // A person named it as a session.
            unit.id = path.as_bytes().split(|b| *b == b'.').next();
            unit.id = if unit.has_safe_id() { unit.id } else { Some(b"unnamed") };
            unit.sidecar = PathContent::Bytes(&file.bytes);
            unit.backup = PathContent::Nothing;
        }
        unit.turns.append(&mut legacy);
        unit
    }

    /// Tells whether the session store takes the id.
    #[must_use]
    pub fn has_safe_id(&self) -> bool {
        self.id.is_some_and(|id| !id.is_empty() && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')))
    }

    /// Tells whether the journals take the id, which may have dots for them.
    #[must_use]
    pub fn has_journal_id(&self) -> bool {
        self.id.is_some_and(is_journal_id)
    }
}

/// Tells whether the journals take an id of a session or run.
#[must_use]
pub fn is_journal_id(id: &[u8]) -> bool {
    !id.is_empty() && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
