//! What picoclaw's store derives from our own fixtures: facts, keys, and the
//! bytes that it would write again. Worked out by its rules, one by one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use support::bench::Bench;
use support::{copy_tree, everlog, stdout};

fn migrated(case: &str) -> Bench {
    let bench = Bench::new();
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/picoclaw").join(case).join("input"), &bench.source());
    bench.migrate(&["--quiet"]);
    bench
}

/// The payload of the log's first event of a type.
fn event(bench: &Bench, unit: &str, kind: &str) -> Value {
    let log = fs::read_to_string(bench.log(unit)).unwrap();
    let mut events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.find(|event| event["type"] == kind).unwrap()["payload"].clone()
}

/// What the program would write for the messages that it shows.
fn rewritten(bench: &Bench, unit: &str) -> String {
    stdout(&everlog(&["replay", bench.log(unit).to_str().unwrap(), "--as", "source"]))
}

#[test]
fn every_fact_of_a_meta_file_or_a_whole_file_is_in_the_log() {
    let times = |facts: Value| {
        let mut facts = facts;
        facts["created_at"] = json!("2026-07-01T08:00:00.5+02:00");
        facts["updated_at"] = json!("2026-07-01T08:10:00+02:00");
        facts
    };
    let scope = json!({"version": 1, "agent_id": "main", "channel": "cli", "account": "default", "dimensions": null, "values": null});
    let aliases = json!(["agent:main:main", "agent:main:telegram:direct:31337"]);
    for (case, unit, summary, facts) in [
        ("aliases", "sk_v1_f00d.jsonl", json!("old"), times(json!({"key": "sk_v1_f00d", "skip": 0, "count": 3, "aliases": aliases}))),
        (
            "plain",
            "agent_main_cli_direct_kettle.jsonl",
            Value::Null,
            times(json!({"key": "agent:main:cli:direct:kettle", "skip": 0, "count": 4, "aliases": ["agent:main:main"], "scope": scope})),
        ),
        ("skip", "telegram_1.jsonl", json!("Talked about <one>."), times(json!({"key": "telegram:1", "skip": 5, "count": 9}))),
        (
            "legacy",
            "agent_main_main.json",
            json!("s"),
            json!({"key": "agent:main:main", "created": "2026-02-03T09:00:00.000001+08:00", "updated": "2026-02-03T09:30:00+08:00"}),
        ),
        // A zero time does not count, and a key that is not given is the file's name.
        ("legacy", "heartbeat.json", Value::Null, json!({"key": "heartbeat", "updated": "2026-02-03T09:30:00+08:00"})),
    ] {
        let outcome = event(&migrated(case), unit, "outcome");
        assert_eq!((&outcome["summary"], &outcome["facts"]), (&summary, &facts), "{case} {unit}");
    }
}

#[test]
fn keys_are_listed_and_answered_as_the_store_does_it() {
    let bench = migrated("aliases");
    let units = ["agent_main_telegram_direct_31337.jsonl", "moved.jsonl", "sk_v1_f00d.jsonl"];
    let listed: Vec<Value> = units.iter().map(|unit| event(&bench, unit, "outcome")["facts"]["key"].clone()).collect();
    assert_eq!(listed, ["agent:main:telegram:direct:31337", "somewhere:else", "sk_v1_f00d"]);
    let canonical: Vec<Value> = units.iter().map(|unit| event(&bench, unit, "session")["canonical"].clone()).collect();
    assert_eq!(canonical, [json!("sk_v1_f00d.jsonl"), Value::Null, Value::Null]);
}

