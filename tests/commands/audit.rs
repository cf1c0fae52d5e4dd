//! `everlog audit`: agrees with the program's own audit, says what that leaves
//! out, changes nothing, and is stopped by nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::bench::{Bench, code, lines};
use support::repairing;
use support::webui::{Folder, corpus, corpus_copy, turn, writer};
use support::{all_cases, everlog, stderr, stdout, tree};
use tempfile::TempDir;

fn audit(source: &Path, more: &[&str]) -> Output {
    everlog(&[&["audit", source.to_str().unwrap(), "--json"], more].concat())
}

/// The findings, and the summary after them.
fn findings(output: &Output) -> (Vec<Value>, Value) {
    let mut rows: Vec<Value> = stdout(output).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let summary = rows.pop().expect("no summary")["summary"].clone();
    assert!(summary.is_object(), "the last line is no summary: {}{}", stdout(output), stderr(output));
    (rows, summary)
}

fn coded<'v>(rows: &'v [Value], code: &str) -> Vec<&'v Value> {
    rows.iter().filter(|row| row["code"] == code).collect()
}

fn only<'v>(rows: &'v [Value], code: &str) -> &'v Value {
    let found = coded(rows, code);
    assert_eq!(found.len(), 1, "{code} is not there once: {rows:#?}");
    found[0]
}

/// The kinds that the program's own audit has.
const ITS_OWN: [&str; 10] = [
    "shrunken_live",
    "orphan_backup",
    "orphan_backup_without_state_row",
    "malformed_orphan_backup",
    "index_missing_file",
    "index_missing_entry",
    "state_db_missing_sidecar",
    "state_db_orphan_webui_row",
    "state_db_deleted_webui_tombstone",
    "turn_journal_pending_turn",
];

fn key(item: &Value, kind: &str) -> String {
    let category = &item["category"];
    let repairable = if category.is_null() { item["repairable"].as_bool().unwrap() } else { category == "repairable" };
    // For a prompt that only a journal has the program has no repair at all.
    let repairable = if kind == "turn_journal_pending_turn" { Value::Null } else { repairable.into() };
    let fields = ["session_id", "live_messages", "bak_messages", "turn_id", "event"].map(|name| item[name].to_string());
    format!("{kind} {repairable} {fields:?}")
}

