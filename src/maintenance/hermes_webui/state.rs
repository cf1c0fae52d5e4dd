//! What the agent's database says of sessions.

use std::collections::BTreeMap;

use crate::json::{self, Dialect};
use crate::model::audit::{Database, Evidence};
use crate::model::database::{Cell, Query, Tables, TablesError};

use super::document::{squeezed, without_workspace};
use super::edit::{compact, float, object, quoted};

/// A cell as a value of a document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column<'a>(&'a Cell);

impl Column<'_> {
    /// Tells whether Python takes it for true.
    pub(super) fn says(&self) -> bool {
        match self.0 {
            Cell::Null => false,
            Cell::Text(text) => !text.is_empty(),
            Cell::Integer(number) => *number != 0,
            Cell::Real(number) => *number != 0.0,
            Cell::Bytes(bytes) => !bytes.is_empty(),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.0, Cell::Text(_))
    }

    pub(super) fn is_integer(&self) -> bool {
        matches!(self.0, Cell::Integer(_))
    }

    pub(super) fn json(&self) -> Vec<u8> {
        match self.0 {
            Cell::Null => b"null".to_vec(),
            Cell::Integer(number) => number.to_string().into_bytes(),
            Cell::Real(number) => float(*number),
            Cell::Text(text) => quoted(text),
            Cell::Bytes(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        }
    }
}

/// A session of the WebUI in the database.
#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub id: String,
    /// Whose database it is in.
    pub profile: Option<String>,
    /// How many messages it has there.
    pub messages: usize,
    cells: BTreeMap<&'static str, Cell>,
}

impl SessionRow {
    /// Returns a column, where the table has it.
    pub(super) fn column(&self, name: &str) -> Option<Column<'_>> {
        self.cells.get(name).map(Column)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.cells.get(name).and_then(Cell::number).filter(|number| *number != 0.0)
    }
}

/// What is asked of a session, where the table has it.
const SESSION: [&str; 10] = [
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
];

fn has(columns: &[String], wanted: &[&str]) -> bool {
    wanted.iter().all(|name| columns.iter().any(|known| known == name))
}

/// What databases say of a session that has no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// One knows it, or there is none to say that it was deleted.
    Known,
    /// None knows it: it was deleted.
    Deleted,
    /// One that cannot be read might know it.
    Unsure,
}

/// Returns what all databases together say of a session.
pub(super) fn word_of(evidence: &Evidence<'_>, id: &str) -> Word {
    let words: Vec<Word> = evidence
        .databases()
        .filter_map(|(_, _, database)| match database {
            Database::None => None,
            Database::Unreadable { .. } => Some(Word::Unsure),
            Database::Copy(tables) => Some(word_in(*tables, id)),
        })
        .collect();
    match words.is_empty() || words.contains(&Word::Known) {
        true => Word::Known,
        false if words.contains(&Word::Unsure) => Word::Unsure,
        false => Word::Deleted,
    }
}

fn word_in(tables: &dyn Tables, id: &str) -> Word {
    if tables.columns("sessions").is_empty() {
        return Word::Known;
    }
    let mut word = Word::Deleted;
    let query = Query { table: "sessions", columns: &["id"], only: Some(("id", id)), order: &[] };
    tables.rows(&query, &mut |_| word = Word::Known).map_or(Word::Unsure, |()| word)
}

/// Returns the messages that a profile's database has of a session and that count;
/// nothing where it cannot be read, and may have any.
pub(super) fn active_messages(evidence: &Evidence<'_>, profile: Option<&str>, id: &str) -> Option<Vec<Message>> {
    match evidence.database_of(profile) {
        Database::None => Some(Vec::new()),
        Database::Unreadable { .. } => None,
        Database::Copy(tables) => messages(*tables, id, Rows::Active).ok(),
    }
}

/// The sessions that all databases have, and which of them could not be read,
/// and why.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    pub rows: Vec<SessionRow>,
    pub unreadable: Vec<(String, String)>,
}

impl Sessions {
    pub(super) fn of(evidence: &Evidence<'_>) -> Sessions {
        let mut all = Sessions::default();
        for (profile, place, database) in evidence.databases() {
            let found = match database {
                Database::None => continue,
                Database::Unreadable { why } => Err(why.clone()),
                Database::Copy(tables) => sessions(*tables).map_err(|error| error.to_string()),
            };
            match found {
                Ok(rows) => all.rows.extend(rows.into_iter().map(|row| SessionRow { profile: profile.map(str::to_owned), ..row })),
                Err(why) => all.unreadable.push((place.to_owned(), why)),
            }
        }
        all
    }

    /// Returns the session of this id, where its messages are there too.
    pub(super) fn with_messages(&self, id: &str) -> Option<&SessionRow> {
        self.rows.iter().find(|row| row.id == id && row.messages > 0)
    }
}

/// Returns the sessions of the WebUI in one database, the latest first.
fn sessions(tables: &dyn Tables) -> Result<Vec<SessionRow>, TablesError> {
    let known = tables.columns("sessions");
    if !has(&known, &["id", "source"]) {
        return Ok(Vec::new());
    }
    let asked: Vec<&'static str> = SESSION.into_iter().filter(|name| has(&known, &[name])).collect();
    let columns: Vec<&str> = std::iter::once("id").chain(asked.iter().copied()).collect();
    let mut rows = Vec::new();
    tables.rows(&Query { table: "sessions", columns: &columns, only: Some(("source", "webui")), order: &["id"] }, &mut |cells| {
        let id = cells[0].text().unwrap_or_default().trim().to_owned();
        rows.push(SessionRow { id, profile: None, messages: 0, cells: asked.iter().copied().zip(cells[1..].iter().cloned()).collect() });
    })?;
    rows.retain(|row| !row.id.is_empty());
    for row in &mut rows {
        row.messages = messages_of(tables, &row.id);
    }
    let started = |row: &SessionRow| row.number("started_at").unwrap_or(0.0);
    rows.sort_by(|a, b| started(b).total_cmp(&started(a)));
    Ok(rows)
}

