use super::*;
use crate::json::elements;
use crate::model::corpus;
use crate::runtimes::javascript::Type;

fn load(files: &Files, head: Option<&str>) -> (Vec<Vec<u8>>, LoadOutcome) {
    let mut shown = Vec::new();
    let head = head.map(HeadName::parse);
    let outcome = loader(files).load(head.as_ref(), &mut |line| shown.push(line.to_vec()));
    (shown, outcome)
}

/// What the files of one session share in their names: the folder, and for main
/// sessions the first characters of the id.
fn family(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.trim_end_matches(".jsonl").trim_end_matches(".json");
    (folder, if name.starts_with("session-") { stem.rsplit('-').next().unwrap() } else { stem })
}

#[test]
fn every_session_of_the_corpus_loads_as_gemini_cli_loads_it() {
    let mut wrong = Vec::new();
    for case in corpus::cases("gemini-cli") {
        for session in &case.sessions {
            let mut files = Files::new("session");
            for (path, (bytes, mtime_ns)) in case.files.iter().filter(|(path, _)| family(path) == family(&session.file)) {
                files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.clone(), mtime_ns: *mtime_ns }));
            }
            let (shown, outcome) = load(&files, session.head.as_deref());
            let difference = match &session.messages {
                Some(want) => outcome.error.or_else(|| corpus::difference(want, &shown)),
                None => outcome.error.is_none().then(|| "must be refused".to_owned()),
            };
            wrong.extend(difference.map(|difference| format!("{} {}: {difference}", case.name, session.file)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every file by itself, and whether a list of sessions would offer it.
#[test]
fn every_file_of_the_corpus_loads_as_gemini_cli_loads_it() {
    for case in corpus::cases("gemini-cli") {
        for file in elements(Value::accepted(&case.expected).get("files").token()).map(Value::accepted) {
            let [path, result, messages, list] = file.get_all(["file", "result", "messages", "list"]);
            let path = path.lossy().unwrap();
            let bytes = &case.files.get(&path).unwrap().0;
            let chat = Chat::load(bytes);
            assert_eq!(chat.is_none(), result.type_of() == Type::Null, "{} {path}", case.name);
            let Some(chat) = chat else { continue };
            let mut shown = Vec::new();
            chat.each(&mut |message| shown.push(printed_raw(message.token(), Numbers::Printed).into_owned()));
            let want: Vec<Vec<u8>> = elements(messages.token()).map(<[u8]>::to_vec).collect();
            assert_eq!(corpus::difference(&want, &shown), None, "{} {path}", case.name);
            let is_offered = list.get("hasResumableContent").is_truthy();
            let is_subagent = file.get("kind").is("subagent");
            assert_eq!(chat.is_offered(bytes), is_offered && !is_subagent, "{} {path}", case.name);
        }
    }
}

const META: &str = r#"{"sessionId":"s","projectHash":"p"}"#;

fn with_files(all: &[(&str, &[u8])]) -> Files {
    let mut files = Files::new("session");
    for (path, bytes) in all {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.to_vec(), mtime_ns: 5_000_000 }));
    }
    files
}

/// The lines of a head.
fn shown_of(files: &Files, head: Option<&str>) -> Result<Vec<String>, String> {
    let (lines, outcome) = load(files, head);
    outcome.error.map_or(Ok(lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()), Err)
}

/// The ids of what is loaded from these lines after the first.
fn ids(lines: &[&str]) -> String {
    let text = [&[META], lines].concat().join("\n");
    let id = |line: &String| line.split("\"id\":\"").nth(1).unwrap_or("? ").split('"').next().unwrap().to_owned();
    let lines = shown_of(&with_files(&[("session-a.jsonl", text.as_bytes())]), None).unwrap();
    lines.iter().map(id).collect::<Vec<_>>().join(" ")
}

const A: &str = r#"{"id":"a","type":"user","content":"x"}"#;
const B: &str = r#"{"id":"b","type":"user","content":"x"}"#;
const C: &str = r#"{"id":"c","type":"user","content":"x"}"#;

