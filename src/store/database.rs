//! A SQLite database, looked at through a copy: nothing is written to the
//! original, not even a lock.

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

use crate::model::database::{Cell, Query, Tables, TablesError};

pub use super::database_files::{find, find_in_each};
use super::database_lock::ReaderLock;
use super::disk;
use super::error::StoreError;
use super::private_folder::private_folder;

/// How often a database that changes while it is copied is copied again.
const ATTEMPTS: u32 = 6;

/// From this attempt on, programs without a write-ahead log are kept from writing.
const LOCKED_FROM: u32 = 3;

/// How long the header of a write-ahead log is. It changes when the log begins anew.
const LOG_HEADER: u64 = 32;

/// A copy of a database, in a folder of its own that vanishes with it.
#[derive(Debug)]
pub struct DatabaseCopy {
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    _folder: TempDir,
}

impl DatabaseCopy {
    /// Copies a database with what its log or its journal still holds, and opens
    /// the copy. Nothing of its schema runs there: no trigger, no view, and no
    /// function that its schema names.
    ///
    /// # Errors
    /// When it cannot be copied, changes each time it is, or is not a database.
    pub fn of(path: &Path) -> Result<DatabaseCopy, StoreError> {
        let folder = private_folder().map_err(StoreError::io("create a folder for a copy of", path))?;
        let copy = folder.path().join("copy.db");
        copy_of_one_moment(path, &copy)?;
        refuse_journal_of_several(path, &beside(&copy, "-journal"))?;
        let not_readable = |error: rusqlite::Error| not_readable(path, error);
        // A journal is rolled back in the copy, which has to be written for that.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&copy, flags).map_err(not_readable)?;
        trust_nothing(&connection).map_err(not_readable)?;
        connection.pragma_update(None, "query_only", true).map_err(not_readable)?;
        // Opening reads nothing yet: what is not a database shows here.
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(())).map_err(not_readable)?;
        Ok(DatabaseCopy { connection, path: path.to_owned(), _folder: folder })
    }
}

/// Makes a connection run nothing that a schema says: somebody else may have
/// written it.
pub(super) fn trust_nothing(connection: &Connection) -> rusqlite::Result<()> {
    let off = [DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW];
    off.into_iter().try_for_each(|setting| connection.set_db_config(setting, false).map(drop))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map(drop)
}

pub(super) fn not_readable(path: &Path, error: rusqlite::Error) -> StoreError {
    StoreError::io("read the database", path)(std::io::Error::other(error.to_string()))
}

/// A journal of a transaction over several databases ends in the name of a file
/// that rolling it back would delete, wherever that lies.
fn refuse_journal_of_several(path: &Path, journal: &Path) -> Result<(), StoreError> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let Ok((mut file, meta)) = disk::open_regular(journal) else { return Ok(()) };
    let mut end = [0; 8];
    let has_end = meta.len() >= 8 && file.seek(SeekFrom::End(-8)).and_then(|_| file.read_exact(&mut end)).is_ok();
    if has_end && end == MAGIC {
        let what = "its rollback journal is of a transaction over several databases; let its program open it once, then run again";
        return Err(StoreError::io("read the database", path)(std::io::Error::other(what)));
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

/// Copies the files of a database so that together they are one state of it.
///
/// Pages are as the database has them while the main file stays as it is: what is
/// committed meanwhile stands at the end of the write-ahead log, which may be cut
/// anywhere, or in pages that a journal has as they were.
fn copy_of_one_moment(path: &Path, copy: &Path) -> Result<(), StoreError> {
    let with = |suffix: &str| (beside(path, suffix), beside(copy, suffix));
    let ((main, main_copy), (log, log_copy), (journal, journal_copy)) = (with(""), with("-wal"), with("-journal"));
    let mut pause = Duration::from_millis(10);
    for attempt in 1.. {
        let shared_memory = beside(path, "-shm");
        let lock = match identity(&log).is_some() && identity(&shared_memory).is_some() {
            true => ReaderLock::of_shared_memory(&shared_memory),
            false => (attempt >= LOCKED_FROM).then(|| ReaderLock::of_database(&main)).flatten(),
        };
        let before = (identity(&main), log_beginning(&log)?);
        copy_file(&main, &main_copy)?;
        copy_file(&log, &log_copy)?;
        copy_file(&journal, &journal_copy)?;
        let is_steady = before == (identity(&main), log_beginning(&log)?) && before.1 == log_beginning(&log_copy)?;
        drop(lock);
        if is_steady {
            return Ok(());
        }
        if attempt == ATTEMPTS {
            break;
        }
        std::thread::sleep(pause);
        pause *= 3;
    }
    Err(StoreError::Unsteady { path: path.to_owned() })
}

/// What tells one state of a file from another; nothing where there is none.
fn identity(path: &Path) -> Option<(u64, i64, i64, u64)> {
    fs::symlink_metadata(path).ok().map(|meta| (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino()))
}

/// The header of a write-ahead log; empty where there is none.
fn log_beginning(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut header = Vec::new();
    if let Some(file) = open_if_there(path)? {
        file.take(LOG_HEADER).read_to_end(&mut header).map_err(StoreError::io("read", path))?;
    }
    Ok(header)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), StoreError> {
    // Left by an attempt before: the log may have been taken in meanwhile.
    let _ = disk::Disk::remove(&disk::RealDisk, to);
    let Some(mut source) = open_if_there(from)? else { return Ok(()) };
    let mut target = disk::Disk::create_private(&disk::RealDisk, to)?;
    std::io::copy(&mut source, &mut target).map(drop).map_err(StoreError::io("copy", from))
}

/// Programs remove a log or a journal at any time.
fn open_if_there(path: &Path) -> Result<Option<fs::File>, StoreError> {
    match disk::open_regular(path) {
        Ok((file, _)) => Ok(Some(file)),
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(super) fn list(names: &[&str]) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

impl Tables for DatabaseCopy {
    fn columns(&self, table: &str) -> Vec<String> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            statement.query_map([table], |row| row.get(0))?.collect()
        };
        read().unwrap_or_default()
    }

    fn rows(&self, query: &Query<'_>, take: &mut dyn FnMut(&[Cell])) -> Result<(), TablesError> {
        let mut sql = format!("SELECT {} FROM {}", list(query.columns), quoted(query.table));
        if let Some((column, _)) = query.only {
            sql.push_str(&format!(" WHERE {} = ?1", quoted(column)));
        }
        if !query.order.is_empty() {
            sql.push_str(&format!(" ORDER BY {}", list(query.order)));
        }
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query(rusqlite::params_from_iter(query.only.map(|(_, value)| value)))?;
            while let Some(row) = rows.next()? {
                let cells = (0..query.columns.len()).map(|n| row.get_ref(n).map(cell)).collect::<rusqlite::Result<Vec<Cell>>>()?;
                take(&cells);
            }
            Ok(())
        };
        read().map_err(|error| TablesError(error.to_string()))
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Cell::Text(text.to_owned()),
            Err(_) => Cell::Bytes(text.to_vec()),
        },
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "what a test finds on disk, somebody must put there")]
mod tests {
    use super::*;
    use std::fs::File;

