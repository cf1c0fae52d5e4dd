//! What is retired, by the receipts: which files of a source, and whether they
//! still are what they were. Names alone settle nothing, because a program may
//! make the same ones.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::by_id;
use crate::adapters::discover::Unit;
use crate::adapters::format::{Confidence, RETIRED_SUFFIX, Standing};
use crate::log::SealState;
use crate::log::restore::file_plan;
use crate::model::digest::sha256_hex;
use crate::model::few::Few;
use crate::model::files::{Entry, RelPath};
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::location::Location;
use crate::store::StoreError;
use crate::store::disk;
use crate::store::inside::inside;
use crate::store::layout::{Store, path_below};
use crate::store::receipts::{FileReceipt, Receipt, Receipts, Retired};
use crate::store::snapshot;

use super::error::ConvertError;
use super::open::open;
use super::source::{Source, SourceUnit, name_without};

pub(crate) fn retired_name(path: &RelPath) -> RelPath {
    RelPath::new([path.as_bytes(), RETIRED_SUFFIX.as_bytes()].concat())
}

/// A file that a receipt calls retired, under the two names that it may have.
pub(crate) struct Pair<'r> {
    pub was: &'r FileReceipt,
    /// The name that its program knows, below the source.
    pub name: RelPath,
    pub live: PathBuf,
    pub retired: PathBuf,
}

/// Under which of its names a file exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetiredState {
    Live,
    Retired,
    /// Its program has made another one.
    Both,
    Gone,
}

impl Pair<'_> {
    pub(crate) fn place(&self) -> RetiredState {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        match (is_there(&self.live), is_there(&self.retired)) {
            (true, false) => RetiredState::Live,
            (false, true) => RetiredState::Retired,
            (true, true) => RetiredState::Both,
            (false, false) => RetiredState::Gone,
        }
    }
}

/// Returns the files that a session was retired with, by their places in a source.
///
/// # Errors
/// When the receipt names one elsewhere.
pub(crate) fn pairs<'r>(source: &Source, unit: &RelPath, retired: &'r Retired) -> Result<Vec<Pair<'r>>, StoreError> {
    let (root, folder) = (root_of(source, unit, retired), RelPath::from_key(&retired.folder));
    let pair = |was: &'r FileReceipt| {
        let name = RelPath::from_key(&was.path).below(&root);
        // Wherever it is found: a receipt that names another place is not ours.
        inside(&source.root, &RelPath::from_key(&was.path).below(&folder))?;
        Ok(Pair { was, live: inside(&source.root, &name)?, retired: inside(&source.root, &retired_name(&name))?, name })
    };
    retired.files.iter().map(pair).collect()
}

/// Returns the folder of a receipt below a source. A session that is a folder may have
/// been the source itself then, or be it now.
fn root_of(source: &Source, unit: &RelPath, retired: &Retired) -> RelPath {
    let folder = RelPath::from_key(&retired.folder);
    let has_some = |root: &&RelPath| {
        let mut names = retired.files.iter().map(|file| RelPath::from_key(&file.path).below(root));
        names.any(|name| source.listing.get(&name).is_some() || source.listing.get(&retired_name(&name)).is_some())
    };
    let unit = &*name_without(unit, &source.place);
    let candidates = [folder.clone(), RelPath::new(""), unit.clone()];
    let is_same_folder = |root: &&RelPath| **root == folder || source.root.ends_with(path_below(Path::new(""), unit)) || **root == *unit;
    candidates.iter().filter(is_same_folder).find(has_some).cloned().unwrap_or(folder)
}

/// Tells whether this receipt's files are meant, where a source is one file or some
/// sessions are chosen.
pub(crate) fn is_meant(source: &Source, receipt: &Receipt, retired: &Retired) -> bool {
    let is_named = source.only_file.as_ref().is_none_or(|file| {
        let root = root_of(source, &RelPath::from_key(&receipt.unit), retired);
        let mut names = retired.files.iter().map(|was| RelPath::from_key(&was.path).below(&root));
        names.any(|name| name == *file || retired_name(&name) == *file)
    });
    let newest = retired.files.iter().map(|file| file.mtime_ns).max();
    let selection = &source.selection;
    is_named
        && source.has_logs_at(&RelPath::from_key(&receipt.unit))
        && selection.takes_name(&RelPath::from_key(&receipt.unit).to_string())
        && selection.takes_time(newest.unwrap_or(i64::MIN))
}

/// Tells whether a file still has the size and time of its receipt.
pub(crate) fn is_still(path: &Path, was: &FileReceipt) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().is_ok_and(|meta| meta.len() == was.size && meta.mtime() * 1_000_000_000 + meta.mtime_nsec() == was.mtime_ns)
}

