//! The rows of a database as text, session by session.

use rusqlite::Rows;
use rusqlite::types::ValueRef;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::json::Value;
use crate::model::database::{Credentials, DatabaseFormat, DatabaseLayout, LayoutError, OwnedTable};
use crate::model::rows::{DatabaseSettings, LeftOut, RowValue, RowsHeader, RowsLine, SchemaEntry};

use super::database::{DatabaseCopy, list, not_readable, quoted};
use super::error::StoreError;
use super::memory;

/// A database whose sessions are read one by one, from a copy of one moment.
#[derive(Debug)]
pub struct SessionDatabase {
    copy: Mutex<DatabaseCopy>,
    path: PathBuf,
    layout: DatabaseLayout,
    schema: Vec<SchemaEntry>,
    sessions: HashSet<String>,
}

/// A table whose rows are carried.
struct Table {
    name: String,
    columns: Vec<String>,
    /// The name of its hidden row number, where it has one that no column has.
    rowid: Option<&'static str>,
    order: String,
}

impl SessionDatabase {
    /// Takes a copy, and asks whose rows are whose.
    ///
    /// # Errors
    /// When it cannot be read. The inner error says that it has no layout.
    pub fn of(copy: DatabaseCopy, format: &dyn DatabaseFormat) -> Result<Result<SessionDatabase, LayoutError>, StoreError> {
        let path = copy.path.clone();
        let layout = match format.layout(&copy) {
            Ok(layout) => layout,
            Err(error) => return Ok(Err(error)),
        };
        let encoding = settings(&copy).map_err(|error| not_readable(&path, error))?.encoding;
        if encoding != "UTF-8" {
            return Ok(Err(LayoutError::Unknown(format!("its texts are encoded in {encoding}, and only UTF-8 is converted"))));
        }
        let schema = schema(&copy, format).map_err(|error| not_readable(&path, error))?;
        let sessions = layout.sessions.iter().map(|session| session.id.clone()).collect();
        Ok(Ok(SessionDatabase { copy: Mutex::new(copy), path, layout, schema, sessions }))
    }

    /// Which rows belong to which session.
    #[must_use]
    pub fn layout(&self) -> &DatabaseLayout {
        &self.layout
    }

    /// The rows of a session, or those that belong to none, as text; with credentials,
    /// or without them.
    ///
    /// # Errors
    /// When they cannot be read, or do not fit into memory.
    pub fn rows(&self, session: Option<&str>, credentials: Credentials) -> Result<Vec<u8>, StoreError> {
        let mut out = RowsText { bytes: Vec::new(), checked: 0 };
        let copy = self.copy();
        let read = match session {
            Some(id) => self.session(&copy, id, &mut out),
            None => self.rest(&copy, credentials, &mut out),
        };
        match read {
            Ok(()) => Ok(out.bytes),
            Err(Trouble::Database(error)) => Err(not_readable(&self.path, error)),
            Err(Trouble::OutOfReach { table, found, rows }) => {
                let what = format!(
                    "an index of its table {table} leads to {found} of {rows} rows: it is damaged, or the write-ahead log is of another database"
                );
                Err(StoreError::Database { path: self.path.clone(), what })
            }
            Err(Trouble::TooLarge { bytes, free }) => Err(StoreError::NoMemory { path: self.path.clone(), bytes, free }),
        }
    }

