//! `everlog prune`: only what has ended, provably, and is copied and unused is removed;
//! the rest stays for one reason; and what went comes back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::model::retention::{Policy, Rule};
use everlog::report::ExitStatus;
use std::fs;
use support::prune::{Bench, DAY_NS, Last, NOW_NS, Run, Seen, Turn, bytes_of, read, run_line, session, shard, turn_line, write_aged};
use support::webui::{Folder, writer};
use support::{everlog, set_mtime, stderr, stdout, tree};

/// Two turns that have ended and one that is not, in one shard.
fn three_turns() -> Folder {
    let folder = Folder::new();
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    session(&folder, "aaa", &[over.clone(), Turn::over(Last::Worker, Seen::Answer, Run::Open), over]);
    folder.index(&["aaa"]);
    folder
}

fn bench(folder: &Folder) -> Bench<'static> {
    Bench::of(&folder.path(), folder.home())
}

#[test]
fn turns_and_runs_that_are_over_go_and_every_other_line_stays_as_it_is() {
    let folder = three_turns();
    let bench = bench(&folder);
    assert_eq!(bench.migrate(), ExitStatus::Well);
    let before = read(&folder, &shard("aaa", 0));
    let plan = bench.plan();
    assert_eq!(plan["aaa-t1"], "not_ended");
    assert_eq!(plan["run-aaa-t1"], "not_ended");
    assert_eq!(bench.going(), ["aaa-t0", "aaa-t2", "run-aaa-t0", "run-aaa-t2"]);
    let said = bench.apply();
    assert_eq!((said["parts"]["turn-journal"].as_u64(), said["parts"]["run-journal"].as_u64()), (Some(2), Some(2)));
    let kept: String = before.lines().filter(|line| line.contains("aaa-t1")).map(|line| format!("{line}\n")).collect();
    assert_eq!(read(&folder, &shard("aaa", 0)), kept);
    let left: Vec<String> = tree(&folder.path()).into_keys().filter(|name| name.contains("_run_journal")).collect();
    assert_eq!(left, ["_run_journal/aaa/run-aaa-t1.jsonl"]);
    assert!(bench.going().is_empty(), "a plan after a prune is empty");
    assert_eq!(bench.run(Action::Check).unwrap().0, ExitStatus::Well);
}

#[test]
fn a_shard_that_is_wholly_over_is_removed_and_comes_back_with_its_time_and_mode() {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    folder.index(&["aaa"]);
    let bench = bench(&folder);
    bench.migrate();
    let before = tree(&folder.path());
    assert_eq!(bench.apply()["files"], 2);
    assert!(!folder.path().join(shard("aaa", 0)).exists());
    bench.run(Action::Undo(None)).unwrap();
    assert!(tree(&folder.path()) == before, "every byte and every time");
    assert!(bench.run(Action::Undo(None)).is_err(), "there is nothing more to undo");
}

#[test]
fn the_fuller_log_is_kept_through_migrate_prune_migrate_undo_migrate() {
    let folder = three_turns();
    let bench = bench(&folder);
    bench.migrate();
    let log = bench.dest.join("aaa.json.everlog.jsonl");
    let (source, full) = (bytes_of(&folder.path()), fs::read(&log).unwrap());
    bench.apply();
    assert_eq!(bench.migrate(), ExitStatus::Well, "what was pruned is no loss to warn of");
    assert!(fs::read(&log).unwrap().len() < full.len());
    let earlier = bytes_of(&bench.dest.join(".everlog/earlier"));
    assert!(earlier.values().any(|bytes| *bytes == full), "the fuller log is kept");
    // What an earlier prune took comes back from the earlier log.
    bench.run(Action::Undo(None)).unwrap();
    assert!(bytes_of(&folder.path()) == source);
    bench.migrate();
    assert!(fs::read(&log).unwrap() == full);
    assert!(bytes_of(&bench.dest.join(".everlog/earlier")).is_empty());
    // What went otherwise is one.
    bench.apply();
    folder.write("aaa.json", &read(&folder, "aaa.json").replace("yes aaa-t2", "no"));
    assert_eq!(bench.migrate(), ExitStatus::Found);
}

