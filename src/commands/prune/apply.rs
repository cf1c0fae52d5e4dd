//! A plan carried out: tombstones first, then file by file. What a prune that was
//! cut short left half done is taken back before the plan is made.

use std::sync::atomic::Ordering;

use crate::commands::error::CommandError;
use crate::model::digest::sha256_hex;
use crate::model::retention::{Stay, StayCode};
use crate::pipeline::batch;
use crate::pipeline::retired as retired_before;
use crate::pipeline::source::Source;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::StoreError;
use crate::store::layout::{Store, path_below};
use crate::store::prune::Pruner;
use crate::store::pruned::{Fate, Progress, Pruned, Tombstone};
use crate::store::receipts::Receipts;
use crate::store::repairs;

use super::bundles::{self, TombstonePlan};
use super::job::PruneJob;
use super::judged::Depth;
use super::tally::{Tally, is_lost};
use super::{groups, plan, report};

/// Takes back what is half done, plans, and does it.
pub(super) fn apply(source: Source, store: &Store, job: &PruneJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut pruned = Pruned::read(store)?;
    let mut tally = Tally::default();
    let work = Work { store, job };
    let mut source = source;
    let dropped = work.resume(&source, &mut pruned, &mut tally)?;
    if dropped.is_any {
        pruned = Pruned::read(store)?;
        source = Source::open_with_logs_in(&source.place, &job.source, &job.adapters, &job.selection)?;
        retired_before::settle(&mut source, store, &Receipts::load(store));
    }
    let plan = plan::make(&source, store, &pruned, &Depth::default(), job)?;
    // What an earlier prune was to take and could not is among them again.
    tally.stays = plan.stays();
    let steps = bundles::of(&plan);
    let planned = TombstonePlan { source: &source, store, job, name: bundles::name_of(&source, job.now_ns, pruned.prunes().len()) };
    let numbered: Vec<(u64, &Vec<bundles::Step>)> = (0..).zip(&steps).collect();
    let bug = |what: String| Stay::new(StayCode::Unreadable, format!("a bug in everlog: {what}"));
    let judged = batch::each(&numbered, job.jobs, |(n, steps)| batch::caught(|| planned.stones(*n, steps), bug));
    let mut tombstones = Vec::new();
    for (steps, stones) in steps.iter().zip(judged) {
        match stones {
            Ok(stones) => tombstones.push(stones),
            Err(stay) => steps.iter().for_each(|step| tally.kept(step.path(&source).to_string(), step.counted(), &stay)),
        }
    }
    let all: Vec<Tombstone> = tombstones.iter().flatten().cloned().collect();
    dropped.report(&plan, &all, &mut tally);
    if !tombstones.is_empty() {
        report::warn_of_loss(all.iter().filter(|stone| is_lost(stone)).count(), out);
        pruned.append_tombstones(store, job.disk, &all)?;
        work.carry_out(&source, &mut pruned, &tombstones, &mut tally)?;
        work.end(&mut pruned, &planned.name, &tally)?;
    }
    Pruned::sweep_spares(store, job.disk)?;
    Ok(report::applied(&tally, &source, job, out))
}

/// What is written to while a prune is carried out.
pub(super) struct Work<'a> {
    pub store: &'a Store,
    pub job: &'a PruneJob<'a>,
}

impl Work<'_> {
    fn carry_out(
        &self,
        source: &Source,
        pruned: &mut Pruned,
        tombstones: &[Vec<Tombstone>],
        tally: &mut Tally,
    ) -> Result<(), CommandError> {
        let pruner = Pruner { disk: self.job.disk, root: &source.root, store: self.store };
        let mut done = 0;
        for group in groups::of(tombstones) {
            if self.job.stop.load(Ordering::Relaxed) {
                return Err(CommandError::Interrupted { done, of: tombstones.len() });
            }
            done += group.len();
            let bundles: Vec<Vec<&Tombstone>> = group.iter().map(|stones| stones.iter().collect()).collect();
            let carried = pruner.carry_out(&bundles);
            for (stones, result) in group.iter().zip(carried.bundles) {
                match result {
                    Ok(()) => tally.all_gone(stones),
                    // What is left of a session is not a session: no later plan would name it.
                    Err(error) if may_go_later(&error) && stones.iter().any(|stone| is_gone(source, stone)) => {
                        tally.cut_short(error.into());
                    }
                    Err(error) => self.keep(source, pruned, stones, &why(&error), tally)?,
                }
            }
            tally.failed.extend(carried.writers.err().map(CommandError::from));
        }
        Ok(())
    }

    /// Notes that a prune is done, unless something of it is left for the next run.
    fn end(&self, pruned: &mut Pruned, name: &str, tally: &Tally) -> Result<(), StoreError> {
        if tally.is_cut_short { Ok(()) } else { pruned.mark(self.store, self.job.disk, name, Progress::Done) }
    }

    /// Notes what of a bundle was not touched after all.
    fn keep(&self, source: &Source, pruned: &mut Pruned, stones: &[Tombstone], stay: &Stay, tally: &mut Tally) -> Result<(), CommandError> {
        for stone in stones {
            if is_gone(source, stone) {
                tally.gone(stone);
            } else {
                pruned.note(self.store, self.job.disk, &[stone], Fate::Kept)?;
                tally.kept(stone.path().to_string(), (stone.rule, stone.parts), stay);
            }
        }
        Ok(())
    }
}

/// Tells whether a file is what its tombstone makes of it.
pub(super) fn is_gone(source: &Source, stone: &Tombstone) -> bool {
    let now = repairs::current(&path_below(&source.root, &stone.path())).ok().flatten().map(|(bytes, _)| sha256_hex(&bytes));
    now.as_ref() == stone.new.as_ref().map(|new| &new.sha256)
}

/// Tells whether what failed is worth another try: not where a file is another now.
fn may_go_later(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { .. } | StoreError::Held { .. })
}

fn why(error: &StoreError) -> Stay {
    let code = match error {
        StoreError::Held { .. } => StayCode::Held,
        StoreError::Changed { .. } | StoreError::Unsteady { .. } => StayCode::Changed,
        StoreError::Io { doing: "open" | "read" | "lock", .. } | StoreError::Blob { .. } | StoreError::Database { .. } => {
            StayCode::Unreadable
        }
        StoreError::NoMemory { .. } => StayCode::Unreadable,
        StoreError::Io { .. }
        | StoreError::Locked { .. }
        | StoreError::OtherShards { .. }
        | StoreError::Exists { .. }
        | StoreError::Planted { .. }
        | StoreError::NoRoom { .. }
        | StoreError::Outside { .. } => StayCode::WriteFailed,
    };
    Stay::new(code, bundles::with_cause(error))
}
