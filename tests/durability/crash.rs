//! Cut short at any step: each log is the old one, the new one or absent, and
//! the next run finishes the work. The steps that fail alone are in `faults.rs`,
//! power cuts in `power_cut.rs`, real signals in `kills.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::commands::migrate::Sources;
use everlog::commands::restore::RestoreJob;
use everlog::log::{LogView, SealState};
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::RealDisk;
use std::fs;
use support::dying::DyingDisk;
use support::figure;
use support::scenarios::{SCENARIOS, Scenario, Stage, contents, each_scenario, fork, migrate, scratch};

/// Dies at every step in turn; returns how many there were.
fn die_everywhere(scenario: &Scenario) -> usize {
    let stage = Stage::new();
    let ends = scenario.ends(&stage);
    let (start, mut tried) = (campaign::start_of(scenario.name), 0);
    for alive_for in 0.. {
        if !campaign::is_chosen(start, alive_for) {
            continue;
        }
        let at = stage.set(scenario);
        let disk = DyingDisk::after(alive_for);
        let done = (scenario.run)(at, &disk);
        let place = format!("step {alive_for}");
        ends.judge(scenario.name, at, &place);
        if disk.survived() {
            assert!(done.is_ok() && contents(at) == ends.new, "{}: {done:?}", scenario.name);
            return tried;
        }
        tried += 1;
        scenario.finish(at, &ends, &place);
    }
    unreachable!()
}

#[test]
fn dying_at_any_step_and_running_again_ends_the_same() {
    let tried: Vec<(&str, usize)> = each_scenario(die_everywhere);
    for (name, steps) in &tried {
        assert!(*steps >= 3 || !campaign::is_full(), "{name} has only {steps} steps");
        eprintln!("{name}: {steps} crash points tried");
    }
    figure("crash points", tried.iter().map(|(_, steps)| steps).sum());
}

#[test]
fn a_fork_that_dies_leaves_the_old_log_good_and_the_next_migration_cleans_it() {
    let folder = scratch();
    let at = folder.path();
    let prepare = SCENARIOS.iter().find(|scenario| scenario.name == "fork").unwrap().prepare;
    prepare(at);
    let log = at.join("dest/s0.everlog.jsonl");
    let old = fs::read(&log).unwrap();
    fork(&log, "#3", "mine", &RealDisk).unwrap();
    let whole = fs::read(&log).unwrap();
    let mut steps = 0;
    for alive_for in 0.. {
        fs::write(&log, &old).unwrap();
        let disk = DyingDisk::after(alive_for);
        let done = fork(&log, "#3", "mine", &disk);
        steps = disk.steps();
        let now = fs::read(&log).unwrap();
        let is_good = matches!(LogView::open(now.clone()).unwrap().seal(), SealState::Good { .. });
        assert_eq!(is_good, now == old || now == whole, "step {alive_for}");
        assert!(done.is_err() || now == whole, "step {alive_for}: it says that it is done");
        migrate(at, &RealDisk, Sources::Stay).unwrap();
        assert!([&old, &whole].contains(&&fs::read(&log).unwrap()), "step {alive_for}: not cleaned");
        assert!(!at.join("dest/.everlog/earlier").exists(), "step {alive_for}: a leftover was kept");
        if disk.survived() {
            break;
        }
    }
    // The lock, the bytes, their sync.
    assert_eq!(steps, 3);
}

#[test]
fn a_restore_that_dies_leaves_whole_files_or_none() {
    let made = scratch();
    let prepare = SCENARIOS.iter().find(|scenario| scenario.name == "fork").unwrap().prepare;
    prepare(made.path());
    let source = contents(&made.path().join("logs"));
    let mut steps = 0;
    for alive_for in 0.. {
        let back = scratch();
        let disk = DyingDisk::after(alive_for);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let job = RestoreJob { logs: vec![made.path().join("dest")], dest: back.path().join("back"), jobs: 1, stop: &stop, disk: &disk };
        let done = everlog::commands::restore::run(&job, &Printer::to(Box::new(std::io::sink()), Form::Json, Talk::Quiet));
        let is_temporary = |name: &str| name.ends_with(".everlog-tmp");
        for (name, bytes) in contents(&back.path().join("back")).iter().filter(|(name, _)| !is_temporary(name)) {
            assert!(source.get(name) == Some(bytes), "{name} is a third thing after step {alive_for}");
        }
        steps = alive_for;
        if disk.survived() {
            assert!(done.is_ok() && contents(&back.path().join("back")) == source, "a restore that nobody stops is not whole");
            break;
        }
    }
    assert!(steps > 20, "only {steps} steps");
    figure("crash points", steps);
}