#[test]
fn nothing_goes_without_a_log_that_has_these_bytes_unless_that_is_given_up() {
    let folder = three_turns();
    let mut bench = bench(&folder);
    assert_eq!(bench.plan()["run-aaa-t0"], "no_log");
    bench.migrate();
    let log = bench.dest.join("aaa.json.everlog.jsonl");
    let good = fs::read(&log).unwrap();
    // Another end of the log, then other bytes in the source.
    fs::write(&log, &good[..good.len() - 40]).unwrap();
    assert_eq!(bench.plan()["run-aaa-t0"], "log_unsealed");
    fs::write(&log, &good).unwrap();
    assert_eq!(bench.plan()["run-aaa-t0"], "");
    let run = "_run_journal/aaa/run-aaa-t0.jsonl";
    let text = read(&folder, run).replace("\"x\"", "\"y\"");
    write_aged(&folder, run, &text, 98);
    assert_eq!(bench.plan()["run-aaa-t0"], "log_differs");
    bench.copies = Copies::GivenUp;
    assert_eq!(bench.going(), ["aaa-t0", "aaa-t2", "run-aaa-t0", "run-aaa-t2"]);
    bench.apply();
    assert!(!folder.path().join(run).exists());
    // Nobody has a copy of one of its files, and a session comes back as a whole.
    let (status, rows) = bench.run(Action::Undo(None)).unwrap();
    assert_eq!((status, &rows[0]["undone"]["files"]), (ExitStatus::Found, &0.into()));
    assert!(!folder.path().join(run).exists());
}

#[test]
fn apply_believes_neither_size_nor_time() {
    let folder = three_turns();
    let bench = bench(&folder);
    bench.migrate();
    let run = "_run_journal/aaa/run-aaa-t0.jsonl";
    let time = fs::metadata(folder.path().join(run)).unwrap().modified().unwrap();
    fs::write(folder.path().join(run), read(&folder, run).replace("\"x\"", "\"y\"")).unwrap();
    fs::File::options().write(true).open(folder.path().join(run)).unwrap().set_modified(time).unwrap();
    assert_eq!(bench.plan()["run-aaa-t0"], "", "a plan goes by size and time");
    let (status, rows) = bench.run(Action::Apply).unwrap();
    assert_eq!((status, rows.last().unwrap()["pruned"]["files"].as_u64()), (ExitStatus::Found, Some(0)));
    assert!(folder.path().join(run).exists() && bytes_of(&folder.path()).contains_key(&shard("aaa", 0)));
}

#[test]
fn every_reason_to_stay_is_told() {
    let folder = Folder::new();
    let over = |seen, run| Turn::over(Last::Completed, seen, run);
    session(
        &folder,
        "aaa",
        &[
            over(Seen::Nothing, Run::None),
            over(Seen::Nothing, Run::Done),
            Turn::over(Last::Interrupted, Seen::Nothing, Run::Errored),
            Turn::over(Last::Interrupted, Seen::Marker, Run::Errored),
            Turn::over(Last::Unknown, Seen::Answer, Run::Open),
        ],
    );
    session(&folder, "bbb", &[Turn { days: 3, ..over(Seen::Answer, Run::Done) }]);
    session(&folder, "ccc", &[over(Seen::Answer, Run::Done)]);
    folder.index(&["aaa", "bbb"]);
    let bench = bench(&folder);
    bench.migrate();
    let plan = bench.plan();
    for (item, code) in [
        ("aaa-t0", "unsettled"),
        ("aaa-t1", ""),
        ("run-aaa-t1", ""),
        ("aaa-t2", "no_marker"),
        ("run-aaa-t2", "no_marker"),
        ("aaa-t3", ""),
        ("run-aaa-t3", ""),
        ("aaa-t4", "unclear"),
        ("bbb-t0", "young"),
        ("run-bbb-t0", "young"),
        // The index does not name it.
        ("ccc-t0", "audit_findings"),
        ("run-ccc-t0", "audit_findings"),
    ] {
        assert_eq!(plan[item], code, "{item}: {plan:?}");
    }
}

