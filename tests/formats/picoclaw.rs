//! What only picoclaw's sessions can show: facts that its store derives, its
//! own bytes again, retiring in a folder that holds all sessions, a gateway
//! that runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::by_id;
use everlog::model::digest::sha256_hex;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code};
use support::{convert_and_prove, copy_tree, everlog, stderr, stdout, tree};

fn fixture(case: &str) -> Bench {
    let bench = Bench::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw").join(case).join("input"), &bench.source());
    bench
}

/// The log's events of one type.
fn events(log: &Path, kind: &str) -> Vec<Value> {
    let lines = fs::read_to_string(log).unwrap();
    lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|event| event["type"] == kind).collect()
}

/// What a fact says, as the program has it: a text that is not there is empty.
fn fact(outcome: &Value, name: &str) -> Value {
    let fact = outcome["facts"][name].clone();
    match name {
        "key" | "created_at" | "updated_at" | "created" | "updated" if fact.is_null() => Value::String(String::new()),
        _ => fact,
    }
}

#[test]
fn every_fact_that_the_real_store_derives_is_in_the_log() {
    let mut compared = 0;
    for (case, expected, scratch) in migrated_corpus() {
        let dest = scratch.path().join("dest");
        for session in expected["sessions"].as_array().into_iter().flatten() {
            let suffix = if session["has_jsonl"] == true { "jsonl" } else { "meta.json" };
            let log = dest.join(format!("{}.{suffix}.everlog.jsonl", session["base"].as_str().unwrap()));
            let outcome = &events(&log, "outcome")[0]["payload"];
            if session["error"].is_string() {
                assert!(outcome["error"].is_string(), "{}", case);
                continue;
            }
            assert_eq!(outcome["summary"].as_str().unwrap_or_default(), session["summary"], "{}", case);
            if session["has_meta"] == true {
                for name in ["key", "skip", "count", "created_at", "updated_at", "scope", "aliases"] {
                    if let Some(wanted) = session.get(name) {
                        assert_eq!(fact(outcome, name), *wanted, "{} {name}", case);
                        compared += 1;
                    }
                }
                let meta = &events(&log, "meta")[0]["payload"];
                assert_eq!((&meta["key"], &meta["aliases"]), (&session["key"], &session["aliases"]), "{}", case);
            }
            let again = everlog(&["replay", log.to_str().unwrap(), "--as", "source"]).stdout;
            assert_eq!(sha256_hex(&again), session["go_rewrite"]["sha256"].as_str().unwrap(), "{}: not the bytes that Go writes", case);
            compared += 1;
        }
    }
    assert!(compared > 100 || !has_corpus(), "{compared}");
    eprintln!("{compared} facts and rewrites compared");
}

fn has_corpus() -> bool {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").is_dir()
}

/// The cases that the real program made, each migrated: its name, what the
/// program returned, and where the logs are.
fn migrated_corpus() -> Vec<(String, Value, tempfile::TempDir)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let cases = support::all_cases().into_iter().filter(|case| case.format == "picoclaw" && case.folder.starts_with(&corpus));
    let migrate = |case: support::Case| {
        let expected = serde_json::from_slice(&fs::read(case.folder.join("expected.json")).unwrap()).unwrap();
        let scratch = case.copy();
        let (input, dest) = (scratch.path().join("input"), scratch.path().join("dest"));
        everlog(&["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--quiet"]);
        (case.id(), expected, scratch)
    };
    cases.map(migrate).collect()
}

