//! Cut short at any step, and for real by signals: each log is the old one,
//! the new one or absent, and the next run finishes the work.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::adapters::ALL;
use everlog::commands::convert::Mode;
use everlog::commands::fork::ForkJob;
use everlog::commands::migrate::{Live, MigrateJob, Sources, Trust, run};
use everlog::commands::source::Selection;
use everlog::log::{LogView, SealState};
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use support::dying::DyingDisk;
use support::{everlog, stderr, tree};
use tempfile::TempDir;

/// Only one at a time: a child that the other test starts would for a moment
/// hold the locks that this process has.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn migrate(source: &Path, dest: &Path, disk: &dyn Disk, sources: Sources) -> bool {
    let stop = AtomicBool::new(false);
    let job = MigrateJob {
        source: source.to_owned(),
        dest: dest.to_owned(),
        selection: Selection::default(),
        adapters: ALL.to_vec(),
        mode: Mode::Replace,
        sources,
        live: Live::Refused,
        trust: Trust::SizeAndTime,
        jobs: 1,
        stop: &stop,
        disk,
    };
    run(&job, &Printer::to(Box::new(std::io::sink()), Form::Json, Talk::Quiet)).is_ok()
}

fn lines(count: usize) -> String {
    (0..count)
        .map(|n| format!("{{\"role\": \"user\", \"content\": \"message {n}\", \"timestamp\": \"2026-01-01T00:00:{:02}\"}}\n", n % 60))
        .collect()
}

/// Six sessions, one with an attachment.
fn make_source(folder: &Path, messages: usize) {
    for n in 0..6 {
        let session = folder.join(format!("s{n}"));
        fs::create_dir_all(session.join("files")).unwrap();
        fs::write(session.join("conversation.jsonl"), lines(messages + n)).unwrap();
        support::set_mtime(&session.join("conversation.jsonl"), 1_700_000_000_000_000_000 + (messages * 10 + n) as i64);
    }
    fs::write(folder.join("s0/files/a.bin"), b"\xff\xfe").unwrap();
    support::set_mtime(&folder.join("s0/files/a.bin"), 1_700_000_000_000_000_000);
}

/// The bytes of all files but the lock.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().filter(|(name, _)| !name.ends_with("/lock")).map(|(name, (bytes, _))| (name, bytes)).collect()
}

/// Whether logs are forked before the source changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forks {
    None,
    /// At the first message and at the last.
    Two,
}

fn fork(log: &Path, at: &str, name: &str, disk: &dyn Disk) -> Result<(), String> {
    let job = ForkJob { log: log.to_owned(), at: at.to_owned(), name: Some(name.to_owned()), disk };
    let out = Printer::to(Box::new(std::io::sink()), Form::Json, Talk::Quiet);
    everlog::commands::fork::run(&job, &out).map(|_| ()).map_err(|error| error.to_string())
}

/// Runs a scenario that dies at every step in turn; returns how many there were.
fn die_everywhere(before: Option<usize>, forks: Forks, after: usize, sources: Sources) -> usize {
    let scratch = TempDir::new().unwrap();
    let prepare = |name: &str| {
        let (source, dest) = (scratch.path().join(name).join("logs"), scratch.path().join(name).join("dest"));
        fs::create_dir_all(&source).unwrap();
        if let Some(messages) = before {
            make_source(&source, messages);
            assert!(migrate(&source, &dest, &RealDisk, Sources::Stay));
        }
        for n in (0..6).filter(|_| forks == Forks::Two) {
            fork(&dest.join(format!("s{n}.everlog.jsonl")), "#2", "first", &RealDisk).unwrap();
            fork(&dest.join(format!("s{n}.everlog.jsonl")), "main", "last", &RealDisk).unwrap();
        }
        let old = contents(&dest);
        make_source(&source, after);
        (source, dest, old)
    };
    let (source, dest, _) = prepare("whole");
    assert!(migrate(&source, &dest, &RealDisk, sources));
    let (wanted, wanted_source) = (contents(&dest), contents(&source));
    for alive_for in 0.. {
        let (source, dest, old) = prepare(&format!("{alive_for}"));
        let disk = DyingDisk::after(alive_for);
        migrate(&source, &dest, &disk, sources);
        let survived = disk.survived();
        for (name, bytes) in contents(&dest).iter().filter(|(name, _)| name.ends_with(".everlog.jsonl") && !name.contains(".everlog/")) {
            assert!(old.get(name) == Some(bytes) || wanted.get(name) == Some(bytes), "{name} is a third thing after step {alive_for}");
        }
        assert!(migrate(&source, &dest, &RealDisk, sources), "the next run fails after step {alive_for}");
        // Findings about a source that shrank are told by the run that saw it.
        let logs = |all: &BTreeMap<String, Vec<u8>>| -> BTreeMap<String, Vec<u8>> {
            all.iter().filter(|(name, _)| !name.ends_with("receipts.jsonl")).map(|(a, b)| (a.clone(), b.clone())).collect()
        };
        assert!(logs(&contents(&dest)) == logs(&wanted), "another end after step {alive_for}: {:?}", contents(&dest).keys());
        assert!(contents(&source) == wanted_source, "another source after step {alive_for}");
        if survived {
            return alive_for;
        }
    }
    unreachable!()
}

