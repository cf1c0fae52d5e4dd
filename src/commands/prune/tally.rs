//! What was pruned, what stayed, and what went wrong.

use crate::commands::error::CommandError;
use crate::model::retention::{Rule, Stay};
use crate::store::pruned::Tombstone;

use super::judged::Amount;

/// What a prune came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How much was removed.
    pub removed: Amount,
    pub files: u64,
    /// Files of sessions that no undo brings back: of one of their files no log
    /// and no trash has the bytes.
    pub lost: u64,
    pub bytes: u64,
    /// What stays after all, and why.
    pub kept: Vec<(String, Stay)>,
    /// How much stays: what the plan left alone, and what was kept.
    pub stays: Amount,
    /// What went wrong besides.
    pub failed: Vec<CommandError>,
    /// Something is only partly removed, and the next run looks at it again.
    pub is_cut_short: bool,
    /// The names of the prunes that removed something, this run's last.
    pub names: Vec<String>,
}

impl Tally {
    pub fn gone(&mut self, stone: &Tombstone) {
        self.removed.add(stone.rule, stone.parts);
        self.files += 1;
        self.bytes += stone.old.bytes - stone.new.as_ref().map_or(0, |new| new.bytes.min(stone.old.bytes));
        if !self.names.contains(&stone.prune) {
            self.names.push(stone.prune.clone());
        }
    }

    /// Counts a whole bundle, which an undo brings back whole or not at all.
    pub fn all_gone(&mut self, stones: &[Tombstone]) {
        stones.iter().for_each(|stone| self.gone(stone));
        if stones.iter().any(is_lost) {
            self.lost += stones.len() as u64;
        }
    }

    /// Notes that an unfinished prune had meant to take something from a file that
    /// stays. The plan counts it.
    pub fn abandoned(&mut self, file: String, stay: Stay) {
        self.kept.push((file, stay));
    }

    /// Notes that something stays half done until the next run.
    pub fn cut_short(&mut self, error: CommandError) {
        self.is_cut_short = true;
        self.failed.push(error);
    }

    pub fn kept(&mut self, file: String, (rule, parts): (Rule, u64), stay: &Stay) {
        self.kept.push((file, stay.clone()));
        self.stays.add(rule, parts);
    }
}

/// Tells whether nothing has what a file was.
pub(super) fn is_lost(stone: &Tombstone) -> bool {
    stone.log.is_none() && stone.trash.is_none()
}
