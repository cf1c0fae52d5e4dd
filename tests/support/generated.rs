//! Sessions made up by proptest: a small gptme that appends, undoes, edits,
//! branches, checkpoints, and now and then leaves damage behind.

use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One thing that happens to a session.
#[derive(Debug, Clone)]
pub enum Op {
    Append(Message),
    Undo(u8),
    Edit(u8, Message),
    Branch(u8),
    /// Bytes at the end of the transcript, or of the event log.
    Damage(Vec<u8>, bool),
    /// The same message once more.
    Again(u8),
}

#[derive(Debug, Clone)]
pub struct Message {
    role: u8,
    content: Vec<u16>,
    micros: u32,
    flags: u8,
    tokens: Option<u32>,
}

fn text() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        6 => 32u16..127,
        1 => 0u16..32,
        1 => 127u16..0xa1,
        1 => prop_oneof![Just(0x2028u16), Just(0xfeff), Just(0xe9), Just(0x4f60)],
        1 => 0xd800u16..0xe000,
    ];
    proptest::collection::vec(unit, 0..40)
}

fn message() -> impl Strategy<Value = Message> {
    (0u8..3, text(), 0u32..3, any::<u8>(), proptest::option::of(0u32..5000)).prop_map(|(role, content, micros, flags, tokens)| Message {
        role,
        content,
        micros,
        flags,
        tokens,
    })
}

/// A history of up to this many operations.
pub fn history(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        8 => message().prop_map(Op::Append),
        1 => (0u8..4).prop_map(Op::Undo),
        1 => (any::<u8>(), message()).prop_map(|(at, message)| Op::Edit(at, message)),
        1 => (0u8..3).prop_map(Op::Branch),
        1 => (proptest::collection::vec(any::<u8>(), 1..30), any::<bool>()).prop_map(|(bytes, events)| Op::Damage(bytes, events)),
        1 => any::<u8>().prop_map(Op::Again),
    ];
    proptest::collection::vec(op, 0..most)
}

/// CPython's `json.dumps` of a string.
fn dumps(units: &[u16]) -> String {
    let mut out = String::from("\"");
    for &unit in units {
        match unit {
            0x22 => out.push_str("\\\""),
            0x5c => out.push_str("\\\\"),
            10 => out.push_str("\\n"),
            13 => out.push_str("\\r"),
            9 => out.push_str("\\t"),
            8 => out.push_str("\\b"),
            12 => out.push_str("\\f"),
            0x20..=0x7e => out.push(char::from(unit as u8)),
            _ => out.push_str(&format!("\\u{unit:04x}")),
        }
    }
    out.push('"');
    out
}

impl Message {
    /// The record, as gptme writes it; flags choose what else it has, and in
    /// rare cases a form that gptme does not write.
    fn record(&self, second: usize) -> String {
        let role = ["user", "assistant", "system"][usize::from(self.role)];
        let micros = ["", ".000120", ".5"][self.micros as usize];
        let zone = if self.flags & 1 == 1 { "+00:00" } else { "" };
        let time = format!("2026-01-02T{:02}:{:02}:{:02}{micros}{zone}", second / 3600 % 24, second / 60 % 60, second % 60);
        let mut fields =
            vec![format!("\"role\": \"{role}\""), format!("\"content\": {}", dumps(&self.content)), format!("\"timestamp\": \"{time}\"")];
        if self.flags & 2 == 2 {
            fields.push("\"files\": [\"/a b/c.txt\", \"http://x/y\"]".to_owned());
            fields.push("\"file_hashes\": {\"/a b/c.txt\": \"0123456789abcdef\"}".to_owned());
        }
        if self.flags & 4 == 4 {
            fields.push("\"pinned\": true".to_owned());
        }
        if self.flags & 24 == 24 {
            fields.push("\"future\": {\"x\": [1.10, null]}".to_owned());
        }
        if self.flags & 32 == 32 && self.role == 2 {
            fields.push("\"call_id\": \"call-1\"".to_owned());
        }
        if let Some(tokens) = self.tokens {
            let usage = format!("{{\"input_tokens\": {tokens}, \"output_tokens\": 1e-05}}");
            fields.push(format!("\"metadata\": {{\"model\": \"m/x\", \"usage\": {usage}, \"timings\": {{\"gen_ms\": {tokens}.0}}}}"));
        }
        if self.flags & 0xc0 == 0xc0 {
            fields.swap(0, 2);
        }
        format!("{{{}}}", fields.join(", "))
    }
}

struct Session {
    list: Vec<String>,
    branches: BTreeMap<String, Vec<String>>,
    events: Vec<u8>,
    seq: u32,
    tail: Vec<u8>,
}

impl Session {
    fn event(&mut self, kind: &str, payload: &str) {
        self.seq += 1;
        let line = format!(
            "{{\"seq\": {}, \"ts\": \"2026-01-02T00:00:00.000001+00:00\", \"type\": \"{kind}\", \"payload\": {payload}}}\n",
            self.seq
        );
        self.events.extend_from_slice(line.as_bytes());
        if self.seq.is_multiple_of(10) && kind != "checkpoint" {
            let all = format!("{{\"messages\": [{}]}}", self.list.join(", "));
            self.event("checkpoint", &all);
        }
    }

    fn apply(&mut self, second: usize, op: &Op) {
        match op {
            Op::Append(message) => {
                let record = message.record(second);
                self.list.push(record.clone());
                self.event("message_append", &format!("{{\"message\": {record}}}"));
            }
            Op::Again(at) if !self.list.is_empty() => {
                let record = self.list[usize::from(*at) % self.list.len()].clone();
                self.list.push(record.clone());
                self.event("message_append", &format!("{{\"message\": {record}}}"));
            }
            Op::Undo(n) => {
                self.branches.insert(format!("main-undo-{}", self.branches.len()), self.list.clone());
                self.list.truncate(self.list.len().saturating_sub(usize::from(*n)));
                let payload = if *n == 1 { "{}".to_owned() } else { format!("{{\"n\": {n}}}") };
                self.event("undo", &payload);
            }
            Op::Edit(at, message) if !self.list.is_empty() => {
                self.branches.insert(format!("main-edit-{}", self.branches.len()), self.list.clone());
                let at = usize::from(*at) % self.list.len();
                self.list[at] = message.record(second);
                let all = format!("{{\"messages\": [{}]}}", self.list.join(", "));
                self.event("message_edit", &all);
            }
            Op::Branch(name) => {
                self.branches.insert(format!("b{name}"), self.list.clone());
            }
            Op::Damage(bytes, true) => self.events.extend_from_slice(bytes),
            Op::Damage(bytes, false) => self.tail.extend_from_slice(bytes),
            Op::Again(_) | Op::Edit(..) => {}
        }
    }
}

/// The files that a history leaves behind.
pub fn files(history: &[Op]) -> Files {
    let mut session = Session { list: Vec::new(), branches: BTreeMap::new(), events: Vec::new(), seq: 0, tail: Vec::new() };
    for (second, op) in history.iter().enumerate() {
        session.apply(second, op);
    }
    let mut files = Files::new("made-up");
    let mut put = |path: String, bytes: Vec<u8>| {
        files.insert(RelPath::new(path), Entry::File(SourceFile { bytes, mtime_ns: 1_700_000_000_123_456_789 }))
    };
    let lines = |list: &[String]| list.iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes();
    put("conversation.jsonl".to_owned(), [lines(&session.list), session.tail].concat());
    put("events.jsonl".to_owned(), session.events);
    for (name, list) in &session.branches {
        put(format!("branches/{name}.jsonl"), lines(list));
    }
    files
}
