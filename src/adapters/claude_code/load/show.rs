//! The objects that the SDK gives for records.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::runtimes::javascript::{ObjectWriter, Type, Value};

use super::queue::is_command;
use super::record::{Kind, Record};

/// Whose messages stay although they are marked as the program's own.
const SHOWN_ORIGINS: [&str; 6] = ["channel", "observer", "observer-activity", "slack-ping", "voice-call", "peer"];

/// Why a tool was not run.
const DENIALS: [&str; 7] =
    ["user-rejected", "permission-rule", "automode-blocked", "automode-unavailable", "automode-parsing-error", "interrupted", "cancelled"];

/// What the SDK leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// Of a session: what is the program's own, a subagent's or a team's.
    Session,
    /// Of a subagent: nothing.
    Agent,
}

/// What is the same for all messages of a list.
pub(super) struct Shape<'a> {
    pub(super) filter: Filter,
    pub(super) tool_use: Value<'a>,
    pub(super) agent: Value<'a>,
}

/// The uuids under which a queued prompt is not shown once more.
pub(super) struct Taken<'a> {
    /// Those of the records on the list.
    pub(super) listed: HashSet<Cow<'a, [u8]>>,
    /// Those of the queued prompts that were shown.
    pub(super) shown: HashSet<Vec<u8>>,
}

impl Taken<'_> {
    /// Takes the uuid that a queued prompt had before; not where it is taken.
    fn take(&mut self, source: &[u8], own: &[u8]) -> bool {
        (source == own || !self.listed.contains(source)) && self.shown.insert(source.to_vec())
    }
}

/// Whether a record is a command that was carried out on the spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Completed,
    No,
}

fn is_shown_origin(origin: Value<'_>) -> bool {
    let kind = origin.get("kind");
    SHOWN_ORIGINS.iter().any(|shown| kind.is(shown))
}

fn is_true(value: Value<'_>) -> bool {
    value.token() == b"true"
}

impl Shape<'_> {
    /// Prints what is shown of a record; nothing where it is not shown.
    pub(super) fn print(&self, record: &Record<'_>, command: Command, out: &mut Vec<u8>) -> Option<()> {
        let kind = match record.kind {
            Kind::User => "user",
            Kind::Assistant => "assistant",
            Kind::Attachment | Kind::System | Kind::Progress => return None,
        };
        let of_record = Value::accepted(record.line);
        let [session, origin, shutdown, denial] = of_record.get_all(["sessionId", "origin", "interruptedByShutdown", "toolDenialKind"]);
        let [meta, summary, transcript] = of_record.get_all(["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]);
        if self.filter == Filter::Session && (record.is_sidechain || record.is_of_team || (record.is_meta && !is_shown_origin(origin))) {
            return None;
        }
        let mut object = ObjectWriter::new(out);
        object.raw("type", |out| push_text(kind, out));
        object.member("uuid", record.uuid);
        object.member("session_id", session);
        object.member("message", record.message);
        self.parents(&mut object);
        if is_true(shutdown) {
            push_true(&mut object, "interruptedByShutdown");
        }
        self.denial(record, denial, &mut object);
        if is_true(summary) {
            push_true(&mut object, "isCompactSummary");
        }
        if [meta, summary, transcript].into_iter().any(is_true) {
            push_true(&mut object, "is_meta");
        }
        if command == Command::Completed {
            push_true(&mut object, "isCompletedLocalCommand");
        }
        object.member("timestamp", record.timestamp);
        push_origin(&mut object, origin);
        object.close();
        Some(())
    }

    fn parents(&self, object: &mut ObjectWriter<'_>) {
        for (name, value) in [("parent_tool_use_id", self.tool_use), ("parent_agent_id", self.agent)] {
            object.member(name, if value.is_nullish() { Value::accepted(b"null") } else { value });
        }
    }

    fn denial(&self, record: &Record<'_>, denial: Value<'_>, object: &mut ObjectWriter<'_>) {
        let Some(kind) = DENIALS.iter().find(|kind| denial.is(kind)).filter(|_| record.kind == Kind::User) else { return };
        let mut results = record.blocks_of("tool_result");
        if let (Some(result), None) = (results.next(), results.next()) {
            object.raw("tool_result_meta", |out| {
                out.push(b'[');
                let mut meta = ObjectWriter::new(out);
                meta.member("id", result.get("tool_use_id"));
                meta.raw("non_execution_kind", |out| push_text(kind, out));
                meta.close();
                out.push(b']');
            });
        }
    }

    /// Prints what is shown of a queued prompt that reached the model; nothing
    /// where it is not shown.
    pub(super) fn print_queued(&self, record: &Record<'_>, taken: &mut Taken<'_>, out: &mut Vec<u8>) -> Option<()> {
        let [prompt, source, meta, origin, mode] = record.attachment.get_all(["prompt", "source_uuid", "isMeta", "origin", "commandMode"]);
        let is_prompt = matches!(prompt.type_of(), Type::String | Type::Array);
        let is_hidden = record.is_sidechain || record.is_of_team || (meta.is_truthy() && !is_shown_origin(origin));
        if !is_command(record) || !is_prompt || (self.filter == Filter::Session && is_hidden) {
            return None;
        }
        let source = source.text().filter(|source| !source.is_empty());
        let own = record.uuid.text().unwrap_or_default();
        if source.as_deref().is_some_and(|source| !taken.take(source, &own)) {
            return None;
        }
        let mut object = ObjectWriter::new(out);
        object.raw("type", |out| push_text("user", out));
        let uuid = source.as_ref().unwrap_or(&own);
        object.raw("uuid", |out| crate::runtimes::javascript::push_string(uuid, out));
        object.member("session_id", Value::accepted(record.line).get("sessionId"));
        object.raw("message", |out| {
            let mut message = ObjectWriter::new(out);
            message.raw("role", |out| push_text("user", out));
            message.member("content", prompt);
            message.close();
        });
        self.parents(&mut object);
        if meta.is_truthy() {
            push_true(&mut object, "is_meta");
        }
        push_true(&mut object, "isQueuedCommand");
        object.member("timestamp", record.timestamp);
        if origin.is_nullish() && mode.is("task-notification") {
            object.raw("origin", |out| out.extend_from_slice(br#"{"kind":"task-notification"}"#));
        } else {
            push_origin(&mut object, origin);
        }
        object.close();
        Some(())
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    crate::runtimes::javascript::push_string(text.as_bytes(), out);
}

fn push_true(object: &mut ObjectWriter<'_>, name: &str) {
    object.raw(name, |out| out.extend_from_slice(b"true"));
}

/// Where a message comes from; of notices about tasks only some of it.
fn push_origin(object: &mut ObjectWriter<'_>, origin: Value<'_>) {
    if !origin.get("kind").is("task-notification") {
        if !origin.is_nullish() {
            object.member("origin", origin);
        }
        return;
    }
    object.raw("origin", |out| {
        let mut cut = ObjectWriter::new(out);
        for name in ["kind", "subkind", "fireReason", "producer", "runId", "taskKind"] {
            let value = origin.get(name);
            if name != "taskKind" || value.is("mcp-task") {
                cut.member(name, value);
            }
        }
        cut.close();
    });
}
