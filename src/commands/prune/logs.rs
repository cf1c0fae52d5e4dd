//! What the logs of a store have of a file: looked up, proven, brought back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::log::SealState;
use crate::log::restore::file_plan;
use crate::model::files::RelPath;
use crate::model::retention::{Stay, StayCode};
use crate::pipeline::old_bytes::earlier_logs;
use crate::pipeline::open::open;
use crate::report::text;
use crate::store::layout::Store;
use crate::store::pruned::Tombstone;

/// Said of a log that is not what it was.
fn remedy(store: &Store) -> String {
    let dest = text::shell_word(&store.root().display().to_string());
    format!("`everlog verify {dest}` says more, and `everlog migrate --rehash` makes it anew")
}

/// Said of a file that a log should have and does not give.
pub(super) fn not_rebuilt(store: &Store, file: &RelPath) -> Stay {
    Stay::new(StayCode::LogDiffers, format!("its log does not rebuild {file} as it is now; {}", remedy(store)))
}

/// The hash of each file that a log has.
pub(super) type InLog = BTreeMap<RelPath, String>;

/// Returns what a unit's log says that it has.
pub(super) fn files_of(store: &Store, unit: &RelPath) -> Result<InLog, Stay> {
    let path = store.path(&Store::log_name(unit));
    if !path.is_file() {
        return Err(Stay::new(StayCode::NoLog, "there is no log of it; `everlog migrate` makes one"));
    }
    let unsealed = || Stay::new(StayCode::LogUnsealed, format!("its log is not as it was sealed; {}", remedy(store)));
    let (mut view, _) = open(&path, None).map_err(|_| unsealed())?;
    if !matches!(view.seal(), SealState::Good { .. }) {
        return Err(unsealed());
    }
    let mut found = InLog::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq).map_err(|_| unsealed())?;
        found.extend(plan.entry.sha256.map(|sha256| (plan.path, sha256)));
    }
    Ok(found)
}

/// Tells whether something has what a file was, so that it can be brought back.
pub(super) fn has_copy(store: &Store, stone: &Tombstone) -> bool {
    let has_spare = || stone.spare_path(store).ok().flatten().is_some_and(|path| path.is_file());
    stone.log.is_some() || stone.trash.is_some() || has_spare()
}

/// Returns the files that a log or an earlier log of the same session has, with their
/// hashes.
pub(super) fn ever_in_log(store: &Store, log: &RelPath) -> BTreeSet<(RelPath, String)> {
    let mut found = BTreeSet::new();
    for path in std::iter::once(store.path(log)).chain(earlier_logs(store, log)) {
        let Ok((mut view, _)) = open(&path, None) else { continue };
        if !matches!(view.seal(), SealState::Good { .. }) {
            continue;
        }
        for seq in view.files().to_vec() {
            let plan = file_plan(&mut view, seq).ok();
            found.extend(plan.and_then(|plan| Some((plan.path, plan.entry.sha256?))));
        }
    }
    found
}

/// Returns where the log lies that has what a file was.
pub(super) fn place_of(store: &Store, stone: &Tombstone) -> Option<PathBuf> {
    let log = RelPath::from_key(stone.log.as_ref()?);
    let kept = store.earlier(&log, stone.log_sha256.as_deref().unwrap_or_default());
    Some(if kept.is_file() { kept } else { store.path(&log) })
}
