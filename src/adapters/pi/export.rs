//! Sessions of other programs as pi's own: one file, a chain of entries.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::adapters::kit::entries::export::{Head, carried, lines};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::transcript::Transcript;
use crate::model::files::RelPath;

/// The exporter of pi.
pub(super) struct PiExporter;

impl Exporter for PiExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::Notes,
                Ability::Thinking,
                Ability::Images,
                Ability::ResultImages,
                Ability::ErrorFlags,
                Ability::StopReasons,
                Ability::Usage,
                Ability::Costs,
                Ability::Models,
                Ability::Providers,
                Ability::Errors,
                Ability::Compactions,
                Ability::BranchSummaries,
                Ability::ModelChanges,
                Ability::TitleEntries,
                Ability::Order,
                Ability::Cwd,
                Ability::Times,
            ],
            needs: &[Need::Model, Need::Usage, Need::StopReason, Need::ToolNames],
            digits: 3,
        }
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        carried(payload)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid();
        let cwd = session.cwd.as_deref().unwrap_or("/");
        let stamp = session.created.text(3).replace([':', '.'], "-");
        let name = format!("{stamp}Z_{id}");
        let folder = folder_of(cwd);
        let path = RelPath::new(format!("{folder}/{name}.jsonl"));
        ExportedSession {
            files: vec![(path, lines(session, &Head { id: &id, cwd, parent_session: None }))],
            root: RelPath::new(&folder),
            go_on: format!("pi --session {id}"),
            name,
        }
    }
}

/// Returns the folder in which pi keeps the sessions of a working folder.
fn folder_of(cwd: &str) -> String {
    format!("--{}--", cwd.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-"))
}
