//! What a program shows of a node: the entry as it was, in the shape of its
//! context.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::mapping::{NoIds, Parents, Rendered, To};
use crate::model::event::{EventKind, EventRef};
use crate::model::ids::Seq;
use crate::model::json::{self, Kind, Member};
use crate::model::shape::Shapes;
use crate::model::shown::{Place, Shown};
use crate::model::stream::StreamError;

use super::content::Parts;
use super::draft::push_whole;
use super::entry::get;
use super::js::{self, Numbers};
use super::read::USUAL;
use super::render::record_of;
use super::tables::Words;

/// How a program treats what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Habits {
    /// pi 1.5: missing content is mended, system messages before a compaction
    /// are left out.
    Pi,
    /// The agent core's harness: everything as it is stored.
    Harness,
    /// The tutorial: messages and the latest compaction, and nothing else.
    Tutorial,
    /// OpenClaw 2026.7.1: content of answers and results is always a list.
    OpenClaw,
}

impl Habits {
    /// How numbers are compared with what the program's loader gives.
    fn numbers(self) -> Numbers {
        match self {
            Habits::Pi | Habits::Harness | Habits::Tutorial => Numbers::Printed,
            Habits::OpenClaw => Numbers::Kept,
        }
    }
}

/// Hands on what is shown of one node.
pub(in crate::adapters) fn show(
    shown: &Shown<'_>,
    shapes: &Shapes,
    habits: Habits,
    hand_on: &mut dyn FnMut(&[u8]),
) -> Result<(), StreamError> {
    let event = &shown.event;
    if !matches!(event.kind, EventKind::Message | EventKind::Compaction | EventKind::BranchSummary | EventKind::Custom) {
        return Ok(());
    }
    // Whose words a message is in it says only where they are not pi's own.
    if let Some(record) = shown.record.filter(|_| event.kind == EventKind::Message && !says_whose_words(event.payload)) {
        show_record(shown, record, habits, hand_on);
        return Ok(());
    }
    let given: Vec<Member<'_>> = json::all_members(event.payload);
    let Some((record, words)) = record_of(event.kind, event.parent, &given) else { return Ok(()) };
    let habits = match words {
        Words::Pi => habits,
        Words::Harness => Habits::Harness,
        Words::Tutorial => Habits::Tutorial,
    };
    let rendered = Rendered { payload: event.payload, ts: event.ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    let mut out = Vec::with_capacity(event.payload.len());
    let Some(table) = record.table(words) else {
        push_whole(event.payload, &mut out);
        show_record(shown, &out, habits, hand_on);
        return Ok(());
    };
    let to = To { style: USUAL, depth: 0, out: &mut out };
    table
        .render_members(&rendered, &given, shapes, &Parts, &mut NoIds, to)
        .ok_or_else(|| StreamError::log(event.seq, "names a shape that the log does not have"))?;
    show_record(shown, &out, habits, hand_on);
    Ok(())
}

/// Whether a message may say whose words it is in.
fn says_whose_words(payload: &[u8]) -> bool {
    static WORDS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"words\":"));
    WORDS.find(payload).is_some()
}

/// Hands on what is shown of a record.
fn show_record(shown: &Shown<'_>, record: &[u8], habits: Habits, hand_on: &mut dyn FnMut(&[u8])) {
    // What is carried whole need not be an object.
    if json::kind_of(record) != Kind::Object {
        return;
    }
    let mut of_message = Vec::new();
    let members = json::all_members_opening(record, "message", &mut of_message);
    let entry = Entry { members: &members, habits };
    let shows_more = habits != Habits::Tutorial;
    if shown.event.kind == EventKind::Compaction {
        if shown.place == Place::Compaction || habits == Habits::Harness {
            entry.compaction(shown.edit.as_ref(), hand_on);
        }
    } else if shown.event.kind == EventKind::BranchSummary {
        if shows_more {
            entry.branch_summary(hand_on);
        }
    } else {
        match js::map_key(get(&members, "type")).as_deref() {
            Some(b"\"custom_message\"") if shows_more => entry.custom_message(shown.edit.as_ref(), hand_on),
            Some(b"\"message\"") => {
                if let Some(message) = get(&members, "message").filter(|message| *message != b"null") {
                    entry.message(message, &of_message, shown, hand_on);
                }
            }
            _ => {}
        }
    }
}

