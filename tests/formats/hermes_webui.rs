//! What Hermes WebUI's own readers derived from its journals, against what the
//! logs say: turn states, collisions, malformed lines, summaries of runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::ALL;
use everlog::log::LogView;
use everlog::model::fact::Fact;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::{convert_and_prove, everlog, sessions, stderr, stdout};
use tempfile::TempDir;

/// A fact of a log, read as JSON; null where there is none.
fn fact(facts: &std::collections::BTreeMap<String, Fact>, name: &str) -> Value {
    facts.get(name).map_or(Value::Null, |fact| serde_json::from_str(fact.as_str()).unwrap())
}

#[test]
fn turns_and_runs_are_what_the_real_readers_made_of_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/hermes-webui");
    let Ok(cases) = fs::read_dir(&corpus) else {
        support::campaign::missing("the corpus is not beside the project: nothing to compare with");
        return;
    };
    let (mut turns, mut runs) = (0, 0);
    for case in cases.flatten().map(|entry| entry.path()) {
        let Ok(text) = fs::read(case.join("expected.json")) else { continue };
        let Ok(expected) = serde_json::from_slice::<Value>(&text) else { continue };
        let keys =
            |name: &str| -> BTreeSet<String> { expected[name].as_object().into_iter().flat_map(|all| all.keys().cloned()).collect() };
        let (mut journals, mut unseen) = (keys("turn_journals"), keys("runs"));
        for (unit, files) in sessions(&case.join("input")) {
            let name = unit.name.to_string();
            let Some(id) = name.rsplit('/').next().unwrap().strip_suffix(".json") else { continue };
            let (converted, _) = convert_and_prove(unit.found.adapter, &files).unwrap();
            let facts = LogView::open(converted.log).unwrap().outcome.facts.clone();
            let journal = &expected["turn_journals"][id];
            if let Some(states) = journal["states"].as_object() {
                let wanted: Value = states.iter().map(|(turn, last)| (turn.clone(), last["event"].clone())).collect();
                let said = fact(&facts, "turns");
                assert_eq!(if said.is_null() { json!({}) } else { said }, wanted, "{name}");
                let malformed = journal["read"]["malformed"].as_array().map_or(0, Vec::len);
                assert_eq!(fact(&facts, "journal_malformed").as_u64().unwrap_or(0), malformed as u64, "{name}");
                let collisions: Vec<&Value> = journal["collisions"].as_array().into_iter().flatten().map(|one| &one["turn_id"]).collect();
                let said = fact(&facts, "turn_collisions");
                assert_eq!(said.as_array().map(|list| list.iter().collect::<Vec<_>>()).unwrap_or_default(), collisions, "{name}");
                turns += states.len();
                journals.remove(id);
            }
            for (run, wanted) in expected["runs"].as_object().into_iter().flatten() {
                let Some(run) = run.strip_prefix(&format!("{id}/")) else { continue };
                unseen.remove(&format!("{id}/{run}"));
                let said = &fact(&facts, "runs")[run];
                let summary = &wanted["summary"];
                let state = if summary["terminal"] == json!(true) { summary["terminal_state"].clone() } else { json!("running") };
                assert_eq!(said["state"], state, "{name} {run}");
                assert_eq!(said["events"], summary["event_count"], "{name} {run}");
                assert_eq!(said["last_seq"], summary["last_seq"], "{name} {run}");
                assert_eq!(said["last_event"], summary["last_event"], "{name} {run}");
                let malformed = wanted["malformed_lines"].as_array().map_or(0, Vec::len);
                assert_eq!(said["malformed"].as_u64().unwrap_or(0), malformed as u64, "{name} {run}");
                runs += 1;
            }
        }
        assert!(journals.is_empty() && unseen.is_empty(), "{} has {journals:?} and {unseen:?}, and no session has", case.display());
    }
    assert!(turns > 40 && runs > 40, "{turns} turns and {runs} runs");
    eprintln!("{turns} turns and {runs} runs agree");
}

