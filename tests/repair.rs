//! `everlog repair`: leaves what the program's own repair leaves, does exactly
//! the plan that was shown, survives being killed at any step, and can be
//! undone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::adapters::ALL;
use everlog::commands::repair::{Action, RepairJob, run};
use everlog::report::ExitStatus;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::bench::code;
use support::dying::DyingDisk;
use support::webui::{Folder, corpus, corpus_copy, turn, writer};
use support::{Said, everlog, set_mtime, stderr, stdout, tree};
use tempfile::TempDir;

/// A time that is later than every file of every case.
const NOW_NS: i64 = 1_794_900_000_000_000_000;

struct Bench<'a> {
    source: PathBuf,
    backups: PathBuf,
    now_ns: i64,
    disk: &'a dyn Disk,
}

impl<'a> Bench<'a> {
    fn of(source: &Path, scratch: &Path) -> Bench<'a> {
        Bench { source: source.to_owned(), backups: scratch.join("backups"), now_ns: NOW_NS, disk: &RealDisk }
    }

    fn run(&self, action: Action) -> Result<(ExitStatus, Vec<Value>), String> {
        let job = RepairJob {
            source: self.source.clone(),
            adapters: ALL.to_vec(),
            backups: self.backups.clone(),
            action,
            now_ns: self.now_ns,
            disk: self.disk,
        };
        let said = Said::default();
        let printer = Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet);
        let status = run(&job, &printer).map_err(|error| error.to_string())?;
        drop(printer);
        let text = said.text();
        Ok((status, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()))
    }

    /// The files of the plan, and its fingerprint.
    fn plan(&self) -> (Vec<String>, String) {
        let (_, rows) = self.run(Action::Plan).unwrap();
        let files = rows.iter().filter_map(|row| row["file"].as_str().map(str::to_owned)).collect();
        (files, rows.last().unwrap()["plan"]["fingerprint"].as_str().unwrap().to_owned())
    }

    fn apply(&self, fingerprint: &str) -> Result<ExitStatus, String> {
        self.run(Action::Apply(fingerprint.to_owned())).map(|(status, _)| status)
    }

    /// Plans and does it; returns the files that were written.
    fn mend(&self) -> Vec<String> {
        let (files, fingerprint) = self.plan();
        if !files.is_empty() {
            self.apply(&fingerprint).unwrap();
        }
        files
    }

    fn receipt(&self) -> PathBuf {
        let folders = fs::read_dir(&self.backups).unwrap().flatten().map(|entry| entry.path());
        folders.map(|folder| folder.join("receipt.json")).find(|path| path.is_file()).expect("no receipt")
    }
}

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
    let Ok(cases) = fs::read_dir(corpus()) else { return eprintln!("the corpus is not beside the project: nothing to compare with") };
    let (mut same, mut untouched, mut wrong) = (0, 0, Vec::new());
    for case in cases.flatten().map(|entry| entry.path()).filter(|path| path.join("expected_after_repair.json").is_file()) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let Some(scratch) = corpus_copy(&name) else { continue };
        let input = scratch.path().join("input");
        let before = tree(&input);
        let (wanted, expected) = after_the_programs_own(&case);
        let now_ns = (expected["clock"].as_f64().unwrap() * 1e9) as i64;
        let bench = Bench { now_ns, ..Bench::of(&input, scratch.path()) };
        let written = bench.mend();
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
    eprintln!("{same} cases mended as the program mends them, {untouched} left alone as it leaves them");
}

/// A folder with something of every kind: a shrunken sidecar, one that waits, a
/// backup alone, a list that names what is gone.
fn worn() -> Folder {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.sidecar("aaa.json.bak", "aaa", &["hi", "ho", "what"], "");
    let pending = "\n  \"active_stream_id\": \"run-t\",\n  \"pending_user_message\": \"go\",\n  \"pending_attachments\": [],\n  \"pending_started_at\": 1699999999.5,\n  \"pending_user_source\": \"webui\",";
    folder.sidecar("bbb.json", "bbb", &["hi", "ho"], pending);
    folder.sidecar("ccc.json.bak", "ccc", &["hi", "ho"], "");
    folder.index(&["aaa", "bbb", "gone"]);
    fs::set_permissions(folder.path().join("aaa.json"), fs::Permissions::from_mode(0o640)).unwrap();
    folder
}

const WRITTEN: [&str; 4] = ["aaa.json", "bbb.json", "ccc.json", "_index.json"];

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