struct Entry<'e> {
    members: &'e [Member<'e>],
    habits: Habits,
}

/// An object that is shown.
struct Object(Vec<u8>, Numbers);

impl Object {
    fn new(role: &str, numbers: Numbers) -> Object {
        let mut out = b"{\"role\":".to_vec();
        json::push_string(role, &mut out);
        Object(out, numbers)
    }

    fn member(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.0.push(b',');
            json::push_string(key, &mut self.0);
            self.0.push(b':');
            js::push_value(value, self.1, &mut self.0);
        }
    }

    fn time(&mut self, ms: Option<i64>) {
        // A time that is none is NaN, and that is printed as null.
        let text = ms.map_or_else(|| "null".to_owned(), |ms| ms.to_string());
        self.member("timestamp", Some(text.as_bytes()));
    }

    fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

impl Entry<'_> {
    fn ms(&self) -> Option<i64> {
        // A time that cannot be one makes the whole load fail, which is said elsewhere.
        js::time_of(get(self.members, "timestamp")).unwrap_or_default()
    }

    fn compaction(&self, edit: Option<&EventRef<'_>>, hand_on: &mut dyn FnMut(&[u8])) {
        let system = get(self.members, "systemMessage").filter(|message| self.habits == Habits::Pi && !js::is_falsy(message));
        if let Some(system) = system {
            let members: Vec<Member<'_>> = if json::kind_of(system) == Kind::Object { json::all_members(system) } else { Vec::new() };
            let role = js::map_key(get(&members, "role")).unwrap_or_default();
            match edit.and_then(|edit| edited(&role, replacement(edit))) {
                Some(content) => hand_on(&self.with_content(&members, Some(&content), None)),
                None => {
                    let mut out = Vec::new();
                    js::push_value(system, self.habits.numbers(), &mut out);
                    hand_on(&out);
                }
            }
        }
        let mut object = Object::new("compactionSummary", self.habits.numbers());
        object.member("summary", get(self.members, "summary"));
        object.member("tokensBefore", get(self.members, "tokensBefore"));
        object.time(self.ms());
        hand_on(&object.close());
    }

    fn branch_summary(&self, hand_on: &mut dyn FnMut(&[u8])) {
        let Some(summary) = get(self.members, "summary").filter(|summary| !js::is_falsy(summary)) else { return };
        let mut object = Object::new("branchSummary", self.habits.numbers());
        object.member("summary", Some(summary));
        object.member("fromId", get(self.members, "fromId"));
        object.time(self.ms());
        hand_on(&object.close());
    }

    fn custom_message(&self, edit: Option<&EventRef<'_>>, hand_on: &mut dyn FnMut(&[u8])) {
        let mut object = Object::new("custom", self.habits.numbers());
        object.member("customType", get(self.members, "customType"));
        let stored = get(self.members, "content");
        let mends = self.habits == Habits::Pi && stored.is_none_or(|content| content == b"null");
        let replaced = edit.map(replacement);
        let content = match &replaced {
            Some(new) => new.as_deref(),
            None if mends => Some(&b"[]"[..]),
            None => stored,
        };
        object.member("content", content);
        object.member("display", get(self.members, "display"));
        object.member("details", get(self.members, "details"));
        object.time(self.ms());
        hand_on(&object.close());
    }

    /// A message with these members.
    fn message(&self, message: &[u8], members: &[Member<'_>], shown: &Shown<'_>, hand_on: &mut dyn FnMut(&[u8])) {
        let content = get(members, "content");
        let role = js::map_key(get(members, "role")).unwrap_or_default();
        if shown.place == Place::Kept && role.as_ref() == b"\"system\"" && self.habits == Habits::Pi {
            return;
        }
        // A role that the loader renames is said in other words in the log.
        let said = json::members(shown.event.payload).next().filter(|member| member.is("role")).map(|member| member.value);
        let is_renamed = role.as_ref() == b"\"hookMessage\"" && said == Some(b"\"custom\"");
        let role: &[u8] = if is_renamed { b"\"custom\"" } else { &role };
        let replaced = shown.edit.as_ref().and_then(|edit| edited(role, replacement(edit)));
        let new = replaced.or_else(|| match self.habits {
            Habits::Pi => mended(role, content).map(Some),
            Habits::OpenClaw => listed(role, content).map(Some),
            Habits::Harness | Habits::Tutorial => None,
        });
        if new.is_none() && !is_renamed {
            return hand_on(&js::printed(message, self.habits.numbers()));
        }
        hand_on(&self.with_content(members, new.as_ref(), is_renamed.then_some(role)));
    }

    /// A message with other content, or none, and perhaps another role.
    fn with_content(&self, members: &[Member<'_>], new: Option<&Option<Vec<u8>>>, role: Option<&[u8]>) -> Vec<u8> {
        let mut out = b"{".to_vec();
        let mut push = |key: &[u8], value: &[u8]| push_member(key, value, self.habits.numbers(), &mut out);
        for member in members {
            match member.name().as_ref() {
                "content" if new.is_some() => {}
                "role" if role.is_some() => {}
                _ => push(member.key, member.value),
            }
        }
        if let Some(role) = role {
            push(b"\"role\"", role);
        }
        if let Some(Some(content)) = new {
            push(b"\"content\"", content);
        }
        out.push(b'}');
        out
    }
}

fn push_member(key: &[u8], value: &[u8], numbers: Numbers, out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(key);
    out.push(b':');
    js::push_value(value, numbers, out);
}

/// What stands in the place of missing content.
fn mended(role: &[u8], content: Option<&[u8]>) -> Option<Vec<u8>> {
    match (content.filter(|content| json::kind_of(content) != Kind::Null), role) {
        (Some(_), _) => None,
        (None, b"\"system\"") => Some(b"\"\"".to_vec()),
        (None, b"\"user\"" | b"\"assistant\"" | b"\"toolResult\"") => Some(b"[]".to_vec()),
        (None, _) => None,
    }
}

/// Content of answers and results as a list.
fn listed(role: &[u8], content: Option<&[u8]>) -> Option<Vec<u8>> {
    let content = content?;
    match (role, json::kind_of(content)) {
        (b"\"assistant\"" | b"\"toolResult\"", Kind::String) => Some(text_part(content)),
        (b"\"toolResult\"", Kind::Object) => Some([b"[", content, b"]"].concat()),
        _ => None,
    }
}

fn text_part(text: &[u8]) -> Vec<u8> {
    [b"[{\"type\":\"text\",\"text\":", text, b"}]"].concat()
}

/// The content that an edit puts in the place of another: perhaps none.
fn replacement(edit: &EventRef<'_>) -> Option<Vec<u8>> {
    let replacement = json::members(edit.payload).find(|member| member.is("replacement"))?;
    let mut source = Vec::new();
    USUAL.push_value(replacement.value, &mut source);
    if json::kind_of(&source) != Kind::Object {
        return None;
    }
    let content = json::members(&source).filter(|member| member.is("content")).last()?;
    Some(content.value.to_vec())
}

/// The replaced content of a message of this role; some cannot be edited.
fn edited(role: &[u8], content: Option<Vec<u8>>) -> Option<Option<Vec<u8>>> {
    match role {
        b"\"assistant\"" | b"\"toolResult\"" if content.as_ref().is_some_and(|content| json::kind_of(content) == Kind::String) => {
            Some(content.as_deref().map(text_part))
        }
        b"\"user\"" | b"\"assistant\"" | b"\"toolResult\"" | b"\"custom\"" => Some(content),
        _ => None,
    }
}
