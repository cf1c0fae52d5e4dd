//! A database made again from the text of its rows. It is built in a folder of its
//! own that vanishes with it: what is half built never has a name elsewhere.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql};
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use tempfile::TempDir;

use crate::json::Value;
use crate::model::database::DatabaseFormat;
use crate::model::rows::{DatabaseSettings, LeftOut, RowValue, RowsHeader, RowsLine, SchemaEntry, lines};

use super::database::{list, quoted, trust_nothing};
use super::disk;
use super::error::StoreError;
use super::private_folder::private_folder;
use super::rows::is_virtual;

/// Why a database cannot be made from its rows.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// The disk failed.
    Store(StoreError),
    /// SQLite refuses something of it: what, and why.
    Refused {
        /// Of what it is a part, in words that follow "cannot make".
        what: String,
        /// Why not.
        source: rusqlite::Error,
    },
    /// A line is not one of a text of rows, or stands where it cannot.
    Line {
        /// What is wrong with it.
        what: String,
    },
}

impl From<StoreError> for BuildError {
    fn from(error: StoreError) -> BuildError {
        BuildError::Store(error)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Store(error) => error.fmt(f),
            BuildError::Refused { what, .. } => write!(f, "cannot make {what} of the database"),
            BuildError::Line { what } => write!(f, "the rows of the database cannot be read: {what}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Store(error) => error.source(),
            BuildError::Refused { source, .. } => Some(source),
            BuildError::Line { .. } => None,
        }
    }
}

/// A database that is being made.
#[derive(Debug)]
pub struct DatabaseBuilder {
    connection: Connection,
    folder: TempDir,
    settings: Option<DatabaseSettings>,
    /// What is made when all rows are there: an index is then built at once, and a
    /// trigger does not run.
    later: Vec<SchemaEntry>,
    /// The tables by their names, each with its number of rows so far.
    rows: HashMap<String, u64>,
    /// The tables of SQLite's own that the schema names.
    own_tables: Vec<String>,
    header: Option<(RowsHeader, String)>,
    /// Rows of the last header that wait to be put in together.
    waiting: Vec<u8>,
    /// Rows of the table in which SQLite counts, which every row of another table
    /// may change: they are put in last.
    counters: Option<(RowsHeader, String, Vec<u8>)>,
    left_out: Vec<LeftOut>,
    is_begun: bool,
}

/// The table in which SQLite keeps the last number of others.
const COUNTERS: &str = "sqlite_sequence";

/// So many bytes of rows are put in together.
const TOGETHER: usize = 1 << 20;

fn line(what: impl Into<String>) -> BuildError {
    BuildError::Line { what: what.into() }
}

fn refused(what: impl Into<String>) -> impl FnOnce(rusqlite::Error) -> BuildError {
    let what = what.into();
    move |source| BuildError::Refused { what, source }
}

impl DatabaseBuilder {
    /// Returns an empty database in a folder of its own.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> Result<DatabaseBuilder, BuildError> {
        let folder = private_folder().map_err(StoreError::io("create a folder for a database in", &std::env::temp_dir()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(folder.path().join(NAME), flags).map_err(refused("the file"))?;
        trust_nothing(&connection).map_err(refused("the file"))?;
        Ok(DatabaseBuilder {
            connection,
            folder,
            settings: None,
            later: Vec::new(),
            rows: HashMap::new(),
            own_tables: Vec::new(),
            header: None,
            waiting: Vec::new(),
            counters: None,
            left_out: Vec::new(),
            is_begun: false,
        })
    }

    /// Takes one line. The settings and the schema come before all rows.
    ///
    /// # Errors
    /// When the line is not one, or SQLite refuses it.
    pub fn line(&mut self, text: &[u8]) -> Result<(), BuildError> {
        let read = RowsLine::read(text).ok_or_else(|| line("a line is of no known kind"))?;
        match read {
            RowsLine::Database(settings) => self.begin(settings),
            RowsLine::Schema(entry) => self.entry(entry),
            RowsLine::Rows(header) => self.table(header),
            RowsLine::Row(row) => self.row(row),
            RowsLine::LeftOut(left_out) => {
                self.left_out.extend((left_out.rows > 0).then_some(left_out));
                Ok(())
            }
        }
    }

    fn run(&self, sql: &str, what: &str) -> Result<(), BuildError> {
        self.connection.execute_batch(sql).map_err(refused(what))
    }

    fn begin(&mut self, settings: DatabaseSettings) -> Result<(), BuildError> {
        if std::mem::replace(&mut self.is_begun, true) {
            return Err(line("the settings of the database come twice"));
        }
        if settings.encoding != "UTF-8" {
            return Err(line(format!("texts are encoded in {}", settings.encoding)));
        }
        let DatabaseSettings { page_size, auto_vacuum, .. } = settings;
        // These three count only as long as there is no table.
        self.run(
            &format!("PRAGMA page_size={page_size}; PRAGMA encoding='UTF-8'; PRAGMA auto_vacuum={auto_vacuum}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; PRAGMA ignore_check_constraints=ON; BEGIN"),
            "the settings",
        )?;
        self.settings = Some(settings);
        Ok(())
    }

    fn entry(&mut self, entry: SchemaEntry) -> Result<(), BuildError> {
        if self.settings.is_none() || self.header.is_some() {
            return Err(line("a part of the schema does not stand before all rows"));
        }
        match entry.kind.as_str() {
            "table" if entry.name.starts_with("sqlite_") => self.own_table(&entry.name),
            "table" if is_virtual(&entry.sql) => {
                self.later.push(entry);
                Ok(())
            }
            "table" => self.made(&entry),
            _ => {
                self.later.push(entry);
                Ok(())
            }
        }
    }

    /// Makes SQLite make a table that it alone can make.
    fn own_table(&mut self, name: &str) -> Result<(), BuildError> {
        let sql = match name {
            "sqlite_sequence" => "CREATE TABLE everlog_t(a INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE everlog_t",
            _ if name.starts_with("sqlite_stat") => "ANALYZE sqlite_schema",
            _ => return Err(line(format!("the table {name} is not known to SQLite"))),
        };
        self.own_tables.push(name.to_owned());
        self.run(sql, name)
    }

    /// Makes an entry of the schema from its statement, and from nothing else than
    /// one statement that makes what the entry says.
    fn made(&self, entry: &SchemaEntry) -> Result<(), BuildError> {
        let SchemaEntry { kind, name, sql, .. } = entry;
        let begins = sql.split_ascii_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("create"));
        if !begins {
            return Err(line(format!("the {kind} {name} is not made by a CREATE statement")));
        }
        let what = || format!("the {kind} {name}");
        let mut statement = self.connection.prepare(sql).map_err(refused(what()))?;
        statement.raw_execute().map_err(refused(what()))?;
        drop(statement);
        let same = "SELECT count(*) FROM sqlite_master WHERE type = ?1 AND name = ?2 AND sql = ?3";
        let found: i64 = self.connection.query_row(same, [kind, name, sql], |row| row.get(0)).map_err(refused(what()))?;
        if found == 1 { Ok(()) } else { Err(line(format!("the statement of the {kind} {name} makes something else"))) }
    }

