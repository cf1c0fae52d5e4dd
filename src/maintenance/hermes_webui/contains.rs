//! Which messages of sidecars, or of another database, are in the agent's database.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::adapters::containment::{Answer, Containment, FoundIn, Judged, NewStore, OldStore, RecordPlace, Rescue, StoreFiles, Verdict};
use crate::json::{self, Dialect, Value};
use crate::model::database::{Cell, Query, Tables, TablesError};
use crate::model::digest::{HalfDigest, half_digest};
use crate::runtimes::python::text::strip_str;

use super::spoken::{LIST, texts_of_list};

/// Sidecars, or a database, in the agent's database.
pub(super) struct InStateDatabase;

impl Containment for InStateDatabase {
    fn knows(&self, tables: &dyn Tables) -> bool {
        let known = tables.columns("messages");
        let has = |name: &&str| known.iter().any(|column| column == name);
        ["id", "session_id", "role", "content", "timestamp"].iter().all(has) && !tables.columns("schema_version").is_empty()
    }

    fn cannot_rescue(&self) -> Option<&'static str> {
        Some("the agent's import takes only whole sessions whose ids its database does not have, and no single messages")
    }

    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, _: Rescue, answer: &mut dyn Answer) -> Result<(), TablesError> {
        match old {
            OldStore::Files(files) => sidecars(files, new.tables, answer),
            OldStore::Database(old) => database(old, new.tables, &mut |judged| answer.judged(judged)),
        }
    }
}

/// Judges every row of an old database by all columns but its number, session by
/// session: no more than the rows of one is in memory, as their digests.
fn database(old: &dyn Tables, new: &dyn Tables, out: &mut dyn FnMut(Judged)) -> Result<(), TablesError> {
    let known = new.columns("messages");
    let is_shared = |name: &String| name != "id" && name != "session_id" && known.contains(name);
    let columns = old.columns("messages");
    if !["id", "session_id"].iter().all(|name| columns.iter().any(|column| column == name)) {
        return Err(TablesError("the old database has no table of messages that is known".to_owned()));
    }
    let shared: Vec<String> = columns.into_iter().filter(is_shared).collect();
    let columns: Vec<&str> = ["id", "session_id"].into_iter().chain(shared.iter().map(String::as_str)).collect();
    let query = Query { table: "messages", columns: &columns, only: None, order: &["session_id", "id"] };
    let mut there = SessionRows::default();
    let mut failed = None;
    old.rows(&query, &mut |cells| {
        if failed.is_none()
            && !there.is_of(&cells[1])
            && let Err(error) = there.read(&cells[1], new, &columns)
        {
            failed = Some(error);
        }
        let id = id_of(&cells[0]);
        let verdict = match there.take(cells) {
            Some(same) if same == id => Verdict::Identical,
            Some(_) => Verdict::Renumbered,
            None => Verdict::Missing,
        };
        let found = if verdict.is_contained() { FoundIn::Live } else { FoundIn::Nowhere };
        out(Judged { verdict, file: None, place: RecordPlace::Row(id), found, found_in: None, why: Vec::new() });
    })?;
    failed.map_or(Ok(()), Err)
}

/// The rows of one session of the new database that are not used up.
#[derive(Default)]
struct SessionRows {
    session: Option<Cell>,
    /// The ids of the rows with the same values, the last one first.
    rows: HashMap<HalfDigest, Vec<i64>>,
}

impl SessionRows {
    fn is_of(&self, session: &Cell) -> bool {
        self.session.as_ref() == Some(session)
    }

    fn read(&mut self, session: &Cell, new: &dyn Tables, columns: &[&str]) -> Result<(), TablesError> {
        self.rows.clear();
        // A session that is not named by a text has to be picked out of all rows.
        let only = session.text().map(|id| ("session_id", id));
        new.rows(&Query { table: "messages", columns, only, order: &["id"] }, &mut |cells| {
            if cells[1] == *session {
                self.rows.entry(digest(&cells[2..])).or_default().push(id_of(&cells[0]));
            }
        })?;
        self.rows.values_mut().for_each(|ids| ids.reverse());
        self.session = Some(session.clone());
        Ok(())
    }

