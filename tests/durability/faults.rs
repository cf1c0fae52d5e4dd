//! Disks that fail in one step and go on, and folders that change under our
//! hands: nothing is lost, nothing is left over, and the next run ends well.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::commands::migrate::Sources;
use everlog::store::StoreError;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::bench::Bench;
use support::dying::FailingDisk;
use support::scenarios::{SCENARIOS, Scenario, Stage, contents, each_scenario, lines, migrate, scratch};
use support::watched::{Step, Watch, Watched};
use support::{figure, stderr};

/// What a disk says that cannot: EIO, ENOSPC, EACCES, EROFS.
const ERRORS: [i32; 4] = [5, 28, 13, 30];

/// Lets every step fail in turn; returns how many there were.
fn fail_everywhere(scenario: &Scenario) -> usize {
    let stage = Stage::new();
    let ends = scenario.ends(&stage);
    let (start, mut tried) = (campaign::start_of(scenario.name), 0);
    for step in 0.. {
        if !campaign::is_chosen(start, step) {
            continue;
        }
        let at = stage.set(scenario);
        let disk = FailingDisk::at(step, ERRORS[step % ERRORS.len()]);
        // A step may fail without harm: then it is done all the same.
        let _ = (scenario.run)(at, &disk);
        if !disk.has_failed() {
            return tried;
        }
        tried += 1;
        let place = format!("step {step} that failed");
        ends.judge(scenario.name, at, &place);
        scenario.finish(at, &ends, &place);
    }
    unreachable!()
}

#[test]
fn whichever_step_fails_nothing_is_lost_and_the_next_run_ends_the_same() {
    let tried = each_scenario(fail_everywhere);
    figure("failed steps", tried.iter().map(|(_, steps)| steps).sum());
}

#[test]
fn a_disk_that_is_full_leaves_no_temporary_behind() {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "migrate new").unwrap();
    for at in 0..200 {
        let folder = scratch();
        (scenario.prepare)(folder.path());
        let disk = FailingDisk::at(at, 28);
        let _ = (scenario.run)(folder.path(), &disk);
        let left: Vec<String> = contents(folder.path()).into_keys().filter(|name| name.ends_with(".everlog-tmp")).collect();
        assert_eq!(left, Vec::<String>::new(), "after step {at}");
        if !disk.has_failed() {
            return;
        }
    }
    panic!("it never ends");
}

/// Does something to the folder before the step with this number.
#[derive(Debug)]
struct Meddler {
    at: usize,
    steps: AtomicUsize,
    folder: PathBuf,
    act: fn(&Path),
}

impl Watch for Meddler {
    fn before(&self, _step: &Step<'_>) -> Result<(), StoreError> {
        if self.steps.fetch_add(1, Ordering::SeqCst) == self.at {
            (self.act)(&self.folder);
        }
        Ok(())
    }
}

fn meddled(at: usize, folder: &Path, act: fn(&Path)) -> (Result<(), String>, usize) {
    let disk = Watched(Meddler { at, steps: AtomicUsize::new(0), folder: folder.to_owned(), act });
    let done = migrate(folder, &disk, Sources::Stay);
    (done, disk.0.steps.into_inner())
}

const VICTIM: &str = "logs/s3/conversation.jsonl";