/// Tells whether a file has the bytes of its receipt. A link has none: there its size
/// and time must do.
pub(crate) fn has_its_bytes(path: &Path, was: &FileReceipt) -> bool {
    let Some(sha256) = &was.sha256 else { return is_still(path, was) };
    let mut bytes = Vec::new();
    disk::open_regular(path).is_ok_and(|(mut file, _)| file.read_to_end(&mut bytes).is_ok()) && sha256_hex(&bytes) == *sha256
}

/// Tells whether a receipt's files were being renamed when the run was cut short.
pub(crate) fn is_half_done(pairs: &[Pair<'_>]) -> bool {
    let places: Vec<RetiredState> = pairs.iter().map(Pair::place).collect();
    places.iter().all(|place| matches!(place, RetiredState::Live | RetiredState::Retired))
        && places.contains(&RetiredState::Live)
        && places.contains(&RetiredState::Retired)
}

/// Settles which renamed files were retired. By the receipts, where there are
/// any: such a file belongs to the session that it was retired with, whatever
/// else its name fits.
pub(crate) fn settle(source: &mut Source, store: &Store, known: &Receipts) {
    let mut owners: BTreeMap<RelPath, String> = BTreeMap::new();
    let mut settled = Vec::new();
    for (receipt, retired) in known.retired().filter(|(receipt, retired)| is_meant(source, receipt, retired)) {
        let unit = RelPath::from_key(&receipt.unit);
        // A receipt that names a file elsewhere is not of this source.
        let Ok(pairs) = pairs(source, &unit, &retired) else { continue };
        let renamed = pairs.iter().filter(|pair| matches!(pair.place(), RetiredState::Retired | RetiredState::Both));
        owners.extend(renamed.map(|pair| (retired_name(&pair.name), receipt.unit.clone())));
        let unchanged = pairs.iter().all(|pair| pair.place() != RetiredState::Live || is_still(&pair.live, pair.was));
        let is_retired = pairs.iter().all(|pair| pair.place() == RetiredState::Retired) || (is_half_done(&pairs) && unchanged);
        if is_retired {
            let name_now = |pair: &Pair<'_>| if pair.place() == RetiredState::Live { pair.name.clone() } else { retired_name(&pair.name) };
            let names_now = pairs.iter().map(name_now).collect::<Vec<_>>();
            settled.push((root_of(source, &unit, &retired), names_now, receipt, retired));
        }
    }
    for unit in source.units.iter_mut().filter(|_| !owners.is_empty()) {
        let (root, name) = (&unit.found.root, unit.name.key());
        let is_its = |file: &&RelPath| owners.get(&file.below(root)).is_none_or(|owner| *owner == name);
        unit.found.files = unit.found.files.iter().filter(is_its).cloned().collect();
    }
    source.units.retain(|unit| !unit.found.files.is_empty());
    for (root, names_now, receipt, retired) in settled {
        settle_one(source, &receipt, root, &retired, names_now);
    }
    source.units.sort_by(|a, b| a.name.cmp(&b.name));
    for unit in source.units.iter_mut().filter(|unit| unit.found.standing == Standing::PerhapsRetired) {
        settle_without_receipt(unit, &path_below(&source.root, &unit.found.root), store, known);
    }
}

/// A session that its receipt calls retired: the unit of its name, or a new one.
fn settle_one(source: &mut Source, receipt: &Receipt, root: RelPath, retired: &Retired, names_now: Vec<RelPath>) {
    let name = RelPath::from_key(&receipt.unit);
    let retires: Few<RelPath> = retired.files.iter().map(|file| RelPath::from_key(&file.path)).collect();
    if let Some(unit) = source.units.iter_mut().find(|unit| unit.name == name) {
        unit.found.standing = Standing::Retired;
        unit.found.retires = retires;
        return;
    }
    let Some(adapter) = by_id(&receipt.format) else { return };
    let skip = if root.as_bytes().is_empty() { 0 } else { root.as_bytes().len() + 1 };
    let files = names_now.iter().map(|path| RelPath::new(&path.as_bytes()[skip..])).collect();
    let found = Unit {
        adapter,
        name: name_without(&name, &source.place).into_owned(),
        numbers: source.listing.numbers_below(&root),
        root,
        files,
        left_out: Vec::new(),
        shared: None,
        retires,
        confidence: Confidence::Likely,
        standing: Standing::Retired,
    };
    source.units.push(SourceUnit { name, place: Arc::new(source.place.clone()), found, part: None });
}

/// A renamed file of which no receipt says who renamed it: where the receipts
/// are lost, it is as good as retired if a log holds its very bytes.
fn settle_without_receipt(unit: &mut SourceUnit, folder: &Path, store: &Store, known: &Receipts) {
    let was = unit.found.retires.first().map(|path| unit.reported(path).below(&unit.place));
    let is_held = |name: &RelPath| {
        known.get(name).is_none()
            && from_log(&unit.found, name, store).is_some_and(|log| {
                let same = |was: &FileReceipt| has_its_bytes(&path_below(folder, &retired_name(&RelPath::from_key(&was.path))), was);
                !log.files.is_empty() && log.files.iter().all(same)
            })
    };
    match was.filter(is_held) {
        Some(name) => {
            unit.name = name;
            unit.found.standing = Standing::Retired;
        }
        None => {
            // Its program renamed it: that is its name now.
            unit.found.standing = Standing::Live;
            unit.found.retires = Few::default();
        }
    }
}

/// Tells whether a log is all that says that a session was retired, where its program
/// makes such names too: it was found under the name that its file has now.
pub(crate) fn is_by_log_alone(unit: &SourceUnit) -> bool {
    unit.found.standing == Standing::Retired && !unit.found.name.as_bytes().is_empty() && unit.found.name != *unit.name_in_source()
}

/// Said of such a session.
pub(crate) const WHO_RENAMED: &str = "the receipts are lost, and without them nobody can say who renamed it";

/// Returns what a log says of the files that a session would be retired with: a receipt
/// made again. Nothing where there is no good log.
pub(crate) fn from_log(found: &Unit, name: &RelPath, store: &Store) -> Option<Retired> {
    let (mut view, _) = open(&store.path(&Store::log_name(name)), None).ok()?;
    if !matches!(view.seal(), SealState::Good { .. }) {
        return None;
    }
    let mut files = Vec::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq).ok()?;
        if found.retires.contains(&plan.path) && plan.entry.sha256.is_some() {
            let size = plan.entry.size.unwrap_or(0);
            files.push(FileReceipt { path: plan.path.key(), size, mtime_ns: 0, mode: 0, sha256: plan.entry.sha256 });
        }
    }
    Some(Retired { folder: found.root.key(), files, beside: Vec::new() })
}

