//! Picoclaw's files with values, keys and bytes that its decoder takes or
//! refuses in its own way: whatever it is, the log rebuilds the files and
//! replays what the program would show.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::adapters::by_id;
use everlog::json::{Dialect, scan_value};
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::pipeline::source::SourceUnit;
use rayon::prelude::*;
use std::panic::AssertUnwindSafe;
use support::{all_cases, convert_and_prove, sessions};

/// A generator that gives the same numbers every time.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const VALUES: &[&[u8]] = &[
    b"null",
    b"{}",
    b"[]",
    b"[null]",
    b"[{}]",
    b"[[]]",
    b"true",
    b"0",
    b"-0",
    b"1.0",
    b"2e0",
    b"1e400",
    b"-1",
    b"3",
    b"9223372036854775807",
    b"9223372036854775808",
    b"123456789012345678901234567890",
    b"\"\"",
    b"\" \\t\\u3000\"",
    b"\"assistant\"",
    b"\"tool\"",
    b"\"x\\u2028<&>\"",
    b"\"\\ud800\"",
    b"\"\\ud83d\\ude00\\udc00\"",
    b"\"\\ufffd\xef\xbf\xbd\"",
    b"\"\xff\xfe\xc3\"",
    b"\"\x7f\xc2\x85\"",
    b"\"\\/\\u0041\\u00e9\"",
    b"\"0001-01-01T00:00:00Z\"",
    b"\"0001-01-01T02:30:00.000+02:30\"",
    b"\"0000-12-31T23:00:00-01:00\"",
    b"\"0001-01-02T00:00:00+24:00\"",
    b"\"2026-06-13T8:19:35,5-00:00\"",
    b"\"2026-06-13T18:19:35+24:00\"",
    b"\"2026-06-13T18:19:35.120Z\"",
    b"\"2026-02-29T00:00:00Z\"",
    b"\"\\u0032026-06-13T18:19:35Z\"",
    b"{\"role\":\"user\",\"content\":\"inner\"}",
    b"[{\"role\":\"user\",\"content\":\"inner\"},null,{\"id\":\"c\",\"function\":{\"name\":\"f\"}}]",
    b"[\"a\",null,\"\xff\"]",
    b"{\"type\":\"function\",\"Function\":{\"NAME\":\"n\",\"arguments\":\"\"},\"name\":\"x\",\"arguments\":{\"b\":1.0,\"a\":null}}",
    b"{ \"google\" : { \"thought_signature\" : \"s\" } , \"x\" : 1e999 }",
];

const KEYS: &[&str] = &[
    "role",
    "content",
    "model_name",
    "created_at",
    "media",
    "attachments",
    "reasoning_content",
    "system_parts",
    "tool_calls",
    "tool_call_id",
    "key",
    "messages",
    "summary",
    "created",
    "updated",
    "skip",
    "count",
    "updated_at",
    "scope",
    "aliases",
    "id",
    "type",
    "function",
    "extra_content",
    "google",
    "cache_control",
    "text",
    "arguments",
    "name",
    "later",
    "",
];

/// Where the strings that are keys stand: their start, and that of their value.
fn keys(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]).map(|n| at + n) {
        let Ok(scan) = scan_value(&bytes[quote..], Dialect::Strict) else {
            at = quote + 1;
            continue;
        };
        let end = quote + scan.end;
        let after = bytes[end..].iter().position(|b| !b.is_ascii_whitespace()).map_or(bytes.len(), |n| end + n);
        if bytes.get(after) == Some(&b':') {
            let value = bytes[after + 1..].iter().position(|b| !b.is_ascii_whitespace()).map_or(bytes.len(), |n| after + 1 + n);
            found.push((quote, value));
        }
        at = end;
    }
    found
}

fn value_end(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..).and_then(|rest| scan_value(rest, Dialect::Strict).ok()).map_or(at, |scan| at + scan.end)
}

