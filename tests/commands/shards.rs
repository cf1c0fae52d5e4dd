//! Parts of a larger run: which sessions they take, what they report, and their
//! reports as one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Output;
use support::bench::{Bench, code, lines};
use support::{everlog, stderr, stdout};

fn bench(sessions: u32) -> Bench {
    let bench = Bench::new();
    for n in 0..sessions {
        bench.conversation(&format!("s{n:02}"), &lines(2 + n % 5));
    }
    bench
}

/// Verifies each part into a file.
fn reports(bench: &Bench, of: usize) -> Vec<PathBuf> {
    let dest = bench.dest();
    let report = |k: usize| {
        let part = format!("{k}/{of}");
        let done = everlog(&["verify", dest.to_str().unwrap(), "--json", "--shard", &part]);
        let path = bench.path(&format!("report-{k}-of-{of}"));
        fs::write(&path, &done.stdout).unwrap();
        path
    };
    (1..=of).map(report).collect()
}

fn merge(reports: &[PathBuf], more: &[&str]) -> Output {
    let files: Vec<&str> = reports.iter().map(|path| path.to_str().unwrap()).collect();
    everlog(&[&["verify"], more, &["--merge-reports"], &files].concat())
}

#[test]
fn every_session_is_in_the_report_of_one_part() {
    let bench = bench(20);
    // What belongs to no session is said once.
    fs::write(bench.source().join("notes.txt"), "nobody's").unwrap();
    bench.migrate(&[]);
    let (mut units, mut beyond) = (Vec::new(), 0);
    for k in 1..=4 {
        let part = format!("{k}/4");
        let done = everlog(&["migrate", bench.source().to_str().unwrap(), "--dry-run", "--json", "--shard", &part]);
        let said: Vec<Value> = stdout(&done).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        units.extend(said.iter().filter_map(|line| line["unit"].as_str()).map(str::to_owned));
        let summary = &said.last().unwrap()["summary"];
        assert_eq!(summary["shard"], part.as_str());
        beyond += summary["findings"].as_array().unwrap().len();
    }
    units.sort();
    assert_eq!(units, (0..20).map(|n| format!("s{n:02}")).collect::<Vec<_>>());
    assert_eq!(beyond, 1);
}

#[test]
fn the_reports_of_all_parts_are_the_report_of_one_run() {
    let bench = bench(20);
    bench.migrate(&[]);
    let dest = bench.dest();
    let same = |what: &str| {
        for of in [1, 3, 7] {
            let merged = merge(&reports(&bench, of), &["--json"]);
            let whole = everlog(&["verify", dest.to_str().unwrap(), "--json"]);
            assert_eq!((code(&merged), stdout(&merged)), (code(&whole), stdout(&whole)), "{what}, {of} parts");
        }
    };
    same("all well");
    let text = fs::read_to_string(bench.log("s03")).unwrap();
    fs::write(bench.log("s03"), text.replacen("message 1", "message 7", 1)).unwrap();
    fs::remove_file(bench.log("s05")).unwrap();
    fs::copy(bench.log("s07"), dest.join("stranger.everlog.jsonl")).unwrap();
    same("a changed log, one that is gone, and a strange one");
    let merged = merge(&reports(&bench, 3), &[]);
    assert_eq!(code(&merged), Some(1));
    for told in ["a log was written here, and is gone", "s05.everlog.jsonl", "s03.everlog.jsonl", "stranger.everlog.jsonl"] {
        assert!(stderr(&merged).contains(told), "{told}: {}", stderr(&merged));
    }
    assert!(stdout(&merged).starts_with("20 logs checked in 3 parts: "), "{}", stdout(&merged));
    let receipts = dest.join(".everlog/receipts.jsonl");
    fs::write(&receipts, fs::read_to_string(&receipts).unwrap().replacen("\"format\":\"gptme\"", "\"format\":\"gptma\"", 1)).unwrap();
    same("a damaged receipt");
}

