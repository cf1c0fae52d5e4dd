//! The context that records make: compactions replace what was said before, and
//! rollbacks take turns away.

use crate::json::Value;

use super::budget;
use super::entry::{Entry, is_turn_of, parts};
use super::item::{self, Kind};
use super::marks;
use super::record::{History, Record, Replacement, What};
use super::rollout::Rollouts;

/// Builds the context that these records end in.
pub(super) fn rebuild<'r>(rollouts: &'r Rollouts<'_>, kind: History, records: &[Record]) -> Vec<Entry<'r>> {
    let base = newest_replacement(rollouts, records);
    let mut history = base.map(|at| replacement(records[at].payload(rollouts), kind)).unwrap_or_default();
    for record in &records[base.map_or(0, |at| at + 1)..] {
        match &record.what {
            What::Item(kind) => history.extend(stored(*kind, record.payload(rollouts))),
            What::AgentMessage => history.push(Entry::Communication(record.payload(rollouts))),
            What::RolledBack(turns) => drop_turns(&mut history, *turns),
            What::Compacted(Replacement::Rebuilt) => {
                let message = record.payload(rollouts).get("message").unwrap_or_default();
                history = budget::prompts_and_summary(&history, &message.to_str());
            }
            // All that are left belong to turns that were taken back.
            What::Compacted(Replacement::Listed)
            | What::Meta(_)
            | What::UserMessage
            | What::TurnStarted(_)
            | What::TurnContext(_)
            | What::Other => {}
        }
    }
    history
}

/// An item of a line; nothing where it does not enter the context.
fn stored(kind: Kind, item: Value<'_>) -> Option<Entry<'_>> {
    let is_left_out = match kind {
        Kind::GhostSnapshot | Kind::Unknown => true,
        Kind::Message => item.get("role").is_some_and(|role| role.is_str("system")),
        Kind::Reasoning
        | Kind::FunctionCall
        | Kind::FunctionCallOutput
        | Kind::CustomToolCall
        | Kind::CustomToolCallOutput
        | Kind::WebSearchCall
        | Kind::LocalShellCall
        | Kind::ImageGenerationCall
        | Kind::Compaction
        | Kind::ContextCompaction
        | Kind::AgentMessage
        | Kind::ToolSearchCall
        | Kind::ToolSearchOutput
        | Kind::AdditionalTools => false,
    };
    let is_output = matches!(kind, Kind::FunctionCallOutput | Kind::CustomToolCallOutput);
    let entry = if is_output { Entry::Output(kind, item) } else { Entry::Stored(kind, item) };
    (!is_left_out).then_some(entry)
}

/// The items of a compaction that lists them. In the older kind of rollout snapshots are
/// dropped; in the newer one their places stay.
fn replacement(compacted: Value<'_>, history: History) -> Vec<Entry<'_>> {
    let list = compacted.get("replacement_history").unwrap_or_default();
    let items = list.elements().filter_map(|item| Some((item::check(item)?, item)));
    let is_kept = |kind: Kind| history == History::Paginated || kind != Kind::GhostSnapshot;
    items.filter(|(kind, _)| is_kept(*kind)).map(|(kind, item)| Entry::Stored(kind, item)).collect()
}

/// A turn, read from its end.
#[derive(Default)]
struct Turn<'r> {
    id: Option<&'r str>,
    /// Whether a rollback counts it.
    counts: bool,
    /// The record of its newest compaction that lists items.
    replacement: Option<usize>,
}

/// The newest compaction that lists items, in a turn that was not taken back.
fn newest_replacement(rollouts: &Rollouts<'_>, records: &[Record]) -> Option<usize> {
    let (mut turn, mut pending) = (Turn::default(), 0_u64);
    for (at, record) in records.iter().enumerate().rev() {
        match &record.what {
            What::RolledBack(turns) => pending += u64::from(*turns),
            What::TurnContext(id) => turn.id = turn.id.or(id.as_deref()),
            What::UserMessage | What::AgentMessage => turn.counts = true,
            What::Item(kind) => turn.counts = turn.counts || is_turn_of(*kind, record.payload(rollouts)),
            What::Compacted(Replacement::Listed) => turn.replacement = turn.replacement.or(Some(at)),
            What::TurnStarted(id) if turn.id.zip(id.as_deref()).is_none_or(|(known, started)| known == started) => {
                if let Some(found) = close(std::mem::take(&mut turn), &mut pending) {
                    return Some(found);
                }
            }
            What::TurnStarted(_) | What::Compacted(Replacement::Rebuilt) | What::Meta(_) | What::Other => {}
        }
    }
    close(turn, &mut pending)
}

/// Ends a turn: what it replaces the history with, unless it was taken back.
fn close(turn: Turn<'_>, pending: &mut u64) -> Option<usize> {
    if *pending == 0 {
        return turn.replacement;
    }
    *pending -= u64::from(turn.counts);
    None
}

/// Takes the last turns out of a history, with what the program put before them.
fn drop_turns(history: &mut Vec<Entry<'_>>, turns: u32) {
    let starts: Vec<usize> = (0..history.len()).filter(|at| history[*at].is_turn()).collect();
    let (Some(first), true) = (starts.first().copied(), turns > 0) else { return };
    let nth_last = usize::try_from(turns).ok().and_then(|turns| starts.len().checked_sub(turns));
    let start = nth_last.map_or(first, |at| starts[at]);
    let before = history[first..start].iter().rposition(|entry| !entry.is_harness());
    let cut = before.map_or(first, |at| first + at + 1);
    let turn = history[start].turn_id();
    history.truncate(cut.min(start));
    if let (true, Some(turn)) = (start == first, turn) {
        remove_model_switches(history, turn);
    }
}

/// Takes out what developer items say of another model, where it is of a turn.
fn remove_model_switches(history: &mut Vec<Entry<'_>>, turn: Value<'_>) {
    let is_of_turn = |entry: &Entry<'_>| entry.turn_id().is_some_and(|id| id.is_same_as(turn));
    for entry in history.iter_mut() {
        let (Entry::Stored(Kind::Message, item) | Entry::Cut(item, _)) = entry else { continue };
        let item = *item;
        if !item.get("role").is_some_and(|role| role.is_str("developer")) || !is_of_turn(entry) {
            continue;
        }
        let is_switch = |part: &Value<'_>| part.get("text").is_some_and(marks::is_model_switch);
        let kept: Vec<Value<'_>> = parts(item).filter(|part| !is_switch(part)).collect();
        if kept.len() < parts(item).count() {
            *entry = Entry::Cut(item, kept);
        }
    }
    history.retain(|entry| !matches!(entry, Entry::Cut(_, parts) if parts.is_empty()));
}
