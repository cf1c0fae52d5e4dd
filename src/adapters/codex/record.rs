//! One line of a rollout: whether Codex takes it, and for what.

use uuid::Uuid;

use crate::json::{self, Dialect, Kind, Member, Value};
use crate::runtimes::rust;

/// What a record is to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// The header of a rollout.
    Meta,
    /// An item that the model sees.
    Item(Item),
    /// A message between agents, which the model sees as an item.
    BetweenAgents,
    Compacted,
    RolledBack,
    TurnStarted,
    TurnContext,
    /// The event for a prompt that a person gave.
    UserEvent,
    /// Another record of a known type.
    Other,
    /// A record or an item of a type that Codex does not know.
    Unknown,
}

/// The types of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Message,
    Reasoning,
    FunctionCall,
    FunctionOutput,
    CustomCall,
    CustomOutput,
    ShellCall,
    SearchCall,
    SearchOutput,
    /// Items that are carried as they are: nothing pairs with them.
    WebSearch,
    ImageGeneration,
    Compaction,
    ContextCompaction,
    AgentMessage,
    AdditionalTools,
    /// Dropped by the loader.
    GhostSnapshot,
    /// Replayed as nothing.
    Unknown,
}

impl Item {
    const NAMES: &'static [(&'static str, Item)] = &[
        ("message", Item::Message),
        ("reasoning", Item::Reasoning),
        ("function_call", Item::FunctionCall),
        ("function_call_output", Item::FunctionOutput),
        ("custom_tool_call", Item::CustomCall),
        ("custom_tool_call_output", Item::CustomOutput),
        ("local_shell_call", Item::ShellCall),
        ("tool_search_call", Item::SearchCall),
        ("tool_search_output", Item::SearchOutput),
        ("web_search_call", Item::WebSearch),
        ("image_generation_call", Item::ImageGeneration),
        ("compaction", Item::Compaction),
        ("compaction_summary", Item::Compaction),
        ("context_compaction", Item::ContextCompaction),
        ("agent_message", Item::AgentMessage),
        ("additional_tools", Item::AdditionalTools),
        ("ghost_snapshot", Item::GhostSnapshot),
    ];

    /// The type with this name.
    pub(super) fn named(name: &str) -> Item {
        Item::NAMES.iter().find(|(known, _)| *known == name).map_or(Item::Unknown, |(_, item)| *item)
    }
}

/// Why a line is not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRecord {
    Blank,
    NotJson {
        at: usize,
        what: &'static str,
    },
    /// JSON that Codex skips.
    Rejected(&'static str),
}

/// The value of a key; of equal keys the last counts.
pub(super) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| member.is(key)).map(|member| member.value)
}

/// The value of a key, where it is there and not `null`.
pub(super) fn some<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    get(members, key).filter(|value| json::kind_of(value) != Kind::Null)
}

/// The unsigned number under a key.
pub(super) fn number(members: &[Member<'_>], key: &str) -> Option<u64> {
    get(members, key).and_then(|n| std::str::from_utf8(n).ok()?.parse().ok())
}

/// The text under a key.
pub(super) fn text(members: &[Member<'_>], key: &str) -> Option<String> {
    get(members, key).filter(|value| json::kind_of(value) == Kind::String).map(|value| json::unescape(value).into_owned())
}

/// The members of the object under a key; none where it is not an object.
pub(super) fn inside<'a>(members: &[Member<'a>], key: &str) -> Vec<Member<'a>> {
    get(members, key).map(members_of).unwrap_or_default()
}

/// The members of a value; none where it is not an object.
pub(super) fn members_of(value: &[u8]) -> Vec<Member<'_>> {
    if json::kind_of(value) == Kind::Object { json::all_members(value) } else { Vec::new() }
}

/// Parses a line as the loader's JSON library does.
///
/// # Errors
/// Where it would not take it.
pub(super) fn parse(line: &[u8]) -> Result<&[u8], NoRecord> {
    if rust::is_blank(line) {
        return Err(NoRecord::Blank);
    }
    if let Some(value) = rust::parse(line) {
        return Ok(value.text());
    }
    if let Err(error) = std::str::from_utf8(line) {
        return Err(NoRecord::NotJson { at: error.valid_up_to(), what: "bytes that are not UTF-8" });
    }
    match json::scan_value(line, Dialect::Strict) {
        Err(error) => Err(NoRecord::NotJson { at: error.at, what: error.what }),
        Ok(scan) if !line[scan.end..].trim_ascii().is_empty() => {
            Err(NoRecord::NotJson { at: scan.end, what: "something after the record" })
        }
        Ok(_) => Err(NoRecord::Rejected("it is nested too deep, has half of a surrogate pair, or a number that is too large")),
    }
}

const EVENTS_WITH_TEXT: &[(&str, &str)] = &[("user_message", "message"), ("agent_message", "message"), ("agent_reasoning", "text")];

