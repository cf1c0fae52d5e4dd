//! One branch, and what a model would be given of it.

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::member;

use super::compaction::first_kept;
use super::failure::Failure;
use super::rows::{Role, Row, Type};
use super::show::{self, text_or_json};
use super::tree::Tree;

/// The entries from the root to a leaf.
#[derive(Debug)]
pub struct Branch {
    path: Vec<u32>,
    cut: Option<Cut>,
}

/// Where a summary stands in for what was said before.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// The place of the summary in the path.
    at: usize,
    /// The first place before it that is shown all the same, or `at`.
    kept: usize,
}

impl Branch {
    /// Returns the branch that ends in an entry.
    ///
    /// # Errors
    /// Where the program throws instead of giving messages.
    pub fn to(tree: &mut Tree<'_>, leaf: u32) -> Result<Branch, Failure> {
        let path = tree.path_to(leaf);
        // Every message is asked for its role, shown or not.
        let is_broken = |row: &Row<'_>| row.kind() == Type::Message && !row.has_message();
        if path.iter().any(|entry| tree.row(*entry).is_some_and(is_broken)) {
            return Err(Failure::Type);
        }
        let cut = path.iter().rposition(|entry| tree.kind(*entry) == Type::Compaction).map(|at| {
            let first = path.get(at).and_then(|compaction| first_kept(tree, *compaction));
            let kept = path.iter().take(at).position(|entry| Some(tree.id(*entry)) == first);
            Cut { at, kept: kept.unwrap_or(at) }
        });
        let branch = Branch { path, cut };
        let has_time = |row: &Row<'_>| !show::needs_time(row) || show::time(row).is_some();
        let all_have = branch.summary(tree).is_none_or(|row| show::time(row).is_some()) && branch.shown(tree).all(has_time);
        if all_have { Ok(branch) } else { Err(Failure::Time) }
    }

    fn summary<'t, 'a>(&self, tree: &'t Tree<'a>) -> Option<&'t Row<'a>> {
        self.path.get(self.cut?.at).and_then(|entry| tree.row(*entry))
    }

    /// Returns the rows that may be shown besides the summary.
    fn shown<'t, 'a>(&self, tree: &'t Tree<'a>) -> impl Iterator<Item = &'t Row<'a>> {
        let (kept, after) = match self.cut {
            Some(cut) => (self.path.get(cut.kept..cut.at), self.path.get(cut.at + 1..)),
            None => (None, Some(self.path.as_slice())),
        };
        kept.into_iter().chain(after).flatten().filter_map(|entry| tree.row(*entry))
    }

    /// Shows the messages, each as one line; how many they were.
    pub fn show(&self, tree: &Tree<'_>, show: &mut dyn FnMut(&[u8])) -> usize {
        let mut line = Vec::new();
        let mut count = 0;
        let mut emit = |line: &[u8]| {
            if !line.is_empty() {
                show(line);
                count += 1;
            }
        };
        if let Some(row) = self.summary(tree) {
            show::push_summary(row, &mut line);
            emit(&line);
        }
        for row in self.shown(tree) {
            if let Some(message) = show::stored_message(row, tree.age) {
                emit(&message);
            } else {
                line.clear();
                show::push_entry(row, tree.age, &mut line);
                emit(&line);
            }
        }
        count
    }

    /// Returns the model that was set last, or that answered last.
    #[must_use]
    pub fn model(&self, tree: &Tree<'_>) -> Option<String> {
        self.path.iter().rev().find_map(|entry| {
            let row = tree.row(*entry)?;
            let [provider, model] = if row.kind() == Type::Model {
                ["provider", "modelId"].map(|name| row.member(name))
            } else {
                let message = row.message.filter(|_| row.kind() == Type::Message && row.said.role == Role::Assistant)?;
                ["provider", "model"].map(|name| member(message, name))
            };
            let text = |value: Option<&[u8]>| value.filter(|value| kind_of(value) == Kind::String).map(text_or_json).unwrap_or_default();
            Some(format!("{}/{}", text(provider), text(model)))
        })
    }

    /// Returns the thinking level that was set last; none where one was set to nothing.
    #[must_use]
    pub fn thinking_level(&self, tree: &Tree<'_>) -> Option<String> {
        let set = self.path.iter().rev().filter_map(|entry| tree.row(*entry)).find(|row| row.kind() == Type::ThinkingLevel);
        set.map_or_else(|| Some("off".to_owned()), |row| row.member("thinkingLevel").map(text_or_json))
    }
}
