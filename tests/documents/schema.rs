//! The schemas in `docs/schema` describe every golden log and every flat
//! message, and `FORMAT.md` names every member that they describe.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::{Log, View};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use support::golden_logs;
use support::schema::Schema;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The `type` of a line.
fn kind(line: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Line {
        r#type: String,
    }
    serde_json::from_slice::<Line>(line).unwrap().r#type
}

#[test]
fn every_line_of_every_golden_log_is_described() {
    let schema = Schema::read("log.schema.json");
    let (mut wrong, mut kinds, mut lines) = (Vec::new(), BTreeSet::new(), 0);
    for path in golden_logs() {
        let log = fs::read(&path).unwrap();
        for (n, line) in log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
            wrong.extend(schema.problems(line).into_iter().map(|problem| format!("{}:{}: {problem}", path.display(), n + 1)));
            kinds.insert(kind(line));
            lines += 1;
        }
    }
    assert!(
        wrong.is_empty(),
        "{} problems; describe it in docs/schema/log.schema.json and src/log/FORMAT.md:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let known = schema.definitions();
    let unknown: Vec<&String> = kinds.iter().filter(|kind| !known.contains(&kind.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} are described nowhere");
    assert!(lines > 4000 && kinds.len() > 20, "the test looks at nothing: {lines} lines, {} types", kinds.len());
}

#[test]
fn every_flat_message_is_described() {
    let schema = Schema::read("message.schema.json");
    let (mut wrong, mut messages) = (Vec::new(), 0);
    for path in golden_logs() {
        let log = Log::open(&path).unwrap();
        for head in log.heads() {
            for view in [View::Context, View::Salvage] {
                for message in log.messages_as(&head, view).unwrap() {
                    let line = message.unwrap().flat(log.session()).to_json().unwrap();
                    wrong.extend(schema.problems(line.as_bytes()).into_iter().map(|problem| format!("{}: {problem}", path.display())));
                    messages += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} problems:\n{}", wrong.len(), wrong.join("\n"));
    assert!(messages > 3000, "the test looks at nothing: {messages} messages");
}

/// The words in code spans of a text.
fn code_words(text: &str) -> BTreeSet<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let words = spans.flat_map(|span| span.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'))));
    words.map(str::to_owned).collect()
}

#[test]
fn the_log_format_names_every_member_that_is_described() {
    let schema = Schema::read("log.schema.json");
    let words = code_words(&text("src/log/FORMAT.md"));
    let mut missing = Vec::new();
    for name in schema.definitions() {
        let members = schema.definition(name).get("properties").and_then(|members| members.as_object());
        for member in members.into_iter().flat_map(|members| members.keys()).filter(|member| !words.contains(*member)) {
            missing.push(format!("{name}.{member}"));
        }
    }
    assert!(missing.is_empty(), "src/log/FORMAT.md does not name {}", missing.join(", "));
}

#[test]
fn what_is_not_a_line_of_a_log_is_refused() {
    let schema = Schema::read("log.schema.json");
    let hash = "0".repeat(64);
    let good = [
        r#"{"seq":2,"ts":"2026-01-01T00:00:00.5+01:00","type":"message","parent":0,"payload":{"role":"user","content":[{"type":"text","text":"a"}]}}"#.to_owned(),
        r#"{"seq":9,"type":"hologram","parent":3,"payload":{"of":"a newer version"}}"#.to_owned(),
        format!(r#"{{"seq":9,"type":"seal","payload":{{"events":8,"checkpoint":10,"sha256":"{hash}"}}}}"#),
    ];
    for line in &good {
        assert_eq!(schema.problems(line.as_bytes()), [""; 0], "{line}");
    }
    for (from, to, problem) in [
        (r#""seq":2"#, r#""seq":0"#, "/seq is below 1"),
        (r#""seq":2,"#, "", " lacks [\"seq\"]"),
        ("00.5+01:00", "00.5 CET", "/ts does not match"),
        (r#""parent":0,"#, "", " lacks [\"parent\"]"),
        (r#""role":"user""#, r#""rôle":"user""#, "/payload/rôle is not described"),
        (r#"[{"type":"text","text":"a"}]"#, r#""a""#, "/payload/content is not array"),
        (r#""text":"a""#, r#""text":7"#, "/payload/content/0/text fits none"),
        (r#"{"type":"text""#, r#"{"type":"smell""#, "/payload/content/0/type is none of"),
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text"}"#, "/payload/content/0 lacks [\"text\"]"),
    ] {
        let bad = good[0].replace(from, to);
        assert_ne!(bad, good[0]);
        let problems = schema.problems(bad.as_bytes());
        assert!(problems.iter().any(|found| found.starts_with(problem)), "{bad}: {problems:?}");
    }
    let (node, short) = (good[2].replace(r#""payload""#, r#""parent":2,"payload""#), good[2].replace(&hash, "0"));
    assert_eq!(schema.problems(node.as_bytes()), ["/parent must not be there"]);
    assert!(!schema.problems(short.as_bytes()).is_empty());
}
