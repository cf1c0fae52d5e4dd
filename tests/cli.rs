//! Exit code, stdout and stderr of the commands, together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::bench::{Bench, code, line, lines, words};
use support::{everlog, stderr, stdout, tree};

#[test]
fn a_clean_migration_says_what_it_did_and_exits_0() {
    let bench = Bench::with_tour();
    let done = bench.migrate(&[]);
    let said = stdout(&done);
    assert_eq!(code(&done), Some(0), "{said}{}", stderr(&done));
    assert!(said.starts_with("3 sessions (gptme): 3 created, 0 changed, 0 unchanged, 0 skipped, 0 failed\n"), "{said}");
    assert!(said.contains("nothing in the source was changed"), "{said}");
    assert_eq!(stderr(&done), "");
    let again = bench.migrate(&[]);
    assert!(stdout(&again).starts_with("3 sessions (gptme): 0 created, 0 changed, 3 unchanged"), "{}", stdout(&again));
}

#[test]
fn json_has_one_object_per_session_and_a_summary() {
    let bench = Bench::with_tour();
    let done = bench.migrate(&["--json"]);
    let rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(rows.len(), 4);
    for row in &rows[..3] {
        for field in
            ["unit", "format", "files", "log", "status", "source_bytes", "log_bytes", "residual_bytes", "messages", "events", "findings"]
        {
            assert!(!row[field].is_null(), "{field} is missing in {row}");
        }
        assert!(bench.dest().join(row["log"].as_str().unwrap()).is_file());
        assert_eq!(fs::metadata(bench.dest().join(row["log"].as_str().unwrap())).unwrap().len(), row["log_bytes"].as_u64().unwrap());
    }
    assert_eq!(rows[3]["summary"]["created"], 3);
}

#[test]
fn a_folder_without_sessions_exits_2_and_says_what_was_looked_for() {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    fs::write(bench.source().join("notes.txt"), "hello").unwrap();
    for command in [vec!["migrate", "@"], vec!["detect", "@"]] {
        let done = everlog(&words(&command, &bench.source()));
        assert_eq!(code(&done), Some(2));
        assert!(stderr(&done).contains("no session found") && stderr(&done).contains("conversation.jsonl"), "{}", stderr(&done));
    }
    assert!(!bench.dest().exists(), "a run that found nothing left a folder");
    let gone = everlog(&["migrate", "/nowhere/at/all"]);
    assert_eq!(code(&gone), Some(2));
    assert!(stderr(&gone).contains("/nowhere/at/all"));
}

#[test]
fn wrong_words_exit_2_with_a_hint() {
    for words in [
        &["migrate"][..],
        &["frobnicate"],
        &["migrate", ".", "--format", "nosuch"],
        &["replay", "x", "--as", "poem"],
        &["migrate", "src", "--since", "soon"],
    ] {
        let done = everlog(words);
        assert_eq!(code(&done), Some(2), "{words:?}");
        assert!(!stderr(&done).is_empty());
    }
    for words in [&["--help"][..], &["--version"], &["migrate", "--help"]] {
        assert_eq!(code(&everlog(words)), Some(0), "{words:?}");
    }
}

#[test]
fn damage_is_carried_shown_with_its_place_and_makes_exit_1() {
    let bench = Bench::new();
    bench.conversation("torn", &format!("{}garbage here\n{}{{\"role\": \"us", lines(2), line("user", "after", 9)));
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    let said = stderr(&done);
    assert!(said.contains("torn/conversation.jsonl:3:1") && said.contains("torn/conversation.jsonl:5:13"), "{said}");
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read(back.join("torn/conversation.jsonl")).unwrap(), fs::read(bench.source().join("torn/conversation.jsonl")).unwrap());
}