#[test]
fn what_somebody_may_still_write_stays() {
    let folder = three_turns();
    let mut bench = bench(&folder);
    bench.migrate();
    // Written half an hour ago, by the clock; and a clock that ran backwards.
    for (now, code) in [(NOW_NS - 99 * DAY_NS + 1_800_000_000_000, "written_lately"), (NOW_NS - 100 * DAY_NS, "in_the_future")] {
        let early = Bench { now_ns: now, policy: Policy { older_than_ns: None, keep_last: 0, max_bytes: Some(1) }, ..bench.clone() };
        assert_eq!(early.plan()["run-aaa-t0"], code);
    }
    // A lock on the shard.
    let held = fs::File::open(folder.path().join(shard("aaa", 0))).unwrap();
    held.lock().unwrap();
    assert_eq!(bench.plan()["aaa-t0"], "held");
    held.unlock().unwrap();
    // A writer that runs, whenever it began: it would go on with that file.
    let mut child = writer();
    let live = format!("_turn_journal/aaa~{}.jsonl", child.id());
    write_aged(&folder, &live, &turn_line("aaa", "aaa-t9", "completed", 1_700_000_000), 99);
    session(&folder, "bbb", &[]);
    bench.migrate();
    assert_eq!(bench.plan()["aaa-t9"], "unsettled");
    write_aged(
        &folder,
        "_run_journal/aaa/run-aaa-t9.jsonl",
        &run_line("aaa", "run-aaa-t9", 1, "done", 1_700_000_000, Some("completed")),
        99,
    );
    bench.migrate();
    assert_eq!(bench.plan()["aaa-t9"], "writer_runs");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.plan()["aaa-t9"], "");
    bench.idle_ns = 0;
    assert_eq!(bench.plan()["aaa-t9"], "");
}

#[test]
fn a_run_that_its_session_waits_for_or_comes_back_to_stays() {
    let folder = three_turns();
    let bench = bench(&folder);
    let sidecar = read(&folder, "aaa.json");
    folder.write("aaa.json", &sidecar.replace("\"messages\"", "\"active_stream_id\": \"run-aaa-t0\",\n  \"messages\""));
    bench.migrate();
    assert_eq!((bench.plan()["run-aaa-t0"].as_str(), bench.plan()["aaa-t0"].as_str()), ("waited_for", "waited_for"));
    let retry = "\"_pending_journal_recovery\": true, \"_journal_retry_stream_id\": \"run-aaa-t2\", \"content\": \"yes aaa-t2\"";
    folder.write("aaa.json", &sidecar.replace("\"content\": \"yes aaa-t2\"", retry));
    bench.migrate();
    assert_eq!((bench.plan()["run-aaa-t0"].as_str(), bench.plan()["run-aaa-t2"].as_str()), ("", "waited_for"));
}

#[test]
fn a_turn_in_two_sessions_goes_from_both_or_from_none() {
    let folder = Folder::new();
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    session(&folder, "aaa", std::slice::from_ref(&over));
    session(&folder, "bbb", std::slice::from_ref(&over));
    folder.index(&["aaa", "bbb"]);
    let (first, second) = (shard("aaa", 1), shard("bbb", 1));
    let begins = turn_line("aaa", "both", "submitted", 1_700_000_000).replace("run-both", "run-aaa-t0");
    let ends = turn_line("bbb", "both", "completed", 1_700_000_009).replace("run-both", "run-aaa-t0");
    write_aged(&folder, &first, &begins.replace("ask both", "ask aaa-t0"), 99);
    write_aged(&folder, &second, &ends, 99);
    let bench = bench(&folder);
    bench.migrate();
    assert_eq!(bench.plan()["both"], "");
    // Its end is of another time by its file: the whole turn is.
    set_mtime(&folder.path().join(&second), NOW_NS - 2 * DAY_NS);
    bench.migrate();
    assert_eq!(bench.plan()["both"], "young");
    set_mtime(&folder.path().join(&second), NOW_NS - 99 * DAY_NS);
    bench.migrate();
    bench.apply();
    assert!(!folder.path().join(first).exists() && !folder.path().join(second).exists());
}

