//! The time that a session takes grows with its length, not with its square.
//! Alone in its program, so that the processor time is its own. How closely it
//! follows the length, `scripts/instructions` counts and `scripts/bench` measures:
//! here any machine must pass, whatever else it does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::adapters::ALL;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use std::fs;
use std::time::Duration;
use support::convert_and_prove;
use support::growth::at_most;

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
    // Both lengths are proven in two threads, as large sessions are.
    let filling = ", and so on".repeat(8);
    for n in 0..count {
        let role = if n % 2 == 0 { "user" } else { "toolResult" };
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"{n:08x}\",\"parentId\":{leaf},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"role\":\"{role}\",\"content\":\"m{n}{filling}\"}}}}\n"
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

/// Processor time of this program, which the system counts in hundredths of a
/// second.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    Duration::from_millis(10 * (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()))
}

#[test]
fn the_time_grows_with_the_entries_and_not_with_their_square() {
    if !fs::exists("/proc/self/stat").unwrap() {
        eprintln!("no /proc here: the time that a long session takes is not measured");
        return;
    }
    for (format, growth) in [("pi", Growth::Deep), ("openclaw", Growth::Forked)] {
        let adapter = ALL.iter().find(|adapter| adapter.id() == format).unwrap();
        let prove = |files: &Files, count: usize| {
            // A small stack: nothing may go as deep as the session does.
            let run = std::thread::Builder::new().stack_size(512 * 1024);
            std::thread::scope(|scope| {
                let proven = run
                    .spawn_scoped(scope, || convert_and_prove(*adapter, files).map(|(_, proof)| proof).map_err(Box::new))
                    .unwrap()
                    .join()
                    .unwrap();
                assert!(proven.unwrap().messages as usize >= count / 2);
            });
        };
        // Ten short ones one after the other, so that both sides are measured for as long.
        let time = |sessions: usize, count: usize| {
            let files = session(count, growth);
            let before = processor_time();
            (0..sessions).for_each(|_| prove(&files, count));
            (processor_time() - before).max(Duration::from_millis(50))
        };
        let taken = at_most(2.0, || time(10, 20_000), || time(1, 200_000));
        eprintln!("{format} {growth:?}: for ten sessions of 20,000 entries, and for one of 200,000: {taken:?}");
        assert!(taken.is_ok(), "{format} {growth:?}: {taken:?}");
    }
}
