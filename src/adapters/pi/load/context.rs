//! What of a branch is in its context, and in which order: the latest
//! compaction, the entries that it keeps, and those after it.

use std::collections::HashMap;

use crate::runtimes::javascript::{Key, Type, Value};

use super::failure::Failure;
use super::flavour::{Flavour, Migration};
use super::message::{ContextPosition, Edit, Projection};
use super::record::{Index, Kind};
use super::tree::{Leaf, Tree};

/// A branch whose messages can be shown.
#[derive(Debug)]
pub(super) struct Context<'t, 'a> {
    tree: &'t Tree<'a>,
    pub(super) path: Vec<Index>,
    /// The latest compaction of the path, and where in the path what it keeps
    /// begins and ends.
    compaction: Option<(Index, std::ops::Range<usize>)>,
    edits: HashMap<Key<'a>, Value<'a>>,
}

impl<'t, 'a> Context<'t, 'a> {
    /// Returns the context of the branch that ends in a leaf.
    ///
    /// # Errors
    /// Where the program fails to build it. What has been returned can be shown.
    pub(super) fn new(tree: &'t Tree<'a>, leaf: Leaf) -> Result<Context<'t, 'a>, Failure> {
        let path = tree.path(leaf)?;
        check_settings(tree, &path)?;
        let at = path.iter().rposition(|index| tree.records.kind(*index) == Kind::Compaction);
        let compaction = at.and_then(|at| {
            let compaction = *path.get(at)?;
            let before = path.get(..at)?;
            let kept = first_kept(tree, compaction).and_then(|kept| before.iter().position(|index| *index == kept)).unwrap_or(at);
            Some((compaction, kept..at))
        });
        let mut context = Context { tree, path, compaction, edits: HashMap::new() };
        context.edits = context.collect_edits();
        // The program builds the whole list before it gives any of it away.
        context.project(&mut |_| {}, Pass::Check)?;
        Ok(context)
    }

    /// Shows every message of the context.
    pub(super) fn show(&self, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        self.project(show, Pass::Show)
    }

    /// Returns the entries of the context, in order.
    fn entries(&self) -> impl Iterator<Item = (ContextPosition, Index)> {
        let (first, kept, after) = match &self.compaction {
            None => (None, 0..0, 0),
            Some((compaction, kept)) => (Some(*compaction), kept.clone(), kept.end + 1),
        };
        let drops_system = matches!(self.tree.flavour, Flavour::Pi(_));
        let slice = |range: std::ops::Range<usize>| self.path.get(range).unwrap_or_default().iter().copied();
        let kept = slice(kept).filter(move |index| !(drops_system && self.is_system(*index)));
        let first = first.into_iter().map(|index| (ContextPosition::First, index));
        first.chain(kept.chain(slice(after..self.path.len())).map(|index| (ContextPosition::After, index)))
    }

    fn is_system(&self, index: Index) -> bool {
        self.tree.records.kind(index) == Kind::Message && self.tree.records.said(index).role == Some("system")
    }

    /// Returns what the entries of the context say about others; the last word counts.
    fn collect_edits(&self) -> HashMap<Key<'a>, Value<'a>> {
        let knows_edits = match self.tree.flavour {
            Flavour::Pi(Migration::Hooks | Migration::None) => true,
            // No edit can know the ids that were just drawn.
            Flavour::Pi(Migration::Chain) | Flavour::Harness | Flavour::Tutorial => false,
        };
        let is_edit = |index: &Index| knows_edits && self.tree.records.kind(*index) == Kind::ContextEdit;
        // Kept system messages are not edits: nothing needs to be left out here.
        let (kept, after) = self.compaction.as_ref().map_or((0..0, 0), |(_, kept)| (kept.clone(), kept.end + 1));
        let ranges = [kept, after..self.path.len()];
        let edits = ranges.into_iter().flat_map(|range| self.path.get(range).unwrap_or_default()).copied().filter(is_edit);
        edits
            .map(|index| {
                let [target, replacement] = self.tree.records.value(index).get_all(["targetId", "replacement"]);
                (Key::of(target.defined()), replacement)
            })
            .collect()
    }

    fn edit_of(&self, index: Index) -> Edit<'a> {
        if self.edits.is_empty() {
            return Edit::None;
        }
        match self.edits.get(&Key::of(self.tree.id(index).defined())) {
            None => Edit::None,
            Some(replacement) if replacement.type_of() == Type::Null => Edit::Drop,
            Some(replacement) => Edit::Replace(*replacement),
        }
    }

    fn project(&self, show: &mut dyn FnMut(&[u8]), pass: Pass) -> Result<(), Failure> {
        let mut projection = Projection::new(self.tree.flavour);
        for (place, index) in self.entries() {
            let kind = self.tree.records.kind(index);
            let edit = self.edit_of(index);
            // A message as it is stored never fails, and need not be looked at twice.
            if pass == Pass::Check && kind == Kind::Message && matches!(edit, Edit::None) {
                continue;
            }
            if kind == Kind::Message {
                projection.message(self.tree.records.message(index), self.tree.records.said(index), edit, show)?;
            } else {
                projection.entry(kind, self.tree.records.value(index), place, edit, show)?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Check,
    Show,
}

/// The settings are read from the whole path, also where they are not asked for,
/// and that fails on an entry whose message is missing.
fn check_settings(tree: &Tree<'_>, path: &[Index]) -> Result<(), Failure> {
    for &index in path {
        let kind = tree.records.kind(index);
        // The harness copies the list of tools, or the letters of a text.
        let copies_tools = kind == Kind::ActiveToolsChange && tree.flavour == Flavour::Harness;
        let can_be_copied = |names: Value<'_>| matches!(names.type_of(), Type::Array | Type::String);
        let fails = copies_tools && !can_be_copied(tree.records.value(index).get("activeToolNames"));
        if fails || kind == Kind::BrokenMessage {
            return Err(Failure::TypeError);
        }
    }
    Ok(())
}

/// Returns the entry from which on a compaction keeps what stands before it.
fn first_kept(tree: &Tree<'_>, compaction: Index) -> Option<Index> {
    let entry = tree.records.value(compaction);
    match tree.flavour {
        // Version 1 counts records, the header included. The header, and what
        // comes later, is not on the path before the compaction.
        Flavour::Pi(Migration::Chain) => {
            let number = entry.get("firstKeptEntryIndex").number()?;
            (number >= 0.0 && number.fract() == 0.0).then_some(number as Index)
        }
        Flavour::Pi(Migration::Hooks | Migration::None) | Flavour::Harness | Flavour::Tutorial => {
            let id = entry.get("firstKeptEntryId");
            // Only ids that lead somewhere stand on a path before its end.
            id.is_truthy().then(|| tree.by_id(id))?
        }
    }
}