/// What the logs of a store say of their sessions, in byte order of the
/// sessions' names: the name, the last word on it, and its messages.
fn sessions_by_log(dest: &Path) -> Vec<(String, Value, Vec<Value>)> {
    let mut logs: Vec<PathBuf> = fs::read_dir(dest).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    logs.sort();
    let name = |log: &Path| log.file_name().unwrap().to_str().unwrap().trim_end_matches(".everlog.jsonl").to_owned();
    let shown = |log: &Path| {
        let replayed = stdout(&everlog(&["replay", log.to_str().unwrap(), "--as", "source"]));
        replayed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    logs.iter().map(|log| (name(log), events(log, "outcome")[0]["payload"].clone(), shown(log))).collect()
}

/// The session that picoclaw takes for a key, by the facts in the logs.
fn resolved<'k>(key: &'k str, sessions: &'k [(String, Value, Vec<Value>)]) -> &'k str {
    let key_of = |outcome: &'k Value| outcome["facts"]["key"].as_str().unwrap_or_default();
    if !key.contains([':', '/', '\\']) && sessions.iter().any(|(_, outcome, _)| key_of(outcome) == key) {
        return key;
    }
    let lists = |outcome: &Value| fact(outcome, "aliases").as_array().is_some_and(|aliases| aliases.iter().any(|alias| *alias == key));
    let canonical = sessions.iter().map(|(_, outcome, _)| outcome).find(|outcome| lists(outcome) && key_of(outcome) != key);
    canonical.map_or(key, key_of)
}

#[test]
fn keys_are_listed_and_resolved_by_the_facts_in_the_logs_as_by_the_real_store() {
    let mut compared = 0;
    for (case, expected, scratch) in migrated_corpus() {
        let sessions = sessions_by_log(&scratch.path().join("dest"));
        let has_meta = |outcome: &Value| outcome["facts"]["skip"].is_number();
        let listed: Vec<&str> = sessions
            .iter()
            .filter(|(_, outcome, _)| has_meta(outcome))
            .filter_map(|(_, outcome, _)| outcome["facts"]["key"].as_str())
            .collect();
        assert_eq!(serde_json::to_value(listed).unwrap(), expected["list_sessions"], "{case}");
        for (key, answers) in expected["resolve"].as_object().into_iter().flatten() {
            assert_eq!(resolved(key, &sessions), answers, "{case} {key}");
            compared += 1;
        }
        for session in expected["sessions"].as_array().into_iter().flatten() {
            let Some(key) = session["key"].as_str() else { continue };
            let answers = resolved(key, &sessions);
            let shown = sessions.iter().find(|(_, outcome, _)| outcome["facts"]["key"] == answers).map_or(0, |(_, _, shown)| shown.len());
            assert_eq!(session["backend_message_count"], shown, "{case} {key}");
            compared += 1;
        }
    }
    assert!(compared > 25 || !has_corpus(), "{compared}");
    eprintln!("{compared} keys resolved");
}

#[test]
fn every_fact_that_the_older_manager_derives_is_in_the_log() {
    let mut compared = 0;
    for (case, expected, scratch) in migrated_corpus() {
        let sessions = sessions_by_log(&scratch.path().join("dest"));
        for session in expected["legacy_manager"].as_array().into_iter().flatten() {
            // Of several files with one key the manager has the last by name.
            let mut of_key = sessions.iter().filter(|(_, outcome, _)| outcome["facts"]["key"] == session["key"]);
            let (name, outcome, shown) = of_key.next_back().unwrap_or_else(|| panic!("{case}: no log of {}", session["key"]));
            for time in ["created", "updated"] {
                assert_eq!(fact(outcome, time), session[time], "{case} {name} {time}");
            }
            assert_eq!(outcome["summary"].as_str().unwrap_or_default(), session["summary"], "{case} {name}");
            assert_eq!(*shown, session["messages"].as_array().cloned().unwrap_or_default(), "{case} {name}");
            compared += 1;
        }
    }
    assert!(compared > 5 || !has_corpus(), "{compared}");
}

#[test]
fn the_session_that_answers_to_a_key_is_named() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/picoclaw");
    let Ok(expected) = fs::read(corpus.join("jsonl-promote-alias/expected.json")) else { return };
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let detected = stdout(&everlog(&["detect", corpus.join("jsonl-promote-alias/input").to_str().unwrap(), "--json"]));
    for session in expected["sessions"].as_array().unwrap() {
        let key = session["key"].as_str().unwrap();
        let answers = expected["resolve"].get(key).and_then(Value::as_str).unwrap_or(key);
        let unit = detected.lines().find(|line| line.contains(&format!("\"unit\":\"{}", session["base"].as_str().unwrap()))).unwrap();
        assert_eq!(unit.contains("alias_of_another"), answers != key, "{unit}");
        assert!(answers == key || unit.contains(answers), "{unit}");
        let base =
            |key: &str| expected["sessions"].as_array().unwrap().iter().find(|session| session["key"] == key).unwrap()["base"].clone();
        let canonical = format!("{}.jsonl", base(answers).as_str().unwrap());
        let unit: Value = serde_json::from_str(unit).unwrap();
        assert_eq!(unit["canonical"].as_str(), Some(canonical.as_str()).filter(|_| answers != key), "{unit}");
    }
}

