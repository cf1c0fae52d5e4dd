//! Receipts: per unit, which source bytes became which log, and with what
//! verdict. A cache for skipping what has not changed, and evidence; it can be
//! made again from logs and source, but for what is retired.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::model::folder::{Listed, ListedKind};

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;
use super::replace::temporary_in;

/// One unit's receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The unit's name, as a key.
    pub unit: String,
    /// Its format.
    pub format: String,
    /// The source files as they were.
    pub files: Vec<FileReceipt>,
    /// The log, below the store, as a key.
    pub log: String,
    /// The hash in the log's seal.
    pub log_sha256: String,
    /// The log's size.
    pub log_bytes: u64,
    /// Sizes and counts for reports.
    pub counts: Counts,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Whether a file's time is part of the log.
    #[serde(default)]
    pub uses_file_times: bool,
    /// The hash of what files of the whole folder said of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_sha256: Option<String>,
    /// What of it is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retired>,
}

/// Files that are renamed, or about to be: this is written before the first
/// rename, and taken back after the last file has its name again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retired {
    /// The folder that their paths are below, itself below the source, as a key.
    pub folder: String,
    /// The files as they were proven, under the names that they had.
    pub files: Vec<FileReceipt>,
}

/// One source file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReceipt {
    /// Its path in the session, as a key.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Its time, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Its permission bits.
    pub mode: u32,
    /// The hash of its bytes, for regular files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Sizes and counts of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of the source.
    pub source_bytes: u64,
    /// Bytes that could not be rendered from events.
    pub residual_bytes: u64,
    /// Messages of the head that is shown by default.
    pub messages: u64,
    /// Lines of the log.
    pub events: u32,
}

impl FileReceipt {
    /// Whether a file still has the size, time and permissions it had.
    #[must_use]
    pub fn is_as_listed(&self, listed: &Listed) -> bool {
        let is_file = listed.kind == ListedKind::File;
        let same_bytes = listed.kind == ListedKind::Folder || (self.size == listed.size && self.mtime_ns == listed.mtime_ns);
        same_bytes && self.mode == listed.mode && is_file == self.sha256.is_some()
    }
}

/// All receipts of a store, by unit.
#[derive(Debug, Default)]
pub struct Receipts {
    by_unit: BTreeMap<String, Receipt>,
    /// The bytes of the file as it is.
    written: Vec<u8>,
}

impl Receipts {
    /// Reads them. A line that cannot be read is as good as none: the unit is
    /// converted again.
    #[must_use]
    pub fn load(store: &Store) -> Receipts {
        let written = disk::read(&store.receipts()).unwrap_or_default();
        let lines = written.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice::<Receipt>(line).ok());
        Receipts { by_unit: lines.map(|receipt| (receipt.unit.clone(), receipt)).collect(), written }
    }

    /// A unit's receipt.
    #[must_use]
    pub fn get(&self, unit: &RelPath) -> Option<&Receipt> {
        self.by_unit.get(&unit.key())
    }

    /// All of them, by unit.
    pub fn iter(&self) -> impl Iterator<Item = &Receipt> {
        self.by_unit.values()
    }

    /// Replaces a unit's receipt.
    pub fn put(&mut self, receipt: Receipt) {
        self.by_unit.insert(receipt.unit.clone(), receipt);
    }

    /// Those of units of which something is retired.
    pub fn retired(&self) -> impl Iterator<Item = (&Receipt, &Retired)> {
        self.by_unit.values().filter_map(|receipt| Some((receipt, receipt.retired.as_ref()?)))
    }

    /// Notes what of a unit is retired, if anything is. Returns what it was.
    pub fn set_retired(&mut self, unit: &RelPath, retired: Option<Retired>) -> Option<Retired> {
        let receipt = self.by_unit.get_mut(&unit.key())?;
        std::mem::replace(&mut receipt.retired, retired)
    }

    /// Writes them as one file, sorted, if that changes anything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        for receipt in self.by_unit.values() {
            bytes.extend(line_of(receipt)?);
        }
        // Equal bytes are not written again: a second run must not touch mtimes.
        if bytes == self.written {
            return Ok(());
        }
        let temporary = temporary_in(disk, &store.private())?;
        temporary.fill(&bytes)?;
        temporary.replace(&store.receipts())?;
        disk.sync(&store.private())?;
        self.written = bytes;
        Ok(())
    }
}

/// Adds receipts at the end of the file while a run goes on, so that a run that
/// is cut short need not be done again; the end of the run sorts them in.
///
/// # Errors
/// When they cannot be written.
pub fn append(store: &Store, disk: &dyn Disk, receipts: &[Receipt]) -> Result<(), StoreError> {
    let mut bytes = Vec::new();
    for receipt in receipts {
        bytes.extend(line_of(receipt)?);
    }
    disk.append(&store.receipts(), &bytes)
}

fn line_of(receipt: &Receipt) -> Result<Vec<u8>, StoreError> {
    let mut line = serde_json::to_vec(receipt).map_err(|error| StoreError::Io {
        doing: "write a receipt for",
        path: receipt.unit.clone().into(),
        source: error.into(),
    })?;
    line.push(b'\n');
    Ok(line)
}
