//! `contains OLD NEW` where NEW is a database: a verdict for each record of OLD, by the
//! rules of the database's own program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::code;
use support::{everlog, stderr, stdout};
use tempfile::TempDir;

/// A folder with the tree of one session, and a database that has some of it.
struct Moved {
    scratch: TempDir,
    database: Connection,
}

const TABLES: &str = "
    CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT, vcs TEXT);
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
    CREATE TABLE todo (session_id TEXT, position INTEGER, content TEXT, status TEXT, priority TEXT);";

impl Moved {
    fn new() -> Moved {
        let scratch = TempDir::new().unwrap();
        let database = Connection::open(scratch.path().join("opencode.db")).unwrap();
        database.pragma_update(None, "journal_mode", "wal").unwrap();
        database.execute_batch(TABLES).unwrap();
        Moved { scratch, database }
    }

    fn old(&self) -> PathBuf {
        self.scratch.path().join("old/storage")
    }

    fn new_database(&self) -> PathBuf {
        self.scratch.path().join("opencode.db")
    }

    /// Puts a file into the tree.
    fn file(&self, path: &str, text: &str) {
        put(&self.old().join(path), text);
    }

    fn message(&self, id: &str, session: &str, data: &str) {
        self.database.execute("INSERT INTO message VALUES (?1, ?2, 1, ?3)", [id, session, data]).unwrap();
    }

