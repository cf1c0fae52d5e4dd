//! Databases of an agent whose schema is not known, whose archives are damaged, or
//! that hold what must not be carried.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use rusqlite::Connection;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use support::{everlog, pty, stdout, tree};
use tempfile::TempDir;

const DATABASE: &str = "agents/main/agent/openclaw-agent.sqlite";

/// A copy of a case's input, its logs, and what comes back.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn of(case: &str) -> Bench {
        let folder = TempDir::new().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openclaw-sqlite").join(case).join("input");
        support::copy_tree(&fixture, &folder.path().join("input"));
        Bench { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.at("input").join(DATABASE)
    }

    /// Changes the database, and leaves no log beside it.
    fn change(&self, sql: &str) {
        let connection = Connection::open(self.database()).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }

    /// Converts; the source must stay what it is.
    fn migrate(&self) -> (i32, Vec<serde_json::Value>) {
        let before = tree(&self.at("input"));
        let done = everlog(&["migrate", self.at("input").to_str().unwrap(), "-o", self.at("dest").to_str().unwrap(), "--json"]);
        assert!(before == tree(&self.at("input")), "the source changed");
        let said = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (done.status.code().expect("no panic and no signal"), said)
    }

    fn refused(&self) -> String {
        let (code, said) = self.migrate();
        assert_eq!(code, 1, "{said:?}");
        assert!(said.iter().all(|unit| unit["status"] != "created"), "something of it was converted: {said:?}");
        said.iter().filter_map(|unit| unit["error"].as_str()).collect::<Vec<_>>().join("\n")
    }

    fn restored(&self) -> Connection {
        let done = everlog(&["restore", self.at("dest").to_str().unwrap(), "-o", self.at("back").to_str().unwrap()]);
        assert_eq!(done.status.code(), Some(0), "{}", support::stderr(&done));
        Connection::open(self.at("back").join(DATABASE)).unwrap()
    }
}

