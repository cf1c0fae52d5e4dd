//! `everlog diff`, `everlog contains`, and replays that are kept.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line, lines};
use support::{everlog, stderr, stdout, tree};

fn run(words: &[&str], a: &Path, b: &Path, more: &[&str]) -> (Option<i32>, String) {
    let done = everlog(&[words, &[a.to_str().unwrap(), b.to_str().unwrap()], more].concat());
    assert_eq!(stderr(&done), "");
    (code(&done), stdout(&done))
}

/// A source beside that of a bench, with one conversation.
fn source(bench: &Bench, folder: &str, text: &str) -> PathBuf {
    let path = bench.path(folder).join("chat");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("conversation.jsonl"), text).unwrap();
    bench.path(folder)
}

fn changes(a: &Path, b: &Path) -> Vec<(String, Option<u64>, Option<u64>)> {
    let (exit, said) = run(&["diff", "--json"], a, b, &[]);
    let mut rows: Vec<Value> = said.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let summary = rows.pop().unwrap();
    assert!(summary["summary"].is_object() && summary["schema"] == 1, "{summary}");
    assert_eq!(exit, Some(i32::from(!rows.is_empty())), "{said}");
    rows.iter().map(|row| (row["change"].as_str().unwrap().to_owned(), row["a"].as_u64(), row["b"].as_u64())).collect()
}

#[test]
fn a_log_and_its_source_are_the_same_and_so_are_logs() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let (same, said) = run(&["diff"], &bench.source(), &bench.dest(), &[]);
    assert_eq!((same, said.as_str()), (Some(0), "3 sessions compared: the same messages\n"));
    assert_eq!(run(&["diff"], &bench.dest(), &bench.dest(), &[]).0, Some(0));
    let name = "2026-03-05-writing-gentle-finch";
    assert_eq!(run(&["diff"], &bench.log(name), &bench.source().join(name), &[]).0, Some(0));
}

#[test]
fn every_kind_of_change_is_told() {
    let bench = Bench::new();
    let five: Vec<String> = (0..5).map(|n| line("user", &format!("this is the text of message {n}"), n)).collect();
    let a = source(&bench, "a", &five.concat());
    let with = |name: &str, list: &[&str]| source(&bench, name, &list.concat());
    let [one, two, three, four, five] = [&five[0][..], &five[1], &five[2], &five[3], &five[4]];
    let told = |kind: &str, a, b| vec![(kind.to_owned(), a, b)];
    let added = line("assistant", "something else entirely", 9);
    assert_eq!(changes(&a, &with("added", &[one, two, &added, three, four, five])), told("added", None, Some(3)));
    assert_eq!(changes(&a, &with("removed", &[one, three, four, five])), told("removed", Some(2), None));
    let changed = three.replace("text", "wording");
    assert_eq!(changes(&a, &with("changed", &[one, two, &changed, four, five])), told("changed", Some(3), Some(3)));
    assert_eq!(changes(&a, &with("moved", &[two, three, four, five, one])), told("moved", Some(1), Some(5)));
    let restamped = four.replace("00:00:03", "11:11:11");
    assert_eq!(changes(&a, &with("restamped", &[one, two, three, &restamped, five])), told("restamped", Some(4), Some(4)));
    let named = two.replace("}", ", \"pinned\": true}");
    assert_eq!(changes(&a, &with("field", &[one, &named, three, four, five])), told("changed", Some(2), Some(2)));
}

#[test]
fn changes_are_shown_word_by_word_and_only_where_they_may_be() {
    let bench = Bench::new();
    let a = source(&bench, "a", &line("user", "the quick brown fox jumps over the dog", 1));
    let b = source(&bench, "b", &line("user", "the quick red fox jumps over the dog", 1));
    let (exit, said) = run(&["diff"], &a, &b, &[]);
    assert_eq!(exit, Some(1));
    let expected = "chat (gptme): 1 and 1 messages\n  ~ message 1 differs, user\n      content[0].text: the quick [-brown-]{+red+} fox jumps over the dog\n1 session compared: 1 changed\n";
    assert_eq!(said, expected);
    let (_, silent) = run(&["diff"], &a, &b, &["--no-content"]);
    assert!(!silent.contains("fox") && silent.contains("content[0].text"), "{silent}");
}

