//! Every row of the tables that the real Go has written: `fixtures/runtimes/go`,
//! recorded by `scripts/record-runtimes go`.

use serde_json::Value;

use super::*;
use crate::json::{self, Dialect, scan_object};

/// The text of a table.
macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/runtimes/go/", $name, ".jsonl"))
    };
}

/// The rows of a table. There are at least so many, or the test looks at nothing.
fn rows(table: &str, at_least: usize) -> Vec<Vec<Value>> {
    let rows: Vec<Vec<Value>> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() >= at_least, "the table has {} rows", rows.len());
    rows
}

/// Returns the bytes of a cell.
fn bytes(cell: &Value) -> Vec<u8> {
    match cell["hex"].as_str() {
        Some(hex) => (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect(),
        None => cell.as_str().unwrap().as_bytes().to_vec(),
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Returns what the scanner says of a text's syntax, in the words of the tables.
fn syntax(text: &[u8]) -> &'static str {
    let mut scanner = Scanner::new(text);
    let is_valid = scanner.skip().and_then(|_| scanner.end()).is_ok();
    assert_eq!(is_valid, whole_value(text).is_ok(), "both scans: {}", shown(&text[..text.len().min(80)]));
    match (is_valid, ends_too_soon(text)) {
        (true, _) => "ok",
        (false, true) => "end",
        (false, false) => "error",
    }
}

#[test]
fn the_scanner_takes_what_go_takes() {
    for row in rows(table!("syntax"), 1500) {
        let text = bytes(&row[0]);
        assert_eq!(syntax(&text), row[1], "{}", shown(&text));
    }
}

#[test]
fn nesting_ends_where_it_does_in_go() {
    for row in rows(table!("depth"), 20) {
        let (open, close) = (row[0].as_str().unwrap(), row[1].as_str().unwrap());
        let times = row[2].as_u64().unwrap() as usize;
        let cut = open.repeat(times);
        let whole = format!("{cut}1{}", close.repeat(times));
        assert_eq!(syntax(whole.as_bytes()), row[3], "{open} {times} times");
        assert_eq!(syntax(cut.as_bytes()), row[4], "{open} {times} times, cut off");
    }
}

#[test]
fn strings_are_read_and_written_as_go_does() {
    for row in rows(table!("strings"), 900) {
        let token = bytes(&row[0]);
        let mut scanner = Scanner::new(&token);
        for text in [Text::of_token(&token), scanner.string().unwrap()] {
            assert_eq!(text.decoded(), row[1].as_str().unwrap(), "{}", shown(&token));
            let mut out = Vec::new();
            text.push(&mut out);
            assert_eq!(shown(&out), shown(&bytes(&row[2])), "{}", shown(&token));
            assert_eq!(!text.is_blank(), row[3], "{}", shown(&token));
            assert_eq!(text.is_empty(), row[1] == "", "{}", shown(&token));
            assert!(text.is(row[1].as_str().unwrap()) && !text.is("some other text"), "{}", shown(&token));
        }
    }
}

#[test]
fn white_space_is_what_go_takes_for_it() {
    let spaces: Vec<_> = rows(table!("spaces"), 5).iter().map(|row| row[0].as_u64().unwrap()..=row[1].as_u64().unwrap()).collect();
    for character in '\0'..=char::MAX {
        let is_space = spaces.iter().any(|run| run.contains(&u64::from(u32::from(character))));
        assert_eq!(is_white_space(character), is_space, "{character:?}");
    }
}

#[test]
fn keys_find_the_fields_that_they_find_in_go() {
    const KEYS: &[&str] = &["skip", "key", "tool_calls2"];
    for row in rows(table!("keys"), 250) {
        let token = bytes(&row[0]);
        let found = decode::find_field(KEYS, &token).map(|(field, _)| KEYS[field]);
        assert_eq!(found, row[1].as_str(), "{}", shown(&token));
        let folded = KEYS.iter().find(|name| matches_key(name, &Text::of_token(&token).decoded())).copied();
        assert_eq!(folded, found, "{}", shown(&token));
    }
}

#[test]
fn times_are_read_and_written_as_go_does() {
    for row in rows(table!("times"), 1000) {
        let text = bytes(&row[0]);
        let time = Time::parse(&text);
        assert_eq!(time.map(|time| time.text()).as_deref(), row[1].as_str(), "{}", shown(&text));
        if let Some(time) = time {
            assert_eq!(time.is_zero(), row[2], "{}", shown(&text));
            assert_eq!(time.non_zero().is_none(), row[2], "{}", shown(&text));
        }
    }
}

#[test]
fn white_space_between_tokens_is_left_out_as_in_go() {
    for row in rows(table!("compact"), 100) {
        assert_eq!(shown(&compact(&bytes(&row[0]))), shown(&bytes(&row[1])));
    }
}

#[test]
fn lines_are_split_as_go_splits_them() {
    for row in rows(table!("lines"), 200) {
        let text = bytes(&row[0]);
        let mut lines = Vec::new();
        let mut error = "";
        for line in ScanLines::new(&text, 16) {
            match line {
                Ok(line) => lines.push(line.to_vec()),
                Err(TokenTooLong) => error = TOKEN_TOO_LONG,
            }
        }
        let expected: Vec<_> = row[1].as_array().unwrap().iter().map(bytes).collect();
        assert_eq!((lines, error), (expected, row[2].as_str().unwrap()), "{}", shown(&text));
    }
}

record! {
    /// `outer` of the recorder.
    struct Outer<'a> {
        name: Text<'a> = "name",
        note: Text<'a> = "note",
        count: i64 = "count",
        when: Option<Time> = "when",
        start: Time = "start",
        raw: Raw<'a> = "raw",
        tags: Slice<Text<'a>> = "tags",
        must: Slice<Text<'a>> = "must",
        inner: Option<Inner<'a>> = "inner",
        items: Slice<Inner<'a>> = "items",
    }
}

record! {
    /// `inner` of the recorder.
    struct Inner<'a> {
        key: Text<'a> = "key" Never,
        kind: Text<'a> = "kind" Empty,
        next: Next<'a> = "next" Empty,
    }
}

