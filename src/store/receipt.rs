//! Receipts: per unit, which source bytes became which log, and with what
//! verdict. A cache for skipping what has not changed, and evidence; it can be
//! made again from logs and source, but for what is retired.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use crate::model::about::About;
use crate::model::event::SessionKind;
use crate::model::finding::Finding;
use crate::model::folder::{Listed, ListedKind};

use super::error::StoreError;
use super::line_checksum;

/// One unit's receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The unit's name, as a key.
    pub unit: String,
    /// Its format.
    pub format: String,
    /// What the unit is: one session, or a file about many.
    #[serde(default, skip_serializing_if = "SessionKind::is_session")]
    pub kind: SessionKind,
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
    /// Whether its content said that it is of this format.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sure: bool,
    /// What lists show of the session. Receipts of older releases lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// The hashes of the attachments that the store keeps for the log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blobs: Vec<String>,
    /// What of it is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retired>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(is: &bool) -> bool {
    !is
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
    /// Tells whether a file still has the size, time and permissions it had.
    #[must_use]
    pub fn is_as_listed(&self, listed: &Listed) -> bool {
        let is_file = listed.kind == ListedKind::File;
        let same_bytes = listed.kind == ListedKind::Folder || (self.size == listed.size && self.mtime_ns == listed.mtime_ns);
        same_bytes && self.mode == listed.mode && is_file == self.sha256.is_some()
    }
}

/// The members of a receipt, each of which some line may lack.
const MEMBERS: [&str; 15] = [
    "unit",
    "format",
    "kind",
    "files",
    "log",
    "log_sha256",
    "log_bytes",
    "counts",
    "findings",
    "uses_file_times",
    "beside_sha256",
    "sure",
    "about",
    "blobs",
    "retired",
];

impl Receipt {
    /// Tells whether a line is an object without members that a receipt has not.
    pub(super) fn has_only_known_members(line: &[u8]) -> bool {
        let members: Result<BTreeMap<&str, &RawValue>, _> = serde_json::from_slice(line);
        members.is_ok_and(|members| members.keys().all(|name| MEMBERS.contains(name)))
    }

    /// It as a line of the file.
    ///
    /// # Errors
    /// When it cannot be written as one.
    pub fn line(&self) -> Result<Vec<u8>, StoreError> {
        let mut line = serde_json::to_vec(self).map_err(|error| StoreError::Io {
            doing: "write a receipt for",
            path: self.unit.clone().into(),
            source: error.into(),
        })?;
        line_checksum::add(&mut line);
        line.push(b'\n');
        Ok(line)
    }
}