/// A field of each session in a report, where it has one.
fn field_of_each(report: &str, field: &str) -> Vec<(String, String)> {
    let sessions = report.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text = |session: &Value, field: &str| session[field].as_str().map(str::to_owned);
    sessions.filter_map(|session| Some((text(&session, "unit")?, text(&session, field)?))).collect()
}

#[test]
fn the_canonical_session_of_a_key_is_a_field_of_its_own() {
    let bench = Bench::new();
    let folder = bench.source().join("w");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw/aliases/input"), &folder);
    let (alias, answers) = ("w/agent_main_telegram_direct_31337.jsonl".to_owned(), "w/sk_v1_f00d.jsonl".to_owned());
    let told = |report: &str| {
        assert_eq!(field_of_each(report, "canonical"), [(alias.clone(), answers.clone())], "{report}");
        assert_eq!(field_of_each(report, "promoted_from"), [(answers.clone(), alias.clone())], "{report}");
    };
    let source = bench.source();
    told(&stdout(&everlog(&["detect", source.to_str().unwrap(), "--json"])));
    let shown = stdout(&everlog(&["detect", source.to_str().unwrap()]));
    assert!(shown.contains(&format!("[canonical: {answers}]")) && shown.contains(&format!("[promoted from {alias}]")), "{shown}");
    told(&stdout(&bench.migrate(&["--json"])));
    told(&stdout(&bench.migrate(&["--json"])));
    let session = |unit: &str| events(&bench.log(unit), "session").remove(0)["payload"].clone();
    assert_eq!(session(&alias)["canonical"], "sk_v1_f00d.jsonl");
    assert_eq!(session(&answers)["promoted_from"], "agent_main_telegram_direct_31337.jsonl");
    assert!(session(&answers)["canonical"].is_null());
    // Nobody answers for it any more: its log says so, and nothing else is new.
    let meta = folder.join("sk_v1_f00d.meta.json");
    let text = fs::read_to_string(&meta).unwrap().replace("agent:main:telegram:direct:31337", "agent:other");
    fs::write(&meta, text).unwrap();
    let again = bench.migrate(&["--json"]);
    assert_eq!(field_of_each(&stdout(&again), "canonical"), []);
    assert!(session(&alias)["canonical"].is_null());
    assert!(!stdout(&again).contains("source_shrunk"), "{}", stdout(&again));
}

#[test]
fn the_session_that_is_opened_for_a_key_is_canonical_whatever_the_reason() {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    let put = |name: &str, text: &str| fs::write(bench.source().join(name), text).unwrap();
    let line = "{\"role\":\"user\",\"content\":\"hi\"}\n";
    let times = "\"created_at\":\"2026-07-01T08:00:00Z\",\"updated_at\":\"2026-07-01T08:00:00Z\"";
    let meta = |key: &str| format!("{{\"key\":\"{key}\",\"summary\":\"\",\"skip\":0,\"count\":1,{times}}}");
    let put_lines = |stem: &str, key: &str| {
        put(&format!("{stem}.jsonl"), line);
        put(&format!("{stem}.meta.json"), &meta(key));
    };
    put_lines("moved", "agent:a");
    put_lines("lost", "agent:nowhere");
    let whole = format!("{{\"key\":\"agent:b\",\"messages\":[{line}],{}}}", times.replace("_at", ""));
    put("agent_b.json", &whole);
    put("copy.json", &whole);
    let canonical = || field_of_each(&stdout(&bench.migrate(&["--json"])), "canonical");
    let is = |unit: &str, canonical: &str| (unit.to_owned(), canonical.to_owned());
    assert_eq!(canonical(), [is("agent_b.json", "copy.json")]);
    // The one that its key names is there now: nothing of its own is another.
    put_lines("agent_a", "agent:a");
    assert_eq!(canonical(), [is("agent_b.json", "copy.json"), is("moved.jsonl", "agent_a.jsonl")]);
    assert_eq!(events(&bench.log("moved.jsonl"), "session")[0]["payload"]["canonical"], "agent_a.jsonl");
}

