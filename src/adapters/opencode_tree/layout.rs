//! Which of the program's files is what, by its path below the storage folder.

use crate::adapters::format::RETIRED_SUFFIX;

/// The id of the format.
pub(super) const ID: &str = "opencode-tree";

/// The folder of session files, one folder for each project in it.
pub(super) const SESSIONS: &str = "session/";
/// The folder of messages, one folder for each session in it.
pub(super) const MESSAGES: &str = "message/";
/// The folder of parts, one folder for each message in it.
pub(super) const PARTS: &str = "part/";
/// The task lists, one file for each session.
pub(super) const TODOS: &str = "todo/";
/// The changes to files, one file for each session.
pub(super) const DIFFS: &str = "session_diff/";
/// The projects.
pub(super) const PROJECTS: &str = "project/";
/// How many of its own migrations the program has run.
pub(super) const MIGRATION: &str = "migration";

/// What a file is, with the ids that its path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole<'p> {
    Session { id: &'p [u8] },
    Message { session: &'p [u8], id: &'p [u8] },
    Part { message: &'p [u8] },
    Todo { session: &'p [u8] },
    Diff { session: &'p [u8] },
    Project,
    Migration,
    Unknown,
}

impl<'p> FileRole<'p> {
    /// Tells what the file at this path is.
    pub(super) fn of(path: &'p [u8]) -> FileRole<'p> {
        if path == MIGRATION.as_bytes() {
            return FileRole::Migration;
        }
        let below = |folder: &str| path.strip_prefix(folder.as_bytes());
        if let Some((_, name)) = below(SESSIONS).and_then(folder_and_name) {
            return stem(live(name)).map_or(FileRole::Unknown, |id| FileRole::Session { id });
        }
        if let Some((session, name)) = below(MESSAGES).and_then(folder_and_name) {
            return stem(name).map_or(FileRole::Unknown, |id| FileRole::Message { session, id });
        }
        if let Some((message, name)) = below(PARTS).and_then(folder_and_name) {
            return stem(name).map_or(FileRole::Unknown, |_| FileRole::Part { message });
        }
        let lone = |folder: &str| below(folder).filter(|name| !name.contains(&b'/')).and_then(stem);
        if let Some(session) = lone(TODOS) {
            return FileRole::Todo { session };
        }
        if let Some(session) = lone(DIFFS) {
            return FileRole::Diff { session };
        }
        lone(PROJECTS).map_or(FileRole::Unknown, |_| FileRole::Project)
    }
}

/// Returns a path without the ending of a retired file.
pub(super) fn live(path: &[u8]) -> &[u8] {
    path.strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(path)
}

/// Returns a file's name without its ending; `None` where it has another ending.
pub(super) fn stem(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(b".json").filter(|stem| !stem.is_empty())
}

/// Returns the two parts of a path that has no more.
fn folder_and_name(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'/', path)?;
    let name = &path[at + 1..];
    (!name.contains(&b'/')).then_some((&path[..at], name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_say_what_files_are() {
        let id = b"ses_1";
        assert_eq!(FileRole::of(b"session/p/ses_1.json"), FileRole::Session { id });
        assert_eq!(FileRole::of(b"session/p/ses_1.json.migrated"), FileRole::Session { id });
        assert_eq!(FileRole::of(b"session/p/ses_1.txt"), FileRole::Unknown);
        assert_eq!(FileRole::of(b"message/ses_1/msg_2.json"), FileRole::Message { session: id, id: b"msg_2" });
        assert_eq!(FileRole::of(b"message/ses_1/a/msg_2.json"), FileRole::Unknown);
        assert_eq!(FileRole::of(b"part/msg_2/prt_3.json"), FileRole::Part { message: b"msg_2" });
        assert_eq!(FileRole::of(b"todo/ses_1.json"), FileRole::Todo { session: id });
        assert_eq!(FileRole::of(b"session_diff/ses_1.json"), FileRole::Diff { session: id });
        assert_eq!(FileRole::of(b"project/global.json"), FileRole::Project);
        assert_eq!(FileRole::of(b"session_share/ses_1.json"), FileRole::Unknown);
        assert_eq!(FileRole::of(b"migration"), FileRole::Migration);
    }
}
