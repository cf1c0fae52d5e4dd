//! Forks: heads that are added to a log where it lies, and survive whatever
//! happens to its source.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::log::fork::{Fork, lines as fork_lines};
use everlog::log::{Carry, LogView, SealState};
use everlog::model::heads::{HeadKind, HeadName};
use everlog::model::ids::Seq;
use everlog::verify::{check_log, prove};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;
use support::bench::{Bench, code, line, lines};
use support::pi::{self, said, two_ways};
use support::{all_cases, convert_and_prove, everlog, sessions, stderr, stdout, tree};

/// A bench with one pi session that is migrated.
fn bench() -> Bench {
    let bench = Bench::new();
    pi::write(&bench, &two_ways());
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    bench
}

fn fork(log: &Path, more: &[&str]) -> Output {
    everlog(&[&["fork", log.to_str().unwrap()], more].concat())
}

fn forked(log: &Path, more: &[&str]) {
    let done = fork(log, more);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
}

/// What a head shows, as the program prints it.
fn shown(log: &Path, more: &[&str]) -> Vec<String> {
    let done = everlog(&[&["replay", log.to_str().unwrap()], more].concat());
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let text =
        |row: &str| serde_json::from_str::<serde_json::Value>(row).unwrap()["payload"]["content"][0]["text"].as_str().unwrap().to_owned();
    stdout(&done).lines().map(text).collect()
}

fn verified(bench: &Bench) -> Output {
    everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()])
}

#[test]
fn a_fork_adds_a_head_and_touches_nothing_that_is_there() {
    let bench = bench();
    let log = pi::log(&bench);
    let (before, main) = (fs::read(&log).unwrap(), shown(&log, &[]));
    let done = fork(&log, &["--leaf", "bbbb0001", "--name", "mine"]);
    assert_eq!((code(&done), stderr(&done)), (Some(0), String::new()));
    assert!(stdout(&done).starts_with("branch:mine stands at #5 now"), "{}", stdout(&done));
    let after = fs::read(&log).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
    let added: Vec<&[u8]> = after[before.len()..].split_inclusive(|b| *b == b'\n').collect();
    assert_eq!(added.len(), 3);
    for (line, kind) in added.iter().zip(["head", "checkpoint", "seal"]) {
        assert!(String::from_utf8_lossy(line).contains(&format!("\"type\":\"{kind}\"")));
    }
    assert_eq!(shown(&log, &["--head", "mine"]), ["one", "two", "the first way"]);
    // What is shown by default is what it was, also from the end of the file.
    assert_eq!(shown(&log, &[]), main);
    assert_eq!(shown(&log, &["--last", "1"]), ["the last words"]);
    let checked = verified(&bench);
    assert_eq!(code(&checked), Some(0), "{}", stderr(&checked));
    assert_eq!(code(&everlog(&["verify", log.to_str().unwrap()])), Some(0));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read_to_string(back.join(pi::NAME)).unwrap(), two_ways());
}

#[test]
fn an_unchanged_source_leaves_a_forked_log_alone() {
    let bench = bench();
    forked(&pi::log(&bench), &["--at", "bbbb0001"]);
    forked(&pi::log(&bench), &["--at", "main"]);
    let before = tree(&bench.dest());
    for more in [&[][..], &["--rehash"], &["--dry-run"]] {
        let again = bench.migrate(more);
        assert_eq!((code(&again), stderr(&again)), (Some(0), String::new()), "{more:?}");
        assert!(stdout(&again).contains("0 created, 0 changed, 1 unchanged"), "{more:?}: {}", stdout(&again));
        assert!(tree(&bench.dest()) == before, "{more:?}: something was written");
    }
    // Without receipts everything is converted again, and found to be there.
    fs::remove_file(bench.dest().join(".everlog/receipts.jsonl")).unwrap();
    assert!(stdout(&bench.migrate(&[])).contains("0 created, 0 changed, 1 unchanged"));
    let log = |all: &std::collections::BTreeMap<String, _>| all.keys().filter(|name| name.contains("/earlier/")).count();
    assert_eq!(log(&tree(&bench.dest())), 0);
    assert_eq!(shown(&pi::log(&bench), &["--head", "fork-1"]).len(), 3);
}