#[test]
fn a_message_keeps_its_first_place_and_has_its_last_form() {
    let again = r#"{"id":"a", "type":"gemini", "content":1.0}"#;
    let text = [META, A, B, again].join("\r\n");
    let shown = shown_of(&with_files(&[("session-a.jsonl", text.as_bytes())]), None).unwrap();
    assert_eq!(shown, [r#"{"id":"a","type":"gemini","content":1}"#, B]);
    // Lines end at a carriage return as well; what is not an object is skipped.
    assert_eq!(ids(&[&format!("{A}\r{B}\r\n"), "\u{a0}", "[]", "1", "null", "torn", &format!("\u{feff}{C}")]), "a b");
    assert_eq!(ids(&[&A.replace("\"a\"", "1"), r#"{"$set":5}"#, r#"{"$rewindTo":5}"#, r#"{"other":1}"#]), "");
    // The kinds are tried in their order.
    assert_eq!(ids(&[A, B, r#"{"id":"c","$set":{"messages":[]}}"#]), "a b c");
    assert_eq!(ids(&[A, B, r#"{"id":"c","$rewindTo":"b"}"#]), "a");
}

#[test]
fn a_rewind_takes_a_message_and_all_behind_it() {
    assert_eq!(ids(&[A, B, C, r#"{"$rewindTo":"b"}"#]), "a");
    assert_eq!(ids(&[A, B, C, r#"{"$rewindTo":"lost"}"#]), "");
    assert_eq!(ids(&[A, B, C, r#"{"$rewindTo":"b"}"#, C, B]), "a c b");
    assert_eq!(ids(&[A, B, A, r#"{"$rewindTo":"b"}"#]), "a");
}

#[test]
fn a_checkpoint_in_the_log_replaces_all_messages() {
    let set = |messages: &str| format!(r#"{{"$set":{{"messages":{messages}}}}}"#);
    assert_eq!(ids(&[A, &set(&format!("[{C},null,1,{{}},{B},{C}]"))]), "c b");
    assert_eq!(ids(&[A, &set("[]")]), "");
    assert_eq!(ids(&[A, &set("{}"), &set("null"), r#"{"$set":[]}"#]), "a");
    // A metadata line adds its messages.
    assert_eq!(ids(&[A, &format!(r#"{{"sessionId":"s","projectHash":"p","messages":[{B},{A}]}}"#)]), "a b");
}

#[test]
fn a_message_that_throws_is_lost() {
    let of = |kind: &str, content: &str| {
        let thrower = format!(r#"{{"id":"t","type":"{kind}","content":{content}}}"#);
        let alone = ids(&[A, &thrower]);
        // Of a list it takes what follows it along.
        let listed = ids(&[A, &format!(r#"{{"$set":{{"messages":[{B},{thrower},{C}]}}}}"#)]);
        assert_eq!(alone == "a", listed == "b", "{kind} {content}");
        alone == "a"
    };
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    for (kind, content) in [
        ("user", r#"{"text":5}"#.to_owned()),
        ("gemini", r#"{"text":[]}"#.to_owned()),
        ("info", r#"{"functionCall":null}"#.to_owned()),
        ("user", r#"[[{"functionResponse":null}]]"#.to_owned()),
        ("user", r#"{"inlineData":null}"#.to_owned()),
        ("user", r#"{"inlineData":{"mimeType":5}}"#.to_owned()),
        ("user", r#"[{"text":{"toString":1}}]"#.to_owned()),
        ("user", nested(3000)),
    ] {
        assert!(of(kind, &content), "{kind} {content}");
    }
    for (kind, content) in [
        ("info", r#"{"text":5}"#.to_owned()),
        ("user", r#"[{"text":5}]"#.to_owned()),
        ("user", r#"{"text":null}"#.to_owned()),
        ("user", r#"{"thought":null,"functionCall":null}"#.to_owned()),
        ("user", r#"{"inlineData":{"mimeType":null}}"#.to_owned()),
        ("user", "5".to_owned()),
        ("user", nested(1000)),
    ] {
        assert!(!of(kind, &content), "{kind} {content}");
    }
}

#[test]
fn a_patch_that_throws_is_not_merged_and_a_metadata_line_is() {
    let thrower = r#"{"id":"t","type":"user","content":{"text":5}}"#;
    let loads = |lines: &[&str]| shown_of(&with_files(&[("session-a.jsonl", lines.join("\n").as_bytes())]), None).map(|lines| lines.len());
    let meta = r#""sessionId":"s","projectHash":"p""#;
    assert_eq!(loads(&[&format!(r#"{{"$set":{{{meta},"messages":[{A}]}}}}"#)]), Ok(1));
    assert_eq!(loads(&[&format!(r#"{{"$set":{{{meta},"messages":[{A},{thrower}]}}}}"#)]), Err(NOT_LOADED.to_owned()));
    assert_eq!(loads(&[&format!(r#"{{{meta},"messages":[{A},{thrower},{B}]}}"#)]), Ok(1));
    // Without an id of the session and of the project nothing is loaded.
    assert_eq!(loads(&[A]), Err(NOT_LOADED.to_owned()));
    assert_eq!(loads(&[A, META, r#"{"$set":{"projectHash":""}}"#]), Err(NOT_LOADED.to_owned()));
    assert_eq!(loads(&[A, r#"{"sessionId":"s","projectHash":5}"#]), Err(NOT_LOADED.to_owned()));
}

#[test]
fn a_whole_file_is_loaded_as_it_is() {
    let whole = |messages: &str| {
        let text = format!("{{\n \"sessionId\": null,\n \"messages\": {messages}\n}}");
        shown_of(&with_files(&[("session-a.json", text.as_bytes())]), None)
    };
    let thrower = r#"{"id":"t","type":"user","content":{"text":5}}"#;
    assert_eq!(whole(&format!("[{A},\n{A},\n {{ \"x\": 1 }}, 5]")).unwrap(), [A, A, r#"{"x":1}"#, "5"]);
    assert_eq!(whole("null"), Ok(Vec::new()));
    assert_eq!(whole(&format!("[{A},\n{thrower}]")).map(|lines| lines.len()), Ok(2));
    for refused in [format!("[{thrower},\n{A}]"), format!("[{A},null]"), "{}".to_owned()] {
        assert_eq!(whole(&refused), Err(NOT_LOADED.to_owned()), "{refused}");
    }
    for text in ["", "[]", r#"{"messages":[]}"#, "\u{feff}{\n\"sessionId\":1}"] {
        assert!(shown_of(&with_files(&[("session-a.json", text.as_bytes())]), None).is_err(), "{text}");
    }
    // On one line it is a metadata line.
    let line = format!(r#"{{"sessionId":"s","projectHash":"p","messages":[{A},{B},{A},{{}}]}}"#);
    assert_eq!(shown_of(&with_files(&[("session-a.json", line.as_bytes())]), None).unwrap(), [A, B]);
}

#[test]
fn of_several_files_the_one_is_loaded_that_a_resume_takes() {
    let chat = |updated: &str, messages: &[&str]| {
        [&[format!(r#"{{"sessionId":"s","projectHash":"p","lastUpdated":"{updated}"}}"#).as_str()], messages].concat().join("\n")
    };
    let first = |a: &str, b: &str| {
        let files =
            with_files(&[("chats/session-1.json", a.as_bytes()), ("chats/session-2.jsonl", b.as_bytes()), ("logs/session-s.jsonl", b"{}")]);
        let heads: Vec<String> = loader(&files).heads().iter().map(ToString::to_string).collect();
        let other = heads[1].strip_prefix("backup:").unwrap();
        assert!(shown_of(&files, Some(&heads[1])).is_ok());
        if other == "session-2.jsonl" { "first" } else { "second" }
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let worthless = |text: &str| A.replace("\"x\"", &format!("\"{text}\""));
    assert_eq!(first(&chat(early, &[A]), &chat(late, &[A])), "second");
    assert_eq!(first(&chat(late, &[A]), &chat(early, &[A])), "first");
    assert_eq!(first(&chat(late, &[A]), &chat(late, &[A])), "first");
    assert_eq!(first(&chat(early, &[A]), &chat("no date", &[A])), "first");
    for text in ["", " \u{a0}", "/help", "?", " <session_context> x", "<hook_context>"] {
        assert_eq!(first(&chat(early, &[A]), &chat(late, &[&worthless(text)])), "first", "{text}");
        // Where none can be resumed the later one is taken.
        assert_eq!(first(&chat(early, &[&worthless(text)]), &chat(late, &[&worthless(text)])), "second", "{text}");
    }
    let answer = |more: &str| format!(r#"{{"id":"a","type":"gemini","content":""{more}}}"#);
    assert_eq!(first(&chat(early, &[A]), &chat(late, &[&answer("")])), "first");
    assert_eq!(first(&chat(early, &[A]), &chat(late, &[&answer(r#","toolCalls":[ ]"#)])), "first");
    assert_eq!(first(&chat(early, &[A]), &chat(late, &[&answer(r#","toolCalls":[1]"#)])), "second");
    assert_eq!(first(&chat(early, &[A]), &chat(late, &[&answer(r#","thoughts":[1]"#)])), "second");
    let subagent = chat(late, &[A]).replace("\"sessionId\"", "\"kind\":\"subagent\",\"sessionId\"");
    assert_eq!(first(&chat(early, &[A]), &subagent), "first");
    // A list forgets with a rewind what was written again since.
    let forgotten = [A, B, A, r#"{"$rewindTo":"b"}"#];
    assert_eq!(ids(&forgotten), "a");
    assert_eq!(first(&chat(early, &[A]), &chat(late, &forgotten)), "first");
    // A log that does not say when counts as written now, a whole file as its start or its time.
    assert_eq!(first(&chat(late, &[A]), &[META, A].join("\n")), "second");
    let whole = format!("{{\n\"sessionId\":\"s\",\n\"messages\":[{A}]}}");
    assert_eq!(first(&whole, &chat(early, &[A])), "second");
    assert_eq!(first(&whole.replacen("{\n", &format!("{{\n\"startTime\":\"{late}\",\n"), 1), &chat(early, &[A])), "first");
}

#[test]
fn a_saved_checkpoint_is_its_history() {
    let of = |text: &str| shown_of(&with_files(&[("checkpoint-x.json", text.as_bytes())]), None).unwrap();
    assert_eq!(of("{\n \"history\": [ {\"role\": \"user\"}, 1 ]\n}"), [r#"{"role":"user"}"#, "1"]);
    assert_eq!(of("[{}]"), ["{}"]);
    for empty in ["", "torn", "\u{feff}[{}]", "{}", r#"{"history":5}"#, "null"] {
        assert_eq!(of(empty), Vec::<String>::new(), "{empty}");
    }
}