    fn take(&mut self, cells: &[Cell]) -> Option<i64> {
        self.rows.get_mut(&digest(&cells[2..])).and_then(Vec::pop)
    }
}

fn id_of(cell: &Cell) -> i64 {
    match cell {
        Cell::Integer(id) => *id,
        Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Bytes(_) => 0,
    }
}

/// Returns the values of a row with their classes, hashed: a row may be large, and there are
/// many.
fn digest(cells: &[Cell]) -> HalfDigest {
    let mut bytes = Vec::new();
    for cell in cells {
        let (class, value): (u8, &[u8]) = match cell {
            Cell::Null => (b'n', &[]),
            Cell::Integer(number) => (b'i', &number.to_be_bytes()),
            Cell::Real(number) => (b'r', &number.to_bits().to_be_bytes()),
            Cell::Text(text) => (b't', text.as_bytes()),
            Cell::Bytes(bytes) => (b'b', bytes),
        };
        bytes.push(class);
        bytes.extend_from_slice(&(value.len() as u64).to_be_bytes());
        bytes.extend_from_slice(value);
    }
    half_digest(&bytes)
}

/// A row of the database, as far as a sidecar can be compared with it.
struct Row {
    id: i64,
    role: String,
    text: String,
    timestamp: Option<f64>,
    is_active: bool,
}

/// Judges the messages of all sidecars in a folder.
fn sidecars(files: &dyn StoreFiles, tables: &dyn Tables, answer: &mut dyn Answer) -> Result<(), TablesError> {
    let lineage = Lineage::of(tables)?;
    // The rows that some sidecar has, and the sessions that have one.
    let (mut used, mut sessions) = (HashSet::new(), BTreeSet::new());
    for path in files.paths() {
        let name = path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        if !name.ends_with(b".json") || name.starts_with(b"_") {
            continue;
        }
        let file = Some(path.to_string());
        let bytes = match files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                answer.judged(Judged {
                    verdict: Verdict::Unreadable,
                    file,
                    place: RecordPlace::File,
                    found: FoundIn::Nowhere,
                    found_in: None,
                    why: vec![error.0],
                });
                continue;
            }
        };
        let scanned = json::validate(&bytes, Dialect::Python);
        let Ok(sidecar) = scanned.map(|scan| scan.value) else {
            let why = vec!["not JSON".to_owned()];
            answer.judged(Judged {
                verdict: Verdict::Unreadable,
                file,
                place: RecordPlace::File,
                found: FoundIn::Nowhere,
                found_in: None,
                why,
            });
            continue;
        };
        let Some(messages) = Some(sidecar).filter(|value| value.is_object()).and_then(|value| value.get("messages")) else { continue };
        if !messages.is_array() {
            continue;
        }
        let stem = String::from_utf8_lossy(name.strip_suffix(b".json").unwrap_or(name)).into_owned();
        let session = sidecar.get("session_id").and_then(Value::as_str).map_or(stem, std::borrow::Cow::into_owned);
        let mut rows = Rows::of(&lineage.of_session(&session), tables)?;
        for (n, message) in messages.elements().enumerate() {
            let (verdict, found, why) = rows.judge(message);
            answer.judged(Judged { verdict, file: file.clone(), place: RecordPlace::Index(n as u64), found, found_in: None, why });
        }
        used.extend(rows.rows.iter().zip(&rows.is_used).filter(|(_, is_used)| **is_used).map(|(row, _)| row.id));
        sessions.insert(session);
    }
    // What was undone, cleared or lost in a crash is often only in the database.
    for session in sessions {
        let query = Query { table: "messages", columns: &["id"], only: Some(("session_id", &session)), order: &["id"] };
        tables.rows(&query, &mut |cells| {
            let id = id_of(&cells[0]);
            if !used.contains(&id) {
                answer.only_in_new(&session, id);
            }
        })?;
    }
    Ok(())
}

/// Which sessions were made from which.
struct Lineage {
    neighbours: BTreeMap<String, Vec<String>>,
}

