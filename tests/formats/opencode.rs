//! opencode's database beside its JSON tree: what is refused, what is left out, what comes
//! back, and what an audit says of the two.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use rusqlite::Connection;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::{copy_tree, everlog, stderr, stdout, tree};
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A copy of a fixture's input.
    fn of(case: &str) -> Bench {
        let bench = Bench { folder: TempDir::new().unwrap() };
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/opencode").join(case).join("input"), &bench.at("input"));
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn database(&self) -> Connection {
        Connection::open(self.at("input/opencode.db")).unwrap()
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, Vec<Value>, String) {
        let words: Vec<String> = words.iter().map(|word| word.replace("HERE", self.folder.path().to_str().unwrap())).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = everlog(&words);
        let said = stdout(&done).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (done.status.code(), said, stderr(&done))
    }

    fn migrate(&self) -> (Option<i32>, Vec<Value>, String) {
        let before = tree(&self.at("input"));
        let done = self.run(&["migrate", "HERE/input", "-o", "HERE/dest", "--json"]);
        assert!(before == tree(&self.at("input")), "the source changed");
        done
    }
}

#[test]
fn a_schema_that_is_not_known_is_refused_by_name() {
    let refusals = [
        ("tour", "INSERT INTO migration VALUES ('20270101000000_all_new', 1)", "20270101000000_all_new"),
        ("tour", "DELETE FROM migration", "names no change"),
        ("tour", "DROP TABLE migration", "neither migration nor __drizzle_migrations"),
        ("older", "INSERT INTO __drizzle_migrations VALUES (NULL, '', 1800000000000)", "1800000000000"),
    ];
    for (case, change, names) in refusals {
        let bench = Bench::of(case);
        bench.database().execute_batch(change).unwrap();
        let (code, said, _) = bench.migrate();
        let errors: Vec<&str> = said.iter().filter_map(|unit| unit["error"].as_str()).collect();
        assert_eq!(code, Some(1), "{change}");
        assert!(errors.len() == 1 && errors[0].contains(names) && errors[0].contains("-wal"), "{change}: {errors:?}");
        assert!(tree(&bench.at("dest")).keys().all(|path| !path.ends_with(".everlog.jsonl")), "{change}");
    }
    // A change that is older than those known is no reason.
    let bench = Bench::of("tour");
    bench.database().execute("INSERT INTO migration VALUES ('20260201000000_between', 1)", []).unwrap();
    assert_eq!(bench.migrate().0, Some(0));
    // Tables of another program under the same name.
    let bench = Bench::of("older");
    bench.database().execute_batch("ALTER TABLE part RENAME TO pieces").unwrap();
    let (code, _, errors) = bench.migrate();
    assert!(code == Some(2) && errors.contains("no session found"), "{code:?} {errors}");
}

#[test]
fn what_opens_an_account_is_named_and_counted_and_nowhere_in_the_logs() {
    let bench = Bench::of("tour");
    assert_eq!(bench.migrate().0, Some(0));
    let mut seen = 0;
    for (path, (bytes, _)) in tree(&bench.at("dest")) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains("SECRET"), "{path}");
        seen += text.matches("\"left_out\":").count();
    }
    assert_eq!(seen, 3, "credential, control_account and session_share");
    let (code, _, errors) = bench.run(&["restore", "HERE/dest", "-o", "HERE/back"]);
    assert_eq!(code, Some(0), "{errors}");
    let back = Connection::open(bench.at("back/opencode.db")).unwrap();
    let count = |table: &str| back.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(["credential", "control_account", "session_share"].map(count), [0, 0, 0]);
    assert!(count("message") > 10);
}

#[test]
fn a_restored_database_has_the_schema_the_settings_and_the_row_numbers() {
    for case in ["tour", "older", "odd"] {
        let bench = Bench::of(case);
        if case == "tour" {
            // Numbers of rows with holes, and a column that nobody knows.
            let more = "DELETE FROM part WHERE rowid = 3; UPDATE event SET rowid = rowid + 1000; ALTER TABLE session ADD COLUMN mood BLOB; UPDATE session SET mood = x'00ff'; PRAGMA user_version = 7";
            bench.database().execute_batch(more).unwrap();
        }
        let (code, said, _) = bench.migrate();
        assert_eq!(code, Some(i32::from(case == "odd")), "{case}: {said:?}");
        assert_eq!(bench.run(&["restore", "HERE/dest", "-o", "HERE/back"]).0, Some(0));
        let (original, back) = (bench.database(), Connection::open(bench.at("back/opencode.db")).unwrap());
        let all = |database: &Connection, sql: &str| -> Vec<String> {
            let mut statement = database.prepare(sql).unwrap();
            let columns = statement.column_count();
            let row =
                |row: &rusqlite::Row<'_>| Ok((0..columns).map(|n| format!("{:?}", row.get_ref(n).unwrap())).collect::<Vec<_>>().join("|"));
            statement.query_map([], row).unwrap().map(Result::unwrap).collect()
        };
        let mut queries = vec!["SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name".to_owned()];
        queries.extend(["page_size", "user_version", "auto_vacuum", "journal_mode", "encoding"].map(|name| format!("PRAGMA {name}")));
        for table in ["session", "message", "part", "todo", "project"] {
            queries.push(format!("SELECT rowid, * FROM {table} ORDER BY rowid"));
        }
        if case != "older" {
            queries.extend(
                ["event", "migration", "session_input", "permission"].map(|table| format!("SELECT rowid, * FROM {table} ORDER BY rowid")),
            );
        }
        for query in queries {
            assert_eq!(all(&back, &query), all(&original, &query), "{case}: {query}");
        }
    }
}

