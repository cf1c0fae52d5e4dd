//! Retiring sources: proven ones are renamed to `*.migrated`, so that their
//! program no longer sees them. The receipts say which before the first rename,
//! so that a run that is cut short can be finished or taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::pipeline::retired::{Pair, RetiredState, has_its_bytes, is_half_done, is_meant, is_still, pairs, retired_name};
use crate::pipeline::source::{Source, SourceUnit};
use crate::pipeline::unchanged::{LogState, log_state};
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::receipts::{FileReceipt, Receipt, Receipts, Retired};

use super::migrate_unit::Reports;

/// Files that a run before this one was to rename, by unit.
pub(super) type RetiredFiles = BTreeMap<String, Vec<String>>;

/// Renames the files of proven sessions, each with its unit's number, that their
/// program would list, if they are still what was proven; what was not renamed is
/// a finding.
///
/// # Errors
/// When the receipts cannot be written; then nothing was renamed.
pub(super) fn retire(
    source: &Source,
    proven: &[(usize, &SourceUnit)],
    reports: &mut Reports,
    known: &mut Receipts,
    store: &Store,
    disk: &dyn Disk,
) -> Result<(), StoreError> {
    let mut possible = Vec::new();
    for &(n, unit) in proven.iter().filter(|(_, unit)| !unit.found.retires.is_empty()) {
        let Some(receipt) = known.get(&unit.name) else { continue };
        match plan(&source.folder_of(unit), unit, &receipt) {
            Ok(files) => {
                let now = Retired { folder: unit.found.root.key(), files, beside: beside(unit, known) };
                possible.push((n, unit, merged(receipt.retired.as_ref(), now)));
            }
            Err((path, error)) => {
                let why = not_renamed(&error, receipt.retired.as_ref(), path);
                reports.note(n, FindingCode::NotRetired, &path.to_string(), why);
            }
        }
    }
    let kept_by = kept_by(source, &possible.iter().map(|(_, unit, _)| &unit.name).collect());
    let mut planned = Vec::new();
    for (n, unit, retired) in possible {
        match kept_by.get(&unit.name) {
            Some(other) => {
                let program = unit.found.adapter.id();
                let message = format!("not renamed: {program} takes it and {other} for one session, and that one stays");
                let at = unit.found.retires.first().map_or_else(String::new, ToString::to_string);
                reports.note(n, FindingCode::NotRetired, &at, message);
            }
            None => planned.push((n, unit, known.set_retired(&unit.name, Some(retired))?)),
        }
    }
    // Before the first rename: what is not in the receipts was not renamed by us.
    known.save(store, disk)?;
    let mut folders = BTreeSet::new();
    for (n, unit, before) in planned {
        let folder = source.folder_of(unit);
        match rename_all(&folder, &unit.found.retires, disk) {
            Ok(()) => {
                if let Some(report) = reports.get_mut(n) {
                    report.retired(unit.found.retires.iter().map(ToString::to_string).collect());
                }
            }
            Err((path, error)) => {
                reports.note(n, FindingCode::NotRetired, &path.to_string(), format!("not renamed: {error}"));
                // What could not be taken back is left for the next run.
                if unit.found.retires.iter().all(|path| path_below(&folder, path).symlink_metadata().is_ok()) {
                    known.set_retired(&unit.name, before)?;
                }
            }
        }
        folders.insert(folder);
    }
    folders.iter().try_for_each(|folder| disk.sync(folder))
}

/// Returns which sessions are one with another that stays, and with which. One that was
/// not chosen stays, too.
fn kept_by(source: &Source, going: &BTreeSet<&RelPath>) -> BTreeMap<RelPath, RelPath> {
    let mut kept = BTreeMap::new();
    for unit in source.units.iter().filter(|unit| !unit.found.shared_facts().retires_with.is_empty()) {
        let others = unit.found.shared_facts().retires_with.iter().map(|other| other.below(&unit.found.root).below(&unit.place));
        let group: Vec<RelPath> = others.chain([unit.name.clone()]).collect();
        if let Some(stays) = group.iter().find(|name| !going.contains(name)) {
            kept.extend(group.iter().filter(|name| *name != stays).map(|name| (name.clone(), stays.clone())));
        }
    }
    kept
}

/// Says why a file keeps its name.
fn not_renamed(error: &StoreError, retired: Option<&Retired>, path: &RelPath) -> String {
    let was_retired = retired.is_some_and(|retired| retired.files.iter().any(|file| path.has_key(&file.path)));
    if was_retired && matches!(error, StoreError::Exists { .. }) {
        let there = retired_name(path);
        return format!(
            "not renamed: one of this name was retired before, and {there} still lies there; move that elsewhere, and run again"
        );
    }
    format!("not renamed: {error}")
}

