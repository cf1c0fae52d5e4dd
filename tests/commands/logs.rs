//! What the commands make of logs: good ones, old ones, newer ones, and ones that
//! are not as they were sealed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use support::bench::{Bench, code, line, lines};
use support::{everlog, stderr, stdout, tree};

#[test]
fn restore_overwrites_nothing_and_stays_inside() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    let back = bench.path("back");
    let restore = |log: &Path| everlog(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(code(&restore(&bench.log("chat"))), Some(0));
    fs::write(back.join("chat/conversation.jsonl"), "mine").unwrap();
    let refused = restore(&bench.log("chat"));
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("exists already"), "{}", stderr(&refused));
    assert_eq!(fs::read(back.join("chat/conversation.jsonl")).unwrap(), b"mine");
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    for bad in ["../escaped", "/tmp/escaped", "a/../../escaped", "a//b", "."] {
        let hostile = bench.path("hostile.everlog.jsonl");
        fs::write(&hostile, log.replace("\"path\":\"conversation.jsonl\"", &format!("\"path\":\"{bad}\""))).unwrap();
        let refused = restore(&hostile);
        assert_eq!(code(&refused), Some(2), "{bad}");
        assert!(stderr(&refused).contains("leads out"), "{bad}: {}", stderr(&refused));
    }
    // A link in the way must not lead out either.
    let elsewhere = bench.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let target = bench.path("other");
    fs::create_dir(&target).unwrap();
    symlink(&elsewhere, target.join("chat")).unwrap();
    let refused = everlog(&["restore", bench.log("chat").to_str().unwrap(), "-o", target.to_str().unwrap()]);
    assert_eq!(code(&refused), Some(2));
    assert!(fs::read_dir(&elsewhere).unwrap().next().is_none());
}

#[test]
fn restored_files_have_their_permissions_and_times() {
    let bench = Bench::new();
    let file = bench.conversation("chat", &lines(2)).join("conversation.jsonl");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    support::set_mtime(&file, 1_650_000_000_123_456_789);
    bench.migrate(&[]);
    assert_eq!(fs::metadata(bench.log("chat")).unwrap().permissions().mode() & 0o777, 0o600);
    let back = bench.path("back");
    everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    let meta = fs::metadata(back.join("chat/conversation.jsonl")).unwrap();
    assert_eq!(meta.permissions().mode() & 0o777, 0o640);
    assert_eq!(meta.modified().unwrap(), fs::metadata(&file).unwrap().modified().unwrap());
}

#[test]
fn attachments_are_stored_once_and_checked() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        let folder = bench.conversation(name, &lines(1));
        fs::create_dir(folder.join("files")).unwrap();
        fs::write(folder.join("files/0123456789abcdef.bin"), b"\xff\xfe attachment").unwrap();
    }
    bench.migrate(&[]);
    let blobs = tree(&bench.dest().join(".everlog/blobs"));
    assert_eq!(blobs.len(), 1);
    let verify = || everlog(&["verify", bench.dest().to_str().unwrap()]);
    assert_eq!(code(&verify()), Some(0));
    fs::write(bench.dest().join(".everlog/blobs").join(blobs.keys().next().unwrap()), "other").unwrap();
    let broken = verify();
    assert_eq!(code(&broken), Some(1));
    assert!(stderr(&broken).contains("attachment"), "{}", stderr(&broken));
    let back = bench.path("back");
    let refused = everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("missing or damaged"));
}

#[test]
fn a_log_that_ends_otherwise_than_its_receipt_says_is_written_again() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let good = fs::read_to_string(bench.log("chat")).unwrap();
    let hash = good.rsplit("\"sha256\":\"").next().unwrap().trim_end_matches("\"}}\n");
    assert_eq!(hash.len(), 64);
    let (shorter, last) = (&good[..good.len() - 1], good.trim_end().rsplit('\n').next().unwrap());
    for (what, log) in [
        ("another hash", good.replace(hash, &hash.chars().rev().collect::<String>())),
        ("another end of the same length", format!("{shorter} ")),
        ("no last byte", shorter.to_owned()),
        ("only its last line", format!("{last}\n")),
        ("nothing", String::new()),
    ] {
        fs::write(bench.log("chat"), &log).unwrap();
        bench.migrate(&[]);
        assert!(fs::read_to_string(bench.log("chat")).unwrap() == good, "{what}");
    }
    // And where it ends as it did, nothing is.
    assert!(stdout(&bench.migrate(&["--json"])).contains("\"status\":\"unchanged\""));
}