/// The log of one session of a fixture.
fn log_of(case: &str, session: &str) -> (TempDir, String) {
    let scratch = TempDir::new().unwrap();
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hermes-webui").join(case).join("input");
    everlog(&["migrate", input.to_str().unwrap(), "-o", scratch.path().to_str().unwrap(), "--quiet"]);
    let log = scratch.path().join(format!("sessions/{session}.json.everlog.jsonl"));
    (scratch, log.to_str().unwrap().to_owned())
}

#[test]
fn turns_say_who_settled_them_and_what_is_missing() {
    let (_scratch, log) = log_of("turns", "70a200000001");
    let said = everlog(&["turns", &log, "--json"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let turns: Vec<Value> = stdout(&said).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str, &str)> = turns
        .iter()
        .map(|turn| {
            let text = |name: &str| turn[name].as_str().unwrap_or("-");
            (text("prompt"), text("state"), text("settled"))
        })
        .collect();
    assert_eq!(
        told,
        [
            ("one", "completed", "journal"),
            ("two", "interrupted", "journal"),
            ("three", "worker_started", "run"),
            ("four", "worker_started", "session"),
            ("lost", "worker_started", "open"),
            ("-", "worker_started", "open"),
            ("are you there?", "pending", "open"),
        ]
    );
    assert_eq!(turns[2]["end"], "errored");
    assert_eq!(turns[4]["run"]["text"], "I was about to");
    assert_eq!(turns[4]["run"]["tools"], json!(["terminal"]));
    assert_eq!(turns[4]["missing"], json!(["end in its journal", "end of its run", "prompt in the session"]));
    assert_eq!(turns[5]["run"]["events"], turns[4]["run"]["events"], "a turn that goes on under a second id has the same run");
    assert_eq!(turns[6]["missing"], json!(["submission", "end in its journal", "run journal", "prompt in the session"]));
}

#[test]
fn turns_are_told_to_people_too() {
    let (_scratch, log) = log_of("turns", "70a200000001");
    let said = everlog(&["turns", &log]);
    let text = stdout(&said);
    assert!(text.contains("interrupted (cancelled), by its journal\n  asked: two\n"), "{text}");
    assert!(text.contains("worker_started -> errored, by its run\n  asked: three\n"), "{text}");
    assert!(text.contains("(no id)  pending, not settled\n  asked: are you there?\n"), "{text}");
    assert!(stderr(&said).contains("7 turns, 3 not settled"), "{}", stderr(&said));
    let (_scratch, log) = log_of("parts", "9a4715000002");
    let said = everlog(&["turns", &log]);
    assert_eq!((said.status.code(), stdout(&said).as_str()), (Some(0), ""));
}

#[test]
fn a_record_that_its_own_reader_loses_is_salvaged() {
    let (_scratch, log) = log_of("unicode", "0171c0de0001");
    let said = everlog(&["turns", &log, "--json"]);
    let first: Value = serde_json::from_str(stdout(&said).lines().next().unwrap()).unwrap();
    assert_eq!(first["times"][0][0], "(submitted)");
    assert!(first["prompt"].as_str().unwrap().contains("ls \u{2028}"), "{first}");
}

#[test]
fn each_transcript_of_a_run_is_stored_once() {
    let (_scratch, log) = log_of("cleared", "c1ea40000001");
    let text = fs::read_to_string(log).unwrap();
    assert_eq!(text.matches("\"text\":\"kept too\"").count(), 2, "once as a message, once as the token that was streamed");
    assert_eq!(text.matches("\"$path\":").count(), 3);
    assert!(!text.contains("\"messages\":["), "{text}");
}

/// A session of a few files, converted and proven; what its loader says.
fn proven(files: &[(&str, String)]) -> Result<std::collections::BTreeMap<String, String>, String> {
    let mut unit = Files::new("aaa.json");
    for (path, text) in files {
        unit.insert(RelPath::new(*path), Entry::File(SourceFile { bytes: text.clone().into_bytes(), mtime_ns: 0 }));
    }
    let adapter = ALL.iter().find(|adapter| adapter.id() == "hermes-webui").unwrap();
    let (converted, _) = convert_and_prove(*adapter, &unit).map_err(|difference| format!("{difference:?}"))?;
    let outcome = LogView::open(converted.log).unwrap().outcome.clone();
    let error = outcome.error.map(|error| ("error".to_owned(), error));
    let facts = outcome.facts.into_iter().map(|(name, fact)| (name, fact.as_str().to_owned()));
    Ok(facts.chain(error).collect())
}

fn sidecar(member: &str) -> (&'static str, String) {
    let rest = r#""messages": [{"role": "user", "content": "x"}], "tool_calls": []"#;
    ("aaa.json", format!("{{\"session_id\": \"aaa\", \"title\": \"T\", {member}, {rest}}}"))
}

#[test]
fn numbers_that_are_texts_and_texts_that_are_numbers_are_read_as_python_reads_them() {
    let many = "1".repeat(400);
    let texts = [
        "1__0",
        "_1",
        "1_0",
        "१",
        "１२",
        "\\u2003 1 ",
        "\\u001c1",
        "+1",
        "+-1",
        "1e3",
        "۱.५",
        "½",
        "\\ud800",
        "nan",
        "-nan",
        "inf",
        "",
        " ",
    ];
    let others = ["1e400", "-1e400", "NaN", "Infinity", "true", "null", "[]", "[1]", "{\"a\":1}", "-0", "-0.5", "1e22", "5e-324"];
    let mut odd: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).chain(others.map(str::to_owned)).collect();
    odd.extend([many.clone(), format!("-{many}"), format!("\"{many}\""), "1".repeat(4301), format!("\"{}\"", "1".repeat(4301))]);
    let mut wrong = Vec::new();
    for value in &odd {
        let event =
            |event: &str, at: &str| format!("{{\"event\":\"{event}\",\"turn_id\":\"t\",\"created_at\":{at},\"session_id\":\"aaa\"}}\n");
        let turns = ["9", value, "3", value, "6", "1"].into_iter().zip(["submitted", "a", "b", "completed", "d", "interrupted"]);
        let turns: String = turns.map(|(at, name)| event(name, at)).collect();
        let run = format!("{{\"run_id\":\"r\",\"seq\":{value},\"event\":\"token\",\"created_at\":{value},\"payload\":{{}}}}\n");
        let journals = [("_turn_journal/aaa~1.jsonl", turns), ("_run_journal/aaa/r.jsonl", run)];
        let count = |key: &str| sidecar(&format!("\"workspace\": \"/w\", \"{key}\": {value}"));
        for key in ["message_count", "post_compression_context_tokens_estimate", "created_at"] {
            let files = [&[count(key)], &journals[..]].concat();
            wrong.extend(proven(&files).err().map(|why| format!("{key} {value:.20}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let last = |seq: &str| {
        proven(&[sidecar("\"workspace\": \"/w\""), ("_run_journal/aaa/r.jsonl", format!("{{\"run_id\":\"r\",\"seq\":{seq}}}\n"))]).unwrap()
    };
    assert!(last("\"१_2\"")["runs"].contains("\"last_seq\":12,"));
    assert_eq!(last("\"1__0\"")["run_errors"], "[\"r\"]");
}

#[test]
fn homes_and_names_that_the_program_stumbles_over_make_it_fail_here_too() {
    for (member, fails) in [
        ("\"workspace\": \"~root\"", false),
        ("\"workspace\": \"./~root/x\"", false),
        ("\"workspace\": \"~\"", false),
        ("\"workspace\": \"a/~b\"", false),
        ("\"workspace\": \"/~x\"", false),
        ("\"workspace\": \"./~x\"", true),
        ("\"workspace\": \".//~nobody\"", true),
        ("\"workspace\": \"~nobody/..\"", true),
        ("\"workspace\": \"/w\", \"worktree_path\": \"./~x\"", true),
        ("\"workspace\": \"/w\", \"self\": null", true),
        ("\"workspace\": \"/w\", \"cls\": null", false),
    ] {
        let facts = proven(&[sidecar(member)]).unwrap_or_else(|why| panic!("{member}: {why}"));
        assert_eq!(facts.get("error").map(String::as_str), fails.then_some("sidecar cannot be read"), "{member}");
    }
}
