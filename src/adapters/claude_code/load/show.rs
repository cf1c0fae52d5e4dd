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

/// Whether a value is an id as the SDK lets them through: letters, digits and these
/// signs, 128 at the most.
pub(super) fn is_id(value: Value<'_>, signs: &[u8]) -> bool {
    let is_character = |byte: &u8| byte.is_ascii_alphanumeric() || signs.contains(byte);
    value.text().is_some_and(|text| (1..=128).contains(&text.len()) && text.iter().all(is_character))
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
        let [meta, summary, transcript, unanswered] =
            of_record.get_all(["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "toolDenialUnanswered"]);
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
        if unanswered.is("stream-closed") {
            object.member("toolDenialUnanswered", unanswered);
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
        push_origin(&mut object, origin, Value::UNDEFINED);
        object.close();
        Some(())
    }

    fn parents(&self, object: &mut ObjectWriter<'_>) {
        for (name, value) in [("parent_tool_use_id", self.tool_use), ("parent_agent_id", self.agent)] {
            object.member(name, if value.is_nullish() { Value::accepted(b"null") } else { value });
        }
    }

    fn denial(&self, record: &Record<'_>, denial: Value<'_>, object: &mut ObjectWriter<'_>) {
        let Some(kind) = DENIALS.iter().find(|kind| denial.is(kind)) else { return };
        let mut results = record.blocks_of("tool_result");
        let only = results.next().filter(|_| results.next().is_none());
        if let Some(result) = only.filter(|result| result.get("tool_use_id").type_of() == Type::String) {
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
        let [prompt, source, meta, origin, mode, run, forwarded] =
            record.attachment.get_all(["prompt", "source_uuid", "isMeta", "origin", "commandMode", "runId", "forwardedIntent"]);
        // What does not say of which kind it is counts as nothing.
        let origin = if origin.get("kind").type_of() == Type::String { origin } else { Value::UNDEFINED };
        let is_forwarded = forwarded.get("lineage").text().is_some_and(|lineage| !lineage.is_empty());
        let is_prompt = matches!(prompt.type_of(), Type::String | Type::Array);
        let is_of_session = self.filter == Filter::Session;
        let is_kept_back = is_of_session && meta.is_truthy() && !is_shown_origin(origin);
        if !is_command(record) || !is_prompt || is_forwarded || is_kept_back {
            return None;
        }
        let source = source.text().filter(|source| !source.is_empty());
        let own = record.uuid.text().unwrap_or_default();
        // What is left out as not of the main conversation takes its uuid nevertheless.
        let is_taken = source.as_deref().is_some_and(|source| !taken.take(source, &own));
        if is_taken || (is_of_session && (record.is_sidechain || record.is_of_team)) {
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
            push_origin(&mut object, Value::accepted(br#"{"kind":"task-notification"}"#), run);
        } else {
            push_origin(&mut object, origin, run);
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

/// Where a message comes from; of notices about tasks only some of it, and the run
/// that they may name elsewhere.
fn push_origin(object: &mut ObjectWriter<'_>, origin: Value<'_>, run: Value<'_>) {
    if !origin.get("kind").is("task-notification") {
        if origin.is_truthy() {
            object.member("origin", origin);
        }
        return;
    }
    object.raw("origin", |out| {
        let mut cut = ObjectWriter::new(out);
        for name in ["kind", "subkind", "fireReason", "producer", "runId", "taskKind"] {
            let value = origin.get(name);
            let known = [value, run].into_iter().find(|run| is_id(*run, b"_.:-"));
            match name {
                "runId" => known.into_iter().for_each(|run| cut.member(name, run)),
                "taskKind" if !value.is("mcp-task") => {}
                _ => cut.member(name, value),
            }
        }
        cut.close();
    });
}
