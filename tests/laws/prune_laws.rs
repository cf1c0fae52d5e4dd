//! What holds for every journal: nothing outside the safety case is ever in a
//! plan, a prune removes exactly its plan, a kill at any step changes nothing
//! about the end, and no event of a writer is ever lost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::commands::prune::Action;
use everlog::model::digest::sha256_hex;
use everlog::model::retention::{Edit, Policy, Rule};
use everlog::store::StoreError;
use everlog::store::disk::RealDisk;
use everlog::store::layout::Store;
use everlog::store::prune::Pruner;
use everlog::store::pruned::{SizeAndHash, Tombstone};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::dying::DyingDisk;
use support::prune::{Bench, DAY_NS, Last, NOW_NS, Run, Seen, Turn, bytes_of, session, shard};
use support::watched::{Step, Watch, Watched};
use support::webui::Folder;
use support::{set_mtime, tree};
use tempfile::TempDir;

fn any_turn() -> impl Strategy<Value = Turn> {
    let last = prop_oneof![
        1 => Just(Last::Submitted),
        1 => Just(Last::Worker),
        1 => Just(Last::Assistant),
        4 => Just(Last::Completed),
        2 => Just(Last::Interrupted),
        1 => Just(Last::Unknown)
    ];
    let seen = prop_oneof![1 => Just(Seen::Nothing), 1 => Just(Seen::Prompt), 3 => Just(Seen::Answer), 2 => Just(Seen::Marker)];
    let run = prop_oneof![1 => Just(Run::None), 1 => Just(Run::Open), 3 => Just(Run::Done), 1 => Just(Run::Errored)];
    let days = prop_oneof![Just(3_u32), Just(29), Just(30), Just(31), Just(60), Just(99)];
    let make = |(last, seen, run, days, shards)| Turn { last, seen, run, days, shards };
    (last, seen, run, days, prop::array::uniform4(0_u8..3)).prop_map(make)
}

/// A session: its turns, how old its shards are, and whether turns stand one
/// after the other or line by line among each other.
type Sketch = (Vec<Turn>, u32, bool);

fn any_session() -> impl Strategy<Value = Sketch> {
    (prop::collection::vec(any_turn(), 1..4), prop_oneof![Just(3_u32), Just(40), Just(99)], any::<bool>())
}