fn one<T: rusqlite::types::FromSql>(connection: &Connection, sql: &str) -> T {
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_schema_that_is_not_known_is_refused_by_its_number() {
    for number in [2, 15, 24, 9000] {
        let bench = Bench::of("tour");
        bench.change(&format!("UPDATE schema_meta SET schema_version = {number}; PRAGMA user_version = {number}"));
        let said = bench.refused();
        assert!(said.contains(&format!("its schema {number} ")) && said.contains("sessions/cold"), "{said}");
    }
    for (table, column) in [("transcript_events", "event_lz4 BLOB"), ("session_windows", "moved_to TEXT")] {
        let bench = Bench::of("tour");
        bench.change(&format!("ALTER TABLE {table} ADD COLUMN {column}"));
        let said = bench.refused();
        let name = column.split(' ').next().unwrap();
        assert!(said.contains("its schema 23") && said.contains(&format!("{table}.{name}")), "{said}");
    }
    // Other tables are carried row by row, whatever their columns.
    let bench = Bench::of("tour");
    bench.change("ALTER TABLE board_widgets ADD COLUMN colour TEXT DEFAULT 'red'");
    let (_, said) = bench.migrate();
    assert!(said.iter().all(|unit| unit["status"] != "failed"), "{said:?}");
}

#[test]
fn secrets_stay_where_they_are_and_triggers_do_not_run() {
    let bench = Bench::of("tour");
    bench.migrate();
    for (path, (bytes, ..)) in tree(&bench.at("dest")) {
        assert!(memchr::memmem::find(&bytes, b"hush").is_none(), "{path} has a token");
        assert!(memchr::memmem::find(&bytes, b"remembered").is_none(), "{path} has a memory");
    }
    let again = everlog(&["restore", bench.at("dest").to_str().unwrap(), "-o", bench.at("told").to_str().unwrap()]);
    let said = format!("{}{}", stdout(&again), support::stderr(&again));
    assert!(said.contains("auth_profile_store (1 row") && said.contains("memory_index_chunks (1 row"), "{said}");
    assert!(said.contains("1 database row for row") && said.contains("not complete"), "{said}");
    let back = bench.restored();
    assert_eq!(one::<i64>(&back, "SELECT count(*) FROM auth_profile_store"), 0);
    assert_eq!(one::<i64>(&back, "SELECT revision FROM memory_index_state"), 7);
    assert_eq!(one::<i64>(&back, "SELECT sum(entry_valid) FROM session_nodes"), 3, "a trigger ran");
    assert_eq!(one::<i64>(&back, "SELECT seq FROM sqlite_sequence"), 2);
    assert_eq!(one::<String>(&back, "PRAGMA integrity_check"), "ok");
    assert_eq!(one::<i64>(&back, "SELECT count(*) FROM session_transcript_fts('kettle')"), 1);
    let (nul, row): (Vec<u8>, i64) = back
        .query_row("SELECT CAST(legacy_acp_migration_json AS BLOB), rowid FROM session_nodes WHERE label = 'the kettle'", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!((nul.as_slice(), row), (b"a\0NUL and more".as_slice(), 1));
}

#[test]
fn credentials_are_carried_only_for_a_person_who_says_so() {
    let bench = Bench::of("tour");
    let [source, dest] = ["input", "dest"].map(|name| bench.at(name).to_str().unwrap().to_owned());
    let words = ["migrate", &source, "-o", &dest, "--include-credentials"];
    let refused = everlog(&words);
    assert_eq!(refused.status.code(), Some(2));
    let said = support::stderr(&refused);
    assert!(said.contains("plain text") && said.contains("needs a terminal"), "{said}");
    assert!(!bench.at("dest").exists());
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    for typed in ["no\n", "\n", "YES please\n"] {
        let shown = pty::run_typing(&words, typed);
        assert_eq!(shown.code, Some(2), "{typed}: {}", String::from_utf8_lossy(&shown.bytes));
        assert!(!bench.at("dest").exists());
    }
    // Also where all of it is converted already, without them.
    bench.migrate();
    let shown = pty::run_typing(&words, "yes\n");
    let said = String::from_utf8_lossy(&shown.bytes).into_owned();
    assert!(shown.code == Some(0) || shown.code == Some(1), "{said}");
    assert!(said.contains("plain text") && !said.contains("hush"), "{said}");
    let back = bench.restored();
    let original = Connection::open(bench.database()).unwrap();
    for table in ["auth_profile_store", "memory_index_chunks", "transcript_events"] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(one::<i64>(&back, &count), one::<i64>(&original, &count), "{table}");
    }
    assert!(one::<i64>(&back, "SELECT count(*) FROM auth_profile_store") > 0);
    let checked = everlog(&["verify", &dest, "--source", &source]);
    assert_eq!(checked.status.code(), Some(0), "{}{}", stdout(&checked), support::stderr(&checked));
}

#[test]
fn packed_transcripts_that_are_damaged_are_carried_as_they_are() {
    let mut tried = 0;
    let cold = |bench: &Bench| {
        let folder = bench.at("input/agents/main/sessions/cold");
        let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.pop().unwrap()
    };
    let original = fs::read(cold(&Bench::of("cold"))).unwrap();
    for at in (0..original.len()).step_by(23) {
        let bench = Bench::of("cold");
        let mut bytes = original.clone();
        bytes[at] ^= 0x5a;
        bytes.truncate(if at % 2 == 0 { bytes.len() } else { at });
        fs::write(cold(&bench), &bytes).unwrap();
        let (_, said) = bench.migrate();
        assert!(said.iter().all(|unit| unit["status"] != "failed"), "{said:?}");
        bench.restored();
        let name = cold(&bench).strip_prefix(bench.at("input")).unwrap().to_owned();
        assert!(fs::read(bench.at("back").join(name)).unwrap() == bytes, "cut or changed at {at}");
        tried += 1;
    }
    for sql in [
        "UPDATE transcript_events SET event_zstd = x'28b52ffd00' WHERE event_zstd IS NOT NULL",
        "UPDATE transcript_events SET event_zstd = zeroblob(3) WHERE event_zstd IS NOT NULL",
        "UPDATE transcript_events SET event_json = CAST(x'7bff7d' AS TEXT) WHERE event_json IS NOT NULL",
        "UPDATE session_transcript_archives SET archive_blob = x'28b52ffd'",
        "UPDATE session_pending_inputs SET message_json = '[1,'",
        "DELETE FROM session_windows",
        "DELETE FROM session_nodes",
    ] {
        let bench = Bench::of("tour");
        bench.change(sql);
        let (_, said) = bench.migrate();
        assert!(said.iter().all(|unit| unit["status"] != "failed"), "{sql}: {said:?}");
        let count = "SELECT (SELECT count(*) FROM transcript_events) + (SELECT total(length(event_zstd)) FROM transcript_events) + (SELECT total(length(archive_blob)) FROM session_transcript_archives)";
        let want: f64 = one(&Connection::open(bench.database()).unwrap(), count);
        assert_eq!(one::<f64>(&bench.restored(), count), want, "{sql}");
        tried += 1;
    }
    assert!(tried > 20, "the test looks at nothing");
}
