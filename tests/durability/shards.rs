//! Parts of a larger run, started at once as processes, killed in the middle and
//! repeated, with one number of parts after another: in the end the store is the
//! one of a single run, byte for byte.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;
use support::bench::code;
use support::damage::Seeded;
use support::scenarios::{contents, lines, scratch};
use support::{everlog, stderr, stdout};

const SESSIONS: usize = 48;

/// Sessions of two programs, in folders of their own; of one program every session
/// has its facts from an index that all share. Many have the same attachment.
fn make_source(folder: &Path, messages: usize) {
    for n in 0..SESSIONS {
        let session = folder.join(format!("logs/s{n:03}"));
        fs::create_dir_all(session.join("files")).unwrap();
        fs::write(session.join("conversation.jsonl"), lines(messages + n % 7)).unwrap();
        fs::write(session.join("files/0123456789abcdef.bin"), [0xff, (n % 3) as u8]).unwrap();
    }
    if !folder.join("indexed").exists() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/openclaw/store/input");
        support::copy_tree(&fixture, &folder.join("indexed"));
    }
}

fn words<'a>(source: &'a Path, dest: &'a Path, shard: &'a str) -> Vec<&'a str> {
    vec!["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--shard", shard]
}

fn start(source: &Path, dest: &Path, shard: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(words(source, dest, shard))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn single(source: &Path, dest: &Path) -> Output {
    everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()])
}