fn write(folder: &Folder, id: &str, (turns, shard_days, is_mixed): &Sketch) {
    session(folder, id, turns);
    for n in 0..3 {
        let path = folder.path().join(shard(id, n));
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if *is_mixed {
            let mut lines: Vec<&str> = text.lines().collect();
            let event = |line: &str| ["submitted", "worker", "assistant", ""].iter().position(|word| line.contains(word));
            lines.sort_by_key(|line| event(line));
            fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
        set_mtime(&path, NOW_NS - i64::from(*shard_days) * DAY_NS);
    }
}

/// What the issue says, read anew: which items of a session may go.
fn may_go(id: &str, (turns, shard_days, _): &Sketch, back_days: u32) -> BTreeSet<String> {
    let is_old = |days: u32| days.checked_sub(back_days).is_some_and(|days| days > 30);
    let mut going = BTreeSet::new();
    for (n, turn) in turns.iter().enumerate() {
        let is_shown = matches!(turn.seen, Seen::Answer | Seen::Marker);
        let is_over = match turn.last {
            Last::Completed => is_shown || turn.run == Run::Done,
            Last::Interrupted => turn.seen == Seen::Marker,
            Last::Submitted | Last::Worker | Last::Assistant | Last::Unknown => false,
        };
        if is_over && is_old(turn.days.min(*shard_days)) {
            going.insert(format!("{id}-t{n}"));
        }
        let has_ended = match turn.run {
            Run::None | Run::Open => false,
            Run::Done => is_shown || matches!(turn.last, Last::Completed | Last::Interrupted),
            Run::Errored => turn.seen == Seen::Marker,
        };
        if has_ended && is_old(turn.days) {
            going.insert(format!("run-{id}-t{n}"));
        }
    }
    going
}

/// A source as it is without some items.
fn without(source: &BTreeMap<String, Vec<u8>>, going: &BTreeSet<String>) -> BTreeMap<String, Vec<u8>> {
    let mut left = BTreeMap::new();
    for (name, bytes) in source {
        let stem = name.rsplit('/').next().unwrap().trim_end_matches(".jsonl");
        if name.starts_with("_run_journal/") && going.contains(stem) {
            continue;
        }
        let is_gone = |line: &str| going.iter().any(|item| line.contains(&format!("\"turn_id\":\"{item}\"")));
        if name.starts_with("_turn_journal/") {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let kept: String = text.split_inclusive('\n').filter(|line| !is_gone(line)).collect();
            if !kept.is_empty() {
                left.insert(name.clone(), kept.into_bytes());
            }
            continue;
        }
        left.insert(name.clone(), bytes.clone());
    }
    left
}

static WENT: AtomicUsize = AtomicUsize::new(0);

fn check_laws(sessions: &[Sketch], back_days: u32) {
    let folder = Folder::new();
    let ids: Vec<String> = (0..sessions.len()).map(|n| format!("s{n}")).collect();
    for (id, sketch) in ids.iter().zip(sessions) {
        write(&folder, id, sketch);
    }
    folder.index(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let bench = Bench { now_ns: NOW_NS - i64::from(back_days) * DAY_NS, ..Bench::of(&folder.path(), folder.home()) };
    bench.migrate();
    let findings = bench.audit();
    let is_found =
        |id: &str| findings.iter().any(|row| row["session_id"] == *id || row["file"].as_str().is_some_and(|file| file.contains(id)));
    let allowed: BTreeSet<String> =
        ids.iter().zip(sessions).filter(|(id, _)| !is_found(id)).flat_map(|(id, sketch)| may_go(id, sketch, back_days)).collect();
    let going: BTreeSet<String> = bench.going().into_iter().collect();
    assert_eq!(going, allowed, "nothing outside the safety case, and all that is in it");
    let (before, before_times) = (bytes_of(&folder.path()), tree(&folder.path()));
    bench.apply();
    assert!(bytes_of(&folder.path()) == without(&before, &going), "exactly the plan, and every other line as it was");
    assert!(bench.going().is_empty(), "a plan after a prune is empty");
    let after = bench.audit();
    assert!(after.len() <= findings.len(), "a prune makes no findings: {after:?}");
    if !going.is_empty() {
        WENT.fetch_add(going.len(), Ordering::Relaxed);
        bench.run(Action::Undo(None)).unwrap();
        assert!(tree(&folder.path()) == before_times, "every byte and every time comes back");
    }
}

#[test]
fn a_plan_is_the_safety_case_and_a_prune_is_its_plan() {
    let cases = u32::try_from(campaign::rounds("PRUNE_CASES", 48)).unwrap();
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    // A clock that is right, and ones that are slow.
    let back = prop_oneof![4 => Just(0_u32), 1 => Just(50), 1 => Just(98)];
    // Few random cases may remove nothing, so one case that must remove a turn and its run comes first.
    let done = Turn { last: Last::Completed, seen: Seen::Answer, run: Run::Done, days: 60, shards: [0; 4] };
    check_laws(&[(vec![done], 99, false)], 0);
    assert_eq!(WENT.load(Ordering::Relaxed), 2, "the turn and its run go");
    proptest!(config, |(sessions in prop::collection::vec(any_session(), 1..4), back in back)| check_laws(&sessions, back));
    let least = if campaign::is_full() { 10 } else { 1 };
    assert!(WENT.load(Ordering::Relaxed) > least, "no plan removed anything");
}

/// Every row of a plan, by item: its rule and why it stays.
fn verdicts<'r>(rows: impl Iterator<Item = &'r serde_json::Value>) -> BTreeMap<(String, String), String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    rows.map(|row| ((text(&row["rule"]), text(&row["item"])), text(&row["code"]))).collect()
}