#[test]
fn a_node_is_named_by_id_number_or_head_and_a_fork_by_a_name_that_is_free() {
    let bench = bench();
    let log = pi::log(&bench);
    for (at, shows) in [("bbbb0001", 3), ("#4", 2), ("main", 4), ("bbbb0002", 4), ("branch:bbbb0002", 4), ("fork-1", 3)] {
        forked(&log, &["--at", at]);
        assert_eq!(shown(&log, &["--head", &format!("fork-{}", heads(&log) - 2)]).len(), shows, "{at}");
    }
    forked(&log, &["--at", "aaaa0001", "--name", "branch:plain"]);
    assert_eq!(shown(&log, &["--head", "plain"]), ["one"]);
    let before = fs::read(&log).unwrap();
    for (more, said) in [
        (&["--at", "bbbb0001", "--name", "plain"][..], "has a head branch:plain already"),
        (&["--at", "bbbb0001", "--name", "main"], "has a head branch:main already"),
        (&["--at", "bbbb0001", "--name", "view:x"], "is not a valid name for a branch"),
        (&["--at", "bbbb0001", "--name", ""], "is not a valid name for a branch"),
        (&["--at", "bbbb0001", "--name", "a\u{1b}[1m"], "is not a valid name for a branch"),
        (&["--at", "dddd0001"], "has no node dddd0001"),
        (&["--at", "#1"], "has no node #1"),
        (&["--at", "#99999"], "has no node #99999"),
        (&["--at", "aaaa"], "names several nodes"),
        (&["--at", "aaa"], "has no node aaa"),
    ] {
        let refused = fork(&log, more);
        assert_eq!(code(&refused), Some(2), "{more:?}");
        assert!(stderr(&refused).contains(said) && !stderr(&refused).contains('\u{1b}'), "{more:?}: {}", stderr(&refused));
        assert!(fs::read(&log).unwrap() == before, "{more:?} changed the log");
    }
    let row = stdout(&fork(&log, &["--at", "#3", "--json"]));
    let row: serde_json::Value = serde_json::from_str(&row).unwrap();
    assert_eq!((row["head"].as_str(), row["node"].as_u64()), (Some("branch:fork-7"), Some(3)));
}

/// How many heads a log has.
fn heads(log: &Path) -> usize {
    LogView::open(fs::read(log).unwrap()).unwrap().state().heads().count()
}

#[test]
fn a_log_that_is_not_whole_is_not_forked() {
    let bench = bench();
    let log = pi::log(&bench);
    let good = fs::read_to_string(&log).unwrap();
    let without_seal: String = good.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(|line| format!("{line}\n")).collect();
    let event = "{\"seq\":13,\"type\":\"message\",\"parent\":5,\"payload\":{\"role\":\"user\",\"content\":[]}}\n";
    let next = good.lines().count() + 1;
    for (text, said) in [
        (good.replace("its end", "the end"), "altered since it was sealed"),
        (without_seal, "has no seal"),
        (format!("{good}{}", event.replace("13", &next.to_string())), "events follow its last good seal"),
        ("hello\n".to_owned(), "not an everlog log"),
        (good.replace("\"version\":1", "\"version\":9"), "version 9 is newer"),
    ] {
        fs::write(&log, &text).unwrap();
        let refused = fork(&log, &["--at", "#3"]);
        assert_eq!(code(&refused), Some(2), "{said}");
        assert!(stderr(&refused).contains(said), "{said}: {}", stderr(&refused));
        assert_eq!(fs::read_to_string(&log).unwrap(), text);
    }
}

