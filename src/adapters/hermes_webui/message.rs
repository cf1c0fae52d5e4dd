//! Rows to messages: their normal form, and what tells two of them apart.

use foldhash::fast::FixedState;
use memchr::memmem::Finder;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use crate::adapters::kit::mapping::{self, NoIds, ParentId, Parents, Rendered, Setting, has_a_name_twice};
use crate::json::{Escapes, Member, Style, Value};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::text::strip;
use crate::runtimes::python::value::{is_truthy, last_named, pick, str_or_empty};

use super::content::Rows;
use super::wire::{MESSAGE, MESSAGE_ORDER, NOT_SENT};

/// Why a message is hidden from the loader, as its payload says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// The same unfinished answer once more: the loader keeps the first.
    Collapsed,
    /// A record of a file that the program cannot read.
    Salvaged,
}

impl Hidden {
    fn payload(self) -> &'static [u8] {
        match self {
            Hidden::Collapsed => br#"{"from":["loader"],"why":"the same partial answer once more"}"#,
            Hidden::Salvaged => br#"{"from":["loader"],"why":"salvaged from a file that cannot be read"}"#,
        }
    }
}

/// A row in its normal form.
pub(super) struct Normal<'a> {
    pub members: Vec<Member<'a>>,
    pub ts: String,
    /// The payload without its closing brace.
    pub payload: Vec<u8>,
    /// No rendering gives such a row back.
    has_a_key_twice: bool,
}

impl<'a> Normal<'a> {
    /// Returns the normal form of an object.
    pub(super) fn of(row: Value<'a>, writer: Escapes, hidden: Option<Hidden>) -> Normal<'a> {
        let members: Vec<Member<'a>> = row.all_members();
        let setting = Setting { writer, parent: ParentId::Unwritten };
        let mut payload = Vec::with_capacity(row.text().len() + 64);
        // Of equal keys the last counts.
        let counts = |n: usize| !members[n + 1..].iter().any(|later| later.key() == members[n].key() || later.name() == members[n].name());
        let counted: Option<Vec<Member<'a>>> =
            has_a_name_twice(&members).then(|| (0..members.len()).filter(|n| counts(*n)).map(|n| members[n]).collect());
        // The table opens nothing, so every object can be taken apart.
        let mut taken = MESSAGE.claim(counted.as_ref().unwrap_or(&members), setting, &NoIds).unwrap_or_default();
        if let Some(hidden) = hidden {
            taken.say("hidden", hidden.payload().to_vec());
        }
        taken.push_payload(&MESSAGE_ORDER, &Rows, &MESSAGE, 0, writer, &mut payload);
        payload.pop();
        let ts = taken.seconds.unwrap_or_default();
        Normal { members, ts, payload, has_a_key_twice: counted.is_some() }
    }

    /// Returns the number of the shape that its keys stand in.
    pub(super) fn shape(&self, shapes: &mut Shapes) -> usize {
        MESSAGE.shape(&self.members, shapes)
    }

    /// Returns the payload as it stands in the log.
    pub(super) fn finished(&self, shape: usize) -> Vec<u8> {
        let mut whole = self.payload.clone();
        if shape > 0 {
            whole.extend_from_slice(format!(",\"shape\":{shape}").as_bytes());
        }
        whole.push(b'}');
        whole
    }

    /// Returns what tells this row from others, order of keys included: as it is, and
    /// as the program sends it to a browser.
    /// Nothing where the row cannot be rendered again.
    pub(super) fn prints(&self) -> Option<Prints> {
        if self.has_a_key_twice {
            return None;
        }
        let hasher = FixedState::with_seed(1);
        let keys = |kept: &dyn Fn(&str) -> bool| {
            self.members.iter().map(Member::name).filter(|name| kept(name)).fold(String::new(), |all, name| all + &name + "\u{0}")
        };
        let whole = self.finished(0);
        let is_sent = |name: &str| !NOT_SENT.contains(&name);
        let stored = hasher.hash_one((&self.ts, &whole, keys(&|_| true)));
        if self.members.iter().all(|member| is_sent(&member.name())) {
            return Some(Prints { stored, sent: stored });
        }
        Some(Prints { stored, sent: hasher.hash_one((&self.ts, sent_payload(Value::trusted(&whole)), keys(&is_sent))) })
    }
}

/// Hashes of a row; collisions are excluded by the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prints {
    pub stored: u64,
    pub sent: u64,
}

