//! The tree and the database beside it, session by session: what only one of them has,
//! and what they have differently. Records are judged by the rules of [`super::contains`].

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::containment::{Containment, Verdict};
use crate::model::audit::{AuditItem, Database, Evidence};
use crate::model::database::{Query, Tables, TablesError};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Severity};
use crate::model::folder::{FolderView, ListedKind};
use crate::model::location::Location;
use crate::runtimes::javascript::Value;

use super::contains::{self, TreeInDatabase};
use super::tree::{Record, record};

/// So many ids stand in a message; the others are counted.
const NAMED: usize = 3;

/// The records of one session of the tree, by what the database says of them.
#[derive(Debug, Default)]
struct SessionCoverage {
    /// Its own file, else the first file of it.
    file: String,
    /// Whether the database has a row of it.
    has_row: bool,
    records: i64,
    contained: i64,
    /// Records that the database lacks, and those that are parts of a message without
    /// a file: a revert removed that.
    missing: i64,
    leftover: i64,
    changed: i64,
    unreadable: i64,
}

/// Compares the tree with the database beside it.
pub(super) fn audit(view: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
    let place = || Location::file(evidence.place.clone());
    let unreadable = |why: &str| vec![AuditItem::new(FindingCode::StateDbUnreadable, place(), format!("it cannot be read: {why}"))];
    match &evidence.database {
        Database::None => Vec::new(),
        Database::Unreadable { why } => unreadable(why),
        Database::Copy(tables) if !TreeInDatabase.knows(*tables) => unreadable("it has not the tables of opencode"),
        Database::Copy(tables) => compare(view, *tables, &evidence.place).unwrap_or_else(|error| unreadable(&error.0)),
    }
}

fn compare(view: &FolderView<'_>, tables: &dyn Tables, place: &str) -> Result<Vec<AuditItem>, TablesError> {
    let ids = session_ids(tables)?;
    let sessions = sessions(view, tables, &ids)?;
    let mut items: Vec<AuditItem> = sessions.iter().filter_map(|(id, session)| session.item(id)).collect();
    let only: Vec<&String> = ids.iter().filter(|id| !sessions.contains_key(*id)).collect();
    if !only.is_empty() && !sessions.is_empty() {
        let named: Vec<&str> = only.iter().take(NAMED).map(|id| id.as_str()).collect();
        let more = if only.len() > NAMED { ", …" } else { "" };
        let message = format!("sessions that the JSON tree does not have: {} ({}{more})", only.len(), named.join(", "));
        items.push(AuditItem::new(FindingCode::OnlyInDatabase, Location::file(place), message).count("sessions", count(only.len())));
    }
    Ok(items)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn session_ids(tables: &dyn Tables) -> Result<BTreeSet<String>, TablesError> {
    let mut ids = BTreeSet::new();
    let query = Query { table: "session", columns: &["id"], only: None, order: &[] };
    tables.rows(&query, &mut |row| ids.extend(row.first().and_then(|id| id.text()).map(str::to_owned)))?;
    Ok(ids)
}

/// Returns the sessions of the tree, each of its records judged.
fn sessions(view: &FolderView<'_>, tables: &dyn Tables, ids: &BTreeSet<String>) -> Result<BTreeMap<String, SessionCoverage>, TablesError> {
    let files = || view.entries().filter(|(_, entry)| entry.kind == ListedKind::File);
    let of_file = |path: &[u8]| record(&RelPath::new(path)).map(|(_, record)| record);
    let mut session_of: BTreeMap<String, String> = BTreeMap::new();
    for (path, _) in files() {
        if let Some(Record::Message { session, id }) = of_file(path) {
            session_of.insert(id, session);
        }
    }
    let mut sessions: BTreeMap<String, SessionCoverage> = BTreeMap::new();
    for (path, _) in files() {
        let Some(record) = of_file(path) else { continue };
        let bytes = view.all_bytes(path);
        let (id, is_leftover) = match &record {
            Record::Session { id } => (id.clone(), false),
            Record::Message { session, .. } | Record::Todo { session } => (session.clone(), false),
            Record::Part { message, .. } => match session_of.get(message) {
                Some(session) => (session.clone(), false),
                None => (Value::parse(&bytes).and_then(|part| part.get("sessionID").lossy()).unwrap_or_else(|| message.clone()), true),
            },
            Record::Project { .. } => continue,
        };
        let verdict = contains::verdict(&record, &bytes, tables)?;
        let session = sessions.entry(id.clone()).or_default();
        let is_own = matches!(record, Record::Session { .. });
        if session.file.is_empty() || is_own {
            session.file = String::from_utf8_lossy(path).into_owned();
        }
        session.has_row = ids.contains(&id);
        session.records += 1;
        let count = if verdict.is_contained() {
            &mut session.contained
        } else if verdict == Verdict::Missing && is_leftover {
            &mut session.leftover
        } else if verdict == Verdict::Missing {
            &mut session.missing
        } else if verdict == Verdict::Unreadable {
            &mut session.unreadable
        } else {
            &mut session.changed
        };
        *count += 1;
    }
    Ok(sessions)
}

impl SessionCoverage {
    /// Returns what is to be said of it, if the two are not the same.
    fn item(&self, id: &str) -> Option<AuditItem> {
        if self.contained == self.records {
            return None;
        }
        let (code, message) = if self.has_row {
            let word = |count: i64, what: &str| (count > 0).then(|| format!("{count} {what}"));
            let said = [
                word(self.missing, "missing"),
                word(self.changed, "changed"),
                word(self.unreadable, "that are not JSON"),
                word(self.leftover, "missing parts of messages that a revert removed"),
            ];
            let said: Vec<String> = said.into_iter().flatten().collect();
            let message = format!("the database has {} of its {} records as they are: {}", self.contained, self.records, said.join(", "));
            (FindingCode::DiffersFromDatabase, message)
        } else {
            let message = format!(
                "the database does not have this session; the tree has {} files of it, and `everlog migrate` saves them",
                self.records
            );
            (FindingCode::NotInDatabase, message)
        };
        let item = AuditItem::new(code, Location::file(self.file.clone()), message).text("session_id", id);
        let item = item.count("records", self.records).count("contained", self.contained).count("missing", self.missing + self.leftover);
        let item = item.count("changed", self.changed).count("unreadable", self.unreadable);
        // What a revert removed was to be gone.
        let is_expected = self.has_row && self.missing + self.changed + self.unreadable == 0;
        Some(if is_expected { item.matters(Severity::Info) } else { item })
    }
}
