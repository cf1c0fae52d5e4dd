//! Small pi sessions, line by line.

use super::bench::Bench;
use std::fs;
use std::path::PathBuf;

/// The file that a session is.
pub const NAME: &str = "2026-11-15T23-14-50-910Z_s1.jsonl";

/// The header that a session begins with.
pub fn header() -> String {
    "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-11-15T23:14:50.910Z\",\"cwd\":\"/w\"}\n".to_owned()
}

/// An entry; `rest` is what it has besides type, id, parent and time.
pub fn entry(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!("{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-11-15T23:15:00.000Z\",{rest}}}\n")
}

/// What a user said; `text` as it stands in JSON.
pub fn said(id: &str, parent: &str, text: &str) -> String {
    entry("message", id, parent, &format!("\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":1763248500000}}"))
}

/// Two ways on from a question, the second of them active.
pub fn two_ways() -> String {
    [
        header(),
        said("aaaa0001", "", "one"),
        said("aaaa0002", "aaaa0001", "two"),
        said("bbbb0001", "aaaa0002", "the first way"),
        said("bbbb0002", "bbbb0001", "its end"),
        said("cccc0001", "aaaa0002", "the other way"),
        said("cccc0002", "cccc0001", "the last words"),
    ]
    .concat()
}

/// Writes the session.
pub fn write(bench: &Bench, lines: &str) -> PathBuf {
    fs::create_dir_all(bench.source()).unwrap();
    let path = bench.source().join(NAME);
    fs::write(&path, lines).unwrap();
    path
}

/// Its log.
pub fn log(bench: &Bench) -> PathBuf {
    bench.log(NAME)
}
