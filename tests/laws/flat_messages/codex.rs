//! What Codex sends to its model, in the words of a flat message.

use super::{Facts, Said, string};
use crate::support::expected::Json;
use everlog::Role;

fn texts(item: &Json, list: &str, types: &[&str]) -> Vec<String> {
    let parts = item.list(list).into_iter().filter(|part| types.contains(&part.text("type").as_str()));
    parts.filter_map(|part| string(&part.get("text")?)).collect()
}

pub(super) fn said(item: &Json) -> Said {
    let kind = item.text("type");
    let role = match (kind.as_str(), item.text("role").as_str()) {
        ("message", "user") => Role::User,
        ("message", "assistant") => Role::Assistant,
        ("message", _) => Role::System,
        (kind, _) if kind.ends_with("_output") => Role::Tool,
        _ => Role::Assistant,
    };
    let is_list = |name: &str| item.get(name).is_some_and(|list| list.0.starts_with(b"["));
    let mut thoughts = Vec::new();
    let mut text = String::new();
    match kind.as_str() {
        "reasoning" => {
            thoughts = texts(item, "summary", &["summary_text"]);
            if is_list("content") {
                thoughts.extend(texts(item, "content", &["reasoning_text"]));
            }
            // What is sealed is a thought without a text.
            thoughts.extend(item.get("encrypted_content").and_then(|sealed| string(&sealed)).map(|_| String::new()));
        }
        "message" => text = texts(item, "content", &["input_text", "output_text"]).join("\n"),
        "function_call_output" | "custom_tool_call_output" if is_list("output") => text = texts(item, "output", &["input_text"]).join("\n"),
        "function_call_output" | "custom_tool_call_output" => text = item.text("output"),
        _ => {}
    }
    let tools = if kind == "function_call" || kind == "custom_tool_call" { vec![item.text("name")] } else { Vec::new() };
    let thinking = (!thoughts.is_empty()).then(|| thoughts.join("\n"));
    Said { role, text: Some(text), facts: Facts { model: None, thinking, tools, stop_reason: None, output: None, cost: None } }
}
