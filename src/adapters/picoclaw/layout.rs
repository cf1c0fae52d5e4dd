//! Which of a session's files is what, by name, and which name a key gives.

use crate::json::{self, Dialect};
use crate::model::files::RelPath;

use crate::runtimes::go::{Text, is_space};

/// The id of this format.
pub(super) const ID: &str = "picoclaw";

pub(crate) const LINES: &str = ".jsonl";
pub(crate) const META: &str = ".meta.json";
pub(crate) const LEGACY: &str = ".json";
pub(crate) const BACKUP: &str = ".json.migrated";
pub(crate) const BACKUP_META: &str = ".meta.json.migrated";
/// No program but this one makes such.
pub(crate) const RETIRED_LINES: &str = ".jsonl.migrated";

/// What an export left beside a session for the way back; the program does not look
/// at it.
pub(crate) const CARRIED: &str = ".everlog";

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Lines,
    Meta,
    Legacy,
    /// A legacy file that was imported.
    Backup,
    BackupMeta,
    /// What an export left beside a session.
    Carried,
    Companion,
}

/// The suffixes, longer ones before those that they end in.
const ROLES: [(&str, Role); 7] = [
    (BACKUP_META, Role::BackupMeta),
    (RETIRED_LINES, Role::Companion),
    (BACKUP, Role::Backup),
    (META, Role::Meta),
    (LINES, Role::Lines),
    (LEGACY, Role::Legacy),
    (CARRIED, Role::Carried),
];

/// Returns what a file is, by its name.
pub(crate) fn role(name: &[u8]) -> Role {
    if name.starts_with(b".tmp-") {
        return Role::Companion;
    }
    ROLES.iter().find(|(suffix, _)| name.ends_with(suffix.as_bytes())).map_or(Role::Companion, |(_, role)| *role)
}

/// Returns what a file is, by its name and its content: a legacy session whose key ends
/// in `.meta` has the name of a meta file.
pub(crate) fn role_by_content(name: &[u8], bytes: &[u8]) -> Role {
    match role(name) {
        Role::Meta if key_before_messages(bytes).is_some() => Role::Legacy,
        Role::BackupMeta if key_before_messages(bytes).is_some() => Role::Backup,
        role @ (Role::Lines | Role::Meta | Role::Legacy | Role::Backup | Role::BackupMeta | Role::Carried | Role::Companion) => role,
    }
}

/// Returns what a file by itself is, which a person may have named as a session: where
/// its name says nothing, it is a legacy session if it begins like one, else lines.
pub(crate) fn role_alone(name: &[u8], bytes: &[u8]) -> Role {
    let is_known = ROLES.iter().any(|(suffix, _)| name.ends_with(suffix.as_bytes()));
    match role_by_content(name, bytes) {
        Role::Companion if is_known || is_temporary(name) => Role::Companion,
        Role::Companion if key_before_messages(bytes).is_some() => Role::Legacy,
        Role::Companion => Role::Lines,
        role @ (Role::Lines | Role::Meta | Role::Legacy | Role::Backup | Role::BackupMeta | Role::Carried) => role,
    }
}

/// Tells whether a name is one that the program gives to temporaries.
fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(b".tmp-")
        || (name.starts_with(b"session-") && name.ends_with(b".tmp"))
        || name.ends_with(b".jsonl.tmp")
        || name.ends_with(b".meta.json.tmp")
}

/// Returns the key of a legacy session that begins as the program writes it, be it whole
/// or cut off.
pub(crate) fn key_before_messages(first: &[u8]) -> Option<String> {
    let after = |text: &'_ [u8], word: &[u8]| -> Option<usize> {
        let start = text.iter().position(|b| !is_space(*b))?;
        text[start..].starts_with(word).then_some(start + word.len())
    };
    let mut at = 0;
    for word in [&b"{"[..], b"\"key\"", b":"] {
        at += after(&first[at..], word)?;
    }
    at += first[at..].iter().position(|b| !is_space(*b))?;
    let scan = json::scan_value(&first[at..], Dialect::Strict).ok().filter(|_| first[at] == b'"')?;
    let key = scan.value.text();
    at += scan.end;
    for word in [&b","[..], b"\"messages\"", b":"] {
        at += after(&first[at..], word)?;
    }
    (after(&first[at..], b"[").is_some() || after(&first[at..], b"null").is_some()).then(|| Text::of_token(key).decoded().into_owned())
}

/// Returns a name without the suffix that says what the file is.
pub(crate) fn stem(name: &[u8]) -> &[u8] {
    ROLES.iter().find_map(|(suffix, _)| name.strip_suffix(suffix.as_bytes())).unwrap_or(name)
}

/// Returns the name of a legacy file, or of its backup, without what says that it is one:
/// its key, where it says none.
pub(crate) fn legacy_stem(name: &[u8]) -> &[u8] {
    let name = name.strip_suffix(b".migrated").unwrap_or(name);
    name.strip_suffix(LEGACY.as_bytes()).unwrap_or(name)
}

/// Returns the name that picoclaw gives to the files of a key.
pub(crate) fn sanitised(key: impl AsRef<[u8]>) -> RelPath {
    let plain = |byte: &u8| if matches!(byte, b':' | b'/' | b'\\') { b'_' } else { *byte };
    RelPath::new(key.as_ref().iter().map(plain).collect::<Vec<u8>>())
}
