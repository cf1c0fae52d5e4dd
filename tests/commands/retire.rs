//! Retiring sources, in the orders that life comes up with.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::bench::{Bench, code, line, lines};
use support::{copy_tree, everlog, stderr, stdout, tree};

const LEGACY: &str = "{\n  \"key\": \"telegram:42\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"content\": \"hi\"\n    }\n  ],\n  \"created\": \"2026-01-02T03:04:05Z\",\n  \"updated\": \"2026-01-02T03:04:05Z\"\n}";

/// A folder of picoclaw's with these files.
fn picoclaw(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    for (name, text) in files {
        fs::write(bench.source().join(name), text).unwrap();
    }
    bench
}

fn fixture(case: &str) -> Bench {
    let bench = Bench::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw").join(case).join("input"), &bench.source());
    bench
}

/// Names and bytes, without times.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

fn lose_receipts(bench: &Bench) {
    fs::remove_file(bench.dest().join(".everlog/receipts.jsonl")).unwrap();
}

#[test]
fn retired_sources_can_be_had_back() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    let before = tree(&bench.source());
    let done = bench.migrate(&["--retire"]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(!folder.join("conversation.jsonl").exists() && folder.join("conversation.jsonl.migrated").exists());
    let log = fs::read(bench.log("chat")).unwrap();
    let again = bench.migrate(&["--json"]);
    assert!(stdout(&again).contains("\"status\":\"skipped\""), "{}", stdout(&again));
    assert_eq!(fs::read(bench.log("chat")).unwrap(), log);
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
    // Never over an existing file.
    fs::write(folder.join("conversation.jsonl.migrated"), "mine").unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(fs::read(folder.join("conversation.jsonl.migrated")).unwrap(), b"mine");
    assert!(folder.join("conversation.jsonl").exists());
}

#[test]
fn a_log_that_has_rotted_is_repaired_before_its_source_is_renamed() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let good = fs::read_to_string(bench.log("chat")).unwrap();
    fs::write(bench.log("chat"), good.replace("message 1", "message X")).unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(fs::read_to_string(bench.log("chat")).unwrap(), good);
}

#[test]
fn without_receipts_only_that_comes_back_which_nobody_else_could_have_renamed() {
    let bench = Bench::new();
    let (chat, other) = (bench.conversation("chat", &lines(4)), bench.conversation("other", &lines(5)));
    bench.migrate(&["--retire"]);
    lose_receipts(&bench);
    let again = bench.migrate(&["--json"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(stdout(&again).contains("\"status\":\"skipped\""));
    fs::write(other.join("conversation.jsonl.migrated"), lines(3)).unwrap();
    let back = bench.migrate(&["--unretire"]);
    assert_eq!(code(&back), Some(1), "{}", stderr(&back));
    assert!(chat.join("conversation.jsonl").exists() && !other.join("conversation.jsonl").exists(), "{}", stderr(&back));
    // Of this name picoclaw makes its own backups: a guess could undo its import.
    let bench = picoclaw(&[("telegram_42.json", LEGACY)]);
    bench.migrate(&["--retire"]);
    lose_receipts(&bench);
    let before = tree(&bench.source());
    let back = bench.migrate(&["--unretire"]);
    assert_eq!(code(&back), Some(1), "{}", stderr(&back));
    assert!(stderr(&back).contains("telegram_42.json.migrated") && stderr(&back).contains("receipt"), "{}", stderr(&back));
    assert_eq!(tree(&bench.source()), before);
    let again = bench.migrate(&["--json"]);
    assert!(stdout(&again).contains("\"status\":\"skipped\""), "{}", stdout(&again));
}

#[test]
fn a_second_time_there_is_nothing_left_to_give_back() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&["--retire"]);
    let back = bench.migrate(&["--unretire", "--json"]);
    assert!(stdout(&back).contains("\"unit\":\"chat\",\"returned\":[\"chat/conversation.jsonl\"]"), "{}", stdout(&back));
    let before = tree(&bench.source());
    let again = bench.migrate(&["--unretire", "--json"]);
    assert_eq!((code(&again), stdout(&again).as_str()), (Some(0), ""));
    assert_eq!(tree(&bench.source()), before);
    // And what is retired again is given back again.
    bench.migrate(&["--retire"]);
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
}

