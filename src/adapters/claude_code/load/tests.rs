use super::*;
use crate::model::corpus;
use crate::model::files::{RelPath, SourceFile};

fn load(files: &Files, head: Option<&str>) -> (Vec<Vec<u8>>, LoadOutcome) {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |line| shown.push(line.to_vec()));
    (shown, outcome)
}

#[test]
fn every_session_of_the_corpus_loads_as_the_sdk_loads_it() {
    let mut wrong = Vec::new();
    for case in corpus::cases("claude-code") {
        for session in &case.sessions {
            let mut files = Files::new("session");
            let id = session.file.split('/').nth(2).unwrap().trim_end_matches(".jsonl");
            for (path, (bytes, _)) in case.files.iter().filter(|(path, _)| path.contains(id)) {
                files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.clone(), mtime_ns: 0 }));
            }
            let (shown, outcome) = load(&files, session.head.as_deref());
            let want = session.messages.as_deref().unwrap_or_default();
            let difference = outcome.error.or_else(|| corpus::difference(want, &shown));
            wrong.extend(difference.map(|difference| format!("{} {}: {difference}", case.name, session.file)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const NAME: &str = "0b0b0b0b-1111-4222-8333-000000000001.jsonl";

fn with_files(all: &[(&str, &[u8])]) -> Files {
    let mut files = Files::new("session");
    for (path, bytes) in all {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 }));
    }
    files
}

fn texts(lines: Vec<Vec<u8>>) -> Vec<String> {
    lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
}

/// What is shown of a transcript.
fn shown(text: &str) -> Vec<String> {
    let (lines, outcome) = load(&with_files(&[(NAME, text.as_bytes())]), None);
    assert_eq!(outcome, LoadOutcome { active: Some(HeadName::main()), ..LoadOutcome::default() });
    texts(lines)
}

/// The uuids of what is shown of these records.
fn ids(records: &[String]) -> String {
    let uuid = |line: &String| line.split("\"uuid\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    shown(&records.join("\n")).iter().map(uuid).collect::<Vec<_>>().join(" ")
}

/// A record with its parent; none where that is empty.
fn node(kind: &str, uuid: &str, parent: &str, more: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent}{more}}}"#)
}

