//! Reads a trajectory again, by the rules of its format and apart from what wrote
//! it.

use crate::adapters::exporter::ExportedSession;
use crate::json::Value;
use crate::model::export::transcript::{Answer, Body, Call, CallResult, Image, Outcome, Piece, Tokens, text_of};
use crate::model::files::RelPath;

use super::images;
use super::said::{Said, stop_of};

/// What `extra.kind` says of a step that stands for what was said before it.
pub(super) const COMPACTION: &str = "compaction";
/// What it says of a summary of a branch that was left.
pub(super) const BRANCH_SUMMARY: &str = "branch_summary";

/// Reads a trajectory: one thing said for each step, and one for each result that
/// a step observed.
pub(super) fn read(session: &ExportedSession) -> Result<Vec<Said>, String> {
    let (_, document) = session.files.first().ok_or("there is no document")?;
    let trajectory = Value::trusted(document.trim_ascii_end());
    let mut said = Vec::new();
    for (n, step) in trajectory.first("steps").ok_or("there are no steps")?.elements().enumerate() {
        if step.first("step_id").and_then(Value::parse) != Some(n + 1) {
            return Err(format!("step {} has another number", n + 1));
        }
        let body = match text(step.first("source")).as_str() {
            "agent" => answer(step),
            "user" => Body::User(pieces(step.first("message"), session)),
            "system" => of_system(step, session),
            other => return Err(format!("step {} is by {other:?}", n + 1)),
        };
        let called: Vec<String> = step.first("tool_calls").into_iter().flat_map(Value::elements).map(call_id).collect();
        said.push(Said { ts: step.first("timestamp").map(|time| text(Some(time))), body });
        for result in step.first("observation").and_then(|observation| observation.first("results")).into_iter().flat_map(Value::elements) {
            let id = text(result.first("source_call_id"));
            if !called.contains(&id) {
                return Err(format!("step {} observes what {id:?} answered, and does not call it", n + 1));
            }
            said.push(observed(result, id, session));
        }
    }
    Ok(said)
}

/// The text of a member; nothing of one that is not there.
fn text(value: Option<Value<'_>>) -> String {
    value.filter(|value| value.is_string()).map(|value| value.to_str().into_owned()).unwrap_or_default()
}

fn optional(value: Option<Value<'_>>) -> Option<String> {
    value.map(|value| text(Some(value)))
}

fn call_id(call: Value<'_>) -> String {
    text(call.first("tool_call_id"))
}

fn of_system(step: Value<'_>, session: &ExportedSession) -> Body {
    let pieces = pieces(step.first("message"), session);
    let extra = step.first("extra");
    let count = |name| extra.and_then(|extra| extra.first(name)).and_then(Value::parse);
    match optional(extra.and_then(|extra| extra.first("kind"))) {
        None => Body::System(text_of(&pieces)),
        Some(kind) if kind == COMPACTION => {
            Body::Compaction { summary: text_of(&pieces), first_kept: None, tokens_before: count("tokens_before").unwrap_or(0) }
        }
        Some(kind) if kind == BRANCH_SUMMARY => Body::BranchSummary(text_of(&pieces)),
        Some(kind) => Body::Note { kind, pieces },
    }
}

fn answer(step: Value<'_>) -> Body {
    let mut pieces = Vec::new();
    if let Some(thought) = optional(step.first("reasoning_content")) {
        pieces.push(Piece::Thinking { text: thought, signature: None });
    }
    let said = text(step.first("message"));
    if !said.is_empty() {
        pieces.push(Piece::Text(said));
    }
    for call in step.first("tool_calls").into_iter().flat_map(Value::elements) {
        let arguments = call.first("arguments").map(|arguments| String::from_utf8_lossy(arguments.text()).into_owned());
        pieces.push(Piece::Call(Call {
            id: call_id(call),
            name: text(call.first("function_name")),
            arguments: arguments.unwrap_or_default(),
        }));
    }
    let extra = |name| optional(step.first("extra").and_then(|extra| extra.first(name)));
    Body::Answer(Answer {
        pieces,
        model: optional(step.first("model_name")),
        provider: extra("provider"),
        usage: step.first("metrics").map(usage),
        stop: extra("stop_reason").and_then(|word| stop_of(&word)),
        error: extra("error"),
    })
}

fn usage(metrics: Value<'_>) -> Tokens {
    let extra = metrics.first("extra");
    let of_extra = |name| extra.and_then(|extra| extra.first(name)).and_then(Value::parse);
    let [output, cache_read] = metrics.get_each(["completion_tokens", "cached_tokens"]).map(|count| count.and_then(Value::parse));
    Tokens {
        input: of_extra("input_tokens"),
        output,
        cache_read,
        cache_write: of_extra("cache_write_tokens"),
        reasoning: of_extra("reasoning_tokens"),
        total: of_extra("total_tokens"),
        cost: metrics.first("cost_usd").and_then(Value::parse),
    }
}

fn observed(result: Value<'_>, call_id: String, session: &ExportedSession) -> Said {
    let extra = |name| result.first("extra").and_then(|extra| extra.first(name));
    let outcome = if extra("is_error").is_some_and(|failed| failed.text() == b"true") { Outcome::Failed } else { Outcome::Done };
    let pieces = pieces(result.first("content"), session);
    Said { ts: optional(extra("timestamp")), body: Body::Result(CallResult { call_id, name: String::new(), outcome, pieces }) }
}

/// A message or an observation: a text, or a list of texts and pictures.
fn pieces(content: Option<Value<'_>>, session: &ExportedSession) -> Vec<Piece> {
    match content {
        Some(content) if content.is_array() => content.elements().filter_map(|part| piece(part, session)).collect(),
        content => vec![Piece::Text(text(content))],
    }
}

fn piece(part: Value<'_>, session: &ExportedSession) -> Option<Piece> {
    if let Some(said) = optional(part.first("text")) {
        return Some(Piece::Text(said));
    }
    let path = text(part.first("source")?.first("path"));
    let media_type = images::media_type(path.rsplit_once('.')?.1)?.to_owned();
    let wanted = RelPath::new(&path);
    let (_, bytes) = session.files.iter().find(|(path, _)| *path == wanted)?;
    Some(Piece::Image(Image { media_type, data: images::data(bytes) }))
}
