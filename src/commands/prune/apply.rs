//! A plan carried out: tombstones first, then file by file; and a prune that was
//! cut short brought to its end.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::model::digest::sha256_hex;
use crate::model::retention::{Rule, Stay, StayCode};
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::StoreError;
use crate::store::layout::{Store, path_below};
use crate::store::prune::Pruner;
use crate::store::pruned::{Fate, Progress, Pruned, Tombstone};
use crate::store::receipts::Receipts;
use crate::store::repairs;

use super::bundles::{self, Burial};
use super::plan::{Amount, Depth};
use super::users::Users;
use super::{PruneJob, groups, logs, plan, report};
use crate::commands::batch;
use crate::commands::error::CommandError;
use crate::commands::retired as retired_before;
use crate::commands::source::Source;

/// What became of it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How much went.
    pub goes: Amount,
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
    pub failed: Vec<StoreError>,
    /// Something is half gone, and the next run goes on with it.
    is_cut_short: bool,
    /// The prune's name, where something went.
    pub name: Option<String>,
}

impl Tally {
    fn gone(&mut self, stone: &Tombstone) {
        self.goes.add(stone.rule, stone.parts);
        self.files += 1;
        self.bytes += stone.old.bytes - stone.new.as_ref().map_or(0, |new| new.bytes.min(stone.old.bytes));
        self.name = Some(stone.prune.clone());
    }

    /// Counts a whole bundle, which an undo brings back whole or not at all.
    fn all_gone(&mut self, stones: &[Tombstone]) {
        stones.iter().for_each(|stone| self.gone(stone));
        if stones.iter().any(is_lost) {
            self.lost += stones.len() as u64;
        }
    }

    fn kept(&mut self, file: String, (rule, parts): (Rule, u64), stay: &Stay) {
        self.kept.push((file, stay.clone()));
        self.stays.add(rule, parts);
    }
}

/// Whether nothing has what a file was.
fn is_lost(stone: &Tombstone) -> bool {
    stone.log.is_none() && stone.trash.is_none()
}

/// Finishes what was begun, plans, and does it.
pub(super) fn apply(source: Source, store: &Store, job: &PruneJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut pruned = Pruned::read(store)?;
    let mut tally = Tally::default();
    let work = Work { store, job };
    let mut source = source;
    if work.resume(&source, &mut pruned, &mut tally)? {
        source = Source::open(&job.source, &job.adapters, &job.selection)?;
        retired_before::settle(&mut source, store, &Receipts::load(store));
    }
    let plan = plan::make(&source, store, &pruned, &Depth::default(), job)?;
    // What an earlier prune was to take and could not is among them again.
    tally.stays = plan.stays();
    let steps = bundles::of(&plan);
    let burial = Burial { source: &source, store, job, name: bundles::name_of(&source, job.now_ns, pruned.prunes().len()) };
    let numbered: Vec<(u64, &Vec<bundles::Step>)> = (0..).zip(&steps).collect();
    let bug = |what: String| Stay::new(StayCode::Unreadable, format!("a bug in everlog: {what}"));
    let judged = batch::each(&numbered, job.jobs, |(n, steps)| batch::caught(|| burial.stones(*n, steps), bug));
    let mut graves = Vec::new();
    for (steps, stones) in steps.iter().zip(judged) {
        match stones {
            Ok(stones) => graves.push(stones),
            Err(stay) => steps.iter().for_each(|step| tally.kept(step.path(&source).to_string(), step.counted(), &stay)),
        }
    }
    if !graves.is_empty() {
        let all: Vec<Tombstone> = graves.iter().flatten().cloned().collect();
        report::warn_of_loss(all.iter().filter(|stone| is_lost(stone)).count(), out);
        pruned.bury(store, job.disk, &all)?;
        work.carry_out(&source, &mut pruned, &graves, &mut tally)?;
        work.end(&mut pruned, &burial.name, &tally)?;
    }
    Ok(report::applied(&tally, &source, job, out))
}

/// What is written to while a prune is carried out.
struct Work<'a> {
    store: &'a Store,
    job: &'a PruneJob<'a>,
}

