//! What the agent's database says of sessions.

use std::collections::BTreeMap;

use crate::model::database::{Cell, Query, Tables, TablesError};

/// A session of the WebUI in the database.
#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub id: String,
    pub messages: usize,
    /// Its other columns, by name.
    pub cells: BTreeMap<&'static str, Cell>,
}

/// What is asked of a session, where the table has it.
const SESSION: [&str; 11] = [
    "title",
    "model",
    "started_at",
    "parent_session_id",
    "message_count",
    "workspace",
    "worktree_path",
    "worktree_branch",
    "worktree_repo_root",
    "worktree_created_at",
    "source",
];

/// Whether the database knows a session; unsure counts for yes.
pub(super) fn knows(tables: &dyn Tables, id: &str) -> bool {
    if tables.columns("sessions").is_empty() {
        return true;
    }
    let mut found = false;
    let query = Query { table: "sessions", columns: &["id"], only: Some(("id", id)), order: &[] };
    tables.rows(&query, &mut |_| found = true).is_err() || found
}

/// The sessions of the WebUI, the latest first.
pub(super) fn sessions(tables: &dyn Tables) -> Result<Vec<SessionRow>, TablesError> {
    let known = tables.columns("sessions");
    if !["id", "source"].iter().all(|name| known.iter().any(|known| known == name)) {
        return Ok(Vec::new());
    }
    let asked: Vec<&'static str> = SESSION.into_iter().filter(|name| known.iter().any(|known| known == name)).collect();
    let columns: Vec<&str> = std::iter::once("id").chain(asked.iter().copied()).collect();
    let mut rows = Vec::new();
    tables.rows(&Query { table: "sessions", columns: &columns, only: Some(("source", "webui")), order: &["id"] }, &mut |cells| {
        let id = cells[0].text().unwrap_or_default().trim().to_owned();
        let cells = asked.iter().copied().zip(cells[1..].iter().cloned()).collect();
        rows.push(SessionRow { id, messages: 0, cells });
    })?;
    rows.retain(|row| !row.id.is_empty());
    let has_messages = ["session_id", "role", "content"].iter().all(|name| tables.columns("messages").iter().any(|known| known == name));
    for row in rows.iter_mut().filter(|_| has_messages) {
        let query = Query { table: "messages", columns: &["role"], only: Some(("session_id", &row.id)), order: &[] };
        tables.rows(&query, &mut |_| row.messages += 1)?;
    }
    let started = |row: &SessionRow| row.cells.get("started_at").and_then(Cell::number).unwrap_or(0.0);
    rows.sort_by(|a, b| started(b).total_cmp(&started(a)));
    Ok(rows)
}

/// How many messages of a session the database has; none where that is unsure.
pub(super) fn messages_of(tables: &dyn Tables, id: &str) -> usize {
    let mut count = 0;
    let query = Query { table: "messages", columns: &["role"], only: Some(("session_id", id)), order: &[] };
    tables.rows(&query, &mut |_| count += 1).map_or(0, |()| count)
}
