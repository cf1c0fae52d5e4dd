//! The loader's rules, each by itself.

use super::*;
use crate::model::files::{Entry, RelPath, SourceFile};

/// What is shown of a session with these rows: id, time and data of messages, then id,
/// message and data of parts, as JSON.
fn shown(messages: &[&str], parts: &[&str]) -> Result<Vec<String>, String> {
    let header = |table: &str, columns: &str| {
        format!("{{\"rows\":{{\"table\":\"{table}\",\"columns\":[{columns}],\"all\":[\"session_id\",\"ses_a\"]}}}}\n")
    };
    let mut text = header("message", "\"id\",\"session_id\",\"time_created\",\"data\"");
    messages.iter().for_each(|row| text.push_str(&format!("[{row}]\n")));
    text.push_str(&header("part", "\"id\",\"message_id\",\"session_id\",\"data\""));
    parts.iter().for_each(|row| text.push_str(&format!("[{row}]\n")));
    let mut files = Files::new("opencode.db");
    files.insert(RelPath::new("opencode.db"), Entry::Rows(SourceFile { bytes: text.into_bytes(), mtime_ns: 0 }));
    let mut lines = Vec::new();
    let outcome = loader(&files).load(None, &mut |line| lines.push(String::from_utf8(line.to_vec()).unwrap()));
    outcome.error.map_or(Ok(lines), Err)
}

fn line(id: &str, rest: &str, parts: &str) -> String {
    format!("{{\"info\":{{\"id\":\"{id}\",\"sessionID\":\"ses_a\"{rest}}},\"parts\":[{parts}]}}")
}

#[test]
fn messages_come_by_time_and_id_and_parts_by_id() {
    let messages = [r#""m3",5,"{}""#, r#""m2",7,"{}""#, r#""m1",7,"{}""#, r#""m4",null,"{}""#];
    let parts = [r#""p2","m1","{\"n\":1.0}""#, r#""p1","m1","{}""#, r#""p0","gone","{}""#];
    let part = |id: &str, rest: &str| format!("{{\"id\":\"{id}\",\"sessionID\":\"ses_a\",\"messageID\":\"m1\"{rest}}}");
    let of_first = [part("p1", ""), part("p2", ",\"n\":1")].join(",");
    let want = [line("m4", "", ""), line("m3", "", ""), line("m1", "", &of_first), line("m2", "", "")];
    assert_eq!(shown(&messages, &parts), Ok(want.to_vec()));
}

#[test]
fn the_ids_are_those_of_the_columns() {
    let data = r#""m",1,"{\"id\":\"x\",\"role\":\"user\",\"sessionID\":\"y\"}""#;
    assert_eq!(shown(&[data], &[]), Ok(vec![line("m", ",\"role\":\"user\"", "")]));
}

#[test]
fn data_that_is_not_json_fails_the_request_where_it_is_read() {
    let message = r#""m",1,"{}""#;
    assert_eq!(shown(&[message], &[r#""p","gone","torn""#]), Ok(vec![line("m", "", "")]));
    for part in [r#""p","m","torn""#, r#""p","m","""#, r#""p","m",{"blob":"e30="}"#] {
        assert_eq!(shown(&[message], &[part]), Err(NOT_LOADED.to_owned()), "{part}");
    }
    for message in [r#""m",1,"[1]""#, r#""m",1,null"#, r#""m",1,7"#] {
        assert_eq!(shown(&[message], &[]), Ok(vec![line("m", "", "")]), "{message}");
    }
}
