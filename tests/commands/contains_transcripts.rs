//! `contains OLD NEW` where NEW is the database that OpenClaw moved its transcripts
//! into: a verdict for each line, whatever the import made of it, and `--rescue`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use rusqlite::{Connection, params};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::code;
use support::schema;
use support::{everlog, stderr, stdout, tree};
use tempfile::TempDir;

const ID: &str = "10000000-0000-4000-8000-000000000011";

const TABLES: &str = "
    CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER);
    INSERT INTO schema_meta VALUES ('primary', 'agent', 23);
    CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, PRIMARY KEY (session_id, seq));
    CREATE TABLE session_transcript_archives (session_id TEXT, generation TEXT, encoding TEXT, archive_blob BLOB, archive_name TEXT);
    CREATE TABLE session_transcript_cold_archives (session_id TEXT PRIMARY KEY, storage TEXT, archive_name TEXT, archive_blob BLOB);";

/// A state folder of files, and one with a database.
struct Moved {
    scratch: TempDir,
    database: Connection,
    rows: std::cell::Cell<i64>,
}

/// What a run answered.
struct Answer {
    /// Verdicts with their first reason, by file and line.
    verdicts: BTreeMap<(String, u64), String>,
    found: BTreeMap<(String, u64), String>,
    lines: Vec<Value>,
    summary: Value,
    exit: Option<i32>,
}

impl Moved {
    fn new() -> Moved {
        Moved::with(TABLES)
    }

    fn with(tables: &str) -> Moved {
        let scratch = TempDir::new().unwrap();
        let folder = scratch.path().join("new/agents/main/agent");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(scratch.path().join("old")).unwrap();
        let database = Connection::open(folder.join("openclaw-agent.sqlite")).unwrap();
        // Rows stay in the write-ahead log while the connection is open.
        database.pragma_update(None, "journal_mode", "wal").unwrap();
        database.execute_batch(tables).unwrap();
        Moved { scratch, database, rows: std::cell::Cell::new(0) }
    }

    fn old(&self) -> PathBuf {
        self.scratch.path().join("old")
    }

    fn new_state(&self) -> PathBuf {
        self.scratch.path().join("new/agents/main")
    }

    fn new_database(&self) -> PathBuf {
        self.new_state().join("agent/openclaw-agent.sqlite")
    }

    /// Puts lines into a file of the old sessions.
    fn file(&self, name: &str, lines: &[&[u8]]) {
        put(&self.old().join("agents/main/sessions").join(name), &lines.concat());
    }

    fn row(&self, session: &str, text: impl rusqlite::ToSql) {
        let seq = self.rows.replace(self.rows.get() + 1);
        self.database
            .execute("INSERT INTO transcript_events (session_id, seq, event_json) VALUES (?1, ?2, ?3)", params![session, seq, text])
            .unwrap();
    }

    fn packed_row(&self, session: &str, packed: &[u8]) {
        let seq = self.rows.replace(self.rows.get() + 1);
        self.database.execute("INSERT INTO transcript_events VALUES (?1, ?2, NULL, ?3)", params![session, seq, packed]).unwrap();
    }

    fn run(&self, more: &[&str]) -> std::process::Output {
        let (old, new) = (self.old(), self.new_database());
        everlog(&[&["contains", old.to_str().unwrap(), new.to_str().unwrap()], more].concat())
    }

