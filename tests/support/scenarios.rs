//! Everything that changes the disk, as scenarios that can be cut short at any
//! step: a state before, a command, and the same command again.

use super::webui::Folder;
use super::{set_mtime, tree};
use everlog::adapters::ALL;
use everlog::commands::convert::Mode;
use everlog::commands::fork::ForkJob;
use everlog::commands::migrate::{Live, MigrateJob, Sources, Trust};
use everlog::commands::repair::{Action, RepairJob};
use everlog::commands::source::Selection;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

/// What is cut short.
pub struct Scenario {
    pub name: &'static str,
    /// Makes the state before, in an empty folder.
    pub prepare: fn(&Path),
    /// The command; run again after it was cut short it ends the same.
    pub run: fn(&Path, &dyn Disk) -> Result<(), String>,
    /// How files may be changed.
    pub change: ChangeOfFiles,
}

/// How files may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOfFiles {
    /// Each is the old one or the new one.
    OldOrNew,
    /// Or the old one with more behind it, which counts once it is whole.
    Extended,
}

/// All of them. Another command that changes the disk adds its line here.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "migrate new", prepare: |at| source(at, 4), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate grown", prepare: |at| changed(at, 3, 5), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate shrunk", prepare: |at| changed(at, 5, 3), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate forked and grown", prepare: |at| forked(at, 3, 5), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate forked and shrunk", prepare: |at| forked(at, 5, 3), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate --retire", prepare: |at| source(at, 4), run: migrate_retire, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate --unretire", prepare: retired, run: migrate_unretire, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "receipts", prepare: without_receipts, run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "fork", prepare: |at| converted(at, 4), run: fork_first, change: ChangeOfFiles::Extended },
    Scenario { name: "fork after a fork that was cut short", prepare: half_forked, run: fork_first, change: ChangeOfFiles::Extended },
    Scenario { name: "repair --apply", prepare: worn_and_planned, run: repair_apply, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "repair --undo", prepare: repaired, run: repair_undo, change: ChangeOfFiles::OldOrNew },
];

/// Does something to each, two at a time, and says to which and with what result.
/// Threads of its own: migrations wait for threads of the pool.
pub fn each_scenario<R: Send>(work: impl Fn(&Scenario) -> R + Sync) -> Vec<(&'static str, R)> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = SCENARIOS.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let result = work(scenario);
                    done.lock().unwrap().push((scenario.name, result));
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// A folder in memory where there is room: thousands of states are made, and the
/// disk is others' too.
pub fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    let free = rustix::fs::statvfs(memory).map_or(0, |state| state.f_bavail * state.f_frsize);
    let made = if free > 4 << 30 { TempDir::new_in(memory).ok() } else { None };
    made.unwrap_or_else(|| TempDir::new().unwrap())
}

fn quiet() -> Printer {
    Printer::to(Box::new(std::io::sink()), Form::Json, Talk::Quiet)
}

pub fn migrate(at: &Path, disk: &dyn Disk, sources: Sources) -> Result<(), String> {
    migrate_from(&at.join("logs"), &at.join("dest"), disk, sources)
}

/// A migration in this process, one session after another.
pub fn migrate_from(source: &Path, dest: &Path, disk: &dyn Disk, sources: Sources) -> Result<(), String> {
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
    everlog::commands::migrate::run(&job, &quiet()).map(|_| ()).map_err(|error| error.to_string())
}

fn migrate_stay(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    migrate(at, disk, Sources::Stay)
}

fn migrate_retire(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    migrate(at, disk, Sources::Retire)
}

fn migrate_unretire(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    migrate(at, disk, Sources::Unretire)
}

pub fn lines(count: usize) -> String {
    (0..count)
        .map(|n| format!("{{\"role\": \"user\", \"content\": \"message {n}\", \"timestamp\": \"2026-01-01T00:00:{:02}\"}}\n", n % 60))
        .collect()
}

/// Six sessions, one with an attachment.
fn source(at: &Path, messages: usize) {
    for n in 0..6 {
        let session = at.join("logs").join(format!("s{n}"));
        fs::create_dir_all(session.join("files")).unwrap();
        fs::write(session.join("conversation.jsonl"), lines(messages + n)).unwrap();
        set_mtime(&session.join("conversation.jsonl"), 1_700_000_000_000_000_000 + (messages * 10 + n) as i64);
    }
    fs::write(at.join("logs/s0/files/a.bin"), b"\xff\xfe").unwrap();
    set_mtime(&at.join("logs/s0/files/a.bin"), 1_700_000_000_000_000_000);
}

fn converted(at: &Path, messages: usize) {
    source(at, messages);
    migrate_stay(at, &RealDisk).unwrap();
}

fn changed(at: &Path, before: usize, after: usize) {
    converted(at, before);
    source(at, after);
}

fn forked(at: &Path, before: usize, after: usize) {
    converted(at, before);
    for n in 0..6 {
        let log = at.join(format!("dest/s{n}.everlog.jsonl"));
        fork(&log, "#2", "first", &RealDisk).unwrap();
        fork(&log, "main", "last", &RealDisk).unwrap();
    }
    source(at, after);
}

