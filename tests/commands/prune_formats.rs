//! The rules of the other formats: what their programs would drop themselves,
//! and what was retired.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::model::retention::Policy;
use everlog::report::ExitStatus;
use std::fs;
use std::path::Path;
use support::dying::DyingDisk;
use support::prune::{Bench, DAY_NS, NOW_NS, bytes_of};
use support::{copy_tree, everlog, set_mtime, stdout, tree};
use tempfile::TempDir;

/// A copy of a case, a hundred days old.
fn case(name: &str) -> (TempDir, Bench<'static>) {
    let scratch = TempDir::new().unwrap();
    let source = scratch.path().join("source");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).join("input"), &source);
    let bench = Bench::of(&source, scratch.path());
    (scratch, Bench { now_ns: 1_900_000_000_000_000_000, ..bench })
}

fn replayed(log: &Path, head: &str) -> String {
    stdout(&everlog(&["replay", &log.display().to_string(), "--head", head]))
}

#[test]
fn events_before_the_last_checkpoint_go_and_replay_stays_the_same() {
    let (_scratch, bench) = case("gptme/checkpoints");
    bench.migrate();
    let log = bench.dest.join("counting-033.everlog.jsonl");
    let (before, shown) = (tree(&bench.source), replayed(&log, "events:main"));
    let going = bench.going();
    assert_eq!(going, ["counting-033/events.jsonl"], "{:?}", bench.plan());
    let old = fs::read_to_string(bench.source.join(&going[0])).unwrap();
    bench.apply();
    let new = fs::read_to_string(bench.source.join(&going[0])).unwrap();
    assert!(old.ends_with(&new) && new.lines().next().unwrap().contains("\"checkpoint\""), "{}", new.lines().next().unwrap());
    assert!(bench.going().is_empty());
    bench.migrate();
    assert_eq!(replayed(&log, "events:main"), shown);
    bench.run(Action::Undo(None)).unwrap();
    assert!(tree(&bench.source) == before);
}