#[test]
fn what_a_killed_fork_leaves_is_reported_and_taken_away_by_the_next() {
    let bench = bench();
    let log = pi::log(&bench);
    let old = fs::read(&log).unwrap();
    forked(&log, &["--at", "bbbb0001"]);
    let whole = fs::read(&log).unwrap();
    // Cut everywhere, and once as after a power cut.
    let step = 7;
    let mut torn: Vec<Vec<u8>> =
        (old.len() + 1..whole.len()).step_by(step).chain([whole.len() - 1]).map(|cut| whole[..cut].to_vec()).collect();
    let mut hole = whole.clone();
    let seal = memchr::memrchr(b'\n', &whole[..whole.len() - 1]).unwrap();
    hole[old.len()..seal].fill(0);
    torn.push(hole);
    for (n, bytes) in torn.iter().enumerate() {
        fs::write(&log, bytes).unwrap();
        let checked = everlog(&["verify", log.to_str().unwrap()]);
        assert_eq!(code(&checked), Some(1), "{n}");
        assert!(stderr(&checked).contains("follows the log's last good seal"), "{n}: {}", stderr(&checked));
        if n % 3 == 0 {
            let shows = everlog(&["replay", log.to_str().unwrap()]);
            assert_eq!(stdout(&shows).lines().count(), 4, "{n}");
        }
        let done = fork(&log, &["--at", "bbbb0001"]);
        assert_eq!(code(&done), Some(0), "{n}: {}", stderr(&done));
        assert!(stderr(&done).contains("of an unfinished fork"), "{n}: {}", stderr(&done));
        assert!(fs::read(&log).unwrap() == whole, "{n}");
        if n % 5 == 0 {
            fs::write(&log, bytes).unwrap();
            let run = bench.migrate(&[]);
            assert_eq!(code(&run), Some(1), "{n}");
            assert!(stderr(&run).contains("of an unfinished fork"), "{n}: {}", stderr(&run));
            assert!(fs::read(&log).unwrap() == old, "{n}");
            assert_eq!((code(&bench.migrate(&[])), code(&verified(&bench))), (Some(0), Some(0)), "{n}");
            assert!(!bench.dest().join(".everlog/earlier").exists(), "{n}: a leftover was kept");
        }
    }
}

#[test]
fn a_new_log_takes_the_place_of_one_with_a_leftover() {
    let bench = bench();
    let log = pi::log(&bench);
    forked(&log, &["--leaf", "bbbb0001", "--name", "mine"]);
    let one = fs::read(&log).unwrap();
    forked(&log, &["--at", "aaaa0001", "--name", "never"]);
    let two = fs::read(&log).unwrap();
    fs::write(&log, &two[..(one.len() + two.len()) / 2]).unwrap();
    pi::write(&bench, &(two_ways() + &said("dddd0001", "cccc0002", "and on")));
    // Nothing is cut by a run that only tries.
    let before = tree(&bench.dest());
    assert!(stdout(&bench.migrate(&["--dry-run"])).contains("1 changed"));
    assert!(tree(&bench.dest()) == before);
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("of an unfinished fork"), "{}", stderr(&done));
    assert!(!bench.dest().join(".everlog/earlier").exists(), "a leftover was kept");
    assert_eq!(shown(&log, &["--head", "mine"]).len(), 3);
    assert_eq!((code(&bench.migrate(&[])), code(&verified(&bench))), (Some(0), Some(0)));
}

#[test]
fn complete_events_after_a_seal_are_not_removed() {
    let bench = bench();
    let log = pi::log(&bench);
    let good = fs::read_to_string(&log).unwrap();
    let event = format!(
        "{{\"seq\":{},\"type\":\"message\",\"parent\":5,\"payload\":{{\"role\":\"user\",\"content\":[]}}}}\n",
        good.lines().count() + 1
    );
    fs::write(&log, format!("{good}{event}")).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert_eq!(fs::read_to_string(&log).unwrap(), good);
    let earlier: Vec<Vec<u8>> = tree(&bench.dest().join(".everlog/earlier")).into_values().map(|(bytes, _)| bytes).collect();
    assert_eq!(earlier, [format!("{good}{event}").into_bytes()]);
}