fn check_explained(sessions: &[Sketch], policy: Policy) {
    let folder = Folder::new();
    let ids: Vec<String> = (0..sessions.len()).map(|n| format!("s{n}")).collect();
    ids.iter().zip(sessions).for_each(|(id, sketch)| write(&folder, id, sketch));
    folder.index(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let bench = Bench { policy, ..Bench::of(&folder.path(), folder.home()) };
    bench.migrate();
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let plan = verdicts(rows.iter().filter(|row| row["item"].is_string()));
    let files = rows.iter().filter_map(|row| row["files"].as_array()).flatten();
    for file in files.map(|file| file.as_str().unwrap()).collect::<BTreeSet<&str>>() {
        let (_, cases) = bench.run(Action::Explain(folder.path().join(file))).unwrap();
        for (item, code) in verdicts(cases.iter().map(|row| &row["case"])) {
            assert_eq!(plan.get(&item), Some(&code), "{item:?} in {file} under {policy:?}");
        }
        assert!(!cases.is_empty(), "{file}");
    }
}

#[test]
fn an_explanation_says_what_the_plan_says() {
    let config = ProptestConfig {
        cases: u32::try_from(campaign::rounds("PRUNE_CASES", 24)).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let age = prop_oneof![Just(None), Just(Some(30 * DAY_NS))];
    let policy = (age, 0_usize..3, prop_oneof![Just(None), (1_u64..4000).prop_map(Some)]);
    let policy = policy.prop_map(|(older_than_ns, keep_last, max_bytes)| Policy { older_than_ns, keep_last, max_bytes });
    proptest!(config, |(sessions in prop::collection::vec(any_session(), 1..4), policy in policy)| check_explained(&sessions, policy));
}

/// Three sessions: shards that are cut and shards that go, runs, and a session of
/// which nothing goes.
fn scene(name: &str, scratch: &Path) -> Bench<'static> {
    let folder = Folder::new();
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    let spread = Turn { shards: [0, 1, 1, 2], ..Turn::over(Last::Completed, Seen::Nothing, Run::Done) };
    session(&folder, "aaa", &[over.clone(), Turn::over(Last::Worker, Seen::Answer, Run::Open), spread]);
    session(&folder, "bbb", std::slice::from_ref(&over));
    session(&folder, "ccc", &[Turn::over(Last::Worker, Seen::Answer, Run::Open)]);
    session(&folder, "ddd", &[over]);
    folder.index(&["aaa", "bbb", "ccc", "ddd"]);
    let place = scratch.join(name);
    support::copy_tree(&folder.path(), &place.join("sessions"));
    let bench = Bench::of(&place.join("sessions"), &place);
    bench.migrate();
    bench
}

#[test]
fn killed_at_any_step_a_prune_and_its_undo_end_as_they_should() {
    let scratch = TempDir::new().unwrap();
    let whole = scene("whole", scratch.path());
    let before = bytes_of(&whole.source);
    whole.apply();
    let wanted = bytes_of(&whole.source);
    assert_ne!(before, wanted);
    let (start, mut tried) = (campaign::start_of("prune"), 0);
    for alive_for in 0.. {
        if !campaign::is_chosen(start, alive_for) {
            continue;
        }
        tried += 2;
        let bench = scene(&format!("{alive_for}"), scratch.path());
        let disk = DyingDisk::after(alive_for);
        let _ = Bench { disk: &disk, ..bench.clone() }.run(Action::Apply);
        // Between two deaths everything that is there is old or new.
        for (name, bytes) in bytes_of(&bench.source).iter().filter(|(name, _)| !name.ends_with(".everlog-tmp")) {
            assert!(before.get(name) == Some(bytes) || wanted.get(name) == Some(bytes), "{name} is a third thing after step {alive_for}");
        }
        bench.run(Action::Apply).unwrap();
        assert!(bytes_of(&bench.source) == wanted, "another end after step {alive_for}");
        let dying = DyingDisk::after(alive_for);
        let _ = Bench { disk: &dying, ..bench.clone() }.run(Action::Undo(None));
        while bench.run(Action::Undo(None)).is_ok() {}
        assert!(bytes_of(&bench.source) == before, "not undone after step {alive_for}");
        if disk.survived() && dying.survived() {
            assert!(alive_for > 20, "only {alive_for} steps");
            return support::figure("crash points", tried);
        }
    }
}

/// Tells a store to take the first line of a file.
fn first_line_goes(root: &Path, name: &str) -> Option<(Tombstone, String)> {
    let bytes = fs::read(root.join(name)).ok()?;
    let end = bytes.iter().position(|b| *b == b'\n')? + 1;
    let left = &bytes[end..];
    let state = |bytes: &[u8]| SizeAndHash { bytes: bytes.len() as u64, sha256: sha256_hex(bytes) };
    let stone = Tombstone {
        prune: "p".to_owned(),
        at: String::new(),
        rule: Rule::TurnJournal,
        source: root.display().to_string(),
        unit: "u".to_owned(),
        bundle: 0,
        file: name.to_owned(),
        parts: 1,
        lines: 1,
        first_ns: None,
        last_ns: None,
        old: state(&bytes),
        new: (!left.is_empty()).then(|| state(left)),
        edits: if left.is_empty() { Vec::new() } else { vec![Edit::cut(0..end)] },
        mode: 0o600,
        owner: None,
        mtime_ns: 0,
        writer: None,
        lock: None,
        log: None,
        log_sha256: None,
        log_path: None,
        trash: None,
        spare: None,
    };
    Some((stone, String::from_utf8_lossy(&bytes[..end]).trim().to_owned()))
}

/// A writer that opens the journal at the worst moment, and writes when it has
/// lost its name.
#[derive(Debug)]
struct Racing {
    journal: PathBuf,
    open: Mutex<Option<File>>,
    writes: AtomicUsize,
}

impl Racing {
    fn is_the_moment(&self, step: &Step<'_>) -> bool {
        matches!(step, Step::Rename { .. } | Step::Remove { .. }) && step.path() == self.journal
    }
}

impl Watch for Racing {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        if self.is_the_moment(step) {
            *self.open.lock().unwrap() = Some(File::options().append(true).open(&self.journal).unwrap());
        }
        Ok(())
    }

    fn after(&self, step: &Step<'_>) {
        if let Some(mut late) = self.open.lock().unwrap().take().filter(|_| self.is_the_moment(step)) {
            writeln!(late, "late {}", self.writes.fetch_add(1, Ordering::SeqCst) + 1).unwrap();
        }
    }
}

