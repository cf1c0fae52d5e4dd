//! Everything that changes the disk, as scenarios that can be cut short at any
//! step: a state before, a command, and the same command again.

use super::prune::{self, Bench as PruneBench, Last, Run, Seen, Turn, session, shard};
use super::webui::Folder;
use super::{set_mtime, tree};
use everlog::adapters::ALL;
use everlog::commands::export::{ExportJob, ExportTarget, Installation, OnLoss, Placing};
use everlog::commands::export_install::UndoJob;
use everlog::commands::fork::ForkJob;
use everlog::commands::migrate::{Live, MigrateJob, Requirement, Share, Sources};
use everlog::commands::prune::{Action as PruneAction, Copies};
use everlog::commands::repair::{Action, RepairJob};
use everlog::commands::restore::RestoreJob;
use everlog::commands::store::CompactJob;
use everlog::export::{Extension, document};
use everlog::model::shard::Shard;
use everlog::pipeline::source::Selection;
use everlog::pipeline::target::Mode;
use everlog::pipeline::unchanged::Trust;
use everlog::report::ExitStatus;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use everlog::store::layout::Store;
use everlog::store::pruned::Pruned;
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
    /// Or the old one with more after it, which counts once it is whole.
    Extended,
}

/// All of them. Another command that changes the disk adds its line here.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { name: "migrate new", prepare: |at| source(at, 4), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate grown", prepare: |at| changed(at, 3, 5), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate shrunk", prepare: |at| changed(at, 5, 3), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate forked and grown", prepare: |at| forked(at, 3, 5), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate forked and shrunk", prepare: |at| forked(at, 5, 3), run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate two sources", prepare: two_sources, run: migrate_two, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate --retire", prepare: |at| source(at, 4), run: migrate_retire, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate --unretire", prepare: retired, run: migrate_unretire, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate --shard", prepare: |at| changed(at, 3, 5), run: migrate_parts, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "store compact", prepare: in_parts, run: compact, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "migrate after its parts", prepare: in_parts, run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "receipts", prepare: without_receipts, run: migrate_stay, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "fork", prepare: |at| converted(at, 4), run: fork_first, change: ChangeOfFiles::Extended },
    Scenario { name: "fork after a fork that was cut short", prepare: half_forked, run: fork_first, change: ChangeOfFiles::Extended },
    Scenario { name: "restore", prepare: with_links, run: restore, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "export", prepare: |at| converted(at, 4), run: export_documents, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "export --install", prepare: |at| converted(at, 4), run: export_install, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "export --undo", prepare: installed, run: export_undo, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "repair --apply", prepare: worn_and_planned, run: repair_apply, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "repair --undo", prepare: repaired, run: repair_undo, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "prune --apply", prepare: prunable, run: prune_apply, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "prune --apply --trash", prepare: prunable, run: prune_to_trash, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "prune --apply --without-log", prepare: unlogged, run: prune_without_log, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "prune --undo", prepare: |at| pruned(at, prune_apply), run: prune_undo, change: ChangeOfFiles::OldOrNew },
    Scenario {
        name: "prune --undo from the trash",
        prepare: |at| pruned(at, prune_to_trash),
        run: prune_undo,
        change: ChangeOfFiles::OldOrNew,
    },
    Scenario { name: "prune of retired sessions", prepare: retired, run: prune_retired, change: ChangeOfFiles::OldOrNew },
    #[cfg(feature = "parquet")]
    Scenario { name: "export --to parquet", prepare: |at| converted(at, 4), run: export_tables, change: ChangeOfFiles::OldOrNew },
    #[cfg(feature = "parquet")]
    Scenario { name: "export --to parquet grown", prepare: exported_and_grown, run: export_tables, change: ChangeOfFiles::OldOrNew },
    Scenario { name: "export --to sqlite", prepare: |at| converted(at, 4), run: export_sqlite, change: ChangeOfFiles::OldOrNew },
];

