//! The names that Hermes WebUI gives to files, and what each file of a unit is.

use crate::model::files::{Entry, Files, RelPath, SourceFile};

/// The id of this format.
pub(super) const ID: &str = "hermes-webui";

/// The sidebar's list of sessions.
pub(crate) const INDEX: &str = "_index.json";
/// Which sessions were deleted, and which rows of the sidebar were dropped.
pub(crate) const STORES: [&str; 2] = ["_deleted_webui_sessions.json", "_pruned_webui_orphans.json"];
/// Where turn journals lie, one file per process.
pub(crate) const TURNS: &str = "_turn_journal/";
/// Where run journals lie, one folder per session and one file per run.
pub(crate) const RUNS: &str = "_run_journal/";

/// The keys that make an object a session, whatever else it holds.
pub(crate) const SESSION_KEYS: [&str; 4] = ["session_id", "messages", "tool_calls", "workspace"];

/// What a file below the sessions folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Sidecar,
    Backup,
    /// A turn journal of one process, or the single one of old releases.
    TurnShard,
    TurnLegacy,
    Run,
    /// What an interrupted write left.
    Temporary,
    Index,
    Store,
    /// Something of a session that has been retired.
    Retired,
}

/// Tells whether this can be a session's id: what the program itself allows.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// In journals an id may have dots too; `~` divides it from the process.
fn is_journal_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Returns what a file is, by its path below the sessions folder, and whose.
pub(crate) fn role<'p>(path: &'p str, retired_suffix: &str) -> Option<(Role, &'p str)> {
    if path == INDEX || path.starts_with("_index.tmp.") {
        return Some((if path == INDEX { Role::Index } else { Role::Temporary }, INDEX));
    }
    if STORES.contains(&path) {
        return Some((Role::Store, path));
    }
    if let Some(name) = path.strip_prefix(TURNS) {
        let stem = name.strip_suffix(".jsonl")?;
        return match stem.split_once('~') {
            Some((id, process)) => (is_journal_id(id) && !process.contains('/')).then_some((Role::TurnShard, id)),
            None => is_journal_id(stem).then_some((Role::TurnLegacy, stem)),
        };
    }
    if let Some(rest) = path.strip_prefix(RUNS) {
        let (id, run) = rest.split_once('/')?;
        return (is_journal_id(id) && is_journal_id(run.strip_suffix(".jsonl")?)).then_some((Role::Run, id));
    }
    if path.starts_with('_') || path.contains('/') {
        return None;
    }
    if let Some(name) = path.strip_suffix(retired_suffix) {
        let id = name.strip_suffix(".bak").unwrap_or(name).strip_suffix(".json")?;
        return is_id(id).then_some((Role::Retired, id));
    }
    let (id, rest) = path.split_once('.')?;
    let role = match rest {
        "json" => Role::Sidecar,
        "json.bak" => Role::Backup,
        "json.recover.tmp" => Role::Temporary,
        _ if ["tmp.", "json.bak.tmp.", "json.reconcile.tmp."].iter().any(|start| rest.starts_with(start)) => Role::Temporary,
        _ => return None,
    };
    is_id(id).then_some((role, id))
}

/// The id of a session whose file has none in its name.
const UNNAMED: &str = "unnamed";

/// Tells whether a name is not one that the program gives to something else.
fn is_no_name_of_ours(name: &[u8]) -> bool {
    !name.starts_with(b"_") && memchr::memmem::find(name, b".tmp").is_none() && !name.ends_with(b".migrated")
}

/// The files of one unit, each by what it is.
pub(crate) struct Unit<'a> {
    /// The session's id as the files' names have it; empty where they are not
    /// the program's own but what was uploaded to it.
    pub id: &'a str,
    pub sidecar: Option<(&'a RelPath, &'a SourceFile)>,
    pub backup: Option<(&'a RelPath, &'a SourceFile)>,
    /// In the order in which their reader takes them, in a world where folders
    /// are sorted: the shards, then the legacy file.
    pub turns: Vec<(&'a RelPath, &'a SourceFile)>,
    pub runs: Vec<(&'a RelPath, &'a SourceFile)>,
    /// A file that serves the whole folder, in place of all others.
    pub shared: Option<(&'a RelPath, &'a SourceFile, Role)>,
}

impl<'a> Unit<'a> {
    pub(crate) fn of(files: &'a Files) -> Unit<'a> {
        let mut unit = Unit { id: "", sidecar: None, backup: None, turns: Vec::new(), runs: Vec::new(), shared: None };
        let mut legacy = None;
        for (path, entry) in files.iter() {
            let Some((role, id)) = path.as_text().and_then(|text| role(text, crate::adapters::format::RETIRED_SUFFIX)) else { continue };
            unit.id = if unit.id.is_empty() { id } else { unit.id };
            let Entry::File(file) = entry else { continue };
            match role {
                Role::Sidecar => unit.sidecar = Some((path, file)),
                Role::Backup => unit.backup = Some((path, file)),
                Role::TurnShard => unit.turns.push((path, file)),
                Role::TurnLegacy => legacy = Some((path, file)),
                Role::Run => unit.runs.push((path, file)),
                Role::Index | Role::Store => unit.shared = Some((path, file, role)),
                Role::Temporary | Role::Retired => {}
            }
        }
        unit.turns.extend(legacy);
        if unit.id.is_empty()
            && let Some((path, file)) = files.lone_file().filter(|(path, _)| is_no_name_of_ours(path.as_bytes()))
        {
            // A person named it as a session.
            let stem = path.as_text().and_then(|name| name.split('.').next());
            unit.id = stem.filter(|stem| is_id(stem)).unwrap_or(UNNAMED);
            unit.sidecar = Some((path, file));
        }
        unit
    }
}

/// Returns the name of a run: that of its file.
pub(crate) fn run_id(path: &RelPath) -> &str {
    let name = path.as_text().and_then(|text| text.rsplit('/').next()).unwrap_or_default();
    name.strip_suffix(".jsonl").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_program_is_known_and_no_other() {
        let said = |path| role(path, ".migrated");
        for (path, wanted, id) in [
            ("7fcfa3146573.json", Role::Sidecar, "7fcfa3146573"),
            ("api-Server_42.json.bak", Role::Backup, "api-Server_42"),
            ("a.tmp.10.139807609054912", Role::Temporary, "a"),
            ("a.json.recover.tmp", Role::Temporary, "a"),
            ("a.json.reconcile.tmp.1.2", Role::Temporary, "a"),
            ("a.json.migrated", Role::Retired, "a"),
            ("a.json.bak.migrated", Role::Retired, "a"),
            ("_turn_journal/a~77.jsonl", Role::TurnShard, "a"),
            ("_turn_journal/a.b.jsonl", Role::TurnLegacy, "a.b"),
            ("_run_journal/a/b.jsonl", Role::Run, "a"),
            ("_index.json", Role::Index, "_index.json"),
            ("_index.tmp.recovery.1.2", Role::Temporary, "_index.json"),
            ("_deleted_webui_sessions.json", Role::Store, "_deleted_webui_sessions.json"),
        ] {
            assert_eq!(said(path), Some((wanted, id)), "{path}");
        }
        for path in
            ["_other.json", "a.b.json", ".json", "a.txt", "sub/a.json", "_run_journal/a/b/c.jsonl", "_turn_journal/a.txt", "a.json.bak2"]
        {
            assert_eq!(said(path), None, "{path}");
        }
    }
}