impl Lineage {
    fn of(tables: &dyn Tables) -> Result<Lineage, TablesError> {
        let mut neighbours: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let query = Query { table: "sessions", columns: &["id", "parent_session_id"], only: None, order: &["id"] };
        tables.rows(&query, &mut |cells| {
            if let (Some(child), Some(parent)) = (cells[0].text(), cells[1].text()) {
                neighbours.entry(child.to_owned()).or_default().push(parent.to_owned());
                neighbours.entry(parent.to_owned()).or_default().push(child.to_owned());
            }
        })?;
        Ok(Lineage { neighbours })
    }

    /// Returns a session and all that it was made from or that were made from it, the
    /// nearest first.
    fn of_session(&self, session: &str) -> Vec<String> {
        let mut all = vec![session.to_owned()];
        let mut seen: HashSet<String> = all.iter().cloned().collect();
        let mut at = 0;
        while let Some(next) = all.get(at).cloned() {
            at += 1;
            for other in self.neighbours.get(&next).into_iter().flatten() {
                if seen.insert(other.clone()) {
                    all.push(other.clone());
                }
            }
        }
        all
    }
}

/// The rows of a session, and of those related to it, that are not used up.
struct Rows {
    rows: Vec<Row>,
    is_used: Vec<bool>,
    /// By role and text, in the order in which they are used up.
    by_text: HashMap<(String, String), Vec<usize>>,
}

impl Rows {
    fn of(sessions: &[String], tables: &dyn Tables) -> Result<Rows, TablesError> {
        let has_active = tables.columns("messages").iter().any(|name| name == "active");
        let columns: &[&str] =
            if has_active { &["id", "role", "content", "timestamp", "active"] } else { &["id", "role", "content", "timestamp"] };
        let mut rows = Vec::new();
        for session in sessions {
            let query = Query { table: "messages", columns, only: Some(("session_id", session)), order: &["id"] };
            tables.rows(&query, &mut |cells| {
                let content = match &cells[2] {
                    Cell::Text(text) => text.clone(),
                    Cell::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Cell::Null | Cell::Integer(_) | Cell::Real(_) => String::new(),
                };
                let said = content.strip_prefix(LIST).map_or_else(|| content.clone(), texts_of_list);
                rows.push(Row {
                    id: id_of(&cells[0]),
                    role: cells[1].text().unwrap_or_default().to_owned(),
                    text: strip_str(&said).to_owned(),
                    timestamp: cells[3].number(),
                    is_active: cells.get(4).is_none_or(|active| *active == Cell::Integer(1)),
                });
            })?;
        }
        let mut by_text: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (n, row) in rows.iter().enumerate().rev() {
            by_text.entry((row.role.clone(), row.text.clone())).or_default().push(n);
        }
        Ok(Rows { is_used: vec![false; rows.len()], rows, by_text })
    }

    /// Judges one message of a sidecar.
    fn judge(&mut self, message: Value<'_>) -> (Verdict, FoundIn, Vec<String>) {
        let get = |name: &str| Some(message).filter(|value| value.is_object()).and_then(|value| value.get(name));
        let role = get("role").and_then(Value::as_str).unwrap_or_default().into_owned();
        let text = match get("content") {
            Some(text) if text.is_string() => text.to_str().into_owned(),
            Some(list) if list.is_array() => texts_of_list(&String::from_utf8_lossy(list.text())),
            Some(_) | None => String::new(),
        };
        let key = (role, strip_str(&text).to_owned());
        if let Some(n) = self.by_text.get_mut(&key).and_then(Vec::pop) {
            self.is_used[n] = true;
            // What the program shows no more is in the database all the same.
            let found = if self.rows[n].is_active { FoundIn::Live } else { FoundIn::Database };
            return (Verdict::Identical, found, Vec::new());
        }
        let time: Option<f64> = get("timestamp").and_then(Value::parse);
        let is_it = |(row, is_used): (&Row, &bool)| !is_used && row.role == key.0 && time.is_some() && row.timestamp == time;
        match self.rows.iter().zip(&self.is_used).any(is_it) {
            true => (Verdict::Changed, FoundIn::Nowhere, vec!["content".to_owned()]),
            false => (Verdict::Missing, FoundIn::Nowhere, Vec::new()),
        }
    }
}
