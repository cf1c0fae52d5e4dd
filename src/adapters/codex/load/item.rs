//! The items that a model sees: which are accepted.

use crate::json::Value;
use crate::runtimes::rust::{parse, unsigned};

use super::metadata;
use super::parts::{Part, is_list_of, is_output};
use super::types::{is_text, is_texts, may_be_one_of, may_be_text};

/// What an item is, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    FunctionCall,
    FunctionCallOutput,
    CustomToolCall,
    CustomToolCallOutput,
    WebSearchCall,
    LocalShellCall,
    ImageGenerationCall,
    Compaction,
    ContextCompaction,
    AgentMessage,
    ToolSearchCall,
    ToolSearchOutput,
    AdditionalTools,
    GhostSnapshot,
    /// One that this program does not know.
    Unknown,
}

impl Kind {
    /// The types with the names that the program gives them.
    const NAMES: [(&'static str, Kind); 17] = [
        ("message", Kind::Message),
        ("reasoning", Kind::Reasoning),
        ("function_call", Kind::FunctionCall),
        ("function_call_output", Kind::FunctionCallOutput),
        ("custom_tool_call", Kind::CustomToolCall),
        ("custom_tool_call_output", Kind::CustomToolCallOutput),
        ("web_search_call", Kind::WebSearchCall),
        ("local_shell_call", Kind::LocalShellCall),
        ("image_generation_call", Kind::ImageGenerationCall),
        ("compaction", Kind::Compaction),
        ("compaction_summary", Kind::Compaction),
        ("context_compaction", Kind::ContextCompaction),
        ("agent_message", Kind::AgentMessage),
        ("tool_search_call", Kind::ToolSearchCall),
        ("tool_search_output", Kind::ToolSearchOutput),
        ("additional_tools", Kind::AdditionalTools),
        ("ghost_snapshot", Kind::GhostSnapshot),
    ];

    /// The name under which it is sent.
    pub(super) fn name(self) -> &'static str {
        let name = Kind::NAMES.iter().find(|(_, kind)| *kind == self && self != Kind::GhostSnapshot);
        name.map_or("other", |(name, _)| name)
    }
}

/// The name of the member that says of which turn an item is.
pub(super) const PASSTHROUGH: &str = "internal_chat_message_metadata_passthrough";

/// What an item is; nothing where the program rejects it.
pub(super) fn check(item: Value<'_>) -> Option<Kind> {
    let [kind, id, passthrough] = item.get_each(["type", "id", PASSTHROUGH]);
    let name = kind?.as_str()?;
    let Some((_, kind)) = Kind::NAMES.iter().find(|(known, _)| *known == name) else { return Some(Kind::Unknown) };
    if *kind == Kind::GhostSnapshot {
        return Some(Kind::GhostSnapshot);
    }
    (may_be_text(id) && passthrough.is_none_or(metadata::is_of_turn) && has_members(*kind, item)).then_some(*kind)
}

