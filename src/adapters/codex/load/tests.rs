use super::lineage::{BASE_MISSING, BASE_NOT_PAGINATED, BASE_SHORT, CYCLE, EMPTY, NO_META, NO_ORDINAL, NOT_UTF8, UNKNOWN_MODE};
use super::*;
use crate::model::files::{Entry, RelPath, SharedFacts, Slice, SourceFile};

const THREAD: &str = "01a1ed60-0000-7000-8000-000000000001";
const OTHER: &str = "01a1ed60-0000-7000-8000-000000000002";
const THIRD: &str = "01a1ed60-0000-7000-8000-000000000003";

fn name(day: &str, id: &str) -> String {
    format!("sessions/2026/11/{day}/rollout-2026-11-{day}T09-00-00-{id}.jsonl")
}

fn with_files<T: AsRef<[u8]>>(all: &[(String, T)]) -> Files {
    let mut files = Files::new("thread");
    for (path, bytes) in all {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.as_ref().to_vec(), mtime_ns: 0 }));
    }
    files
}

fn load(files: &Files, head: Option<&str>) -> Result<Vec<String>, String> {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |line| shown.push(String::from_utf8(line.to_vec()).unwrap()));
    let active = head.is_none().then(HeadName::main);
    assert_eq!(LoadOutcome { error: None, ..outcome.clone() }, LoadOutcome { active, ..LoadOutcome::default() });
    outcome.error.map_or(Ok(shown), Err)
}

fn load_text(text: impl AsRef<[u8]>) -> Result<Vec<String>, String> {
    load(&with_files(&[(name("18", THREAD), text)]), None)
}

/// A record of the older kind.
fn record(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-11-18T09:00:00.000Z","type":"{kind}","payload":{payload}}}"#)
}

