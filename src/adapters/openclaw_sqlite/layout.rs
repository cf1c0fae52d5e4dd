//! Which rows of an agent's database belong to which session.

use crate::model::database::{Cell, DatabaseFormat, DatabaseLayout, DatabaseSession, LayoutError, OwnedTable, Query, Tables};
use crate::model::files::RelPath;

/// The name of the main file.
pub(super) const NAME: &str = "openclaw-agent.sqlite";

/// Where transcripts and their archives lie below an agent's folder.
pub(super) const SESSIONS: &str = "sessions/";

/// Where cold archives lie below that folder.
pub(super) const COLD: &str = "sessions/cold/";

/// The versions of the schema whose tables are known.
const KNOWN: std::ops::RangeInclusive<i64> = 16..=23;

/// The first version with sessions.
const FIRST_WITH_SESSIONS: i64 = 2;

/// The tables whose rows name a session, the session's own row first. Those that a
/// version lacks have no rows.
const OWNED: &[OwnedTable] = &[
    OwnedTable { table: "session_windows", column: "session_id" },
    OwnedTable { table: "session_nodes", column: "current_session_id" },
    OwnedTable { table: "transcript_events", column: "session_id" },
    OwnedTable { table: "session_pending_inputs", column: "session_id" },
    OwnedTable { table: "session_transcript_archives", column: "session_id" },
    OwnedTable { table: "session_transcript_cold_archives", column: "session_id" },
    OwnedTable { table: "transcript_event_identities", column: "session_id" },
    OwnedTable { table: "session_transcript_index_state", column: "session_id" },
    OwnedTable { table: "session_transcript_active_events", column: "session_id" },
    OwnedTable { table: "transcript_rewrite_watermarks", column: "session_id" },
    OwnedTable { table: "session_input_completions", column: "session_id" },
    OwnedTable { table: "session_conversations", column: "session_id" },
    OwnedTable { table: "trajectory_runtime_events", column: "session_id" },
];

/// The columns, in the newest known schema, of the tables that say what a session is
/// and hold its transcript. Older schemas have fewer.
const COLUMNS: &[(&str, &[&str])] = &[
    (
        "session_windows",
        &[
            "session_id",
            "session_key",
            "previous_session_id",
            "reason",
            "session_scope",
            "created_at",
            "updated_at",
            "transcript_updated_at",
            "transcript_observed_at",
            "session_entry_provenance",
            "acp_owned",
            "plugin_owner_id",
            "hook_external_content_source",
            "started_at",
            "ended_at",
            "status",
            "chat_type",
            "channel",
            "account_id",
            "primary_conversation_id",
            "model_provider",
            "model",
            "agent_harness_id",
            "parent_session_key",
            "spawned_by",
            "display_name",
        ],
    ),
    (
        "session_nodes",
        &[
            "session_key",
            "current_session_id",
            "entry_json",
            "legacy_acp_migration_json",
            "entry_valid",
            "updated_at",
            "status",
            "created_at",
            "created_via",
            "created_actor_type",
            "created_actor_id",
            "owner_actor_type",
            "owner_actor_id",
            "owner_assigned_by_type",
            "owner_assigned_by_id",
            "owner_assigned_at",
            "project_id",
            "parent_session_key",
            "spawned_by",
            "fork_source_session_key",
            "fork_source_session_id",
            "fork_source_entry_id",
            "label",
            "display_name",
            "category",
            "icon",
            "pinned_at",
            "archived_at",
            "last_read_at",
            "last_interaction_at",
            "last_activity_at",
        ],
    ),
    ("transcript_events", &["session_id", "seq", "event_json", "created_at", "event_zstd", "event_utf8_bytes", "navigation_json"]),
    (
        "session_transcript_archives",
        &[
            "session_id",
            "generation",
            "session_key",
            "reason",
            "encoding",
            "archive_blob",
            "archive_sha256",
            "archive_name",
            "created_at",
            "published_at",
            "publish_attempts",
            "last_publish_attempt_at",
            "last_publish_error",
        ],
    ),
    (
        "session_transcript_cold_archives",
        &[
            "session_id",
            "generation",
            "archive_name",
            "archive_sha256",
            "event_count",
            "raw_bytes",
            "archive_bytes",
            "last_seq",
            "archived_at",
            "storage",
            "archive_blob",
        ],
    ),
    (
        "session_pending_inputs",
        &[
            "seq",
            "input_id",
            "session_key",
            "session_id",
            "idempotency_key",
            "run_id",
            "request_hash",
            "message_json",
            "lifecycle_generation",
            "state",
            "accepted_at",
            "consumed_event_id",
        ],
    ),
];

/// What is safe to do with a database that is refused.
const SAFE: &str = "nothing of it was read: keep the file, its -wal and the folder sessions/cold as they are, \
and run a newer everlog; do not let an older OpenClaw open it";