#[test]
fn a_fork_takes_the_lock_of_its_store() {
    let bench = bench();
    let log = pi::log(&bench);
    let link = bench.path("link.everlog.jsonl");
    symlink(&log, &link).unwrap();
    let lock = fs::File::options().write(true).open(bench.dest().join(".everlog/lock")).unwrap();
    lock.lock().unwrap();
    for path in [&log, &link] {
        let refused = fork(path, &["--at", "main"]);
        assert_eq!(code(&refused), Some(2));
        assert!(stderr(&refused).contains("another run is writing"), "{}", stderr(&refused));
    }
    lock.unlock().unwrap();
    forked(&link, &["--at", "main"]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(heads(&log), 3);
    // A log by itself is its own lock.
    let alone = bench.path("alone.everlog.jsonl");
    fs::copy(&log, &alone).unwrap();
    let held = fs::File::open(&alone).unwrap();
    held.lock().unwrap();
    assert_eq!(code(&fork(&alone, &["--at", "main"])), Some(2));
    held.unlock().unwrap();
    forked(&alone, &["--at", "main"]);
    assert_eq!(heads(&alone), 4);
}

#[test]
fn forks_are_carried_into_the_log_of_a_source_that_grew() {
    let bench = bench();
    let log = pi::log(&bench);
    let forks = [("bbbb0001", "a"), ("main", "b"), ("aaaa0001", "c"), ("#4", "d")];
    for (at, name) in forks {
        forked(&log, &["--at", at, "--name", name]);
    }
    // An entry before all others, so that every number shifts.
    let grown = two_ways().replacen(&said("aaaa0001", "", "one"), &(said("0000", "", "earlier") + &said("aaaa0001", "", "one")), 1)
        + &said("dddd0001", "cccc0002", "and on");
    pi::write(&bench, &grown);
    let done = bench.migrate(&[]);
    assert_eq!((code(&done), stderr(&done)), (Some(0), String::new()));
    assert!(stdout(&done).contains("1 changed"));
    assert!(!bench.dest().join(".everlog/earlier").exists());
    assert_eq!(code(&verified(&bench)), Some(0), "{}", stderr(&verified(&bench)));
    assert_eq!(shown(&log, &["--head", "a"]), ["one", "two", "the first way"]);
    assert_eq!(shown(&log, &["--head", "b"]), ["one", "two", "the other way", "the last words"]);
    assert_eq!(shown(&log, &["--head", "c"]), ["one"]);
    assert_eq!(shown(&log, &["--head", "d"]), ["one", "two"]);
    assert_eq!(shown(&log, &[]).len(), 5);
    // The same source and the same forks are the same bytes, in whatever order
    // they came about.
    let other = Bench::new();
    pi::write(&other, &grown);
    other.migrate(&[]);
    for (at, name) in [("bbbb0001", "a"), ("cccc0002", "b"), ("aaaa0001", "c"), ("aaaa0002", "d")] {
        forked(&pi::log(&other), &["--at", at, "--name", name]);
    }
    assert!(fs::read(&log).unwrap() == fs::read(pi::log(&other)).unwrap());
    let before = tree(&bench.dest());
    assert_eq!((code(&bench.migrate(&[])), code(&bench.migrate(&["--rehash"]))), (Some(0), Some(0)));
    assert!(tree(&bench.dest()) == before, "the next runs wrote something");
}

#[test]
fn a_fork_whose_node_is_gone_keeps_its_log_until_the_source_has_it_again() {
    let bench = bench();
    let log = pi::log(&bench);
    forked(&log, &["--leaf", "bbbb0001", "--name", "mine"]);
    forked(&log, &["--at", "aaaa0001", "--name", "other"]);
    let old = fs::read(&log).unwrap();
    let without = two_ways().replace(&said("bbbb0001", "aaaa0002", "the first way"), "").replace("\"bbbb0001\"", "\"aaaa0002\"");
    pi::write(&bench, &without);
    let earlier = || -> Vec<Vec<u8>> { tree(&bench.dest().join(".everlog/earlier")).into_values().map(|(bytes, _)| bytes).collect() };
    for run in 0..2 {
        let done = bench.migrate(&["--all-findings"]);
        assert_eq!(code(&done), Some(1), "run {run}");
        assert!(stderr(&done).contains("the fork branch:mine stands on what the source no longer has"), "run {run}: {}", stderr(&done));
        assert_eq!(earlier(), std::slice::from_ref(&old), "run {run}");
        assert_eq!(shown(&log, &["--head", "other"]), ["one"], "run {run}");
        assert_eq!(code(&everlog(&["replay", log.to_str().unwrap(), "--head", "mine"])), Some(2), "run {run}");
    }
    // Growth alone does not bring it back, nor is it forgotten.
    pi::write(&bench, &(without + &said("dddd0001", "cccc0002", "and on")));
    let done = bench.migrate(&["--all-findings"]);
    assert!(stderr(&done).contains("branch:mine") && !stderr(&done).contains("branch:other"), "{}", stderr(&done));
    pi::write(&bench, &(two_ways() + &said("dddd0001", "cccc0002", "and on")));
    let done = bench.migrate(&[]);
    assert_eq!((code(&done), stderr(&done)), (Some(0), String::new()));
    assert!(earlier().is_empty(), "the later log has all of it");
    assert_eq!(shown(&log, &["--head", "mine"]), ["one", "two", "the first way"]);
    assert_eq!(shown(&log, &["--head", "other"]), ["one"]);
    assert_eq!(code(&verified(&bench)), Some(0));
}

#[test]
fn a_node_is_the_one_with_its_id_whatever_it_says_now() {
    let bench = bench();
    let log = pi::log(&bench);
    forked(&log, &["--leaf", "bbbb0001", "--name", "mine"]);
    // The same words elsewhere are another's.
    let other = said("dddd0001", "aaaa0001", "the first way");
    pi::write(&bench, &(two_ways().replace("the first way", "a better way") + &other + &said("eeee0001", "cccc0002", "and on")));
    let done = bench.migrate(&[]);
    assert!(!stderr(&done).contains("fork"), "{}", stderr(&done));
    assert_eq!(shown(&log, &["--head", "mine"]), ["one", "two", "a better way"]);
}

#[test]
fn a_node_whose_id_is_gone_is_the_nearest_that_says_the_same() {
    let bench = bench();
    let log = pi::log(&bench);
    forked(&log, &["--leaf", "bbbb0001", "--name", "mine"]);
    // The same words less deep, as deep, and deeper.
    let source = |second: &str, id: &str| {
        [
            pi::header(),
            said("aaaa0001", "", "one"),
            said("dddd0001", "aaaa0001", "the first way"),
            said("aaaa0002", "aaaa0001", second),
            said("cccc0001", "aaaa0002", "the other way"),
            said("dddd0002", "cccc0001", "the first way"),
            said(id, "aaaa0002", "the first way"),
            said("bbbb0002", id, "its end"),
            said("cccc0002", "cccc0001", "the last words"),
        ]
        .concat()
    };
    for (second, id) in [("two", "ffff0001"), ("too", "ffff0002")] {
        pi::write(&bench, &source(second, id));
        let done = bench.migrate(&[]);
        assert!(!stderr(&done).contains("fork"), "{}", stderr(&done));
        assert_eq!(shown(&log, &["--head", "mine"]), ["one", second, "the first way"]);
    }
}

#[test]
fn a_log_kept_for_a_fork_alone_says_so() {
    let bench = bench();
    let log = pi::log(&bench);
    // A setting is not a fact that would be missed, but a fork may stand on it.
    let level = pi::entry("thinking_level_change", "eeee0001", "cccc0002", "\"thinkingLevel\":\"high\"");
    pi::write(&bench, &(two_ways() + &level));
    bench.migrate(&[]);
    forked(&log, &["--at", "eeee0001"]);
    pi::write(&bench, &(two_ways() + &said("dddd0001", "cccc0002", "and on")));
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("the fork branch:fork-1") && !stderr(&done).contains("0 messages"), "{}", stderr(&done));
    assert_eq!(tree(&bench.dest().join(".everlog/earlier")).len(), 1);
}