/// A file of the tree, below its storage folder.
fn put(bench: &Bench, path: &str, text: &str) {
    let path = bench.at("input/storage").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Puts a session with one message into the tree, as it would be in the database too.
fn session(bench: &Bench, id: &str, says: &str) {
    put(
        bench,
        &format!("session/p/{id}.json"),
        &format!(
            "{{\"id\":\"{id}\",\"slug\":\"s\",\"projectID\":\"p\",\"directory\":\"/d\",\"title\":\"t\",\"version\":\"1\",\"time\":{{\"created\":1,\"updated\":2}}}}"
        ),
    );
    let message = id.replace("ses_", "msg_");
    put(
        bench,
        &format!("message/{id}/{message}.json"),
        &format!("{{\"id\":\"{message}\",\"sessionID\":\"{id}\",\"role\":\"user\",\"time\":{{\"created\":1}}}}"),
    );
    let part = id.replace("ses_", "prt_");
    let text = format!("{{\"id\":\"{part}\",\"sessionID\":\"{id}\",\"messageID\":\"{message}\",\"type\":\"text\",\"text\":\"{says}\"}}");
    put(bench, &format!("part/{message}/{part}.json"), &text);
}

fn import(database: &Connection, id: &str, says: &str) {
    let (message, part) = (id.replace("ses_", "msg_"), id.replace("ses_", "prt_"));
    database
        .execute("INSERT OR IGNORE INTO project(id, worktree, time_created, time_updated, sandboxes) VALUES ('p', '/d', 1, 1, '[]')", [])
        .unwrap();
    database
        .execute("INSERT INTO session(id, project_id, slug, directory, title, version, time_created, time_updated) VALUES (?1, 'p', 's', '/d', 't', '1', 1, 2)", [id])
        .unwrap();
    database.execute("INSERT INTO message VALUES (?1, ?2, 1, 1, '{\"role\":\"user\",\"time\":{\"created\":1}}')", [&message, id]).unwrap();
    let data = format!("{{\"type\":\"text\",\"text\":\"{says}\"}}");
    database.execute("INSERT INTO part VALUES (?1, ?2, ?3, 1, 1, ?4)", [&part, &message, id, &data]).unwrap();
}

#[test]
fn an_audit_compares_the_tree_with_the_database_session_by_session() {
    let bench = Bench::of("older");
    for id in ["ses_same", "ses_lost", "ses_other", "ses_torn", "ses_taken"] {
        session(&bench, id, "as it was");
    }
    put(
        &bench,
        "part/msg_gone/prt_gone.json",
        "{\"id\":\"prt_gone\",\"sessionID\":\"ses_taken\",\"messageID\":\"msg_gone\",\"type\":\"text\",\"text\":\"taken back\"}",
    );
    let database = bench.database();
    import(&database, "ses_same", "as it was");
    import(&database, "ses_other", "as it is not");
    import(&database, "ses_torn", "as it was");
    import(&database, "ses_taken", "as it was");
    put(&bench, "message/ses_torn/msg_torn.json", "{\"id\":");
    drop(database);
    let (code, said, errors) = bench.run(&["audit", "HERE/input", "--json"]);
    assert_eq!(code, Some(1), "{errors}");
    let of = |code: &str| -> Vec<(String, String, i64)> {
        let found = said.iter().filter(|item| item["code"] == code);
        found.map(|item| (item["session_id"].to_string(), item["severity"].to_string(), item["contained"].as_i64().unwrap_or(-1))).collect()
    };
    let item = |id: &str, severity: &str, contained: i64| (format!("\"{id}\""), format!("\"{severity}\""), contained);
    assert_eq!(of("not_in_database"), [item("ses_lost", "warn", 0)]);
    let mut differ = of("differs_from_database");
    differ.sort();
    assert_eq!(differ, [item("ses_other", "warn", 2), item("ses_taken", "info", 3), item("ses_torn", "warn", 2)]);
    let only: Vec<&Value> = said.iter().filter(|item| item["code"] == "only_in_database").collect();
    assert_eq!((only.len(), &only[0]["sessions"], &only[0]["file"]), (1, &Value::from(2), &Value::from("opencode.db")), "{only:?}");

    // A database that cannot be read, or is of another program, is said to be so.
    for bytes in
        [vec![7; 4096], fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hermes-state-db/tour/input/state.db")).unwrap()]
    {
        fs::write(bench.at("input/opencode.db"), bytes).unwrap();
        let (_, said, _) = bench.run(&["audit", "HERE/input/storage", "--json"]);
        assert_eq!(said.iter().filter(|item| item["code"] == "state_db_unreadable").count(), 1, "{said:?}");
    }
    fs::remove_file(bench.at("input/opencode.db")).unwrap();
    let (_, said, _) = bench.run(&["audit", "HERE/input", "--json"]);
    assert!(said.iter().all(|item| item["code"] != "not_in_database" && item["code"] != "state_db_unreadable"), "{said:?}");
}

#[test]
fn a_removed_message_is_found_by_its_words_and_replayed_only_when_asked() {
    let bench = Bench::of("tour");
    assert_eq!(bench.migrate().0, Some(0));
    let log = "HERE/dest/opencode.db/ses_4c1f0a000002ffeKettleShopped.everlog.jsonl";
    let salted = |words: &[&str]| bench.run(words).1.iter().any(|line| line.to_string().contains("salted"));
    assert!(!salted(&["replay", log, "--as", "source"]));
    assert!(salted(&["replay", log, "--salvage", "--json"]));
}
