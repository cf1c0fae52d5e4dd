//! Targets that reach into other objects, both ways.

use super::Target::{Constant, Given, Inside, NumberText, Object, Shared, Spread, To as Field, Total, Translated, Word};
use super::ValueKind::{Number, Text};
use super::{Ids, NoContent, NoIds, ParentId, Parents, Rendered, Setting, Table, To, Vocabulary};
use crate::json::{self, Escapes, Separators, Style};
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};

const USAGE: Table = Table(&[("in", Field("input", Number))]);
const RECORD: Table = Table(&[("usage", Object("usage", &USAGE)), ("price", Inside("usage", "cost", Number)), ("id", Field("id", Text))]);
const RESULT: Table = Table(&[("type", Constant("\"result\"")), ("content", Translated("content"))]);
const SNAPSHOT: Table = Table(&[("value", Shared("data", "from"))]);
const STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// Returns a record as a payload, and that payload as a record again.
fn there_and_back(table: &Table, record: &str, ids: &mut dyn Ids) -> (String, String) {
    let members = json::all_members(record.as_bytes());
    let mut shapes = Shapes::new(Order::default());
    let mut claim = table.claim(&members, Setting { writer: Escapes::Utf8, parent: ParentId::Unwritten }, ids).unwrap();
    let shape = claim.shape(table, &members, &mut shapes);
    let (mut payload, mut back) = (Vec::new(), Vec::new());
    claim.push_payload(&["id", "usage", "data", "from", "role", "source_role"], &NoContent, table, shape, Escapes::Utf8, &mut payload);
    let event = Rendered { payload: &payload, ts: None, parent: Seq::ROOT, parents: Parents::Unwritten };
    table.render(&event, &shapes, &NoContent, ids, To { style: STYLE, depth: 0, out: &mut back }).unwrap();
    (String::from_utf8(payload).unwrap(), String::from_utf8(back).unwrap())
}

