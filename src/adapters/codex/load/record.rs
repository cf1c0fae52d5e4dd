//! The records of a rollout: which lines are one, and what they are to the
//! context.

use std::ops::Range;

use uuid::Uuid;

use crate::json::Value;
use crate::runtimes::rust::{accepted, parse, unsigned};

use super::item::{self, Kind};
use super::metadata;
use super::rollout::Rollouts;
use super::shapes;

/// A line that is a record.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) what: What,
    /// Whether it says its place in a paginated history.
    pub(super) has_ordinal: bool,
    /// The number of its rollout, and where its payload is in that.
    rollout: usize,
    payload: Range<usize>,
}

/// What a record is to the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The metadata of a session.
    Meta(Meta),
    /// An item that the model sees.
    Item(Kind),
    /// The event of a typed prompt.
    UserMessage,
    /// The beginning of a turn, with its id.
    TurnStarted(Option<String>),
    /// The settings of a turn, with its id.
    TurnContext(Option<String>),
    /// So many turns are taken back.
    RolledBack(u32),
    /// The history is replaced.
    Compacted(Replacement),
    /// What one agent writes to another.
    AgentMessage,
    /// Nothing.
    Other,
}

/// What takes the place of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement {
    /// The items that the record lists.
    Listed,
    /// What users said, and a summary.
    Rebuilt,
}

/// What the metadata of a session decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) history: History,
    pub(super) base: Option<Base>,
}

/// How a rollout keeps its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    Legacy,
    Paginated,
    Unknown,
}

/// Where a rollout goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) rollout: Uuid,
    pub(super) bytes: u64,
}

impl Record {
    /// Reads a line that starts here in the rollout with this number.
    pub(super) fn read(line: &[u8], rollout: usize, start: usize) -> Option<Record> {
        let line_value = parse(line)?;
        let [timestamp, ordinal, kind, payload, metadata] = line_value.get_each(["timestamp", "ordinal", "type", "payload", "metadata"]);
        timestamp.filter(|value| value.is_string())?;
        let ordinal = ordinal.filter(|value| !value.is_null());
        ordinal.is_none_or(|value| unsigned(value).is_some()).then_some(())?;
        let payload = payload.filter(|payload| payload.is_object())?;
        let what = match kind?.as_str()?.as_ref() {
            "session_meta" => What::Meta(meta(payload)?),
            "response_item" => What::Item(item::check(payload).filter(|_| metadata.is_none_or(metadata::is_of_record))?),
            "event_msg" => event(payload)?,
            "turn_context" => shapes::is_turn_context(payload).then(|| What::TurnContext(text(payload.get("turn_id"))))?,
            "compacted" => What::Compacted(compacted(payload)?),
            "inter_agent_communication" => item::is_communication(payload).then_some(What::AgentMessage)?,
            "world_state" | "token_usage_record" | "inter_agent_communication_metadata" | "security_risk_score" => What::Other,
            _ => return None,
        };
        let span = payload.span_in(line);
        Some(Record { what, has_ordinal: ordinal.is_some(), rollout, payload: start + span.start..start + span.end })
    }

    /// The payload, in the text of its rollout.
    pub(super) fn payload<'r>(&self, rollouts: &'r Rollouts<'_>) -> Value<'r> {
        let text = rollouts.text(self.rollout).unwrap_or_default();
        text.get(self.payload.clone()).map_or(Value::NULL, accepted)
    }
}

fn text(value: Option<Value<'_>>) -> Option<String> {
    value.and_then(Value::as_str).map(std::borrow::Cow::into_owned)
}

fn meta(payload: Value<'_>) -> Option<Meta> {
    shapes::is_meta(payload).then_some(())?;
    let [mode, base] = payload.get_each(["history_mode", "history_base"]);
    let history = match mode {
        None => History::Legacy,
        Some(mode) if mode.is_str("legacy") => History::Legacy,
        Some(mode) if mode.is_str("paginated") => History::Paginated,
        Some(_) => History::Unknown,
    };
    let base = base.filter(|base| !base.is_null()).map(history_base);
    Some(Meta { history, base: base.map_or(Some(None), |base| base.map(Some))? })
}

fn history_base(base: Value<'_>) -> Option<Base> {
    let [thread, ordinal, bytes] = base.get_each(["thread_id", "end_ordinal_exclusive", "end_byte_offset"]);
    unsigned(ordinal?)?;
    Some(Base { rollout: Uuid::try_parse(&thread?.as_str()?).ok()?, bytes: unsigned(bytes?)? })
}

fn event(payload: Value<'_>) -> Option<What> {
    let kind = payload.get("type")?.as_str()?;
    Some(match kind.as_ref() {
        "user_message" => shapes::is_user_message(payload).then_some(What::UserMessage)?,
        "task_started" | "turn_started" => shapes::is_turn_started(payload).then(|| What::TurnStarted(text(payload.get("turn_id"))))?,
        "thread_rolled_back" => What::RolledBack(u32::try_from(unsigned(payload.get("num_turns")?)?).ok()?),
        _ => What::Other,
    })
}

fn compacted(payload: Value<'_>) -> Option<Replacement> {
    shapes::is_compaction(payload).then_some(())?;
    match payload.get("replacement_history").filter(|list| !list.is_null()) {
        None => Some(Replacement::Rebuilt),
        Some(list) => (list.is_array() && list.elements().all(|item| item::check(item).is_some())).then_some(Replacement::Listed),
    }
}
