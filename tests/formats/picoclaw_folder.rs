//! Folders of picoclaw's as life leaves them: which files are sessions, and what
//! its next start would really do to each.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use support::bench::{Bench, code};
use support::{everlog, stderr, stdout, tree};

const LINE: &str = "{\"role\":\"user\",\"content\":\"hi\"}\n";

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    for (name, text) in files {
        fs::write(bench.source().join(name), text).unwrap();
    }
    bench
}

fn meta(key: &str, aliases: &str) -> String {
    let times = "\"created_at\":\"2026-07-01T08:00:00Z\",\"updated_at\":\"2026-07-01T08:00:00Z\"";
    format!("{{\"key\":\"{key}\",\"summary\":\"\",\"skip\":0,\"count\":1,{times}{aliases}}}")
}

fn legacy(key: &str) -> String {
    let times = "\"created\":\"2026-07-01T08:00:00Z\",\"updated\":\"2026-07-01T08:00:00Z\"";
    format!("{{\"key\":\"{key}\",\"messages\":[{{\"role\":\"user\",\"content\":\"old\"}}],{times}}}")
}

/// The codes that are found in each file, and what is said; of a whole run.
fn findings(bench: &Bench, more: &[&str]) -> Vec<(String, String, String)> {
    let report = stdout(&bench.migrate(&[&["--json"], more].concat()));
    let rows = report.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let listed = rows.flat_map(|row| [row["findings"].clone(), row["summary"]["findings"].clone()]);
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    listed
        .filter_map(|list| list.as_array().cloned())
        .flatten()
        .map(|finding| (text(&finding, "file"), text(&finding, "code"), text(&finding, "message")))
        .collect()
}

/// The codes of one file.
fn codes(bench: &Bench, file: &str) -> Vec<String> {
    findings(bench, &[]).into_iter().filter(|(name, _, _)| name == file).map(|(_, code, _)| code).collect()
}

/// What is said of a file under a code.
fn said(bench: &Bench, file: &str, code: &str) -> String {
    let all = findings(bench, &[]);
    let found = all.iter().find(|(name, found, _)| name == file && found == code);
    found.unwrap_or_else(|| panic!("no {code} of {file}: {all:?}")).2.clone()
}

/// A field of each session in the report.
fn field(bench: &Bench, name: &str) -> BTreeMap<String, String> {
    let report = stdout(&bench.migrate(&["--json"]));
    let rows = report.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter_map(|row| Some((row["unit"].as_str()?.to_owned(), row.get(name)?.to_string().trim_matches('"').to_owned()))).collect()
}

fn session(bench: &Bench, unit: &str) -> Value {
    let log = fs::read_to_string(bench.log(unit)).unwrap();
    serde_json::from_str::<Value>(log.lines().next().unwrap()).unwrap()["payload"].clone()
}

#[test]
fn a_first_line_that_is_longer_than_a_look_says_how_the_others_are_written() {
    let line = |length: usize| format!("{{\"role\":\"user\",\"content\":\"\",\"media\":[\"{}\"]}}\n", "A".repeat(length));
    let around = line(0).len();
    for first in [line(100_000), line(65_536 - around), line(65_537 - around), " \n".repeat(64), "{}\n".repeat(64)] {
        let bench = folder(&[("agent_x.jsonl", &(first.clone() + LINE)), ("agent_x.meta.json", &meta("agent:x", ""))]);
        assert_eq!(field(&bench, "residual_bytes")["agent_x.jsonl"], "0", "{} bytes first", first.len());
        // By itself it is known for what it is, too.
        let bench = folder(&[("agent_x.jsonl", &(first.clone() + LINE))]);
        assert_eq!(field(&bench, "unit").len(), 1, "{} bytes first", first.len());
    }
}

