//! What a resumed session sends to the model of one item.

use std::borrow::Cow;

use sha1::{Digest, Sha1};
use uuid::{Builder, Uuid};

use crate::adapters::kit::mapping::To;
use crate::json::{self, Kind, Member, Value};
use crate::model::event::EventKind;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::{MessageRenderer, Shown};
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{self, Numbers};
use crate::runtimes::rust;

use super::item::Item;
use super::members::{get, inside, members_of, some, text};
use super::message::{self, AGENT_RECORD, AS_STORED, Form, LINES};

/// What stands for an image that is only named by its address.
const NO_REMOTE_IMAGES: &[u8] = b"{\"type\":\"input_text\",\"text\":\"image content omitted because remote image URLs are not supported\"}";

/// The word of an edit for a call that nothing answers.
const UNANSWERED: &[u8] = b"\"unanswered_call\"";

/// The word of an edit for an output that is shown without its empty texts.
const WITHOUT_EMPTY_TEXTS: &[u8] = b"\"without_empty_texts\"";

/// The namespace of the ids that Codex makes for outputs.
const NAMESPACE: Uuid = Uuid::from_u128(0x90d3_8d3e_6a5b_4d52_bfe2_2f1e_634b_fac4);

/// Makes what renders the messages of a log with these shapes.
pub(super) fn message_renderer(shapes: &[Order]) -> Box<MessageRenderer> {
    // The order of keys does not matter for what is shown.
    let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
    Box::new(move |shown, hand_on| show(shown, &shapes, hand_on))
}

fn show(shown: &Shown<'_>, shapes: &Shapes, hand_on: &mut dyn FnMut(&[u8])) -> Result<(), StreamError> {
    let event = &shown.event;
    if event.kind != EventKind::Message {
        return Ok(());
    }
    let edit: Vec<Member<'_>> = shown.edit.map(|edit| inside(&json::all_members(edit.payload), "replacement")).unwrap_or_default();
    let payload: Vec<Member<'_>> = json::all_members(event.payload);
    let words = get(&payload, "words");
    let is_agent_record = get(&payload, "source_type") == Some(AGENT_RECORD.as_bytes());
    let content = get(&edit, "content");
    let mut rendered = Vec::new();
    let item = match shown
        .record
        .filter(|_| content.is_none())
        .and_then(|record| if words.is_some() { Some(record.trim_ascii()) } else { item_of(record) })
    {
        Some(item) => item,
        None => {
            let is_replaced = |member: &Member<'_>| member.is("shape") || (content.is_some() && member.is("content"));
            let mut given: Vec<Member<'_>> = payload.iter().filter(|member| !is_replaced(member)).copied().collect();
            given.extend(content.map(|value| Member { key: b"\"content\"", value }));
            let to = To { style: LINES, depth: 0, out: &mut rendered };
            message::render_message(event.payload, &given, None, Form::Item, shapes, to)
                .ok_or_else(|| StreamError::log(event.seq, "names a shape that the log does not have"))?;
            &rendered
        }
    };
    let mut out = Vec::with_capacity(item.len());
    let mut members = members_of(item);
    if content.is_some() && text(&members, "role").as_deref() == Some("user") {
        // Of a prompt that a compaction has kept only the texts are left.
        members.retain(|member| !member.is("phase") && !member.is("status"));
    }
    if words == Some(AS_STORED.as_bytes()) {
        out = rust::parse(item).map(rust::printed).unwrap_or_else(|| item.to_vec());
    } else if words.is_some() {
        out = javascript::printed_raw(Value::trusted(item), Numbers::Printed).into_owned();
    } else if is_agent_record {
        push_agent_record(&members, &mut out);
    } else {
        let parts = if get(&edit, "shown_as") == Some(WITHOUT_EMPTY_TEXTS) { Parts::WithoutEmptyTexts } else { Parts::All };
        push_item(&members, parts, &mut out);
    }
    hand_on(&out);
    if get(&edit, "shown_as") == Some(UNANSWERED) {
        out.clear();
        push_aborted(&members, &mut out);
        hand_on(&out);
    }
    Ok(())
}

/// The item in a record; `None` where the record holds more than the item.
fn item_of(record: &[u8]) -> Option<&[u8]> {
    let members = members_of(record.trim_ascii());
    let is_one = matches!(get(&members, "type"), Some(b"\"response_item\"" | b"\"inter_agent_communication\""));
    get(&members, "payload").filter(|_| is_one)
}

