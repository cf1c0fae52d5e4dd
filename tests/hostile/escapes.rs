//! Links, pipes and devices that somebody plants in folders that everlog writes
//! to, before a run and while it goes on: nothing is written or read through
//! them, and nobody waits for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::bench::{Bench, code, lines};
use support::forged::sealed;
use support::{copy_tree, everlog, figure, stderr, tree};

const HASH_OF_X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

/// Runs a command that must not wait for anybody.
fn promptly(words: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(words)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{words:?} waits");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// A store with a log of these `file` events in it.
fn log_with(bench: &Bench, good: &str, name: &str, files: &[String]) {
    let mut body: Vec<String> = good.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect();
    body[0] = body[0].replace(",\"folder\":\"chat\"", "");
    for line in &mut body {
        *line = line.replace("\"path\":\"conversation.jsonl\"", &format!("\"path\":\"{name}.jsonl\""));
    }
    for file in files {
        body.push(format!("{{\"seq\":{},\"type\":\"file\",\"payload\":{file}}}", body.len() + 1));
    }
    fs::write(bench.path("race").join(format!("{name}.everlog.jsonl")), sealed(&body)).unwrap();
}

#[test]
fn a_link_of_one_log_is_never_a_way_out_for_another() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let good = fs::read_to_string(bench.log("chat")).unwrap();
    fs::create_dir_all(bench.path("race")).unwrap();
    let deep = "d/".repeat(40);
    let file = |path: &str| format!("{{\"path\":\"{path}\",\"kind\":\"file\",\"size\":1,\"sha256\":\"{HASH_OF_X}\",\"content\":\"x\"}}");
    let rounds = campaign::rounds("ESCAPES", 300);
    for round in 0..rounds {
        let back = bench.path("back");
        let elsewhere = bench.path("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(elsewhere.join(&deep)).unwrap();
        let link = format!("{{\"path\":\"door\",\"kind\":\"link\",\"target\":\"{}\"}}", elsewhere.display());
        // Shallow and deep, the link's log before and after the file's.
        let path = if round % 2 == 0 { "door/evil".to_owned() } else { format!("door/{deep}evil") };
        let (first, second) = if round % 4 < 2 { ("a", "b") } else { ("b", "a") };
        log_with(&bench, &good, first, &[link]);
        log_with(&bench, &good, second, &[file(&path)]);
        // And somebody else, who makes and removes the same link all the time.
        let stop = AtomicBool::new(false);
        let done = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = symlink(&elsewhere, back.join("door"));
                    let _ = fs::remove_file(back.join("door"));
                }
            });
            let done = promptly(&["restore", bench.path("race").to_str().unwrap(), "-o", back.to_str().unwrap(), "--jobs", "2"]);
            stop.store(true, Ordering::Relaxed);
            done
        });
        assert!(!stderr(&done).contains("panicked"), "{}", stderr(&done));
        assert_eq!(tree(&elsewhere).len(), 0, "round {round}: {:?} was written", tree(&elsewhere).keys());
        fs::remove_dir_all(&back).unwrap();
        fs::remove_dir_all(&elsewhere).unwrap();
    }
    figure("escapes", usize::try_from(rounds).unwrap());
}

/// What is planted, in words, and the call that plants it at a path.
type Plant<'v> = (&'static str, Box<dyn Fn(&Path) + 'v>);

fn plants(victim: &Path) -> Vec<Plant<'_>> {
    let mut plants: Vec<Plant<'_>> = vec![
        ("a link", Box::new(move |at: &Path| symlink(victim, at).unwrap())),
        ("a link to nothing", Box::new(move |at: &Path| symlink(victim.with_extension("new"), at).unwrap())),
        ("a link to a device", Box::new(|at: &Path| symlink("/dev/null", at).unwrap())),
        ("a pipe", Box::new(|at: &Path| assert!(Command::new("mkfifo").arg(at).status().unwrap().success()))),
    ];
    if rustix::process::geteuid().is_root() {
        let device = |at: &Path| assert!(Command::new("mknod").arg(at).args(["c", "1", "3"]).status().unwrap().success());
        plants.push(("a device", Box::new(device)));
    } else {
        eprintln!("SKIPPED: only the superuser makes devices");
    }
    plants
}

