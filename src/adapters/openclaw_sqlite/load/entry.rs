//! Which of a transcript's events the program takes for entries of its tree: the
//! checks of its `indexedSessionEntrySchema`.

use crate::runtimes::javascript::{Type, Value, to_text};

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Message,
    ThinkingLevel,
    Model,
    Compaction,
    Reset,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    /// A row that moves the leaf.
    Leaf,
    /// A row that is known by its id and its parent alone.
    Linked,
    /// Anything else.
    Nothing,
}

impl Kind {
    /// What an event is to the program.
    pub fn of(event: Value<'_>) -> Kind {
        if event.type_of() != Type::Object {
            return Kind::Nothing;
        }
        let [kind, id, parent, time] = event.get_all(["type", "id", "parentId", "timestamp"]);
        let has_id = id.text().is_some_and(|id| !id.is_empty());
        let has_parent = matches!(parent.type_of(), Type::Null | Type::String);
        let is_based = has_id && (has_parent || parent.is_undefined()) && is_optional(time);
        let known = kind.text().filter(|_| is_based).and_then(|kind| known(&kind, event));
        match known {
            Some(known) => known,
            None if kind.is("session") => Kind::Nothing,
            None if kind.is("leaf") => {
                if has_id && has_parent && is_leaf(event) {
                    Kind::Leaf
                } else {
                    Kind::Nothing
                }
            }
            None if has_id && has_parent => Kind::Linked,
            None => Kind::Nothing,
        }
    }

    /// Whether it is an entry of the tree.
    pub fn is_entry(self) -> bool {
        !matches!(self, Kind::Leaf | Kind::Linked | Kind::Nothing)
    }
}

/// Whether a value is missing or a string.
fn is_optional(value: Value<'_>) -> bool {
    matches!(value.type_of(), Type::Undefined | Type::String)
}

fn is_string(value: Value<'_>) -> bool {
    value.type_of() == Type::String
}

/// Whether a value is a string with something in it.
fn is_full(value: Value<'_>) -> bool {
    value.text().is_some_and(|text| !text.is_empty())
}

fn is_leaf(event: Value<'_>) -> bool {
    let [target, append, mode] = event.get_all(["targetId", "appendParentId", "appendMode"]);
    matches!(target.type_of(), Type::Null | Type::String)
        && matches!(append.type_of(), Type::Undefined | Type::Null | Type::String)
        && (mode.is_undefined() || mode.is("side"))
}

fn known(kind: &[u8], event: Value<'_>) -> Option<Kind> {
    let get = |name: &str| event.get(name);
    let (kind, is_valid) = match kind {
        b"message" => (Kind::Message, is_message(get("message"))),
        b"thinking_level_change" => (Kind::ThinkingLevel, is_full(get("thinkingLevel"))),
        b"model_change" => (Kind::Model, is_full(get("provider")) && is_full(get("modelId"))),
        b"compaction" => {
            let has_all = is_string(get("summary")) && is_full(get("firstKeptEntryId")) && get("tokensBefore").type_of() == Type::Number;
            (Kind::Compaction, has_all)
        }
        b"reset" => {
            // The reason is made a string of before it is compared.
            let reason = get("reason").value().and_then(|reason| to_text(reason).ok()).unwrap_or_default();
            let is_reason = matches!(reason.as_slice(), b"new" | b"reset" | b"idle" | b"daily" | b"cron-stale");
            (Kind::Reset, is_reason && is_optional(get("firstKeptEntryId")))
        }
        b"branch_summary" => (Kind::BranchSummary, is_string(get("fromId")) && is_string(get("summary"))),
        b"custom" => (Kind::Custom, is_full(get("customType"))),
        b"custom_message" => {
            let has_all = is_full(get("customType")) && is_content(get("content")) && get("display").type_of() == Type::Boolean;
            (Kind::CustomMessage, has_all)
        }
        b"label" => (Kind::Label, is_full(get("targetId")) && is_optional(get("label"))),
        b"session_info" => (Kind::SessionInfo, is_optional(get("name"))),
        _ => return None,
    };
    is_valid.then_some(kind)
}

fn is_content(content: Value<'_>) -> bool {
    match content.type_of() {
        Type::String => true,
        Type::Array => content.value().is_some_and(|list| {
            list.elements().map(Value::accepted).all(|part| part.type_of() == Type::Object && is_string(part.get("type")))
        }),
        Type::Undefined | Type::Null | Type::Boolean | Type::Number | Type::Object => false,
    }
}

fn is_message(message: Value<'_>) -> bool {
    if message.type_of() != Type::Object {
        return false;
    }
    let [role, content] = message.get_all(["role", "content"]);
    match role.text().as_deref() {
        Some(b"user" | b"assistant") => is_content(content),
        Some(b"toolResult") => {
            let [call, tool, error] = message.get_all(["toolCallId", "toolName", "isError"]);
            is_string(call) && is_string(tool) && error.type_of() == Type::Boolean && content.type_of() == Type::Array
        }
        // A hook's message of an older version has no type yet.
        Some(b"custom") => is_optional(message.get("customType")) && is_content(content),
        Some(b"bashExecution") => is_string(message.get("command")) && is_string(message.get("output")),
        _ => false,
    }
}
