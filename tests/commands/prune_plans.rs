//! A plan is what a prune does: what somebody has open is in neither, a file is
//! in it once, and what is said of it is right.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::model::retention::Rule;
use everlog::report::ExitStatus;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};
use support::dying::DyingDisk;
use support::prune::{Bench, Last, Run, Seen, Turn, bytes_of, read, run_line, session, shard, write_aged};
use support::webui::Folder;
use support::{everlog, stderr, stdout, tree};

/// Two sessions, of which all turns have ended but one.
fn two_sessions() -> Folder {
    let folder = Folder::new();
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    session(&folder, "aaa", &[over.clone(), over.clone()]);
    session(&folder, "bbb", &[over, Turn::over(Last::Worker, Seen::Answer, Run::Open)]);
    folder.index(&["aaa", "bbb"]);
    folder
}

fn bench(folder: &Folder) -> Bench<'static> {
    Bench::of(&folder.path(), folder.home())
}

/// Runs the command in the year 2030.
fn prune(folder: &Folder, words: &[&str]) -> Output {
    let source = folder.path().display().to_string();
    everlog(&[&["prune", &source, "--now", "2030-01-01T00:00:00Z"], words].concat())
}

#[test]
fn what_a_program_has_open_is_in_no_plan() {
    let folder = two_sessions();
    let mut bench = bench(&folder);
    bench.migrate();
    bench.rules = vec![Rule::RunJournal];
    let run = folder.path().join("_run_journal/bbb/run-bbb-t0.jsonl");
    let mut child = Command::new("sleep").arg("60").stdin(fs::File::open(&run).unwrap()).spawn().unwrap();
    assert_eq!(bench.plan()["run-bbb-t0"], "held");
    assert_eq!(bench.going(), ["run-aaa-t0", "run-aaa-t1"]);
    let (_, case) = bench.run(Action::Explain(run.clone())).unwrap();
    assert_eq!(case[0]["case"]["code"], "held");
    // A prune does what its plan says, and has nothing to complain of.
    let (status, rows) = bench.run(Action::Apply).unwrap();
    assert_eq!((status, &rows[0]["pruned"]["files"], &rows[0]["pruned"]["kept"]), (ExitStatus::Well, &2.into(), &0.into()));
    assert_eq!(bench.run(Action::Check).unwrap().0, ExitStatus::Well);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.run(Action::Check).unwrap().0, ExitStatus::Found);
}