#[test]
fn verify_tells_apart_what_can_be_wrong_with_a_log() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let good = fs::read_to_string(bench.log("chat")).unwrap();
    let check = |log: &str| {
        fs::write(bench.log("chat"), log).unwrap();
        let done = everlog(&["verify", bench.dest().to_str().unwrap()]);
        (code(&done), stderr(&done))
    };
    assert_eq!(check(&good).0, Some(0));
    let cases: [(&str, String, &str); 6] = [
        ("an altered byte", good.replace("message 2", "message 3"), "not those that were sealed"),
        ("a missing seal", good.lines().take(good.lines().count() - 1).map(|line| format!("{line}\n")).collect(), "no seal"),
        ("a torn tail", good[..good.len() - 10].to_owned(), "no seal"),
        ("something after the seal", format!("{good}{{\"seq\":"), "follows the log's last good seal"),
        ("a newer version", good.replace("\"version\":1", "\"version\":7"), "version 7 is newer"),
        ("a missing line", good.lines().filter(|line| !line.contains("message 2")).map(|line| format!("{line}\n")).collect(), "has seq"),
    ];
    for (what, log, said) in cases {
        let (code, text) = check(&log);
        assert_eq!(code, Some(if what == "a newer version" { 2 } else { 1 }), "{what}");
        assert!(text.contains(said), "{what}: {text}");
    }
    // The next run puts it right, and keeps what it cannot judge.
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert_eq!(fs::read_to_string(bench.log("chat")).unwrap(), good);
    assert_eq!(tree(&bench.dest().join(".everlog/earlier")).len(), 1);
}

#[test]
fn a_log_of_a_newer_version_is_never_replaced() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let newer = fs::read_to_string(bench.log("chat")).unwrap().replace("\"version\":1", "\"version\":7");
    fs::write(bench.log("chat"), &newer).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(5)).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("newer than this build"), "{}", stderr(&done));
    assert_eq!(fs::read_to_string(bench.log("chat")).unwrap(), newer);
}

#[test]
fn an_unknown_event_type_is_passed_over() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    let count = log.lines().count();
    let seal = log.lines().last().unwrap();
    let body: String = log.lines().take(count - 1).map(|line| format!("{line}\n")).collect();
    let with_unknown = format!("{body}{{\"seq\":{count},\"type\":\"hologram\",\"payload\":{{\"x\":1}}}}\n");
    let sha = everlog::model::digest::sha256_hex(with_unknown.as_bytes());
    let checkpoint: Value = serde_json::from_str(seal).unwrap();
    let seal = format!(
        "{{\"seq\":{},\"type\":\"seal\",\"payload\":{{\"events\":{count},\"checkpoint\":{},\"sha256\":\"{sha}\"}}}}\n",
        count + 1,
        checkpoint["payload"]["checkpoint"]
    );
    fs::write(bench.log("chat"), format!("{with_unknown}{seal}")).unwrap();
    // Its receipt would say that it is another log.
    fs::remove_dir_all(bench.dest().join(".everlog")).unwrap();
    let done = everlog(&["verify", bench.log("chat").to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert_eq!(stdout(&everlog(&["replay", bench.log("chat").to_str().unwrap()])).lines().count(), 2);
}

#[test]
fn verify_against_the_source_finds_a_changed_source() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    bench.conversation("new", &lines(1));
    bench.migrate(&["--include", "chat"]);
    fs::write(folder.join("conversation.jsonl"), lines(4).replace("message 2", "message X")).unwrap();
    let junit = bench.path("report.xml");
    let (dest, source) = (bench.dest(), bench.source());
    let args = ["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap(), "--junit", junit.to_str().unwrap(), "--github"];
    let done = everlog(&args);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("chat/conversation.jsonl:3:38\n  rebuilt from line 4 of the log"), "{}", stderr(&done));
    assert!(stderr(&done).contains("message X") && stderr(&done).contains("message 2"), "{}", stderr(&done));
    assert!(stdout(&done).contains("chat/conversation.jsonl,line=3,col=38,"), "{}", stdout(&done));
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("tests=\"2\" failures=\"2\"") && xml.contains("<failure type=\"no_log\""), "{xml}");
    let quiet = everlog(&[&args[..4], &["--no-content"]].concat());
    assert!(!stderr(&quiet).contains("message X"), "{}", stderr(&quiet));
}