    fn copy(&self) -> MutexGuard<'_, DatabaseCopy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn session(&self, copy: &DatabaseCopy, id: &str, out: &mut RowsText) -> Result<(), Trouble> {
        for owned in &self.layout.owned {
            let Some(table) = self.table(copy, owned.table)? else { continue };
            let column = table.columns.iter().position(|column| column == owned.column);
            let Some(column) = column else { continue };
            let mut header = Some(table.header(Some((owned.column, id))));
            let sql = format!("{} WHERE {} ORDER BY {}", table.select(), is_of(owned.column), table.order);
            let mut statement = copy.connection.prepare(&sql)?;
            let mut rows = statement.query([id])?;
            let skip = usize::from(table.rowid.is_some());
            let is_its = |rows: &rusqlite::Row<'_>| rows.get_ref(column + skip).map(|value| text_of(value) == Some(id));
            out.rows(&mut rows, &mut header, Some(column + skip), is_its)?;
        }
        Ok(())
    }

    fn rest(&self, copy: &DatabaseCopy, credentials: Credentials, out: &mut RowsText) -> Result<(), Trouble> {
        RowsLine::Database(settings(copy)?).push(&mut out.bytes);
        for entry in &self.schema {
            RowsLine::Schema(entry.clone()).push(&mut out.bytes);
        }
        for entry in self.schema.iter().filter(|entry| entry.kind == "table") {
            let Some(table) = self.table(copy, &entry.name)? else { continue };
            let is_left_out = |(name, _): &&(String, String)| credentials == Credentials::LeftOut && *name == table.name;
            if let Some((_, why)) = self.layout.left_out.iter().find(is_left_out) {
                let count = format!("SELECT count(*) FROM {}", quoted(&table.name));
                let rows: i64 = copy.connection.query_row(&count, [], |row| row.get(0))?;
                RowsLine::LeftOut(LeftOut { table: table.name, rows: rows.unsigned_abs(), why: why.clone() }).push(&mut out.bytes);
                continue;
            }
            let owner = |owned: &&OwnedTable| owned.table == table.name;
            let column = self.layout.owned.iter().find(owner).and_then(|owned| table.columns.iter().position(|one| one == owned.column));
            let mut header = Some(table.header(None));
            let mut statement = copy.connection.prepare(&format!("{} ORDER BY {}", table.select(), table.order))?;
            let mut rows = statement.query([])?;
            let skip = usize::from(table.rowid.is_some());
            let of_sessions = Cell::new(0);
            let is_of_none = |row: &rusqlite::Row<'_>| match column {
                None => Ok(true),
                Some(column) => {
                    let is_of_one = row.get_ref(column + skip).map(|value| text_of(value).is_some_and(|id| self.sessions.contains(id)))?;
                    of_sessions.set(of_sessions.get() + i64::from(is_of_one));
                    Ok(!is_of_one)
                }
            };
            out.rows(&mut rows, &mut header, None, is_of_none)?;
            if let Some(column) = column.and_then(|column| table.columns.get(column)) {
                self.refuse_rows_out_of_reach(copy, &table.name, column, of_sessions.get())?;
            }
        }
        Ok(())
    }

    /// Rows of a session are found through an index where there is one. An index that
    /// lacks some of them would lose them without a word.
    fn refuse_rows_out_of_reach(&self, copy: &DatabaseCopy, table: &str, column: &str, rows: i64) -> Result<(), Trouble> {
        let mut statement = copy.connection.prepare(&format!("SELECT count(*) FROM {} WHERE {}", quoted(table), is_of(column)))?;
        let mut found: i64 = 0;
        for id in &self.sessions {
            found += statement.query_row([id], |row| row.get::<_, i64>(0))?;
        }
        if found == rows { Ok(()) } else { Err(Trouble::OutOfReach { table: table.to_owned(), found, rows }) }
    }

    /// What is to be known of a table; nothing where it has no rows of its own.
    fn table(&self, copy: &DatabaseCopy, name: &str) -> Result<Option<Table>, rusqlite::Error> {
        let is_table = |entry: &&SchemaEntry| entry.kind == "table" && entry.name == name;
        let Some(entry) = self.schema.iter().find(is_table).filter(|entry| !is_virtual(&entry.sql)) else { return Ok(None) };
        // Values of generated columns follow from others, and cannot be written.
        let mut statement = copy.connection.prepare("SELECT name, type, pk FROM pragma_table_xinfo(?1) WHERE hidden = 0 ORDER BY cid")?;
        let read = statement.query_map([&entry.name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let columns: Vec<(String, String, i64)> = read.collect::<rusqlite::Result<_>>()?;
        let without =
            copy.connection.query_row("SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'", [&entry.name], |row| row.get(0));
        let is_without_rowid: bool = without?;
        let mut key: Vec<&(String, String, i64)> = columns.iter().filter(|(_, _, pk)| *pk > 0).collect();
        key.sort_by_key(|(_, _, pk)| *pk);
        let is_rowid = |(_, kind, _): &&(String, String, i64)| kind.eq_ignore_ascii_case("integer");
        // A key that sorts downwards has an index, and is not the row's number.
        let indexed = "SELECT count(*) FROM pragma_index_list(?1) WHERE origin = 'pk'";
        let has_index = copy.connection.query_row(indexed, [&entry.name], |row| row.get::<_, i64>(0))? > 0;
        let has_number = !is_without_rowid && !has_index && key.len() == 1 && key.first().is_some_and(is_rowid);
        let is_free = |name: &&&str| !columns.iter().any(|(column, _, _)| column.eq_ignore_ascii_case(name));
        let number = ["rowid", "_rowid_", "oid"].iter().find(is_free).copied().filter(|_| !is_without_rowid);
        let names = |key: &[&(String, String, i64)]| list(&key.iter().map(|(name, _, _)| name.as_str()).collect::<Vec<_>>());
        // Columns can have every name by which a row's number is asked for.
        let by_columns = || if key.is_empty() { names(&columns.iter().collect::<Vec<_>>()) } else { names(&key) };
        let order = number.map_or_else(by_columns, str::to_owned);
        let columns = columns.into_iter().map(|(name, _, _)| name).collect();
        Ok(Some(Table { name: entry.name.clone(), columns, rowid: number.filter(|_| !has_number), order }))
    }
}

/// The condition that a column has a session's id, whatever the column takes for equal.
fn is_of(column: &str) -> String {
    format!("{} = ?1 COLLATE BINARY", quoted(column))
}

impl Table {
    fn header(&self, all: Option<(&str, &str)>) -> RowsHeader {
        RowsHeader {
            table: self.name.clone(),
            columns: self.columns.clone(),
            rowid: self.rowid.is_some(),
            all: all.map(|(column, text)| (column.to_owned(), text.to_owned())),
        }
    }

    fn select(&self) -> String {
        let columns = list(&self.columns.iter().map(String::as_str).collect::<Vec<_>>());
        let number = self.rowid.map(|name| format!("{name}, ")).unwrap_or_default();
        format!("SELECT {number}{columns} FROM {}", quoted(&self.name))
    }
}

/// What stopped the reading of rows.
enum Trouble {
    Database(rusqlite::Error),
    TooLarge { bytes: u64, free: u64 },
    OutOfReach { table: String, found: i64, rows: i64 },
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Database(error)
    }
}

