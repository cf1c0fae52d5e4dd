//! Blocks and results beside the chain. The blocks of one answer are records of
//! their own, and of parallel calls only one result can be on the chain.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::runtimes::javascript::{Key, Type, Value};

use super::record::{Kind, Record};
use super::tree::{Index, Tree};

type Text<'a> = Cow<'a, [u8]>;

/// Which records belong to one answer, and which results to which calls.
pub(super) struct Blocks<'a> {
    /// The records of each answer, by the id that the API gave it.
    answers: HashMap<Text<'a>, Vec<Index>>,
    /// The record that makes a call, the last one of its answer; none where several
    /// answers do.
    callers: HashMap<Text<'a>, Option<Index>>,
    /// The calls that a record has results of.
    answered: HashMap<Index, Vec<Text<'a>>>,
    /// The results that are tied to a record.
    results: HashMap<Index, Vec<Index>>,
}

/// The id of the answer that a record is a block of.
fn answer_of<'a>(record: &Record<'a>) -> Option<Text<'a>> {
    if record.kind != Kind::Assistant {
        return None;
    }
    record.message.get("id").text().filter(|id| !id.is_empty())
}

/// Whether two records are told by the same agent.
fn is_same_agent(a: &Record<'_>, b: &Record<'_>) -> bool {
    side(a.sidechain) == side(b.sidechain) && Key::of(a.agent.value()) == Key::of(b.agent.value())
}

fn side(of: Value<'_>) -> Key<'_> {
    if of.is_nullish() { Key::Boolean(false) } else { Key::of(of.value()) }
}

impl<'a> Blocks<'a> {
    pub(super) fn of(tree: &Tree<'a>) -> Blocks<'a> {
        let mut blocks = Blocks { answers: HashMap::new(), callers: HashMap::new(), answered: HashMap::new(), results: HashMap::new() };
        let mut results = Vec::new();
        for (index, record) in tree.records.iter().enumerate() {
            let answered: Vec<Text<'a>> = record.blocks_of("tool_result").filter_map(|block| block.get("tool_use_id").text()).collect();
            if !answered.is_empty() {
                blocks.answered.insert(index, answered);
            }
            if let Some(id) = answer_of(record) {
                for call in record.blocks_of("tool_use").filter_map(|block| block.get("id").text()) {
                    let by = blocks.callers.entry(call).or_insert(Some(index));
                    *by = by.filter(|by| answer_of(&tree.records[*by]).as_ref() == Some(&id)).map(|_| index);
                }
                blocks.answers.entry(id).or_default().push(index);
            } else if record.is_result() {
                results.push(index);
            }
        }
        let mut tied = HashSet::new();
        for result in results {
            for record in blocks.tied_to(tree, result) {
                if tied.insert((record, result)) {
                    blocks.results.entry(record).or_default().push(result);
                }
            }
        }
        blocks
    }

    /// The records that a result is tied to: the one above it, the one that it says
    /// called it, and those whose calls it answers.
    fn tied_to(&self, tree: &Tree<'a>, result: Index) -> Vec<Index> {
        let record = &tree.records[result];
        let source = Value::accepted(record.line).get("sourceToolAssistantUUID");
        let by_source = if source.type_of() == Type::String { tree.find(source) } else { None };
        let by_calls = self.calls_answered(result).filter_map(|call| self.callers.get(call).copied().flatten());
        let by = by_source.into_iter().chain(by_calls).filter(|by| is_same_agent(record, &tree.records[*by]));
        tree.parent(result).into_iter().chain(by).collect()
    }

    fn calls_answered(&self, index: Index) -> impl Iterator<Item = &Text<'a>> {
        self.answered.get(&index).into_iter().flatten()
    }

    /// The chain with what belongs to its answers put after them.
    pub(super) fn complete(&self, tree: &Tree<'a>, chain: &[Index]) -> Vec<Index> {
        let mut listed: HashSet<Index> = chain.iter().copied().collect();
        let answered: HashSet<&Text<'a>> = chain.iter().flat_map(|index| self.calls_answered(*index)).collect();
        let ids: Vec<Option<Text<'a>>> = chain.iter().map(|index| answer_of(&tree.records[*index])).collect();
        let last_of: HashMap<&Text<'a>, usize> = ids.iter().enumerate().filter_map(|(at, id)| Some((id.as_ref()?, at))).collect();
        let mut done: HashSet<&Text<'a>> = HashSet::new();
        let mut beside: HashMap<usize, Vec<Index>> = HashMap::new();
        for id in ids.iter().flatten().filter(|id| done.insert(id)) {
            let found = self.beside(tree, id, &listed, &answered);
            listed.extend(&found);
            beside.extend(last_of.get(id).map(|at| (*at, found)));
        }
        let with_beside = |(at, index): (usize, &Index)| std::iter::once(*index).chain(beside.remove(&at).unwrap_or_default());
        chain.iter().enumerate().flat_map(with_beside).collect()
    }

    /// The blocks of an answer that are not listed, and the results of its calls.
    fn beside(&self, tree: &Tree<'a>, id: &Text<'a>, listed: &HashSet<Index>, answered: &HashSet<&Text<'a>>) -> Vec<Index> {
        let by_time = |index: &Index| tree.records[*index].timestamp.text().unwrap_or_default();
        let records = self.answers.get(id).map(Vec::as_slice).unwrap_or_default();
        let own: HashSet<Index> = records.iter().copied().collect();
        let mut blocks: Vec<Index> = records.iter().copied().filter(|index| !listed.contains(index)).collect();
        blocks.sort_by_key(by_time);

        let mut seen = HashSet::new();
        let tied = records.iter().filter_map(|index| self.results.get(index)).flatten().copied();
        let tied = tied.filter(|index| !listed.contains(index) && seen.insert(*index));
        let (mut results, mut elsewhere): (Vec<Index>, Vec<Index>) =
            tied.partition(|index| tree.parent(*index).is_some_and(|above| own.contains(&above)));
        let mut answered: HashSet<&Text<'a>> = answered.clone();
        answered.extend(results.iter().flat_map(|index| self.calls_answered(*index)));
        elsewhere.sort_unstable();
        for index in elsewhere {
            let is_own = |call: &Text<'a>| self.callers.get(call).copied().flatten().is_some_and(|by| own.contains(&by));
            if self.calls_answered(index).any(|call| !answered.contains(call) && is_own(call)) {
                answered.extend(self.calls_answered(index));
                results.push(index);
            }
        }
        results.sort_by_key(by_time);
        blocks.append(&mut results);
        blocks
    }
}
