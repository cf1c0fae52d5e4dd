//! opencode's JSON tree beside the database that later versions keep.

mod contains;
mod rescue;
mod tree;

use crate::adapters::containment::Containment;
use crate::adapters::maintenance::Maintenance;

/// Maintenance of opencode's folders.
pub struct OpencodeTreeMaintenance;

impl Maintenance for OpencodeTreeMaintenance {
    fn format(&self) -> &'static str {
        "opencode-tree"
    }

    fn containment(&self) -> Option<&'static dyn Containment> {
        Some(&contains::TreeInDatabase)
    }
}