    /// The verdict of each record with its reasons, the summary, and the exit code.
    fn verdicts(&self) -> (BTreeMap<String, String>, Value, Option<i32>) {
        let done = everlog(&["contains", self.old().to_str().unwrap(), self.new_database().to_str().unwrap(), "--json"]);
        let mut found = BTreeMap::new();
        let mut summary = Value::Null;
        for line in stdout(&done).lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if let Some(verdict) = row["verdict"].as_str() {
                let why = row["why"].as_array().map(|why| format!(" {}", why[0].as_str().unwrap())).unwrap_or_default();
                found.insert(row["file"].as_str().unwrap().to_owned(), format!("{verdict}{why}"));
            } else {
                summary = row["summary"].clone();
            }
        }
        (found, summary, code(&done))
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_file_is_in_the_database_where_its_row_is_what_the_program_makes_of_it() {
    let moved = Moved::new();
    let message = |id: &str, more: &str| format!("{{\n  \"id\": \"{id}\",\n  \"sessionID\": \"ses_1\",\n  \"role\": \"user\"{more}\n}}");
    moved.file("message/ses_1/msg_1.json", &message("msg_1", ",\n  \"cost\": 1.0"));
    moved.message("msg_1", "ses_1", r#"{"role":"user","cost":1}"#);
    // The row has the id inside the file.
    moved.file("message/ses_1/msg_2.json", &message("msg_2b", ""));
    moved.message("msg_2b", "ses_1", r#"{"role":"user"}"#);
    // Equal to what JavaScript prints, and yet not what the file says.
    moved.file("message/ses_1/msg_3.json", &message("msg_3", ",\n  \"n\": 9007199254740993"));
    moved.message("msg_3", "ses_1", r#"{"role":"user","n":9007199254740992}"#);
    moved.file("message/ses_1/msg_4.json", &message("msg_4", ""));
    moved.message("msg_4", "ses_1", r#"{"role":"assistant"}"#);
    moved.file("message/ses_1/msg_5.json", &message("msg_5", ""));
    moved.message("msg_5", "ses_2", r#"{"role":"user"}"#);
    moved.file("message/ses_1/msg_6.json", "{\"id\": \"msg");
    moved.message("msg_6", "ses_1", r#"{"role":"user"}"#);
    moved.file("part/msg_1/prt_1.json", r#"{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"text","text":"said"}"#);
    moved.file("session/p/ses_1.json", r#"{"id":"ses_1","projectID":"p","directory":"/d","title":"T","version":"1","time":{"created":5}}"#);
    moved.database.execute("INSERT INTO session VALUES ('ses_1', 'p', NULL, '', '/d', 'T', '1', 5)", []).unwrap();
    moved.file("session/p/ses_2.json", r#"{"id":"ses_2","projectID":"p","directory":"/d","title":"New","version":"1"}"#);
    moved.database.execute("INSERT INTO session VALUES ('ses_2', 'p', NULL, '', '/d', 'Old', '1', NULL)", []).unwrap();
    moved.file("todo/ses_1.json", r#"[{"content":"sow","status":"pending","priority":"low","id":"1"}]"#);
    moved.database.execute("INSERT INTO todo VALUES ('ses_1', 0, 'sow', 'pending', 'low')", []).unwrap();
    moved.file("todo/ses_2.json", "{}");
    moved.file("session_diff/ses_1.json", "[]");
    moved.file("migration", "2");
    // The program left the tree beside its database, with this part in it.
    put(
        &moved.scratch.path().join("storage/part/msg_1/prt_1.json"),
        &fs::read_to_string(moved.old().join("part/msg_1/prt_1.json")).unwrap(),
    );

    let (verdicts, summary, exit) = moved.verdicts();
    let wanted = [
        ("message/ses_1/msg_1.json", "respelled"),
        ("message/ses_1/msg_2.json", "respelled"),
        ("message/ses_1/msg_3.json", "changed integer-precision"),
        ("message/ses_1/msg_4.json", "changed text"),
        ("message/ses_1/msg_5.json", "changed session_id"),
        ("message/ses_1/msg_6.json", "unreadable not JSON"),
        ("part/msg_1/prt_1.json", "missing"),
        ("session/p/ses_1.json", "mapped"),
        ("session/p/ses_2.json", "changed title"),
        ("todo/ses_1.json", "mapped"),
        ("todo/ses_2.json", "missing"),
    ];
    assert_eq!(verdicts, wanted.iter().map(|(file, verdict)| ((*file).to_owned(), (*verdict).to_owned())).collect());
    let count = |name: &str| summary[name].as_u64();
    assert_eq!([count("records"), count("live"), count("database"), count("state_folder")], [11, 4, 4, 5].map(Some), "{summary}");
    assert_eq!(exit, Some(1));

    for missing in ["message/ses_1/msg_3.json", "message/ses_1/msg_4.json", "message/ses_1/msg_5.json", "message/ses_1/msg_6.json"] {
        fs::remove_file(moved.old().join(missing)).unwrap();
    }
    fs::remove_file(moved.old().join("session/p/ses_2.json")).unwrap();
    fs::remove_file(moved.old().join("todo/ses_2.json")).unwrap();
    moved.database.execute(r#"INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"said"}')"#, []).unwrap();
    assert_eq!(moved.verdicts().2, Some(0));
}

#[test]
fn nothing_to_compare_is_no_answer() {
    let moved = Moved::new();
    moved.file("session_diff/ses_1.json", "[]");
    let done = everlog(&["contains", moved.old().to_str().unwrap(), moved.new_database().to_str().unwrap()]);
    assert!(code(&done) == Some(2) && stderr(&done).contains("no record of the database's program"), "{}", stderr(&done));
}

#[test]
fn files_of_the_tree_are_rescued_with_those_that_an_import_needs() {
    let moved = Moved::new();
    let session = |id: &str, project: &str| {
        moved.file(
            &format!("session/{project}/{id}.json"),
            &format!(r#"{{"id":"{id}","projectID":"{project}","directory":"/d","title":"T","version":"1","time":{{"created":5}}}}"#),
        );
        moved.database.execute("INSERT INTO session VALUES (?1, ?2, NULL, '', '/d', 'T', '1', 5)", [id, project]).unwrap();
    };
    session("ses_1", "p");
    session("ses_2", "gone");
    moved.file("project/p.json", r#"{"id":"p","worktree":"/w"}"#);
    moved.database.execute("INSERT INTO project VALUES ('p', '/w', NULL)", []).unwrap();
    for (message, session) in [("msg_1", "ses_1"), ("msg_2", "ses_2")] {
        moved.file(&format!("message/{session}/{message}.json"), &format!(r#"{{"id":"{message}","sessionID":"{session}","role":"user"}}"#));
    }
    moved.message("msg_1", "ses_1", r#"{"role":"user"}"#);
    for message in ["msg_1", "msg_gone"] {
        moved.file(&format!("part/{message}/prt_{message}.json"), r#"{"id":"x","type":"text","text":"said"}"#);
    }
    moved.file("message/ses_1/msg_3.json", "{\"torn");
    let rescue = moved.scratch.path().join("rescue");
    let done =
        everlog(&["contains", moved.old().to_str().unwrap(), moved.new_database().to_str().unwrap(), "--rescue", rescue.to_str().unwrap()]);
    assert_eq!(code(&done), Some(1), "{}", stderr(&done));
    let rescued = support::tree(&rescue);
    let wanted = [
        "storage/message/ses_1/msg_1.json",
        "storage/message/ses_2/msg_2.json",
        "storage/part/msg_1/prt_msg_1.json",
        "storage/part/msg_gone/prt_msg_gone.json",
        "storage/project/gone.json",
        "storage/project/p.json",
        "storage/session/gone/ses_2.json",
        "storage/session/p/ses_1.json",
    ];
    assert_eq!(rescued.keys().collect::<Vec<_>>(), wanted);
    for name in wanted.iter().filter(|name| !name.ends_with("gone.json")) {
        assert_eq!(fs::read(rescue.join(name)).unwrap(), fs::read(moved.scratch.path().join("old").join(name)).unwrap(), "{name}");
    }
    let made: Value = serde_json::from_slice(&fs::read(rescue.join("storage/project/gone.json")).unwrap()).unwrap();
    assert_eq!((&made["id"], &made["worktree"], &made["time"]["created"]), (&"gone".into(), &"/d".into(), &5.into()));
    let said = stderr(&done);
    assert!(
        said.contains("its message file is gone")
            && said.contains("was made from the folder")
            && said.contains("rescued 3 records in 8 files"),
        "{said}"
    );
}

#[test]
fn messages_of_hermes_are_not_rescued_and_the_reason_is_said() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("state.db");
    state(&path, &[]);
    put(&scratch.path().join("old/new.json"), r#"{"session_id": "new", "messages": [{"role": "user", "content": "x"}]}"#);
    let rescue = scratch.path().join("rescue");
    let old = scratch.path().join("old");
    let done = everlog(&["contains", old.to_str().unwrap(), path.to_str().unwrap(), "--rescue", rescue.to_str().unwrap()]);
    assert!(code(&done) == Some(2) && stderr(&done).contains("no single messages"), "{}", stderr(&done));
    assert!(!rescue.exists());
}

const STATE: &str = "
    CREATE TABLE schema_version (version INTEGER);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL, active INTEGER);";

fn state(path: &Path, rows: &[(i64, &str, &str, &str, f64, i64)]) {
    let database = Connection::open(path).unwrap();
    database.execute_batch(STATE).unwrap();
    database.execute_batch("INSERT INTO sessions VALUES ('old', NULL), ('new', 'old')").unwrap();
    for row in rows {
        database.execute("INSERT INTO messages VALUES (?1, ?2, ?3, ?4, ?5, ?6)", *row).unwrap();
    }
}

#[test]
fn a_sidecars_messages_are_rows_of_its_session_or_its_lineage() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("state.db");
    state(
        &path,
        &[
            (1, "old", "user", "before the rotation", 1.0, 1),
            (2, "new", "user", "\0json:[{\"type\": \"text\", \"text\": \"with a list\"}]", 2.0, 1),
            (3, "new", "assistant", " taken back ", 3.0, 0),
            (4, "new", "user", "with a prefix for the model", 4.5, 1),
        ],
    );
    let sidecar = r#"{"session_id": "new", "messages": [
        {"role": "user", "content": "before the rotation", "timestamp": 9.0}, {"role": "user", "content": "with a list"},
        {"role": "assistant", "content": "taken back"}, {"role": "user", "content": "as typed", "timestamp": 4.5},
        {"role": "user", "content": "with a list"}]}"#;
    put(&scratch.path().join("old/sessions/new.json"), sidecar);
    put(&scratch.path().join("old/sessions/_index.json"), r#"{"messages": ["no session"]}"#);
    let done = everlog(&["contains", scratch.path().join("old").to_str().unwrap(), path.to_str().unwrap(), "--json"]);
    let rows: Vec<Value> = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    support::schema::check("contains", &done.stdout);
    let only_in_new: Vec<i64> = rows.iter().filter_map(|row| row["only_in_new"]["row"].as_i64()).collect();
    assert_eq!(only_in_new, [4], "a row of the session that no message of the sidecar is");
    let judged: Vec<(&str, u64)> = rows.iter().filter_map(|row| Some((row["verdict"].as_str()?, row["index"].as_u64()?))).collect();
    assert_eq!(judged, [("changed", 3), ("missing", 4)]);
    let summary = &rows.last().unwrap()["summary"];
    assert_eq!((&summary["identical"], &summary["live"], &summary["database"]), (&3.into(), &2.into(), &3.into()), "{summary}");
    assert_eq!(code(&done), Some(1));
}

#[test]
fn a_database_is_in_another_row_by_row() {
    let scratch = TempDir::new().unwrap();
    let (old, new) = (scratch.path().join("old.db"), scratch.path().join("new.db"));
    let row = |id, text| (id, "old", "user", text, 1.0, 1);
    state(&old, &[row(1, "a"), row(2, "b"), row(3, "b"), row(4, "c")]);
    state(&new, &[row(1, "a"), row(7, "b"), row(8, "c")]);
    let contains = |old: &Path, new: &Path| everlog(&["contains", old.to_str().unwrap(), new.to_str().unwrap(), "--json"]);
    let done = contains(&old, &new);
    let rows: Vec<Value> = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let judged: Vec<(&str, i64)> = rows.iter().filter_map(|row| Some((row["verdict"].as_str()?, row["row"].as_i64()?))).collect();
    assert_eq!(judged, [("renumbered", 2), ("missing", 3), ("renumbered", 4)]);
    assert_eq!(code(&done), Some(1));
    assert_eq!(code(&contains(&new, &old)), Some(0));
}
