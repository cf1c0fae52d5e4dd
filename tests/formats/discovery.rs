//! Which program a file is taken to be of: by its content, however late
//! damage that lies, and by its neighbours where content alone cannot tell.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use support::bench::{Bench, code};
use support::expected::Json;
use support::pi::{header, said};
use support::{everlog, stderr, stdout, tree};

const ID: &str = "01a1e17d-f59d-4370-93ec-e2321818cbc6";

/// The sessions of a source with their formats, all of them proven and restored
/// as they were.
fn formats(bench: &Bench) -> BTreeMap<String, String> {
    let migrated = bench.migrate(&["--json"]);
    assert!(matches!(code(&migrated), Some(0 | 1)), "{}", stderr(&migrated));
    let mut formats = BTreeMap::new();
    for line in stdout(&migrated).lines().map(|line| Json(line.as_bytes().to_vec())).filter(|line| line.get("unit").is_some()) {
        assert_eq!(line.text("status"), "created", "{line:?}");
        formats.insert(line.text("unit"), line.text("format"));
    }
    let back = bench.path("back");
    let restored = everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(code(&restored), Some(0), "{}", stderr(&restored));
    for (name, (bytes, _)) in tree(&back) {
        assert!(bytes == fs::read(bench.source().join(&name)).unwrap(), "{name}");
    }
    formats
}

fn write(bench: &Bench, name: &str, text: &str) {
    let path = bench.source().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_session_of_pi_is_found_after_whatever_damage() {
    let entries = said("aaaa0001", "", "one") + &said("aaaa0002", "aaaa0001", "two");
    for (what, text) in [
        ("a header without folder and time", format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s1\"}}\n{entries}")),
        ("a header without an id", format!("{{\"type\":\"session\",\"version\":3,\"cwd\":\"/w\"}}\n{entries}")),
        ("a header of 100 KB", header().replace("\"/w\"", &format!("\"/{}\"", "w".repeat(100_000))) + &entries),
        ("an empty object first", format!("{{}}\n{}{entries}", header())),
        ("garbage first, for more than a look", "not JSON\n".repeat(20_000) + &header() + &entries),
        ("a first line that was torn at its beginning, and is long", format!("{}\"}}\n{entries}", "x".repeat(100_000))),
    ] {
        let bench = Bench::new();
        write(&bench, "2026-11-15T23-14-50-910Z_s1.jsonl", &text);
        let formats = formats(&bench);
        assert_eq!(formats.into_values().collect::<Vec<_>>(), ["pi"], "{what}");
    }
}

#[test]
fn what_only_looks_like_a_header_makes_no_session() {
    for (what, text) in [
        ("a log of ours", "{\"seq\":1,\"type\":\"session\",\"payload\":{\"version\":1,\"id\":\"x\"}}\n"),
        ("another program's lines", "{\"type\":\"user\",\"uuid\":\"a\"}\n{\"type\":\"session\"}\n"),
        ("no objects at all", "one\ntwo\n"),
    ] {
        let bench = Bench::new();
        write(&bench, "lines.jsonl", text);
        let migrated = bench.migrate(&[]);
        assert_eq!(code(&migrated), Some(2), "{what}: {}", stderr(&migrated));
    }
}

#[test]
fn a_transcript_named_by_its_id_alone_is_one_of_openclaws() {
    let bench = Bench::new();
    let text = header().replace("\"s1\"", &format!("\"{ID}\"")) + &said("aaaa0001", "", "one");
    write(&bench, &format!("{ID}.jsonl"), &text);
    // The name that a fork has is the one that pi would give.
    write(&bench, &format!("2026-11-15T23-41-27-797Z_{ID}.jsonl"), &text);
    assert_eq!(formats(&bench).into_values().collect::<Vec<_>>(), ["openclaw", "openclaw"]);

    let bench = Bench::new();
    write(&bench, &format!("{ID}.jsonl"), &(header() + &said("aaaa0001", "", "one")));
    assert_eq!(formats(&bench).into_values().collect::<Vec<_>>(), ["pi"], "the id in the header is another");
}

#[test]
fn a_complete_temporary_goes_with_its_transcript_and_a_torn_one_is_named() {
    let bench = Bench::new();
    let text = header() + &said("aaaa0001", "", "one");
    let name = |rest: &str| format!("agents/main/sessions/{ID}.jsonl{rest}");
    write(&bench, &name(""), &text);
    write(&bench, &name(".compact.b6b7fd55.tmp"), &(text.clone() + &said("aaaa0002", "aaaa0001", "only here")));
    write(&bench, &name(".repair.17.b6b7fd55.tmp"), &text[..text.len() - 9]);
    let formats = formats(&bench);
    assert_eq!(formats.len(), 1, "{formats:?}");
    let back = tree(&bench.path("back"));
    assert!(back.contains_key(&name(".compact.b6b7fd55.tmp")), "{:?}", back.keys());
    assert!(!back.contains_key(&name(".repair.17.b6b7fd55.tmp")));
    let again = bench.migrate(&["--rehash"]);
    let said = stderr(&again);
    assert!(said.contains("not carried") && said.contains(&name(".repair.17.b6b7fd55.tmp")), "{said}");
}