    fn answer(&self, more: &[&str]) -> Answer {
        let done = self.run(&[&["--json"], more].concat());
        schema::check("contains", &done.stdout);
        let lines: Vec<Value> = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (mut verdicts, mut found) = (BTreeMap::new(), BTreeMap::new());
        for row in lines.iter().filter(|row| row["verdict"].is_string()) {
            let place = (row["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), row["line"].as_u64().unwrap());
            let why = row["why"].as_array().map(|why| format!(" {}", why[0].as_str().unwrap())).unwrap_or_default();
            assert!(verdicts.insert(place.clone(), format!("{}{why}", row["verdict"].as_str().unwrap())).is_none(), "{place:?} twice");
            let at = row["found_in"].as_str().map(|at| format!(" {at}")).unwrap_or_default();
            found.insert(place, format!("{}{at}", row["found"].as_str().unwrap()));
        }
        let summary = lines.last().map(|line| line["summary"].clone()).unwrap_or_default();
        Answer { verdicts, found, lines, summary, exit: code(&done) }
    }
}

impl Answer {
    /// The verdicts of one file, by line.
    fn of(&self, name: &str) -> Vec<(u64, &str)> {
        self.verdicts.iter().filter(|((file, _), _)| file == name).map(|((_, line), verdict)| (*line, verdict.as_str())).collect()
    }
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn live() -> String {
    format!("{ID}.jsonl")
}

const HEADER: &[u8] =
    b"{\"type\":\"session\",\"version\":3,\"id\":\"10000000-0000-4000-8000-000000000011\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n";

fn said(id: &str, parent: &str, text: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-11-18T06:19:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

fn header_row() -> &'static str {
    std::str::from_utf8(HEADER).unwrap().trim_end()
}

#[test]
fn a_line_is_judged_by_what_javascript_makes_of_it() {
    let moved = Moved::new();
    moved.row(ID, header_row());
    let pairs: &[(&[u8], &str)] = &[
        (b"{\"type\":\"custom\",\"id\":\"a\",\"n\":1.0,\"m\":1e-05}\n", r#"{"type":"custom","id":"a","n":1,"m":0.00001}"#),
        (b"\t{ \"id\" : \"b\", \"s\" : \"\\u00e9\" }\r\n", r#"{"id":"b","s":"é"}"#),
        (b"{\"id\":\"c\",\"n\":9007199254740993}\n", r#"{"id":"c","n":9007199254740992}"#),
        (b"{\"id\":\"d\",\"n\":1152921504606846976}\n", r#"{"id":"d","n":1152921504606847000}"#),
        (b"{\"id\":\"e\",\"n\":1e400}\n", r#"{"id":"e","n":null}"#),
        (b"{\"id\":\"f\",\"n\":-0}\n", r#"{"id":"f","n":0}"#),
        (b"{\"id\":\"g\",\"a\":1,\"a\":2}\n", r#"{"id":"g","a":2}"#),
        (b"{\"id\":\"h\",\"n\":0.10000000000000000555}\n", r#"{"id":"h","n":0.1}"#),
        (b"{\"id\":\"i\",\"2\":1,\"1\":2}\n", r#"{"1":2,"2":1,"id":"i"}"#),
        (b"[1,2]\n", "[1,2]"),
        ("\"x\u{2028}y\"\n".as_bytes(), "\"x\u{2028}y\""),
    ];
    pairs.iter().for_each(|(_, row)| moved.row(ID, row));
    let lines: Vec<&[u8]> =
        std::iter::once(HEADER).chain(pairs.iter().map(|(line, _)| *line)).chain([&b"null\n0\n\n \t\n\"\"\nfalse"[..]]).collect();
    moved.file(&live(), &lines);
    let answer = moved.answer(&[]);
    let wanted = [
        (2, "respelled"),
        (3, "respelled"),
        (4, "changed integer-precision"),
        (5, "changed integer-precision"),
        (6, "changed overflow"),
        (7, "changed negative-zero"),
        (8, "changed repeated-key"),
        (9, "respelled"),
        (10, "respelled"),
    ];
    assert_eq!(answer.of(&live()), wanted);
    assert_eq!((&answer.summary["records"], &answer.summary["identical"], answer.exit), (&12.into(), &3.into(), Some(1)));
}

#[test]
fn what_the_import_rewrites_is_named_by_its_rules() {
    let moved = Moved::new();
    let lines = [
        r#"{"type":"session","version":2,"id":"another","sessionId":"x","cwd":"/w"}"#,
        r#"{"type":"message","id":"a","message":{"role":"hookMessage","content":"c"}}"#,
        r#"{"type":"message","id":"b","message":{"role":"assistant","content":"c","provider":"openai-codex","api":"openai-codex-responses"}}"#,
        r#"{"type":"message","id":"c","message":{"role":"toolResult","content":{"type":"text","text":"t"}}}"#,
        r#"{"type":"message","id":"d","message":{"role":"user","content":"c","MediaPaths":["/a","/b"],"MediaTypes":["x/a","x/b"],"MediaPath":"/a"}}"#,
        r#"{"type":"message","id":"e","message":{"role":"user","content":"c","MediaPath":"/a","MediaType":"x/a","__openclaw":{"k":1}}}"#,
        r#"{"type":"message","id":"f","message":{"role":"assistant","content":"c","n":9007199254740993}}"#,
        r#"{"type":"model_change","id":"g","provider":"openai-codex","modelId":"m"}"#,
    ];
    let rows = [
        format!(r#"{{"type":"session","version":3,"id":"{ID}","cwd":"/w","timestamp":""}}"#),
        r#"{"type":"message","id":"a","message":{"role":"custom","content":"c"}}"#.to_owned(),
        r#"{"type":"message","id":"b","message":{"role":"assistant","content":[{"type":"text","text":"c"}],"provider":"openai","api":"openai-chatgpt-responses"}}"#.to_owned(),
        r#"{"type":"message","id":"c","message":{"role":"toolResult","content":[{"type":"text","text":"t"}]}}"#.to_owned(),
        r#"{"type":"message","id":"d","message":{"role":"user","content":"c","__openclaw":{"media":[{"path":"/a","contentType":"x/a"},{"path":"/b","contentType":"x/b"}]}}}"#.to_owned(),
        r#"{"type":"message","id":"e","message":{"role":"user","content":"c","__openclaw":{"media":[{"path":"/a","contentType":"x/a"}],"k":1}}}"#.to_owned(),
        r#"{"type":"message","id":"f","message":{"role":"assistant","content":[{"type":"text","text":"c"}],"n":9007199254740992}}"#.to_owned(),
        r#"{"type":"model_change","id":"g","provider":"openai","modelId":"m"}"#.to_owned(),
    ];
    rows.iter().for_each(|row| moved.row(ID, row));
    moved.file(&live(), &[lines.join("\n").as_bytes()]);
    let answer = moved.answer(&[]);
    let judged: Vec<(u64, String)> = answer
        .lines
        .iter()
        .filter(|line| line["verdict"].is_string())
        .map(|line| (line["line"].as_u64().unwrap(), format!("{} {}", line["verdict"].as_str().unwrap(), line["why"])))
        .collect();
    let mut judged = judged;
    judged.sort();
    let wanted = [
        (1, r#"rewritten ["header-id","version"]"#),
        (2, r#"rewritten ["hookMessage"]"#),
        (3, r#"rewritten ["codex-api","codex-provider","content-string-to-parts"]"#),
        (4, r#"rewritten ["content-object-to-parts"]"#),
        (5, r#"rewritten ["media-fields"]"#),
        (6, r#"rewritten ["media-fields"]"#),
        (7, r#"changed ["integer-precision"]"#),
        (8, r#"rewritten ["codex-provider"]"#),
    ];
    assert_eq!(judged, wanted.map(|(line, verdict)| (line, verdict.to_owned())));
}

#[test]
fn a_linear_file_is_compared_without_the_ids_that_the_import_derives() {
    let moved = Moved::new();
    moved.file(
        &live(),
        &[
            b"{\"type\":\"session\",\"id\":\"10000000-0000-4000-8000-000000000011\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n",
            b"{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n",
            b"{\"type\":\"compaction\",\"timestamp\":\"t\",\"summary\":\"s\",\"firstKeptEntryIndex\":1,\"tokensBefore\":5}\n",
            b"{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"content\":\"lost\"}}\n",
        ],
    );
    moved.row(ID, header_row());
    moved.row(
        ID,
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"one"},"id":"0123456789abcdef-1","parentId":null}"#,
    );
    moved.row(ID, r#"{"type":"compaction","timestamp":"t","summary":"s","tokensBefore":5,"firstKeptEntryId":"0123456789abcdef-1","id":"0123456789abcdef-2","parentId":"0123456789abcdef-1"}"#);
    let answer = moved.answer(&[]);
    assert_eq!(
        answer.of(&live()),
        [(1, "rewritten v1-ids"), (2, "rewritten v1-ids"), (3, "rewritten v1-ids"), (4, "missing")].map(|(line, verdict)| if line == 1 {
            (1, "rewritten version")
        } else {
            (line, verdict)
        })
    );
}

#[test]
fn each_row_is_used_once_and_damage_keeps_its_verdict() {
    let moved = Moved::new();
    let (one, two, other) = (said("a1", "null", "one"), said("b2", "\"a1\"", "two"), said("b2", "\"a1\"", "not two"));
    moved.row(ID, header_row());
    moved.row(ID, one.trim_end());
    moved.row(ID, said("b2", "null", "two").trim_end());
    let fused = [one.trim_end(), said("c3", "null", "three").as_str()].concat();
    let torn = [&two[..40], said("d4", "null", "four").as_str()].concat();
    moved.file(
        &live(),
        &[
            HEADER,
            one.as_bytes(),
            one.as_bytes(),
            two.as_bytes(),
            other.as_bytes(),
            fused.as_bytes(),
            torn.as_bytes(),
            b"{\"id\":\"\xff\"}\n",
            &[0; 64],
            b"\n",
            &one.as_bytes()[..30],
        ],
    );
    let answer = moved.answer(&[]);
    let wanted = [
        (3, "repeated"),
        (4, "changed parentId"),
        (5, "changed parentId"),
        (6, "unreadable not JSON"),
        (7, "unreadable not JSON"),
        (8, "unreadable not UTF-8"),
        (9, "unreadable not JSON"),
        (10, "unreadable not JSON"),
    ];
    assert_eq!(answer.of(&live()), wanted);
    let why: Vec<&str> =
        answer.lines.iter().filter(|line| line["line"] == 6 || line["line"] == 7).map(|line| line["why"][1].as_str().unwrap()).collect();
    assert_eq!(why, ["2 complete inside, 1 of them in the database", "1 complete inside, 0 of them in the database"]);
    let differs: Vec<&str> = answer
        .lines
        .iter()
        .filter(|line| line["line"] == 5)
        .flat_map(|line| line["why"].as_array().unwrap())
        .map(|why| why.as_str().unwrap())
        .collect();
    assert_eq!(differs, ["parentId", "message.content"]);
}

#[test]
fn a_file_is_of_the_session_that_the_store_or_its_name_says() {
    let moved = Moved::new();
    let id = |n: u32| format!("{n}0000000-0000-4000-8000-000000000011");
    for n in 1..=4 {
        moved.row(&id(n), said("a1", "null", &format!("of {n}")).trim_end());
    }
    let names = [
        (format!("{}-topic-4%2F2.jsonl", id(1)), 1),
        (format!("2026-11-15T23-41-27-797Z_{}.jsonl", id(2)), 2),
        ("renamed.jsonl".to_owned(), 3),
        (format!("{}.jsonl.bak.2026-10-02T10-00-00.000Z", id(1)), 1),
        ("\u{e9}.jsonl".to_owned(), 4),
    ];
    for (name, n) in &names {
        moved.file(name, &[said("a1", "null", &format!("of {n}")).as_bytes()]);
    }
    // Only where the name gives none, the header says it.
    moved.file(
        "\u{e9}.jsonl",
        &[format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{}\"}}\n", id(4)).as_bytes(), said("a1", "null", "of 4").as_bytes()],
    );
    moved.file("90000000-0000-4000-8000-000000000011.jsonl", &[said("a1", "null", "of 1").as_bytes(), HEADER]);
    let store = format!(r#"{{"agent:main:main":{{"sessionId":"{}","updatedAt":1,"sessionFile":"/home/else/renamed.jsonl"}}}}"#, id(3));
    moved.file("sessions.json", &[store.as_bytes()]);
    moved.file("a.trajectory.jsonl", &[b"{\"traceSchema\":1}\n"]);
    put(&moved.old().join("agents/main/session-sqlite-import-archive/k.a.jsonl.imported-17"), b"{\"no\":\"record\"}\n");
    put(&moved.old().join("cron/runs/job.jsonl"), b"{\"no\":\"record\"}\n");
    put(&moved.old().join("workspace/data.jsonl"), b"{\"no\":\"record\"}\n");
    let answer = moved.answer(&[]);
    let judged: Vec<_> = answer.verdicts.iter().map(|((file, line), verdict)| (file.as_str(), *line, verdict.as_str())).collect();
    let orphan = "90000000-0000-4000-8000-000000000011.jsonl";
    assert_eq!(judged, [(orphan, 1, "missing"), (orphan, 2, "missing"), ("\u{e9}.jsonl", 1, "missing")]);
    assert_eq!(answer.found[&(orphan.to_owned(), 1)], format!("database session {}", id(1)));
    assert_eq!((&answer.summary["files"], &answer.summary["files_contained"]), (&6.into(), &4.into()));
}

#[test]
fn rows_are_looked_for_in_the_window_its_archives_and_its_cold_archive() {
    let moved = Moved::new();
    let text = |n: u32| said(&format!("a{n}"), "null", &format!("text {n} {}", "long ".repeat(300)));
    let packed = |bytes: &[u8]| zstd::stream::encode_all(bytes, 1).unwrap();
    moved.row(ID, header_row());
    moved.packed_row(ID, &packed(text(1).trim_end().as_bytes()));
    let archive = |encoding: &str, generation: &str, blob: &[u8]| {
        moved
            .database
            .execute("INSERT INTO session_transcript_archives VALUES (?1, ?2, ?3, ?4, ?2)", params![ID, generation, encoding, blob])
            .unwrap();
    };
    archive("zstd", "one", &packed([HEADER, text(2).as_bytes()].concat().as_slice()));
    archive("identity", "two", text(3).as_bytes());
    let cold = |n: u32| {
        format!(
            "{{\"kind\":\"header\",\"version\":1}}\n{}\n",
            serde_json::json!({ "kind": "event", "row": { "seq": 0, "event_json": text(n).trim_end() } })
        )
    };
    put(&moved.new_state().join("sessions/cold/c.jsonl.zst"), &packed(cold(4).as_bytes()));
    moved.database.execute("INSERT INTO session_transcript_cold_archives VALUES (?1, 'file', 'c.jsonl.zst', NULL)", [ID]).unwrap();
    let other = "20000000-0000-4000-8000-000000000022";
    moved
        .database
        .execute("INSERT INTO session_transcript_cold_archives VALUES (?1, 'sqlite', 'd', ?2)", params![other, packed(cold(5).as_bytes())])
        .unwrap();
    let lines: Vec<String> = (1..=7).map(text).collect();
    moved.file(&live(), &[HEADER, lines.concat().as_bytes()]);
    // An import archive has one of the two that no row has.
    put(&moved.new_state().join("session-sqlite-import-archive/k.jsonl.imported-17"), [HEADER, text(6).as_bytes()].concat().as_slice());
    let answer = moved.answer(&[]);
    assert_eq!(answer.of(&live()), [(6, "missing"), (7, "missing"), (8, "missing")]);
    let found = |line: u64| answer.found[&(live(), line)].clone();
    assert_eq!(found(6), format!("database session {other}"));
    assert_eq!(found(7), "state_folder session-sqlite-import-archive/k.jsonl.imported-17:2");
    assert_eq!(found(8), "nowhere");
    let count = |name: &str| answer.summary[name].as_u64().unwrap();
    assert_eq!(["records", "live", "database", "state_folder"].map(count), [8, 2, 5, 7]);

    // What of the database cannot be read is named: nothing was found in it.
    moved.packed_row(ID, b"no frame");
    fs::remove_file(moved.new_state().join("sessions/cold/c.jsonl.zst")).unwrap();
    let done = moved.run(&[]);
    assert!(
        stderr(&done).contains("a compressed row of the session") && stderr(&done).contains("the cold archive c.jsonl.zst"),
        "{}",
        stderr(&done)
    );
    assert!(stdout(&done).contains("4 missing") && stdout(&done).contains("0 of 1 file contained entirely"), "{}", stdout(&done));
}

#[test]
fn older_schemas_are_read_and_unknown_ones_are_refused() {
    let old =
        "CREATE TABLE schema_meta (meta_key TEXT PRIMARY KEY, schema_version INTEGER); INSERT INTO schema_meta VALUES ('primary', 16);
        CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT NOT NULL);";
    let moved = Moved::with(old);
    moved.row(ID, header_row());
    moved.file(&live(), &[HEADER]);
    assert_eq!(moved.answer(&[]).exit, Some(0));
    moved.database.execute("UPDATE schema_meta SET schema_version = 24", []).unwrap();
    let done = moved.run(&[]);
    assert!(code(&done) == Some(2) && stderr(&done).contains("version 24"), "{}", stderr(&done));
}

#[test]
fn a_file_is_no_proof_of_itself() {
    let moved = Moved::new();
    moved.row(ID, header_row());
    let sessions = moved.new_state().join("sessions");
    put(&sessions.join(live()), [HEADER, said("a1", "null", "only here").as_bytes()].concat().as_slice());
    let done = everlog(&["contains", sessions.to_str().unwrap(), moved.new_database().to_str().unwrap(), "--json"]);
    let summary: Value = serde_json::from_str(stdout(&done).lines().last().unwrap()).unwrap();
    assert_eq!((&summary["summary"]["records"], &summary["summary"]["state_folder"]), (&2.into(), &1.into()), "{summary}");
}

#[test]
fn what_is_missing_is_rescued_as_sessions_that_hold_all_of_it() {
    let moved = Moved::new();
    moved.row(ID, header_row());
    moved.row(ID, said("a1", "null", "there").trim_end());
    let lines = [
        said("a1", "null", "there"),
        said("b2", "\"a1\"", "lost 1"),
        said("a1", "\"b2\"", "lost 2"),
        format!("{}{}", said("c3", "\"b2\"", "fused 1").trim_end(), said("c3", "\"b2\"", "fused 2")),
        said("d4", "\"nobody\"", "lost 3"),
    ];
    moved.file(&live(), &[HEADER, lines.concat().as_bytes()]);
    // A backup repeats what the file has.
    moved.file(&format!("{ID}.jsonl.bak.2026-10-02T10-00-00.000Z"), &[HEADER, lines.concat().as_bytes()]);
    let rescue = moved.scratch.path().join("rescue");
    let run = || moved.answer(&["--rescue", rescue.to_str().unwrap()]);
    let answer = run();
    assert_eq!((answer.exit, &answer.summary["rescued"]), (Some(1), &5.into()));
    let files = tree(&rescue);
    assert_eq!(files.len(), 2, "{:?}", files.keys());
    let (store, transcript) =
        (rescue.join("agents/main/sessions/sessions.json"), files.keys().find(|name| name.ends_with(".jsonl")).unwrap());
    let text = fs::read_to_string(rescue.join(transcript)).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let id = entries[0]["id"].as_str().unwrap();
    assert_ne!(id, ID);
    assert!(transcript.ends_with(&format!("{id}.jsonl")) && fs::read_to_string(store).unwrap().contains(id));
    let said: Vec<&str> = entries[1..].iter().map(|entry| entry["message"]["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["lost 1", "lost 2", "fused 1", "fused 2", "lost 3"]);
    let ids: Vec<&str> = entries[1..].iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    let parents: Vec<Option<&str>> = entries[1..].iter().map(|entry| entry["parentId"].as_str()).collect();
    assert_eq!((ids[0], ids[1], ids[2], ids[4]), ("b2", "a1", "c3", "d4"));
    assert_ne!(ids[3], "c3", "of two entries with one id the import drops the second");
    assert_eq!(parents, [None, Some("b2"), Some("b2"), Some("b2"), Some(ids[3])]);

    // The program's loader shows it, and nothing is written twice or over anything.
    let logs = moved.scratch.path().join("logs");
    let migrated = everlog(&["migrate", rescue.to_str().unwrap(), "-o", logs.to_str().unwrap()]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    run();
    assert_eq!(tree(&rescue), files);
    fs::write(rescue.join(transcript), "mine").unwrap();
    let done = moved.run(&["--rescue", rescue.to_str().unwrap()]);
    assert_eq!(code(&done), Some(2));
    assert_eq!(fs::read_to_string(rescue.join(transcript)).unwrap(), "mine");
}

#[test]
fn a_rescue_needs_a_database_that_its_program_imports_into() {
    let moved = Moved::new();
    moved.file(&live(), &[HEADER]);
    let rescue = moved.scratch.path().join("rescue");
    let done = everlog(&["contains", moved.old().to_str().unwrap(), moved.old().to_str().unwrap(), "--rescue", rescue.to_str().unwrap()]);
    assert!(code(&done) == Some(2) && stderr(&done).contains("is not a database"), "{}", stderr(&done));
    assert!(!rescue.exists());
}

#[test]
fn nothing_that_a_record_says_is_obeyed_by_a_terminal() {
    let moved = Moved::new();
    moved.row(ID, r#"{"id":"a","\u001b]0;key\u0007":1}"#);
    moved.row("s\u{1b}[5m", r#"{"id":"z","x":"elsewhere"}"#);
    moved.file(&live(), &[b"{\"id\":\"a\",\"\\u009b5m\":1}\n{\"id\":\"z\",\"x\":\"elsewhere\"}\n"]);
    moved.file("b\u{1b}c.jsonl", &[b"{torn\n"]);
    let text = stdout(&moved.run(&[]));
    assert!(text.contains("\\u{1b}") && text.contains("\\u{9b}5m"), "{text}");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn people_see_the_first_records_of_each_file_and_three_answers() {
    let moved = Moved::new();
    moved.row(ID, header_row());
    let lines: Vec<String> = (1..=5).map(|n| said(&format!("a{n}"), "null", "lost")).collect();
    moved.file(&live(), &[HEADER, lines.concat().as_bytes()]);
    let text = stdout(&moved.run(&["--max-diffs", "2"]));
    let wanted = "missing\n  at agents/main/sessions/10000000-0000-4000-8000-000000000011.jsonl:2\n";
    assert!(text.starts_with(wanted) && text.contains("… 3 more in agents"), "{text}");
    let summary = "6 records in OLD: 1 identical, 5 missing\nin the live session: 1 of 6\nsomewhere in the database: 1 of 6\nsomewhere in the state folder: 1 of 6\n0 of 1 file contained entirely\n";
    assert!(text.ends_with(summary), "{text}");
}