/// Returns the files to be renamed, as they were proven; or the first that cannot be.
fn plan<'u>(folder: &Path, unit: &'u SourceUnit, receipt: &Receipt) -> Result<Vec<FileReceipt>, (&'u RelPath, StoreError)> {
    let mut files = Vec::new();
    for path in &unit.found.retires {
        let (from, to) = (path_below(folder, path), path_below(folder, &retired_name(path)));
        let proven = receipt.files.iter().find(|file| file.path == path.key()).filter(|proven| is_still(&from, proven));
        let Some(proven) = proven else { return Err((path, StoreError::Unsteady { path: from })) };
        if to.symlink_metadata().is_ok() {
            return Err((path, StoreError::Exists { path: to }));
        }
        files.push(proven.clone());
    }
    Ok(files)
}

/// Returns what was retired of a session before stays retired.
fn merged(before: Option<&Retired>, now: Retired) -> Retired {
    let mut files = now.files;
    let is_new = |file: &&FileReceipt| !files.iter().any(|new| new.path == file.path);
    let older: Vec<FileReceipt> = before.into_iter().flat_map(|retired| &retired.files).filter(is_new).cloned().collect();
    files.extend(older);
    Retired { folder: now.folder, files, beside: now.beside }
}

/// Returns the files beside a session that are of the same key, as they are known.
fn beside(unit: &SourceUnit, known: &Receipts) -> Vec<FileReceipt> {
    let others = unit.found.shared_facts().retires_with.iter();
    let receipts = others.filter_map(|other| Some((other, known.get(&other.below(&unit.found.root).below(&unit.place))?)));
    receipts.filter_map(|(other, receipt)| receipt.files.iter().find(|file| other.has_key(&file.path)).cloned()).collect()
}

fn rename_all<'p>(folder: &Path, paths: &'p [RelPath], disk: &dyn Disk) -> Result<(), (&'p RelPath, StoreError)> {
    for (done, path) in paths.iter().enumerate() {
        let (from, to) = (path_below(folder, path), path_below(folder, &retired_name(path)));
        if let Err(error) = disk.rename_new(&from, &to) {
            // Half a session would be another one for its program.
            for path in paths[..done].iter().rev() {
                let (from, to) = (path_below(folder, &retired_name(path)), path_below(folder, path));
                let _ = disk.rename_new(&from, &to);
            }
            return Err((path, error));
        }
    }
    Ok(())
}

/// Finishes what a run that was cut short has left half renamed, if it is still
/// what was proven; else takes it back. Returns the files renamed, by unit.
///
/// # Errors
/// When a file cannot be renamed; before anything is, where a receipt names one
/// elsewhere.
pub(super) fn finish(source: &Source, known: &Receipts, store: &Store, disk: &dyn Disk) -> Result<RetiredFiles, StoreError> {
    let mut finished = RetiredFiles::new();
    let meant: Vec<_> = known.retired().filter(|(receipt, retired)| is_meant(source, receipt, retired)).collect();
    let found = meant.iter().map(|(receipt, retired)| Ok((receipt, pairs(source, &RelPath::from_key(&receipt.unit), retired)?)));
    for (receipt, pairs) in found.collect::<Result<Vec<_>, StoreError>>()?.into_iter().filter(|(_, pairs)| is_half_done(pairs)) {
        let is_proven = |pair: &Pair<'_>| match pair.place() {
            RetiredState::Live => has_its_bytes(&pair.live, pair.was),
            RetiredState::Retired | RetiredState::Both | RetiredState::Gone => has_its_bytes(&pair.retired, pair.was),
        };
        let goes_on = log_state(receipt, store) == LogState::Intact && pairs.iter().all(is_proven);
        let mut renamed = Vec::new();
        for pair in &pairs {
            match (pair.place(), goes_on) {
                (RetiredState::Live, true) => disk.rename_new(&pair.live, &pair.retired)?,
                (RetiredState::Retired, false) => disk.rename_new(&pair.retired, &pair.live)?,
                (RetiredState::Live | RetiredState::Retired | RetiredState::Both | RetiredState::Gone, _) => continue,
            }
            renamed.push(pair.was.path.clone());
            disk.sync(pair.live.parent().unwrap_or(&source.root))?;
        }
        finished.insert(receipt.unit.clone(), if goes_on { renamed } else { Vec::new() });
    }
    Ok(finished)
}
