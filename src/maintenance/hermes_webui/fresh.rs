//! A sidecar made anew, in the order in which the program itself makes one from
//! its database.

use super::edit::{document, float, object, quoted};
use super::state::{Column, Message, SessionRow};

/// What is known of a session whose file is gone.
#[derive(Debug, Default)]
pub(super) struct Fresh {
    pub id: String,
    pub title: Option<Vec<u8>>,
    pub workspace: Option<Vec<u8>>,
    pub model: Option<Vec<u8>>,
    pub profile: Option<Vec<u8>>,
    pub message_count: Option<Vec<u8>>,
    pub worktree: [Option<Vec<u8>>; 4],
    pub parent: Option<Vec<u8>>,
    pub created_at: Vec<u8>,
    pub updated_at: Vec<u8>,
    pub messages: Vec<Vec<u8>>,
    /// Where the messages come from.
    pub origin: &'static str,
}

impl Fresh {
    /// From the database.
    pub(super) fn of(row: &SessionRow, messages: &[Message]) -> Fresh {
        let started = row.number("started_at");
        let last = messages.last().and_then(|message| message.timestamp().cloned());
        let text = |name: &str| row.column(name).filter(Column::says).map(|column| column.json());
        Fresh {
            id: row.id.clone(),
            title: text("title"),
            workspace: row.column("workspace").filter(Column::is_text).map(|column| column.json()),
            model: text("model"),
            profile: row.profile.as_deref().map(quoted),
            message_count: row.column("message_count").filter(Column::is_integer).map(|column| column.json()),
            worktree: ["worktree_path", "worktree_branch", "worktree_repo_root", "worktree_created_at"].map(text),
            parent: row.column("parent_session_id").map(|column| column.json()),
            created_at: started.map_or_else(|| b"0".to_vec(), float),
            updated_at: last.or_else(|| started.map(float)).unwrap_or_else(|| b"0".to_vec()),
            messages: messages.iter().map(Message::plain_row).collect(),
            origin: "_recovered_from_state_db",
        }
    }

    /// Returns the whole file.
    pub(super) fn text(self) -> Vec<u8> {
        let null = || b"null".to_vec();
        let or = |value: Option<Vec<u8>>, other: &[u8]| value.unwrap_or_else(|| other.to_vec());
        let [path, branch, root, created] = self.worktree.map(|value| or(value, b"null"));
        let list = [&b"["[..], &self.messages.join(&b','), b"]"].concat();
        let count = self.messages.len().to_string().into_bytes();
        let webui = || quoted("webui");
        let members = vec![
            ("session_id", quoted(&self.id)),
            ("title", self.title.unwrap_or_else(|| quoted("Recovered WebUI Session"))),
            ("workspace", or(self.workspace, b"\"\"")),
            ("message_count", self.message_count.unwrap_or(count)),
            ("worktree_path", path),
            ("worktree_branch", branch),
            ("worktree_repo_root", root),
            ("worktree_created_at", created),
            ("model", or(self.model, b"\"unknown\"")),
            ("model_provider", null()),
            ("created_at", self.created_at),
            ("updated_at", self.updated_at),
            ("pinned", b"false".to_vec()),
            ("archived", b"false".to_vec()),
            ("project_id", null()),
            ("profile", or(self.profile, b"null")),
            ("input_tokens", b"0".to_vec()),
            ("output_tokens", b"0".to_vec()),
            ("estimated_cost", null()),
            ("personality", null()),
            ("active_stream_id", null()),
            ("pending_user_message", null()),
            ("pending_attachments", b"[]".to_vec()),
            ("pending_started_at", null()),
            ("compression_anchor_visible_idx", null()),
            ("compression_anchor_message_key", null()),
            ("compression_anchor_summary", null()),
            ("context_length", null()),
            ("threshold_tokens", null()),
            ("last_prompt_tokens", null()),
            ("compression_recovery", object(&[])),
            ("recommended_recovery_action", null()),
            ("compression_recovery_source_session_id", null()),
            ("compression_recovery_action", null()),
            ("gateway_routing", null()),
            ("gateway_routing_history", b"[]".to_vec()),
            ("llm_title_generated", b"false".to_vec()),
            ("parent_session_id", or(self.parent, b"null")),
            ("is_cli_session", b"false".to_vec()),
            ("source_tag", webui()),
            ("raw_source", webui()),
            ("session_source", webui()),
            ("source_label", quoted("WebUI")),
            ("enabled_toolsets", null()),
            ("composer_draft", object(&[])),
            ("messages", list),
            ("tool_calls", b"[]".to_vec()),
            (self.origin, b"true".to_vec()),
        ];
        document(&members)
    }
}
