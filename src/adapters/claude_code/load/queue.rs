//! Prompts that were typed during a turn: which of them reached the model.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::json::same_value;
use crate::runtimes::javascript::{Type, Value};

use super::blocks::Blocks;
use super::record::{Kind, Record};
use super::tree::{Index, Tree};

/// How a user's record begins that tells of an interruption.
const INTERRUPTIONS: [&str; 11] = [
    "[Request interrupted by user]",
    "[Request interrupted: the session ended before this agent finished. Nobody asked it to stop.]",
    "[Request interrupted: the system running this conversation stopped before this turn finished. Nobody asked to stop this turn.]",
    "[Agent call interrupted: the process running this conversation stopped before this agent finished, so it returned no result. \
     Nobody asked it to stop.]",
    "[Request interrupted by user for tool use]",
    "[Tool call did not complete: the turn was ended to deliver the message that follows. Nothing refused it; re-run it if still needed.]",
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took \
     effect before relying on it or running it again.]",
    "[Tool call result not in this copy: this session was copied from another session before that session recorded this call's result. \
     The call may have finished there, may still be running there, or may never have run. Check whether it took effect before relying \
     on it or running it again.]",
    "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.",
    "[Tool call skipped: the turn was stopped before this call ran, by the check whose denial is on another call in this batch. Nothing \
     refused this call and it had no effects; re-run it if still needed.]",
    "[Tool call skipped: the turn ended to deliver the message that follows before this call ran. Nothing refused it; re-run it if still \
     needed.]",
];

/// Whether a record is a prompt from the queue.
pub(super) fn is_command(record: &Record<'_>) -> bool {
    record.is_attached("queued_command")
}

/// What a queued prompt is known by in the lines that say it was taken up.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Key<'a> {
    Delivery(Cow<'a, [u8]>),
    Source(Cow<'a, [u8]>),
}

impl<'a> Key<'a> {
    fn new(delivery: Value<'a>, source: Value<'a>) -> Option<Key<'a>> {
        let text = |value: Value<'a>| value.text().filter(|text| !text.is_empty());
        text(delivery).map(Key::Delivery).or_else(|| text(source).map(Key::Source))
    }
}

/// The queued prompts of which lines tell whether they were taken up.
#[derive(Default)]
pub(super) struct Queue {
    told: HashMap<Index, Delivery>,
}

/// Whether a queued prompt reached the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Done,
    Never,
}

impl Queue {
    pub(super) fn of(tree: &Tree<'_>) -> Queue {
        let mut lines: HashMap<Key<'_>, usize> = HashMap::new();
        for line in &tree.absorbed {
            if let Some(key) = Key::new(line.delivery, line.command) {
                *lines.entry(key).or_default() += 1;
            }
        }
        if lines.is_empty() {
            return Queue::default();
        }
        let mut copies: HashMap<Key<'_>, Vec<Index>> = HashMap::new();
        for (index, record) in tree.records.iter().enumerate().filter(|(_, record)| is_command(record)) {
            let [delivery, source] = record.attachment.get_all(["delivery_id", "source_uuid"]);
            if let Some(key) = Key::new(delivery, source).filter(|key| lines.contains_key(key)) {
                copies.entry(key).or_default().push(index);
            }
        }
        let mut told = HashMap::new();
        for (key, copies) in copies {
            let prompt = |index: &Index| tree.records[*index].attachment.get("prompt").token();
            let is_void = matches!(key, Key::Source(_)) && copies.windows(2).any(|two| !same_value(prompt(&two[0]), prompt(&two[1])));
            if !is_void {
                let never = copies.len().saturating_sub(lines.get(&key).copied().unwrap_or_default());
                let delivery = |at| if at < never { Delivery::Never } else { Delivery::Done };
                told.extend(copies.into_iter().enumerate().map(|(at, index)| (index, delivery(at))));
            }
        }
        Queue { told }
    }

    /// Which of the queued prompts on a list reached the model.
    pub(super) fn delivered(&self, tree: &Tree<'_>, blocks: &Blocks<'_>, list: &[Index]) -> HashSet<Index> {
        let mut delivered = HashSet::new();
        let mut next = Next::Nothing;
        for &index in list.iter().rev() {
            let record = &tree.records[index];
            if is_command(record) && self.is_delivered(index, next) {
                delivered.insert(index);
            }
            next = next_of(record, index, blocks).unwrap_or(next);
        }
        delivered
    }

    /// Whether a queued prompt below the leaf reached the model.
    pub(super) fn is_delivered_below_leaf(&self, index: Index) -> bool {
        self.is_delivered(index, Next::Reply)
    }

    fn is_delivered(&self, index: Index, next: Next) -> bool {
        self.told.get(&index).map_or(next == Next::Reply, |delivery| *delivery == Delivery::Done)
    }
}

/// What comes after a queued prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Reply,
    Prompt,
    Nothing,
}

/// What a record is to the prompts before it; nothing where it is skipped.
fn next_of(record: &Record<'_>, index: Index, blocks: &Blocks<'_>) -> Option<Next> {
    match record.kind {
        Kind::Assistant => Some(Next::Reply),
        Kind::User if record.is_meta || Value::accepted(record.line).get("isCompactSummary").is_truthy() => None,
        Kind::User if blocks.is_result(index) || is_interruption(record) => Some(Next::Reply),
        Kind::User => Some(Next::Prompt),
        Kind::Attachment | Kind::System | Kind::Progress => None,
    }
}

fn is_interruption(record: &Record<'_>) -> bool {
    let is_told = |text: Value<'_>| text.text().is_some_and(|text| INTERRUPTIONS.iter().any(|start| text.starts_with(start.as_bytes())));
    let content = record.message.get("content");
    if content.type_of() == Type::String {
        return is_told(content);
    }
    let mut blocks = record.blocks().peekable();
    blocks.peek().is_some() && blocks.all(|block| block.get("type").is("text") && is_told(block.get("text")))
}

/// The queued prompts below the leaf that nothing goes on from, each before what
/// is below it.
pub(super) fn below_leaf(tree: &Tree<'_>, list: &[Index], leaf: Index) -> Vec<Index> {
    let listed: HashSet<Index> = list.iter().copied().collect();
    let is_passed = |index: Index| matches!(tree.records[index].kind, Kind::Attachment | Kind::System | Kind::Progress);
    let goes_on = |index: Index| {
        let record = &tree.records[index];
        record.kind.is_said() && record.is_main() && !listed.contains(&index)
    };
    let sorted = |index: Index| {
        let mut below: Vec<Index> = tree.children(index).to_vec();
        below.sort_by_key(|index| tree.records[*index].timestamp.text());
        below
    };
    // Each node comes before those below it, so that from the end each is known
    // before the one above it.
    let (mut order, mut seen, mut open) = (Vec::new(), HashSet::from([leaf]), vec![(leaf, sorted(leaf))]);
    open[0].1.reverse();
    while let Some((above, below)) = open.last_mut() {
        let above = *above;
        match below.pop() {
            None => _ = open.pop(),
            Some(index) if is_passed(index) && seen.insert(index) => {
                order.push((index, above));
                let mut next = sorted(index);
                next.reverse();
                open.push((index, next));
            }
            Some(_) => {}
        }
    }
    let mut continued: HashSet<Index> = HashSet::new();
    for &(index, above) in order.iter().rev() {
        if continued.contains(&index) || tree.children(index).iter().any(|below| goes_on(*below)) {
            continued.extend([index, above]);
        }
    }
    order.into_iter().map(|(index, _)| index).filter(|index| is_command(&tree.records[*index]) && !continued.contains(index)).collect()
}
