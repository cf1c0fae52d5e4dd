//! `everlog restore` and `replay --all` know which logs a store should have, and a
//! log that is damaged keeps no other log's file back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::bench::{Bench, code, lines};
use support::{everlog, stderr, stdout};

#[test]
fn a_log_that_the_receipts_name_and_is_not_there_is_missed() {
    let bench = Bench::new();
    for name in ["a", "b", "sub/c"] {
        bench.conversation(name, &lines(2));
    }
    bench.migrate(&[]);
    let log = bench.log("b");
    let good = fs::read(&log).unwrap();
    let store = bench.dest();
    fs::write(bench.path("elsewhere"), &good).unwrap();
    let ways: [(&str, &dyn Fn()); 4] = [
        ("gone", &|| {}),
        ("link", &|| symlink(bench.path("elsewhere"), &log).unwrap()),
        ("folder", &|| fs::create_dir(&log).unwrap()),
        ("pipe", &|| assert!(std::process::Command::new("mkfifo").arg(&log).status().unwrap().success())),
    ];
    for (way, make) in ways {
        fs::remove_file(&log).unwrap();
        make();
        let out = bench.path(&format!("restored-{way}"));
        let done = everlog(&["restore", store.to_str().unwrap(), "-o", out.to_str().unwrap()]);
        let said = stdout(&done) + &stderr(&done);
        assert_eq!(code(&done), Some(1), "{way}: {said}");
        assert!(said.contains("b.everlog.jsonl") && said.contains("; 1 log missing"), "{way}: {said}");
        assert!(out.join("a/conversation.jsonl").is_file() && !out.join("b").exists(), "{way}: {said}");
        let kept = bench.path(&format!("kept-{way}"));
        let done = everlog(&["replay", store.to_str().unwrap(), "--all", "--out", kept.to_str().unwrap()]);
        let said = stdout(&done) + &stderr(&done);
        assert!(code(&done) == Some(1) && said.contains("b.everlog.jsonl") && said.contains("1 log missing"), "{way}: {said}");
        // A part of the store, and a log alone, are what was asked for.
        for part in [store.join("sub"), bench.log("a")] {
            let done = everlog(&["restore", part.to_str().unwrap(), "-o", bench.path(&format!("part-{way}")).to_str().unwrap()]);
            assert_eq!(code(&done), Some(0), "{way}: {}{}", stdout(&done), stderr(&done));
        }
        fs::remove_dir_all(bench.path(&format!("part-{way}"))).unwrap();
        if log.is_dir() {
            fs::remove_dir(&log).unwrap()
        } else {
            let _ = fs::remove_file(&log);
        }
        fs::write(&log, &good).unwrap();
    }
    let twice = everlog(&[
        "restore",
        bench.log("a").to_str().unwrap(),
        bench.log("a").to_str().unwrap(),
        "-o",
        bench.path("twice").to_str().unwrap(),
    ]);
    assert!(stdout(&twice).contains("from 1 log "), "{}", stdout(&twice));
}

#[test]
fn a_damaged_log_keeps_no_file_of_an_intact_one_back() {
    let bench = Bench::new();
    let source = bench.source();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw/plain/input"), &source);
    // Its program writes the meta file first: then there are two logs with it.
    let transcript = source.join("agent_main_cli_direct_kettle.jsonl");
    let messages = fs::read(&transcript).unwrap();
    fs::remove_file(&transcript).unwrap();
    bench.migrate(&[]);
    fs::write(&transcript, &messages).unwrap();
    bench.migrate(&[]);
    let log = bench.dest().join("agent_main_cli_direct_kettle.jsonl.everlog.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let restore = |to: &str| {
        let out = bench.path(to);
        let done = everlog(&["restore", bench.dest().to_str().unwrap(), "-o", out.to_str().unwrap(), "--json"]);
        (code(&done), stdout(&done), out)
    };
    let (exit, said, out) = restore("whole");
    assert_eq!(exit, Some(0), "{said}");
    assert!(out.join("agent_main_cli_direct_kettle.jsonl").is_file() && out.join("agent_main_cli_direct_kettle.meta.json").is_file());
    fs::write(&log, text.replacen("\"text\":\"", "\"text\":\"Z", 1)).unwrap();
    let (exit, said, out) = restore("damaged");
    assert_eq!(exit, Some(1), "{said}");
    assert!(!out.join("agent_main_cli_direct_kettle.jsonl").exists(), "{said}");
    let meta = fs::read(out.join("agent_main_cli_direct_kettle.meta.json")).expect(&said);
    assert_eq!(meta, fs::read(source.join("agent_main_cli_direct_kettle.meta.json")).unwrap());
}

#[test]
fn names_that_are_not_utf8_are_exact_in_json() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let folder = bench.source().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(2)).unwrap();
    bench.migrate(&[]);
    let empty = bench.path("empty/other");
    fs::create_dir_all(&empty).unwrap();
    fs::write(empty.join("conversation.jsonl"), support::bench::line("user", "x", 1)).unwrap();
    let (store, source) = (bench.dest(), bench.source());
    let [store, source, empty] = [&store, &source, &bench.path("empty")].map(|path| path.to_str().unwrap().to_owned());
    let out = bench.path("out").to_str().unwrap().to_owned();
    let commands: [(&[&str], &str); 4] = [
        (&["verify", &store, "--json"], "\"log_b64\":"),
        (&["restore", &store, "-o", &out, "--json"], "\"log_b64\":"),
        (&["contains", &source, &empty, "--json"], "\"session_b64\":\"Y2Fm6Q==\""),
        (&["contains", &store, &empty, "--json"], "\"session_b64\":\"Y2Fm6Q==\""),
    ];
    for (words, wanted) in commands {
        let said = stdout(&everlog(words));
        assert!(said.contains(wanted), "{words:?}: {said}");
    }
}
