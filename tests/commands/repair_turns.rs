//! Turns that a repair shows again: what it takes from where, and what it
//! leaves alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::repair::Action;
use everlog::model::files::RelPath;
use everlog::store::disk::RealDisk;
use everlog::store::repairs::{Planned, Repair};
use serde_json::Value;
use std::fs;
use support::repairing::{Bench, CUT_SHORT, contents, database, messages, said, worn};
use support::webui::{Folder, turn};

/// A folder with one session that waits for the turn that its database has.
fn waiting(rows: &[&str], prompt: &str, more: &str) -> Folder {
    let folder = Folder::new();
    database(folder.home(), &["aaa"]);
    let waits = format!(
        "\n  \"active_stream_id\": \"run-t\",\n  \"pending_user_message\": \"{prompt}\",\n  \"pending_started_at\": 1699990001.5,{more}"
    );
    folder.sidecar("aaa.json", "aaa", rows, &waits);
    folder.index(&["aaa"]);
    folder
}

fn repaired(folder: &Folder) -> Vec<(String, String)> {
    let bench = Bench::of(&folder.path(), folder.home());
    bench.repair();
    assert_eq!(bench.plan().0, Vec::<String>::new());
    messages(&folder.path().join("aaa.json"))
}

fn sidecar(folder: &Folder) -> Value {
    serde_json::from_slice(&fs::read(folder.path().join("aaa.json")).unwrap()).unwrap()
}

const TURN: [(&str, &str); 2] = [("user", "asked"), ("assistant", "answered")];

#[test]
fn a_turn_is_taken_from_the_database_once() {
    let hello = [("user", "hi"), ("assistant", "ho")];
    let folder = waiting(&["hi", "ho"], "asked", "");
    assert_eq!(repaired(&folder), said(&[hello, TURN].concat()));
    let now = sidecar(&folder);
    assert!(now["active_stream_id"].is_null() && now["pending_user_message"].is_null() && now["pending_started_at"].is_null(), "{now}");
    assert_eq!(repaired(&waiting(&["hi", "ho", "asked"], "asked", "")), said(&[hello, TURN].concat()), "saved eagerly");
    let other = repaired(&waiting(&["hi", "ho"], "something else", ""));
    assert_eq!(other, said(&[hello[0], hello[1], ("user", "something else"), CUT_SHORT]), "it is another turn that the database has");
}

#[test]
fn a_prompt_that_stands_there_already_is_not_shown_twice_and_the_model_sees_it_too() {
    let folder = waiting(&["hi", "ho", "go"], "go", "\n  \"context_messages\": [{\"role\": \"user\", \"content\": \"hi\"}],");
    assert_eq!(repaired(&folder), said(&[("user", "hi"), ("assistant", "ho"), ("user", "go"), CUT_SHORT]));
    let context: Vec<String> =
        sidecar(&folder)["context_messages"].as_array().unwrap().iter().map(|row| row["content"].to_string()).collect();
    assert_eq!(context, ["\"hi\"", "\"go\""], "the note is for people");
}

#[test]
fn a_transcript_that_was_meant_to_shrink_stays_short() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "\n  \"intentional_shrink_generation\": \"g\",");
    folder.sidecar("aaa.json.bak", "aaa", &["hi", "ho"], "");
    folder.index(&["aaa"]);
    assert_eq!(repaired(&folder), said(&[("user", "hi")]));
}

#[test]
fn rows_that_were_put_away_stay_away() {
    let folder = waiting(&["hi", "ho"], "asked", "");
    let connection = rusqlite::Connection::open(folder.home().join("state.db")).unwrap();
    connection.execute("UPDATE messages SET active = 0 WHERE role = 'assistant'", []).unwrap();
    drop(connection);
    assert_eq!(repaired(&folder)[2..], said(&TURN[..1]));
}