#[test]
fn one_bad_session_does_not_stop_the_others() {
    let bench = Bench::new();
    bench.conversation("a-good", &lines(3));
    bench.conversation("b-secret", &lines(3));
    bench.conversation("c-good", &lines(3));
    let secret = bench.source().join("b-secret/conversation.jsonl");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(bench.scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (source, dest) = (bench.source(), bench.dest());
    let args = ["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--json"];
    // The superuser can read everything: then somebody else has to try.
    let done = if fs::read(&secret).is_ok() {
        let ids = ["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_everlog")];
        Command::new("setpriv").args(ids).args(args).env("TMPDIR", bench.scratch.path()).output().unwrap()
    } else {
        everlog(&args)
    };
    assert_eq!(code(&done), Some(1), "{}{}", stdout(&done), stderr(&done));
    let statuses: Vec<String> = stdout(&done)
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap())
        .filter(|row| !row["unit"].is_null())
        .map(|row| row["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(statuses, ["created", "failed", "created"]);
    assert!(stderr(&done).contains("b-secret/conversation.jsonl") && stderr(&done).contains("ermission"), "{}", stderr(&done));
    assert!(!bench.log("b-secret").exists());
}

#[test]
fn a_line_of_100_mb_and_one_nested_10_000_deep_survive() {
    let bench = Bench::new();
    let long = "x".repeat(100 * 1024 * 1024);
    bench.conversation("long", &line("user", &long, 1));
    let deep = format!(
        "{{\"role\": \"user\", \"content\": \"d\", \"timestamp\": \"2026-01-01T00:00:00\", \"metadata\": {{\"a\": {}1{}}}}}\n",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    bench.conversation("deep", &format!("{}{deep}", lines(1)));
    let done = bench.migrate(&["--json"]);
    assert!(!stdout(&done).contains("\"failed\":1"), "{}", stderr(&done));
    assert_eq!(code(&done), Some(1));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    for name in ["long", "deep"] {
        let file = format!("{name}/conversation.jsonl");
        assert!(fs::read(back.join(&file)).unwrap() == fs::read(bench.source().join(&file)).unwrap(), "{name}");
    }
    let shown = everlog(&["replay", bench.log("deep").to_str().unwrap(), "--as", "source"]);
    assert_eq!(code(&shown), Some(1));
    assert!(stderr(&shown).contains("RecursionError"));
    // Our own replay still shows both messages.
    assert_eq!(stdout(&everlog(&["replay", bench.log("deep").to_str().unwrap()])).lines().count(), 2);
}

#[test]
fn links_are_kept_as_links_and_loops_do_not_matter() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    symlink(".", folder.join("loop")).unwrap();
    symlink("../..", bench.source().join("up")).unwrap();
    symlink("/etc", folder.join("workspace")).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let back = bench.path("back");
    everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(fs::read_link(back.join("chat/workspace")).unwrap(), Path::new("/etc"));
    assert_eq!(fs::read_link(back.join("chat/loop")).unwrap(), Path::new("."));
}

#[test]
fn names_that_are_not_utf8_come_back() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let folder = bench.source().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(2)).unwrap();
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff.bin")), b"\xff\x00").unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read(back.join(name).join(std::ffi::OsStr::from_bytes(b"\xff.bin"))).unwrap(), b"\xff\x00");
    assert_eq!(code(&everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()])), Some(0));
}

#[test]
fn a_destination_inside_the_source_is_refused() {
    let bench = Bench::with_tour();
    for dest in [bench.source().join("out"), bench.source(), bench.scratch.path().to_owned()] {
        let done = everlog(&["migrate", bench.source().to_str().unwrap(), "-o", dest.to_str().unwrap()]);
        assert_eq!(code(&done), Some(2));
        assert!(stderr(&done).contains("lie in each other"), "{}", stderr(&done));
    }
    assert!(!bench.source().join("out").exists());
}

#[test]
fn a_full_disk_fails_the_session_and_leaves_nothing_half_written() {
    let bench = Bench::new();
    bench.conversation("large", &line("user", &"y".repeat(300_000), 1));
    bench.conversation("small", &lines(2));
    let run = |limit: &str| {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" migrate \"$1\" -o \"$2\"");
        Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_everlog")]).args([bench.source(), bench.dest()]).output().unwrap()
    };
    let done = run("64");
    assert_eq!(code(&done), Some(1), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("cannot write the log"), "{}", stderr(&done));
    assert!(!bench.log("large").exists() && bench.log("small").exists());
    assert!(tree(&bench.dest()).keys().all(|name| !name.contains("everlog-tmp")), "{:?}", tree(&bench.dest()).keys());
    // With room again the next run finishes the work.
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(bench.log("large").exists());
}

#[test]
fn a_second_writer_is_refused_and_a_dead_one_leaves_no_lock() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let lock = fs::File::options().write(true).open(bench.dest().join(".everlog/lock")).unwrap();
    lock.lock().unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(2));
    assert!(stderr(&done).contains("another run"), "{}", stderr(&done));
    drop(lock);
    assert_eq!(code(&bench.migrate(&[])), Some(0));
}

