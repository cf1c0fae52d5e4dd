//! The plan: each item of a source, and whether it is removed or why it stays.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::format::{Format, Standing};
use crate::commands::error::CommandError;
use crate::commands::evidence::{self, Clock};
use crate::maintenance;
use crate::model::audit::Evidence;
use crate::model::files::RelPath;
use crate::model::folder::FolderView;
use crate::model::retention::{Aged, Completion, Due, Prunable, RetentionContext, Rule, Stay, StayCode};
use crate::pipeline::source::{Source, SourceUnit};
use crate::store::layout::{Store, path_below};
use crate::store::listing;
use crate::store::open_files::{FileId, id_of, kept_open};
use crate::store::pruned::{Pruned, Tombstone};

use super::case::{Cases, FolderAudit};
use super::job::{Copies, PruneJob};
use super::judged::{Check, Depth, Judged, Plan};
use super::{logs, retired};

/// Makes the plan.
pub(super) fn make(source: &Source, store: &Store, pruned: &Pruned, depth: &Depth, job: &PruneJob<'_>) -> Result<Plan, CommandError> {
    let root = source.root.to_string_lossy();
    let gone = pruned.files().filter(|stone| stone.source == root && stone.new.is_none()).map(|stone| (stone.path(), stone)).collect();
    let maker = Maker { source, store, depth, job, gone, in_logs: RefCell::default() };
    let mut cases = Cases::new(source, store, job);
    let mut plan = Plan::default();
    for (adapter, folder) in evidence::folders(source) {
        plan.items.extend(maker.folder(adapter, &folder, &mut cases));
    }
    leave_open(&mut plan.items, source, depth);
    budget(&mut plan.items, source, job);
    Ok(plan)
}

/// Said of what is in a session that was retired.
const WITH_ITS_SESSION: &str = "its session was retired: that goes as a whole, by the rule `retired`";

/// What a plan is made of.
struct Maker<'a> {
    source: &'a Source,
    store: &'a Store,
    depth: &'a Depth,
    job: &'a PruneJob<'a>,
    /// Files that were pruned as a whole before.
    gone: BTreeMap<RelPath, &'a Tombstone>,
    /// What each log that was asked for has ever contained.
    in_logs: RefCell<BTreeMap<String, BTreeSet<(RelPath, String)>>>,
}

impl Maker<'_> {
    /// Judges what one adapter has in one folder.
    fn folder(&self, adapter: &'static dyn Format, folder: &RelPath, cases: &mut Cases<'_>) -> Vec<Judged> {
        let (source, job) = (self.source, self.job);
        let clock = Clock { now_ns: job.now_ns, stamp_ns: job.now_ns };
        evidence::with(source, adapter, folder, clock, |view, evidence| {
            let mut judged = self.items(adapter, folder, view, evidence);
            screen(&mut judged, source, self.depth, job);
            let audit = || {
                let was = retired::AsItWas::of(source, folder);
                let before = was.map(|was| was.show(source, folder, |view| maintenance::of(adapter.id()).audit(view, evidence)));
                FolderAudit { now: maintenance::of(adapter.id()).audit(view, evidence), before }
            };
            for one in judged.iter_mut().filter(|one| self.depth.asks(one)) {
                cases.look(one, &audit, evidence, self.depth);
            }
            judged
        })
    }

    /// Tells whether a log has what a tombstone says was removed. Its word alone
    /// settles nothing: a line can be written by anybody.
    fn is_in_its_log(&self, stone: &Tombstone) -> bool {
        let Some(log) = stone.log.as_ref().filter(|log| Store::is_log_name(&stone.unit, log)) else { return false };
        let mut in_logs = self.in_logs.borrow_mut();
        let known = in_logs.entry(log.clone()).or_insert_with(|| logs::ever_in_log(self.store, &RelPath::from_key(log)));
        let path = stone.log_path.as_deref().map_or_else(|| stone.path(), RelPath::from_key);
        known.contains(&(path, stone.old.sha256.clone()))
    }

    /// Returns what there is, each with whether it has ended.
    fn items(&self, adapter: &'static dyn Format, folder: &RelPath, view: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<Judged> {
        let (source, asked) = (self.source, &self.job.rules);
        let rules: Vec<Rule> =
            asked.iter().copied().filter(|rule| maintenance::of(adapter.id()).retention_rules().contains(rule)).collect();
        let from = |path: &RelPath, offset: u64| listing::bytes_from(&source.root, &path.below(folder), offset);
        let was_pruned = |path: &RelPath| self.gone.get(&path.below(folder)).is_some_and(|stone| self.is_in_its_log(stone));
        let mut items = match rules.is_empty() {
            true => Vec::new(),
            false => maintenance::of(adapter.id())
                .retention(view, &RetentionContext { evidence, from: &from, was_pruned: &was_pruned, rules: &rules }),
        };
        if asked.contains(&Rule::Retired) {
            items.extend(retired::items(source, adapter, folder));
        }
        let owners = owners(source, adapter, folder);
        items.into_iter().filter_map(|item| self.begin(item, folder, &owners)).collect()
    }

    /// An item and whether it has ended; nothing where another one has it.
    fn begin(&self, item: Prunable, folder: &RelPath, owners: &BTreeMap<RelPath, usize>) -> Option<Judged> {
        let found: Option<Vec<usize>> = item.shares.iter().map(|share| owners.get(&share.file).copied()).collect();
        // Where not all sessions are meant, others are left alone.
        let owners = found.filter(|owners| !owners.is_empty())?;
        let units: BTreeSet<usize> = owners.iter().copied().collect();
        let is_retired = |n: &usize| self.source.units[*n].found.standing == Standing::Retired;
        let over = match item.rule != Rule::Retired && units.iter().any(is_retired) {
            // What a retired session has is in the item that it is itself.
            true if self.job.rules.contains(&Rule::Retired) && units.iter().all(is_retired) => return None,
            true => Check::failed("over", Stay::new(StayCode::SessionRetired, WITH_ITS_SESSION)),
            false => standing(&item, self.job),
        };
        Some(Judged { item, folder: folder.clone(), units, owners, checks: vec![over], given_up: Vec::new() })
    }
}