/// An object under construction.
struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    fn open(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { out, is_empty: true }
    }

    fn of_type(name: &str, out: &'o mut Vec<u8>) -> Object<'o> {
        let mut object = Object::open(out);
        object.key("type");
        json::push_string(name, object.out);
        object
    }

    fn key(&mut self, key: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(b',');
        }
        json::push_string(key, self.out);
        self.out.push(b':');
    }

    fn value(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        let start = self.out.len();
        LINES.push_value(value, self.out);
        if json::kind_of(value) != Kind::String {
            let printed = rust::printed(Value::trusted(self.out.get(start..).unwrap_or_default()));
            self.out.truncate(start);
            self.out.extend_from_slice(&printed);
        }
    }

    /// A member that is left out where it is absent or `null`.
    fn optional(&mut self, members: &[Member<'_>], key: &str) {
        if let Some(value) = some(members, key) {
            self.value(key, value);
        }
    }

    /// A member that is `null` where it is absent.
    fn nullable(&mut self, members: &[Member<'_>], key: &str) {
        self.value(key, get(members, key).unwrap_or(b"null"));
    }

    /// An id is left out where it has no prefix.
    fn id(&mut self, members: &[Member<'_>]) {
        let has_prefix = |id: &String| id.split_once('_').is_some_and(|(prefix, rest)| !prefix.is_empty() && !rest.is_empty());
        if text(members, "id").filter(has_prefix).is_some() {
            self.optional(members, "id");
        }
    }

    fn list<'p>(&mut self, key: &str, elements: impl Iterator<Item = &'p [u8]>, mut push: impl FnMut(&'p [u8], &mut Vec<u8>)) {
        self.key(key);
        self.out.push(b'[');
        for (n, element) in elements.enumerate() {
            if n > 0 {
                self.out.push(b',');
            }
            push(element, self.out);
        }
        self.out.push(b']');
    }

    fn close(self) {
        self.out.push(b'}');
    }
}

fn elements<'p>(members: &[Member<'p>], key: &str) -> impl Iterator<Item = &'p [u8]> + use<'p> {
    let list = get(members, key).filter(|list| json::kind_of(list) == Kind::Array).unwrap_or(b"[]");
    json::elements(list)
}

/// Writes a part with the members that Codex knows of it.
fn push_part(part: &[u8], out: &mut Vec<u8>) {
    let members = members_of(part);
    let name = text(&members, "type").unwrap_or_default();
    let is_remote = |url: String| {
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        matches!(scheme.as_deref(), Some("http" | "https"))
    };
    let mut object = Object::open(out);
    let key = match name.as_str() {
        "input_image" => {
            if text(&members, "image_url").is_some_and(is_remote) {
                object.out.pop();
                return object.out.extend_from_slice(NO_REMOTE_IMAGES);
            }
            "image_url"
        }
        "input_audio" => "audio_url",
        "encrypted_content" => "encrypted_content",
        _ => "text",
    };
    object.optional(&members, "type");
    object.optional(&members, key);
    let others: &[&str] = match name.as_str() {
        "input_image" => &["detail"],
        "output_text" => &["annotations", "logprobs"],
        _ => &[],
    };
    for key in others {
        object.optional(&members, key);
    }
    object.close();
}

/// Which parts of an output are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    WithoutEmptyTexts,
}