#[test]
fn jobs_that_openclaw_itself_moved_away_are_carried() {
    let bench = Bench::new();
    write(&bench, "cron/jobs.json.migrated", "{\n  \"version\": 1,\n  \"jobs\": []\n}\n");
    assert_eq!(formats(&bench), BTreeMap::from([("cron/jobs.json.migrated".to_owned(), "openclaw".to_owned())]));
}

#[test]
fn a_retired_job_list_goes_with_all_its_files_and_comes_back_with_them() {
    let bench = Bench::new();
    for name in ["jobs.json", "jobs-state.json", "jobs.json.bak"] {
        write(&bench, &format!("cron/{name}"), "{\n  \"version\": 1,\n  \"jobs\": []\n}\n");
    }
    let before = tree(&bench.source());
    let retired = bench.migrate(&["--retire"]);
    assert_eq!(code(&retired), Some(0), "{}", stderr(&retired));
    assert!(tree(&bench.source()).keys().all(|name| name.ends_with(".migrated")), "{:?}", tree(&bench.source()).keys());
    let again = bench.migrate(&[]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(!bench.log("cron/jobs.json.migrated").exists(), "{}", stderr(&again));
    let back = bench.migrate(&["--unretire"]);
    assert_eq!(code(&back), Some(0), "{}", stderr(&back));
    assert!(tree(&bench.source()) == before);
}

#[test]
fn the_harness_since_its_fourth_version_is_carried_with_every_write() {
    let header = |version: &str| {
        format!("{{{version},\"kind\":\"header\",\"id\":\"h1\",\"storageVersion\":1,\"createdAt\":1770026400000,\"cwd\":\"/w\"}}\n")
    };
    let entry = |id: &str, parent: &str, text: &str, seq: u32| {
        format!(
            "{{\"kind\":\"entry\",\"id\":\"{id}\",\"parentId\":{parent},\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}},\"seq\":{seq},\"timestamp\":1770026400001}}"
        )
    };
    let tip = "{\"kind\":\"value\",\"op\":\"set\",\"seq\":3,\"namespace\":\"pi.branch.tip\",\"key\":\"main\",\"value\":\"e2\"}";
    for (version, is_newer) in [("\"v\":4", false), ("\"version\":4", false), ("\"v\":5", true)] {
        let bench = Bench::new();
        let text = format!(
            "{}{}\n[{}, {tip}]\n[{}]\n",
            header(version),
            entry("e1", "null", "first of all", 1),
            entry("e2", "\"e1\"", "in a commit", 2),
            entry("e3", "\"e1\"", "on another branch", 4)
        );
        write(&bench, "core.jsonl", &text);
        let formats = formats(&bench);
        assert_eq!(formats, BTreeMap::from([("core.jsonl".to_owned(), "pi".to_owned())]), "{version}");
        let log = bench.log("core.jsonl");
        let shown = stdout(&everlog(&["replay", log.to_str().unwrap()]));
        assert!(shown.contains("first of all") && shown.contains("in a commit") && !shown.contains("another branch"), "{version}: {shown}");
        let again = bench.migrate(&["--rehash", "--json"]);
        assert_eq!(stdout(&again).contains("newer_version"), is_newer, "{version}: {}", stdout(&again));
        assert!(!stdout(&again).contains("unknown_file"), "{version}");
    }
}

#[test]
fn an_object_that_webui_lists_is_carried_and_audited_as_its_own_audit_does() {
    let bench = Bench::new();
    write(&bench, "sessions/ab.json", r#"{"session_id": "ab", "title": "t", "workspace": "/w", "messages": []}"#);
    write(&bench, "sessions/_index.json", r#"[{"session_id": "ab", "title": "t", "message_count": 0}]"#);
    write(&bench, "sessions/plan.json", r#"{"beds": 7}"#);
    write(&bench, "sessions/list.json", r#"["no", "session"]"#);
    let source = bench.source();
    let audited = stdout(&everlog(&["audit", source.to_str().unwrap(), "--json"]));
    let of_plan: Vec<&str> = audited.lines().filter(|line| line.contains("\"code\":\"index_missing_entry\"")).collect();
    assert!(of_plan.len() == 1 && of_plan[0].contains("plan.json"), "{audited}");
    let formats = formats(&bench);
    let names = ["sessions/_index.json", "sessions/ab.json", "sessions/plan.json"];
    assert_eq!(formats.keys().map(String::as_str).collect::<Vec<_>>(), names);
    let detected = stdout(&everlog(&["detect", source.to_str().unwrap(), "--json"]));
    let plan = detected.lines().find(|line| line.contains("plan.json")).unwrap();
    assert!(plan.contains("\"kind\":\"orphan\""), "{plan}");
}