#[test]
fn a_dry_run_proves_everything_and_writes_nothing() {
    let bench = Bench::with_tour();
    let done = bench.migrate(&["--dry-run"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("3 created") && stdout(&done).contains("dry run"));
    assert!(!bench.dest().exists());
}

#[test]
fn sessions_can_be_chosen_by_name_and_time() {
    let bench = Bench::new();
    for name in ["alpha", "beta", "gamma"] {
        bench.conversation(name, &lines(1));
    }
    support::set_mtime(&bench.source().join("alpha/conversation.jsonl"), 1_000_000_000_000_000_000);
    let units = |more: &[&str]| -> Vec<String> {
        let done = bench.migrate(&[&["--json", "--dry-run"], more].concat());
        stdout(&done).lines().filter_map(|row| serde_json::from_str::<Value>(row).unwrap()["unit"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(units(&["--include", "*a", "--exclude", "g*"]), ["alpha", "beta"]);
    assert_eq!(units(&["--since", "2020-01-01"]), ["beta", "gamma"]);
    assert_eq!(units(&["--since", "1h"]), ["beta", "gamma"]);
    assert_eq!(units(&["--format", "gptme"]).len(), 3);
}

#[test]
fn a_source_that_shrinks_keeps_its_earlier_log_until_a_later_one_has_it_all() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(5));
    bench.migrate(&[]);
    let full = fs::read(bench.log("chat")).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(3)).unwrap();
    let shrunk = bench.migrate(&[]);
    assert_eq!(code(&shrunk), Some(1));
    assert!(stderr(&shrunk).contains("no longer has 2 messages"), "{}", stderr(&shrunk));
    let earlier = || -> Vec<Vec<u8>> { tree(&bench.dest().join(".everlog/earlier")).into_values().map(|(bytes, _)| bytes).collect() };
    assert_eq!(earlier(), [full]);
    fs::write(folder.join("conversation.jsonl"), lines(6)).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(earlier().is_empty(), "the later log has all of it");
    // Growth alone keeps nothing.
    fs::write(folder.join("conversation.jsonl"), lines(9)).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(earlier().is_empty());
}

#[test]
fn a_log_whose_source_is_gone_stays() {
    let bench = Bench::new();
    bench.conversation("kept", &lines(2));
    let gone = bench.conversation("gone", &lines(2));
    bench.migrate(&[]);
    fs::remove_dir_all(gone).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(bench.log("gone").exists());
    let verified = everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()]);
    assert_eq!(code(&verified), Some(0), "{}", stderr(&verified));
    assert!(stdout(&verified).contains("1 without source"));
}

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
        fs::write(folder.join("files/x.bin"), b"\xff\xfe attachment").unwrap();
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
        ("something behind the seal", format!("{good}{{\"seq\":"), "behind the log's last good seal"),
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
    let done = everlog(&["verify", bench.dest().to_str().unwrap()]);
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
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.conversation("chat", &(0..20_000).map(|n| line("user", &format!("{n} {}", "z".repeat(50)), n % 60)).collect::<String>());
    bench.migrate(&[]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["replay", bench.log("chat").to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(code(&done), Some(0));
    assert_eq!(stderr(&done), "");
}

#[test]
fn nothing_in_a_session_reaches_the_terminal_raw() {
    let bench = Bench::new();
    let name = "evil\u{1b}[31m\nname";
    bench.conversation(name, "{\"role\": \"user\", \"content\": \"x\", \"\\u001b]0;owned\\u0007\": 1}\nnot json \u{1b}[2J\n");
    for words in [vec!["detect", "@"], vec!["migrate", "@"]] {
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "@" { bench.scratch.path().join("logs").leak_str() } else { *word }).collect();
        let done = everlog(&words);
        let said = format!("{}{}", stdout(&done), stderr(&done));
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");
    }
}

trait LeakStr {
    fn leak_str(self) -> &'static str;
}

impl LeakStr for PathBuf {
    fn leak_str(self) -> &'static str {
        Box::leak(self.to_str().unwrap().to_owned().into_boxed_str())
    }
}