impl Work<'_> {
    fn carry_out(&self, source: &Source, pruned: &mut Pruned, graves: &[Vec<Tombstone>], tally: &mut Tally) -> Result<(), CommandError> {
        let pruner = Pruner { disk: self.job.disk, root: &source.root };
        let mut done = 0;
        for group in groups::of(graves) {
            if self.job.stop.load(Ordering::Relaxed) {
                return Err(CommandError::Interrupted { done, of: graves.len() });
            }
            done += group.len();
            let bundles: Vec<Vec<&Tombstone>> = group.iter().map(|stones| stones.iter().collect()).collect();
            let carried = pruner.carry_out(&bundles);
            for (stones, result) in group.iter().zip(carried.bundles) {
                match result {
                    Ok(()) => tally.all_gone(stones),
                    // What is left of a session is none: no later plan would name it.
                    Err(error) if may_go_later(&error) && stones.iter().any(|stone| is_gone(source, stone)) => {
                        tally.is_cut_short = true;
                        tally.failed.push(error);
                    }
                    Err(error) => self.keep(source, pruned, stones, &why(&error), tally)?,
                }
            }
            tally.failed.extend(carried.writers.err());
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

    /// Brings prunes that were cut short to their end, as far as that is still
    /// safe. Whether there were any.
    fn resume(&self, source: &Source, pruned: &mut Pruned, tally: &mut Tally) -> Result<bool, CommandError> {
        let root = source.root.to_string_lossy().into_owned();
        let cut_short: Vec<_> = pruned.unfinished(&root).cloned().collect();
        let users = Users::now(source);
        let pruner = Pruner { disk: self.job.disk, root: &source.root };
        cut_short.iter().try_for_each(|prune| pruner.refuse_outside(&prune.files))?;
        for prune in &cut_short {
            pruner.sweep(&prune.files)?;
            let mut bundles: BTreeMap<u64, Vec<Tombstone>> = BTreeMap::new();
            for stone in &prune.files {
                bundles.entry(stone.bundle).or_default().push(stone.clone());
            }
            let mut graves = Vec::new();
            for stones in bundles.into_values() {
                match stones.iter().find_map(|stone| self.speaks_against(stone, &users)) {
                    None => graves.push(stones),
                    Some(stay) => self.keep(source, pruned, &stones, &stay, tally)?,
                }
            }
            self.carry_out(source, pruned, &graves, tally)?;
            self.end(pruned, &prune.name, tally)?;
        }
        Ok(!cut_short.is_empty())
    }

    /// What was right for these bytes then still is, unless somebody has the
    /// file now, its log is gone, or it was to go to a trash that nobody names.
    fn speaks_against(&self, stone: &Tombstone, users: &Users<'_>) -> Option<Stay> {
        if stone.trash.as_ref().is_some_and(|place| !bundles::is_in_trash(self.job, place)) {
            return Some(Stay::new(StayCode::Unclear, "it was to go to another trash than the one that `--trash` names now"));
        }
        let is_lost = || stone.log.is_some() && logs::old_bytes(self.store, &[stone]).is_err();
        users.of(stone).or_else(|| is_lost().then(|| Stay::new(StayCode::NoLog, "no log has it any more")))
    }
}

/// Whether a file is what its tombstone makes of it.
fn is_gone(source: &Source, stone: &Tombstone) -> bool {
    let now = repairs::current(&path_below(&source.root, &stone.path())).ok().flatten().map(|(bytes, _)| sha256_hex(&bytes));
    now.as_ref() == stone.new.as_ref().map(|new| &new.sha256)
}

/// Whether what failed is worth another try: not where a file is another now.
fn may_go_later(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { .. } | StoreError::Held { .. })
}

fn why(error: &StoreError) -> Stay {
    let code = match error {
        StoreError::Held { .. } => StayCode::Held,
        StoreError::Changed { .. } | StoreError::Unsteady { .. } => StayCode::Changed,
        StoreError::Io { doing: "open" | "read" | "lock", .. } | StoreError::Blob { .. } => StayCode::Unreadable,
        StoreError::Io { .. } | StoreError::Locked { .. } | StoreError::Exists { .. } | StoreError::Outside { .. } => StayCode::WriteFailed,
    };
    Stay::new(code, bundles::with_cause(error))
}