/// Tells whether the members that this kind needs are of their types.
fn has_members(kind: Kind, item: Value<'_>) -> bool {
    let all = |names: [&'static str; 3], texts: usize| {
        let values = item.get_each(names);
        values.iter().take(texts).all(|value| is_text(*value)) && values.iter().skip(texts).all(|value| may_be_text(*value))
    };
    match kind {
        Kind::Message => {
            let [role, content, phase, status] = item.get_each(["role", "content", "phase", "status"]);
            is_text(role)
                && is_list_of(content, &Part::OF_MESSAGE)
                && may_be_one_of(phase, &["commentary", "final_answer"])
                && may_be_text(status)
        }
        Kind::Reasoning => {
            let [summary, content, encrypted] = item.get_each(["summary", "content", "encrypted_content"]);
            is_list_of(summary, &[Part::SummaryText])
                && content.is_none_or(|content| content.is_null() || is_list_of(Some(content), &[Part::ReasoningText, Part::Text]))
                && may_be_text(encrypted)
        }
        Kind::FunctionCall => all(["name", "arguments", "call_id"], 3) && all(["status", "namespace", "id"], 0),
        Kind::FunctionCallOutput => is_output(item.get("output")) && all(["call_id", "name", "namespace"], 0),
        Kind::CustomToolCall => all(["call_id", "name", "input"], 3) && all(["status", "namespace", "id"], 0),
        Kind::CustomToolCallOutput => is_output(item.get("output")) && all(["call_id", "name", "id"], 1),
        Kind::WebSearchCall => {
            may_be_text(item.get("status")) && item.get("action").is_none_or(|action| action.is_null() || is_search(action))
        }
        Kind::LocalShellCall => {
            let [call_id, status, action] = item.get_each(["call_id", "status", "action"]);
            may_be_text(call_id)
                && is_text(status)
                && may_be_one_of(status, &["completed", "in_progress", "incomplete"])
                && action.is_some_and(is_command)
        }
        Kind::ImageGenerationCall => all(["status", "result", "revised_prompt"], 2),
        Kind::Compaction => is_text(item.get("encrypted_content")),
        Kind::ContextCompaction => may_be_text(item.get("encrypted_content")),
        Kind::AgentMessage => all(["author", "recipient", "id"], 2) && is_list_of(item.get("content"), &Part::OF_AGENT),
        Kind::ToolSearchCall => all(["execution", "call_id", "status"], 1) && item.get("arguments").is_some(),
        Kind::ToolSearchOutput => all(["status", "execution", "call_id"], 2) && item.get("tools").is_some_and(Value::is_array),
        Kind::AdditionalTools => is_text(item.get("role")) && item.get("tools").is_some_and(Value::is_array),
        Kind::GhostSnapshot | Kind::Unknown => true,
    }
}

/// Tells whether it is what a search on the web did.
fn is_search(action: Value<'_>) -> bool {
    let [kind, query, queries, url, pattern] = action.get_each(["type", "query", "queries", "url", "pattern"]);
    let Some(kind) = kind.and_then(Value::as_str) else { return false };
    match kind.as_ref() {
        "search" => may_be_text(query) && (queries.is_none_or(Value::is_null) || is_texts(queries)),
        "open_page" => may_be_text(url),
        "find_in_page" => may_be_text(url) && may_be_text(pattern),
        _ => true,
    }
}

/// Tells whether it is a command that a model asked for.
fn is_command(action: Value<'_>) -> bool {
    let [kind, command, timeout, folder, env] = action.get_each(["type", "command", "timeout_ms", "working_directory", "env"]);
    let is_env = |env: Value<'_>| env.is_null() || (env.is_object() && env.members().all(|member| member.value().is_string()));
    kind.is_some_and(|kind| kind.is_str("exec"))
        && is_texts(command)
        && timeout.is_none_or(|timeout| timeout.is_null() || unsigned(timeout).is_some())
        && may_be_text(folder)
        && env.is_none_or(is_env)
        && may_be_text(action.get("user"))
}

/// Tells whether it is what one agent writes to another.
pub(super) fn is_communication(value: Value<'_>) -> bool {
    let [author, recipient, others, content, trigger] =
        value.get_each(["author", "recipient", "other_recipients", "content", "trigger_turn"]);
    let [id, encrypted, passthrough] = value.get_each(["id", "encrypted_content", PASSTHROUGH]);
    let is_flag = |flag: Value<'_>| matches!(flag.text(), b"true" | b"false");
    author.is_some_and(is_agent)
        && recipient.is_some_and(is_agent)
        && others.is_none_or(|others| others.is_array() && others.elements().all(is_agent))
        && is_text(content)
        && trigger.is_some_and(is_flag)
        && may_be_text(id)
        && may_be_text(encrypted)
        && passthrough.is_none_or(metadata::is_of_turn)
}

/// Tells whether it names an agent: the first one, or one below it.
fn is_agent(name: Value<'_>) -> bool {
    let is_word = |word: &str| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !word.is_empty() && word != "root" && word.chars().all(is_part)
    };
    name.as_str().is_some_and(|name| match name.strip_prefix("/root") {
        Some(rest) => rest.is_empty() || rest.strip_prefix('/').is_some_and(|below| below.split('/').all(is_word)),
        None => name == "/morpheus",
    })
}

/// Tells whether a text is what one agent writes to another.
pub(super) fn is_communication_text(text: &str) -> bool {
    parse(text.as_bytes()).is_some_and(|value| value.is_object() && is_communication(value))
}