    fn database(folder: &Path) -> (PathBuf, Connection) {
        let path = folder.join("state.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection
            .execute_batch("CREATE TABLE t (id INTEGER, \"a b\" TEXT, x REAL); INSERT INTO t VALUES (2, 'two', 0.5), (1, 'one', NULL)")
            .unwrap();
        (path, connection)
    }

    #[test]
    fn what_only_the_log_holds_is_read_and_nothing_is_touched() {
        let folder = TempDir::new().unwrap();
        let (path, writer) = database(folder.path());
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(folder.path()).unwrap().flatten().map(|entry| (entry.path(), identity(&entry.path()))).collect();
            names.sort();
            names
        };
        let before = names();
        let copy = DatabaseCopy::of(&path).unwrap();
        assert_eq!(copy.columns("t"), ["id", "a b", "x"]);
        assert!(copy.columns("nothing").is_empty());
        let mut rows = Vec::new();
        let query = Query { table: "t", columns: &["a b", "x", "id"], only: None, order: &["id"] };
        copy.rows(&query, &mut |row| rows.push(row.to_vec())).unwrap();
        let one = vec![Cell::Text("one".to_owned()), Cell::Null, Cell::Integer(1)];
        assert_eq!(rows, [one, vec![Cell::Text("two".to_owned()), Cell::Real(0.5), Cell::Integer(2)]]);
        let mut only = 0;
        copy.rows(&Query { only: Some(("a b", "two")), ..query }, &mut |_| only += 1).unwrap();
        assert_eq!(only, 1);
        assert!(copy.rows(&Query { table: "no\"such", ..query }, &mut |_| {}).is_err());
        drop(copy);
        assert_eq!(names(), before, "the original or what lies beside it changed");
        drop(writer);
    }

    #[test]
    fn what_is_no_database_is_an_error_and_a_link_is_not_followed() {
        let folder = TempDir::new().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let path = folder.path().join("state.db");
        File::create(&path).and_then(|mut file| std::io::Write::write_all(&mut file, &[7; 4096])).unwrap();
        assert_eq!(find(&inner, "state.db", 2), Some(path.clone()));
        assert_eq!(find(&inner, "state.db", 1), None);
        assert!(DatabaseCopy::of(&path).is_err());
        std::os::unix::fs::symlink(&path, inner.join("state.db")).unwrap();
        assert_eq!(find(&inner, "state.db", 0), None);
        let each = |levels_above| find_in_each(&inner, "profiles", "state.db", levels_above);
        assert_eq!(each(2), []);
        let own = folder.path().join("profiles/work");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(folder.path().join("profiles/empty")).unwrap();
        std::os::unix::fs::symlink(&own, folder.path().join("profiles/linked")).unwrap();
        File::create(own.join("state.db")).unwrap();
        assert_eq!(each(2), [("work".to_owned(), own.join("state.db"))]);
        assert_eq!(each(1), []);
    }
}
