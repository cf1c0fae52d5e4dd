//! Which folders hold opencode's sessions, and which files make one session.

use std::collections::BTreeMap;

use crate::adapters::format::{Confidence, Found, Standing, UnitClaim};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::folder::{FolderView, ListedKind};
use crate::runtimes::javascript::Value;

use super::layout::{DIFFS, FileRole, MESSAGES, MIGRATION, PARTS, PROJECTS, SESSIONS, TODOS, live};

/// How the ids of sessions and messages begin.
const SESSION_ID: &[u8] = b"ses_";
const MESSAGE_ID: &[u8] = b"msg_";

/// The files of one session.
#[derive(Default)]
struct Session<'f> {
    own: Option<&'f [u8]>,
    has_messages: bool,
    files: Vec<&'f [u8]>,
}

/// Claims the sessions of a storage folder, and what they share.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    if !is_storage(folder) {
        return found;
    }
    let mut sessions: BTreeMap<Vec<u8>, Session<'_>> = BTreeMap::new();
    let mut session_of: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    let mut parts: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    let mut beside: Vec<(&[u8], &[u8])> = Vec::new();
    let mut shared: Vec<&[u8]> = Vec::new();
    for (path, role) in files(folder) {
        match role {
            FileRole::Session { id } => {
                let session = sessions.entry(id.to_vec()).or_default();
                session.files.push(path);
                // A live file counts before a retired one of the same session.
                if session.own.is_none_or(|own| live(own) != own) {
                    session.own = Some(path);
                }
            }
            FileRole::Message { session, id } => {
                session_of.insert(id, session);
                let session = sessions.entry(session.to_vec()).or_default();
                session.has_messages = true;
                session.files.push(path);
            }
            FileRole::Part { message } => parts.entry(message).or_default().push(path),
            FileRole::Todo { session } | FileRole::Diff { session } => beside.push((path, session)),
            FileRole::Project | FileRole::Migration => shared.push(path),
            FileRole::Unknown => {}
        }
    }
    for (message, files) in parts {
        let id = match session_of.get(message) {
            Some(session) => session.to_vec(),
            // What is left of a message that was removed says itself whose it was.
            None => files.iter().find_map(|path| session_id(folder, path)).unwrap_or_else(|| message.to_vec()),
        };
        let session = sessions.entry(id).or_default();
        session.has_messages = true;
        session.files.extend(files);
    }
    for (path, session) in beside {
        match sessions.get_mut(session) {
            Some(session) => session.files.push(path),
            None => shared.push(path),
        }
    }
    found.units.extend(sessions.into_iter().map(|(id, session)| claim(&id, session)));
    if !shared.is_empty() {
        found.units.push(store(shared));
    }
    found
}

/// Tells whether a folder is the program's storage: it has a message of a session
/// at its place, or a session's file whose content says so.
fn is_storage(folder: &FolderView<'_>) -> bool {
    let is_message = |path: &[u8]| matches!(FileRole::of(path), FileRole::Message { session, id } if session.starts_with(SESSION_ID) && id.starts_with(MESSAGE_ID));
    if folder.beginning(MESSAGES).any(|(path, entry)| entry.kind == ListedKind::File && is_message(path)) {
        return true;
    }
    let is_session = |path: &[u8]| match FileRole::of(path) {
        FileRole::Session { id } if id.starts_with(SESSION_ID) => {
            let all = folder.all_bytes(path);
            Value::parse(&all).is_some_and(|session| session.get("id").text().is_some_and(|own| *own == *id))
        }
        FileRole::Session { .. }
        | FileRole::Message { .. }
        | FileRole::Part { .. }
        | FileRole::Todo { .. }
        | FileRole::Diff { .. }
        | FileRole::Project
        | FileRole::Migration
        | FileRole::Unknown => false,
    };
    folder.beginning(SESSIONS).any(|(path, entry)| entry.kind == ListedKind::File && is_session(path))
}

/// Returns the files below the program's own folders, and what each is.
fn files<'f>(folder: &FolderView<'f>) -> impl Iterator<Item = (&'f [u8], FileRole<'f>)> {
    let starts = [MESSAGES, PARTS, SESSIONS, DIFFS, TODOS, PROJECTS, MIGRATION];
    let listed: Vec<_> = starts.into_iter().flat_map(|start| folder.beginning(start)).collect();
    listed.into_iter().filter(|(_, entry)| entry.kind == ListedKind::File).map(|(path, _)| (path, FileRole::of(path)))
}

/// Returns the session that a part says it is of.
fn session_id(folder: &FolderView<'_>, path: &[u8]) -> Option<Vec<u8>> {
    let all = folder.all_bytes(path);
    let id = Value::parse(&all)?.get("sessionID").text()?.into_owned();
    // It becomes a file's name.
    id.starts_with(SESSION_ID).then_some(id).filter(|id| id.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_'))
}

fn claim(id: &[u8], session: Session<'_>) -> UnitClaim {
    let mut files: Vec<RelPath> = session.files.iter().map(RelPath::new).collect();
    files.sort();
    let is_retired = session.own.is_some_and(|own| live(own) != own);
    UnitClaim {
        name: RelPath::new([id, b".json"].concat()),
        root: RelPath::new(""),
        files,
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: session.own.map(|own| RelPath::new(live(own))).into_iter().collect(),
        confidence: Confidence::Sure,
        standing: if is_retired { Standing::Retired } else { Standing::Live },
    }
}

/// Returns what sessions share, and lists of sessions that are gone.
fn store(files: Vec<&[u8]>) -> UnitClaim {
    let mut files: Vec<RelPath> = files.into_iter().map(RelPath::new).collect();
    files.sort();
    UnitClaim {
        name: RelPath::new(MIGRATION),
        root: RelPath::new(""),
        files,
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    }
}