#[test]
fn a_session_can_be_named_by_itself_or_by_the_folder_that_it_lies_in() {
    let bench = Bench::new();
    let chat = bench.conversation("chat", &lines(4));
    let migrate = |source: &Path, more: &str| everlog(&["migrate", source.to_str().unwrap(), "-o", bench.dest().to_str().unwrap(), more]);
    for (one, other) in [(bench.source(), chat.clone()), (chat.clone(), bench.source())] {
        migrate(&one, "--retire");
        assert!(!chat.join("conversation.jsonl").exists());
        let back = migrate(&other, "--unretire");
        assert_eq!(code(&back), Some(0), "{}", stderr(&back));
        assert!(chat.join("conversation.jsonl").exists(), "{}", stderr(&back));
    }
}

#[test]
fn only_what_was_retired_gets_a_name_back() {
    let bench = picoclaw(&[("telegram_42.json", LEGACY)]);
    bench.migrate(&[]);
    // As picoclaw does, which then lost the lines that it made of it.
    fs::rename(bench.source().join("telegram_42.json"), bench.source().join("telegram_42.json.migrated")).unwrap();
    let before = tree(&bench.source());
    for more in [&["--unretire"][..], &[], &["--unretire"]] {
        let done = bench.migrate(more);
        assert_eq!(code(&done), Some(0), "{more:?}: {}", stderr(&done));
        assert_eq!(tree(&bench.source()), before, "{more:?}: picoclaw would import it over whatever has its key");
    }
}

#[test]
fn a_legacy_file_beside_the_lines_of_its_key_stays_a_session_of_its_own() {
    let lines = "{\"role\":\"user\",\"content\":\"later\"}\n";
    let meta = "{\n  \"key\": \"telegram:42\",\n  \"summary\": \"\",\n  \"skip\": 0,\n  \"count\": 1,\n  \"created_at\": \"2026-02-02T03:04:05Z\",\n  \"updated_at\": \"2026-02-02T03:04:05Z\"\n}";
    let bench = picoclaw(&[("telegram_42.json", LEGACY), ("telegram_42.jsonl", lines), ("telegram_42.meta.json", meta)]);
    let before = tree(&bench.source());
    let done = bench.migrate(&["--retire"]);
    assert!(tree(&bench.source()).keys().all(|name| name.ends_with(".migrated")), "{}", stderr(&done));
    let logs = contents(&bench.dest());
    let again = bench.migrate(&["--json"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert_eq!(stdout(&again).matches("\"status\":\"skipped\"").count(), 2, "{}", stdout(&again));
    assert_eq!(contents(&bench.dest()), logs);
    let verified = everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()]);
    assert_eq!(code(&verified), Some(0), "{}", stderr(&verified));
    // One of them alone.
    assert_eq!(code(&bench.migrate(&["--unretire", "--include", "*.jsonl"])), Some(0));
    let alone = bench.migrate(&["--json"]);
    assert_eq!(code(&alone), Some(0), "{}", stderr(&alone));
    assert!(stdout(&alone).contains("\"status\":\"unchanged\"") && stdout(&alone).contains("\"status\":\"skipped\""), "{}", stdout(&alone));
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
}

