//! Logs of earlier builds, which had the source's words where the log has words of its
//! own now: they verify, and say the same.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::{Path, PathBuf};

use everlog::{Log, Message, Part, Role, StopReason};

use crate::support::{everlog, stderr};

fn older_logs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/older_logs");
    let mut logs: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    logs.sort();
    logs
}

#[test]
fn logs_of_earlier_builds_restore_as_they_did() {
    let logs = older_logs();
    assert_eq!(logs.len(), 6);
    for log in logs {
        let out = everlog(&["verify", log.to_str().unwrap()]);
        assert!(out.status.success(), "{}: {}", log.display(), stderr(&out));
    }
}

fn messages(name: &str) -> Vec<Message> {
    let path = older_logs().into_iter().find(|path| path.ends_with(name)).unwrap();
    let log = Log::open(path).unwrap();
    log.messages(&log.active()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn messages_of_earlier_logs_are_told_in_the_words_of_today() {
    let tour = messages("pi-tour-1.everlog.jsonl");
    assert!(tour.iter().any(|message| message.stop_reason == Some(StopReason::EndTurn)));
    let shells = tour.iter().filter(|message| message.parts.iter().any(|part| matches!(part, Part::Shell(_))));
    assert!(shells.clone().count() > 0);
    assert!(shells.into_iter().all(|message| message.role == Role::User));
    let hooks = messages("pi-v2-1.everlog.jsonl");
    assert!(hooks.iter().any(|message| message.role == Role::System && message.source_role.as_deref() == Some("hookMessage")));
}
