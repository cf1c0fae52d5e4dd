//! Documents through their events and back, in every style and with lists in
//! every state.

use super::*;
use crate::adapters::kit::mapping::ValueKind;

const TABLE: Table = Table(&[
    ("id", Target::To("id", ValueKind::Text)),
    ("messages", Target::List),
    ("count", Target::To("count", ValueKind::Number)),
    ("context", Target::List),
]);

fn through(source: &str, escapes: Escapes) -> (String, Vec<usize>) {
    let document = Document::parse(source.as_bytes(), Dialect::Python, &TABLE).unwrap();
    let style = Style { separators: document.separators(), escapes };
    let mut payload = document.payload(&TABLE, &[], escapes);
    payload.push(b'}');
    assert!(serde_json::from_slice::<serde_json::Value>(&payload).is_ok(), "{}", String::from_utf8_lossy(&payload));
    let parts = parts(&TABLE, &payload, style);
    let mut back = Vec::new();
    let mut differ = Vec::new();
    for piece in document.pieces() {
        match piece {
            DocumentPiece::Part(n, bytes) => {
                if parts.get(n).map(Vec::as_slice) != Some(bytes) {
                    differ.push(n);
                }
                back.extend_from_slice(parts.get(n).map_or(&[][..], Vec::as_slice));
            }
            DocumentPiece::Gap(bytes) => back.extend_from_slice(bytes),
            DocumentPiece::Record { value, end, .. } => {
                back.extend_from_slice(value.text());
                back.extend_from_slice(end);
            }
        }
    }
    (String::from_utf8(back).unwrap(), differ)
}

#[test]
fn the_pieces_of_a_document_are_all_its_bytes() {
    for source in [
        " {\"messages\" : [ 1 , {\"a\":[2]} ] , \"x\":{}, \"context\":[\n],\"messages\":[3]}\n\n",
        "{}",
        "{\"messages\":[],\"context\":[null]}",
        "{\"messages\":null}",
    ] {
        let document = Document::parse(source.as_bytes(), Dialect::Strict, &TABLE).unwrap();
        let mut all = Vec::new();
        for piece in document.pieces() {
            match piece {
                DocumentPiece::Part(_, bytes) | DocumentPiece::Gap(bytes) => all.extend_from_slice(bytes),
                DocumentPiece::Record { value, end, offset, .. } => {
                    assert_eq!(offset, all.len());
                    all.extend_from_slice(value.text());
                    all.extend_from_slice(end);
                }
            }
        }
        assert_eq!(String::from_utf8(all).unwrap(), source);
    }
}

#[test]
fn a_frame_renders_back_in_every_style() {
    for (escapes, source) in [
        (
            Escapes::Go,
            "{\n  \"id\": \"a\\u003cb\",\n  \"messages\": [\n    {\n      \"x\": 1\n    }\n  ],\n  \"count\": 1,\n  \"context\": []\n}",
        ),
        (Escapes::Utf8, "{\n  \"id\": \"é<\",\n  \"messages\": [],\n  \"count\": 1e3,\n  \"context\": [\n    1,\n    2\n  ]\n}"),
        (Escapes::Ascii, "{\n  \"id\": \"\\u00e9\",\n  \"messages\": [],\n  \"count\": 0.10,\n  \"context\": []\n}\n"),
        (Escapes::Ascii, "{\"id\": \"a\", \"messages\": [1, 2], \"count\": 1, \"context\": [3]}"),
        (Escapes::Utf8, "{\"id\":\"a\",\"messages\":[1,2],\"count\":1,\"context\":[3]}"),
        // Lists absent, null, of another kind; other keys; other orders.
        (Escapes::Utf8, "{\"id\":\"a\"}"),
        (Escapes::Utf8, "{}"),
        (Escapes::Utf8, "{\"id\":\"a\",\"messages\":null,\"count\":1,\"context\":{\"a\":[1]}}"),
        (Escapes::Utf8, "{\"id\":7,\"messages\":[1],\"more\":{\"$absent\":1},\"less\":[]}"),
        (Escapes::Utf8, "{\"context\":[1],\"more\":0,\"messages\":[2],\"id\":\"a\"}"),
        (Escapes::Go, "{\n  \"messages\": [],\n  \"x\": {\n    \"y\": []\n  },\n  \"id\": \"a\"\n}"),
    ] {
        let (back, differ) = through(source, escapes);
        assert_eq!((back.as_str(), differ), (source, vec![]), "{source}");
    }
}

#[test]
fn only_the_part_that_the_program_would_not_have_written_differs() {
    assert_eq!(through("{\"id\" :\"a\",\"messages\":[1],\"count\":1,\"context\":[]}", Escapes::Utf8).1, [0]);
    assert_eq!(through("{\"id\":\"a\",\"messages\":[1], \"count\":1,\"context\":[]}", Escapes::Utf8).1, [1]);
    // Of equal keys the last counts.
    let twice = "{\"id\":\"a\",\"messages\":[9],\"messages\":[1],\"count\":1,\"context\":[],\"id\":\"b\"}";
    let document = Document::parse(twice.as_bytes(), Dialect::Strict, &TABLE).unwrap();
    let id = document.members.iter().find(|member| member.name() == "id").unwrap();
    assert!(document.all.len() == 6 && document.members.len() == 4 && id.value == b"\"b\"");
    let records: Vec<_> =
        document.pieces().filter_map(|p| if let DocumentPiece::Record { value, .. } = p { Some(value.text()) } else { None }).collect();
    assert_eq!(records, [b"1"]);
}

#[test]
fn an_object_with_very_many_members_takes_linear_time() {
    let members: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":{n}")).collect();
    let source = format!("{{{}}}", members.join(","));
    assert_eq!(through(&source, Escapes::Utf8).0, source);
}
