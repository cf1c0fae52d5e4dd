//! Small transcripts, loaded whole. What is expected here was seen with
//! OpenClaw 2026.7.1 and, for older loaders, pi 0.73.0.

use super::*;
use crate::model::files::{Entry, RelPath, SourceFile};
use crate::model::heads::HeadName;
use crate::model::loaded::LoadOutcome;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;
const TIME: &str = r#""timestamp":"2026-01-02T03:04:05Z""#;

fn unit(files: &[(&str, &[u8])]) -> Files {
    let mut all = Files::new("s.jsonl");
    for (path, bytes) in files {
        all.insert(RelPath::new(*path), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 }));
    }
    all
}

fn load_from(files: &Files, head: Option<&str>) -> (Vec<String>, LoadOutcome) {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |line| shown.push(String::from_utf8(line.to_vec()).unwrap()));
    assert!(outcome.error.is_none() || shown.is_empty(), "shows {shown:?} and fails");
    (shown, outcome)
}

/// Loads these lines without a header before them.
fn bare(lines: &[&str], head: Option<&str>) -> (Vec<String>, LoadOutcome) {
    load_from(&unit(&[("s.jsonl", lines.join("\n").as_bytes())]), head)
}

fn load(lines: &[&str]) -> (Vec<String>, LoadOutcome) {
    bare(&[&[HEADER], lines].concat(), None)
}

/// Returns what is shown, each message by the letter that it holds.
fn letters(shown: &[String]) -> String {
    shown.iter().filter_map(|line| line.split("\"@").nth(1)?.chars().next()).collect()
}

fn fact(outcome: &LoadOutcome, name: &str) -> Option<String> {
    outcome.facts.get(name).cloned()
}

/// Returns a user's message whose text is `@` and its id.
fn said(id: &str, rest: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}",{rest}"message":{{"role":"user","content":"@{id}"}}}}"#)
}

fn below(id: &str, parent: &str) -> String {
    said(id, &format!("\"parentId\":{parent},"))
}