/// A retired session as its log has it.
#[derive(Debug)]
pub struct RetiredUnit {
    /// Its log, below the store.
    pub log: RelPath,
    /// The size of the log.
    pub log_bytes: u64,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Checks a retired session: its log must exist and be intact, and every other
/// file of the session must still be what the log holds.
///
/// # Errors
/// When there is no such log, or the session cannot be read.
pub(crate) fn check_retired(unit: &SourceUnit, source: &Source, store: &Store) -> Result<RetiredUnit, ConvertError> {
    let log = Store::log_name(&unit.name);
    let opened = open(&store.path(&log), None).ok().filter(|(view, _)| matches!(view.seal(), SealState::Good { .. }));
    let Some((mut view, _)) = opened else { return Err(ConvertError::RetiredWithoutLog) };
    let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
    let mut findings = Findings::default();
    findings.add(FindingCode::SourceRetired, Location::file(""), "migrated and retired; its log stays");
    let changed = "changed since the session was retired: `--unretire` it and migrate again";
    let mut known = Vec::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq)?;
        let is_renamed = unit.found.retires.contains(&plan.path);
        if is_renamed && files.entry(&plan.path).is_some() {
            let message = "half retired, because a run was cut short: `--retire` finishes it, `--unretire` takes it back";
            findings.add(FindingCode::NotRetired, Location::file(plan.path.to_string()), message);
        }
        let now = if is_renamed && files.entry(&plan.path).is_none() { retired_name(&plan.path) } else { plan.path };
        let same = match files.entry(&now) {
            Some(Entry::File(file) | Entry::Rows(file)) => plan.entry.sha256 == Some(sha256_hex(&file.bytes)),
            Some(Entry::Link { target }) => plan.target.as_ref() == Some(target),
            Some(Entry::EmptyFolder) => true,
            None => false,
        };
        if !same {
            findings.add(FindingCode::RetiredChanged, Location::file(now.to_string()), changed);
        }
        known.push(now);
    }
    for (path, _) in files.iter().filter(|(path, _)| !known.contains(path)) {
        findings.add(FindingCode::RetiredChanged, Location::file(path.to_string()), changed);
    }
    Ok(RetiredUnit { log, log_bytes: view.bytes(), findings: findings.into_list() })
}
