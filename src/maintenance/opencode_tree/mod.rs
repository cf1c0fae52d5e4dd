//! opencode's JSON tree beside the database that later versions keep.

mod audit;
mod contains;
mod rescue;
mod tree;

use crate::adapters::containment::Containment;
use crate::adapters::maintenance::{DatabaseFile, Maintenance};
use crate::model::audit::{AuditItem, Evidence};
use crate::model::folder::FolderView;

/// Maintenance of opencode's folders.
pub struct OpencodeTreeMaintenance;

impl Maintenance for OpencodeTreeMaintenance {
    fn format(&self) -> &'static str {
        "opencode-tree"
    }

    fn containment(&self) -> Option<&'static dyn Containment> {
        Some(&contains::TreeInDatabase)
    }

    fn audited_database(&self) -> Option<DatabaseFile> {
        Some(DatabaseFile { name: "opencode.db", levels_above: 1, profiles: "" })
    }

    fn audit(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
        audit::audit(folder, evidence)
    }
}
