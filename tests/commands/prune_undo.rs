//! `everlog prune` where something else was at work too: undo after a kill,
//! after a program that wrote on, beside one that runs; lines that hold more
//! than one event; settings for another source; a trash that is not empty.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::model::retention::Policy;
use everlog::report::ExitStatus;
use everlog::store::StoreError;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::prune::{Bench, DAY_NS, Last, NOW_NS, Run, Seen, Turn, bytes_of, read, session, shard, turn_line, write_aged};
use support::watched::{Step, Watch, Watched};
use support::webui::{Folder, writer};
use support::{everlog, run, stderr, stdout};

/// A session of which the last turn has ended, and those before it are not.
fn ending_with_an_over_turn(open: usize) -> Folder {
    let folder = Folder::new();
    let mut turns = vec![Turn::over(Last::Worker, Seen::Answer, Run::Open); open];
    turns.push(Turn::over(Last::Completed, Seen::Answer, Run::Done));
    session(&folder, "aaa", &turns);
    folder.index(&["aaa"]);
    folder
}

fn bench(folder: &Folder) -> Bench<'static> {
    Bench::of(&folder.path(), folder.home())
}

/// A program writes one more line into the shard.
fn write_on(folder: &Folder) -> String {
    let more = turn_line("aaa", "aaa-t7", "worker_started", 1_700_000_100);
    let now = fs::read_to_string(folder.path().join(shard("aaa", 0))).unwrap_or_default();
    folder.write(&shard("aaa", 0), &format!("{now}{more}"));
    more
}

#[test]
fn an_undo_that_was_killed_before_its_mark_brings_nothing_back_twice() {
    // The whole shard goes, or its last lines only.
    for open in [0, 1] {
        let folder = ending_with_an_over_turn(open);
        let bench = bench(&folder);
        bench.migrate();
        let before = read(&folder, &shard("aaa", 0));
        bench.apply();
        let notes = bench.dest.join(".everlog/pruned.jsonl");
        let unmarked = fs::read(&notes).unwrap();
        bench.run(Action::Undo(None)).unwrap();
        fs::write(&notes, unmarked).unwrap();
        let more = write_on(&folder);
        assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
        assert_eq!(read(&folder, &shard("aaa", 0)), format!("{before}{more}"), "{open} turns before");
    }
}

#[test]
fn what_was_written_since_begins_on_a_line_of_its_own() {
    for open in [0, 1] {
        let folder = ending_with_an_over_turn(open);
        let before = read(&folder, &shard("aaa", 0)).trim_end().to_owned();
        write_aged(&folder, &shard("aaa", 0), &before, 99);
        let bench = bench(&folder);
        bench.migrate();
        bench.apply();
        let more = write_on(&folder);
        assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
        assert_eq!(read(&folder, &shard("aaa", 0)), format!("{before}\n{more}"), "{open} turns before");
    }
}

#[test]
fn what_goes_on_with_a_line_that_was_left_stays_on_it() {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done), Turn::over(Last::Worker, Seen::Answer, Run::Open)]);
    folder.index(&["aaa"]);
    let before = read(&folder, &shard("aaa", 0));
    write_aged(&folder, &shard("aaa", 0), before.trim_end(), 99);
    let bench = bench(&folder);
    bench.migrate();
    bench.apply();
    let left = read(&folder, &shard("aaa", 0));
    assert!(before.trim_end().ends_with(&left) && left.len() < before.len() - 1, "{left}");
    folder.write(&shard("aaa", 0), &format!("{left}\n"));
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert_eq!(read(&folder, &shard("aaa", 0)), before);
}

