//! Which rows of the database belong to which session, and which schemas are known.

use std::cmp::Ordering;

use crate::model::database::{Cell, DatabaseFormat, DatabaseLayout, DatabaseSession, LayoutError, OwnedTable, Query, Tables, TablesError};

/// The id of this format.
pub(super) const ID: &str = "opencode";

/// How the names of its databases begin and end: each channel has one of its own.
pub(super) const NAME: (&str, &str) = ("opencode", ".db");

/// The tables of which each row names a session. Those that a version lacks have no
/// rows.
const OWNED: &[OwnedTable] = &[
    OwnedTable { table: "session", column: "id" },
    OwnedTable { table: "message", column: "session_id" },
    OwnedTable { table: "part", column: "session_id" },
    OwnedTable { table: "todo", column: "session_id" },
    OwnedTable { table: "session_message", column: "session_id" },
    OwnedTable { table: "session_input", column: "session_id" },
    OwnedTable { table: "session_context_epoch", column: "session_id" },
    OwnedTable { table: "event_sequence", column: "aggregate_id" },
    OwnedTable { table: "event", column: "aggregate_id" },
];

/// The tables that hold what opens an account, and the one that names the account in use.
const SECRET: &[&str] = &["account", "account_state", "control_account", "credential", "session_share"];

/// The newest change of the schema that is known, of 1.18.33. Its name begins with
/// its time.
pub(super) const NEWEST: &str = "20260622202450_simplify_session_input";

/// That time in milliseconds, as the older list of changes has it.
const NEWEST_MS: i64 = 1_782_159_890_000;

/// The tables that list the changes: of 1.18, and of those before it.
pub(super) const CHANGES: &str = "migration";
pub(super) const OLDER_CHANGES: &str = "__drizzle_migrations";

/// How the program keeps its sessions.
pub(super) struct Database;

impl DatabaseFormat for Database {
    fn layout(&self, tables: &dyn Tables) -> Result<DatabaseLayout, LayoutError> {
        let has = |table: &str, columns: &[&str]| {
            let known = tables.columns(table);
            columns.iter().all(|column| known.iter().any(|one| one == column))
        };
        let is_ours = has("session", &["id", "project_id", "directory", "time_created"])
            && has("message", &["id", "session_id", "time_created", "data"])
            && has("part", &["id", "message_id", "session_id", "data"]);
        if !is_ours {
            return Err(LayoutError::Foreign);
        }
        let version = version(tables, &has)?;
        let mut sessions: Vec<(f64, String)> = Vec::new();
        let query = Query { table: "session", columns: &["time_created", "id"], only: None, order: &[] };
        tables.rows(&query, &mut |row| {
            if let [created, Cell::Text(id)] = row {
                sessions.push((created.number().unwrap_or(0.0), id.clone()));
            }
        })?;
        sessions.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1)));
        let sessions = sessions.into_iter().map(|(_, id)| DatabaseSession { id, files: Vec::new() }).collect();
        let left_out = SECRET.iter().map(|table| ((*table).to_owned(), "it holds credentials".to_owned())).collect();
        Ok(DatabaseLayout { version, sessions, owned: OWNED.to_vec(), left_out })
    }
}

/// Tells the version of the schema by its newest change. An unknown one may keep
/// sessions where nobody looks for them here.
fn version(tables: &dyn Tables, has: &dyn Fn(&str, &[&str]) -> bool) -> Result<String, LayoutError> {
    if has(CHANGES, &["id"]) {
        let newest = newest(tables, CHANGES, "id", |cell| cell.text().map(str::to_owned))?;
        match newest {
            Some(id) if is_newer(&id) => return Err(unknown(&id)),
            Some(id) => return Ok(id),
            // An upgrade that was cut short left the older list as it was.
            None if has(OLDER_CHANGES, &["created_at"]) => {}
            None => return Err(LayoutError::Unknown(format!("its table {CHANGES} names no change of its schema{ADVICE}"))),
        }
    }
    if has(OLDER_CHANGES, &["created_at"]) {
        let newest = newest(tables, OLDER_CHANGES, "created_at", |cell| cell.number().map(|ms| ms as i64))?;
        return match newest {
            Some(ms) if ms > NEWEST_MS => Err(unknown(&ms.to_string())),
            Some(ms) => Ok(ms.to_string()),
            None => Err(LayoutError::Unknown(format!("its table {OLDER_CHANGES} names no change of its schema{ADVICE}"))),
        };
    }
    Err(LayoutError::Unknown(format!("it has neither {CHANGES} nor {OLDER_CHANGES}, which list the changes of its schema{ADVICE}")))
}

/// What is safe where a schema is not known.
const ADVICE: &str =
    ". Nothing was converted or changed; keep a copy of the database together with its -wal file, and convert it with a newer everlog";

fn unknown(newest: &str) -> LayoutError {
    LayoutError::Unknown(format!("its newest schema change is {newest}, and this build knows those up to {NEWEST}{ADVICE}"))
}

/// Tells whether a change is newer than all that are known: by its time, or, of the
/// same time, by its name.
fn is_newer(id: &str) -> bool {
    id > NEWEST
}

fn newest<T: Ord>(tables: &dyn Tables, table: &str, column: &str, of: impl Fn(&Cell) -> Option<T>) -> Result<Option<T>, TablesError> {
    let mut newest = None;
    let query = Query { table, columns: &[column], only: None, order: &[] };
    tables.rows(&query, &mut |row| newest = newest.take().max(row.first().and_then(&of)))?;
    Ok(newest)
}
