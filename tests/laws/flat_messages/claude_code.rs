//! What the Claude Agent SDK returned, in the words of a flat message.

use super::{Facts, Said, of, read, string};
use crate::support::expected::Json;
use crate::support::golden_logs;
use everlog::{Log, Role, StopReason, View};

fn blocks(content: Option<&Json>) -> Vec<Json> {
    let list = content.filter(|list| list.0.starts_with(b"["));
    list.map(|list| everlog::json::elements(&list.0).map(|block| Json(block.to_vec())).collect()).unwrap_or_default()
}

fn is(block: &Json, kind: &str) -> bool {
    of(block, "type").and_then(|name| string(&name)).as_deref() == Some(kind)
}

/// The texts of a message or of a tool's result: one text, or those of its blocks.
fn texts(content: Option<&Json>) -> Vec<String> {
    let whole = content.and_then(string);
    let of_blocks = blocks(content).into_iter().filter(|block| is(block, "text")).filter_map(|block| string(&of(&block, "text")?));
    whole.into_iter().chain(of_blocks).collect()
}

/// The SDK wraps each message as `{type, uuid, message, …}`.
pub(super) fn said(wrapped: &Json) -> Said {
    let message = wrapped.get("message").unwrap_or(Json(b"{}".to_vec()));
    let content = of(&message, "content");
    let all = blocks(content.as_ref());
    let results: Vec<&Json> = all.iter().filter(|block| is(block, "tool_result")).collect();
    let role = match wrapped.text("type").as_str() {
        "assistant" => Role::Assistant,
        // The answers of tools are records of the user.
        "user" if !results.is_empty() => Role::Tool,
        "user" => Role::User,
        _ => Role::System,
    };
    let own = texts(content.as_ref());
    let own = Some(own.join("\n")).filter(|_| !own.is_empty());
    let answers = results.iter().map(|result| texts(of(result, "content").as_ref()).join("\n"));
    let text = own.into_iter().chain(answers).collect::<Vec<_>>().join("\n");

    let thoughts: Vec<String> =
        all.iter().filter(|block| is(block, "thinking")).filter_map(|block| string(&of(block, "thinking")?)).collect();
    let facts = Facts {
        model: of(&message, "model").and_then(|model| string(&model)),
        thinking: Some(thoughts.join("\n")).filter(|_| !thoughts.is_empty()),
        tools: all.iter().filter(|block| is(block, "tool_use")).filter_map(|block| string(&of(block, "name")?)).collect(),
        stop_reason: of(&message, "stop_reason").and_then(|word| string(&word)).map(|word| match word.as_str() {
            // A stop sequence is where the caller wanted the answer to end.
            "end_turn" | "stop_sequence" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::MaxTokens,
            _ => StopReason::Other,
        }),
        output: of(&message, "usage").and_then(|usage| std::str::from_utf8(&of(&usage, "output_tokens")?.0).ok()?.parse().ok()),
        cost: None,
    };
    Said { role, text: Some(text), facts }
}

#[test]
fn the_cost_that_the_sdk_leaves_out_is_the_records_own() {
    let path = golden_logs().into_iter().find(|path| path.to_string_lossy().contains("claude-code/orders/")).unwrap();
    let log = Log::open(&path).unwrap();
    let messages = read(&log, "main", View::Conversation);
    let costs: Vec<(String, f64)> = messages.iter().filter_map(|message| Some((message.seq.to_string(), message.usage?.cost?))).collect();
    assert_eq!(costs, [("4".to_owned(), 0.001_214_1), ("6".to_owned(), 0.001)]);
}
