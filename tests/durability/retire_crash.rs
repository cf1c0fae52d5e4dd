//! Retiring and giving back, cut short at every step and by real signals: the
//! next run ends as if nothing had happened, whichever way it goes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::commands::migrate::Sources;
use everlog::report::ExitStatus;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::StoreError;
use everlog::store::disk::{Disk, RealDisk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use support::dying::DyingDisk;
use support::scenarios::{migrate_from, migrate_to};
use support::watched::{Step, Watch, Watched};
use support::{everlog, tree};
use tempfile::TempDir;

/// Only one at a time: a child that the other test starts would for a moment
/// hold the locks that this process has.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn migrate(source: &Path, dest: &Path, disk: &dyn Disk, sources: Sources) -> bool {
    migrate_from(source, dest, disk, sources).is_ok()
}

/// Sessions of two files each, and of one, one of them beside the lines of its
/// key.
fn make_source(folder: &Path, sessions: usize) {
    fs::create_dir_all(folder).unwrap();
    let times = "\"created_at\": \"2026-02-02T03:04:05Z\", \"updated_at\": \"2026-02-02T03:04:05Z\"";
    for n in 0..sessions {
        let meta = format!("{{\"key\": \"agent:{n}\", \"summary\": \"s{n}\", \"skip\": 1, \"count\": 2, {times}}}");
        fs::write(folder.join(format!("agent_{n}.meta.json")), meta).unwrap();
        let lines = format!("{{\"role\":\"user\",\"content\":\"old {n}\"}}\n{{\"role\":\"user\",\"content\":\"new {n}\"}}\n");
        fs::write(folder.join(format!("agent_{n}.jsonl")), lines).unwrap();
    }
    for key in ["agent:0", "telegram:7"] {
        let legacy = format!("{{\"key\": \"{key}\", \"messages\": [{{\"role\": \"user\", \"content\": \"before\"}}]}}");
        fs::write(folder.join(format!("{}.json", key.replace(':', "_"))), legacy).unwrap();
    }
    for entry in fs::read_dir(folder).unwrap() {
        support::set_mtime(&entry.unwrap().path(), 1_700_000_000_000_000_000);
    }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

/// The logs of a store, those that were kept included.
fn logs(dest: &Path) -> BTreeMap<String, Vec<u8>> {
    contents(dest).into_iter().filter(|(name, _)| name.ends_with(".everlog.jsonl")).collect()
}

/// The files by the names that they have while they live; fails where one
/// stands there under both.
fn unrenamed(source: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for (name, bytes) in contents(source) {
        let name = name.strip_suffix(".migrated").unwrap_or(&name).to_owned();
        assert!(files.insert(name.clone(), bytes).is_none(), "{name} is there twice");
    }
    files
}

/// Dies at every step of one way; then another run goes the same way, or the
/// other, or first leaves the source alone. Returns how many steps there were.
fn die_everywhere(way: Sources) -> usize {
    let scratch = TempDir::new().unwrap();
    let prepare = |name: &str, way: Sources| {
        let (source, dest) = (scratch.path().join(name).join("sessions"), scratch.path().join(name).join("dest"));
        make_source(&source, 2);
        let first = if way == Sources::Unretire { Sources::Retire } else { Sources::Stay };
        assert!(migrate(&source, &dest, &RealDisk, first));
        (source, dest)
    };
    let (source, dest) = prepare("whole", Sources::Retire);
    let live = contents(&source);
    let wanted_logs = logs(&dest);
    assert!(migrate(&source, &dest, &RealDisk, Sources::Retire));
    let retired = contents(&source);
    let (start, mut tried) = (campaign::start_of("retire"), 0);
    for alive_for in 0.. {
        if !campaign::is_chosen(start, alive_for) {
            continue;
        }
        tried += 1;
        let mut survived = false;
        for next in [Sources::Retire, Sources::Unretire, Sources::Stay] {
            let (source, dest) = prepare(&format!("{alive_for}-{next:?}"), way);
            let disk = DyingDisk::after(alive_for);
            migrate(&source, &dest, &disk, way);
            survived = disk.survived();
            assert!(unrenamed(&source) == live, "something is lost after step {alive_for}");
            let before = contents(&source);
            assert!(migrate(&source, &dest, &RealDisk, next), "the next run fails after step {alive_for}");
            assert!(logs(&dest) == wanted_logs, "{next:?}: another log after step {alive_for}: {:?}", logs(&dest).keys());
            let wanted = match next {
                Sources::Retire => &retired,
                Sources::Unretire => &live,
                Sources::Stay => &before,
            };
            assert!(contents(&source) == *wanted, "{next:?}: another source after step {alive_for}: {:?}", contents(&source).keys());
            assert!(migrate(&source, &dest, &RealDisk, Sources::Unretire));
            assert!(contents(&source) == live, "{next:?}: not to be had back after step {alive_for}: {:?}", contents(&source).keys());
        }
        if survived {
            return tried;
        }
    }
    unreachable!()
}

#[test]
fn dying_at_any_step_of_retiring_or_giving_back_ends_the_same() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for way in [Sources::Retire, Sources::Unretire] {
        let steps = die_everywhere(way);
        assert!(steps > 8 || !campaign::is_full(), "{way:?} has only {steps} steps");
        support::figure("crash points", 3 * steps);
    }
}

