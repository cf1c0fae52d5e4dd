use super::*;
use crate::model::folder::{FEW_BYTES, Listed, Listing, Portion};

/// Returns the units of a folder with these files, each with its own files.
fn units(files: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let names = |files: &[RelPath]| files.iter().map(ToString::to_string).collect();
    claims(files).iter().map(|unit| (unit.name.to_string(), names(&unit.files))).collect()
}

/// Returns the claims on a folder with these files.
fn claims(files: &[(&str, &str)]) -> Vec<UnitClaim> {
    let listed = |(name, text): &(&str, &str)| Listed {
        path: RelPath::new(*name),
        kind: ListedKind::File,
        size: text.len() as u64,
        mtime_ns: 0,
        mode: 0o644,
    };
    let listing = Listing::new(files.iter().map(listed).collect());
    let peek = |path: &RelPath, _: Portion| {
        let text = files.iter().find(|(name, _)| path.as_bytes() == name.as_bytes()).map_or("", |(_, text)| text);
        text.as_bytes().to_vec()
    };
    let root = RelPath::new("");
    discover(&FolderView::new(&listing, &root, &peek), Signs::Certain).units
}

const LINE: &str = "{\"role\":\"user\",\"content\":\"a\"}\n";

#[test]
fn a_meta_file_beside_lines_is_theirs_whatever_it_says() {
    for meta in [
        r#"{"key":"a:b","summary":"SUM","skip":1}"#,
        r#"{"KEY":"a:b","Summary":"","SKIP":1,"count":2,"created_at":"","updated_at":""}"#,
        r#"{"key":5,"title":"x"}"#,
        "{}",
        "null",
        "{\"key\":",
        "",
    ] {
        let found = units(&[("a_b.jsonl", LINE), ("a_b.meta.json", meta)]);
        assert_eq!(found, [("a_b.jsonl".to_owned(), vec!["a_b.jsonl".to_owned(), "a_b.meta.json".to_owned()])], "{meta}");
    }
}

#[test]
fn what_an_export_left_beside_a_session_goes_with_it() {
    let meta = r#"{"key":"a:b","summary":"","skip":0,"count":1,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}"#;
    let found = units(&[("a_b.jsonl", LINE), ("a_b.meta.json", meta), ("a_b.everlog", "{}"), ("c.everlog", "{}")]);
    assert_eq!(found, [("a_b.jsonl".to_owned(), ["a_b.everlog", "a_b.jsonl", "a_b.meta.json"].map(str::to_owned).to_vec())]);
}

#[test]
fn of_two_aliases_with_one_name_it_is_always_the_same_that_answers() {
    let meta = |key: &str, alias: &str| {
        format!(
            r#"{{"key":"{key}","summary":"","skip":0,"count":0,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","aliases":["{alias}"]}}"#
        )
    };
    let (a, b) = (meta("sk:a", "agent:z"), meta("sk:b", "agent/z"));
    let files = [("agent_z.jsonl", LINE), ("sk_a.jsonl", LINE), ("sk_a.meta.json", &a), ("sk_b.jsonl", LINE), ("sk_b.meta.json", &b)];
    for _ in 0..32 {
        let found = claims(&files);
        assert_eq!(found[0].shared.canonical, Some(RelPath::new("sk_a.jsonl")));
        assert!(found[0].left_out[0].2.starts_with("`agent:z` is an alias of `sk:a`"), "{}", found[0].left_out[0].2);
    }
}

#[test]
fn a_meta_file_alone_must_say_what_it_is() {
    let with = |meta: &str| units(&[("agent_x.jsonl", LINE), ("a_b.meta.json", meta)]).len();
    assert_eq!(with(r#"{"key":"a:b","summary":"SUM"}"#), 2);
    for other in [r#"{"key":"c:d"}"#, "{}", r#"{"title":"x"}"#, r#"{"key":["a:b"]}"#] {
        assert_eq!(with(other), 1, "{other}");
    }
    assert_eq!(units(&[("a_b.meta.json", r#"{"key":"a:b"}"#)]), []);
}

#[test]
fn a_legacy_file_is_one_in_whatever_letters_its_keys_are() {
    let known = r#"{"key":"a:b","messages":[],"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}"#;
    let is_unit = |text: &str| units(&[("a_b.json", known), ("c_d.json", text)]).iter().any(|(name, _)| name == "c_d.json");
    for text in [
        r#"{"KEY":"c:d","Messages":[{"role":"user","content":"x"}]}"#,
        r#"{"meſſageſ":null,"\u212aey":"c:d"}"#,
        r#"{"key":"x","key":"c:d","summary":"s","messages":[]}"#,
        r#"{"version":2,"key":"c:d","messages":[{"Role":"user","content":"x"}]}"#,
    ] {
        assert!(is_unit(text), "{text}");
    }
    for text in [r#"{"version":2,"key":"c:d","messages":[]}"#, r#"{"messages":[]}"#, r#"{"key":"c:d","messages":{}}"#, "[]"] {
        assert!(!is_unit(text), "{text}");
    }
}

#[test]
fn only_whole_files_that_meet_others_are_read_to_their_end() {
    let session = |key: &str| {
        let message = "{\"role\":\"user\",\"content\":\"hi\"}";
        format!("{{\"key\":\"{key}\",\"messages\":[{}]}}", [message; 3_000].join(","))
    };
    let (a, b) = (session("tele:1"), session("tele:2"));
    let files = [("tele_1.json", a.as_str()), ("tele_2.json", b.as_str()), ("tele_2.jsonl", LINE), ("tele_3.jsonl", LINE)];
    let listed = files.map(|(name, text)| Listed {
        path: RelPath::new(name),
        kind: ListedKind::File,
        size: text.len() as u64,
        mtime_ns: 0,
        mode: 0o644,
    });
    let listing = Listing::new(listed.to_vec());
    let read = std::sync::Mutex::new(Vec::new());
    let peek = |path: &RelPath, part: Portion| {
        let text = files.iter().find(|(name, _)| path.as_bytes() == name.as_bytes()).map_or("", |(_, text)| text).as_bytes();
        if part == Portion::Whole {
            read.lock().unwrap().push(path.to_string());
        }
        text[..if part == Portion::Whole { text.len() } else { text.len().min(FEW_BYTES) }].to_vec()
    };
    let root = RelPath::new("");
    let found = discover(&FolderView::new(&listing, &root, &peek), Signs::Certain);
    assert_eq!(found.units.len(), 4);
    assert_eq!(read.into_inner().unwrap(), ["tele_2.json"]);
}
