//! The loader's rules, each by itself, and on what the real program wrote.

use super::*;
use crate::model::corpus;
use crate::model::files::{RelPath, SourceFile};

fn files(all: &[(&str, &str)]) -> Files {
    let mut files = Files::new("ses_a.json");
    for (path, text) in all {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: text.as_bytes().to_vec(), mtime_ns: 0 }));
    }
    files
}

fn shown(all: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let files = files(all);
    let mut lines = Vec::new();
    let outcome = loader(&files).load(None, &mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap()));
    outcome.error.map_or(Ok(lines), Err)
}

#[test]
fn messages_come_by_name_and_parts_by_id() {
    let lines = shown(&[
        ("message/ses_a/msg_2.json", r#"{"id":"x"}"#),
        ("message/ses_a/msg_1.json", r#" {"id": "y", "n": 1.0} "#),
        ("part/msg_1/prt_1.json", r#"{"id":"b"}"#),
        ("part/msg_1/prt_2.json", r#"{"id":"a"}"#),
        ("part/msg_1/prt_3.json", r#"{"n":1e21}"#),
    ]);
    let first = r#"{"info":{"id":"y","n":1},"parts":[{"n":1e+21},{"id":"a"},{"id":"b"}]}"#;
    assert_eq!(lines, Ok(vec![first.to_owned(), r#"{"info":{"id":"x"},"parts":[]}"#.to_owned()]));
}

#[test]
fn a_file_that_is_not_json_fails_the_load_only_where_it_is_read() {
    let message = ("message/ses_a/msg_1.json", r#"{"id":"y"}"#);
    let line = Ok(vec![r#"{"info":{"id":"y"},"parts":[]}"#.to_owned()]);
    assert_eq!(shown(&[message, ("session/p/ses_a.json", "torn"), ("todo/ses_a.json", "")]), line);
    assert_eq!(shown(&[message, ("part/msg_2/prt_1.json", "of a removed message")]), line);
    for torn in [("part/msg_1/prt_1.json", ""), ("message/ses_a/msg_2.json", "{")] {
        assert_eq!(shown(&[message, torn]), Err(NOT_LOADED.to_owned()));
    }
}

#[test]
fn every_tree_of_the_corpus_loads_as_opencode_loads_it() {
    for case in corpus::cases("opencode").iter().filter(|case| case.name.starts_with("tree")) {
        for session in &case.sessions {
            let id = session.file.rsplit('/').next().unwrap().trim_end_matches(".json");
            let folder = session.file.split_once("session/").unwrap().0;
            let mut files = Files::new(format!("{id}.json"));
            for (path, (bytes, _)) in &case.files {
                let Some(path) = path.strip_prefix(folder) else { continue };
                if path.starts_with(&format!("message/{id}/")) || path.starts_with("part/") {
                    files.insert(RelPath::new(path), Entry::File(SourceFile { bytes: bytes.clone(), mtime_ns: 0 }));
                }
            }
            let mut lines = Vec::new();
            let outcome = loader(&files).load(None, &mut |line| lines.push(line.to_vec()));
            let difference = match &session.messages {
                Some(want) => outcome.error.or_else(|| corpus::difference(want, &lines)),
                None => outcome.error.is_none().then(|| "must be refused".to_owned()),
            };
            assert_eq!(difference, None, "{} {}", case.name, session.file);
        }
    }
}