/// A text of rows that is being written.
struct RowsText {
    bytes: Vec<u8>,
    /// How long it was when it was last compared with the memory that there is.
    checked: usize,
}

/// A text of rows is compared with the memory each time it has grown by so much.
const CHECKED_EACH: usize = 8 << 20;

impl RowsText {
    /// Adds rows, after their header if there are any.
    fn rows(
        &mut self,
        rows: &mut Rows<'_>,
        header: &mut Option<RowsHeader>,
        left_out: Option<usize>,
        takes: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<bool>,
    ) -> Result<(), Trouble> {
        let columns = rows.as_ref().map_or(0, rusqlite::Statement::column_count);
        while let Some(row) = rows.next()? {
            if !takes(row)? {
                continue;
            }
            if let Some(header) = header.take() {
                RowsLine::Rows(header).push(&mut self.bytes);
            }
            let mut line = vec![b'['];
            for column in (0..columns).filter(|column| Some(*column) != left_out) {
                if line.len() > 1 {
                    line.push(b',');
                }
                let value = row.get_ref(column)?;
                self.refuse_value_that_does_not_fit(line.len() + size_of(value))?;
                value_of(value).push(&mut line);
            }
            line.push(b']');
            RowsLine::Row(Value::trusted(&line)).push(&mut self.bytes);
            self.refuse_what_does_not_fit()?;
        }
        Ok(())
    }

    /// One value can be larger than all that was read before it.
    fn refuse_value_that_does_not_fit(&self, more: usize) -> Result<(), Trouble> {
        if more < CHECKED_EACH {
            return Ok(());
        }
        let bytes = (self.bytes.len() + more) as u64;
        memory::fits(bytes).map_err(|free| Trouble::TooLarge { bytes, free })
    }

    fn refuse_what_does_not_fit(&mut self) -> Result<(), Trouble> {
        if self.bytes.len() < self.checked + CHECKED_EACH {
            return Ok(());
        }
        self.checked = self.bytes.len();
        let bytes = self.bytes.len() as u64;
        memory::fits(bytes).map_err(|free| Trouble::TooLarge { bytes, free })
    }
}

fn value_of(value: ValueRef<'_>) -> RowValue<'_> {
    match value {
        ValueRef::Null => RowValue::Null,
        ValueRef::Integer(number) => RowValue::Integer(number),
        ValueRef::Real(number) => RowValue::Real(number),
        ValueRef::Text(text) => RowValue::Text(Cow::Borrowed(text)),
        ValueRef::Blob(bytes) => RowValue::Blob(Cow::Borrowed(bytes)),
    }
}

/// How many bytes a value has.
fn size_of(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
    }
}

fn text_of(value: ValueRef<'_>) -> Option<&str> {
    match value {
        ValueRef::Text(text) => std::str::from_utf8(text).ok(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    }
}

fn settings(copy: &DatabaseCopy) -> rusqlite::Result<DatabaseSettings> {
    let number = |name: &str| copy.connection.pragma_query_value(None, name, |row| row.get(0));
    let text = |name: &str| copy.connection.pragma_query_value(None, name, |row| row.get(0));
    Ok(DatabaseSettings {
        page_size: number("page_size")?,
        encoding: text("encoding")?,
        auto_vacuum: number("auto_vacuum")?,
        user_version: number("user_version")?,
        application_id: number("application_id")?,
        journal_mode: text("journal_mode")?,
    })
}

/// The schema in its own order, without what SQLite makes by itself and without
/// the tables inside of full-text tables that are filled anew.
fn schema(copy: &DatabaseCopy, format: &dyn DatabaseFormat) -> rusqlite::Result<Vec<SchemaEntry>> {
    let sql = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid";
    let mut statement = copy.connection.prepare(sql)?;
    let entry = |row: &rusqlite::Row<'_>| Ok(SchemaEntry { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? });
    let mut all: Vec<SchemaEntry> = statement.query_map([], entry)?.collect::<rusqlite::Result<_>>()?;
    let filled: HashSet<String> = all
        .iter()
        .filter(|entry| is_virtual(&entry.sql) && format.full_text(&entry.name).is_some())
        .flat_map(|entry| FULL_TEXT_PARTS.map(|part| format!("{}_{part}", entry.name)))
        .collect();
    all.retain(|entry| !filled.contains(&entry.name));
    Ok(all)
}

/// The tables inside of a full-text table, by the ends of their names.
const FULL_TEXT_PARTS: [&str; 5] = ["data", "idx", "content", "docsize", "config"];

/// Whether a statement makes a virtual table.
pub(super) fn is_virtual(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace().map(str::to_ascii_lowercase);
    words.next().as_deref() == Some("create") && words.next().as_deref() == Some("virtual")
}
