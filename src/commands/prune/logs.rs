//! What the logs of a store have of a file: looked up, proven, brought back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::adapters::adapter::Adapter;
use crate::log::restore::{ByteSink, FilePlan, file_plan, rebuild};
use crate::log::{LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::retention::{Stay, StayCode};
use crate::model::stream::{ReadAt, StreamError};
use crate::report::text;
use crate::store::blobs;
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::pruned::Tombstone;

use crate::commands::error::CommandError;
use crate::commands::logs;

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

/// What a unit's log says that it has.
pub(super) fn files_of(store: &Store, unit: &RelPath) -> Result<InLog, Stay> {
    let path = store.path(&Store::log_name(unit));
    if !path.is_file() {
        return Err(Stay::new(StayCode::NoLog, "there is no log of it; `everlog migrate` makes one"));
    }
    let unsealed = || Stay::new(StayCode::LogUnsealed, format!("its log is not as it was sealed; {}", remedy(store)));
    let (mut view, _) = logs::open(&path, None).map_err(|_| unsealed())?;
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

/// What is brought back, in memory.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl ByteSink for Bytes {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// The bytes of a file that is no blob, rebuilt from its log now.
pub(super) fn in_memory<R: ReadAt>(view: &mut LogView<R>, adapter: &dyn Adapter, plan: &FilePlan) -> Result<Vec<u8>, StreamError> {
    let mut bytes = Bytes::default();
    let make = |holds: &str, style: Option<&str>, shapes: &[_]| adapter.renderer(holds, style, shapes);
    rebuild(view, plan, &make, &mut bytes)?;
    Ok(bytes.0)
}

/// The bytes of files that a log has with these hashes, rebuilt from it now,
/// and the hash in its seal. A file that it has otherwise is missing.
pub(super) fn rebuilt(
    store: &Store,
    log: &Path,
    wanted: &BTreeMap<RelPath, String>,
) -> Result<(BTreeMap<RelPath, Vec<u8>>, String), CommandError> {
    let (mut view, adapter) = logs::open(log, None)?;
    let stream = |source| CommandError::Stream { path: log.to_owned(), source };
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

/// The bytes that files had before they were pruned: from the trash, else from
/// whichever log of their unit has them, the present one or an earlier.
pub(super) fn old_bytes(store: &Store, stones: &[&Tombstone]) -> Result<Vec<Vec<u8>>, CommandError> {
    let mut found: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    let mut in_logs: BTreeMap<&str, BTreeMap<RelPath, &Tombstone>> = BTreeMap::new();
    for stone in stones {
        let trashed = stone.trash.as_ref().and_then(|path| crate::store::disk::read(Path::new(path)).ok());
        if let Some(bytes) = trashed.filter(|bytes| sha256_hex(bytes) == stone.old.sha256) {
            found.insert(&stone.file, bytes);
        } else if let (Some(log), Some(path)) = (&stone.log, &stone.log_path) {
            in_logs.entry(log).or_default().insert(RelPath::from_key(path), stone);
        }
    }
    for (log, mut wanted) in in_logs {
        let log = RelPath::from_key(log);
        // Each log is opened once for all that may be in it.
        for candidate in std::iter::once(store.path(&log)).chain(earlier(store, &log)) {
            let hashes = wanted.iter().map(|(path, stone)| (path.clone(), stone.old.sha256.clone())).collect();
            let Ok((files, _)) = rebuilt(store, &candidate, &hashes) else { continue };
            found.extend(files.into_iter().filter_map(|(path, bytes)| Some((wanted.remove(&path)?.file.as_str(), bytes))));
            if wanted.is_empty() {
                break;
            }
        }
    }
    let take =
        |stone: &&Tombstone| found.remove(stone.file.as_str()).ok_or_else(|| CommandError::NoOldBytes { file: stone.path().to_string() });
    stones.iter().map(take).collect()
}

/// Where the log lies that has what a file was.
pub(super) fn place_of(store: &Store, stone: &Tombstone) -> Option<PathBuf> {
    let log = RelPath::from_key(stone.log.as_ref()?);
    let kept = store.earlier(&log, stone.log_sha256.as_deref().unwrap_or_default());
    Some(if kept.is_file() { kept } else { store.path(&log) })
}

/// The earlier logs of a unit.
fn earlier(store: &Store, log: &RelPath) -> Vec<PathBuf> {
    let (folder, prefix) = store.earlier_prefix(log);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_earlier = |name: &[u8]| name.strip_prefix(prefix.as_slice()).is_some_and(|rest| rest.len() == 16 + LOG_SUFFIX.len());
    let mut found: Vec<PathBuf> =
        entries.filter(|entry| is_earlier(entry.file_name().as_encoded_bytes())).map(|entry| entry.path()).collect();
    found.sort();
    found
}
