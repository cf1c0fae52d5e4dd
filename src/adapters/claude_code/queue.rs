//! Prompts that were typed while a turn ran, commands that the program answered by
//! itself, and which records are shown at all.

use std::collections::{HashMap, HashSet};

use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind, Member};
use crate::runtimes::javascript as js;

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
    /// How many lines there are of prompts that are known by their deliveries…
    by_delivery: HashMap<Vec<u8>, usize>,
    /// …and by the records that they were before.
    by_source: HashMap<Vec<u8>, usize>,
    /// The uuids of those delivered, of the former.
    delivered: HashSet<Vec<u8>>,
}

struct Command {
    uuid: Vec<u8>,
    source: Option<Vec<u8>>,
    delivery: Option<Vec<u8>>,
}

impl Deliveries {
    pub(super) fn of(tree: &Tree, entries: &[Entry<'_>]) -> Deliveries {
        let mut found = Deliveries::default();
        let read = || entries.iter().enumerate().skip(tree.first_read());
        for (_, entry) in read().filter(|(_, entry)| entry.is_other("queue-operation")) {
            with_members(entry, |members| {
                let is = |key: &str, wanted: &[u8]| text(members, key).as_deref() == Some(wanted);
                if is("operation", b"remove") && is("reason", b"absorbed_mid_turn") {
                    let name = |key: &str| text(members, key).filter(|name| !name.is_empty());
                    match (name("deliveryId"), name("commandUuid")) {
                        (Some(delivery), _) => *found.by_delivery.entry(delivery).or_default() += 1,
                        (None, Some(source)) => *found.by_source.entry(source).or_default() += 1,
                        (None, None) => {}
                    }
                }
            });
        }
        if found.by_delivery.is_empty() && found.by_source.is_empty() {
            return found;
        }
        // A prompt counts once for each of its uuids, as it is there first.
        let mut copies: HashMap<Vec<u8>, Vec<Vec<u8>>> = HashMap::new();
        let mut known: HashSet<Vec<u8>> = HashSet::new();
        let mut spelled: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
        for (n, entry) in read().filter(|(_, entry)| entry.traits.node == Node::Attachment && entry.traits.is_queued) {
            let command = command(entries, n);
            match (command.delivery, command.source) {
                (Some(delivery), _) if known.insert(command.uuid.clone()) => copies.entry(delivery).or_default().push(command.uuid),
                (Some(_), _) | (None, None) => {}
                (None, Some(source)) => {
                    let spelling = with_members(entry, |members| get(members, "attachment").map(js::stringify)).unwrap_or_default();
                    // Of prompts that differ nobody knows which was delivered.
                    if *spelled.entry(source.clone()).or_insert_with(|| spelling.clone()) != spelling {
                        found.by_source.remove(&source);
                    }
                }
            }
        }
        for (delivery, uuids) in copies {
            let count = found.by_delivery.get(&delivery).copied().unwrap_or_default();
            found.delivered.extend(uuids.into_iter().rev().take(count));
        }
        found
    }

    /// What the lines say of the prompts on a list, where they speak of them: of those
    /// known by their source the last ones were delivered.
    fn said(&self, entries: &[Entry<'_>], list: &[usize]) -> HashMap<usize, bool> {
        let mut said = HashMap::new();
        let mut left = self.by_source.clone();
        for (at, n) in list.iter().enumerate().rev().filter(|(_, n)| entries[**n].traits.is_queued) {
            let command = command(entries, *n);
            match (command.delivery, command.source) {
                (Some(delivery), _) if self.by_delivery.contains_key(&delivery) => {
                    said.insert(at, self.delivered.contains(&command.uuid));
                }
                (None, Some(source)) => {
                    if let Some(left) = left.get_mut(&source) {
                        said.insert(at, *left > 0);
                        *left = left.saturating_sub(1);
                    }
                }
                (Some(_) | None, _) => {}
            }
        }
        said
    }
}

fn command(entries: &[Entry<'_>], entry: usize) -> Command {
    with_members(&entries[entry], |members| {
        let attachment = inside(members, "attachment");
        let name = |key: &str| text(&attachment, key).filter(|name| !name.is_empty());
        Command { uuid: text(members, "uuid").unwrap_or_default(), source: name("source_uuid"), delivery: name("delivery_id") }
    })
}

/// The nodes below each node.
pub(super) struct Below {
    /// As the records say it, and with what compactions linked anew, too.
    written: HashMap<usize, Vec<usize>>,
    linked: HashMap<usize, Vec<usize>>,
}

impl Below {
    pub(super) fn of(tree: &Tree) -> Below {
        let mut below = Below { written: HashMap::new(), linked: HashMap::new() };
        for n in tree.nodes.iter().copied() {
            let (written, linked) = (tree.written[n], tree.parents[n]);
            if let Some(above) = written {
                below.written.entry(above).or_default().push(n);
                below.linked.entry(above).or_default().push(n);
            }
            if let Some(above) = linked.filter(|_| linked != written) {
                below.linked.entry(above).or_default().push(n);
            }
        }
        below
    }

    /// What the program added below a node, by time; the last comes first.
    fn added(&self, entries: &[Entry<'_>], n: usize) -> Vec<usize> {
        let is_added = |n: &usize| matches!(entries[*n].traits.node, Node::Attachment | Node::System | Node::Progress);
        let mut added: Vec<usize> = self.linked.get(&n).into_iter().flatten().copied().filter(is_added).collect();
        added.sort_unstable();
        by_time(entries, &mut added);
        added.reverse();
        added
    }
}

/// Appends the queued prompts below a leaf that nobody answered.
pub(super) fn append_below(below: &Below, entries: &[Entry<'_>], leaf: usize, list: &mut Vec<usize>) {
    let mut passed: HashSet<usize> = list.iter().copied().collect();
    let mut open = below.added(entries, leaf);
    let mut found = Vec::new();
    while let Some(n) = open.pop() {
        if passed.insert(n) {
            found.extend(Some(n).filter(|n| entries[*n].traits.is_queued));
            open.extend(below.added(entries, n));
        }
    }
    let listed: HashSet<usize> = list.iter().copied().collect();
    let is_open = |n: &usize| !has_message_below(*n, &below.written, &listed, entries);
    list.extend(found.into_iter().filter(is_open));
}

/// Whether something was said below a record that is not on the list.
fn has_message_below(from: usize, children: &HashMap<usize, Vec<usize>>, listed: &HashSet<usize>, entries: &[Entry<'_>]) -> bool {
    let mut passed = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(n) = open.pop() {
        for child in children.get(&n).into_iter().flatten().copied().filter(|child| !listed.contains(child)) {
            if passed.insert(child) {
                if is_message(&entries[child]) && is_main(&entries[child]) {
                    return true;
                }
                open.push(child);
            }
        }
    }
    false
}

/// How each record of a list is shown; `chain` is how many of them are the chain,
/// with what stands beside it.
pub(super) fn ways(entries: &[Entry<'_>], deliveries: &Deliveries, list: &[usize], chain: usize, file: File) -> Vec<Way> {
    let mut ways: Vec<Way> = list.iter().map(|n| way(&entries[*n], file)).collect();
    let is_command = mark_local_commands(entries, list, &mut ways);
    let answered = answered(entries, list, &is_command);
    let said = deliveries.said(entries, list);
    let own: HashSet<Vec<u8>> = list.iter().filter_map(|n| uuid(&entries[*n])).collect();
    let mut sources: HashSet<Vec<u8>> = HashSet::new();
    for (at, n) in list.iter().enumerate().filter(|(_, n)| entries[**n].kind == Record::Queued) {
        let is_delivered = said.get(&at).copied().unwrap_or(at >= chain || answered[at]);
        let is_known = |source: Vec<u8>| {
            let is_own = uuid(&entries[*n]).as_ref() == Some(&source);
            (!is_own && own.contains(&source)) || !sources.insert(source)
        };
        let is_side = file == File::Main && (entries[*n].traits.is_sidechain || entries[*n].traits.has_team);
        let is_told = is_delivered && may_be_shown(&entries[*n], file) && !command(entries, *n).source.is_some_and(is_known);
        // One of a side branch is not shown, and takes the name all the same.
        let is_shown = is_told && !is_side;
        ways[at] = if is_shown { Way::QueuedCommand } else { Way::Hidden };
    }
    ways
}

fn uuid(entry: &Entry<'_>) -> Option<Vec<u8>> {
    with_members(entry, |members| text(members, "uuid"))
}

/// Whether a queued prompt may be shown at all, as far as it says itself.
fn may_be_shown(entry: &Entry<'_>, file: File) -> bool {
    with_members(entry, |members| {
        let attachment = inside(members, "attachment");
        let is_forwarded = text(&inside(&attachment, "forwardedIntent"), "lineage").is_some_and(|lineage| !lineage.is_empty());
        !is_forwarded && (file == File::Agent || !is_set(&attachment, "isMeta") || has_shown_origin(&attachment))
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

/// After which records of a list the next thing is a reply and not another prompt.
fn answered(entries: &[Entry<'_>], list: &[usize], is_command: &[bool]) -> Vec<bool> {
    let mut answered = vec![false; list.len()];
    let mut is_reply_next = false;
    for (at, n) in list.iter().enumerate().rev() {
        let entry = &entries[*n];
        answered[at] = is_reply_next;
        match entry.traits.node {
            Node::Assistant => is_reply_next = true,
            Node::User if is_reply(entry) => is_reply_next = true,
            Node::User => is_reply_next &= entry.traits.is_meta || entry.traits.is_summary || is_command[at],
            Node::Progress | Node::System | Node::Attachment | Node::State => {}
        }
    }
    answered
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
                    let of_result = || get(&members, "content").filter(|_| is_error && is_of_type(block, "tool_result"));
                    let says = if is_of_type(block, "text") { get(&members, "text") } else { of_result() };
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

/// Marks the commands that the program answered by itself, and their output: they
/// follow a caveat, in which several may overlap.
fn mark_local_commands(entries: &[Entry<'_>], list: &[usize], ways: &mut [Way]) -> Vec<bool> {
    let mut marked = vec![false; list.len()];
    // What may come next: a command, or its output.
    let (mut command, mut output) = (false, false);
    for (at, n) in list.iter().enumerate() {
        let entry = &entries[*n];
        match entry.traits.node {
            Node::Assistant => (command, output) = (false, false),
            Node::User => {
                let (says, has_source) = with_members(entry, |members| (last_text(members), get(members, "promptSource").is_some()));
                let begins = |start: &str| says.as_deref().is_some_and(|says| says.starts_with(start)) && !has_source;
                if entry.traits.is_meta {
                    command |= begins("<local-command-caveat>");
                    continue;
                }
                let is_output = begins("<local-command-stdout>") || begins("<local-command-stderr>");
                marked[at] = (command && begins("<command-name>")) || (output && is_output);
                (command, output) = (false, marked[at]);
                if marked[at] && ways[at] == Way::Plain {
                    ways[at] = Way::LocalCommand;
                }
            }
            Node::Progress | Node::System | Node::Attachment | Node::State => {}
        }
    }
    marked
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