#[test]
fn a_name_that_the_source_takes_is_given_way_to() {
    let bench = bench();
    let log = pi::log(&bench);
    // pi's leaves are heads by their ids, so this one is to come.
    forked(&log, &["--at", "aaaa0001", "--name", "dddd0001"]);
    forked(&log, &["--at", "aaaa0002", "--name", "dddd0001-2"]);
    let mut source = two_ways() + &said("dddd0001", "cccc0002", "and on") + &said("eeee0001", "cccc0002", "or on");
    pi::write(&bench, &source);
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("the fork branch:dddd0001 is now branch:dddd0001-"), "{}", stderr(&done));
    assert_eq!(shown(&log, &["--head", "dddd0001"]).last().unwrap(), "and on");
    assert!(!bench.dest().join(".everlog/earlier").exists());
    let texts: Vec<Vec<String>> = ["dddd0001-2", "dddd0001-3"].iter().map(|head| shown(&log, &["--head", head])).collect();
    assert!(texts.contains(&vec!["one".to_owned()]) && texts.contains(&vec!["one".to_owned(), "two".to_owned()]), "{texts:?}");
    // It is said once, and no name changes any more.
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    source += &said("ffff0001", "eeee0001", "further");
    pi::write(&bench, &source);
    let (before, done) = (heads(&log), bench.migrate(&[]));
    assert_eq!((code(&done), heads(&log)), (Some(0), before), "{}", stderr(&done));
}

