//! `everlog export`: documents, secrets, and sessions put where a program looks
//! and taken away again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;
use everlog::model::digest::sha256_hex;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::bench::{Bench, line};
use support::{everlog, run, stderr, stdout, tree};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// A store with two sessions, one of which has a secret.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.conversation("plain", &[line("user", "hello", 1), line("assistant", "good morning", 2)].concat());
    bench.conversation("secret", &[line("user", &format!("my key is {SECRET}"), 1), line("assistant", "noted", 2)].concat());
    assert_eq!(code(&bench.migrate(&[])), 0);
    bench
}

fn export(bench: &Bench, to: &str, into: &Path, more: &[&str]) -> Output {
    let dest = bench.dest();
    everlog(&[&["export", dest.to_str().unwrap(), "--to", to, "-o", into.to_str().unwrap()], more].concat())
}

#[test]
fn documents_are_named_after_their_logs_and_never_overwritten() {
    let bench = bench();
    for (to, names) in
        [("markdown", vec!["plain.md", "secret.md"]), ("atif", vec!["plain.json", "secret.json"]), ("openai", vec!["sessions.jsonl"])]
    {
        let into = bench.path(to);
        let done = export(&bench, to, &into, &["--json"]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        let found: Vec<String> = fs::read_dir(&into).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).collect();
        let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, names, "{to}");
        let before = tree(&into);
        assert_eq!(code(&export(&bench, to, &into, &[])), 0, "{to}: the same again changes nothing");
        assert_eq!(tree(&into), before);
        fs::write(into.join(names[0]), "somebody else's").unwrap();
        let refused = export(&bench, to, &into, &[]);
        assert_ne!(code(&refused), 0, "{to}");
        assert!(stderr(&refused).contains("never overwritten") || stderr(&refused).contains("exists"), "{}", stderr(&refused));
        assert_eq!(fs::read_to_string(into.join(names[0])).unwrap(), "somebody else's");
    }
    let lines = fs::read_to_string(bench.path("markdown").join("secret.md")).unwrap();
    assert!(lines.contains("## user · 2026-01-01T00:00:01Z\n\nmy key is ghp_"), "{lines}");
    assert_eq!(stdout(&export(&bench, "openai", &bench.path("again"), &["--json"])).lines().count(), 2, "a line for each session");
}

