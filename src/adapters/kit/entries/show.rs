//! What a program shows of a node: the entry as it was, in the shape of its
//! context, by the quirks of its dialect.

use memchr::memmem::Finder;
use std::sync::LazyLock;

use crate::adapters::kit::mapping::{NoIds, Parents, Rendered, To};
use crate::adapters::kit::tree::draft::push_whole;
use crate::adapters::kit::tree::entry::get;
use crate::adapters::kit::tree::schema::TreeSchema;
use crate::json::{self, Kind, Member};
use crate::model::event::{EventKind, EventRef};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::model::shown::{Place, Shown};
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{self as js, Numbers};

use super::content::Parts;
use super::schema::{ContentRule, EntrySchema, OlderCompactions, Quirks, Shows, SystemRule};

/// Hands on what is shown of one node.
pub(in crate::adapters) fn show(
    shown: &Shown<'_>,
    shapes: &Shapes,
    schema: EntrySchema,
    hand_on: &mut dyn FnMut(&[u8]),
) -> Result<(), StreamError> {
    let event = &shown.event;
    if !matches!(event.kind, EventKind::Message | EventKind::Compaction | EventKind::BranchSummary | EventKind::Custom) {
        return Ok(());
    }
    // A message names its dialect only where that is not the first.
    if let Some(record) = shown.record.filter(|_| event.kind == EventKind::Message && !names_a_dialect(event.payload)) {
        show_record(shown, record, schema.dialect.quirks, hand_on);
        return Ok(());
    }
    let given: Vec<Member<'_>> = json::all_members(event.payload);
    let Some((record, schema)) = schema.of_event(event.kind, event.parent, &given) else { return Ok(()) };
    let quirks = schema.dialect.quirks;
    let rendered = Rendered { payload: event.payload, ts: event.ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    let mut out = Vec::with_capacity(event.payload.len());
    let Some(table) = schema.table(record) else {
        push_whole::<EntrySchema>(event.payload, &mut out);
        show_record(shown, &out, quirks, hand_on);
        return Ok(());
    };
    let to = To { style: EntrySchema::STYLE, depth: 0, out: &mut out };
    table
        .render_members(&rendered, &given, shapes, &Parts, &mut NoIds, to)
        .ok_or_else(|| StreamError::log(event.seq, "names a shape that the log does not have"))?;
    show_record(shown, &out, quirks, hand_on);
    Ok(())
}

/// Tells whether a message may name its dialect.
fn names_a_dialect(payload: &[u8]) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"words\":"));
    NAME.find(payload).is_some()
}