#[test]
fn a_legacy_session_whose_key_ends_like_a_meta_file_is_converted_and_retired() {
    for whole in [legacy("discord:ops.meta"), legacy("discord:ops.meta")[..70].to_owned()] {
        let files = [("agent_x.jsonl", LINE), ("agent_x.meta.json", &meta("agent:x", "")), ("discord:ops.meta.json", &whole)];
        let bench = folder(&files);
        let before = tree(&bench.source());
        let done = bench.migrate(&["--retire"]);
        assert!(bench.log("discord:ops.meta.json").is_file(), "{}", stderr(&done));
        assert_eq!(session(&bench, "discord:ops.meta.json")["id"], "discord:ops.meta");
        let log = bench.log("discord:ops.meta.json");
        let shown = stdout(&everlog(&["replay", log.to_str().unwrap(), "--salvage"]));
        assert!(shown.contains("\"text\":\"old\""), "{shown}");
        let names: Vec<String> = tree(&bench.source()).into_keys().collect();
        assert!(names.iter().all(|name| !name.ends_with(".json")), "{names:?}");
        let again = bench.migrate(&["--json"]);
        assert!(stdout(&again).contains("\"unit\":\"discord:ops.meta.json\""), "{}", stdout(&again));
        assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
        assert_eq!(tree(&bench.source()), before);
    }
}

#[test]
fn nothing_is_said_to_be_imported_that_picoclaw_cannot_decode() {
    let whole = legacy("telegram:42");
    for bad in [whole[..80].to_owned(), whole.replace("\"old\"", "5"), whole.replace("2026-07-01T08:00:00Z", "2026-07-01")] {
        let bench = folder(&[("telegram_42.json", &bad), ("telegram_42.jsonl", LINE), ("telegram_42.meta.json", &meta("telegram:42", ""))]);
        let found = codes(&bench, "telegram_42.json");
        assert!(found.contains(&"loader_fails".to_owned()) && !found.contains(&"would_overwrite".to_owned()), "{bad}: {found:?}");
        // Of two files of one key only one counts.
        let bench = folder(&[("telegram:42.json", &whole), ("telegram_42.json", &bad)]);
        assert!(!codes(&bench, "telegram:42.json").contains(&"key_twice".to_owned()), "{bad}");
        let canonical = field(&bench, "canonical");
        assert_eq!(canonical.into_iter().collect::<Vec<_>>(), [("telegram_42.json".to_owned(), "telegram:42.json".to_owned())], "{bad}");
    }
    for other in ["{\"key\":5}", "{\"created\":\"2026-01-01\"}", "{\"messages\":{}}", "[]", "5"] {
        let bench = folder(&[("agent_x.jsonl", LINE), ("notes.json", other)]);
        assert_eq!(codes(&bench, "notes.json"), ["unknown_file"], "{other}");
    }
}

#[test]
fn the_last_of_a_key_is_the_last_by_the_name_of_its_file() {
    // As file names `a-b.json` stands before `a.json`, as stems after it.
    let bench = folder(&[("a.json", &legacy("tele:1")), ("a-b.json", &legacy("tele:1")), ("tele_1.json", &legacy("tele:1"))]);
    fs::remove_file(bench.source().join("tele_1.json")).unwrap();
    fs::write(bench.source().join("agent_x.jsonl"), LINE).unwrap();
    assert_eq!(field(&bench, "canonical").into_iter().collect::<Vec<_>>(), [("a-b.json".to_owned(), "a.json".to_owned())]);
}