#[test]
fn old_files_are_kept_private_and_new_ones_look_like_their_neighbours() {
    let folder = worn();
    let bench = Bench::of(&folder.path(), folder.home());
    let before = tree(&folder.path());
    assert_eq!(bench.mend(), WRITTEN);
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
    assert_eq!(bench.mend(), WRITTEN);
    bench.run(Action::Undo(receipt.parent().unwrap().to_owned())).unwrap();
    assert!(tree(&folder.path()) == before);
}

#[test]
fn killed_at_any_step_each_file_is_old_or_new_and_the_repair_can_be_finished_or_undone() {
    let whole = worn();
    let old = contents(&whole.path());
    Bench::of(&whole.path(), whole.home()).mend();
    let new = contents(&whole.path());
    for alive_for in 0..200 {
        let mut has_died = false;
        for then in [Then::Finish, Then::Undo] {
            let folder = worn();
            let bench = Bench::of(&folder.path(), folder.home());
            let (_, fingerprint) = bench.plan();
            let disk = DyingDisk::after(alive_for);
            has_died = Bench { disk: &disk, ..Bench::of(&folder.path(), folder.home()) }.apply(&fingerprint).is_err();
            for (name, bytes) in contents(&folder.path()) {
                assert!(new.contains_key(&name), "{name} is left over after step {alive_for}");
                assert!(old.get(&name) == Some(&bytes) || new.get(&name) == Some(&bytes), "{name} is a third thing after step {alive_for}");
            }
            let receipt = bench.backups.join(&fingerprint).join("receipt.json");
            match then {
                Then::Finish => {
                    bench.apply(&fingerprint).unwrap_or_else(|error| panic!("cannot be finished after step {alive_for}: {error}"));
                    assert!(contents(&folder.path()) == new, "another end after step {alive_for}");
                }
                Then::Undo if receipt.is_file() => {
                    bench.run(Action::Undo(receipt)).unwrap();
                    assert!(contents(&folder.path()) == old, "not undone after step {alive_for}");
                }
                Then::Undo => assert!(contents(&folder.path()) == old, "changed without a receipt after step {alive_for}"),
            }
        }
        if !has_died {
            assert!(alive_for > 20, "only {alive_for} steps");
            return eprintln!("{alive_for} steps to die at");
        }
    }
    panic!("it never ends");
}

/// What is done about a repair that was cut short.
#[derive(Clone, Copy)]
enum Then {
    Finish,
    Undo,
}