/// How the program keeps an agent's sessions.
pub(super) struct AgentDatabase;

impl DatabaseFormat for AgentDatabase {
    fn layout(&self, tables: &dyn Tables) -> Result<DatabaseLayout, LayoutError> {
        let version = version(tables)?;
        let has_sessions = !tables.columns("session_windows").is_empty() || !tables.columns("sessions").is_empty();
        if tables.columns("schema_meta").is_empty() || !(has_sessions || version.is_some_and(|version| version >= FIRST_WITH_SESSIONS)) {
            return Err(LayoutError::Foreign);
        }
        let number = version.map_or_else(|| "without a number".to_owned(), |number| number.to_string());
        if !version.is_some_and(|version| KNOWN.contains(&version)) {
            let (first, last) = (KNOWN.start(), KNOWN.end());
            return Err(LayoutError::Unknown(format!("its schema {number} is none of those that are known ({first} to {last}); {SAFE}")));
        }
        for (table, known) in COLUMNS {
            let columns = tables.columns(table);
            if let Some(column) = columns.iter().find(|column| !known.contains(&column.as_str())) {
                let what = format!("its schema {number} has a column {table}.{column} that is not known; {SAFE}");
                return Err(LayoutError::Unknown(what));
            }
        }
        let missing = [("session_windows", "session_id"), ("transcript_events", "event_json"), ("session_nodes", "current_session_id")];
        if let Some((table, column)) = missing.iter().find(|(table, column)| !tables.columns(table).iter().any(|one| one == column)) {
            return Err(LayoutError::Unknown(format!("its schema {number} lacks the column {table}.{column}; {SAFE}")));
        }
        let mut sessions: Vec<DatabaseSession> = Vec::new();
        let query = Query { table: "session_windows", columns: &["session_id"], only: None, order: &["created_at", "session_id"] };
        tables.rows(&query, &mut |row| {
            if let [Cell::Text(id)] = row {
                sessions.push(DatabaseSession { id: id.clone(), files: Vec::new() });
            }
        })?;
        for (table, folder) in [("session_transcript_cold_archives", COLD), ("session_transcript_archives", SESSIONS)] {
            if !tables.columns(table).is_empty() {
                let query = Query { table, columns: &["session_id", "archive_name"], only: None, order: &[] };
                tables.rows(&query, &mut |row| {
                    if let [Cell::Text(id), Cell::Text(name)] = row
                        && let Some(session) = sessions.iter_mut().find(|session| session.id == *id)
                    {
                        session.files.push(RelPath::new(format!("../{folder}{name}")));
                    }
                })?;
            }
        }
        Ok(DatabaseLayout { version: number, sessions, owned: OWNED.to_vec(), left_out: secrets(tables)? })
    }

    fn full_text(&self, table: &str) -> Option<&'static str> {
        // What it is made of is left out.
        (table.starts_with("memory_") && table.ends_with("_fts")).then_some("SELECT 1")
    }
}

/// The number that the program itself goes by.
fn version(tables: &dyn Tables) -> Result<Option<i64>, LayoutError> {
    let mut version = None;
    if tables.columns("schema_meta").iter().any(|column| column == "schema_version") {
        let query = Query { table: "schema_meta", columns: &["schema_version"], only: Some(("meta_key", "primary")), order: &[] };
        tables.rows(&query, &mut |row| {
            if let [Cell::Integer(number)] = row {
                version = Some(*number);
            }
        })?;
    }
    Ok(version)
}

/// The tables with rows that are not part of a session and may hold secrets.
fn secrets(tables: &dyn Tables) -> Result<Vec<(String, String)>, LayoutError> {
    let mut names: Vec<String> = Vec::new();
    let query = Query { table: "sqlite_master", columns: &["name"], only: Some(("type", "table")), order: &["name"] };
    tables.rows(&query, &mut |row| names.extend(row.first().and_then(Cell::text).filter(|name| is_secret(name)).map(str::to_owned)))?;
    let mut left_out = Vec::new();
    for name in names {
        let Some(column) = tables.columns(&name).into_iter().next() else { continue };
        let mut has_rows = false;
        let query = Query { table: &name, columns: &[&column], only: None, order: &[] };
        // A table whose module is not built in has no rows of its own.
        if tables.rows(&query, &mut |_| has_rows = true).is_ok() && has_rows {
            let why = if name.starts_with("auth_") { "credentials" } else { "not a part of any session, and may hold secrets" };
            left_out.push((name, why.to_owned()));
        }
    }
    Ok(left_out)
}

fn is_secret(name: &str) -> bool {
    let is_memory = name.starts_with("memory_") && name != "memory_index_state";
    name.starts_with("auth_profile_") || name == "cache_entries" || is_memory
}
