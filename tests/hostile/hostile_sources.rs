//! Sources that nobody expects: nested without end, lines without end, keys and
//! digits by the million, broken text. Each goes through the real program, comes
//! back byte for byte, and four times as much takes about four times as long and
//! as much memory. `HOSTILE_SCALE=100` is the full size (in percent),
//! `HOSTILE_KIND=keys` chooses some by their names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::scenarios::scratch;
use support::{Case, figure, fixtures, tree};

/// How much of the full size to use, in thousandths. The full campaign takes 40,
/// because a line of 1 GiB and ten million lines need hours.
fn scale() -> usize {
    usize::try_from(campaign::rounds("HOSTILE_SCALE", 40)).unwrap()
}

/// Where the hostile bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the place of a message's content.
    Value,
    /// After everything else.
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
        if self.is_cheap && scale() >= 40 { self.count } else { self.count / 1_000 * scale() }
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

/// Runs the program, which must end, and not by a panic. Returns its peak memory
/// in kilobytes.
fn run(what: &str, words: &[&str]) -> u64 {
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
    memory
}

/// Converts a case with something hostile in it, and compares what comes back.
fn cost(case: &Case, kind: &Kind, count: usize) -> (u64, u64) {
    let folder = scratch();
    let made = case.copy();
    let input = folder.path().join("input");
    support::copy_tree(&made.path().join("input"), &input);
    let file = victim(&input);
    kind.put(&file, count);
    let what = format!("{} {} × {count}", case.id(), kind.name);
    let (dest, back) = (folder.path().join("dest"), folder.path().join("back"));
    let memory = run(&what, &["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    run(&what, &["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()]);
    let name = file.strip_prefix(&input).unwrap();
    assert!(fs::read(back.join(name)).unwrap() == fs::read(&file).unwrap(), "{what}: it does not come back");
    (memory, fs::metadata(&file).unwrap().len())
}

#[test]
fn hostile_sources_come_back_and_cost_what_they_are() {
    if !fs::exists("/proc/self/stat").unwrap() {
        return support::campaign::missing("no /proc here: what hostile sources cost is not measured");
    }
    // What is hostile in a database is of another kind.
    let of_files = |format: &str| everlog::adapters::by_id(format).is_some_and(|adapter| adapter.database().is_none());
    let is_one = |case: &Case| ["tour", "plain"].contains(&case.name.as_str()) && of_files(&case.format);
    let cases: Vec<Case> = fixtures().into_iter().filter(is_one).collect();
    let formats = everlog::adapters::ALL.iter().filter(|adapter| of_files(adapter.id())).count();
    assert_eq!(cases.len(), formats, "each format has one");
    let mut tried = 0;
    let word = std::env::var("HOSTILE_KIND").unwrap_or_default();
    for kind in KINDS.iter().filter(|kind| kind.name.contains(&word)) {
        for case in &cases {
            let count = kind.size();
            let (memory, bytes) = cost(case, kind, count);
            tried += 1;
            let what = format!("{} {}", case.id(), kind.name);
            let allowed = 12 * bytes / 1024 + 96 * 1024;
            assert!(memory <= allowed, "{what}: {memory} KB for {bytes} bytes");
        }
        eprintln!("{}: {} × {}", kind.name, cases.len(), kind.size());
    }
    figure("hostile sources", tried);
}
