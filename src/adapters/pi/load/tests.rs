//! The odd rules, each by the smallest file that shows it.

use super::*;
use crate::json::same_value;
use crate::model::files::{RelPath, SourceFile};
use crate::runtimes::javascript::Value;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

fn files(bytes: &[u8]) -> Files {
    let mut files = Files::new("any name");
    files.insert(RelPath::new("any name"), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 }));
    files
}

fn load(bytes: &[u8], head: Option<&str>) -> (Vec<String>, LoadOutcome) {
    let files = files(bytes);
    let mut shown = Vec::new();
    let head = head.map(|name| HeadName::new(HeadKind::Branch, name));
    let outcome = loader(&files).load(head.as_ref(), &mut |line| shown.push(String::from_utf8(line.to_vec()).unwrap()));
    (shown, outcome)
}

/// Returns what is shown of a file with these lines.
fn shown(lines: &[&str]) -> Vec<String> {
    let (shown, outcome) = load(lines.join("\n").as_bytes(), None);
    assert_eq!(outcome.error, None);
    shown
}

fn error(lines: &[&str]) -> Option<String> {
    let (shown, outcome) = load(lines.join("\n").as_bytes(), None);
    assert!(outcome.error.is_none() || shown.is_empty());
    outcome.error
}

fn heads(lines: &[&str]) -> Vec<String> {
    loader(&files(lines.join("\n").as_bytes())).heads().into_iter().map(|head| head.name).collect()
}

fn message(id: &str, parent: &str, text: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"{text}"}}}}"#)
}

/// Returns the texts of messages as [`message`] makes them.
fn texts(shown: &[String]) -> Vec<String> {
    let text = |line: &String| Value::accepted(line.as_bytes()).get("content").lossy().unwrap_or_else(|| line.clone());
    shown.iter().map(text).collect()
}

fn assert_shown(lines: &[&str], wanted: &[&str]) {
    let shown = shown(lines);
    assert_eq!(shown.len(), wanted.len(), "{shown:#?}");
    for (got, wanted) in shown.iter().zip(wanted) {
        assert!(same_value(got.as_bytes(), wanted.as_bytes()), "{got} is not {wanted}");
    }
}

