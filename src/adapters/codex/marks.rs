//! What an item is to rollbacks and compactions: a person's turn, or text that Codex
//! put in by itself. Only its text tells.

use std::borrow::Cow;

use crate::json::{self, Kind, Member};
use crate::model::digest::sha256_hex;
use crate::runtimes::rust;

use super::item::Item;
use super::members::{get, inside, members_of, text};
use super::typed;

/// What an item counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A prompt.
    UserTurn,
    /// The summary that a compaction has left as a prompt.
    Summary,
    /// A message from another agent.
    AgentTurn,
    /// A user message that Codex wrote.
    HarnessUser,
    /// A developer message that Codex wrote.
    HarnessDeveloper,
    Other,
}

/// Tags that wrap what Codex says as the user, whatever their case.
const WRAPPED: [&str; 6] =
    ["environment_context", "skill", "user_shell_command", "turn_aborted", "subagent_notification", "recommended_plugins"];

/// What developer messages of Codex begin with.
const DEVELOPER: [&str; 20] = [
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

/// The paragraph before every summary is this long, its line end included…
const SUMMARY_PREFIX: usize = 400;
/// …and has this hash.
const SUMMARY_SHA256: &str = "371aca20f23d546135443e5c289f62b304aea1a9ce21cfa0e80e17d4c6020fd0";

/// The texts of the input parts of an item's content.
pub(super) fn input_texts<'a>(members: &[Member<'a>]) -> Vec<Cow<'a, str>> {
    let list = get(members, "content").filter(|list| json::kind_of(list) == Kind::Array).unwrap_or(b"[]");
    let texts = json::elements(list).map(members_of).filter(|part| get(part, "type") == Some(b"\"input_text\""));
    texts.filter_map(|part| get(&part, "text").map(json::unescape)).collect()
}

/// Judges an item.
pub(super) fn mark(item: Item, members: &[Member<'_>]) -> Mark {
    match item {
        Item::AgentMessage => Mark::AgentTurn,
        Item::Message => match text(members, "role").as_deref() {
            Some("user") => {
                let texts = input_texts(members);
                if texts.iter().any(|text| is_harness_text(text)) {
                    Mark::HarnessUser
                } else if is_summary(&texts) {
                    Mark::Summary
                } else {
                    Mark::UserTurn
                }
            }
            Some("developer") if input_texts(members).iter().any(|text| is_developer_text(text)) => Mark::HarnessDeveloper,
            Some("assistant") if is_from_agent(members) => Mark::AgentTurn,
            _ => Mark::Other,
        },
        Item::Reasoning
        | Item::FunctionCall
        | Item::FunctionOutput
        | Item::CustomCall
        | Item::CustomOutput
        | Item::ShellCall
        | Item::SearchCall
        | Item::SearchOutput
        | Item::WebSearch
        | Item::ImageGeneration
        | Item::Compaction
        | Item::ContextCompaction
        | Item::AdditionalTools
        | Item::GhostSnapshot
        | Item::Unknown => Mark::Other,
    }
}

fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn ends_with(text: &str, suffix: &str) -> bool {
    text.len().checked_sub(suffix.len()).and_then(|at| text.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(suffix))
}

/// Whether a text of the user is one that Codex wrote.
pub(super) fn is_harness_text(text: &str) -> bool {
    let text = text.trim();
    let is_wrapped = |tag: &&str| starts_with(text, &format!("<{tag}>")) && ends_with(text, &format!("</{tag}>"));
    WRAPPED.iter().any(is_wrapped)
        || (starts_with(text, "# AGENTS.md instructions") && ends_with(text, "</INSTRUCTIONS>"))
        || is_exactly_wrapped(text)
        || (text.starts_with("Warning: apply_patch was requested via ")
            && text.ends_with("Use the apply_patch tool instead of exec_command."))
        || text.starts_with("Warning: The maximum number of unified exec processes you can keep open is")
        || text.starts_with("Warning: Your account was flagged for potentially high-risk cyber activity")
}

fn is_exactly_wrapped(text: &str) -> bool {
    let is_source = |source: &str| {
        source.starts_with(|c: char| c.is_ascii_lowercase())
            && source.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let hook = text.strip_prefix("<hook_prompt hook_run_id=\"").and_then(|rest| rest.split_once("\">")).is_some();
    let external = text.strip_prefix("<external_").and_then(|rest| rest.split_once('>')).is_some_and(|(key, rest)| {
        !key.is_empty() && rest.strip_suffix('>').is_some_and(|rest| rest.ends_with(&format!("</external_{key}")))
    });
    let internal = text
        .strip_prefix("<codex_internal_context source=\"")
        .and_then(|rest| rest.split_once("\">"))
        .is_some_and(|(source, rest)| is_source(source) && rest.ends_with("</codex_internal_context>"));
    let goal = text.starts_with("<goal_context>") && text.ends_with("</goal_context>");
    (hook && text.ends_with("</hook_prompt>")) || external || internal || goal
}

fn is_developer_text(text: &str) -> bool {
    let text = text.trim_start();
    DEVELOPER.iter().any(|prefix| starts_with(text, prefix))
}

fn is_summary(texts: &[Cow<'_, str>]) -> bool {
    const BEGINS: &str = "Another language model started";
    let first = texts.iter().find(|text| !text.is_empty());
    // Most prompts need not be joined and hashed.
    if !first.is_some_and(|first| BEGINS.starts_with(first.as_ref()) || first.starts_with(BEGINS)) {
        return false;
    }
    let joined: Vec<u8> = texts.iter().flat_map(|text| text.bytes()).take(SUMMARY_PREFIX).collect();
    joined.len() == SUMMARY_PREFIX && joined.last() == Some(&b'\n') && sha256_hex(&joined) == SUMMARY_SHA256
}

/// Whether an answer is a message that one agent has sent to another.
fn is_from_agent(members: &[Member<'_>]) -> bool {
    let list = get(members, "content").filter(|list| json::kind_of(list) == Kind::Array).unwrap_or(b"[]");
    let mut parts = json::elements(list).map(members_of);
    let (Some(only), None) = (parts.next(), parts.next()) else { return false };
    let Some(said) = text(&only, "text") else { return false };
    rust::parse(said.as_bytes()).is_some_and(|value| typed::has(&members_of(value.text()), typed::BETWEEN_AGENTS))
}

/// The turn that an item was written in.
pub(super) fn turn_of(members: &[Member<'_>]) -> Option<String> {
    text(&inside(members, typed::PASSTHROUGH), "turn_id")
}
