//! A session ten times as long takes at most twelve times as long. Alone in its
//! program, so that the processor time is its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::adapters::ALL;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use std::fs;
use support::convert_and_prove;

/// How entries hang below each other: a chain, or a fork at every third one
/// that leaves a leaf behind.
#[derive(Debug, Clone, Copy)]
enum Growth {
    Deep,
    Forked,
}

fn session(count: usize, growth: Growth) -> Files {
    let mut text =
        String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}\n");
    let mut leaf = "null".to_owned();
    for n in 0..count {
        let role = if n % 2 == 0 { "user" } else { "toolResult" };
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{n:08x}\",\"parentId\":{leaf},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"{role}\",\"content\":\"m{n}\"}}}}\n"
        ));
        let is_left = matches!(growth, Growth::Forked) && n % 3 == 2;
        if !is_left {
            leaf = format!("\"{n:08x}\"");
        }
    }
    let mut files = Files::new("long.jsonl");
    files.insert(RelPath::new("long.jsonl"), Entry::File(SourceFile { bytes: text.into_bytes(), mtime_ns: 0 }));
    files
}

/// Processor time of this program, in hundredths of a second.
fn processor_time() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn ten_times_the_entries_take_at_most_twelve_times_as_long() {
    if !fs::exists("/proc/self/stat").unwrap() {
        eprintln!("no /proc here: the time that a long session takes is not measured");
        return;
    }
    for adapter in ALL.iter().filter(|adapter| ["pi", "openclaw"].contains(&adapter.id())) {
        for growth in [Growth::Deep, Growth::Forked] {
            let time = |count: usize| {
                let files = session(count, growth);
                let before = processor_time();
                // A small stack: nothing may go as deep as the session does.
                let run = std::thread::Builder::new().stack_size(512 * 1024);
                std::thread::scope(|scope| {
                    let proven = run
                        .spawn_scoped(scope, || convert_and_prove(*adapter, &files).map(|(_, proof)| proof).map_err(Box::new))
                        .unwrap()
                        .join()
                        .unwrap();
                    assert!(proven.unwrap().messages as usize >= count / 2);
                });
                processor_time() - before
            };
            // The shorter one is measured by its best, so that noise cannot help.
            let short = (0..3).map(|_| time(20_000)).min().unwrap().max(5);
            let long = time(200_000);
            eprintln!("{} {growth:?}: {short} and {long}", adapter.id());
            assert!(
                long <= 12 * short,
                "{} {growth:?}: {short} hundredths of a second for 20,000 entries, {long} for 200,000",
                adapter.id()
            );
        }
    }
}
