//! A repair that is killed: each file is the old one or the new one, and the
//! repair can be finished or undone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::commands::repair::Action;
use everlog::report::ExitStatus;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::dying::{DyingDisk, FailingDisk};
use support::repairing::{Bench, WRITTEN, contents, worn};
use support::webui::Folder;
use support::{everlog, figure, stderr, stdout};

#[test]
fn killed_at_any_step_each_file_is_old_or_new_and_the_repair_can_be_finished_or_undone() {
    let _alone = alone();
    let whole = worn();
    let old = contents(&whole.path());
    Bench::of(&whole.path(), whole.home()).repair();
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
            return figure("crash points", alive_for);
        }
    }
    panic!("it never ends");
}

/// Only one at a time: a child that one test starts would for a moment hold
/// the locks that this process has.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is done about a repair that was cut short.
#[derive(Clone, Copy)]
enum Then {
    Finish,
    Undo,
}

#[test]
fn an_undo_that_is_killed_is_not_called_done_and_can_be_done_again() {
    let _alone = alone();
    let mut half_undone = 0;
    for alive_for in 0..200 {
        let folder = worn();
        let old = contents(&folder.path());
        let bench = Bench::of(&folder.path(), folder.home());
        bench.repair();
        let new = contents(&folder.path());
        let disk = DyingDisk::after(alive_for);
        let done = Bench { disk: &disk, ..Bench::of(&folder.path(), folder.home()) }.run(Action::Undo(bench.receipt()));
        let died = !matches!(done, Ok((ExitStatus::Well, _)));
        let now = contents(&folder.path());
        for (name, bytes) in &now {
            assert!(old.get(name) == Some(bytes) || new.get(name) == Some(bytes), "{name} is a third thing after step {alive_for}");
        }
        if now != old && now != new {
            half_undone += 1;
            let (status, rows) = bench.run(Action::Apply(bench.fingerprint())).unwrap();
            assert_eq!(status, ExitStatus::Found, "step {alive_for}: {rows:?}");
            let named = |key: &str| rows[0]["half_undone"][key].as_array().unwrap().len();
            let back = WRITTEN.iter().filter(|name| now.get(**name) == old.get(**name)).count();
            assert_eq!((named("back"), named("not_back")), (back, WRITTEN.len() - back), "step {alive_for}: {rows:?}");
            assert!(contents(&folder.path()) == now, "step {alive_for}: half of an undo was taken for a repair to finish");
        }
        bench.run(Action::Undo(bench.receipt())).unwrap();
        assert!(contents(&folder.path()) == old, "not undone after step {alive_for}");
        if !died {
            assert!(alive_for > 10 && half_undone > 2, "only {alive_for} steps, {half_undone} in the middle");
            return;
        }
    }
    panic!("it never ends");
}

/// So many sessions that have shrunk.
fn shrunken(count: usize) -> Folder {
    let folder = Folder::new();
    let ids: Vec<String> = (0..count).map(|n| format!("s{n:03}")).collect();
    for id in &ids {
        folder.sidecar(&format!("{id}.json"), id, &["hi"], "");
        folder.sidecar(&format!("{id}.json.bak"), id, &["hi", "ho", "what"], "");
    }
    folder.index(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    folder
}

#[test]
fn killed_for_real_a_repair_is_finished_or_undone_by_the_next_run() {
    let _alone = alone();
    let whole = shrunken(80);
    let old = contents(&whole.path());
    Bench::of(&whole.path(), whole.home()).repair();
    let new = contents(&whole.path());
    let (mut seed, mut cut_short, mut half_done) = (20_261_116_u64, 0, 0);
    for round in 0..12 {
        let folder = shrunken(80);
        let bench = Bench::of(&folder.path(), folder.home());
        let (_, fingerprint) = bench.plan();
        let (source, backups) = (folder.path(), bench.backups.clone());
        let words = ["repair", source.to_str().unwrap(), "--backups", backups.to_str().unwrap(), "--apply", &fingerprint];
        let mut child = Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).stdout(Stdio::null()).spawn().unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Half of them die while the files get their names.
        let receipt = backups.join(&fingerprint).join("receipt.json");
        while round % 2 == 1 && !receipt.is_file() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros((seed >> 33) % if round % 2 == 1 { 2_000 } else { 200_000 }));
        child.kill().unwrap();
        cut_short += usize::from(!child.wait().unwrap().success());
        let now = contents(&source);
        for (name, bytes) in &now {
            assert!(old.get(name) == Some(bytes) || new.get(name) == Some(bytes), "{name} is a third thing in round {round}");
        }
        half_done += usize::from(now != old && now != new);
        if round % 4 < 2 {
            let done = everlog(&words);
            assert_eq!(done.status.code(), Some(0), "round {round}: {}", stderr(&done));
            assert!(contents(&source) == new, "another end in round {round}");
        } else if receipt.is_file() {
            bench.run(Action::Undo(receipt)).unwrap();
            assert!(contents(&source) == old, "not undone in round {round}");
        } else {
            assert!(now == old, "changed without a receipt in round {round}");
        }
    }
    assert!(cut_short > 4 && half_done > 0, "{cut_short} of 12 were cut short, {half_done} in the middle");
    eprintln!("{cut_short} of 12 repairs were killed, {half_done} of them with half of the files written");
}

