//! Logs made or changed by somebody else, and sources that nobody expects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use support::bench::{Bench, code, lines};
use support::forged::sealed;
use support::{everlog, figure, stderr, stdout, tree};

/// A good log's lines without its seal.
fn good_log(bench: &Bench) -> Vec<String> {
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    log.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect()
}

fn write(bench: &Bench, text: &str) -> PathBuf {
    let path = bench.path("hostile.everlog.jsonl");
    fs::write(&path, text).unwrap();
    path
}

/// Runs a command on a log that must not make it panic, hang or write much.
fn survives(words: &[&str]) -> (Option<i32>, String) {
    let began = Instant::now();
    let done = everlog(words);
    assert!(began.elapsed() < Duration::from_secs(20), "{words:?} takes too long");
    assert!(!stderr(&done).contains("panicked"), "{}", stderr(&done));
    assert!(matches!(code(&done), Some(0..=2)), "{words:?}: {:?}", done.status);
    (code(&done), stderr(&done))
}

#[test]
fn a_log_that_lies_is_found_out() {
    let bench = Bench::new();
    let good = good_log(&bench);
    let replaced = |from: &str, to: &str| -> Vec<String> {
        let changed: Vec<String> = good.iter().map(|line| line.replace(from, to)).collect();
        assert!(changed != good, "{from} is not in the log");
        changed
    };
    let gap = "\"recipe\":[{\"gap\":\"xxxxxxxx\",\"times\":1000000000000000}]";
    let cases = [
        ("a head that is not there", replaced("\"active\":\"branch:main\"", "\"active\":\"branch:nope\"")),
        ("a checkpoint with other bytes", replaced("\"path\":[[2,5,", "\"path\":[[2,5,1")),
        ("a checkpoint beyond the file", replaced("\"path\":[[2,5,", "\"path\":[[2,5,0,1152921504606846976],[2,5,")),
        ("a recipe beyond the log", replaced("\"recipe\":[[2,5]]", "\"recipe\":[[2,4000000000]]")),
        ("a recipe of nothing", replaced("\"recipe\":[[2,5]]", "\"recipe\":[]")),
        (
            "a recipe of itself",
            replaced("\"recipe\":[[2,5]]", "\"recipe\":[{\"residual\":9},{\"snapshot\":8,\"ts\":\"\",\"source_id\":1}]"),
        ),
        ("a gap without end", replaced("\"recipe\":[[2,5]]", gap)),
        (
            "a gap without end and size",
            replaced("\"recipe\":[[2,5]]", gap).iter().map(|line| line.replace("\"size\":", "\"length\":")).collect(),
        ),
        ("a shape that is not there", replaced("\"text\":\"message 2\"}]", "\"text\":\"message 2\"}],\"shape\":7")),
        ("a parent that comes later", replaced("\"parent\":2", "\"parent\":5")),
        ("a parent that is no node", replaced("\"parent\":2", "\"parent\":1")),
        (
            "a repeat of what comes later",
            replaced("\"type\":\"outcome\",\"payload\":{", "\"type\":\"repeat\",\"payload\":{\"first\":7,\"last\":7,"),
        ),
        (
            "a repeat of no message",
            replaced("\"type\":\"outcome\",\"payload\":{", "\"type\":\"repeat\",\"payload\":{\"first\":1,\"last\":1,"),
        ),
        ("a number that is none", replaced("\"seq\":3,", "\"seq\":99999999999999999999,")),
        ("no file", good.iter().filter(|line| !line.contains("\"type\":\"file\"")).cloned().collect()),
        (
            "a second session",
            good.iter().cloned().chain([good[0].replace("\"seq\":1,", &format!("\"seq\":{},", good.len() + 1))]).collect(),
        ),
        (
            "content that is nested for ever",
            replaced(
                "[{\"type\":\"text\",\"text\":\"message 2\"}]",
                &format!("{}{}", "[{\"type\":\"tool_result\",\"content\":".repeat(50_000), "}]".repeat(50_000)),
            ),
        ),
    ];
    for (n, (what, body)) in cases.iter().enumerate() {
        let log = write(&bench, &sealed(body));
        let (code, said) = survives(&["verify", log.to_str().unwrap()]);
        assert_eq!(code, Some(1), "verify does not notice {what}: {said}");
        let back = bench.path(&format!("back-{n}"));
        survives(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()]);
        let written: usize = tree(&back).values().map(|(bytes, _)| bytes.len()).sum();
        assert!(written < 1_000_000, "{what}: {written} bytes were written");
        survives(&["replay", log.to_str().unwrap(), "--last", "2"]);
        survives(&["replay", log.to_str().unwrap(), "--as", "source"]);
        survives(&["replay", log.to_str().unwrap(), "--json", "--salvage"]);
    }
    figure("hostile logs", cases.len());
}

#[test]
fn repeats_that_multiply_are_cut_short() {
    let bench = Bench::new();
    let good = good_log(&bench);
    let mut body: Vec<String> = good.iter().take(5).cloned().collect();
    let mut parent = 5;
    for seq in 6..30_006 {
        body.push(format!("{{\"seq\":{seq},\"type\":\"repeat\",\"parent\":{parent},\"payload\":{{\"first\":2,\"last\":5}}}}"));
        parent = seq;
    }
    body.push("{\"seq\":30006,\"type\":\"outcome\",\"payload\":{\"active\":\"branch:main\"}}".to_owned());
    let piece = format!("{{\"snapshot\":{parent},\"ts\":\"\",\"source_id\":1}}");
    body.push(format!("{{\"seq\":30007,\"type\":\"file\",\"payload\":{{\"path\":\"events.jsonl\",\"kind\":\"file\",\"size\":10,\"sha256\":\"0\",\"holds\":\"events\",\"recipe\":[{piece}]}}}}"));
    let log = write(&bench, &sealed(&body));
    assert_eq!(survives(&["verify", log.to_str().unwrap()]).0, Some(1));
    let back = bench.path("back");
    assert_eq!(survives(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()]).0, Some(2));
}

