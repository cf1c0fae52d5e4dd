//! Prompts that were typed while a turn ran, commands that the program answered by
//! itself, and which records are shown at all.

use std::collections::{HashMap, HashSet};

use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind, Member};

use super::place::{Entry, File, Tree, by_time, is_main, is_message};
use super::schema::{Node, Record, Way, inside, is_of_type, is_set, text};

/// Kinds of origin whose prompts are shown though they are marked as context.
const SHOWN_ORIGINS: [&[u8]; 6] = [b"channel", b"observer", b"observer-activity", b"slack-ping", b"voice-call", b"peer"];

/// Texts that stand in the place of an answer that was interrupted.
const INTERRUPTIONS: [&str; 11] = [
    "[Request interrupted by user]",
    "[Request interrupted: the session ended before this agent finished. Nobody asked it to stop.]",
    "[Request interrupted: the system running this conversation stopped before this turn finished. Nobody asked to stop this turn.]",
    "[Agent call interrupted: the process running this conversation stopped before this agent finished, so it returned no result. Nobody asked it to stop.]",
    "[Request interrupted by user for tool use]",
    "[Tool call did not complete: the turn was ended to deliver the message that follows. Nothing refused it; re-run it if still needed.]",
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. Check whether it took effect before relying on it or running it again.]",
    "[Tool call result not in this copy: this session was copied from another session before that session recorded this call's result. The call may have finished there, may still be running there, or may never have run. Check whether it took effect before relying on it or running it again.]",
    "The user doesn't want to take this action right now. STOP what you are doing and wait for the user to tell you how to proceed.",
    "[Tool call skipped: the turn was stopped before this call ran, by the check whose denial is on another call in this batch. Nothing refused this call and it had no effects; re-run it if still needed.]",
    "[Tool call skipped: the turn ended to deliver the message that follows before this call ran. Nothing refused it; re-run it if still needed.]",
];