#[test]
fn a_file_at_which_the_import_stops_is_named_with_the_reason() {
    for broken in ["", "{", "{\"skip\":\"x\"}"] {
        let bench = folder(&[
            ("agent_a.json", &legacy("agent:a")),
            ("agent_a.jsonl", LINE),
            ("telegram_5.json", &legacy("telegram:5")),
            ("telegram_5.meta.json", broken),
            ("zulip_1.json", &legacy("zulip:1")),
            ("zulip_1.jsonl", LINE),
        ]);
        assert!(said(&bench, "telegram_5.json", "import_stops").contains("telegram_5.meta.json cannot be read"), "{broken}");
        assert_eq!(codes(&bench, "telegram_5.json"), ["import_stops"], "{broken}");
        // Files before it are imported all the same, those after it once it is repaired.
        assert!(!said(&bench, "agent_a.json", "would_overwrite").contains("telegram_5.json"));
        assert!(said(&bench, "zulip_1.json", "would_overwrite").contains("once telegram_5.json no longer stops it"));
        assert_eq!(stdout(&bench.migrate(&["--json"])).matches("\"status\":\"unchanged\"").count(), field(&bench, "unit").len());
    }
    let long = "x".repeat(246);
    let bench = folder(&[("agent_x.jsonl", LINE), ("long.json", &legacy(&long)), ("fits.json", &legacy(&long[1..]))]);
    assert!(said(&bench, "long.json", "import_stops").contains("255 bytes"));
    assert_eq!(codes(&bench, "fits.json"), [""; 0]);
}

#[test]
fn a_meta_file_by_itself_hides_no_messages() {
    let bench = folder(&[("agent_x.jsonl", LINE), ("agent_y.meta.json", "{"), ("agent_z.jsonl", LINE), ("agent_z.meta.json", "{")]);
    assert!(!said(&bench, "agent_y.meta.json", "loader_fails").contains("messages"));
    assert!(said(&bench, "agent_z.meta.json", "loader_fails").contains("though the messages are there"));
}

#[test]
fn whatever_picoclaw_would_import_over_a_session_is_called_a_danger() {
    for (name, text, key) in [
        ("agent_z.json", "null", "agent_z"),
        ("agent_z.json", "{}", "agent_z"),
        ("notes.json", "{\"key\":\"agent:z\",\"name\":\"x\"}", "agent:z"),
        ("agent:z.json", "{\"name\":\"x\"}", "agent:z"),
    ] {
        let bench = folder(&[("agent_z.jsonl", LINE), ("agent_z.meta.json", &meta("agent:z", "")), (name, text)]);
        let message = said(&bench, name, "would_overwrite");
        assert!(message.contains("agent_z.jsonl") && message.contains(&format!("`{key}`")), "{text}: {message}");
        assert_eq!(codes(&bench, name), ["would_overwrite"], "{text}");
        // Where nothing is in its way it becomes a session of its own.
        let bench = folder(&[("agent_y.jsonl", LINE), (name, text)]);
        assert!(said(&bench, name, "would_import").contains(&format!("`{key}`")), "{text}");
    }
}

#[test]
fn a_key_is_answered_by_the_files_of_the_key_that_it_is_an_alias_of() {
    let aliases = |alias: &str| format!(",\"aliases\":[\"{alias}\"]");
    let bench = folder(&[
        ("moved.meta.json", &meta("agent:q", &aliases("agent:k"))),
        ("moved.jsonl", LINE),
        ("agent_q.jsonl", LINE),
        ("agent_q.meta.json", &meta("agent:q", "")),
        ("agent_k.jsonl", "{\"role\":\"user\",\"content\":\"other\"}\n"),
        ("agent_k.meta.json", &meta("agent:k", "")),
    ]);
    let canonical = field(&bench, "canonical");
    assert_eq!(canonical["agent_k.jsonl"], "agent_q.jsonl");
    assert_eq!(canonical["moved.jsonl"], "agent_q.jsonl");
    assert!(said(&bench, "agent_k.meta.json", "alias_of_another").contains("agent_q.jsonl"));
    for (name, text) in [("agent_main_main.jsonl", LINE.to_owned()), ("agent_main_main.json", legacy("agent:main:main"))] {
        let bench = folder(&[(name, &text), ("sk_v1_x.jsonl", LINE), ("sk_v1_x.meta.json", &meta("sk_v1_x", &aliases("agent:main:main")))]);
        assert_eq!(field(&bench, "canonical").into_iter().collect::<Vec<_>>(), [(name.to_owned(), "sk_v1_x.jsonl".to_owned())]);
        assert!(said(&bench, name, "alias_of_another").contains("`agent:main:main` is an alias of `sk_v1_x`"));
        assert_eq!(session(&bench, name)["canonical"], "sk_v1_x.jsonl");
    }
}