#[test]
fn a_link_that_the_program_would_import_is_named() {
    let bench = fixture("plain");
    std::os::unix::fs::symlink("/elsewhere/notes.json", bench.source().join("notes.json")).unwrap();
    std::os::unix::fs::symlink("/elsewhere/notes.txt", bench.source().join("notes.txt")).unwrap();
    let report = stdout(&bench.migrate(&["--json"]));
    let findings = serde_json::from_str::<Value>(report.lines().last().unwrap()).unwrap()["summary"]["findings"].clone();
    let codes: Vec<(&str, &str)> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| Some((finding["file"].as_str()?, finding["code"].as_str()?)))
        .filter(|(file, _)| file.starts_with("notes."))
        .collect();
    assert_eq!(codes, [("notes.json", "would_import"), ("notes.txt", "unknown_file")], "{findings}");
}

#[test]
fn a_promoted_copy_is_named_where_it_stands_and_where_it_came_from() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw/aliases/input");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/picoclaw/jsonl-promote-alias/input");
    for input in [fixture, corpus].into_iter().filter(|input| input.is_dir()) {
        let bench = Bench::new();
        copy_tree(&input, &bench.source());
        let told = |report: &str| {
            let of = |unit: &str| report.lines().find(|line| line.contains(&format!("\"unit\":\"{unit}"))).unwrap().to_owned();
            let (copy, original) = (of("sk_v1_"), of("agent_main_telegram"));
            assert!(
                copy.contains("\"promoted_copy\"")
                    && copy.contains("its first 2 messages are all of agent_main_telegram_direct_31337.jsonl")
            );
            assert!(original.contains("\"alias_of_another\"") && original.contains("all its 2 messages stand there too"), "{original}");
            assert!(!original.contains("promoted_copy"), "{original}");
        };
        let source = bench.source();
        told(&stdout(&everlog(&["detect", source.to_str().unwrap(), "--json"])));
        let shown = everlog(&["detect", source.to_str().unwrap()]);
        assert!(stderr(&shown).contains("are all of agent_main_telegram_direct_31337.jsonl"), "{}", stderr(&shown));
        told(&stdout(&bench.migrate(&["--json"])));
        let summary = stdout(&bench.migrate(&[]));
        assert!(summary.contains("alias, copy or key elsewhere") && summary.contains(": agent_main_"), "{summary}");
        let again = stdout(&bench.migrate(&["--json"]));
        assert!(!again.contains("\"status\":\"changed\""), "{again}");
        told(&again);
    }
}

#[test]
fn what_only_looks_like_a_copy_is_not_called_one() {
    let said = |content: &str, time: &str| format!("{{\"role\":\"user\",\"content\":\"{content}\"{time}}}\n");
    let at = |second: u32| format!(",\"created_at\":\"2026-07-07T01:00:0{second}Z\"");
    let meta = |key: &str, skip: u32, more: &str| {
        let times = "\"created_at\":\"2026-07-01T08:00:00Z\",\"updated_at\":\"2026-07-01T08:00:00Z\"";
        format!("{{\"key\":\"{key}\",\"summary\":\"\",\"skip\":{skip},\"count\":2,{times}{more}}}")
    };
    let found = |original: &str, skip: u32, copy: &str| {
        let bench = Bench::new();
        fs::create_dir_all(bench.source()).unwrap();
        let put = |name: &str, text: &str| fs::write(bench.source().join(name), text).unwrap();
        put("agent_a.jsonl", original);
        put("agent_a.meta.json", &meta("agent:a", skip, ""));
        put("sk_v1_b.jsonl", copy);
        put("sk_v1_b.meta.json", &meta("sk_v1_b", 0, ",\"aliases\":[\"agent:none\",\"agent:a\"]"));
        stdout(&everlog(&["detect", bench.source().to_str().unwrap(), "--json"]))
    };
    let hi = |time: &str| said("hi", time);
    // A greeting that both begin with; and one message of one moment.
    assert!(!found(&(hi("") + &said("more", "")), 0, &(hi("") + &said("other", ""))).contains("promoted_copy"));
    assert!(
        found(&(hi(&at(1)) + &said("more", &at(2))), 0, &(hi(&at(1)) + &said("other", &at(3))))
            .contains("its first message is the first of")
    );
    assert!(!found(&hi(&at(1)), 0, &hi(&at(2))).contains("promoted_copy"));
    // A copy is stamped where the original has no time; what is skipped is not copied.
    assert!(found(&hi(""), 0, &hi(&at(4))).contains("promoted_copy"));
    assert!(found(&(said("old", "") + &hi("")), 1, &hi("")).contains("promoted_copy"));
    assert!(!found(&hi(""), 1, &hi("")).contains("promoted_copy"));
    assert!(!found("", 0, &hi("")).contains("promoted_copy"));
}

