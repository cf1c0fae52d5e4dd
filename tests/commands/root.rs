//! `everlog verify` of a store as a whole: logs against receipts, the receipts
//! themselves, attachments, and the root that pins a store from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, lines};
use support::{campaign, copy_tree, everlog, stderr, stdout};

fn verify(bench: &Bench, more: &[&str]) -> Output {
    let dest = bench.dest();
    everlog(&[&["verify", dest.to_str().unwrap()], more].concat())
}

/// The verdicts that are not `same`, with what they are about, and the exit code.
fn verdicts(bench: &Bench, more: &[&str]) -> (Vec<(String, String)>, Option<i32>) {
    let done = verify(bench, &[&["--json"], more].concat());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = stdout(&done).lines().map(|row| serde_json::from_str::<Value>(row).unwrap()).collect::<Vec<_>>();
    let rows = rows.iter().filter(|row| row["summary"].is_null() && row["verdict"] != "same");
    (rows.map(|row| (text(&row["log"]), text(&row["verdict"]))).collect(), code(&done))
}

fn row(log: &str, verdict: &str) -> (String, String) {
    (log.to_owned(), verdict.to_owned())
}

/// The root that a command printed for people, or for programs.
fn root_in(done: &Output) -> String {
    let text = stdout(done);
    if let Some(summary) = text.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()) {
        return summary["summary"]["root"].as_str().unwrap().to_owned();
    }
    let at = text.find("root ").unwrap_or_else(|| panic!("no root in {text}")) + "root ".len();
    text[at..at + 64].to_owned()
}

fn two() -> Bench {
    let bench = Bench::new();
    bench.conversation("a", &lines(2));
    bench.conversation("b", &lines(3));
    bench.migrate(&[]);
    bench
}

const RECEIPTS: &str = ".everlog/receipts.jsonl";

#[test]
fn swapped_rolled_back_and_added_logs_are_not_what_receipts_name() {
    let bench = two();
    let (a, b) = (bench.log("a"), bench.log("b"));
    let (old_a, old_b) = (fs::read(&a).unwrap(), fs::read(&b).unwrap());
    assert_eq!(verdicts(&bench, &[]), (vec![], Some(0)));
    fs::write(&a, &old_b).unwrap();
    fs::write(&b, &old_a).unwrap();
    let swapped = (vec![row("a.everlog.jsonl", "other_log"), row("b.everlog.jsonl", "other_log")], Some(1));
    for level in ["seal", "restore", "full"] {
        assert_eq!(verdicts(&bench, &["--level", level]), swapped, "{level}");
    }
    assert!(stderr(&verify(&bench, &[])).contains("not the one that its receipt names"), "{}", stderr(&verify(&bench, &[])));
    // A part of the store, or one log, is judged by the same receipts.
    assert_eq!(code(&everlog(&["verify", a.to_str().unwrap()])), Some(1));
    fs::write(&a, &old_a).unwrap();
    fs::write(&b, &old_b).unwrap();

    bench.conversation("b", &lines(5));
    bench.migrate(&[]);
    assert_eq!(verdicts(&bench, &[]).1, Some(0));
    fs::write(&b, &old_b).unwrap();
    let rolled_back = (vec![row("b.everlog.jsonl", "other_log")], Some(1));
    assert_eq!(verdicts(&bench, &[]), rolled_back);
    let source = bench.source();
    assert_eq!(verdicts(&bench, &["--source", source.to_str().unwrap()]), rolled_back);
    bench.migrate(&["--rehash"]);

    fs::write(bench.log("c"), &old_a).unwrap();
    assert_eq!(verdicts(&bench, &[]), (vec![row("c.everlog.jsonl", "no_receipt")], Some(1)));
    fs::remove_file(bench.log("c")).unwrap();
    symlink(&a, bench.log("c")).unwrap();
    assert_eq!(verdicts(&bench, &[]), (vec![row("c.everlog.jsonl", "no_receipt")], Some(1)));
}

#[test]
fn an_earlier_log_is_the_one_that_was_kept_under_its_name() {
    let bench = Bench::new();
    bench.conversation("a", &lines(4));
    bench.conversation("b", &lines(5));
    bench.migrate(&[]);
    bench.conversation("a", &lines(1));
    bench.conversation("b", &lines(1));
    bench.migrate(&[]);
    let folder = bench.dest().join(".everlog/earlier");
    let mut kept: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    kept.sort();
    assert_eq!((kept.len(), verdicts(&bench, &[])), (2, (vec![], Some(0))));
    let root = root_in(&verify(&bench, &[]));
    fs::copy(&kept[0], &kept[1]).unwrap();
    let (rows, exit) = verdicts(&bench, &[]);
    assert_eq!((rows.len(), rows[0].1.as_str(), exit), (1, "other_log", Some(1)), "{rows:?}");
    fs::remove_file(&kept[1]).unwrap();
    // No receipt knows of it: the root does.
    assert_eq!(verdicts(&bench, &[]).1, Some(0));
    assert_eq!(verdicts(&bench, &["--root", &root]), (vec![row("root", "root_differs")], Some(1)));
}

