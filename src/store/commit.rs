//! The group commit of a migration. The order of its durable writes is what a
//! crash at any point relies on: first logs get their names, then earlier logs
//! that they contain are removed, then receipts are appended. A receipt therefore
//! never names a log that is not there, and no earlier log is removed before the
//! one that contains it has its name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::disk::Disk;
use super::error::StoreError;
use super::layout::Store;
use super::receipts::{ReceiptLine, Receipts};
use super::replace::{self, Ready};

/// Sessions of one commit: enough to share a sync, few enough to lose little.
const GROUP_SESSIONS: usize = 256;
const GROUP_BYTES: u64 = 64 * 1024 * 1024;

/// A proven log that waits for its name.
#[derive(Debug)]
pub struct Pending {
    /// The session's name, as receipts have it.
    pub unit: String,
    /// Its receipt as a line.
    pub receipt: Vec<u8>,
    /// The size of the log.
    pub log_bytes: u64,
    /// The log and its name.
    pub ready: Ready,
    /// Earlier logs that it contains.
    pub superseded: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Group {
    ready: Vec<Ready>,
    /// Receipts as lines, by unit.
    receipts: Vec<(String, Vec<u8>)>,
    superseded: Vec<PathBuf>,
    bytes: u64,
}

/// Commits proven logs in groups, from any thread.
#[derive(Debug)]
pub struct Committer<'a> {
    store: &'a Store,
    disk: &'a dyn Disk,
    /// The receipts that the new ones take the places of.
    known: &'a Receipts,
    group: Mutex<Group>,
    /// One commit runs at a time, while other sessions are converted.
    committing: Mutex<()>,
    done: Mutex<CommitResult>,
}

/// The logs that have their names, and those that did not get theirs.
#[derive(Debug, Default)]
pub struct CommitResult {
    /// Where the receipts of committed logs are in the receipts file.
    pub receipts: Vec<ReceiptLine>,
    /// Units whose log did not get its name, and why.
    pub failed: BTreeMap<String, String>,
    /// Why receipts of logs that have their names could not be written. The next
    /// run proves those logs again.
    pub unsaved: Option<StoreError>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Committer<'a> {
    /// Returns a committer for a store, which must be locked.
    #[must_use]
    pub fn new(store: &'a Store, disk: &'a dyn Disk, known: &'a Receipts) -> Committer<'a> {
        Committer { store, disk, known, group: Mutex::default(), committing: Mutex::default(), done: Mutex::default() }
    }

    /// Takes a log; commits once there are enough for a group.
    pub fn add(&self, mut pending: Pending) {
        let is_full = {
            let mut group = locked(&self.group);
            group.ready.push(pending.ready);
            group.receipts.push((pending.unit, pending.receipt));
            group.superseded.append(&mut pending.superseded);
            group.bytes += pending.log_bytes;
            group.ready.len() >= GROUP_SESSIONS || group.bytes >= GROUP_BYTES
        };
        if is_full {
            self.commit();
        }
    }

    fn commit(&self) {
        let _one = locked(&self.committing);
        let group = std::mem::take(&mut *locked(&self.group));
        if group.ready.is_empty() {
            return;
        }
        let named = replace::commit(self.disk, self.store.root(), &group.ready);
        match named {
            Ok(()) => {
                // A log that has its name is complete, whatever fails from here on.
                let removed = group.superseded.iter().try_for_each(|earlier| self.disk.remove(earlier));
                match removed.and_then(|()| self.known.append(self.store, self.disk, group.receipts)) {
                    Ok(lines) => locked(&self.done).receipts.extend(lines),
                    Err(error) => locked(&self.done).unsaved = Some(error),
                }
            }
            Err(error) => {
                // Logs that have their names are no longer under the temporary ones.
                for one in &group.ready {
                    let _ = self.disk.remove(&one.from);
                }
                let why = with_cause(&error);
                locked(&self.done).failed.extend(group.receipts.into_iter().map(|(unit, _)| (unit, why.clone())));
            }
        }
    }

    /// Commits the last group, and returns what became of all of them.
    #[must_use]
    pub fn finish(self) -> CommitResult {
        self.commit();
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_cause(error: &StoreError) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
