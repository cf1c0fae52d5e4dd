//! Retiring sources, in the orders that life comes up with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod support;

use std::fs;
use support::bench::{Bench, code, line, lines};
use support::{stderr, stdout, tree};

#[test]
fn retired_sources_can_be_had_back() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    let before = tree(&bench.source());
    let done = bench.migrate(&["--retire"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(!folder.join("conversation.jsonl").exists() && folder.join("conversation.jsonl.migrated").exists());
    let log = fs::read(bench.log("chat")).unwrap();
    let again = bench.migrate(&["--json"]);
    assert!(stdout(&again).contains("\"status\":\"skipped\""), "{}", stdout(&again));
    assert_eq!(fs::read(bench.log("chat")).unwrap(), log);
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
    // Never over an existing file.
    fs::write(folder.join("conversation.jsonl.migrated"), "mine").unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(fs::read(folder.join("conversation.jsonl.migrated")).unwrap(), b"mine");
    assert!(folder.join("conversation.jsonl").exists());
}

#[test]
fn a_log_that_has_rotted_is_mended_before_its_source_is_renamed() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let good = fs::read_to_string(bench.log("chat")).unwrap();
    fs::write(bench.log("chat"), good.replace("message 1", "message X")).unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(fs::read_to_string(bench.log("chat")).unwrap(), good);
}

#[test]
fn the_way_back_needs_no_receipts() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    bench.migrate(&["--retire"]);
    fs::remove_file(bench.dest().join(".everlog/receipts.jsonl")).unwrap();
    let again = bench.migrate(&["--json"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("\"status\":\"skipped\""));
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert!(folder.join("conversation.jsonl").exists());
    // A second time there is nothing left to do.
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
}

#[test]
fn one_that_cannot_be_given_back_does_not_keep_the_others() {
    let bench = Bench::new();
    let (a, b) = (bench.conversation("a", &lines(2)), bench.conversation("b", &lines(3)));
    bench.migrate(&["--retire"]);
    fs::write(a.join("conversation.jsonl"), line("user", "new", 1)).unwrap();
    let done = bench.migrate(&["--unretire"]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("a/conversation.jsonl") && stderr(&done).contains("exists already"), "{}", stderr(&done));
    assert!(b.join("conversation.jsonl").exists() && a.join("conversation.jsonl.migrated").exists());
    // The new conversation is converted, and the log of the old one is kept.
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert_eq!(tree(&bench.dest().join(".everlog/earlier")).len(), 1);
    // Out of the way, the rest comes back.
    fs::remove_file(a.join("conversation.jsonl")).unwrap();
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(fs::read_to_string(a.join("conversation.jsonl")).unwrap(), lines(2));
}

#[test]
fn a_retired_session_that_changes_is_noticed() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::write(folder.join("RESUME.md"), "one").unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    fs::write(folder.join("RESUME.md"), "two").unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("changed since the session was retired"), "{}", stderr(&done));
}

#[test]
fn a_session_that_its_program_has_open_is_not_renamed() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    let lock = fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let done = bench.migrate(&["--retire", "--json"]);
    assert!(folder.join("conversation.jsonl").exists(), "{}", stdout(&done));
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("its program has it open"), "{}", stderr(&done));
    drop(lock);
    // What was live then is not said to be live now.
    assert!(!stdout(&bench.migrate(&["--json"])).contains("session_live"));
}
