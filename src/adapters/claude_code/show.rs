//! What the SDK returns for a record: an object around the message as it is stored.

use crate::adapters::kit::mapping::{NoIds, Parents, Rendered, To};
use crate::adapters::kit::tree::draft::push_whole;
use crate::adapters::kit::tree::entry::get;
use crate::adapters::kit::tree::schema::TreeSchema;
use crate::json::{self, Kind, Member};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::model::shown::Shown as Item;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::{self as js, Numbers};

use super::schema::{Shown, Transcript, Way, inside, is_id, is_of_type, is_set, text};

/// Denials of a tool call that are named in the result.
const DENIALS: [&[u8]; 7] = [
    b"user-rejected",
    b"permission-rule",
    b"automode-blocked",
    b"automode-unavailable",
    b"automode-parsing-error",
    b"interrupted",
    b"cancelled",
];

/// The members of a notification's origin that are handed on.
const NOTIFICATION: [&str; 6] = ["kind", "subkind", "fireReason", "producer", "runId", "taskKind"];

/// A question about a tool that nobody could answer any more.
const STREAM_CLOSED: &[u8] = b"\"stream-closed\"";

const TRUE: &[u8] = b"true";

/// Hands on what is shown of one node.
///
/// # Errors
/// When the event names a shape that the log does not have.
pub(super) fn show(item: &Item<'_>, shapes: &Shapes, hand_on: &mut dyn FnMut(&[u8])) -> Result<(), StreamError> {
    let event = &item.event;
    if !matches!(event.kind, EventKind::Message | EventKind::Custom) {
        return Ok(());
    }
    let payload: Vec<Member<'_>> = json::all_members(event.payload);
    let shown = Shown::of(&payload);
    if shown.way == Way::Hidden {
        return Ok(());
    }
    if let Some(record) = item.record {
        show_record(record, &shown, hand_on);
        return Ok(());
    }
    let Some((kind, schema)) = Transcript.of_event(event.kind, event.parent, &payload) else { return Ok(()) };
    let mut record = Vec::with_capacity(event.payload.len());
    match schema.table(kind) {
        None => push_whole::<Transcript>(event.payload, &mut record),
        Some(table) => {
            let rendered = Rendered { payload: event.payload, ts: event.ts, parent: Seq::ROOT, parents: Parents::Unwritten };
            let to = To { style: Transcript::STYLE, depth: 0, out: &mut record };
            table
                .render_members(&rendered, &payload, shapes, Transcript::content(), &mut NoIds, to)
                .ok_or_else(|| StreamError::log(event.seq, "names a shape that the log does not have"))?;
        }
    }
    show_record(&record, &shown, hand_on);
    Ok(())
}

fn show_record(record: &[u8], shown: &Shown, hand_on: &mut dyn FnMut(&[u8])) {
    // A record that is carried as it is need not be an object.
    let record = record.trim_ascii_start();
    if json::kind_of(record) != Kind::Object {
        return;
    }
    let members: Vec<Member<'_>> = json::all_members(record);
    match text(&members, "type").as_deref() {
        Some(b"user" | b"assistant") => message(&members, shown, hand_on),
        Some(b"attachment") if shown.way == Way::QueuedCommand => queued(&members, shown, hand_on),
        _ => {}
    }
}

/// The members of an object that is shown.
struct Object(Vec<u8>);

impl Object {
    fn member(&mut self, key: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.0.push(if self.0.is_empty() { b'{' } else { b',' });
            json::push_string(key, &mut self.0);
            self.0.push(b':');
            js::push_printed(value, Numbers::Printed, &mut self.0);
        }
    }

    /// The call and the agent that a subagent was started by.
    fn parents(&mut self, shown: &Shown) {
        let agent: Vec<Member<'_>> = shown.agent.as_deref().map(|agent| json::all_members(agent.as_bytes())).unwrap_or_default();
        self.member("parent_tool_use_id", Some(get(&agent, "tool_use_id").unwrap_or(b"null")));
        self.member("parent_agent_id", Some(get(&agent, "parent_agent_id").unwrap_or(b"null")));
    }

    fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