    fn table(&mut self, header: RowsHeader) -> Result<(), BuildError> {
        self.put_waiting()?;
        if self.settings.is_none() {
            return Err(line("rows come before the schema: the log of what belongs to no session has it"));
        }
        let mut columns: Vec<&str> = header.listed().collect();
        let number;
        if header.rowid {
            number = ["rowid", "_rowid_", "oid"].into_iter().find(|name| !header.columns.iter().any(|one| one.eq_ignore_ascii_case(name)));
            columns.splice(..0, number);
        }
        columns.extend(header.all.iter().map(|(column, _)| column.as_str()));
        let marks = vec!["?"; columns.len()].join(",");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", quoted(&header.table), list(&columns));
        if !self.rows.contains_key(&header.table) {
            // What SQLite itself has put there.
            if header.table.starts_with("sqlite_") && header.table != COUNTERS {
                self.run(&format!("DELETE FROM {}", quoted(&header.table)), &header.table)?;
            }
            self.rows.insert(header.table.clone(), 0);
        }
        self.header = Some((header, sql));
        Ok(())
    }

    fn row(&mut self, row: Value<'_>) -> Result<(), BuildError> {
        if self.header.is_none() {
            return Err(line("a row comes before the name of its table"));
        }
        self.waiting.extend_from_slice(row.text());
        self.waiting.push(b'\n');
        if self.waiting.len() < TOGETHER { Ok(()) } else { self.put_waiting() }
    }

    /// Puts the rows in that wait: a statement is prepared once for many of them.
    fn put_waiting(&mut self) -> Result<(), BuildError> {
        let Some((header, sql)) = self.header.as_ref().filter(|_| !self.waiting.is_empty()) else { return Ok(()) };
        let rows = std::mem::take(&mut self.waiting);
        if header.table == COUNTERS {
            let (_, _, all) = self.counters.get_or_insert_with(|| (header.clone(), sql.clone(), Vec::new()));
            all.extend(rows);
            return Ok(());
        }
        let put = self.put(header, sql, &rows)?;
        if let Some(rows) = self.rows.get_mut(&header.table) {
            *rows += put;
        }
        Ok(())
    }

    /// Puts rows in, and counts them.
    fn put(&self, header: &RowsHeader, sql: &str, rows: &[u8]) -> Result<u64, BuildError> {
        let what = || format!("a row of the table {}", header.table);
        let mut statement = self.connection.prepare(sql).map_err(refused(what()))?;
        let mut put = 0;
        for row in lines(rows).map(Value::trusted) {
            let all = header.all.as_ref().map(|(_, text)| RowValue::Text(text.as_bytes().into()));
            let mut bound = 0;
            for value in row.elements().map(RowValue::read).chain(all.into_iter().map(Some)) {
                let value = value.ok_or_else(|| line(format!("{} has a value of no known form", what())))?;
                bound += 1;
                statement.raw_bind_parameter(bound, Bound(&value)).map_err(refused(what()))?;
            }
            if bound != statement.parameter_count() {
                return Err(line(format!("{} has {bound} values for {} columns", what(), statement.parameter_count())));
            }
            statement.raw_execute().map_err(refused(what()))?;
            put += 1;
        }
        Ok(put)
    }