#[test]
fn a_conversation_that_gptme_has_open_stays() {
    let (_scratch, bench) = case("gptme/checkpoints");
    bench.migrate();
    let lock = fs::File::open(bench.source.join("counting-033/.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(bench.plan()["counting-033/events.jsonl"], "held");
    lock.unlock().unwrap();
    // Its own short lock, held while the file would be replaced.
    let events = bench.source.join("counting-033/events.jsonl");
    fs::write(bench.source.join("counting-033/.events.jsonl.lock"), "").unwrap();
    bench.migrate();
    assert_eq!(bench.plan()["counting-033/events.jsonl"], "");
    let lock = fs::File::open(bench.source.join("counting-033/.events.jsonl.lock")).unwrap();
    let old = fs::read(&events).unwrap();
    lock.lock().unwrap();
    assert_eq!(bench.apply()["files"], 0);
    assert!(fs::read(&events).unwrap() == old);
    lock.unlock().unwrap();
    // Nor is anything put back while it has one of them.
    assert_eq!(bench.apply()["files"], 1);
    let new = fs::read(&events).unwrap();
    for name in [".lock", ".events.jsonl.lock"] {
        let lock = fs::File::open(bench.source.join("counting-033").join(name)).unwrap();
        lock.lock().unwrap();
        assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found, "{name}");
        assert!(fs::read(&events).unwrap() == new, "{name}");
        lock.unlock().unwrap();
    }
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert!(fs::read(&events).unwrap() == old);
}

fn run_line(n: u32, action: &str) -> String {
    format!(
        "{{\"ts\":{},\"jobId\":\"0b0e0e0e-1111-4222-8333-000000000001\",\"action\":\"{action}\",\"status\":\"ok\",\"summary\":\"{}\"}}\n",
        1_690_000_000_000_u64 + u64::from(n),
        "x".repeat(1000)
    )
}

#[test]
fn a_run_log_past_two_million_bytes_keeps_its_newest_two_thousand_lines() {
    let (_scratch, bench) = case("openclaw/cron");
    let name = "cron/runs/0b0e0e0e-1111-4222-8333-000000000001.jsonl";
    let write = |text: &str| {
        fs::write(bench.source.join(name), text).unwrap();
        set_mtime(&bench.source.join(name), NOW_NS);
    };
    // Lines alone are no reason, nor are bytes alone.
    write(&(0..2500).map(|n| run_line(n, "finished").replace(&"x".repeat(1000), "")).collect::<String>());
    bench.migrate();
    assert!(bench.going().is_empty());
    write(&(0..1900).map(|n| run_line(n, "finished").replace(&"x".repeat(1000), &"y".repeat(1200))).collect::<String>());
    bench.migrate();
    assert!(bench.going().is_empty());
    let lines: Vec<String> = (0..2100).map(|n| run_line(n, if n == 7 { "started" } else { "finished" })).collect();
    write(&lines.concat());
    bench.migrate();
    // An age that nobody reaches, and one item to keep: this is the program's own rule.
    let bench = Bench { policy: Policy { older_than_ns: Some(9_000 * DAY_NS), keep_last: 5, ..Policy::default() }, ..bench };
    assert_eq!(bench.going(), [name], "{:?}", bench.plan());
    let (_, case) = bench.run(Action::Explain(bench.source.join(name))).unwrap();
    let due = case[0]["checks"].as_array().unwrap().iter().find(|check| check["about"] == "due").unwrap();
    assert_eq!(due["why"], "its program's own rule, whatever its age");
    assert_eq!(bench.apply()["parts"]["cron-run-log"], 99);
    let kept = [&lines[7..8], &lines[100..]].concat().concat();
    assert!(fs::read_to_string(bench.source.join(name)).unwrap() == kept);
    assert!(bench.going().is_empty());
}

/// A session of which `skip` hides two lines of four.
fn hidden() -> (TempDir, Bench<'static>) {
    hiding(2, 4)
}

/// A session of which `skip` hides some lines.
fn hiding(skip: u32, count: u32) -> (TempDir, Bench<'static>) {
    let (scratch, bench) = case("picoclaw/plain");
    let lines: String =
        (0..count).map(|n| format!("{{\"role\":\"user\",\"content\":\"m{n}\",\"created_at\":\"2023-01-01T00:00:{n:02}Z\"}}\n")).collect();
    let meta = format!(
        "{{\n  \"key\": \"cli:9\",\n  \"summary\": \"s\",\n  \"skip\": {skip},\n  \"count\": {count},\n  \"created_at\": \"2023-01-01T00:00:00Z\",\n  \"updated_at\": \"2023-01-01T00:00:09Z\"\n}}"
    );
    for (name, text) in [("cli_9.jsonl", lines), ("cli_9.meta.json", meta)] {
        let path = sessions(&bench.source).join(name);
        fs::write(&path, text).unwrap();
        set_mtime(&path, NOW_NS - 99 * DAY_NS);
    }
    bench.migrate();
    (scratch, bench)
}

/// Where the sessions of a picoclaw case lie.
fn sessions(source: &Path) -> std::path::PathBuf {
    let named = tree(source).into_keys().find(|name| name.ends_with(".jsonl")).unwrap();
    source.join(named).parent().unwrap().to_owned()
}

#[test]
fn hidden_lines_do_not_come_back_while_the_gateway_runs() {
    let (scratch, bench) = hidden();
    bench.apply();
    let pruned = bytes_of(&bench.source);
    let program = scratch.path().join("picoclaw");
    fs::copy("/bin/sleep", &program).unwrap();
    let mut gateway = std::process::Command::new(&program).arg("60").spawn().unwrap();
    // A process has its name a moment after it began.
    let name = format!("/proc/{}/comm", gateway.id());
    while !fs::read_to_string(&name).unwrap().contains("picoclaw") {
        std::thread::yield_now();
    }
    let pid_file = sessions(&bench.source).join("../.picoclaw.pid");
    fs::write(&pid_file, format!("{{\"pid\":{}}}", gateway.id())).unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found);
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    fs::remove_file(pid_file).unwrap();
    assert!(bytes_of(&bench.source) == pruned);
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
}