fn compact(dest: &Path) {
    let done = everlog(&["store", "compact", dest.to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}{}", stdout(&done), stderr(&done));
}

/// Runs all parts at once, each to its end.
fn all_parts(source: &Path, dest: &Path, of: usize) {
    let parts: Vec<(String, Child)> =
        (1..=of).map(|k| format!("{k}/{of}")).map(|part| (part.clone(), start(source, dest, &part))).collect();
    for (part, child) in parts {
        let done = child.wait_with_output().unwrap();
        assert!(matches!(code(&done), Some(0 | 1)), "{part}: {}{}", stdout(&done), stderr(&done));
        assert!(!stderr(&done).contains("bug") && !stderr(&done).contains("panicked"), "{part}: {}", stderr(&done));
    }
}

/// The two stores have the same files, names and bytes.
fn judge(dest: &Path, wanted: &BTreeMap<String, Vec<u8>>, place: &str) {
    let now = contents(dest);
    let differs: Vec<_> = now.keys().chain(wanted.keys()).filter(|name| now.get(*name) != wanted.get(*name)).collect();
    assert!(differs.is_empty(), "another store {place}: {differs:?}");
}

/// The logs alone.
fn logs(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&String, &Vec<u8>> {
    files.iter().filter(|(name, _)| name.ends_with(".everlog.jsonl")).collect()
}

#[test]
fn parts_at_once_make_the_store_of_a_single_run() {
    let scratch = scratch();
    let (source, whole) = (scratch.path().join("sources"), scratch.path().join("whole"));
    make_source(&source, 10);
    let done = single(&source, &whole);
    assert!(matches!(code(&done), Some(0 | 1)), "{}{}", stdout(&done), stderr(&done));
    let wanted = contents(&whole);
    assert!(logs(&wanted).len() > SESSIONS, "only {} logs", logs(&wanted).len());
    for of in [1, 2, 5, 70] {
        let dest = scratch.path().join(format!("dest-{of}"));
        all_parts(&source, &dest, of);
        assert!(logs(&contents(&dest)) == logs(&wanted), "{of} parts");
        // Every reader reads the receipts of all parts together.
        for words in [&["verify"][..], &["ls", "--json"], &["search", "message 3", "-l"]] {
            let words: Vec<&str> = words.iter().copied().chain(["STORE"]).collect();
            let on = |store: &Path| {
                let at: Vec<&str> = words.iter().map(|word| if *word == "STORE" { store.to_str().unwrap() } else { *word }).collect();
                let done = everlog(&at);
                (code(&done), stdout(&done).replace(store.to_str().unwrap(), "STORE"))
            };
            assert_eq!(on(&dest), on(&whole), "{words:?} of {of} parts");
        }
        // A part that runs again with nothing changed writes nothing.
        let before = support::tree(&dest);
        all_parts(&source, &dest, of);
        assert!(support::tree(&dest) == before, "{of} parts wrote something again");
        compact(&dest);
        judge(&dest, &wanted, &format!("of {of} parts"));
    }
}

#[test]
fn one_number_of_parts_after_another_and_what_changed_between_them() {
    let scratch = scratch();
    let (source, whole, dest) = (scratch.path().join("sources"), scratch.path().join("whole"), scratch.path().join("dest"));
    // Shrunk sessions leave earlier logs, grown ones none. The last states come back to
    // those of a number of parts that has receipts of its own.
    for (messages, of) in [(10, 3), (14, 2), (6, 5), (9, 3), (9, 2), (12, 3)] {
        make_source(&source, messages);
        all_parts(&source, &dest, of);
        let done = single(&source, &whole);
        assert!(matches!(code(&done), Some(0 | 1)), "{}{}", stdout(&done), stderr(&done));
        let (now, wanted) = (contents(&dest), contents(&whole));
        assert!(logs(&now) == logs(&wanted), "{of} parts, {messages} messages");
    }
    assert!(contents(&whole).keys().any(|name| name.starts_with(".everlog/earlier/")), "nothing shrank");
    assert!(dest.join(".everlog/receipts-1-of-2.jsonl").is_file() && dest.join(".everlog/receipts-4-of-5.jsonl").is_file());
    // A single run takes all their receipts for its own, and has nothing to convert.
    let again = everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--json"]);
    let summary: serde_json::Value = serde_json::from_str(stdout(&again).lines().last().unwrap()).unwrap();
    assert_eq!(summary["summary"]["proven_now"], 0, "{}", stdout(&again));
    judge(&dest, &contents(&whole), "after a single run");
}

#[test]
fn a_part_keeps_out_single_runs_and_parts_of_another_number() {
    let scratch = scratch();
    let (source, dest) = (scratch.path().join("sources"), scratch.path().join("dest"));
    make_source(&source, 3);
    all_parts(&source, &dest, 2);
    let hold = |name: &str| fs::OpenOptions::new().write(true).read(true).open(dest.join(".everlog").join(name)).unwrap();
    let (shared, own) = (hold("lock"), hold("lock-1-of-2"));
    shared.lock_shared().unwrap();
    own.lock().unwrap();
    let refused = |words: &[&str], why: &str| {
        let done = everlog(words);
        assert!(code(&done) == Some(2) && stderr(&done).contains(why), "{words:?}: {:?} {}", done.status, stderr(&done));
    };
    let single = ["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()];
    refused(&single, "another run is writing");
    refused(&["store", "compact", dest.to_str().unwrap()], "another run is writing");
    refused(&words(&source, &dest, "1/2"), "another run is writing");
    refused(&words(&source, &dest, "2/3"), "a part of a run of 2 parts is writing");
    assert_eq!(code(&everlog(&words(&source, &dest, "2/2"))), Some(0));
    // A single run keeps out parts.
    shared.unlock().unwrap();
    own.unlock().unwrap();
    shared.lock().unwrap();
    refused(&words(&source, &dest, "1/2"), "another run is writing");
}

/// So many parts must have been killed in the middle; `KILLS` asks for more.
fn kills_wanted() -> usize {
    usize::try_from(campaign::rounds("KILLS", 200)).unwrap()
}

#[test]
fn killed_and_repeated_parts_make_the_store_of_a_single_run() {
    let scratch = scratch();
    let source = scratch.path().join("sources");
    let (before, whole) = (scratch.path().join("before"), scratch.path().join("whole"));
    make_source(&source, 10);
    single(&source, &before);
    make_source(&source, 13);
    support::copy_tree(&before, &whole);
    let began = Instant::now();
    assert!(matches!(code(&single(&source, &whole)), Some(0 | 1)));
    let mut takes = began.elapsed();
    let (old, wanted) = (contents(&before), contents(&whole));
    let mut random = Seeded(20_261_119);
    let (mut killed, mut rounds, least) = (0, 0, kills_wanted());
    while killed < least {
        assert!(rounds < 10 * least, "only {killed} parts were killed in {rounds} rounds");
        let dest = scratch.path().join("dest");
        support::copy_tree(&before, &dest);
        // Two numbers of parts, one after another, on the same store.
        for of in [[2, 3], [4, 3], [3, 5]][random.below(3)] {
            for _ in 0..=random.below(3) {
                rounds += 1;
                let parts: Vec<Child> = (1..=of).map(|k| start(&source, &dest, &format!("{k}/{of}"))).collect();
                let after = takes.mul_f64(random.below(1_000) as f64 / 1_000.0);
                std::thread::sleep(after);
                for child in &parts {
                    if random.below(3) > 0 {
                        // It may be done already; then there is nobody to hit.
                        let _ = kill_process(Pid::from_child(child), Signal::KILL);
                    }
                }
                let mut hit = 0;
                for child in parts {
                    let done = child.wait_with_output().unwrap();
                    assert!(!stderr(&done).contains("panicked") && !stderr(&done).contains("bug"), "{}", stderr(&done));
                    hit += usize::from(done.status.signal() == Some(Signal::KILL.as_raw()));
                }
                killed += hit;
                takes = takes.mul_f64(if hit == 0 { 0.8 } else { 1.05 });
                for (name, bytes) in logs(&contents(&dest)) {
                    assert!(wanted.get(name) == Some(bytes) || old.get(name) == Some(bytes), "{name} is a third thing in round {rounds}");
                }
            }
        }
        // Those of one number run to their ends, at once.
        all_parts(&source, &dest, 3);
        compact(&dest);
        judge(&dest, &wanted, &format!("after round {rounds}"));
        fs::remove_dir_all(&dest).unwrap();
    }
    eprintln!("{killed} parts were killed in {rounds} rounds");
}