#[test]
fn a_session_that_is_half_retired_is_known_for_one_and_finished() {
    let bench = fixture("plain");
    let before = tree(&bench.source());
    bench.migrate(&["--retire"]);
    let (logs, retired) = (contents(&bench.dest()), tree(&bench.source()));
    let lines = bench.source().join("agent_main_cli_direct_kettle.jsonl");
    let half = || fs::rename(lines.with_extension("jsonl.migrated"), &lines).unwrap();
    half();
    let done = bench.migrate(&["--json"]);
    assert_eq!(code(&done), Some(1), "{}", stderr(&done));
    assert!(stdout(&done).contains("half retired"), "{}", stdout(&done));
    assert_eq!(contents(&bench.dest()), logs, "half a session is no session");
    let finished = bench.migrate(&["--retire", "--json"]);
    assert_eq!(code(&finished), Some(0), "{}", stderr(&finished));
    assert!(stdout(&finished).contains("\"retired\":[\"agent_main_cli_direct_kettle.jsonl\"]"), "{}", stdout(&finished));
    assert_eq!(tree(&bench.source()), retired);
    half();
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
    // What was written to meanwhile is proven again before it is renamed.
    bench.migrate(&["--retire"]);
    half();
    let longer = [fs::read(&lines).unwrap(), b"{\"role\":\"user\",\"content\":\"still here\"}\n".to_vec()].concat();
    fs::write(&lines, longer).unwrap();
    bench.migrate(&["--retire"]);
    assert!(tree(&bench.source()).keys().all(|name| name.ends_with(".migrated")));
    assert!(fs::read_to_string(bench.log("agent_main_cli_direct_kettle.jsonl")).unwrap().contains("still here"));
}

#[test]
fn what_changed_since_it_was_retired_is_not_given_back() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(4));
    bench.migrate(&["--retire"]);
    fs::write(folder.join("conversation.jsonl.migrated"), lines(3)).unwrap();
    let done = bench.migrate(&["--unretire"]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("changed since it was retired") && stderr(&done).contains("restore"), "{}", stderr(&done));
    assert!(!folder.join("conversation.jsonl").exists());
    fs::remove_file(folder.join("conversation.jsonl.migrated")).unwrap();
    let gone = bench.migrate(&["--unretire"]);
    assert!(stderr(&gone).contains("chat/conversation.jsonl.migrated") && stderr(&gone).contains("restore"), "{}", stderr(&gone));
    assert_ne!(code(&gone), Some(0));
}

#[test]
fn retired_sources_are_restored_under_the_names_that_they_had() {
    for case in ["plain", "legacy", "leftovers", "aliases"] {
        let bench = fixture(case);
        bench.migrate(&[]);
        let (one, other) = (bench.path("one"), bench.path("other"));
        assert!(everlog(&["restore", bench.dest().to_str().unwrap(), "-o", one.to_str().unwrap()]).status.success());
        bench.migrate(&["--retire"]);
        assert!(everlog(&["restore", bench.dest().to_str().unwrap(), "-o", other.to_str().unwrap()]).status.success());
        assert_eq!(contents(&other), contents(&one), "{case}");
        let live = |name: &String| !name.ends_with(".migrated") && !name.ends_with("/");
        assert!(contents(&other).keys().any(live), "{case}");
    }
}

#[test]
fn what_the_program_would_import_is_named_after_a_retire_too() {
    let bench = picoclaw(&[("telegram_42.json", LEGACY), ("package.json", "{\"name\":\"x\"}")]);
    for more in [&["--retire", "--json"][..], &["--json"], &["--retire", "--json"]] {
        let done = bench.migrate(more);
        assert!(stdout(&done).contains("would_import") && stdout(&done).contains("package.json"), "{more:?}: {}", stdout(&done));
        assert_eq!(code(&done), Some(1), "{more:?}");
        let left: Vec<String> = tree(&bench.source()).into_keys().filter(|name| name.ends_with(".json")).collect();
        assert_eq!(left, ["package.json"], "{more:?}");
    }
}

