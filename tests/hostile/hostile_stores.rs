//! Stores that somebody changed without everlog: logs swapped, rolled back,
//! removed, renamed and added, flipped bits in logs, receipts and attachments.
//! With the root from outside every change is noticed; without it, every
//! change that the store's own receipts can tell.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line, lines};
use support::campaign::rounds;
use support::damage::Seeded;
use support::{everlog, figure, stderr, stdout};

/// The files of a store, by their paths below it.
type Files = BTreeMap<String, Vec<u8>>;

/// Whether receipts can tell that something was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// They can, and so can seals and hashes.
    ByTheStore,
    /// Only who keeps the root can.
    ByTheRoot,
}

const RECEIPTS: &str = ".everlog/receipts.jsonl";

/// Ways to change a store.
const WAYS: usize = 17;

fn files(store: &Path) -> Files {
    let found = support::tree(store).into_iter().map(|(name, (bytes, _))| (name, bytes));
    found.filter(|(name, _)| name != ".everlog/lock").collect()
}

/// Makes a store what these files are.
fn put(store: &Path, wanted: &Files) {
    for (name, bytes) in files(store) {
        if wanted.get(&name) != Some(&bytes) {
            fs::remove_file(store.join(name)).unwrap();
        }
    }
    for (name, bytes) in wanted {
        let path = store.join(name);
        if !path.exists() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }
}

/// A store of several sessions with attachments, as it was and as it is.
struct Stores {
    bench: Bench,
    before: Files,
    now: Files,
    root: String,
}

fn stores() -> Stores {
    let bench = Bench::new();
    for n in 0..4 {
        let folder = bench.conversation(&format!("s{n}"), &lines(3 + n));
        fs::create_dir(folder.join("attachments")).unwrap();
        let picture: Vec<u8> = (0..70_000_u32).flat_map(|at| (at * (n + 7)).to_le_bytes()).collect();
        fs::write(folder.join("attachments/picture.bin"), picture).unwrap();
    }
    bench.migrate(&[]);
    let before = files(&bench.dest());
    for n in 0..3 {
        bench.conversation(&format!("s{n}"), &(lines(3 + n) + &line("user", "later", 50)));
    }
    // One that shrinks, whose earlier log is kept.
    bench.conversation("s3", &lines(1));
    bench.migrate(&[]);
    let said = stdout(&everlog(&["verify", bench.dest().to_str().unwrap()]));
    let at = said.find("root ").unwrap() + "root ".len();
    let now = files(&bench.dest());
    Stores { before, now, root: said[at..at + 64].to_owned(), bench }
}

fn pick<'f>(files: &'f Files, random: &mut Seeded, is_wanted: impl Fn(&str) -> bool) -> &'f str {
    let names: Vec<&str> = files.keys().map(String::as_str).filter(|name| is_wanted(name)).collect();
    names[random.below(names.len())]
}

fn is_log(name: &str) -> bool {
    name.ends_with(".everlog.jsonl") && !name.starts_with(".everlog/")
}

fn is_earlier(name: &str) -> bool {
    name.starts_with(".everlog/earlier/")
}

fn is_blob(name: &str) -> bool {
    name.starts_with(".everlog/blobs/")
}

