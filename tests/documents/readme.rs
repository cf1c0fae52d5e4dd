//! The commands of README and docs print what the pages show, and links work.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use everlog::adapters::ALL;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
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
        .env("TZ", "UTC")
        .env_remove("COLUMNS")
        .env_remove("EVERLOG_STORE")
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap()
}

fn workplace() -> TempDir {
    let scratch = TempDir::new().unwrap();
    symlink(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), scratch.path().join("fixtures")).unwrap();
    scratch
}

/// README and every page below `docs/src`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Runs the commands of a transcript in `folder`, and returns the transcript with
/// what they print now.
fn run_again(transcript: &str, folder: &Path) -> String {
    let commands = transcript.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|command| format!("$ {command}\n{}", shell(command, folder))).collect()
}

/// With `UPDATE_DOCS=1` the transcripts are rewritten instead; review the diff.
#[test]
fn the_terminal_transcripts_are_what_the_commands_print() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        // Within a page, one transcript goes on where the one before it ended.
        let scratch = workplace();
        let mut now = text.clone();
        for transcript in blocks(&text, "```console\n") {
            count += 1;
            now = now.replace(transcript, &run_again(transcript, scratch.path()));
        }
        if now != text && std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&page, &now).unwrap();
        } else if now != text {
            let diff = similar::TextDiff::from_lines(&text, &now).unified_diff().to_string();
            wrong.push(format!("{}:\n{diff}", page.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 3, "only {count} transcripts were found");
}

#[test]
fn every_link_between_the_documents_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            if path.contains("://") {
                continue;
            }
            seen += 1;
            let file = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let Ok(there) = fs::read_to_string(&file).or_else(|_| fs::metadata(&file).map(|_| String::new())) else {
                wrong.push(format!("{}: {target}", page.display()));
                continue;
            };
            let has = |anchor: &str| there.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == anchor);
            if anchor.is_some_and(|anchor| !has(anchor)) {
                wrong.push(format!("{}: {target} has no such heading", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 20, "only {seen} links were found");
}

#[test]
fn every_page_is_in_the_summary_once_and_every_format_has_one() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let pages = pages();
    let below = pages.iter().filter_map(|page| page.strip_prefix(&docs).ok()).filter(|page| *page != Path::new("SUMMARY.md"));
    for page in below {
        let link = format!("]({})", page.display());
        assert_eq!(summary.matches(&link).count(), 1, "{} is not in docs/src/SUMMARY.md once", page.display());
    }
    // A program that has had several formats has one page for all of them.
    let programs: Vec<String> =
        fs::read_dir(docs.join("programs")).unwrap().flatten().map(|page| page.file_name().into_string().unwrap()).collect();
    for adapter in ALL {
        let is_of = |page: &String| adapter.id().starts_with(page.trim_end_matches(".md"));
        assert!(programs.iter().any(is_of), "docs/src/programs has no page for {}", adapter.id());
    }
}

/// A heading as its link has it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

#[test]
fn the_picture_of_the_terminal_shows_what_the_commands_print() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = env!("CARGO_BIN_EXE_everlog");
    let Ok(done) = Command::new("python3").arg(root.join("scripts/screenshot")).args(["--check", "--binary", program]).output() else {
        return support::campaign::missing("python3 is not installed: the picture of the terminal is not compared");
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_readme_is_short() {
    let lines = readme().lines().count();
    assert!(lines <= 130, "{lines} lines");
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
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/explanation/testing.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| **")).collect();
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
fn the_jq_line_of_the_log_format_shows_what_was_said() {
    if Command::new("jq").arg("--version").output().is_err() {
        support::campaign::missing("jq is not installed: the recipe for it is not tried");
        return;
    }
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference/log-format.md")).unwrap();
    let line = page.lines().find(|line| line.starts_with("jq -r")).unwrap().split(" LOG").next().unwrap();
    let scratch = workplace();
    shell("everlog migrate fixtures/gptme/tour/input -o tour", scratch.path());
    let said = shell(&format!("{line} tour/2026-03-05-writing-gentle-finch.everlog.jsonl"), scratch.path());
    assert!(said.contains("user: Perfect. That will make her laugh."), "{said}");
}

/// The session after the example in the log format: three messages and a torn
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
