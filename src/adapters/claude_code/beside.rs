//! The results and further blocks that stand beside a chain.

use std::collections::{HashMap, HashSet};

use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind, Member};
use crate::runtimes::javascript as js;

use super::place::{Entry, Tree, by_time};
use super::schema::{Node, has_results, ids_of};

/// What ties records to each other besides their parents. Everything is found by
/// key: a long session has as many results as answers.
pub(super) struct Beside {
    /// The records of each API message, by its id.
    messages: HashMap<Vec<u8>, Vec<usize>>,
    /// The last record with each tool call; none where two messages have the call.
    caller: HashMap<Vec<u8>, Option<usize>>,
    /// The calls that each record answers.
    answers: HashMap<usize, Vec<Vec<u8>>>,
    /// The results below a record, and those that belong to it though they stand
    /// elsewhere, as they were found.
    results: HashMap<usize, Vec<usize>>,
    /// The parents by which records are tied, and the place of each node in the map.
    parents: Vec<Option<usize>>,
    place: HashMap<usize, usize>,
}

/// The API message that a record is a block of.
fn message_of<'e>(entries: &'e [Entry<'_>], n: usize) -> Option<&'e [u8]> {
    entries[n].traits.message_id.as_deref().filter(|id| !id.is_empty())
}

impl Beside {
    pub(super) fn of(tree: &Tree, entries: &[Entry<'_>]) -> Beside {
        let mut beside = Beside {
            messages: HashMap::new(),
            caller: HashMap::new(),
            answers: HashMap::new(),
            results: HashMap::new(),
            parents: tree.parents.clone(),
            place: tree.nodes.iter().enumerate().map(|(place, n)| (*n, place)).collect(),
        };
        let mut results = Vec::new();
        for n in tree.nodes.iter().copied() {
            let entry = &entries[n];
            let (calls, answers, is_result) = with_members(entry, |members| {
                let is_result = entry.traits.node == Node::User && get(members, "parentUuid").is_some_and(js::is_truthy);
                (ids_of(members, "tool_use", "id"), ids_of(members, "tool_result", "tool_use_id"), is_result && has_results(members))
            });
            if !answers.is_empty() {
                beside.answers.insert(n, answers);
            }
            match message_of(entries, n) {
                Some(id) => beside.add_answer(entries, n, id, calls),
                None if is_result => results.push(n),
                None => {}
            }
        }
        for n in results {
            beside.add_result(tree, entries, n);
        }
        beside
    }

    fn add_answer(&mut self, entries: &[Entry<'_>], n: usize, id: &[u8], calls: Vec<Vec<u8>>) {
        for call in calls {
            let known = self.caller.entry(call).or_insert(Some(n));
            *known = (*known).filter(|other| message_of(entries, *other) == Some(id)).map(|_| n);
        }
        self.messages.entry(id.to_vec()).or_default().push(n);
    }

    fn add_result(&mut self, tree: &Tree, entries: &[Entry<'_>], n: usize) {
        let named = with_members(&entries[n], |members| tree.find(get(members, "sourceToolAssistantUUID")));
        let calls = self.answers.get(&n).map(Vec::as_slice).unwrap_or_default();
        let called = calls.iter().filter_map(|call| self.caller.get(call).copied().flatten());
        let agent = Agent::of(&entries[n]);
        let others: Vec<usize> = named.into_iter().chain(called).filter(|other| Agent::of(&entries[*other]) == agent).collect();
        for to in tree.parents[n].into_iter().chain(others) {
            let results = self.results.entry(to).or_default();
            // A result is added once at a time.
            if results.last() != Some(&n) {
                results.push(n);
            }
        }
    }

    /// A chain with the records that belong to its answers.
    pub(super) fn list(&self, entries: &[Entry<'_>], chain: &[usize]) -> Vec<usize> {
        // The chain, and whatever was put beside it already.
        let mut listed: HashSet<usize> = chain.iter().copied().collect();
        let answered: HashSet<&Vec<u8>> = chain.iter().filter_map(|n| self.answers.get(n)).flatten().collect();
        let last: HashMap<&[u8], usize> = chain.iter().filter_map(|n| Some((message_of(entries, *n)?, *n))).collect();
        let mut added: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut done: HashSet<&[u8]> = HashSet::new();
        for id in chain.iter().filter_map(|n| message_of(entries, *n)) {
            let Some(last) = last.get(id).filter(|_| done.insert(id)) else { continue };
            let found = self.of_message(entries, id, &listed, &answered);
            listed.extend(&found);
            if !found.is_empty() {
                added.entry(*last).or_default().extend(found);
            }
        }
        chain.iter().flat_map(|n| std::iter::once(*n).chain(added.remove(n).unwrap_or_default())).collect()
    }

    fn of_message(&self, entries: &[Entry<'_>], id: &[u8], listed: &HashSet<usize>, answered: &HashSet<&Vec<u8>>) -> Vec<usize> {
        let Some(records) = self.messages.get(id) else { return Vec::new() };
        let own: HashSet<usize> = records.iter().copied().collect();
        let mut taken: HashSet<usize> = HashSet::new();
        let (mut below, mut elsewhere) = (Vec::new(), Vec::new());
        for n in records.iter().filter_map(|record| self.results.get(record)).flatten().copied() {
            if !listed.contains(&n) && taken.insert(n) {
                let is_below = self.parents[n].is_some_and(|above| own.contains(&above));
                if is_below { below.push(n) } else { elsewhere.push(n) }
            }
        }
        // A result that stands elsewhere counts if it answers a call that nothing else does.
        let mut known: HashSet<&Vec<u8>> = below.iter().filter_map(|n| self.answers.get(n)).flatten().collect();
        elsewhere.sort_by_key(|n| self.place.get(n).copied());
        for n in elsewhere {
            let calls = self.answers.get(&n).map(Vec::as_slice).unwrap_or_default();
            let is_open = |call: &&Vec<u8>| !answered.contains(call) && !known.contains(call);
            let is_own = |call: &Vec<u8>| self.caller.get(call).copied().flatten().is_some_and(|caller| own.contains(&caller));
            if calls.iter().filter(is_open).any(is_own) {
                known.extend(calls);
                below.push(n);
            }
        }
        let mut blocks: Vec<usize> = records.iter().copied().filter(|n| !listed.contains(n)).collect();
        by_time(entries, &mut blocks);
        by_time(entries, &mut below);
        blocks.extend(below);
        blocks
    }
}

/// Which agent told a record. Objects equal nothing, not even each other.
#[derive(PartialEq)]
struct Agent {
    side: Name,
    id: Name,
}

enum Name {
    Scalar(Vec<u8>),
    Object,
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        matches!((self, other), (Name::Scalar(a), Name::Scalar(b)) if a == b)
    }
}

impl Agent {
    fn of(entry: &Entry<'_>) -> Agent {
        let name = |value: Option<&[u8]>| js::map_key(value).map_or(Name::Object, |key| Name::Scalar(key.into_owned()));
        with_members(entry, |members: &[Member<'_>]| {
            let side = get(members, "isSidechain").filter(|side| json::kind_of(side) != Kind::Null);
            Agent { side: name(Some(side.unwrap_or(b"false"))), id: name(get(members, "agentId")) }
        })
    }
}