/// A disk on which one rename in a source fails, and all else goes well.
#[derive(Debug)]
struct OneFails {
    renames: AtomicUsize,
    fails: usize,
}

impl Watch for OneFails {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        if matches!(step, Step::RenameNew { .. }) && self.renames.fetch_add(1, Ordering::SeqCst) == self.fails {
            return Err(StoreError::Exists { path: step.path().to_owned() });
        }
        Ok(())
    }
}

#[test]
fn a_rename_that_fails_leaves_its_session_whole_and_is_not_in_the_receipts() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = TempDir::new().unwrap();
    for fails in 0..6 {
        let (source, dest) = (scratch.path().join(format!("{fails}/sessions")), scratch.path().join(format!("{fails}/dest")));
        make_source(&source, 2);
        assert!(migrate(&source, &dest, &Watched(OneFails { renames: AtomicUsize::new(0), fails }), Sources::Retire));
        let receipts = fs::read_to_string(dest.join(".everlog/receipts.jsonl")).unwrap();
        let (mut live, mut retired) = (0, 0);
        for receipt in receipts.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
            let names = |suffix: &str| -> Vec<bool> {
                let files = receipt["files"].as_array().unwrap().iter();
                files.map(|file| source.join(format!("{}{suffix}", file["path"].as_str().unwrap())).exists()).collect()
            };
            let is_retired = receipt["retired"].is_object();
            assert!(names("").iter().all(|there| *there != is_retired), "rename {fails}: {receipt}");
            assert!(names(".migrated").iter().all(|there| *there == is_retired), "rename {fails}: {receipt}");
            *if is_retired { &mut retired } else { &mut live } += 1;
        }
        assert_eq!((live, retired), (1, 3), "rename {fails}");
    }
}

#[test]
fn killed_for_real_while_retiring_or_giving_back() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = TempDir::new().unwrap();
    let (source, dest) = (scratch.path().join("sessions"), scratch.path().join("dest"));
    make_source(&source, 300);
    let words = |way: &str| ["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--quiet", way].map(str::to_owned);
    everlog(&words("--json").each_ref().map(String::as_str));
    let (live, wanted_logs) = (contents(&source), logs(&dest));
    let (mut seed, mut half) = (20_261_116_u64, 0);
    for round in 0..16 {
        let way = ["--retire", "--unretire"][round % 2];
        for _ in 0..3 {
            let mut child =
                Command::new(env!("CARGO_BIN_EXE_everlog")).args(words(way)).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_millis((seed >> 33) % 250));
            let _ = child.kill();
            child.wait().unwrap();
            let now = contents(&source);
            let renamed = now.keys().filter(|name| name.ends_with(".migrated")).count();
            half += usize::from(renamed > 0 && renamed < now.len());
            assert!(unrenamed(&source) == live, "something is lost in round {round}");
        }
        everlog(&words(way).each_ref().map(String::as_str));
        let is_retired = contents(&source).keys().all(|name| name.ends_with(".migrated"));
        assert!(if way == "--retire" { is_retired } else { contents(&source) == live }, "{way} is not done in round {round}");
        assert!(logs(&dest) == wanted_logs, "another log after round {round}");
    }
    eprintln!("48 runs killed while retiring or giving back, {half} of them half way");
}

/// Refuses to give the second file its name.
#[derive(Debug, Default)]
struct Second(AtomicUsize);

impl Watch for Second {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        if matches!(step, Step::RenameNew { .. }) && self.0.fetch_add(1, Ordering::SeqCst) == 1 {
            return Err(step.refused(std::io::Error::from_raw_os_error(5)));
        }
        Ok(())
    }
}

#[test]
fn a_session_that_is_half_given_back_is_told_file_by_file_and_the_next_run_finishes_it() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = TempDir::new().unwrap();
    let (source, dest) = (scratch.path().join("sessions"), scratch.path().join("dest"));
    make_source(&source, 1);
    fs::remove_file(source.join("telegram_7.json")).unwrap();
    let before = contents(&source);
    assert!(migrate(&source, &dest, &RealDisk, Sources::Retire));
    let retired = contents(&source).keys().filter(|name| name.ends_with(".migrated")).count();
    assert!(retired > 1, "{retired}");
    let undo = |disk: &dyn Disk| {
        let said = support::Said::default();
        let printer = Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet);
        let status = migrate_to(&source, &dest, disk, Sources::Unretire, &printer).unwrap();
        drop(printer);
        let rows: Vec<Value> = said.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (status, rows.iter().filter_map(|row| row["returned"].as_array()).map(Vec::len).sum::<usize>())
    };
    assert_eq!(undo(&Watched(Second::default())), (ExitStatus::Found, 1));
    let left = contents(&source).keys().filter(|name| name.ends_with(".migrated")).count();
    assert_eq!(left, retired - 1);
    assert_eq!(undo(&RealDisk), (ExitStatus::Well, retired - 1));
    assert!(contents(&source) == before);
}
