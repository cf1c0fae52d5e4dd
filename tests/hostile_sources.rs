//! Sources that nobody expects: nested without end, lines without end, keys and
//! digits by the million, broken text. Each goes through the real program, comes
//! back byte for byte, and four times as much takes about four times as long and
//! as much memory. `HOSTILE_SCALE=100` is the full size (in percent),
//! `HOSTILE_KIND=keys` chooses some by their names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::scenarios::scratch;
use support::{Case, figure, fixtures, tree};

/// In percent.
const USUAL_SCALE: usize = 4;

fn scale() -> usize {
    std::env::var("HOSTILE_SCALE").ok().and_then(|percent| percent.parse().ok()).unwrap_or(USUAL_SCALE)
}

/// Where the hostile bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the place of a message's content.
    Value,
    /// Behind everything else.
    End,
}

/// One kind of hostility, and how many times it is done at full size.
struct Kind {
    name: &'static str,
    place: Place,
    count: usize,
    /// Not scaled down: it is cheap, and depth is what matters.
    is_cheap: bool,
    make: fn(usize) -> Vec<u8>,
}

const KINDS: &[Kind] = &[
    Kind { name: "nested lists", place: Place::Value, count: 1_000_000, is_cheap: true, make: |n| [vec![b'['; n], vec![b']'; n]].concat() },
    Kind {
        name: "nested objects",
        place: Place::Value,
        count: 1_000_000,
        is_cheap: true,
        make: |n| [b"{\"a\":".repeat(n), b"1".to_vec(), vec![b'}'; n]].concat(),
    },
    Kind { name: "lists that never end", place: Place::End, count: 1_000_000, is_cheap: true, make: |n| vec![b'['; n] },
    Kind {
        name: "a long line",
        place: Place::Value,
        count: 1 << 30,
        is_cheap: false,
        make: |n| [b"\"".to_vec(), vec![b'x'; n], b"\"".to_vec()].concat(),
    },
    Kind { name: "empty lines", place: Place::End, count: 10_000_000, is_cheap: false, make: |n| vec![b'\n'; n] },
    Kind {
        name: "repeated keys",
        place: Place::Value,
        count: 1_000_000,
        is_cheap: false,
        make: |n| [b"{\"a\":1".to_vec(), b",\"a\":1".repeat(n), b"}".to_vec()].concat(),
    },
    Kind {
        name: "different keys",
        place: Place::Value,
        count: 1_000_000,
        is_cheap: false,
        make: |n| format!("{{{}}}", (0..n).map(|n| format!("\"k{n}\":1")).collect::<Vec<_>>().join(",")).into_bytes(),
    },
    Kind { name: "digits", place: Place::Value, count: 1_000_000, is_cheap: true, make: |n| vec![b'7'; n] },
    Kind {
        name: "lone surrogates",
        place: Place::Value,
        count: 1_000_000,
        is_cheap: false,
        make: |n| [b"\"".to_vec(), b"\\ud83d".repeat(n), b"\"".to_vec()].concat(),
    },
    Kind { name: "NULs", place: Place::End, count: 10_000_000, is_cheap: false, make: |n| vec![0; n] },
    Kind {
        name: "broken UTF-8",
        place: Place::End,
        count: 1_000_000,
        is_cheap: false,
        make: |n| b"\xff\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82\n".repeat(n / 10),
    },
    Kind { name: "torn records", place: Place::End, count: 1_000_000, is_cheap: false, make: |n| b"{\"role\":\n".repeat(n / 10) },
];

impl Kind {
    fn size(&self) -> usize {
        if self.is_cheap && scale() >= USUAL_SCALE { self.count } else { self.count / 100 * scale() }
    }

    /// Puts it into a file of a source.
    fn put(&self, file: &Path, count: usize) {
        let bytes = fs::read(file).unwrap();
        let hostile = (self.make)(count);
        let at = memchr::memmem::find(&bytes, b"\"content\":").map(|at| at + 10).unwrap();
        let new = match self.place {
            Place::Value => [&bytes[..at], &hostile, b",\"was\":", &bytes[at..]].concat(),
            Place::End => [&bytes[..], &hostile].concat(),
        };
        fs::write(file, new).unwrap();
        support::set_mtime(file, 1_700_000_000_000_000_000);
    }
}

/// The first file with messages in it.
fn victim(input: &Path) -> PathBuf {
    let files = tree(input);
    let is_fit = |name: &str, bytes: &[u8]| {
        (name.ends_with(".jsonl") || name.ends_with(".json"))
            && memchr::memmem::find(bytes, b"\"content\":").is_some()
            && !name.contains("trajectory")
            && !name.contains("journal")
            && !name.contains("branches")
    };
    input.join(files.iter().find(|(name, (bytes, _))| is_fit(name, bytes)).expect("no messages").0)
}

struct Cost {
    /// Hundredths of a second.
    time: u64,
    /// Kilobytes.
    memory: u64,
}

/// Processor time of the children of this program that have ended.
fn children_time() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[13].parse::<u64>().unwrap() + fields[14].parse::<u64>().unwrap()
}

/// Runs the program and measures it; it must end, and not by a panic.
fn run(what: &str, words: &[&str]) -> Cost {
    let before = children_time();
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).arg("--quiet").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|line| line.split_whitespace().next()?.parse().ok());
        memory = memory.max(peak.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    assert!(matches!(ended.code(), Some(0 | 1)), "{what}: {words:?} ended with {ended:?}");
    Cost { time: children_time() - before, memory }
}

/// Converts a case with something hostile in it, and compares what comes back.
fn cost(case: &Case, kind: &Kind, count: usize) -> (Cost, u64) {
    let folder = scratch();
    let made = case.copy();
    let input = folder.path().join("input");
    support::copy_tree(&made.path().join("input"), &input);
    let file = victim(&input);
    kind.put(&file, count);
    let what = format!("{} {} × {count}", case.id(), kind.name);
    let (dest, back) = (folder.path().join("dest"), folder.path().join("back"));
    let cost = run(&what, &["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    run(&what, &["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()]);
    let name = file.strip_prefix(&input).unwrap();
    assert!(fs::read(back.join(name)).unwrap() == fs::read(&file).unwrap(), "{what}: it does not come back");
    (cost, fs::metadata(&file).unwrap().len())
}

#[test]
fn hostile_sources_come_back_and_cost_what_they_are() {
    if !fs::exists("/proc/self/stat").unwrap() {
        return eprintln!("no /proc here: what hostile sources cost is not measured");
    }
    let cases: Vec<Case> = fixtures().into_iter().filter(|case| ["tour", "plain"].contains(&case.name.as_str())).collect();
    assert_eq!(cases.len(), everlog::adapters::ALL.len(), "each format has one");
    let mut tried = 0;
    let word = std::env::var("HOSTILE_KIND").unwrap_or_default();
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&word)) {
        for case in &cases {
            let count = kind.size();
            let ((small, _), (large, bytes)) = (cost(case, kind, count / 4), cost(case, kind, count));
            tried += 2;
            let what = format!("{} {}", case.id(), kind.name);
            assert!(large.time <= 10 * small.time.max(20), "{what}: {} and {} hundredths of a second", small.time, large.time);
            let allowed = 12 * bytes / 1024 + 96 * 1024;
            assert!(large.memory <= allowed, "{what}: {} KB for {bytes} bytes", large.memory);
        }
        eprintln!("{}: {} × {}", kind.name, cases.len(), kind.size());
    }
    figure("hostile sources", tried);
}
