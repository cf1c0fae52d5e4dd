//! What is true of one format: the recorded cases, detection, and each program's own rules.

#[path = "../support/mod.rs"]
mod support;

mod claims;
mod claude_code;
mod codex;
mod discovery;
mod folders;
mod gemini_cli;
mod golden;
mod hermes_webui;
mod names;
mod odd_values;
mod older_logs;
mod opencode;
mod picoclaw;
mod picoclaw_facts;
mod picoclaw_folder;
mod picoclaw_odd;
mod shown;
mod trees;
