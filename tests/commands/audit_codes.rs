//! Every code that an audit promises is one that some folder brings about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::repairing::database;
use support::webui::{Folder, turn, writer};
use support::{everlog, fixtures, stdout};

fn codes(source: &Path) -> BTreeSet<String> {
    let done = everlog(&["audit", source.to_str().unwrap(), "--json"]);
    let rows = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    rows.iter().filter_map(|row| row["code"].as_str().map(str::to_owned)).collect()
}

/// The codes that the reference lists for Hermes WebUI.
fn promised() -> BTreeSet<String> {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/findings.md")).unwrap();
    let section = page.split("## Hermes WebUI").nth(1).unwrap();
    let cells = section.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').nth(1).unwrap());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned)).collect()
}

/// Codes that every format shares, and that an audit of Hermes WebUI gives too.
const SHARED: [&str; 5] = ["key_twice", "session_live", "temporary_kept", "temporary_left", "temporary_newer"];

const WAITS: &str = "\n  \"active_stream_id\": \"run-w\",\n  \"pending_user_message\": \"go\",\n  \"pending_started_at\": 1699999999.5,";

/// Sessions that went wrong in every way that needs no database.
fn battered() -> Folder {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.sidecar("aaa.json.bak", "aaa", &["hi", "ho"], "");
    folder.sidecar("aaa.tmp.1.1", "aaa", &["hi"], "");
    folder.sidecar("aaa.tmp.2.2", "aaa", &["hi", "ho", "hi"], "");
    folder.write("aaa.tmp.3.3", "{\"session_id\": ");
    folder.sidecar("twin.json", "aaa", &["hi"], "");
    folder.sidecar("triplet.json", "aaa", &["other"], "");
    folder.sidecar("waits.json", "waits", &["hi", "ho"], WAITS);
    folder.write("broken.json", "{\"session_id\": \"broken\", \"messages\": [");
    folder.write("broken.json.bak", "[");
    folder.write("gone.json.bak", "[");
    folder.sidecar("lone.json.bak", "lone", &["hi"], "");
    folder.sidecar("turns.json", "turns", &["left"], "");
    let journal = [
        turn("submitted", "p", 1_699_999_900, r#""content":"lost","#),
        turn("submitted", "i", 1_699_998_999, r#""content":"left","#),
        turn("interrupted", "i", 1_699_999_001, ""),
        turn("completed", "c", 3, ""),
        turn("interrupted", "c", 4, ""),
        "torn\n".to_owned(),
    ];
    folder.write("_turn_journal/turns~1.jsonl", &journal.concat().replace("aaa", "turns"));
    folder.write("_turn_journal/orphan~1.jsonl", &turn("submitted", "t", 9, r#""content":"x","#).replace("aaa", "orphan"));
    fs::write(folder.path().join("_turn_journal/orphan~2.jsonl"), b"\xff\n").unwrap();
    folder.index(&["aaa", "waits", "nowhere"]);
    let text = fs::read_to_string(folder.path().join("_index.json")).unwrap();
    folder.write("_index.json", &text.replacen("1700000000.5", "1600000000.5", 1));
    folder
}

#[test]
fn every_listed_code_is_brought_about_by_some_folder_and_no_other_is() {
    let folder = battered();
    let mut found = codes(&folder.path());
    folder.write("_index.json", "{");
    found.extend(codes(&folder.path()));
    fs::remove_file(folder.path().join("_index.json")).unwrap();
    found.extend(codes(&folder.path()));
    database(folder.home(), &["lost", "deleted"]);
    let connection = rusqlite::Connection::open(folder.home().join("state.db")).unwrap();
    connection.execute("INSERT INTO sessions (id, source) VALUES ('empty', 'webui')", []).unwrap();
    folder.write("_deleted_webui_sessions.json", "{\"version\": 1, \"ids\": [\"deleted\"]}");
    found.extend(codes(&folder.path()));
    fs::write(folder.home().join("state.db"), [7; 4096]).unwrap();
    found.extend(codes(&folder.path()));
    let mut writer = writer();
    fs::write(folder.path().join(format!("_turn_journal/waits~{}.jsonl", writer.id())), "").unwrap();
    found.extend(codes(&folder.path()));
    writer.kill().unwrap();
    writer.wait().unwrap();
    // A conversion reports it; an audit has better words for each cause.
    let mut promised = promised();
    assert!(promised.remove("sidecar_missing"));
    promised.extend(SHARED.map(str::to_owned));
    assert_eq!(promised.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "listed, and never seen");
    assert_eq!(found.difference(&promised).collect::<Vec<_>>(), Vec::<&String>::new(), "seen, and not listed");
}

#[test]
fn other_formats_are_audited_for_what_goes_wrong_in_them() {
    let mut wanted = BTreeSet::from([
        ("gptme", "events_disagree"),
        ("gptme", "torn_tail"),
        ("openclaw", "unsupported_version"),
        ("pi", "lost_parent"),
        ("pi", "circular_parents"),
        ("pi", "loader_fails"),
        ("picoclaw", "count_differs"),
        ("picoclaw", "loader_fails"),
        ("picoclaw", "meta_missing"),
    ]);
    for case in fixtures().into_iter().filter(|case| case.format != "hermes-webui") {
        let found = codes(&case.copy().path().join("input"));
        wanted.retain(|(format, code)| *format != case.format || !found.contains(*code));
    }
    assert!(wanted.is_empty(), "in no case: {wanted:?}");
}