#[test]
fn a_root_is_printed_and_pins_a_store_from_outside() {
    let bench = Bench::with_tour();
    let migrated = bench.migrate(&[]);
    let root = root_in(&migrated);
    assert!(root.len() == 64 && root.bytes().all(|b| b.is_ascii_hexdigit()), "{root}");
    assert_eq!(root_in(&bench.migrate(&[])), root);
    assert_eq!(root_in(&bench.migrate(&["--json"])), root);
    assert_eq!(root_in(&verify(&bench, &[])), root);
    assert_eq!(root_in(&verify(&bench, &["--json"])), root);
    assert_eq!(code(&verify(&bench, &["--root", &root])), Some(0));
    assert_eq!(code(&verify(&bench, &["--root", &root.to_uppercase(), "--level", "seal"])), Some(0));
    // A part that is looked at leaves the root over all.
    assert_eq!(code(&verify(&bench, &["--root", &root, "--sample", "1%"])), Some(0));
    // What it is not.
    for (words, says) in [(["--root", "12ab"], "64 hex digits"), (["--root", &"g".repeat(64)], "64 hex digits")] {
        let done = verify(&bench, &words);
        assert_eq!(code(&done), Some(2));
        assert!(stderr(&done).contains(says), "{}", stderr(&done));
    }
    let log = bench.log("2026-03-05-writing-gentle-finch");
    let part = everlog(&["verify", log.to_str().unwrap(), "--root", &root]);
    assert!(code(&part) == Some(2) && stderr(&part).contains("part of a store"), "{}", stderr(&part));

    // A log and its receipt go together, and no receipt can tell.
    let receipts = bench.dest().join(RECEIPTS);
    let rest: String = fs::read_to_string(&receipts)
        .unwrap()
        .lines()
        .filter(|line| !line.contains("gentle-finch"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&receipts, rest).unwrap();
    fs::remove_file(&log).unwrap();
    assert_eq!(code(&verify(&bench, &[])), Some(0));
    let done = verify(&bench, &["--root", &root]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains(&format!("not {root}")) && stderr(&done).contains("no receipt tells which"), "{}", stderr(&done));
    assert!(!stderr(&done).contains("--- source"), "{}", stderr(&done));
    // Where receipts can tell, they do.
    let other = bench.dest().join("x.everlog.jsonl");
    fs::write(&other, "x").unwrap();
    assert!(stderr(&verify(&bench, &["--root", &root])).contains("the logs named here are new, gone or others"));
}

#[test]
fn the_same_sources_have_the_same_root_anywhere_and_standard_tools_compute_it() {
    let bench = Bench::with_tour();
    let root = root_in(&bench.migrate(&["--jobs", "1"]));
    let other = Bench::with_tour();
    copy_tree(&bench.source(), &other.path("deeper/logs"));
    let elsewhere = other.path("deeper/elsewhere");
    let done = everlog(&["migrate", other.path("deeper/logs").to_str().unwrap(), "-o", elsewhere.to_str().unwrap(), "--jobs", "4"]);
    assert_eq!(root_in(&done), root);
    // A copy of the logs alone has it too.
    let copy = bench.path("copy");
    copy_tree(&bench.dest(), &copy);
    fs::remove_dir_all(copy.join(".everlog")).unwrap();
    assert_eq!(code(&everlog(&["verify", copy.to_str().unwrap(), "--root", &root])), Some(0));
    if Command::new("sha256sum").arg("--version").output().is_err() {
        return campaign::missing("sha256sum");
    }
    let command = "find . -type f -name '*.everlog.jsonl' -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum -z | sha256sum";
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/howto/ci.md")).unwrap();
    assert!(page.contains(command), "the page shows another command");
    let by_tools = Command::new("sh").args(["-c", command]).current_dir(bench.dest()).output().unwrap();
    assert_eq!(stdout(&by_tools).split_whitespace().next(), Some(root.as_str()));
}

#[test]
fn receipts_that_are_damaged_or_gone_are_reported_and_made_again() {
    let bench = two();
    let receipts = bench.dest().join(RECEIPTS);
    let good = fs::read(&receipts).unwrap();
    assert!(stdout(&bench.migrate(&[])).contains("0 proven now, 2 unchanged since they were proven"));
    let mut flipped = good.clone();
    let at = memchr::memmem::find(&good, b"\"log_bytes\":").unwrap() + "\"log_bytes\":".len();
    flipped[at] ^= 1;
    fs::write(&receipts, &flipped).unwrap();
    assert_eq!(verdicts(&bench, &[]), (vec![row(RECEIPTS, "receipt_damaged")], Some(1)));
    assert!(stderr(&verify(&bench, &[])).contains("receipts.jsonl:1:1"), "{}", stderr(&verify(&bench, &[])));
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("the receipt of a is not as it was written"), "{}", stderr(&done));
    assert!(stdout(&done).contains("1 proven now, 1 unchanged since they were proven"), "{}", stdout(&done));
    assert_eq!(fs::read(&receipts).unwrap(), good);
    assert_eq!((code(&bench.migrate(&[])), verdicts(&bench, &[])), (Some(0), (vec![], Some(0))));
    fs::remove_file(&receipts).unwrap();
    assert_eq!(verdicts(&bench, &[]), (vec![row(RECEIPTS, "receipt_damaged")], Some(1)));
    // Against its source a log is proven by itself.
    let source = bench.source();
    assert_eq!(verdicts(&bench, &["--source", source.to_str().unwrap()]), (vec![], Some(0)));
}