#[test]
fn a_prompt_after_a_cut_moves_the_cut() {
    let folder = waiting(&["hi", "ho"], "new", "\n  \"truncation_watermark\": 5.0,");
    assert_eq!(repaired(&folder)[2..], said(&[("user", "new"), CUT_SHORT]));
    assert_eq!(sidecar(&folder)["truncation_watermark"], 1_699_990_001);
}

#[test]
fn what_was_cut_ended_or_is_no_list_is_left_alone() {
    let lost = |more: &str| {
        let folder = Folder::new();
        folder.sidecar("aaa.json", "aaa", &["hi", "ho"], more);
        folder.index(&["aaa"]);
        folder.write("_turn_journal/aaa~1.jsonl", &turn("submitted", "t", 1_699_999_900, r#""content":"lost","#));
        folder
    };
    let plan = |folder: &Folder| Bench::of(&folder.path(), folder.home()).plan().0;
    assert_eq!(plan(&lost("")).len(), 2);
    assert_eq!(plan(&lost("\n  \"truncation_boundary\": 5.0,")), Vec::<String>::new());
    let ended = lost("");
    let end = r#"{"run_id":"run-t","seq":1,"event":"cancel","created_at":1.5,"terminal":true,"terminal_state":"interrupted-by-user","payload":{}}"#;
    ended.write("_run_journal/aaa/run-t.jsonl", &format!("{end}\n"));
    assert_eq!(plan(&ended), Vec::<String>::new());
    let odd = waiting(&["hi"], "asked", "");
    let text = fs::read_to_string(odd.path().join("aaa.json")).unwrap();
    let (head, tail) = (text.find("[{").unwrap(), text.find("}],").unwrap() + 2);
    odd.write("aaa.json", &format!("{}{{}}{}", &text[..head], &text[tail..]));
    assert_eq!(plan(&odd), Vec::<String>::new(), "its messages are no list");
}

#[test]
fn the_list_goes_on_naming_what_was_deleted_and_forgets_what_is_gone() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.index(&["aaa", "deleted", "gone"]);
    folder.write("_deleted_webui_sessions.json", "{\"version\": 1, \"ids\": [\"deleted\"]}");
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), ["_index.json"]);
    let rows: Vec<Value> = serde_json::from_slice(&fs::read(folder.path().join("_index.json")).unwrap()).unwrap();
    assert_eq!(rows.iter().map(|row| row["session_id"].as_str().unwrap()).collect::<Vec<_>>(), ["aaa", "deleted"]);
}

#[test]
fn a_file_that_changed_after_the_plan_is_not_written_over() {
    let folder = worn();
    let (source, path) = (folder.path(), RelPath::new("aaa.json"));
    let before = contents(&source);
    let repair = Repair::in_folder(&RealDisk, &source, &folder.home().join("kept"));
    let planned = |old| [Planned { path: &path, old_sha256: old, bytes: b"new", why: Vec::new() }];
    assert!(repair.prepare("p", 0, &planned(Some("another"))).is_err());
    assert!(repair.prepare("p", 0, &planned(None)).is_err(), "it must not be there");
    let new = RelPath::new("new.json");
    let mut receipt = repair.prepare("p", 0, &[Planned { path: &new, old_sha256: None, bytes: b"new", why: Vec::new() }]).unwrap();
    folder.write("new.json", "somebody else's");
    assert!(repair.carry_out(&mut receipt).is_err());
    fs::remove_file(source.join("new.json")).unwrap();
    assert!(contents(&source) == before);
}

#[test]
fn old_bytes_that_are_no_longer_what_they_were_are_not_put_back() {
    let folder = worn();
    let bench = Bench::of(&folder.path(), folder.home());
    bench.repair();
    let receipt = bench.receipt();
    fs::write(receipt.with_file_name("old-0001-aaa.json"), "forged").unwrap();
    assert!(bench.run(Action::Undo(receipt)).unwrap_err().contains("changed"));
    assert!(!fs::read_to_string(folder.path().join("aaa.json")).unwrap().contains("forged"));
}