/// Does something to each, two at a time, and says to which and with what result;
/// `SCENARIO=prune` chooses some by their names. Threads of its own: migrations
/// wait for threads of the pool.
pub fn each_scenario<R: Send>(work: impl Fn(&Scenario) -> R + Sync) -> Vec<(&'static str, R)> {
    let word = std::env::var("SCENARIO").unwrap_or_default();
    let chosen: Vec<&Scenario> = SCENARIOS.iter().filter(|scenario| scenario.name.contains(&word)).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(scenario) = chosen.get(next.fetch_add(1, Ordering::SeqCst)) {
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

/// Where one scenario is played, again and again at the same path: what it
/// writes may name that path.
pub struct Stage {
    _scratch: TempDir,
    at: PathBuf,
}

impl Stage {
    pub fn new() -> Stage {
        let scratch = scratch();
        Stage { at: scratch.path().join("at"), _scratch: scratch }
    }

    /// The place, empty.
    pub fn cleared(&self) -> &Path {
        if self.at.exists() {
            fs::remove_dir_all(&self.at).unwrap();
        }
        fs::create_dir(&self.at).unwrap();
        &self.at
    }

    /// The place, in the state before.
    pub fn set(&self, scenario: &Scenario) -> &Path {
        let at = self.cleared();
        (scenario.prepare)(at);
        at
    }
}

fn quiet() -> Printer {
    Printer::to(Box::new(std::io::sink()), Form::Json, Talk::Quiet)
}

pub fn migrate(at: &Path, disk: &dyn Disk, sources: Sources) -> Result<(), String> {
    migrate_from(&at.join("logs"), &at.join("dest"), disk, sources)
}

/// A migration in this process, one session after another.
pub fn migrate_from(source: &Path, dest: &Path, disk: &dyn Disk, sources: Sources) -> Result<(), String> {
    migrate_to(source, dest, disk, sources, &quiet()).map(|_| ())
}

/// The same, with what it prints and how it ends.
pub fn migrate_to(source: &Path, dest: &Path, disk: &dyn Disk, sources: Sources, out: &Printer) -> Result<ExitStatus, String> {
    migrate_shared(source, dest, disk, (sources, Share::Alone, None), out)
}

fn migrate_shared(
    source: &Path,
    dest: &Path,
    disk: &dyn Disk,
    (sources, share, shard): (Sources, Share, Option<Shard>),
    out: &Printer,
) -> Result<ExitStatus, String> {
    let stop = AtomicBool::new(false);
    let job = MigrateJob {
        source: source.to_owned(),
        dest: dest.to_owned(),
        share,
        requirement: Requirement::Required,
        selection: Selection::default(),
        adapters: ALL.to_vec(),
        mode: Mode::Replace,
        sources,
        live: Live::Refused,
        shard,
        trust: Trust::SizeAndTime,
        jobs: 1,
        stop: &stop,
        disk,
    };
    everlog::commands::migrate::run(&job, out).map_err(|error| error.to_string())
}

fn migrate_stay(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    migrate(at, disk, Sources::Stay)
}

/// Two sources whose sessions have the same names, into one store.
fn migrate_two(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    for name in ["logs", "more"] {
        let share = Share::Beside(name.into());
        migrate_shared(&at.join(name), &at.join("dest"), disk, (Sources::Stay, share, None), &quiet())?;
    }
    Ok(())
}

fn two_sources(at: &Path) {
    source(at, 3);
    fs::rename(at.join("logs"), at.join("more")).unwrap();
    source(at, 4);
}

/// All parts of a larger run, one after another.
fn migrate_parts(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    for number in 1..=3 {
        let shard = Shard::new(number, 3);
        migrate_shared(&at.join("logs"), &at.join("dest"), disk, (Sources::Stay, Share::Alone, shard), &quiet())?;
    }
    Ok(())
}

fn in_parts(at: &Path) {
    converted(at, 3);
    source(at, 5);
    migrate_parts(at, &RealDisk).unwrap();
}

fn compact(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let job = CompactJob { store: at.join("dest"), disk };
    everlog::commands::store::run(&job, &quiet()).map(|_| ()).map_err(|error| error.to_string())
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
    fs::write(at.join("logs/s0/files/0123456789abcdef.bin"), b"\xff\xfe").unwrap();
    set_mtime(&at.join("logs/s0/files/0123456789abcdef.bin"), 1_700_000_000_000_000_000);
}

fn converted(at: &Path, messages: usize) {
    source(at, messages);
    migrate_stay(at, &RealDisk).unwrap();
}

fn changed(at: &Path, before: usize, after: usize) {
    converted(at, before);
    source(at, after);
}

#[cfg(feature = "parquet")]
fn export_tables(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    use everlog::commands::export_tables::{TablesJob, run};
    use everlog::tables::plan::PartitionBy;
    let stop = AtomicBool::new(false);
    let by = vec![PartitionBy::Month];
    let job = TablesJob { store: at.join("dest"), dest: at.join("tables"), by, jobs: 1, stop: &stop, disk };
    run(&job, &quiet()).map(|_| ()).map_err(|error| error.to_string())
}

#[cfg(feature = "parquet")]
fn exported_and_grown(at: &Path) {
    converted(at, 3);
    export_tables(at, &RealDisk).unwrap();
    source(at, 5);
    migrate_stay(at, &RealDisk).unwrap();
}

fn export_sqlite(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    use everlog::commands::export_sqlite::{SqliteJob, run};
    let stop = AtomicBool::new(false);
    let job = SqliteJob { store: at.join("dest"), file: at.join("tables.sqlite"), stop: &stop, disk };
    run(&job, &quiet()).map(|_| ()).map_err(|error| error.to_string())
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

/// Two stores of sessions, some with a link.
fn with_links(at: &Path) {
    source(at, 4);
    for n in [1, 4] {
        let link = at.join(format!("logs/s{n}/files/link"));
        std::os::unix::fs::symlink("../elsewhere", &link).unwrap();
        // The receipts have its time.
        let time = rustix::fs::Timespec { tv_sec: 1_700_000_000, tv_nsec: 0 };
        let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(rustix::fs::CWD, &link, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
    migrate_stay(at, &RealDisk).unwrap();
}

fn restore(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let stop = AtomicBool::new(false);
    let job = RestoreJob { logs: vec![at.join("dest")], dest: at.join("back"), jobs: 1, stop: &stop, disk };
    match everlog::commands::restore::run(&job, &quiet()) {
        Ok(everlog::report::exit::ExitStatus::Well) => Ok(()),
        Ok(status) => Err(format!("{status:?}")),
        Err(error) => Err(error.to_string()),
    }
}

fn export(at: &Path, target: ExportTarget, dest: PathBuf, placing: Placing, disk: &dyn Disk) -> Result<(), String> {
    let job = ExportJob {
        logs: vec![at.join("dest")],
        target,
        dest,
        placing,
        head: None,
        leaf: None,
        at: None,
        cwd: None,
        model: None,
        title: None,
        extension: Extension::Carried,
        on_loss: OnLoss::Report,
        redactor: None,
        jobs: 1,
        disk,
    };
    match everlog::commands::export::run(&job, &quiet()) {
        Ok(everlog::report::exit::ExitStatus::Well) => Ok(()),
        Ok(status) => Err(format!("{status:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Chat messages: one file for all sessions.
fn export_documents(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let document = document::ALL.iter().copied().find(|document| document.id() == "openai").unwrap();
    export(at, ExportTarget::Document(document), at.join("documents"), Placing::InFolder, disk)
}

fn export_install(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let target = ALL.iter().copied().find(|format| format.id() == "pi").unwrap();
    export(
        at,
        ExportTarget::Program(target),
        at.join("home/sessions"),
        Placing::Installed(Installation { homes: BTreeMap::new(), now_ms: 0 }),
        disk,
    )
}

fn installed(at: &Path) {
    converted(at, 4);
    export_install(at, &RealDisk).unwrap();
}

/// Takes back every installation of which the receipt is still there.
fn export_undo(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    let folder = at.join("dest/.everlog/exports");
    let mut receipts: Vec<PathBuf> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
    // Beside the receipts are the copies of what was taken away.
    receipts.retain(|path| path.is_file());
    receipts.sort();
    for receipt in receipts {
        let job = UndoJob { receipt, homes: BTreeMap::new(), disk };
        everlog::commands::export_install::undo(&job, &quiet()).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A time that is later than every file.
const NOW_NS: i64 = 1_794_900_000_000_000_000;

fn repair(at: &Path, action: Action, disk: &dyn Disk, out: &Printer) -> Result<(), String> {
    let (source, backups) = (at.join("home/webui/sessions"), at.join("backups"));
    let job = RepairJob { source, adapters: ALL.to_vec(), backups, action, now_ns: NOW_NS, disk };
    everlog::commands::repair::run(&job, out).map(|_| ()).map_err(|error| error.to_string())
}

/// A shrunken sidecar, one that waits, a backup alone, a list that names what
/// is gone; and the name of the plan that repairs them.
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

/// Two sessions: turns that may go, in two files, and in one with what stays.
fn prunable(at: &Path) {
    let folder = Folder::below(at.join("home"));
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    let young = Turn { days: 3, ..over.clone() };
    session(&folder, "aaa", &[over.clone(), Turn { shards: [0, 0, 1, 1], ..over.clone() }]);
    session(&folder, "bbb", &[over, young]);
    set_mtime(&folder.path().join(shard("bbb", 0)), prune::NOW_NS - 99 * prune::DAY_NS);
    prune_bench(at, &RealDisk).migrate();
}

/// The same sessions, of which there is no log.
fn unlogged(at: &Path) {
    prunable(at);
    fs::remove_dir_all(at.join("dest")).unwrap();
}

fn prune_without_log(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    PruneBench { copies: Copies::GivenUp, ..prune_bench(at, disk) }.run(PruneAction::Apply).map(|_| ())
}

fn prune_bench<'d>(at: &Path, disk: &'d dyn Disk) -> PruneBench<'d> {
    PruneBench { disk, ..PruneBench::of(&at.join("home/webui/sessions"), at) }
}

fn prune_apply(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    prune_bench(at, disk).run(PruneAction::Apply).map(|_| ())
}

fn prune_to_trash(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    PruneBench { trash: Some(at.join("trash")), ..prune_bench(at, disk) }.run(PruneAction::Apply).map(|_| ())
}

fn prune_retired(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    PruneBench { disk, ..PruneBench::of(&at.join("logs"), at) }.run(PruneAction::Apply).map(|_| ())
}

fn pruned(at: &Path, prune: fn(&Path, &dyn Disk) -> Result<(), String>) {
    prunable(at);
    prune(at, &RealDisk).unwrap();
}

/// What is back already need not be brought back.
fn prune_undo(at: &Path, disk: &dyn Disk) -> Result<(), String> {
    match prune_bench(at, disk).run(PruneAction::Undo(None)) {
        Err(error) if error.contains("no prune of this source can be undone") => Ok(()),
        done => done.map(|_| ()),
    }
}

/// The bytes of all files but the locks. A prune that was cut short or kept
/// from a file is followed by one with another name: of tombstones and of the
/// trash counts what they say.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = tree(folder).into_iter().filter(|(name, _)| !name.ends_with("/lock"));
    let said = files.map(|(name, (bytes, _))| {
        if let Some(dest) = name.strip_suffix(".everlog/pruned.jsonl") {
            let said = tombstones(&folder.join(dest));
            return (name, said);
        }
        match name.strip_prefix("trash/").and_then(|name| name.split_once('/')) {
            Some((_, file)) => (format!("trash/*/{file}"), bytes),
            None => (name, bytes),
        }
    });
    said.collect()
}

/// What the tombstones of a store say, whatever their prunes are called.
fn tombstones(dest: &Path) -> Vec<u8> {
    let pruned = Pruned::read(&Store::at(dest)).unwrap();
    let mut said: Vec<String> = pruned
        .files()
        .map(|stone| {
            let trash = stone.trash.as_ref().map(|place| place.replace(&stone.prune, "*"));
            format!("{} {:?} {:?} {:?} {trash:?}\n", stone.file, stone.old, stone.new, stone.log)
        })
        .collect();
    said.sort();
    let unfinished = pruned.prunes().iter().filter(|prune| prune.progress.is_none()).count();
    format!("{unfinished} unfinished\n{}", said.concat()).into_bytes()
}

impl Scenario {
    /// The state before, and the one after a run that nothing cut short.
    pub fn ends(&self, stage: &Stage) -> Ends {
        let at = stage.set(self);
        let old = contents(at);
        (self.run)(at, &RealDisk).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let new = contents(at);
        assert!(old != new, "{}: nothing happens", self.name);
        Ends { old, new, change: self.change }
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
    /// absent; absent only where it was or will be. What lies in private folders
    /// is for the next run to judge.
    pub fn judge(&self, name: &str, at: &Path, place: &str) {
        let now = contents(at);
        for (file, bytes) in now.iter().filter(|(file, _)| !is_private(file)) {
            let is_extended =
                self.change == ChangeOfFiles::Extended && self.old.get(file).is_some_and(|old| bytes.starts_with(sealed(old)));
            assert!(
                self.old.get(file) == Some(bytes) || self.new.get(file) == Some(bytes) || is_extended,
                "{name}: {file} is a third thing after {place}"
            );
        }
        let stays = self.old.keys().filter(|file| self.new.contains_key(*file) && !is_private(file));
        let lost: Vec<&String> = stays.filter(|file| !now.contains_key(*file)).collect();
        assert!(lost.is_empty(), "{name}: {lost:?} are gone after {place}");
    }
}

fn is_private(file: &str) -> bool {
    let is_ours = file.contains(".everlog") && !file.ends_with(".everlog.jsonl") || file.contains("/.everlog/");
    is_ours || file.starts_with("backups/") || file.starts_with("trash/")
}

/// A log up to its last seal.
fn sealed(log: &[u8]) -> &[u8] {
    let seal = memchr::memmem::rfind(log, b"\"type\":\"seal\"").unwrap_or(0);
    let end = memchr::memchr(b'\n', &log[seal..]).map_or(log.len(), |end| seal + end + 1);
    &log[..end]
}