fn retired(at: &Path) {
    source(at, 4);
    migrate_retire(at, &RealDisk).unwrap();
}

fn without_receipts(at: &Path) {
    converted(at, 4);
    fs::remove_file(at.join("dest/.everlog/receipts.jsonl")).unwrap();
}

pub fn fork(log: &Path, at: &str, name: &str, disk: &dyn Disk) -> Result<(), String> {
    let job = ForkJob { log: log.to_owned(), at: at.to_owned(), name: Some(name.to_owned()), disk };
    everlog::commands::fork::run(&job, &quiet()).map(|_| ()).map_err(|error| error.to_string())
}

/// A fork that is there already is as good as one that is made.
fn fork_first(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    match fork(&at.join("dest/s0.everlog.jsonl"), "#3", "mine", disk) {
        Err(error) if error.contains("already") => Ok(()),
        done => done,
    }
}

fn half_forked(at: &Path) {
    converted(at, 4);
    let log = at.join("dest/s0.everlog.jsonl");
    let old = fs::read(&log).unwrap();
    fork_first(at, &RealDisk).unwrap();
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..(old.len() + whole.len()) / 2]).unwrap();
}

/// A time that is later than every file.
const NOW_NS: i64 = 1_794_900_000_000_000_000;

fn repair(at: &Path, action: Action, disk: &dyn Disk, out: &Printer) -> Result<(), String> {
    let (source, backups) = (at.join("home/webui/sessions"), at.join("backups"));
    let job = RepairJob { source, adapters: ALL.to_vec(), backups, action, now_ns: NOW_NS, disk };
    everlog::commands::repair::run(&job, out).map(|_| ()).map_err(|error| error.to_string())
}

/// A shrunken sidecar, one that waits, a backup alone, a list that names what
/// is gone; and the name of the plan that mends them.
fn worn_and_planned(at: &Path) {
    let folder = Folder::below(at.join("home"));
    folder.wear();
    let said = super::Said::default();
    let printer = Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet);
    repair(at, Action::Plan, &RealDisk, &printer).unwrap();
    drop(printer);
    let plan: serde_json::Value = serde_json::from_str(said.text().lines().last().unwrap()).unwrap();
    fs::write(at.join("fingerprint"), plan["plan"]["fingerprint"].as_str().unwrap()).unwrap();
}

fn fingerprint(at: &Path) -> String {
    fs::read_to_string(at.join("fingerprint")).unwrap()
}

fn repair_apply(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    repair(at, Action::Apply(fingerprint(at)), disk, &quiet())
}

fn repaired(at: &Path) {
    worn_and_planned(at);
    repair_apply(at, &RealDisk).unwrap();
}

fn repair_undo(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let receipt: PathBuf = at.join("backups").join(fingerprint(at)).join("receipt.json");
    repair(at, Action::Undo(receipt), disk, &quiet())
}

/// The bytes of all files but the locks.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().filter(|(name, _)| !name.ends_with("/lock")).map(|(name, (bytes, _))| (name, bytes)).collect()
}

impl Scenario {
    /// The state before, and the one after a run that nothing cut short.
    pub fn ends(&self) -> Ends {
        let folder = scratch();
        (self.prepare)(folder.path());
        let old = contents(folder.path());
        (self.run)(folder.path(), &RealDisk).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        Ends { old, new: contents(folder.path()), change: self.change }
    }

    /// Runs the command to its end where it was cut short, and compares.
    pub fn finish(&self, at: &Path, ends: &Ends, place: &str) {
        if let Err(error) = (self.run)(at, &RealDisk) {
            panic!("{}: the next run fails after {place}: {error}", self.name);
        }
        let now = contents(at);
        let differs: Vec<&String> = now.keys().chain(ends.new.keys()).filter(|name| now.get(*name) != ends.new.get(*name)).collect();
        assert!(differs.is_empty(), "{}: another end after {place}: {differs:?}", self.name);
    }
}

/// What a scenario begins and ends with.
pub struct Ends {
    pub old: BTreeMap<String, Vec<u8>>,
    pub new: BTreeMap<String, Vec<u8>>,
    change: ChangeOfFiles,
}

impl Ends {
    /// Every log and every file of a source is the old one, the new one or
    /// absent. What lies in private folders is for the next run to judge.
    pub fn judge(&self, name: &str, at: &Path, place: &str) {
        for (file, bytes) in contents(at) {
            if file.contains(".everlog") && !file.ends_with(".everlog.jsonl") || file.contains("/.everlog/") || file.starts_with("backups/")
            {
                continue;
            }
            let is_extended =
                self.change == ChangeOfFiles::Extended && self.old.get(&file).is_some_and(|old| bytes.starts_with(sealed(old)));
            assert!(
                self.old.get(&file) == Some(&bytes) || self.new.get(&file) == Some(&bytes) || is_extended,
                "{name}: {file} is a third thing after {place}"
            );
        }
    }
}

/// A log up to its last seal.
fn sealed(log: &[u8]) -> &[u8] {
    let seal = memchr::memmem::rfind(log, b"\"type\":\"seal\"").unwrap_or(0);
    let end = memchr::memchr(b'\n', &log[seal..]).map_or(log.len(), |end| seal + end + 1);
    &log[..end]
}
