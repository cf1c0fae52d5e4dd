//! Databases that are damaged, cut, half written, or made by somebody who wants
//! something of their schema to run: a clear error or every row, and never a change
//! beside the source.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{everlog, figure, stdout, tree};
use tempfile::TempDir;

/// A source with one database, and a place for its logs and for what comes back.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("input")).unwrap();
        Bench { folder }
    }

    /// The fixture's database.
    fn of_fixture() -> Bench {
        let bench = Bench::new();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hermes-state-db/tour/input");
        support::copy_tree(&fixture, &bench.at("input"));
        bench
    }

    /// A new database with the tables that a session needs, and one session.
    pub fn made(begin: &str, more: &str) -> Bench {
        let bench = Bench::new();
        let connection = Connection::open(bench.database()).unwrap();
        connection.execute_batch(begin).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE schema_version(version INTEGER NOT NULL); INSERT INTO schema_version VALUES (22);
                 CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL);
                 CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT, timestamp REAL NOT NULL);
                 CREATE INDEX by_session ON messages(session_id);
                 INSERT INTO sessions VALUES ('a', 'cli', 1.5);
                 INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', 'one', 2.5), ('a', 'assistant', 'two', 3.5);",
            )
            .unwrap();
        connection.execute_batch(more).unwrap();
        bench
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn database(&self) -> PathBuf {
        self.at("input/state.db")
    }

    /// Converts; the source must stay what it is. Gives the exit code and what was
    /// said of each session.
    pub fn migrate(&self) -> (i32, Vec<serde_json::Value>) {
        let before = tree(&self.at("input"));
        let done = everlog(&["migrate", self.at("input").to_str().unwrap(), "-o", self.at("dest").to_str().unwrap(), "--json"]);
        assert!(before == tree(&self.at("input")), "the source changed");
        let said = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (done.status.code().expect("no panic and no signal"), said)
    }

    pub fn restored(&self) -> PathBuf {
        let done = everlog(&["restore", self.at("dest").to_str().unwrap(), "-o", self.at("back").to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", support::stderr(&done));
        self.at("back/state.db")
    }

    /// Every row comes back.
    pub fn comes_back(&self) {
        let (code, said) = self.migrate();
        assert_eq!(code, 0, "{said:?}");
        let want = rows(&self.copied());
        assert!(want.values().map(Vec::len).sum::<usize>() >= 3, "the test looks at nothing");
        assert_eq!(rows(&self.restored()), want);
    }

    /// A copy that may be opened and changed.
    pub fn copied(&self) -> PathBuf {
        support::copy_tree(&self.at("input"), &self.at("copy"));
        self.at("copy/state.db")
    }

    /// The error that a run says of the database.
    fn fails(&self) -> String {
        let (code, said) = self.migrate();
        assert_eq!(code, 1, "{said:?}");
        said.iter().filter_map(|unit| unit["error"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// Every row of every table, full-text tables aside, with its storage classes.
pub fn rows(path: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let mut names = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut found = BTreeMap::new();
    for name in names.into_iter().filter(|name| !name.contains("_fts")) {
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let value = |n| match row.get_ref(n).unwrap() {
                ValueRef::Text(bytes) => format!("text {bytes:?}"),
                other @ (ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_)) => format!("{other:?}"),
            };
            Ok((0..columns).map(value).collect::<Vec<_>>().join("|"))
        };
        let mut all: Vec<String> = statement.query_map([], row).unwrap().map(Result::unwrap).collect();
        all.sort();
        found.insert(name, all);
    }
    found
}

#[test]
fn every_row_comes_back_whatever_it_holds() {
    Bench::of_fixture().comes_back();
    Bench::made("", "CREATE TABLE odd(a, b); INSERT INTO odd VALUES (CAST(x'636166e9' AS TEXT), x'00ff'), (9007199254740993, -0.0), (1e308 * 10, 0.1 + 0.2), ('', x''); DELETE FROM odd WHERE rowid = 2; INSERT INTO odd VALUES (NULL, 5e-324)").comes_back();
    Bench::made("", "UPDATE messages SET content = CAST(x'00ff00' AS TEXT) WHERE id = 1; UPDATE messages SET content = x'01', role = x'02' WHERE id = 2").comes_back();
    Bench::made("PRAGMA page_size = 512; PRAGMA auto_vacuum = 2", "CREATE TABLE k(a TEXT, b INT, PRIMARY KEY(b, a)) WITHOUT ROWID; INSERT INTO k VALUES ('x', 1), ('y', 1); ANALYZE; PRAGMA user_version = 7").comes_back();
    Bench::made("", "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('nobody', 'user', 'of no session', 9.0)")
        .comes_back();
}

#[test]
fn what_sqlite_counts_and_hides_comes_back() {
    // A number that the rows of a session would move, one of no table, and none at all.
    Bench::made("", "INSERT INTO messages VALUES (90, 'a', 'user', 'far', 9.0); UPDATE sqlite_sequence SET seq = 3; INSERT INTO sqlite_sequence VALUES ('gone', 7), (NULL, NULL)").comes_back();
    Bench::made("", "DELETE FROM sqlite_sequence").comes_back();
    // Every name of a row's number is a column's.
    Bench::made("", "CREATE TABLE o(rowid, _rowid_ TEXT, oid BLOB); INSERT INTO o VALUES (2, 'b', x'00'), (1, 'a', NULL), (2, 'b', x'00')")
        .comes_back();
    // An index that takes two ids for one.
    Bench::made("", "INSERT INTO sessions VALUES ('A', 'cli', 2.5); CREATE TABLE session_model_usage(session_id TEXT COLLATE NOCASE, n); INSERT INTO session_model_usage VALUES ('a', 1), ('A', 2)").comes_back();
    // A key that sorts downwards is not the row's number.
    let bench =
        Bench::made("", "CREATE TABLE d(id INTEGER PRIMARY KEY DESC, a); INSERT INTO d(rowid, id, a) VALUES (-7, 5, 'x'), (40, 6, 'y')");
    bench.comes_back();
    let numbers = |path: &Path| -> Vec<i64> {
        let connection = Connection::open(path).unwrap();
        let mut numbers = connection.prepare("SELECT rowid FROM d ORDER BY id").unwrap();
        numbers.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(numbers(&bench.at("back/state.db")), [-7, 40]);
}

#[test]
fn nothing_that_a_schema_says_is_run() {
    let bench = Bench::made(
        "",
        "CREATE TABLE loot(a);
         CREATE TRIGGER steal AFTER INSERT ON messages BEGIN INSERT INTO loot VALUES (new.content); END;
         CREATE VIEW shown AS SELECT load_extension('/nowhere') AS a;
         CREATE TABLE computed(a INT, b INT GENERATED ALWAYS AS (a * 2) VIRTUAL);
         INSERT INTO computed(a) VALUES (21);",
    );
    let (code, said) = bench.migrate();
    assert_eq!(code, 0, "{said:?}");
    let back = rows(&bench.restored());
    assert_eq!(back["loot"], Vec::<String>::new(), "a trigger ran");
    assert_eq!(back["computed"], ["Integer(21)|Integer(42)"]);
    let connection = Connection::open(bench.at("back/state.db")).unwrap();
    let kept: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 2, "the schema is carried");
}

#[test]
fn what_only_a_log_or_a_journal_knows_counts() {
    // Everything is in the write-ahead log, and the main file is still empty.
    let bench = Bench::new();
    let elsewhere = bench.at("made.db");
    let writer = Connection::open(&elsewhere).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer
        .execute_batch(
            "CREATE TABLE schema_version(version); INSERT INTO schema_version VALUES (22);
             CREATE TABLE sessions(id TEXT PRIMARY KEY, source, started_at);
             CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL);
             INSERT INTO sessions VALUES ('a', 'cli', 1.0); INSERT INTO messages VALUES (1, 'a', 'user', 'in the log', 1.0)",
        )
        .unwrap();
    fs::copy(&elsewhere, bench.database()).unwrap();
    fs::copy(bench.at("made.db-wal"), bench.at("input/state.db-wal")).unwrap();
    drop(writer);
    bench.comes_back();

    // A transaction that was cut short is rolled back by its journal.
    let bench = Bench::made("PRAGMA journal_mode = DELETE", "");
    let writer = Connection::open(bench.database()).unwrap();
    writer.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE messages SET content = hex(zeroblob(100000))").unwrap();
    let (main, journal) = (fs::read(bench.database()).unwrap(), fs::read(bench.at("input/state.db-journal")).unwrap());
    drop(writer);
    fs::write(bench.database(), main).unwrap();
    fs::write(bench.at("input/state.db-journal"), &journal).unwrap();
    let (code, said) = bench.migrate();
    assert_eq!(code, 0, "{said:?}");
    assert_eq!(rows(&bench.restored())["messages"].len(), 2);

    // One that names another file would have that deleted.
    let victim = bench.at("victim");
    fs::write(&victim, "keep me").unwrap();
    let name = victim.to_str().unwrap().as_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    let end =
        [&[0, 0, 0, 0][..], name, &(name.len() as u32).to_be_bytes(), &sum.to_be_bytes(), &[0xd9, 0xd5, 5, 0xf9, 0x20, 0xa1, 0x63, 0xd7]]
            .concat();
    fs::write(bench.at("input/state.db-journal"), [journal, end].concat()).unwrap();
    let said = bench.fails();
    assert!(said.contains("rollback journal"), "{said}");
    assert!(victim.is_file());
}

#[test]
fn damaged_databases_are_errors_that_say_so() {
    let mut tried = 0;
    let original = fs::read(Bench::of_fixture().database()).unwrap();
    let mut each = |change: &dyn Fn(&mut Vec<u8>)| {
        let bench = Bench::of_fixture();
        let mut bytes = original.clone();
        change(&mut bytes);
        fs::write(bench.database(), bytes).unwrap();
        let (code, said) = bench.migrate();
        assert!(matches!(code, 0..=2), "{code} {said:?}");
        tried += 1;
    };
    for part in 0..12 {
        each(&|bytes| bytes.truncate(bytes.len() * part / 12));
    }
    for seed in 0..30_usize {
        each(&|bytes| {
            let at = (seed * 7919 + 13) % bytes.len();
            bytes[at..].iter_mut().take(16).for_each(|byte| *byte ^= 0x5a);
        });
    }
    figure("damaged databases", tried);

    let bench = Bench::made("PRAGMA encoding = 'UTF-16le'", "");
    assert!(bench.fails().contains("UTF-16"));
    // An index that lacks a row would lose it.
    let bench = Bench::made("", "");
    let writer = Connection::open(bench.database()).unwrap();
    writer
        .execute_batch("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE INDEX by_session ON messages(session_id) WHERE id > 1' WHERE name = 'by_session'; PRAGMA writable_schema = RESET; REINDEX by_session; PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE INDEX by_session ON messages(session_id)' WHERE name = 'by_session'")
        .unwrap();
    drop(writer);
    let said = bench.fails();
    assert!(said.contains("leads to 1 of 2 rows"), "{said}");
}

#[test]
fn no_command_leaves_a_copy_of_a_database_behind() {
    let bench = Bench::of_fixture();
    let [source, dest, back, copies] = ["input", "logs", "back", "copies"].map(|name| bench.folder.path().join(name));
    fs::create_dir(&copies).unwrap();
    let [source, dest, back] = [&source, &dest, &back].map(|path| path.to_str().unwrap());
    let commands: [&[&str]; 8] = [
        &["migrate", source, "-o", dest, "--dry-run"],
        &["migrate", source, "-o", dest],
        &["migrate", source, "-o", dest],
        &["verify", dest, "--source", source],
        &["restore", dest, "-o", back],
        &["contains", source, dest],
        &["audit", source],
        &["detect", source],
    ];
    for words in commands {
        let done = support::run(Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).env("TMPDIR", &copies));
        assert!(done.status.code().is_some_and(|code| code < 2), "{words:?}: {}", support::stderr(&done));
        let left: Vec<_> = fs::read_dir(&copies).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{words:?} leaves {left:?}");
    }
}