#[test]
fn dying_at_any_step_and_running_again_ends_the_same() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scenarios = [
        ("new", die_everywhere(None, Forks::None, 4, Sources::Stay)),
        ("grown", die_everywhere(Some(3), Forks::None, 5, Sources::Stay)),
        ("shrunk", die_everywhere(Some(5), Forks::None, 3, Sources::Stay)),
        ("retired", die_everywhere(None, Forks::None, 4, Sources::Retire)),
        ("forked and grown", die_everywhere(Some(3), Forks::Two, 5, Sources::Stay)),
        ("forked and shrunk", die_everywhere(Some(5), Forks::Two, 3, Sources::Stay)),
    ];
    for (name, steps) in scenarios {
        assert!(steps > 5, "{name} has only {steps} steps");
        eprintln!("{name}: {steps} crash points tried");
    }
}

/// What is left of an unfinished fork before the one that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftover {
    None,
    Half,
}

#[test]
fn dying_at_any_step_of_a_fork_leaves_the_old_log_good() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = TempDir::new().unwrap();
    let (source, dest) = (scratch.path().join("logs"), scratch.path().join("dest"));
    make_source(&source, 4);
    assert!(migrate(&source, &dest, &RealDisk, Sources::Stay));
    let log = dest.join("s0.everlog.jsonl");
    let old = fs::read(&log).unwrap();
    fork(&log, "#3", "mine", &RealDisk).unwrap();
    let whole = fs::read(&log).unwrap();
    for leftover in [Leftover::None, Leftover::Half] {
        let begun = if leftover == Leftover::Half { &whole[..(old.len() + whole.len()) / 2] } else { &old[..] };
        let mut steps = 0;
        for alive_for in 0.. {
            for next in ["fork", "migrate"] {
                fs::write(&log, begun).unwrap();
                let disk = DyingDisk::after(alive_for);
                let done = fork(&log, "#3", "mine", &disk);
                steps = disk.steps();
                let now = fs::read(&log).unwrap();
                assert!(now.starts_with(&old), "step {alive_for}: what was there was touched");
                assert!(whole.starts_with(&now), "step {alive_for}: a third thing");
                let is_good = matches!(LogView::open(now.clone()).unwrap().seal(), SealState::Good { .. });
                assert_eq!(is_good, now == old || now == whole, "step {alive_for}");
                assert!(done.is_err() || now == whole, "step {alive_for}: it says that it is done");
                if next == "migrate" {
                    assert!(migrate(&source, &dest, &RealDisk, Sources::Stay));
                    assert!([&old, &whole].contains(&&fs::read(&log).unwrap()), "step {alive_for}: not cleaned");
                    assert!(!dest.join(".everlog/earlier").exists(), "step {alive_for}: a leftover was kept");
                }
                let again = fork(&log, "#3", "mine", &RealDisk);
                assert!(again.is_ok() || again.is_err_and(|error| error.contains("already")), "step {alive_for}");
                assert!(fs::read(&log).unwrap() == whole, "step {alive_for}: another end");
            }
            if steps <= alive_for {
                break;
            }
        }
        // The lock's folder, the bytes, their sync; and for a leftover a cut and
        // its sync.
        assert_eq!(steps, if leftover == Leftover::Half { 5 } else { 3 }, "{leftover:?}");
        eprintln!("{leftover:?}: {steps} crash points tried");
    }
}

/// Starts a migration of a larger folder and sends a signal after a while.
fn interrupt(source: &Path, dest: &Path, signal: &str, after: Duration) -> std::process::Output {
    let child = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    // It may be done already; then there is nobody to hit.
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status();
    child.wait_with_output().unwrap()
}

#[test]
fn killed_for_real_and_run_again_ends_the_same() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = TempDir::new().unwrap();
    let source = scratch.path().join("logs");
    for n in 0..400 {
        let folder = source.join(format!("s{n:03}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines(60 + n % 7)).unwrap();
    }
    let whole = scratch.path().join("whole");
    assert!(everlog(&["migrate", source.to_str().unwrap(), "-o", whole.to_str().unwrap()]).status.success());
    let wanted = contents(&whole);
    let (mut seed, mut cut_short) = (20_261_116_u64, 0);
    for round in 0..40 {
        let dest = scratch.path().join(format!("dest-{}", round / 4));
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let signal = ["-KILL", "-KILL", "-INT", "-TERM"][round % 4];
        let done = interrupt(&source, &dest, signal, Duration::from_millis((seed >> 33) % 120));
        cut_short += usize::from(!done.status.success());
        if signal != "-KILL" && !done.status.success() {
            assert!(
                done.status.code() == Some(2) && stderr(&done).contains("run the same command again"),
                "{signal}: {:?} {}",
                done.status,
                stderr(&done)
            );
        }
        for (name, bytes) in contents(&dest).iter().filter(|(name, _)| name.ends_with(".everlog.jsonl")) {
            assert!(wanted.get(name) == Some(bytes), "{name} is a third thing after {signal} in round {round}");
        }
        if round % 4 == 3 {
            assert!(everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()]).status.success());
            assert!(contents(&dest) == wanted, "another end after round {round}");
        }
    }
    assert!(cut_short > 5, "only {cut_short} runs were cut short");
    eprintln!("{cut_short} of 40 runs were cut short, nothing was lost");
}
