//! Blocks and results beside the chain. The blocks of one answer are records of
//! their own, and of parallel calls only one result can be on the chain.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::record::Kind;
use super::tree::{Index, Tree};

type Text<'a> = Cow<'a, [u8]>;

/// Which records belong to one answer, and which results to which calls.
pub(super) struct Blocks<'a> {
    /// The answer that a record is a block of.
    answer_of: Vec<Option<Answer>>,
    /// The records of each answer.
    records: Vec<Vec<Index>>,
    /// The calls of each answer, with the record that makes each.
    calls: Vec<Vec<(Text<'a>, Index)>>,
    /// The answer that makes a call; none where several do.
    called_by: HashMap<Text<'a>, Option<Answer>>,
    /// The records with results of a call.
    results: HashMap<Text<'a>, Vec<Index>>,
    /// The calls that a record has results of.
    answers: HashMap<Index, Vec<Text<'a>>>,
}

type Answer = usize;

impl<'a> Blocks<'a> {
    pub(super) fn of(tree: &Tree<'a>) -> Blocks<'a> {
        let mut blocks = Blocks {
            answer_of: vec![None; tree.records.len()],
            records: Vec::new(),
            calls: Vec::new(),
            called_by: HashMap::new(),
            results: HashMap::new(),
            answers: HashMap::new(),
        };
        let mut ids: HashMap<Text<'a>, Answer> = HashMap::new();
        for (index, record) in tree.records.iter().enumerate() {
            match record.kind {
                Kind::Assistant => {
                    let Some(id) = record.message.get("id").text().filter(|id| !id.is_empty()) else { continue };
                    let answer = *ids.entry(id).or_insert(blocks.records.len());
                    if answer == blocks.records.len() {
                        blocks.records.push(Vec::new());
                        blocks.calls.push(Vec::new());
                    }
                    blocks.answer_of[index] = Some(answer);
                    blocks.records[answer].push(index);
                    for call in record.blocks_of("tool_use").filter_map(|block| block.get("id").text()) {
                        let by = blocks.called_by.entry(call.clone()).or_insert(Some(answer));
                        *by = by.filter(|by| *by == answer);
                        blocks.calls[answer].push((call, index));
                    }
                }
                Kind::User => {
                    let results = record.blocks_of("tool_result").map(|block| block.get("tool_use_id").text());
                    let results: Vec<Option<Text<'a>>> = results.collect();
                    if results.is_empty() {
                        continue;
                    }
                    let results: Vec<Text<'a>> = results.into_iter().flatten().collect();
                    results.iter().for_each(|call| blocks.results.entry(call.clone()).or_default().push(index));
                    blocks.answers.insert(index, results);
                }
                Kind::Attachment | Kind::System | Kind::Progress => {}
            }
        }
        blocks
    }

    /// Whether a record holds the result of a call.
    pub(super) fn is_result(&self, index: Index) -> bool {
        self.answers.contains_key(&index)
    }

    fn calls_answered(&self, index: Index) -> impl Iterator<Item = &Text<'a>> {
        self.answers.get(&index).into_iter().flatten()
    }

    /// The chain with what belongs to its answers put after them.
    pub(super) fn complete(&self, tree: &Tree<'a>, chain: &[Index]) -> Vec<Index> {
        let mut listed: HashSet<Index> = chain.iter().copied().collect();
        let mut answered: HashSet<&Text<'a>> = chain.iter().flat_map(|index| self.calls_answered(*index)).collect();
        let mut last_of: HashMap<Answer, usize> = HashMap::new();
        for (at, index) in chain.iter().enumerate() {
            last_of.extend(self.answer_of[*index].map(|answer| (answer, at)));
        }
        let mut list = Vec::with_capacity(chain.len());
        for (at, &index) in chain.iter().enumerate() {
            list.push(index);
            if let Some(answer) = self.answer_of[index].filter(|answer| last_of.get(answer) == Some(&at)) {
                self.add_beside(tree, answer, &mut listed, &mut answered, &mut list);
            }
        }
        list
    }

    /// Adds the blocks of an answer that are not listed, and the results of its
    /// calls.
    fn add_beside<'s>(
        &'s self,
        tree: &Tree<'a>,
        answer: Answer,
        listed: &mut HashSet<Index>,
        answered: &mut HashSet<&'s Text<'a>>,
        list: &mut Vec<Index>,
    ) {
        let by_time = |index: &Index| tree.records[*index].timestamp.text().unwrap_or_default();
        let records = &self.records[answer];
        let mut others: Vec<Index> = records.iter().copied().filter(|index| listed.insert(*index)).collect();
        others.sort_by_key(by_time);
        list.append(&mut others);

        let hanging = records.iter().flat_map(|index| tree.children(*index)).copied();
        let mut results: Vec<Index> = hanging.filter(|index| self.is_result(*index) && listed.insert(*index)).collect();
        results.sort_unstable();
        answered.extend(results.iter().flat_map(|index| self.calls_answered(*index)));
        results.append(&mut self.elsewhere(tree, answer, listed, answered));
        results.sort_by_key(by_time);
        list.append(&mut results);
    }

    /// Results of an answer's calls that hang elsewhere, as far as the calls have
    /// no other result.
    fn elsewhere<'s>(
        &'s self,
        tree: &Tree<'a>,
        answer: Answer,
        listed: &mut HashSet<Index>,
        answered: &mut HashSet<&'s Text<'a>>,
    ) -> Vec<Index> {
        let is_own = |call: &Text<'a>| self.called_by.get(call) == Some(&Some(answer));
        let mut found: Vec<Index> = Vec::new();
        for (call, by) in self.calls[answer].iter().filter(|(call, _)| is_own(call) && !answered.contains(call)) {
            let by = &tree.records[*by];
            let is_tied = |index: &&Index| {
                let record = &tree.records[**index];
                let is_same_agent = record.agent.text() == by.agent.text() && record.is_sidechain == by.is_sidechain;
                is_same_agent && !record.parent.is_nullish() && !listed.contains(*index)
            };
            found.extend(self.results.get(call).into_iter().flatten().filter(is_tied));
        }
        found.sort_unstable();
        found.dedup();
        found.retain(|index| {
            let open: Vec<_> = self.calls_answered(*index).filter(|call| is_own(call) && !answered.contains(call)).collect();
            answered.extend(&open);
            !open.is_empty() && listed.insert(*index)
        });
        found
    }
}
