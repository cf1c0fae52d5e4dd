//! `everlog replay` on paths with more than messages on them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::log::LogWriter;
use everlog::model::event::{Body, Draft, EventKind};
use everlog::model::ids::Seq;
use everlog::model::stream::EventSink;
use std::fs;
use std::path::{Path, PathBuf};
use support::{everlog, stderr, stdout};
use tempfile::TempDir;

struct Made {
    writer: LogWriter<Vec<u8>>,
}

impl Made {
    fn new() -> Made {
        let mut made = Made { writer: LogWriter::new(Vec::new()) };
        made.put(EventKind::Session, None, r#"{"version":1,"kind":"session","format":"gptme","id":"s","folder":"s"}"#);
        made
    }

    fn put(&mut self, kind: EventKind, parent: Option<u32>, payload: &str) {
        let parent = parent.map(Seq::new);
        self.writer.put(Draft { ts: None, parent, body: Body::Json(kind, payload.as_bytes()) }).unwrap();
    }

    fn message(&mut self, parent: u32, text: &str, more: &str) {
        let payload = format!(r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"source_id":"id-{text}"{more}}}"#);
        self.put(EventKind::Message, Some(parent), &payload);
    }

    fn write(mut self, folder: &Path) -> PathBuf {
        self.put(EventKind::Outcome, None, r#"{"active":"branch:main"}"#);
        self.writer.close_facts("branch:main").unwrap();
        let path = folder.join("s.everlog.jsonl");
        fs::write(&path, self.writer.finish().unwrap().0).unwrap();
        path
    }
}

const TORN: &str = r#","hidden":{"from":["loader"],"why":"torn"}"#;

/// The numbers of the lines that are printed.
fn replayed(log: &Path, more: &[&str]) -> String {
    let done = everlog(&[&["replay", log.to_str().unwrap()], more].concat());
    assert_eq!(done.status.code(), Some(0), "{more:?}: {}", stderr(&done));
    let number = |line: &str| line.split(&[':', ','][..]).nth(1).unwrap().to_owned();
    stdout(&done).lines().map(number).collect::<Vec<_>>().join(" ")
}

/// 2 3 4, a compaction 5 that keeps 4, 6, an edit 7 of 6, 8; beside it a
/// branch summary 9 below 3, with 10 and a torn 11 below it.
fn compacted(folder: &Path) -> PathBuf {
    let mut made = Made::new();
    made.message(0, "one", "");
    made.message(2, "two", "");
    made.message(3, "three", "");
    made.put(EventKind::Compaction, Some(4), r#"{"source_id":"c","summary":"so far","first_kept":4,"tokens_before":5000}"#);
    made.message(5, "four", "");
    made.put(EventKind::Edit, Some(6), r#"{"source_id":"e","target":6,"replacement":{"content":[{"type":"text","text":"4"}],"new":1}}"#);
    made.message(7, "five", "");
    made.put(EventKind::BranchSummary, Some(3), r#"{"source_id":"b","summary":"left","from":8}"#);
    made.message(9, "six", "");
    made.message(10, "torn", TORN);
    made.put(EventKind::Label, Some(8), r#"{"source_id":"l","target":2,"label":"x"}"#);
    made.write(folder)
}

#[test]
fn replay_prints_the_whole_path_and_the_context_apart() {
    let scratch = TempDir::new().unwrap();
    let log = compacted(scratch.path());
    assert_eq!(replayed(&log, &[]), "2 3 4 5 6 8");
    assert_eq!(replayed(&log, &["--context"]), "5 4 6 8");
    assert_eq!(replayed(&log, &["--last", "2"]), "6 8");
    assert_eq!(replayed(&log, &["--last", "3", "--context"]), "4 6 8");
    assert_eq!(replayed(&log, &["--salvage"]), "2 3 4 5 6 8 11");
    assert_eq!(replayed(&log, &["--salvage", "--last", "1"]), "11");
    assert_eq!(replayed(&log, &["--salvage", "--at", "10"]), "2 3 9 10");
    let source = stdout(&everlog(&["replay", log.to_str().unwrap(), "--as", "source"]));
    let shown: Vec<&str> = source.lines().map(|line| line.split('"').nth(7).unwrap()).collect();
    assert_eq!(shown, ["three", "four", "five"]);
    assert_eq!(
        stdout(&everlog(&["replay", log.to_str().unwrap(), "--as", "source", "--last", "2"])),
        source[source.find('\n').unwrap() + 1..]
    );
}

#[test]
fn an_edited_message_is_printed_as_the_model_sees_it() {
    let scratch = TempDir::new().unwrap();
    let log = compacted(scratch.path());
    let whole = stdout(&everlog(&["replay", log.to_str().unwrap()]));
    let context = stdout(&everlog(&["replay", log.to_str().unwrap(), "--context"]));
    let six = |text: &str| text.lines().find(|line| line.starts_with("{\"seq\":6,")).unwrap().to_owned();
    let before = r#"{"seq":6,"type":"message","parent":5,"payload":{"role":"user","content":[{"type":"text","text":"four"}],"source_id":"id-four"}}"#;
    let after = r#"{"seq":6,"type":"message","parent":5,"payload":{"role":"user","content":[{"type":"text","text":"4"}],"source_id":"id-four","new":1}}"#;
    assert_eq!((six(&whole), six(&context)), (before.to_owned(), after.to_owned()));
}

#[test]
fn json_is_one_flat_object_for_each_message() {
    let scratch = TempDir::new().unwrap();
    let mut made = Made::new();
    made.message(0, "one", "");
    let answer = r#"{"role":"assistant","content":[{"type":"thinking","text":"hm"},{"type":"text","text":"a"},{"type":"text","text":{"$raw":"\"\\ud800\""}},{"type":"tool_call","id":"c","name":"f","arguments":"{\"x\": 0.10}"},{"type":"image","data":"AAAA","media_type":"image/png"}],"source_id":7,"model":"m","provider":"p","usage":{"input":5,"cost":{"input":1,"total":1.5}},"stop_reason":"toolUse"}"#;
    let parent = Some(Seq::new(2));
    let draft = Draft { ts: Some("2026-01-01T01:30:00.50+01:00"), parent, body: Body::Json(EventKind::Message, answer.as_bytes()) };
    made.writer.put(draft).unwrap();
    made.put(EventKind::Message, Some(3), r#"{"role":"bashExecution","content":[],"ext":{"command":"ls","output":"\n","exitCode":2}}"#);
    made.put(EventKind::Compaction, Some(4), r#"{"summary":"so far","first_kept":4}"#);
    let log = made.write(scratch.path());
    let flat = |more: &[&str]| stdout(&everlog(&[&["replay", log.to_str().unwrap(), "--json"], more].concat()));
    let all = flat(&[]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 4);
    let wanted = concat!(
        r#"{"session":"s","format":"gptme","seq":3,"index":1,"type":"message","ts":"2026-01-01T01:30:00.50+01:00","time":"2026-01-01T00:30:00.50Z","#,
        r#""role":"assistant","source_role":null,"text":"a\n�","thinking":"hm","tool_calls":[{"id":"c","name":"f","arguments":{"x":0.10}}],"tool_results":[],"#,
        r#""shell":null,"files":[{"type":"image","path":null,"uri":null,"name":null,"media_type":"image/png","embedded":true}],"name":null,"model":"m","provider":"p","#,
        r#""usage":{"input":5,"output":null,"cache_read":null,"cache_write":null,"reasoning":null,"total":null},"cost":1.5,"stop_reason":"tool_use","#,
        r#""source_stop_reason":"toolUse","error":null,"hidden_from":[],"source_id":"7","lossy":true}"#,
    );
    assert_eq!(lines[1], wanted);
    assert!(lines[2].contains(r#""role":"user","source_role":"bashExecution","text":"","#), "{}", lines[2]);
    assert!(lines[2].contains(r#""shell":{"command":"ls","output":"\n","exit_code":2}"#), "{}", lines[2]);
    assert!(
        lines[3].contains(r#""type":"compaction","ts":null,"time":null,"role":"system","source_role":null,"text":"so far""#),
        "{}",
        lines[3]
    );
    // An index is a message's place among all that are shown.
    assert_eq!(flat(&["--last", "1"]), format!("{}\n", lines[3]));
    assert!(flat(&["--context"]).starts_with(r#"{"session":"s","format":"gptme","seq":5,"index":0,"#));
    let source = everlog(&["replay", log.to_str().unwrap(), "--json", "--as", "source"]);
    assert!(stdout(&source).starts_with(r#"{"role":"#), "{}", stdout(&source));
}

#[test]
fn a_leaf_is_named_by_the_sources_id_or_by_number() {
    let scratch = TempDir::new().unwrap();
    let log = compacted(scratch.path());
    assert_eq!(replayed(&log, &["--leaf", "id-six"]), "2 3 9 10");
    assert_eq!(replayed(&log, &["--leaf", "#10"]), "2 3 9 10");
    assert_eq!(replayed(&log, &["--leaf", "b", "--last", "2"]), "3 9");
    assert_eq!(replayed(&log, &["--leaf", "e", "--context"]), "5 4 6");
    assert_eq!(replayed(&log, &["--leaf", "#4", "--at", "4"]), "2 3 4");
    for (leaf, at) in [("nosuch", "12"), ("#1", "12"), ("#99", "12"), ("#5", "4"), ("id-four", "5"), ("#", "12")] {
        let done = everlog(&["replay", log.to_str().unwrap(), "--leaf", leaf, "--at", at]);
        assert_eq!((done.status.code(), stdout(&done)), (Some(2), String::new()), "{leaf}");
        assert!(stderr(&done).contains(&format!("the log has no node {leaf}\n")), "{}", stderr(&done));
    }
    let both = everlog(&["replay", log.to_str().unwrap(), "--leaf", "b", "--head", "main"]);
    assert_eq!(both.status.code(), Some(2));
    assert!(stderr(&both).contains("cannot be used with"), "{}", stderr(&both));
}

#[test]
fn of_nodes_with_one_id_the_last_is_the_leaf() {
    let scratch = TempDir::new().unwrap();
    let mut made = Made::new();
    made.message(0, "twin", "");
    made.message(2, "twin", "");
    made.put(EventKind::Custom, Some(2), r#"{"custom_type":"t","data":{"source_id":"id-twin"}}"#);
    let log = made.write(scratch.path());
    assert_eq!(replayed(&log, &["--leaf", "id-twin"]), "2 3");
}

#[test]
fn the_end_is_read_through_the_checkpoint_only_where_nothing_projects() {
    let scratch = TempDir::new().unwrap();
    let quick = |log: &Path, more: &[&str]| {
        let done = everlog(&[&["replay", log.to_str().unwrap(), "--last", "2"], more].concat());
        stderr(&done).contains("read through the last checkpoint")
    };
    let mut made = Made::new();
    made.message(0, "one", "");
    made.put(EventKind::BranchSummary, Some(2), r#"{"summary":"left"}"#);
    made.message(3, "torn", TORN);
    made.put(EventKind::Label, Some(4), r#"{"target":2,"label":"x"}"#);
    let plain = made.write(scratch.path());
    assert!(quick(&plain, &[]) && quick(&plain, &["--context"]));
    assert!(!quick(&plain, &["--salvage"]) && !quick(&plain, &["--leaf", "#3"]) && !quick(&plain, &["--as", "source"]));
    assert_eq!(replayed(&plain, &["--last", "2"]), "2 3");
    assert_eq!(replayed(&plain, &["--last", "2"]), replayed(&plain, &["--last", "2", "--at", "8"]));

    let mut made = Made::new();
    made.message(0, "one", "");
    made.message(2, "two", "");
    made.put(EventKind::Hide, Some(3), r#"{"up_to":2,"why":"skip"}"#);
    let hidden = made.write(scratch.path());
    assert!(!quick(&hidden, &[]));
    assert_eq!(replayed(&hidden, &["--last", "2"]), "3");
}

/// Compact JSON as a program writes it with an indentation of two.
fn indented(json: &str) -> String {
    let (mut out, mut depth, mut is_in_string, mut is_after_backslash) = (String::new(), 0, false, false);
    let end_line = |depth: usize, out: &mut String| out.push_str(&format!("\n{}", "  ".repeat(depth)));
    for c in json.chars() {
        if is_in_string || c == '"' {
            out.push(c);
            is_in_string ^= c == '"' && !is_after_backslash;
            is_after_backslash = c == '\\' && !is_after_backslash;
            continue;
        }
        match c {
            '{' | '[' => {
                depth += 1;
                out.push(c);
                end_line(depth, &mut out);
            }
            '}' | ']' => {
                depth -= 1;
                end_line(depth, &mut out);
                out.push(c);
            }
            ',' => {
                out.push(c);
                end_line(depth, &mut out);
            }
            ':' => out.push_str(": "),
            c => out.push(c),
        }
    }
    out
}

#[test]
fn every_message_is_one_line_whatever_its_values() {
    let deep = format!("{}1{}", "[{\"a\":".repeat(60), "}]".repeat(60));
    let odd = [
        ("deep", deep.as_str()),
        ("a key $raw", r#"{"$raw":{"b":[1,2]},"c":"\n"}"#),
        ("a lone surrogate", r#"{"k":"\ud800","list":[1,"\udc00"]}"#),
        ("a lone surrogate as a key", r#"{"\ud800":[1,2]}"#),
    ];
    let mut wrong = Vec::new();
    for (name, value) in odd {
        let messages = |more: &str| {
            format!(
                r#"[{{"role":"user","content":"one","extra":{value}{more}}},{{"role":"assistant","content":[{{"type":"text","text":"two","x":{value}}}],"tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":{value}}}}}]{more}}}]"#
            )
        };
        let webui = format!(
            r#"{{"session_id":"a1b2c3d4e5f6","title":"T","workspace":"/srv","created_at":1.5,"updated_at":2.5,"messages":{},"more":{value}}}"#,
            messages(r#","timestamp":1.5"#)
        );
        // picoclaw rejects a session whose content or arguments are not strings.
        let legacy = format!(
            r#"{{"key":"cli:default","messages":[{{"role":"user","content":"one","extra":{value}}},{{"role":"user","content":"two","other":{value}}}],"created":"2026-02-03T09:00:00Z","updated":"2026-02-03T09:30:00Z"}}"#
        );
        for (format, file, text) in [
            ("hermes-webui", "sessions/a1b2c3d4e5f6.json", indented(&webui)),
            ("hermes-webui", "sessions/a1b2c3d4e5f6.json", indented(&webui).replace('\n', "\r\n")),
            ("hermes-webui", "sessions/a1b2c3d4e5f6.json", webui.clone()),
            ("picoclaw", "cli_default.json", indented(&legacy)),
            ("picoclaw", "cli_default.json", legacy.clone()),
        ] {
            let scratch = TempDir::new().unwrap();
            let (source, dest) = (scratch.path().join("source"), scratch.path().join("logs"));
            let path = source.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &text).unwrap();
            let migrated = everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--format", format]);
            assert_ne!(migrated.status.code(), Some(2), "{name}: {}", stderr(&migrated));
            let log = dest.join(format!("{file}.everlog.jsonl"));
            assert!(log.exists(), "{format}, {name}: {}{}", stdout(&migrated), stderr(&migrated));
            for more in [&[][..], &["--as", "source"], &["--last", "9"]] {
                let shown = everlog(&[&["replay", log.to_str().unwrap()], more].concat());
                let lines = stdout(&shown);
                let is_whole = |line: &str| line.starts_with('{') && line.ends_with('}');
                if shown.status.code() == Some(0) && (lines.lines().count() != 2 || !lines.lines().all(is_whole)) {
                    wrong.push(format!("{format}, {name}, {more:?}: {} lines", lines.lines().count()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
