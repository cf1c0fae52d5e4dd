//! The real program on a folder of many sessions, killed at any moment: nothing
//! is lost, and the next run ends as if nothing had been.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::damage::Seeded;
use support::scenarios::{contents, lines, scratch};
use support::{copy_tree, everlog, figure, stderr};

const SESSIONS: usize = 60;

/// So many runs must have been killed in the middle; `KILLS` asks for more.
fn kills_wanted() -> usize {
    usize::try_from(campaign::rounds("KILLS", 200)).unwrap()
}

fn make_source(folder: &Path, more: usize) {
    for n in 0..SESSIONS {
        let session = folder.join(format!("s{n:03}"));
        fs::create_dir_all(session.join("files")).unwrap();
        fs::write(session.join("conversation.jsonl"), lines(20 + n % 7 + more)).unwrap();
        fs::write(session.join("files/0123456789abcdef.bin"), [0xff, n as u8]).unwrap();
    }
}

fn migrate(source: &Path, dest: &Path) -> Output {
    everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--quiet"])
}

/// Starts a migration and sends a signal after a while.
fn interrupt(source: &Path, dest: &Path, signal: Signal, after: Duration) -> Output {
    let child = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    // It may be done already; then there is nobody to hit.
    let _ = kill_process(Pid::from_child(&child), signal);
    child.wait_with_output().unwrap()
}

/// The store before the source grew, the source as it is, and both ends.
struct Bench {
    scratch: tempfile::TempDir,
    old: BTreeMap<String, Vec<u8>>,
    new: BTreeMap<String, Vec<u8>>,
    /// How long a run took that nobody killed.
    takes: Duration,
}

impl Bench {
    fn new() -> Bench {
        let scratch = scratch();
        let (source, before, whole) = (scratch.path().join("logs"), scratch.path().join("before"), scratch.path().join("whole"));
        make_source(&source, 0);
        assert!(migrate(&source, &before).status.success());
        make_source(&source, 3);
        let began = Instant::now();
        assert!(migrate(&source, &whole).status.success());
        let takes = began.elapsed();
        let (old, new) = (contents(&before), contents(&whole));
        Bench { scratch, old, new, takes }
    }

    fn judge(&self, dest: &Path, place: &str) {
        for (name, bytes) in contents(dest).iter().filter(|(name, _)| name.ends_with(".everlog.jsonl")) {
            let is_known = self.new.get(name) == Some(bytes) || self.old.get(name) == Some(bytes);
            assert!(is_known, "{name} is a third thing after {place}");
        }
    }

    fn finish(&self, source: &Path, dest: &Path, place: &str) {
        let done = migrate(source, dest);
        assert!(done.status.success(), "{place}: {}", stderr(&done));
        let now = contents(dest);
        let differs: Vec<_> = now.keys().chain(self.new.keys()).filter(|name| now.get(*name) != self.new.get(*name)).collect();
        assert!(differs.is_empty(), "another end after {place}: {differs:?}");
    }
}

#[test]
fn killed_at_any_moment_and_run_again_ends_the_same() {
    let bench = Bench::new();
    let source = bench.scratch.path().join("logs");
    let mut random = Seeded(20_261_116);
    let (mut killed, mut asked, mut rounds, wanted) = (0, 0, 0, kills_wanted());
    let mut takes = bench.takes;
    while killed < wanted || asked < wanted / 10 {
        assert!(rounds < 20 * wanted, "only {killed} of {rounds} runs were killed, {asked} ended when asked");
        let dest = bench.scratch.path().join("dest");
        if rounds % 2 == 0 {
            // Logs are replaced in one half of the rounds, and made in the other.
            copy_tree(&bench.scratch.path().join("before"), &dest);
        }
        // The same store dies a few times before a run comes to its end.
        for _ in 0..=random.below(5) {
            rounds += 1;
            let signal = [Signal::KILL, Signal::KILL, Signal::KILL, Signal::TERM, Signal::INT][random.below(5)];
            let after = takes.mul_f64(random.below(1_000) as f64 / 1_000.0);
            let done = interrupt(&source, &dest, signal, after);
            // The machine has other work at some times than at others: where a run was
            // over by then, the next one is hit earlier.
            takes = takes.mul_f64(if done.status.success() { 0.8 } else { 1.05 });
            let place = format!("{signal:?} in round {rounds}, after {after:?}");
            if done.status.signal() == Some(Signal::KILL.as_raw()) {
                killed += 1;
            } else if signal != Signal::KILL && !done.status.success() {
                // Before it can listen it dies of the signal; after that it says so.
                let has_died = done.status.signal() == Some(signal.as_raw());
                let has_said = done.status.code() == Some(2) && stderr(&done).contains("run the same command again");
                assert!(has_died || has_said, "{place}: {:?} {}", done.status, stderr(&done));
                asked += usize::from(has_said);
            }
            assert!(!stderr(&done).contains("panicked"), "{place}: {}", stderr(&done));
            bench.judge(&dest, &place);
        }
        bench.finish(&source, &dest, &format!("round {rounds}"));
        fs::remove_dir_all(&dest).unwrap();
    }
    figure("kills", killed.min(wanted));
    eprintln!("{asked} more runs ended when they were asked to");
}
