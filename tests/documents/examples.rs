//! The programs in `examples/` do what they say, and fail honestly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, dead_code)]

use crate::support;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use support::golden_logs;
use tempfile::TempDir;

#[path = "../../examples/convert_folder.rs"]
mod convert_folder;
#[path = "../../examples/follow_branch.rs"]
mod follow_branch;
#[path = "../../examples/read_log.rs"]
mod read_log;
#[path = "../../examples/restore.rs"]
mod restore;

type Program = fn(&[String], &mut dyn Write) -> Result<(), Box<dyn Error>>;

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn example_log() -> String {
    project().join("examples/logs/two-branches.jsonl.everlog.jsonl").to_str().unwrap().to_owned()
}

/// What a program prints, or its error.
fn printed(program: Program, words: &[&str]) -> Result<String, String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let mut out = Vec::new();
    program(&words, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn read_log_prints_what_was_said() {
    let text = printed(read_log::run, &[&example_log()]).unwrap();
    assert!(text.starts_with("session s42 of pi\n\nuser, 2026-01-02T08:00:01.000Z\n  Add a --dry-run flag\n"), "{text}");
    assert!(text.contains("  -> read {\"path\":\"main.rs\"}\n"), "{text}");
    assert!(text.contains("  <- fn main() {}\n"), "{text}");
    assert!(text.contains("\ncompaction, 2026-01-02T08:00:10.000Z\n  A flag was wanted"), "{text}");
    assert!(text.ends_with("\n30 tokens written, at an unknown cost\n"), "{text}");
    for log in golden_logs() {
        printed(read_log::run, &[log.to_str().unwrap()]).unwrap_or_else(|error| panic!("{}: {error}", log.display()));
    }
}

#[test]
fn follow_branch_lists_branches_and_shows_where_one_leaves() {
    let log = example_log();
    assert_eq!(printed(follow_branch::run, &[&log]).unwrap(), "* branch:main: 7 messages\n  branch:x1: 4 messages\n");
    let left = printed(follow_branch::run, &[&log, "x1"]).unwrap();
    assert_eq!(left, "#7 assistant: Approach A: a flag in Args.\nbranch:x1 shares 3 messages with branch:main\n");
    assert_eq!(printed(follow_branch::run, &[&log, "x2"]).unwrap_err(), "the log has no head branch:x2");
}

#[test]
fn convert_folder_and_restore_are_inverse() {
    let scratch = TempDir::new().unwrap();
    let (sessions, dest, back) = (project().join("examples/sessions"), scratch.path().join("logs"), scratch.path().join("back"));
    let [sessions, dest, back] = [&sessions, &dest, &back].map(|path| path.to_str().unwrap());
    let convert = || printed(convert_folder::run, &[sessions, dest]).unwrap();
    assert_eq!(convert(), "100 % done\ntwo-branches.jsonl: Created, 3 messages\n");
    assert_eq!(convert(), "100 % done\ntwo-branches.jsonl: Unchanged, 3 messages\n");
    // The log that the documentation reads is the log of the session beside it.
    let log = Path::new(dest).join("two-branches.jsonl.everlog.jsonl");
    assert_eq!(fs::read(&log).unwrap(), fs::read(example_log()).unwrap());
    let restored = |place: &str| printed(restore::run, &[log.to_str().unwrap(), place]);
    assert_eq!(restored(back).unwrap(), "1 files, 2138 bytes, 0 of them there already\n");
    assert_eq!(restored(back).unwrap(), "1 files, 2138 bytes, 1 of them there already\n");
    let file = Path::new(back).join("two-branches.jsonl");
    assert_eq!(fs::read(&file).unwrap(), fs::read(Path::new(sessions).join("two-branches.jsonl")).unwrap());
    fs::write(&file, "something else").unwrap();
    assert!(restored(back).is_err());
    assert_eq!(fs::read(&file).unwrap(), b"something else");
}

#[test]
fn every_example_says_how_it_is_used_and_what_is_wrong() {
    let scratch = TempDir::new().unwrap();
    let empty = scratch.path().to_str().unwrap();
    let programs: [(Program, &str); 4] = [
        (read_log::run, "usage: read_log LOG"),
        (follow_branch::run, "usage: follow_branch LOG [HEAD]"),
        (convert_folder::run, "usage: convert_folder SOURCE DEST"),
        (restore::run, "usage: restore LOG FOLDER"),
    ];
    for (program, usage) in programs {
        assert_eq!(printed(program, &[]).unwrap_err(), usage);
        let missing = printed(program, &["no-such-file", "there"][..usage.split(' ').count() - 2 - usize::from(usage.contains('['))]);
        assert!(missing.unwrap_err().contains("no-such-file"), "{usage}");
    }
    let none = printed(convert_folder::run, &[empty, &format!("{empty}-logs")]).unwrap_err();
    assert_eq!(none, format!("{empty} has no session that everlog knows"));
    let inside = printed(
        convert_folder::run,
        &[&format!("{}/examples/sessions", project().display()), &format!("{}/examples/sessions/logs", project().display())],
    );
    assert!(inside.unwrap_err().contains("are inside each other"));
    // A log that was altered is read, and is not restored.
    let altered = scratch.path().join("altered.everlog.jsonl");
    fs::write(&altered, fs::read_to_string(example_log()).unwrap().replace("Approach A", "Approach Z")).unwrap();
    let altered = altered.to_str().unwrap();
    assert!(printed(read_log::run, &[altered]).unwrap().contains("this log is not as it was sealed"));
    assert!(printed(restore::run, &[altered, &format!("{empty}/back")]).unwrap_err().starts_with("this log is not as it was sealed"));
    assert!(!Path::new(&format!("{empty}/back")).exists());
}