/// Changes a store in one of the ways; says what was done, and who can tell.
fn change(stores: &Stores, way: usize, random: &mut Seeded) -> (String, Files, Told) {
    let mut files = stores.now.clone();
    let flip = |files: &mut Files, name: &str, random: &mut Seeded| {
        let bytes = files.get_mut(name).unwrap();
        let bit = random.below(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        format!("bit {bit} of {name}")
    };
    let log = pick(&stores.now, random, is_log).to_owned();
    let unit = log.strip_suffix(".everlog.jsonl").unwrap().to_owned();
    let without_receipt = |files: &mut Files| {
        let receipts = String::from_utf8(files[RECEIPTS].clone()).unwrap();
        let rest = receipts.lines().filter(|line| !line.starts_with(&format!("{{\"unit\":\"{unit}\"")));
        files.insert(RECEIPTS.to_owned(), rest.map(|line| format!("{line}\n")).collect::<String>().into_bytes());
    };
    let (what, told) = match way {
        0 => {
            let other = pick(&stores.now, random, |name| is_log(name) && name != log);
            files.insert(log.clone(), stores.now[other].clone());
            files.insert(other.to_owned(), stores.now[&log].clone());
            (format!("{log} swapped with {other}"), Told::ByTheStore)
        }
        1 => {
            files.insert(log.clone(), stores.before[&log].clone());
            (format!("{log} rolled back"), Told::ByTheStore)
        }
        2 => {
            files.remove(&log);
            (format!("{log} removed"), Told::ByTheStore)
        }
        3 => {
            files.remove(&log);
            without_receipt(&mut files);
            (format!("{log} removed with its receipt"), Told::ByTheRoot)
        }
        4 => {
            files.insert("added.everlog.jsonl".to_owned(), stores.before[&log].clone());
            (format!("{log} added under another name"), Told::ByTheStore)
        }
        5 => (flip(&mut files, &log, random), Told::ByTheStore),
        6 => (flip(&mut files, RECEIPTS, random), Told::ByTheStore),
        7 => {
            let blob = pick(&stores.now, random, is_blob);
            (flip(&mut files, blob, random), Told::ByTheStore)
        }
        8 => {
            let blob = pick(&stores.now, random, is_blob);
            files.remove(blob);
            (format!("{blob} removed"), Told::ByTheStore)
        }
        9 => {
            let earlier = pick(&stores.now, random, is_earlier);
            files.remove(earlier);
            (format!("{earlier} removed"), Told::ByTheRoot)
        }
        10 => {
            let earlier = pick(&stores.now, random, is_earlier);
            (flip(&mut files, earlier, random), Told::ByTheStore)
        }
        11 => ("everything rolled back".to_owned(), {
            files.clone_from(&stores.before);
            Told::ByTheRoot
        }),
        12 => {
            let bytes = files.remove(&log).unwrap();
            files.insert(format!("renamed-{log}"), bytes);
            (format!("{log} renamed"), Told::ByTheStore)
        }
        13 => {
            let bytes = files.get_mut(&log).unwrap();
            let len = random.below(bytes.len());
            bytes.truncate(len);
            (format!("{log} cut off at {len}"), Told::ByTheStore)
        }
        14 => {
            let twice = [&files[&log][..], b"{}\n"].concat();
            files.insert(log.clone(), twice);
            (format!("{log} with something after its end"), Told::ByTheStore)
        }
        15 => {
            files.remove(RECEIPTS);
            ("receipts removed".to_owned(), Told::ByTheStore)
        }
        _ => {
            let earlier = pick(&stores.now, random, is_earlier);
            files.insert(earlier.to_owned(), stores.now[&log].clone());
            (format!("{earlier} replaced by {log}"), Told::ByTheStore)
        }
    };
    (what, files, told)
}

/// Whether verify says that a store is well.
fn is_called_well(store: &Path, more: &[&str]) -> bool {
    let done = everlog(&[&["verify", store.to_str().unwrap()], more].concat());
    let exit = code(&done);
    assert!(matches!(exit, Some(0..=2)) && !stderr(&done).contains("bug in everlog"), "{exit:?}: {}", stderr(&done));
    exit == Some(0)
}

#[test]
fn no_change_of_a_store_goes_unnoticed() {
    let stores = stores();
    let store: PathBuf = stores.bench.dest();
    let pinned = ["--root", stores.root.as_str()];
    assert!(is_called_well(&store, &pinned) && is_called_well(&store, &["--level", "seal"]));
    let mut noticed = 0;
    for round in 0..rounds("STORE_ROUNDS", 1_000) {
        let mut random = Seeded(round);
        let (what, changed, told) = change(&stores, round as usize % WAYS, &mut random);
        put(&store, &changed);
        // Attachments and receipts are not part of the root: the check that they
        // get in every run notices them.
        assert!(!is_called_well(&store, &[&pinned[..], &["--level", "seal"]].concat()), "round {round}: {what}, with the root");
        if told == Told::ByTheStore {
            let level = ["seal", "restore", "full"][random.below(3)];
            assert!(!is_called_well(&store, &["--level", level]), "round {round}: {what}, level {level}");
        }
        noticed += 1;
        put(&store, &stores.now);
    }
    assert!(is_called_well(&store, &pinned), "{}", stderr(&everlog(&["verify", store.to_str().unwrap(), "--root", &stores.root])));
    figure("changes of stores", noticed);
}

/// Every command that answers for all sessions of a store, with where it writes.
fn answers(bench: &Bench) -> Vec<(&'static str, std::process::Output)> {
    let dest = bench.dest();
    let dest = dest.to_str().unwrap();
    let mut all = vec![
        ("verify", everlog(&["verify", dest])),
        ("verify seals", everlog(&["verify", dest, "--level", "seal"])),
        ("ls", everlog(&["ls", "--store", dest])),
        ("stats", everlog(&["stats", dest])),
        ("search", everlog(&["search", "message", "--store", dest])),
    ];
    for (n, to) in ["pi", "codex", "markdown", "openai", "parquet", "sqlite"].into_iter().enumerate() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path().join(format!("out{n}"));
        all.push((to, everlog(&["export", dest, "--to", to, "-o", out.to_str().unwrap()])));
    }
    let out = tempfile::tempdir().unwrap();
    all.push(("html", everlog(&["html", dest, "-o", out.path().join("site").to_str().unwrap()])));
    all.push(("restore", everlog(&["restore", dest, "-o", out.path().join("back").to_str().unwrap()])));
    all
}