#[test]
fn a_temporary_that_holds_something_complete_is_carried() {
    let whole = legacy("telegram:5");
    let bench = folder(&[
        ("telegram_5.json", &whole),
        ("session-123.tmp", &whole.replace("old", "newer")),
        ("session-124.tmp", &whole[..60]),
        ("agent_z.jsonl", LINE),
        ("agent_z.jsonl.tmp", &LINE.replace("hi", "rewritten")),
        (".tmp-12-34", &LINE.replace("hi", "whose?")),
        (".tmp-12-35", "{\"role\":\"us"),
        (".tmp-12-36", ""),
        (".tmp-12-37", &meta("agent:gone", "")),
    ]);
    let holds = |unit: &str, text: &str| fs::read_to_string(bench.log(unit)).unwrap().contains(text);
    for (unit, file, text) in [
        ("telegram_5.json", "session-123.tmp", "newer"),
        ("agent_z.jsonl", "agent_z.jsonl.tmp", "rewritten"),
        (".tmp-12-34", ".tmp-12-34", "whose?"),
        (".tmp-12-37", ".tmp-12-37", "agent:gone"),
    ] {
        assert_eq!(codes(&bench, file), ["temporary_kept"], "{file}");
        assert!(holds(unit, text), "{file}");
        let shown = everlog(&["replay", bench.log(unit).to_str().unwrap(), "--as", "source"]);
        assert!(!stdout(&shown).contains(text), "{file}");
    }
    assert_eq!(session(&bench, ".tmp-12-34")["kind"], "orphan");
    for file in ["session-124.tmp", ".tmp-12-35", ".tmp-12-36"] {
        assert_eq!(codes(&bench, file), ["temporary_left"], "{file}");
    }
    assert!(said(&bench, ".tmp-12-36", "temporary_left").contains("empty"));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read_to_string(back.join("session-123.tmp")).unwrap(), whole.replace("old", "newer"));
}

#[test]
fn strays_are_named_for_what_they_are() {
    let bench = folder(&[
        ("agent_x.jsonl", LINE),
        ("package.json", "{\"name\":\"x\"}"),
        ("seahorse.db", "SQLite"),
        ("tsconfig.json", "// my notes\n{\"key\":1}"),
        ("notes.txt", "x"),
        (".tmp-1-2", "{"),
    ]);
    let mut strays = findings(&bench, &[]);
    strays.retain(|(file, _, _)| !file.starts_with("agent_x"));
    let strays: Vec<(&str, &str)> = strays.iter().map(|(file, code, _)| (file.as_str(), code.as_str())).collect();
    let wanted = [
        (".tmp-1-2", "temporary_left"),
        ("notes.txt", "unknown_file"),
        ("package.json", "would_import"),
        ("seahorse.db", "unknown_file"),
        ("tsconfig.json", "unknown_file"),
    ];
    let mut sorted = strays.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, wanted);
    bench.migrate(&["--retire"]);
    assert!(bench.source().join("tsconfig.json").exists() && !bench.source().join("agent_x.jsonl").exists());
}

#[test]
fn what_is_left_of_a_session_is_one_and_anything_else_is_not() {
    let is_session = |text: &str| {
        let bench = folder(&[("agent_x.jsonl", LINE), ("left.json", text)]);
        let detected = stdout(&everlog(&["detect", bench.source().to_str().unwrap(), "--json"]));
        detected.contains("\"unit\":\"left.json\"")
    };
    for left in [
        "",
        "  \n",
        "\0\0\0",
        "{",
        "{\n  \"ke",
        "{\"key\": \"tele",
        "{\"key\":\"a\",\"messages\":[{]}",
        "{\"messages\": [",
        "\u{feff}{\"key\":\"a\"}",
    ] {
        assert!(is_session(left), "{left:?}");
    }
    for other in ["// notes\n{\"key\":\"a\"}", "[1,", "{\"name\": \"x\",", "{name: 1}", "key: a", "{\"na"] {
        assert!(!is_session(other), "{other:?}");
    }
}

