//! The rows of one session, in its window, in the archives that deleting or resetting
//! it left in the database, and in its cold archive.

use std::cell::RefCell;

use crate::adapters::containment::{FoundIn, NewStore};
use crate::model::database::{Cell, Query, TablesError};
use crate::model::files::RelPath;
use crate::model::packing;
use crate::runtimes::javascript::{Value, lines, trim};

use crate::maintenance::records::{Row, Rows};

/// No row that the program compresses is longer than this.
const MOST_OF_A_ROW: usize = 4 << 20;

/// The tables of a database, as far as its version has them.
#[derive(Clone, Copy)]
pub(super) struct Events<'a> {
    pub store: NewStore<'a>,
    has_compressed: Compressed,
    has_archives: Exists,
    has_cold: Exists,
    unread: &'a RefCell<Vec<String>>,
}

/// Whether rows may be compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compressed {
    Some,
    None,
}

/// Whether this version of the database has a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exists {
    Yes,
    No,
}

/// The columns of an event that may hold its text.
const TEXT: [&str; 2] = ["event_json", "event_zstd"];

impl<'a> Events<'a> {
    /// Looks at which tables there are. What cannot be read is noted in `unread`.
    pub(super) fn of(store: NewStore<'a>, unread: &'a RefCell<Vec<String>>) -> Events<'a> {
        let has = |table: &str, column: &str| store.tables.columns(table).iter().any(|name| name == column);
        let exists = |table: &str| if has(table, "archive_name") { Exists::Yes } else { Exists::No };
        Events {
            store,
            has_compressed: if has("transcript_events", TEXT[1]) { Compressed::Some } else { Compressed::None },
            has_archives: exists("session_transcript_archives"),
            has_cold: exists("session_transcript_cold_archives"),
            unread,
        }
    }

    fn note(&self, what: String) {
        let mut unread = self.unread.borrow_mut();
        if !unread.contains(&what) {
            unread.push(what);
        }
    }

    /// Hands out the rows of windows: of one, or of all.
    pub(super) fn live(&self, session: Option<&str>, take: &mut dyn FnMut(&str, &[u8])) -> Result<(), TablesError> {
        let columns: &[&str] = match self.has_compressed {
            Compressed::Some => &["session_id", "event_json", "event_zstd"],
            Compressed::None => &["session_id", "event_json"],
        };
        let only = session.map(|id| ("session_id", id));
        // Of all sessions the order does not matter, and sorting them would take long.
        let order: &[&str] = if session.is_some() { &["seq"] } else { &[] };
        let query = Query { table: "transcript_events", columns, only, order };
        self.store.tables.rows(&query, &mut |cells| {
            let owner = cells[0].text().unwrap_or_default();
            match (&cells[1], cells.get(2)) {
                (Cell::Text(text), _) => take(owner, text.as_bytes()),
                (Cell::Bytes(text), _) => take(owner, text),
                (_, Some(Cell::Bytes(packed))) => match packing::unpack_at_most(packed, MOST_OF_A_ROW) {
                    Some(text) => take(owner, &text),
                    None => self.note(format!("a compressed row of the session {owner}")),
                },
                (Cell::Null | Cell::Integer(_) | Cell::Real(_), _) => self.note(format!("a row without text of the session {owner}")),
            }
        })
    }

    /// Hands out the rows of archived transcripts that are in the database.
    pub(super) fn archived(&self, session: Option<&str>, take: &mut dyn FnMut(&str, &[u8])) -> Result<(), TablesError> {
        if self.has_archives == Exists::No {
            return Ok(());
        }
        let columns = ["session_id", "encoding", "archive_blob", "archive_name"];
        let only = session.map(|id| ("session_id", id));
        let query = Query { table: "session_transcript_archives", columns: &columns, only, order: &["session_id", "generation"] };
        self.store.tables.rows(&query, &mut |cells| {
            let (owner, name) = (cells[0].text().unwrap_or_default(), cells[3].text().unwrap_or_default());
            let text = bytes_of(&cells[2]).and_then(|blob| match cells[1].text() {
                Some("identity") => Some(blob.to_vec()),
                Some("zstd") => packing::unpack(blob),
                Some(_) | None => None,
            });
            match text {
                Some(text) => each_line(&text, &mut |line| take(owner, line)),
                None => self.note(format!("the archive {name} in the database")),
            }
        })
    }

    /// Hands out the rows of cold archives, and where each is: in the database, or in a
    /// file of the state folder.
    pub(super) fn cold(&self, session: Option<&str>, take: &mut dyn FnMut(&str, FoundIn, &[u8])) -> Result<(), TablesError> {
        if self.has_cold == Exists::No {
            return Ok(());
        }
        let columns = ["session_id", "storage", "archive_name", "archive_blob"];
        let only = session.map(|id| ("session_id", id));
        let query = Query { table: "session_transcript_cold_archives", columns: &columns, only, order: &["session_id"] };
        self.store.tables.rows(&query, &mut |cells| {
            let (owner, name) = (cells[0].text().unwrap_or_default(), cells[2].text().unwrap_or_default());
            let (packed, found) = match cells[1].text() {
                Some("sqlite") => (bytes_of(&cells[3]).map(<[u8]>::to_vec), FoundIn::Database),
                Some(_) | None => (self.cold_file(name), FoundIn::StateFolder),
            };
            match packed.and_then(|packed| packing::unpack(&packed)) {
                Some(text) => each_line(&text, &mut |line| {
                    let event = Value::parse(line).map(|line| line.get("row").get("event_json"));
                    if let Some(text) = event.and_then(Value::text) {
                        take(owner, found, &text);
                    }
                }),
                None => self.note(format!("the cold archive {name} of the session {owner}")),
            }
        })
    }

    fn cold_file(&self, name: &str) -> Option<Vec<u8>> {
        // The name is a text of the database: it must not lead anywhere else.
        let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
        is_name.then(|| self.store.state.read(&RelPath::new(format!("sessions/cold/{name}")))).flatten()
    }
}

fn bytes_of(cell: &Cell) -> Option<&[u8]> {
    match cell {
        Cell::Bytes(bytes) => Some(bytes),
        Cell::Text(text) => Some(text.as_bytes()),
        Cell::Null | Cell::Integer(_) | Cell::Real(_) => None,
    }
}

fn each_line(text: &[u8], take: &mut dyn FnMut(&[u8])) {
    lines(text).map(|(_, line)| trim(line)).filter(|line| !line.is_empty()).for_each(take);
}

/// The rows that the records of a session's files may be found in.
pub(super) struct SessionRows<'a> {
    pub events: Events<'a>,
    pub session: &'a str,
}

impl Rows for SessionRows<'_> {
    fn each(&self, take: &mut dyn FnMut(Row<'_>)) -> Result<(), TablesError> {
        let only = Some(self.session);
        self.events.live(only, &mut |_, text| take(Row { text, found: FoundIn::Live }))?;
        self.events.archived(only, &mut |_, text| take(Row { text, found: FoundIn::Database }))?;
        self.events.cold(only, &mut |_, found, text| take(Row { text, found }))
    }
}
