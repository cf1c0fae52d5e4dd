//! README's commands do what it says they do.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use everlog::adapters::ALL;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

/// The first text between a fence and its end.
fn block<'a>(text: &'a str, fence: &str) -> &'a str {
    blocks(text, fence)[0]
}

fn blocks<'a>(text: &'a str, fence: &str) -> Vec<&'a str> {
    text.split(fence).skip(1).map(|rest| &rest[..rest.find("```").unwrap()]).collect()
}

fn shell(command: &str, folder: &Path) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_everlog")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let done = Command::new("sh")
        .args(["-c", &format!("{command} 2>&1")])
        .current_dir(folder)
        .env("PATH", path)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn workplace() -> TempDir {
    let scratch = TempDir::new().unwrap();
    symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), scratch.path().join("fixtures")).unwrap();
    scratch
}

#[test]
fn the_terminal_transcripts_are_what_the_commands_print() {
    let readme = readme();
    let transcripts = blocks(&readme, "```console\n");
    assert_eq!(transcripts.len(), 3);
    // One may go on where another ended.
    let scratch = workplace();
    for transcript in transcripts {
        let mut shown = String::new();
        for command in transcript.lines().filter_map(|line| line.strip_prefix("$ ")) {
            shown.push_str(&format!("$ {command}\n{}", shell(command, scratch.path())));
        }
        assert_eq!(transcript, shown);
    }
}

#[test]
fn the_first_command_migrates_and_the_second_is_what_ci_runs() {
    let readme = readme();
    let commands: Vec<&str> = block(&readme, "```sh\n").lines().map(|line| line.split(" #").next().unwrap().trim()).collect();
    let [first, second] = commands.as_slice() else { panic!("{commands:?}") };
    let scratch = workplace();
    let said = shell(&first.replace("cargo run --release --", "everlog"), scratch.path());
    assert!(said.contains("3 created") && scratch.path().join("tour").is_dir(), "{said}");
    let check = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check")).unwrap();
    assert!(check.contains(second), "scripts/check does not run {second}");
    let ci = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/run")).unwrap();
    assert!(ci.contains("scripts/check"));
}

#[test]
fn the_format_table_is_the_registry() {
    let readme = readme();
    for adapter in ALL {
        assert!(readme.contains(&format!("| `{}` | {} |", adapter.id(), adapter.describe())), "{} is not in README", adapter.id());
    }
    let rows = readme
        .lines()
        .skip_while(|line| *line != "## Formats")
        .skip_while(|line| *line != "| format | what |")
        .take_while(|line| line.starts_with('|'))
        .filter(|line| line.starts_with("| `"));
    assert_eq!(rows.count(), ALL.len());
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let readme = readme();
    let rows: Vec<&str> =
        readme.lines().skip_while(|line| !line.starts_with("## What we promise")).filter(|line| line.starts_with("| **")).collect();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let mut names = row.split('`').filter(|word| word.starts_with("tests/")).peekable();
        assert!(names.peek().is_some(), "{row}");
        for name in names {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(name).is_file(), "{name}");
        }
    }
}

#[test]
fn the_jq_line_of_the_readme_shows_what_was_said() {
    if Command::new("jq").arg("--version").output().is_err() {
        eprintln!("jq is not installed: its line in README is not tried");
        return;
    }
    let readme = readme();
    let line = readme.lines().find(|line| line.starts_with("jq -r")).unwrap().split(" LOG").next().unwrap();
    let scratch = workplace();
    shell("everlog migrate fixtures/gptme/tour/input -o tour", scratch.path());
    let said = shell(&format!("{line} tour/2026-03-05-writing-gentle-finch.everlog.jsonl"), scratch.path());
    assert!(said.contains("user: Perfect. That will make her laugh."), "{said}");
}

/// The session behind the example in the log format: three messages and a torn
/// line, a backup branch, an event log.
fn example_session(folder: &Path) {
    let line = |role: &str, text: &str, second: u32| {
        format!("{{\"role\": \"{role}\", \"content\": \"{text}\", \"timestamp\": \"2026-01-01T00:00:{second:02}\"}}\n")
    };
    let (one, three) = (line("user", "one", 0), line("user", "three", 2));
    let write = |path: &str, text: String| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("conversation.jsonl", format!("{one}{}{three}{{\"role\": \"us", line("assistant", "two", 1)));
    write("branches/main-edit-0.jsonl", format!("{one}{}{three}", line("assistant", "2", 1)));
    let event = |seq: u32, ts: &str, kind: &str, payload: String| {
        format!("{{\"seq\": {seq}, \"ts\": \"{ts}+00:00\", \"type\": \"{kind}\", \"payload\": {payload}}}\n")
    };
    let append = event(1, "2026-01-01T00:00:00.5", "message_append", format!("{{\"message\": {}}}", one.trim_end()));
    write("events.jsonl", append + &event(2, "2026-01-01T00:00:09", "undo", "{\"n\": 1}".to_owned()));
}

#[test]
fn the_example_of_the_log_format_is_a_real_log() {
    let scratch = TempDir::new().unwrap();
    example_session(&scratch.path().join("logs/chat"));
    shell("everlog migrate logs -o out", scratch.path());
    let log = fs::read_to_string(scratch.path().join("out/chat.everlog.jsonl")).unwrap();
    let without_hashes: String = log
        .split("\"sha256\":\"")
        .enumerate()
        .map(|(n, part)| if n == 0 { part.to_owned() } else { format!("\"sha256\":\"…{}", &part[64..]) })
        .collect();
    let format = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/log/FORMAT.md")).unwrap();
    assert_eq!(block(&format, "```json\n"), without_hashes);
}
