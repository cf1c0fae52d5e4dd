//! Prompts that were typed during a turn: which of them reached the model.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::runtimes::javascript::{Type, Value, stringify};

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

    fn of(attachment: Value<'a>) -> Option<Key<'a>> {
        let [delivery, source] = attachment.get_all(["delivery_id", "source_uuid"]);
        Key::new(delivery, source)
    }
}

/// What the lines of a file tell of its queued prompts.
#[derive(Default)]
pub(super) struct Queue<'a> {
    /// How many lines tell that a prompt was taken up.
    lines: HashMap<Key<'a>, usize>,
    /// The uuids of those that were, of deliveries.
    delivered: HashSet<Cow<'a, [u8]>>,
}

impl<'a> Queue<'a> {
    pub(super) fn of(tree: &Tree<'a>) -> Queue<'a> {
        let mut queue = Queue::default();
        for line in &tree.absorbed {
            if let Some(key) = Key::new(line.delivery, line.command) {
                *queue.lines.entry(key).or_default() += 1;
            }
        }
        if queue.lines.is_empty() {
            return queue;
        }
        let mut uuids = HashSet::new();
        let mut copies: HashMap<Cow<'a, [u8]>, Vec<Cow<'a, [u8]>>> = HashMap::new();
        let mut spelled: HashMap<Cow<'a, [u8]>, Vec<u8>> = HashMap::new();
        for (uuid, attachment) in &tree.commands {
            match Key::of(*attachment) {
                Some(Key::Delivery(delivery)) => {
                    let uuid = uuid.text().unwrap_or_default();
                    if uuids.insert(uuid.clone()) {
                        copies.entry(delivery).or_default().push(uuid);
                    }
                }
                Some(Key::Source(source)) => {
                    let text = stringify(attachment.token());
                    // Of prompts that differ nobody knows which was taken up.
                    if *spelled.entry(source.clone()).or_insert_with(|| text.clone()) != text {
                        queue.lines.remove(&Key::Source(source));
                    }
                }
                None => {}
            }
        }
        for (delivery, mut copies) in copies {
            let count = queue.lines.get(&Key::Delivery(delivery)).copied().unwrap_or_default();
            queue.delivered.extend(copies.split_off(copies.len().saturating_sub(count)));
        }
        queue
    }

    /// Which of the records on a list are queued prompts that reached the model.
    /// The first of them are the `chain`; those behind it hang below the leaf.
    /// `completed` are commands that were carried out on the spot.
    pub(super) fn delivered(&self, list: &[&Record<'a>], chain: usize, completed: &[bool]) -> Vec<bool> {
        let told = self.told(list);
        let mut delivered = vec![false; list.len()];
        let mut next = Next::Nothing;
        for (at, record) in list.iter().enumerate().rev() {
            delivered[at] = is_command(record) && told[at].unwrap_or(next == Next::Reply || at >= chain);
            next = match next_of(record) {
                Some(Next::Prompt) if completed[at] => next,
                found => found.unwrap_or(next),
            };
        }
        delivered
    }

    /// What the lines of the file tell of the queued prompts on a list: of those that
    /// came from one place, the last were taken up, one for each line.
    fn told(&self, list: &[&Record<'a>]) -> Vec<Option<bool>> {
        let mut told = vec![None; list.len()];
        if self.lines.is_empty() {
            return told;
        }
        let mut copies: HashMap<Key<'a>, Vec<usize>> = HashMap::new();
        for (at, record) in list.iter().enumerate().filter(|(_, record)| is_command(record)) {
            if let Some(key) = Key::of(record.attachment).filter(|key| self.lines.contains_key(key)) {
                copies.entry(key).or_default().push(at);
            }
        }
        for (key, places) in copies {
            let first = places.len().saturating_sub(self.lines.get(&key).copied().unwrap_or_default());
            for (n, at) in places.into_iter().enumerate() {
                told[at] = Some(match key {
                    Key::Delivery(_) => list[at].uuid.text().is_some_and(|uuid| self.delivered.contains(&uuid)),
                    Key::Source(_) => n >= first,
                });
            }
        }
        told
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
fn next_of(record: &Record<'_>) -> Option<Next> {
    match record.kind {
        Kind::Assistant => Some(Next::Reply),
        Kind::User if record.is_result() || is_interruption(record) => Some(Next::Reply),
        Kind::User if record.is_meta || Value::accepted(record.line).get("isCompactSummary").is_truthy() => None,
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
    let says = |block: Value<'_>| {
        let is_error = || block.get("is_error").token() == b"true";
        let kind = block.get("type");
        if kind.is("text") { is_told(block.get("text")) } else { kind.is("tool_result") && is_error() && is_told(block.get("content")) }
    };
    let mut blocks = record.blocks().peekable();
    blocks.peek().is_some() && blocks.all(says)
}

/// The queued prompts below the leaf that nothing goes on from, each before what
/// is below it.
pub(super) fn below_leaf(tree: &Tree<'_>, list: &[Index], leaf: Index) -> Vec<Index> {
    let listed: HashSet<Index> = list.iter().copied().collect();
    // A record hangs on what it names, and where a compaction put it.
    let sorted = |index: Index| {
        let mut below = [tree.children(index), tree.children_as_written(index)].concat();
        below.retain(|index| !tree.records[*index].kind.is_said());
        below.sort_by_cached_key(|index| (tree.records[*index].timestamp.text().unwrap_or_default(), tree.place(*index)));
        below.dedup();
        below.reverse();
        below
    };
    let mut seen = HashSet::new();
    let mut open = sorted(leaf);
    let mut found = Vec::new();
    while let Some(index) = open.pop() {
        if listed.contains(&index) || !seen.insert(index) {
            continue;
        }
        if is_command(&tree.records[index]) {
            found.push(index);
        }
        open.extend(sorted(index));
    }
    found.retain(|index| !goes_on(tree, *index, &listed));
    found
}

/// Whether somebody said something below a record that is not on the list.
fn goes_on(tree: &Tree<'_>, from: Index, listed: &HashSet<Index>) -> bool {
    let mut seen = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(index) = open.pop() {
        for below in tree.children_as_written(index) {
            if listed.contains(below) || !seen.insert(*below) {
                continue;
            }
            let record = &tree.records[*below];
            if record.kind.is_said() && record.is_main() {
                return true;
            }
            open.push(*below);
        }
    }
    false
}
