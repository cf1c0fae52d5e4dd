//! Sessions of 200,000 entries need no deep stack. How time grows with length is
//! counted in instructions by `scripts/instructions`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::ALL;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};

use crate::support::convert_and_prove;

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

#[test]
fn a_session_of_200_000_entries_is_proven_on_a_small_stack() {
    for (format, growth) in [("pi", Growth::Deep), ("openclaw", Growth::Forked)] {
        let adapter = ALL.iter().find(|adapter| adapter.id() == format).unwrap();
        let files = session(200_000, growth);
        let run = std::thread::Builder::new().stack_size(512 * 1024);
        std::thread::scope(|scope| {
            let prove = || convert_and_prove(*adapter, &files).map(|(_, proof)| proof).map_err(Box::new);
            let proven = run.spawn_scoped(scope, prove).unwrap().join().unwrap().unwrap();
            assert!(proven.messages >= 100_000, "{format} {growth:?}: {} messages", proven.messages);
        });
    }
}