#[test]
fn what_is_written_into_a_journal_that_just_lost_its_name_is_carried_over() {
    let scratch = TempDir::new().unwrap();
    let journal = scratch.path().join("j.jsonl");
    fs::write(&journal, "one\ntwo\n").unwrap();
    let disk = Watched(Racing { journal: journal.clone(), open: Mutex::new(None), writes: AtomicUsize::new(0) });
    let pruner = Pruner { disk: &disk, root: scratch.path(), store: &Store::at(scratch.path()) };
    for wanted in ["two\nlate 1\n", "late 1\nlate 2\n"] {
        let (stone, _) = first_line_goes(scratch.path(), "j.jsonl").unwrap();
        let carried = pruner.carry_out(&[vec![&stone]]);
        assert!(carried.bundles[0].is_ok() && carried.writers.is_ok());
        assert_eq!(fs::read_to_string(&journal).unwrap(), wanted);
    }
    // Also where all of it went.
    fs::write(&journal, "last\n").unwrap();
    let (stone, _) = first_line_goes(scratch.path(), "j.jsonl").unwrap();
    assert!(stone.new.is_none() && pruner.carry_out(&[vec![&stone]]).bundles[0].is_ok());
    assert_eq!(fs::read_to_string(&journal).unwrap(), "late 3\n");
}

#[test]
fn a_writer_that_hammers_a_journal_loses_no_event() {
    let scratch = TempDir::new().unwrap();
    let (journal, stop) = (scratch.path().join("j.jsonl"), scratch.path().join("stop"));
    // Each event is written some time after its file was opened.
    let script = r#"i=0; while [ ! -e "$1" ]; do i=$((i+1)); exec 3>>"$0"; n=0; while [ $n -lt 40 ]; do n=$((n+1)); done; echo "event $i" >&3; exec 3>&-; n=0; while [ $n -lt 4000 ]; do n=$((n+1)); done; done; echo $i"#;
    let writer = Command::new("sh").arg("-c").arg(script).arg(&journal).arg(&stop).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pruner = Pruner { disk: &RealDisk, root: scratch.path(), store: &Store::at(scratch.path()) };
    let mut gone = Vec::new();
    // A busy machine takes longer until something went.
    let (least, most) = (std::time::Duration::from_secs(3), std::time::Duration::from_secs(120));
    let began = std::time::Instant::now();
    while began.elapsed() < least || (gone.len() < 4 && began.elapsed() < most) {
        let Some((stone, line)) = first_line_goes(scratch.path(), "j.jsonl") else { continue };
        let carried = pruner.carry_out(&[vec![&stone]]);
        carried.writers.unwrap();
        // What changed meanwhile is left alone, and tried again.
        gone.extend(carried.bundles[0].is_ok().then_some(line));
    }
    fs::write(&stop, "").unwrap();
    let said = writer.wait_with_output().unwrap();
    let count: u32 = String::from_utf8(said.stdout).unwrap().trim().parse().unwrap();
    let left = fs::read_to_string(&journal).unwrap_or_default();
    let mut found: Vec<String> = left.lines().map(str::to_owned).chain(gone.iter().cloned()).collect();
    found.sort_by_key(|line| line[6..].parse::<u32>().unwrap());
    let wanted: Vec<String> = (1..=count).map(|n| format!("event {n}")).collect();
    assert!(found == wanted, "{} of {count} events, {} of them pruned", found.len(), gone.len());
    assert!(gone.len() > 3, "{} pruned of {count}: a race that nobody ran", gone.len());
}
