//! The shapes of the records that are not items: which members a record of each type
//! may have. The program skips a record of another shape.

use uuid::Uuid;

use crate::json::Value;
use crate::runtimes::rust::unsigned;

use super::metadata;
use super::types::{is_text, is_texts, may_be_one_of, may_be_text};

/// How agents work together.
const AGENTS: [&str; 3] = ["v1", "v2", "disabled"];
/// When the program asks a person, and what it lets a command do.
const APPROVALS: [&str; 4] = ["never", "on-request", "on-failure", "untrusted"];
const SANDBOXES: [&str; 4] = ["danger-full-access", "read-only", "workspace-write", "external-sandbox"];

type Given<'a> = Option<Value<'a>>;

fn may_be<'a>(value: Given<'a>, is_right: impl Fn(Value<'a>) -> bool) -> bool {
    value.is_none_or(|value| value.is_null() || is_right(value))
}

fn is_flag(value: Value<'_>) -> bool {
    matches!(value.text(), b"true" | b"false")
}

fn is_signed(value: Value<'_>) -> bool {
    unsigned(value).is_some_and(|number| i64::try_from(number).is_ok()) || value.parse::<i64>().is_some()
}

fn is_uuid(value: Value<'_>) -> bool {
    value.as_str().is_some_and(|id| Uuid::try_parse(&id).is_ok())
}

fn is_absolute(value: Value<'_>) -> bool {
    value.as_str().is_some_and(|path| path.starts_with('/'))
}

/// Tells whether all of these may be texts.
fn may_be_texts<const N: usize>(object: Value<'_>, names: [&'static str; N]) -> bool {
    object.get_each(names).into_iter().all(may_be_text)
}

/// The metadata of a session.
pub(super) fn is_meta(payload: Value<'_>) -> bool {
    let [id, session, timestamp, cwd, originator, version] =
        payload.get_each(["id", "session_id", "timestamp", "cwd", "originator", "cli_version"]);
    let [forked, parent, ordinal, scoped, roots, source] = payload.get_each([
        "forked_from_id",
        "parent_thread_id",
        "forked_from_ordinal_exclusive",
        "account_scoped",
        "runtime_workspace_roots",
        "source",
    ]);
    let [instructions, git, window, agents] = payload.get_each(["base_instructions", "git", "context_window", "multi_agent_version"]);
    id.is_some_and(is_uuid)
        && session.is_none_or(is_uuid)
        && [timestamp, cwd, originator, version].into_iter().all(is_text)
        && may_be(forked, is_uuid)
        && may_be(parent, is_uuid)
        && may_be(ordinal, |ordinal| unsigned(ordinal).is_some())
        && scoped.is_none_or(is_flag)
        && may_be(roots, |roots| roots.is_array() && roots.elements().all(is_absolute))
        && source.is_none_or(|source| source.is_string() || source.is_object())
        && may_be(instructions, |base| metadata::members(base, ["text", "provenance"]).is_some_and(|[text, _]| is_text(text)))
        && may_be(git, |git| git.is_object() && may_be_texts(git, ["commit_hash", "branch", "repository_url"]))
        && may_be(window, |window| metadata::members(window, ["window_id"]).is_some_and(|[id]| is_text(id)))
        && may_be_one_of(agents, &AGENTS)
        && may_be(payload.get("dynamic_tools"), Value::is_array)
        && may_be_texts(payload, ["model_provider", "thread_source", "agent_nickname", "agent_role", "agent_path", "memory_mode"])
}

/// The event of a typed prompt.
pub(super) fn is_user_message(payload: Value<'_>) -> bool {
    let [message, client, images, audio] = payload.get_each(["message", "client_id", "images", "audio"]);
    let [local_images, local_audio, elements] = payload.get_each(["local_images", "local_audio", "text_elements"]);
    let is_list = |list: Value<'_>| is_texts(Some(list));
    let is_element = |element: Value<'_>| {
        let [range, placeholder] = element.get_each(["byte_range", "placeholder"]);
        let is_range =
            |range: Value<'_>| range.get_each(["start", "end"]).into_iter().all(|at| at.is_some_and(|at| unsigned(at).is_some()));
        range.is_some_and(is_range) && may_be_text(placeholder)
    };
    is_text(message)
        && may_be_text(client)
        && may_be(images, is_list)
        && may_be(audio, is_list)
        && local_images.is_none_or(is_list)
        && local_audio.is_none_or(is_list)
        && elements.is_none_or(|list| list.is_array() && list.elements().all(is_element))
}

/// The beginning of a turn.
pub(super) fn is_turn_started(payload: Value<'_>) -> bool {
    let [turn, started, window, kind] = payload.get_each(["turn_id", "started_at", "model_context_window", "collaboration_mode_kind"]);
    is_text(turn)
        && may_be(started, is_signed)
        && may_be(window, is_signed)
        && kind.is_none_or(|kind| kind.is_string())
        && may_be_texts(payload, ["root_turn_id", "trace_id"])
        && may_be(payload.get("turn_attribution"), Value::is_object)
}

/// The settings of a turn.
pub(super) fn is_turn_context(payload: Value<'_>) -> bool {
    let [cwd, approval, sandbox, model, summary] = payload.get_each(["cwd", "approval_policy", "sandbox_policy", "model", "summary"]);
    let [active, plugins, effort, agents] = payload.get_each(["realtime_active", "disabled_plugin_ids", "effort", "multi_agent_version"]);
    may_be_texts(payload, ["turn_id", "root_turn_id", "comp_hash"])
        && may_be(effort, |effort| effort.as_str().is_some_and(|effort| !effort.is_empty()))
        && may_be_one_of(agents, &AGENTS)
        && cwd.is_some_and(is_absolute)
        && approval.is_some_and(|approval| approval.is_object() || may_be_one_of(Some(approval), &APPROVALS))
        && sandbox.is_some_and(|sandbox| sandbox.get("type").is_some_and(|kind| !kind.is_null() && may_be_one_of(Some(kind), &SANDBOXES)))
        && is_text(model)
        && may_be_one_of(summary, &["auto", "concise", "detailed", "none"])
        && may_be(active, is_flag)
        && may_be(plugins, |plugins| is_texts(Some(plugins)))
}

/// What a compaction has; its items are looked at by themselves.
pub(super) fn is_compaction(payload: Value<'_>) -> bool {
    let [message, items, notes, number, window] =
        payload.get_each(["message", "replacement_history", "replacement_history_metadata", "window_number", "window_id"]);
    let [context, usage, resume] = payload.get_each(["retained_context", "latest_token_usage_record", "resume_metadata"]);
    // One note for each item.
    let is_of_items = |notes: Value<'_>| {
        let count = items.filter(|items| items.is_array()).map_or(0, |items| items.elements().count());
        let is_note = |note: Value<'_>| !note.is_null() && metadata::is_of_record(note);
        items.is_some_and(Value::is_array) && notes.is_array() && notes.elements().count() == count && notes.elements().all(is_note)
    };
    is_text(message)
        && may_be(notes, is_of_items)
        && may_be(number, |number| unsigned(number).is_some())
        && may_be(window, |window| window.is_string() || unsigned(window).is_some())
        && may_be_texts(payload, ["first_window_id", "previous_window_id", "compaction_response_id"])
        && [context, usage, resume].into_iter().all(|object| may_be(object, Value::is_object))
}
