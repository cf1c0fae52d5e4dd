//! The bytes that files had: rebuilt from logs, or found where a prune kept
//! them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::adapters::format::Format;
use crate::log::restore::{ByteSink, FilePlan, check_sizes, file_plan, rebuild};
use crate::log::{LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::stream::{ReadAt, StreamError};
use crate::store::blobs;
use crate::store::inside::inside;
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::pruned::Tombstone;
use crate::store::repairs;

use super::open::{LogError, open};

/// Rebuilt bytes, in memory.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl ByteSink for Bytes {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Rebuilds a file that is not a blob from its log.
///
/// # Errors
/// When the log does not rebuild it.
pub(crate) fn in_memory<R: ReadAt>(view: &mut LogView<R>, adapter: &dyn Format, plan: &FilePlan) -> Result<Vec<u8>, StreamError> {
    let mut bytes = Bytes::default();
    let make = |holds: &str, style: Option<&str>, shapes: &[_]| adapter.renderer(holds, style, shapes);
    check_sizes(view)?;
    rebuild(view, plan, &make, &mut bytes)?;
    Ok(bytes.0)
}

/// Rebuilds the files that a log has with these hashes, and returns the hash in
/// its seal with them. A file that the log has otherwise is missing.
///
/// # Errors
/// When the log cannot be read or does not rebuild them.
pub(crate) fn rebuilt(
    store: &Store,
    log: &Path,
    wanted: &BTreeMap<RelPath, String>,
) -> Result<(BTreeMap<RelPath, Vec<u8>>, String), LogError> {
    let (mut view, adapter) = open(log, None)?;
    let stream = |source| LogError::Stream { path: log.to_owned(), source };
    let SealState::Good { sha256: seal } = view.seal().clone() else { return Ok((BTreeMap::new(), String::new())) };
    let mut found = BTreeMap::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq).map_err(stream)?;
        let Some(sha256) = wanted.get(&plan.path).filter(|sha256| plan.entry.sha256.as_ref() == Some(sha256)) else { continue };
        let bytes = match &plan.entry.blob {
            Some(blob) => blobs::get(store, blob)?,
            None => in_memory(&mut view, adapter, &plan).map_err(stream)?,
        };
        if sha256_hex(&bytes) == *sha256 {
            found.insert(plan.path, bytes);
        }
    }
    Ok((found, seal))
}

/// A file whose old bytes nothing has any more.
#[derive(Debug)]
pub(crate) struct NoCopy {
    pub file: String,
}

/// Returns the bytes that files had before they were pruned: from the trash, or
/// else from the log of their unit that has them, the present one or an earlier
/// one.
///
/// # Errors
/// When nothing has the bytes of one of them.
pub(crate) fn old_bytes(store: &Store, stones: &[&Tombstone]) -> Result<Vec<Vec<u8>>, NoCopy> {
    let mut found: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut in_logs: BTreeMap<&str, BTreeMap<RelPath, &Tombstone>> = BTreeMap::new();
    for stone in stones {
        let places = [stone.spare_path(store).ok().flatten(), place_in_trash(stone)].into_iter().flatten();
        let mut kept = places.filter_map(|place| Some(repairs::current(&place).ok()??.0));
        if let Some(bytes) = kept.find(|bytes| sha256_hex(bytes) == stone.old.sha256) {
            found.insert(&stone.file, bytes);
        } else if let (Some(log), Some(path)) = (&stone.log, &stone.log_path) {
            in_logs.entry(log).or_default().insert(RelPath::from_key(path), stone);
        }
    }
    for (log, mut wanted) in in_logs {
        let log = RelPath::from_key(log);
        // Each log is opened once for all that may be in it.
        for candidate in std::iter::once(store.path(&log)).chain(earlier_logs(store, &log)) {
            let hashes = wanted.iter().map(|(path, stone)| (path.clone(), stone.old.sha256.clone())).collect();
            let Ok((files, _)) = rebuilt(store, &candidate, &hashes) else { continue };
            found.extend(files.into_iter().filter_map(|(path, bytes)| Some((wanted.remove(&path)?.file.as_str(), bytes))));
            if wanted.is_empty() {
                break;
            }
        }
    }
    let take = |stone: &&Tombstone| found.remove(stone.file.as_str()).ok_or_else(|| NoCopy { file: stone.path().to_string() });
    stones.iter().map(take).collect()
}

/// Returns where the trash has an old file. A tombstone may name any place: only
/// the one that prune itself chooses is looked at, `TRASH/PRUNE/FILE`, and no link
/// is followed below `TRASH`.
fn place_in_trash(stone: &Tombstone) -> Option<PathBuf> {
    let place = Path::new(stone.trash.as_ref()?);
    let file = stone.path();
    let above = place.as_os_str().as_encoded_bytes().strip_suffix(file.as_bytes())?.strip_suffix(b"/")?;
    let folder = Path::new(OsStr::from_bytes(above));
    let name = folder.file_name()?.to_str()?;
    let number = name.strip_prefix(stone.prune.as_str())?;
    let is_own = number.is_empty() || number.strip_prefix('.').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let below = file.below(&RelPath::new(name));
    is_own.then(|| inside(folder.parent()?, &below).ok()).flatten()
}

/// Lists the earlier logs of a unit, in the order of their names.
pub(crate) fn earlier_logs(store: &Store, log: &RelPath) -> Vec<PathBuf> {
    let (folder, prefix) = store.earlier_prefix(log);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    // Prefix, 16 hex digits, suffix: else it is another unit's.
    let is_earlier = |name: &[u8]| name.strip_prefix(prefix.as_slice()).is_some_and(|rest| rest.len() == 16 + LOG_SUFFIX.len());
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| is_earlier(entry.file_name().as_encoded_bytes())).map(|entry| entry.path()).collect();
    found.sort();
    found
}
