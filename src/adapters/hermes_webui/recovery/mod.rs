//! What is wrong in a sessions folder, and how it can be mended: the program's
//! own rules for both, and what they leave out.

mod document;
mod edit;
mod folder;
mod fresh;
mod index;
mod judge;
mod mend;
mod output;
mod plan;
mod retention;
mod rows;
mod run_end;
mod runs;
mod shrink;
mod state;
mod turns;

use crate::adapters::hermes_webui::layout::{INDEX, TURNS};
use crate::model::audit::{AuditItem, Evidence};
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::FolderView;
use crate::model::repair::Repairs;
use crate::model::retention::{Item, Outlook};

/// Audits a sessions folder.
pub(super) fn audit(view: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
    let folder = folder::Folder::of(view);
    if folder.is_sessions { judge::judge(&folder, evidence) } else { Vec::new() }
}

/// Plans what can be mended in a sessions folder.
pub(super) fn repair(view: &FolderView<'_>, evidence: &Evidence<'_>) -> Repairs {
    let folder = folder::Folder::of(view);
    if folder.is_sessions { plan::plan(&folder, evidence) } else { Repairs::default() }
}

/// Finds what of a sessions folder has served its purpose.
pub(super) fn retention(view: &FolderView<'_>, outlook: &Outlook<'_>) -> Vec<Item> {
    retention::items(&folder::Folder::of(view), outlook)
}

/// What the audit says itself, wherever it is.
const EVERYWHERE: [FindingCode; 4] =
    [FindingCode::SidecarMissing, FindingCode::LoaderFails, FindingCode::BackupUnreadable, FindingCode::TurnJournalTerminalCollision];

/// What the audit says itself of turn journals.
const IN_JOURNALS: [FindingCode; 7] = [
    FindingCode::TornTail,
    FindingCode::FusedLine,
    FindingCode::Salvaged,
    FindingCode::NulRun,
    FindingCode::NotJson,
    FindingCode::RejectedRecord,
    FindingCode::RecordSplit,
];

/// Whether the audit says better what a conversion would find.
pub(super) fn covers(finding: &Finding) -> bool {
    EVERYWHERE.contains(&finding.code)
        || (IN_JOURNALS.contains(&finding.code) && finding.location.file.starts_with(TURNS))
        || (finding.code == FindingCode::NotJson && finding.location.file == INDEX)
        || (finding.code == FindingCode::TemporaryKept && !finding.location.file.starts_with('_'))
}