#[test]
fn sessions_of_different_programs_are_compared_by_what_they_say() {
    let bench = Bench::new();
    let a = source(&bench, "a", &lines(3));
    let b = bench.path("b");
    fs::create_dir_all(&b).unwrap();
    let row = |n: u32| format!("{{\"role\":\"user\",\"content\":\"message {n}\"}}\n");
    fs::write(b.join("telegram_1.jsonl"), row(0) + &row(1) + &row(2)).unwrap();
    fs::write(b.join("telegram_1.meta.json"), "{\"key\":\"telegram:1\",\"summary\":\"\",\"skip\":0,\"count\":3,\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}").unwrap();
    let kinds: Vec<String> = changes(&a, &b).into_iter().map(|(kind, ..)| kind).collect();
    // One of them has no times.
    assert_eq!(kinds, ["restamped", "restamped", "restamped"]);
    assert_eq!(run(&["contains"], &a, &b, &[]).0, Some(0));
}

#[test]
fn contains_counts_each_message_and_names_what_is_missing() {
    let bench = Bench::new();
    let ok = |second| line("user", "ok", second);
    let twice = source(&bench, "twice", &(ok(1) + &lines(2) + &ok(50)));
    let once = source(&bench, "once", &(lines(2) + &ok(7)));
    let (exit, said) = run(&["contains"], &once, &twice, &[]);
    assert_eq!((exit, said.as_str()), (Some(0), "3 messages on all branches of 1 session in A, all of them in B\n"));
    let (exit, said) = run(&["contains"], &twice, &once, &[]);
    assert_eq!(exit, Some(1));
    assert!(said.contains("chat has 1 message that B has not") && said.contains(", user: ok\n"), "{said}");
    let (_, json) = run(&["contains", "--json"], &twice, &once, &[]);
    let rows: Vec<Value> = json.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!((rows[0]["missing"].as_str(), rows[0]["text"].as_str()), (Some("user"), Some("ok")));
    assert_eq!(rows[1]["summary"]["missing"], 1);
    assert!(!run(&["contains"], &twice, &once, &["--no-content"]).1.contains("ok"));
}

#[test]
fn what_is_neither_log_nor_session_cannot_be_compared() {
    let bench = Bench::new();
    let a = source(&bench, "a", &lines(1));
    fs::create_dir_all(bench.path("empty")).unwrap();
    for (command, other) in [("diff", bench.path("empty")), ("contains", bench.path("nowhere"))] {
        let done = everlog(&[command, a.to_str().unwrap(), other.to_str().unwrap()]);
        assert_eq!(code(&done), Some(2));
        assert!(stderr(&done).contains("error: "), "{}", stderr(&done));
    }
}

#[test]
fn a_log_that_was_altered_is_not_trusted_by_contains() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    fs::write(bench.log("chat"), log.replace("\"parent\":0", "\"parent\": 0")).unwrap();
    let done = everlog(&["contains", bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("altered since it was sealed"), "{}", stderr(&done));
}

fn golden(bench: &Bench) -> (String, String) {
    (bench.dest().to_str().unwrap().to_owned(), bench.path("golden").to_str().unwrap().to_owned())
}

#[test]
fn a_folder_of_replays_has_one_writer_at_a_time_who_sweeps_it() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let (dest, folder) = golden(&bench);
    fs::create_dir(&folder).unwrap();
    let left = Path::new(&folder).join(".1-0.everlog-tmp");
    fs::write(&left, "half a replay").unwrap();
    let other = fs::File::open(&folder).unwrap();
    other.try_lock().unwrap();
    let keep = || everlog(&["replay", &dest, "--all", "--out", &folder]);
    let done = keep();
    assert_eq!(code(&done), Some(2), "{}", stderr(&done));
    assert!(stderr(&done).contains("another run is writing") && left.exists(), "{}", stderr(&done));
    drop(other);
    assert_eq!(code(&keep()), Some(0));
    assert!(!left.exists());
}