#[test]
fn what_is_shown_is_in_the_bytes_that_go_would_write() {
    // What the program itself wrote comes back as it is.
    for (case, unit) in [("plain", "agent_main_cli_direct_kettle.jsonl"), ("tools", "sk_v1_garden.jsonl"), ("aliases", "sk_v1_f00d.jsonl")]
    {
        let bench = migrated(case);
        assert_eq!(rewritten(&bench, unit), fs::read_to_string(bench.source().join(unit)).unwrap(), "{case}");
    }
    let skip = [
        "{\"role\":\"assistant\",\"content\":\"kept\"}",
        "{\"role\":\"user\",\"content\":\"again\"}",
        "{\"role\":\"assistant\",\"content\":\"last\"}",
    ];
    let spaced = ["{\"role\":\"user\",\"content\":\"ein \\u003cTag\\u003e\"}", "{\"role\":\"assistant\",\"content\":\"zwei\"}"];
    let whole = ["{\"role\":\"user\",\"content\":\"über\"}", "{\"role\":\"assistant\",\"content\":\"x\"}"];
    let odd = [
        "{\"role\":\"\",\"content\":\"\"}",
        "{\"role\":\"\",\"content\":\"\"}",
        "{\"role\":\"user\",\"content\":\"other letters\"}",
        "{\"role\":\"user\",\"content\":\"b\"}",
        "{\"role\":\"user\",\"content\":\"bytes \u{fffd}\u{fffd}\u{fffd} end\"}",
        "{\"role\":\"user\",\"content\":\"\u{fffd} lone\"}",
        "{\"role\":\"user\",\"content\":\"spaces\"}",
        "{\"role\":\"user\",\"content\":\"unknown\"}",
        "{\"role\":\"user\",\"content\":\"t1\",\"created_at\":\"2026-01-02T03:04:05.12Z\"}",
        "{\"role\":\"user\",\"content\":\"order\"}",
        "{\"role\":\"user\",\"content\":\"\",\"tool_calls\":[{\"id\":\"\"},{\"id\":\"x\"}]}",
        "{\"role\":\"a\",\"content\":\"\",\"tool_calls\":[{\"id\":\"2\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]}",
    ];
    for (case, unit, lines) in [
        ("skip", "telegram_1.jsonl", &skip[..]),
        ("rewritten", "agent_main_spaced.jsonl", &spaced),
        ("rewritten", "telegram_77.json", &whole),
        ("odd_lines", "agent_main_odd.jsonl", &odd),
    ] {
        assert_eq!(rewritten(&migrated(case), unit).lines().collect::<Vec<_>>(), lines, "{case} {unit}");
    }
}

#[test]
fn a_load_that_fails_fails_in_the_words_of_the_program() {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    let long = format!("{{\"role\":\"tool\",\"content\":\"{}\"}}\n", "x".repeat(10 * 1024 * 1024));
    fs::write(bench.source().join("agent_long.jsonl"), long).unwrap();
    for (name, meta) in [("empty", ""), ("cut", "{\"key\":\"agent:cut\",\"sk"), ("type", "{\"skip\":\"1\"}"), ("wrong", "{]")] {
        fs::write(bench.source().join(format!("agent_{name}.jsonl")), "{\"role\":\"user\",\"content\":\"hi\"}\n").unwrap();
        fs::write(bench.source().join(format!("agent_{name}.meta.json")), meta).unwrap();
    }
    bench.migrate(&["--quiet"]);
    let error = |name: &str| event(&bench, &format!("agent_{name}.jsonl"), "outcome")["error"].clone();
    let cut = json!("memory: decode meta: unexpected end of JSON input");
    assert_eq!((error("empty"), error("cut")), (cut.clone(), cut));
    assert_eq!((error("type"), error("wrong")), (json!("memory: decode meta"), json!("memory: decode meta")));
    assert_eq!(event(&bench, "agent_long.jsonl", "outcome")["error"], "memory: scan jsonl: bufio.Scanner: token too long");
}

#[test]
fn of_two_files_of_one_key_each_log_has_its_own_messages() {
    let bench = migrated("leftovers");
    assert_eq!(rewritten(&bench, "telegram:43.json"), "{\"role\":\"user\",\"content\":\"a\"}\n");
    assert_eq!(rewritten(&bench, "telegram_43.json"), "{\"role\":\"user\",\"content\":\"b\"}\n");
    let canonical = |unit: &str| event(&bench, unit, "session")["canonical"].clone();
    assert_eq!([canonical("telegram:43.json"), canonical("telegram_43.json")], [json!("telegram_43.json"), Value::Null]);
}
