//! The laws that hold for every session: over all cases, and over sessions that
//! are made up. A failure of the latter prints its seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::format::{Check, Format};
use everlog::adapters::{ALL, by_id};
use everlog::log::restore::{ByteSink, file_plan, rebuild};
use everlog::log::{LogView, SealState};
use everlog::model::event::{EventKind, FileKind};
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::model::ids::Seq;
use everlog::model::stream::{LogAccess, StreamError};
use everlog::pipeline::source::{Selection, Source};
use everlog::verify::check_log;
use proptest::prelude::*;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::damage::{Seeded, damaged};
use support::{
    Origin, all_cases, campaign, convert, convert_and_prove, everlog, figure, fixtures, forest, generated, proof, sessions, tree,
};

/// Collects what is rebuilt.
#[derive(Default)]
struct Collect(Vec<u8>);

impl ByteSink for Collect {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Every file with records that a log rebuilds; a file that cannot be rebuilt
/// any more is not what it was either.
fn rebuilt(adapter: &dyn Format, log: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut view = LogView::open(log.to_vec()).unwrap();
    let mut files = BTreeMap::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq).unwrap();
        if matches!(plan.entry.kind, FileKind::File | FileKind::Rows) && plan.entry.holds.is_some() {
            let mut sink = Collect::default();
            let done = rebuild(&mut view, &plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut sink);
            files.insert(plan.path.to_string(), if done.is_ok() { sink.0 } else { b"cannot be rebuilt".to_vec() });
        }
    }
    files
}