#[test]
fn the_lowest_level_checks_attachments_and_takes_no_source() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(1));
    fs::create_dir(folder.join("attachments")).unwrap();
    fs::write(folder.join("attachments/picture.png"), [0x89, 0, 255, 7].repeat(50_000)).unwrap();
    bench.migrate(&[]);
    let mut blobs = Vec::new();
    let mut open = vec![bench.dest().join(".everlog/blobs")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { blobs.push(path) }
        }
    }
    let [blob] = &blobs[..] else { panic!("{blobs:?}") };
    assert_eq!(verdicts(&bench, &["--level", "seal"]), (vec![], Some(0)));
    let mut bytes = fs::read(blob).unwrap();
    bytes[1_000] ^= 4;
    fs::write(blob, &bytes).unwrap();
    let differs = (vec![row("chat.everlog.jsonl", "differs")], Some(1));
    assert_eq!(verdicts(&bench, &["--level", "seal"]), differs);
    fs::remove_file(blob).unwrap();
    assert_eq!(verdicts(&bench, &["--level", "seal"]), differs);
    let source = bench.source();
    let refused = verify(&bench, &["--level", "seal", "--source", source.to_str().unwrap()]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("compares nothing with a source"), "{}", stderr(&refused));
}

#[test]
fn what_was_proven_now_and_what_earlier_is_said_apart() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.conversation(name, &lines(2));
    }
    let first = stdout(&bench.migrate(&[]));
    assert!(first.contains("3 proven now: ") && !first.contains("since they were proven"), "{first}");
    bench.conversation("c", &lines(4));
    let second = stdout(&bench.migrate(&[]));
    assert!(second.contains("\n1 proven now, 2 unchanged since they were proven: ") && second.contains(" 4 messages replay"), "{second}");
    assert!(second.contains("4 messages) names, sizes, times and permissions of files were compared"), "{second}");
    let third = stdout(&bench.migrate(&[]));
    assert!(third.contains("\n0 proven now, 3 unchanged since they were proven; "), "{third}");
    let json: Value = serde_json::from_str(stdout(&bench.migrate(&["--json"])).lines().last().unwrap()).unwrap();
    let summary = &json["summary"];
    assert_eq!((summary["proven_now"].as_u64(), summary["unchanged_since_proven"].as_u64()), (Some(0), Some(3)));
    let again = stdout(&bench.migrate(&["--rehash"]));
    assert!(again.contains("\n3 proven now: ") && again.contains("3 unchanged"), "{again}");
    // Whose bytes had to be read is another matter: they were, and are the same.
    support::set_mtime(&bench.source().join("a/conversation.jsonl"), 1_700_000_000_000_000_000);
    assert!(stdout(&bench.migrate(&[])).contains("0 proven now, 3 unchanged"));
}

#[test]
fn sessions_lists_and_stores_are_counted_apart_by_every_command() {
    let bench = Bench::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openclaw/tour/input"), &bench.source());
    let (source, dest) = (bench.source(), bench.dest());
    let (source, dest) = (source.to_str().unwrap(), dest.to_str().unwrap());
    let migrated = stdout(&bench.migrate(&[]));
    let counted = migrated.split(" (").next().unwrap().to_owned();
    assert!(counted.contains(" session") && counted.contains(", 1 store"), "{migrated}");
    for words in [&["detect", source][..], &["audit", source], &["verify", dest], &["contains", source, dest], &["diff", source, dest]] {
        let said = stdout(&everlog(words));
        assert!(said.contains(&counted), "{words:?} does not say {counted:?}: {said}");
    }
    // Unchanged sessions are counted as what they were.
    assert!(stdout(&bench.migrate(&[])).starts_with(&counted));
    let messages = |words: &[&str]| -> Value {
        let said = stdout(&everlog(words));
        serde_json::from_str::<Value>(said.lines().last().unwrap()).unwrap()["summary"]["messages"].clone()
    };
    // The messages of the branches that programs show.
    assert_eq!(messages(&["verify", dest, "--json"]), messages(&["migrate", source, "-o", dest, "--json"]));
}
