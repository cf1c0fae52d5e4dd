//! What is wrong in a sessions folder, and how it can be repaired: the program's
//! own rules for both, and what they leave out.

mod contains;
mod document;
mod edit;
mod folder;
mod fresh;
mod index;
mod judge;
mod output;
mod plan;
mod recovery;
mod retention;
mod rows;
mod run_end;
mod runs;
mod shrink;
mod spoken;
mod state;
mod turns;

use crate::adapters::containment::Containment;
use crate::adapters::format::RETIRED_SUFFIX;
use crate::adapters::hermes_webui::layout::{INDEX, Role, TURNS, role};
use crate::adapters::maintenance::{DatabaseFile, Maintenance};
use crate::model::audit::{AuditItem, Evidence};
use crate::model::database::{DatabaseMessage, Tables, TablesError};
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::FolderView;
use crate::model::repair::Repairs;
use crate::model::retention::{Prunable, RetentionContext, Rule};

/// Audit, repair and retention of Hermes WebUI.
pub(super) struct HermesWebuiMaintenance;

impl Maintenance for HermesWebuiMaintenance {
    fn format(&self) -> &'static str {
        "hermes-webui"
    }

    fn containment(&self) -> Option<&'static dyn Containment> {
        Some(&contains::InStateDatabase)
    }

    fn writer_programs(&self) -> &'static [&'static str] {
        &["python", "hermes", "webui"]
    }

    fn database(&self) -> Option<DatabaseFile> {
        Some(DatabaseFile { name: "state.db", levels_above: 2, profiles: "profiles" })
    }

    fn database_messages(&self, tables: &dyn Tables) -> Result<Vec<DatabaseMessage>, TablesError> {
        spoken::messages(tables)
    }

    fn audit(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
        audit(folder, evidence)
    }

    fn repair(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Repairs {
        repair(folder, evidence)
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::TurnJournal, Rule::RunJournal]
    }

    fn retention(&self, folder: &FolderView<'_>, outlook: &RetentionContext<'_>) -> Vec<Prunable> {
        retention::items(&folder::Folder::of(folder), outlook)
    }

    fn can_prune(&self, rule: Rule, path: &str, _old: &[u8]) -> bool {
        match role(path, RETIRED_SUFFIX) {
            Some((Role::TurnShard | Role::TurnLegacy, _)) => rule == Rule::TurnJournal,
            Some((Role::Run, _)) => rule == Rule::RunJournal,
            Some((Role::Sidecar | Role::Backup | Role::Temporary | Role::Index | Role::Store | Role::Retired, _)) | None => false,
        }
    }

    fn audit_covers(&self, finding: &Finding) -> bool {
        covers(finding)
    }
}

/// Audits a sessions folder.
fn audit(view: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
    let folder = folder::Folder::of(view);
    if folder.is_sessions { judge::judge(&folder, evidence) } else { Vec::new() }
}

/// Plans what can be repaired in a sessions folder.
fn repair(view: &FolderView<'_>, evidence: &Evidence<'_>) -> Repairs {
    let folder = folder::Folder::of(view);
    if folder.is_sessions { plan::plan(&folder, evidence) } else { Repairs::default() }
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

/// Tells whether the audit says better what a conversion would find.
fn covers(finding: &Finding) -> bool {
    EVERYWHERE.contains(&finding.code)
        || (IN_JOURNALS.contains(&finding.code) && finding.location.file.starts_with(TURNS))
        || (finding.code == FindingCode::NotJson && finding.location.file == INDEX)
        || (finding.code == FindingCode::TemporaryKept && !finding.location.file.starts_with('_'))
}
