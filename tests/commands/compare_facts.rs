//! `everlog contains` and `diff` answer for everything that a session has, not
//! only for its messages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line, lines};
use support::{copy_tree, everlog, stderr, stdout};

/// A migrated copy of a case, and what is then done to its source.
fn changed_after_migrate(case: &str, change: impl Fn(&Path)) -> Bench {
    let bench = Bench::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(case).join("input"), &bench.source());
    bench.migrate(&[]);
    for command in ["contains", "diff"] {
        let done = everlog(&[command, bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
        assert_eq!(code(&done), Some(0), "{case}, {command} after a clean migrate: {}{}", stdout(&done), stderr(&done));
    }
    change(&bench.source());
    bench
}

/// Whether both commands find that the source has something that the store has not.
fn is_found(case: &str, bench: &Bench, said: &str) {
    for command in ["contains", "diff"] {
        let done = everlog(&[command, bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
        let all = stdout(&done) + &stderr(&done);
        assert_eq!(code(&done), Some(1), "{case}, {command}: {all}");
        assert!(all.contains(said), "{case}, {command} does not say {said:?}: {all}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut list = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { list.extend(files(&path)) } else { list.push(path) }
    }
    list.sort();
    list
}

/// The file with this ending that has this text.
fn file_with(folder: &Path, ending: &str, text: &str) -> PathBuf {
    let has = |path: &&PathBuf| path.to_str().unwrap().ends_with(ending) && fs::read_to_string(path).is_ok_and(|all| all.contains(text));
    files(folder).iter().find(has).unwrap_or_else(|| panic!("no {ending} with {text}")).clone()
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} is not in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn a_turn_that_is_only_in_the_source_is_missing() {
    let case = "hermes-webui/tour";
    let bench = changed_after_migrate(case, |source| {
        let journal = file_with(&source.join("sessions/_turn_journal"), ".jsonl", "\"submitted\"");
        let text = fs::read_to_string(&journal).unwrap();
        let first = text.lines().find(|line| line.contains("\"submitted\"")).unwrap().to_owned();
        let at = first.find("\"content\"").unwrap();
        let more = format!("{}\"content\": \"ONLY HERE\"}}\n", &first[..at]);
        fs::write(&journal, text + &more).unwrap();
    });
    is_found(case, &bench, "turn");
}

#[test]
fn an_attachment_that_was_changed_or_added_is_missing() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::create_dir(folder.join("attachments")).unwrap();
    fs::write(folder.join("attachments/a.txt"), "first").unwrap();
    bench.migrate(&[]);
    let contains = || everlog(&["contains", bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
    assert_eq!(code(&contains()), Some(0), "{}", stdout(&contains()));
    fs::write(folder.join("attachments/a.txt"), "second").unwrap();
    is_found("gptme", &bench, "attachments/a.txt");
    fs::write(folder.join("attachments/a.txt"), "first").unwrap();
    fs::write(folder.join("attachments/b.bin"), [0xff, 0, 1]).unwrap();
    is_found("gptme", &bench, "attachments/b.bin");
}

#[test]
fn a_compaction_a_branch_summary_and_a_custom_entry_are_compared() {
    for (case, kind, said) in [
        ("pi/tour", "\"type\":\"compaction\"", "compaction"),
        ("pi/branches", "\"type\":\"branch_summary\"", "branch_summary"),
        ("pi/compactions", "\"type\":\"compaction\"", "compaction"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(case).join("input");
        if !files(&folder).iter().any(|path| fs::read_to_string(path).is_ok_and(|text| text.contains(kind))) {
            continue;
        }
        let bench = changed_after_migrate(case, |source| {
            let path = file_with(source, ".jsonl", kind);
            let text = fs::read_to_string(&path).unwrap();
            let line = text.lines().find(|line| line.contains(kind) && line.contains("\"summary\":\"")).unwrap();
            let changed = line.replacen("\"summary\":\"", "\"summary\":\"ANOTHER ", 1);
            fs::write(&path, text.replacen(line, &changed, 1)).unwrap();
        });
        is_found(case, &bench, &said.replace('_', if said == "branch_summary" { "_" } else { " " }).replace("branch_summary", "branch"));
    }
}

#[test]
fn a_summary_and_an_index_entry_are_compared() {
    let bench = changed_after_migrate("picoclaw/plain", |source| {
        edit(&file_with(source, ".meta.json", "\"summary\""), "\"summary\": \"\"", "\"summary\": \"ANOTHER\"");
    });
    is_found("picoclaw/plain", &bench, "metadata record");
    let bench = changed_after_migrate("openclaw/tour", |source| {
        edit(&file_with(source, "sessions.json", "sessionId"), "\"sessionId\": \"", "\"sessionId\": \"ffff");
    });
    is_found("openclaw/tour", &bench, "metadata record");
}

#[test]
fn an_attachment_that_the_store_lost_is_named_and_migrate_stores_it_again() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::create_dir(folder.join("attachments")).unwrap();
    fs::write(folder.join("attachments/a.bin"), [0xff, 0, 1]).unwrap();
    bench.migrate(&[]);
    let blob = files(&bench.dest().join(".everlog/blobs")).remove(0);
    for bytes in [None, Some([0xff, 0, 2])] {
        fs::remove_file(&blob).unwrap();
        bytes.inspect(|bytes| fs::write(&blob, bytes).unwrap());
        let done = everlog(&["contains", bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
        let all = stdout(&done) + &stderr(&done);
        assert!(code(&done) == Some(1) && all.contains("attachments/a.bin"), "{all}");
        if bytes.is_some() {
            fs::remove_file(&blob).unwrap();
        }
        let again = bench.migrate(&[]);
        assert!(!stdout(&again).contains("1 unchanged since proven"), "{}", stdout(&again));
        assert_eq!(fs::read(&blob).unwrap(), [0xff, 0, 1]);
        let contains = everlog(&["contains", bench.source().to_str().unwrap(), bench.dest().to_str().unwrap()]);
        assert_eq!(code(&contains), Some(0));
    }
}

#[test]
fn what_only_one_format_can_say_is_named_across_formats() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    let other = bench.path("b");
    fs::create_dir_all(&other).unwrap();
    let row = |n: u32| format!("{{\"role\":\"user\",\"content\":\"message {n}\"}}\n");
    fs::write(other.join("telegram_1.jsonl"), row(0) + &row(1)).unwrap();
    let meta =
        r#"{"key":"telegram:1","summary":"","skip":0,"count":2,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}"#;
    fs::write(other.join("telegram_1.meta.json"), meta).unwrap();
    let contains = |a: &Path, b: &Path| {
        let done = everlog(&["contains", a.to_str().unwrap(), b.to_str().unwrap()]);
        (code(&done), stdout(&done) + &stderr(&done))
    };
    assert_eq!(contains(&bench.source(), &other).0, Some(0));
    // Metadata of another program is not a loss, but is not skipped in silence.
    let (exit, said) = contains(&other, &bench.source());
    assert!(exit == Some(0) && said.contains("not compared: 1 metadata record"), "{said}");
    fs::create_dir(folder.join("attachments")).unwrap();
    fs::write(folder.join("attachments/a.txt"), "first").unwrap();
    let (exit, said) = contains(&bench.source(), &other);
    assert!(exit == Some(1) && said.contains("not compared: 1 companion file"), "{said}");
    fs::write(bench.source().join("chat/conversation.jsonl"), lines(2) + &line("user", "more", 9)).unwrap();
    let (exit, said) = contains(&bench.source(), &other);
    assert!(exit == Some(1) && said.contains("chat has 1 message that B has not"), "{said}");
}
