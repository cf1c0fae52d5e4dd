//! From a plan to tombstones: what is removed, file by file, proven once more against
//! the bytes that are there now.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::retention::{Edit, Removal, Rule, Share, Stay, StayCode, edited};
use crate::pipeline::old_bytes::rebuilt;
use crate::pipeline::source::Source;
use crate::store::StoreError;
use crate::store::disk;
use crate::store::layout::{Store, path_below};
use crate::store::pruned::{SizeAndHash, Tombstone, spare_name};
use crate::store::repairs;

use super::job::{Copies, PruneJob};
use super::judged::{Judged, Plan};
use super::{logs, retired};

/// What is removed of one file.
#[derive(Debug)]
pub(super) struct Step {
    unit: usize,
    rule: Rule,
    /// Below the unit's folder.
    file: RelPath,
    /// Nothing where the file is removed completely.
    edits: Option<Vec<Edit>>,
    sha256: Option<String>,
    parts: u64,
    times: BTreeSet<i64>,
    writer: Option<u32>,
    lock: Option<RelPath>,
}

impl Step {
    /// Returns the file, below the source.
    pub fn path(&self, source: &Source) -> RelPath {
        self.file.below(&source.units[self.unit].found.root)
    }

    /// How much is removed with it, by rule.
    pub fn counted(&self) -> (Rule, u64) {
        (self.rule, self.parts)
    }

    fn add(&mut self, judged: &Judged, share: &Share) {
        // What stands in several files is counted with the first of them.
        let is_first = judged.item.shares.first().is_some_and(|first| first.file == share.file);
        self.parts += if is_first { judged.item.parts } else { 0 };
        self.times.extend(judged.item.own_ns);
        match (&share.removal, &mut self.edits) {
            (Removal::Bytes { edits: more, .. }, Some(edits)) => edits.extend(more.iter().cloned()),
            (Removal::Whole, edits) => *edits = None,
            (Removal::Bytes { .. }, None) => {}
        }
    }
}

/// Returns the steps of a plan, in bundles: what shares an item or a session goes
/// together.
pub(super) fn of(plan: &Plan) -> Vec<Vec<Step>> {
    // Each unit with the first unit that it is removed with.
    let mut with: BTreeMap<usize, usize> = BTreeMap::new();
    for judged in plan.removals() {
        let firsts: BTreeSet<usize> = judged.units.iter().map(|unit| *with.get(unit).unwrap_or(unit)).collect();
        let Some(first) = firsts.first().copied() else { continue };
        with.values_mut().filter(|at| firsts.contains(at)).for_each(|at| *at = first);
        with.extend(judged.units.iter().map(|unit| (*unit, first)));
    }
    let mut bundles: BTreeMap<usize, Vec<Step>> = BTreeMap::new();
    let mut place: BTreeMap<RelPath, (usize, usize)> = BTreeMap::new();
    for judged in plan.removals() {
        for ((share, path), unit) in judged.item.shares.iter().zip(judged.files()).zip(judged.owners.iter().copied()) {
            let bundle = with.get(&unit).copied().unwrap_or(unit);
            let steps = bundles.entry(bundle).or_default();
            let (_, at) = *place.entry(path).or_insert_with(|| {
                let sha256 = match &share.removal {
                    Removal::Bytes { sha256, .. } => Some(sha256.clone()),
                    Removal::Whole => None,
                };
                let (rule, file, lock) = (judged.item.rule, share.file.clone(), share.lock.clone());
                let step = Step {
                    unit,
                    rule,
                    file,
                    edits: Some(Vec::new()),
                    sha256,
                    parts: 0,
                    times: BTreeSet::new(),
                    writer: share.writer,
                    lock,
                };
                steps.push(step);
                (bundle, steps.len() - 1)
            });
            if let Some(step) = steps.get_mut(at) {
                step.add(judged, share);
            }
        }
    }
    let sorted = |mut step: Step| {
        if let Some(edits) = &mut step.edits {
            edits.sort_by_key(|edit| edit.from);
        }
        step
    };
    bundles.into_values().map(|steps| steps.into_iter().map(sorted).collect()).collect()
}

/// What all tombstones of a prune share.
#[derive(Debug)]
pub(super) struct TombstonePlan<'a> {
    pub source: &'a Source,
    pub store: &'a Store,
    pub job: &'a PruneJob<'a>,
    /// The prune's name.
    pub name: String,
}