#[test]
fn one_that_cannot_be_given_back_does_not_keep_the_others() {
    let bench = Bench::new();
    let (a, b) = (bench.conversation("a", &lines(2)), bench.conversation("b", &lines(3)));
    bench.migrate(&["--retire"]);
    fs::write(a.join("conversation.jsonl"), line("user", "new", 1)).unwrap();
    let done = bench.migrate(&["--unretire"]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("a/conversation.jsonl") && stderr(&done).contains("exists already"), "{}", stderr(&done));
    assert!(b.join("conversation.jsonl").exists() && a.join("conversation.jsonl.migrated").exists());
    // The new conversation is converted, and the log of the old one is kept.
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert_eq!(tree(&bench.dest().join(".everlog/earlier")).len(), 1);
    // Out of the way, the rest comes back.
    fs::remove_file(a.join("conversation.jsonl")).unwrap();
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(fs::read_to_string(a.join("conversation.jsonl")).unwrap(), lines(2));
}

#[test]
fn a_retired_session_that_changes_is_noticed() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::write(folder.join("RESUME.md"), "one").unwrap();
    bench.migrate(&["--retire"]);
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    fs::write(folder.join("RESUME.md"), "two").unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("changed since the session was retired"), "{}", stderr(&done));
}

#[test]
fn a_session_that_its_program_has_open_is_not_renamed() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    let lock = fs::File::create(folder.join(".lock")).unwrap();
    lock.lock().unwrap();
    let done = bench.migrate(&["--retire", "--json"]);
    assert!(folder.join("conversation.jsonl").exists(), "{}", stdout(&done));
    assert_eq!(code(&done), Some(1));
    assert!(stderr(&done).contains("its program has it open"), "{}", stderr(&done));
    lock.unlock().unwrap();
    // What was live then is not said to be live now.
    assert!(!stdout(&bench.migrate(&["--json"])).contains("session_live"));
}

#[test]
fn no_retired_file_gets_its_name_back_outside_its_source() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.conversation("other", &lines(5));
    assert_eq!(code(&bench.migrate(&["--retire"])), Some(0));
    let outside = bench.path("outr");
    fs::create_dir(&outside).unwrap();
    fs::copy(bench.source().join("chat/conversation.jsonl.migrated"), outside.join("conversation.jsonl.migrated")).unwrap();
    symlink(&outside, bench.source().join("door")).unwrap();
    let receipts = bench.dest().join(".everlog/receipts.jsonl");
    let good = fs::read_to_string(&receipts).unwrap();
    let (folder, file) = ("\"retired\":{\"folder\":\"chat\"", "\"path\":\"conversation.jsonl\"");
    assert!(good.contains(folder));
    let in_folder = |name: &str| good.replace(folder, &format!("\"retired\":{{\"folder\":\"{name}\""));
    let forged = [
        in_folder("../outr"),
        in_folder("door"),
        in_folder(&outside.display().to_string()),
        in_folder("other/../../outr"),
        good.replace(file, "\"path\":\"../../outr/conversation.jsonl\""),
    ];
    // Without checksums of its own it is not even believed, and that is said.
    fs::write(&receipts, &forged[0]).unwrap();
    let back = bench.migrate(&["--unretire"]);
    assert!(code(&back) == Some(1) && stderr(&back).contains("is not as it was written"), "{}", stderr(&back));
    for text in forged {
        fs::write(&receipts, support::forged::summed(&text)).unwrap();
        let before = tree(bench.scratch.path());
        let back = bench.migrate(&["--unretire"]);
        assert_eq!(code(&back), Some(2), "{}", stderr(&back));
        assert!(stderr(&back).contains("leads out of the folder"), "{}", stderr(&back));
        assert!(tree(bench.scratch.path()) == before, "something was renamed");
        bench.migrate(&["--retire"]);
        assert!(outside.join("conversation.jsonl.migrated").exists() && !outside.join("conversation.jsonl").exists());
    }
    fs::write(&receipts, good).unwrap();
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
}

