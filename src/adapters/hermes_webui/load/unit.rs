//! Which file of a unit is what, told by its path below the sessions folder.

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files, SourceFile};

/// The files of one session, or one file that serves the whole folder.
#[derive(Debug, Default)]
pub struct Unit<'a> {
    /// The session's id, as its files are named; none for a folder's own file.
    pub id: Option<&'a [u8]>,
    /// `<id>.json`.
    pub sidecar: Found<'a>,
    /// `<id>.json.bak`.
    pub backup: Found<'a>,
    /// The turn journal's shards by name, the file of older releases last.
    pub turns: Vec<Found<'a>>,
    /// The run journals, by run id.
    pub runs: BTreeMap<&'a [u8], Found<'a>>,
    /// `_index.json`.
    pub index: Found<'a>,
    /// `_deleted_webui_sessions.json`.
    pub tombstones: Found<'a>,
}

/// What a reader finds at a path. Links lead nowhere: no other file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Found<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// These bytes.
    Bytes(&'a [u8]),
    /// A folder, which cannot be read.
    Folder,
}

impl<'a> Found<'a> {
    fn of(entry: &'a Entry) -> Found<'a> {
        match entry {
            Entry::File(SourceFile { bytes, .. }) => Found::Bytes(bytes),
            Entry::EmptyFolder => Found::Folder,
            Entry::Rows(_) | Entry::Link { .. } => Found::Nothing,
        }
    }

    /// The file as strict UTF-8 text; none where reading it raises, or there is
    /// nothing to read.
    #[must_use]
    pub fn text(self) -> Option<&'a [u8]> {
        match self {
            Found::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::as_bytes),
            Found::Nothing | Found::Folder => None,
        }
    }
}

/// What a path says about the file.
enum Place<'a> {
    Sidecar(&'a [u8]),
    Backup(&'a [u8]),
    Shard(&'a [u8]),
    Legacy(&'a [u8]),
    Run(&'a [u8], &'a [u8]),
    Index,
    Tombstones,
    Other,
}

fn place(path: &[u8]) -> Place<'_> {
    let mut parts = path.split(|b| *b == b'/');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(b"_index.json"), None, ..) => Place::Index,
        (Some(b"_deleted_webui_sessions.json"), None, ..) => Place::Tombstones,
        (Some(name), None, ..) if !name.starts_with(b"_") => match (name.strip_suffix(b".json.bak"), name.strip_suffix(b".json")) {
            (Some(id), _) => Place::Backup(id),
            (None, Some(id)) => Place::Sidecar(id),
            (None, None) => Place::Other,
        },
        (Some(b"_turn_journal"), Some(name), None, _) => match name.strip_suffix(b".jsonl") {
            Some(stem) => match stem.iter().position(|b| *b == b'~') {
                Some(at) if at > 0 => Place::Shard(stem.get(..at).unwrap_or_default()),
                Some(_) | None => Place::Legacy(stem),
            },
            None => Place::Other,
        },
        (Some(b"_run_journal"), Some(id), Some(name), None) => match name.strip_suffix(b".jsonl") {
            // A later release keeps a list of settled runs among them.
            Some(b"_terminal_runs") | None => Place::Other,
            Some(run) => Place::Run(id, run),
        },
        _ => Place::Other,
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
            let found = Found::of(entry);
            match place(path.as_bytes()) {
                Place::Sidecar(id) => {
                    named_by_sidecar = Some(id);
                    unit.sidecar = found;
                }
                Place::Backup(id) => {
                    named_by_other = Some(id);
                    unit.backup = found;
                }
                Place::Shard(id) => {
                    named_by_other.get_or_insert(id);
                    unit.turns.push(found);
                }
                Place::Legacy(id) => {
                    named_by_other.get_or_insert(id);
                    legacy.push(found);
                }
                Place::Run(id, run) => {
                    named_by_other.get_or_insert(id);
                    unit.runs.insert(run, found);
                }
                Place::Index => unit.index = found,
                Place::Tombstones => unit.tombstones = found,
                Place::Other => {}
            }
        }
        unit.id = named_by_sidecar.or(named_by_other);
        if !unit.has_safe_id()
            && unit.index == Found::Nothing
            && unit.tombstones == Found::Nothing
            && let Some((path, file)) = files.lone_file()
            && !path.as_bytes().starts_with(b"_")
            && !path.as_bytes().ends_with(b".migrated")
            && !path.as_bytes().windows(4).any(|four| four == b".tmp")
        {
            // A person named it as a session.
            unit.id = path.as_bytes().split(|b| *b == b'.').next();
            unit.id = if unit.has_safe_id() { unit.id } else { Some(b"unnamed") };
            unit.sidecar = Found::Bytes(&file.bytes);
            unit.backup = Found::Nothing;
        }
        unit.turns.append(&mut legacy);
        unit
    }

    /// Whether the session store takes the id.
    #[must_use]
    pub fn has_safe_id(&self) -> bool {
        self.id.is_some_and(|id| !id.is_empty() && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')))
    }

    /// Whether the journals take the id, which may have dots for them.
    #[must_use]
    pub fn has_journal_id(&self) -> bool {
        self.id.is_some_and(is_journal_id)
    }
}

/// Whether the journals take an id of a session or run.
#[must_use]
pub fn is_journal_id(id: &[u8]) -> bool {
    !id.is_empty() && id.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