#[test]
fn where_open_files_cannot_be_seen_nothing_is_pruned() {
    let namespace = ["--user", "--map-user=4242", "--map-group=4242"];
    if !Command::new("unshare").args(namespace).arg("true").status().is_ok_and(|status| status.success()) {
        return support::campaign::missing("user namespaces: a prune in one of them is not tried");
    }
    let folder = two_sessions();
    let bench = bench(&folder);
    bench.migrate();
    let run = folder.path().join("_run_journal/bbb/run-bbb-t0.jsonl");
    let mut child = Command::new("sleep").arg("60").stdin(fs::File::open(&run).unwrap()).spawn().unwrap();
    // The writer's files are hidden there, though it runs as the same user.
    let source = folder.path();
    let words = ["prune", source.to_str().unwrap(), "-o", bench.dest.to_str().unwrap(), "--now", "2030-01-01T00:00:00Z", "--apply"];
    let done = Command::new("unshare").args(namespace).arg(env!("CARGO_BIN_EXE_everlog")).args(words).output().unwrap();
    assert!(run.exists(), "{}", String::from_utf8_lossy(&done.stdout));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Retires the sessions of a folder.
fn retire(folder: &Folder, bench: &Bench<'_>, words: &[&str]) {
    let (source, dest) = (folder.path().display().to_string(), bench.dest.display().to_string());
    let done = everlog(&[&["migrate", &source, "-o", &dest, "--retire"], words].concat());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(tree(&folder.path()).keys().any(|name| name.ends_with(".migrated")));
}

#[test]
fn a_retired_session_is_one_item_whatever_else_its_files_are() {
    let folder = two_sessions();
    let mut bench = bench(&folder);
    retire(&folder, &bench, &["--include", "aaa*"]);
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let going: Vec<_> = rows.iter().filter(|row| row["goes"] == true).collect();
    let files: Vec<&str> = going.iter().flat_map(|row| row["files"].as_array().unwrap()).map(|file| file.as_str().unwrap()).collect();
    assert_eq!(files.len(), files.iter().collect::<BTreeSet<_>>().len(), "{files:?}");
    let size = |file: &&str| fs::metadata(folder.path().join(file)).unwrap().len();
    let planned: u64 = going.iter().filter(|row| row["rule"] == "retired").map(|row| row["bytes"].as_u64().unwrap()).sum();
    assert_eq!(planned, files.iter().filter(|file| file.contains("aaa")).map(size).sum::<u64>());
    // Its journals alone do not go: it would no longer be what was retired.
    bench.rules = vec![Rule::TurnJournal, Rule::RunJournal];
    assert_eq!(bench.plan()["run-aaa-t0"], "session_retired");
    assert_eq!(bench.plan()["aaa-t0"], "session_retired");
    bench.apply();
    assert!(folder.path().join(shard("aaa", 0)).exists());
    assert_eq!(bench.migrate(), ExitStatus::Well);
    bench.rules = Rule::ALL.to_vec();
    bench.apply();
    assert!(!tree(&folder.path()).keys().any(|name| name.contains("aaa")), "{:?}", tree(&folder.path()).keys());
}

#[test]
fn a_list_that_names_a_retired_session_does_not_keep_it() {
    let folder = two_sessions();
    let bench = bench(&folder);
    retire(&folder, &bench, &["--include", "aaa*"]);
    assert!(fs::read_to_string(folder.path().join("_index.json")).unwrap().contains("aaa"));
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let row = rows.iter().find(|row| row["rule"] == "retired").unwrap();
    assert_eq!(row["goes"], true, "{row}");
}

#[test]
fn what_stays_is_counted_as_what_goes_is() {
    let folder = two_sessions();
    assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
    let plan = stdout(&prune(&folder, &[]));
    assert!(plan.contains("3 turns and 3 runs would go") && plan.contains("; 1 turn and 1 run stay; nothing was changed"), "{plan}");
    let done = stdout(&prune(&folder, &["--apply"]));
    assert!(done.contains("; 1 turn and 1 run stay; back with: "), "{done}");
    let again = stdout(&prune(&folder, &["--apply"]));
    assert!(again.contains("nothing to prune; 1 turn and 1 run stay"), "{again}");
}

#[test]
fn a_prune_that_was_cut_short_is_overdue_and_what_it_leaves_is_counted_once() {
    let folder = two_sessions();
    let bench = bench(&folder);
    bench.migrate();
    let disk = DyingDisk::after(8);
    assert!(Bench { disk: &disk, ..bench.clone() }.run(Action::Apply).is_err() || !disk.survived());
    // Nothing else is: the rest is too young by now.
    let young = Bench { now_ns: bench.now_ns - 98 * support::prune::DAY_NS, ..bench.clone() };
    let (status, rows) = young.run(Action::Check).unwrap();
    assert_eq!((status, &rows[0]["summary"]["unfinished"]), (ExitStatus::Found, &1.into()), "{rows:?}");
    let dest = bench.dest.display().to_string();
    let said = everlog(&["prune", &folder.path().display().to_string(), "-o", &dest, "--now", "2023-11-16T00:00:00Z", "--check"]);
    assert!(stdout(&said).contains("a prune that was cut short is to be finished"), "{}{}", stdout(&said), stderr(&said));
    // A file that it was to take is another one now: it stays, once.
    let run = folder.path().join("_run_journal/bbb/run-bbb-t0.jsonl");
    if run.exists() {
        fs::write(&run, fs::read_to_string(&run).unwrap() + "\n").unwrap();
    }
    let items = bench.plan().len() as u64;
    let (_, rows) = bench.run(Action::Apply).unwrap();
    let left = bench.plan().len() as u64;
    assert_eq!(rows.last().unwrap()["pruned"]["stays"], left, "{items} before: {rows:?}");
}

#[test]
fn a_store_that_was_mistyped_is_not_made() {
    let folder = two_sessions();
    assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
    let (before, wrong) = (bytes_of(folder.home()), folder.home().join("typo"));
    fs::create_dir(folder.home().join("empty")).unwrap();
    for place in [wrong.display().to_string(), folder.home().join("empty").display().to_string()] {
        for words in [["--apply", "-o"], ["--check", "-o"], ["--undo", "-o"]] {
            let said = prune(&folder, &[words[0], words[1], &place]);
            assert_eq!(said.status.code(), Some(2), "{words:?}: {}", stdout(&said));
            assert!(stderr(&said).contains("no logs and no receipts in") && stderr(&said).contains("hint: run `everlog migrate"));
        }
    }
    assert!(!wrong.exists() && bytes_of(folder.home()) == before);
}

#[test]
fn the_way_back_that_is_named_is_one() {
    // Without a log there is none, with a trash or with one there is.
    let ways = [
        (&["--without-log"][..], false),
        (&["--without-log", "--trash", "TRASH"], true),
        (&["--without-log", "LOG"], true),
        (&["LOG"], true),
    ];
    for (words, is_way) in ways {
        let folder = two_sessions();
        if words.contains(&"LOG") {
            assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
        }
        let words = words.iter().copied().filter(|word| *word != "LOG");
        let trash = folder.home().join("trash").display().to_string();
        let words: Vec<&str> = words.map(|word| if word == "TRASH" { trash.as_str() } else { word }).collect();
        let before = bytes_of(&folder.path());
        let done = stdout(&prune(&folder, &[&["--apply"], &words[..]].concat()));
        let Some((_, back)) = done.trim_end().split_once("; back with: everlog ") else {
            assert!(!is_way && done.contains("it cannot be brought back"), "{done}");
            continue;
        };
        let undone = everlog(&back.split(' ').collect::<Vec<_>>());
        assert_eq!(undone.status.code(), Some(0), "{back}: {}", stderr(&undone));
        assert!(bytes_of(&folder.path()) == before);
        assert_eq!(stdout(&undone).contains("the copies in the trash stay"), words.contains(&"--trash"), "{}", stdout(&undone));
        assert_eq!(folder.home().join("trash").exists(), words.contains(&"--trash"));
    }
}

#[test]
fn the_way_back_of_one_file_that_is_gone_names_its_folder() {
    let folder = two_sessions();
    let bench = bench(&folder);
    retire(&folder, &bench, &[]);
    let (file, dest) = (folder.path().join("aaa.json.migrated").display().to_string(), bench.dest.display().to_string());
    let before = bytes_of(&folder.path());
    let done = stdout(&everlog(&["prune", &file, "-o", &dest, "--now", "2030-01-01T00:00:00Z", "--apply"]));
    let (_, back) = done.trim_end().split_once("back with: everlog ").unwrap_or_else(|| panic!("{done}"));
    assert!(!folder.path().join("aaa.json.migrated").exists());
    let undone = everlog(&back.split(' ').collect::<Vec<_>>());
    assert_eq!(undone.status.code(), Some(0), "{back}: {}", stderr(&undone));
    assert!(bytes_of(&folder.path()) == before);
}

#[test]
fn a_zero_turns_off_one_option_and_a_limit_never_makes_less_go() {
    let folder = two_sessions();
    assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
    let goes = |words: &[&str]| {
        let plan = stdout(&prune(&folder, words));
        plan.lines().find(|line| line.contains("would go")).unwrap_or_default().to_owned()
    };
    let usual = goes(&[]);
    assert!(usual.contains("3 turns and 3 runs would go"), "{usual}");
    let settings = folder.home().join("zero.toml").display().to_string();
    fs::write(&settings, "[prune]\nkeep-last = 0\nmax-bytes = 0\n").unwrap();
    for words in [["--keep-last", "0"], ["--max-bytes", "0"], ["--max-bytes", "2GiB"], ["--config", &settings]] {
        assert_eq!(goes(&words), usual, "{words:?}");
    }
    let newest = goes(&["--keep-last", "1"]);
    assert!(newest.starts_with("1 turn and 1 run would go"), "{newest}");
    for age in ["30d", "0"] {
        assert_eq!(goes(&["--older-than", age, "--keep-last", "1", "--max-bytes", "2GiB"]), newest, "{age}");
    }
    assert!(goes(&["--older-than", "0"]).starts_with("nothing would go"));
}

#[test]
fn without_logs_only_what_no_log_has_is_given_up() {
    let folder = two_sessions();
    let mut bench = bench(&folder);
    bench.migrate();
    // The log of one session has not what that holds now.
    let run = "_run_journal/bbb/run-bbb-t0.jsonl";
    let more = read(&folder, run) + &run_line("bbb", "run-bbb-t0", 3, "done", 1_700_000_000, Some("completed"));
    write_aged(&folder, run, &more, 99);
    bench.copies = Copies::GivenUp;
    let before = bytes_of(&folder.path());
    let dest = bench.dest.display().to_string();
    let warned = stderr(&prune(&folder, &["--without-log", "-o", &dest]));
    assert!(warned.contains("warning: no log has 1 file: what goes of that cannot be brought back"), "{warned}");
    let done = prune(&folder, &["--without-log", "-o", &dest, "--apply"]);
    assert!(stderr(&done).contains("warning: no log has 1 file"), "{}", stderr(&done));
    assert!(stdout(&done).contains("; 2 files cannot be brought back, the rest goes back with: everlog "), "{}", stdout(&done));
    assert_eq!(bench.run(Action::Undo(None)).unwrap().0, ExitStatus::Found);
    let after = bytes_of(&folder.path());
    assert!(before.iter().filter(|(name, _)| name.contains("aaa")).all(|(name, bytes)| after.get(name) == Some(bytes)));
    assert!(!folder.path().join(run).exists());
}

#[test]
fn a_log_that_was_damaged_in_place_keeps_what_it_should_have() {
    let folder = two_sessions();
    let mut bench = bench(&folder);
    bench.migrate();
    bench.rules = vec![Rule::RunJournal];
    let log = bench.dest.join(tree(&bench.dest).into_keys().find(|name| name.starts_with("aaa")).unwrap());
    let (mut bytes, written) = (fs::read(&log).unwrap(), fs::metadata(&log).unwrap().modified().unwrap());
    let at = bytes.windows(7).position(|part| part == b"ask aaa").unwrap();
    bytes[at] = b'A';
    fs::write(&log, bytes).unwrap();
    let is_remedy = |why: &str| why.contains("`everlog verify ") && why.contains("`everlog migrate --rehash`");
    support::set_mtime(&log, support::prune::NOW_NS * 2);
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let row = rows.iter().find(|row| row["item"] == "run-aaa-t0").unwrap();
    assert!(row["code"] == "log_unsealed" && is_remedy(row["why"].as_str().unwrap()), "{row}");
    assert_eq!(bench.going(), ["run-bbb-t0"]);
    // With its old time a plan believes it; neither its case nor a prune does.
    fs::File::options().write(true).open(&log).unwrap().set_modified(written).unwrap();
    assert_eq!(bench.plan()["run-aaa-t0"], "");
    let (_, case) = bench.run(Action::Explain(folder.path().join("_run_journal/aaa/run-aaa-t0.jsonl"))).unwrap();
    assert_eq!(case[0]["case"]["code"], "log_unsealed", "{case:?}");
    let said = prune(&folder, &["-o", &bench.dest.display().to_string(), "--apply"]);
    assert!(said.status.code() == Some(1) && is_remedy(&stderr(&said)), "{}", stderr(&said));
    let source = folder.path().display().to_string();
    // It keeps the damaged one, which has a message of its own.
    let repaired = everlog(&["migrate", &source, "-o", &bench.dest.display().to_string(), "--rehash"]);
    assert_eq!(repaired.status.code(), Some(1), "{}", stderr(&repaired));
    assert_eq!(bench.going(), ["run-aaa-t0", "run-aaa-t1"]);
}

#[test]
fn a_retired_session_that_was_changed_gets_its_name_back_first() {
    let folder = two_sessions();
    let bench = bench(&folder);
    retire(&folder, &bench, &["--include", "aaa*"]);
    let file = folder.path().join("aaa.json.migrated");
    let case = |bench: &Bench<'_>| bench.run(Action::Explain(file.clone())).unwrap().1[0]["case"].clone();
    assert_eq!(case(&bench)["goes"], true);
    // Changed since: its log can only be brought up to date under its own name.
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\n").unwrap();
    support::set_mtime(&file, support::prune::NOW_NS - 99 * support::prune::DAY_NS);
    let said = case(&bench);
    assert!(said["code"] == "log_differs" && said["why"].as_str().unwrap().contains("`everlog migrate --unretire`"), "{said}");
}

#[test]
fn a_plan_and_what_it_does_count_the_same() {
    let folder = two_sessions();
    let bench = bench(&folder);
    bench.migrate();
    let (_, rows) = bench.run(Action::Plan).unwrap();
    let (plan, done) = (&rows.last().unwrap()["summary"], bench.apply());
    for field in ["goes", "parts", "stays", "stays_parts", "bytes"] {
        assert!(!plan[field].is_null() && plan[field] == done[field], "{field}: {plan} {done}");
    }
    assert_eq!((&plan["goes"], &plan["stays"]), (&6.into(), &2.into()));
}

#[test]
fn what_cannot_be_written_says_why() {
    let folder = two_sessions();
    assert_eq!(everlog(&["migrate", &folder.path().display().to_string()]).status.code(), Some(0));
    let wall = folder.home().join("wall");
    fs::write(&wall, "no folder").unwrap();
    let said = stderr(&prune(&folder, &["--apply", "--trash", &wall.join("trash").display().to_string()]));
    assert!(said.contains(": Not a directory") && said.contains("(write_failed)") && !said.contains("(unreadable)"), "{said}");
}

#[test]
fn a_prune_that_was_cut_short_gives_the_next_one_no_trash_and_no_policy() {
    let folder = two_sessions();
    let bench = bench(&folder);
    bench.migrate();
    let before = bytes_of(&folder.path());
    let disk = DyingDisk::after(6);
    let trash = folder.home().join("trash");
    let _ = Bench { disk: &disk, trash: Some(trash.clone()), ..bench.clone() }.run(Action::Apply);
    let dest = bench.dest.display().to_string();
    let said = stderr(&prune(&folder, &["-o", &dest, "--apply", "--older-than", "30000d"]));
    assert_eq!(said.matches("which was cut short, was to take something from it, and this run does not").count(), 1, "{said}");
    assert!(said.contains(" files: ") && said.contains(" more") && said.contains("(young)"), "{said}");
    assert!(bytes_of(&folder.path()) == before);
    let _ = fs::remove_dir_all(&trash);
    let again = prune(&folder, &["-o", &dest, "--apply"]);
    assert_eq!((again.status.code(), stderr(&again).as_str()), (Some(0), ""));
    assert!(bytes_of(&folder.path()) != before && !trash.exists());
}

#[test]
fn an_empty_folder_that_a_prune_leaves_is_no_file() {
    let folder = two_sessions();
    let (bench, source) = (bench(&folder), folder.path().display().to_string());
    bench.migrate();
    bench.apply();
    let said = everlog(&["verify", &bench.dest.display().to_string(), "--source", &source]);
    let text = stdout(&said) + &stderr(&said);
    assert!(text.contains("empty folder that the log has not"), "{text}");
}
