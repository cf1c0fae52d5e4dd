//! `everlog stats`: what is counted, and what is not guessed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::report::fitted::columns;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code};
use support::{all_cases, everlog, run, stderr, stdout};

fn stats(store: &Path, width: usize, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    run(command.arg("stats").arg(store).args(more).env("COLUMNS", width.to_string()).env_remove("EVERLOG_STORE"))
}

fn rows(store: &Path) -> Vec<Value> {
    let done = stats(store, 80, &["--json"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn migrated(case: &str) -> Bench {
    let bench = Bench::new();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(case).join("input"), &bench.source());
    bench.migrate(&["--allow-live"]);
    bench
}

#[test]
fn an_answer_in_several_messages_takes_its_tokens_once() {
    let bench = migrated("claude-code/tour");
    let all = rows(&bench.dest()).remove(0);
    let replayed = stdout(&everlog(&["replay", "@last", "--store", bench.dest().to_str().unwrap(), "--json"]));
    let messages: Vec<Value> = replayed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said: u64 = messages.iter().filter_map(|message| message["usage"]["output"].as_u64()).sum();
    // Four messages say what one answer took, 31 tokens.
    assert!(said >= 4 * 31);
    assert_eq!(all["output"].as_u64(), Some(said - 3 * 31), "{all}");
    assert_eq!(all["cost"], Value::Null, "a cost is not guessed");
    let answers = messages.iter().filter(|message| message["role"] == "assistant").count() as u64;
    assert_eq!(all["answers"].as_u64(), Some(answers - 3));
}

#[test]
fn counts_of_a_whole_session_are_counted_once() {
    let of_model =
        |rows: &[Value], key: &str| rows.iter().find(|row| row["by"] == "model" && row["key"] == key).cloned().unwrap_or_default();
    // Its program counts tokens for the session, and says the model there too.
    let web = rows(&migrated("hermes-webui/tour").dest());
    assert_eq!((&web[0]["input"], &web[0]["output"]), (&210.into(), &40.into()), "{}", web[0]);
    assert_eq!(web[0]["cost"], Value::Null, "an estimate of nothing is no cost: {}", web[0]);
    let answers = web[0]["answers_with_usage"].as_u64();
    assert!(answers > Some(0) && answers <= web[0]["answers"].as_u64(), "{}", web[0]);
    let codex = rows(&migrated("codex/tour").dest());
    assert!(of_model(&codex, "loom-5")["answers"].as_u64() > Some(0), "{codex:?}");
}

#[test]
fn groups_add_up_to_all() {
    let mut counted = 0;
    for case in all_cases().into_iter().filter(|case| case.id().ends_with("/tour") || case.id().ends_with("/plain")) {
        let bench = migrated(&case.id());
        let rows = rows(&bench.dest());
        let sum = |by: &str, member: &str| rows.iter().filter(|row| row["by"] == by).filter_map(|row| row[member].as_f64()).sum::<f64>();
        let all = |member: &str| rows[0][member].as_f64().unwrap_or(0.0);
        for member in ["messages", "turns", "answers", "input", "output", "cost", "calls"] {
            assert!((sum("program", member) - all(member)).abs() < 1e-9, "{}: {member}", case.id());
        }
        for member in ["messages", "turns", "answers", "input", "output", "cost"] {
            assert!((sum("month", member) - all(member)).abs() < 1e-9, "{}: {member} by month", case.id());
        }
        assert!((sum("model", "output") - all("output")).abs() < 1e-9, "{}", case.id());
        assert!((sum("tool", "calls") - all("calls")).abs() < 1e-9, "{}", case.id());
        counted += 1;
    }
    assert!(counted >= 4, "the test looks at {counted} cases");
}

#[test]
fn tables_fit_and_say_what_is_unknown() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let text = stdout(&stats(&bench.dest(), 100, &[]));
    assert!(text.contains("\ngptme  ") && text.contains("MESSAGES") && text.contains('█'), "{text}");
    assert!(text.contains("nothing is guessed"), "{text}");
    for width in [20, 60, 100] {
        let text = stdout(&stats(&bench.dest(), width, &[]));
        let tables = text.lines().filter(|line| !line.contains("known of") && !line.contains(" of a person"));
        assert!(tables.clone().count() > 6 && tables.clone().all(|line| columns(line) <= width), "{width}: {text}");
    }
    let csv = stdout(&stats(&bench.dest(), 80, &["--csv"]));
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[0].starts_with("by,key,sessions,") && rows[1].starts_with("all,,3,"), "{csv}");
    assert_eq!(rows.len(), rows_of(&bench) + 1);
    assert_eq!(code(&stats(&bench.dest(), 80, &["--csv", "--json"])), Some(2));
}

fn rows_of(bench: &Bench) -> usize {
    rows(&bench.dest()).len()
}
