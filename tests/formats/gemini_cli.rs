//! Gemini CLI: every state of a patch log is reachable, each message is stored
//! once, files of one session are one unit, and nothing secret is carried.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::collections::BTreeSet;
use std::fs;
use support::bench::{Bench, code};
use support::expected::Json;
use support::{copy_tree, everlog, stderr, stdout, tree};

const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn metadata(id: &str, updated: &str) -> String {
    format!(
        "{{\"sessionId\":\"{id}\",\"projectHash\":\"{HASH}\",\"startTime\":\"{updated}\",\"lastUpdated\":\"{updated}\",\"kind\":\"main\"}}\n"
    )
}

fn user(id: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\",\"timestamp\":\"2026-05-04T09:00:00.000Z\",\"type\":\"user\",\"content\":[{{\"text\":\"{text}\"}}]}}")
}

fn write(bench: &Bench, name: &str, text: &str) {
    let path = bench.source().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The units of a migrated source, each with its files.
fn units(bench: &Bench) -> Vec<(String, BTreeSet<String>)> {
    let migrated = bench.migrate(&["--json"]);
    assert!(matches!(code(&migrated), Some(0 | 1)), "{}", stderr(&migrated));
    let rows =
        stdout(&migrated).lines().map(|line| Json(line.as_bytes().to_vec())).filter(|line| line.get("unit").is_some()).collect::<Vec<_>>();
    let files = |row: &Json| row.list("files").iter().map(Json::as_text).collect();
    rows.iter()
        .map(|row| {
            assert_eq!((row.text("status").as_str(), row.text("format").as_str()), ("created", "gemini-cli"), "{row:?}");
            (row.text("unit"), files(row))
        })
        .collect()
}

fn texts(bench: &Bench, unit: &str, more: &[&str]) -> Vec<String> {
    let log = bench.dest().join(format!("{unit}.everlog.jsonl"));
    let replayed = everlog(&[&["replay", log.to_str().unwrap(), "--as", "source"], more].concat());
    let lines = stdout(&replayed).lines().map(|line| Json(line.as_bytes().to_vec())).collect::<Vec<_>>();
    lines.iter().map(|line| line.list("content")[0].text("text")).collect()
}

#[test]
fn every_state_of_a_patch_log_is_reachable_and_each_message_stored_once() {
    let bench = Bench::new();
    let (one, two, three) = (user("a", "one"), user("b", "two"), user("c", "three"));
    let list = |messages: &[&str]| format!("{{\"$set\":{{\"messages\":[{}]}}}}\n", messages.join(","));
    let log = [
        metadata("s1", "2026-05-04T09:00:00.000Z"),
        format!("{one}\n{two}\n{three}\n"),
        "{\"$rewindTo\":\"b\"}\n".to_owned(),
        list(&[&one, &two, &three]),
        list(&[]),
        list(&[&three, &one]),
    ];
    write(&bench, "chats/session-1-00000001.jsonl", &log.concat());
    let unit = "session-1-00000001.jsonl";
    assert_eq!(units(&bench)[0].0, unit);
    assert_eq!(texts(&bench, unit, &[]), ["three", "one"]);
    let text = fs::read_to_string(bench.dest().join(format!("{unit}.everlog.jsonl"))).unwrap();
    assert_eq!(text.matches("\"type\":\"message\"").count(), 3, "{text}");
    let states: BTreeSet<Vec<String>> =
        (1..=text.lines().count()).map(|seq| texts(&bench, unit, &["--at", &seq.to_string()])).filter(|state| !state.is_empty()).collect();
    for state in [&["one"][..], &["one", "two"], &["one", "two", "three"], &["three", "one"]] {
        assert!(states.contains(&state.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()), "{state:?} in {states:?}");
    }
}

#[test]
fn files_of_one_id_are_one_unit_and_the_one_that_is_resumed_is_shown() {
    let bench = Bench::new();
    let old = "2026-05-04T09:00:00.000Z";
    let new = "2026-05-04T10:00:00.000Z";
    write(&bench, "tmp/p/chats/session-1-00000001.jsonl", &(metadata("s1", old) + &user("a", "real") + "\n"));
    write(&bench, "tmp/p/chats/session-2-00000001.jsonl", &metadata("s1", new));
    write(
        &bench,
        "tmp/p/chats/session-3-00000001.jsonl",
        &(metadata("s2", new) + &user("a", "other") + "\n{\"$set\":{\"sessionId\":\"s1\"}}\n"),
    );
    write(&bench, "tmp/p/chats/session-4-00000004.jsonl", &(metadata("s4", old) + &user("a", "alone") + "\n"));
    write(&bench, "tmp/p/chats/session-4-00000004.json", "{\n  \"sessionId\": \"s4\",\n  \"mess");
    write(&bench, "tmp/p/tool-outputs/session-S1/x.txt", "long");
    write(&bench, "tmp/q/chats/session-1-00000001.jsonl", &(metadata("s1", old) + &user("a", "elsewhere") + "\n"));
    let units = units(&bench);
    let of = |unit: &str| units.iter().find(|(name, _)| name == unit).map(|(_, files)| files.len());
    assert_eq!(units.len(), 3, "{units:?}");
    assert_eq!(of("tmp/p/session-1-00000001.jsonl"), Some(4), "{units:?}");
    assert_eq!(of("tmp/p/session-4-00000004.json"), Some(2), "{units:?}");
    assert_eq!(texts(&bench, "tmp/p/session-1-00000001.jsonl", &[]), ["other"]);
    assert_eq!(texts(&bench, "tmp/p/session-1-00000001.jsonl", &["--head", "backup:session-1-00000001.jsonl"]), ["real"]);
    assert_eq!(texts(&bench, "tmp/p/session-4-00000004.json", &[]), ["alone"]);
}

#[test]
fn settings_and_credentials_are_never_carried() {
    let bench = Bench::new();
    copy_tree(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gemini-cli/plain/input"), &bench.source());
    let secrets =
        ["oauth_creds.json", "google_accounts.json", "settings.json", ".env", "installation_id", "tmp/loom/.env", "tmp/loom/chats/.env"];
    for name in secrets {
        write(&bench, name, "{\"access_token\":\"s3cr3t\",\"history\":[]}");
    }
    let files: BTreeSet<String> = units(&bench).into_iter().flat_map(|(_, files)| files).collect();
    assert!(files.contains("projects.json") && files.contains("tmp/loom/logs.json"), "{files:?}");
    for name in secrets {
        assert!(!files.contains(name), "{name}");
    }
    for (name, (bytes, _)) in tree(&bench.dest()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t"), "{name}");
    }
}

#[test]
fn audit_names_what_the_next_start_deletes_and_why() {
    let bench = Bench::new();
    let (old, far) = ("2020-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z");
    let session = |id: &str, updated: &str| metadata(id, updated) + &user("a", "hello") + "\n";
    // Of a project inside the source, each file is named as the source has it.
    write(&bench, "tmp/p/chats/session-1-0000000e.jsonl", &session("e", old));
    write(&bench, "chats/session-1-0000000a.jsonl", &session("a", old));
    write(&bench, "chats/session-1-0000000b.jsonl", &session("b", far));
    write(&bench, "chats/session-1-0000000c.jsonl", &session("c", far));
    write(&bench, "chats/session-2-0000000c.jsonl", &metadata("c", far));
    write(&bench, "chats/session-1-0000000d.jsonl", &(user("a", "headless") + "\n"));
    // A whole file without a time of its own is as old as its beginning, and without the
    // hyphen there are no eight characters.
    let whole =
        format!("{{\n\"sessionId\":\"f\",\"projectHash\":\"{HASH}\",\"startTime\":\"{old}\",\"messages\":[{}]}}", user("a", "hello"));
    write(&bench, "chats/session-1-0000000f.json", &whole);
    write(&bench, "chats/session-10000000a.jsonl", &session("g", far));
    let audited = everlog(&["audit", bench.source().to_str().unwrap(), "--json"]);
    assert_eq!(code(&audited), Some(1), "{}", stderr(&audited));
    let rows: Vec<Json> = stdout(&audited).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    let found: Vec<(String, String)> =
        rows.iter().filter(|row| row.text("code") == "would_delete").map(|row| (row.text("file"), row.text("rule"))).collect();
    let want = [
        ("chats/session-1-0000000a.jsonl", "age"),
        ("chats/session-1-0000000c.jsonl", "same_characters"),
        ("chats/session-1-0000000d.jsonl", "unreadable"),
        ("chats/session-1-0000000f.json", "age"),
        ("chats/session-2-0000000c.jsonl", "nothing_to_resume"),
        ("tmp/p/chats/session-1-0000000e.jsonl", "age"),
    ];
    assert_eq!(found, want.map(|(file, rule)| (file.to_owned(), rule.to_owned())));
}

#[test]
fn a_torn_session_alone_in_its_project_is_kept_for_where_it_lies() {
    let torn = "{\"sessionId\":\"69453459-2c7e-4ecf-a707-d7fe633e8637\",\"projectHash\":\"015cc49dc7d3";
    let name = "chats/session-2026-11-18T06-30-69453459.jsonl";
    for (folder, mark) in [("tmp/widget", true), (&*format!("tmp/{HASH}"), false)] {
        let bench = Bench::new();
        write(&bench, &format!("{folder}/{name}"), torn);
        if mark {
            write(&bench, &format!("{folder}/.project_root"), "/home/ada/widget");
        }
        let owned: Vec<String> = units(&bench).into_iter().flat_map(|(_, files)| files).collect();
        assert!(owned.contains(&format!("{folder}/{name}")), "{owned:?}");
    }
    // Anywhere else a name is no sign.
    let bench = Bench::new();
    write(&bench, &format!("widget/{name}"), torn);
    assert_eq!(code(&bench.migrate(&[])), Some(2));
}