/// What happens, and how it is done.
type Meddling = (&'static str, fn(&Path));

/// What can happen to a file between the look at its folder and its reading.
const MEDDLING: &[Meddling] = &[
    ("its folder vanishes", |at| fs::remove_dir_all(at.join("logs/s3")).unwrap()),
    ("it is deleted", |at| fs::remove_file(at.join(VICTIM)).unwrap()),
    ("it grows", |at| fs::write(at.join(VICTIM), lines(40)).unwrap()),
    ("it shrinks", |at| fs::write(at.join(VICTIM), lines(1)).unwrap()),
    ("it is emptied", |at| fs::write(at.join(VICTIM), "").unwrap()),
    ("it is replaced", |at| {
        fs::write(at.join("other"), lines(9)).unwrap();
        fs::rename(at.join("other"), at.join(VICTIM)).unwrap();
    }),
    ("it becomes a folder", |at| {
        fs::remove_file(at.join(VICTIM)).unwrap();
        fs::create_dir(at.join(VICTIM)).unwrap();
    }),
    ("it becomes a pipe", |at| {
        fs::remove_file(at.join(VICTIM)).unwrap();
        assert!(Command::new("mkfifo").arg(at.join(VICTIM)).status().unwrap().success());
    }),
    ("it becomes a link to a secret", |at| {
        fs::remove_file(at.join(VICTIM)).unwrap();
        symlink("/etc/passwd", at.join(VICTIM)).unwrap();
    }),
    ("it becomes a device", |at| {
        fs::remove_file(at.join(VICTIM)).unwrap();
        symlink("/dev/zero", at.join(VICTIM)).unwrap();
    }),
];

#[test]
fn a_source_that_changes_between_listing_and_reading_harms_only_itself() {
    let prepare = SCENARIOS.iter().find(|scenario| scenario.name == "migrate new").unwrap().prepare;
    for (what, act) in MEDDLING {
        let folder = scratch();
        prepare(folder.path());
        let (done, _) = meddled(0, folder.path(), *act);
        assert!(done.is_ok(), "{what}: {done:?}");
        for n in [0, 1, 2, 4, 5] {
            assert!(folder.path().join(format!("dest/s{n}.everlog.jsonl")).is_file(), "{what}: s{n} is not converted");
        }
        let secrets = fs::read("/etc/passwd").unwrap();
        let line = secrets.split(|b| *b == b'\n').next().unwrap();
        for (name, bytes) in contents(&folder.path().join("dest")) {
            assert!(!name.ends_with(".everlog-tmp"), "{what}: {name} is left over");
            assert!(memchr::memmem::find(&bytes, line).is_none(), "{what}: {name} holds what the link led to");
        }
        // What is there now is what the next run converts.
        assert!(migrate(folder.path(), &everlog::store::disk::RealDisk, Sources::Stay).is_ok(), "{what}");
    }
    figure("changes while reading", MEDDLING.len());
}

#[test]
fn a_destination_that_vanishes_at_any_step_is_made_again_by_the_next_run() {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == "migrate grown").unwrap();
    let wanted = scenario.ends(&Stage::new()).new;
    for at in 0.. {
        let folder = scratch();
        (scenario.prepare)(folder.path());
        let source = contents(&folder.path().join("logs"));
        let (_, steps) = meddled(at, folder.path(), |at| fs::remove_dir_all(at.join("dest")).unwrap_or_default());
        migrate(folder.path(), &everlog::store::disk::RealDisk, Sources::Stay).unwrap();
        assert!(contents(folder.path()) == wanted, "after step {at}: another end");
        assert!(contents(&folder.path().join("logs")) == source, "after step {at}: the source was touched");
        if steps <= at {
            break;
        }
    }
}

#[test]
fn a_full_disk_under_stdout_is_never_taken_for_success() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let (source, dest) = (bench.source().display().to_string(), bench.dest().display().to_string());
    let logs = fs::read_dir(bench.dest()).unwrap().flatten().map(|entry| entry.path());
    let log = logs.filter(|path| path.is_file()).min().unwrap().display().to_string();
    let commands: [&[&str]; 12] = [
        &["replay", &log],
        &["replay", &log, "--json"],
        &["tree", &log],
        &["verify", &dest],
        &["verify", &dest, "--json"],
        &["detect", &source],
        &["migrate", &source, "-o", &dest, "--json"],
        &["formats"],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
    ];
    for words in commands {
        let run = |stdout: Stdio| Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).stdout(stdout).output().unwrap();
        let said = run(fs::File::options().write(true).open("/dev/full").unwrap().into());
        assert_eq!(said.status.code(), Some(2), "{words:?}: {}", stderr(&said));
        assert!(stderr(&said).contains("cannot write to stdout") && stderr(&said).contains("No space"), "{words:?}: {}", stderr(&said));
        // A reader that went away is not a failure.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let unread = run(writer.into());
        assert_eq!((unread.status.code(), stderr(&unread).as_str()), (Some(0), ""), "{words:?}");
    }
}

/// A disk that is full once receipts are appended: half of them are written.
#[derive(Debug)]
struct NoRoomForReceipts;

impl Watch for NoRoomForReceipts {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        let Step::Append { path, bytes } = step else { return Ok(()) };
        let mut there = fs::read(path).unwrap_or_default();
        there.extend_from_slice(&bytes[..bytes.len() / 2]);
        fs::write(path, there).unwrap();
        Err(step.refused(std::io::Error::from_raw_os_error(28)))
    }
}

#[test]
fn logs_whose_receipts_find_no_room_are_complete_and_the_next_run_is_well() {
    let prepare = SCENARIOS.iter().find(|scenario| scenario.name == "migrate new").unwrap().prepare;
    let folder = scratch();
    prepare(folder.path());
    let failed = migrate(folder.path(), &Watched(NoRoomForReceipts), Sources::Stay).unwrap_err();
    assert!(failed.contains("6 of 6 logs are complete"), "{failed}");
    let logs = |at: &Path| contents(&at.join("dest")).into_keys().filter(|name| name.ends_with(".everlog.jsonl")).count();
    assert_eq!(logs(folder.path()), 6);
    let dest = folder.path().join("dest");
    let again = support::everlog(&["migrate", folder.path().join("logs").to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    assert!(!stderr(&again).contains("receipt_damaged"), "{}", stderr(&again));
    assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
}