#[test]
fn a_name_that_is_not_utf8_is_no_reason_to_leave_a_session_out() {
    let bench = folder(&[("agent_y.jsonl", LINE)]);
    let put = |name: &[u8], text: &str| fs::write(bench.source().join(OsStr::from_bytes(name)), text).unwrap();
    put(b"agent_\xff.jsonl", LINE);
    put(b"agent_\xff.meta.json", &meta("agent:\u{fffd}", ""));
    put(b"tele\xff.json", &legacy(""));
    put(b"tele\xfe\xfd.json.migrated", &legacy("tele:gone"));
    let done = bench.migrate(&["--json"]);
    let units: Vec<String> = field(&bench, "status").into_keys().collect();
    assert_eq!(
        units,
        ["agent_y.jsonl", "agent_\u{fffd}.jsonl", "tele\u{fffd}.json", "tele\u{fffd}\u{fffd}.json.migrated"],
        "{}",
        stdout(&done)
    );
    assert!(!stdout(&done).contains("unknown_file") && !stdout(&done).contains("\"status\":\"failed\""), "{}", stdout(&done));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    let restored = fs::read_to_string(back.join(OsStr::from_bytes(b"agent_\xff.jsonl"))).unwrap();
    assert_eq!(restored, LINE);
}

#[test]
fn a_meta_file_that_is_a_link_is_carried_and_not_called_missing() {
    let bench = folder(&[("agent_c.jsonl", LINE)]);
    symlink("../elsewhere.meta.json", bench.source().join("agent_c.meta.json")).unwrap();
    let message = said(&bench, "agent_c.meta.json", "meta_missing");
    assert!(message.contains("a link") && !message.contains("does not list"), "{message}");
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read_link(back.join("agent_c.meta.json")).unwrap().to_str(), Some("../elsewhere.meta.json"));
    let before = tree(&bench.source());
    assert!(code(&bench.migrate(&["--retire"])).is_some());
    assert!(bench.source().join("agent_c.meta.json.migrated").symlink_metadata().is_ok());
    assert!(bench.source().join("agent_c.meta.json").symlink_metadata().is_err());
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
}

#[test]
fn lines_that_are_a_link_are_carried_and_said_to_be_missing_in_the_log() {
    let bench = folder(&[("agent_c.meta.json", &meta("agent:c", ""))]);
    symlink("../elsewhere.jsonl", bench.source().join("agent_c.jsonl")).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert!(said(&bench, "agent_c.jsonl", "unreadable").contains("not in the log"));
    assert!(stdout(&bench.migrate(&["--json"])).contains("\"status\":\"unchanged\""));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read_link(back.join("agent_c.jsonl")).unwrap().to_str(), Some("../elsewhere.jsonl"));
}

#[test]
fn lines_with_a_strange_key_are_still_those_of_the_broken_meta_file_beside_them() {
    let strange = "{\"id\":\"1\",\"role\":\"user\",\"content\":\"hi\"}\n";
    for broken in ["", "{\"key\":", "null"] {
        let bench = folder(&[("agent_x.jsonl", LINE), ("telegram_1.jsonl", strange), ("telegram_1.meta.json", broken)]);
        let units: Vec<String> = field(&bench, "status").into_keys().collect();
        assert_eq!(units, ["agent_x.jsonl", "telegram_1.jsonl"], "{broken:?}");
    }
}

#[test]
fn who_names_the_format_gets_lines_of_any_key() {
    let bench = folder(&[("telegram_42.jsonl", LINE)]);
    assert_eq!(code(&bench.migrate(&[])), Some(2));
    let done = bench.migrate(&["--format", "picoclaw"]);
    assert!(bench.log("telegram_42.jsonl").is_file(), "{}", stderr(&done));
}
