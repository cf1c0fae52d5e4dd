//! Hermes WebUI: a sessions folder with one sidecar per session, its backup,
//! turn journals and run journals.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
mod discover;
mod folder;
mod journal;
mod layout;
mod load;
mod message;
mod pynumber;
mod pytext;
mod read;
mod recovery;
mod runs;
mod salvage;
mod shared;
mod sidecar;
mod turns;
mod wire;
mod write;

use crate::adapters::adapter::{Adapter, Check, DatabaseFile, Found, ReadSummary};
use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::Files;
use crate::model::finding::{Finding, Findings};
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::repair::Repairs;
use crate::model::retention::{Item, Outlook, Rule};
use crate::model::shape::{Order, Shapes};
use crate::model::shown::Shower;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

const ID: &str = "hermes-webui";

/// The Hermes WebUI adapter.
pub struct HermesWebui;

impl Adapter for HermesWebui {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "Hermes WebUI sessions: sidecars, backups, turn journals, run journals, index (0.12 to 0.52)"
    }

    fn looked_for(&self) -> &'static str {
        "sessions folders of Hermes WebUI: sidecars with session_id, title and workspace, or its journals and index"
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        write::renderer(holds, style, shapes)
    }

    fn shower(&self, shapes: &[Order]) -> Box<Shower> {
        let shapes = Shapes::with_others(wire::MESSAGE.order(), shapes.to_vec());
        Box::new(move |item, line| write::show(item, &shapes, line))
    }

    fn database(&self) -> Option<DatabaseFile> {
        Some(DatabaseFile { name: "state.db", levels_above: 2, profiles: "profiles" })
    }

    fn audit(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
        recovery::audit(folder, evidence)
    }

    fn repair(&self, folder: &FolderView<'_>, evidence: &Evidence<'_>) -> Repairs {
        recovery::repair(folder, evidence)
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::TurnJournal, Rule::RunJournal]
    }

    fn retention(&self, folder: &FolderView<'_>, outlook: &Outlook<'_>) -> Vec<Item> {
        recovery::retention(folder, outlook)
    }

    fn audit_covers(&self, finding: &Finding) -> bool {
        recovery::covers(finding)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        Box::new(shared::Facts(load::loader(files)))
    }
}
