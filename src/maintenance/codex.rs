//! What Codex's own `migrate-rollouts` deletes: it rewrites a session of the older kind in
//! place, without a backup and without the turns that were rolled back.

use crate::adapters::codex::rolled_back_turns;
use crate::adapters::maintenance::Maintenance;
use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::location::Location;

/// Audit of Codex's sessions.
pub(super) struct CodexMaintenance;

impl Maintenance for CodexMaintenance {
    fn format(&self) -> &'static str {
        "codex"
    }

    fn audit(&self, folder: &FolderView<'_>, _: &Evidence<'_>) -> Vec<AuditItem> {
        let files = folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File);
        let inside = ["sessions/", "archived_sessions/"].iter().flat_map(|root| folder.beginning(root));
        let all = files.chain(inside.filter(|(_, entry)| entry.kind == ListedKind::File));
        all.filter_map(|(path, _)| {
            let turns = rolled_back_turns(path, || folder.all_bytes(path))?;
            let location = Location::of_path(&RelPath::new(path).below(folder.path()));
            let message = format!(
                "`codex migrate-rollouts --apply` would rewrite this file and delete the {turns} {} that were rolled back in it, without a backup",
                if turns == 1 { "turn" } else { "turns" }
            );
            Some(AuditItem::new(FindingCode::WouldLoseTurns, location, message).count("turns", i64::try_from(turns).unwrap_or(i64::MAX)))
        })
        .collect()
    }
}
