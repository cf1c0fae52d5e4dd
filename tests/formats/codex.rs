//! Codex CLI: what its own migration would delete is named, a fork carries what it goes on
//! from and restores only its own file, and nothing secret is carried.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use support::bench::{Bench, code};
use support::expected::Json;
use support::{everlog, fixtures, stderr, stdout, tree};

/// A copy of a fixture's input as the source of a bench.
fn bench_of(case: &str) -> Bench {
    let bench = Bench::new();
    let found = fixtures().into_iter().find(|found| found.id() == format!("codex/{case}")).unwrap();
    support::copy_tree(&found.folder.join("input"), &bench.source());
    bench
}

fn migrate(bench: &Bench) {
    let done = everlog(&["migrate", bench.source().to_str().unwrap(), "-o", bench.dest().to_str().unwrap()]);
    assert!(matches!(code(&done), Some(0 | 1)), "{}", stderr(&done));
}

#[test]
fn audit_names_sessions_of_which_the_programs_migration_would_delete_turns() {
    let bench = bench_of("generations");
    let audited = everlog(&["audit", bench.source().to_str().unwrap(), "--json"]);
    assert_eq!(code(&audited), Some(1), "{}", stderr(&audited));
    let rows: Vec<Json> = stdout(&audited).lines().map(|line| Json(line.as_bytes().to_vec())).collect();
    let found: Vec<(String, Vec<u8>)> = rows
        .iter()
        .filter(|row| row.text("code") == "would_lose_turns")
        .map(|row| (row.text("file"), row.get("turns").unwrap().0))
        .collect();
    let file = "sessions/2026/05/04/rollout-2026-05-04T09-10-00-01a2b3c4-0021-7000-8000-5eed00000000.jsonl";
    assert_eq!(found, [(file.to_owned(), b"3".to_vec())]);
}

#[test]
fn a_fork_replays_alone_and_restores_nothing_of_its_parent() {
    let bench = bench_of("tour");
    migrate(&bench);
    let log = bench.dest().join("sessions/2026/05/04/rollout-2026-05-04T09-01-00-01a2b3c4-0002-7000-8000-5eed00000000.jsonl.everlog.jsonl");
    let replayed = everlog(&["replay", log.to_str().unwrap(), "--as", "source"]);
    assert!(stdout(&replayed).contains("There are 288 threads."), "{}", stderr(&replayed));
    let back = bench.dest().join("../back");
    everlog(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()]);
    let names: Vec<String> = tree(&back).into_keys().collect();
    assert_eq!(names, ["sessions/2026/05/04/rollout-2026-05-04T09-01-00-01a2b3c4-0002-7000-8000-5eed00000000.jsonl"]);
}

#[test]
fn records_that_were_glued_together_come_back_with_salvage() {
    let bench = bench_of("damaged");
    migrate(&bench);
    let log = bench.dest().join("sessions/2026/05/04/rollout-2026-05-04T09-20-00-01a2b3c4-0031-7000-8000-5eed00000000.jsonl.everlog.jsonl");
    let replayed = |words: &[&str]| stdout(&everlog(&[&["replay", log.to_str().unwrap()], words].concat()));
    assert!(!replayed(&[]).contains("Here it is."));
    let salvaged = replayed(&["--salvage"]);
    assert!(salvaged.contains("Show it.") && salvaged.contains("Here it is."), "{salvaged}");
}

#[test]
fn what_codex_refuses_can_be_read_under_a_head_of_its_own() {
    let bench = bench_of("damaged");
    migrate(&bench);
    let log = bench.dest().join("sessions/2026/05/04/rollout-2026-05-04T09-22-00-01a2b3c4-0033-7000-8000-5eed00000000.jsonl.everlog.jsonl");
    let shown = everlog(&["replay", log.to_str().unwrap(), "--head", "backup:unloaded"]);
    assert!(stdout(&shown).contains("Lost header."), "{}", stderr(&shown));
}

#[test]
fn a_frame_of_another_level_is_kept_as_it_is() {
    let bench = bench_of("tour");
    let cold = bench.source().join("sessions/2026/04/20/rollout-2026-04-20T09-00-00-01a2b3c4-0007-7000-8000-5eed00000000.jsonl.zst");
    let plain = everlog::model::packing::unpack(&fs::read(&cold).unwrap()).unwrap();
    let method = everlog::model::packing::Method::Zstd;
    let other = everlog::model::packing::Packing { method, level: 1, size: plain.len() as u64 }.pack(&plain.repeat(40)).unwrap();
    fs::write(&cold, &other).unwrap();
    migrate(&bench);
    let back = bench.dest().join("../back");
    everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()]);
    let restored = fs::read(back.join(cold.strip_prefix(bench.source()).unwrap())).unwrap();
    assert!(restored == other);
}

#[test]
fn secrets_and_databases_of_the_folder_are_not_carried() {
    let bench = bench_of("tour");
    for name in ["auth.json", "config.toml", "state_5.sqlite", "log/codex.log"] {
        let path = bench.source().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{\"tokens\":\"s3cr3t\"}").unwrap();
    }
    migrate(&bench);
    for (name, (bytes, _)) in tree(&bench.dest()) {
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t"), "{name}");
    }
}
