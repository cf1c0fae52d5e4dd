//! `everlog show`: a conversation as people read it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, line, lines};
use support::{pty, run, stderr, stdout};

/// `show` in a pipe of 60 columns, in a zone that no source names.
fn show(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    run(command.arg("show").args(words).env("COLUMNS", "60").env("TZ", "UTC").env_remove("EVERLOG_STORE"))
}

fn shown(words: &[&str]) -> String {
    let done = show(words);
    assert_eq!(code(&done), Some(0), "{words:?}: {}", stderr(&done));
    stdout(&done)
}

/// A store with the session of a fixture, and its only log.
fn migrated(case: &str) -> (Bench, String) {
    let bench = Bench::new();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(case).join("input"), &bench.source());
    bench.migrate(&["--allow-live"]);
    let store = bench.dest().to_str().unwrap().to_owned();
    (bench, store)
}

#[test]
fn a_conversation_reads_well_in_a_pipe() {
    let (_bench, store) = migrated("claude-code/tour");
    let text = shown(&["@last", "--store", &store]);
    let want = "\
The loom
claude-code 00000a11-5eed-4a0b-9c0d-0123456789ab, 10
messages, in /home/ada/loom

user  2026-04-02 09:00:03  #4
  Weave a plan.

assistant  2026-04-02 09:00:08  #9  claude-loom-1
  ┊ Two threads.

assistant  2026-04-02 09:00:09  #10  claude-loom-1
  I will look at both.

assistant  2026-04-02 09:00:10  #11  claude-loom-1
  → Bash  ls

assistant  2026-04-02 09:00:11  #12  claude-loom-1
  → Read  /home/ada/loom/a.txt
  ← Bash  2 lines, 11 B: a.txt  #13
  ← Read  warp  #14
  [image: image/png, 1 × 1, 70 B]

assistant  2026-04-02 09:00:16  #17  claude-loom-1
  Both are there: “warp”, 布, \\u{2028} and \\u{7f}.

user  2026-04-02 09:00:17  #20
  What is this?
  [image: image/png, 1 × 1, 70 B]

assistant  2026-04-02 09:00:18  #21  claude-loom-1
  A thread.
";
    assert_eq!(text, want);
    let full = shown(&["@last", "--store", &store, "--tools", "full", "--thinking", "hidden"]);
    assert!(full.contains("  → Bash\n    command: ls\n") && full.contains("  ← Bash  #13\n      a.txt\n"), "{full}");
    assert!(full.contains("(thinking, 12 characters)") && !full.contains("Two threads"), "{full}");
    let none = shown(&["@last", "--store", &store, "--tools", "none"]);
    assert!(!none.contains('→') && !none.contains('←') && !none.contains("#13") && none.contains("A thread."), "{none}");
}

#[test]
fn zones_are_asked_for_and_never_guessed() {
    let (_bench, store) = migrated("claude-code/tour");
    let first = |zone: &str| shown(&["@last", "--store", &store, "--zone", zone]).lines().nth(4).unwrap().to_owned();
    assert_eq!(first("+02:00"), "user  2026-04-02 11:00:03  #4");
    assert_eq!(first("local"), "user  2026-04-02 09:00:03  #4");
    if Path::new("/usr/share/zoneinfo/Asia/Kolkata").exists() {
        assert_eq!(first("Asia/Kolkata"), "user  2026-04-02 14:30:03  #4");
    }
    let unknown = show(&["@last", "--store", &store, "--zone", "Nowhere/Land"]);
    assert_eq!(code(&unknown), Some(2));
    assert!(stderr(&unknown).contains("is not a time zone"), "{}", stderr(&unknown));
    // Times of this program have no zone.
    let (_bench, store) = migrated("gptme/tour");
    assert!(shown(&["toast", "--store", &store, "--zone", "+05:00"]).contains("user  2026-03-05 20:03:05  #3\n"));
}

