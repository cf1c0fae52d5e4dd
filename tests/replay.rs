//! `everlog replay` on paths with more than messages on them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod support;

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
