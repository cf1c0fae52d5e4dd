//! Databases whose parts do not belong together, that somebody holds locked, that are
//! too large, or whose schema wants to run: each gives every row that SQLite reads, or a
//! clear error, and the others of its sessions are converted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::databases::{Bench, rows};
use crate::support;

use rusqlite::Connection;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::{campaign, figure, stdout};

/// Everything that SQLite reads comes back, or an error says why not. Returns whether
/// it came back.
fn whole_or_refused(bench: &Bench) -> bool {
    let (code, said) = bench.migrate();
    assert!(matches!(code, 0..=2), "{code} {said:?}");
    if code != 0 {
        let has_reason = said.iter().any(|unit| unit["error"].as_str().is_some_and(|error| !error.is_empty()));
        // What is not a database any more is not claimed, and that is said on stderr.
        assert!(has_reason || said.iter().all(|line| line.get("unit").is_none()), "{said:?}");
        return false;
    }
    let want = rows(&bench.copied());
    assert_eq!(rows(&bench.restored()), want);
    true
}

#[test]
fn what_is_read_of_a_damaged_database_is_all_that_sqlite_reads_of_it() {
    let (mut whole, mut refused) = (0, 0);
    let original = fs::read(Bench::made("PRAGMA page_size = 512", MANY).database()).unwrap();
    for seed in 0..campaign::rounds("DAMAGED_DATABASES", 400) as usize {
        let bench = Bench::made("PRAGMA page_size = 512", MANY);
        let mut bytes = original.clone();
        let at = (seed * 7919 + 101) % bytes.len();
        let length = [1, 4, 64, 512][seed % 4];
        bytes[at..].iter_mut().take(length).for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(seed as u8));
        fs::write(bench.database(), bytes).unwrap();
        *if whole_or_refused(&bench) { &mut whole } else { &mut refused } += 1;
    }
    eprintln!("{whole} databases came back as SQLite reads them, {refused} were refused");
    assert!(whole > 0 && refused > 0, "the test looks at one side only");
    figure("databases read whole or refused", whole + refused);
}

/// Enough rows for several pages.
const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO messages(session_id, role, content, timestamp) SELECT 'a', 'user', printf('%d %s', i, hex(zeroblob(40))), i FROM n";

/// Leaves a write-ahead log with these changes beside a database.
fn with_log(before: &str, changes: &str) -> (Bench, Vec<u8>) {
    let bench = Bench::made(before, MANY);
    let writer = Connection::open(bench.database()).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    writer.execute_batch(changes).unwrap();
    let (main, log) = (fs::read(bench.database()).unwrap(), fs::read(bench.at("input/state.db-wal")).unwrap());
    drop(writer);
    fs::write(bench.database(), main).unwrap();
    fs::write(bench.at("input/state.db-wal"), &log).unwrap();
    (bench, log)
}

#[test]
fn a_write_ahead_log_of_another_database_is_no_way_to_lose_rows() {
    let others = [
        ("", "UPDATE messages SET content = 'of another' WHERE id % 3 = 0"),
        ("", "DELETE FROM messages WHERE id > 4; DROP INDEX by_session; VACUUM"),
        ("PRAGMA page_size = 1024", "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', 'x', 1.0)"),
        ("PRAGMA page_size = 512", "CREATE TABLE of_another(a); INSERT INTO of_another VALUES (1); UPDATE sessions SET id = 'b'"),
    ];
    let mut tried = 0;
    for (before, changes) in others {
        let (_, log) = with_log(before, changes);
        // As it is, cut, and changed in its header and in a frame.
        for change in 0..4 {
            let (bench, _) = with_log("", "INSERT INTO sessions VALUES ('own', 'cli', 9.0)");
            let mut log = log.clone();
            match change {
                0 => {}
                1 => log.truncate(log.len() / 2),
                2 => log[17] ^= 1,
                _ => log[40] ^= 1,
            }
            fs::write(bench.at("input/state.db-wal"), log).unwrap();
            whole_or_refused(&bench);
            tried += 1;
        }
    }
    figure("write-ahead logs of other databases", tried);
}

