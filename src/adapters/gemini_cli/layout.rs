//! Which of the program's files is what, by its name below a project's folder.

use crate::adapters::format::RETIRED_SUFFIX;

/// The id of the format.
pub(super) const ID: &str = "gemini-cli";

/// The folder of sessions in a project's folder.
pub(super) const CHATS: &str = "chats/";
/// Where the full texts of long tool outputs lie.
pub(super) const OUTPUTS: &str = "tool-outputs/";
/// Where activity logs lie.
pub(super) const ACTIVITY: &str = "logs/";
/// Where points to restore files to lie.
pub(super) const RESTORE_POINTS: &str = "checkpoints/";
/// The file that names the project's own folder.
pub(super) const PROJECT_ROOT: &str = ".project_root";
/// The prompts of a project.
pub(super) const PROMPTS: &str = "logs.json";
/// The commands that were run by hand in a project.
pub(super) const SHELL: &str = "shell_history";
/// The list of projects.
pub(super) const PROJECTS: &str = "projects.json";

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A session, of either generation.
    Session,
    /// A saved chat.
    Chat,
    /// Something beside a session or a project.
    Companion,
}

/// A path without the ending of a retired file.
pub(super) fn live(path: &[u8]) -> &[u8] {
    path.strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(path)
}

/// The last part of a path.
pub(super) fn base(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
}

/// The name of a session's file without its ending; `None` where it has another.
pub(super) fn stem(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(b".jsonl").or_else(|| name.strip_suffix(b".json"))
}

/// Whether the program's list of sessions looks at a file of this name.
pub(super) fn is_listed(name: &[u8]) -> bool {
    name.starts_with(b"session-") && stem(name).is_some()
}

/// Whether a file of this name is a saved chat.
pub(super) fn is_chat(name: &[u8]) -> bool {
    name.starts_with(b"checkpoint-") && name.ends_with(b".json")
}

/// The session's file that one of an unreadable copy's name was.
pub(super) fn of_unreadable(name: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::rfind(name, b".jsonl.unreadable-")?;
    Some(&name[..at + b".jsonl".len()])
}

/// What a file of a unit is, by its path. A retired one is of no use to the
/// program any more.
pub(super) fn role(path: &[u8]) -> Role {
    let name = base(path);
    let folder = &path[..path.len() - name.len()];
    let lies_among_sessions = folder.is_empty() || folder.starts_with(CHATS.as_bytes());
    if folder.is_empty() && is_chat(name) {
        return Role::Chat;
    }
    if folder.is_empty() && (name == PROMPTS.as_bytes() || name == PROJECTS.as_bytes()) {
        return Role::Companion;
    }
    let is_session = stem(name).is_some() || of_unreadable(name).is_some();
    if lies_among_sessions && is_session { Role::Session } else { Role::Companion }
}

/// The tag that a saved chat's name spells.
pub(super) fn tag(name: &[u8]) -> String {
    let name = base(live(name));
    let inner = name.strip_prefix(b"checkpoint-").unwrap_or(name);
    let inner = inner.strip_suffix(b".json").unwrap_or(inner);
    let mut out = Vec::with_capacity(inner.len());
    let mut at = 0;
    while let Some(byte) = inner.get(at) {
        let hex = inner.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match hex.filter(|_| *byte == b'%') {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    // A name that spells no text is a raw one.
    String::from_utf8(out).unwrap_or_else(|_| String::from_utf8_lossy(inner).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_files_are() {
        assert_eq!(role(b"chats/session-2026-11-18T06-29-69453459.jsonl"), Role::Session);
        assert_eq!(role(b"chats/00d4f594/fe0924c2.jsonl"), Role::Session);
        assert_eq!(role(b"session-x.json.migrated"), Role::Companion);
        assert_eq!(role(b"chats/session-x.jsonl.unreadable-17"), Role::Session);
        assert_eq!(role(b"checkpoint-a.json"), Role::Chat);
        assert_eq!(role(b"logs/session-x.jsonl"), Role::Companion);
        assert_eq!(role(b"logs.json"), Role::Companion);
        assert_eq!(of_unreadable(b"session-x.jsonl.unreadable-17"), Some(&b"session-x.jsonl"[..]));
        assert_eq!(tag(b"checkpoint-before%20rewind%2F1.json"), "before rewind/1");
        assert_eq!(tag(b"checkpoint-100%.json.migrated"), "100%");
    }
}
