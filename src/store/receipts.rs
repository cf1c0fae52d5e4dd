//! Receipts: per unit, which source bytes became which log, and with what
//! verdict. A cache for skipping what has not changed, and evidence; it can be
//! made again from logs and source, but for what is retired.

use rayon::prelude::*;
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
    /// Files of other sessions that their program takes for the same one, as
    /// they were then; below the same folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<FileReceipt>,
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
    /// Whether they say just this, one line for each and in order.
    is_written: bool,
}

impl Receipts {
    /// Reads them. A line that cannot be read is as good as none: the unit is
    /// converted again.
    #[must_use]
    pub fn load(store: &Store) -> Receipts {
        let written = disk::read(&store.receipts()).unwrap_or_default();
        let text = written.strip_suffix(b"\n").unwrap_or(&written);
        let read: Vec<Option<Receipt>> = text.par_split(|b| *b == b'\n').map(|line| serde_json::from_slice(line).ok()).collect();
        let in_order = read.is_sorted_by(|a, b| matches!((a, b), (Some(a), Some(b)) if a.unit < b.unit)) && !read.contains(&None);
        let is_written = written.is_empty() || (in_order && written.ends_with(b"\n"));
        let by_unit = read.into_iter().flatten().map(|receipt| (receipt.unit.clone(), receipt)).collect();
        Receipts { by_unit, written, is_written }
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
        if self.by_unit.get(&receipt.unit) != Some(&receipt) {
            self.is_written = false;
            self.by_unit.insert(receipt.unit.clone(), receipt);
        }
    }

    /// Those of units of which something is retired.
    pub fn retired(&self) -> impl Iterator<Item = (&Receipt, &Retired)> {
        self.by_unit.values().filter_map(|receipt| Some((receipt, receipt.retired.as_ref()?)))
    }

    /// Notes what of a unit is retired, if anything is. Returns what it was.
    pub fn set_retired(&mut self, unit: &RelPath, retired: Option<Retired>) -> Option<Retired> {
        let receipt = self.by_unit.get_mut(&unit.key())?;
        self.is_written &= receipt.retired == retired;
        std::mem::replace(&mut receipt.retired, retired)
    }

    /// Writes them as one file, sorted, if that changes anything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        // Nothing is written that is there: a second run must not touch mtimes.
        if self.is_written {
            return Ok(());
        }
        let lines: Vec<Vec<u8>> = self.by_unit.par_iter().map(|(_, receipt)| line_of(receipt)).collect::<Result<_, _>>()?;
        let bytes = lines.concat();
        if bytes != self.written {
            let temporary = temporary_in(disk, &store.private())?;
            temporary.fill(&bytes)?;
            temporary.replace(&store.receipts())?;
            disk.sync(&store.private())?;
            self.written = bytes;
        }
        self.is_written = true;
        Ok(())
    }
}

/// Adds receipts at the end of the file while a run goes on, so that a run that
/// is cut short need not be done again; the end of the run sorts them in.
///
/// # Errors
/// When they cannot be written.
pub fn append(store: &Store, disk: &dyn Disk, receipts: &[Receipt]) -> Result<(), StoreError> {
    let lines: Vec<Vec<u8>> = receipts.iter().map(line_of).collect::<Result<_, _>>()?;
    disk.append(&store.receipts(), &lines.concat())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::RealDisk;

    fn receipt(unit: &str) -> Receipt {
        Receipt {
            unit: unit.to_owned(),
            format: "pi".to_owned(),
            files: Vec::new(),
            log: format!("{unit}.everlog.jsonl"),
            log_sha256: String::new(),
            log_bytes: 0,
            counts: Counts::default(),
            findings: Vec::new(),
            uses_file_times: false,
            beside_sha256: None,
            retired: None,
        }
    }

    /// What a store with this file of receipts has in it after a save, where
    /// nothing, or only this, was put.
    fn saved(written: &[u8], put: Option<Receipt>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path());
        RealDisk.create_folder(&store.private()).unwrap();
        RealDisk.append(&store.receipts(), written).unwrap();
        let mut known = Receipts::load(&store);
        known.by_unit.values().for_each(|receipt| assert!(known.get(&RelPath::from_key(&receipt.unit)) == Some(receipt)));
        put.into_iter().for_each(|receipt| known.put(receipt));
        known.save(&store, &RealDisk).unwrap();
        String::from_utf8(disk::read(&store.receipts()).unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_put_in_order_unless_it_is() {
        let line = |unit: &str| String::from_utf8(line_of(&receipt(unit)).unwrap()).unwrap();
        let (a, b) = (line("a"), line("b"));
        let whole = a.clone() + &b;
        for (what, written) in [
            ("in order", whole.clone()),
            ("not in order", b.clone() + &a),
            ("one of them twice", whole.clone() + &a),
            ("a line that is none", format!("{a}{{\n{b}")),
            ("an empty line", format!("{a}\n{b}")),
            ("no end of line", whole.trim_end().to_owned()),
        ] {
            assert_eq!(saved(written.as_bytes(), None), whole, "{what}");
        }
        assert_eq!(saved(b"", None), "");
        // Spelt in another way it says the same, and stays.
        let spelt = whole.replace("{\"unit\"", "{ \"unit\"");
        assert_eq!(saved(spelt.as_bytes(), Some(receipt("a"))), spelt);
        assert_eq!(saved(whole.as_bytes(), Some(Receipt { log_bytes: 7, ..receipt("a") })), whole.replacen(":0,", ":7,", 1));
    }
}
