//! `everlog repair`: leaves what the program's own repair leaves, does exactly
//! the plan that was shown, survives being killed at any step, and can be
//! undone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::repair::Action;
use everlog::report::ExitStatus;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::bench::code;
use support::repairing::{Bench, CUT_SHORT, WRITTEN, messages, said, worn};
use support::webui::{Folder, corpus, corpus_copy, turn, writer};
use support::{everlog, set_mtime, stderr, stdout, tree};
use tempfile::TempDir;

/// The files that the program's own repairs leave, and what it says then.
fn after_the_programs_own(case: &Path) -> (BTreeMap<String, String>, Value) {
    let expected: Value = serde_json::from_slice(&fs::read(case.join("expected_after_repair.json")).unwrap()).unwrap();
    let mut files = BTreeMap::new();
    for step in ["repair_safe", "then_each_session_opened"] {
        for (path, file) in expected[step]["changed_files"].as_object().unwrap() {
            files.insert(path.clone(), file["text"].as_str().unwrap().to_owned());
        }
    }
    (files, expected)
}

/// The list of sessions without what ours says better: the program counts the
/// messages as they were before it repaired them, and takes an empty workspace
/// for the folder it was started in.
fn index_rows(text: &str) -> Vec<Value> {
    let mut rows: Vec<Value> = serde_json::from_str(text).unwrap();
    for row in rows.iter_mut().filter_map(Value::as_object_mut) {
        row.remove("message_count");
        if row["workspace"] == "/" {
            row.insert("workspace".to_owned(), "".into());
            row.insert("created_workspace".to_owned(), "".into());
        }
    }
    rows
}

/// What the program would show of a session.
fn shown(input: &Path, file: &str) -> Vec<Value> {
    let sessions = support::sessions(input);
    let (unit, files) = sessions.iter().find(|(unit, _)| unit.name.to_string() == file).unwrap();
    let mut rows = Vec::new();
    unit.found.adapter.loader(files).load(None, &mut |row| rows.push(serde_json::from_slice(row).unwrap()));
    rows
}

#[test]
fn it_leaves_what_the_programs_own_repair_leaves_in_every_case() {
    let Ok(cases) = fs::read_dir(corpus()) else {
        return support::campaign::missing("the corpus is not beside the project: nothing to compare with");
    };
    let (mut same, mut untouched, mut wrong) = (0, 0, Vec::new());
    for case in cases.flatten().map(|entry| entry.path()).filter(|path| path.join("expected_after_repair.json").is_file()) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let Some(scratch) = corpus_copy(&name) else { continue };
        let input = scratch.path().join("input");
        let before = tree(&input);
        let (wanted, expected) = after_the_programs_own(&case);
        let now_ns = (expected["clock"].as_f64().unwrap() * 1e9) as i64;
        let bench = Bench { now_ns, ..Bench::of(&input, scratch.path()) };
        let written = bench.repair();
        for (path, want) in &wanted {
            let got = fs::read_to_string(input.join(path)).unwrap_or_default();
            let is_same = if path.ends_with("_index.json") {
                index_rows(want) == index_rows(&got)
            } else if name == "duplicate-partials" {
                // What stands twice is shown once, by its loader, whatever stands on disk.
                let id = "partials0001";
                path.ends_with(".bak")
                    || shown(&input, &format!("webui/sessions/{id}.json"))
                        == *expected["then_each_session_opened"]["sessions"][id]["messages"].as_array().unwrap()
            } else {
                *want == got
            };
            if !is_same {
                wrong.push(format!("{name}: {path}\n--- program\n{want}\n+++ everlog\n{got}"));
            }
        }
        if let Some(more) = written.iter().find(|path| !wanted.contains_key(*path)) {
            wrong.push(format!("{name}: {more} was written, and the program leaves it alone"));
        }
        same += usize::from(!wanted.is_empty());
        untouched += usize::from(wanted.is_empty());
        assert_eq!(bench.plan().0, Vec::<String>::new(), "{name}: a second plan is not empty");
        if !written.is_empty() {
            assert_ne!(tree(&input), before, "{name}");
            bench.run(Action::Undo(bench.receipt())).unwrap();
        }
        assert!(tree(&input) == before, "{name}: undone, and not as before");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same >= 9 && untouched >= 20, "only {same} repairs and {untouched} cases without one were compared");
    eprintln!("{same} cases repaired as the program repairs them, {untouched} left alone as it leaves them");
}