fn cut(id: &str, parent: &str, first: &str) -> String {
    format!(r#"{{"type":"compaction","id":"{id}","parentId":{parent},"summary":"@{id}","firstKeptEntryId":{first},{TIME}}}"#)
}

/// Checks the letters and what an older loader would show, if that differs.
fn check(lines: &[&str], wanted: &str, older: Option<&str>) {
    let (shown, outcome) = load(lines);
    assert_eq!((letters(&shown).as_str(), outcome.error), (wanted, None), "{lines:#?}");
    assert_eq!(outcome.facts.get("older_loader_shows").map(String::as_str), older, "{lines:#?}");
}

#[test]
fn an_entry_without_a_parent_goes_on_from_the_leaf() {
    check(&[&below("a", "null"), &said("b", ""), &below("c", "\"b\"")], "abc", Some("2"));
    check(&[&below("a", "null"), &below("b", "null")], "b", None);
    check(&[&below("a", "null"), &below("b", "\"gone\"")], "b", None);
    check(&[&below("a", "null"), &below("b", "7")], "b", None);
}

#[test]
fn a_leaf_row_moves_the_leaf_if_it_names_what_is_there() {
    let (a, b, c) = (below("a", "null"), below("b", "\"a\""), below("c", "\"b\""));
    let leaf = |rest: &str| format!(r#"{{"type":"leaf","id":"L","parentId":"c",{rest}}}"#);
    let moved = |rest: &str, wanted: &str, older: Option<&str>| check(&[&a, &b, &c, &leaf(rest)], wanted, older);
    moved(r#""targetId":"b""#, "ab", Some("3"));
    moved(r#""targetId":null"#, "", Some("3"));
    for ignored in [
        r#""targetId":"x""#,
        r#""targetId":"""#,
        r#""target":"b""#,
        r#""targetId":5"#,
        r#""targetId":"b","appendParentId":"x""#,
        r#""targetId":"b","appendParentId":1"#,
        r#""targetId":"b","appendMode":"main""#,
        r#""targetId":"b","id":"""#,
    ] {
        moved(ignored, "abc", None);
    }
    moved(r#""targetId":"b","parentId":1"#, "abc", Some("0"));
    // What is appended at the cursor goes on from the leaf.
    let elsewhere = leaf(r#""targetId":"a","appendParentId":"c""#);
    check(&[&a, &b, &c, &elsewhere, &below("d", "\"c\"")], "ad", Some("4"));
    check(&[&a, &b, &c, &elsewhere, &below("d", "\"b\"")], "abd", None);
    check(&[&a, &b, &c, &elsewhere, &said("d", "\"parentId\":\"c\",\"appendMode\":\"side\",")], "a", Some("4"));
    // Whoever stands on a leaf row stands on its target; on an ignored one, on its parent.
    check(&[&a, &b, &c, &leaf(r#""targetId":"a""#), &below("d", "null"), &below("e", "\"L\"")], "ae", Some("4"));
    check(&[&a, &b, &c, &leaf(r#""targetId":"x""#), &below("d", "null"), &below("e", "\"L\"")], "abce", None);
    let second = r#"{"type":"leaf","id":"M","parentId":"c","targetId":"L"}"#;
    check(&[&a, &b, &c, &leaf(r#""targetId":"a""#), second], "a", Some("3"));
    check(&[&a, &b, &c, &leaf(r#""targetId":"x""#).replace("\"c\"", "\"a\""), second], "abc", None);
    // A row that is not well formed is nothing at all.
    let malformed = leaf(r#""targetId":"b","appendParentId":1"#);
    check(&[&a, &b, &c, &malformed, &below("d", "null"), &below("e", "\"L\"")], "e", Some("4"));
}

#[test]
fn a_side_append_leaves_the_leaf_where_it_is() {
    let side = said("s", "\"parentId\":\"a\",\"appendMode\":\"side\",");
    check(&[&below("a", "null"), &side], "a", Some("2"));
    check(&[&below("a", "null"), &side, &below("b", "\"s\"")], "ab", Some("3"));
    check(&[&below("a", "null"), &side, &below("b", "\"a\"")], "ab", None);
}

#[test]
fn rows_of_other_types_are_stepped_through() {
    let odd = |id: &str, parent: &str| format!(r#"{{"type":"odd","id":"{id}","parentId":{parent}}}"#);
    check(&[&below("a", "null"), &odd("o", "\"a\""), &odd("p", "\"o\""), &below("b", "\"p\"")], "ab", None);
    check(&[&below("a", "null"), &odd("p", "\"o\""), &odd("o", "\"p\""), &below("b", "\"o\"")], "ab", Some("0"));
    check(&[&below("a", "null"), &odd("p", "\"o\""), &odd("o", "\"p\""), &below("c", "null"), &below("b", "\"p\"")], "b", Some("0"));
    check(&[&below("a", "null"), "5", "[]", "{}", r#"{"id":"x","parentId":7}"#, &below("b", "\"x\"")], "b", None);
    // Not even a list counts as the last row.
    check(&[&below("a", "null"), "[]"], "a", Some("0"));
    check(&[&below("a", "null"), "null", &below("b", "\"a\"")], "ab", Some("0"));
    check(&[&below("a", "null"), &below("b", "\"a\"").replace("\"id\":\"b\"", "\"id\":null")], "a", Some("0"));
}

#[test]
fn of_equal_ids_the_last_entry_counts() {
    let other = said("a", "\"parentId\":null,").replace("@a", "@z");
    check(&[&below("a", "null"), &below("b", "\"a\""), &other], "z", None);
    check(&[&below("a", "null"), &other, &below("b", "\"a\"")], "zb", None);
    // A parent that followed from the leaf stays with the id.
    check(&[&below("a", "null"), &said("b", ""), &below("c", "null"), &below("b", "\"c\"")], "ab", None);
}

#[test]
fn a_circle_is_gone_round_once() {
    check(&[&below("a", "\"c\""), &below("b", "\"a\""), &below("c", "\"b\"")], "abc", Some("0"));
    check(&[&below("a", "\"a\""), &below("b", "\"a\"")], "ab", Some("0"));
}

#[test]
fn a_compaction_stands_in_for_what_it_does_not_keep() {
    let (a, b) = (below("a", "null"), below("b", "\"a\""));
    check(&[&a, &b, &cut("k", "\"b\"", "\"b\""), &below("c", "\"k\"")], "kbc", None);
    check(&[&a, &b, &cut("k", "\"b\"", "\"gone\""), &below("c", "\"k\"")], "kc", None);
    check(&[&a, &b, &cut("k", "\"b\"", "null")], "k", None);
    check(&[&a, &cut("k", "\"a\"", "\"a\""), &below("c", "\"k\""), &cut("l", "\"c\"", "\"a\"")], "lac", None);
}

#[test]
fn a_row_of_another_type_can_be_the_first_that_is_kept() {
    let (a, b) = (below("a", "null"), below("b", "\"a\""));
    let odd = |parent: &str| format!(r#"{{"type":"odd","id":"o","parentId":{parent}}}"#);
    let kept = cut("k", "\"b\"", "\"o\"");
    // The entry above it, or the one below it on this branch, or in the file,
    // or the compaction's parent.
    check(&[&a, &odd("\"a\""), &b, &kept], "kab", Some("1"));
    check(&[&a, &odd("null"), &below("b", "\"o\""), &kept], "kb", None);
    check(&[&odd("null"), &a, &b, &kept, &below("c", "\"o\""), &below("d", "\"k\"")], "kd", None);
    check(&[&odd("null"), &a, &below("c", "\"o\""), &below("b", "\"c\""), &kept], "kcb", None);
    check(&[&odd("null"), &a, &b, &kept], "kb", Some("1"));
    check(&[&odd("\"\""), &a, &b, &kept], "k", None);
}

#[test]
fn the_way_down_from_a_row_goes_by_what_rows_say_themselves() {
    // Side by side: c goes on from a by the leaf row, and says it stands on o.
    let odd = r#"{"type":"odd","id":"o","parentId":null}"#;
    let leaf = r#"{"type":"leaf","id":"L","parentId":"o","targetId":"a","appendParentId":"o"}"#;
    let lines = [&below("x", "\"o\""), &below("a", "null"), odd, leaf, &below("c", "\"o\""), &cut("k", "\"c\"", "\"o\"")];
    check(&lines, "kc", None);
}

#[test]
fn a_list_without_ids_is_one_branch() {
    let old = |version: &str| format!(r#"{{"type":"session",{version}"id":"s"}}"#);
    let said = |letter: &str| format!(r#"{{"type":"message","message":{{"role":"user","content":"@{letter}"}}}}"#);
    let cut = |index: &str| format!(r#"{{"type":"compaction","summary":"@k","firstKeptEntryIndex":{index},{TIME}}}"#);
    let (a, b, c) = (said("a"), said("b"), said("c"));
    let with = |index: &str, between: &str| {
        let (shown, outcome) = bare(&[&old(""), &a, between, &b, &cut(index), &c], None);
        assert_eq!((outcome.error.clone(), fact(&outcome, "older_loader_shows")), (None, None));
        letters(&shown)
    };
    for (index, wanted) in
        [("1", "kabc"), ("2", "kbc"), ("-0", "kc"), ("0", "kc"), ("5", "kc"), ("9", "kc"), ("1.5", "kc"), ("\"1\"", "kc")]
    {
        assert_eq!(with(index, "torn"), wanted, "{index}");
    }
    // Places count what is not an entry too; where one is named, entries alone.
    assert_eq!(with("3", "{}"), "kbc");
    assert_eq!(with("2", "{}"), "kbc");
    // A later entry still has its old id, which here is that of another row.
    let odd = r#"{"id":"o","parentId":null}"#;
    let late = c.replace("{\"type", "{\"id\":\"o\",\"type");
    assert_eq!(letters(&bare(&[&old(""), odd, &a, &b, &cut("5"), &late], None).0), "kbc");
    for version in
        ["\"version\":1,", "\"version\":null,", "\"version\":\"1\",", "\"version\":[],", "\"version\":true,", "\"version\":-1e400,"]
    {
        assert_eq!(letters(&bare(&[&old(version), &a, &b], None).0), "ab", "{version}");
    }
    for version in ["\"version\":2,", "\"version\":\"x\",", "\"version\":{},", "\"version\":[1,1],"] {
        assert_eq!(letters(&bare(&[&old(version), &a, &b], None).0), "", "{version}");
    }
    // An older loader takes every row for an entry, and stumbles over what is not one.
    assert_eq!(fact(&bare(&[&old(""), &a, "5", &b], None).1, "older_loader_shows").as_deref(), Some("0"));
    assert_eq!(fact(&bare(&[&old(""), &a, "[]", &b], None).1, "older_loader_shows"), None);
    // Ids that are made up name nothing.
    let side = a.replace("{\"type", "{\"appendMode\":\"side\",\"id\":\"x\",\"type");
    let c = c.replace("{\"type", "{\"id\":\"y\",\"type");
    let files = unit(&[("s.jsonl", [&old(""), &b, &side, &c].map(String::as_str).join("\n").as_bytes())]);
    let (shown, outcome) = load_from(&files, None);
    assert_eq!((letters(&shown).as_str(), fact(&outcome, "leaf"), loader(&files).heads().len()), ("bc", None, 1));
}

#[test]
fn what_cannot_be_coerced_or_looked_into_is_a_type_error() {
    let header = |version: &str| format!(r#"{{"type":"session","id":"s","version":{version}}}"#);
    let error = |lines: &[&str]| bare(lines, None).1.error;
    for version in ["{\"toString\":1}", "[1,[{\"toString\":1}]]"] {
        assert_eq!(error(&[&header(version)]).as_deref(), Some("TypeError"), "{version}");
    }
    for message in ["", ",\"message\":null", ",\"message\":{\"role\":\"user\"},\"message\":null"] {
        let broken = format!(r#"{{"type":"message","id":"x","parentId":null{message}}}"#);
        assert_eq!(error(&[HEADER, &broken, &below("a", "\"x\"")]).as_deref(), Some("TypeError"), "{message}");
        // Also where a compaction hides it, and not where no branch leads to it.
        assert_eq!(error(&[HEADER, &broken, &cut("k", "\"x\"", "\"k\"")]).as_deref(), Some("TypeError"), "{message}");
        assert_eq!(error(&[HEADER, &broken, &below("a", "null")]), None, "{message}");
    }
    for message in ["5", "\"x\"", "[]", "false"] {
        let (shown, outcome) = load(&[&format!(r#"{{"type":"message","id":"x","parentId":null,"message":{message}}}"#)]);
        assert_eq!((shown.concat().as_str(), outcome.error), (message, None));
    }
    assert_eq!(error(&["{}", "null", HEADER]).as_deref(), Some("TypeError"));
    assert_eq!(error(&["null"]).as_deref(), Some("TypeError"));
    assert_eq!(error(&[HEADER, "null"]), None);
}

#[test]
fn a_header_is_found_or_made_up() {
    let a = below("a", "null");
    for (lines, wanted, recovered) in [
        (vec![HEADER, &a], "a", false),
        (vec!["torn", HEADER, &a], "a", false),
        (vec!["null x", HEADER, &a], "a", false),
        (vec![&a, HEADER], "a", true),
        (vec!["{}", &a], "a", true),
        (vec![r#"{"type":"session","version":3}"#, &a], "a", true),
        (vec![r#"{"type":"session","id":5}"#, &a], "a", true),
        (vec![r#"{"type":"session","id":""}"#, &a], "a", false),
        (vec!["torn"], "", true),
        (vec![""], "", false),
        (vec!["\u{feff}", "\u{2028}"], "", false),
        // The header that is found says how old all of it is.
        (vec![&a.replace("\"id\":\"a\",", ""), r#"{"type":"session","id":"s"}"#], "a", true),
        (vec![&a.replace("\"id\":\"a\",", ""), HEADER], "", true),
    ] {
        let (shown, outcome) = bare(&lines, None);
        let found = (letters(&shown), fact(&outcome, "header_recovered").is_some(), outcome.error.clone());
        assert_eq!(found, (wanted.to_owned(), recovered, None), "{lines:#?}");
        let older = fact(&outcome, "older_loader_shows");
        assert_eq!(older.as_deref(), (recovered && !wanted.is_empty()).then_some("0"), "{lines:#?}");
        assert_eq!(fact(&outcome, "thinking_level").as_deref(), Some("off"));
    }
    // The first of a list whose header comes last is at place 1 all the same.
    let cut = cut("k", "null", "null").replace("firstKeptEntryId\":null", "firstKeptEntryIndex\":1");
    assert_eq!(letters(&bare(&[&a, &cut, r#"{"type":"session","id":"s"}"#], None).0), "ka");
}

#[test]
fn messages_are_changed_as_they_are_read() {
    let shown = |version: &str, message: &str| {
        let header = HEADER.replace("3", version);
        bare(&[&header, &format!(r#"{{"type":"message","id":"a","parentId":null,"message":{message}}}"#)], None).0.concat()
    };
    for (message, wanted) in [
        (r#"{"role":"assistant","content":"x","z":1}"#, r#"{"role":"assistant","z":1,"content":[{"type":"text","text":"x"}]}"#),
        (
            r#"{"content":[],"role":"toolResult","content":"\ud800"}"#,
            r#"{"role":"toolResult","content":[{"type":"text","text":"\ud800"}]}"#,
        ),
        (r#"{"role":"toolResult","content":{ }}"#, r#"{"role":"toolResult","content":[{}]}"#),
        (r#"{"role":"assistant","content":{}}"#, r#"{"role":"assistant","content":{}}"#),
        (r#"{"role":"user","content":"x"}"#, r#"{"role":"user","content":"x"}"#),
        (r#"{"role":"hookMessage"}"#, r#"{"role":"hookMessage"}"#),
        (
            r#"{"role":"user","role":"\u0061ssistant","content":"x"}"#,
            r#"{"role":"user","role":"\u0061ssistant","content":[{"type":"text","text":"x"}]}"#,
        ),
        ("{ \"a\" : [1e400 , -0,\t1.50] }", r#"{"a":[null,0,1.50]}"#),
    ] {
        assert_eq!(shown("3", message), wanted);
    }
    assert_eq!(shown("2", r#"{"role":"hookMessage","a":1}"#), r#"{"a":1,"role":"custom"}"#);
    assert_eq!(shown("1", r#"{"role":"hookMessage"}"#), r#"{"role":"custom"}"#);
    assert_eq!(shown("\"x\"", r#"{"role":"hookMessage"}"#), r#"{"role":"hookMessage"}"#);
}

#[test]
fn messages_that_are_made_need_a_time() {
    let shown = |entry: &str, time: &str| {
        let (shown, outcome) = load(&[&format!(r#"{{"id":"a","parentId":null,{entry}{time}}}"#)]);
        outcome.error.unwrap_or_else(|| shown.concat())
    };
    let custom = r#""type":"custom_message","customType":"t","details":null"#;
    let (summary, empty) = (r#""type":"branch_summary","summary":7,"fromId":"root""#, r#""type":"branch_summary","summary":"""#);
    let compaction = r#""type":"compaction","tokensBefore":1e3"#;
    let good = format!(",{TIME}");
    let made = |rest: &str| format!("{{\"role\":{rest},\"timestamp\":1767323045000}}");
    assert_eq!(shown(custom, &good), made(r#""custom","customType":"t","details":null"#));
    assert_eq!(shown(summary, &good), made(r#""branchSummary","summary":7,"fromId":"root""#));
    assert_eq!(shown(compaction, &good), made(r#""compactionSummary","tokensBefore":1e3"#));
    assert_eq!(shown(empty, ""), "");
    for bad in ["", ",\"timestamp\":1767323045000", ",\"timestamp\":\" \"", ",\"timestamp\":\"soon\"", ",\"timestamp\":null"] {
        for entry in [custom, summary, compaction] {
            assert_eq!(shown(entry, bad), "invalid timestamp", "{entry} {bad}");
        }
    }
    // What is not shown may have any; an older loader takes nearly any.
    let no_time = format!(r#"{{"id":"x","parentId":null,{custom}}}"#);
    check(&[&no_time, &cut("k", "\"x\"", "null")], "k", None);
    let (_, outcome) = load(&[&no_time]);
    assert_eq!(fact(&outcome, "older_loader_shows").as_deref(), Some("1"));
    let (_, outcome) = load(&[&format!(r#"{{"id":"x","parentId":null,{custom},"timestamp":{{"toString":1}}}}"#)]);
    assert_eq!(fact(&outcome, "older_loader_shows"), None);
}

#[test]
fn facts_are_what_the_session_manager_knows() {
    let entry = |id: &str, parent: &str, rest: &str| format!(r#"{{"id":"{id}","parentId":{parent},{rest}}}"#);
    let lines = [
        entry("a", "null", r#""type":"model_change","provider":"p","modelId":"m""#),
        entry("b", "\"a\"", r#""type":"thinking_level_change","thinkingLevel":"high""#),
        entry("c", "\"b\"", r#""type":"label","targetId":"é\ud800","label":"l\"""#),
        entry("d", "\"c\"", r#""type":"label","targetId":"a","label":[1e400]"#),
        entry("e", "\"d\"", r#""type":"label","targetId":"b","label":"gone""#),
        entry("f", "\"e\"", r#""type":"label","targetId":"b","label":0.0"#),
        entry("g", "\"f\"", r#""type":"label","targetId":7,"label":"x""#),
        entry("h", "null", r#""type":"session_info","name":" \ufeffmy name\n""#),
        entry("\\u0069", "\"g\"", r#""type":"message","message":{"role":"user"}"#),
    ];
    let (_, outcome) = load(&lines.each_ref().map(String::as_str));
    let facts = ["labels", "leaf", "name", "thinking_level"].map(|name| fact(&outcome, name).unwrap_or_default());
    assert_eq!(facts, ["{\"a\":[null],\"é\\ud800\":\"l\\\"\"}", "i", "my name", "high"]);
    assert_eq!((outcome.model.as_deref(), outcome.facts.len()), (Some("p/m"), 4));
    let last = |rest: &str| load(&[&entry("a", "null", rest)]).1;
    for (rest, model) in [
        (r#""type":"message","message":{"role":"assistant","provider":"p"}"#, Some("p/")),
        (r#""type":"message","message":{"role":"assistant","provider":5,"model":"m"}"#, Some("/m")),
        (r#""type":"message","message":{"role":"user","provider":"p"}"#, None),
        (r#""type":"model_change","provider":null"#, Some("/")),
    ] {
        assert_eq!(last(rest).model.as_deref(), model, "{rest}");
    }
    for (rest, level) in [("", None), (",\"thinkingLevel\":null", Some("null")), (",\"thinkingLevel\":[ 1 ]", Some("[1]"))] {
        assert_eq!(fact(&last(&format!(r#""type":"thinking_level_change"{rest}"#)), "thinking_level").as_deref(), level, "{rest}");
    }
    for name in ["\" \"", "5", "null"] {
        assert_eq!(fact(&last(&format!(r#""type":"session_info","name":{name}"#)), "name"), None, "{name}");
    }
}

#[test]
fn every_other_leaf_and_every_copy_is_a_head() {
    let lines = [
        HEADER,
        &below("a", "null"),
        &below("b", "\"a\""),
        &below("main", "\"a\""),
        r#"{"type":"message","id":"x","parentId":"a"}"#,
        &below("q", "\"r\""),
        &below("r", "\"q\""),
        &below("\\ud800", "\"a\""),
        &below("c", "\"a\""),
    ];
    let text = lines.join("\n");
    let copy = [HEADER, &below("z", "null")].join("\n");
    let files = unit(&[
        ("s.jsonl", text.as_bytes()),
        ("s.jsonl.bak.2026-11-15T23-27-00.132Z", copy.as_bytes()),
        ("s.jsonl.bak-1-2", b"null"),
        ("s.trajectory.jsonl", copy.as_bytes()),
    ]);
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    let copies = ["backup:s.jsonl.bak-1-2", "backup:s.jsonl.bak.2026-11-15T23-27-00.132Z"];
    assert_eq!(heads, [["branch:main", "branch:b", "branch:x", "branch:\u{fffd}"].as_slice(), &copies].concat());
    for (head, wanted) in [
        ("main", Ok("ac")),
        ("b", Ok("ab")),
        ("\u{fffd}", Ok("a\\")),
        ("x", Err("TypeError")),
        ("q", Err("no such head")),
        ("events:main", Err("no such head")),
        (copies[0], Err("TypeError")),
        (copies[1], Ok("z")),
    ] {
        let (shown, outcome) = load_from(&files, Some(head));
        assert_eq!(outcome.error.as_deref().map_or(Ok(letters(&shown).as_str()), Err), wanted, "{head}");
        assert_eq!(outcome, LoadOutcome { error: outcome.error.clone(), ..LoadOutcome::default() });
    }
}

#[test]
fn a_unit_need_not_have_a_transcript() {
    let text = [HEADER, &below("a", "null")].join("\n");
    let stamp = "2026-11-15T23-27-00.132Z";
    let [bak, reset, corrupt] = ["bak.", "reset.", "corrupt-"].map(|mark| format!("s.jsonl.{mark}{stamp}"));
    let corrupt = format!("{corrupt}.jsonl");
    let run = br#"{"ts":1,"jobId":"s","action":"finished","status":"ok"}"#;
    let text = text.as_bytes();
    for (files, wanted, heads) in [
        (vec![(reset.as_str(), text)], Ok("a"), 1),
        (vec![(bak.as_str(), text)], Ok("a"), 1),
        (vec![(bak.as_str(), text), ("s.trajectory.jsonl", text)], Ok("a"), 1),
        (vec![(bak.as_str(), text), (reset.as_str(), text)], Ok("a"), 2),
        (vec![(bak.as_str(), text), (corrupt.as_str(), text)], Ok("a"), 2),
        (vec![(corrupt.as_str(), text)], Ok("a"), 1),
        (vec![("x.s.jsonl.imported-5", text)], Ok("a"), 1),
        (vec![("sessions.json", b"{}")], Ok(""), 1),
        (vec![("sessions.json.bak.5", text)], Ok(""), 1),
        (vec![("s.jsonl", run)], Ok(""), 1),
        (vec![("cron/runs/s.jsonl", text)], Ok(""), 1),
    ] {
        let all = unit(&files);
        let (shown, outcome) = load_from(&all, None);
        let found = outcome.error.as_deref().map_or(Ok(letters(&shown)), |error| Err(error.to_owned()));
        assert_eq!(found, wanted.map(str::to_owned).map_err(str::to_owned), "{files:?}");
        assert_eq!(outcome.active, Some(HeadName::main()));
        assert_eq!(loader(&all).heads().len(), heads, "{files:?}");
        assert_eq!(load_from(&all, Some("main")).0, shown);
        assert_eq!(outcome.facts.is_empty(), wanted != Ok("a"), "{files:?}");
    }
}

#[test]
fn lines_are_read_as_javascript_reads_them() {
    let a = below("a", "null");
    for (text, wanted) in [
        (format!("\u{feff} {HEADER}\r\n{a}\u{a0}\u{2028}\n"), "a"),
        (format!("{HEADER}\n\u{a0}{a}\n{}", below("b", "null")), "b"),
        (format!("{HEADER}\n{a}\n\u{a0}{}", below("b", "\"a\"")), "a"),
        (format!("{HEADER}\n{a}\n\u{c}{}", below("b", "\"a\"")), "a"),
        (format!("{HEADER}\n{a} {a}\n{a}}}"), ""),
        (format!("{HEADER}\n{}", a.replace("@a", "@x\u{2028}\u{7f}")), "x"),
        (format!("{HEADER}\n{}", a.replace("@a", "@x\u{1}")), ""),
    ] {
        assert_eq!(letters(&load_from(&unit(&[("s.jsonl", text.as_bytes())]), None).0), wanted, "{text:?}");
    }
    // Bytes that are not UTF-8 are U+FFFD in a string, one for each broken part.
    let (before, after) = a.split_once("@a").unwrap();
    let line = [HEADER.as_bytes(), b"\n", before.as_bytes(), b"@\xf0\x9f\x98!\xff\xed\xa0\x80", after.as_bytes()].concat();
    let shown = load_from(&unit(&[("s.jsonl", &line)]), None).0.concat();
    assert!(shown.contains("\"@\u{fffd}!\u{fffd}\u{fffd}\u{fffd}\u{fffd}\""), "{shown}");
}

#[test]
fn two_hundred_thousand_records_take_no_time() {
    const MANY: usize = 200_000;
    let line = |n: usize, entry: &dyn Fn(usize) -> String| entry(n) + "\n";
    let file = |entry: &dyn Fn(usize) -> String| HEADER.to_owned() + "\n" + &(0..MANY).map(|n| line(n, entry)).collect::<String>();
    let parent = |n: usize| if n == 0 { "null".to_owned() } else { format!("\"n{}\"", n - 1) };
    let chain = file(&|n| below(&format!("n{n}"), &parent(n)));
    let fan = file(&|n| below(&format!("n{n}"), if n == 0 { "null" } else { "\"n0\"" }));
    let odd = file(&|n| format!(r#"{{"type":"odd","id":"n{n}","parentId":{}}}"#, parent(n)));
    let leaves = file(&|n| match n {
        0 => below("n0", "null"),
        _ => format!(r#"{{"type":"leaf","id":"n{n}","parentId":null,"targetId":{}}}"#, parent(n)),
    });
    let cuts = file(&|n| cut(&format!("n{n}"), &parent(n), "\"gone\""));
    let deep = format!("{HEADER}\n{}", below("a", "null").replace("\"@a\"", &format!("{}7{}", "[".repeat(MANY), "]".repeat(MANY))));
    for (text, shown, heads) in [(&chain, MANY, 1), (&fan, 2, MANY - 1), (&odd, 0, 1), (&leaves, 1, 1), (&cuts, 1, 1), (&deep, 1, 1)] {
        let files = unit(&[("s.jsonl", text.as_bytes())]);
        let mut loader = loader(&files);
        let mut count = 0;
        loader.load(None, &mut |_| count += 1);
        assert_eq!((count, loader.heads().len()), (shown, heads));
        for head in loader.heads() {
            assert_eq!(loader.load(Some(&head), &mut |_| count += 1).error, None);
        }
    }
}
