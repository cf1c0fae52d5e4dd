//! One item of a context, and what it is to rollbacks and compactions.

use crate::json::Value;

use super::item::{self, Kind, PASSTHROUGH};
use super::marks;
use super::parts::Part;

/// One item of a context.
#[derive(Debug, Clone)]
pub(super) enum Entry<'r> {
    /// An item as it was stored.
    Stored(Kind, Value<'r>),
    /// An output of a tool from a line of its own: its empty texts are not sent.
    Output(Kind, Value<'r>),
    /// A message from whose content these parts are left out.
    Cut(Value<'r>, Vec<Value<'r>>),
    /// A prompt of which the texts are kept, with its id.
    Prompt(Option<Value<'r>>, Vec<String>),
    /// What one agent writes to another.
    Communication(Value<'r>),
}

/// Tells whether an item begins a turn.
pub(super) fn is_turn_of(kind: Kind, item: Value<'_>) -> bool {
    let is_role = |role: &str| item.get("role").is_some_and(|value| value.is_str(role));
    kind == Kind::AgentMessage
        || (kind == Kind::Message && ((is_role("user") && !is_harness_user(item)) || (is_role("assistant") && is_communication(item))))
}

/// The texts of an item that somebody put in.
fn texts(item: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    parts(item).filter(|part| Part::of(*part) == Some(Part::InputText)).filter_map(|part| part.get("text"))
}

/// The parts of an item's content.
pub(super) fn parts(item: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    item.get("content").unwrap_or_default().elements()
}

fn is_harness_user(item: Value<'_>) -> bool {
    texts(item).any(marks::is_harness_user)
}

/// Tells whether an answer is one message between agents.
fn is_communication(item: Value<'_>) -> bool {
    let mut parts = parts(item);
    let (Some(only), None) = (parts.next(), parts.next()) else { return false };
    only.get("text").and_then(Value::as_str).is_some_and(|text| item::is_communication_text(&text))
}

impl<'r> Entry<'r> {
    /// Tells whether it begins a turn, for a rollback and a compaction: here a
    /// summary does not.
    pub(super) fn is_turn(&self) -> bool {
        match self {
            Entry::Stored(kind, item) => is_turn_of(*kind, *item) && !(*kind == Kind::Message && is_summary(*item)),
            Entry::Prompt(_, texts) => !marks::is_summary(&texts.concat()) && !texts.iter().any(|text| marks::is_harness_text(text)),
            Entry::Communication(_) => true,
            Entry::Cut(..) | Entry::Output(..) => false,
        }
    }

    /// Tells whether the program itself put it in before a turn.
    pub(super) fn is_harness(&self) -> bool {
        match self {
            Entry::Stored(Kind::Message, item) | Entry::Cut(item, _) => match item.get("role").unwrap_or_default() {
                role if role.is_str("user") => is_harness_user(*item),
                role if role.is_str("developer") => texts(*item).any(marks::is_harness_developer),
                _ => false,
            },
            Entry::Prompt(_, texts) => texts.iter().any(|text| marks::is_harness_text(text)),
            Entry::Stored(..) | Entry::Output(..) | Entry::Communication(_) => false,
        }
    }

    /// The stored message of a user that begins a turn.
    pub(super) fn prompt(&self) -> Option<Prompt<'_, 'r>> {
        match self {
            Entry::Stored(Kind::Message, item) if self.is_turn() && item.get("role").is_some_and(|role| role.is_str("user")) => {
                Some(Prompt::Stored(*item))
            }
            Entry::Prompt(id, texts) if self.is_turn() => Some(Prompt::Kept(*id, texts)),
            Entry::Stored(..) | Entry::Output(..) | Entry::Prompt(..) | Entry::Cut(..) | Entry::Communication(_) => None,
        }
    }

    /// The turn that it says it belongs to.
    pub(super) fn turn_id(&self) -> Option<Value<'r>> {
        match self {
            Entry::Stored(_, item) | Entry::Output(_, item) | Entry::Cut(item, _) => {
                item.get(PASSTHROUGH)?.get("turn_id").filter(|id| id.is_string())
            }
            Entry::Prompt(..) | Entry::Communication(_) => None,
        }
    }
}

/// What a user typed, as a compaction keeps it.
pub(super) enum Prompt<'e, 'r> {
    Stored(Value<'r>),
    Kept(Option<Value<'r>>, &'e [String]),
}

/// Tells whether a user's message is the summary of a compaction.
fn is_summary(item: Value<'_>) -> bool {
    let is_text = |part: &Value<'_>| matches!(Part::of(*part), Some(Part::InputText | Part::OutputText));
    let texts: Vec<Value<'_>> = parts(item).filter(is_text).filter_map(|part| part.get("text")).collect();
    // The start of the first text tells of nearly every message that it is not a summary.
    let may_be_one = texts.iter().find(|text| text.text().len() > 2).is_some_and(|text| marks::may_be_summary(*text));
    may_be_one && marks::is_summary(&texts.iter().map(|text| text.to_str()).collect::<String>())
}
