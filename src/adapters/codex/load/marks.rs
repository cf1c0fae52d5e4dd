//! Texts by which the program knows what it put into a context itself.

use sha2::{Digest, Sha256};

use crate::json::Value;

/// Tags around a user's text that the program wrote, in any case.
const USER_TAGS: [&str; 6] =
    ["environment_context", "skill", "user_shell_command", "turn_aborted", "subagent_notification", "recommended_plugins"];

/// How a text begins that the program wrote as the developer, in any case.
const DEVELOPER_STARTS: [&str; 20] = [
    "<permissions instructions>",
    "<model_switch>",
    "<collaboration_mode>",
    "<skills_instructions>",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<environments_instructions>",
    "<personality_spec>",
    "<token_budget>",
    "<context_window>",
    "<realtime_conversation>",
    "<tools>",
    "<git_attribution>",
    "<multi_agent_role>",
    "<multi_agent_mode>",
    "<rollout_budget>",
    "<managed_developer_instructions>",
    "<context_window_guidance>",
    "<persistent_mode>",
    "Approved command prefix saved:",
];

/// Warnings of earlier releases.
const WARNINGS: [&str; 2] = [
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
];

/// Tells whether a string is a user's text that the program wrote.
pub(super) fn is_harness_user(text: Value<'_>) -> bool {
    may_start_with(text, |first| matches!(first, b'<' | b'#' | b'W')) && is_harness_text(&text.to_str())
}

/// Tells whether a string is a developer's text that the program wrote.
pub(super) fn is_harness_developer(text: Value<'_>) -> bool {
    let may_be_one = may_start_with(text, |first| matches!(first, b'<' | b'A' | b'a'));
    may_be_one && DEVELOPER_STARTS.iter().any(|start| starts_in_any_case(text.to_str().trim_start(), start))
}

/// Tells whether a string is a note about another model.
pub(super) fn is_model_switch(text: Value<'_>) -> bool {
    may_start_with(text, |first| first == b'<') && is_tagged(text.to_str().trim(), "model_switch")
}

/// Tells whether a string may begin with such a character: most need not be
/// decoded to know.
fn may_start_with(text: Value<'_>, is_first: impl Fn(u8) -> bool) -> bool {
    let first = text.text().get(1).copied().unwrap_or(b'"');
    // White space, an escape or a character beyond ASCII may come before it.
    is_first(first) || !first.is_ascii_graphic() || first == b'\\'
}

/// Tells whether a text in a user's item was put there by the program.
pub(super) fn is_harness_text(text: &str) -> bool {
    let text = text.trim();
    let lies_between = |start: &str, end: &str| text.len() >= start.len() + end.len() && text.starts_with(start) && text.ends_with(end);
    USER_TAGS.iter().any(|tag| is_tagged(text, tag))
        || (starts_in_any_case(text, "# AGENTS.md instructions") && ends_in_any_case(text, "</INSTRUCTIONS>"))
        || (lies_between("<hook_prompt ", "</hook_prompt>") && has_attribute(text, "hook_prompt", "hook_run_id", |_| true))
        || is_external(text)
        || (lies_between("<codex_internal_context ", "</codex_internal_context>")
            && has_attribute(text, "codex_internal_context", "source", is_source))
        || lies_between("<goal_context>", "</goal_context>")
        || lies_between("Warning: apply_patch was requested via ", "Use the apply_patch tool instead of exec_command.")
        || WARNINGS.iter().any(|start| text.starts_with(start))
}

/// Tells whether a text is wrapped in a tag, in any case.
fn is_tagged(text: &str, tag: &str) -> bool {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    text.len() >= open.len() + close.len() && starts_in_any_case(text, &open) && ends_in_any_case(text, &close)
}

/// Tells whether a text is wrapped in `<external_KEY>` and its end.
fn is_external(text: &str) -> bool {
    let key = text.strip_prefix("<external_").and_then(|rest| rest.split_once('>')).map(|(key, _)| key);
    key.is_some_and(|key| !key.is_empty() && text.ends_with(&format!("</external_{key}>")))
}

/// Tells whether a text begins with a tag of one attribute with such a value.
fn has_attribute(text: &str, tag: &str, name: &str, is_value: impl Fn(&str) -> bool) -> bool {
    let rest = text.strip_prefix(&format!("<{tag} {name}=\""));
    rest.and_then(|rest| rest.split_once("\">")).is_some_and(|(value, _)| !value.contains('"') && is_value(value))
}

fn is_source(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    value.starts_with(|c: char| c.is_ascii_lowercase()) && value.chars().all(is_part)
}

fn starts_in_any_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn ends_in_any_case(text: &str, end: &str) -> bool {
    text.len().checked_sub(end.len()).and_then(|at| text.get(at..)).is_some_and(|found| found.eq_ignore_ascii_case(end))
}

/// How the paragraph begins that the program puts before every summary.
const SUMMARY: &str = "Another language model started";
/// Its length, with the line end, and the SHA-256 of these bytes.
const SUMMARY_BYTES: usize = 400;
const SUMMARY_SHA256: [u8; 32] = [
    0x37, 0x1a, 0xca, 0x20, 0xf2, 0x3d, 0x54, 0x61, 0x35, 0x44, 0x3e, 0x5c, 0x28, 0x9f, 0x62, 0xb3, 0x04, 0xae, 0xa1, 0xa9, 0xce, 0x21,
    0xcf, 0xa0, 0xe8, 0x0e, 0x17, 0xd4, 0xc6, 0x02, 0x0f, 0xd0,
];

/// Tells whether a string may be the beginning of a summary. An escape may hide
/// any letter.
pub(super) fn may_be_summary(text: Value<'_>) -> bool {
    let start = text.text().iter().skip(1).take_while(|byte| !matches!(byte, b'"' | b'\\'));
    start.zip(SUMMARY.as_bytes()).all(|(found, wanted)| found == wanted)
}

/// Tells whether a text is the summary of a compaction: a prompt that only begins
/// alike does not count.
pub(super) fn is_summary(text: &str) -> bool {
    let paragraph = text.as_bytes().get(..SUMMARY_BYTES).filter(|paragraph| paragraph.ends_with(b"\n"));
    text.starts_with(SUMMARY) && paragraph.is_some_and(|paragraph| Sha256::digest(paragraph).as_slice() == SUMMARY_SHA256)
}

/// Tells whether a text opens an image that follows it.
pub(super) fn opens_image(text: &str) -> bool {
    text == "<image>" || (text.starts_with("<image name=") && text.ends_with('>'))
}

/// Tells whether a text closes the image before it.
pub(super) fn closes_image(text: &str) -> bool {
    text == "</image>"
}
