//! Claude Code: the audit names what its cleanup takes and what it left, and
//! sessions that a process has open are live.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::time::{Duration, SystemTime};
use support::bench::{Bench, code};
use support::expected::Json;
use support::{everlog, stderr, stdout};

const ID: &str = "0b0b0b0b-1111-4222-8333-000000000001";
const OTHER: &str = "0b0b0b0b-1111-4222-8333-000000000002";
const GONE: &str = "0b0b0b0b-1111-4222-8333-000000000003";

/// A source with this file, which was written so many days ago.
fn write(bench: &Bench, name: &str, text: &str, days: u64) {
    let path = bench.source().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let written = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60 + 60);
    fs::File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
}

fn transcript(id: &str) -> String {
    format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"hi\"}},\"uuid\":\"u\",\
         \"timestamp\":\"2026-05-04T09:00:00.000Z\",\"sessionId\":\"{id}\"}}\n"
    )
}

/// The findings of an audit with this code, each as its file and a fact.
fn audited(bench: &Bench, wanted: &str, fact: &str) -> Vec<String> {
    let audited = everlog(&["audit", bench.source().to_str().unwrap(), "--json"]);
    assert!(matches!(code(&audited), Some(0 | 1)), "{}", stderr(&audited));
    let rows: Vec<Json> = stdout(&audited).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    let of_code = rows.iter().filter(|row| row.get("code").is_some() && row.text("code") == wanted);
    of_code.map(|row| format!("{} {}", row.text("file"), String::from_utf8_lossy(&row.get(fact).unwrap().0))).collect()
}

#[test]
fn audit_names_what_the_cleanup_takes_within_a_week() {
    let bench = Bench::new();
    let path = |id: &str| format!("projects/-a/{id}.jsonl");
    write(&bench, &path(ID), &transcript(ID), 24);
    write(&bench, &path(OTHER), &transcript(OTHER), 20);
    write(&bench, &path(GONE), &transcript(GONE), 90);
    let due = || audited(&bench, "would_delete", "days");
    assert_eq!(due(), [format!("{} 30", path(ID)), format!("{} 30", path(GONE))]);
    // Of a folder inside the source, each file is named as the source has it.
    let projects = everlog(&["audit", bench.source().join("projects").to_str().unwrap(), "--json"]);
    assert!(stdout(&projects).contains(&format!("\"file\":\"-a/{ID}.jsonl\"")), "{}", stdout(&projects));
    write(&bench, "settings.json", "{\"cleanupPeriodDays\":60,\"env\":{\"KEY\":\"s3cr3t\"}}", 0);
    assert_eq!(due(), [format!("{} 60", path(GONE))]);
    assert_eq!(audited(&bench, "would_delete", "settings"), [format!("{} \"settings.json\"", path(GONE))]);
    write(&bench, "settings.json", "{\"cleanupPeriodDays\":99999}", 0);
    assert!(due().is_empty());
    let migrated = bench.migrate(&["--retire"]);
    assert!(matches!(code(&migrated), Some(0 | 1)), "{}", stderr(&migrated));
    fs::remove_file(bench.source().join("settings.json")).unwrap();
    assert!(due().is_empty(), "the cleanup does not know the names of retired files");
}

#[test]
fn audit_names_what_is_left_of_sessions_and_ids_that_are_there_twice() {
    let bench = Bench::new();
    write(&bench, &format!("projects/-a/{ID}.jsonl"), &transcript(ID), 0);
    write(&bench, &format!("projects/-b/{ID}.jsonl.migrated"), &transcript(ID), 0);
    write(&bench, &format!("projects/-b/{OTHER}.jsonl.migrated"), &transcript(OTHER), 0);
    for id in [ID, OTHER, GONE] {
        write(&bench, &format!("projects/-b/{id}/tool-results/a.txt"), "x", 0);
        write(&bench, &format!("projects/-b/{id}/tool-results/b.txt"), "x", 0);
        write(&bench, &format!("tasks/{id}/.lock"), "", 0);
        write(&bench, &format!("todos/{id}.json"), "[]", 0);
    }
    write(&bench, &format!("file-history/{GONE}/3ddebe3e4dfc1adb@v1"), "x", 0);
    write(&bench, &format!("todos/{GONE}-agent-{GONE}.json"), "[{}]", 0);
    write(&bench, &format!("projects/-a/{OTHER}/tool-results/a.txt"), "x", 0);
    let orphans = [
        format!("file-history/{GONE} 1"),
        format!("projects/-a/{OTHER} 1"),
        format!("projects/-b/{GONE} 2"),
        format!("todos/{GONE}-agent-{GONE}.json 1"),
    ];
    assert_eq!(audited(&bench, "orphan_companion", "files"), orphans);
    let twice = [format!("projects/-a/{ID}.jsonl \"projects/-b/{ID}.jsonl\"")];
    assert_eq!(audited(&bench, "key_twice", "others"), twice);
}

