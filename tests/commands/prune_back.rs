//! What `everlog prune --undo` says and does where not everything can come back:
//! damaged tombstones, a disk that fails, a later prune, a session retired since.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::report::ExitStatus;
use everlog::store::StoreError;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::PathBuf;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::dying::DyingDisk;
use support::prune::{Bench, Last, Run, Seen, Turn, bytes_of, session, shard};
use support::watched::{Step, Watch, Watched};
use support::webui::Folder;
use support::{everlog, stderr};

fn over() -> Turn {
    Turn::over(Last::Completed, Seen::Answer, Run::Done)
}

/// Sessions of one turn that has ended.
fn sessions(ids: &[&str]) -> Folder {
    let folder = Folder::new();
    ids.iter().for_each(|id| session(&folder, id, &[over()]));
    folder.index(ids);
    folder
}

fn bench(folder: &Folder) -> Bench<'static> {
    Bench::of(&folder.path(), folder.home())
}

/// A store that was migrated and pruned, and what the source was before.
fn pruned(folder: &Folder) -> (Bench<'static>, BTreeMap<String, Vec<u8>>) {
    let bench = bench(folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    bench.apply();
    assert!(bytes_of(&folder.path()) != before);
    (bench, before)
}

fn run(command: &str, bench: &Bench<'_>, word: &str) -> Output {
    everlog(&[command, &bench.source.display().to_string(), "-o", &bench.dest.display().to_string(), word])
}

fn name(pruned: &serde_json::Value) -> String {
    pruned["prune"].as_str().unwrap().to_owned()
}

/// The tombstones of a store, line by line.
fn notes(bench: &Bench<'_>) -> (PathBuf, Vec<String>) {
    let path = bench.dest.join(".everlog/pruned.jsonl");
    let lines = fs::read_to_string(&path).unwrap().lines().map(|line| format!("{line}\n")).collect();
    (path, lines)
}

fn undone(bench: &Bench<'_>) -> (ExitStatus, u64, u64) {
    let (status, rows) = bench.run(Action::Undo(None)).unwrap();
    let said = &rows.last().unwrap()["undone"];
    (status, said["files"].as_u64().unwrap(), said["failed"].as_u64().unwrap())
}

#[test]
fn of_two_prunes_that_removed_a_file_the_later_one_comes_back_first() {
    let folder = sessions(&["aaa"]);
    let bench = bench(&folder);
    bench.migrate();
    let first = name(&bench.apply());
    session(&folder, "aaa", &[Turn { days: 98, ..over() }]);
    bench.migrate();
    let before = bytes_of(&folder.path());
    let second = name(&bench.apply());
    let left = bytes_of(&folder.path());
    let said = run("prune", &bench, &format!("--undo={first}"));
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert!(stderr(&said).contains(&format!("bring that back first, with `--undo={second}`")), "{}", stderr(&said));
    assert!(bytes_of(&folder.path()) == left);
    assert_eq!(undone(&bench), (ExitStatus::Well, 2, 0));
    assert!(bytes_of(&folder.path()) == before);
    assert_eq!(undone(&bench), (ExitStatus::Well, 2, 0));
}

#[test]
fn a_damaged_line_is_said_and_costs_nothing_but_itself() {
    let folder = sessions(&["aaa", "bbb"]);
    let (bench, mut before) = pruned(&folder);
    let (path, mut lines) = notes(&bench);
    let lost: serde_json::Value = serde_json::from_str(&lines[1]).unwrap();
    // It is still JSON, but no tombstone: nor does it say that a file is back.
    lines[1] = lines[1].replace("\"rule\":", "\"rulf\":");
    fs::write(&path, lines.concat()).unwrap();
    for (command, word) in [("prune", "--plan"), ("migrate", "--quiet")] {
        let said = stderr(&run(command, &bench, word));
        assert!(said.contains("1 line of what was pruned cannot be read") && said.contains("pruned.jsonl:2;"), "{command}: {said}");
    }
    let said = run("prune", &bench, "--undo");
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(stderr(&said).contains("pruned.jsonl:2;"), "{}", stderr(&said));
    before.remove(lost["file"].as_str().unwrap()).unwrap();
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn a_lost_mark_does_not_make_a_prune_that_took_something_one_that_did_not() {
    // It was finished, or cut short in the middle.
    for lines_left in [1, 0] {
        let folder = sessions(&["aaa", "bbb"]);
        let (bench, before) = pruned(&folder);
        let (path, lines) = notes(&bench);
        let (stones, marks) = lines.split_at(4);
        assert!(marks[0].contains("buried") && marks[1].contains("done") && marks.len() == 2, "{marks:?}");
        fs::write(&path, [stones, &marks[2 - lines_left..]].concat().concat()).unwrap();
        if lines_left == 0 {
            let one = shard("bbb", 0);
            fs::write(folder.path().join(&one), &before[&one]).unwrap();
        }
        assert_eq!(undone(&bench), (ExitStatus::Well, 3 + lines_left as u64, 0));
        assert!(bytes_of(&folder.path()) == before, "{lines_left}");
    }
}

#[test]
fn a_prune_whose_tombstones_were_never_all_written_took_nothing() {
    let folder = sessions(&["aaa", "bbb"]);
    let (bench, before) = pruned(&folder);
    let (path, lines) = notes(&bench);
    before.iter().for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    for half in [lines[..2].concat(), lines[..2].concat() + &lines[2][..40]] {
        fs::write(&path, half).unwrap();
        assert!(bench.run(Action::Undo(None)).unwrap_err().contains("no prune of this source"));
    }
    // A line that was cut off is not damage, now or later; and what its session
    // lost otherwise was not pruned.
    fs::remove_file(folder.path().join(shard("aaa", 0))).unwrap();
    assert!(bench.run(Action::Undo(None)).is_err());
    fs::write(folder.path().join(shard("aaa", 0)), &before[&shard("aaa", 0)]).unwrap();
    assert_eq!(stderr(&run("prune", &bench, "--plan")), "");
    let later = Bench { now_ns: 2 * bench.now_ns, ..bench.clone() };
    assert_eq!(later.apply()["files"], 4);
    assert_eq!(stderr(&run("prune", &bench, "--plan")), "");
}

#[test]
fn tombstones_that_cannot_be_read_are_an_error() {
    let folder = sessions(&["aaa"]);
    let (bench, _) = pruned(&folder);
    let (path, _) = notes(&bench);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for (command, word) in [("prune", "--undo"), ("prune", "--apply"), ("prune", "--plan"), ("migrate", "--quiet")] {
        let said = run(command, &bench, word);
        assert_eq!(said.status.code(), Some(2), "{command} {word}: {}", stderr(&said));
        assert!(stderr(&said).contains("pruned.jsonl"), "{}", stderr(&said));
    }
}

/// Refuses to give a file of the source its name, the second time.
#[derive(Debug, Default)]
struct Second(AtomicUsize);

impl Watch for Second {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        let is_name = matches!(step, Step::Rename { .. } | Step::RenameNew { .. });
        if is_name && self.0.fetch_add(1, Ordering::SeqCst) == 1 {
            return Err(step.refused(std::io::Error::other("no")));
        }
        Ok(())
    }
}

#[test]
fn an_undo_that_fails_leaves_no_half_session() {
    let folder = sessions(&["aaa"]);
    let (bench, before) = pruned(&folder);
    let left = bytes_of(&folder.path());
    let failing = Watched(Second::default());
    assert_eq!(undone(&Bench { disk: &failing, ..bench.clone() }), (ExitStatus::Found, 0, 2));
    assert!(bytes_of(&folder.path()) == left);
    assert_eq!(undone(&bench), (ExitStatus::Well, 2, 0));
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn where_half_of_a_session_is_back_it_is_said_which() {
    let folder = Folder::new();
    let [closed, open] =
        [Last::Completed, Last::Worker].map(|last| Turn { shards: [0, 1, 1, 0], ..Turn::over(last, Seen::Answer, Run::None) });
    session(&folder, "aaa", &[closed, open]);
    folder.index(&["aaa"]);
    let (bench, before) = pruned(&folder);
    let failing = Watched(Second::default());
    assert_eq!(undone(&Bench { disk: &failing, ..bench.clone() }), (ExitStatus::Found, 1, 1));
    let now = bytes_of(&folder.path());
    assert_eq!([0, 1].map(|n| shard("aaa", n)).iter().filter(|name| now[*name] == before[*name]).count(), 1);
    assert_eq!(undone(&bench), (ExitStatus::Well, 1, 0));
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn a_file_comes_back_to_its_owner() {
    let folder = sessions(&["aaa"]);
    let path = folder.path().join(shard("aaa", 0));
    // Only the superuser may give files away.
    let given = chown(&path, Some(4321), Some(1234)).is_ok();
    let owner = || fs::metadata(&path).map(|meta| (meta.uid(), meta.gid())).unwrap();
    let was = owner();
    assert_eq!(was == (4321, 1234), given);
    let (bench, _) = pruned(&folder);
    assert!(!path.exists());
    undone(&bench);
    assert_eq!(owner(), was);
}

#[test]
fn what_was_retired_since_is_unretired_first() {
    let folder = sessions(&["aaa"]);
    let (bench, before) = pruned(&folder);
    assert_eq!(run("migrate", &bench, "--retire").status.code(), Some(0));
    let retired = bytes_of(&folder.path());
    let said = run("prune", &bench, "--undo");
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert!(stderr(&said).contains("retired since") && stderr(&said).contains("--unretire`, then undo"), "{}", stderr(&said));
    assert!(bytes_of(&folder.path()) == retired);
    assert_eq!(run("migrate", &bench, "--unretire").status.code(), Some(0));
    assert_eq!(undone(&bench), (ExitStatus::Well, 2, 0));
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn only_what_had_gone_is_counted_as_back() {
    let mut seen = Vec::new();
    for steps in 0..30 {
        let folder = sessions(&["aaa", "bbb"]);
        let bench = bench(&folder);
        bench.migrate();
        let before = bytes_of(&folder.path());
        let _ = Bench { disk: &DyingDisk::after(steps), ..bench.clone() }.run(Action::Apply);
        let gone = before.len() - bytes_of(&folder.path()).len();
        if let Ok((_, rows)) = bench.run(Action::Undo(None)) {
            assert_eq!(rows.last().unwrap()["undone"]["files"], gone, "{steps} steps");
            seen.push(gone);
        }
    }
    assert!([0, 1, 4].iter().all(|gone| seen.contains(gone)), "{seen:?}");
}

#[test]
fn a_prune_without_a_way_back_is_passed_over() {
    let folder = sessions(&["aaa"]);
    let (bench, before) = pruned(&folder);
    session(&folder, "bbb", &[over()]);
    folder.index(&["aaa", "bbb"]);
    let lost = name(&Bench { copies: Copies::GivenUp, ..bench.clone() }.apply());
    let said = run("prune", &bench, "--undo");
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(stderr(&said).contains(&format!("note: {lost} is skipped")), "{}", stderr(&said));
    let now = bytes_of(&folder.path());
    assert!([shard("aaa", 0)].iter().all(|name| now[name] == before[name]));
    assert!(!now.contains_key(&shard("bbb", 0)));
    let error = bench.run(Action::Undo(None)).unwrap_err();
    assert!(error.contains(&lost) && error.contains("without a log and without a trash"), "{error}");
}
