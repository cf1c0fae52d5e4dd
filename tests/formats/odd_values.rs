//! Values that a program accepts and that a log must carry in another form.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use support::bench::{Bench, code};
use support::{everlog, stderr, stdout};

/// Members of a gptme message, as JSON text.
const ODD: &[&str] = &[
    r#""metadata": {"$raw": "x"}"#,
    r#""metadata": {"$raw": "x", "input_tokens": 1}"#,
    r#""metadata": {"input_tokens": 1, "$raw": {"$raw": 1}}"#,
    r#""metadata": {"usage": {"$raw": "x", "input_tokens": 1}}"#,
    r#""metadata": {"usage": {"$raw": "[1]"}, "model": "m"}"#,
    r#""metadata": {"a": {"$raw": null}}"#,
    r#""call_id": {"$raw": "[1]"}"#,
    r#""files": "\ud800""#,
    r#""files": "a\ud800b""#,
    r#""files": ["\ud800"]"#,
    r#""files": ["a//\ud800/./b"]"#,
    r#""files": ["\ud800://x"]"#,
    r#""files": {"\udc00": 1}"#,
    r#""files": [], "file_hashes": {"$raw": "x"}"#,
];

#[test]
fn odd_values_of_gptme_are_proven_and_replay_on_one_line() {
    for odd in ODD {
        let bench = Bench::new();
        let line = format!("{{\"role\": \"user\", \"content\": \"hi\", \"timestamp\": \"2026-01-01T00:00:00\", {odd}}}\n");
        bench.conversation("chat", &line);
        let done = bench.migrate(&[]);
        assert_eq!(code(&done), Some(0), "{odd}: {}", stderr(&done));
        let replayed = everlog(&["replay", bench.log("chat").to_str().unwrap(), "--as", "source"]);
        assert_eq!(stdout(&replayed).lines().count(), 1, "{odd}");
    }
}