#[test]
fn an_undo_that_is_killed_can_be_done_again() {
    for alive_for in 0..200 {
        let folder = worn();
        let old = contents(&folder.path());
        let bench = Bench::of(&folder.path(), folder.home());
        bench.mend();
        let new = contents(&folder.path());
        let disk = DyingDisk::after(alive_for);
        let died = Bench { disk: &disk, ..Bench::of(&folder.path(), folder.home()) }.run(Action::Undo(bench.receipt())).is_err();
        for (name, bytes) in contents(&folder.path()) {
            assert!(old.get(&name) == Some(&bytes) || new.get(&name) == Some(&bytes), "{name} is a third thing after step {alive_for}");
        }
        bench.run(Action::Undo(bench.receipt())).unwrap();
        assert!(contents(&folder.path()) == old, "not undone after step {alive_for}");
        if !died {
            assert!(alive_for > 10, "only {alive_for} steps");
            return;
        }
    }
    panic!("it never ends");
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
    assert_eq!((code(&words(&[])), stdout(&words(&[]))), (Some(0), "nothing to mend; nothing was changed\n".to_owned()));
    let mended = fs::read(source.join("bbb.json")).unwrap();
    fs::write(source.join("bbb.json"), [&mended[..], b" "].concat()).unwrap();
    let refused = words(&["--undo", &receipt]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("bbb.json has changed since"), "{}", stderr(&refused));
    assert!(source.join("ccc.json").exists(), "half of it was undone");
    fs::write(source.join("bbb.json"), mended).unwrap();
    assert_eq!(code(&words(&["--undo", &receipt])), Some(0));
    assert_eq!(tree(&source), before);
    assert_eq!(code(&words(&["--undo", folder.home().join("nothing/receipt.json").to_str().unwrap()])), Some(2));
    // What is kept beside the sessions is no source.
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

fn messages(path: &Path) -> Vec<(String, String)> {
    let sidecar: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    sidecar["messages"].as_array().unwrap().iter().map(|row| (text(row, "role"), text(row, "content").chars().take(24).collect())).collect()
}

fn said(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

const CUT_SHORT: (&str, &str) = ("assistant", "**Response interrupted.*");

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
    assert_eq!(bench.mend(), ["aaa.json", "_index.json"]);
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
    bench.mend();
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
    Bench::of(&folder.path(), folder.home()).mend();
    assert_eq!(messages(&folder.path().join("bbb.json")).last(), Some(&("assistant".to_owned(), "Found".to_owned())));
}

/// A database with these sessions, each with one question and one answer.
fn database(home: &Path, ids: &[&str]) {
    let connection = rusqlite::Connection::open(home.join("state.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE sessions (id TEXT, source TEXT, title TEXT, model TEXT, started_at REAL, message_count INTEGER);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL, active INTEGER)",
        )
        .unwrap();
    for id in ids {
        connection.execute("INSERT INTO sessions VALUES (?1, 'webui', 'T', 'm', 1699990000.5, 2)", [id]).unwrap();
        for (role, text) in [("user", "asked"), ("assistant", "answered")] {
            connection.execute("INSERT INTO messages VALUES (NULL, ?1, ?2, ?3, 1699990001.5, 1)", [id, role, text]).unwrap();
        }
    }
}

#[test]
fn a_sidecar_comes_back_from_its_backup_else_the_database_else_the_journal_and_never_from_the_dead() {
    let folder = Folder::new();
    database(folder.home(), &["both", "broken", "dbonly", "deleted"]);
    folder.sidecar("both.json.bak", "both", &["from", "the", "backup"], "");
    folder.write("broken.json", "{\"session_id\": \"broken\", \"messages\": [{");
    folder.sidecar("stranger.json.bak", "stranger", &["hi"], "");
    folder.write("_turn_journal/unknown~1.jsonl", &turn("submitted", "t", 9, r#""content":"x","#).replace("aaa", "unknown"));
    folder.sidecar("deleted.json.bak", "deleted", &["hi"], "");
    folder.write("_deleted_webui_sessions.json", "{\n  \"version\": 1,\n  \"ids\": [\n    \"deleted\"\n  ]\n}");
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.mend(), ["both.json", "broken.json", "dbonly.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("both.json")).len(), 3);
    for id in ["broken", "dbonly"] {
        assert_eq!(messages(&folder.path().join(format!("{id}.json"))), said(&[("user", "asked"), ("assistant", "answered")]));
    }
    assert_eq!(bench.plan().0, Vec::<String>::new());
    // Without a database the journal is all there is.
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["hi"], "");
    folder.index(&["aaa"]);
    let journal = [turn("submitted", "t", 9, r#""content":"one","#), turn("submitted", "u", 19, r#""content":"two","#)].concat();
    folder.write("_turn_journal/lost~1.jsonl", &journal.replace("aaa", "lost"));
    let bench = Bench::of(&folder.path(), folder.home());
    assert_eq!(bench.mend(), ["lost.json", "_index.json"]);
    assert_eq!(messages(&folder.path().join("lost.json")), said(&[("user", "one"), CUT_SHORT, ("user", "two"), CUT_SHORT]));
    assert_eq!(bench.plan().0, Vec::<String>::new());
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
    assert_eq!(bench.mend(), ["_index.json"]);
    let mended = fs::read_to_string(folder.path().join("_index.json")).unwrap();
    assert!(mended.contains("{\"session_id\": \"bbb\", \"message_count\": 1,"), "a row that is right was written anew: {mended}");
    folder.write("_index.json", "[{]");
    assert_eq!(bench.mend(), ["_index.json"]);
    let rows: Vec<Value> = serde_json::from_slice(&fs::read(folder.path().join("_index.json")).unwrap()).unwrap();
    assert_eq!(rows.iter().map(|row| row["session_id"].as_str().unwrap()).collect::<Vec<_>>(), ["aaa", "bbb"]);
    assert_eq!(bench.plan().0, Vec::<String>::new());
}

#[test]
fn one_session_alone_can_be_mended_and_other_formats_have_nothing_to_mend() {
    let folder = worn();
    let bench = Bench::of(&folder.path().join("aaa.json"), folder.home());
    assert_eq!(bench.mend(), ["aaa.json"]);
    let other = support::bench::Bench::with_tour();
    let done = everlog(&["repair", other.source().to_str().unwrap()]);
    assert_eq!((code(&done), stdout(&done).as_str()), (Some(0), "nothing to mend; nothing was changed\n"));
    let nothing = TempDir::new().unwrap();
    assert_eq!(code(&everlog(&["repair", nothing.path().to_str().unwrap()])), Some(2));
}
