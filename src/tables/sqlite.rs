//! Tables as one SQLite database. What holds several values is JSON; a time is text.

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params_from_iter};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

use crate::store::private_folder::private_folder;
use crate::store::{StoreError, disk};

use super::cell::{Cell, Row, time_text};
use super::error::TableError;
use super::rows::RowSink;
use super::schema::{Column, Kind, Presence, TableName, VERSION};

/// SQLite holds no longer value, unless it was built otherwise.
const LONGEST: usize = 1_000_000_000;

/// So many bytes of rows are put in together.
const TOGETHER: usize = 4 << 20;

/// Marks a database as one of tables: only such a file is ever replaced. It stands
/// in the header of the file, as `application_id`.
const MARK: u32 = u32::from_be_bytes(*b"Evlg");

/// Where the header begins in words, and where the mark is.
const MAGIC: &[u8] = b"SQLite format 3\0";
const MARK_AT: usize = 68;

/// The name of a database in its folder.
const NAME: &str = "tables.sqlite";

/// A database that is being filled, in a folder of its own that vanishes with it: what
/// is half filled never has a name elsewhere.
#[derive(Debug)]
pub struct DatabaseWriter {
    connection: Connection,
    folder: TempDir,
    path: PathBuf,
    /// Rows that wait to be put in together.
    waiting: BTreeMap<TableName, Vec<Row>>,
    bytes: usize,
}

impl DatabaseWriter {
    /// Returns a database with empty tables.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<DatabaseWriter, TableError> {
        let folder = private_folder().map_err(StoreError::io("create a folder for a database in", &std::env::temp_dir()))?;
        let path = folder.path().join(NAME);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags).map_err(TableError::file(&path))?;
        // Nobody sees the file before it is whole and has its name; the journal in
        // memory takes back a session that cannot be read to its end.
        let settings = format!(
            "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA application_id={MARK}; PRAGMA user_version={VERSION}; BEGIN"
        );
        connection.execute_batch(&settings).map_err(TableError::file(&path))?;
        for table in TableName::ALL {
            connection.execute_batch(&create(table)).map_err(TableError::file(&path))?;
        }
        Ok(DatabaseWriter { connection, folder, path, waiting: BTreeMap::new(), bytes: 0 })
    }

    /// Puts in the rows of one session: all of them, or none where `fill` fails.
    ///
    /// # Errors
    /// When `fill` fails, or the database does.
    pub fn session<T>(&mut self, fill: impl FnOnce(&mut Self) -> Result<T, TableError>) -> Result<T, TableError> {
        self.run("SAVEPOINT session")?;
        match fill(self) {
            Ok(done) => {
                self.put_waiting()?;
                self.run("RELEASE session")?;
                Ok(done)
            }
            Err(error) => {
                self.waiting.clear();
                self.bytes = 0;
                self.run("ROLLBACK TO session; RELEASE session")?;
                Err(error)
            }
        }
    }

    /// Builds the indexes, and copies the file.
    ///
    /// # Errors
    /// When the database cannot, or the copy not be written.
    pub fn finish(self, mut to: impl io::Write) -> Result<(), TableError> {
        for table in TableName::ALL {
            self.run(&format!("CREATE INDEX {0}_log ON {0} (log)", table.name()))?;
        }
        self.run("COMMIT")?;
        let DatabaseWriter { connection, path, folder: _folder, .. } = self;
        connection.close().map_err(|(_, error)| TableError::file(&path)(error))?;
        let mut file = disk::open(&path)?;
        io::copy(&mut file, &mut to).map_err(StoreError::io("copy", &path))?;
        Ok(())
    }

    fn run(&self, sql: &str) -> Result<(), TableError> {
        self.connection.execute_batch(sql).map_err(TableError::file(&self.path))
    }

    fn put_waiting(&mut self) -> Result<(), TableError> {
        self.bytes = 0;
        for (table, rows) in std::mem::take(&mut self.waiting) {
            let columns = table.table().columns;
            let marks = vec!["?"; columns.len()].join(",");
            let sql = format!("INSERT INTO {} VALUES ({marks})", table.name());
            let mut statement = self.connection.prepare(&sql).map_err(TableError::file(&self.path))?;
            for row in rows {
                let values = row.into_iter().zip(columns).map(|(cell, column)| value(cell, column)).collect::<Result<Vec<_>, _>>()?;
                statement.execute(params_from_iter(values)).map_err(TableError::file(&self.path))?;
            }
        }
        Ok(())
    }
}

