//! The schemas in `docs/schema` describe every golden log and every flat
//! message, and `FORMAT.md` names every member that they describe.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::{Log, View};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use support::bench::Bench;
use support::schema::{COMMANDS, Schema};
use support::{copy_tree, everlog, golden_logs, stdout};

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

fn fixture(place: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(place)
}

/// `everlog` itself fails the test where a line is not as it is described; here it
/// is made sure that each command prints such lines.
#[test]
fn every_command_prints_what_its_schema_describes() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name).display().to_string();
    copy_tree(&fixture("hermes-webui/turns/input"), &bench.path("source"));
    copy_tree(&fixture("pi"), &bench.path("tree"));
    let (source, store, trees, tree_store) = (at("source"), at("store"), at("tree"), at("trees"));
    let tree = fixture(
        "pi/branches/golden/sessions/--home-ada-loom--/2026-03-03T09-14-00-711Z_0197c0de-0002-7a1e-8b0b-5e5510900002.jsonl.everlog.jsonl",
    );
    let log = bench.path("fork.everlog.jsonl");
    fs::copy(tree, &log).unwrap();
    let log = log.display().to_string();
    let turns = fixture("hermes-webui/turns/golden/sessions/70a200000001.json.everlog.jsonl").display().to_string();
    let words: [&[&str]; 25] = [
        &["detect", &source],
        &["migrate", &source, "-o", &store],
        &["migrate", &trees, "-o", &tree_store],
        &["verify", &tree_store, "--source", &trees],
        &["restore", &tree_store, "-o", &at("back")],
        &["ls", &tree_store],
        &["show", &log],
        &["search", "the", &tree_store],
        &["search", "the", &tree_store, "-c"],
        &["stats", &tree_store],
        &["html", &tree_store, "-o", &at("pages"), "--redact"],
        &["replay", &log],
        &["replay", &tree_store, "--all", "-o", &at("replays")],
        &["tree", &log],
        &["turns", &turns],
        &["diff", &trees, &store],
        &["contains", &trees, &store],
        &["audit", &source],
        &["repair", &source],
        &["prune", &source, "-o", &store],
        &["fork", &log, "--leaf", "#3", "--name", "another"],
        &["export", &log, "--to", "pi", "-o", &at("exported")],
        &["store", "compact", &tree_store],
        &["explain", "torn_tail"],
        &["formats"],
    ];
    for words in words {
        let done = everlog(&[words, &["--json"]].concat());
        assert!(!done.stdout.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let run: BTreeSet<&str> = words.iter().map(|words| words[0]).collect();
    let not_run: Vec<&&str> = COMMANDS.iter().filter(|command| !run.contains(**command)).collect();
    assert!(not_run.is_empty(), "{not_run:?} print nothing here");
}

#[test]
fn every_command_with_json_has_its_schema() {
    let page = stdout(&everlog(&["--help"]));
    let listed = page.lines().filter_map(|line| line.strip_prefix("  ")).filter_map(|line| line.split_whitespace().next());
    // The others print a script or a page, or flat messages.
    let others = ["show", "completions", "man", "help"];
    let commands: BTreeSet<&str> = listed.filter(|word| word.chars().all(|c| c.is_ascii_lowercase()) && !others.contains(word)).collect();
    let known: BTreeSet<&str> = COMMANDS.into_iter().collect();
    let missing: Vec<_> = commands.difference(&known).filter(|word| everlog(&[word, "--help"]).status.success()).collect();
    assert!(missing.is_empty(), "{missing:?} have no schema in docs/schema");
}
