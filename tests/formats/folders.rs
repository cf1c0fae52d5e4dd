//! Which format has which files of a folder, where several have some; and which
//! files are read to find out.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use everlog::adapters::ALL;
use everlog::adapters::discover::discover;
use everlog::model::files::RelPath;
use everlog::model::finding::FindingCode;
use everlog::model::folder::{Known, Listed, ListedKind, Listing, Portion};
use std::sync::Mutex;

/// What is found in some files.
struct Found {
    /// The sessions, each with its format.
    units: Vec<(String, &'static str)>,
    /// What belongs to no session, and what it is.
    findings: Vec<(String, FindingCode)>,
    /// The files that were read.
    read: Vec<String>,
}

/// Looks through these files; one that ends in `@` is a link.
fn found(files: &[(&str, &str)]) -> Found {
    found_knowing(files, None)
}

/// The same, where something is known already.
fn found_knowing(files: &[(&str, &str)], known: Option<Known<'_>>) -> Found {
    let mut listed = Vec::new();
    for (name, text) in files {
        let kind = if text.ends_with('@') { ListedKind::Link } else { ListedKind::File };
        let entry = |path: RelPath, kind: ListedKind| Listed { path, kind, size: text.len() as u64, mtime_ns: 0, mode: 0o644 };
        listed.extend(RelPath::new(*name).folders().map(|folder| entry(folder, ListedKind::Folder)));
        listed.push(entry(RelPath::new(*name), kind));
    }
    let mut listed = Listing::new(listed).entries().to_vec();
    listed.dedup_by(|a, b| a.path == b.path);
    let read = Mutex::new(Vec::new());
    let peek = |path: &RelPath, _: Portion| {
        read.lock().unwrap().push(path.to_string());
        files.iter().find(|(name, _)| *name == path.to_string()).map_or(Vec::new(), |(_, text)| text.as_bytes().to_vec())
    };
    let found = discover(&Listing::new(listed), ALL, &peek, known, None);
    let mut read = read.into_inner().unwrap();
    read.sort();
    Found {
        units: found.units.iter().map(|unit| (unit.name.to_string(), unit.adapter.id())).collect(),
        findings: found.findings.list().iter().map(|finding| (finding.location.file.clone(), finding.code)).collect(),
        read,
    }
}

const SAID: &str = "{\"role\": \"user\", \"content\": \"a\", \"timestamp\": \"2026-11-15T10:00:00\"}\n";
const PI: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-11-15T10:00:00.000Z\",\"cwd\":\"/w\"}\n";
const SIDECAR: &str = r#"{"session_id": "ab", "title": "t", "workspace": "/w", "messages": []}"#;

#[test]
fn where_one_has_all_files_of_a_folder_nobody_else_reads_in_it() {
    let Found { units, read, .. } =
        found(&[("chat/conversation.jsonl", SAID), ("chat/events.jsonl", "{}\n"), ("chat/branches/alt.jsonl", SAID), ("chat/.lock", "")]);
    assert_eq!(units, [("chat".to_owned(), "gptme")]);
    assert_eq!(read, ["chat/conversation.jsonl"]);
}

#[test]
fn a_session_of_a_whole_folder_ends_where_others_begin() {
    let Found { units, findings, .. } = found(&[
        ("chat/conversation.jsonl", SAID),
        ("chat/events.jsonl", "{}\n"),
        ("chat/inside/session.jsonl", PI),
        ("chat/ab.json", SIDECAR),
        ("chat/notes.txt", "x"),
    ]);
    let wanted = [("chat", "gptme"), ("chat/ab.json", "hermes-webui"), ("chat/inside/session.jsonl", "pi")];
    assert_eq!(units, wanted.map(|(name, format)| (name.to_owned(), format)));
    assert_eq!(findings, [("chat/notes.txt".to_owned(), FindingCode::UnknownFile)]);
}

#[test]
fn a_session_that_is_known_for_sure_is_not_looked_into() {
    let files = [("a/conversation.jsonl", SAID), ("b/conversation.jsonl", SAID), ("c/conversation.jsonl", SAID)];
    let known = |folder: &RelPath, format: &str, file: &str, listed: &Listed| {
        let is_b = folder.as_bytes() == b"b" && listed.size == SAID.len() as u64;
        (is_b && (format, file) == ("gptme", "conversation.jsonl")) || folder.as_bytes() == b"c" && format != "gptme"
    };
    let Found { units, read, .. } = found_knowing(&files, Some(&known));
    assert_eq!(units, found(&files).units);
    assert_eq!(read, ["a/conversation.jsonl", "c/conversation.jsonl"]);
}

#[test]
fn where_nobody_is_sure_of_the_whole_folder_its_files_are_asked_about() {
    let Found { units, .. } = found(&[("chat/conversation.jsonl", ""), ("chat/session.jsonl", PI)]);
    assert_eq!(units, [("chat".to_owned(), "gptme"), ("chat/session.jsonl".to_owned(), "pi")]);
}

#[test]
fn where_a_folder_above_has_files_of_this_one_the_rest_is_asked_about() {
    let Found { units, findings, .. } = found(&[
        ("sessions.json", r#"{"main": {"sessionId": "s1"}}"#),
        ("skills-prompts/conversation.jsonl", SAID),
        ("skills-prompts/ab.json", SIDECAR),
        ("skills-prompts/_index.tmp.7", "elsewhere@"),
    ]);
    assert_eq!(units, [("sessions.json".to_owned(), "openclaw")]);
    assert_eq!(findings, [("skills-prompts/_index.tmp.7".to_owned(), FindingCode::TemporaryLeft)]);
}
