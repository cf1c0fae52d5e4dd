//! Calls of tools, and what the tools answered.

use serde_json::value::RawValue;
use std::collections::BTreeMap;

use crate::api::{Arguments, Part, ToolCall, ToolResult};

use super::diff::{is_patch, push_edit, push_patch};
use super::escape::{push_escaped, without_colours};
use super::highlight::language_of;
use super::markdown::code_block;
use super::media::push_media;

/// The names that programs have for the same argument.
const OLD: [&str; 5] = ["old_string", "old_str", "oldText", "old_text", "search"];
const NEW: [&str; 5] = ["new_string", "new_str", "newText", "new_text", "replace"];
const PATH: [&str; 6] = ["file_path", "path", "filePath", "filename", "absolute_path", "notebook_path"];
const COMMAND: [&str; 4] = ["command", "cmd", "script", "code"];
const CONTENT: [&str; 3] = ["content", "file_text", "contents"];
const PATCH: [&str; 3] = ["patch", "diff", "input"];
/// What says most about a call, in this order.
const TELLING: [&str; 8] = ["description", "query", "pattern", "url", "prompt", "name", "title", "text"];

/// A summary has so many characters.
const SUMMARY: usize = 120;

/// The arguments of a call by name; none where they are not an object.
type Named = BTreeMap<String, Box<RawValue>>;

fn text(named: &Named, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| serde_json::from_str::<String>(named.get(*name)?.get()).ok())
}

/// Appends a call, folded.
pub(super) fn push_call(call: &ToolCall, out: &mut String) {
    let json = call.arguments.as_ref().and_then(Arguments::json);
    let named: Named = json.as_ref().and_then(|json| json.parse().ok()).unwrap_or_default();
    let (path, command) = (text(&named, &PATH), text(&named, &COMMAND));
    let told = command.clone().or_else(|| path.clone()).or_else(|| text(&named, &TELLING)).unwrap_or_default();
    let edits = edits(&named);
    out.push_str(if edits.is_empty() { "<details class=call>" } else { "<details class=call open>" });
    out.push_str("<summary><b>");
    push_escaped(call.name.as_deref().unwrap_or("tool"), out);
    out.push_str("</b> <code>");
    push_escaped(&first_line(&told), out);
    out.push_str("</code></summary><div>");
    if !edits.is_empty() {
        edits.iter().for_each(|(old, new)| push_edit(old, new, out));
    } else if let Some(patch) = text(&named, &PATCH).filter(|patch| is_patch(patch)) {
        push_patch_block(&patch, out);
    } else if let Some(command) = &command {
        let language = if named.contains_key("code") { "python" } else { "bash" };
        out.push_str(&code_block(command, language));
    } else if let (Some(path), Some(content)) = (&path, text(&named, &CONTENT)) {
        out.push_str(&code_block(&content, language_of(path)));
    }
    push_arguments(call, &named, out);
    out.push_str("</div></details>");
}

/// Appends all arguments as they are, below what was shown of them.
fn push_arguments(call: &ToolCall, named: &Named, out: &mut String) {
    match &call.arguments {
        None => {}
        Some(Arguments::Text(text)) if named.is_empty() => out.push_str(&code_block(text.as_str(), "")),
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

/// The edits that a call makes: what was there, and what comes there.
fn edits(named: &Named) -> Vec<(String, String)> {
    let one = |named: &Named| Some((text(named, &OLD)?, text(named, &NEW)?));
    let several = named.get("edits").and_then(|edits| serde_json::from_str::<Vec<Named>>(edits.get()).ok()).unwrap_or_default();
    one(named).into_iter().chain(several.iter().filter_map(one)).collect()
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