#[test]
fn replay_shows_heads_states_and_ends() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(5));
    fs::create_dir(folder.join("branches")).unwrap();
    fs::write(folder.join("branches/alt.jsonl"), format!("{}{}", lines(2), line("user", "other", 50))).unwrap();
    let hidden = line("system", "ui", 51).replace("}\n", ", \"ui_only\": true}\n");
    fs::write(folder.join("conversation.jsonl"), format!("{}{hidden}", lines(5))).unwrap();
    bench.migrate(&[]);
    let log = bench.log("chat");
    let replay = |more: &[&str]| stdout(&everlog(&[&["replay", log.to_str().unwrap()], more].concat()));
    assert_eq!(replay(&[]).lines().count(), 6);
    assert_eq!(replay(&["--context"]).lines().count(), 5);
    assert_eq!(replay(&["--head", "alt", "--as", "source"]).lines().last().unwrap().trim_end(), line("user", "other", 50).trim_end());
    assert_eq!(replay(&["--at", "3"]).lines().count(), 2);
    let last: Vec<String> = replay(&["--last", "2"]).lines().map(str::to_owned).collect();
    assert_eq!(last, replay(&[]).lines().skip(4).map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(replay(&["--last", "2", "--as", "source"]).lines().count(), 2);
    let missing = everlog(&["replay", log.to_str().unwrap(), "--head", "nosuch"]);
    assert_eq!(code(&missing), Some(2));
    assert!(stderr(&missing).contains("branch:alt"), "{}", stderr(&missing));
}

#[test]
fn a_lost_transcript_is_found_again_in_its_events() {
    let bench = Bench::new();
    let folder = bench.source().join("lost");
    fs::create_dir_all(&folder).unwrap();
    let message = line("user", "still here", 1);
    fs::write(
        folder.join("events.jsonl"),
        format!(
            "{{\"seq\": 1, \"ts\": \"2026-01-01T00:00:00+00:00\", \"type\": \"message_append\", \"payload\": {{\"message\": {}}}}}\n",
            message.trim_end()
        ),
    )
    .unwrap();
    let detected = everlog(&["detect", bench.source().to_str().unwrap()]);
    assert_eq!(code(&detected), Some(1));
    assert!(
        stdout(&detected).contains("its main file is lost") && stderr(&detected).contains("replay --head events:main"),
        "{}",
        stderr(&detected)
    );
    bench.migrate(&[]);
    let shown = everlog(&["replay", bench.log("lost").to_str().unwrap(), "--head", "events:main", "--as", "source"]);
    assert_eq!(stdout(&shown), message);
    assert_eq!(code(&everlog(&["replay", bench.log("lost").to_str().unwrap(), "--as", "source"])), Some(1));
}

#[test]
fn replay_and_restore_say_when_a_log_is_not_as_it_was_sealed() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    fs::write(bench.log("chat"), log.replace("\"pinned\"", "x").replace("message 1\"", "message 7\"")).unwrap();
    let shown = everlog(&["replay", bench.log("chat").to_str().unwrap()]);
    assert_eq!((code(&shown), stdout(&shown).lines().count()), (Some(1), 3));
    assert!(stderr(&shown).contains("altered since it was sealed"));
    // The altered message no longer rebuilds to the hash that the log records.
    let back = bench.path("back");
    let restored = everlog(&["restore", bench.log("chat").to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(code(&restored), Some(2));
    assert!(!back.join("chat/conversation.jsonl").exists());
}