#[test]
fn old_files_are_kept_private_and_new_ones_look_like_their_neighbours() {
    let folder = worn();
    let bench = Bench::of(&folder.path(), folder.home());
    let before = tree(&folder.path());
    assert_eq!(bench.repair(), WRITTEN);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("aaa.json")), 0o640);
    assert_eq!(mode(&folder.path().join("ccc.json")), mode(&folder.path()) & 0o666);
    let receipt = bench.receipt();
    let kept: Vec<PathBuf> = fs::read_dir(receipt.parent().unwrap()).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(kept.len(), 4, "three old files and a receipt: {kept:?}");
    assert!(kept.iter().all(|path| mode(path) == 0o600), "{kept:?}");
    let said: Value = serde_json::from_slice(&fs::read(&receipt).unwrap()).unwrap();
    assert_eq!((&said["state"], said["files"].as_array().unwrap().len()), (&"applied".into(), 4));
    assert_eq!(bench.plan().0, Vec::<String>::new());
    bench.run(Action::Undo(receipt.clone())).unwrap();
    assert!(tree(&folder.path()) == before, "bytes and times are not as before");
    assert_eq!(mode(&folder.path().join("aaa.json")), 0o640);
    // And once more, from the same folder of receipts.
    assert_eq!(bench.repair(), WRITTEN);
    bench.run(Action::Undo(receipt.parent().unwrap().to_owned())).unwrap();
    assert!(tree(&folder.path()) == before);
}

#[test]
fn a_plan_that_would_be_another_now_is_refused_and_said_why() {
    let folder = worn();
    let source = folder.path();
    let plan = everlog(&["repair", source.to_str().unwrap()]);
    assert_eq!(code(&plan), Some(1), "{}{}", stdout(&plan), stderr(&plan));
    let said = stdout(&plan);
    let fingerprint = said.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(said.contains("put back its backup, which has 3 messages instead of 1 (shrunken_live)"), "{said}");
    assert!(!source.with_extension("everlog-repair").exists(), "a plan wrote something");
    let again = everlog(&["repair", source.to_str().unwrap()]);
    assert_eq!(stdout(&again), said, "the same source has another plan");
    set_mtime(&source.join("bbb.json"), 1_700_000_001_000_000_000);
    let before = tree(folder.home());
    let done = everlog(&["repair", source.to_str().unwrap(), "--apply", &fingerprint]);
    assert_eq!(code(&done), Some(2));
    assert!(stderr(&done).contains("bbb.json is another step now") && !stderr(&done).contains("aaa.json"), "{}", stderr(&done));
    assert_eq!(tree(folder.home()), before, "a refused plan changed something");
    for wrong in ["../../etc", "", "0123456789abcdef"] {
        let done = everlog(&["repair", source.to_str().unwrap(), "--apply", wrong]);
        assert_eq!(code(&done), Some(2), "{wrong:?}");
    }
    assert_eq!(tree(folder.home()), before);
    let inside = everlog(&["repair", source.to_str().unwrap(), "--apply", &fingerprint, "--backups", source.join("x").to_str().unwrap()]);
    assert_eq!(code(&inside), Some(2));
}

#[test]
fn the_command_does_the_plan_and_takes_it_back_and_never_over_a_later_change() {
    let folder = worn();
    let source = folder.path();
    let before = tree(&source);
    let words = |more: &[&str]| everlog(&[&["repair", source.to_str().unwrap()], more].concat());
    let fingerprint = stdout(&words(&[])).trim_end().rsplit(' ').next().unwrap().to_owned();
    let done = words(&["--apply", &fingerprint]);
    assert_eq!(code(&done), Some(0), "{}{}", stdout(&done), stderr(&done));
    let receipt = stdout(&done).trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(Path::new(&receipt).starts_with(source.with_file_name("sessions.everlog-repair")), "{receipt}");
    assert_eq!(code(&words(&["--apply", &fingerprint])), Some(0), "done already is done");
    assert_eq!((code(&words(&[])), stdout(&words(&[]))), (Some(0), "nothing to repair; nothing was changed\n".to_owned()));
    let repaired = fs::read(source.join("bbb.json")).unwrap();
    fs::write(source.join("bbb.json"), [&repaired[..], b" "].concat()).unwrap();
    let refused = words(&["--undo", &receipt]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("bbb.json has changed since"), "{}", stderr(&refused));
    assert!(source.join("ccc.json").exists(), "half of it was undone");
    fs::write(source.join("bbb.json"), repaired).unwrap();
    assert_eq!(code(&words(&["--undo", &receipt])), Some(0));
    assert_eq!(tree(&source), before);
    assert_eq!(code(&words(&["--undo", folder.home().join("nothing/receipt.json").to_str().unwrap()])), Some(2));
    // What is kept beside the sessions is not a source.
    let detected = stdout(&everlog(&["detect", source.parent().unwrap().to_str().unwrap()]));
    assert!(!detected.contains("everlog-repair"), "{detected}");
}