#[test]
fn a_value_goes_into_the_object_that_another_key_gives() {
    let payloads = [
        (r#"{"usage":{"in":4},"price":0.10,"id":"a"}"#, r#"{"id":"a","usage":{"input":4,"cost":0.10}}"#),
        (r#"{"usage":{},"price":1,"id":"a"}"#, r#"{"id":"a","usage":{"cost":1}}"#),
        // The object's own member of that name is not confused with it.
        (r#"{"usage":{"in":4,"cost":7},"price":1,"id":"a"}"#, r#"{"id":"a","usage":{"input":4,"ext":{"cost":7},"cost":1}}"#),
        (r#"{"usage":{"in":4,"cost":7},"id":"a"}"#, r#"{"id":"a","usage":{"input":4,"ext":{"cost":7}}}"#),
        // The object may come after it.
        (r#"{"price":2,"usage":{"in":4},"id":"a"}"#, r#"{"id":"a","usage":{"input":4,"cost":2},"shape":1}"#),
        // Without such an object, or with another kind of value, it is carried beside it.
        (r#"{"price":2,"id":"a"}"#, r#"{"id":"a","ext":{"price":2}}"#),
        (r#"{"usage":null,"price":2,"id":"a"}"#, r#"{"id":"a","ext":{"usage":null,"price":2}}"#),
        (r#"{"usage":{"in":4},"price":"2","id":"a"}"#, r#"{"id":"a","usage":{"input":4},"ext":{"price":"2"}}"#),
    ];
    for (record, payload) in payloads {
        assert_eq!(there_and_back(&RECORD, record, &mut NoIds), (payload.to_owned(), record.to_owned()));
    }
}

#[test]
fn a_translated_value_is_taken_and_rendered_as_it_is() {
    let encode = |record: &str| {
        let mut out = Vec::new();
        let is_object = RESULT.push_object(&json::all_members(record.as_bytes()), &[("kind", "1")], Escapes::Utf8, &mut out);
        is_object.then(|| String::from_utf8(out).unwrap())
    };
    let decode = |payload: &str| {
        let mut out = Vec::new();
        RESULT.render_object(payload.as_bytes(), To { style: STYLE, depth: 0, out: &mut out });
        String::from_utf8(out).unwrap()
    };
    // Spaces inside show that the value is not written anew.
    let record = r#"{"type":"result","content":[ {"a": 1} ]}"#;
    let payload = r#"{"kind":1,"content":[ {"a": 1} ]}"#;
    assert_eq!(encode(record).as_deref(), Some(payload));
    assert_eq!(decode(payload), record);
    // Only a list has been translated; anything else is the source's own value.
    let record = r#"{"type":"result","content":"a"}"#;
    let payload = r#"{"kind":1,"ext":{"content":"a"}}"#;
    assert_eq!(encode(record).as_deref(), Some(payload));
    assert_eq!(decode(payload), record);
    assert_eq!(encode(r#"{"type":"result","content":[],"content":[]}"#), None, "a key that comes twice cannot be given back");
}

/// One event before has this value.
struct Before(&'static [u8]);

impl Ids for Before {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }

    fn first_with(&self, value: &[u8]) -> Option<Seq> {
        (value == self.0).then_some(Seq::new(7))
    }

    fn value(&mut self, seq: Seq, name: &str) -> Option<Vec<u8>> {
        (seq == Seq::new(7) && name == "data").then(|| self.0.to_vec())
    }
}

#[test]
fn a_value_that_an_event_before_has_is_named_and_not_repeated() {
    let mut ids = Before(b"[1,2]");
    let record = r#"{"value":[1,2]}"#;
    assert_eq!(there_and_back(&SNAPSHOT, record, &mut ids), (r#"{"from":7}"#.to_owned(), record.to_owned()));
    // The bytes decide: an equal value in another form is another value.
    let record = r#"{"value":[1,2.0]}"#;
    assert_eq!(there_and_back(&SNAPSHOT, record, &mut ids), (r#"{"data":[1,2.0]}"#.to_owned(), record.to_owned()));
}

const CACHE: Table = Table(&[("read", Field("cache_read", Number)), ("write", Field("cache_write", Number))]);
const TOKENS: Table = Table(&[("in", Field("input", Number)), ("cache", Spread(&CACHE)), ("of", Given("owner"))]);

#[test]
fn members_of_an_inner_object_become_members_of_the_one_around_it() {
    let is_given = |name: &str, value: &[u8]| name == "owner" && value == b"\"ann\"";
    let cases = [
        (r#"{"in":1,"cache":{"read":2,"write":3},"of":"ann"}"#, r#"{"input":1,"cache_read":2,"cache_write":3}"#),
        // Another order, another key or another kind of value cannot be given back.
        (r#"{"in":1,"cache":{"write":3,"read":2},"of":"ann"}"#, r#"{"input":1,"ext":{"cache":{"write":3,"read":2}}}"#),
        (r#"{"in":1,"cache":{"read":2},"of":"ann"}"#, r#"{"input":1,"ext":{"cache":{"read":2}}}"#),
        (r#"{"in":1,"cache":{"read":2,"write":null},"of":"ann"}"#, r#"{"input":1,"ext":{"cache":{"read":2,"write":null}}}"#),
        // What the surroundings do not say is carried.
        (r#"{"in":1,"of":"bob"}"#, r#"{"input":1,"ext":{"of":"bob"}}"#),
        (r#"{"in":1}"#, r#"{"input":1,"ext":{"$absent":["of"]}}"#),
    ];
    for (record, payload) in cases {
        let (mut out, mut back) = (Vec::new(), Vec::new());
        assert!(TOKENS.push_object_given(&json::all_members(record.as_bytes()), &[], &is_given, Escapes::Utf8, &mut out));
        assert_eq!(String::from_utf8_lossy(&out), payload);
        let mut given = json::all_members(&out);
        given.push(json::Member { key: b"\"owner\"", value: b"\"ann\"" });
        TOKENS.render_opened_object(&given, To { style: STYLE, depth: 0, out: &mut back });
        assert_eq!(String::from_utf8_lossy(&back), record);
    }
}

static ROLES: Vocabulary = Vocabulary {
    name: "role",
    source_name: "source_role",
    words: &[("\"human\"", "\"user\""), ("\"person\"", "\"user\""), ("\"bot\"", "\"assistant\"")],
    other: "\"system\"",
};
const SPOKEN: Table = Table(&[("by", Word(&ROLES)), ("n", NumberText("id"))]);

#[test]
fn a_word_of_the_source_is_kept_where_the_logs_word_does_not_give_it_back() {
    for (record, payload) in [
        (r#"{"by":"human"}"#, r#"{"role":"user"}"#),
        (r#"{"by":"person"}"#, r#"{"role":"user","source_role":"person"}"#),
        // The log's own word, said by the source, is another word of the source.
        (r#"{"by":"user"}"#, r#"{"role":"system","source_role":"user"}"#),
        (r#"{"by":"h\u0075man"}"#, r#"{"role":"user","source_role":"h\u0075man"}"#),
        (r#"{"by":7}"#, r#"{"ext":{"by":7}}"#),
        (r#"{"by":"bot","n":1e2}"#, r#"{"id":"1e2","role":"assistant"}"#),
        (r#"{"n":"7"}"#, r#"{"ext":{"n":"7"}}"#),
    ] {
        assert_eq!(there_and_back(&SPOKEN, record, &mut NoIds), (payload.to_owned(), record.to_owned()));
    }
}

#[test]
fn a_payload_of_an_older_log_has_the_words_of_its_source() {
    let shapes = Shapes::new(Order::default());
    for (payload, record) in [(r#"{"role":"oracle"}"#, r#"{"by":"oracle"}"#), (r#"{"id":5,"role":"bot"}"#, r#"{"by":"bot","n":5}"#)] {
        let event = Rendered { payload: payload.as_bytes(), ts: None, parent: Seq::ROOT, parents: Parents::Unwritten };
        let mut back = Vec::new();
        SPOKEN.render(&event, &shapes, &NoContent, &mut NoIds, To { style: STYLE, depth: 0, out: &mut back }).unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), record);
    }
}

const PRICE: Table = Table(&[("in", Field("input", Number)), ("sum", Field("total", Number))]);
const BILL: Table = Table(&[("cost", Total("cost", "cost_parts", &PRICE))]);
const BILLED: Table = Table(&[("usage", Object("usage", &BILL))]);

#[test]
fn the_total_of_a_sum_is_a_fact_beside_its_parts() {
    for (record, payload) in [
        (r#"{"usage":{"cost":{"in":1,"sum":0.10}}}"#, r#"{"usage":{"cost":0.10,"cost_parts":{"input":1}}}"#),
        (
            r#"{"usage":{"cost":{"sum":2,"in":1,"x":3}}}"#,
            r#"{"usage":{"cost":2,"cost_parts":{"input":1,"ext":{"x":3},"order":["sum","in","x"]}}}"#,
        ),
        (r#"{"usage":{"cost":{"in":1}}}"#, r#"{"usage":{"cost_parts":{"input":1}}}"#),
        (r#"{"usage":{"cost":{"sum":"free"}}}"#, r#"{"usage":{"cost_parts":{"ext":{"sum":"free"}}}}"#),
        (r#"{"usage":{"cost":5}}"#, r#"{"usage":{"ext":{"cost":5}}}"#),
        (r#"{"usage":{"cost":{}}}"#, r#"{"usage":{"cost_parts":{}}}"#),
    ] {
        assert_eq!(there_and_back(&BILLED, record, &mut NoIds), (payload.to_owned(), record.to_owned()));
    }
    // Older logs have the total among its parts.
    let mut back = Vec::new();
    BILL.render_object(br#"{"cost":{"input":1,"total":0.10}}"#, To { style: STYLE, depth: 0, out: &mut back });
    assert_eq!(String::from_utf8(back).unwrap(), r#"{"cost":{"in":1,"sum":0.10}}"#);
}