#[test]
fn what_picoclaw_writes_after_a_prune_stays_and_a_meta_file_of_its_own_is_not_touched() {
    let (_scratch, bench) = hidden();
    let folder = sessions(&bench.source);
    let (lines, meta) = (folder.join("cli_9.jsonl"), folder.join("cli_9.meta.json"));
    let before = fs::read_to_string(&lines).unwrap();
    bench.apply();
    let (left, left_meta) = (fs::read_to_string(&lines).unwrap(), fs::read_to_string(&meta).unwrap());
    // It adds a line and writes the meta file anew: that counts for all lines.
    let more = "{\"role\":\"user\",\"content\":\"m4\",\"created_at\":\"2026-01-01T00:00:00Z\"}\n";
    fs::write(&lines, format!("{left}{more}")).unwrap();
    fs::write(&meta, left_meta.replace("\"count\": 2", "\"count\": 3")).unwrap();
    let now = bytes_of(&bench.source);
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found);
    assert!(bytes_of(&bench.source) == now, "all files of a session or none");
    let (source, dest) = (bench.source.display().to_string(), bench.dest.display().to_string());
    let said = everlog(&["prune", &source, "-o", &dest, "--undo"]);
    let told = support::stderr(&said);
    assert!(
        told.contains("cli_9.meta.json is not as prune left it") && told.contains("hint: nothing of its session was touched"),
        "{told}"
    );
    // What it was can be written elsewhere, as the hint says.
    let command = told.split("elsewhere: everlog ").nth(1).and_then(|rest| rest.split(" -o FOLDER").next()).unwrap();
    let out = bench.dest.with_file_name("elsewhere").display().to_string();
    let restored = everlog(&[&command.split(' ').collect::<Vec<_>>()[..], &["-o", &out]].concat());
    assert_eq!(restored.status.code(), Some(0), "{command}: {}", support::stderr(&restored));
    assert!(bytes_of(Path::new(&out)).iter().any(|(name, bytes)| name.ends_with("cli_9.jsonl") && *bytes == before.as_bytes()));
    // Lines alone stay after what comes back.
    fs::write(&meta, &left_meta).unwrap();
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Well);
    assert_eq!(fs::read_to_string(&lines).unwrap(), format!("{before}{more}"));
}

#[test]
fn hidden_lines_go_and_what_is_shown_stays_the_same() {
    let (_scratch, bench) = hidden();
    let folder = sessions(&bench.source);
    let log = tree(&bench.dest).into_keys().find(|name| name.contains("cli_9.jsonl.everlog")).unwrap();
    let (before, shown) = (tree(&bench.source), replayed(&bench.dest.join(&log), "main"));
    assert_eq!(bench.going().len(), 1, "{:?}", bench.plan());
    assert_eq!(bench.apply()["parts"]["hidden-lines"], 2);
    let lines = fs::read_to_string(folder.join("cli_9.jsonl")).unwrap();
    assert!(lines.starts_with("{\"role\":\"user\",\"content\":\"m2\"") && lines.lines().count() == 2, "{lines}");
    let meta = fs::read_to_string(folder.join("cli_9.meta.json")).unwrap();
    assert!(meta.contains("\"skip\": 0,\n  \"count\": 2,\n"), "{meta}");
    bench.migrate();
    assert_eq!(shown.matches("\"m2\"").count(), 1, "{shown}");
    let again = replayed(&bench.dest.join(&log), "main");
    assert!(again.contains("\"m2\"") && again.contains("\"m3\"") && !again.contains("\"m1\""), "{again}");
    bench.run(Action::Undo(None)).unwrap();
    assert!(tree(&bench.source) == before);
}

#[test]
fn the_digits_that_a_meta_file_loses_are_counted_and_it_is_called_rewritten() {
    let (_scratch, bench) = hiding(10, 12);
    let size = |source: &Path| bytes_of(source).values().map(|bytes| bytes.len() as u64).sum::<u64>();
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let planned = &rows.last().unwrap()["summary"];
    let [source, dest] = [&bench.source, &bench.dest].map(|path| path.display().to_string());
    let said = support::stdout(&everlog(&["prune", &source, "-o", &dest, "--now", "2024-03-01T00:00:00Z"]));
    assert!(
        said.contains("cli_9.meta.json  its numbers are rewritten, 2 B (hidden-lines)") && said.contains("10 lines would go"),
        "{said}"
    );
    let before = size(&bench.source);
    let done = bench.apply();
    let freed = before - size(&bench.source);
    assert_eq!((&planned["bytes"], &done["bytes"], &planned["goes"]), (&freed.into(), &freed.into(), &done["goes"]));
}