#[test]
fn what_stands_before_the_last_good_seal_is_good() {
    let bench = Bench::new();
    let good = sealed(&good_log(&bench));
    for after in ["garbage\n", "{\"seq\":10,\"type\":\"message\",\"parent\":5,\"payload\":{\"role\":\"user\",\"content\":[]}}\n", "{\"se"] {
        let log = write(&bench, &format!("{good}{after}"));
        let shown = everlog(&["replay", log.to_str().unwrap(), "--as", "source"]);
        assert_eq!((code(&shown), stdout(&shown)), (Some(1), lines(4)), "{after}");
        assert!(stderr(&shown).contains("follows this log's last good seal"));
        assert_eq!(code(&everlog(&["verify", log.to_str().unwrap()])), Some(1));
    }
}

#[test]
fn a_branch_that_was_added_to_a_log_is_carried_into_the_next_one() {
    let bench = Bench::new();
    let first = sealed(&good_log(&bench));
    let mut body: Vec<String> = first.lines().map(str::to_owned).collect();
    body.push(format!(
        "{{\"seq\":{},\"type\":\"head\",\"payload\":{{\"kind\":\"branch\",\"name\":\"my-fork\",\"node\":3,\"op\":\"branch\"}}}}",
        body.len() + 1
    ));
    let forked = sealed(&body);
    fs::write(bench.log("chat"), &forked).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let log = bench.log("chat");
    let shown = everlog(&["replay", log.to_str().unwrap(), "--head", "my-fork"]);
    assert_eq!(code(&shown), Some(0), "{}", stderr(&shown));
}

#[test]
fn the_quick_way_to_the_last_messages_knows_versions_too() {
    let bench = Bench::new();
    let newer: Vec<String> = good_log(&bench).iter().map(|line| line.replace("\"version\":1", "\"version\":2")).collect();
    let log = write(&bench, &sealed(&newer));
    assert_eq!(survives(&["replay", log.to_str().unwrap(), "--last", "1"]).0, Some(2));
}

#[test]
fn names_that_look_alike_are_told_apart() {
    let bench = Bench::new();
    let names = [&b"u\xff"[..], b"u\xfe"];
    for (n, name) in names.iter().enumerate() {
        let folder = bench.source().join(OsStr::from_bytes(name));
        fs::create_dir_all(folder.join("attachments")).unwrap();
        fs::write(folder.join("conversation.jsonl"), lines(2 + n as u32)).unwrap();
        for attachment in [&b"x\xff.png"[..], b"x\xfe.png"] {
            fs::write(folder.join("attachments").join(OsStr::from_bytes(attachment)), [name, attachment].concat()).unwrap();
        }
    }
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert_eq!(tree(&bench.dest().join(".everlog/blobs")).len(), 4);
    let (dest, source, back) = (bench.dest(), bench.source(), bench.path("back"));
    let verified = everlog(&["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()]);
    assert_eq!(code(&verified), Some(0), "{}", stderr(&verified));
    assert_eq!(code(&everlog(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    for name in names {
        let file = Path::new(OsStr::from_bytes(name)).join("attachments").join(OsStr::from_bytes(b"x\xfe.png"));
        assert_eq!(fs::read(back.join(&file)).unwrap(), fs::read(source.join(&file)).unwrap());
    }
    assert!(stdout(&bench.migrate(&[])).contains("2 unchanged"));
    bench.migrate(&["--retire"]);
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert!(names.iter().all(|name| source.join(OsStr::from_bytes(name)).join("conversation.jsonl").exists()));
}

#[test]
fn many_branches_and_many_events_cost_what_they_are() {
    let bench = Bench::new();
    let folder = bench.conversation("branches", &lines(3));
    fs::create_dir(folder.join("branches")).unwrap();
    for n in 0..1_500 {
        fs::write(folder.join(format!("branches/b{n}.jsonl")), lines(3)).unwrap();
    }
    let event = |seq: u32| {
        let message = format!("{{\"role\": \"user\", \"content\": \"event {seq}\", \"timestamp\": \"2026-01-01T00:00:00\"}}");
        (
            format!("{message}\n"),
            format!(
                "{{\"seq\": {seq}, \"ts\": \"2026-01-01T00:00:00+00:00\", \"type\": \"message_append\", \"payload\": {{\"message\": {message}}}}}\n"
            ),
        )
    };
    let (messages, events): (Vec<String>, Vec<String>) = (1..40_001).map(event).unzip();
    let folder = bench.conversation("events", &messages.concat());
    fs::write(folder.join("events.jsonl"), events.concat()).unwrap();
    let began = Instant::now();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn nothing_chosen_is_not_nothing_found() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(1));
    let done = bench.migrate(&["--include", "other*"]);
    assert_eq!((code(&done), stdout(&done).as_str()), (Some(0), "0 of 1 session chosen: nothing to do\n"));
}

#[test]
fn a_single_file_goes_beside_its_folder_by_itself() {
    let bench = Bench::new();
    let file = bench.conversation("chat", &lines(1)).join("conversation.jsonl");
    let done = everlog(&["migrate", file.to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(bench.source().join("chat.everlog/chat.everlog.jsonl").exists());
}

#[test]
fn quiet_says_only_what_went_wrong() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(1));
    let done = bench.migrate(&["--quiet"]);
    assert_eq!((stdout(&done).as_str(), stderr(&done).as_str()), ("", ""));
}
