//! What Gemini CLI's loaders returned, in the words of a flat message.

use super::{Facts, Said, of, string};
use crate::support::expected::Json;
use everlog::Role;

fn items(list: Option<Json>) -> Vec<Json> {
    let list = list.filter(|list| list.0.starts_with(b"["));
    list.map(|list| everlog::json::elements(&list.0).map(|item| Json(item.to_vec())).collect()).unwrap_or_default()
}

/// The text of a tool's answer: its output or its error, where it says nothing else.
fn answer(response: &Json) -> String {
    let Some(response) = of(response, "response").filter(|response| response.0.starts_with(b"{")) else { return String::new() };
    let is_alone = everlog::json::members(&response.0).count() == 1;
    let text = ["output", "error"].iter().find_map(|name| string(&of(&response, name)?));
    text.filter(|_| is_alone).unwrap_or_default()
}

/// The answers in `toolCalls`: those that name the call that they stand at.
fn answer_of_call(call: &Json) -> Option<String> {
    let response = of(items(of(call, "result")).first()?, "functionResponse")?;
    let is_answer = ["id", "name"].iter().all(|name| of(&response, name).map(|json| json.0) == of(call, name).map(|json| json.0));
    is_answer.then(|| answer(&response))
}

pub(super) fn said(message: &Json) -> Said {
    let content = message.get("content").or_else(|| message.get("parts"));
    let parts = match &content {
        Some(part) if part.0.starts_with(b"{") => vec![part.clone()],
        other => items(other.clone()),
    };
    let responses: Vec<Json> = parts.iter().filter_map(|part| of(part, "functionResponse")).collect();
    let role = match message.get("type").or_else(|| message.get("role")).and_then(|role| string(&role)).as_deref() {
        Some("gemini" | "model") => Role::Assistant,
        Some("user") if !parts.is_empty() && responses.len() == parts.len() => Role::Tool,
        Some("user") => Role::User,
        Some(_) | None => Role::System,
    };
    let is_thought = |part: &Json| of(part, "thought").is_some_and(|thought| thought.0 == b"true");
    let whole = content.as_ref().and_then(string).filter(|text| !text.is_empty());
    let texts = parts.iter().filter(|part| !is_thought(part)).filter_map(|part| string(part).or_else(|| string(&of(part, "text")?)));
    let own: Vec<String> = whole.into_iter().chain(texts).collect();
    // A list in which an entry has its keys in another order is carried, and is not counted here.
    let is_usual =
        |call: &Json| everlog::json::members(&call.0).zip(["id", "name", "args"]).filter(|(key, name)| key.is(name)).count() == 3;
    let calls: Vec<Json> = Some(items(message.get("toolCalls"))).filter(|calls| calls.iter().all(is_usual)).unwrap_or_default();
    let answers = responses.iter().map(answer).chain(calls.iter().filter_map(answer_of_call));
    let own = Some(own.join("\n")).filter(|_| !own.is_empty());
    let text = own.into_iter().chain(answers).collect::<Vec<_>>().join("\n");

    let listed = items(message.get("thoughts")).into_iter().filter_map(|thought| string(&of(&thought, "description")?));
    let thoughts: Vec<String> =
        listed.chain(parts.iter().filter(|part| is_thought(part)).filter_map(|part| string(&of(part, "text")?))).collect();
    let in_content: Vec<Json> = parts.iter().filter_map(|part| of(part, "functionCall")).collect();
    let id = |call: &Json| of(call, "id").map(|id| id.0);
    // A call that the content has too is said once.
    let is_new = |call: &&Json| !in_content.iter().any(|said| id(said).is_some() && id(said) == id(call));
    let named = in_content.iter().chain(calls.iter().filter(is_new)).filter_map(|call| string(&of(call, "name")?));
    let facts = Facts {
        model: message.get("model").and_then(|model| string(&model)),
        thinking: Some(thoughts.join("\n")).filter(|_| !thoughts.is_empty()),
        tools: named.collect(),
        stop_reason: None,
        output: message.get("tokens").and_then(|tokens| std::str::from_utf8(&of(&tokens, "output")?.0).ok()?.parse().ok()),
        cost: None,
    };
    Said { role, text: Some(text), facts }
}