#[test]
fn an_old_file_does_not_come_back_beside_newer_messages() {
    let lines = "{\"role\":\"user\",\"content\":\"newer\"}\n";
    let bench = picoclaw(&[("telegram_42.json", LEGACY), ("telegram:42.json", LEGACY)]);
    assert_eq!(code(&bench.migrate(&["--retire"])), Some(1));
    fs::write(bench.source().join("telegram_42.jsonl"), lines).unwrap();
    // Also where the newer ones were migrated in the meantime.
    bench.migrate(&[]);
    let before = tree(&bench.source());
    let back = bench.migrate(&["--unretire"]);
    assert_eq!(code(&back), Some(1), "{}", stderr(&back));
    assert!(stderr(&back).contains("would import it over telegram_42.jsonl"), "{}", stderr(&back));
    assert_eq!(tree(&bench.source()), before);
    // Moved away, they are no reason any more.
    fs::rename(bench.source().join("telegram_42.jsonl"), bench.path("telegram_42.jsonl")).unwrap();
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert!(bench.source().join("telegram_42.json").exists());
}

#[test]
fn a_session_that_came_again_says_what_keeps_it_from_being_retired() {
    let bench = fixture("plain");
    let name = "agent_main_cli_direct_kettle";
    let of = |suffix: &str| bench.source().join(format!("{name}{suffix}"));
    let (meta, lines) = (fs::read(of(".meta.json")).unwrap(), fs::read(of(".jsonl")).unwrap());
    bench.migrate(&["--retire"]);
    fs::write(of(".meta.json"), &meta).unwrap();
    fs::write(of(".jsonl"), [&lines[..], b"{\"role\":\"user\",\"content\":\"again\"}\n"].concat()).unwrap();
    let before = tree(&bench.source());
    let again = bench.migrate(&["--retire", "--json"]);
    assert_eq!(code(&again), Some(1));
    assert!(stdout(&again).contains("was retired before") && stdout(&again).contains("move that elsewhere"), "{}", stdout(&again));
    assert_eq!(tree(&bench.source()), before);
    // Doing so helps, and the way back is that of the later files.
    for suffix in [".meta.json.migrated", ".jsonl.migrated"] {
        fs::rename(of(suffix), bench.path(suffix)).unwrap();
    }
    let before = tree(&bench.source());
    let again = bench.migrate(&["--retire"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    assert!(tree(&bench.source()).keys().all(|name| name.ends_with(".migrated")));
    assert_eq!(code(&bench.migrate(&["--unretire"])), Some(0));
    assert_eq!(tree(&bench.source()), before);
}

#[test]
fn of_one_key_all_are_retired_or_none() {
    let lines = "{\"role\":\"user\",\"content\":\"newer\"}\n";
    let bench = picoclaw(&[
        ("agent_x.jsonl", lines),
        ("telegram_42.json", LEGACY),
        ("telegram_42.json.migrated", LEGACY),
        ("telegram_42.jsonl", lines),
    ]);
    let done = bench.migrate(&["--retire", "--json"]);
    assert_eq!(code(&done), Some(1));
    let names: Vec<String> = tree(&bench.source()).into_keys().collect();
    assert_eq!(names, ["agent_x.jsonl.migrated", "telegram_42.json", "telegram_42.json.migrated", "telegram_42.jsonl"]);
    assert_eq!(stdout(&done).matches("\"not_retired\"").count(), 2, "{}", stdout(&done));
    assert!(stdout(&done).contains("picoclaw takes it and telegram_42.json for one session"), "{}", stdout(&done));
    fs::remove_file(bench.source().join("telegram_42.json.migrated")).unwrap();
    // Also where only some of them were chosen.
    let before = tree(&bench.source());
    let done = bench.migrate(&["--retire", "--json", "--exclude", "telegram_42.json"]);
    assert_eq!((code(&done), tree(&bench.source())), (Some(1), before), "{}", stdout(&done));
    bench.migrate(&["--retire"]);
    assert!(tree(&bench.source()).keys().all(|name| name.ends_with(".migrated")));
}