/// Hands on what is shown of a record.
fn show_record(shown: &Shown<'_>, record: &[u8], quirks: Quirks, hand_on: &mut dyn FnMut(&[u8])) {
    // What is carried whole need not be an object.
    if json::kind_of(record) != Kind::Object {
        return;
    }
    let mut of_message = Vec::new();
    let members = json::all_members_opening(record, "message", &mut of_message);
    let entry = Entry { members: &members, quirks };
    let shows_more = quirks.shows == Shows::Everything;
    if shown.event.kind == EventKind::Compaction {
        let is_reset = js::map_key(get(&members, "type")).as_deref() == Some(b"\"reset\"");
        if is_reset {
            return;
        }
        if shown.place == Place::Compaction || quirks.older_compactions == OlderCompactions::Shown {
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
    quirks: Quirks,
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
            js::push_printed(value, self.1, &mut self.0);
        }
    }

    fn time(&mut self, ms: Option<i64>) {
        // A time that cannot be read is NaN, and that is printed as null.
        let text = ms.map_or_else(|| "null".to_owned(), |ms| ms.to_string());
        self.member("timestamp", Some(text.as_bytes()));
    }

    fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

impl Entry<'_> {
    fn replaces_system(&self) -> bool {
        self.quirks.system == SystemRule::ReplacedByCompaction
    }

    fn ms(&self) -> Option<i64> {
        // A time that cannot be one makes the whole load fail, which is said elsewhere.
        js::to_time(get(self.members, "timestamp")).unwrap_or_default()
    }

    fn compaction(&self, edit: Option<&EventRef<'_>>, hand_on: &mut dyn FnMut(&[u8])) {
        let system = get(self.members, "systemMessage").filter(|message| self.replaces_system() && js::is_truthy(message));
        if let Some(system) = system {
            let members: Vec<Member<'_>> = if json::kind_of(system) == Kind::Object { json::all_members(system) } else { Vec::new() };
            let role = js::map_key(get(&members, "role")).unwrap_or_default();
            match edit.and_then(|edit| edited(&role, replacement(edit))) {
                Some(content) => hand_on(&self.with_content(&members, Some(&content), None)),
                None => {
                    let mut out = Vec::new();
                    js::push_printed(system, self.quirks.numbers, &mut out);
                    hand_on(&out);
                }
            }
        }
        let mut object = Object::new("compactionSummary", self.quirks.numbers);
        object.member("summary", get(self.members, "summary"));
        object.member("tokensBefore", get(self.members, "tokensBefore"));
        object.time(self.ms());
        hand_on(&object.close());
    }

    fn branch_summary(&self, hand_on: &mut dyn FnMut(&[u8])) {
        let Some(summary) = get(self.members, "summary").filter(|summary| js::is_truthy(summary)) else { return };
        let mut object = Object::new("branchSummary", self.quirks.numbers);
        object.member("summary", Some(summary));
        object.member("fromId", get(self.members, "fromId"));
        object.time(self.ms());
        hand_on(&object.close());
    }

    fn custom_message(&self, edit: Option<&EventRef<'_>>, hand_on: &mut dyn FnMut(&[u8])) {
        let mut object = Object::new("custom", self.quirks.numbers);
        object.member("customType", get(self.members, "customType"));
        let stored = get(self.members, "content");
        let fills = self.quirks.content == ContentRule::FillMissing && stored.is_none_or(|content| content == b"null");
        let replaced = edit.map(replacement);
        let content = match &replaced {
            Some(new) => new.as_deref(),
            None if fills => Some(&b"[]"[..]),
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
        if shown.place == Place::Kept && role.as_ref() == b"\"system\"" && self.replaces_system() {
            return;
        }
        // A role that the loader renames is said in other words in the log.
        // Older logs have that word as the role.
        let said = || json::members(shown.event.payload).take(2).any(|member| member.value == b"\"custom\"");
        let is_renamed = role.as_ref() == b"\"hookMessage\"" && said();
        let role: &[u8] = if is_renamed { b"\"custom\"" } else { &role };
        let replaced = shown.edit.as_ref().and_then(|edit| edited(role, replacement(edit)));
        let new = replaced.or_else(|| match self.quirks.content {
            ContentRule::FillMissing => filled(role, content).map(Some),
            ContentRule::ListAnswers => listed(role, content).map(Some),
            ContentRule::AsStored => None,
        });
        if new.is_none() && !is_renamed {
            return hand_on(&js::printed(message, self.quirks.numbers));
        }
        hand_on(&self.with_content(members, new.as_ref(), is_renamed.then_some(role)));
    }

    /// Returns a message with other content, or none, and perhaps another role.
    fn with_content(&self, members: &[Member<'_>], new: Option<&Option<Vec<u8>>>, role: Option<&[u8]>) -> Vec<u8> {
        let mut out = b"{".to_vec();
        let mut push = |key: &[u8], value: &[u8]| push_member(key, value, self.quirks.numbers, &mut out);
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
    js::push_printed(value, numbers, out);
}

/// Returns the content that a program puts in the place of missing content.
fn filled(role: &[u8], content: Option<&[u8]>) -> Option<Vec<u8>> {
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

/// Returns the content that an edit puts in the place of another: perhaps none.
fn replacement(edit: &EventRef<'_>) -> Option<Vec<u8>> {
    let replacement = json::members(edit.payload).find(|member| member.is("replacement"))?;
    let mut source = Vec::new();
    EntrySchema::STYLE.push_value(replacement.value, &mut source);
    if json::kind_of(&source) != Kind::Object {
        return None;
    }
    let content = json::members(&source).filter(|member| member.is("content")).last()?;
    Some(content.value.to_vec())
}

/// Returns the replaced content of a message of this role; some cannot be edited.
fn edited(role: &[u8], content: Option<Vec<u8>>) -> Option<Option<Vec<u8>>> {
    match role {
        b"\"assistant\"" | b"\"toolResult\"" if content.as_ref().is_some_and(|content| json::kind_of(content) == Kind::String) => {
            Some(content.as_deref().map(text_part))
        }
        b"\"user\"" | b"\"assistant\"" | b"\"toolResult\"" | b"\"custom\"" => Some(content),
        _ => None,
    }
}