#[test]
fn nothing_is_put_back_into_a_file_whose_writer_runs() {
    let folder = ending_with_an_over_turn(0);
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    bench.apply();
    // As if the shard had been that of a process that runs again.
    let mut child = writer();
    let notes = bench.dest.join(".everlog/pruned.jsonl");
    let said = fs::read_to_string(&notes).unwrap();
    let running = said.replace("\"writer\":2000000000", &format!("\"writer\":{}", child.id()));
    assert_ne!(said, running);
    fs::write(&notes, crate::support::forged::summed(&running)).unwrap();
    let (status, rows) = bench.run(Action::Undo(None)).unwrap();
    assert_eq!((status, rows.last().unwrap()["undone"]["files"].as_u64()), (ExitStatus::Found, Some(0)));
    assert!(!folder.path().join(shard("aaa", 0)).exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn nothing_is_put_back_into_a_file_that_a_program_has_open() {
    let folder = ending_with_an_over_turn(1);
    let bench = bench(&folder);
    bench.migrate();
    bench.apply();
    let path = folder.path().join(shard("aaa", 0));
    let left = fs::read(&path).unwrap();
    let mut child = Command::new("sleep").arg("60").stdin(fs::File::open(&path).unwrap()).spawn().unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found);
    assert!(fs::read(&path).unwrap() == left);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
}

#[test]
fn a_line_that_holds_something_else_too_stays() {
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    let open = Turn::over(Last::Worker, Seen::Answer, Run::Open);
    let no_turn = turn_line("aaa", "", "note", 1_700_000_000);
    for (what, glue) in [("an open turn", "\u{c}"), ("half a line", "\u{c}{\"ev\n"), ("no turn", &format!("\u{1d}{no_turn}"))] {
        let folder = Folder::new();
        session(&folder, "aaa", &[over.clone(), open.clone(), over.clone()]);
        folder.index(&["aaa"]);
        let text = read(&folder, &shard("aaa", 0));
        let at = text.find("{\"event\":\"submitted\",\"role\":\"user\",\"content\":\"ask aaa-t1\"").unwrap();
        let glued = format!("{}{glue}{}", &text[..at - 1], &text[at..]);
        write_aged(&folder, &shard("aaa", 0), &glued, 99);
        let bench = bench(&folder);
        bench.migrate();
        assert_eq!(bench.plan()["aaa-t0"], "shared_line", "{what}");
        bench.apply();
        assert!(read(&folder, &shard("aaa", 0)).starts_with(&glued[..at + glue.len()]), "{what}");
    }
}

#[test]
fn many_sessions_come_back_in_few_steps_and_a_stop_is_between_them() {
    let folder = Folder::new();
    let ids: Vec<String> = (0..150).map(|n| format!("s{n:03}")).collect();
    for id in &ids {
        session(&folder, id, &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    }
    folder.index(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    assert_eq!(bench.apply()["files"], 300);
    let watched = Watched(Stopping::default());
    let stopped = Bench { disk: &watched, ..bench.clone() }.run_until(Action::Undo(None), &watched.0.stop);
    assert!(stopped.unwrap_err().contains("interrupted: 64 of 150"), "two files of a session, 128 in a group");
    assert_eq!(watched.0.notes.load(Ordering::SeqCst), 1, "one note of a group");
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert!(bytes_of(&folder.path()) == before);
}

/// Asks for a stop as soon as something was brought back.
#[derive(Debug, Default)]
struct Stopping {
    stop: AtomicBool,
    notes: AtomicUsize,
}

impl Watch for Stopping {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        if matches!(step, Step::Rename { .. } | Step::RenameNew { .. }) {
            self.stop.store(true, Ordering::SeqCst);
        }
        if matches!(step, Step::Append { .. }) {
            self.notes.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn after(&self, _step: &Step<'_>) {}
}

#[test]
fn of_two_prunes_of_a_file_the_later_one_is_to_come_back_first() {
    let folder = Folder::new();
    let turns = [99, 60].map(|days| Turn { days, ..Turn::over(Last::Completed, Seen::Answer, Run::None) });
    session(&folder, "aaa", &[&turns[..], &[Turn::over(Last::Worker, Seen::Answer, Run::Open)]].concat());
    folder.index(&["aaa"]);
    support::set_mtime(&folder.path().join(shard("aaa", 0)), NOW_NS - 99 * DAY_NS);
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    let early = Bench { policy: Policy { older_than_ns: Some(80 * DAY_NS), ..bench.policy }, ..bench.clone() };
    let first = early.apply()["prune"].as_str().unwrap().to_owned();
    bench.migrate();
    let second = bench.apply()["prune"].as_str().unwrap().to_owned();
    let said =
        everlog(&["prune", &folder.path().display().to_string(), "-o", &bench.dest.display().to_string(), &format!("--undo={first}")]);
    assert_eq!(said.status.code(), Some(1));
    assert!(stderr(&said).contains(&format!("bring that back first, with `--undo={second}`")), "{}", stderr(&said));
    for name in [second, first] {
        assert_eq!(bench.run(Action::Undo(Some(name))).unwrap().0, ExitStatus::Well);
    }
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn a_source_that_was_moved_gets_back_by_name_what_was_recorded_for_its_old_place() {
    let folder = ending_with_an_over_turn(1);
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    let name = bench.apply()["prune"].as_str().unwrap().to_owned();
    // A copy is another source, as long as the first is there.
    let moved = Bench { source: folder.home().join("elsewhere"), ..bench.clone() };
    support::copy_tree(&folder.path(), &moved.source);
    let by_name = || moved.run(Action::Undo(Some(name.clone())));
    assert!(by_name().is_err());
    fs::rename(folder.path(), folder.home().join("away")).unwrap();
    assert!(moved.run(Action::Undo(None)).is_err(), "only by name");
    // Nor is it another folder of the same shape.
    let path = moved.source.join(shard("aaa", 0));
    let left = fs::read(&path).unwrap();
    fs::write(&path, "{}\n").unwrap();
    assert!(by_name().is_err());
    fs::write(&path, left).unwrap();
    assert_eq!(by_name().unwrap().0, ExitStatus::Well);
    assert!(bytes_of(&moved.source) == before);
}

fn prune_in(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    run(command.arg("prune").args(words).current_dir(folder).env("NO_COLOR", "1"))
}

#[test]
fn settings_for_one_source_say_nothing_of_another() {
    let (mine, other) = (ending_with_an_over_turn(1), ending_with_an_over_turn(1));
    for folder in [&mine, &other] {
        assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
    }
    fs::write(mine.home().join("everlog.toml"), "[prune]\nsource = \"webui/sessions\"\nrule = [\"run-journal\"]\napply = true\n").unwrap();
    let before = bytes_of(&other.path());
    let planned = prune_in(mine.home(), &[&other.path().display().to_string()]);
    assert!(stdout(&planned).contains("1 turn and 1 run would go"), "{}{}", stdout(&planned), stderr(&planned));
    assert!(bytes_of(&other.path()) == before);
    // The same source, in other words.
    let named = mine.path().join("../sessions").display().to_string();
    for source in [named.as_str(), "./webui/sessions"] {
        let planned = prune_in(mine.home(), &[source, "--plan"]);
        assert!(stdout(&planned).contains("1 run would go"), "{}{}", stdout(&planned), stderr(&planned));
    }
    let done = prune_in(mine.home(), &["./webui/sessions"]);
    assert!(stdout(&done).starts_with("1 run pruned"), "{}{}", stdout(&done), stderr(&done));
}

#[test]
fn what_lies_in_the_trash_already_is_not_taken_for_what_goes() {
    let folder = ending_with_an_over_turn(1);
    let mut bench = bench(&folder);
    bench.copies = Copies::GivenUp;
    bench.trash = Some(folder.home().join("trash"));
    let run = "_run_journal/aaa/run-aaa-t1.jsonl";
    let first = bench.apply();
    bench.run(Action::Undo(None)).unwrap();
    // A store that knows nothing of it makes a prune of the same name.
    fs::remove_dir_all(&bench.dest).unwrap();
    write_aged(&folder, run, &read(&folder, run).replace("\"x\"", "\"y\""), 99);
    let before = bytes_of(&folder.path());
    assert_eq!(bench.apply()["prune"], first["prune"]);
    assert!(!folder.path().join(run).exists());
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn what_cannot_be_brought_back_is_warned_of_before_and_when_it_goes() {
    let folder = ending_with_an_over_turn(1);
    let source = folder.path().display().to_string();
    let warned = |words: &[&str]| stderr(&prune_in(folder.home(), &[&[source.as_str(), "--without-log"], words].concat()));
    assert!(warned(&["--plan"]).contains("cannot be brought back"));
    let trash = folder.home().join("trash").display().to_string();
    for words in [["--trash", &trash, "--plan"], ["--trash", &trash, "--apply"]] {
        assert_eq!(warned(&words), "", "the trash has it");
    }
}

#[test]
fn less_than_a_byte_is_not_no_limit() {
    let folder = ending_with_an_over_turn(1);
    let source = folder.path().display().to_string();
    for (limit, code) in [("0.4", 2), ("0.0001k", 2), ("0", 0), ("0.0", 0), ("0GiB", 0)] {
        let planned = prune_in(folder.home(), &[&source, "--max-bytes", limit, "--plan"]);
        assert_eq!(planned.status.code(), Some(code), "{limit}: {}", stderr(&planned));
    }
}