#[test]
fn a_session_that_a_process_has_open_is_live_and_is_not_retired() {
    let bench = Bench::new();
    for id in [ID, OTHER] {
        write(&bench, &format!("projects/-a/{id}.jsonl"), &transcript(id), 1);
    }
    let (own, stat) = (std::process::id(), fs::read_to_string("/proc/self/stat").unwrap());
    let began = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    write(&bench, &format!("sessions/{own}.json"), &format!("{{\"sessionId\":\"{ID}\",\"procStart\":\"{began}\"}}"), 0);
    write(&bench, "sessions/1.json", &format!("{{\"sessionId\":\"{OTHER}\",\"procStart\":\"1\"}}"), 0);
    let detected = everlog(&["detect", bench.source().join("projects/-a").to_str().unwrap(), "--json"]);
    let rows: Vec<Json> = stdout(&detected).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    let live: Vec<bool> = rows.iter().filter_map(|row| row.get("live")).map(|live| live.0 == b"true").collect();
    assert_eq!(live, [true, false], "{}", stdout(&detected));
    let migrated = bench.migrate(&["--retire", "--json"]);
    assert_eq!(code(&migrated), Some(1), "{}", stderr(&migrated));
    assert!(stdout(&migrated).contains("not_retired"), "{}", stdout(&migrated));
    let remains = |name: String| bench.source().join(name).exists();
    assert!(remains(format!("projects/-a/{ID}.jsonl")) && remains(format!("projects/-a/{OTHER}.jsonl.migrated")));
}

#[test]
fn a_subagent_whose_session_is_gone_keeps_its_meta_file() {
    let bench = Bench::new();
    let agent = format!("projects/-a/{GONE}/subagents/agent-a1");
    write(
        &bench,
        &format!("{agent}.jsonl"),
        &transcript(GONE).replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\""),
        0,
    );
    write(&bench, &format!("{agent}.meta.json"), "{\"agentType\":\"general-purpose\",\"toolUseId\":\"t\"}", 0);
    let migrated = bench.migrate(&["--json"]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    let rows: Vec<Json> = stdout(&migrated).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    assert_eq!((rows[0].text("kind").as_str(), rows[0].text("proven").as_str()), ("orphan", "now"), "{}", stdout(&migrated));
    let files: Vec<String> = rows[0].list("files").iter().map(Json::as_text).collect();
    assert_eq!(files, [format!("{agent}.jsonl"), format!("{agent}.meta.json")]);
}

#[test]
fn what_a_large_transcript_hides_is_above_its_boundary() {
    let bench = Bench::new();
    let path = format!("projects/-a/{ID}.jsonl");
    let record = |uuid: &str, parent: &str, text: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        transcript(ID)
            .replace("\"u\"", &format!("\"{uuid}\""))
            .replace("\"parentUuid\":null", &format!("\"parentUuid\":{parent}"))
            .replace("hi", text)
    };
    let long = "x".repeat(1_000_000);
    let mut text: String =
        (1..=6).map(|n| record(&format!("u{n}"), &if n == 1 { String::new() } else { format!("u{}", n - 1) }, &long)).collect();
    text += &format!(
        "{{\"parentUuid\":null,\"logicalParentUuid\":\"u6\",\"isSidechain\":false,\"type\":\"system\",\"subtype\":\"compact_boundary\",\
         \"content\":\"Conversation compacted\",\"compactMetadata\":{{\"trigger\":\"manual\"}},\"uuid\":\"b\",\
         \"timestamp\":\"2026-05-04T09:00:00.000Z\",\"sessionId\":\"{ID}\"}}\n"
    );
    text += &record("u7", "b", "summary");
    write(&bench, &path, &text, 0);
    let migrated = bench.migrate(&[]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    let log = bench.dest().join(format!("{path}.everlog.jsonl"));
    let count = |more: &[&str]| stdout(&everlog(&[&["replay", log.to_str().unwrap()], more].concat())).lines().count();
    assert_eq!((count(&["--as", "source"]), count(&["--leaf", "u6"])), (1, 6));
}