/// Tells whether a file begins as a database of tables does.
///
/// # Errors
/// When it cannot be read.
pub fn is_of_tables(path: &Path) -> Result<bool, StoreError> {
    let mut header = Vec::new();
    let length = (MARK_AT + size_of::<u32>()) as u64;
    disk::open(path)?.take(length).read_to_end(&mut header).map_err(StoreError::io("read", path))?;
    Ok(header.starts_with(MAGIC) && header.get(MARK_AT..) == Some(&MARK.to_be_bytes()))
}

impl RowSink for DatabaseWriter {
    fn row(&mut self, table: TableName, row: Row) -> Result<(), TableError> {
        self.bytes += row.iter().map(Cell::bytes).sum::<usize>();
        self.waiting.entry(table).or_default().push(row);
        if self.bytes >= TOGETHER { self.put_waiting() } else { Ok(()) }
    }
}

fn create(table: TableName) -> String {
    let columns = table.table().columns.iter().map(|column| {
        let kind = match column.kind {
            Kind::Integer | Kind::Flag => "INTEGER",
            Kind::Real => "REAL",
            Kind::Text | Kind::LongText | Kind::Time | Kind::Texts | Kind::Record(_) | Kind::Records(_) => "TEXT",
        };
        let presence = match column.presence {
            Presence::Always => " NOT NULL",
            Presence::Perhaps => "",
        };
        format!("{} {kind}{presence}", column.name)
    });
    format!("CREATE TABLE {} ({}) STRICT", table.name(), columns.collect::<Vec<_>>().join(", "))
}

/// Returns a cell as SQLite has it.
fn value(cell: Cell, column: &Column) -> Result<Value, TableError> {
    let members = match column.kind {
        Kind::Record(members) | Kind::Records(members) => members,
        Kind::Text | Kind::LongText | Kind::Integer | Kind::Real | Kind::Flag | Kind::Time | Kind::Texts => &[],
    };
    let value = match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => Value::Text(text),
        Cell::Shared(text) => Value::Text(text.to_string()),
        Cell::Integer(number) => Value::Integer(number),
        Cell::Real(number) => Value::Real(number),
        Cell::Flag(flag) => Value::Integer(flag.into()),
        Cell::Time(micros) => time_text(micros).map_or(Value::Null, Value::Text),
        Cell::Texts(texts) => Value::Text(serde_json::Value::from(texts).to_string()),
        Cell::Record(cells) => Value::Text(record(&cells, members).to_string()),
        Cell::Records(records) => {
            let records: Vec<serde_json::Value> = records.iter().map(|cells| record(cells, members)).collect();
            Value::Text(serde_json::Value::from(records).to_string())
        }
    };
    let is_too_long = matches!(&value, Value::Text(text) if text.len() > LONGEST);
    if is_too_long { Err(TableError::TooLong { column: column.name }) } else { Ok(value) }
}

fn record(cells: &[Cell], members: &[Column]) -> serde_json::Value {
    let members = cells.iter().zip(members).map(|(cell, member)| (member.name.to_owned(), json(cell)));
    serde_json::Value::Object(members.collect())
}

/// Returns the JSON of what stands in a record, which holds no records itself.
fn json(cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Null | Cell::Record(_) | Cell::Records(_) => serde_json::Value::Null,
        Cell::Text(text) => text.as_str().into(),
        Cell::Shared(text) => text.as_ref().into(),
        Cell::Integer(number) => (*number).into(),
        Cell::Real(number) => (*number).into(),
        Cell::Flag(flag) => (*flag).into(),
        Cell::Time(micros) => time_text(*micros).into(),
        Cell::Texts(texts) => texts.clone().into(),
    }
}