#[test]
fn both_generations_retire_and_come_back() {
    for case in ["plain", "legacy", "tools", "repeats", "aliases", "skip_all"] {
        let bench = fixture(case);
        let before = tree(&bench.source());
        let done = bench.migrate(&["--retire"]);
        assert_eq!(code(&done), Some(0), "{case}: {}", stderr(&done));
        let retired = tree(&bench.source());
        assert!(retired.keys().all(|name| name.ends_with(".migrated")), "{case}: {:?}", retired.keys());
        let logs = tree(&bench.dest());
        let again = bench.migrate(&["--json"]);
        assert_eq!(code(&again), Some(0), "{case}: {}", stderr(&again));
        assert!(
            !stdout(&again).contains("\"status\":\"created\"") && stdout(&again).contains("\"status\":\"skipped\""),
            "{case}: {}",
            stdout(&again)
        );
        assert_eq!(tree(&bench.dest()).len(), logs.len(), "{case}");
        let verified = everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()]);
        assert_eq!(code(&verified), Some(0), "{case}: {}", stderr(&verified));
        assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0), "{case}");
        assert_eq!(tree(&bench.source()), before, "{case}");
        let back = bench.path("back");
        assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0), "{case}");
        let names = |tree: std::collections::BTreeMap<String, (Vec<u8>, i128)>| -> Vec<(String, Vec<u8>)> {
            tree.into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
        };
        assert_eq!(names(tree(&back)), names(before), "{case}");
    }
}

#[test]
fn a_backup_of_the_programs_own_is_no_retired_session() {
    let bench = fixture("leftovers");
    bench.migrate(&[]);
    let before = tree(&bench.source());
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before, "a backup got the name of a session, which picoclaw would import");
}

#[test]
fn a_session_is_retired_as_a_whole_or_not_at_all() {
    let bench = fixture("plain");
    let taken = bench.source().join("agent_main_cli_direct_kettle.jsonl.migrated");
    fs::write(&taken, "mine").unwrap();
    let before = tree(&bench.source());
    assert_eq!(code(&bench.migrate(&["--retire"])), Some(1));
    let after = tree(&bench.source());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(fs::read(&taken).unwrap(), b"mine");
}