#[test]
fn what_is_live_is_left_alone() {
    let folder = worn();
    let bench = Bench::of(&folder.path(), folder.home());
    let mut writer = writer();
    let shard = folder.path().join(format!("_turn_journal/zzz~{}.jsonl", writer.id()));
    fs::create_dir_all(shard.parent().unwrap()).unwrap();
    fs::write(&shard, turn("completed", "t", 5, "")).unwrap();
    let (status, rows) = bench.run(Action::Plan).unwrap();
    assert_eq!((status, rows.len(), &rows[0]["left"]["code"]), (ExitStatus::Found, 2, &"session_live".into()), "{rows:#?}");
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(bench.plan().0, WRITTEN);
    // One that was written a moment ago, and a turn that began a moment ago.
    let now = 1_700_000_000_000_000_000 + 10_000_000_000;
    let soon = Bench { now_ns: now, ..Bench::of(&folder.path(), folder.home()) };
    assert_eq!(soon.plan().0, Vec::<String>::new());
    set_mtime(&folder.path().join("bbb.json"), 1_699_999_000_000_000_000);
    set_mtime(&folder.path().join("_index.json"), 1_699_999_000_000_000_000);
    assert_eq!(soon.plan().0, ["_index.json"], "its turn began ten seconds ago, and the list names what is gone");
    let later = Bench { now_ns: now + 30_000_000_000, ..Bench::of(&folder.path(), folder.home()) };
    assert_eq!(later.plan().0, ["bbb.json", "_index.json"]);
}

