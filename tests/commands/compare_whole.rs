//! `everlog contains`, `diff` and `verify` do not call well what they did not look
//! at.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line, lines};
use support::{everlog, stderr, stdout};

struct Said {
    exit: Option<i32>,
    out: String,
    err: String,
}

fn run(command: &str, a: &Path, b: &Path) -> Said {
    let done = everlog(&[command, a.to_str().unwrap(), b.to_str().unwrap()]);
    Said { exit: code(&done), out: stdout(&done), err: stderr(&done) }
}

/// A source beside that of a bench, with one conversation.
fn source(bench: &Bench, folder: &str, session: &str, text: &str) -> PathBuf {
    let path = bench.path(folder).join(session);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("conversation.jsonl"), text).unwrap();
    bench.path(folder)
}

/// The first bytes of a database of OpenClaw's, as far as they are looked at.
fn database(path: &Path) {
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(4096, 0);
    bytes[60..64].copy_from_slice(&1_u32.to_be_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn verify_names_what_of_the_source_cannot_have_a_log_and_counts_it() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    let (source, dest) = (bench.source(), bench.dest());
    let verify = |more: &[&str]| everlog(&[&["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()], more].concat());
    assert_eq!(code(&verify(&[])), Some(0));
    database(&source.join("openclaw.sqlite"));
    let said = verify(&[]);
    assert_eq!(code(&said), Some(0), "{}", stdout(&said));
    assert!(stderr(&said).starts_with("warning: ") && !stderr(&said).contains("error: "), "{}", stderr(&said));
    assert_eq!(code(&verify(&["--strict"])), Some(1));
    let place = source.join("openclaw.sqlite");
    assert!(stderr(&said).contains("an OpenClaw database") && stderr(&said).contains(place.to_str().unwrap()), "{}", stderr(&said));
    assert!(stdout(&said).contains("1 log checked against their source: 1 the same, 1 not converted"), "{}", stdout(&said));
    assert!(stdout(&verify(&["--json"])).contains("\"verdict\":\"not_converted\""));
    assert_eq!(code(&verify(&["--exclude", "openclaw*"])), Some(0));
}

#[test]
fn retired_sessions_are_asked_for_and_hold() {
    let bench = Bench::new();
    bench.conversation("old", &lines(3));
    assert_eq!(code(&bench.migrate(&["--retire"])), Some(0));
    assert!(bench.source().join("old/conversation.jsonl.migrated").is_file());
    let less = source(&bench, "less", "old", &lines(2));
    for command in ["contains", "diff"] {
        let missing = run(command, &bench.source(), &less);
        assert_eq!(missing.exit, Some(1), "{command}: {}{}", missing.out, missing.err);
        assert!(missing.out.contains("message 2"), "{command}: {}", missing.out);
        let held = run(command, &bench.source(), &bench.dest());
        assert_eq!((held.exit, held.err.as_str()), (Some(0), ""), "{command}: {}", held.out);
    }
    assert_eq!(run("contains", &less, &bench.source()).out, "2 messages on all branches of 1 session in A, all of them in B\n");
    // Its program has begun another one under the name.
    bench.conversation("old", &line("user", "afresh", 9));
    let both = source(&bench, "both", "old", &(lines(3) + &line("user", "afresh", 9)));
    assert_eq!(run("contains", &bench.source(), &both).out, "4 messages on all branches of 1 session in A, all of them in B\n");
    let missing = run("contains", &bench.source(), &source(&bench, "fresh", "old", &line("user", "afresh", 9)));
    assert!(missing.exit == Some(1) && missing.out.contains("old has 3 messages that B has not"), "{}", missing.out);
}

#[test]
fn what_cannot_be_looked_at_is_named_and_is_not_well() {
    let bench = Bench::new();
    let (a, b) = (source(&bench, "a", "chat", &lines(2)), source(&bench, "b", "chat", &lines(2)));
    fs::write(a.join("notes.txt"), "mine").unwrap();
    let stray = run("contains", &a, &b);
    assert_eq!(stray.exit, Some(0));
    assert_eq!(stray.out, "2 messages on all branches of 1 session in A, all of them in B; 1 file in A of no session\n");
    database(&a.join("openclaw.sqlite"));
    for command in ["contains", "diff"] {
        let said = run(command, &a, &b);
        assert_eq!(said.exit, Some(1), "{command}: {}", said.out);
        assert!(said.err.contains("not compared: an OpenClaw database") && said.err.contains("a/openclaw.sqlite"), "{}", said.err);
        assert!(said.out.contains("could not be looked at"), "{command}: {}", said.out);
    }
    // All that is asked for is there, whatever else B has.
    assert_eq!(run("contains", &b, &a).exit, Some(0));
    assert_eq!(run("diff", &b, &a).exit, Some(1));
    fs::remove_dir_all(a.join("chat")).unwrap();
    let nothing_else = run("contains", &a, &b);
    assert_eq!(nothing_else.exit, Some(1), "{}{}", nothing_else.out, nothing_else.err);
    assert!(nothing_else.err.contains("an OpenClaw database"), "{}", nothing_else.err);
}

#[test]
fn sessions_beside_logs_are_looked_at() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    bench.conversation("late", &line("user", "came later", 7));
    let said = run("contains", bench.scratch.path(), &bench.dest());
    assert!(said.exit == Some(1) && said.out.contains("came later"), "{}{}", said.out, said.err);
}

#[test]
fn damaged_bytes_are_asked_for_too() {
    let bench = Bench::new();
    let torn = r#"{"role": "user", "content": "half a sec"#;
    bench.conversation("chat", &(lines(2) + torn));
    bench.migrate(&[]);
    let without = source(&bench, "without", "chat", &lines(2));
    for command in ["contains", "diff"] {
        for a in [bench.source(), bench.dest()] {
            let missing = run(command, &a, &without);
            assert_eq!(missing.exit, Some(1), "{command}: {}", missing.out);
            assert!(missing.out.contains("half a sec"), "{command}: {}", missing.out);
        }
        assert_eq!(run(command, &bench.source(), &bench.dest()).exit, Some(0), "{command}");
    }
    assert_eq!(run("contains", &without, &bench.source()).exit, Some(0));
    assert_eq!(run("diff", &without, &bench.source()).exit, Some(1));
    let said = run("contains", &bench.source(), &bench.dest()).out;
    assert_eq!(said, "2 messages and 1 damaged piece on all branches of 1 session in A, all of them in B\n");
    // As often as it stands there.
    let folder = bench.source().join("chat/conversation.jsonl");
    fs::write(folder, lines(2) + torn + "\n" + torn + "\n").unwrap();
    let twice = run("contains", &bench.source(), &bench.dest());
    assert!(twice.exit == Some(1) && twice.out.contains("chat has 1 damaged piece that B has not"), "{}", twice.out);
}

#[test]
fn what_a_store_keeps_from_before_counts_on_both_sides() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let whole = source(&bench, "whole", "chat", &lines(4));
    let shrunk = source(&bench, "shrunk", "chat", &lines(2));
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    assert!(bench.dest().join(".everlog/earlier").is_dir());
    assert_eq!(run("contains", &whole, &bench.dest()).out, "4 messages on all branches of 1 session in A, all of them in B\n");
    assert_eq!(run("contains", &bench.dest(), &whole).out, "4 messages on all branches of 1 session in A, all of them in B\n");
    let missing = run("contains", &bench.dest(), &shrunk);
    assert!(missing.exit == Some(1) && missing.out.contains("chat has 2 messages that B has not"), "{}", missing.out);
}

#[test]
fn a_database_with_a_damaged_header_is_not_a_foreign_file() {
    let bench = Bench::new();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hermes-webui/tour/input"), &bench.source());
    bench.migrate(&[]);
    assert_eq!(run("contains", &bench.source(), &bench.dest()).exit, Some(0));
    fs::write(bench.source().join("state.db"), [0x5a; 4096]).unwrap();
    for command in ["contains", "diff"] {
        let said = run(command, &bench.source(), &bench.dest());
        assert_eq!(said.exit, Some(1), "{command}: {}{}", said.out, said.err);
        assert!(said.err.contains("not compared") && said.err.contains("state.db"), "{command}: {}{}", said.out, said.err);
    }
}