/// A key in other letters, or spelled with escapes.
fn respelled(key: &[u8], random: &mut Seeded) -> Vec<u8> {
    match random.below(5) {
        0 => key.to_ascii_uppercase(),
        1 => String::from_utf8_lossy(key).replacen('s', "ſ", 1).into_bytes(),
        2 => String::from_utf8_lossy(key).replacen('k', "\u{212a}", 1).into_bytes(),
        3 if key.len() > 2 => [b"\"\\u00", format!("{:02x}", key[1]).as_bytes(), &key[2..]].concat(),
        _ => {
            let mut key = key.to_vec();
            let at = random.below(key.len());
            key[at] = key[at].to_ascii_uppercase();
            key
        }
    }
}

fn changed(bytes: &mut Vec<u8>, random: &mut Seeded) {
    let keys = keys(bytes);
    let what = random.below(16);
    if keys.is_empty() || what >= 13 {
        let at = random.below(bytes.len() + 1);
        let junk: &[&[u8]] = &[
            b"\xef\xbb\xbf",
            b"\0",
            b"\r",
            b"\n",
            b" \t",
            b"null\n",
            b"{}\n",
            b"{\"role\":1}\n",
            b"[]\n",
            b"\xc3",
            b"\\",
            b"\"",
            b"{",
            b"}",
        ];
        let piece = random.of(junk);
        return match random.below(6) {
            0 => drop(bytes.splice(0..0, piece.iter().copied())),
            1 => bytes.extend_from_slice(piece),
            2 => *bytes = String::from_utf8_lossy(bytes).replace('\n', "\r\n").into_bytes(),
            3 => bytes.truncate(at),
            _ => drop(bytes.splice(at..at, piece.iter().copied())),
        };
    }
    let (key, value) = random.of(&keys);
    let end = value_end(bytes, value);
    let key_end = value_end(bytes, key);
    match what {
        0..=3 => drop(bytes.splice(value..end, random.of(VALUES).iter().copied())),
        4 | 5 => drop(bytes.splice(key..key_end, respelled(&bytes[key..key_end], random))),
        6 | 7 => {
            let other = format!("\"{}\"", random.of(KEYS));
            let spelled = if random.below(3) == 0 { respelled(other.as_bytes(), random) } else { other.into_bytes() };
            let member = [&spelled[..], b":", random.of(VALUES), b","].concat();
            bytes.splice(key..key, member);
        }
        8 | 9 => {
            // The same key once more, before or after.
            let again = [&bytes[key..key_end], b": ", random.of(VALUES)].concat();
            if random.below(2) == 0 {
                bytes.splice(key..key, [&again[..], b","].concat());
            } else {
                bytes.splice(end..end, [b",", &again[..]].concat());
            }
        }
        10 => {
            let deep = random.of(&[90, 101, 130, 9_990, 10_001]);
            bytes.splice(value..end, [b"[".repeat(deep), b"]".repeat(deep)].concat());
        }
        11 => {
            // A whole other value of the same file.
            let (_, other) = random.of(&keys);
            let copy = bytes[other..value_end(bytes, other)].to_vec();
            bytes.splice(value..end, copy);
        }
        _ => drop(bytes.splice(key_end..key_end, *b" ")),
    }
}

/// The log of one session with these files.
fn log_of(name: &str, files: &[(&str, &[u8])]) -> String {
    let mut session = Files::new(name);
    for (path, bytes) in files {
        session.insert(RelPath::new(*path), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 }));
    }
    let (converted, _) = convert_and_prove(by_id("picoclaw").unwrap(), &session).unwrap_or_else(|difference| panic!("{difference:?}"));
    String::from_utf8(converted.log).unwrap()
}

#[test]
fn bytes_of_a_scope_that_are_no_utf8_are_replaced_one_by_one() {
    let meta = b"{\"key\":\"agent:x\",\"summary\":\"\",\"skip\":0,\"count\":0,\"scope\": {\"channel\": \"\xe4\xbd cut\"}}";
    let log = log_of("agent_x.meta.json", &[("agent_x.meta.json", meta)]);
    assert!(log.contains("\"channel\":\"\u{fffd}\u{fffd} cut\""), "{log}");
}

