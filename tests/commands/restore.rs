//! `restore` again: what was begun is gone on with, and what several logs contain
//! is decided, not left to chance.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::Path;
use support::bench::{Bench, code, lines};
use support::{everlog, figure, set_mtime, stderr, stdout, tree};

fn run(words: &[&str], expected: i32) -> String {
    let done = everlog(words);
    assert_eq!(code(&done), Some(expected), "{words:?}: {}", stderr(&done));
    format!("{}{}", stdout(&done), stderr(&done))
}

fn bytes(folder: &Path) -> Vec<(String, Vec<u8>)> {
    tree(folder).into_iter().filter(|(name, _)| !name.ends_with(".migrated")).map(|(name, (bytes, _))| (name, bytes)).collect()
}

#[test]
fn a_restore_goes_on_where_another_stopped() {
    let bench = Bench::new();
    for n in 0..5 {
        bench.conversation(&format!("s{n}"), &lines(3 + n));
    }
    bench.migrate(&[]);
    let (dest, back) = (bench.dest(), bench.path("back"));
    let words = ["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()];
    run(&words, 0);
    let whole = bytes(&back);
    // As a run leaves it that was killed: some files, and temporaries.
    fs::remove_file(back.join("s3/conversation.jsonl")).unwrap();
    fs::write(back.join("s1/.4711-3.everlog-tmp"), "half").unwrap();
    fs::write(back.join("s1/.mine.everlog-tmp"), "a person's").unwrap();
    let before = tree(&back)["s0/conversation.jsonl"].clone();
    assert!(run(&words, 0).contains("4 of them there already"));
    assert!(tree(&back)["s0/conversation.jsonl"] == before, "a file that was right was written again");
    assert!(!back.join("s1/.4711-3.everlog-tmp").exists(), "a leftover stayed");
    fs::remove_file(back.join("s1/.mine.everlog-tmp")).unwrap();
    assert!(bytes(&back) == whole);
    // What has other bytes is never overwritten, and nothing of its session is touched.
    fs::write(back.join("s2/conversation.jsonl"), "other").unwrap();
    assert!(run(&words, 1).contains("exists already"));
    assert_eq!(fs::read(back.join("s2/conversation.jsonl")).unwrap(), b"other");
}

/// Migrates, checks against the source, restores, and compares with the source.
fn settled(source: &Path, dest: &Path, back: &Path, restored: i32) -> String {
    let (source, dest, back) = (source.to_str().unwrap(), dest.to_str().unwrap(), back.to_str().unwrap());
    everlog(&["migrate", source, "-o", dest]);
    run(&["verify", dest, "--source", source], 0);
    run(&["restore", dest, "-o", back, "--jobs", "2"], restored)
}

fn fixture(format: &str, case: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format).join(case).join("input")
}

const KETTLE: &str = "agent_main_cli_direct_kettle";

#[test]
fn of_a_file_that_changed_hands_the_newest_is_restored() {
    // A meta file that was there before its first message.
    for (what, after, expected) in [("the same", "", 0), ("another", " ", 1)] {
        let bench = Bench::new();
        let (source, dest) = (bench.path("source"), bench.path("store"));
        fs::create_dir_all(&source).unwrap();
        let meta = source.join(format!("{KETTLE}.meta.json"));
        let input = fixture("picoclaw", "plain");
        let text = fs::read_to_string(input.join(format!("{KETTLE}.meta.json"))).unwrap();
        fs::write(&meta, &text).unwrap();
        set_mtime(&meta, 1_700_000_000_000_000_000);
        settled(&source, &dest, &bench.path("first"), 0);
        fs::copy(input.join(format!("{KETTLE}.jsonl")), source.join(format!("{KETTLE}.jsonl"))).unwrap();
        fs::write(&meta, text + after).unwrap();
        set_mtime(&meta, 1_700_000_001_000_000_000);
        let said = settled(&source, &dest, &bench.path("back"), expected);
        assert!(bytes(&bench.path("back")) == bytes(&source), "{what}: the live session was left out");
        assert_eq!(said.contains("has a newer one, which differs"), expected == 1, "{what}: {said}");
    }
    figure("same paths", 2);
}

#[test]
fn a_leftover_of_a_retired_session_and_a_reset_are_restored() {
    let bench = Bench::new();
    let (source, dest) = (bench.path("source"), bench.path("store"));
    support::copy_tree(&fixture("picoclaw", "plain"), &source);
    run(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--retire"], 0);
    let meta = source.join(format!("{KETTLE}.meta.json"));
    fs::write(&meta, fs::read_to_string(source.join(format!("{KETTLE}.meta.json.migrated"))).unwrap() + " ").unwrap();
    let said = settled(&source, &dest, &bench.path("back"), 1);
    assert!(said.contains("has a newer one, which differs"), "{said}");
    assert_eq!(fs::read(bench.path("back").join(format!("{KETTLE}.meta.json"))).unwrap(), fs::read(&meta).unwrap());
    // A session that was begun anew: the old transcript has another name now.
    let (source, dest) = (bench.path("reset"), bench.path("reset-store"));
    support::copy_tree(&fixture("openclaw", "store"), &source);
    settled(&source, &dest, &bench.path("reset-first"), 0);
    let name = tree(&source).into_keys().find(|name| name.ends_with(".jsonl")).unwrap();
    let old = fs::read_to_string(source.join(&name)).unwrap();
    fs::rename(source.join(&name), source.join(format!("{name}.reset.2026-11-18T10-00-00.000Z"))).unwrap();
    fs::write(source.join(&name), old.lines().next().unwrap().to_owned() + "\n").unwrap();
    settled(&source, &dest, &bench.path("reset-back"), 0);
    assert!(bytes(&bench.path("reset-back")) == bytes(&source));
    figure("same paths", 2);
}