#[test]
fn branches_compactions_and_turns_are_marked() {
    let (_bench, store) = migrated("gptme/tour");
    let toast = shown(&["toast", "--store", &store]);
    assert!(toast.contains("\n⑂ branches main-edit-0, main-undo-0 leave here\n\nuser"), "{toast}");
    let all = shown(&["toast", "--store", &store, "--all-branches"]);
    let other = all.split_once("━━ branch main-undo-0 ━━").expect("the branch is there").1;
    assert!(other.contains("shown above"), "{all}");
    assert!(all.starts_with(&toast), "the branches come after the conversation");
    assert_eq!(all.matches("Perfect. That will make her laugh.").count(), 1, "nothing is shown twice: {all}");
    let undone = shown(&["toast", "--store", &store, "--head", "main-undo-0"]);
    assert!(!undone.contains("Perfect."), "{undone}");

    let (_bench, store) = migrated("claude-code/compactions");
    let compacted = shown(&["00000e55", "--store", &store]);
    assert_eq!(compacted.matches("━━ for the model, this takes the place of what is above").count(), 2, "{compacted}");
}

#[test]
fn damage_and_altered_logs_are_marked() {
    let bench = Bench::new();
    bench.conversation("torn", &format!("{}garbage\n{}", line("user", "before", 5), line("assistant", "after", 6)));
    bench.migrate(&[]);
    let log = bench.log("torn");
    let text = shown(&[log.to_str().unwrap()]);
    let (before, mark, after) =
        (text.find("before"), text.find("✗ damaged: conversation.jsonl:2, not json, 8 B: garbage"), text.find("after"));
    assert!(before < mark && mark < after && before.is_some(), "{text}");
    let altered = fs::read_to_string(&log).unwrap().replace("before", "behind");
    fs::write(&log, altered).unwrap();
    let done = show(&[log.to_str().unwrap()]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("was altered since it was sealed") && stdout(&done).contains("behind"), "{}", stderr(&done));
}

#[test]
fn the_last_messages_and_earlier_states_are_shown() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(5));
    bench.migrate(&[]);
    let log = bench.log("chat");
    let log = log.to_str().unwrap();
    let last = shown(&[log, "--last", "2"]);
    assert!(last.contains("… 3 messages before …") && last.contains("message 3") && !last.contains("message 2"), "{last}");
    assert_eq!(shown(&[log, "--last", "5"]), shown(&[log]));
    let at = shown(&[log, "--at", "3"]);
    assert!(at.contains("message 1") && !at.contains("message 2"), "{at}");
    assert_eq!(code(&show(&[log, "--at", "99"])), Some(2));
    assert_eq!(code(&show(&[log, "--head", "nosuch"])), Some(2));
    assert_eq!(code(&show(&[log, "--json", "--as", "markdown"])), Some(2));
}

#[test]
fn edits_are_shown_as_diffs() {
    let bench = Bench::new();
    let record = |kind: &str, n: u32, content: &str| {
        let parent = if n == 1 { "null".to_owned() } else { format!("\"0000000{}-0000-4000-8000-000000000000\"", n - 1) };
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":\"/w\",\"sessionId\":\"00000001-5eed-4a0b-9c0d-0123456789ab\",\"version\":\"2.0.0\",\"gitBranch\":\"\",\"type\":\"{kind}\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}},\"uuid\":\"0000000{n}-0000-4000-8000-000000000000\",\"timestamp\":\"2026-04-02T09:00:0{n}.000Z\"}}\n"
        )
    };
    let edit = r#"[{"type":"tool_use","id":"c1","name":"Edit","input":{"file_path":"/w/a.rs","old_string":"let a = 1;\nlet b = 2;\n","new_string":"let a = 1;\nlet b = 3;\n"}}]"#;
    let folder = bench.source().join("projects/-w");
    fs::create_dir_all(&folder).unwrap();
    let session = record("user", 1, "\"Change it.\"") + &record("assistant", 2, edit);
    fs::write(folder.join("00000001-5eed-4a0b-9c0d-0123456789ab.jsonl"), session).unwrap();
    bench.migrate(&[]);
    let text = shown(&["@last", "--store", bench.dest().to_str().unwrap()]);
    assert!(text.contains("  → Edit  /w/a.rs\n        let a = 1;\n      - let b = 2;\n      + let b = 3;\n"), "{text}");
    let markdown = shown(&["@last", "--store", bench.dest().to_str().unwrap(), "--as", "markdown"]);
    assert!(markdown.contains("**Edit** `/w/a.rs`\n\n```diff\n let a = 1;\n-let b = 2;\n+let b = 3;\n```\n"), "{markdown}");
}