/// Judges a record with an envelope.
///
/// # Errors
/// Where Codex skips it.
pub(super) fn judge(members: &[Member<'_>]) -> Result<Record, NoRecord> {
    let reject = |why| Err(NoRecord::Rejected(why));
    let Some(name) = text(members, "type") else { return reject("it has no type") };
    if text(members, "timestamp").is_none() {
        return reject("it has no timestamp");
    }
    if some(members, "ordinal").is_some_and(|ordinal| !is_unsigned(ordinal)) {
        return reject("its ordinal is no number");
    }
    let Some(payload) = get(members, "payload").filter(|payload| json::kind_of(payload) == Kind::Object) else {
        return if is_known(&name) { reject("it has no payload") } else { Ok(Record::Unknown) };
    };
    let payload = json::all_members(payload);
    let has_text = |key: &str| text(&payload, key).is_some();
    match name.as_str() {
        "session_meta" => {
            let is_complete = ["timestamp", "cwd", "originator", "cli_version"].iter().all(|key| has_text(key));
            let is_right = is_id(&payload, "id") && some(&payload, "history_base").is_none_or(is_base);
            if is_complete && is_right { Ok(Record::Meta) } else { reject("a header without its id, time, folder or version") }
        }
        "response_item" => {
            if some(members, "metadata").is_some_and(|value| json::kind_of(value) != Kind::Object) {
                return reject("its metadata is no object");
            }
            judge_item(&payload).map(|item| if item == Item::Unknown { Record::Unknown } else { Record::Item(item) })
        }
        "compacted" => {
            if !has_text("message") {
                return reject("a compaction without a message");
            }
            if some(&payload, "window_number").is_some_and(|number| !is_integer(number)) {
                return reject("its window number is no number");
            }
            if let Some(list) = some(&payload, "replacement_history") {
                if json::kind_of(list) != Kind::Array {
                    return reject("its history is no list");
                }
                for item in json::elements(list) {
                    if json::kind_of(item) != Kind::Object {
                        return reject("an item of its history is no object");
                    }
                    judge_item(&json::all_members(item))?;
                }
            }
            Ok(Record::Compacted)
        }
        "event_msg" => judge_event(&payload),
        "turn_context" => Ok(Record::TurnContext),
        "inter_agent_communication" => {
            if has_text("author") && has_text("recipient") && has_text("content") {
                Ok(Record::BetweenAgents)
            } else {
                reject("a message between agents without its parts")
            }
        }
        known if is_known(known) => Ok(Record::Other),
        _ => Ok(Record::Unknown),
    }
}

/// Whether the value of a key is a UUID.
fn is_id(members: &[Member<'_>], key: &str) -> bool {
    text(members, key).is_some_and(|id| Uuid::try_parse(&id).is_ok())
}

/// Whether a value says where a rollout goes on from.
fn is_base(base: &[u8]) -> bool {
    let members = members_of(base);
    let numbers = ["end_ordinal_exclusive", "end_byte_offset"];
    is_id(&members, "thread_id") && numbers.iter().all(|key| get(&members, key).is_some_and(is_unsigned))
}

fn is_known(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "session_meta",
        "response_item",
        "compacted",
        "event_msg",
        "turn_context",
        "world_state",
        "token_usage_record",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "security_risk_score",
    ];
    KNOWN.contains(&name)
}

fn judge_event(payload: &[Member<'_>]) -> Result<Record, NoRecord> {
    let Some(name) = text(payload, "type") else { return Err(NoRecord::Rejected("an event without a type")) };
    if let Some((_, key)) = EVENTS_WITH_TEXT.iter().find(|(known, _)| *known == name)
        && text(payload, key).is_none()
    {
        return Err(NoRecord::Rejected("an event without its text"));
    }
    Ok(match name.as_str() {
        "user_message" => Record::UserEvent,
        "task_started" | "turn_started" => Record::TurnStarted,
        "thread_rolled_back" => {
            let turns = get(payload, "num_turns").and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse::<u32>().ok());
            if turns.is_none() {
                return Err(NoRecord::Rejected("a rollback without its number of turns"));
            }
            Record::RolledBack
        }
        _ => Record::Other,
    })
}

fn is_unsigned(value: &[u8]) -> bool {
    rust::unsigned(Value::trusted(value)).is_some()
}

fn is_integer(value: &[u8]) -> bool {
    is_unsigned(value) || std::str::from_utf8(value).is_ok_and(|text| text.parse::<i64>().is_ok())
}

/// The key of the metadata that an item carries for its writer alone.
pub(super) const PASSTHROUGH: &str = "internal_chat_message_metadata_passthrough";

/// Judges an item.
///
/// # Errors
/// Where Codex skips the record that it is in.
pub(super) fn judge_item(members: &[Member<'_>]) -> Result<Item, NoRecord> {
    let reject = |why| Err(NoRecord::Rejected(why));
    let Some(name) = text(members, "type") else { return reject("an item without a type") };
    let item = Item::named(&name);
    if item == Item::Unknown {
        return Ok(item);
    }
    let has_text = |key: &str| text(members, key).is_some();
    let is_optional_text = |key: &str| some(members, key).is_none_or(|value| json::kind_of(value) == Kind::String);
    let is_list = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::Array);
    if !is_optional_text("id") {
        return reject("its id is no text");
    }
    if let Some(about) = some(members, PASSTHROUGH) {
        let is_right = json::kind_of(about) == Kind::Object
            && some(&json::all_members(about), "turn_id").is_none_or(|id| json::kind_of(id) == Kind::String);
        if !is_right {
            return reject("its metadata is not right");
        }
    }
    let output_is_right = || match get(members, "output") {
        Some(output) if json::kind_of(output) == Kind::Array => {
            json::elements(output).all(|part| is_part(part, &["input_text", "input_image", "input_audio", "encrypted_content"]))
        }
        Some(output) => json::kind_of(output) == Kind::String,
        None => false,
    };
    let is_complete = match item {
        Item::Message => {
            let is_phase = |phase: &[u8]| matches!(phase, b"\"commentary\"" | b"\"final_answer\"");
            has_text("role")
                && is_list("content")
                && json::elements(get(members, "content").unwrap_or(b"[]"))
                    .all(|part| is_part(part, &["input_text", "output_text", "input_image", "input_audio"]))
                && some(members, "phase").is_none_or(is_phase)
        }
        Item::Reasoning => {
            let is_content = |list: &[u8]| {
                json::kind_of(list) == Kind::Array && json::elements(list).all(|part| is_part(part, &["reasoning_text", "text"]))
            };
            is_list("summary")
                && json::elements(get(members, "summary").unwrap_or(b"[]")).all(|part| is_part(part, &["summary_text"]))
                && some(members, "content").is_none_or(is_content)
                && is_optional_text("encrypted_content")
        }
        Item::FunctionCall => has_text("name") && has_text("arguments") && has_text("call_id") && is_optional_text("namespace"),
        Item::FunctionOutput => output_is_right() && is_optional_text("call_id") && is_optional_text("name"),
        Item::CustomCall => has_text("call_id") && has_text("name") && has_text("input") && is_optional_text("status"),
        Item::CustomOutput => has_text("call_id") && output_is_right() && is_optional_text("name"),
        Item::ShellCall => {
            let is_status = matches!(get(members, "status"), Some(b"\"completed\"" | b"\"in_progress\"" | b"\"incomplete\""));
            let action = inside(members, "action");
            is_status
                && text(&action, "type").as_deref() == Some("exec")
                && get(&action, "command").is_some_and(is_list_of_texts)
                && is_optional_text("call_id")
        }
        Item::SearchCall => has_text("execution") && get(members, "arguments").is_some() && is_optional_text("call_id"),
        Item::SearchOutput => has_text("status") && has_text("execution") && is_list("tools") && is_optional_text("call_id"),
        Item::WebSearch => {
            is_optional_text("status") && some(members, "action").is_none_or(|action| text(&members_of(action), "type").is_some())
        }
        Item::ImageGeneration => has_text("status") && has_text("result") && is_optional_text("revised_prompt"),
        Item::Compaction => has_text("encrypted_content"),
        Item::ContextCompaction => is_optional_text("encrypted_content"),
        Item::AgentMessage => has_text("author") && has_text("recipient") && is_list("content"),
        Item::AdditionalTools => has_text("role") && is_list("tools"),
        Item::GhostSnapshot => get(members, "ghost_commit").is_some_and(|commit| json::kind_of(commit) == Kind::Object),
        Item::Unknown => true,
    };
    if is_complete { Ok(item) } else { reject("an item whose fields are missing or of another kind") }
}

fn is_list_of_texts(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::Array && json::elements(value).all(|text| json::kind_of(text) == Kind::String)
}

/// Whether a value is a part of one of these types, with the text that it needs.
fn is_part(part: &[u8], types: &[&str]) -> bool {
    let members = members_of(part);
    let Some(name) = text(&members, "type").filter(|name| types.contains(&name.as_str())) else { return false };
    match name.as_str() {
        "input_image" => {
            let is_detail = |detail: &[u8]| matches!(detail, b"\"auto\"" | b"\"low\"" | b"\"high\"" | b"\"original\"");
            text(&members, "image_url").is_some() && some(&members, "detail").is_none_or(is_detail)
        }
        "input_audio" => text(&members, "audio_url").is_some(),
        "encrypted_content" => text(&members, "encrypted_content").is_some(),
        _ => text(&members, "text").is_some(),
    }
}