/// A pointer to the type that it stands in.
#[derive(Debug, Clone, Default)]
struct Next<'a>(Option<Box<Inner<'a>>>);

impl<'a, S: Source<'a>> Decode<'a, S> for Next<'a> {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        let mut inner = self.0.take().map(|inner| *inner);
        let decoded = inner.decode(from);
        self.0 = inner.map(Box::new);
        decoded
    }
}

impl Marshal for Next<'_> {
    fn marshal(&self, out: &mut Vec<u8>) {
        self.0.as_deref().cloned().marshal(out);
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

record! {
    /// `written` of the recorder.
    struct Written<'a> {
        name: Text<'a> = "name" Never,
        note: Text<'a> = "note" Empty,
        when: Option<Time> = "when" Empty,
        tags: Slice<Text<'a>> = "tags" Empty,
        inner: Option<Inner<'a>> = "inner" Empty,
        items: Slice<Inner<'a>> = "items" Empty,
    }
}

/// Returns the cells of a row after the input.
fn cells(outer: Outer<'_>) -> Vec<Value> {
    let Outer { name, note, count, when, start, raw, tags, must, inner, items } = outer;
    let mut line = Vec::new();
    Written { name, note, when, tags, inner, items }.marshal(&mut line);
    let must: Vec<Value> = must.items().iter().map(|text| text.decoded().into()).collect();
    let raw = String::from_utf8(raw.0.map(json::Value::text).unwrap_or_default().to_vec()).unwrap();
    vec![String::from_utf8(line).unwrap().into(), count.to_string().into(), raw.into(), start.text().into(), must.into()]
}

fn decoded_from_accepted(text: &[u8]) -> Result<Outer<'_>, Rejection> {
    let value = whole_value(text)?;
    let mut outer = Outer::default();
    let mut members = Vec::new();
    let mut from = Accepted::new(value);
    if scan_object(value.text(), Dialect::Strict, &mut members).is_ok() {
        decode_members(members.into_iter(), &mut outer, &mut from)?;
    } else {
        outer.decode(&mut from)?;
    }
    Ok(outer)
}

#[test]
fn values_are_decoded_as_go_decodes_them() {
    for row in rows(table!("decode"), 600) {
        let text = bytes(&row[0]);
        let expected = if row[1].is_null() { None } else { Some(row[1..].to_vec()) };
        assert_eq!(unmarshal::<Outer<'_>>(&text).ok().map(cells), expected, "{}", shown(&text));
        assert_eq!(decoded_from_accepted(&text).ok().map(cells), expected, "accepted: {}", shown(&text));
    }
}

#[test]
fn keys_that_no_writer_has_are_noticed() {
    for (text, form) in [
        (r#"{"name":"a","other":1,"OTHER":2,"inner":{"key":"k"},"items":[{"key":""},{"key":""}]}"#, KeyForm::Plain),
        (r#"{"Name":"a"}"#, KeyForm::Odd),
        (r#"{"n\u0061me":"a"}"#, KeyForm::Odd),
        (r#"{"name":"a","name":"a"}"#, KeyForm::Odd),
        (r#"{"items":[{},{"next":{"key":"","\u212aind":""}}]}"#, KeyForm::Odd),
        (r#"{"items":[{},{"next":{"key":"","KIND":""}}]}"#, KeyForm::Odd),
    ] {
        let mut from = Accepted::new(whole_value(text.as_bytes()).unwrap());
        Outer::default().decode(&mut from).unwrap();
        assert_eq!(from.form, form, "{text}");
    }
}

#[test]
fn a_wrong_type_names_the_field_that_it_is_in() {
    for (text, because) in [
        (r#"{"name":5}"#, "`name` has a value of the wrong type"),
        (r#"{"tags":[5]}"#, "`tags` has a value of the wrong type"),
        (r#"{"items":[{"next":{"kind":[]}}]}"#, "`kind` has a value of the wrong type"),
        ("[]", "a value of the wrong type"),
    ] {
        let error = Outer::default().decode(&mut Accepted::new(whole_value(text.as_bytes()).unwrap())).unwrap_err();
        assert_eq!(error.because(), because, "{text}");
    }
}