#[test]
fn a_header_must_be_the_first_record_and_nothing_begins_a_new_session() {
    assert_eq!(load(b"", None), (vec![], LoadOutcome { active: Some(HeadName::main()), facts: new_session(), ..LoadOutcome::default() }));
    let refused = Some("Session file is not a valid pi session".to_owned());
    for lines in [&["  ", "\t"][..], &["[1]", HEADER], &["{}", HEADER], &[r#"{"type":"session","id":7}"#], &["\u{feff}{}"]] {
        assert_eq!(error(lines), refused, "{lines:?}");
        assert_eq!(heads(lines), ["main"]);
    }
    let with_mark = format!("\u{feff}{HEADER}");
    assert_eq!(error(&[&with_mark]), refused);
    assert_eq!(error(&["garbage", "null", "0", "\"\"", "false", "", HEADER]), None);
}

fn new_session() -> BTreeMap<String, String> {
    BTreeMap::from([("thinking_level".to_owned(), "off".to_owned())])
}

#[test]
fn the_last_entry_is_the_leaf_whatever_it_is() {
    let (a, b, c) = (message("a", "null", "a"), message("b", r#""a""#, "b"), message("c", r#""a""#, "c"));
    let label = r#"{"type":"label","id":"l","parentId":"b","targetId":"a","label":"x\u00e9"}"#;
    let all = [HEADER, &a, &b, &c, label];
    assert_eq!(texts(&shown(&all)), ["a", "b"]);
    assert_eq!(heads(&all), ["main", "c"]);
    let (of_c, outcome) = load(all.join("\n").as_bytes(), Some("c"));
    assert_eq!((texts(&of_c), outcome), (vec!["a".to_owned(), "c".to_owned()], LoadOutcome::default()));
    let facts = load(all.join("\n").as_bytes(), None).1.facts;
    assert_eq!(facts.get("leaf").map(String::as_str), Some("l"));
    assert_eq!(facts.get("labels").map(String::as_str), Some(r#"{"a":"xé"}"#));
    // An empty id is as good as none: the last entry stands in for it.
    let empty = message("", r#""c""#, "empty");
    let of_empty = load([HEADER, &a, &empty, &b].join("\n").as_bytes(), Some("")).0;
    assert_eq!(texts(&of_empty), ["a", "b"]);
    // No leaf at all where the last id is null; the entry itself where it has none.
    let without = |id: &str| format!(r#"{{"type":"message","parentId":"a"{id},"message":{{"role":"user","content":"d"}}}}"#);
    assert_eq!(texts(&shown(&[HEADER, &a, &without("")])), ["a", "d"]);
    assert_eq!(texts(&shown(&[HEADER, &a, &without(r#","id":0"#)])), ["a", "d"]);
    assert!(shown(&[HEADER, &a, &without(r#","id":null"#)]).is_empty());
    assert_eq!(load(all.join("\n").as_bytes(), Some("nobody")).1.error.as_deref(), Some("no such branch"));
}

#[test]
fn ids_are_keys_of_a_map() {
    let with = |id: &str, parent: &str, text: &str| message("@", parent, text).replace(r#""@""#, id);
    // Equal numbers and equal texts are found, however they are written.
    let (a, b) = (with("1.0", "null", "a"), with(r#""b""#, "1", "b"));
    assert_eq!(texts(&shown(&[HEADER, &a, &b])), ["a", "b"]);
    let (a, b) = (with(r#""\u0061""#, "null", "a"), message("b", r#""a""#, "b"));
    assert_eq!(texts(&shown(&[HEADER, &a, &b])), ["a", "b"]);
    // An object is equal to itself alone, and what is falsy leads nowhere.
    for id in ["{}", "[]", "0", "false", r#""""#] {
        let (a, b) = (with(id, "null", "a"), with(r#""b""#, id, "b"));
        assert_eq!(texts(&shown(&[HEADER, &a, &b])), ["b"], "{id}");
    }
    // Of equal ids the last counts, for those before it as well.
    let (first, second) = (message("a", "null", "first"), message("a", "null", "second"));
    let child = message("c", r#""a""#, "child");
    assert_eq!(texts(&shown(&[HEADER, &first, &child, &second, &child])), ["second", "child"]);
}

#[test]
fn heads_are_the_other_ends_of_the_tree_that_can_be_named() {
    let end = message("z", "null", "z");
    let entry = |id: &str, parent: &str| message("@", parent, "x").replace(r#""@""#, id);
    let all = [
        entry(r#""self""#, r#""self""#),
        entry("7", "null"),
        entry(r#""\ud800""#, "null"),
        entry(r#""main""#, "null"),
        entry(r#""a""#, "null"),
        // Hidden by the next one, it holds nothing up.
        entry(r#""b""#, r#""a""#),
        entry(r#""b""#, "null"),
        entry(r#""c""#, "null"),
        entry("8", r#""c""#),
        end,
    ];
    let lines: Vec<&str> = std::iter::once(HEADER).chain(all.iter().map(String::as_str)).collect();
    assert_eq!(heads(&lines), ["main", "self", "a", "b"]);
    assert_eq!(load(lines.join("\n").as_bytes(), Some("self")).1.error.as_deref(), Some("the branch is a circle"));
}

#[test]
fn a_circle_shows_nothing() {
    let (a, b, c) = (message("a", r#""b""#, "a"), message("b", r#""a""#, "b"), message("c", r#""b""#, "c"));
    assert_eq!(error(&[HEADER, &a, &b, &c]).as_deref(), Some("the branch is a circle"));
    let free = message("d", "null", "d");
    assert_eq!(texts(&shown(&[HEADER, &a, &b, &c, &free])), ["d"]);
}

#[test]
fn version_one_is_one_line_of_records() {
    let header = r#"{"type":"session","id":"s"}"#;
    let compaction = |index: &str| format!(r#"{{"type":"compaction","summary":"sum","firstKeptEntryIndex":{index}}}"#);
    let (a, b, c) = (message("x", r#""y""#, "a"), message("x", "null", "b"), message("x", "null", "c"));
    for (index, kept) in [("3", 1), ("2", 1), ("1", 2), ("0", 0), ("4", 0), ("5", 0), ("1.5", 0), ("-1", 0), ("\"1\"", 0), ("2.0", 1)] {
        let lines = [header, &a, "[]", &b, &compaction(index), &c];
        let texts = texts(&shown(&lines));
        assert_eq!(texts.len(), 2 + kept, "{index} {texts:?}");
        assert_eq!(texts.last().map(String::as_str), Some("c"));
    }
    assert_eq!(heads(&[header, &a, &b]), ["main"]);
    assert!(!load([header, &a].join("\n").as_bytes(), None).1.facts.contains_key("leaf"));
    for scalar in ["5", "true", "\"text\""] {
        assert_eq!(error(&[header, &a, scalar]).as_deref(), Some("TypeError"));
        assert_eq!(error(&[HEADER, &a, scalar]), None);
    }
}

#[test]
fn a_version_is_compared_as_javascript_compares() {
    let hook = r#"{"type":"message","id":"a","parentId":"gone","message":{"content":"h","role":"hookMessage","role":"hookMessage"}}"#;
    let after = message("b", "null", "b");
    let case = |version: &str| {
        let header = HEADER.replace("\"version\":3", &format!("\"version\":{version}"));
        shown(&[&header, hook, &after]).len() * 10 + usize::from(!shown(&[&header, hook])[0].contains("hook"))
    };
    for chained in ["null", "0", "\"1\"", "[]", "\"\"", "false", "true", "[null]", "\" 1e0 \"", "\"0x1\"", "-1e400"] {
        assert_eq!(case(chained), 21, "{chained}");
    }
    for renamed in ["2", "\"2\"", "[2]", "[[\"2\"]]", "2.5"] {
        assert_eq!(case(renamed), 11, "{renamed}");
    }
    for kept in [
        "3",
        "7",
        "\"3\"",
        "\"abc\"",
        "{}",
        "[1,2]",
        "[1e400]",
        "\"Infinity\"",
        "\"1_0\"",
        "\"inf\"",
        "\"-inf\"",
        "\"--1\"",
        "{\"valueOf\":1}",
    ] {
        assert_eq!(case(kept), 10, "{kept}");
    }
    let header = HEADER.replace("\"version\":3", "\"version\":[{\"toString\":1}]");
    assert_eq!(error(&[&header]).as_deref(), Some("TypeError"));
}

#[test]
fn a_compaction_stands_for_what_it_cuts_off() {
    let entry =
        |id: &str, parent: &str, rest: &str| format!(r#"{{"id":"{id}","parentId":"{parent}","timestamp":"1970-01-01T00:00:01Z",{rest}}}"#);
    let (a, b) = (message("a", "null", "a"), message("b", r#""a""#, "b"));
    let system = entry("s", "b", r#""type":"message","message":{"role":"system"}"#);
    let older = entry("o", "s", r#""type":"compaction","summary":"old","firstKeptEntryId":"a""#);
    let newer = |kept: &str, rest: &str| {
        entry("n", "o", &format!(r#""type":"compaction","summary":"new","tokensBefore":5,"firstKeptEntryId":{kept}{rest}"#))
    };
    let c = message("c", r#""n""#, "c");
    let summary = r#"{"role":"compactionSummary","summary":"new","tokensBefore":5,"timestamp":1000}"#;
    let (of_b, of_c) = (r#"{"role":"user","content":"b"}"#, r#"{"role":"user","content":"c"}"#);
    assert_shown(&[HEADER, &a, &b, &system, &older, &newer(r#""b""#, ""), &c], &[summary, of_b, of_c]);
    for nothing in [r#""n""#, r#""c""#, r#""gone""#, "null", "{}"] {
        assert_shown(&[HEADER, &a, &b, &system, &older, &newer(nothing, ""), &c], &[summary, of_c]);
    }
    let with_prompt = newer(r#""n""#, r#","systemMessage":{"role":"user","content":1}"#);
    assert_shown(&[HEADER, &a, &b, &system, &older, &with_prompt, &c], &[r#"{"role":"user","content":1}"#, summary, of_c]);
    // An edit that is cut off says nothing any more.
    let early = entry("a", "", r#""type":"context_edit","targetId":"b","replacement":null"#);
    assert_shown(&[HEADER, &early, &b, &system, &older, &newer(r#""b""#, ""), &c], &[summary, of_b, of_c]);
    // An edit of the compaction reaches that prompt, or drops both.
    let edit = |replacement: &str| entry("e", "c", &format!(r#""type":"context_edit","targetId":"n","replacement":{replacement}"#));
    let lines = [HEADER, &a, &b, &system, &older, &with_prompt, &c];
    assert_shown(&[&lines[..], &[&edit(r#"{"content":2}"#)]].concat(), &[r#"{"role":"user","content":2}"#, summary, of_c]);
    assert_shown(&[&lines[..], &[&edit("null")]].concat(), &[of_c]);
}

#[test]
fn edits_and_repairs_change_only_content() {
    let a = |message: &str| format!(r#"{{"type":"message","id":"a","message":{message}}}"#);
    let edit = |rest: &str| format!(r#"{{"type":"context_edit","id":"e","parentId":"a","targetId":"a"{rest}}}"#);
    let one = |message: &str, rest: &str| shown(&[HEADER, &a(message), &edit(rest)]).concat();
    for (message, rest, wanted) in [
        (r#"{"role":"user","content":"old","x":1}"#, r#","replacement":{"content":"new"}"#, r#"{"role":"user","x":1,"content":"new"}"#),
        (
            r#"{"role":"assistant"}"#,
            r#","replacement":{"content":"new"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"new"}]}"#,
        ),
        (r#"{"role":"toolResult"}"#, r#","replacement":{"content":[]}"#, r#"{"role":"toolResult","content":[]}"#),
        (
            r#"{"role":"toolResult"}"#,
            r#","replacement":{"content":"t"}"#,
            r#"{"role":"toolResult","content":[{"type":"text","text":"t"}]}"#,
        ),
        (r#"{"role":"custom","content":1}"#, r#","replacement":5"#, r#"{"role":"custom"}"#),
        (r#"{"role":"user","content":null}"#, r#","replacement":{"content":null}"#, r#"{"role":"user","content":null}"#),
        (r#"{"role":"system","content":null}"#, r#","replacement":{"content":1}"#, r#"{"role":"system","content":""}"#),
        (r#"{"role":"bashExecution","content":null}"#, "", r#"{"role":"bashExecution","content":null}"#),
        (r#""only a text""#, "", r#""only a text""#),
    ] {
        let got = one(message, rest);
        assert!(same_value(got.as_bytes(), wanted.as_bytes()), "{message} {rest}: {got}");
    }
    assert_eq!(one(r#"{"role":"zzz"}"#, r#","replacement":null"#), "");
    assert_eq!(error(&[HEADER, &a(r#"{"role":"user"}"#), &edit("")]).as_deref(), Some("TypeError"));
    for (role, wanted) in [("user", "[]"), ("assistant", "[]"), ("toolResult", "[]"), ("system", "\"\"")] {
        assert_shown(&[HEADER, &a(&format!(r#"{{"role":"{role}"}}"#))], &[&format!(r#"{{"role":"{role}","content":{wanted}}}"#)]);
    }
    // The last edit counts; one that names no target meets an entry without an id.
    let second = r#"{"type":"context_edit","id":"f","parentId":"e","targetId":"a","replacement":{"content":"2"}}"#;
    let third = r#"{"type":"context_edit","id":"g","parentId":"f","replacement":null}"#;
    let end = r#"{"type":"message","parentId":"g","message":{"role":"user","content":"end"}}"#;
    let first = edit(r#","replacement":null"#);
    assert_shown(&[HEADER, &a(r#"{"role":"user"}"#), &first, second, third, end], &[r#"{"role":"user","content":"2"}"#]);
}

#[test]
fn what_javascript_cannot_do_is_a_type_error() {
    let entry = |rest: &str| format!(r#"{{"id":"a",{rest}}}"#);
    for rest in [
        r#""type":"message""#,
        r#""type":"message","message":{"role":"user"},"message":null"#,
        r#""type":"custom_message","timestamp":{"toString":1}"#,
        r#""type":"branch_summary","summary":"x","timestamp":[[{"toString":1}]]"#,
        r#""type":"compaction","timestamp":{"toString":null}"#,
    ] {
        assert_eq!(error(&[HEADER, &entry(rest)]).as_deref(), Some("TypeError"), "{rest}");
        // Not where the entry is on no path, or the time is not asked for.
        let other = message("b", "null", "b");
        assert_eq!(texts(&shown(&[HEADER, &entry(rest), &other])), ["b"], "{rest}");
    }
    assert_eq!(error(&[HEADER, &entry(r#""type":"branch_summary","summary":"","timestamp":{"toString":1}"#)]), None);
    // Nothing is shown of a list that cannot be built to its end.
    let (fine, broken) = (message("b", "null", "b"), r#"{"type":"custom_message","id":"c","parentId":"b","timestamp":{"toString":1}}"#);
    assert_eq!(error(&[HEADER, &fine, broken]).as_deref(), Some("TypeError"));
    // A message that is cut off still breaks the settings.
    let cut = r#"{"type":"compaction","id":"c","parentId":"a"}"#;
    assert_eq!(error(&[HEADER, &entry(r#""type":"message""#), cut]).as_deref(), Some("TypeError"));
}

#[test]
fn times_become_milliseconds() {
    let cases = [
        (r#""2026-11-15T23:14:50.910Z""#, "1794784490910"),
        (r#""2026-11-15T23:14:50.9109999+05:30""#, "1794764690910"),
        (r#""2026-11-15T23:14:50""#, "1794784490000"),
        (r#""2026-11-15T23:14:50-0030""#, "1794786290000"),
        (r#""2026-02-31""#, "1772496000000"),
        (r#""2026""#, "1767225600000"),
        (r#""2026-11-15T24:00Z""#, "1794787200000"),
        (r#""2026-11-15T24:01Z""#, "null"),
        (r#""2026-11-15T24:00:00.0001Z""#, "null"),
        (r#""2026-11-15T23:14:50 Z""#, "null"),
        (r#""2026-11-15 23:14:50""#, "1794784490000"),
        (r#""Sun, 15 Nov 2026 11:14:50 pm GMT (x)""#, "1794784490000"),
        (r#""1/2/49""#, "2493158400000"),
        (r#""+275760-09-13""#, "8640000000000000"),
        (r#""+275760-09-14""#, "null"),
        (r#""-000000-01-01T00:00:00Z""#, "null"),
        (r#""then""#, "null"),
        ("1.9", "1"),
        ("-1.9", "-1"),
        ("8640000000000001", "null"),
        ("null", "0"),
        ("true", "1"),
        ("{}", "null"),
        ("[2026]", "1767225600000"),
        ("[2026,[11,15]]", "1794700800000"),
    ];
    for (time, wanted) in cases {
        let entry = format!(r#"{{"type":"branch_summary","id":"a","summary":1,"timestamp":{time}}}"#);
        assert_shown(&[HEADER, &entry], &[&format!(r#"{{"role":"branchSummary","summary":1,"timestamp":{wanted}}}"#)]);
    }
    let entry = r#"{"type":"custom_message","id":"a","content":null,"details":null}"#;
    assert_shown(&[HEADER, entry], &[r#"{"role":"custom","content":[],"details":null,"timestamp":null}"#]);
}

#[test]
fn numbers_are_printed_as_javascript_prints_them() {
    for (number, wanted) in [
        ("12345678901234567890", "12345678901234567000"),
        ("-9007199254740993", "-9007199254740992"),
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
        ("1e400", "null"),
        ("-1e400", "null"),
        ("-0", "0"),
        ("0.10", "0.1"),
        ("1e5", "100000"),
    ] {
        let entry = format!(r#"{{"type":"message","id":"a","message": {{"n" : [ {number} ] }} }}"#);
        assert_eq!(shown(&[HEADER, &entry]), [format!(r#"{{"n":[{wanted}]}}"#)]);
    }
}

#[test]
fn bytes_that_are_no_text_become_replacement_characters() {
    let entry = b"\n{\"type\":\"message\",\"id\":\"a\",\"message\":[\"\xe2\x82|\xff\xfe|\xed\xa0\x80|\\ud800\"]}\n\xff\n".as_slice();
    let (shown, outcome) = load(&[HEADER.as_bytes(), entry].concat(), None);
    assert_eq!((shown, outcome.error), (vec!["[\"\u{fffd}|\u{fffd}\u{fffd}|\u{fffd}\u{fffd}\u{fffd}|\\ud800\"]".to_owned()], None));
}

#[test]
fn deep_values_and_long_chains_need_no_stack() {
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    let entry = format!(r#"{{"type":"custom_message","id":"a","content":{deep},"timestamp":{deep}}}"#);
    assert_eq!(shown(&[HEADER, &entry]).len(), 1);
    let chain: Vec<String> = (0..50_000).map(|n| message(&format!("{n}"), &format!("\"{}\"", n + 1), "x")).collect();
    let lines: Vec<&str> = std::iter::once(HEADER).chain(chain.iter().rev().map(String::as_str)).collect();
    assert_eq!(shown(&lines).len(), 50_000);
}

#[test]
fn the_model_the_level_and_the_name_come_from_the_last_that_say_so() {
    let entry = |id: &str, parent: &str, rest: &str| format!(r#"{{"id":"{id}","parentId":"{parent}",{rest}}}"#);
    let lines = [
        HEADER.to_owned(),
        entry("a", "", r#""type":"thinking_level_change","thinkingLevel":"low""#),
        entry("b", "a", r#""type":"message","message":{"role":"assistant","provider":"p","model":"m"}"#),
        entry("c", "b", r#""type":"session_info","name":" n\u00a0""#),
        entry("d", "b", r#""type":"model_change","provider":5,"modelId":"x""#),
        entry("e", "d", r#""type":"compaction""#),
    ];
    let outcome = |count: usize| load(lines[..count].join("\n").as_bytes(), None).1;
    assert_eq!((outcome(1).model, outcome(3).model.as_deref()), (None, Some("p/m")));
    assert_eq!(outcome(6).model.as_deref(), Some("/x"));
    let fact = |name: &str| outcome(6).facts.get(name).cloned();
    assert_eq!((fact("thinking_level").as_deref(), fact("name").as_deref(), fact("labels")), (Some("low"), Some("n"), None));
    let cleared = [lines.join("\n"), entry("f", "e", r#""type":"session_info","name":"""#)].join("\n");
    assert!(!load(cleared.as_bytes(), None).1.facts.contains_key("name"));
}

#[test]
fn the_harness_follows_its_leaf_records_and_is_strict() {
    let entry = |id: &str, parent: &str, rest: &str| format!(r#"{{"id":"{id}","parentId":{parent},"timestamp":"1970","type":{rest}}}"#);
    let a = entry("a", "null", r#""message","message":{"role":"user"}"#);
    let b = entry("b", r#""a""#, r#""message","message":{"role":"system","content":"b"}"#);
    let leaf = |target: &str| entry("l", r#""b""#, &format!(r#""leaf","targetId":{target}"#));
    let count = |lines: &[&str]| shown(lines).len();
    assert_shown(&[HEADER, &a, &b, " \u{feff}", &leaf(r#""a""#)], &[r#"{"role":"user"}"#]);
    assert_eq!(count(&[HEADER, &a, &b, &leaf("null")]), 0);
    assert_eq!(heads(&[HEADER, &a, &b, &leaf(r#""a""#)]), ["main", "l"]);
    let refused = Some("Session file is not a valid harness session".to_owned());
    assert_eq!(error(&[HEADER, &a, &b, &leaf(r#""gone""#)]), refused);
    let orphan = entry("o", r#""gone""#, r#""custom""#);
    assert_eq!(error(&[HEADER, &a, &leaf("null"), &orphan]), refused);
    let label = entry("x", r#""b""#, r#""label","targetId":"a","label":5"#);
    assert_eq!(error(&[HEADER, &a, &b, &label, &leaf(r#""a""#)]).as_deref(), Some("TypeError"));
    let tools = entry("t", r#""b""#, r#""active_tools_change","activeToolNames":{}"#);
    assert_eq!(error(&[HEADER, &a, &b, &tools]).as_deref(), Some("TypeError"));
    // Both compactions speak, the kept system message stays.
    let old = entry("o", r#""b""#, r#""compaction","summary":1"#);
    let new = entry("n", r#""o""#, r#""compaction","summary":2,"firstKeptEntryId":"b","systemMessage":{"role":"system"}"#);
    assert_eq!(count(&[HEADER, &leaf("null"), &a, &b, &old, &new]), 3);
    // One line that the harness would not take, and pi's rules hold.
    for line in [
        "garbage",
        "[]",
        r#"{"type":"x","id":"z","parentId":"b"}"#,
        r#"{"type":"x","id":"z","parentId":"b","timestamp":""}"#,
        r#"{"type":"x","id":"z","timestamp":"1"}"#,
        r#"{"type":"x","id":"","parentId":null,"timestamp":"1"}"#,
        r#"{"type":7,"id":"z","parentId":null,"timestamp":"1"}"#,
        r#"{"type":"leaf","id":"z","parentId":null,"timestamp":"1"}"#,
    ] {
        assert_eq!(count(&[HEADER, &a, &b, line, &leaf(r#""a""#)]), 2, "{line}");
    }
    let metadata = HEADER.replace('}', r#","metadata":[]}"#);
    assert_eq!(count(&[&metadata, &a, &b, &leaf(r#""a""#)]), 2);
    assert_eq!(count(&[&HEADER.replace("/p", ""), &a, &b, &leaf(r#""a""#)]), 2);
}

#[test]
fn the_tutorial_keeps_its_ids_in_version_one() {
    let header = r#"{"type":"session","id":"s","version":1}"#;
    let (a, b, c) = (message("a", r#""s""#, "a"), message("b", r#""a""#, "b"), message("c", r#""a""#, "c"));
    assert_eq!(texts(&shown(&[header, &a, &b, &c])), ["a", "c"]);
    assert_eq!(heads(&[header, &a, &b, &c]), ["main", "b"]);
    let model = r#"{"type":"model_change","id":"m","parentId":"c","model":"example"}"#;
    let outcome = load([header, &a, &b, &c, model].join("\n").as_bytes(), None).1;
    assert_eq!(outcome.model.as_deref(), Some("example"));
    assert_eq!(outcome.facts, BTreeMap::from([("leaf".to_owned(), "m".to_owned())]));
    let compaction = r#"{"type":"compaction","id":"k","parentId":"c","summary":"sum","firstKeptEntryId":"c","timestamp":"1970"}"#;
    assert_shown(
        &[header, &a, &b, &c, compaction],
        &[r#"{"role":"compactionSummary","summary":"sum","timestamp":0}"#, r#"{"role":"user","content":"c"}"#],
    );
    let without = r#"{"type":"message","message":{"role":"user","content":"w"}}"#;
    assert_eq!(texts(&shown(&[header, without, without])), ["w", "w"]);
    // Without ids, or with the version as a text, it is pi's own version 1.
    let chained = header.replace(":1}", ":\"1\"}");
    assert_eq!(texts(&shown(&[&chained, &a, &b, &c])), ["a", "b", "c"]);
}
