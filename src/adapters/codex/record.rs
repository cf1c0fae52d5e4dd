//! One line of a rollout: whether Codex takes it, and for what.

use crate::json::{self, Dialect, Kind, Member};
use crate::runtimes::rust;

use super::typed::{self, is_unsigned};

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
    match name.as_str() {
        "session_meta" => {
            if typed::has(&payload, typed::HEADER) {
                Ok(Record::Meta)
            } else {
                reject("a header whose fields are missing or of another kind")
            }
        }
        "response_item" => {
            if get(members, "metadata").is_some_and(|value| !typed::is_metadata(value)) {
                return reject("its metadata is not right");
            }
            judge_item(&payload).map(|item| if item == Item::Unknown { Record::Unknown } else { Record::Item(item) })
        }
        "compacted" => {
            if !typed::has(&payload, typed::COMPACTION) {
                return reject("a compaction whose fields are missing or of another kind");
            }
            let items = some(&payload, "replacement_history");
            if some(&payload, "replacement_history_metadata").is_some_and(|metadata| !typed::are_of_items(metadata, items)) {
                return reject("a compaction with metadata of other items");
            }
            if let Some(list) = items {
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
        "turn_context" if typed::has(&payload, typed::TURN_CONTEXT) => Ok(Record::TurnContext),
        "turn_context" => reject("settings whose fields are missing or of another kind"),
        "inter_agent_communication" => {
            if typed::has(&payload, typed::BETWEEN_AGENTS) {
                Ok(Record::BetweenAgents)
            } else {
                reject("a message between agents without its parts")
            }
        }
        known if is_known(known) => Ok(Record::Other),
        _ => Ok(Record::Unknown),
    }
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
    let reject = |why| Err(NoRecord::Rejected(why));
    Ok(match name.as_str() {
        "user_message" if typed::has(payload, typed::USER_EVENT) => Record::UserEvent,
        "user_message" => return reject("an event of a prompt whose fields are missing or of another kind"),
        "task_started" | "turn_started" if typed::has(payload, typed::TURN_STARTED) => Record::TurnStarted,
        "task_started" | "turn_started" => return reject("an event of a turn whose fields are missing or of another kind"),
        "thread_rolled_back" => {
            let turns = get(payload, "num_turns").and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse::<u32>().ok());
            if turns.is_none() {
                return Err(NoRecord::Rejected("a rollback without its number of turns"));
            }
            Record::RolledBack
        }
        "agent_message" if text(payload, "message").is_none() => return reject("an event without its text"),
        "agent_reasoning" if text(payload, "text").is_none() => return reject("an event without its text"),
        _ => Record::Other,
    })
}

/// Judges an item.
///
/// # Errors
/// Where Codex skips the record that it is in.
pub(super) fn judge_item(members: &[Member<'_>]) -> Result<Item, NoRecord> {
    let Some(name) = text(members, "type") else { return Err(NoRecord::Rejected("an item without a type")) };
    let item = Item::named(&name);
    if typed::is_item(item, members) { Ok(item) } else { Err(NoRecord::Rejected("an item whose fields are missing or of another kind")) }
}
