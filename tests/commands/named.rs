//! Sessions by what people know them by, in every command that takes a log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, line};
use support::{stderr, stdout};

fn run(words: &[&str], folder: &Path, store: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.args(words).current_dir(folder).env_remove("EVERLOG_STORE");
    support::run(command.envs(store.map(|store| ("EVERLOG_STORE", store))))
}

/// Three sessions in a store.
fn three() -> Bench {
    let bench = Bench::new();
    bench.conversation("2026-01-alpha", &line("user", "How do I bake bread?", 1));
    bench.conversation("2026-01-alps", &line("user", "Which mountain is this?", 50));
    bench.conversation("2026-02-beta", &(line("user", "Bread and butter", 10) + &line("assistant", "newest", 20)));
    bench.migrate(&[]);
    bench
}

#[test]
fn a_session_is_found_by_id_prefix_title_and_time() {
    let bench = three();
    let dest = bench.dest();
    for (word, said) in [
        ("2026-01-alpha", "How do I bake bread?"),
        ("2026-01-alpha.everlog.jsonl", "How do I bake bread?"),
        ("2026-02", "Bread and butter"),
        ("which mountain is this?", "Which mountain is this?"),
        ("MOUNTAIN", "Which mountain is this?"),
        ("@last", "Which mountain is this?"),
    ] {
        let word = if word.ends_with(".jsonl") { dest.join(word).to_str().unwrap().to_owned() } else { word.to_owned() };
        let done = run(&["replay", &word, "--store", dest.to_str().unwrap()], bench.scratch.path(), None);
        assert_eq!(code(&done), Some(0), "{word}: {}", stderr(&done));
        assert!(stdout(&done).contains(said), "{word}: {}", stdout(&done));
    }
}

#[test]
fn the_store_is_named_or_found() {
    let bench = three();
    let (dest, scratch) = (bench.dest(), bench.scratch.path());
    let words = ["tree", "@last"];
    let inside = dest.join(".everlog");
    // Of the folder itself, of one inside, beside the source, and by name.
    for done in
        [run(&words, &dest, None), run(&words, &inside, None), run(&words, &bench.source(), None), run(&words, scratch, Some(&dest))]
    {
        assert_eq!(code(&done), Some(0), "{}", stderr(&done));
        assert!(stdout(&done).contains("Which mountain"), "{}", stdout(&done));
    }
    assert!(stdout(&run(&["ls"], &bench.source(), None)).contains("3 sessions in "));
    // What was typed is worth more than what the environment says.
    let named = run(&["ls", "--store", dest.to_str().unwrap()], scratch, Some(Path::new("/nowhere")));
    assert_eq!(code(&named), Some(0), "{}", stderr(&named));
    let nowhere = run(&words, scratch, None);
    assert_eq!(code(&nowhere), Some(2));
    assert!(stderr(&nowhere).contains("no file \"@last\"") && stderr(&nowhere).contains("--store"), "{}", stderr(&nowhere));
}

#[test]
fn every_command_that_takes_a_log_takes_a_session() {
    let bench = three();
    let back = bench.path("back");
    for words in [
        &["replay", "2026-02"][..],
        &["tree", "2026-02"],
        &["turns", "2026-02"],
        &["fork", "2026-02", "--leaf", "main"],
        &["restore", "2026-02", "-o", back.to_str().unwrap()],
    ] {
        let done = run(words, &bench.dest(), None);
        assert_eq!(code(&done), Some(0), "{words:?}: {}", stderr(&done));
    }
    let restored: Vec<_> = fs::read_dir(&back).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(restored, ["2026-02-beta"]);
}

#[test]
fn words_that_fit_several_sessions_or_none_are_refused() {
    let bench = three();
    let several = run(&["replay", "2026-01-al"], &bench.dest(), None);
    assert_eq!(code(&several), Some(2));
    let said = stderr(&several);
    assert!(said.starts_with("error: \"2026-01-al\" fits 2 sessions\n"), "{said}");
    assert!(said.contains("\n  2026-01-alps  2026-01-01  Which mountain is this?") && said.contains("\n  2026-01-alpha  "), "{said}");
    for word in ["gamma", ""] {
        let none = run(&["replay", word], &bench.dest(), None);
        assert_eq!((code(&none), stdout(&none)), (Some(2), String::new()));
        assert!(word.is_empty() || stderr(&none).contains("everlog ls"), "{}", stderr(&none));
    }
    // A log that is not there is not taken for the name of a session.
    let gone = run(&["replay", "gone.everlog.jsonl"], &bench.dest(), None);
    assert!(stderr(&gone).contains("cannot open gone.everlog.jsonl"), "{}", stderr(&gone));
}

#[test]
fn a_source_or_a_folder_in_the_place_of_a_log_is_explained() {
    let bench = three();
    let session = bench.source().join("2026-02-beta");
    let file = session.join("conversation.jsonl");
    for path in [&session, &file] {
        for command in [&["replay"][..], &["tree"], &["turns"], &["fork", "--leaf", "x"], &["restore", "-o", "back"]] {
            let done = run(&[command, &[path.to_str().unwrap()]].concat(), bench.scratch.path(), None);
            assert_eq!(code(&done), Some(2), "{command:?}");
            let said = stderr(&done);
            assert!(said.contains("is not a log: it is a session of gptme\n"), "{command:?}: {said}");
            assert!(said.contains("\nhint: convert it with `everlog migrate "), "{command:?}: {said}");
        }
    }
    let folder = run(&["replay", bench.dest().to_str().unwrap()], bench.scratch.path(), None);
    assert!(stderr(&folder).contains("is a folder of logs, where one log is wanted"), "{}", stderr(&folder));
    fs::write(bench.path("notes.txt"), "hello").unwrap();
    let other = run(&["replay", "notes.txt"], bench.scratch.path(), None);
    assert!(!stderr(&other).contains("migrate"), "{}", stderr(&other));
}