/// Whether an object has an origin of a kind that is always shown.
fn has_shown_origin(members: &[Member<'_>]) -> bool {
    text(&inside(members, "origin"), "kind").is_some_and(|kind| SHOWN_ORIGINS.contains(&kind.as_slice()))
}

/// Which queued prompts the lines of a file say were delivered.
#[derive(Default)]
pub(super) struct Deliveries {
    /// What the lines say of a command, where they speak of it.
    said: HashMap<usize, bool>,
}

struct Command {
    entry: usize,
    source: Option<Vec<u8>>,
    delivery: Option<Vec<u8>>,
    prompt: Vec<u8>,
}

impl Deliveries {
    pub(super) fn of(tree: &Tree, entries: &[Entry<'_>]) -> Deliveries {
        let commands: Vec<Command> =
            tree.nodes.iter().filter(|n| entries[**n].kind == Record::Queued).map(|n| command(entries, *n)).collect();
        if commands.is_empty() {
            return Deliveries::default();
        }
        let (mut by_delivery, mut by_source): (HashMap<Vec<u8>, usize>, HashMap<Vec<u8>, usize>) = Default::default();
        for entry in entries.iter().skip(tree.first_read()).filter(|entry| entry.is_other("queue-operation")) {
            with_members(entry, |members| {
                let is = |key: &str, wanted: &[u8]| text(members, key).as_deref() == Some(wanted);
                if is("operation", b"remove") && is("reason", b"absorbed_mid_turn") {
                    match (text(members, "deliveryId"), text(members, "commandUuid")) {
                        (Some(delivery), _) => *by_delivery.entry(delivery).or_default() += 1,
                        (None, Some(source)) => *by_source.entry(source).or_default() += 1,
                        (None, None) => {}
                    }
                }
            });
        }
        let mut said = HashMap::new();
        let mut deliver = |copies: Vec<&Command>, count: usize| {
            let first = copies.len().saturating_sub(count);
            said.extend(copies.iter().enumerate().map(|(n, command)| (command.entry, n >= first)));
        };
        for (delivery, count) in &by_delivery {
            deliver(commands.iter().filter(|command| command.delivery.as_ref() == Some(delivery)).collect(), *count);
        }
        for (source, count) in &by_source {
            let all: Vec<&Command> = commands.iter().filter(|command| command.source.as_ref() == Some(source)).collect();
            if all.windows(2).all(|two| two[0].prompt == two[1].prompt) {
                deliver(all.into_iter().filter(|command| command.delivery.is_none()).collect(), *count);
            }
        }
        Deliveries { said }
    }
}

fn command(entries: &[Entry<'_>], entry: usize) -> Command {
    with_members(&entries[entry], |members| {
        let attachment = inside(members, "attachment");
        Command {
            entry,
            source: text(&attachment, "source_uuid"),
            delivery: text(&attachment, "delivery_id"),
            prompt: get(&attachment, "prompt").unwrap_or_default().to_vec(),
        }
    })
}

/// The nodes below each node.
pub(super) fn children(tree: &Tree) -> HashMap<usize, Vec<usize>> {
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    for n in &tree.nodes {
        if let Some(above) = tree.parents[*n] {
            children.entry(above).or_default().push(*n);
        }
    }
    children
}

/// Appends the queued prompts below a leaf that nobody answered.
pub(super) fn append_below(children: &HashMap<usize, Vec<usize>>, entries: &[Entry<'_>], leaf: usize, list: &mut Vec<usize>) {
    if !children.get(&leaf).into_iter().flatten().any(|n| !is_message(&entries[*n])) {
        return;
    }
    let listed: HashSet<usize> = list.iter().copied().collect();
    let passes = |n: &usize| matches!(entries[*n].traits.node, Node::Attachment | Node::System | Node::Progress);
    let mut passed: HashSet<usize> = HashSet::from([leaf]);
    let below = |n: usize| {
        let mut sorted: Vec<usize> = children.get(&n).cloned().unwrap_or_default().into_iter().filter(passes).collect();
        by_time(entries, &mut sorted);
        sorted.reverse();
        sorted
    };
    let mut open = below(leaf);
    while let Some(n) = open.pop() {
        if !passed.insert(n) {
            continue;
        }
        let goes_on = has_message_below(n, children, &|n| is_message(&entries[n]) && is_main(&entries[n]) && !listed.contains(&n));
        if entries[n].kind == Record::Queued && !goes_on && !listed.contains(&n) {
            list.push(n);
        }
        open.extend(below(n));
    }
}

fn has_message_below(from: usize, children: &HashMap<usize, Vec<usize>>, is_it: &dyn Fn(usize) -> bool) -> bool {
    let mut passed = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(n) = open.pop() {
        for child in children.get(&n).into_iter().flatten() {
            if passed.insert(*child) {
                if is_it(*child) {
                    return true;
                }
                open.push(*child);
            }
        }
    }
    false
}

/// How each record of a list is shown; `chain` is how many of them are the chain,
/// with what stands beside it.
pub(super) fn ways(entries: &[Entry<'_>], deliveries: &Deliveries, list: &[usize], chain: usize, file: File) -> Vec<Way> {
    let mut ways: Vec<Way> = list.iter().map(|n| way(&entries[*n], file)).collect();
    let own: HashSet<Vec<u8>> = list.iter().filter_map(|n| uuid(&entries[*n])).collect();
    let mut sources: HashSet<Vec<u8>> = HashSet::new();
    for (at, n) in list.iter().enumerate().filter(|(_, n)| entries[**n].kind == Record::Queued) {
        let command = command(entries, *n);
        let delivered = match deliveries.said.get(n).filter(|_| file == File::Main) {
            Some(said) => *said,
            None => at >= chain || is_answered(entries, &list[at + 1..chain]),
        };
        let is_known = command.source.as_ref().is_some_and(|source| {
            let is_own = uuid(&entries[*n]).as_ref() == Some(source);
            (!is_own && own.contains(source)) || !sources.insert(source.clone())
        });
        ways[at] = if delivered && !is_known && is_shown(&entries[*n], file) { Way::QueuedCommand } else { Way::Hidden };
    }
    mark_local_commands(entries, list, &mut ways);
    ways
}

fn uuid(entry: &Entry<'_>) -> Option<Vec<u8>> {
    with_members(entry, |members| text(members, "uuid"))
}

/// Whether a queued prompt may be shown at all.
fn is_shown(entry: &Entry<'_>, file: File) -> bool {
    let traits = &entry.traits;
    let is_side = file == File::Main && (traits.is_sidechain || traits.has_team);
    !is_side
        && with_members(entry, |members| {
            let attachment = inside(members, "attachment");
            file == File::Agent || !is_set(&attachment, "isMeta") || has_shown_origin(&attachment)
        })
}

/// How a record is shown by itself.
pub(super) fn way(entry: &Entry<'_>, file: File) -> Way {
    let traits = &entry.traits;
    if !is_message(entry) {
        return if entry.kind == Record::Queued { Way::Hidden } else { Way::Plain };
    }
    let is_hidden = traits.is_sidechain || traits.has_team || (traits.is_meta && !with_members(entry, has_shown_origin));
    if file == File::Main && is_hidden { Way::Hidden } else { Way::Plain }
}

/// Whether the next thing after a prompt is a reply and not another prompt.
fn is_answered(entries: &[Entry<'_>], after: &[usize]) -> bool {
    for n in after {
        let entry = &entries[*n];
        match entry.traits.node {
            Node::Assistant => return true,
            Node::User if entry.traits.is_meta || entry.traits.is_summary => {}
            Node::User => return is_reply(entry),
            Node::Progress | Node::System | Node::Attachment | Node::State => {}
        }
    }
    false
}

/// Whether a user record is a result or says that the turn was interrupted.
fn is_reply(entry: &Entry<'_>) -> bool {
    with_members(entry, |members| {
        let message = inside(members, "message");
        let Some(content) = get(&message, "content") else { return false };
        match json::kind_of(content) {
            Kind::String => is_interruption(content),
            Kind::Array => {
                let is_block = |block: &[u8]| {
                    let members: Vec<Member<'_>> = if json::kind_of(block) == Kind::Object { json::all_members(block) } else { Vec::new() };
                    let is_error = get(&members, "is_error") == Some(b"true");
                    let says =
                        if is_of_type(block, "text") { get(&members, "text") } else { get(&members, "content").filter(|_| is_error) };
                    says.is_some_and(|says| json::kind_of(says) == Kind::String && is_interruption(says))
                };
                let mut blocks = json::elements(content);
                json::elements(content).any(|block| is_of_type(block, "tool_result"))
                    || (json::elements(content).next().is_some() && blocks.all(is_block))
            }
            Kind::Object | Kind::Number | Kind::True | Kind::False | Kind::Null => false,
        }
    })
}

fn is_interruption(text: &[u8]) -> bool {
    let text = json::unescape(text);
    INTERRUPTIONS.iter().any(|start| text.starts_with(start))
}

/// Where a walk over local commands stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    Closed,
    Open,
    Marked,
}

/// Marks the commands that the program answered by itself, and their output.
fn mark_local_commands(entries: &[Entry<'_>], list: &[usize], ways: &mut [Way]) {
    let mut walk = Walk::Closed;
    for (at, n) in list.iter().enumerate() {
        let entry = &entries[*n];
        match entry.traits.node {
            Node::Assistant => walk = Walk::Closed,
            Node::User => {
                let (says, has_source) = with_members(entry, |members| (last_text(members), get(members, "promptSource").is_some()));
                let begins = |start: &str| says.as_deref().is_some_and(|says| says.starts_with(start)) && !has_source;
                if entry.traits.is_meta {
                    if begins("<local-command-caveat>") {
                        walk = Walk::Open;
                    }
                    continue;
                }
                let is_output = begins("<local-command-stdout>") || begins("<local-command-stderr>");
                walk = match walk {
                    Walk::Open if begins("<command-name>") => Walk::Marked,
                    Walk::Marked if is_output => Walk::Marked,
                    Walk::Open | Walk::Marked | Walk::Closed => Walk::Closed,
                };
                if walk == Walk::Marked && ways[at] == Way::Plain {
                    ways[at] = Way::LocalCommand;
                }
            }
            Node::Progress | Node::System | Node::Attachment | Node::State => {}
        }
    }
}

/// The text of a message, or its last block of text.
fn last_text(members: &[Member<'_>]) -> Option<String> {
    let message = inside(members, "message");
    let content = get(&message, "content")?;
    match json::kind_of(content) {
        Kind::String => Some(json::unescape(content).into_owned()),
        Kind::Array => {
            let last = json::elements(content).filter(|block| is_of_type(block, "text")).last()?;
            get(&json::all_members(last), "text")
                .filter(|text| json::kind_of(text) == Kind::String)
                .map(|text| json::unescape(text).into_owned())
        }
        Kind::Object | Kind::Number | Kind::True | Kind::False | Kind::Null => None,
    }
}