#[test]
fn nothing_is_converted_while_the_gateway_runs() {
    let scratch = tempfile::TempDir::new().unwrap();
    let home = scratch.path().join("home");
    let sessions = home.join("workspace/sessions");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw/plain/input"), &sessions);
    let program = scratch.path().join("picoclaw");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut gateway = std::process::Command::new(&program).arg("60").spawn().unwrap();
    let pid_file = home.join(".picoclaw.pid");
    fs::write(&pid_file, format!("{{\"pid\":{},\"token\":\"s3cret\",\"version\":\"v0.2.9\"}}", gateway.id())).unwrap();
    let dest = scratch.path().join("dest");
    let migrate = |more: &[&str]| everlog(&[&["migrate", sessions.to_str().unwrap(), "-o", dest.to_str().unwrap()], more].concat());
    let refused = migrate(&[]);
    assert_eq!(code(&refused), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains(&gateway.id().to_string()) && stderr(&refused).contains("--allow-live"), "{}", stderr(&refused));
    assert!(!stderr(&refused).contains("s3cret") && !dest.exists());
    let detected = everlog(&["detect", sessions.to_str().unwrap(), "--json"]);
    assert!(stdout(&detected).contains("\"live\":true"), "{}", stdout(&detected));
    let allowed = migrate(&["--allow-live", "--retire", "--json"]);
    assert!(stdout(&allowed).contains("session_live") && stdout(&allowed).contains("not_retired"), "{}", stdout(&allowed));
    assert!(sessions.join("agent_main_cli_direct_kettle.jsonl").exists());
    // A workspace that is a link to elsewhere has its gateway where the link is;
    // a folder that nothing leads to, where the environment says.
    let elsewhere = scratch.path().join("elsewhere");
    fs::rename(home.join("workspace"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.join("workspace")).unwrap();
    assert_eq!(code(&migrate(&[])), Some(2));
    let detected = everlog(&["detect", elsewhere.join("sessions").to_str().unwrap(), "--json"]);
    assert!(stdout(&detected).contains("\"live\":false"), "{}", stdout(&detected));
    for command in ["detect", "migrate"] {
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_everlog"))
            .args([command, elsewhere.join("sessions").to_str().unwrap(), "--json"])
            .env("PICOCLAW_HOME", &home)
            .output()
            .unwrap();
        assert!(stdout(&said).contains("\"live\":true") || stderr(&said).contains("--allow-live"), "{command}: {}", stdout(&said));
    }
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert_eq!(code(&migrate(&[])), Some(0));
    assert!(stdout(&everlog(&["detect", sessions.to_str().unwrap(), "--json"])).contains("\"live\":false"));
}

/// A session of one line with so many bytes before its end.
fn long_line(length: usize, end: &str) -> Files {
    let around = "{\"role\":\"tool\",\"content\":\"\"}".len();
    let line = format!("{{\"role\":\"tool\",\"content\":\"{}\"}}{end}", "x".repeat(length - around));
    let mut files = Files::new("agent_long.jsonl");
    files.insert(RelPath::new("agent_long.jsonl"), Entry::File(SourceFile { bytes: line.into_bytes(), mtime_ns: 0 }));
    files
}

#[test]
fn a_line_of_ten_mebibytes_is_one_byte_too_long() {
    const LIMIT: usize = 10 * 1024 * 1024;
    let picoclaw = by_id("picoclaw").unwrap();
    for (length, end, fails) in
        [(LIMIT - 1, "\n", false), (LIMIT, "\n", true), (LIMIT - 1, "\r\n", true), (LIMIT - 2, "\r\n", false), (LIMIT, "", true)]
    {
        let (converted, _) = convert_and_prove(picoclaw, &long_line(length, end)).unwrap();
        let log = String::from_utf8(converted.log).unwrap();
        assert_eq!(log.contains("token too long"), fails, "{length} {end:?}");
        assert_eq!(log.matches("\"type\":\"message\"").count(), 1);
    }
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let scratch = tempfile::TempDir::new().unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    write("package.json", "{\"name\":\"x\",\"version\":\"1.0.0\"}");
    write("notes.jsonl", "{\"type\":\"session\",\"id\":\"1\"}\n");
    write("chat.jsonl", "{\"role\":\"user\",\"content\":\"an OpenAI-style list\"}\n");
    write("data.meta.json", "{\"title\":\"x\"}");
    assert_eq!(code(&everlog(&["detect", scratch.path().to_str().unwrap()])), Some(2));
}

#[test]
fn hidden_lines_are_shown_to_who_asks_for_what_the_loader_hides() {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    let lines = ["one", "two", "three"].map(|text| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")).concat();
    fs::write(bench.source().join("agent_x.jsonl"), lines).unwrap();
    fs::write(bench.source().join("agent_x.meta.json"), "{\"key\":\"agent:x\",\"summary\":\"\",\"skip\":2,\"count\":3}").unwrap();
    bench.migrate(&[]);
    let log = bench.log("agent_x.jsonl");
    let shown = |more: &[&str]| {
        let done = everlog(&[&["replay", log.to_str().unwrap()], more].concat());
        ["one", "two", "three"].map(|text| stdout(&done).contains(text))
    };
    assert_eq!(shown(&[]), [false, false, true]);
    assert_eq!(shown(&["--salvage"]), [true, true, true]);
    assert_eq!(shown(&["--as", "source"]), [false, false, true]);
    assert_eq!(shown(&["--as", "source", "--salvage"]), [true, true, true]);
}