fn meta_with(more: &str) -> String {
    record("session_meta", &format!(r#"{{"id":"{THREAD}","timestamp":"t","cwd":"/w","originator":"o","cli_version":"0.0.0"{more}}}"#))
}

fn meta() -> String {
    meta_with("")
}

fn item(payload: &str) -> String {
    record("response_item", payload)
}

fn event(payload: &str) -> String {
    record("event_msg", payload)
}

/// A message whose one part has this text.
fn message(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#)
}

fn said(role: &str, text: &str) -> String {
    item(&message(role, text))
}

fn rollback(turns: u32) -> String {
    event(&format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#))
}

fn started(id: &str) -> String {
    event(&format!(r#"{{"type":"task_started","turn_id":"{id}"}}"#))
}

/// The same lines as those of a paginated rollout.
fn paginated(lines: &[String]) -> String {
    let line = |(at, line): (usize, &String)| line.replacen("\"type\"", &format!("\"ordinal\":{at},\"type\""), 1) + "\n";
    lines.iter().enumerate().map(line).collect()
}

/// The metadata of a paginated rollout that goes on from another one.
fn meta_on(base: Option<(&str, usize)>) -> String {
    let history_base = |(id, bytes): (&str, usize)| {
        format!(r#","history_base":{{"thread_id":"{id}","end_ordinal_exclusive":1,"end_byte_offset":{bytes}}}"#)
    };
    meta_with(&format!(r#","history_mode":"paginated"{}"#, base.map(history_base).unwrap_or_default()))
}

/// The texts of the messages after some lines; of other items the type.
fn texts(lines: &[String]) -> String {
    briefly(load_text([&[meta()], lines].concat().join("\n")))
}

fn briefly(shown: Result<Vec<String>, String>) -> String {
    let brief = |line: &String| {
        let of = |mark: &str| line.split(mark).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect::<Vec<_>>().join("+");
        let text = of("\"text\":\"");
        if text.is_empty() { of("{\"type\":\"") } else { text }
    };
    shown.map_or_else(|error| error, |shown| shown.iter().map(brief).collect::<Vec<_>>().join(" | "))
}

#[test]
fn a_line_is_a_record_if_it_parses_and_has_the_shape_of_its_type() {
    let odd = said("user", "odd");
    let lines = [
        " \t\u{a0}".to_owned(),
        format!("  {}\r", said("user", "spaced")),
        odd.replace("odd", "one").replacen("\"type\"", "\"type\":\"event_msg\",\"type\"", 1),
        format!("{}{}", said("user", "a"), said("user", "b")),
        odd.replace("\"timestamp\":\"2026-11-18T09:00:00.000Z\",", ""),
        odd.replace("\"2026-11-18T09:00:00.000Z\"", "1"),
        odd.replace("response_item", "response_things"),
        odd.replacen('{', "{\"ordinal\":-1,", 1),
        odd.replacen('{', "{\"ordinal\":1.0,", 1),
        odd.replace("odd", "a list for an object").replacen('{', "{\"metadata\":[],", 1),
        odd.replace("odd", "not its member").replacen('{', "{\"metadata\":{\"turn_id\":1},", 1),
        odd.replace("odd", "\\ud800"),
        odd.replace("odd", "large").replacen('{', "{\"x\":1e400,", 1),
        format!("\u{feff}{odd}"),
        format!("{odd}\0"),
        odd.replace("odd", "null").replacen('{', "{\"ordinal\":null,\"metadata\":{\"turn_id\":null,\"x\":1},", 1),
        record("response_item", "[]"),
        odd[..odd.len() - 9].to_owned(),
    ];
    assert_eq!(texts(&lines), "spaced | one | a list for an object | not its member | large | null");
}

#[test]
fn an_item_is_accepted_if_its_members_are_of_their_types() {
    let accepted = [
        (
            r#"{"type":"message","id":null,"role":"user","content":[],"phase":null,"x":1}"#,
            r#"{"type":"message","role":"user","content":[]}"#,
        ),
        (
            r#"{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"a","x":1},{"type":"input_image","image_url":"data:x","detail":"low"},{"type":"input_image","image_url":"HTTPS://x"},{"type":"input_audio","audio_url":"u"}]}"#,
            r#"{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"input_image","image_url":"data:x","detail":"low"},{"type":"input_text","text":"image content omitted because remote image URLs are not supported"},{"type":"input_audio","audio_url":"u"}],"phase":"commentary"}"#,
        ),
        (
            r#"{"type":"message","role":"user","content":[],"internal_chat_message_metadata_passthrough":[]}"#,
            r#"{"type":"message","role":"user","content":[]}"#,
        ),
        (r#"{"type":"message","id":"_1","role":"user","content":[]}"#, r#"{"type":"message","role":"user","content":[]}"#),
        (r#"{"type":"reasoning","summary":[]}"#, r#"{"type":"reasoning","summary":[],"content":null,"encrypted_content":null}"#),
        (
            r#"{"type":"reasoning","id":"rs_1_2","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"text","text":"t"}],"encrypted_content":"e"}"#,
            r#"{"type":"reasoning","id":"rs_1_2","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}"#,
        ),
        (
            r#"{"type":"reasoning","summary":[],"content":[{"type":"text","text":"t"},{"type":"reasoning_text","text":"r"}]}"#,
            r#"{"type":"reasoning","summary":[],"content":[{"type":"text","text":"t"},{"type":"reasoning_text","text":"r"}],"encrypted_content":null}"#,
        ),
        (r#"{"type":"web_search_call","status":null}"#, r#"{"type":"web_search_call"}"#),
        (
            r#"{"type":"web_search_call","action":{"type":"search","query":"q","queries":["a"],"x":1}}"#,
            r#"{"type":"web_search_call","action":{"type":"search","query":"q","queries":["a"]}}"#,
        ),
        (r#"{"type":"web_search_call","action":{"type":"new","url":1}}"#, r#"{"type":"web_search_call","action":{"type":"other"}}"#),
        (
            r#"{"type":"local_shell_call","status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":5}}"#,
            r#"{"type":"local_shell_call","call_id":null,"status":"completed","action":{"type":"exec","command":["ls"],"timeout_ms":5,"working_directory":null,"env":null,"user":null}}"#,
        ),
        (
            r#"{"type":"image_generation_call","id":"ig_1","status":"s","result":"r"}"#,
            r#"{"type":"image_generation_call","id":"ig_1","status":"s","result":"r"}"#,
        ),
        (r#"{"type":"compaction_summary","encrypted_content":"e"}"#, r#"{"type":"compaction","encrypted_content":"e"}"#),
        (r#"{"type":"context_compaction"}"#, r#"{"type":"context_compaction"}"#),
        (
            r#"{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"encrypted_content","encrypted_content":"e"}]}"#,
            r#"{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"encrypted_content","encrypted_content":"e"}]}"#,
        ),
        (
            r#"{"type":"tool_search_output","status":"s","execution":"server","tools":[{"b":1e2,"a":[1.10]}]}"#,
            r#"{"type":"tool_search_output","call_id":null,"status":"s","execution":"server","tools":[{"b":1e+2,"a":[1.10]}]}"#,
        ),
        (r#"{"type":"additional_tools","role":"developer","tools":[]}"#, r#"{"type":"additional_tools","role":"developer","tools":[]}"#),
        (
            r#"{"type":"function_call_output","output":[{"type":"input_text","text":"o"}],"name":null}"#,
            r#"{"type":"function_call_output","output":[{"type":"input_text","text":"o"}]}"#,
        ),
    ];
    for (stored, sent) in accepted {
        assert_eq!(load_text([meta(), item(stored)].join("\n")).unwrap(), [sent], "{stored}");
    }
    let rejected = [
        r#"{"role":"user","content":[]}"#,
        r#"{"type":1}"#,
        r#"{"type":"message","content":[]}"#,
        r#"{"type":"message","role":"user","content":"text"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"text","text":"t"}]}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text"}]}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"u","detail":"huge"}]}"#,
        r#"{"type":"message","role":"user","content":[],"phase":"last"}"#,
        r#"{"type":"message","role":"user","content":[],"id":1}"#,
        r#"{"type":"message","role":"user","content":[],"internal_chat_message_metadata_passthrough":{"turn_id":1}}"#,
        r#"{"type":"reasoning"}"#,
        r#"{"type":"reasoning","summary":[],"content":[{"type":"output_text","text":"t"}]}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":1}"#,
        r#"{"type":"function_call","name":"n","arguments":{},"call_id":"c"}"#,
        r#"{"type":"function_call","name":"n","arguments":"{}"}"#,
        r#"{"type":"function_call_output","output":{}}"#,
        r#"{"type":"function_call_output","output":[{"type":"output_text","text":"t"}]}"#,
        r#"{"type":"custom_tool_call","call_id":"c","name":"n"}"#,
        r#"{"type":"custom_tool_call_output","output":"o"}"#,
        r#"{"type":"web_search_call","action":[]}"#,
        r#"{"type":"web_search_call","action":{"type":"open_page","url":1}}"#,
        r#"{"type":"local_shell_call","status":"done","action":{"type":"exec","command":[]}}"#,
        r#"{"type":"local_shell_call","status":"completed","action":{"type":"run","command":[]}}"#,
        r#"{"type":"local_shell_call","status":"completed","action":{"type":"exec","command":["a",1]}}"#,
        r#"{"type":"local_shell_call","status":"completed","action":{"type":"exec","command":[],"timeout_ms":-1}}"#,
        r#"{"type":"image_generation_call","status":"s"}"#,
        r#"{"type":"compaction"}"#,
        r#"{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"output_text","text":"t"}]}"#,
        r#"{"type":"tool_search_call","execution":"client"}"#,
        r#"{"type":"tool_search_output","status":"s","execution":"server","tools":{}}"#,
        r#"{"type":"additional_tools","tools":[]}"#,
        // Accepted, and sent as nothing.
        r#"{"type":"ghost_snapshot","ghost_commit":{"id":"a"}}"#,
        r#"{"type":"new_kind","id":1}"#,
        r#"{"type":"message","role":"system","content":[]}"#,
    ];
    for stored in rejected {
        assert_eq!(load_text([meta(), item(stored)].join("\n")).unwrap(), [""; 0], "{stored}");
    }
}

#[test]
fn a_session_without_good_metadata_is_refused() {
    let refused = |text: &[u8]| load_text(text).unwrap_err();
    assert_eq!((refused(b""), refused(b"\n \r\n")), (EMPTY.to_owned(), EMPTY.to_owned()));
    let without = |name: &str| meta().replace(&format!("\"{name}\":"), "\"x\":");
    for text in [said("user", "a"), format!("\u{feff}{}", meta()), "garbage".to_owned()]
        .into_iter()
        .chain(["id", "cwd", "originator", "cli_version"].map(without))
        .chain([meta().replace(THREAD, "thread"), meta_with(r#","history_base":{"thread_id":"x"}"#)])
    {
        assert_eq!(refused(format!("{text}\n{}", said("user", "a")).as_bytes()), NO_META, "{text}");
    }
    assert_eq!(refused(meta_with(r#","history_mode":"new""#).as_bytes()), UNKNOWN_MODE);
    assert_eq!(refused(&[meta().as_bytes(), b"\n\xff"].concat()), NOT_UTF8);
    let no_ordinal = [meta_on(None), said("user", "a")].join("\n");
    assert_eq!(refused(no_ordinal.as_bytes()), NO_ORDINAL);
    // Only the last record has to have one.
    let last = said("user", "b").replacen('{', "{\"ordinal\":9,", 1);
    assert_eq!(briefly(load_text(format!("{no_ordinal}\n{last}\ntorn"))), "a | b");
    assert_eq!(briefly(load_text(format!("\n{}", meta_with(r#","history_mode":"legacy""#)))), "");
}

#[test]
fn a_paginated_rollout_counts_from_its_last_metadata() {
    let lines = [meta_on(None), said("user", "a"), meta_on(None), said("user", "b")];
    assert_eq!(briefly(load_text(paginated(&lines))), "b");
    let legacy = lines.map(|line| line.replace(",\"history_mode\":\"paginated\"", ""));
    assert_eq!(briefly(load_text(legacy.join("\n"))), "a | b");
}

#[test]
fn a_rollout_goes_on_from_another_at_a_byte() {
    let base = paginated(&[meta_on(None), said("user", "one"), said("user", "two")]);
    let cut = base.find('\n').unwrap() + 1 + base[base.find('\n').unwrap() + 1..].find('\n').unwrap() + 1;
    let child = |id: &str, bytes: usize| paginated(&[meta_on(Some((id, bytes))), said("user", "three")]);
    // The file of a revert lies beside the first one, and has a greater name.
    let revert = name("18", &format!("{THREAD}_{OTHER}"));
    let both = with_files(&[(name("18", THREAD), base.clone()), (revert.clone(), child(THREAD, cut))]);
    assert_eq!(briefly(load(&both, None)), "one | three");
    assert_eq!(briefly(load(&both, Some(&format!("backup:{THREAD}")))), "one | two");
    let heads: Vec<String> = loader(&both).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main".to_owned(), format!("backup:{THREAD}")]);
    assert_eq!(load(&both, Some("branch:other")), Err(NO_SUCH_HEAD.to_owned()));
    // That of a fork is of another thread.
    let slice = |id: &str, text: &str| Slice { file: RelPath::new(name("17", id)), key: String::new(), text: text.into() };
    let fork = |bytes: usize, slices: Vec<Slice>| {
        let files = with_files(&[(name("18", THREAD), child(OTHER, bytes))]);
        briefly(load(&files.with_shared_facts(SharedFacts { slices, ..SharedFacts::default() }), None))
    };
    assert_eq!(fork(cut, vec![slice(OTHER, &base[..cut])]), "one | three");
    assert_eq!(fork(base.len(), vec![slice(OTHER, &base[..cut]), slice(OTHER, &base)]), "one | two | three");
    // The offset may fall into a line, and a line of the base may be no text.
    assert_eq!(fork(cut - 2, vec![slice(OTHER, &base)]), "three");
    assert_eq!(fork(cut, vec![slice(THIRD, &base)]), BASE_MISSING);
    assert_eq!(fork(base.len() + 1, vec![slice(OTHER, &base)]), BASE_SHORT);
    assert_eq!(fork(1, vec![slice(OTHER, &meta())]), BASE_NOT_PAGINATED);
    assert_eq!(fork(1, vec![slice(OTHER, &child(THREAD, 1))]), CYCLE);
    let of_fork = slice(OTHER, &child(THIRD, base.len()));
    let all = of_fork.text.len();
    assert_eq!(fork(all, vec![of_fork, slice(THIRD, &base)]), "one | two | three | three");
}

#[test]
fn a_compressed_rollout_is_read_unless_a_plain_one_lies_beside_it() {
    let text = [meta(), said("user", "cold")].join("\n");
    let packed = zstd::stream::encode_all(text.as_bytes(), 3).unwrap();
    let zst = format!("{}.zst", name("18", THREAD));
    assert_eq!(briefly(load(&with_files(&[(zst.clone(), packed.clone())]), None)), "cold");
    assert_eq!(briefly(load(&with_files(&[("x".to_owned(), packed.clone())]), None)), "cold");
    let torn = with_files(&[(zst.clone(), packed[..packed.len() - 4].to_vec())]);
    assert_eq!(briefly(load(&torn, None)), rollout::NOT_COMPRESSED);
    let plain = text.replace("cold", "warm").into_bytes();
    let both = with_files(&[(zst, packed), (name("18", THREAD), plain.clone())]);
    assert_eq!(briefly(load(&both, None)), "warm");
    assert_eq!(loader(&both).heads(), [HeadName::main()]);
    let moved = name("18", THREAD).replace("/18/", "/19/");
    let folders = with_files(&[(name("18", THREAD), plain), (moved, text.into_bytes())]);
    assert_eq!(briefly(load(&folders, None)), "cold");
    let bomb = zstd::stream::encode_all(&vec![0; 70 << 20][..], 3).unwrap();
    assert_eq!(briefly(load(&with_files(&[("rollout-x.jsonl.zst".to_owned(), bomb)]), None)), rollout::NOT_COMPRESSED);
}

#[test]
fn a_compaction_with_a_list_replaces_what_was_before_it() {
    let listed = |list: &str| record("compacted", &format!(r#"{{"message":"m","replacement_history":[{list}]}}"#));
    let list = [&message("user", "kept"), r#"{"type":"message","role":"system","content":[]}"#, r#"{"type":"new","x":1}"#].join(",");
    let ghost = r#"{"type":"ghost_snapshot","ghost_commit":{"id":"a"}}"#;
    let lines = [said("user", "a"), listed(&message("user", "older")), listed(&format!("{list},{ghost}")), said("user", "b")];
    assert_eq!(texts(&lines), "kept | message | other | b");
    // One item that is rejected makes the record nothing.
    assert_eq!(texts(&[said("user", "a"), listed(&format!(r#"{list},{{"type":"message"}}"#)), said("user", "b")]), "a | b");
    let window = listed(&list).replace("\"message\":\"m\"", "\"message\":\"m\",\"window_number\":1.5");
    assert_eq!(texts(&[said("user", "a"), window]), "a");
    assert_eq!(texts(&[said("user", "a"), listed(&list).replace("\"message\":\"m\"", "\"message\":1")]), "a");
}

#[test]
fn a_turn_that_was_taken_back_compacts_nothing() {
    let listed = |text: &str| record("compacted", &format!(r#"{{"message":"m","replacement_history":[{}]}}"#, message("user", text)));
    let first = [started("1"), said("user", "a"), listed("first")];
    let second = [started("2"), said("user", "b"), listed("second")];
    assert_eq!(texts(&[&first[..], &second].concat()), "second");
    assert_eq!(texts(&[&first[..], &second, &[rollback(1)]].concat()), "first");
    let third = [started("3"), said("user", "c")];
    assert_eq!(texts(&[&first[..], &third, &second, &[rollback(1)]].concat()), "first | c");
    assert_eq!(texts(&[&first[..], &third, &second, &[rollback(2)]].concat()), "first");
    // A turn without a prompt is taken back with the one before it.
    let empty = [started("4"), listed("empty")];
    assert_eq!(texts(&[&first[..], &second, &empty, &[rollback(1)]].concat()), "first");
    let event = event(r#"{"type":"user_message","message":"m"}"#);
    assert_eq!(texts(&[&first[..], &[started("4"), event, listed("e"), rollback(1)]].concat()), "");
    // Settings of another turn do not let it end.
    let settings = record("turn_context", r#"{"cwd":"/","turn_id":"2"}"#);
    let inner = [started("1"), said("user", "a"), listed("first"), started("9"), settings.clone(), rollback(1)];
    assert_eq!(texts(&inner), "");
    assert_eq!(texts(&[&inner[..3], &[started("2"), settings, said("user", "b"), rollback(1)]].concat()), "first");
    // Without beginnings there is one turn, and a rollback takes its compactions.
    assert_eq!(texts(&[said("user", "a"), listed("first"), said("user", "b"), rollback(1)]), "a");
}

#[test]
fn a_compaction_without_a_list_keeps_prompts_and_its_summary() {
    let compacted = |message: &str| record("compacted", &format!(r#"{{"message":"{message}"}}"#));
    let image = r#"{"type":"input_image","image_url":"data:x"}"#;
    let text = |text: &str| format!(r#"{{"type":"input_text","text":"{text}"}}"#);
    let prompt = |parts: &[&str]| {
        item(&format!(r#"{{"type":"message","id":"msg_1","role":"user","content":[{}],"phase":"commentary"}}"#, parts.join(",")))
    };
    let lines = [
        said("user", "<environment_context>x</environment_context>"),
        said("user", "a"),
        said("assistant", "x"),
        prompt(&[
            &text("<image name=1>"),
            image,
            &text("</image>"),
            &text("see"),
            &text("</image>"),
            r#"{"type":"output_text","text":"x"}"#,
        ]),
        prompt(&[image]),
        said("user", "Another language model started to write"),
        compacted("first"),
        said("user", "b"),
        compacted(""),
        said("assistant", "c"),
    ];
    let kept = "a | see+</image> |  | Another language model started to write | first | b | (no summary available) | c";
    assert_eq!(texts(&lines), kept.replace("|  |", "| message+input_text |"));
    let shown = load_text([meta(), lines[3].clone(), compacted("s")].join("\n")).unwrap();
    assert_eq!(shown[0], format!(r#"{{"type":"message","id":"msg_1","role":"user","content":[{},{}]}}"#, text("see"), text("</image>")));
}

#[test]
fn prompts_are_kept_as_far_as_they_fit_into_the_budget() {
    let compacted = record("compacted", r#"{"message":"m"}"#);
    let lengths = |prompts: &[&str]| {
        let lines: Vec<String> = prompts.iter().map(|prompt| said("user", prompt)).chain([compacted.clone()]).collect();
        let shown = texts(&lines);
        shown
            .split(" | ")
            .map(|texts| texts.split('+').map(|text| text.len().to_string()).collect::<Vec<_>>().join("+"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let (all, most) = ("x".repeat(80_000), "x".repeat(79_000));
    assert_eq!(lengths(&["older", &all]), "80000 1");
    // 250 tokens are left: 500 bytes of each end.
    let mark = |missing: usize| format!("…{missing} tokens truncated…").len();
    assert_eq!(lengths(&["older", &all, &most]), format!("500+{}+500 79000 1", mark(19_750)));
    // No character is cut: the beginning loses some of it, and the end too.
    assert_eq!(lengths(&[&"日".repeat(400), &most]), format!("498+{}+498 79000 1", mark(50)));
}

#[test]
fn a_rollback_takes_turns_and_what_the_program_put_before_them() {
    let (environment, permissions) = ("<ENVIRONMENT_context>e</environment_context>", " <permissions instructions>p");
    let lines = [
        said("developer", permissions),
        said("user", "a"),
        said("assistant", "A"),
        said("developer", permissions),
        said("user", environment),
        said("user", "b"),
        said("assistant", "B"),
        said("developer", "other"),
        said("user", "c"),
    ];
    let all = "a | A |  <permissions instructions>p | <ENVIRONMENT_context>e</environment_context> | b | B | other | c";
    let rolled = |turns: u32| texts(&[&lines[..], &[rollback(turns)]].concat()).replacen(" <permissions instructions>p | ", "", 1);
    assert_eq!(rolled(0), all);
    assert_eq!(rolled(1), all.replace(" | c", ""));
    assert_eq!(rolled(2), "a | A");
    assert_eq!(rolled(3), " <permissions instructions>p");
    assert_eq!((rolled(9), texts(&[said("assistant", "A"), rollback(1)])), (rolled(3), "A".to_owned()));
    let agent = r#"{\"author\":\"/root\",\"recipient\":\"/root/b\",\"other_recipients\":[],\"content\":\"c\",\"trigger_turn\":true}"#;
    let other = r#"{"type":"agent_message","author":"a","recipient":"b","content":[]}"#;
    for turn in [said("assistant", agent), item(other), record("inter_agent_communication", &agent.replace('\\', ""))] {
        assert_eq!(texts(&[said("user", "a"), turn.clone(), said("assistant", "A"), rollback(1)]), "a", "{turn}");
    }
    for wrong in ["-1", "4294967296", "1.0", "null", "\"1\""] {
        assert_eq!(texts(&[said("user", "a"), rollback(7).replace('7', wrong)]), "a", "{wrong}");
    }
}

#[test]
fn the_first_turn_takes_notes_about_its_model_with_it() {
    let of_turn = |record: String, turn: &str| {
        record.replace("\"content\"", &format!(r#""internal_chat_message_metadata_passthrough":{{"turn_id":"{turn}"}},"content""#))
    };
    let switch = |turn| of_turn(said("developer", " <model_switch>m</MODEL_switch> "), turn);
    let two = switch("1").replace("}]}", r#"},{"type":"input_text","text":"kept"}]}"#);
    let lines = [two, switch("1"), switch("2"), of_turn(said("user", "a"), "1"), rollback(1)];
    assert_eq!(texts(&lines), "kept |  <model_switch>m</MODEL_switch> ");
}

#[test]
fn what_the_program_wrote_itself_is_no_turn() {
    let own = [
        "<skill>x</skill>",
        "\\n<Turn_Aborted></turn_aborted>\\n",
        "# agents.md INSTRUCTIONS for /w x</instructions>",
        r#"<hook_prompt hook_run_id=\"1\">x</hook_prompt>"#,
        "<external_a b>x</external_a b>",
        r#"<codex_internal_context source=\"a1_\">x</codex_internal_context>"#,
        "<goal_context>g</goal_context>",
        "Warning: apply_patch was requested via x Use the apply_patch tool instead of exec_command.",
        "Warning: The maximum number of unified exec processes you can keep open is 1",
    ];
    let users = [
        "<user_instructions>x</user_instructions>",
        "<skill>x",
        "<skill>",
        r#"<hook_prompt id=\"1\">x</hook_prompt>"#,
        "<external_a>x</external_b>",
        "<external_>x</external_>",
        r#"<codex_internal_context source=\"A\">x</codex_internal_context>"#,
        "<GOAL_context>g</GOAL_context>",
        "warning: The maximum number of unified exec processes you can keep open is 1",
        "Warning: apply_patch was requested via x",
    ];
    let turns = |text: &str| texts(&[said("user", "a"), said("assistant", "A"), said("user", text), said("assistant", "B"), rollback(1)]);
    own.iter().for_each(|text| assert_eq!(turns(text), "", "{text}"));
    users.iter().for_each(|text| assert_eq!(turns(text), "a | A", "{text}"));
}

#[test]
fn a_call_gets_an_output_and_an_output_needs_a_call() {
    let call =
        |kind: &str, id: &str, call_id: &str, more: &str| item(&format!(r#"{{"type":"{kind}","id":{id},"call_id":{call_id},{more}}}"#));
    let function = r#""name":"n","arguments":"{}""#;
    let search = r#""execution":"client","arguments":{}"#;
    let lines = [
        meta(),
        item(r#"{"type":"function_call_output","call_id":"c1","output":"early"}"#),
        call("function_call", "\"fc_1\"", "\"c1\"", function),
        call("function_call", "\"fc_1\"", "\"c2\"", function),
        call("function_call", "\"x\"", "\"c3\"", function),
        call("function_call", "\"\"", "\"c4\"", function),
        call("custom_tool_call", "\"ct_1\"", "\"c1\"", r#""name":"n","input":"i""#),
        call("tool_search_call", "\"ts_1\"", "\"c1\"", search),
        call("tool_search_call", "null", "null", search),
        item(r#"{"type":"custom_tool_call_output","call_id":"c9","output":"alone"}"#),
        item(r#"{"type":"tool_search_output","call_id":"c9","status":"s","execution":"client","tools":[]}"#),
        item(r#"{"type":"tool_search_output","call_id":"c9","status":"s","execution":"server","tools":[]}"#),
    ];
    let shown = load_text(lines.join("\n")).unwrap();
    let call = |kind: &str, id: &str, call_id: &str, more: &str| format!(r#"{{"type":"{kind}"{id},"call_id":{call_id}{more}}}"#);
    let function =
        |id: &str, call_id: &str| format!(r#"{{"type":"function_call"{id},"name":"n","arguments":"{{}}","call_id":"{call_id}"}}"#);
    let aborted = |kind: &str, id: &str, call_id: &str| call(kind, id, &format!("\"{call_id}\""), r#","output":"aborted""#);
    let expected = [
        call("function_call_output", "", "\"c1\"", r#","output":"early""#),
        function(r#","id":"fc_1""#, "c1"),
        function(r#","id":"fc_1""#, "c2"),
        aborted("function_call_output", r#","id":"fco_d08ee114-ed5d-5706-8dbd-16ccacd40aa4""#, "c2"),
        function("", "c3"),
        aborted("function_call_output", r#","id":"fco_9ec8b011-cf10-5ac8-a734-77cf0a0f5e50""#, "c3"),
        function("", "c4"),
        aborted("function_call_output", "", "c4"),
        call("custom_tool_call", r#","id":"ct_1""#, "\"c1\"", r#","name":"n","input":"i""#),
        aborted("custom_tool_call_output", r#","id":"ctco_aca1bb03-799e-531a-b4c9-aab2dfa26b3c""#, "c1"),
        call("tool_search_call", r#","id":"ts_1""#, "\"c1\"", r#","execution":"client","arguments":{}"#),
        call(
            "tool_search_output",
            r#","id":"tso_da89b6fc-c8a0-5da4-8cc2-3e3ed9c9fa45""#,
            "\"c1\"",
            r#","status":"completed","execution":"client","tools":[]"#,
        ),
        call("tool_search_call", "", "null", r#","execution":"client","arguments":{}"#),
        call("tool_search_output", "", "\"c9\"", r#","status":"s","execution":"server","tools":[]"#),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_contexts_before_compactions_and_rollbacks_are_heads() {
    let compacted = record("compacted", r#"{"message":"m","replacement_history":[]}"#);
    let lines = [meta(), said("user", "a"), compacted.clone(), said("user", "b"), rollback(0), rollback(1), said("user", "c"), compacted];
    let files = with_files(&[(name("18", THREAD), lines.join("\n"))]);
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main", "backup:before-compaction-1", "backup:before-compaction-2", "backup:before-rollback-1"]);
    let shown: Vec<String> = heads.iter().map(|head| briefly(load(&files, Some(head)))).collect();
    assert_eq!(shown, ["a | c", "a", "a | c", "b"]);
    let unloaded = [HeadName::main(), HeadName::new(HeadKind::Backup, UNLOADED)];
    assert_eq!(loader(&with_files(&[(name("18", THREAD), "x")])).heads(), unloaded);
}

#[test]
fn files_of_the_first_generations_are_shown_as_they_are() {
    let header = r#"{"id":"x","timestamp":"t","instructions":null}"#;
    let line = r#"{"type":"message","id":null,"role":"user","content":[]}"#;
    let bare = [header, r#"{"record_type":"state"}"#, line, "torn", "[]", ""].join("\n");
    assert_eq!(load_text(&bare).unwrap(), [line]);
    assert_eq!(load_text(format!("{bare}{}", r#"{"record_type":"state","previous_response_id":null}"#)).unwrap(), [""; 0]);
    assert_eq!(load_text([bare.as_bytes(), b"\xff"].concat()), Err(NOT_UTF8.to_owned()));
    let path = "sessions/rollout-2026-11-18-b09d7897-bb78-41cb-a8ec-961cbe3b7cf7.json".to_owned();
    for document in ["{\n  \"session\": {},\n  \"items\": [\n    {\n      \"a\": 1.0 } ] }", r#"{"session":{},"items":[{"a":1.0}]}"#] {
        assert_eq!(load(&with_files(&[(path.clone(), document)]), None).unwrap(), [r#"{"a":1}"#]);
    }
    assert_eq!(load(&with_files(&[(path.clone(), r#"{"session":1,"items":2}"#)]), None), Err(early::NOT_A_DOCUMENT.to_owned()));
    assert_eq!(load(&with_files(&[(path, "{\n  \"session\"")]), None), Err(NO_META.to_owned()));
}