fn message(members: &[Member<'_>], shown: &Shown, hand_on: &mut dyn FnMut(&[u8])) {
    let is_true = |key: &str| get(members, key) == Some(b"true");
    let mut object = Object(Vec::new());
    object.member("type", get(members, "type"));
    object.member("uuid", get(members, "uuid"));
    object.member("session_id", get(members, "sessionId"));
    object.member("message", get(members, "message"));
    object.parents(shown);
    object.member("interruptedByShutdown", is_true("interruptedByShutdown").then_some(TRUE));
    let unanswered = text(members, "toolDenialUnanswered").is_some_and(|why| why == b"stream-closed");
    object.member("toolDenialUnanswered", unanswered.then_some(STREAM_CLOSED));
    object.member("tool_result_meta", denial(members).as_deref());
    object.member("isCompactSummary", is_true("isCompactSummary").then_some(TRUE));
    let is_meta = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].iter().any(|key| is_true(key));
    object.member("is_meta", is_meta.then_some(TRUE));
    object.member("isCompletedLocalCommand", (shown.way == Way::LocalCommand).then_some(TRUE));
    object.member("timestamp", get(members, "timestamp"));
    object.member("origin", origin(get(members, "origin"), None).as_deref());
    hand_on(&object.close());
}

/// A prompt that was delivered while a turn ran.
fn queued(members: &[Member<'_>], shown: &Shown, hand_on: &mut dyn FnMut(&[u8])) {
    let attachment = inside(members, "attachment");
    // Only a text names the record that the prompt was before.
    let is_name = |source: &&[u8]| json::kind_of(source) == Kind::String && *source != b"\"\"";
    let source = get(&attachment, "source_uuid").filter(is_name);
    let mut content = b"{\"role\":\"user\",\"content\":".to_vec();
    content.extend_from_slice(get(&attachment, "prompt").unwrap_or(b"null"));
    content.push(b'}');
    let is_notification = text(&attachment, "commandMode").as_deref() == Some(b"task-notification");
    // An origin that does not say of which kind it is counts as none.
    let has_kind = text(&inside(&attachment, "origin"), "kind").is_some();
    let own = get(&attachment, "origin").filter(|_| has_kind);
    let default = is_notification.then_some(b"{\"kind\":\"task-notification\"}".as_slice());
    let origin = origin(own.or(default), get(&attachment, "runId"));
    let mut object = Object(Vec::new());
    object.member("type", Some(b"\"user\""));
    object.member("uuid", source.or_else(|| get(members, "uuid")));
    object.member("session_id", get(members, "sessionId"));
    object.member("message", Some(&content));
    object.parents(shown);
    object.member("is_meta", is_set(&attachment, "isMeta").then_some(TRUE));
    object.member("isQueuedCommand", Some(TRUE));
    object.member("timestamp", get(members, "timestamp"));
    object.member("origin", origin.as_deref());
    hand_on(&object.close());
}

/// Why the one call of a record was not run.
fn denial(members: &[Member<'_>]) -> Option<Vec<u8>> {
    let kind = text(members, "toolDenialKind").filter(|kind| DENIALS.contains(&kind.as_slice()))?;
    let message = inside(members, "message");
    let content = get(&message, "content").filter(|content| json::kind_of(content) == Kind::Array)?;
    let mut results = json::elements(content).filter(|block| is_of_type(block, "tool_result"));
    let (Some(only), None) = (results.next(), results.next()) else { return None };
    let only: Vec<Member<'_>> = json::all_members(only);
    let id = get(&only, "tool_use_id").filter(|id| json::kind_of(id) == Kind::String)?;
    let mut meta = Object(Vec::new());
    meta.member("id", Some(id));
    let mut token = Vec::new();
    js::push_string(&kind, &mut token);
    meta.member("non_execution_kind", Some(&token));
    Some([b"[".as_slice(), &meta.close(), b"]"].concat())
}

/// The origin of a prompt; of a notification only what is known to be harmless, and
/// the run that may be named elsewhere.
fn origin(origin: Option<&[u8]>, run: Option<&[u8]>) -> Option<Vec<u8>> {
    let origin = origin.filter(|origin| js::is_truthy(*origin))?;
    let members: Vec<Member<'_>> = if json::kind_of(origin) == Kind::Object { json::all_members(origin) } else { Vec::new() };
    if text(&members, "kind").as_deref() != Some(b"task-notification") {
        return Some(origin.to_vec());
    }
    let mut cut = Object(Vec::new());
    for key in NOTIFICATION {
        let value = get(&members, key);
        cut.member(
            key,
            match key {
                "runId" => value.filter(|run| is_id(run, "_.:-")).or(run.filter(|run| is_id(run, "_.:-"))),
                "taskKind" => value.filter(|kind| js::is_text(*kind, "mcp-task")),
                _ => value,
            },
        );
    }
    Some(cut.close())
}