#[test]
fn half_of_a_proof_does_not_pass_for_all_of_it() {
    let bench = bench(12);
    bench.migrate(&[]);
    let (all, others) = (reports(&bench, 3), reports(&bench, 2));
    let refused = |reports: &[PathBuf], why: &str| {
        let done = merge(reports, &[]);
        assert!(code(&done) == Some(2) && stderr(&done).contains(why), "{why}: {:?} {}", done.status, stderr(&done));
    };
    refused(&all[1..], "the report of part 1/3 is missing");
    refused(&[all[0].clone(), all[1].clone(), all[1].clone()], "it is of part 2/3, and so is");
    refused(&[all[0].clone(), others[1].clone()], "it is of part 2/2, and the one before is of 3 parts");
    let text = fs::read_to_string(&all[2]).unwrap();
    let instead = |text: &str| {
        fs::write(bench.path("other"), text).unwrap();
        [all[0].clone(), all[1].clone(), bench.path("other")]
    };
    let first = text.lines().next().unwrap();
    refused(&instead(text.strip_prefix(first).unwrap().trim_start()), "its last line counts");
    refused(&instead(&format!("{first}\n")), "that run was cut short");
    refused(&instead(&text[..text.len() - 1]), "it ends in the middle of a line");
    refused(&instead(&format!("{text}{first}\n")), "it goes on after its last line");
    refused(&instead("[1]\n"), "a line of it is something else");
    refused(&instead(""), "its last line is missing");
    let seal = everlog(&["verify", bench.dest().to_str().unwrap(), "--json", "--shard", "3/3", "--level", "seal"]);
    refused(&instead(&stdout(&seal)), "`--level seal`");
    let whole = everlog(&["verify", bench.dest().to_str().unwrap(), "--json"]);
    fs::write(bench.path("other"), &whole.stdout).unwrap();
    refused(&[bench.path("other")], "it is not of a part");
}

#[test]
fn a_part_is_named_as_one() {
    let bench = bench(1);
    for wrong in ["0/2", "3/2", "x", "1/0"] {
        let done = bench.migrate(&["--shard", wrong]);
        assert!(code(&done) == Some(2) && stderr(&done).contains("K/N"), "{wrong}: {}", stderr(&done));
    }
    let done = bench.migrate(&["--shard", "1/2", "--retire"]);
    assert_eq!(code(&done), Some(2), "{}", stderr(&done));
    assert!(!bench.dest().exists());
}

#[test]
fn receipts_become_one_file_and_what_is_damaged_is_said() {
    let bench = bench(8);
    for k in 1..=2 {
        assert_eq!(code(&bench.migrate(&["--shard", &format!("{k}/2")])), Some(0));
    }
    let file = bench.dest().join(".everlog/receipts-2-of-2.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().count() > 1 && text.contains("\"revision\":1"), "{text}");
    fs::write(&file, text.replacen("gptme", "gptma", 1)).unwrap();
    let dest = bench.dest();
    let verified = everlog(&["verify", dest.to_str().unwrap()]);
    assert!(code(&verified) == Some(1) && stderr(&verified).contains("receipts-2-of-2.jsonl:1"), "{}", stderr(&verified));
    let compacted = everlog(&["store", "compact", dest.to_str().unwrap(), "--json"]);
    let said: Value = serde_json::from_str(stdout(&compacted).trim()).unwrap();
    assert_eq!((code(&compacted), &said["receipts"], &said["parts"], &said["damaged"]), (Some(1), &7.into(), &2.into(), &1.into()));
    assert!(stderr(&compacted).contains("[receipt_damaged]"), "{}", stderr(&compacted));
    let left: Vec<String> = support::tree(&dest.join(".everlog")).into_keys().filter(|name| name != "lock").collect();
    assert_eq!(left, ["receipts.jsonl", "sources.json"]);
    // Once more there is nothing to do, and nothing is touched.
    let before = support::tree(&dest);
    assert_eq!(code(&everlog(&["store", "compact", dest.to_str().unwrap()])), Some(0));
    assert!(support::tree(&dest) == before);
    assert_eq!(code(&everlog(&["store", "compact", bench.source().to_str().unwrap()])), Some(2));
}