#[test]
fn a_database_that_somebody_holds_locked_is_read_at_once_as_it_was() {
    let mut held = 0;
    for (mode, lock) in [
        ("DELETE", "BEGIN IMMEDIATE; UPDATE messages SET content = 'not yet'"),
        ("DELETE", "PRAGMA cache_size = 1; BEGIN EXCLUSIVE; UPDATE messages SET content = hex(zeroblob(100000))"),
        ("TRUNCATE", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE messages SET content = 'not yet'"),
        ("PERSIST", "PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE messages SET content = hex(zeroblob(100000))"),
        ("WAL", "BEGIN IMMEDIATE; UPDATE messages SET content = 'not yet'"),
        ("WAL", "PRAGMA cache_size = 1; BEGIN EXCLUSIVE; UPDATE messages SET content = hex(zeroblob(100000))"),
        ("WAL", "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE messages SET content = 'not yet'"),
    ] {
        let bench = Bench::made(&format!("PRAGMA journal_mode = {mode}"), MANY);
        let want = rows(&bench.copied());
        let writer = Connection::open(bench.database()).unwrap();
        writer.execute_batch(lock).unwrap();
        let began = Instant::now();
        let (code, said) = bench.migrate();
        // The lock is held all the time: whoever waits for it waits for ever.
        assert!(began.elapsed() < Duration::from_secs(60), "{mode} {lock}");
        assert_eq!(code, 0, "{mode} {lock}: {said:?}");
        assert_eq!(rows(&bench.restored()), want, "{mode} {lock}");
        writer.execute_batch("COMMIT").unwrap();
        held += 1;
    }
    figure("databases held locked", held);
}

#[test]
fn a_database_that_is_written_all_the_time_is_read_as_of_one_moment() {
    let mut read = 0;
    for mode in ["WAL", "DELETE"] {
        let bench = Bench::made(
            &format!("PRAGMA journal_mode = {mode}"),
            "CREATE TABLE one(n); CREATE TABLE other(n); CREATE TABLE large(b); INSERT INTO large VALUES (zeroblob(4000000))",
        );
        let writer = Connection::open(bench.database()).unwrap();
        writer.busy_timeout(Duration::from_secs(60)).unwrap();
        writer.execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 20").unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let writing = std::thread::spawn(move || {
            for n in (0..1_000_000).take_while(|_| !over.load(Ordering::Relaxed)) {
                let large =
                    if n % 50 == 0 { "UPDATE large SET b = zeroblob(4000000 - n.n) FROM (SELECT max(n) AS n FROM one) AS n;" } else { "" };
                writer
                    .execute_batch(&format!(
                        "BEGIN IMMEDIATE; INSERT INTO one VALUES ({n}); {large} INSERT INTO other VALUES ({n}); COMMIT"
                    ))
                    .unwrap();
            }
        });
        for _ in 0..4 {
            for folder in ["dest", "back"] {
                let _ = fs::remove_dir_all(bench.at(folder));
            }
            let paths = [bench.at("input"), bench.at("dest")].map(|path| path.to_str().unwrap().to_owned());
            let done = support::everlog(&["migrate", &paths[0], "-o", &paths[1], "--json"]);
            assert_eq!(done.status.code(), Some(0), "{mode}: {}", stdout(&done));
            let found = rows(&bench.restored());
            assert_eq!(found["one"], found["other"], "{mode}: half of a transaction was read");
            read += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        writing.join().unwrap();
    }
    figure("databases read while they are written", read);
}

/// Changes the schema's own table as no statement would.
fn forged(statement: &str) -> String {
    format!("PRAGMA writable_schema = ON; {statement}; PRAGMA writable_schema = RESET")
}

