//! What Hermes WebUI's own readers derived from its journals, against what the
//! logs say: turn states, collisions, malformed lines, summaries of runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::log::LogView;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use support::{convert_and_prove, everlog, sessions, stderr, stdout};
use tempfile::TempDir;

/// A fact of a log, read as JSON; null where there is none.
fn fact(facts: &std::collections::BTreeMap<String, String>, name: &str) -> Value {
    facts.get(name).map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

#[test]
fn turns_and_runs_are_what_the_real_readers_made_of_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/hermes-webui");
    let Ok(cases) = fs::read_dir(&corpus) else {
        eprintln!("the corpus is not beside the project: nothing to compare with");
        return;
    };
    let (mut turns, mut runs) = (0, 0);
    for case in cases.flatten().map(|entry| entry.path()) {
        let Ok(text) = fs::read(case.join("expected.json")) else { continue };
        let Ok(expected) = serde_json::from_slice::<Value>(&text) else { continue };
        for (unit, files) in sessions(&case.join("input")) {
            let name = unit.name.to_string();
            let id = name.rsplit('/').next().unwrap().trim_end_matches(".json");
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
            }
            for (run, wanted) in expected["runs"].as_object().into_iter().flatten() {
                let Some(run) = run.strip_prefix(&format!("{id}/")) else { continue };
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
