//! What opencode's interface returned, in the words of a flat message.

use super::{Facts, Said, of, string};
use crate::support::expected::Json;
use everlog::{Role, StopReason};

/// What a tool answered, where its state says exactly one thing.
fn answer(part: &Json) -> Option<String> {
    let state = of(part, "state")?;
    let [output, error] = ["output", "error"].map(|name| of(&state, name));
    output.xor(error).as_ref().and_then(string)
}

pub(super) fn said(message: &Json) -> Said {
    let info = message.get("info").filter(|info| info.0.starts_with(b"{")).unwrap_or(Json(b"{}".to_vec()));
    let parts: Vec<Json> = message.list("parts").into_iter().filter(|part| part.0.starts_with(b"{")).collect();
    let text = |name: &str| info.get(name).as_ref().and_then(string);
    let texts_of = |kind: &str| -> Vec<String> {
        let typed = parts.iter().filter(|part| part.get("type").as_ref().and_then(string).as_deref() == Some(kind));
        // A text that is not a string is shown as JSON.
        let shown = |text: &Json| string(text).or_else(|| Some(serde_json::from_slice::<serde_json::Value>(&text.0).ok()?.to_string()));
        typed.filter_map(|part| shown(&part.get("text")?)).collect()
    };
    // A tool that answers in two ways is carried, and is not counted here.
    let is_tool = |part: &&Json| {
        let state = of(part, "state").filter(|state| state.0.starts_with(b"{"));
        let is_odd = state.is_none_or(|state| state.get("output").is_some() && state.get("error").is_some());
        part.get("type").as_ref().and_then(string).as_deref() == Some("tool") && !is_odd
    };
    let tools: Vec<&Json> = parts.iter().filter(is_tool).collect();
    let tokens = info.get("tokens").filter(|tokens| tokens.0.starts_with(b"{"));
    let output = tokens.as_ref().and_then(|tokens| std::str::from_utf8(&of(tokens, "output")?.0).ok()?.parse().ok());
    let cost = tokens.and_then(|_| std::str::from_utf8(&info.get("cost")?.0).ok()?.parse().ok());
    let thoughts = texts_of("reasoning");
    // An answer that was cut off gives no reason of its own, but an error.
    let failed = || {
        let error = info.get("error").filter(|error| error.0.starts_with(b"{"))?;
        let is_abort = error.get("name").as_ref().and_then(string).as_deref() == Some("MessageAbortedError");
        Some(if is_abort { StopReason::Aborted } else { StopReason::Error })
    };
    let own = Some(texts_of("text").join("\n")).filter(|_| !texts_of("text").is_empty());
    Said {
        role: match text("role").as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some(_) | None => Role::System,
        },
        text: Some(own.into_iter().chain(tools.iter().filter_map(|tool| answer(tool))).collect::<Vec<_>>().join("\n")),
        facts: Facts {
            model: text("modelID"),
            thinking: Some(thoughts.join("\n")).filter(|_| !thoughts.is_empty()),
            tools: tools.iter().map(|tool| tool.text("tool")).collect(),
            stop_reason: text("finish").map(|word| StopReason::of(&word)).or_else(failed),
            output,
            cost,
        },
    }
}
