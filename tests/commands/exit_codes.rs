//! Exit code, stdout and stderr of the commands, together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::bench::{Bench, code, line, lines, words};
use support::prune::{Last, Run, Seen, Turn, bytes_of, session};
use support::webui::Folder;
use support::{everlog, stderr, stdout, tree};

#[test]
fn a_clean_migration_says_what_it_did_and_exits_0() {
    let bench = Bench::with_tour();
    let done = bench.migrate(&[]);
    let said = stdout(&done);
    assert_eq!(code(&done), Some(0), "{said}{}", stderr(&done));
    assert!(said.starts_with("3 sessions (gptme): 3 created, 0 changed, 0 unchanged, 0 skipped, 0 failed\n"), "{said}");
    assert!(said.contains("the source is unchanged"), "{said}");
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
    fs::create_dir(folder.join("branches")).unwrap();
    symlink(".", folder.join("branches/loop.jsonl")).unwrap();
    symlink("../..", bench.source().join("up")).unwrap();
    symlink("/etc", folder.join("workspace")).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let back = bench.path("back");
    everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    assert_eq!(fs::read_link(back.join("chat/workspace")).unwrap(), Path::new("/etc"));
    assert_eq!(fs::read_link(back.join("chat/branches/loop.jsonl")).unwrap(), Path::new("."));
}

#[test]
fn names_that_are_not_utf8_come_back() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let folder = bench.source().join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("conversation.jsonl"), lines(2)).unwrap();
    fs::create_dir(folder.join("attachments")).unwrap();
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"attachments/\xff.bin")), b"\xff\x00").unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read(back.join(name).join(std::ffi::OsStr::from_bytes(b"attachments/\xff.bin"))).unwrap(), b"\xff\x00");
    assert_eq!(code(&everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()])), Some(0));
}

#[test]
fn a_destination_inside_the_source_is_refused() {
    let bench = Bench::with_tour();
    for dest in [bench.source().join("out"), bench.source(), bench.scratch.path().to_owned()] {
        let done = everlog(&["migrate", bench.source().to_str().unwrap(), "-o", dest.to_str().unwrap()]);
        assert_eq!(code(&done), Some(2));
        assert!(stderr(&done).contains("overlap"), "{}", stderr(&done));
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
    let rows = stdout(&everlog(&["formats", "--json"]));
    assert!(rows.lines().any(|row| serde_json::from_str::<Value>(row).unwrap()["format"] == "gptme"), "{rows}");
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
        // On a busy machine the writer may rest for long enough.
        let done = (0..50).map(|_| {
            let _ = fs::remove_dir_all(bench.dest());
            bench.migrate(&[])
        });
        let mut done = done.skip_while(|done| code(done) == Some(0));
        let done = done.next();
        stop.store(true, Ordering::Relaxed);
        done.expect("a migration that met the writer")
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

#[test]
fn the_way_back_that_a_prune_names_is_the_whole_command() {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    folder.index(&["aaa"]);
    let logs = folder.home().join("it's my logs").display().to_string();
    let source = folder.path().display().to_string();
    assert_eq!(everlog(&["migrate", &source, "-o", &logs]).status.code(), Some(0));
    let before = bytes_of(&folder.path());
    let done = everlog(&["prune", &source, "-o", &logs, "--apply", "--now", "2030-01-01T00:00:00Z"]);
    assert!(bytes_of(&folder.path()) != before, "{}{}", stdout(&done), stderr(&done));
    let said = stdout(&done);
    let command = said.split_once("back with: everlog ").unwrap().1.trim();
    let typed = format!("{} {command}", env!("CARGO_BIN_EXE_everlog"));
    let back = Command::new("sh").args(["-c", &typed]).output().unwrap();
    assert_eq!(back.status.code(), Some(0), "{command}: {}", stderr(&back));
    assert!(bytes_of(&folder.path()) == before);
}
