//! The odd rules of a whole load, each on the smallest session that shows it.

use super::*;
use crate::model::files::{Entry, RelPath, SourceFile};

fn unit<'n>(files: impl IntoIterator<Item = (&'n str, &'n str)>) -> Files {
    let mut unit = Files::new("unit");
    for (path, text) in files {
        unit.insert(RelPath::new(path), Entry::File(SourceFile { bytes: text.into(), mtime_ns: 0 }));
    }
    unit
}

fn load(files: &Files, head: Option<&str>) -> (Vec<String>, LoadOutcome) {
    let mut rows = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |row| rows.push(String::from_utf8(row.to_vec()).unwrap()));
    (rows, outcome)
}

fn names(files: &Files) -> Vec<String> {
    loader(files).heads().iter().map(ToString::to_string).collect()
}

fn sidecar(text: &str) -> (Vec<String>, LoadOutcome) {
    load(&unit([("s1.json", text)]), None)
}

fn journal(lines: &str) -> BTreeMap<String, String> {
    load(&unit([("_turn_journal/s1~1.jsonl", lines)]), None).1.facts
}

fn run(lines: &str) -> BTreeMap<String, String> {
    load(&unit([("_run_journal/s1/r1.jsonl", lines)]), None).1.facts
}

fn fact<'f>(facts: &'f BTreeMap<String, String>, name: &str) -> Option<&'f str> {
    facts.get(name).map(String::as_str)
}