#[test]
fn what_is_planted_in_a_store_is_refused_and_nobody_waits_for_it() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    fs::create_dir_all(bench.path("logs/chat/attachments")).unwrap();
    fs::write(bench.path("logs/chat/attachments/a.bin"), b"\xff\xfe").unwrap();
    bench.migrate(&[]);
    let outside = bench.path("outside");
    fs::create_dir_all(&outside).unwrap();
    let victim = outside.join("victim");
    fs::write(&victim, "precious").unwrap();
    let clean = bench.path("clean");
    copy_tree(&bench.dest(), &clean);
    let blob = tree(&clean).into_keys().find(|name| name.contains("/blobs/")).unwrap();
    let files = ["chat.everlog.jsonl", ".everlog/receipts.jsonl", ".everlog/pruned.jsonl", ".everlog/lock", &blob];
    let folders = [".everlog", ".everlog/blobs", ".everlog/earlier"].map(str::to_owned);
    let shard: PathBuf = Path::new(&blob).parent().unwrap().to_owned();
    let folders: Vec<String> = folders.into_iter().chain([shard.to_str().unwrap().to_owned()]).collect();
    let mut tried = 0;
    // The source has grown, so that everything is written again.
    bench.conversation("chat", &lines(6));
    fs::write(bench.path("logs/chat/attachments/b.bin"), b"\xff\xfd").unwrap();
    for place in files.iter().map(|file| (*file).to_owned()).chain(folders) {
        for (what, plant) in plants(if place.contains('.') && !place.ends_with(".jsonl") { &outside } else { &victim }) {
            let dest = bench.path("dest2");
            copy_tree(&clean, &dest);
            let at = dest.join(&place);
            if at.is_dir() {
                fs::remove_dir_all(&at).unwrap();
            } else if at.exists() {
                fs::remove_file(&at).unwrap();
            }
            plant(&at);
            let before = tree(&outside);
            let (source, store) = (bench.path("logs"), dest.to_str().unwrap().to_owned());
            let migrated = promptly(&["migrate", source.to_str().unwrap(), "-o", &store]);
            promptly(&["verify", &store]);
            promptly(&["verify", &store, "--source", source.to_str().unwrap()]);
            promptly(&["restore", &store, "-o", bench.path("back2").to_str().unwrap()]);
            promptly(&["fork", dest.join("chat.everlog.jsonl").to_str().unwrap(), "--at", "#2"]);
            promptly(&["replay", dest.join("chat.everlog.jsonl").to_str().unwrap()]);
            assert!(tree(&outside) == before, "{what} as {place}: {:?}", tree(&outside).keys());
            let is_refused = code(&migrated) != Some(0) && stderr(&migrated).contains("belongs");
            // A log or blob may also be written anew where nothing reads the old one.
            let is_replaced = fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_file() || meta.is_dir());
            assert!(is_refused || is_replaced, "{what} as {place}: {}", stderr(&migrated));
            tried += 1;
            fs::remove_dir_all(&dest).unwrap();
            let _ = fs::remove_dir_all(bench.path("back2"));
        }
    }
    figure("escapes", tried);
}

#[test]
fn a_store_that_is_named_through_a_link_is_used() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    fs::create_dir_all(bench.path("real")).unwrap();
    symlink(bench.path("real"), bench.path("named")).unwrap();
    let (source, named) = (bench.path("logs"), bench.path("named"));
    for words in [
        &["migrate", source.to_str().unwrap(), "-o", named.to_str().unwrap()][..],
        &["verify", named.to_str().unwrap(), "--source", source.to_str().unwrap()],
        &["restore", named.to_str().unwrap(), "-o", named.join("back").to_str().unwrap()],
    ] {
        let done = everlog(words);
        assert_eq!(code(&done), Some(0), "{words:?}: {}", stderr(&done));
    }
    assert!(bench.path("real/back/chat/conversation.jsonl").is_file());
}

#[test]
fn a_page_of_the_manual_is_never_written_through_what_was_planted() {
    let bench = Bench::new();
    let (folder, victim) = (bench.path("man"), bench.path("victim"));
    fs::create_dir(&folder).unwrap();
    fs::write(&victim, "mine").unwrap();
    symlink(&victim, folder.join("everlog.1")).unwrap();
    symlink(bench.path("new"), folder.join("everlog-ls.1")).unwrap();
    fs::hard_link(&victim, folder.join("everlog-show.1")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("everlog-man.1")).status().unwrap().success());
    let done = promptly(&["man", "-o", folder.to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    assert!(!bench.path("new").exists());
    for page in ["everlog.1", "everlog-ls.1", "everlog-show.1", "everlog-man.1", "everlog-store-compact.1"] {
        let meta = fs::symlink_metadata(folder.join(page)).unwrap();
        assert!(meta.is_file() && meta.len() > 200, "{page}");
        // Other users of the machine read it too.
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777, 0o644, "{page}");
    }
}