/// Returns how many messages of a session the database has; none where that is unsure.
fn messages_of(tables: &dyn Tables, id: &str) -> usize {
    if !has(&tables.columns("messages"), &["session_id", "role", "content"]) {
        return 0;
    }
    let mut count = 0;
    let query = Query { table: "messages", columns: &["role"], only: Some(("session_id", id)), order: &[] };
    tables.rows(&query, &mut |_| count += 1).map_or(0, |()| count)
}

/// What a message may have besides role, content and time, in the order in
/// which the program takes it over, and whether it is JSON.
const OPTIONAL: [(&str, bool); 9] = [
    ("tool_call_id", false),
    ("tool_calls", true),
    ("tool_name", false),
    ("reasoning", false),
    ("reasoning_details", true),
    ("codex_reasoning_items", true),
    ("reasoning_content", false),
    ("codex_message_items", true),
    ("api_content", false),
];

/// A message of the database, its values as JSON texts.
#[derive(Debug, Clone)]
pub(super) struct Message {
    id: Vec<u8>,
    pub role: String,
    /// What it says, without what does not matter.
    pub text: String,
    pub at: Option<f64>,
    content: Vec<u8>,
    timestamp: Option<Vec<u8>>,
    more: Vec<(&'static str, Vec<u8>)>,
}

impl Message {
    pub(super) fn timestamp(&self) -> Option<&Vec<u8>> {
        self.timestamp.as_ref()
    }

    /// Returns the row that the program makes of it for a sidecar that is gone.
    fn plain_members(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut members = vec![("role", quoted(&self.role)), ("content", self.content.clone())];
        members.extend(self.timestamp.clone().map(|timestamp| ("timestamp", timestamp)));
        members
    }

    pub(super) fn plain_row(&self) -> Vec<u8> {
        let mut members = self.plain_members();
        if members[1].1 == b"null" {
            members[1].1 = b"\"\"".to_vec();
        }
        object(&members)
    }

    /// Returns the row that the program makes of it for a sidecar that lacks it.
    pub(super) fn full_row(&self) -> Vec<u8> {
        let mut members = self.plain_members();
        members.extend(self.more.iter().cloned());
        let find = |name: &str| self.more.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        members.extend(find("tool_name").filter(|_| self.role == "tool").map(|name| ("name", name)));
        if find("api_content").is_some() {
            members.push(("_state_db_row_id", self.id.clone()));
        }
        object(&members)
    }
}

/// Which rows count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// All of them.
    All,
    /// Those that have not been put away since.
    Active,
}

/// Returns the messages of a session.
pub(super) fn messages(tables: &dyn Tables, id: &str, which: Rows) -> Result<Vec<Message>, TablesError> {
    let known = tables.columns("messages");
    if !has(&known, &["session_id", "role", "content"]) {
        return Ok(Vec::new());
    }
    let mut columns = vec!["role", "content"];
    columns.extend(["timestamp", "id", "active"].into_iter().chain(OPTIONAL.map(|(name, _)| name)).filter(|name| has(&known, &[name])));
    let order: &[&str] = match (which, has(&known, &["id"]), has(&known, &["timestamp"])) {
        (Rows::All, true, true) => &["timestamp", "id"],
        (Rows::All | Rows::Active, true, _) => &["id"],
        (Rows::All | Rows::Active, false, _) => &["rowid"],
    };
    let mut found = Vec::new();
    tables.rows(&Query { table: "messages", columns: &columns, only: Some(("session_id", id)), order }, &mut |cells| {
        let get = |name: &str| columns.iter().position(|column| *column == name).map(|at| &cells[at]);
        if which == Rows::Active && get("active").and_then(Cell::number) == Some(0.0) {
            return;
        }
        let json = |cell: &Cell| Column(cell).json();
        let content = get("content");
        let more = OPTIONAL.iter().filter_map(|(name, is_json)| {
            let cell = get(name).filter(|cell| !matches!(cell, Cell::Null) && cell.text() != Some(""))?;
            let parsed = cell.text().filter(|_| *is_json).and_then(parsed);
            Some((*name, parsed.unwrap_or_else(|| json(cell))))
        });
        found.push(Message {
            id: get("id").map_or_else(|| b"null".to_vec(), json),
            role: get("role").and_then(Cell::text).unwrap_or_default().to_owned(),
            text: squeezed(without_workspace(content.and_then(Cell::text).unwrap_or_default())),
            at: get("timestamp").and_then(Cell::number),
            content: content.map_or_else(|| b"null".to_vec(), json),
            timestamp: get("timestamp").filter(|cell| !matches!(cell, Cell::Null)).map(json),
            more: more.collect(),
        });
    })?;
    Ok(found)
}

/// Returns a text that is JSON, as a value.
fn parsed(text: &str) -> Option<Vec<u8>> {
    let text = text.trim().as_bytes();
    json::validate(text, Dialect::Python).ok().map(|scan| compact(scan.value))
}