#[test]
fn no_statement_of_a_schema_does_anything_but_make_its_own_entry() {
    let entry = |kind: &str, name: &str, sql: &str| {
        let sql = sql.replace('\'', "''");
        forged(&format!("INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) VALUES ('{kind}', '{name}', '{name}', 0, '{sql}')"))
    };
    let schemas = [
        "CREATE TRIGGER a BEFORE INSERT ON messages BEGIN DELETE FROM sessions; SELECT RAISE(ABORT, 'no'); END".to_owned(),
        "CREATE TABLE loot(a); CREATE TRIGGER a AFTER INSERT ON sessions BEGIN INSERT INTO loot VALUES (new.id); END".to_owned(),
        "CREATE TRIGGER a AFTER DELETE ON sqlite_sequence BEGIN DELETE FROM messages; END".to_owned(),
        "CREATE VIEW v AS SELECT writefile('VICTIM', 'x') FROM messages; CREATE TRIGGER a INSTEAD OF INSERT ON v BEGIN DELETE FROM messages; END".to_owned(),
        "CREATE TABLE c(a DEFAULT (load_extension('VICTIM')), b CHECK (b > 0 OR writefile('VICTIM', 'x'))); INSERT INTO c(a, b) VALUES (1, 1)".to_owned(),
        "CREATE TABLE g(a, b AS (a + 1) STORED, c AS (hex(randomblob(8)))); INSERT INTO g(a) VALUES (1)".to_owned(),
        "CREATE INDEX i ON messages(upper(content)) WHERE abs(id) >= 0".to_owned(),
        "CREATE TABLE k(a REFERENCES messages(id) ON DELETE CASCADE); INSERT INTO k VALUES (1), (999)".to_owned(),
        "ALTER TABLE sessions RENAME TO s; CREATE VIEW sessions AS SELECT id, source, started_at FROM s".to_owned(),
        "ALTER TABLE messages RENAME TO m; CREATE VIEW messages AS SELECT * FROM m WHERE writefile('VICTIM', id) IS NULL".to_owned(),
        entry("table", "t", "CREATE VIRTUAL TABLE t USING no_such_module('VICTIM')"),
        entry("table", "t", "CREATE VIRTUAL TABLE t USING csv(filename='VICTIM')"),
        entry("trigger", "t", "DROP TABLE messages"),
        entry("view", "t", "ATTACH 'VICTIM' AS other"),
        entry("index", "t", "CREATE TABLE t AS SELECT * FROM messages; DELETE FROM messages"),
        forged("UPDATE sqlite_master SET sql = 'CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT, started_at REAL); DROP TABLE messages' WHERE name = 'sessions'"),
    ];
    let (mut whole, mut refused) = (0, 0);
    for schema in &schemas {
        let bench = Bench::made("", "");
        let (victim, more) = (bench.at("victim"), schema.replace("VICTIM", bench.at("victim").to_str().unwrap()));
        let made = Connection::open(bench.database()).unwrap().execute_batch(&more);
        // SQLite itself reports some of these as malformed, and has written them.
        let _ = made;
        let (code, said) = bench.migrate();
        // Where a table of the program is not a table, the database is nobody's.
        let is_nobodys =
            || support::stderr(&support::everlog(&["detect", bench.at("input").to_str().unwrap()])).contains("no session found");
        assert!(matches!(code, 0 | 1) || is_nobodys(), "{schema}: {code} {said:?}");
        let dest = bench.at("dest");
        let back = support::everlog(&["restore", dest.to_str().unwrap(), "-o", bench.at("back").to_str().unwrap(), "--json"]);
        assert!(back.status.code().is_some(), "{schema}: {}", support::stderr(&back));
        assert!(!victim.exists(), "{schema}: a file was made");
        assert!(!bench.at("input/victim").exists());
        if code == 0 && back.status.code() == Some(0) {
            let restored = Connection::open(bench.at("back/state.db")).unwrap();
            // Not every table can be asked: the module of a virtual one is not built in.
            let count = |table: &str| restored.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
            assert_eq!(count("messages").unwrap(), 2, "{schema}: {}", stdout(&back));
            assert_eq!(count("loot").unwrap_or(0), 0, "{schema}: a trigger ran");
            whole += 1;
        } else {
            let error = said.iter().filter_map(|unit| unit["error"].as_str()).collect::<Vec<_>>().join(" ") + &support::stderr(&back);
            assert!(!error.trim().is_empty(), "{schema}: nothing says why");
            refused += 1;
        }
    }
    eprintln!("{whole} hostile schemas came back without running, {refused} were refused");
    assert!(whole >= 8, "{whole}");
    figure("hostile schemas", whole + refused);
}

#[test]
fn a_blob_that_does_not_fit_into_memory_fails_alone() {
    let bench = Bench::made("", "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('a', 'user', zeroblob(16000000), 1.0)");
    bench.comes_back();
    // SQLite itself takes no row of a billion bytes.
    let megabytes = campaign::rounds("BLOB_MEGABYTES", 990);
    let large = format!(
        "INSERT INTO sessions VALUES ('b', 'cli', 2.5);
         INSERT INTO messages(session_id, role, content, timestamp) VALUES ('b', 'user', zeroblob({megabytes} * 1000000), 1.0)"
    );
    let bench = Bench::made("PRAGMA page_size = 65536; PRAGMA synchronous = OFF", &large);
    let mut shell = std::process::Command::new("sh");
    // In KiB: enough for SQLite to read the value, and not for its log.
    let limit = format!("ulimit -v {}; exec \"$@\"", megabytes * 1300 + 300_000);
    let paths = [bench.at("input"), bench.at("dest")].map(|path| path.to_str().unwrap().to_owned());
    shell.args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_everlog"), "migrate", &paths[0], "-o", &paths[1], "--json", "--jobs", "1"]);
    let done = shell.output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{}", support::stderr(&done));
    let said: Vec<serde_json::Value> = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed: Vec<&str> = said.iter().filter(|unit| unit["error"].is_string()).filter_map(|unit| unit["session"].as_str()).collect();
    let created = said.iter().filter(|unit| unit["status"] == "created").count();
    assert_eq!((failed, created), (vec!["b"], 2), "{said:?}");
    figure("blobs too large for memory", 1);
}
