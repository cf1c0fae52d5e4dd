//! Which of a session's files is what, by name, and which name a key gives.

use crate::model::files::RelPath;

pub(super) const LINES: &str = ".jsonl";
pub(super) const META: &str = ".meta.json";
pub(super) const LEGACY: &str = ".json";
pub(super) const BACKUP: &str = ".json.migrated";
pub(super) const BACKUP_META: &str = ".meta.json.migrated";
/// No program but this one makes such.
pub(super) const RETIRED_LINES: &str = ".jsonl.migrated";

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Lines,
    Meta,
    Legacy,
    /// A legacy file that was imported.
    Backup,
    BackupMeta,
    Companion,
}

/// The suffixes, longer ones before those that they end in.
const ROLES: [(&str, Role); 6] = [
    (BACKUP_META, Role::BackupMeta),
    (RETIRED_LINES, Role::Companion),
    (BACKUP, Role::Backup),
    (META, Role::Meta),
    (LINES, Role::Lines),
    (LEGACY, Role::Legacy),
];

/// What a file is, by its name.
pub(super) fn role(path: &RelPath) -> Role {
    if path.as_bytes().starts_with(b".tmp-") {
        return Role::Companion;
    }
    ROLES.iter().find(|(suffix, _)| path.as_bytes().ends_with(suffix.as_bytes())).map_or(Role::Companion, |(_, role)| *role)
}

/// A name without the suffix that says what the file is.
pub(super) fn stem(name: &str) -> &str {
    ROLES.iter().find_map(|(suffix, _)| name.strip_suffix(suffix)).unwrap_or(name)
}

/// The name that picoclaw gives to the files of a key.
pub(super) fn sanitised(key: &str) -> String {
    key.replace([':', '/', '\\'], "_")
}
