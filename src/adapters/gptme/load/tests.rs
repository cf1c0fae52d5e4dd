//! Small sessions, loaded whole. What is expected here was seen with gptme 0.35.1.

use super::*;
use crate::model::files::{Entry, RelPath};

const HI: &str = r#"{"role": "user", "content": "hi", "timestamp": "2026-01-02T03:04:05"}"#;

fn session(files: &[(&str, &str)]) -> Files {
    let mut all = Files::new("s");
    for (path, text) in files {
        let file = SourceFile { bytes: text.as_bytes().to_vec(), mtime_ns: 0 };
        all.insert(RelPath::new(*path), Entry::File(file));
    }
    all
}

/// Returns the contents that are shown, and how it ends.
fn loaded(files: &Files, head: Option<&str>) -> (String, LoadOutcome) {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = load(files, head.as_ref(), &mut |message| shown.push(String::from_utf8(message.to_vec()).unwrap()));
    (shown.join("\n"), outcome)
}

fn error(files: &Files, head: Option<&str>) -> Option<String> {
    let (shown, outcome) = loaded(files, head);
    assert!(outcome.error.is_none() || shown.is_empty(), "shows {shown} and fails");
    outcome.error
}

fn message(content: &str) -> String {
    HI.replace("hi", content)
}

#[test]
fn a_record_is_shown_in_the_programs_own_order_and_form() {
    let line = r#"{"metadata":{"input_tokens":1,"model":"m"},"call_id":"c","zzz":0,"hide":0,"pinned":[0],"ephemeral_ttl":0,
        "file_hashes":{},"files":["a//b",7],"timestamp":"2026-11-15T20:00:00Z","content":"\/é","role":"user"}"#;
    let shown = r#"{"role": "user", "content": "\/\u00e9", "timestamp": "2026-11-15T20:00:00+00:00", "files": ["a/b", "7"], "pinned": true, "ephemeral_ttl": 0, "call_id": "c", "metadata": {"model": "m", "usage": {"input_tokens": 1}}}"#;
    let files = session(&[(lists::MAIN, &line.replace("\n        ", " "))]);
    assert_eq!(loaded(&files, None).0, shown);
    let files = session(&[(lists::MAIN, r#"{"role":"a","content":""}"#)]);
    assert_eq!(loaded(&files, None).0, r#"{"role": "a", "content": "", "timestamp": "1970-01-01T00:00:00+00:00"}"#);
}

#[test]
fn lines_that_the_loader_skips_are_not_shown() {
    let long = format!(r#"{},"x":{}}}"#, HI.trim_end_matches('}'), "1".repeat(4301));
    for line in [
        "[]",
        r#"{"role":1,"content":""}"#,
        r#"{"role":"u"}"#,
        r#"{"role":"u","content":"","files":null}"#,
        r#"{"role":"u","content":"","timestamp":null}"#,
        r#"{"role":"u","content":"","timestamp":"x"}"#,
        r#"{"role":"u","content":"","metadata":"x"}"#,
        "\u{feff}{\"role\":\"u\",\"content\":\"\"}",
        &long,
    ] {
        let files = session(&[(lists::MAIN, &format!("{line}\n{HI}"))]);
        assert_eq!(loaded(&files, None).0, HI, "{line}");
    }
}

#[test]
fn the_marker_restores_a_view_that_is_there() {
    let with = |marker: &str| {
        let (main, view) = (message("main"), message("view"));
        let views = ["views/c-1.jsonl", "views/a\nb.jsonl", "views/a\\b.jsonl", "views/.jsonl"].map(|path| (path, view.as_str()));
        session(&[views.as_slice(), &[(lists::MAIN, &main), ("views/.current", marker)]].concat())
    };
    for (marker, active) in [
        ("c-1\n", "view:c-1"),
        (" c-1\u{3000}\r\n", "view:c-1"),
        ("a\r\nb", "view:a\nb"),
        ("c-2\n", "branch:main"),
        ("", "branch:main"),
        ("a\\b", "branch:main"),
        ("../views/c-1", "branch:main"),
        ("c-1\nc-1", "branch:main"),
    ] {
        let (shown, outcome) = loaded(&with(marker), None);
        assert_eq!(outcome.active.map(|head| head.to_string()).as_deref(), Some(active), "{marker:?}");
        assert_eq!(shown.contains("view"), active != "branch:main", "{marker:?}");
    }
    let mut files = with("");
    files.insert(RelPath::new("views/.current"), Entry::File(SourceFile { bytes: vec![0xff], mtime_ns: 0 }));
    assert_eq!(error(&files, None).as_deref(), Some("UnicodeDecodeError"));
    assert_eq!(error(&files, Some("view:c-1")), None);
}

#[test]
fn one_line_can_make_the_whole_session_unreadable() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let overflow = HI.replace("2026-01-02T03:04:05", "9999-12-31T24:00");
    let hashes = |files: &str, hashes: &str| format!(r#"{},"files":{files},"file_hashes":{hashes}}}"#, HI.trim_end_matches('}'));
    for (path, line, wanted) in [
        (lists::MAIN, deep(991), None),
        (lists::MAIN, deep(992), Some("RecursionError")),
        (lists::MAIN, "[".repeat(992), Some("RecursionError")),
        (lists::MAIN, format!("[{},{}", "1".repeat(4301), deep(1000)), None),
        ("branches/a.jsonl", deep(989), None),
        ("branches/a.jsonl", deep(990), Some("RecursionError")),
        ("views/a.jsonl", deep(990), Some("RecursionError")),
        (lists::LOSSLESS, deep(990), Some("RecursionError")),
        ("branches/main.jsonl", deep(2000), None),
        ("old.jsonl", deep(2000), None),
        ("branches/a.jsonl", overflow.clone(), Some("OverflowError")),
        ("branches/a.jsonl", overflow.replace("99", "\\u0039\\u0039"), Some("OverflowError")),
        ("branches/a.jsonl", hashes("[\"x\"]", "null"), Some("TypeError")),
        ("branches/a.jsonl", hashes("[\"x\"]", "\"ab\""), Some("ValueError")),
        ("branches/a.jsonl", hashes("[\"x.y\"]", "{\"x.y\": 5}"), Some("TypeError")),
        ("branches/a.jsonl", hashes("[\"x.y\"]", "{\"x.y\": 6}"), None),
        ("branches/a.jsonl", hashes("[\"x\"]", "{\"x\": 5}"), None),
        ("branches/a.jsonl", hashes("[]", "null"), None),
        ("branches/a.jsonl/events.jsonl", String::new(), Some("IsADirectoryError")),
    ] {
        let text = format!("{HI}\n{line}\n");
        let main = if path == lists::MAIN { text.as_str() } else { HI };
        let files = session(&[(path, &text), (lists::MAIN, main), ("branches/b.jsonl", HI), ("files/6.y", "")]);
        assert_eq!(error(&files, None).as_deref(), wanted, "{path} {}", line.get(..60).unwrap_or(&line));
        // Another list by itself is not concerned.
        assert_eq!(error(&files, Some("b")), None);
    }
}

#[test]
fn a_list_of_pairs_becomes_an_object_where_there_are_files() {
    let line = |files: &str| {
        format!(r#"{},"files":{files},"file_hashes":[["a",1],{{"b":0,"c":0}},"de",[1,2],[true,3]]}}"#, HI.trim_end_matches('}'))
    };
    let shown = |files: &str| loaded(&session(&[(lists::MAIN, &line(files))]), None).0;
    assert!(shown("[\"x\"]").ends_with(r#""file_hashes": {"a": 1, "b": "c", "d": "e", "1": 3}}"#), "{}", shown("[\"x\"]"));
    assert!(shown("[]").ends_with(r#""file_hashes": [["a", 1], {"b": 0, "c": 0}, "de", [1, 2], [true, 3]]}"#));
}

#[test]
fn events_replay_to_what_recover_messages_gives() {
    let append =
        |seq: &str, content: &str| format!(r#"{{"seq":{seq},"type":"message_append","payload":{{"message":{}}}}}"#, message(content));
    let list = |seq: &str, kind: &str, content: &str| {
        format!(r#"{{"seq":{seq},"type":"{kind}","payload":{{"messages":[{}]}}}}"#, message(content))
    };
    let undo = |n: &str| format!(r#"{{"seq":9,"type":"undo","payload":{n}}}"#);
    let (a, b) = (append("1", "A"), append("2.5", "B"));
    for (events, wanted) in [
        (vec![], Ok("")),
        (vec![a.clone(), b.clone(), undo("{}")], Ok("A")),
        (vec![a.clone(), b.clone(), undo(r#"{"n":" 0_1 "}"#), append("10", "C")], Ok("AC")),
        (vec![a.clone(), undo(r#"{"n":-1}"#)], Ok("A")),
        (vec![a.clone(), undo(r#"{"n":1e99}"#), list("7", "message_edit", "E"), b.clone()], Ok("EB")),
        (vec![a.clone(), b.clone(), list("2", "checkpoint", "C"), a.clone()], Ok("CB")),
        (vec![list("2", "checkpoint", "C"), b.clone(), list("3", "checkpoint", "D")], Ok("D")),
        (vec!["torn {".into(), a.clone(), "\u{feff}7".into()], Ok("A")),
        (vec![a.replace("2026-01-02T03:04:05", "no time"), b.clone()], Ok("B")),
        (vec![a.replace("timestamp", "time"), b.clone()], Ok("B")),
        (vec![a.replace(&message("A"), r#"[["role","user"],["content","P"],["timestamp","2026"]]"#)], Ok("P")),
        (vec![a.clone(), "7".into()], Err("AttributeError")),
        (vec![a.clone(), "{}".into()], Err("KeyError")),
        (vec![a.replace("\"seq\":1", "\"seq\":\"1\"")], Err("TypeError")),
        (vec![a.replace("\"message\"", "\"massage\"")], Err("KeyError")),
        (vec![a.replace(&message("A"), "5")], Err("TypeError")),
        (vec![a.replace(&message("A"), "\"ab\"")], Err("ValueError")),
        (vec![undo("[]")], Err("AttributeError")),
        (vec![undo(r#"{"n":NaN}"#)], Err("ValueError")),
        (vec![undo(r#"{"n":1e400}"#)], Err("OverflowError")),
        (vec![a.replace("\"seq\":1", &format!("\"seq\":{}", "1".repeat(4301)))], Err("ValueError")),
        (vec!["[".repeat(993)], Ok("")),
        (vec!["[".repeat(994)], Err("RecursionError")),
    ] {
        let text = events.join("\n");
        let files = session(&[("events.jsonl", &text)]);
        let (shown, outcome) = loaded(&files, Some("events:main"));
        let contents: String = shown.lines().filter_map(|line| line.split("\"content\": \"").nth(1)?.chars().next()).collect();
        assert_eq!(outcome.error.as_deref().map_or(Ok(contents.as_str()), Err), wanted, "{text:.300}");
        let failure = loaded(&files, None).1.failures.get("events:main").cloned();
        assert_eq!(failure.as_deref(), wanted.err(), "{text:.300}");
    }
}

#[test]
fn heads_are_the_lists_that_have_a_file() {
    let event = r#"{"seq":1,"payload":{}}"#;
    let mut files = session(&[
        (lists::MAIN, ""),
        ("events.jsonl", ""),
        ("lossless.jsonl", ""),
        ("branches/.hidden.jsonl", ""),
        ("branches/.jsonl", ""),
        ("branches/a/events.jsonl", ""),
        ("branches/a/deep.jsonl", ""),
        ("branches/events.jsonl", event),
        ("branches/main.jsonl", ""),
        ("branches/v1.2 test.jsonl", ""),
        ("views/c-1.jsonl", ""),
        ("control.jsonl", HI),
        ("old.jsonl", HI),
        ("older.jsonl", "x"),
        ("tmpabc_0123", &format!("{HI}\n\n")),
        ("tmptorn0123", HI),
        ("tmphalf0123", &format!("{HI}\nx\n")),
        ("tmpempty123", "\n"),
        ("tmptoo_short", &format!("{HI}\n")),
    ]);
    files.insert(RelPath::new("branches/link.jsonl"), Entry::Link { target: b"x".to_vec() });
    let names: Vec<String> = heads(&files).iter().map(ToString::to_string).collect();
    let branches = ["branch:.hidden", "branch:.jsonl", "branch:events", "branch:main", "branch:v1.2 test", "view:c-1"];
    let others = ["backup:lossless", "backup:old.jsonl", "backup:tmpabc_0123", "events:*", "events:a", "events:main"];
    assert_eq!(names, [branches, others].concat());
    for head in heads(&files) {
        assert_eq!(error(&files, Some(&head.to_string())), None, "{head}");
    }
    assert_eq!(error(&files, Some("nowhere")).as_deref(), Some("FileNotFoundError"));
}

#[test]
fn without_its_main_transcript_a_session_still_has_its_branches() {
    let files = session(&[("branches/a.jsonl", HI), ("branches/main.jsonl", HI), ("config.toml", "[chat]\nmodel = \"m\"\n")]);
    assert_eq!(heads(&files), [HeadName::parse("a")]);
    let (shown, outcome) = loaded(&files, None);
    assert_eq!((shown.as_str(), outcome.error.as_deref(), outcome.model.as_deref()), ("", Some("FileNotFoundError"), Some("m")));
    assert_eq!(loaded(&files, Some("a")).0, HI);
    let mut odd = Files::new("odd.jsonl");
    files.iter().for_each(|(path, entry)| odd.insert(path.clone(), entry.clone()));
    odd.insert(RelPath::new(lists::MAIN), Entry::File(SourceFile { bytes: HI.into(), mtime_ns: 0 }));
    assert_eq!(error(&odd, None).as_deref(), Some("FileNotFoundError"));
}