#[test]
fn the_newest_are_kept_and_a_folder_is_kept_small() {
    let folder = Folder::new();
    let turns: Vec<Turn> = (0..5).map(|n| Turn { days: 90 - n, ..Turn::over(Last::Completed, Seen::Answer, Run::Done) }).collect();
    session(&folder, "aaa", &turns);
    folder.index(&["aaa"]);
    let mut bench = bench(&folder);
    bench.migrate();
    bench.rules = vec![Rule::RunJournal];
    bench.policy.keep_last = 2;
    assert_eq!(bench.going(), ["run-aaa-t0", "run-aaa-t1", "run-aaa-t2"]);
    let one = fs::metadata(folder.path().join("_run_journal/aaa/run-aaa-t0.jsonl")).unwrap().len();
    bench.policy = Policy { older_than_ns: Some(200 * DAY_NS), keep_last: 1, max_bytes: Some(one * 3) };
    assert_eq!(bench.going(), ["run-aaa-t0", "run-aaa-t1"]);
    bench.policy = Policy { older_than_ns: Some(200 * DAY_NS), keep_last: 0, max_bytes: Some(one * 5) };
    assert!(bench.going().is_empty());
}

#[test]
fn a_trash_keeps_what_went_even_without_a_log() {
    let folder = three_turns();
    let mut bench = bench(&folder);
    bench.copies = Copies::GivenUp;
    bench.trash = Some(folder.home().join("trash"));
    let before = tree(&folder.path());
    let name = bench.apply()["prune"].as_str().unwrap().to_owned();
    let run = "_run_journal/aaa/run-aaa-t0.jsonl";
    assert!(!folder.path().join(run).exists());
    assert_eq!(fs::read(folder.home().join("trash").join(&name).join(run)).unwrap(), before[run].0);
    bench.run(Action::Undo(Some(name))).unwrap();
    assert!(tree(&folder.path()) == before);
    bench.trash = Some(folder.path().join("trash"));
    assert!(bench.run(Action::Apply).is_err(), "a trash in the source would be pruned, or converted");
}

#[test]
fn what_was_written_since_stays_after_what_comes_back() {
    let folder = three_turns();
    let bench = bench(&folder);
    bench.migrate();
    let before = read(&folder, &shard("aaa", 0));
    bench.apply();
    let more = turn_line("aaa", "aaa-t7", "worker_started", 1_700_000_100);
    let path = folder.path().join(shard("aaa", 0));
    fs::write(&path, format!("{}{more}", read(&folder, &shard("aaa", 0)))).unwrap();
    let run = "_run_journal/aaa/run-aaa-t0.jsonl";
    bench.run(Action::Undo(None)).unwrap();
    assert_eq!(read(&folder, &shard("aaa", 0)), format!("{before}{more}"));
    assert!(folder.path().join(run).exists());
    // A file that is another one now is not touched.
    bench.migrate();
    let bench = Bench { now_ns: bench.now_ns + DAY_NS, idle_ns: 0, ..bench };
    set_mtime(&path, NOW_NS - 99 * DAY_NS);
    bench.migrate();
    bench.apply();
    fs::write(&path, "{}\n").unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found);
    assert_eq!(read(&folder, &shard("aaa", 0)), "{}\n");
}