/// Returns a message's payload without what the program sends to nobody.
pub(super) fn sent_payload(payload: Value<'_>) -> Vec<u8> {
    let mut out = vec![b'{'];
    let mut put = |key: &[u8], value: &[u8]| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        out.push(b':');
        out.extend_from_slice(value);
    };
    for member in payload.members() {
        if member.key() != b"\"ext\"" {
            put(member.key(), member.value().text());
            continue;
        }
        let mut kept = vec![b'{'];
        for held in member.value().members().filter(|held| !NOT_SENT.contains(&held.name().as_ref())) {
            if kept.len() > 1 {
                kept.push(b',');
            }
            kept.extend_from_slice(held.key());
            kept.push(b':');
            kept.extend_from_slice(held.value().text());
        }
        if kept.len() > 1 {
            kept.push(b'}');
            put(member.key(), &kept);
        }
    }
    out.push(b'}');
    out
}

/// Renders a message as the row that it was; `None` where it names a shape
/// that there is not.
pub(super) fn render(payload: &[u8], ts: Option<&str>, shapes: &Shapes, style: Style, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    let rendered = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    MESSAGE.render(&rendered, shapes, &Rows, &mut NoIds, mapping::To { style, depth, out })
}

/// Returns what the program compares two unfinished answers by; `None` for rows that
/// are not.
pub(super) fn partial_signature(row: Value<'_>) -> Option<Vec<u8>> {
    static PARTIAL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_partial"));
    if !row.is_object() || PARTIAL.find(row.text()).is_none() {
        return None;
    }
    let members: Vec<Member<'_>> = row.all_members();
    let get = |name: &str| last_named(&members, name);
    if !get("_partial").is_some_and(is_truthy) {
        return None;
    }
    let mut signature = Vec::new();
    for name in ["content", "reasoning"] {
        signature.extend_from_slice(strip(&str_or_empty(get(name))));
        signature.push(0);
    }
    let calls = get("_partial_tool_calls").filter(|calls| calls.is_array());
    for call in calls.into_iter().flat_map(Value::elements).filter(|call| call.is_object()) {
        let [name, args, done, error, preview, snippet] = pick(call, ["name", "args", "done", "is_error", "preview", "snippet"]);
        let is_set = |flag: Option<Value<'_>>| u8::from(flag.is_some_and(is_truthy));
        signature.extend_from_slice(&str_or_empty(name));
        signature.push(1);
        push(args.filter(|args| is_truthy(*args)).unwrap_or(Value::EMPTY_OBJECT), Form::SortedRepr, &mut signature);
        signature.extend([is_set(done), is_set(error)]);
        signature.extend_from_slice(&str_or_empty(preview.filter(|preview| is_truthy(*preview)).or(snippet)));
        signature.push(0);
    }
    Some(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::hermes_webui::wire::{DOCUMENT_STYLE, JOURNAL_STYLE};

    fn through(row: &str, style: Style) -> (String, String) {
        let mut shapes = Shapes::new(MESSAGE.order());
        let normal = Normal::of(Value::trusted(row.as_bytes()), style.escapes, None);
        let shape = normal.shape(&mut shapes);
        let payload = normal.finished(shape);
        let mut out = Vec::new();
        render(&payload, Some(&normal.ts).filter(|ts| !ts.is_empty()).map(String::as_str), &shapes, style, 0, &mut out).unwrap();
        (String::from_utf8(payload).unwrap(), String::from_utf8(out).unwrap())
    }

    #[test]
    fn rows_of_every_writer_come_back() {
        for row in [
            r#"{"role":"user","content":"hi","_db_persisted":true,"timestamp":1794785646.2492297,"id":1,"_active_turn_token":"a:1","api_content":"x"}"#,
            r#"{"role":"assistant","content":"yes","reasoning":"hm","finish_reason":"stop","reasoning_content":"hm","id":2}"#,
            r#"{"role":"assistant","content":"yes","reasoning":"hm","reasoning_content":"other"}"#,
            r#"{"role":"assistant","content":null,"reasoning":null,"tool_calls":[{"id":"c","call_id":"c","response_item_id":"f","type":"function","function":{"name":"t","arguments":"{\"a\": 1}"}},{"id":"d","type":"function","function":{"name":"t","arguments":"{}"}}]}"#,
            r#"{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"other","function":{"name":"t","arguments":"{}"}}]}"#,
            r#"{"role":"assistant","content":"","tool_calls":[]}"#,
            r#"{"role":"tool","name":"t","tool_name":"t","content":"{\"ok\": 1}","tool_call_id":"c","_db_persisted":true,"id":4,"timestamp":7}"#,
            r#"{"role":"tool","tool_call_id":"c","content":"x"}"#,
            r#"{"role":"tool","content":[{"type":"text","text":"a"}],"timestamp":1,"tool_call_id":"c","tool_name":"t","name":"u"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}},{"type":"tool_use","id":"t"},7]}"#,
            r#"{"role":"user","content":[],"name":"bob"}"#,
            r#"{"role":7,"content":{"a":1},"timestamp":"soon","id":"x","_error":null,"tool_call_id":null}"#,
            r#"{"role":"assistant","content":"e","_error":true,"provider_details":"d","timestamp":1794785041}"#,
            r#"{}"#,
        ] {
            assert_eq!(through(row, JOURNAL_STYLE).1, row);
        }
        let indented = "{\n  \"role\": \"user\",\n  \"content\": [\n    {\n      \"type\": \"text\",\n      \"text\": \"a\"\n    }\n  ],\n  \"x\": {}\n}";
        assert_eq!(through(indented, DOCUMENT_STYLE).1, indented);
    }

    #[test]
    fn what_is_not_sent_makes_no_other_row() {
        let value = |text: &'static str| Value::trusted(text.as_bytes());
        let stored = Normal::of(
            value(r#"{"role":"user","content":"a","id":1,"_active_turn_token":"t","api_content":"b","x":1}"#),
            Escapes::Utf8,
            None,
        );
        let sent = Normal::of(value(r#"{"role":"user","content":"a","id":1,"x":1}"#), Escapes::Utf8, None);
        let ordered = Normal::of(value(r#"{"role":"user","content":"a","x":1,"id":1}"#), Escapes::Utf8, None);
        assert_ne!(stored.prints().unwrap().stored, sent.prints().unwrap().stored);
        assert_eq!(stored.prints().unwrap().sent, sent.prints().unwrap().sent);
        assert_eq!(sent.prints().unwrap().stored, sent.prints().unwrap().sent);
        assert_ne!(ordered.prints().unwrap().sent, sent.prints().unwrap().sent);
    }

    #[test]
    fn unfinished_answers_are_compared_as_the_program_compares_them() {
        let sign = |row: &str| partial_signature(Value::trusted(row.as_bytes()));
        let one = sign(r#"{"_partial":true,"content":" a ","timestamp":1,"_partial_tool_calls":[{"name":"t","args":{"a":1,"b":2}}]}"#);
        assert!(one.is_some());
        assert_eq!(
            one,
            sign(r#"{"_partial":1,"content":"a","reasoning":null,"_partial_tool_calls":[{"args":{"b":2,"a":1},"name":"t","done":false}]}"#)
        );
        assert_ne!(one, sign(r#"{"_partial":true,"content":"a","_partial_tool_calls":[{"name":"t","args":{"a":1,"b":2},"done":true}]}"#));
        assert_eq!(sign(r#"{"_partial":false,"content":"a"}"#), None);
        assert_eq!(sign(r#"{"content":"_partial"}"#), None);
    }
}