    /// Makes what comes after all rows, and returns the finished file.
    ///
    /// # Errors
    /// When SQLite refuses something, or a table has other rows than it was given.
    pub fn finish(mut self, format: &dyn DatabaseFormat) -> Result<BuiltDatabase, BuildError> {
        self.put_waiting()?;
        let settings = self.settings.take().ok_or_else(|| line("the settings of the database are missing"))?;
        if let Some((header, sql, rows)) = self.counters.take() {
            self.run(&format!("DELETE FROM {COUNTERS}"), COUNTERS)?;
            let put = self.put(&header, &sql, &rows)?;
            self.rows.insert(header.table, put);
        }
        // A table that is empty again still has what SQLite put there.
        for name in [COUNTERS, "sqlite_stat1", "sqlite_stat4"].iter().filter(|name| !self.rows.contains_key(**name)) {
            let has_it = "SELECT count(*) FROM sqlite_master WHERE name = ?1";
            let found: i64 = self.connection.query_row(has_it, [name], |row| row.get(0)).map_err(refused(*name))?;
            // Another build of SQLite keeps fewer statistics.
            let is_named = self.own_tables.iter().any(|own| own == name);
            let verb = if is_named { "DELETE FROM" } else { "DROP TABLE" };
            if found > 0 && (is_named || *name != COUNTERS) {
                self.run(&format!("{verb} {name}"), name)?;
            }
        }
        for (table, rows) in &self.rows {
            let sql = format!("SELECT count(*) FROM {}", quoted(table));
            let found: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).map_err(refused(table))?;
            if u64::try_from(found).ok() != Some(*rows) {
                return Err(line(format!("the table {table} has {found} rows, and {rows} were put into it")));
            }
        }
        let later = std::mem::take(&mut self.later);
        for kind in ["index", "table", "view", "trigger"] {
            for entry in later.iter().filter(|entry| entry.kind == kind) {
                match format.full_text(&entry.name).filter(|_| kind == "table") {
                    Some(fill) => {
                        self.made(entry)?;
                        self.run(fill, &format!("the full-text table {}", entry.name))?;
                    }
                    None if kind == "table" => self.named_only(entry)?,
                    None => self.made(entry)?,
                }
            }
        }
        let DatabaseSettings { user_version, application_id, .. } = settings;
        self.run(&format!("PRAGMA user_version={user_version}; PRAGMA application_id={application_id}; COMMIT"), "the settings")?;
        if settings.journal_mode.eq_ignore_ascii_case("wal") {
            self.connection.pragma_update(None, "journal_mode", "wal").map_err(refused("the settings"))?;
        }
        self.connection.close().map_err(|(_, error)| refused("the file")(error))?;
        let path = self.folder.path().join(NAME);
        let (file, meta) = disk::open_regular(&path)?;
        Ok(BuiltDatabase { file, bytes: meta.len(), left_out: self.left_out, _folder: self.folder })
    }

    /// Puts a virtual table into the schema without making it: its own tables have
    /// their rows already, and its module may not be built in.
    fn named_only(&self, entry: &SchemaEntry) -> Result<(), BuildError> {
        use rusqlite::config::DbConfig::SQLITE_DBCONFIG_DEFENSIVE;
        let what = || format!("the table {}", entry.name);
        self.connection.set_db_config(SQLITE_DBCONFIG_DEFENSIVE, false).map_err(refused(what()))?;
        self.run("PRAGMA writable_schema=ON", &entry.name)?;
        let insert = "INSERT INTO sqlite_master (type, name, tbl_name, rootpage, sql) VALUES ('table', ?1, ?2, 0, ?3)";
        let put = self.connection.execute(insert, [&entry.name, &entry.table, &entry.sql]).map_err(refused(what()));
        self.run("PRAGMA writable_schema=OFF", &entry.name)?;
        self.connection.set_db_config(SQLITE_DBCONFIG_DEFENSIVE, true).map_err(refused(what()))?;
        put.map(drop)
    }
}

/// The name of the file in its own folder.
const NAME: &str = "database";

/// A database that was made, in a folder that vanishes with it.
#[derive(Debug)]
pub struct BuiltDatabase {
    /// The file.
    pub file: File,
    /// How many bytes it has.
    pub bytes: u64,
    /// Tables whose rows its logs do not have.
    pub left_out: Vec<LeftOut>,
    _folder: TempDir,
}

impl BuiltDatabase {
    /// Returns where the file lies.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self._folder.path().join(NAME)
    }
}

/// A value as SQLite takes it: a text need not be UTF-8.
struct Bound<'v>(&'v RowValue<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            RowValue::Null => ValueRef::Null,
            RowValue::Integer(number) => ValueRef::Integer(*number),
            RowValue::Real(number) => ValueRef::Real(*number),
            RowValue::Text(text) => ValueRef::Text(text),
            RowValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