/// Returns which unit each file of a folder is of.
fn owners(source: &Source, adapter: &'static dyn Format, folder: &RelPath) -> BTreeMap<RelPath, usize> {
    let is_here = |unit: &SourceUnit| unit.found.root == *folder && unit.found.adapter.id() == adapter.id();
    let units = source.units.iter().enumerate().filter(|(_, unit)| is_here(unit));
    units.flat_map(|(n, unit)| unit.found.files.iter().map(move |file| (file.clone(), n))).collect()
}

/// Tells whether it has ended, and who says so.
fn standing(item: &Prunable, job: &PruneJob<'_>) -> Check {
    let against = match &item.standing {
        Ok(Completion::By(who)) => return Check::passed("over", *who),
        Ok(Completion::OwnWord(who)) if job.copies == Copies::InLogs => return Check::passed("over", *who),
        Ok(Completion::OwnWord(who)) => Stay::new(StayCode::Unsettled, format!("{who}, and without a log that is not enough")),
        Err(stay) => stay.clone(),
    };
    Check::failed("over", against)
}

/// Returns an item as a policy sees it.
fn aged(judged: &Judged, source: &Source) -> Aged {
    let written = judged.files().filter_map(|file| source.listing.get(&file)).map(|listed| listed.mtime_ns).max();
    let session = judged.units.first().and_then(|n| source.units.get(*n)).map(|unit| unit.name.clone());
    Aged {
        session: session.unwrap_or_else(|| judged.folder.clone()),
        rule: judged.item.rule,
        // The later one counts.
        at_ns: judged.item.own_ns.max(written).unwrap_or(i64::MAX),
        bytes: judged.bytes(),
        due: judged.item.due,
    }
}

/// What need not be looked at closer. What stays anyway is not one of the newest
/// that are kept, whether it is explained or not.
fn screen(judged: &mut [Judged], source: &Source, depth: &Depth, job: &PruneJob<'_>) {
    const ABOUT: &str = "due";
    const SPEAKS: &str = "old enough, and not among those that are kept";
    let (mut open, others): (Vec<&mut Judged>, Vec<&mut Judged>) = judged.iter_mut().partition(|one| one.stays().is_none());
    let seen: Vec<Aged> = open.iter().map(|one| aged(one, source)).collect();
    for (one, against) in open.iter_mut().zip(job.policy.screen(&seen, job.now_ns)) {
        one.checks.push(Check::of(ABOUT, why_due(one, SPEAKS), against));
    }
    for one in others.into_iter().filter(|one| depth.asks(one)) {
        let against = job.policy.is_early(&aged(one, source), job.now_ns);
        one.checks.push(Check::of(ABOUT, why_due(one, SPEAKS), against));
    }
}

/// Returns what makes an item due: a policy in these words, unless it has no say.
fn why_due(one: &Judged, by_policy: &'static str) -> &'static str {
    match one.item.due {
        Due::ByPolicy => by_policy,
        Due::ByOwnRule => "its program's own rule, whatever its age",
    }
}

/// What stays because a program has it open, and does not close it soon.
fn leave_open(judged: &mut [Judged], source: &Source, depth: &Depth) {
    let ids = |one: &Judged| -> Vec<FileId> {
        let there = one.files().filter_map(|file| path_below(&source.root, &file).symlink_metadata().ok());
        there.map(|meta| id_of(&meta)).collect()
    };
    let asked: Vec<(Vec<FileId>, &mut Judged)> = judged.iter_mut().filter(|one| depth.asks(one)).map(|one| (ids(one), one)).collect();
    let open = kept_open(asked.iter().flat_map(|(ids, _)| ids.iter().copied()).collect());
    for (ids, one) in asked {
        let is_open = ids.iter().any(|id| open.contains(id));
        let against = is_open.then(|| Stay::new(StayCode::Held, "a program has it open"));
        one.checks.push(Check::of("not open", "no program has it open", against));
    }
}

/// What stays because the source is small enough: only of what may go.
fn budget(judged: &mut [Judged], source: &Source, job: &PruneJob<'_>) {
    if job.policy.max_bytes.is_none() {
        return;
    }
    let files: BTreeSet<RelPath> = judged.iter().flat_map(Judged::files).collect();
    let total = files.iter().filter_map(|file| source.listing.get(file)).map(|listed| listed.size).sum();
    let mut open: Vec<&mut Judged> = judged.iter_mut().filter(|one| one.stays().is_none()).collect();
    let aged: Vec<Aged> = open.iter().map(|one| aged(one, source)).collect();
    for (one, against) in open.iter_mut().zip(job.policy.over_budget(&aged, total, job.now_ns)) {
        let speaks = why_due(one, "the source has too many bytes of journals, or it is due anyway");
        one.checks.push(Check::of("budget", speaks, against));
    }
}
