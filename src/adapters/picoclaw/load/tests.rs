//! Small sessions, loaded whole. What is expected here was seen with Go 1.25's
//! `encoding/json`, `time` and `bufio`, over the program's own types.

use super::*;
use crate::model::files::{RelPath, SourceFile};

fn session(files: &[(&str, &[u8])]) -> Files {
    let mut all = Files::new("s");
    for (path, bytes) in files {
        all.insert(RelPath::new(*path), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 }));
    }
    all
}

/// Returns the lines that are shown, and how it ends.
fn loaded(files: &Files, head: Option<&str>) -> (String, LoadOutcome) {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |line| shown.push(String::from_utf8(line.to_vec()).unwrap()));
    (shown.join("\n"), outcome)
}

/// Returns what a file of lines shows.
fn lines(lines: impl AsRef<[u8]>) -> String {
    let (shown, outcome) = loaded(&session(&[("a.jsonl", lines.as_ref())]), None);
    assert_eq!(outcome.error, None);
    shown
}

/// Returns what lines show after this meta file, and the outcome.
fn after(meta: &str, lines: &str) -> (String, LoadOutcome) {
    loaded(&session(&[("a.jsonl", lines.as_bytes()), ("a.meta.json", meta.as_bytes())]), None)
}

/// Returns what a whole file shows, and the outcome.
fn whole(file: &str) -> (String, LoadOutcome) {
    loaded(&session(&[("a:b.json", file.as_bytes())]), None)
}

fn fact<'o>(outcome: &'o LoadOutcome, name: &str) -> Option<&'o str> {
    outcome.facts.get(name).map(String::as_str)
}

fn message(content: &str) -> String {
    format!(r#"{{"role":"u","content":"{content}"}}"#)
}

#[test]
fn a_message_is_shown_as_the_program_would_write_it() {
    let read = r#" { "tool_call_id":"t", "tool_calls":[{"extra_content":{"tool_feedback_explanation":"e","google":{"thought_signature":"g"}},
        "function":{"thought_signature":"s","arguments":"{}","name":"n"},"type":"function","id":"i","name":"old","arguments":{"a":1}},{}],
        "system_parts":[{"cache_control":{"type":"c"},"text":"t","type":"y"},{}],"reasoning_content":"r",
        "attachments":[{"content_type":"c","filename":"f","url":"u","ref":"r","type":"t"},{}],"media":["m",""],
        "created_at":"2026-01-02T03:04:05.120+00:00","model_name":"m","content":"c","role":"a", "unknown":[1e999] }"#;
    let written = concat!(
        r#"{"role":"a","content":"c","model_name":"m","created_at":"2026-01-02T03:04:05.12Z","media":["m",""],"#,
        r#""attachments":[{"type":"t","ref":"r","url":"u","filename":"f","content_type":"c"},{}],"reasoning_content":"r","#,
        r#""system_parts":[{"type":"y","text":"t","cache_control":{"type":"c"}},{"type":"","text":""}],"#,
        r#""tool_calls":[{"id":"i","type":"function","function":{"name":"n","arguments":"{}","thought_signature":"s"},"#,
        r#""extra_content":{"google":{"thought_signature":"g"},"tool_feedback_explanation":"e"}},{"id":""}],"tool_call_id":"t"}"#
    );
    assert_eq!(lines(read.replace("\n        ", " ")), written);
    // Left out is what is empty, but not what a pointer leads to.
    let read = r#"{"media":[],"system_parts":null,"tool_calls":[{"id":"","type":"","function":{},"extra_content":{"google":{}}}],"tool_call_id":""}"#;
    let written =
        r#"{"role":"","content":"","tool_calls":[{"id":"","function":{"name":"","arguments":""},"extra_content":{"google":{}}}]}"#;
    assert_eq!(lines(read), written);
}

