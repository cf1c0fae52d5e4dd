//! Prunes that were cut short. Their tombstones say what an earlier run had meant
//! to take. That gives no permission: the flags, the policy and the state of the
//! source were those of another moment, and anybody who can write to the store
//! can write a tombstone. So nothing is finished by them. A session of which some
//! files are gone and others are not gets the missing ones back, and then a fresh
//! plan decides about all of it, by what this run's command line allows.

use std::collections::BTreeMap;

use crate::commands::error::CommandError;
use crate::model::files::RelPath;
use crate::model::retention::{Stay, StayCode};
use crate::pipeline::source::Source;
use crate::store::StoreError;
use crate::store::pruned::{Fate, Progress, Prune, Pruned, Tombstone};

use super::apply::{Work, is_gone};
use super::judged::Plan;
use super::tally::Tally;
use super::undo::Way;

/// What unfinished prunes had meant to take and did not take.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// Whether any prune was unfinished.
    pub is_any: bool,
    /// Each file, with the prune that had meant to take something from it.
    files: BTreeMap<RelPath, String>,
}

/// What became of a bundle of an unfinished prune.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bundle {
    /// Nothing is left to decide.
    Closed,
    /// A program uses it: the next run looks at it again.
    Open,
}

impl Work<'_> {
    /// Takes back what prunes that were cut short left half done, and closes
    /// them.
    pub(super) fn resume(&self, source: &Source, pruned: &mut Pruned, tally: &mut Tally) -> Result<Dropped, CommandError> {
        let root = source.root.to_string_lossy().into_owned();
        let unfinished: Vec<Prune> = pruned.unfinished(&root).cloned().collect();
        let mut dropped = Dropped { is_any: !unfinished.is_empty(), ..Dropped::default() };
        for prune in &unfinished {
            let way = Way::new(source, self.store, pruned, prune, self.job);
            let mut bundles: BTreeMap<u64, Vec<&Tombstone>> = BTreeMap::new();
            for stone in &prune.files {
                bundles.entry(stone.bundle).or_default().push(stone);
            }
            let mut is_open = false;
            for stones in bundles.values() {
                is_open |= self.settle(&way, stones, pruned, tally, &mut dropped)? == Bundle::Open;
            }
            if !is_open {
                pruned.mark(self.store, self.job.disk, &prune.name, Progress::Done)?;
            }
        }
        Ok(dropped)
    }

    fn settle(
        &self,
        way: &Way<'_>,
        stones: &[&Tombstone],
        pruned: &mut Pruned,
        tally: &mut Tally,
        dropped: &mut Dropped,
    ) -> Result<Bundle, CommandError> {
        if let Err(error) = way.pruner.refuse_outside(stones) {
            return self.close(stones, &refused(stones, &error.into()), pruned, tally);
        }
        way.pruner.sweep(stones)?;
        let (gone, left): (Vec<&Tombstone>, Vec<&Tombstone>) = stones.iter().partition(|stone| is_gone(way.source, stone));
        if left.is_empty() {
            let stones: Vec<Tombstone> = stones.iter().map(|stone| (*stone).clone()).collect();
            tally.all_gone(&stones);
            return Ok(Bundle::Closed);
        }
        if !gone.is_empty() {
            match way.roll_back(&gone, stones) {
                Ok(()) => pruned.note(self.store, self.job.disk, &gone, Fate::Back)?,
                Err(error) if is_worth_waiting(&error) => {
                    tally.cut_short(error);
                    return Ok(Bundle::Open);
                }
                Err(error @ CommandError::NotGenuine { .. }) => return self.close(stones, &refused(stones, &error), pruned, tally),
                Err(error) => {
                    gone.iter().for_each(|stone| tally.gone(stone));
                    return self.close(&left, &not_rolled_back(stones, &error), pruned, tally);
                }
            }
        }
        // A file that is neither what it was nor what was to become of it keeps its
        // tombstone: `--undo` can then still tell what was taken from it.
        let untouched: Vec<&Tombstone> = left.iter().copied().filter(|stone| way.pruner.is_back(stone)).collect();
        pruned.note(self.store, self.job.disk, &untouched, Fate::Kept)?;
        dropped.files.extend(stones.iter().map(|stone| (stone.path(), stone.prune.clone())));
        Ok(Bundle::Closed)
    }

    /// Notes that files of an unfinished prune stay, and says why.
    fn close(&self, stones: &[&Tombstone], stay: &Stay, pruned: &mut Pruned, tally: &mut Tally) -> Result<Bundle, CommandError> {
        pruned.note(self.store, self.job.disk, stones, Fate::Kept)?;
        stones.iter().for_each(|stone| tally.abandoned(stone.path().to_string(), stay.clone()));
        Ok(Bundle::Closed)
    }
}

impl Dropped {
    /// Says of each file that an unfinished prune had meant to change, and that
    /// this run leaves alone, why it stays.
    pub fn report(&self, plan: &Plan, going: &[Tombstone], tally: &mut Tally) {
        for (file, prune) in &self.files {
            let is_said = tally.kept.iter().any(|(said, _)| *said == file.to_string());
            if is_said || going.iter().any(|stone| stone.path() == *file) {
                continue;
            }
            let judged = plan.items.iter().filter(|judged| judged.files().any(|named| named == *file));
            let stay = judged.filter_map(|judged| judged.stays()).next();
            let (code, why) = match stay {
                Some(stay) => (stay.code, stay.why.as_str()),
                None => (StayCode::Unclear, "no rule that was asked for names it now"),
            };
            let why = format!("the prune {prune}, which was cut short, was to take something from it, and this run does not: {why}");
            tally.abandoned(file.to_string(), Stay::new(code, why));
        }
    }
}

/// Tells whether the same attempt may succeed later.
fn is_worth_waiting(error: &CommandError) -> bool {
    matches!(error, CommandError::InUse { .. } | CommandError::Store(StoreError::Io { .. } | StoreError::Held { .. }))
}

fn name_of<'s>(stones: &[&'s Tombstone]) -> &'s str {
    stones.first().map_or("", |stone| stone.prune.as_str())
}

fn refused(stones: &[&Tombstone], error: &CommandError) -> Stay {
    let why = format!("nothing is done by the record of the unfinished prune {}: {error}", name_of(stones));
    Stay::new(StayCode::Unclear, why)
}

fn not_rolled_back(stones: &[&Tombstone], error: &CommandError) -> Stay {
    let name = name_of(stones);
    let why = format!(
        "the prune {name} was cut short in the middle of its session, and what it had taken cannot be put back ({error}); what is left \
         stays until a plan names it"
    );
    Stay::new(StayCode::Unclear, why)
}