#[test]
fn it_agrees_with_the_audit_of_the_program_in_every_case() {
    let Ok(cases) = fs::read_dir(corpus()) else {
        return support::campaign::missing("the corpus is not beside the project: nothing to agree with");
    };
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases.flatten().map(|entry| entry.path()) {
        let Ok(text) = fs::read_to_string(case.join("expected.json")) else { continue };
        let expected: Value = serde_json::from_str(&text).unwrap();
        let done = audit(&case.join("input"), &[]);
        let (rows, _) = findings(&done);
        let mut want: Vec<String> =
            expected["audit"]["items"].as_array().unwrap().iter().map(|item| key(item, item["kind"].as_str().unwrap())).collect();
        let own = |row: &&Value| ITS_OWN.contains(&row["code"].as_str().unwrap());
        let mut got: Vec<String> = rows.iter().filter(own).map(|row| key(row, row["code"].as_str().unwrap())).collect();
        want.sort();
        got.sort();
        compared += want.len();
        if want != got {
            wrong.push(format!("{}\n  program {want:#?}\n  everlog {got:#?}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 12, "only {compared} items were compared");
    eprintln!("{compared} items of the program's own audit are ours too");
}

#[test]
fn it_changes_nothing_and_says_the_same_at_any_job_count() {
    let Some(zoo) = corpus_copy("recovery-zoo") else { return };
    let before = tree(zoo.path());
    let one = audit(&zoo.path().join("input"), &["--jobs", "1"]);
    assert_eq!(stdout(&one), stdout(&audit(&zoo.path().join("input"), &["--jobs", "4"])));
    assert_eq!(code(&one), Some(1));
    assert_eq!(tree(zoo.path()), before, "the source changed");
}

impl Looked for Folder {
    fn found(&self) -> (Vec<Value>, Value) {
        findings(&audit(&self.path(), &[]))
    }
}

trait Looked {
    fn found(&self) -> (Vec<Value>, Value);
}

#[test]
fn a_clean_folder_has_no_findings_and_exits_0() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi", "ho"], "");
    folder.index(&["aaa"]);
    let done = audit(&folder.path(), &[]);
    let (rows, summary) = findings(&done);
    assert_eq!((rows.len(), code(&done)), (0, Some(0)), "{rows:#?}");
    assert_eq!((&summary["sessions"], &summary["indexes"], &summary["findings"]), (&1.into(), &1.into(), &0.into()), "{summary}");
    let said = stdout(&everlog(&["audit", folder.path().to_str().unwrap()]));
    assert!(said.ends_with("nothing was changed\n"), "{said}");
}

#[test]
fn what_is_ordinary_exits_0_and_what_is_nothing_exits_2() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi", "ho"], "");
    let done = audit(&folder.path(), &[]);
    assert_eq!(only(&findings(&done).0, "index_missing")["severity"], "info");
    assert_eq!(code(&done), Some(0));
    let nothing = TempDir::new().unwrap();
    let done = audit(nothing.path(), &[]);
    assert_eq!(code(&done), Some(2));
    assert!(stderr(&done).contains("no session found"), "{}", stderr(&done));
    assert_eq!(code(&audit(Path::new("/nowhere/at/all"), &[])), Some(2));
}

#[test]
fn turns_that_were_cut_short_are_told_from_those_that_look_so() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["asked", "answered", "cut", "", "left"], "");
    let text = fs::read_to_string(folder.path().join("aaa.json")).unwrap();
    folder.write("aaa.json", &text.replace(r#""content": """#, r#""content": "stopped", "_error": true"#));
    folder.index(&["aaa"]);
    let asked = |turn: &str| format!("\"content\":\"{turn}\",");
    let at = |n: u32| 1_699_999_000 + n;
    let journal = [
        turn("submitted", "asked", at(0), &asked("asked")),
        turn("worker_started", "asked", at(1), ""),
        turn("submitted", "cut", at(2), &asked("cut")),
        turn("interrupted", "cut", at(3), ""),
        turn("submitted", "left", at(4), &asked("left")),
        turn("worker_started", "left", at(5), ""),
        turn("submitted", "undone", at(6), &asked("undone")),
        turn("worker_started", "undone", at(7), ""),
    ]
    .concat();
    folder.write("_turn_journal/aaa~1.jsonl", &journal);
    let (rows, _) = folder.found();
    let told: BTreeMap<&str, (&str, &str, u64)> = coded(&rows, "turn_journal_interrupted_turn")
        .into_iter()
        .map(|row| {
            let text = |name: &str| row[name].as_str().unwrap();
            (text("turn_id"), (text("severity"), text("marker"), row["line"].as_u64().unwrap()))
        })
        .collect();
    assert_eq!(told, BTreeMap::from([("cut", ("info", "visible", 4)), ("left", ("warn", "none", 6))]), "{rows:#?}");
    // Settled by the journal of its run.
    let end = r#"{"version":1,"event_id":"run-left:1","seq":1,"run_id":"run-left","session_id":"aaa","event":"apperror","type":"apperror","created_at":1.5,"terminal":true,"terminal_state":"errored","payload":{}}"#;
    folder.write("_run_journal/aaa/run-left.jsonl", &format!("{end}\n"));
    assert_eq!(coded(&folder.found().0, "turn_journal_interrupted_turn").len(), 1);
}

#[test]
fn a_prompt_that_only_a_journal_has_is_pending_until_the_transcript_has_it() {
    let folder = Folder::new();
    folder.index(&["aaa"]);
    let journal = turn("submitted", "t1", 1_699_999_900, r#""role":"user","content":" lost ","attachments":[],"#);
    folder.write("_turn_journal/aaa~1.jsonl", &format!("{journal}{}", turn("completed", "t0", 5, "") + &turn("interrupted", "t0", 6, "")));
    folder.sidecar("aaa.json", "aaa", &["hi", "ho"], "");
    let (rows, _) = folder.found();
    let pending = only(&rows, "turn_journal_pending_turn");
    assert_eq!((&pending["turn_id"], &pending["event"], &pending["line"]), (&"t1".into(), &"submitted".into(), &1.into()));
    assert_eq!(pending["file"], "_turn_journal/aaa~1.jsonl");
    assert_eq!(only(&rows, "turn_journal_terminal_collision")["line"], 3);
    folder.sidecar("aaa.json", "aaa", &["hi", "ho", "lost", "found"], "");
    assert!(coded(&folder.found().0, "turn_journal_pending_turn").is_empty());
}

#[test]
fn a_turn_that_is_running_is_no_finding_to_act_on() {
    let folder = Folder::new();
    folder.index(&["aaa"]);
    let pending = "\n  \"active_stream_id\": \"run-t\",\n  \"pending_user_message\": \"go\",\n  \"pending_started_at\": 1699999999.5,";
    folder.sidecar("aaa.json", "aaa", &["hi", "ho"], pending);
    let stale = folder.found().0;
    assert_eq!(only(&stale, "stale_pending_turn")["repairable"], true, "{stale:#?}");
    let mut writer = writer();
    let shard = folder.path().join(format!("_turn_journal/aaa~{}.jsonl", writer.id()));
    folder.write("_turn_journal/aaa~1.jsonl", "");
    fs::write(&shard, turn("submitted", "t", 1_699_999_999, r#""content":"go","#)).unwrap();
    let (rows, _) = folder.found();
    assert_eq!(only(&rows, "session_live")["severity"], "info");
    assert!(coded(&rows, "stale_pending_turn").is_empty() && coded(&rows, "turn_journal_pending_turn").is_empty(), "{rows:#?}");
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(only(&folder.found().0, "turn_journal_pending_turn")["turn_id"], "t");
}

#[test]
fn backups_duplicates_lists_and_leftovers_are_judged() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.sidecar("aaa.json.bak", "aaa", &["hi", "ho"], "");
    folder.sidecar("bbb.json", "bbb", &["hi"], "\n  \"intentional_shrink_generation\": \"g\",");
    folder.sidecar("bbb.json.bak", "bbb", &["hi", "ho"], "");
    folder.sidecar("ccc.json", "bbb", &["other"], "");
    folder.write("ddd.json", "{\"session_id\": \"ddd\", \"messages\": [");
    folder.sidecar("eee.json.bak", "eee", &["hi", "ho"], "");
    folder.write("fff.json.bak", "nothing");
    folder.sidecar("aaa.tmp.7.8", "aaa", &["hi", "ho", "hi", "ho"], "");
    folder.write("_run_journal/ggg/r.jsonl", "");
    folder.write("_turn_journal/hhh~9.jsonl", &turn("submitted", "t", 9, r#""content":"x","#).replace("aaa", "hhh"));
    folder.index(&["aaa", "bbb", "gone"]);
    let text = fs::read_to_string(folder.path().join("_index.json")).unwrap();
    folder.write("_index.json", &text.replacen("1700000000.5", "1600000000.5", 1));
    let (rows, summary) = folder.found();
    let file = |code: &str| only(&rows, code)["file"].as_str().unwrap().to_owned();
    assert_eq!(file("shrunken_live"), "aaa.json");
    assert_eq!(file("divergent_duplicate"), "ccc.json");
    assert_eq!((file("sidecar_unreadable"), &only(&rows, "sidecar_unreadable")["byte"]), ("ddd.json".to_owned(), &36.into()));
    assert_eq!((file("orphan_backup"), file("malformed_orphan_backup")), ("eee.json.bak".to_owned(), "fff.json.bak".to_owned()));
    assert_eq!(file("temporary_newer"), "aaa.tmp.7.8");
    let journals: Vec<_> =
        coded(&rows, "orphan_journal").iter().map(|row| (row["session_id"].as_str().unwrap(), row["severity"].as_str().unwrap())).collect();
    assert_eq!(journals, [("ggg", "info"), ("hhh", "warn")]);
    assert_eq!((&only(&rows, "index_missing_file")["line"], &only(&rows, "index_row_stale")["line"]), (&4.into(), &2.into()));
    assert_eq!(coded(&rows, "index_missing_entry").len(), 2, "{rows:#?}");
    assert_eq!(summary["findings"].as_u64().unwrap(), rows.len() as u64);
    folder.write("_index.json", "[{]");
    assert_eq!(only(&folder.found().0, "index_unreadable")["byte"], 3);
}

#[test]
fn one_bad_file_and_a_bad_database_stop_nothing() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.index(&["aaa"]);
    fs::write(folder.path().join("_turn_journal.jsonl"), "").unwrap();
    folder.write("_turn_journal/aaa~1.jsonl", "x");
    fs::write(folder.path().join("_turn_journal/bbb~1.jsonl"), b"\xff\n").unwrap();
    fs::write(folder.home().join("state.db"), [7; 4096]).unwrap();
    let (rows, _) = folder.found();
    assert_eq!(only(&rows, "state_db_unreadable")["severity"], "warn");
    assert_eq!(only(&rows, "turn_journal_malformed_event")["file"], "_turn_journal/aaa~1.jsonl");
    assert_eq!(only(&rows, "journal_unreadable")["file"], "_turn_journal/bbb~1.jsonl");
}

#[test]
fn other_formats_are_audited_by_what_their_conversion_would_find() {
    let bench = Bench::new();
    bench.conversation("good", &lines(3));
    bench.conversation("torn", &format!("{}{{\"role\": \"us", lines(2)));
    let done = audit(&bench.source(), &[]);
    let (rows, summary) = findings(&done);
    let torn = only(&rows, "torn_tail");
    assert_eq!(
        (&torn["file"], &torn["line"], &torn["byte"], &torn["repairable"]),
        (&"torn/conversation.jsonl".into(), &3.into(), &13.into(), &false.into())
    );
    assert_eq!((&torn["format"], &summary["sessions"], code(&done)), (&"gptme".into(), &2.into(), Some(1)));
    let said = stdout(&everlog(&["audit", bench.source().to_str().unwrap()]));
    assert!(said.contains("[torn_tail]\n  at torn/conversation.jsonl:3:13\n"), "{said}");
    let one = audit(&bench.source(), &["--include", "good"]);
    assert_eq!(code(&one), Some(0), "{}", stdout(&one));
}

/// What tells a finding from others. Places move when files are repaired.
fn name(row: &Value) -> String {
    ["code", "severity", "file", "session_id", "turn_id"].map(|key| row[key].to_string()).join(" ")
}

#[test]
fn what_is_said_to_be_repairable_is_gone_after_a_repair() {
    let (mut repaired, mut wrong) = (0, Vec::new());
    for case in all_cases().into_iter().filter(|case| case.format == "hermes-webui") {
        let scratch = case.copy();
        let input = scratch.path().join("input");
        let (before, _) = findings(&audit(&input, &[]));
        let promised: Vec<&Value> = before.iter().filter(|row| row["repairable"] == true).collect();
        let bench = repairing::Bench::of(&input, scratch.path());
        let written = bench.repair();
        if written.is_empty() != promised.is_empty() {
            wrong.push(format!("{}: {} are repairable, and {written:?} were written", case.id(), promised.len()));
        }
        let (after, _) = findings(&audit(&input, &[]));
        let left: Vec<String> = after.iter().map(name).collect();
        wrong.extend(promised.iter().filter(|row| left.contains(&name(row))).map(|row| format!("{}: still there: {row}", case.id())));
        wrong.extend(after.iter().filter(|row| row["repairable"] == true).map(|row| format!("{}: to be repaired again: {row}", case.id())));
        repaired += promised.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(repaired > 10, "only {repaired} findings were repaired");
    eprintln!("{repaired} findings that repair can mend are gone after it");
}