#[test]
fn to_keep_the_newest_turns_says_nothing_of_what_a_session_has_one_of() {
    let (_hidden, hidden) = hidden();
    let (_events, events) = case("gptme/checkpoints");
    events.migrate();
    for bench in [hidden, events] {
        for older_than_ns in [Some(30 * DAY_NS), None] {
            let policy = Policy { older_than_ns, keep_last: 20, max_bytes: None };
            assert_eq!(Bench { policy, ..bench.clone() }.going().len(), 1, "{:?} {:?}", policy, bench.plan());
        }
        // Alone it means the usual age, not none.
        let policy = Policy { keep_last: 1, ..Policy::default() };
        let young = Bench { policy, now_ns: NOW_NS - 80 * DAY_NS, ..bench };
        assert_eq!(young.going(), [""; 0], "{:?}", young.plan());
    }
}

#[test]
fn killed_between_the_two_files_nothing_is_hidden_and_the_next_run_ends_it() {
    let (_whole, whole) = hidden();
    let before = bytes_of(&whole.source);
    whole.apply();
    let wanted = bytes_of(&whole.source);
    for alive_for in 0.. {
        let (_scratch, bench) = hidden();
        let disk = DyingDisk::after(alive_for);
        let _ = Bench { disk: &disk, ..bench.clone() }.run(Action::Apply);
        let now = bytes_of(&bench.source);
        let of = |tree: &std::collections::BTreeMap<String, Vec<u8>>, end: &str| {
            tree.iter().find(|(name, _)| name.ends_with(end)).unwrap().1.clone()
        };
        // Lines that are left must never be hidden by the skip of before.
        let is_cut = of(&now, "cli_9.jsonl") == of(&wanted, "cli_9.jsonl");
        assert!(!is_cut || of(&now, "cli_9.meta.json") == of(&wanted, "cli_9.meta.json"), "after step {alive_for}");
        bench.run(Action::Apply).unwrap();
        assert!(bytes_of(&bench.source) == wanted, "another end after step {alive_for}");
        bench.run(Action::Undo(None)).unwrap();
        assert!(bytes_of(&bench.source) == before, "not undone after step {alive_for}");
        if disk.survived() {
            return;
        }
    }
}

#[test]
fn a_retired_session_goes_as_a_whole_once_its_log_is_proven() {
    let (_scratch, bench) = case("gptme/tour");
    let (source, dest) = (bench.source.display().to_string(), bench.dest.display().to_string());
    everlog(&["migrate", &source, "-o", &dest, "--retire"]);
    let before = tree(&bench.source);
    let retired: Vec<String> = before.keys().filter(|name| name.ends_with(".migrated")).cloned().collect();
    assert_eq!(retired.len(), 3);
    assert_eq!(bench.going().len(), 3, "{:?}", bench.plan());
    // One that is not what its log says, and one that nobody has a copy of.
    fs::write(bench.source.join(&retired[0]), "{\"role\": \"user\", \"content\": \"other\"}\n").unwrap();
    assert_eq!(bench.plan().values().filter(|code| *code == "log_differs").count(), 1, "{:?}", bench.plan());
    assert!(Bench { copies: Copies::GivenUp, ..bench.clone() }.going().is_empty());
    fs::write(bench.source.join(&retired[0]), &before[&retired[0]].0).unwrap();
    set_mtime(&bench.source.join(&retired[0]), i64::try_from(before[&retired[0]].1).unwrap());
    bench.apply();
    let left: Vec<String> = tree(&bench.source).into_keys().filter(|name| !name.ends_with("lock")).collect();
    assert_eq!(left, [""; 0], "all their files, or none");
    bench.run(Action::Undo(None)).unwrap();
    assert!(tree(&bench.source) == before);
}

#[test]
fn a_plan_does_not_depend_on_the_time_zone_of_the_machine() {
    let (_scratch, bench) = case("gptme/checkpoints");
    bench.migrate();
    let plan = |zone: &str| {
        let words =
            ["prune", &bench.source.display().to_string(), "-o", &bench.dest.display().to_string(), "--now", "2030-03-01T00:00:00Z"];
        let said = std::process::Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).arg("--json").env("TZ", zone).output().unwrap();
        stdout(&said)
    };
    let here = plan("UTC");
    assert!(here.contains("\"goes\":true"), "{here}");
    for zone in ["Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kathmandu"] {
        assert_eq!(plan(zone), here, "{zone}");
    }
}
