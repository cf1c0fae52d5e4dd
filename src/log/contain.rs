//! Whether one log contains another: every message, turn, run, custom entry,
//! compaction, summary, label and damage of the old stands in the new.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::model::event::{Damage, EventKind, EventRef};
use crate::model::ids::Seq;
use crate::model::json;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::view::LogView;

/// What an old log has and a new one lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    /// How many messages.
    pub messages: u64,
    /// How many other facts.
    pub others: u64,
}

impl Missing {
    /// Whether nothing is missing.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Missing::default()
    }
}

/// Counts what `old` has and `new` lacks.
///
/// # Errors
/// When either cannot be read.
pub fn missing<A: ReadAt, B: ReadAt>(old: &mut LogView<A>, new: &mut LogView<B>) -> Result<Missing, StreamError> {
    let mut lacking = Missing::default();
    let mut seq = Seq::ROOT.next();
    // The usual case is growth: the old events are a prefix of the new ones.
    while seq <= old.last() && seq <= new.last() && counted(old.kind(seq)) == counted(new.kind(seq)) {
        if counted(old.kind(seq)) && identity(&old.event(seq)?) != identity(&new.event(seq)?) {
            break;
        }
        seq = seq.next();
    }
    let rest = (seq.number()..=old.last().number()).map(Seq::new).any(|seq| counted(old.kind(seq)));
    if !rest {
        return Ok(lacking);
    }
    let mut have: HashMap<u64, u64, FixedState> = HashMap::default();
    for number in 1..=new.last().number() {
        let seq = Seq::new(number);
        if counted(new.kind(seq)) {
            *have.entry(identity(&new.event(seq)?)).or_default() += 1;
        }
    }
    for number in 1..=old.last().number() {
        let seq = Seq::new(number);
        if !counted(old.kind(seq)) {
            continue;
        }
        let event = old.event(seq)?;
        match have.get_mut(&identity(&event)) {
            Some(left) if *left > 0 => *left -= 1,
            _ if event.kind == EventKind::Message => lacking.messages += 1,
            _ => lacking.others += 1,
        }
    }
    Ok(lacking)
}

/// Whether losing such an event would be a loss.
fn counted(kind: EventKind) -> bool {
    match kind {
        EventKind::Message
        | EventKind::Turn
        | EventKind::Run
        | EventKind::Custom
        | EventKind::Compaction
        | EventKind::BranchSummary
        | EventKind::Label
        | EventKind::Damage => true,
        EventKind::Repeat
        | EventKind::Session
        | EventKind::Head
        | EventKind::Outcome
        | EventKind::Edit
        | EventKind::Hide
        | EventKind::ModelChange
        | EventKind::SettingChange
        | EventKind::Usage
        | EventKind::Meta
        | EventKind::Checkpoint
        | EventKind::Shapes
        | EventKind::Residual
        | EventKind::File
        | EventKind::Seal
        | EventKind::Unknown => false,
    }
}

/// What makes an event the same in two logs: of a message role, content and
/// time; of damage its bytes; of anything else all it says.
pub(super) fn identity(event: &EventRef<'_>) -> u64 {
    let hasher = FixedState::with_seed(0);
    if event.kind == EventKind::Message {
        let mut role: &[u8] = b"";
        let mut content: &[u8] = b"";
        for member in json::members(event.payload).take(2) {
            match member.name().as_ref() {
                "role" => role = member.value,
                "content" => content = member.value,
                _ => {}
            }
        }
        return hasher.hash_one((event.ts, role, content));
    }
    if event.kind == EventKind::Damage
        && let Ok(damage) = serde_json::from_slice::<Damage>(event.payload)
    {
        return hasher.hash_one((damage.text, damage.b64));
    }
    hasher.hash_one((event.kind, event.ts, event.payload))
}
