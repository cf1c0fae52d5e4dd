//! Claude Code: the audit names what its cleanup takes and what it left, and
//! sessions that a process has open are live.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::time::{Duration, SystemTime};
use support::bench::{Bench, code};
use support::expected::{Json, is_same};
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

/// Small transcripts that were made at random, and what SDK 0.3.326 shows of each:
/// prompts of the queue, results that stand elsewhere, commands carried out on the spot,
/// compactions, origins, and values of other types than usual.
const ANSWERS: &str = include_str!("claude_code_answers.jsonl");

#[test]
fn odd_transcripts_are_proven_and_shown_as_the_sdk_shows_them() {
    const SAID: [&str; 10] = [
        "uuid",
        "timestamp",
        "interruptedByShutdown",
        "toolDenialUnanswered",
        "tool_result_meta",
        "isCompactSummary",
        "is_meta",
        "isQueuedCommand",
        "isCompletedLocalCommand",
        "origin",
    ];
    let bench = Bench::new();
    let answers: Vec<Json> = ANSWERS.lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    let path = |n: usize| format!("projects/-a/0b0b0b0b-1111-4222-8333-{n:012}.jsonl");
    for (n, answer) in answers.iter().enumerate() {
        let records: Vec<String> =
            answer.list("records").iter().map(|record| String::from_utf8(record.0.clone()).unwrap() + "\n").collect();
        write(&bench, &path(n), &records.concat(), 0);
    }
    let migrated = bench.migrate(&["--json"]);
    assert!(!stdout(&migrated).contains("\"status\":\"failed\""), "{}", stdout(&migrated));
    let mut wrong = Vec::new();
    for (n, answer) in answers.iter().enumerate() {
        let log = bench.dest().join(format!("{}.everlog.jsonl", path(n)));
        let shown = everlog(&["replay", log.to_str().unwrap(), "--as", "source"]);
        let got: Vec<Json> = stdout(&shown).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
        let want = answer.list("shown");
        let is_equal = |(want, got): (&Json, &Json)| {
            SAID.iter().all(|key| match (want.get(key), got.get(key)) {
                (Some(want), Some(got)) => is_same(&want.0, &got.0),
                (want, got) => want.is_none() && got.is_none(),
            })
        };
        if want.len() != got.len() || !want.iter().zip(&got).all(is_equal) {
            wrong.push(format!("line {}: {}", n + 1, stdout(&shown)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_compaction_that_keeps_no_list_fails_to_load_and_is_kept() {
    let bench = Bench::new();
    let path = format!("projects/-a/{ID}.jsonl");
    let boundary = format!(
        "{{\"parentUuid\":null,\"isSidechain\":false,\"type\":\"system\",\"subtype\":\"compact_boundary\",\
         \"compactMetadata\":{{\"preservedMessages\":{{\"anchorUuid\":\"u\"}}}},\"uuid\":\"b\",\
         \"timestamp\":\"2026-05-04T09:00:00.000Z\",\"sessionId\":\"{ID}\"}}\n"
    );
    write(&bench, &path, &(transcript(ID) + &boundary), 0);
    let migrated = bench.migrate(&[]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    let log = bench.dest().join(format!("{path}.everlog.jsonl"));
    assert_eq!(code(&everlog(&["replay", log.to_str().unwrap(), "--as", "source"])), Some(1));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read(back.join(&path)).unwrap(), fs::read(bench.source().join(&path)).unwrap());
}

#[test]
fn a_subagent_hands_on_ids_that_are_ids() {
    let bench = Bench::new();
    let path = format!("projects/-a/{ID}.jsonl");
    let agent = |name: &str| format!("projects/-a/{ID}/subagents/agent-{name}");
    write(&bench, &path, &transcript(ID), 0);
    let metas = [
        ("a1", "{\"toolUseId\":\"toolu_1.a:b-c\",\"parentAgentId\":\"a2\"}", ("\"toolu_1.a:b-c\"", "\"a2\"")),
        ("a2", "{\"toolUseId\":\"no id\",\"parentAgentId\":\"a@b\"}", ("null", "null")),
        ("a3", "{\"toolUseId\":\"\",\"parentAgentId\":5}", ("null", "null")),
    ];
    for (name, meta, _) in metas {
        write(&bench, &format!("{}.jsonl", agent(name)), &transcript(ID), 0);
        write(&bench, &format!("{}.meta.json", agent(name)), meta, 0);
    }
    let migrated = bench.migrate(&[]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    let log = bench.dest().join(format!("{path}.everlog.jsonl"));
    for (name, _, (call, parent)) in metas {
        let head = format!("agent-{name}");
        let shown = stdout(&everlog(&["replay", log.to_str().unwrap(), "--as", "source", "--head", &head]));
        let want = format!("\"parent_tool_use_id\":{call},\"parent_agent_id\":{parent},");
        assert!(shown.contains(&want), "{want}: {shown}");
    }
}

#[test]
fn a_session_has_the_title_that_a_person_gave_it_else_a_made_up_one() {
    let bench = Bench::new();
    let path = format!("projects/-a/{ID}.jsonl");
    let log = bench.dest().join(format!("{path}.everlog.jsonl"));
    let summed_up = "{\"type\":\"summary\",\"summary\":\"summed up\",\"leafUuid\":\"u\"}\n";
    let made_up = format!("{{\"type\":\"ai-title\",\"aiTitle\":\"made up\",\"sessionId\":\"{ID}\"}}\n");
    let given = format!("{{\"type\":\"custom-title\",\"customTitle\":\"given\",\"sessionId\":\"{ID}\"}}\n");
    let title = |text: &str| {
        write(&bench, &path, text, 0);
        let migrated = bench.migrate(&[]);
        assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
        let first = fs::read_to_string(&log).unwrap().lines().next().unwrap().to_owned();
        Json(first.into_bytes()).get("payload").unwrap().get("title").map(|title| title.as_text())
    };
    assert_eq!(title(&transcript(ID)), None);
    assert_eq!(title(&(transcript(ID) + summed_up)).as_deref(), Some("summed up"));
    assert_eq!(title(&(transcript(ID) + &made_up + summed_up)).as_deref(), Some("made up"));
    write(&bench, &format!("projects/-a/{ID}/custom-title.json"), "{\"customTitle\":\"beside\"}", 0);
    assert_eq!(title(&(transcript(ID) + summed_up + &made_up)).as_deref(), Some("beside"));
    assert_eq!(title(&(transcript(ID) + &given + summed_up + &made_up)).as_deref(), Some("given"));
}

#[test]
fn a_transcript_that_begins_with_lines_of_new_types_is_one() {
    let bench = Bench::new();
    let path = format!("projects/-a/{ID}.jsonl");
    let new: String = (0..40).map(|n| format!("{{\"type\":\"new-{n}\",\"sessionId\":\"{ID}\",\"x\":{n}}}\n")).collect();
    write(&bench, &path, &(new + &transcript(ID)), 0);
    let migrated = bench.migrate(&["--json"]);
    assert!(stdout(&migrated).contains(&format!("\"unit\":\"{path}\"")), "{} {}", stdout(&migrated), stderr(&migrated));
}
