//! The source formats, one folder each, and how files are told apart.

pub(crate) mod claude_code;
pub(crate) mod codex;
pub mod containment;
pub mod discover;
pub mod exporter;
pub mod format;
pub(crate) mod gemini_cli;
pub(crate) mod gptme;
mod hermes_state_db;
pub(crate) mod hermes_webui;
mod kit;
pub mod maintenance;
pub(crate) mod openclaw;
mod openclaw_sqlite;
mod opencode;
pub(crate) mod opencode_tree;
mod pi;
pub(crate) mod picoclaw;

use format::Format;

/// Every format that this build converts.
pub const ALL: &[&dyn Format] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &gemini_cli::GeminiCli,
    &gptme::Gptme,
    &hermes_state_db::HermesStateDb,
    &hermes_webui::HermesWebui,
    &openclaw::OpenClaw,
    &opencode::Opencode,
    &openclaw_sqlite::OpenClawSqlite,
    &opencode_tree::OpencodeTree,
    &pi::Pi,
    &picoclaw::Picoclaw,
];

/// Returns the adapter with this id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static dyn Format> {
    ALL.iter().copied().find(|adapter| adapter.id() == id)
}
