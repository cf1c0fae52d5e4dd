//! The library does what the commands do: the same logs, the same files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::{ConvertOptions, ConvertStatus, Error, Log, Progress, Source, convert};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::{everlog, fixtures, stderr, tree};
use tempfile::TempDir;

/// The logs and attachments of a store; receipts have times of their own.
fn logs(store: &Path) -> BTreeMap<String, Vec<u8>> {
    let is_kept = |name: &str| name.ends_with(".everlog.jsonl") || name.starts_with(".everlog/blobs/");
    tree(store).into_iter().filter(|(name, _)| is_kept(name)).map(|(name, (bytes, ..))| (name, bytes)).collect()
}

#[test]
fn converting_gives_the_logs_of_migrate_and_restoring_the_files_of_restore() {
    let sessions = AtomicUsize::new(0);
    fixtures().par_iter().for_each(|case| {
        let scratch = case.copy();
        let at = |name: &str| scratch.path().join(name);
        let migrated = everlog(&["migrate", at("input").to_str().unwrap(), "-o", at("migrated").to_str().unwrap()]);
        assert_ne!(migrated.status.code(), Some(2), "{}: {}", case.id(), stderr(&migrated));
        let run = |options: &ConvertOptions| {
            let mut seen: Vec<Progress> = Vec::new();
            let done = convert(Source::open(at("input")).unwrap(), at("converted"), options, |progress| seen.push(progress)).unwrap();
            (done, seen)
        };
        let (dry, _) = run(&ConvertOptions::new().dry_run());
        assert!(dry.sessions.iter().all(|session| session.log.is_none()) && !at("converted").exists(), "{}", case.id());
        let (done, seen) = run(&ConvertOptions::new());
        assert_eq!(logs(&at("converted")), logs(&at("migrated")), "{}", case.id());
        assert_eq!(seen.len(), done.sessions.len(), "{}", case.id());
        if let Some(last) = seen.last() {
            assert_eq!((last.sessions, last.bytes), (last.all_sessions, last.all_bytes), "{}", case.id());
        }
        let before = tree(&at("converted"));
        let (again, _) = run(&ConvertOptions::new());
        let of_others = |session: &&everlog::ConvertedSession| session.status != ConvertStatus::Unchanged && session.error.is_none();
        assert_eq!(again.sessions.iter().filter(of_others).count(), 0, "{}", case.id());
        assert!(tree(&at("converted")) == before, "{}: a second run has changed something", case.id());
        for (n, session) in done.sessions.iter().enumerate() {
            let Some(path) = &session.log else { continue };
            let (ours, theirs) = (at(&format!("ours-{n}")), at(&format!("theirs-{n}")));
            let restored =
                Log::open(path).unwrap().restore_to(&ours).unwrap_or_else(|error| panic!("{} {}: {error}", case.id(), session.name));
            let done = everlog(&["restore", path.to_str().unwrap(), "-o", theirs.to_str().unwrap()]);
            assert_eq!(done.status.code(), Some(0), "{}: {}", case.id(), stderr(&done));
            assert!(tree(&ours) == tree(&theirs) && restored.already == 0, "{} {}", case.id(), session.name);
            sessions.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(sessions.into_inner() > 200, "the test looks at nothing");
}

/// A folder with so many sessions.
fn chats(folder: &Path, count: usize) {
    for n in 0..count {
        let session = folder.join(format!("chat-{n}"));
        fs::create_dir_all(&session).unwrap();
        let line = format!("{{\"role\": \"user\", \"content\": \"hello {n}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n");
        fs::write(session.join("conversation.jsonl"), line).unwrap();
    }
}

#[test]
fn a_conversion_stops_when_it_is_told_and_goes_on_later() {
    let scratch = TempDir::new().unwrap();
    let (input, dest) = (scratch.path().join("input"), scratch.path().join("dest"));
    chats(&input, 9);
    let stop = Arc::new(AtomicBool::new(false));
    let options = ConvertOptions::new().jobs(1).stop_when(Arc::clone(&stop));
    let done = convert(Source::open(&input).unwrap(), &dest, &options, |progress| {
        stop.store(progress.sessions == 3, Ordering::Relaxed);
    });
    let done = done.unwrap();
    assert_eq!((done.sessions.len(), done.not_begun, done.is_complete()), (3, 6, false));
    let done = convert(Source::open(&input).unwrap(), &dest, &ConvertOptions::new(), |_| {}).unwrap();
    let created = done.sessions.iter().filter(|session| session.status == ConvertStatus::Created).count();
    assert_eq!((done.sessions.len(), created, done.is_complete()), (9, 6, true));
    let proven = convert(Source::open(&input).unwrap(), &dest, &ConvertOptions::new().prove_again(), |_| {}).unwrap();
    assert!(proven.sessions.iter().all(|session| session.status == ConvertStatus::Unchanged && session.messages == 1));
}

#[test]
fn what_cannot_be_done_is_an_error_that_says_why() {
    let scratch = TempDir::new().unwrap();
    let (input, dest) = (scratch.path().join("input"), scratch.path().join("dest"));
    chats(&input, 1);
    let into = |dest: &Path| convert(Source::open(&input).unwrap(), dest, &ConvertOptions::new(), |_| {});
    for inside in [input.join("logs"), input.clone(), scratch.path().to_owned()] {
        assert!(matches!(into(&inside), Err(Error::Overlap { .. })), "{}", inside.display());
    }
    assert!(matches!(Source::open_as(&input, "clay-tablet"), Err(Error::UnknownFormat { .. })));
    assert!(matches!(Source::open(input.join("none")), Err(Error::Store(_))));
    into(&dest).unwrap();
    let lock = fs::File::options().write(true).open(dest.join(".everlog/lock")).unwrap();
    lock.lock().unwrap();
    let locked = into(&dest).unwrap_err();
    assert!(matches!(locked, Error::Store(_)) && locked.hint().is_some(), "{locked}");
    drop(lock);
    // A session that cannot be read is an error of its own, and of no other.
    chats(&input, 2);
    let log = dest.join("chat-0.everlog.jsonl");
    fs::write(&log, fs::read_to_string(&log).unwrap().replacen("\"version\":1", "\"version\":9", 1)).unwrap();
    fs::write(
        input.join("chat-0/conversation.jsonl"),
        "{\"role\": \"user\", \"content\": \"new\", \"timestamp\": \"2026-01-02T00:00:00\"}\n",
    )
    .unwrap();
    let done = into(&dest).unwrap();
    let status: Vec<_> = done.sessions.iter().map(|session| (session.status, session.error.is_some())).collect();
    assert_eq!(status, [(ConvertStatus::Failed, true), (ConvertStatus::Created, false)]);
    assert!(matches!(Log::open(&log), Err(Error::Log { .. })));
}
