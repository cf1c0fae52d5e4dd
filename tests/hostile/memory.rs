//! A large sidecar is converted in less memory than one and a half times its
//! size and 64 MiB; one message that is as large in little more than four times;
//! a session more in a folder of many takes a few kilobytes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const MIB: u64 = 1024 * 1024;

/// A sidecar whose transcript and context are the same rows, short and long.
fn large_sidecar(at_least: usize) -> String {
    let (mut rows, mut seed) = (String::new(), 20_261_116_u64);
    for n in 0.. {
        let words = [40, 600, 40, 40_000][n % 4];
        let comma = if n > 0 { ",\n" } else { "" };
        let role = if n % 2 == 0 { "user" } else { "assistant" };
        write!(rows, "{comma}    {{\n      \"role\": \"{role}\",\n      \"content\": \"").unwrap();
        for _ in 0..words {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write!(rows, "é{} \\\"", seed >> 44).unwrap();
        }
        write!(rows, "\",\n      \"timestamp\": {}.5,\n      \"id\": {n}\n    }}", 1_788_300_000 + n).unwrap();
        if rows.len() * 2 > at_least {
            break;
        }
    }
    let head = "\"session_id\": \"1a46e0000001\",\n  \"title\": \"T\",\n  \"workspace\": \"/w\",\n  \"updated_at\": 1788300000.5";
    format!("{{\n  {head},\n  \"messages\": [\n{rows}\n  ],\n  \"tool_calls\": [],\n  \"context_messages\": [\n{rows}\n  ]\n}}")
}

/// The most memory that a program had, in bytes; nothing once it is gone.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Migrates a source and says how much memory that took at most; nothing where
/// that cannot be measured.
fn most_memory(source: &Path, dest: &Path) -> Option<u64> {
    most_memory_of(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()])
}

/// The same of any command.
fn most_memory_of(words: &[&str]) -> Option<u64> {
    if !Path::new("/proc/self/status").exists() {
        support::campaign::missing("no /proc here: memory is not measured");
        return None;
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(peak(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    Some(most)
}

/// Judges what a source of so many bytes took.
fn judge(what: &str, most: u64, bytes: u64, allowed: u64) {
    eprintln!("{} MiB of {what}, {} MiB of memory, {} MiB allowed", bytes / MIB, most / MIB, allowed / MIB);
    assert!(most > bytes / 2, "not measured: {most}");
    assert!(most < allowed, "{most} bytes of memory for {bytes} of {what}, and {allowed} are allowed");
}

#[test]
fn a_large_sidecar_takes_little_more_memory_than_its_size() {
    let scratch = TempDir::new().unwrap();
    let source = scratch.path().join("sessions");
    fs::create_dir_all(&source).unwrap();
    let text = large_sidecar(24 * 1024 * 1024);
    fs::write(source.join("1a46e0000001.json"), &text).unwrap();
    let bytes = text.len() as u64;
    if let Some(most) = most_memory(&source, &scratch.path().join("dest")) {
        judge("sidecar", most, bytes, bytes * 3 / 2 + 64 * MIB);
    }
}

/// However many there are, and however many at once may be worked on.
#[test]
fn large_sessions_are_not_in_memory_together() {
    let scratch = TempDir::new().unwrap();
    let (source, dest) = (scratch.path().join("logs"), scratch.path().join("dest"));
    let line =
        format!("{{\"role\": \"user\", \"content\": \"{}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n", "0123456789abcde ".repeat(4096));
    let text = line.repeat(48 * 1024 * 1024 / line.len());
    for name in ["a", "b", "c", "d"] {
        fs::create_dir_all(source.join(name)).unwrap();
        fs::write(source.join(name).join("conversation.jsonl"), &text).unwrap();
    }
    let bytes = text.len() as u64;
    let [source, dest] = [&source, &dest].map(|path| path.to_str().unwrap());
    for words in [&["migrate", source, "-o", dest, "--jobs", "4"][..], &["verify", dest, "--source", source, "--jobs", "4"]] {
        if let Some(most) = most_memory_of(words) {
            judge("each session", most, bytes, bytes * 3 / 2 + 64 * MIB);
        }
    }
}

/// One message is the unit of comparison: the source, its line in the log, what
/// the program shows of it and what the log does are there at once.
#[test]
fn a_message_as_long_as_its_session_is_held_four_times() {
    let scratch = TempDir::new().unwrap();
    let session = scratch.path().join("logs/chat");
    fs::create_dir_all(&session).unwrap();
    let long = "0123456789abcde ".repeat(40 * 1024 * 1024 / 16);
    let text = format!("{{\"role\": \"user\", \"content\": \"{long}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n");
    fs::write(session.join("conversation.jsonl"), &text).unwrap();
    let bytes = text.len() as u64;
    if let Some(most) = most_memory(&scratch.path().join("logs"), &scratch.path().join("dest")) {
        judge("message", most, bytes, bytes * 9 / 2 + 16 * MIB);
    }
}

/// A folder of so many small sessions, each with what its program leaves there.
fn many_sessions(folder: &Path, sessions: usize) {
    for n in 0..sessions {
        let session = folder.join(format!("2026-03-02-drawing-brave-alder-{n}"));
        fs::create_dir_all(session.join("branches")).unwrap();
        fs::write(session.join(".lock"), "1234").unwrap();
        fs::write(session.join("config.toml"), "[chat]\nmodel = \"m\"\n").unwrap();
        let line = |role: &str| format!("{{\"role\": \"{role}\", \"content\": \"{n}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n");
        fs::write(session.join("conversation.jsonl"), line("user") + &line("assistant")).unwrap();
        std::os::unix::fs::symlink("/home/user/tide-table", session.join("workspace")).unwrap();
    }
}

/// The names of a session, and where its receipt stands: what else is known of
/// it is forgotten when it is done.
#[test]
fn one_more_of_many_sessions_takes_a_few_kilobytes() {
    const FEW: usize = 1_000;
    const MANY: usize = 4_000;
    const ALLOWED: u64 = 5 * 1024;
    // Thousands of files: in memory, where there is such a place.
    let scratch = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
    let mut peaks = Vec::new();
    for sessions in [FEW, MANY] {
        let (source, dest) = (scratch.path().join(format!("logs-{sessions}")), scratch.path().join(format!("dest-{sessions}")));
        many_sessions(&source, sessions);
        let (source, dest) = (source.to_str().unwrap(), dest.to_str().unwrap());
        let migrate: &[&str] = &["migrate", source, "-o", dest];
        peaks.push([migrate, migrate, &["verify", dest, "--source", source]].map(most_memory_of));
    }
    for (what, (few, many)) in ["migrate", "migrate again", "verify --source"].iter().zip(peaks[0].iter().zip(peaks[1])) {
        let (Some(few), Some(many)) = (*few, many) else { return };
        let each = many.saturating_sub(few) / (MANY - FEW) as u64;
        eprintln!("{what}: {} MiB for {FEW} sessions, {} MiB for {MANY}: {each} bytes for each", few / MIB, many / MIB);
        assert!(few > MIB && many > few, "not measured: {few}, {many}");
        assert!(each < ALLOWED, "{what}: {each} bytes of memory for each session, and {ALLOWED} are allowed");
    }
}