#[test]
fn a_time_that_is_none_is_none_in_a_whole_file_and_stays_one_on_a_line() {
    let line = br#"{"role":"user","content":"hi","created_at":"0001-01-01T01:00:00+01:00"}"#;
    let legacy = [b"{\"key\":\"agent:x\",\"messages\":[", &line[..], b"],\"created\":\"0000-12-31T23:00:00-01:00\"}"].concat();
    let log = log_of("agent_x.json", &[("agent_x.json", &legacy)]);
    assert!(!log.contains("\"ts\":\"0001") && !log.contains("\"facts\":{\"created"), "{log}");
    let beside = [&line[..], b"\n"].concat();
    let log = log_of("agent_x.jsonl", &[("agent_x.jsonl", &beside), ("agent_x.json.migrated", &legacy)]);
    assert_eq!(log.matches("\"ts\":\"0001-01-01T01:00:00+01:00\"").count(), 1, "{log}");
}

#[test]
fn parts_of_a_torn_message_are_no_messages() {
    let part = r#"{"role":"user","content":"a draft"}"#;
    let call = format!(r#"[{{"id":"c","type":"function","function":{{"name":"send","arguments":"{{}}"}},"arguments":{part}}}]"#);
    let torn = format!(r#"{{"role":"assistant","content":"","tool_calls":{call},"tool_call_"#);
    let whole = r#"{"role":"user","content":"whole"}"#;
    let is_salvaged = |log: &str| (log.matches("\"type\":\"message\"").count(), log.contains("\"text\":\"a draft\""));
    let fused = format!("{torn}{whole}\n");
    assert_eq!(is_salvaged(&log_of("agent_x.jsonl", &[("agent_x.jsonl", fused.as_bytes())])), (1, false));
    let legacy = format!(r#"{{"key":"agent:x","messages":[{whole},{torn}"#);
    assert_eq!(is_salvaged(&log_of("agent_x.json", &[("agent_x.json", legacy.as_bytes())])), (1, false));
}

#[test]
fn whatever_stands_in_a_file_it_is_proven() {
    let mut whole: Vec<(String, SourceUnit, Files)> = Vec::new();
    for case in all_cases().into_iter().filter(|case| case.format == "picoclaw") {
        let scratch = case.copy();
        let small = |files: &Files| files.total_bytes() < 200_000;
        let found = sessions(&scratch.path().join("input")).into_iter().filter(|(_, files)| small(files));
        whole.extend(found.map(|(unit, files)| (format!("{} {}", case.id(), unit.name), unit, files)));
    }
    let rounds = campaign::rounds("ODD_ROUNDS", 40);
    let work: Vec<(usize, u64)> = (0..whole.len()).flat_map(|n| (0..rounds).map(move |round| (n, round))).collect();
    let failures: Vec<String> = work
        .par_iter()
        .filter_map(|&(n, round)| {
            let (name, unit, files) = &whole[n];
            let mut random = Seeded(round * 1_000_003 + n as u64);
            let paths: Vec<&RelPath> = files.iter().map(|(path, _)| path).collect();
            let path = random.of(&paths);
            let Some(Entry::File(file)) = files.entry(path) else { return None };
            let mut bytes = file.bytes.clone();
            for _ in 0..=random.below(4) {
                changed(&mut bytes, &mut random);
            }
            let mut odd = files.clone();
            odd.insert(path.clone(), Entry::File(SourceFile { bytes, mtime_ns: file.mtime_ns }));
            let proven = || convert_and_prove(unit.found.adapter, &odd).err().map(|difference| format!("{difference:?}"));
            let why = std::panic::catch_unwind(AssertUnwindSafe(proven)).unwrap_or_else(|_| Some("a panic".to_owned()))?;
            Some(format!("{name}: {path}, round {round}: {why}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), work.len(), failures[..failures.len().min(20)].join("\n"));
    eprintln!("{} odd sessions proven", work.len());
}
