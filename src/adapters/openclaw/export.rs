//! Sessions of other programs as OpenClaw's own: one transcript, and, where it is
//! asked for, its entry in the store that lists the sessions of an agent.

use crate::adapters::exporter::{ExportedSession, Exporter, Listing};
use crate::adapters::kit::entries::export::{Head, carried, lines};
use crate::json::{self, Value};
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::transcript::{Body, Transcript, text_of};
use crate::model::files::RelPath;

/// The folder of the agent that every installation has, from the state folder on.
const FOLDER: &str = "agents/main/sessions";

/// The tools of the program's coding agent: a call of another one stays in the
/// transcript, and is not sent to the model.
const TOOLS: &[&str] = &["read", "write", "edit", "apply_patch", "exec", "process", "web_search", "web_fetch"];

/// The file that lists the sessions of the agent.
const STORE: &str = "sessions.json";
/// So many characters of what was said first stand for a title.
const LONGEST_LABEL: usize = 60;

/// What an exported transcript that has no answer is the fork of.
const FORK_OF: &str = "everlog";

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

    fn listing(&self, session: &Transcript) -> Option<Listing> {
        let folder = RelPath::new(folder_below(session.folder.as_deref().unwrap_or_default()));
        let first = session.entries.iter().find_map(|entry| match &entry.body {
            Body::User(pieces) => Some(text_of(pieces)),
            Body::System(_)
            | Body::Answer(_)
            | Body::Result(_)
            | Body::Note { .. }
            | Body::Compaction { .. }
            | Body::BranchSummary(_)
            | Body::Model { .. }
            | Body::Title(_) => None,
        });
        let label = session.title.clone().or(first).unwrap_or_default();
        let label: String = label.lines().next().unwrap_or_default().chars().take(LONGEST_LABEL).collect();
        Some(Listing {
            file: RelPath::new(STORE).below(&folder),
            key: format!("agent:main:everlog:{}", &session.seed.hex()[..12]),
            says: [("sessionId", session.seed.uuid()), ("label", label)]
                .into_iter()
                .filter(|(_, said)| !said.is_empty())
                .map(|(name, said)| (name, text(&said)))
                .collect(),
            added: &["updatedAt", "sessionStartedAt"],
        })
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid();
        let name = format!("{id}.jsonl");
        let folder = RelPath::new(folder_below(session.folder.as_deref().unwrap_or_default()));
        // The program empties a transcript without an answer before it goes on with it,
        // unless it is the fork of another one.
        let is_answered = session.entries.iter().any(|entry| matches!(entry.body, Body::Answer(_)));
        let parent_session = (!is_answered).then_some(FORK_OF);
        let header = Head { id: &id, cwd: session.cwd.as_deref().unwrap_or("/"), parent_session };
        ExportedSession {
            files: vec![(RelPath::new(&name).below(&folder), lines(session, &header))],
            root: folder,
            go_on: format!("openclaw agent --session-id {id} --message …"),
            name,
        }
    }
}

fn text(text: &str) -> String {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the agent's sessions lie below a folder: it is the program's own, or one of
/// those on the way to the sessions.
fn folder_below(folder: &str) -> &'static str {
    match folder.trim_end_matches('/').rsplit('/').next() {
        Some("sessions") => "",
        Some("agents") => "main/sessions",
        Some(_) | None => FOLDER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_may_be_any_on_the_way_to_the_sessions() {
        let folders = ["/home/dev/.openclaw", "/home/dev/.openclaw/agents/", "/home/dev/.openclaw/agents/main/sessions", ""];
        assert_eq!(folders.map(folder_below), [FOLDER, "main/sessions", "", FOLDER]);
    }
}
