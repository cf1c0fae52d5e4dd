//! Calls of tools, and what the tools answered.

use crate::api::{Arguments, CallFacts, Edit, Part, ToolCall, ToolResult, is_patch};

use super::diff::{push_edit, push_patch};
use super::escape::{push_escaped, without_colours};
use super::highlight::language_of;
use super::markdown::code_block;
use super::media::push_media;

/// A summary has so many characters.
const SUMMARY: usize = 120;

/// Appends a call, folded.
pub(super) fn push_call(call: &ToolCall, out: &mut String) {
    let facts = CallFacts::of(call);
    out.push_str(if facts.edits.is_empty() { "<details class=call>" } else { "<details class=call open>" });
    out.push_str("<summary><b>");
    push_escaped(call.name.as_deref().unwrap_or("tool"), out);
    out.push_str("</b> <code>");
    push_escaped(&first_line(&facts.gist()), out);
    out.push_str("</code></summary><div>");
    if !facts.edits.is_empty() {
        for edit in &facts.edits {
            match edit {
                Edit::Replacement { old, new } => push_edit(old, new, out),
                Edit::Patch(patch) => push_patch_block(patch, out),
            }
        }
    } else if let Some(command) = &facts.command {
        out.push_str(&code_block(command, "bash"));
    } else if let Some(code) = facts.arguments.iter().find(|argument| argument.name == "code") {
        out.push_str(&code_block(&code.value, "python"));
    } else if let (Some(path), Some(contents)) = (&facts.path, facts.contents()) {
        out.push_str(&code_block(contents, language_of(path)));
    }
    push_arguments(call, &facts, out);
    out.push_str("</div></details>");
}

/// Appends all arguments as they are, below what was shown of them.
fn push_arguments(call: &ToolCall, facts: &CallFacts, out: &mut String) {
    match &call.arguments {
        None => {}
        Some(Arguments::Text(text)) if facts.arguments.iter().all(|argument| argument.name.is_empty()) => {
            // A text that is not JSON; where it is a patch, all of it was shown as edits.
            let shown = facts.edits.is_empty().then(|| code_block(text.as_str(), ""));
            out.push_str(&shown.unwrap_or_default());
        }
        Some(arguments) => {
            let json = arguments.json().map(|json| json.to_string()).unwrap_or_default();
            let pretty = serde_json::from_str::<serde_json::Value>(&json).and_then(|value| serde_json::to_string_pretty(&value));
            // The tree would lose digits and the order of keys: where it does not
            // say the same, the text as it is.
            let same = pretty.as_ref().is_ok_and(|pretty| without_blanks(pretty) == without_blanks(&json));
            let shown = pretty.ok().filter(|_| same).unwrap_or(json);
            out.push_str("<details class=raw><summary>arguments</summary>");
            out.push_str(&code_block(&shown, "json"));
            out.push_str("</details>");
        }
    }
}

fn without_blanks(json: &str) -> String {
    json.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Appends what a tool answered, folded.
pub(super) fn push_result(result: &ToolResult, out: &mut String) {
    let answer = without_colours(&result.text());
    let is_error = result.is_error == Some(true);
    let lines = answer.lines().count();
    out.push_str(if is_error { "<details class=\"result error\"><summary>" } else { "<details class=result><summary>" });
    out.push_str(if is_error { "<b>✗ failed</b> <code>" } else { "<b>↳</b> <code>" });
    let first = first_line(&answer);
    push_escaped(if first.is_empty() { "no output" } else { &first }, out);
    out.push_str("</code>");
    if lines > 1 {
        out.push_str(&format!(" <small>{lines} lines</small>"));
    }
    out.push_str("</summary><div>");
    if is_patch(&answer) {
        push_patch_block(&answer, out);
    } else if !answer.is_empty() {
        out.push_str("<pre class=out>");
        push_escaped(&answer, out);
        out.push_str("</pre>");
    }
    for part in &result.content {
        match part {
            Part::Image(media) | Part::File(media) => push_media(media, out),
            Part::Other(json) => out.push_str(&code_block(json.as_str(), "json")),
            Part::Text(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Shell(_) => {}
        }
    }
    out.push_str("</div></details>");
}

fn push_patch_block(patch: &str, out: &mut String) {
    out.push_str("<pre class=diff>");
    push_patch(patch, out);
    out.push_str("</pre>");
}

/// Returns the first line that is not blank, cut to a summary.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(SUMMARY) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns one line about a call, for a text that is searched.
pub(super) fn said_by_call(call: &ToolCall) -> String {
    let arguments = call.arguments.as_ref().and_then(Arguments::json).map(|json| json.to_string()).unwrap_or_default();
    format!("{} {arguments}", call.name.as_deref().unwrap_or_default())
}