/// Writes an item as Codex sends it.
fn push_item(members: &[Member<'_>], parts: Parts, out: &mut Vec<u8>) {
    let name = text(members, "type").unwrap_or_default();
    let item = Item::named(&name);
    // In a list that a compaction has kept, an item without a use is said to be there.
    let is_other = matches!(item, Item::Unknown | Item::GhostSnapshot);
    let sent = if is_other {
        "other"
    } else if item == Item::Compaction {
        "compaction"
    } else {
        name.as_str()
    };
    let mut object = Object::of_type(sent, out);
    if !is_other {
        object.id(members);
    }
    match item {
        Item::Message => {
            object.optional(members, "status");
            object.optional(members, "role");
            object.list("content", elements(members, "content"), push_part);
            object.optional(members, "phase");
        }
        Item::Reasoning => push_reasoning(members, &mut object),
        Item::FunctionCall => {
            for key in ["status", "name", "namespace", "arguments", "call_id"] {
                object.optional(members, key);
            }
        }
        Item::FunctionOutput | Item::CustomOutput => {
            object.optional(members, "call_id");
            object.optional(members, "name");
            if item == Item::FunctionOutput {
                object.optional(members, "namespace");
            }
            match get(members, "output") {
                Some(list) if json::kind_of(list) == Kind::Array => {
                    let is_sent = |part: &&[u8]| parts == Parts::All || get(&members_of(part), "text") != Some(b"\"\"");
                    object.list("output", json::elements(list).filter(is_sent), push_part);
                }
                output => object.value("output", output.unwrap_or(b"null")),
            }
        }
        Item::CustomCall => {
            for key in ["status", "call_id", "name", "namespace", "input"] {
                object.optional(members, key);
            }
        }
        Item::ShellCall => {
            object.nullable(members, "call_id");
            object.optional(members, "status");
            let action = inside(members, "action");
            object.key("action");
            let mut inner = Object::of_type("exec", object.out);
            for key in ["command", "timeout_ms", "working_directory", "env", "user"] {
                inner.nullable(&action, key);
            }
            inner.close();
        }
        Item::SearchCall => {
            object.nullable(members, "call_id");
            for key in ["status", "execution"] {
                object.optional(members, key);
            }
            object.nullable(members, "arguments");
        }
        Item::SearchOutput => {
            object.nullable(members, "call_id");
            for key in ["status", "execution", "tools"] {
                object.optional(members, key);
            }
        }
        Item::WebSearch => {
            object.optional(members, "status");
            if some(members, "action").is_some() {
                push_search(&inside(members, "action"), &mut object);
            }
        }
        Item::ImageGeneration => {
            for key in ["status", "revised_prompt", "result"] {
                object.optional(members, key);
            }
        }
        Item::Compaction | Item::ContextCompaction => object.optional(members, "encrypted_content"),
        Item::AgentMessage => {
            object.optional(members, "author");
            object.optional(members, "recipient");
            object.list("content", elements(members, "content"), push_part);
        }
        Item::AdditionalTools => {
            for key in ["role", "tools"] {
                object.optional(members, key);
            }
        }
        Item::GhostSnapshot | Item::Unknown => {}
    }
    object.close();
}

fn push_reasoning(members: &[Member<'_>], object: &mut Object<'_>) {
    object.list("summary", elements(members, "summary"), push_part);
    match some(members, "content") {
        None => object.value("content", b"null"),
        // Codex sends a content only for the raw thoughts in it.
        Some(_) if !elements(members, "content").any(|part| text(&members_of(part), "type").as_deref() == Some("reasoning_text")) => {}
        Some(_) => object.list("content", elements(members, "content"), push_part),
    }
    object.nullable(members, "encrypted_content");
}

fn push_search(action: &[Member<'_>], object: &mut Object<'_>) {
    let name = text(action, "type").unwrap_or_default();
    let (name, keys): (&str, &[&str]) = match name.as_str() {
        "search" => ("search", &["query", "queries"]),
        "open_page" => ("open_page", &["url"]),
        "find_in_page" => ("find_in_page", &["url", "pattern"]),
        _ => ("other", &[]),
    };
    object.key("action");
    let mut inner = Object::of_type(name, object.out);
    for key in keys {
        inner.optional(action, key);
    }
    inner.close();
}

fn push_agent_record(members: &[Member<'_>], out: &mut Vec<u8>) {
    let mut object = Object::of_type("agent_message", out);
    object.id(members);
    object.optional(members, "author");
    object.optional(members, "recipient");
    let sealed = some(members, "encrypted_content");
    let said = match sealed {
        None => get(members, "content").map(Cow::Borrowed),
        Some(_) => Some(Cow::Owned(heading(members))),
    };
    let parts = said.iter().map(|said| ("input_text", "text", said.as_ref()));
    let parts = parts.chain(sealed.map(|sealed| ("encrypted_content", "encrypted_content", sealed)));
    object.key("content");
    object.out.push(b'[');
    for (n, (name, key, value)) in parts.enumerate() {
        if n > 0 {
            object.out.push(b',');
        }
        let mut part = Object::of_type(name, object.out);
        part.value(key, value);
        part.close();
    }
    object.out.push(b']');
    object.close();
}

/// What Codex says in the place of a content that it cannot read.
fn heading(members: &[Member<'_>]) -> Vec<u8> {
    let kind = if get(members, "trigger_turn") == Some(b"true") { "NEW_TASK" } else { "MESSAGE" };
    let name = |key: &str| text(members, key).unwrap_or_default();
    let mut token = Vec::new();
    let said = format!("Message Type: {kind}\nTask name: {}\nSender: {}\nPayload:\n", name("recipient"), name("author"));
    json::push_string(&said, &mut token);
    token
}

/// The id that Codex makes from a name: a UUID of version 5.
fn id_from(name: &str) -> Uuid {
    let mut hasher = Sha1::new();
    hasher.update(NAMESPACE.as_bytes());
    hasher.update(name.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize()[..16]);
    Builder::from_sha1_bytes(bytes).into_uuid()
}

/// Writes the output that Codex adds after a call that has no output.
fn push_aborted(call: &[Member<'_>], out: &mut Vec<u8>) {
    let (name, prefix, seed) = match text(call, "type").map(|name| Item::named(&name)) {
        Some(Item::CustomCall) => ("custom_tool_call_output", "ctco_", "ctco:"),
        Some(Item::SearchCall) => ("tool_search_output", "tso_", "tso:"),
        _ => ("function_call_output", "fco_", "fco:"),
    };
    let mut object = Object::of_type(name, out);
    if let Some(id) = text(call, "id").filter(|id| !id.is_empty()) {
        object.key("id");
        let made = id_from(&format!("{seed}{id}"));
        json::push_string(&format!("{prefix}{made}"), object.out);
    }
    object.optional(call, "call_id");
    if name == "tool_search_output" {
        object.value("status", b"\"completed\"");
        object.value("execution", b"\"client\"");
        object.value("tools", b"[]");
    } else {
        object.value("output", b"\"aborted\"");
    }
    object.close();
}