/// Two sessions, one of them in a folder of its own.
fn two_sessions() -> Bench {
    let bench = Bench::new();
    bench.conversation("a", &lines(4));
    bench.conversation("below/b", &lines(5));
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    let well = answers(&bench);
    assert!(
        well.iter().all(|(_, done)| code(done) == Some(0)),
        "{:?}",
        well.iter().map(|(what, done)| (what, code(done))).collect::<Vec<_>>()
    );
    bench
}

#[test]
fn a_log_that_is_gone_is_missed_by_every_command() {
    let bench = two_sessions();
    fs::remove_file(bench.dest().join("below/b.everlog.jsonl")).unwrap();
    for (what, done) in answers(&bench) {
        assert!(code(&done) != Some(0) && stderr(&done).contains("b.everlog.jsonl"), "{what}: {:?} {}", code(&done), stderr(&done));
    }
}

#[test]
fn logs_behind_a_link_are_not_in_the_store() {
    let bench = two_sessions();
    let (folder, elsewhere) = (bench.dest().join("below"), bench.path("elsewhere"));
    fs::rename(&folder, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &folder).unwrap();
    for (what, done) in answers(&bench) {
        assert!(code(&done) != Some(0) && stderr(&done).contains("b.everlog.jsonl"), "{what}: {:?} {}", code(&done), stderr(&done));
    }
    let (said, done) = ("a link is in the place of a folder above it", everlog(&["verify", bench.dest().to_str().unwrap()]));
    assert!(stderr(&done).contains(said), "{}", stderr(&done));
}

#[test]
fn what_is_exported_of_a_log_that_lost_its_end_is_not_all() {
    let bench = two_sessions();
    let log = bench.dest().join("below/b.everlog.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    let end = text.match_indices('\n').nth(4).unwrap().0;
    fs::write(&log, &text[..=end]).unwrap();
    let looks = ["ls", "stats", "search"];
    for (what, done) in answers(&bench).into_iter().filter(|(what, _)| !looks.contains(what)) {
        assert!(code(&done) != Some(0) && stderr(&done).contains("b.everlog.jsonl"), "{what}: {:?} {}", code(&done), stderr(&done));
    }
}