#[test]
fn a_fork_stays_on_its_own_path_where_others_say_the_same() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(6));
    fs::create_dir(folder.join("branches")).unwrap();
    let with = |word: &str| lines(6).replace("message 2", word);
    fs::write(folder.join("branches/b-edit-0.jsonl"), with("another")).unwrap();
    fs::write(folder.join("branches/c-edit-1.jsonl"), with("yet another")).unwrap();
    bench.migrate(&[]);
    let log = bench.log("chat");
    forked(&log, &["--at", "c-edit-1", "--name", "mine"]);
    let before = shown(&log, &["--head", "mine"]);
    assert_eq!((before.len(), before[2].as_str()), (6, "yet another"));
    fs::write(folder.join("conversation.jsonl"), lines(7)).unwrap();
    // One that sorts before them, so that repeats stand elsewhere.
    fs::write(folder.join("branches/a-edit-2.jsonl"), with("a third")).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert_eq!(shown(&log, &["--head", "mine"]), before);
    assert_eq!(code(&verified(&bench)), Some(0));
    // Where the path is gone, the nearest that says the same.
    fs::remove_file(folder.join("branches/c-edit-1.jsonl")).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(7) + &line("user", "more", 50)).unwrap();
    bench.migrate(&[]);
    assert_eq!(shown(&log, &["--head", "mine"]).len(), 6);
}

#[test]
fn a_forked_log_can_be_retired() {
    let bench = bench();
    forked(&pi::log(&bench), &["--at", "bbbb0001"]);
    let log = fs::read(pi::log(&bench)).unwrap();
    let done = bench.migrate(&["--retire"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(!bench.source().join(pi::NAME).exists());
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(fs::read(pi::log(&bench)).unwrap() == log);
}

#[test]
fn every_session_can_be_forked_anywhere_and_is_still_proven() {
    let mut count = 0;
    for case in all_cases() {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let adapter = unit.found.adapter;
            // What cannot be proven without forks is no matter of theirs.
            let Ok((converted, _)) = convert_and_prove(adapter, &files) else { continue };
            let mut base = LogView::open(converted.log.clone()).unwrap();
            let nodes: Vec<Seq> = (1..=base.last().number()).map(Seq::new).filter(|seq| base.is_node(*seq)).collect();
            let chosen = nodes.iter().step_by((nodes.len() / 6).max(1)).chain(nodes.last());
            let forks: Vec<Fork> = chosen
                .enumerate()
                .map(|(n, node)| Fork { name: HeadName::new(HeadKind::Branch, format!("forked {n}")), node: *node })
                .collect();
            let added = fork_lines(&base, &forks).unwrap();
            let log = [converted.log.as_slice(), &added].concat();
            let mut view = LogView::open(log).unwrap();
            assert!(matches!(view.seal(), SealState::Good { .. }) && !view.was_extended(), "{} {}", case.id(), unit.name);
            prove(&mut view, adapter, &files).unwrap().unwrap_or_else(|d| panic!("{} {}: {d:?}", case.id(), unit.name));
            // Attachments lie in no store here.
            if converted.summary.blobs.is_empty() {
                check_log(&mut view, adapter, &|_, _| false).unwrap().unwrap_or_else(|d| panic!("{} {}: {d:?}", case.id(), unit.name));
            }
            // Carried into the same log they stand where they stood.
            let mut carry = Carry::into_log(&base);
            assert!(carry.take(&mut view, &mut base).unwrap().is_empty());
            assert_eq!(carry.forks(), forks, "{} {}", case.id(), unit.name);
            count += forks.len();
        }
    }
    assert!(count > 100, "only {count} forks were tried");
}

#[test]
fn a_link_in_a_store_is_not_followed() {
    let (bench, other) = (Bench::new(), Bench::new());
    for bench in [&bench, &other] {
        bench.conversation("chat", &lines(3));
        bench.migrate(&[]);
    }
    let before = fs::read(other.log("chat")).unwrap();
    fs::remove_file(bench.log("chat")).unwrap();
    symlink(other.log("chat"), bench.log("chat")).unwrap();
    symlink(other.dest(), bench.dest().join("sub")).unwrap();
    for log in [bench.log("chat"), bench.dest().join("sub/chat.everlog.jsonl")] {
        let done = everlog(&["fork", log.to_str().unwrap(), "--at", "#3"]);
        assert_eq!(code(&done), Some(2), "{}", stdout(&done));
        assert!(stderr(&done).contains("is a symbolic link, where"), "{}", stderr(&done));
        assert_eq!(fs::read(other.log("chat")).unwrap(), before);
    }
}