#[test]
fn every_session_is_proven_with_and_without_checks_of_each_record() {
    let count = AtomicUsize::new(0);
    all_cases().par_iter().for_each(|case| {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let adapter = unit.found.adapter;
            let (quick, _) = convert_and_prove(adapter, &files).unwrap_or_else(|d| panic!("{} {}: {d:?}", case.id(), unit.name));
            let checked = convert(adapter, &files, Check::EachRecord);
            proof(adapter, &files, &checked.log).unwrap_or_else(|d| panic!("{} {}: {d:?}", case.id(), unit.name));
            if quick.summary.residual_bytes == 0 {
                assert!(quick.log == checked.log, "{} {}: the log depends on how it was checked", case.id(), unit.name);
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    eprintln!("{} sessions proven", count.into_inner());
}

#[test]
fn each_distinct_message_is_stored_once() {
    for case in all_cases() {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let (converted, _) = convert_and_prove(unit.found.adapter, &files).unwrap();
            let mut view = LogView::open(converted.log).unwrap();
            let mut seen = BTreeMap::new();
            for number in 1..=view.last().number() {
                let event = view.event(Seq::new(number)).unwrap();
                if event.kind == EventKind::Message {
                    let text = String::from_utf8_lossy(event.payload);
                    let normal = text.split(",\"shape\":").next().unwrap().trim_end_matches('}').to_owned();
                    if let Some(first) = seen.insert((event.ts.map(str::to_owned), normal), number) {
                        panic!("{} {}: message {number} is message {first} again", case.id(), unit.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_message_in_other_bytes_is_still_the_same_message() {
    let spaced = "{\"role\": \"user\", \"content\": \"caf\\u00e9\", \"timestamp\": \"2026-01-01T00:00:00\"}\n";
    let compact = "{\"timestamp\":\"2026-01-01T00:00:00\",\"role\":\"user\",\"content\":\"café\"}\n";
    let mut files = Files::new("chat");
    for (path, text) in [("conversation.jsonl", spaced), ("branches/rewritten.jsonl", compact)] {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: text.into(), mtime_ns: 0 }));
    }
    let (converted, _) = convert_and_prove(by_id("gptme").unwrap(), &files).unwrap();
    let log = String::from_utf8(converted.log).unwrap();
    assert_eq!(log.matches("\"type\":\"message\"").count(), 1, "{log}");
}

#[test]
fn a_log_is_plain_json_for_every_parser() {
    for case in all_cases() {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let (converted, _) = convert_and_prove(unit.found.adapter, &files).unwrap();
            let log = String::from_utf8(converted.log).expect("a log is UTF-8");
            let unsafe_character = log.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{2028}' | '\u{2029}'));
            assert_eq!(unsafe_character, None, "{} {}", case.id(), unit.name);
            for line in log.lines() {
                serde_json::from_str::<serde::de::IgnoredAny>(line).unwrap_or_else(|e| panic!("{} {}: {e}: {line}", case.id(), unit.name));
            }
        }
    }
}

/// A log in which one message says something else.
fn with_changed_message(lines: &[&[u8]], at: usize) -> Option<Vec<u8>> {
    let line = lines[at];
    let text = memchr::memmem::find(line, b"\"text\":")? + 7;
    let inside = if line[text..].starts_with(b"{\"$raw\":\"\\\"") { text + 11 } else { text + 1 };
    let mut log = Vec::new();
    for (n, other) in lines.iter().enumerate() {
        if n == at {
            log.extend_from_slice(&line[..inside]);
            log.push(b'~');
            log.extend_from_slice(&line[inside..]);
        } else {
            log.extend_from_slice(other);
        }
        log.push(b'\n');
    }
    Some(log)
}

#[test]
fn changing_any_message_changes_a_rebuilt_file() {
    let changed = AtomicUsize::new(0);
    all_cases().par_iter().for_each(|case| {
        let scratch = case.copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            let adapter = unit.found.adapter;
            let (converted, _) = convert_and_prove(adapter, &files).unwrap();
            let original = rebuilt(adapter, &converted.log);
            let lines: Vec<&[u8]> = converted.log.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n').collect();
            // What a session has from another one is rebuilt from that one's log.
            let is_own = |line: &[u8]| memchr::memmem::find(line, b"\"inherited\":true").is_none();
            let messages: Vec<usize> = (0..lines.len())
                .filter(|&n| {
                    memchr::memmem::find(&lines[n][..lines[n].len().min(120)], b"\"type\":\"message\"").is_some() && is_own(lines[n])
                })
                .collect();
            // Of a long log some: each costs a rebuild of all its files.
            let step = (messages.len() / 60).max(1);
            for &at in messages.iter().step_by(step) {
                let Some(log) = with_changed_message(&lines, at) else { continue };
                assert!(rebuilt(adapter, &log) != original, "{} {}: event {} can be changed unseen", case.id(), unit.name, at + 1);
                // The corpus does not lie beside every copy of the project.
                changed.fetch_add(usize::from(case.origin == Origin::Fixture), Ordering::Relaxed);
            }
        }
    });
    assert!(changed.load(Ordering::Relaxed) > 500);
    figure("mutations caught", changed.into_inner());
}

/// Whether a file is worth damaging.
fn holds_records(path: &RelPath) -> bool {
    [".jsonl", ".json", ".json.bak", ".json.migrated"].iter().any(|suffix| path.as_bytes().ends_with(suffix.as_bytes()))
}

/// A session with one of its files cut short.
fn cut(files: &Files, path: &RelPath, at: usize) -> Files {
    let mut shorter = files.clone();
    if let Some(Entry::File(file)) = files.entry(path) {
        shorter.insert(path.clone(), Entry::File(SourceFile { bytes: file.bytes[..at].to_vec(), mtime_ns: file.mtime_ns }));
    }
    shorter
}

#[test]
fn a_source_cut_at_any_byte_still_converts_and_restores() {
    let cuts = AtomicUsize::new(0);
    let mut whole = Vec::new();
    for case in fixtures() {
        let scratch = case.copy();
        whole.extend(
            sessions(&scratch.path().join("input")).into_iter().map(|(unit, files)| (format!("{} {}", case.id(), unit.name), unit, files)),
        );
    }
    let mut work: Vec<(usize, &RelPath, usize)> = Vec::new();
    for (n, (_, _, files)) in whole.iter().enumerate() {
        for (path, entry) in files.iter().filter(|(path, _)| holds_records(path)) {
            if let Entry::File(file) = entry {
                let places = places_to_cut(&file.bytes).into_iter().filter(|at| campaign::is_chosen(n, *at));
                work.extend(places.map(|at| (n, path, at)));
            }
        }
    }
    work.par_iter().for_each(|(n, path, at)| {
        let (name, unit, files) = &whole[*n];
        if let Err(difference) = convert_and_prove(unit.found.adapter, &cut(files, path, *at)) {
            panic!("{name}: {path} cut at {at}: {difference:?}");
        }
        cuts.fetch_add(1, Ordering::Relaxed);
    });
    figure("cuts", cuts.into_inner());
}

#[test]
fn damage_at_random_places_is_carried_and_proven() {
    let mut whole = Vec::new();
    for case in fixtures() {
        let scratch = case.copy();
        whole.extend(
            sessions(&scratch.path().join("input")).into_iter().map(|(unit, files)| (format!("{} {}", case.id(), unit.name), unit, files)),
        );
    }
    let rounds = campaign::rounds("DAMAGE_ROUNDS", 60);
    let work: Vec<(usize, u64)> = (0..whole.len()).flat_map(|n| (0..rounds).map(move |round| (n, round))).collect();
    let failures: Vec<String> = work
        .par_iter()
        .filter_map(|&(n, round)| {
            let (name, unit, files) = &whole[n];
            let mut random = Seeded(round * 1_000_003 + n as u64);
            let lists: Vec<&RelPath> = files.iter().map(|(path, _)| path).filter(|path| holds_records(path)).collect();
            let path = lists.get(random.below(lists.len()))?;
            let Some(Entry::File(file)) = files.entry(path) else { return None };
            let mut hurt = files.clone();
            hurt.insert((*path).clone(), Entry::File(SourceFile { bytes: damaged(&file.bytes, &mut random), mtime_ns: file.mtime_ns }));
            convert_and_prove(unit.found.adapter, &hurt).err().map(|difference| format!("{name}: {path}, round {round}: {difference:?}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), work.len(), failures[..failures.len().min(10)].join("\n"));
    figure("damaged sessions", work.len());
}

/// Every byte of a small file; of a larger one its line ends and some places
/// between them.
fn places_to_cut(bytes: &[u8]) -> Vec<usize> {
    if bytes.len() <= 12 * 1024 {
        return (0..bytes.len()).collect();
    }
    let mut places: Vec<usize> = memchr::memchr_iter(b'\n', bytes).flat_map(|at| [at, at + 1, (at + 2).min(bytes.len())]).collect();
    let mut seed: u64 = bytes.len() as u64;
    for _ in 0..200 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        places.push((seed >> 33) as usize % bytes.len());
    }
    places
}

#[test]
fn a_second_migrate_changes_nothing_and_the_source_is_never_touched() {
    for case in all_cases() {
        let scratch = case.copy();
        let (input, dest) = (scratch.path().join("input"), scratch.path().join("dest"));
        let before = tree(&input);
        let words = ["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--json"];
        everlog(&words);
        let first = tree(&dest);
        assert!(!first.is_empty());
        let second = everlog(&words);
        assert!(tree(&dest) == first, "{}: the second run wrote something", case.id());
        assert!(!String::from_utf8_lossy(&second.stdout).contains("\"status\":\"created\""));
        // Nothing is believed, and still nothing is written.
        everlog(&[&words[..], &["--rehash"]].concat());
        assert!(tree(&dest) == first, "{}: the run that believes nothing wrote something", case.id());
        assert!(tree(&input) == before, "{}: the source was touched", case.id());
    }
}

#[test]
fn the_logs_do_not_depend_on_the_number_of_jobs_or_the_place() {
    let scratch = tempfile::TempDir::new().unwrap();
    let input = scratch.path().join("input");
    for case in fixtures() {
        let copy = case.copy();
        support::copy_tree(&copy.path().join("input"), &input.join(&case.format).join(&case.name));
    }
    let logs_with = |jobs: &str, source: &std::path::Path, dest: &str| {
        let dest = scratch.path().join(dest);
        everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--jobs", jobs]);
        let logs: BTreeMap<String, Vec<u8>> =
            tree(&dest).into_iter().filter(|(name, _)| !name.contains(".everlog/")).map(|(name, (bytes, _))| (name, bytes)).collect();
        assert!(logs.len() > 40);
        logs
    };
    let one = logs_with("1", &input, "one");
    assert!(one == logs_with("7", &input, "seven"));
    let elsewhere = scratch.path().join("quite/another place");
    support::copy_tree(&input, &elsewhere);
    assert!(one == logs_with("2", &elsewhere, "elsewhere"));
}

#[test]
fn every_case_is_claimed_by_its_own_adapter_and_no_other() {
    // A home of Hermes has what both of its programs keep, and a folder of OpenClaw or
    // opencode files beside its database: one of the two claims it.
    let together = [["hermes-state-db", "hermes-webui"], ["openclaw", "openclaw-sqlite"], ["opencode", "opencode-tree"]];
    for case in all_cases() {
        let scratch = case.copy();
        let pair = together.iter().find(|pair| pair.contains(&case.format.as_str()));
        let mut is_claimed = false;
        for adapter in ALL {
            let source = Source::open(&scratch.path().join("input"), &[*adapter], &Selection::default()).unwrap();
            // A database may be named by its adapter without being a session.
            let is_known = !source.units.is_empty() || source.discovery.recognised_any();
            let is_own = adapter.id() == case.format || pair.is_some_and(|pair| pair.contains(&adapter.id()));
            assert!(is_own || !is_known, "{} is claimed by {}", case.id(), adapter.id());
            is_claimed |= is_known;
        }
        assert!(is_claimed, "{} is claimed by nobody", case.id());
    }
}

/// How many sessions are made up; `PROPTEST_CASES` asks for more.
fn made_up_cases() -> u32 {
    u32::try_from(campaign::rounds("PROPTEST_CASES", 500)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 2000, ..ProptestConfig::with_cases(made_up_cases()) })]

    #[test]
    fn made_up_trees_are_proven((flavour, history) in forest::history(40)) {
        let files = forest::files(flavour, &history);
        for adapter in ALL.iter().filter(|adapter| adapter.id() == flavour.format()) {
            let (converted, _) = convert_and_prove(*adapter, &files).map_err(|d| TestCaseError::fail(format!("{d:?}")))?;
            let mut view = LogView::open(converted.log).unwrap();
            prop_assert!(check_log(&mut view, *adapter, &|_, _| false).unwrap().is_ok());
        }
    }

    #[test]
    fn made_up_sessions_are_proven(history in generated::history(60)) {
        let files = generated::files(&history);
        for adapter in ALL.iter().filter(|adapter| adapter.id() == "gptme") {
            let (converted, _) = convert_and_prove(*adapter, &files).map_err(|d| TestCaseError::fail(format!("{d:?}")))?;
            let mut view = LogView::open(converted.log).unwrap();
            let sealed = matches!(view.seal(), SealState::Good { .. });
            prop_assert!(sealed);
            prop_assert!(check_log(&mut view, *adapter, &|_, _| false).unwrap().is_ok());
        }
    }
}

#[test]
fn a_store_contains_the_source_that_it_was_made_of() {
    fixtures().par_iter().for_each(|case| {
        let scratch = case.copy();
        let (input, dest) = (scratch.path().join("input"), scratch.path().join("store"));
        let [source, store] = [&input, &dest].map(|path| path.to_str().unwrap());
        let migrated = everlog(&["migrate", source, "-o", store]);
        for (command, a, b) in [("contains", source, store), ("contains", store, source), ("diff", source, store)] {
            let done = everlog(&[command, a, b, "--json"]);
            let said = String::from_utf8_lossy(&done.stdout);
            // What could not be looked at is named, and is not a loss.
            let is_named = said.contains("\"not_compared\":\"");
            let loses = said.contains("\"missing\":\"") || said.contains("\"change\":\"");
            assert!(!loses, "{}: {command} {a} {b}: {said}\n{migrated:?}", case.id());
            assert!(done.status.code() == Some(0) || is_named, "{}: {command}: {said}{}", case.id(), String::from_utf8_lossy(&done.stderr));
        }
    });
}