#[test]
fn an_undo_that_is_killed_for_real_says_what_is_back_and_is_finished_by_the_next_run() {
    let _alone = alone();
    let whole = shrunken(12);
    let old = contents(&whole.path());
    Bench::of(&whole.path(), whole.home()).repair();
    let new = contents(&whole.path());
    let wanted = usize::try_from(campaign::rounds("REPAIR_KILLS", 60)).unwrap();
    let (mut random, mut half_undone) = (support::damage::Seeded(20_261_118), 0);
    for round in 0..20 * wanted {
        if half_undone == wanted {
            break;
        }
        let folder = shrunken(12);
        let bench = Bench::of(&folder.path(), folder.home());
        bench.repair();
        let (source, receipt) = (folder.path().display().to_string(), bench.receipt().display().to_string());
        let words = ["repair", &source, "--undo", &receipt];
        let mut child = Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).stdout(Stdio::null()).spawn().unwrap();
        let is_begun = || fs::read_to_string(&receipt).is_ok_and(|text| text.contains("undoing"));
        while !is_begun() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(random.below(5_000) as u64));
        let _ = child.kill();
        child.wait().unwrap();
        let now = contents(&folder.path());
        if now != old && now != new {
            half_undone += 1;
            let backups = bench.backups.display().to_string();
            let said = everlog(&["repair", &source, "--backups", &backups, "--apply", &bench.fingerprint()]);
            assert_eq!(said.status.code(), Some(1), "round {round}: {}{}", stdout(&said), stderr(&said));
            assert!(stdout(&said).contains("this repair is half undone: "), "round {round}: {}", stdout(&said));
            assert!(contents(&folder.path()) == now, "round {round}");
        }
        let done = everlog(&words);
        assert_eq!(done.status.code(), Some(0), "round {round}: {}", stderr(&done));
        assert!(contents(&folder.path()) == old, "round {round}: not undone");
    }
    assert_eq!(half_undone, wanted, "too few were killed in the middle");
    figure("half-undone repairs", half_undone);
}

#[test]
fn an_undo_on_a_disk_that_fails_says_what_is_back_and_what_is_not() {
    let _alone = alone();
    let mut half_undone = 0;
    for at in 0..200 {
        let folder = worn();
        let old = contents(&folder.path());
        let bench = Bench::of(&folder.path(), folder.home());
        bench.repair();
        let disk = FailingDisk::at(at, 5);
        let done = Bench { disk: &disk, ..Bench::of(&folder.path(), folder.home()) }.run(Action::Undo(bench.receipt()));
        let now = contents(&folder.path());
        let back = WRITTEN.iter().filter(|name| now.get(**name) == old.get(**name)).count();
        match &done {
            Ok((ExitStatus::Well, _)) => assert!(now == old, "step {at}: not all is back, and it says so"),
            Ok((_, rows)) => {
                half_undone += 1;
                assert_eq!(rows.last().unwrap()["half_undone"]["back"].as_array().unwrap().len(), back, "step {at}: {rows:?}");
            }
            Err(error) => assert_eq!(back, 0, "step {at}: {error}"),
        }
        assert_eq!(bench.run(Action::Undo(bench.receipt())).unwrap().0, ExitStatus::Well, "step {at}");
        assert!(contents(&folder.path()) == old, "step {at}: running it again does not finish it");
        if matches!(done, Ok((ExitStatus::Well, _))) && !disk.has_failed() {
            assert!(half_undone > 2, "{half_undone} of {at} failed in the middle");
            return;
        }
    }
    panic!("it never ends");
}