#[test]
fn strings_are_repaired_and_escaped_as_go_does() {
    for (read, written) in [
        (r#"<&>\/\u0041"#, r#"\u003c\u0026\u003e/A"#),
        ("\u{2028}\u{2029}\u{2027}\u{7f}", "\\u2028\\u2029\u{2027}\u{7f}"),
        (r#"\"\\\b\f\n\r\t\u0000\u001F"#, r#"\"\\\b\f\n\r\t\u0000\u001f"#),
        (r#"\uD83D\ude00\ufffd"#, "😀\u{fffd}"),
        (r#"\ud83d\ud83d\ude00"#, "\u{fffd}😀"),
        (r#"\ude00\ude00"#, "\u{fffd}\u{fffd}"),
        (r#"\ud83d\u0041\ude00x"#, "\u{fffd}A\u{fffd}x"),
    ] {
        assert_eq!(lines(message(read)), message(written), "{read}");
    }
    for (bytes, marks) in [(&b"\xff"[..], 1), (b"\xe2\x82", 2), (b"\xed\xa0\x80", 3), (b"\xf0\x9f\x98", 3), (b"\\n\xf0\x9f\x98", 3)] {
        let read = [br#"{"role":"u","content":""#, bytes, br#""}"#].concat();
        let newline = if bytes.starts_with(b"\\n") { "\\n" } else { "" };
        assert_eq!(lines(read), message(&format!("{newline}{}", "\u{fffd}".repeat(marks))), "{bytes:?}");
    }
}

#[test]
fn a_line_that_cannot_be_decoded_is_lost() {
    for line in [
        r#""x""#,
        "[]",
        "1",
        "true",
        " ",
        "{} {}",
        "{},",
        "{",
        r#"{"role":"u",}"#,
        r#"{"role" "u"}"#,
        r#"{"x":[1,]}"#,
        r#"{"x":[1 2]}"#,
        r#"{"x":1 "y":2}"#,
        r#"{"x":01}"#,
        r#"{"x":1.}"#,
        r#"{"x":-}"#,
        r#"{"x":1e}"#,
        r#"{"x":nul}"#,
        r#"{"x":"\x"}"#,
        r#"{"x":"\u12g4"}"#,
        "{\"x\":\"\u{1}\"}",
        "\u{feff}{}",
        "\u{b}{}",
        "{}\0",
        r#"{"content":1}"#,
        r#"{"content":["x"]}"#,
        r#"{"role":{}}"#,
        r#"{"role":true,"role":"u"}"#,
        r#"{"media":"x"}"#,
        r#"{"media":[1]}"#,
        r#"{"media":{}}"#,
        r#"{"tool_calls":[{"id":1}]}"#,
        r#"{"tool_calls":[{"function":{"arguments":{}}}]}"#,
        r#"{"tool_calls":[{"function":[]}]}"#,
        r#"{"attachments":[[]]}"#,
        r#"{"system_parts":[{"cache_control":"x"}]}"#,
        r#"{"created_at":1}"#,
    ] {
        assert_eq!(lines(format!("{line}\n{}", message("kept"))), message("kept"), "{line}");
    }
}

#[test]
fn null_says_nothing() {
    let empty = r#"{"role":"","content":""}"#;
    for line in ["null", "{}", r#"{"role":null,"media":null,"tool_calls":null,"created_at":null}"#] {
        assert_eq!(lines(line), empty, "{line}");
    }
    let nulls = r#"{"role":"u","role":null,"content":"","media":[null,"a"],"tool_calls":[null],"attachments":[null]}"#;
    assert_eq!(lines(nulls), r#"{"role":"u","content":"","media":["","a"],"attachments":[{}],"tool_calls":[{"id":""}]}"#);
}

#[test]
fn keys_match_in_any_case() {
    let read = "{\"ROLE\":\"u\",\"c\\u006fntent\":\"c\",\"attachment\u{17f}\":[{}],\"tool_calls\":[{\"Id\":\"i\",\"TYPE\":\"t\"}]}";
    let written = r#"{"role":"u","content":"c","attachments":[{}],"tool_calls":[{"id":"i","type":"t"}]}"#;
    assert_eq!(lines(read), written);
    assert_eq!(fact(&after("{\"\u{212a}ey\":\"k\",\"s\\u212Aip\":3}", "").1, "skip"), Some("3"));
    // Other letters have no case in ASCII, and a broken key is not repaired into one.
    assert_eq!(lines("{\"r\u{43e}le\":1,\"conten\u{fffd}\":1,\"role_\":1,\"İd\":1}"), r#"{"role":"","content":""}"#);
}

#[test]
fn a_second_value_is_read_into_the_first() {
    for (read, written) in [
        (r#""content":"a","content":"b""#, r#""content":"b""#),
        (
            r#""tool_calls":[{"id":"1","type":"t","function":{"name":"n"}}],"tool_calls":[{"id":"2","function":{"arguments":"x"}}]"#,
            r#""content":"","tool_calls":[{"id":"2","type":"t","function":{"name":"n","arguments":"x"}}]"#,
        ),
        // A pointer is taken away by null, a struct is not.
        (
            r#""tool_calls":[{"id":"1","function":{"name":"n"}}],"tool_calls":[{"function":null,"function":{}}]"#,
            r#""content":"","tool_calls":[{"id":"1","function":{"name":"","arguments":""}}]"#,
        ),
        (r#""attachments":[{"url":"u"}],"attachments":[null]"#, r#""content":"","attachments":[{"url":"u"}]"#),
        // Elements that a shorter list hid are found again by a longer one.
        (r#""media":["a","b","c"],"media":["d"],"media":[null,null]"#, r#""content":"","media":["d","b"]"#),
        // Unless an empty list or null stood between.
        (r#""media":["a","b"],"media":[],"media":[null,null]"#, r#""content":"","media":["",""]"#),
        (r#""media":["a","b"],"media":null,"media":[null]"#, r#""content":"","media":[""]"#),
        (r#""created_at":"2026-01-01T00:00:00Z","created_at":null"#, r#""content":"""#),
    ] {
        assert_eq!(lines(format!("{{{read}}}")), format!("{{\"role\":\"\",{written}}}"), "{read}");
    }
}

#[test]
fn times_are_read_and_written_as_go_does() {
    for (read, written) in [
        ("2026-06-13T18:19:35.12+08:00", "2026-06-13T18:19:35.12+08:00"),
        ("2026-06-13T18:19:35.120-03:30", "2026-06-13T18:19:35.12-03:30"),
        ("2026-06-13T18:19:35,000000001Z", "2026-06-13T18:19:35.000000001Z"),
        ("2026-06-13T18:19:35.0000000019Z", "2026-06-13T18:19:35.000000001Z"),
        ("2026-06-13T8:19:35.000-00:00", "2026-06-13T08:19:35Z"),
        ("2024-02-29T00:00:00+10:60", "2024-02-29T00:00:00+11:00"),
        ("2026-01-01T00:00:00-24:60", "2026-01-01T00:00:00-25:00"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
    ] {
        let line = format!(r#"{{"created_at":"{read}"}}"#);
        assert_eq!(lines(line), format!(r#"{{"role":"","content":"","created_at":"{written}"}}"#));
    }
    for time in [
        "",
        "2026-06-13",
        "2026-06-13T18:19:35",
        "2026-06-13t18:19:35Z",
        "2026-06-13T18:19:35z",
        "2026-06-13 18:19:35Z",
        "2026-06-13T24:00:00Z",
        "2026-06-13T18:60:00Z",
        "2026-06-13T18:19:60Z",
        "2026-06-13T18:9:35Z",
        "2026-13-01T00:00:00Z",
        "2026-06-31T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-06-00T00:00:00Z",
        "2026-06-13T18:19:35.Z",
        "2026-06-13T18:19:35+25:00",
        "2026-06-13T18:19:35+10:61",
        "2026-06-13T18:19:35+0800",
        "2026-06-13T18:19:35Z ",
        "2026-06-13T18:19:35+08:00Z",
        r"\u0032026-06-13T18:19:35Z",
    ] {
        assert_eq!(lines(format!(r#"{{"created_at":"{time}"}}"#)), "", "{time}");
    }
}

#[test]
fn skip_counts_lines_that_hold_anything() {
    let file = format!("\n\r\n{}\r\n \nbroken\n{}\n\n{}", message("a"), message("b"), message("c"));
    let all = [message("a"), message("b"), message("c")];
    for (skip, first) in [("-1", 0), ("0", 0), ("-0", 0), ("1", 1), ("3", 1), ("4", 2), ("5", 3), ("9223372036854775807", 3)] {
        let (shown, outcome) = after(&format!(r#"{{"skip":{skip}}}"#), &file);
        assert_eq!(shown, all[first..].join("\n"), "{skip}");
        assert_eq!(outcome.error, None);
    }
    // Of several returns only the last belongs to the line end; the others make
    // the line one that holds something.
    assert_eq!(after(r#"{"skip":1}"#, &format!("\r\r\n{}", message("a"))).0, message("a"));
    assert_eq!(after(r#"{"skip":1}"#, &format!("\r\n{}", message("a"))).0, "");
    assert_eq!(lines(format!("{}\r\r", message("a"))), message("a"));
}

#[test]
fn a_thought_without_a_reply_is_not_shown() {
    let with = |more: &str| lines(format!(r#"{{"role":"assistant","content":" \u0085\u3000","reasoning_content":"why"{more}}}"#));
    for hidden in ["", r#","media":[]"#, r#","tool_call_id":" ""#, r#","system_parts":[{}]"#, r#","model_name":"m""#] {
        assert_eq!(with(hidden), "", "{hidden}");
    }
    for shown in [
        r#","media":[null]"#,
        r#","attachments":[{}]"#,
        r#","tool_calls":[{}]"#,
        r#","tool_call_id":"x""#,
        r#","content":"\u200b""#,
        r#","role":"Assistant""#,
        r#","reasoning_content":"\u00a0""#,
    ] {
        assert_ne!(with(shown), "", "{shown}");
    }
}

#[test]
fn a_line_of_ten_mebibytes_is_too_long_even_where_it_is_skipped() {
    const MAX: usize = 10 * 1024 * 1024;
    for (text, end, error) in [
        (MAX - 1, "\n", None),
        (MAX - 1, "", None),
        (MAX, "\n", Some("memory: scan jsonl: bufio.Scanner: token too long")),
        (MAX, "", Some("memory: scan jsonl: bufio.Scanner: token too long")),
        (MAX - 2, "\r\n", None),
        (MAX - 1, "\r\n", Some("memory: scan jsonl: bufio.Scanner: token too long")),
        (MAX - 1, "\r", Some("memory: scan jsonl: bufio.Scanner: token too long")),
    ] {
        let file = format!("{}{end}", " ".repeat(text));
        let (_, outcome) = after(r#"{"skip":1,"summary":"s"}"#, &file);
        assert_eq!(outcome.error.as_deref(), error, "{text} {end:?}");
        assert_eq!(outcome.summary.is_some(), error.is_none());
        assert_eq!(fact(&outcome, "skip"), Some("1"));
    }
}

#[test]
fn ten_thousand_levels_are_read_and_no_more() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let line = |depth: usize| format!(r#"{{"x":{},"role":"u","content":""}}"#, nested(depth - 1));
    assert_eq!(lines(line(10_000)), message(""));
    assert_eq!(lines(line(10_001)), "");
    assert_eq!(lines("[{\"a\":".repeat(1_000_000)), "");
    let file = |depth: usize| format!(r#"{{"messages":[{{"x":{}}}]}}"#, nested(depth - 3));
    assert_eq!(whole(&file(10_000)).1.error, None);
    assert_eq!(whole(&file(10_001)).1.error.as_deref(), Some(BAD_LEGACY));
}

#[test]
fn a_meta_file_that_cannot_be_decoded_hides_the_session() {
    for meta in [
        "",
        " ",
        "[]",
        "{",
        "{}x",
        r#"{"skip":2.0}"#,
        r#"{"skip":2e0}"#,
        r#"{"skip":"2"}"#,
        r#"{"count":9223372036854775808}"#,
        r#"{"key":1}"#,
        r#"{"created_at":""}"#,
        r#"{"aliases":{}}"#,
        r#"{"scope":[}"#,
        // Cut off, but where Go finds another error.
        r#"{"skip":-"#,
        r#"{"skip":nul"#,
        r#"{"key":"\u00"#,
    ] {
        let (_, outcome) = after(meta, &message("a"));
        let why = if matches!(meta.trim(), "" | "{") { "memory: decode meta: unexpected end of JSON input" } else { BAD_META };
        let error = LoadOutcome { active: Some(HeadName::main()), error: Some(why.to_owned()), ..LoadOutcome::default() };
        assert_eq!(outcome, error, "{meta}");
    }
}

#[test]
fn a_meta_file_gives_summary_and_facts() {
    let meta = r#"{"key":"a:b","summary":"s<","skip":1,"count":-0,"created_at":"2026-01-01T00:00:00.50+00:00","updated_at":"0001-01-01T01:00:00+01:00",
        "scope":{"a" : [1.0, "x \" y\\"],
        "é":null},"aliases":["a<b","\u00e9",null]}"#;
    let (shown, outcome) = after(meta, &format!("{}\n{}", message("a"), message("b")));
    assert_eq!(shown, message("b"));
    assert_eq!(outcome.active, Some(HeadName::main()));
    assert_eq!(outcome.summary.as_deref(), Some("s<"));
    let facts = [
        ("aliases", r#"["a<b","é",""]"#),
        ("count", "0"),
        ("created_at", "2026-01-01T00:00:00.5Z"),
        ("key", "a:b"),
        ("scope", r#"{"a":[1.0,"x \" y\\"],"é":null}"#),
        ("skip", "1"),
    ];
    assert!(outcome.facts.iter().map(|(name, fact)| (name.as_str(), fact.as_str())).eq(facts), "{:?}", outcome.facts);
    for meta in ["null", "{}", r#"{"key":"","summary":"","aliases":[],"created_at":null}"#] {
        let (shown, outcome) = after(meta, &message("a"));
        assert_eq!((shown, outcome.summary, outcome.facts.len()), (message("a"), None, 2), "{meta}");
    }
    assert_eq!(fact(&after(r#"{"scope":1,"scope":null}"#, "").1, "scope"), Some("null"));
}

#[test]
fn either_file_of_a_session_may_be_missing() {
    let only_meta = session(&[(".meta.json", br#"{"summary":"s"}"#)]);
    let (shown, outcome) = loaded(&only_meta, None);
    assert_eq!((shown.as_str(), outcome.summary.as_deref(), outcome.error), ("", Some("s"), None));
    let only_lines = session(&[(".jsonl", message("a").as_bytes())]);
    let (shown, outcome) = loaded(&only_lines, None);
    assert_eq!((shown, outcome), (message("a"), LoadOutcome { active: Some(HeadName::main()), ..LoadOutcome::default() }));
    let mut linked = only_lines;
    linked.insert(RelPath::new(".meta.json"), Entry::Link { target: b"/x".to_vec() });
    assert_eq!(loaded(&linked, None).1.error, None);
}

#[test]
fn a_whole_file_is_read_by_the_same_rules() {
    let thought = r#"{"role":"assistant","reasoning_content":"why"}"#;
    let zero = r#"{"role":"u","content":"z","created_at":"0000-12-31T23:00:00-01:00"}"#;
    let timed = r#"{"role":"u","content":"t","created_at":"2026-01-01T00:00:00Z"}"#;
    let file = format!(
        r#"{{"KEY":"k","messages":[{zero},{thought},{timed},null],"summary":"s","created":"2026-01-01T00:00:00+00:00","updated":"0001-01-01T00:00:00Z"}}"#
    );
    let (shown, outcome) = whole(&file);
    assert_eq!(shown, [&message("z"), timed, r#"{"role":"","content":""}"#].join("\n"));
    assert_eq!(outcome.summary.as_deref(), Some("s"));
    assert_eq!(outcome.facts, [("created", "2026-01-01T00:00:00Z"), ("key", "k")].map(|(n, f)| (n.to_owned(), f.to_owned())).into());
    // Nothing invents a time in a file of lines.
    assert_eq!(lines(zero), zero);
    for empty in ["null", "{}", r#"{"messages":null}"#, r#"{"messages":[]}"#, " {\"x\":1}\n"] {
        let (shown, outcome) = whole(empty);
        assert_eq!((shown.as_str(), outcome.error.as_deref(), fact(&outcome, "key")), ("", None, Some("a:b")), "{empty}");
    }
    for broken in [
        "",
        "[]",
        "{}{}",
        r#"{"messages":[{}"#,
        r#"{"messages":{}}"#,
        r#"{"messages":""}"#,
        r#"{"messages":[1]}"#,
        // Wrong only inside the list.
        r#"{"messages":[{} {}]}"#,
        r#"{"messages":[{},]}"#,
        r#"{"messages":[{"x":[}]]}"#,
        r#"{"messages":[{"x":tru}]}"#,
        r#"{"messages":[{"x":"\x"}]}"#,
        r#"{"messages":[{"content":"\u12g4"}]}"#,
        "{\"messages\":[{\"content\":\"a\nb\"}]}",
        r#"{"messages":[{"x":"\x"}],"messages":null}"#,
        r#"{"messages":[{"role":1}],"messages":[]}"#,
        r#"{"messages":[{},{"role":1}],"messages":[{}]}"#,
        r#"{"created":""}"#,
        r#"{"summary":1}"#,
    ] {
        let outcome = whole(broken).1;
        let error = LoadOutcome { active: Some(HeadName::main()), error: Some(BAD_LEGACY.to_owned()), ..LoadOutcome::default() };
        assert_eq!(outcome, error, "{broken}");
    }
}

#[test]
fn repeated_lists_of_messages_are_read_into_each_other() {
    let shown = |lists: &[&str]| {
        let members: Vec<String> = lists.iter().map(|list| format!(r#""messages":{list}"#)).collect();
        whole(&format!("{{{}}}", members.join(","))).0
    };
    let (a, b) = (r#"{"role":"u","content":"a"}"#, r#"{"role":"u","content":"b"}"#);
    assert_eq!(shown(&[&format!("[{a},{b},{b}]"), r#"[{"role":"x"}]"#]), r#"{"role":"x","content":"a"}"#);
    assert_eq!(shown(&[&format!("[{a},{b}]"), "[null]", "[null,null]"]), format!("{a}\n{b}"));
    for reset in ["null", "[]", "[ ]"] {
        assert_eq!(shown(&[&format!("[{a}]"), reset, "[{}]"]), r#"{"role":"","content":""}"#);
        assert_eq!(shown(&[&format!("[{a}]"), reset]), "");
    }
    // Each list costs what it holds, however many there are.
    let many = format!("{{{}\"messages\":[{}{a}]}}", "\"messages\":[null],".repeat(100_000), "null,".repeat(100_000));
    assert_eq!(whole(&many).0.lines().count(), 100_001);
}

#[test]
fn backups_are_heads_of_their_own() {
    let files = session(&[
        ("a_b.json.migrated", br#"{"messages":[{"role":"old"}]}"#),
        ("a:b.json.migrated", b"{"),
        ("a_b.meta.json.migrated", b"{}"),
        ("a_b.jsonl", message("new").as_bytes()),
        ("a_b.meta.json", br#"{"summary":"s"}"#),
    ]);
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main", "backup:a:b.json.migrated", "backup:a_b.json.migrated"]);
    let fails = |error: &str| LoadOutcome { error: Some(error.to_owned()), ..LoadOutcome::default() };
    assert_eq!(loaded(&files, Some("branch:main")), (message("new"), LoadOutcome::default()));
    let old = r#"{"role":"old","content":""}"#.to_owned();
    assert_eq!(loaded(&files, Some("backup:a_b.json.migrated")), (old, LoadOutcome::default()));
    assert_eq!(loaded(&files, Some("backup:a:b.json.migrated")).1, fails(BAD_LEGACY));
    assert_eq!(loaded(&files, Some("backup:a_b.meta.json.migrated")), (String::new(), fails(NO_FILE)));
    assert_eq!(loaded(&files, Some("view:a_b.json.migrated")).1, fails(NO_FILE));
}

#[test]
fn backups_alone_are_no_session() {
    let files = session(&[("a.json.migrated", br#"{"messages":[{}]}"#), ("a.meta.json.migrated", b"{}")]);
    let (shown, outcome) = loaded(&files, None);
    assert_eq!((shown.as_str(), outcome.error.as_deref(), outcome.active), ("", Some(NO_FILE), Some(HeadName::main())));
    assert_eq!(loaded(&files, Some("branch:main")).1.error.as_deref(), Some(NO_FILE));
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main", "backup:a.json.migrated"]);
}
