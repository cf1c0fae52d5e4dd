//! `everlog search`: what was said, in all sessions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::report::fitted::columns;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, line};
use support::{golden_logs, pty, run, stderr, stdout};

fn search(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    run(command.arg("search").args(words).env("COLUMNS", "80").env("TZ", "UTC").env_remove("EVERLOG_STORE"))
}

fn rows(words: &[&str]) -> Vec<Value> {
    let done = search(&[words, &["--json"]].concat());
    assert_ne!(code(&done), Some(2), "{}", stderr(&done));
    stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn store_with(sessions: &[(&str, &str)]) -> (Bench, String) {
    let bench = Bench::new();
    for (name, text) in sessions {
        bench.conversation(name, text);
    }
    bench.migrate(&[]);
    let store = bench.dest().to_str().unwrap().to_owned();
    (bench, store)
}

#[test]
fn lines_are_found_as_grep_finds_them() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let store = bench.dest().to_str().unwrap().to_owned();
    let found = search(&["laugh", &store]);
    assert_eq!(code(&found), Some(0));
    assert_eq!(stdout(&found), "2026-03-05, 2026-03-05 20:04, user #6: Perfect. That will make her laugh.\n");
    let none = search(&["nobody said this", &store]);
    assert_eq!((code(&none), stdout(&none).as_str()), (Some(1), ""));
    assert_eq!(code(&search(&["--regex", "(", &store])), Some(2));
    assert_eq!(code(&search(&["x", "/no/such/store"])), Some(2));
    assert_eq!(code(&search(&["  ", &store])), Some(2));
    assert_eq!(code(&search(&["a", &store, "--regex", "b"])), Some(2));
    assert_eq!(stdout(&search(&["laugh", &store, "-l"])), "2026-03-05  Toast for Ilse\n");
    assert_eq!(stdout(&search(&["laugh", &store, "-c"])), "2026-03-05: 1\n");
    assert_eq!(stdout(&search(&["laugh", &store, "--quiet"])), "");
    assert_eq!(code(&search(&["laugh", &store, "--quiet"])), Some(0));
}

#[test]
fn a_log_that_cannot_be_read_is_an_error_and_hides_nothing() {
    let (bench, store) = store_with(&[("chat", &line("user", "needle", 1))]);
    fs::write(bench.log("strange"), "no log\n").unwrap();
    let done = search(&["needle", &store]);
    assert_eq!(code(&done), Some(2));
    assert!(stdout(&done).contains("needle") && stderr(&done).contains("strange.everlog.jsonl"), "{}", stderr(&done));
}