#[test]
fn a_person_on_a_terminal_gets_colours_and_a_pager() {
    let (bench, store) = migrated("gptme/tour");
    let paged = bench.path("paged");
    let words: Vec<OsString> = ["show", "toast", "--store", &store].map(OsString::from).into();
    let pager = format!("cat > '{}'", paged.display());
    let terminal = pty::run_with(&words, &[("TERM", "xterm"), ("PAGER", &pager)]);
    assert_eq!((terminal.code, terminal.bytes.as_slice()), (Some(0), &b""[..]));
    let text = fs::read_to_string(&paged).unwrap();
    assert!(text.contains("\u{1b}[1;34muser\u{1b}[0m") && text.contains("laugh"), "{text}");
    // Without a pager the same is on the terminal.
    let direct = |more: &[&str], environment: &[(&str, &str)]| {
        let words: Vec<OsString> = words.iter().cloned().chain(more.iter().map(OsString::from)).collect();
        String::from_utf8(pty::run_with(&words, environment).bytes).unwrap()
    };
    assert_eq!(direct(&["--no-pager"], &[("TERM", "xterm"), ("PAGER", "false")]), text);
    assert_eq!(direct(&[], &[("TERM", "xterm"), ("PAGER", "")]), text);
    let plain = direct(&[], &[("TERM", "dumb"), ("PAGER", "false")]);
    assert!(plain.contains("laugh") && !plain.contains('\u{1b}'), "{plain}");
    // A pager that goes away before the end is not a failure.
    assert_eq!(pty::run_with(&words, &[("TERM", "xterm"), ("PAGER", "true")]).code, Some(0));
}

#[test]
fn no_form_shows_a_secret_that_is_to_be_taken_out() {
    let bench = Bench::new();
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let said = [line("user", &format!("the key is {secret}"), 1), line("assistant", &format!("{secret} of /home/ada, the one key"), 2)];
    // The torn record holds the first half of the key, which no rule knows.
    bench.conversation("chat", &format!("{}{{\"role\": \"user\", \"content\": \"AKIAIOSFOD", said.concat()));
    bench.migrate(&[]);
    let store = bench.dest().to_str().unwrap().to_owned();
    for form in [vec![], vec!["--as", "markdown"], vec!["--as", "messages"]] {
        let plain = show(&[&["@last", "--store", &store], form.as_slice()].concat());
        assert!(stdout(&plain).contains(secret), "{form:?}");
        let redacted = show(&[&["@last", "--store", &store, "--redact", "--redact-pattern", "the one k.y"], form.as_slice()].concat());
        assert_eq!(code(&redacted), Some(0), "{}", stderr(&redacted));
        for gone in ["AKIAIOSFOD", "/home/ada", "the one key"] {
            assert!(!stdout(&redacted).contains(gone), "{form:?}: {gone}\n{}", stdout(&redacted));
            assert!(!stderr(&redacted).contains(gone), "{form:?}: {gone}\n{}", stderr(&redacted));
        }
        assert!(stdout(&redacted).contains("the key is [aws-key-1]"), "{form:?}: {}", stdout(&redacted));
        assert!(stderr(&redacted).contains("[aws-key-1] 2 times"), "{form:?}: {}", stderr(&redacted));
    }
}