fn user(uuid: &str, parent: &str) -> String {
    node("user", uuid, parent, r#","message":{"role":"user","content":"u"}"#)
}

fn assistant(uuid: &str, parent: &str) -> String {
    node("assistant", uuid, parent, r#","message":{"content":[]}"#)
}

/// A block of an answer, with a call where it has one.
fn block(uuid: &str, parent: &str, message: &str, call: &str, time: &str) -> String {
    let content = if call.is_empty() { String::new() } else { format!(r#"{{"type":"tool_use","id":"{call}"}}"#) };
    node("assistant", uuid, parent, &format!(r#","timestamp":"{time}","message":{{"id":"{message}","content":[{content}]}}"#))
}

fn result(uuid: &str, parent: &str, call: &str, time: &str) -> String {
    let content = format!(r#"{{"type":"tool_result","tool_use_id":"{call}"}}"#);
    node("user", uuid, parent, &format!(r#","timestamp":"{time}","message":{{"content":[{content}]}}"#))
}

fn queued(uuid: &str, parent: &str, more: &str) -> String {
    node("attachment", uuid, parent, &format!(r#","attachment":{{"type":"queued_command","prompt":"p"{more}}}"#))
}

fn with(record: &str, more: &str) -> String {
    format!("{},{more}}}", record.strip_suffix('}').unwrap())
}

#[test]
fn a_line_is_a_node_if_it_parses_and_has_a_type_and_a_uuid() {
    let lines = [
        format!("\0\0 {}", user("a", "")),
        format!("{}\r", assistant("b", "a")),
        "[]\nnull\n{}\n".to_owned(),
        format!("\u{feff}{}", user("x", "b")),
        format!("{}\0", user("y", "b")),
        user("z", "b").replace("\"z\"", "1"),
        node("summary", "s", "b", ""),
        user("c", "b"),
    ];
    assert_eq!(ids(&lines), "a b c");
    // What hangs on a record of another type has lost its parent.
    assert_eq!(ids(&[lines.concat().as_str().to_owned(), user("a", ""), node("title", "t", "a", ""), user("b", "t")]), "b");
    assert_eq!(shown(""), Vec::<String>::new());
}

#[test]
fn the_branch_whose_tip_stands_last_is_the_session() {
    assert_eq!(ids(&[user("a", ""), assistant("b", "a"), user("c", "b"), user("d", "a")]), "a d");
    // The last record with a uuid counts, in the place of the first.
    assert_eq!(ids(&[user("a", ""), user("b", "a"), user("c", "a"), user("b", "a")]), "a b");
    // An attachment is a tip, too; the leaf is what was said above it.
    let tip = node("attachment", "t", "b", r#","attachment":{"type":"file"}"#);
    assert_eq!(ids(&[user("a", ""), user("b", "a"), user("c", "a"), tip]), "a b");
    // What is not of the main conversation is not a tip and hides none.
    let beside = |record: String| ids(&[user("a", ""), user("b", "a"), user("c", "a"), record]);
    for side in [r#""isSidechain":true"#, r#""teamName":"t""#] {
        assert_eq!(beside(with(&user("s", "b"), side)), "a c", "{side}");
        assert_eq!(beside(with(&user("s", "c"), side)), "a c", "{side}");
    }
    assert_eq!(beside(node("progress", "p", "b", "")), "a c");
    assert_eq!(beside(node("attachment", "t", "b", r#","attachment":{"type":"fork_briefing"}"#)), "a c");
    assert_eq!(ids(&[user("a", ""), node("progress", "p", "a", ""), user("b", "p")]), "a b");
    // A missing parent and a ring end the chain.
    assert_eq!(ids(&[user("a", "lost"), user("b", "a")]), "a b");
    assert_eq!(ids(&[user("a", "b"), user("b", "a"), user("c", "b")]), "a b c");
}

#[test]
fn without_a_main_conversation_any_leaf_will_do() {
    let side = |uuid: &str, parent: &str| with(&user(uuid, parent), r#""isSidechain":true"#);
    let files = |lines: &[String]| with_files(&[(NAME, lines.join("\n").as_bytes())]);
    assert_eq!(ids(&[side("a", "")]), "");
    assert_eq!(loader(&files(&[side("a", "")])).heads().len(), 1);
    // A ring has no tip; what hangs on it may be one.
    let ring = [user("a", "b"), user("b", "a")].join("\n");
    assert_eq!(ids(std::slice::from_ref(&ring)), "");
    assert_eq!(ids(&[ring.clone(), side("c", "b")]), "a b");
    assert_eq!(ids(&[ring.clone(), side("c", "b"), side("d", "")]), "");
    // What is not set apart goes before what stands later.
    assert_eq!(ids(&[ring, node("progress", "p", "b", ""), side("d", "")]), "a b");
}

#[test]
fn what_a_compaction_kept_hangs_behind_its_summary() {
    let boundary = |kept: &str| node("system", "x", "", &format!(r#","subtype":"compact_boundary","compactMetadata":{{{kept}}}"#));
    let list = |kept: &str| [user("a", ""), user("b", "a"), assistant("c", "b"), boundary(kept), user("s", "x"), user("d", "s")];
    let messages = r#""preservedMessages":{"anchorUuid":"s","uuids":["b","c"]}"#;
    assert_eq!(ids(&list(messages)), "s b c d");
    assert_eq!(ids(&list("")), "s d");
    // One that is missing undoes all of it, and the segment is not tried.
    let segment = r#""preservedSegment":{"headUuid":"b","anchorUuid":"s","tailUuid":"c"}"#;
    assert_eq!(ids(&list(&format!(r#"{},{segment}"#, messages.replace("\"c\"", "\"lost\"")))), "s d");
    assert_eq!(ids(&list(segment)), "s b c d");
    assert_eq!(ids(&list(&segment.replace("\"b\"", "\"lost\""))), "a b c d");
}

#[test]
fn blocks_and_results_beside_the_chain_stand_behind_their_answer() {
    // Two calls at once: the chain goes on from the second result.
    let lines = [
        user("a", ""),
        block("m1", "a", "M", "c1", "1"),
        block("m2", "m1", "M", "c2", "2"),
        result("r2", "m2", "c2", "3"),
        result("r1", "m1", "c1", "4"),
        user("b", "r2"),
    ];
    assert_eq!(ids(&lines), "a m1 m2 r1 r2 b");
    // Blocks that are not on the chain come first, and by their time.
    let beside = [
        user("a", ""),
        block("m1", "a", "M", "", "1"),
        block("m3", "a", "M", "", "3"),
        block("m2", "a", "M", "c2", "2"),
        result("r2", "m2", "c2", "0"),
        user("b", "m1"),
    ];
    assert_eq!(ids(&beside), "a m1 m2 m3 r2 b");
    // A result that hangs elsewhere belongs to its call, unless that has one.
    let elsewhere = [user("a", ""), block("m1", "a", "M", "c1", "1"), result("r1", "lost", "c1", "2"), user("b", "m1")];
    assert_eq!(ids(&elsewhere), "a m1 r1 b");
    let of = |result: String| ids(&[elsewhere[0].clone(), elsewhere[1].clone(), result, elsewhere[3].clone()]);
    assert_eq!(of(result("r1", "", "c1", "2")), "a m1 b");
    assert_eq!(of(with(&result("r1", "lost", "c1", "2"), r#""agentId":"g""#)), "a m1 b");
    assert_eq!(of([result("r0", "m1", "c1", "2"), result("r1", "lost", "c1", "2")].join("\n")), "a m1 r0 b");
    assert_eq!(of([block("n1", "lost", "N", "c1", "1"), result("r1", "lost", "c1", "2")].join("\n")), "a m1 b");
    // It is not a tip of its own.
    assert_eq!(loader(&with_files(&[(NAME, lines.join("\n").as_bytes())])).heads().len(), 1);
}

#[test]
fn a_queued_prompt_is_shown_if_it_reached_the_model() {
    let line = |more: &str| format!(r#"{{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn"{more}}}"#);
    // Without a line of the queue a reply after it tells.
    assert_eq!(ids(&[user("a", ""), queued("q", "a", ""), assistant("b", "q")]), "a q b");
    assert_eq!(ids(&[user("a", ""), queued("q", "a", ""), user("b", "q")]), "a b");
    let interrupted = user("b", "q").replace("\"u\"", "\"[Request interrupted by user] now\"");
    assert_eq!(ids(&[user("a", ""), queued("q", "a", ""), interrupted]), "a q b");
    let meta = with(&user("m", "q"), r#""isMeta":true"#);
    assert_eq!(ids(&[user("a", ""), queued("q", "a", ""), meta, assistant("b", "m")]), "a q b");
    // With lines as many of its copies as there are lines, from the last.
    let named = r#","source_uuid":"s""#;
    let told = [user("a", ""), queued("q", "a", named), user("b", "q"), line(r#","commandUuid":"s""#)];
    assert_eq!(ids(&told), "a s b");
    let copy = queued("r", "lost", named);
    // A copy elsewhere in the file takes none of them.
    assert_eq!(ids(&[told.join("\n"), copy.clone()]), "a s b");
    assert_eq!(ids(&[told.join("\n"), copy.clone(), told[3].clone()]), "a s b");
    // Copies with different prompts are not counted.
    assert_eq!(ids(&[told.join("\n"), copy.replace("\"p\"", "\"other\""), told[3].clone()]), "a b");
    // A line for a delivery counts for that alone.
    let delivered = r#","source_uuid":"s","delivery_id":"d""#;
    let of = |line: String| ids(&[user("a", ""), queued("q", "a", delivered), user("b", "q"), line]);
    assert_eq!(of(line(r#","commandUuid":"s""#)), "a b");
    assert_eq!(of(line(r#","deliveryId":"d","commandUuid":"t""#)), "a s b");
    assert_eq!(of(line(r#","deliveryId":"d""#).replace("remove", "dequeue")), "a b");
}

#[test]
fn a_queued_prompt_is_not_shown_twice_and_not_for_others() {
    let of = |queued: String| ids(&[user("a", ""), queued, assistant("b", "q")]);
    assert_eq!(of(queued("q", "a", r#","source_uuid":"a""#)), "a b");
    assert_eq!(of(queued("q", "a", r#","source_uuid":"q""#)), "a q b");
    let twice = [queued("r", "a", r#","source_uuid":"s""#), queued("q", "r", r#","source_uuid":"s""#)].join("\n");
    assert_eq!(of(twice), "a s b");
    assert_eq!(of(queued("q", "a", r#","isMeta":true"#)), "a b");
    assert_eq!(of(queued("q", "a", r#","isMeta":true,"origin":{"kind":"peer"}"#)), "a q b");
    assert_eq!(of(with(&queued("q", "a", ""), r#""isMeta":true"#)), "a q b");
    assert_eq!(of(with(&queued("q", "a", ""), r#""isSidechain":true"#)), "a b");
    assert_eq!(of(queued("q", "a", "").replace("\"p\"", "1")), "a b");
}

#[test]
fn queued_prompts_below_the_leaf_follow_it_if_nothing_else_does() {
    let system = |uuid: &str, parent: &str, time: &str| node("system", uuid, parent, &format!(r#","timestamp":"{time}""#));
    let lines =
        [user("a", ""), system("t", "a", "2"), queued("q2", "t", ""), system("s", "a", "1"), queued("q1", "s", ""), queued("q0", "a", "")];
    assert_eq!(ids(&lines), "a q0 q1 q2");
    // Something else goes on below one of them, on a branch that is not the session.
    let side = with(&user("x", "q2"), r#""isSidechain":true"#);
    assert_eq!(ids(&[lines.join("\n"), side]), "a q0 q1 q2");
    let line = r#"{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":"s"}"#.to_owned();
    let named = |uuid: &str, parent: &str| queued(uuid, parent, r#","source_uuid":"s""#);
    assert_eq!(ids(&[user("a", ""), named("q1", "a"), named("q2", "q1"), line]), "a s");
}

#[test]
fn commands_that_were_carried_out_on_the_spot_are_marked() {
    let says = |uuid: &str, parent: &str, text: &str| user(uuid, parent).replace("\"u\"", &format!("\"{text}\""));
    let caveat = with(&says("a", "", "<local-command-caveat>"), r#""isMeta":true"#);
    let rest = [says("b", "a", "<command-name>"), says("c", "b", "<local-command-stdout>"), says("d", "c", "<local-command-stderr>")];
    let marked = |lines: &[String]| -> String {
        let all = shown(&lines.join("\n"));
        all.iter().map(|line| if line.contains(r#""isCompletedLocalCommand":true"#) { 'x' } else { '-' }).collect()
    };
    assert_eq!(marked(&[std::slice::from_ref(&caveat), &rest[..]].concat()), "xxx");
    assert_eq!(marked(&rest), "---");
    let typed = with(&caveat, r#""promptSource":"typed""#);
    assert_eq!(marked(&[&[typed], &rest[..]].concat()), "---");
    let between = [caveat, rest[0].clone(), says("z", "b", "else"), rest[1].replace("\"b\"", "\"z\"")];
    assert_eq!(marked(&between), "x--");
}

#[test]
fn a_message_has_the_shape_that_the_sdk_gives_it() {
    let of = |record: String| shown(&record).join("\n");
    let record = node("user", "a", "", r#","message":{"x": 1.50},"sessionId":"S","timestamp":"T","origin":{"kind":"human"}"#);
    let shape = r#"{"type":"user","uuid":"a","session_id":"S","message":{"x":1.5},"parent_tool_use_id":null,"parent_agent_id":null,"timestamp":"T","origin":{"kind":"human"}}"#;
    assert_eq!(of(record.clone()), shape);
    let flags = with(&record, r#""isCompactSummary":true,"interruptedByShutdown":true"#);
    assert!(of(flags).contains(r#","interruptedByShutdown":true,"isCompactSummary":true,"is_meta":true,"timestamp""#));
    assert!(of(with(&record, r#""isVisibleInTranscriptOnly":true"#)).contains(r#"null,"is_meta":true,"timestamp""#));
    let task = record.replace(r#""kind":"human""#, r#""kind":"task-notification","runId":"r","taskKind":"other","more":1"#);
    assert!(of(task).ends_with(r#""origin":{"kind":"task-notification","runId":"r"}}"#));
    let denied = with(&result("a", "", "c", "T"), r#""toolDenialKind":"permission-rule""#);
    assert!(of(denied.clone()).contains(r#""tool_result_meta":[{"id":"c","non_execution_kind":"permission-rule"}],"timestamp""#));
    assert!(!of(denied.replace("permission-rule", "mood")).contains("tool_result_meta"));
    assert_eq!(of(node("user", "a", "", "")), r#"{"type":"user","uuid":"a","parent_tool_use_id":null,"parent_agent_id":null}"#);
    // What is the program's own is left out, unless it comes from somebody.
    let meta = with(&user("b", "a"), r#""isMeta":true"#);
    assert_eq!(ids(&[user("a", ""), meta.clone()]), "a");
    assert_eq!(ids(&[user("a", ""), with(&meta, r#""origin":{"kind":"channel"}"#)]), "a b");
    let prompt = shown(
        &[user("a", ""), with(&queued("q", "a", r#","commandMode":"task-notification""#), r#""sessionId":"S","timestamp":"T""#)].join("\n"),
    );
    let shape = r#"{"type":"user","uuid":"q","session_id":"S","message":{"role":"user","content":"p"},"parent_tool_use_id":null,"parent_agent_id":null,"isQueuedCommand":true,"timestamp":"T","origin":{"kind":"task-notification"}}"#;
    assert_eq!(prompt[1], shape);
}

#[test]
fn a_large_transcript_begins_at_its_last_boundary_that_kept_nothing() {
    let boundary = |uuid: &str, kept: &str| {
        node("system", uuid, "", &format!(r#","subtype":"compact_boundary","compactMetadata":{{"trigger":"auto"{kept}}}"#))
    };
    // Of a large file only what follows is read: the records before are no
    // parents any more.
    let lines = |boundary: String, length: usize| {
        let filler = format!("{{\"x\":\"{}\"}}", "x".repeat(length));
        ids(&[user("a", ""), filler, boundary, user("b", "a")])
    };
    let (small, large) = (5_000_000, 5_300_000);
    assert_eq!(lines(boundary("x", ""), small), "a b");
    assert_eq!(lines(boundary("x", ""), large), "b");
    assert_eq!(lines(boundary("x", r#","preservedSegment":{"headUuid":"n","anchorUuid":"n","tailUuid":"n"}"#), large), "a b");
    // The mark must stand near the beginning of its line.
    let far = boundary("x", "").replacen("\"subtype\"", &format!("\"y\":\"{}\",\"subtype\"", "y".repeat(300)), 1);
    assert_eq!(lines(far, large), "a b");
    // A line across two blocks of a mebibyte is seen where it begins with its type, or
    // has few bytes in the first one. The SDK itself was asked about each of these.
    let before = user("a", "").len() + 1 + "{\"x\":\"\"}\n".len();
    let at_end = |boundary: &str, bytes: usize| lines(boundary.to_owned(), 6 * (1 << 20) - before - bytes);
    let first = boundary("x", "");
    let later = r#"{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"x"}"#;
    for (line, bytes, shown) in [
        (first.as_str(), 10, "b"),
        (first.as_str(), 60, "b"),
        (later, 0, "b"),
        (later, 29, "b"),
        (later, 30, "a b"),
        (later, later.len(), "a b"),
        (later, later.len() + 1, "b"),
    ] {
        assert_eq!(at_end(line, bytes), shown, "{bytes} bytes of {line}");
    }
    let long = later.replace("\"uuid\"", &format!("\"y\":\"{}\",\"uuid\"", "y".repeat(3 << 20)));
    assert_eq!((at_end(&long, 10), at_end(&first.replace("\"uuid\":\"x\",", ""), 10)), ("a b".to_owned(), "b".to_owned()));
    // It is parsed from the beginning of its line, and only with an end; a uuid is not
    // asked for.
    assert_eq!(lines(format!("\0{later}"), large), "a b");
    assert_eq!(lines(format!(" {later}\r"), large), "b");
    assert_eq!(lines(later.replace(",\"uuid\":\"x\"", ""), large), "b");
    let filler = format!("{{\"x\":\"{}\"}}", "x".repeat(large));
    assert_eq!(ids(&[user("a", ""), filler, user("b", "a"), later.to_owned()]), "a b");
}

#[test]
fn a_subagent_is_shown_as_it_is() {
    let folder = NAME.strip_suffix(".jsonl").unwrap();
    let side = |record: String| with(&record, r#""isSidechain":true,"isMeta":true"#);
    let agent =
        [side(user("a", "")), side(queued("q", "a", "")), side(assistant("b", "q")), user("c", "lost"), assistant("b2", "b")].join("\n");
    let line = r#"{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":"q"}"#;
    let main = user("m", "");
    let (path, meta) = (format!("{folder}/subagents/deep/agent-x1.jsonl"), format!("{folder}/subagents/deep/agent-x1.meta.json"));
    let files = with_files(&[
        (NAME, main.as_bytes()),
        (&path, format!("{agent}\n{line}").as_bytes()),
        (&meta, br#"{"toolUseId":"T","parentAgentId":null}"#),
        ("agent-flat.jsonl", agent.as_bytes()),
    ]);
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main", "branch:agent-x1"]);
    let (lines, outcome) = load(&files, Some("agent-x1"));
    assert_eq!((lines.len(), outcome), (4, LoadOutcome::default()));
    assert!(texts(lines).iter().all(|line| line.contains(r#""parent_tool_use_id":"T","parent_agent_id":null"#)));
    assert_eq!(load(&files, Some("agent-flat")).1.error.as_deref(), Some("no such branch"));
}

#[test]
fn every_other_tip_is_a_branch() {
    let lines = [user("a", ""), assistant("b", "a"), user("c", "b"), node("attachment", "t", "c", ""), user("d", "a")].join("\n");
    let files = with_files(&[(NAME, lines.as_bytes())]);
    let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
    assert_eq!(heads, ["branch:main", "branch:c"]);
    assert_eq!(load(&files, Some("c")).0.len(), 3);
}
