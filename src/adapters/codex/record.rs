//! One line of a rollout: whether Codex takes it, and for what.

use crate::json::{self, Dialect, Kind, Member};
use crate::runtimes::rust;

use super::item::Item;
use super::members::{get, some, text};
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
