//! Whether the receipt of a repair is one that everlog can have written. Whoever
//! can write to the folder of receipts can write one, so nothing is put into a
//! source or removed from it because a receipt says so: the repair is planned once
//! more for the files as they were, and must come to what they are now.

use std::collections::BTreeMap;

use crate::maintenance;
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::folder::{Listed, ListedKind, Listing, Portion};
use crate::model::repair::{FileRepair, Reason};
use crate::pipeline::source::Source;
use crate::store::listing;
use crate::store::repairs::{FileState, Repair, RepairReceipt, RepairedFile};

use super::error::CommandError;
use super::evidence::{self, Clock, World};

/// Checks every file that an undo would change. Those that are as before the
/// repair are not touched, and need no check; one that is neither is refused by
/// the undo itself.
///
/// # Errors
/// When one cannot come from a repair.
pub(super) fn check(source: &Source, repair: &Repair<'_>, receipt: &RepairReceipt, now_ns: i64) -> Result<(), CommandError> {
    let states = repair.states(receipt)?;
    let mut before: BTreeMap<RelPath, Option<Vec<u8>>> = BTreeMap::new();
    for (n, (file, _)) in receipt.files.iter().zip(&states).enumerate().filter(|(_, (_, state))| **state == FileState::New) {
        let old = file.old.as_ref().map(|old| repair.old_bytes(old)).transpose()?;
        let path = RelPath::from_key(&file.path);
        if file.old.as_ref().is_some_and(|old| !old.kept.starts_with(&format!("old-{:04}-", n + 1))) {
            return Err(refusal(repair, file, "no repair keeps old bytes under that name"));
        }
        if before.insert(path, old).is_some() {
            return Err(refusal(repair, file, "it names a file twice"));
        }
    }
    if before.is_empty() {
        return Ok(());
    }
    // Bytes can be compared where no other file was written since: a list of sessions
    // is another one with each new session. A receipt of an earlier release does not
    // say when it was written, nor which time went into files.
    let is_later = |listed: &Listed| listed.kind == ListedKind::File && receipt.stamp_ns.is_none_or(|stamp| listed.mtime_ns > stamp);
    let is_as_then = !source.listing.entries().iter().any(|listed| is_later(listed) && !before.contains_key(&listed.path));
    let planned = planned_before(source, &before, receipt.stamp_ns.unwrap_or(now_ns));
    for (file, _) in receipt.files.iter().zip(&states).filter(|(_, state)| **state == FileState::New) {
        let Some(change) = planned.get(&RelPath::from_key(&file.path)) else {
            return Err(refusal(repair, file, "no repair would have changed such a file"));
        };
        let codes: Vec<String> = change.why.iter().map(Reason::code_name).collect();
        let has_reason = |why: &String| codes.iter().any(|code| why.split(':').next() == Some(code));
        if !file.why.iter().all(has_reason) || file.why.is_empty() {
            return Err(refusal(repair, file, "the repair would have had other reasons"));
        }
        if is_as_then && sha256_hex(&change.bytes) != file.new_sha256 {
            return Err(refusal(repair, file, "the repair would have written something else"));
        }
    }
    Ok(())
}

fn refusal(repair: &Repair<'_>, file: &RepairedFile, why: &'static str) -> CommandError {
    let kept = file.old.as_ref().map(|old| repair.folder().join(&old.kept));
    CommandError::ReceiptNotGenuine { file: RelPath::from_key(&file.path).to_string(), why, kept }
}

/// Plans the repair of a source whose files had these bytes, at that time.
fn planned_before(source: &Source, before: &BTreeMap<RelPath, Option<Vec<u8>>>, stamp_ns: i64) -> BTreeMap<RelPath, FileRepair> {
    let is_as_now = |listed: &&Listed| !before.contains_key(&listed.path);
    let mut entries: Vec<Listed> = source.listing.entries().iter().filter(is_as_now).cloned().collect();
    for (path, old) in before.iter().filter_map(|(path, old)| Some((path, old.as_ref()?))) {
        // Old enough that nobody can still be writing it.
        let listed = Listed { path: path.clone(), kind: ListedKind::File, size: old.len() as u64, mtime_ns: 0, mode: 0o600 };
        entries.push(listed);
    }
    let was = Listing::new(entries);
    let peek = |path: &RelPath, part: Portion| match before.get(path) {
        Some(old) => old.clone().unwrap_or_default(),
        None => listing::part_of(&source.root, path, part),
    };
    // Whoever runs now did not keep the repair from being done then.
    let world = World { listing: &was, peek: &peek, still_runs: &|_, _| false };
    let clock = Clock { now_ns: stamp_ns, stamp_ns };
    let mut planned = BTreeMap::new();
    for (adapter, folder) in evidence::folders(source) {
        let repairs = evidence::within(&world, source, adapter, &folder, clock, |view, evidence| {
            maintenance::of(adapter.id()).repair(view, evidence)
        });
        planned.extend(repairs.changes.into_iter().map(|change| (change.path.below(&folder), change)));
    }
    planned
}
