//! The real program, killed while it prunes. What the next run removes is only
//! what its own command line allows and a fresh plan wants: what the killed run
//! had meant to remove gives no permission.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::damage::Seeded;
use support::prune::{Last, Run, Seen, Turn, bytes_of, session};
use support::webui::Folder;
use support::{copy_tree, everlog, figure, stderr};

const SESSIONS: usize = 24;

/// Sessions whose turns are spread over three journals each, so that a kill can
/// come between two files of one session.
fn make_source(home: &Path) -> PathBuf {
    let folder = Folder::below(home.to_owned());
    let ids: Vec<String> = (0..SESSIONS).map(|n| format!("s{n:03}")).collect();
    for id in &ids {
        let spread = Turn { shards: [0, 1, 1, 2], ..Turn::over(Last::Completed, Seen::Answer, Run::Done) };
        session(
            &folder,
            id,
            &[spread, Turn::over(Last::Completed, Seen::Answer, Run::Done), Turn::over(Last::Worker, Seen::Answer, Run::Open)],
        );
    }
    folder.index(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    folder.path()
}

/// Whether the sessions are in logs.
#[derive(PartialEq, Eq)]
enum Logs {
    Made,
    None,
}

/// A source, its store, and what a prune that nobody kills makes of the source.
struct Bench {
    scratch: tempfile::TempDir,
    before: BTreeMap<String, Vec<u8>>,
    wanted: BTreeMap<String, Vec<u8>>,
    random: Seeded,
    /// How long after its first tombstone a run is killed, at most.
    takes: Duration,
}

impl Bench {
    fn new(how: &[&str], logs: Logs) -> Bench {
        let scratch = tempfile::TempDir::new().unwrap();
        let source = make_source(&scratch.path().join("first"));
        if logs == Logs::Made {
            let done =
                everlog(&["migrate", source.to_str().unwrap(), "-o", scratch.path().join("first/dest").to_str().unwrap(), "--quiet"]);
            assert!(done.status.success(), "{}", stderr(&done));
        }
        let bench = Bench {
            before: bytes_of(&source),
            wanted: BTreeMap::new(),
            random: Seeded(20_261_118),
            takes: Duration::from_millis(40),
            scratch,
        };
        let whole = bench.place("whole");
        let done = bench.prune(&whole, &[&["--apply"], how].concat());
        assert!(done.status.success(), "{}", stderr(&done));
        let wanted = bytes_of(&whole.join("webui/sessions"));
        assert_ne!(bench.before, wanted);
        Bench { wanted, ..bench }
    }

    /// A fresh copy of everything.
    fn place(&self, name: &str) -> PathBuf {
        let place = self.scratch.path().join(name);
        let _ = fs::remove_dir_all(&place);
        copy_tree(&self.scratch.path().join("first"), &place);
        place
    }

    fn words(place: &Path, words: &[&str]) -> Vec<String> {
        let [source, dest] = ["webui/sessions", "dest"].map(|name| place.join(name).display().to_string());
        ["prune", &source, "-o", &dest].iter().chain(words).map(|word| (*word).to_owned()).collect()
    }

    fn prune(&self, place: &Path, words: &[&str]) -> Output {
        everlog(&Bench::words(place, words).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Starts a prune and kills it at a random moment after its tombstones were
    /// written. Whether it was killed.
    fn kill(&mut self, place: &Path, words: &[&str]) -> bool {
        let mut child = Command::new(env!("CARGO_BIN_EXE_everlog"))
            .args(Bench::words(place, words))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let tombstones = place.join("dest/.everlog/pruned.jsonl");
        while !fs::metadata(&tombstones).is_ok_and(|meta| meta.len() > 0) && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(self.takes.mul_f64(self.random.below(1_000) as f64 / 1_000.0));
        let _ = child.kill();
        let is_killed = !child.wait().unwrap().success();
        // Where runs come to their end, the next one is hit earlier.
        self.takes = self.takes.mul_f64(if is_killed { 1.1 } else { 0.7 });
        is_killed
    }
}

fn rounds() -> usize {
    usize::try_from(campaign::rounds("PRUNE_KILLS", 80)).unwrap()
}

/// What is in the source but for temporary files, which the next run removes.
fn journals(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = bytes_of(&place.join("webui/sessions"));
    found.retain(|name, _| !name.ends_with(".everlog-tmp"));
    found
}

#[test]
fn after_a_killed_prune_without_logs_a_plain_one_removes_nothing_that_no_log_contains() {
    let mut bench = Bench::new(&["--without-log"], Logs::None);
    let (mut killed, mut in_the_middle) = (0, 0);
    for round in 0..10 * rounds() {
        if killed >= rounds() && in_the_middle > 0 {
            break;
        }
        let place = bench.place("killed");
        killed += usize::from(bench.kill(&place, &["--apply", "--without-log"]));
        let left = journals(&place);
        in_the_middle += usize::from(left != bench.before && left != bench.wanted);
        let plain = bench.prune(&place, &["--apply"]);
        assert!(plain.status.code().is_some_and(|code| code < 2), "round {round}: {}", stderr(&plain));
        let now = journals(&place);
        for (name, bytes) in &left {
            let is_untouched = now.get(name) == Some(bytes);
            assert!(is_untouched || now.get(name) == bench.before.get(name), "round {round}: {name} went, and no log has it");
        }
        let again = bench.prune(&place, &["--apply", "--without-log"]);
        assert!(again.status.success(), "round {round}: {}", stderr(&again));
        assert!(bytes_of(&place.join("webui/sessions")) == bench.wanted, "round {round}: another end");
        // What a killed run kept aside for the way back is removed in the end.
        let spare = fs::read_dir(place.join("dest/.everlog/unfinished")).into_iter().flatten().count();
        assert_eq!(spare, 0, "round {round}: {spare} files are left over");
    }
    assert!(killed >= rounds() && in_the_middle > 0, "{killed} runs were killed, {in_the_middle} in the middle");
    figure("prune kills", rounds());
}

#[test]
fn a_killed_prune_is_ended_by_the_next_one_as_its_own_policy_says_and_can_be_undone() {
    let mut bench = Bench::new(&[], Logs::Made);
    let (mut killed, mut in_the_middle) = (0, 0);
    for round in 0..10 * rounds() {
        if killed >= rounds() && in_the_middle > 0 {
            break;
        }
        let place = bench.place("killed");
        killed += usize::from(bench.kill(&place, &["--apply"]));
        let left = journals(&place);
        in_the_middle += usize::from(left != bench.before && left != bench.wanted);
        if round % 3 == 0 {
            let careful = bench.prune(&place, &["--apply", "--older-than", "30000d"]);
            assert!(careful.status.code().is_some_and(|code| code < 2), "round {round}: {}", stderr(&careful));
            let now = journals(&place);
            assert!(
                left.iter().all(|(name, bytes)| now.get(name) == Some(bytes) || now.get(name) == bench.before.get(name)),
                "round {round}"
            );
        }
        let again = bench.prune(&place, &["--apply"]);
        assert!(again.status.success(), "round {round}: {}", stderr(&again));
        assert!(bytes_of(&place.join("webui/sessions")) == bench.wanted, "round {round}: another end");
        while bench.prune(&place, &["--undo"]).status.code() == Some(0) {}
        assert!(bytes_of(&place.join("webui/sessions")) == bench.before, "round {round}: not undone");
    }
    assert!(killed >= rounds() && in_the_middle > 0, "{killed} runs were killed, {in_the_middle} in the middle");
    figure("prune kills", rounds());
}
