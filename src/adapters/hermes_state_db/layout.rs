//! Which rows of `state.db` belong to which session.

use std::cmp::Ordering;

use crate::model::database::{Cell, DatabaseFormat, DatabaseLayout, DatabaseSession, LayoutError, OwnedTable, Query, Tables};

/// The id of this format.
pub(super) const ID: &str = "hermes-state-db";

/// The name of the main file.
pub(super) const NAME: &str = "state.db";

/// The tables whose rows name a session. Those that a version lacks have no rows.
const OWNED: &[OwnedTable] = &[
    OwnedTable { table: "sessions", column: "id" },
    OwnedTable { table: "messages", column: "session_id" },
    OwnedTable { table: "session_model_usage", column: "session_id" },
    OwnedTable { table: "compression_locks", column: "session_id" },
];

/// How the program fills its full-text tables: its own triggers do the same, row by
/// row.
const FILLS: &[(&str, &str)] = &[
    (
        "messages_fts",
        "INSERT INTO messages_fts(rowid, content) SELECT id, COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '') FROM messages",
    ),
    (
        "messages_fts_trigram",
        "INSERT INTO messages_fts_trigram(rowid, content) SELECT id, COALESCE(content, '') || ' ' || COALESCE(tool_name, '') || ' ' || COALESCE(tool_calls, '') FROM messages",
    ),
];

/// How the program keeps its sessions.
pub(super) struct StateDb;

impl DatabaseFormat for StateDb {
    fn layout(&self, tables: &dyn Tables) -> Result<DatabaseLayout, LayoutError> {
        let has = |table: &str, columns: &[&str]| {
            let known = tables.columns(table);
            columns.iter().all(|column| known.iter().any(|one| one == column))
        };
        let is_ours = has("schema_version", &["version"])
            && has("sessions", &["id", "source", "started_at"])
            && has("messages", &["id", "session_id", "role", "content", "timestamp"]);
        if !is_ours {
            return Err(LayoutError::Foreign);
        }
        let mut version = String::new();
        let query = Query { table: "schema_version", columns: &["version"], only: None, order: &[] };
        tables.rows(&query, &mut |row| {
            if let [Cell::Integer(number)] = row {
                version = number.to_string();
            }
        })?;
        let mut sessions: Vec<(f64, String)> = Vec::new();
        let query = Query { table: "sessions", columns: &["started_at", "id"], only: None, order: &[] };
        tables.rows(&query, &mut |row| {
            if let [started, Cell::Text(id)] = row {
                sessions.push((started.number().unwrap_or(0.0), id.clone()));
            }
        })?;
        sessions.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1)));
        let sessions = sessions.into_iter().map(|(_, id)| DatabaseSession { id, files: Vec::new() }).collect();
        Ok(DatabaseLayout { version, sessions, owned: OWNED.to_vec(), left_out: Vec::new() })
    }

    fn full_text(&self, table: &str) -> Option<&'static str> {
        FILLS.iter().find(|(name, _)| *name == table).map(|(_, fill)| *fill)
    }
}