#[test]
fn heads_titles_and_models_are_as_asked() {
    let bench = bench();
    let into = bench.path("atif");
    let done = export(&bench, "atif", &into, &["--title", "Other", "--model", "acme/big", "--cwd", "/srv"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let trajectory: Value = serde_json::from_slice(&fs::read(into.join("plain.json")).unwrap()).unwrap();
    assert_eq!(trajectory["extra"], serde_json::json!({ "title": "Other", "cwd": "/srv" }));
    assert_eq!(
        (&trajectory["steps"][1]["model_name"], &trajectory["steps"][1]["extra"]["provider"]),
        (&Value::from("big"), &Value::from("acme"))
    );
    let earlier = bench.path("earlier");
    assert_eq!(code(&export(&bench, "markdown", &earlier, &["--at", "2"])), 0);
    let text = fs::read_to_string(earlier.join("plain.md")).unwrap();
    assert!(text.contains("hello") && !text.contains("good morning"), "{text}");
    assert_ne!(code(&export(&bench, "markdown", &bench.path("none"), &["--head", "nowhere"])), 0);
    let unknown = export(&bench, "latex", &bench.path("none"), &[]);
    assert!(code(&unknown) == 2 && stderr(&unknown).contains("markdown, openai, atif"), "{}", stderr(&unknown));
}

#[test]
fn nothing_that_is_redacted_leaves_in_a_file_or_its_name() {
    let bench = bench();
    for to in ["markdown", "openai", "atif", "pi"] {
        let into = bench.path(to);
        let done = export(&bench, to, &into, &["--redact", "--redact-pattern", "good morning", "--json"]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        let files = tree(&into);
        let all = format!("{files:?}");
        assert!(!all.contains("secret.") && !all.contains("plain."), "{to}: names say what the sessions are called: {all}");
        for entry in walk(&into) {
            let text = String::from_utf8_lossy(&fs::read(&entry).unwrap()).into_owned();
            assert!(!text.contains(SECRET) && !text.contains("good morning"), "{}: {text}", entry.display());
            assert!(!text.contains("\"everlog\":{"), "{to}: what would bring the session back has its secrets");
        }
        let rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(rows.iter().all(|row| row["redactions"]["removed"].as_array().unwrap().len() == 1), "{rows:?}");
        assert!(rows.iter().all(|row| row["losses"].as_array().unwrap().iter().any(|loss| loss["code"] == "redacted")));
    }
    assert_eq!(code(&export(&bench, "pi", &bench.path("x"), &["--redact-pattern", "x"])), 2);
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Installs one session into a home folder.
/// Programs write parts in roles that have no place for them elsewhere.
#[test]
fn any_part_of_any_role_is_exported_or_said_to_be_lost() {
    let bench = Bench::new();
    let folder = bench.path("gemini/tmp/loom");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(".project_root"), "/home/ada/loom").unwrap();
    let parts = [
        r#"{"text":"Look."}"#,
        r#"{"text":"**Wool** Look.","thought":true}"#,
        r#"{"text":"","thought":true}"#,
        r#"{"functionCall":{"id":"c1","name":"look","args":{"at":"wool"}}}"#,
        r#"{"functionResponse":{"id":"c1","name":"look","response":{"output":"merino"}}}"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}"#,
    ];
    for role in [r#""role":"user","#, r#""role":"model","#, r#""role":"narrator","#, ""] {
        for (n, part) in parts.iter().enumerate() {
            for (m, before) in ["", r#"{"text":"Hm.","thought":true},"#].into_iter().enumerate() {
                let odd = format!("{{{role}\"parts\":[{before}{part}]}}");
                let text = format!(
                    r#"{{"history":[{{"role":"user","parts":[{{"text":"Wool?"}}]}},{odd},{{"role":"model","parts":[{{"text":"Merino."}}]}}]}}"#
                );
                fs::write(folder.join(format!("checkpoint-{}-{n}-{m}.json", role.len())), text).unwrap();
            }
        }
    }
    let done = everlog(&["migrate", bench.path("gemini").to_str().unwrap(), "-o", bench.dest().to_str().unwrap()]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let programs = ["claude-code", "codex", "gemini-cli", "gptme", "hermes-webui", "openclaw", "pi", "picoclaw"];
    for to in programs.into_iter().chain(["markdown", "openai", "atif"]) {
        let done = export(&bench, to, &bench.path(to), &["--json"]);
        assert_eq!(code(&done), 0, "{to}: {}", stderr(&done));
    }
}

fn install(bench: &Bench, home: &Path, more: &[&str]) -> Output {
    install_to(bench, "pi", home, more)
}

fn install_to(bench: &Bench, target: &str, home: &Path, more: &[&str]) -> Output {
    let log = bench.log("plain");
    let words = [&["export", log.to_str().unwrap(), "--to", target, "--install"], more].concat();
    run(Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).env_clear().env("HOME", home).env("NO_COLOR", "1"))
}

fn receipts(bench: &Bench) -> Vec<PathBuf> {
    let folder = bench.dest().join(".everlog/exports");
    let all = if folder.exists() { walk(&folder) } else { Vec::new() };
    all.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

fn undo(receipt: &Path) -> Output {
    everlog(&["export", "--undo", receipt.to_str().unwrap(), "--json"])
}

#[test]
fn an_installation_lies_where_the_program_looks_and_can_be_taken_back() {
    let bench = bench();
    let home = bench.path("home");
    fs::create_dir(&home).unwrap();
    let done = install(&bench, &home, &["--json"]);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let files = walk(&home.join(".pi/agent/sessions"));
    assert_eq!(files.len(), 1);
    let receipt = receipts(&bench);
    assert_eq!(serde_json::from_str::<Value>(&stdout(&done)).unwrap()["receipt"], receipt[0].to_str().unwrap());
    // Once more changes nothing, and the receipt still names what was made.
    let before = tree(&bench.dest());
    assert_eq!(code(&install(&bench, &home, &[])), 0);
    assert_eq!(tree(&bench.dest()), before);
    let back = undo(&receipt[0]);
    assert_eq!(code(&back), 0, "{}", stderr(&back));
    assert!(walk(&home).is_empty() && receipts(&bench).is_empty());
    assert_eq!(code(&undo(&receipt[0])), 2, "a receipt that is gone");
}

/// Whoever can write a receipt must not be able to make somebody lose a file by it.
#[test]
fn what_a_forged_receipt_takes_away_is_kept() {
    let bench = bench();
    let place = bench.path("somewhere");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("thesis.txt"), "years").unwrap();
    let receipt = bench.path("forged.json");
    let file = serde_json::json!({ "path": "thesis.txt", "size": 5, "sha256": sha256_hex(b"years") });
    let text = serde_json::json!({ "everlog_export": 1, "target": "pi", "log": "l", "session": "s", "folder": place, "files": [file] });
    fs::write(&receipt, text.to_string()).unwrap();
    let done = undo(&receipt);
    assert_eq!(code(&done), 0, "{}", stderr(&done));
    let copies = serde_json::from_str::<Value>(&stdout(&done)).unwrap()["copies"].as_str().unwrap().to_owned();
    assert_eq!(fs::read(Path::new(&copies).join(sha256_hex(b"years"))).unwrap(), b"years");
}

#[test]
fn a_session_that_went_on_is_not_taken_away() {
    let bench = bench();
    let home = bench.path("home");
    fs::create_dir(&home).unwrap();
    install(&bench, &home, &[]);
    let (file, receipt) = (walk(&home).remove(0), receipts(&bench).remove(0));
    let before = fs::read(&file).unwrap();
    fs::write(&file, [&before[..], b"{\"type\":\"message\"}\n"].concat()).unwrap();
    let refused = undo(&receipt);
    assert!(code(&refused) == 2 && stderr(&refused).contains("has changed since it was exported"), "{}", stderr(&refused));
    assert!(file.exists() && receipt.exists());
    let again = install(&bench, &home, &[]);
    assert_ne!(code(&again), 0, "it is not overwritten either");
    // A program that has it open may be about to write.
    fs::write(&file, &before).unwrap();
    let mut holder = Command::new("sleep").arg("60").stdin(fs::File::open(&file).unwrap()).spawn().unwrap();
    let held = undo(&receipt);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(code(&held) == 2 && file.exists(), "{}", stderr(&held));
    assert_eq!(code(&undo(&receipt)), 0);
}

#[test]
fn a_receipt_is_not_believed() {
    let bench = bench();
    let (target, victim) = (bench.path("sessions"), bench.path("victim"));
    fs::create_dir(&target).unwrap();
    fs::write(&victim, "keep me").unwrap();
    std::os::unix::fs::symlink(bench.scratch.path(), target.join("link")).unwrap();
    let sha256 = sha256_hex(b"keep me");
    let receipt = bench.path("receipt.json");
    for (folder, path) in [
        (target.to_str().unwrap(), "../victim"),
        (target.to_str().unwrap(), "link/victim"),
        ("sessions", "victim"),
        ("/", victim.to_str().unwrap()),
    ] {
        let file = serde_json::json!({ "path": path, "size": 7, "sha256": sha256 });
        let text =
            serde_json::json!({ "everlog_export": 1, "target": "pi", "log": "l", "session": "s", "folder": folder, "files": [file] });
        fs::write(&receipt, text.to_string()).unwrap();
        let refused = undo(&receipt);
        assert_eq!(code(&refused), 2, "{path}: {}", stderr(&refused));
        assert!(victim.exists() && receipt.exists(), "{path}");
    }
    fs::write(&receipt, "{}").unwrap();
    assert!(code(&undo(&receipt)) == 2 && stderr(&undo(&receipt)).contains("is not the receipt of an export"));
}

#[test]
fn nothing_is_taken_from_a_program_that_runs() {
    let bench = Bench::new();
    let home = bench.path("claw");
    let sessions = home.join("workspace/sessions");
    fs::create_dir_all(&sessions).unwrap();
    let program = bench.path("picoclaw");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut running = Command::new(&program).arg("60").spawn().unwrap();
    fs::write(home.join(".picoclaw.pid"), format!("{{\"pid\":{}}}", running.id())).unwrap();
    let receipt = bench.path("receipt.json");
    let text =
        serde_json::json!({ "everlog_export": 1, "target": "picoclaw", "log": "l", "session": "s", "folder": sessions, "files": [] });
    fs::write(&receipt, text.to_string()).unwrap();
    let refused = undo(&receipt);
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(code(&refused) == 2 && stderr(&refused).contains("is working on"), "{}", stderr(&refused));
    assert_eq!(code(&undo(&receipt)), 0);
}

/// OpenClaw lists what is in its store: the entry is added to those of others, and is
/// what `--undo` takes out.
#[test]
fn an_installed_session_is_listed_among_others_and_taken_out_again() {
    let bench = bench();
    let home = bench.path("home");
    let folder = home.join(".openclaw/agents/main/sessions");
    fs::create_dir_all(&folder).unwrap();
    let list = folder.join("sessions.json");
    let others = "{\n  \"agent:main:main\": {\"sessionId\": \"a\", \"n\": 1.10}\n}";
    for before in [None, Some(others)] {
        before.map_or_else(|| Ok(()), |text| fs::write(&list, text)).unwrap();
        let done = install_to(&bench, "openclaw", &home, &["--title", "Mine", "--json"]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        let text = fs::read_to_string(&list).unwrap();
        let entries: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
        let (key, entry) = entries.iter().find(|(key, _)| key.starts_with("agent:main:everlog:")).unwrap();
        assert_eq!(entry["label"], "Mine", "{key}");
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
        assert!(["updatedAt", "sessionStartedAt"].iter().all(|name| (now - entry[name].as_i64().unwrap()).abs() < 60_000), "{text}");
        assert!(folder.join(format!("{}.jsonl", entry["sessionId"].as_str().unwrap())).exists());
        assert!(before.is_none() || text.contains("{\"sessionId\": \"a\", \"n\": 1.10}"), "{text}");
        // Once more changes nothing, not even the time.
        assert_eq!(code(&install_to(&bench, "openclaw", &home, &["--title", "Mine"])), 0);
        assert_eq!(fs::read_to_string(&list).unwrap(), text);
        let receipt = receipts(&bench).remove(0);
        fs::write(&list, text.replace("Mine", "Renamed")).unwrap();
        assert!(code(&undo(&receipt)) == 2 && walk(&folder).len() == 2, "the program went on with it");
        fs::write(&list, &text).unwrap();
        assert_eq!(code(&undo(&receipt)), 0);
        assert_eq!(before.is_none(), !list.exists());
        assert!(before.is_none_or(|others| fs::read_to_string(&list).unwrap() == others));
        assert_eq!(walk(&folder).len(), usize::from(before.is_some()));
    }
    fs::write(&list, "[]").unwrap();
    let refused = install_to(&bench, "openclaw", &home, &[]);
    assert_ne!(code(&refused), 0);
    assert_eq!(fs::read_to_string(&list).unwrap(), "[]");
    assert!(walk(&folder).len() == 1 && receipts(&bench).is_empty(), "nothing is written that cannot be listed");
}

/// Gemini CLI names a project's folder by the end of its path, and adds a number where
/// another project has that name.
#[test]
fn projects_of_one_name_have_folders_of_their_own() {
    let bench = bench();
    let into = bench.path("gemini");
    let mut seen = Vec::new();
    for cwd in ["/a/widget", "/b/widget", "/a/widget"] {
        let done = export(&bench, "gemini-cli", &into, &["--cwd", cwd, "--json"]);
        assert_eq!(code(&done), 0, "{}", stderr(&done));
        for row in stdout(&done).lines().map(|row| serde_json::from_str::<Value>(row).unwrap()) {
            let file = row["files"][1].as_str().unwrap();
            let folder = file.split("/chats/").next().unwrap();
            assert_eq!(fs::read_to_string(into.join(folder).join(".project_root")).unwrap(), cwd);
            seen.push(folder.to_owned());
        }
    }
    assert_eq!(seen, ["tmp/widget", "tmp/widget", "tmp/widget-1", "tmp/widget-1", "tmp/widget", "tmp/widget"]);
}

/// Where a folder is one on the way to the sessions, the rest of the way is gone.
#[test]
fn an_export_to_openclaw_goes_into_any_of_its_folders() {
    let bench = bench();
    let home = bench.path("state");
    for into in [home.clone(), home.join("agents"), home.join("agents/main/sessions")] {
        assert_eq!(code(&export(&bench, "openclaw", &into, &[])), 0);
    }
    assert_eq!(walk(&home).len(), 2);
    assert!(walk(&home).iter().all(|file| file.starts_with(home.join("agents/main/sessions"))));
}

/// OpenClaw's notes go along to pi, and do not make pi's folder one of OpenClaw.
#[test]
fn what_came_from_a_host_program_is_recognised_as_the_targets() {
    let bench = Bench::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openclaw/forms/input");
    let (store, into, back) = (bench.path("store"), bench.path("pi"), bench.path("back"));
    everlog(&["migrate", source.to_str().unwrap(), "-o", store.to_str().unwrap(), "--quiet"]);
    assert_eq!(code(&everlog(&["export", store.to_str().unwrap(), "--to", "pi", "-o", into.to_str().unwrap(), "--quiet"])), 0);
    let done = everlog(&["migrate", into.to_str().unwrap(), "-o", back.to_str().unwrap(), "--json"]);
    let rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let formats: Vec<&Value> = rows.iter().filter_map(|row| row.get("format")).collect();
    assert!(formats.len() == walk(&into).len() && formats.iter().all(|format| *format == "pi"), "{formats:?}");
}