#[test]
fn a_prompt_that_only_the_journal_has_is_shown_again_unless_it_may_have_been_taken_out() {
    let lost = |more: &str, at: u32| {
        let folder = Folder::new();
        folder.sidecar("aaa.json", "aaa", &["hi", "ho"], more);
        folder.index(&["aaa"]);
        folder.write(
            "_turn_journal/aaa~1.jsonl",
            &turn("submitted", "t", at, r#""role":"user","content":"lost é","attachments":[{"name":"a"}],"#),
        );
        folder
    };
    let folder = lost("", 1_699_999_900);
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.repair(), ["aaa.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("aaa.json")), said(&[("user", "hi"), ("assistant", "ho"), ("user", "lost é"), CUT_SHORT]));
    let text = fs::read_to_string(folder.path().join("aaa.json")).unwrap();
    assert!(
        text.contains("\"_recovered\": true,\n      \"attachments\": [\n        {\n          \"name\": \"a\"\n        }\n      ]"),
        "{text}"
    );
    assert!(text.contains("\"content\": \"hi\", \"timestamp\": 1699999000}"), "old rows were written anew: {text}");
    assert_eq!(bench.plan().0, Vec::<String>::new());
    for (more, at) in [
        ("\n  \"truncation_watermark\": 5.0,", 1_699_999_900),
        ("\n  \"clear_generation\": \"c\",", 1_699_999_900),
        ("\n  \"intentional_shrink_generation\": \"g\",", 1_699_999_900),
        ("\n  \"pre_compression_snapshot\": true,", 1_699_999_900),
        ("", 1_600_000_000),
    ] {
        let folder = lost(more, at);
        assert_eq!(Bench::of(&folder.path(), folder.home()).plan().0, Vec::<String>::new(), "{more} {at}");
    }
}

#[test]
fn what_a_run_had_put_out_is_shown_with_its_tools_and_nothing_is_made_up() {
    let folder = worn();
    let line = |n: u32, event: &str, payload: &str| {
        format!(
            "{{\"version\":1,\"event_id\":\"run-t:{n}\",\"seq\":{n},\"run_id\":\"run-t\",\"session_id\":\"bbb\",\"event\":\"{event}\",\"type\":\"{event}\",\"created_at\":1700000000.5,\"terminal\":false,\"terminal_state\":null,\"payload\":{payload}}}\n"
        )
    };
    let journal = [
        line(1, "token", r#"{"text":"I look."}"#),
        line(2, "tool", r#"{"name":"ls","preview":"p","args":{"a":"1"}}"#),
        line(3, "token", r#"{"text":"Found"}"#),
    ]
    .concat();
    folder.write("_run_journal/bbb/run-t.jsonl", &journal);
    let bench = Bench::of(&folder.path(), folder.home());
    bench.repair();
    let path = folder.path().join("bbb.json");
    assert_eq!(
        messages(&path),
        said(&[("user", "hi"), ("assistant", "ho"), ("user", "go"), ("assistant", "I look."), ("assistant", "Found"), CUT_SHORT])
    );
    let sidecar: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!((&sidecar["tool_calls"][0]["name"], &sidecar["tool_calls"][0]["assistant_msg_idx"]), (&"ls".into(), &3.into()));
    assert!(sidecar["pending_user_message"].is_null() && sidecar["messages"][5].get("_pending_journal_recovery").is_none());
    assert_eq!(bench.plan().0, Vec::<String>::new());
    // A run that was completed gets no note that it was cut short.
    let folder = worn();
    let done =
        line(4, "done", "{}").replace("\"terminal\":false,\"terminal_state\":null", "\"terminal\":true,\"terminal_state\":\"completed\"");
    folder.write("_run_journal/bbb/run-t.jsonl", &format!("{journal}{done}"));
    Bench::of(&folder.path(), folder.home()).repair();
    assert_eq!(messages(&folder.path().join("bbb.json")).last(), Some(&("assistant".to_owned(), "Found".to_owned())));
}

#[test]
fn a_list_that_is_stale_or_broken_is_made_again_and_two_of_a_name_are_left_alone() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.sidecar("bbb.json", "bbb", &["hi"], "");
    folder.sidecar("ccc.json", "aaa", &["other"], "");
    folder.index(&["aaa", "bbb"]);
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.plan().0, Vec::<String>::new(), "the program cannot list ccc.json either");
    let text = fs::read_to_string(folder.path().join("_index.json")).unwrap();
    folder.write("_index.json", &text.replacen("1700000000.5", "1600000000.5", 1));
    assert_eq!(bench.repair(), ["_index.json"]);
    let repaired = fs::read_to_string(folder.path().join("_index.json")).unwrap();
    assert!(repaired.contains("{\"session_id\": \"bbb\", \"message_count\": 1,"), "a row that is right was written anew: {repaired}");
    folder.write("_index.json", "[{]");
    assert_eq!(bench.repair(), ["_index.json"]);
    let rows: Vec<Value> = serde_json::from_slice(&fs::read(folder.path().join("_index.json")).unwrap()).unwrap();
    assert_eq!(rows.iter().map(|row| row["session_id"].as_str().unwrap()).collect::<Vec<_>>(), ["aaa", "bbb"]);
    assert_eq!(bench.plan().0, Vec::<String>::new());
}

#[test]
fn one_session_alone_can_be_repaired_and_other_formats_have_nothing_to_repair() {
    let folder = worn();
    let bench = Bench::of(&folder.path().join("aaa.json"), folder.home());
    assert_eq!(bench.repair(), ["aaa.json"]);
    let other = support::bench::Bench::with_tour();
    let done = everlog(&["repair", other.source().to_str().unwrap()]);
    assert_eq!((code(&done), stdout(&done).as_str()), (Some(0), "nothing to repair; nothing was changed\n"));
    let nothing = TempDir::new().unwrap();
    assert_eq!(code(&everlog(&["repair", nothing.path().to_str().unwrap()])), Some(2));
}

#[test]
fn an_undo_reads_and_writes_exactly_the_receipt_that_is_named() {
    let folder = worn();
    let source = folder.path();
    let before = tree(&source);
    let bench = Bench::of(&source, folder.home());
    bench.repair();
    let repaired = tree(&source);
    let (usual, other) = (bench.receipt(), bench.receipt().with_file_name("other.json"));
    let undo = |path: &Path| everlog(&["repair", source.to_str().unwrap(), "--undo", path.to_str().unwrap()]);
    for wrong in [None, Some("{}"), Some("no JSON")] {
        wrong.iter().for_each(|text| fs::write(&other, text).unwrap());
        let said = undo(&other);
        assert_eq!(code(&said), Some(2), "{wrong:?}: {}{}", stdout(&said), stderr(&said));
        assert!(stderr(&said).contains("other.json"), "{wrong:?}: {}", stderr(&said));
        assert!(tree(&source) == repaired, "{wrong:?}: another receipt was carried out");
    }
    fs::rename(&usual, &other).unwrap();
    fs::write(&usual, "no JSON").unwrap();
    let said = undo(&other);
    assert_eq!(code(&said), Some(0), "{}", stderr(&said));
    assert!(tree(&source) == before);
    assert_eq!(fs::read(&usual).unwrap(), b"no JSON");
    assert!(fs::read_to_string(&other).unwrap().contains("\"undone\""));
    // A bare name is below the folder that we are in; a folder has its usual receipt.
    fs::rename(&other, &usual).unwrap();
    let words = ["repair", source.to_str().unwrap(), "--undo"];
    let run = |path: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_everlog"))
            .args(words)
            .arg(path)
            .current_dir(usual.parent().unwrap())
            .output()
            .unwrap()
    };
    for path in ["receipt.json", "."] {
        let said = run(path);
        assert_eq!(code(&said), Some(0), "{path}: {}", stderr(&said));
    }
}