#[test]
fn kept_replays_are_stable_and_one_to_a_session() {
    let bench = Bench::with_tour();
    bench.conversation("sub/deeper", &lines(2));
    bench.migrate(&[]);
    let (dest, folder) = golden(&bench);
    let keep = || everlog(&["replay", &dest, "--all", "--out", &folder]);
    assert_eq!(stdout(&keep()), format!("4 replays kept in {folder}: 4 written, 0 unchanged\n"));
    let kept = tree(Path::new(&folder));
    assert_eq!(kept.len(), 4);
    let text = String::from_utf8(kept["sub/deeper.replay.txt"].0.clone()).unwrap();
    assert!(
        text.starts_with("everlog replay 1\nformat: \"gptme\"\n")
            && text.ends_with("--- message 2\nrole: \"user\"\ncontent: \"message 1\"\ntimestamp: \"2026-01-01T00:00:01\"\n"),
        "{text}"
    );
    assert_eq!(stdout(&keep()), format!("4 replays kept in {folder}: 0 written, 4 unchanged\n"));
    assert_eq!(tree(Path::new(&folder)), kept, "the second run touched something");
    assert_eq!(code(&everlog(&["verify", &dest, "--golden", &folder])), Some(0));
    assert_eq!(code(&everlog(&["replay", &dest, "--all"])), Some(2));
}

#[test]
fn a_replay_that_is_not_the_kept_one_fails() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let (dest, folder) = golden(&bench);
    everlog(&["replay", &dest, "--all", "--out", &folder]);
    let finch = Path::new(&folder).join("2026-03-05-writing-gentle-finch.replay.txt");
    let text = fs::read_to_string(&finch).unwrap();
    let line = text.lines().position(|line| line.contains("laugh")).unwrap() + 1;
    fs::write(&finch, text.replace("laugh", "cry")).unwrap();
    let done = everlog(&["verify", &dest, "--golden", &folder]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains(&format!("{}:{line}", finch.display())), "{}", stderr(&done));
    assert!(
        stderr(&done).contains("-content: \"Perfect. That will make her cry.\"\n  +content: \"Perfect. That will make her laugh.\""),
        "{}",
        stderr(&done)
    );
    assert!(!stderr(&everlog(&["verify", &dest, "--golden", &folder, "--no-content"])).contains("Perfect"));
    fs::rename(&finch, Path::new(&folder).join("gone.replay.txt")).unwrap();
    let done = everlog(&["verify", &dest, "--golden", &folder, "--json"]);
    let found: Vec<String> = stdout(&done)
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap())
        .filter_map(|row| row["verdict"].as_str().filter(|verdict| *verdict != "same").map(str::to_owned))
        .collect();
    assert_eq!((code(&done), found), (Some(1), vec!["golden_missing".to_owned(), "golden_left".to_owned()]));
}

#[test]
fn other_heads_are_part_of_a_kept_replay() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(3));
    fs::create_dir(folder.join("branches")).unwrap();
    fs::write(folder.join("branches/alt.jsonl"), lines(2) + &line("user", "other", 50)).unwrap();
    bench.migrate(&[]);
    let (dest, kept) = golden(&bench);
    everlog(&["replay", &dest, "--all", "--out", &kept]);
    fs::write(folder.join("branches/alt.jsonl"), lines(2) + &line("user", "another", 50)).unwrap();
    bench.migrate(&[]);
    let done = everlog(&["verify", &dest, "--golden", &kept]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("+head: \"branch:alt: 3 messages, "), "{}", stderr(&done));
}
