//! Which entries the program takes for nodes of its tree: those whose members have
//! the types that it expects. Every other object is at most a link to the one above.

use crate::adapters::kit::entries::schema::Entry;
use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind, Member};
use crate::runtimes::javascript as js;

/// What an entry is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The first header, or without effect.
    Inert,
    /// A node of the tree.
    Node,
    /// A node after which the conversation begins anew.
    Reset,
    /// Moves the leaf.
    Leaf,
    /// Leads on to the one above it.
    Link,
}

/// The reasons for which the program lets a conversation begin anew.
const REASONS: [&str; 5] = ["new", "reset", "idle", "daily", "cron-stale"];

/// Judges an entry.
pub(super) fn role_of(entry: &Entry<'_>) -> Role {
    if !entry.is_object() {
        return Role::Inert;
    }
    with_members(entry, |members| {
        let has_id = is_filled(get(members, "id"));
        let parent = get(members, "parentId");
        let is_placed = is_nullable_text(parent);
        let kind = get(members, "type").filter(|kind| json::kind_of(kind) == Kind::String).map(js::decode);
        let kind = kind.as_deref().unwrap_or_default();
        let is_node = has_id && (parent.is_none() || is_placed) && get(members, "timestamp").is_none_or(is_text) && is_known(kind, members);
        match kind {
            b"reset" if is_node => Role::Reset,
            _ if is_node => Role::Node,
            b"session" => Role::Inert,
            b"leaf" if has_id && is_placed && moves_leaf(members) => Role::Leaf,
            b"leaf" => Role::Inert,
            _ if has_id && is_placed => Role::Link,
            _ => Role::Inert,
        }
    })
}

fn is_text(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::String
}

fn is_filled(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| is_text(value) && value.len() > 2)
}

fn is_nullable_text(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| matches!(json::kind_of(value), Kind::Null | Kind::String))
}

fn moves_leaf(members: &[Member<'_>]) -> bool {
    let append = get(members, "appendParentId");
    is_nullable_text(get(members, "targetId"))
        && (append.is_none() || is_nullable_text(append))
        && get(members, "appendMode").is_none_or(|mode| js::is_text(mode, "side"))
}

/// Whether an entry of this type has what the program asks of one.
fn is_known(kind: &[u8], members: &[Member<'_>]) -> bool {
    let filled = |name: &str| is_filled(get(members, name));
    let text = |name: &str| get(members, name).is_some_and(is_text);
    let no_other = |name: &str| get(members, name).is_none_or(is_text);
    match kind {
        b"message" => get(members, "message").is_some_and(is_message),
        b"thinking_level_change" => filled("thinkingLevel"),
        b"model_change" => filled("provider") && filled("modelId"),
        b"compaction" => {
            let tokens = get(members, "tokensBefore").is_some_and(|tokens| json::kind_of(tokens) == Kind::Number);
            text("summary") && filled("firstKeptEntryId") && tokens
        }
        b"reset" => {
            let reason = get(members, "reason").and_then(|reason| js::to_text(reason).ok()).unwrap_or_default();
            REASONS.iter().any(|known| known.as_bytes() == reason) && no_other("firstKeptEntryId")
        }
        b"branch_summary" => text("fromId") && text("summary"),
        b"custom" => filled("customType"),
        b"custom_message" => {
            let is_told = get(members, "display").is_some_and(|display| matches!(json::kind_of(display), Kind::True | Kind::False));
            filled("customType") && get(members, "content").is_some_and(is_content) && is_told
        }
        b"label" => filled("targetId") && no_other("label"),
        b"session_info" => no_other("name"),
        _ => false,
    }
}

fn is_message(message: &[u8]) -> bool {
    if json::kind_of(message) != Kind::Object {
        return false;
    }
    let members = json::all_members(message);
    let text = |name: &str| get(&members, name).is_some_and(is_text);
    let content = get(&members, "content");
    match get(&members, "role").filter(|role| is_text(role)).map(js::decode).as_deref() {
        Some(b"user" | b"assistant") => content.is_some_and(is_content),
        Some(b"toolResult") => {
            let says_error = get(&members, "isError").is_some_and(|error| matches!(json::kind_of(error), Kind::True | Kind::False));
            text("toolCallId") && text("toolName") && says_error && content.is_some_and(|list| json::kind_of(list) == Kind::Array)
        }
        // Without a type it is one of a hook.
        Some(b"custom") => get(&members, "customType").is_none_or(is_text) && content.is_some_and(is_content),
        Some(b"bashExecution") => text("command") && text("output"),
        _ => false,
    }
}

/// Whether a content is a text, or a list of parts that say what they are.
fn is_content(content: &[u8]) -> bool {
    let is_part = |part: &[u8]| {
        json::kind_of(part) == Kind::Object
            && json::members(part).filter(|member| member.name() == "type").last().is_some_and(|kind| is_text(kind.value))
    };
    is_text(content) || (json::kind_of(content) == Kind::Array && json::elements(content).all(is_part))
}