#[test]
fn the_rows_of_a_sidecar_are_shown_one_by_one() {
    let text = "{\n  \"title\": \"T\",\n  \"model\": \"m\",\n  \"compression_anchor_summary\": \"so far\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"timestamp\": 1.10\n    },\n    7\n  ],\n  \"tool_calls\": [{}, {}]\n}";
    let (rows, outcome) = sidecar(text);
    assert_eq!(rows, [r#"{"role":"user","timestamp":1.10}"#, "7"]);
    assert_eq!((outcome.error, outcome.model.as_deref(), outcome.summary.as_deref()), (None, Some("m"), Some("so far")));
    assert_eq!(outcome.active, Some(HeadName::main()));
    assert_eq!((fact(&outcome.facts, "title"), fact(&outcome.facts, "tool_calls")), (Some("T"), Some("2")));
}

#[test]
fn of_equal_keys_the_last_counts_and_null_is_an_empty_list() {
    let (rows, outcome) = sidecar(r#"{"messages":[1],"title":"a","m\u0065ssages":[2],"title":null}"#);
    assert_eq!(rows, ["2"]);
    assert_eq!(fact(&outcome.facts, "title"), None);
    let (rows, outcome) = sidecar(r#"{"messages":[1],"messages":null}"#);
    assert_eq!((rows.len(), outcome.error), (0, None));
    assert_eq!(fact(&outcome.facts, "title"), Some("Untitled"));
    assert_eq!(sidecar(r#"{"compression_anchor_summary":""}"#).1.summary, None);
}

#[test]
fn a_value_that_is_no_list_is_kept_and_shows_nothing() {
    for (value, kind) in [(r#"{"a":1}"#, "object"), (r#""ab""#, "string"), ("3", "number"), ("true", "true")] {
        let (rows, outcome) = sidecar(&format!(r#"{{"messages":{value}}}"#));
        assert_eq!((rows.len(), outcome.error), (0, None));
        assert_eq!(fact(&outcome.facts, "messages_kind"), Some(kind));
    }
    assert_eq!(fact(&sidecar(r#"{"messages":{}}"#).1.facts, "messages_kind"), None);
}

#[test]
fn a_sidecar_that_the_program_cannot_load_shows_nothing() {
    let deep = format!(r#"{{"messages":[1],"x":{}{}}}"#, "[".repeat(994), "]".repeat(994));
    let rows_of_wrong_calls = r#"{"messages":[1,{"_partial":1,"_partial_tool_calls":5}]}"#;
    for text in [
        "",
        "[]",
        "\u{feff}{}",
        r#"{"messages":[1]} x"#,
        r#"{"messages":[1],"workspace":null}"#,
        r#"{"messages":[1],"workspace":"/a\u0000b"}"#,
        r#"{"messages":[1],"worktree_path":5}"#,
        r#"{"messages":[1],"self":0}"#,
        r#"{"messages":[1],"message_count":Infinity}"#,
        r#"{"messages":[1],"post_compression_context_tokens_estimate":-1e400}"#,
        rows_of_wrong_calls,
        &deep,
    ] {
        let (rows, outcome) = sidecar(text);
        assert_eq!((rows.len(), outcome.error.as_deref()), (0, Some("sidecar cannot be read")), "{}", text.get(..60).unwrap_or(text));
        assert_eq!(names(&unit([("s1.json", text)])), ["branch:main"]);
    }
    let fine = format!(r#"{{"messages":[1],"x":{}{},"created_workspace":0,"message_count":"x"}}"#, "[".repeat(993), "]".repeat(993));
    assert_eq!(sidecar(&fine).0, ["1"]);
    let mut bytes = unit([]);
    bytes.insert(RelPath::new("s1.json"), Entry::File(SourceFile { bytes: b"{\"title\":\"\xff\"}".to_vec(), mtime_ns: 0 }));
    assert_eq!(load(&bytes, None).1.error.as_deref(), Some("sidecar cannot be read"));
}

#[test]
fn partial_rows_that_say_the_same_are_shown_once() {
    let shown = |rows: &str| sidecar(&format!(r#"{{"messages":[{rows}],"context_messages":[{rows}]}}"#)).0.len();
    let p = r#"{"_partial":true,"content":" p","timestamp":1}"#;
    assert_eq!(shown(&format!("{p},{p},{{}},{p}")), 3);
    for (other, count) in [
        (r#"{"_partial":1,"content":"p\u2003"}"#, 1),
        (r#"{"_partial":0,"content":"p"}"#, 2),
        (r#"{"_partial":true,"content":"q"}"#, 2),
        (r#"{"_partial":true,"content":"p","reasoning":"r"}"#, 2),
        (r#"{"_partial":true,"content":"p","reasoning":0}"#, 1),
        (r#"{"_partial":true,"content":"p","_partial_tool_calls":[{}]}"#, 2),
        (r#"{"_partial":true,"content":"p","_partial_tool_calls":["x",1]}"#, 1),
        (r#"{"_partial":true,"content":"p","_partial_tool_calls":{"a":{}}}"#, 1),
    ] {
        assert_eq!(shown(&format!("{p},{other}")), count, "{other}");
    }
    assert_eq!(shown(r#"{"_partial":1,"content":[1.0,"a"]},{"_partial":1,"content":"[1.0, 'a']"}"#), 1);
    let calls = |call: &str| format!(r#"{{"_partial":1,"_partial_tool_calls":[{call}]}}"#);
    for (a, b, count) in [
        (r#"{"args":{"x":1,"y":2}}"#, r#"{"args":{"y":2,"x":1},"done":false,"duration":9}"#, 1),
        (r#"{"args":{"x":1}}"#, r#"{"args":{"x":1.0}}"#, 2),
        (r#"{"preview":"a"}"#, r#"{"preview":"","snippet":"a"}"#, 1),
        (r#"{"done":1}"#, r#"{"done":0}"#, 2),
        (r#"{"is_error":1}"#, r#"{}"#, 2),
        (r#"{"name":"n"}"#, r#"{"name":"m"}"#, 2),
    ] {
        assert_eq!(shown(&format!("{},{}", calls(a), calls(b))), count, "{a} {b}");
    }
}

#[test]
fn each_list_is_a_head_and_the_context_keeps_every_row() {
    let p = r#"{"_partial":true}"#;
    let live = format!(r#"{{"messages":[{p},{p}],"context_messages":[{p},{p}]}}"#);
    let files = unit([("s1.json", live.as_str()), ("s1.json.bak", r#"{"messages":[1,2,3],"context_messages":[]}"#)]);
    assert_eq!(names(&files), ["branch:main", "context:main", "backup:bak", "backup:bak-context"]);
    let count = |head: &str| load(&files, Some(head)).0.len();
    assert_eq!((count("branch:main"), count("context:main"), count("backup:bak"), count("backup:bak-context")), (1, 2, 3, 0));
    let (_, outcome) = load(&files, Some("backup:bak"));
    assert_eq!(outcome, LoadOutcome::default());
    let facts = load(&files, None).1.facts;
    assert_eq!((fact(&facts, "live_messages"), fact(&facts, "bak_messages")), (Some("2"), Some("3")));
    assert_eq!(names(&unit([("s1.json", r#"{"context_messages":{}}"#)])), ["branch:main"]);
    for head in ["view:x", "context:main", "backup:bak", "backup:bak-context"] {
        let files = unit([("s1.json", r#"{"context_messages":{}}"#)]);
        assert_eq!(load(&files, Some(head)).1.error.as_deref(), Some("no such list"), "{head}");
    }
}

#[test]
fn a_backup_that_cannot_be_read_fails_alone() {
    let files = unit([("s1.json", r#"{"messages":[1]}"#), ("s1.json.bak", r#"{"messages":[1,"#)]);
    let (rows, outcome) = load(&files, None);
    assert_eq!((rows.len(), outcome.error), (1, None));
    assert_eq!(outcome.failures.get("backup:bak").map(String::as_str), Some("backup cannot be read"));
    assert_eq!(load(&files, Some("backup:bak")).1.error.as_deref(), Some("backup cannot be read"));
    assert_eq!(fact(&outcome.facts, "bak_messages"), Some("-1"));
}

#[test]
fn without_a_sidecar_that_may_be_loaded_the_session_says_so() {
    let orphan = unit([("s1.json.bak", r#"{"messages":[1]}"#)]);
    assert_eq!(load(&orphan, None).1.error.as_deref(), Some("no sidecar"));
    assert_eq!(load(&orphan, Some("backup:bak")).0, ["1"]);
    let bad_id = unit([("a.b.json", r#"{"messages":[1]}"#), ("_turn_journal/a.b.jsonl", "")]);
    assert_eq!(load(&bad_id, None).1.error.as_deref(), Some("bad session id"));
    // By itself it is a file that a person named as a session.
    assert_eq!(load(&unit([("a.b.json", r#"{"messages":[1]}"#)]), None).0, ["1"]);
    let mut link = unit([]);
    link.insert(RelPath::new("s1.json"), Entry::Link { target: b"elsewhere".to_vec() });
    assert_eq!(load(&link, None).1.error.as_deref(), Some("no sidecar"));
}

#[test]
fn a_turn_is_in_the_state_of_its_latest_event() {
    let facts = journal(concat!(
        "{\"turn_id\":\"a\",\"event\":\"completed\",\"created_at\":3}\n",
        "{\"turn_id\":\" a \",\"event\":\"worker_started\",\"created_at\":2}\r\n",
        "{\"turn_id\":\"b\",\"event\":\"submitted\",\"created_at\":\"2.5\"}\n\n",
        "{\"turn_id\":\"b\",\"event\":\"note\",\"created_at\":2.5}\n",
        "{\"turn_id\":null,\"event\":\"submitted\"}\n{\"turn_id\":7}\n[1]\n{\"turn_id\":\"c",
    ));
    assert_eq!(fact(&facts, "turns"), Some(r#"{"7":null,"a":"completed","b":"note"}"#));
    assert_eq!((fact(&facts, "journal_events"), fact(&facts, "journal_malformed")), (Some("6"), Some("2")));
    assert_eq!(fact(&facts, "turn_collisions"), None);
}

#[test]
fn shards_are_read_in_byte_order_with_the_old_file_last() {
    let event = |name: &str| format!("{{\"turn_id\":\"t\",\"event\":\"{name}\",\"created_at\":1}}\n");
    let (old, nine, ten) = (event("old"), event("nine"), event("ten"));
    let shards = [("_turn_journal/s1~9.jsonl", nine.as_str()), ("_turn_journal/s1~10.jsonl", &ten)];
    assert_eq!(fact(&load(&unit(shards), None).1.facts, "turns"), Some(r#"{"t":"nine"}"#));
    let all = shards.into_iter().chain([("_turn_journal/s1.jsonl", old.as_str())]);
    assert_eq!(fact(&load(&unit(all), None).1.facts, "turns"), Some(r#"{"t":"old"}"#));
}

#[test]
fn turns_that_end_twice_are_listed_in_the_order_of_their_ends() {
    let event = |turn: &str, name: &str| format!("{{\"turn_id\":\"{turn}\",\"event\":\"{name}\"}}\n");
    let lines = [("a", "submitted"), ("b", "completed"), ("a", "interrupted"), ("a", "completed"), ("b", "completed"), ("c", "completed")];
    let facts = journal(&lines.map(|(turn, name)| event(turn, name)).concat());
    assert_eq!(fact(&facts, "turn_collisions"), Some(r#"["b","a"]"#));
    assert_eq!(fact(&facts, "turns"), Some(r#"{"a":"completed","b":"completed","c":"completed"}"#));
}

#[test]
fn a_mark_that_unicode_calls_a_line_end_tears_the_record() {
    let facts =
        journal("{\"turn_id\":\"a\",\"event\":\"submitted\",\"content\":\"x\u{2028}y\"}\n{\"turn_id\":\"b\",\"event\":\"completed\"}\n");
    assert_eq!((fact(&facts, "journal_malformed"), fact(&facts, "turns")), (Some("2"), Some(r#"{"b":"completed"}"#)));
}

#[test]
fn what_the_reader_does_not_catch_is_an_error() {
    let deep = "[".repeat(995);
    let digits = "9".repeat(4301);
    for (lines, error) in [
        (deep.as_str(), Some("turn journal cannot be read")),
        (&digits, Some("turn journal cannot be read")),
        (&format!("{{\"created_at\":{}}}", "9".repeat(309)), Some("turn journal cannot be read")),
        ("{\"turn_id\":\"a\",\"created_at\":\"x\"}\n{\"turn_id\":\"a\"}", Some("turn states cannot be derived")),
        ("{\"turn_id\":\"a\"}\n{\"turn_id\":\"a\",\"created_at\":[1]}", Some("turn states cannot be derived")),
        ("{\"turn_id\":\"a\",\"created_at\":\"x\"}\n{\"turn_id\":\"b\"}", None),
        ("{\"created_at\":1e400}", None),
    ] {
        assert_eq!(fact(&journal(lines), "journal_error"), error, "{}", lines.get(..40).unwrap_or(lines));
    }
    let mut bytes = unit([("_turn_journal/s1~1.jsonl", "{\"turn_id\":\"a\"}\n")]);
    bytes.insert(RelPath::new("_turn_journal/s1~2.jsonl"), Entry::File(SourceFile { bytes: b"\xff".to_vec(), mtime_ns: 0 }));
    let facts = load(&bytes, None).1.facts;
    assert_eq!((fact(&facts, "journal_error"), fact(&facts, "turns")), (Some("turn journal cannot be read"), None));
    let odd = unit([("_turn_journal/a b~1.jsonl", "{\"turn_id\":\"a\"}\n")]);
    assert_eq!(fact(&load(&odd, None).1.facts, "journal_error"), Some("turn journal cannot be read"));
}

#[test]
fn a_time_that_is_no_number_leaves_the_order_that_python_leaves() {
    let event = |time: &str| format!("{{\"turn_id\":\"t{time}\",\"created_at\":{time}}}\n");
    let order = |times: &[&str]| journal(&times.iter().map(|time| event(time)).collect::<String>()).remove("turns");
    // As CPython 3.11's `sorted` leaves them.
    assert_eq!(order(&["3", "NaN", "1", "2"]).as_deref(), Some(r#"{"t3":null,"tNaN":null,"t1":null,"t2":null}"#));
    assert_eq!(order(&["3", "2", "NaN", "1"]).as_deref(), Some(r#"{"t1":null,"t2":null,"t3":null,"tNaN":null}"#));
    assert_eq!(order(&["NaN", "2", "1"]).as_deref(), Some(r#"{"tNaN":null,"t1":null,"t2":null}"#));
}

#[test]
fn a_run_ends_with_its_last_end_that_does_more_than_close_the_stream() {
    let row = |seq: &str, name: &str, state: &str| {
        format!("{{\"seq\":{seq},\"event\":\"{name}\",\"terminal\":{},\"terminal_state\":{state}}}\n", state != "null")
    };
    let token = row("1", "token", "null");
    for (rows, summary) in [
        (String::new(), r#"{"r1":{"state":"unknown","events":0,"last_seq":0,"last_event":null}}"#),
        (token.clone(), r#"{"r1":{"state":"running","events":1,"last_seq":1,"last_event":"token"}}"#),
        (
            [row("2", "apperror", "\"errored\""), row("3", "stream_end", "\"completed\""), "x\n".into()].concat(),
            r#"{"r1":{"state":"errored","events":2,"last_seq":3,"last_event":"stream_end","malformed":1}}"#,
        ),
        (
            [row("2", "stream_end", "\"completed\""), row("\"4\"", "title", "null")].concat(),
            r#"{"r1":{"state":"completed","events":2,"last_seq":4,"last_event":"title"}}"#,
        ),
    ] {
        assert_eq!(fact(&run(&rows), "runs"), Some(summary));
    }
    for rows in [row("\"x\"", "token", "null"), row("Infinity", "token", "null"), "[".repeat(994)] {
        let facts = run(&rows);
        assert_eq!((fact(&facts, "runs"), fact(&facts, "run_errors")), (None, Some(r#"["r1"]"#)));
    }
    assert_eq!(fact(&run(&format!("{}{}", "[".repeat(993), "]".repeat(993))), "run_errors"), None);
    let later = unit([("_run_journal/s1/_terminal_runs.jsonl", "{}\n"), ("_run_journal/s1/a b.jsonl", "{}\n")]);
    assert_eq!(fact(&load(&later, None).1.facts, "runs"), None);
}

#[test]
fn attributes_are_set_as_the_constructor_sets_them() {
    let text = r#"{"session_id":"","title":"a\ud800","workspace":"/a/../b/","model":null,"model_provider":" OpenAI ","created_at":0,"updated_at":1.50,
        "pinned":"x","project_id":0,"input_tokens":0.0,"pending_attachments":null,"post_compression_context_tokens_estimate":"7","composer_draft":[],
        "gateway_routing":[],"gateway_routing_history":{},"share_token":12,"worktree_path":"~/x","worktree_branch":[1],"truncation_watermark":0.0,"unknown":1}"#;
    let (_, outcome) = sidecar(text);
    let meta = fact(&outcome.facts, "meta").unwrap();
    for part in [
        r#"{"title":"a\ud800","workspace":"/b","created_workspace":"/b","model":null,"model_provider":"openai","#,
        r#""updated_at":1.50,"pinned":true,"archived":false,"project_id":null,"#,
        r#""input_tokens":0,"#,
        r#""pending_attachments":[],"#,
        r#""post_compression_context_tokens_estimate":7,"#,
        r#""truncation_watermark":0.0,"#,
        r#""gateway_routing":null,"gateway_routing_history":[],"#,
        r#""worktree_branch":"[1]","worktree_repo_root":null,"#,
        r#""composer_draft":{},"#,
        r#""share_token":"12","share_created_at":null}"#,
    ] {
        assert!(meta.contains(part), "{part} in {meta}");
    }
    for absent in ["session_id", "created_at", "worktree_path", "unknown"] {
        assert!(!meta.contains(&format!("\"{absent}\":")), "{absent} in {meta}");
    }
    assert_eq!((fact(&outcome.facts, "title"), outcome.model), (Some("a\\ud800"), None));
}

#[test]
fn a_folders_own_files_name_sessions_and_are_none() {
    let index = unit([("_index.json", r#"[{"session_id":"b"},{"session_id":"a"},{"session_id":1},"x",{"session_id":"b"}]"#)]);
    let (rows, outcome) = load(&index, None);
    assert_eq!((rows.len(), outcome.error.as_deref(), fact(&outcome.facts, "index_ids")), (0, None, Some(r#"["a","b"]"#)));
    let deleted = |text: &str| load(&unit([("_deleted_webui_sessions.json", text)]), None).1.facts.remove("deleted_ids");
    assert_eq!(deleted(r#"{"version":1,"ids":["b"," a ",null,7]}"#).as_deref(), Some(r#"["7","a","b"]"#));
    for text in [r#"{"version":2,"ids":["b"]}"#, r#"{"ids":["b"]}"#, "[]", "x", r#"{"version":1,"ids":"b"}"#] {
        assert_eq!(deleted(text).as_deref(), Some("[]"), "{text}");
    }
}

#[test]
fn many_records_take_no_longer_each() {
    let rows = vec![r#"{"_partial":true,"content":"x","id":1}"#; 200_000].join(",");
    assert_eq!(sidecar(&format!(r#"{{"messages":[{rows}]}}"#)).0.len(), 1);
    let lines: String =
        (0..200_000).map(|at| format!("{{\"turn_id\":\"t{}\",\"event\":\"completed\",\"created_at\":{at}}}\n", at % 70_000)).collect();
    assert_eq!(fact(&journal(&lines), "journal_events"), Some("200000"));
    let open = "[".repeat(1_000_000);
    assert_eq!(sidecar(&open).1.error.as_deref(), Some("sidecar cannot be read"));
}
