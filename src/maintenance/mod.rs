//! Audit, repair and retention of the programs that have them, one module each.

mod claude_code;
mod codex;
mod elsewhere;
mod gemini_cli;
mod gptme;
mod hermes_webui;
mod openclaw;
mod opencode_tree;
mod picoclaw;
mod records;
mod value_loss;

use crate::adapters::maintenance::Maintenance;

/// Every format that has more than a conversion.
pub const ALL: &[&dyn Maintenance] = &[
    &claude_code::ClaudeCodeMaintenance,
    &codex::CodexMaintenance,
    &gemini_cli::GeminiCliMaintenance,
    &gptme::GptmeMaintenance,
    &hermes_webui::HermesWebuiMaintenance,
    &openclaw::OpenClawMaintenance,
    &opencode_tree::OpencodeTreeMaintenance,
    &picoclaw::PicoclawMaintenance,
];

/// Formats without audit, repair and retention of their own.
struct NoMaintenance;

impl Maintenance for NoMaintenance {
    fn format(&self) -> &'static str {
        ""
    }
}

/// Returns the maintenance of the format with this id. A format that has none
/// gets one that finds nothing.
#[must_use]
pub fn of(format: &str) -> &'static dyn Maintenance {
    ALL.iter().copied().find(|maintenance| maintenance.format() == format).unwrap_or(&NoMaintenance)
}
