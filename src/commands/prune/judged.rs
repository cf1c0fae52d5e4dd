//! The items of a source, each with what speaks for its removal and against it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::files::RelPath;
use crate::model::retention::{Prunable, Rule, Stay};

/// One thing that was looked at.
#[derive(Debug)]
pub(super) struct Check {
    /// What it is about.
    pub about: &'static str,
    /// What speaks for it.
    pub speaks: String,
    /// What speaks against it.
    pub against: Option<Stay>,
}

impl Check {
    pub fn passed(about: &'static str, speaks: impl Into<String>) -> Check {
        Check { about, speaks: speaks.into(), against: None }
    }

    pub fn failed(about: &'static str, against: Stay) -> Check {
        Check { about, speaks: String::new(), against: Some(against) }
    }

    pub fn of(about: &'static str, speaks: impl Into<String>, against: Option<Stay>) -> Check {
        Check { about, speaks: speaks.into(), against }
    }
}

/// An item and what becomes of it.
#[derive(Debug)]
pub(super) struct Judged {
    pub item: Prunable,
    /// The folder that its files are below.
    pub folder: RelPath,
    /// The units whose files they are, by their places in the source.
    pub units: BTreeSet<usize>,
    /// The unit of each share.
    pub owners: Vec<usize>,
    /// What there is to say for it and against it, in the order in which it was
    /// looked at: all of it where that was asked for, else up to what is against
    /// it.
    pub checks: Vec<Check>,
    /// Those of its files that no log has, where that does not keep them.
    pub given_up: Vec<RelPath>,
}

impl Judged {
    /// Says why it stays; nothing where it is removed.
    pub fn stays(&self) -> Option<&Stay> {
        self.checks.iter().find_map(|check| check.against.as_ref())
    }

    /// Returns what it frees.
    pub fn bytes(&self) -> u64 {
        self.item.shares.iter().map(|share| share.bytes).sum()
    }

    /// Returns its files, below the source.
    pub fn files(&self) -> impl Iterator<Item = RelPath> {
        self.item.shares.iter().map(|share| share.file.below(&self.folder))
    }
}

/// What is removed and what stays.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub items: Vec<Judged>,
}

impl Plan {
    /// Returns the items that nothing keeps from being removed.
    pub fn removals(&self) -> impl Iterator<Item = &Judged> {
        self.items.iter().filter(|judged| judged.stays().is_none())
    }

    /// Counts what is removed.
    pub fn removed_amount(&self) -> Amount {
        Amount::of(self.removals())
    }

    /// Returns how much stays.
    pub fn stays(&self) -> Amount {
        Amount::of(self.items.iter().filter(|judged| judged.stays().is_some()))
    }
}

/// How much of a source: items, and what they are made of.
#[derive(Debug, Default)]
pub(super) struct Amount {
    /// What is removed completely or not at all.
    pub items: u64,
    /// Turns, runs, lines and events, by rule.
    pub parts: BTreeMap<Rule, u64>,
}

impl Amount {
    fn of<'j>(judged: impl Iterator<Item = &'j Judged>) -> Amount {
        let mut amount = Amount::default();
        for one in judged {
            amount.items += 1;
            *amount.parts.entry(one.item.rule).or_default() += one.item.parts;
        }
        amount
    }

    /// Adds what is counted with one file.
    pub fn add(&mut self, rule: Rule, parts: u64) {
        self.items += rule.items(parts);
        *self.parts.entry(rule).or_default() += parts;
    }
}

/// How much is looked at: everything about what is in the file that is to be
/// explained; of the rest nothing more once something speaks against it.
#[derive(Debug, Default)]
pub(super) struct Depth {
    /// That file, below the source.
    pub explained: Option<RelPath>,
}

impl Depth {
    /// Tells whether an item is to be looked at any further.
    pub fn asks(&self, one: &Judged) -> bool {
        one.stays().is_none() || self.explains(one)
    }

    /// Tells whether an item is in the file that is to be explained.
    pub fn explains(&self, one: &Judged) -> bool {
        one.files().any(|file| Some(&file) == self.explained.as_ref())
    }
}
