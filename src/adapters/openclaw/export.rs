//! Sessions of other programs as OpenClaw's own: one transcript, and, where it is
//! asked for, its entry in the store that lists the sessions of an agent.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::adapters::kit::entries::export::{carried, lines};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::transcript::Transcript;
use crate::model::files::RelPath;

/// The folder of the agent that every installation has.
const FOLDER: &str = "main/sessions";

/// The tools of the program's coding agent: a call of another one stays in the
/// transcript, and is not sent to the model.
const TOOLS: &[&str] = &["read", "write", "edit", "apply_patch", "exec", "process", "web_search", "web_fetch"];

/// The exporter of OpenClaw.
pub(super) struct OpenClawExporter;

impl Exporter for OpenClawExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::Notes,
                // Thinking of another model would be sent as a part of the answer's text.
                Ability::OwnThinking,
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

    fn offers(&self, tool: &str) -> bool {
        TOOLS.contains(&tool)
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        carried(payload)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid();
        let name = format!("{id}.jsonl");
        ExportedSession {
            files: vec![(RelPath::new(format!("{FOLDER}/{name}")), lines(session, &id, session.cwd.as_deref().unwrap_or("/")))],
            root: RelPath::new(FOLDER),
            go_on: format!("openclaw agent --session-id {id} --message …"),
            name,
        }
    }
}