#[test]
fn completions_manual_and_formats_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let script = everlog(&["completions", shell]);
        assert_eq!(code(&script), Some(0));
        assert!(stdout(&script).contains("migrate"));
    }
    let page = everlog(&["man"]);
    assert!(stdout(&page).contains(".TH everlog 1"));
    let bench = Bench::new();
    assert_eq!(code(&everlog(&["man", "--dir", bench.path("man").to_str().unwrap()])), Some(0));
    assert!(bench.path("man/everlog-migrate.1").is_file());
    assert!(stdout(&everlog(&["formats"])).contains("gptme"));
    assert_eq!(serde_json::from_str::<Value>(stdout(&everlog(&["formats", "--json"])).lines().next().unwrap()).unwrap()["format"], "gptme");
}

#[test]
fn one_session_folder_or_one_file_is_a_source_too() {
    let bench = Bench::with_tour();
    let all = bench.migrate(&[]);
    assert_eq!(code(&all), Some(0));
    let name = fs::read_dir(bench.source()).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap()).min().unwrap();
    for source in [bench.source().join(&name), bench.source().join(&name).join("conversation.jsonl")] {
        let dest = bench.path("single");
        let done = everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
        assert_eq!(code(&done), Some(0), "{}", stderr(&done));
        let log = format!("{name}.everlog.jsonl");
        assert_eq!(fs::read(dest.join(&log)).unwrap(), fs::read(bench.dest().join(&log)).unwrap());
        fs::remove_dir_all(dest).unwrap();
    }
}

#[test]
fn special_files_are_reported_and_not_opened() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    let made = Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap();
    assert!(made.success());
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("chat/pipe"), "{}", stderr(&done));
}

#[test]
fn a_linked_transcript_is_not_followed_and_not_passed_over() {
    let bench = Bench::new();
    let folder = bench.source().join("linked");
    fs::create_dir_all(&folder).unwrap();
    fs::write(bench.path("secret.jsonl"), lines(2)).unwrap();
    symlink(bench.path("secret.jsonl"), folder.join("conversation.jsonl")).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("a link, which is not followed"), "{}", stderr(&done));
    assert!(!fs::read_to_string(bench.log("linked")).unwrap().contains("message 1"));
}

#[test]
fn empty_folders_come_back() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(1));
    fs::create_dir_all(folder.join("a/b/c")).unwrap();
    fs::create_dir_all(folder.join("branches/alt")).unwrap();
    fs::write(folder.join("branches/alt/.events.jsonl.lock"), "").unwrap();
    bench.migrate(&[]);
    let back = bench.path("back");
    everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert!(back.join("chat/a/b/c").is_dir() && back.join("chat/branches/alt").is_dir());
    assert!(!back.join("chat/branches/alt/.events.jsonl.lock").exists());
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

#[test]
fn detect_goes_on_after_a_session_that_cannot_be_read() {
    let bench = Bench::new();
    bench.conversation("good", &lines(1));
    let many = bench.conversation("vanishing", &lines(1));
    symlink("nowhere", many.join("dangling")).unwrap();
    let done = everlog(&["detect", bench.source().to_str().unwrap(), "--json"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert_eq!(stdout(&done).lines().filter(|row| row.contains("\"unit\"")).count(), 2);
}

#[test]
fn a_file_that_never_holds_still_is_reported_and_the_others_go_on() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let bench = Bench::new();
    let restless = bench.conversation("restless", &lines(2)).join("conversation.jsonl");
    bench.conversation("steady", &lines(2));
    let stop = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0u32.. {
                fs::write(&restless, lines(2 + n % 50)).unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let done = bench.migrate(&[]);
        stop.store(true, Ordering::Relaxed);
        done
    });
    assert_eq!(code(&done), Some(1), "{}{}", stdout(&done), stderr(&done));
    assert!(stderr(&done).contains("changes while it is being read"), "{}", stderr(&done));
    assert!(bench.log("steady").exists() && !bench.log("restless").exists());
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert!(bench.log("restless").exists());
}

#[test]
fn detect_says_who_has_a_session_open() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    let lock = fs::File::create(folder.join(".lock")).unwrap();
    let row = || {
        serde_json::from_str::<Value>(stdout(&everlog(&["detect", bench.source().to_str().unwrap(), "--json"])).lines().next().unwrap())
            .unwrap()
    };
    assert_eq!(row()["live"], false);
    lock.lock().unwrap();
    let open = row();
    assert_eq!(open["live"], true);
    assert_eq!(open["live_process"], std::process::id().to_string());
}