impl TombstonePlan<'_> {
    /// Returns the tombstones of a bundle, if everything in it is still what was planned
    /// and its logs have it: rebuilt from them now, byte for byte. Where that is
    /// given up, those that a log has still name it.
    pub fn stones(&self, bundle: u64, steps: &[Step]) -> Result<Vec<Tombstone>, Stay> {
        let mut stones = steps.iter().map(|step| self.stone(bundle, step)).collect::<Result<Vec<Tombstone>, Stay>>()?;
        for unit in steps.iter().map(|step| step.unit).collect::<BTreeSet<usize>>() {
            let mut own: Vec<&mut Tombstone> =
                steps.iter().zip(&mut stones).filter(|(step, _)| step.unit == unit).map(|(_, stone)| stone).collect();
            let lacking = self.prove(unit, &mut own);
            if let Some(stay) = lacking.filter(|_| self.job.copies == Copies::InLogs) {
                return Err(stay);
            }
        }
        // One file changes in one step; of several a kill may leave some changed
        // and some not, and then nothing else has what they were.
        if stones.len() > 1 {
            for (n, stone) in stones.iter_mut().enumerate().filter(|(_, stone)| stone.log.is_none() && stone.trash.is_none()) {
                stone.spare = Some(spare_name(&self.name, bundle, n));
            }
        }
        Ok(stones)
    }

    fn stone(&self, bundle: u64, step: &Step) -> Result<Tombstone, Stay> {
        let unit = &self.source.units[step.unit];
        let path = step.path(self.source);
        let unreadable = |error: StoreError| Stay::new(StayCode::Unreadable, with_cause(&error));
        let changed = || Stay::new(StayCode::Changed, "it changed since it was looked at");
        let (bytes, meta) = repairs::current(&path_below(&self.source.root, &path)).map_err(unreadable)?.ok_or_else(changed)?;
        let old = SizeAndHash { bytes: bytes.len() as u64, sha256: sha256_hex(&bytes) };
        let listed = self.source.listing.get(&path).ok_or_else(changed)?;
        let is_as_listed = listed.size == old.bytes && listed.mtime_ns == repairs::time_of(&meta);
        if !is_as_listed || step.sha256.as_ref().is_some_and(|sha256| *sha256 != old.sha256) {
            return Err(changed());
        }
        let left = match &step.edits {
            None => None,
            // A file with nothing but empty lines in it is removed, too.
            Some(edits) => {
                let is_left = |left: &Vec<u8>| step.rule.keeps_empty_file() || !left.trim_ascii().is_empty();
                Some(edited(&bytes, edits).ok_or_else(changed)?).filter(is_left)
            }
        };
        let trash = self.job.trash.as_ref().map(|trash| self.place_in(trash, &path, &bytes).to_string_lossy().into_owned());
        Ok(Tombstone {
            prune: self.name.clone(),
            at: time_text(self.job.now_ns),
            rule: step.rule,
            source: self.source.root.to_string_lossy().into_owned(),
            unit: unit.name.key(),
            bundle,
            file: path.key(),
            parts: step.parts,
            lines: line_ends(&bytes).saturating_sub(left.as_deref().map_or(0, line_ends)),
            first_ns: step.times.first().copied(),
            last_ns: step.times.last().copied(),
            old,
            edits: if left.is_some() { step.edits.clone().unwrap_or_default() } else { Vec::new() },
            new: left.map(|left| SizeAndHash { bytes: left.len() as u64, sha256: sha256_hex(&left) }),
            mode: listed.mode,
            owner: Some((meta.uid(), meta.gid())),
            mtime_ns: listed.mtime_ns,
            writer: step.writer,
            lock: step.lock.as_ref().map(|lock| lock.below(&unit.found.root).key()),
            log: None,
            log_sha256: None,
            log_path: Some(retired::log_path(unit, &step.file).key()),
            trash,
            spare: None,
        })
    }

    /// Returns where an old file is kept: a second prune of the same name, by another
    /// store, takes another folder.
    fn place_in(&self, trash: &Path, path: &RelPath, bytes: &[u8]) -> PathBuf {
        let names = std::iter::once(self.name.clone()).chain((2_u64..).map(|n| format!("{}.{n}", self.name)));
        let mut places = names.map(|name| path_below(&trash.join(name), path));
        let is_free = |place: &PathBuf| match disk::read(place) {
            Ok(kept) => kept == bytes,
            Err(_) => place.symlink_metadata().is_err(),
        };
        places.find(is_free).unwrap_or_else(|| path_below(trash, path))
    }

    /// Rebuilds from its log what is removed of a unit, and names the log where it has that.
    /// What it lacks, if anything.
    fn prove(&self, unit: usize, stones: &mut [&mut Tombstone]) -> Option<Stay> {
        let log = Store::log_name(&self.source.units[unit].name);
        let in_log = |stone: &Tombstone| stone.log_path.as_deref().map(RelPath::from_key).unwrap_or_else(|| stone.path());
        let wanted: BTreeMap<RelPath, String> = stones.iter().map(|stone| (in_log(stone), stone.old.sha256.clone())).collect();
        // A log that cannot be read has nothing.
        let (found, seal) = rebuilt(self.store, &self.store.path(&log), &wanted).unwrap_or_default();
        for stone in stones.iter_mut().filter(|stone| found.contains_key(&in_log(stone))) {
            stone.log = Some(log.key());
            stone.log_sha256 = Some(seal.clone());
        }
        wanted.keys().find(|path| !found.contains_key(*path)).map(|missing| logs::not_rebuilt(self.store, missing))
    }
}

/// Returns an error of the disk, and why it came to it.
pub(super) fn with_cause(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns a time as tombstones have it.
fn time_text(ns: i64) -> String {
    Timestamp::from_nanosecond(i128::from(ns)).map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default()
}

/// Returns the name of a prune of this source at this time.
pub(super) fn name_of(source: &Source, now_ns: i64, before: usize) -> String {
    let stamp: String = time_text(now_ns).chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let more = sha256_hex(format!("{} {now_ns} {before}", source.root.display()).as_bytes());
    format!("{stamp}-{}", &more[..6])
}