#[test]
fn what_json_escapes_is_found_and_json_is_not() {
    let text = |content: &str| line("user", content, 1);
    let (_bench, store) = store_with(&[
        ("quote", &text(r#"say \"yes\" to C:\\temp\tnow"#)),
        ("split", &text(r"the end of one line\nand the next")),
        ("accent", &text(r"caf\u00e9 cr\u00e8me")),
        ("surrogate", &text(r"half \ud83d of it, and caf\u00e9")),
        ("emoji", &text("👩‍👧 在这里")),
    ]);
    let sessions = |words: &[&str]| {
        let mut found: Vec<String> =
            rows(&[words, &[&store]].concat()).iter().map(|row| row["session"].as_str().unwrap().to_owned()).collect();
        found.sort();
        found
    };
    assert_eq!(sessions(&["say \"yes\""]), ["quote"]);
    assert_eq!(sessions(&[r"C:\temp now"]), ["quote"], "any white space is between words");
    assert_eq!(sessions(&["one line and the"]), ["split"]);
    assert_eq!(sessions(&["CAFÉ", "-i"]), ["accent", "surrogate"]);
    assert_eq!(sessions(&["在这里"]), ["emoji"]);
    assert_eq!(sessions(&["--regex", r"^and the next$"]), ["split"]);
    // Not text that people said: JSON around it.
    assert_eq!(sessions(&["payload"]), [""; 0]);
    assert_eq!(sessions(&["timestamp"]), [""; 0]);
    assert_eq!(sessions(&["--regex", "."]).len(), 6);
}

#[test]
fn case_counts_where_the_pattern_has_a_capital() {
    let (_bench, store) = store_with(&[("chat", &line("user", "The Tide table", 1))]);
    let found = |words: &[&str]| code(&search(&[words, &[&store]].concat())) == Some(0);
    assert!(found(&["tide"]) && found(&["Tide"]) && !found(&["TIDE"]));
    assert!(found(&["TIDE", "-i"]) && !found(&["tide", "-s"]) && found(&["--regex", r"\Side"]));
}

#[test]
fn branches_roles_tools_and_times_are_chosen() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let store = bench.dest().to_str().unwrap().to_owned();
    let count = |words: &[&str]| rows(&[words, &[&store]].concat()).len();
    let (active, all) = (count(&["Ilse"]), count(&["Ilse", "--branch", "all"]));
    assert!(active > 0 && all > active, "{active} of {all}");
    assert!(count(&["Ilse", "--branch", "main-undo-0"]) > 0);
    assert_eq!(count(&["Ilse", "--branch", "nosuch"]), 0);
    assert!(count(&["Ilse", "--role", "user"]) < active);
    assert_eq!(count(&["Ilse", "--since", "2030-01-01"]), 0);
    assert_eq!(count(&["Ilse", "--format", "pi"]), 0);
    let pi = Bench::new();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pi/tour/input"), &pi.source());
    pi.migrate(&[]);
    let store = pi.dest().to_str().unwrap().to_owned();
    let found = rows(&["blue", &store, "--tool", "READ"]);
    assert_eq!((found.len(), found[0]["role"].as_str(), found[0]["tool"].as_str()), (1, Some("tool"), Some("read")));
}

#[test]
fn a_match_is_marked_in_a_window_of_its_line() {
    let long = format!("{} needle {}", "words before it ".repeat(40), "and after ".repeat(40));
    let (_bench, store) = store_with(&[("chat", &line("user", &format!("one\\n{long}\\nthree"), 1))]);
    let text = stdout(&search(&["needle", &store]));
    assert!(text.contains(": …") && text.trim_end().ends_with('…') && text.contains(" needle "), "{text}");
    assert!(columns(text.trim_end()) <= 80, "{text}");
    let near = stdout(&search(&["needle", &store, "-C", "1"]));
    assert!(near.starts_with("    one\nchat, ") && near.ends_with("…\n    three\n--\n"), "{near}");
    let words: Vec<OsString> = ["search", "needle", &store].map(OsString::from).into();
    let shown = String::from_utf8(pty::run(&words, "xterm").bytes).unwrap();
    assert!(shown.contains("\u{1b}[1;31mneedle\u{1b}[0m"), "{shown}");
    let row = rows(&["needle", &store]).remove(0);
    let at: Vec<usize> = row["matches"][0].as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as usize).collect();
    assert_eq!((&row["text"].as_str().unwrap()[at[0]..at[1]], &row["line"]), ("needle", &Value::from(2)));
}

/// Each word of each message of every fixture is found in that message.
#[test]
fn every_word_of_every_fixture_is_found() {
    let scratch = tempfile::TempDir::new().unwrap();
    let (mut tried, mut missing) = (0, Vec::new());
    for (n, log) in golden_logs().into_iter().enumerate().filter(|(n, _)| n % 6 == 0) {
        let store = scratch.path().join(n.to_string());
        fs::create_dir(&store).unwrap();
        fs::copy(&log, store.join("one.everlog.jsonl")).unwrap();
        let replayed = stdout(&support::everlog(&["replay", log.to_str().unwrap(), "--json"]));
        let texts = replayed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|row| row["type"] == "message");
        let longest = |text: &str| text.split(|c: char| !c.is_alphanumeric()).max_by_key(|word| word.len()).unwrap_or_default().to_owned();
        for (seq, word) in
            texts.map(|row| (row["seq"].clone(), longest(row["text"].as_str().unwrap()))).filter(|(_, word)| word.len() > 5).take(2)
        {
            tried += 1;
            if !rows(&[&word, "-s", store.to_str().unwrap()]).iter().any(|row| row["seq"] == seq) {
                missing.push(format!("{}: #{seq} {word}", log.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(tried > 20, "the test looks at {tried} words");
}