#[test]
fn the_command_line_plans_checks_explains_applies_and_undoes() {
    let folder = three_turns();
    let source = folder.path().display().to_string();
    let at = ["--now", "2030-01-01T00:00:00Z"];
    let prune = |words: &[&str]| everlog(&[&["prune", source.as_str()], &at[..], words].concat());
    assert_eq!(everlog(&["migrate", &source]).status.code(), Some(0));
    let plan = prune(&[]);
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    assert!(stdout(&plan).contains("goes   _run_journal/aaa/run-aaa-t0.jsonl  the whole file,"), "{}", stdout(&plan));
    assert!(stdout(&plan).contains("stays  _run_journal/aaa/run-aaa-t1.jsonl  1 run: it has no end"), "{}", stdout(&plan));
    assert!(stdout(&plan).contains("2 turns and 2 runs would go"), "{}", stdout(&plan));
    assert_eq!(prune(&["--check", "--quiet"]).status.code(), Some(1));
    let explained = stdout(&prune(&["--explain", &format!("{source}/_run_journal/aaa/run-aaa-t1.jsonl")]));
    for word in ["no   over", "yes  due", "yes  not live", "yes  log", "yes  audit"] {
        assert!(explained.contains(word), "{explained}");
    }
    let before = bytes_of(&folder.path());
    let done = prune(&["--apply", "--quiet"]);
    assert_eq!((done.status.code(), stdout(&done).lines().count()), (Some(0), 1), "{}{}", stdout(&done), stderr(&done));
    let again = prune(&["--apply", "--quiet"]);
    assert_eq!((again.status.code(), stdout(&again), stderr(&again)), (Some(0), String::new(), String::new()));
    assert_eq!(prune(&["--check"]).status.code(), Some(0));
    assert_eq!(prune(&["--undo"]).status.code(), Some(0));
    assert!(bytes_of(&folder.path()) == before);
    assert_eq!(prune(&["--rule", "everything"]).status.code(), Some(2));
    let elsewhere = folder.home().join("elsewhere").display().to_string();
    let loud = prune(&["--apply", "--without-log", "--quiet", "-o", &elsewhere]);
    assert!(stderr(&loud).contains("cannot be brought back"), "{}", stderr(&loud));
}

#[test]
fn a_settings_file_makes_it_one_word() {
    let folder = three_turns();
    let source = folder.path();
    assert_eq!(
        everlog(&["migrate", &source.display().to_string(), "-o", &folder.home().join("logs").display().to_string()]).status.code(),
        Some(0)
    );
    fs::write(
        folder.home().join("everlog.toml"),
        "[prune]\nsource = \"webui/sessions\"\noutput = \"logs\"\nrule = [\"run-journal\"]\nolder-than = \"90d\"\napply = true\n",
    )
    .unwrap();
    let prune = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_everlog"));
        command.arg("prune").args(words).current_dir(folder.home()).env("NO_COLOR", "1").output().unwrap()
    };
    let plan = prune(&["--plan"]);
    assert!(stdout(&plan).contains("2 runs would go"), "{}{}", stdout(&plan), stderr(&plan));
    let done = prune(&[]);
    assert!(stdout(&done).starts_with("2 runs pruned from 2 files"), "{}{}", stdout(&done), stderr(&done));
    // The options' own words, and no others.
    for word in ["older_than = \"90d\"", "dest = \"logs\"", "rules = [\"run-journal\"]"] {
        fs::write(folder.home().join("everlog.toml"), format!("[prune]\n{word}\n")).unwrap();
        let wrong = prune(&["--plan"]);
        assert_eq!(wrong.status.code(), Some(2), "{word}");
        for known in [word.split(' ').next().unwrap(), "`output`", "`rule`", "`older-than`"] {
            assert!(stderr(&wrong).contains(known), "{}", stderr(&wrong));
        }
    }
}

#[test]
fn a_second_run_at_once_ends_well_and_does_nothing() {
    let folder = three_turns();
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    let lock = fs::File::options().write(true).open(bench.dest.join(".everlog/lock")).unwrap();
    lock.lock().unwrap();
    let (status, rows) = bench.run(Action::Apply).unwrap();
    assert_eq!((status, &rows[0]["busy"]["dest"]), (ExitStatus::Well, &bench.dest.display().to_string().into()));
    assert!(bytes_of(&folder.path()) == before);
    lock.unlock().unwrap();
    assert_eq!(bench.apply()["files"], 3);
}
