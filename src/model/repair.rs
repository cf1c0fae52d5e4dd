//! What a repair would change: whole new contents for files, each with its
//! reasons.

use super::audit::AuditItem;
use super::files::RelPath;
use super::finding::FindingCode;

/// Why a file is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Which finding this repairs.
    pub code: FindingCode,
    /// What is done, in a sentence.
    pub what: String,
}

impl Reason {
    /// Returns the name of the finding's code, as reports and receipts have it.
    #[must_use]
    pub fn code_name(&self) -> String {
        serde_json::to_string(&self.code).unwrap_or_default().trim_matches('"').to_owned()
    }
}

/// One file's new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRepair {
    /// Its path below the folder that was looked at. It may be new.
    pub path: RelPath,
    /// The bytes that it is to have.
    pub bytes: Vec<u8>,
    /// Why.
    pub why: Vec<Reason>,
}

/// What could be repaired in a folder.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Repairs {
    /// The changes, by path.
    pub changes: Vec<FileRepair>,
    /// What is left alone, and why.
    pub left: Vec<AuditItem>,
}
