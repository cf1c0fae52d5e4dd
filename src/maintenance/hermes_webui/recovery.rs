//! One session repaired: from which of its copies, and with what added. Never an
//! answer that nobody gave; what a run had put out already is shown again.

use crate::json::Value;
use crate::runtimes::python::number::truncated;

use super::document::{Document, get, is_true, number, squeezed, text_of, without_workspace};
use super::edit::{Edit, compact, float, object, quoted};
use super::output::{self, Output};
use super::rows::Row;
use super::runs;
use super::state::Message;

/// A prompt that is to be shown again.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    /// The JSON text of the string.
    pub content: Vec<u8>,
    pub attachments: Option<Vec<u8>>,
    pub source: Option<String>,
    /// When it was submitted.
    pub at: Option<f64>,
    pub stream: String,
}

impl Prompt {
    /// Returns the one that waits in a sidecar.
    pub(super) fn waiting(sidecar: &Document<'_>) -> Option<Prompt> {
        let content = sidecar.get("pending_user_message").filter(|value| value.is_string() && is_true(Some(*value)))?;
        Some(Prompt {
            content: content.text().to_vec(),
            attachments: sidecar.get("pending_attachments").filter(|list| is_true(Some(*list))).map(compact),
            source: sidecar.text("pending_user_source").filter(|source| !source.is_empty() && source != "webui"),
            at: sidecar.number("pending_started_at").filter(|at| *at > 0.0),
            stream: sidecar.text("active_stream_id").unwrap_or_default(),
        })
    }

    pub(super) fn text(&self) -> String {
        squeezed(without_workspace(&Value::trusted(&self.content).to_str()))
    }

    fn row(&self, stamp: f64) -> Vec<u8> {
        let at = self.at.unwrap_or(stamp).trunc();
        let mut members =
            vec![("role", quoted("user")), ("content", self.content.clone()), ("timestamp", whole(at)), ("_recovered", b"true".to_vec())];
        members.extend(self.source.as_deref().map(|source| ("_source", quoted(source))));
        members.extend(self.attachments.clone().map(|list| ("attachments", list)));
        object(&members)
    }
}

/// `int(number)`.
fn whole(number: f64) -> Vec<u8> {
    truncated(number).into_bytes()
}

/// The members that say that a turn is under way.
const PENDING: [(&str, &[u8]); 5] = [
    ("active_stream_id", b"null"),
    ("pending_user_message", b"null"),
    ("pending_attachments", b"[]"),
    ("pending_started_at", b"null"),
    ("pending_user_source", b"null"),
];

/// Rows that are added to a sidecar.
#[derive(Default)]
struct Added {
    messages: Vec<Vec<u8>>,
    context: Vec<Vec<u8>>,
    tool_calls: Vec<Vec<u8>>,
}

impl Added {
    /// Adds a row to what the model sees, unless that has it already. A list
    /// that is empty is first filled with what the transcript has.
    fn context_row(&mut self, sidecar: &Document<'_>, row: &[u8]) {
        let has_any = sidecar.elements("context_messages").next().is_some() || !self.context.is_empty();
        if !has_any {
            let rows: Vec<Vec<u8>> =
                sidecar.elements("messages").map(|row| row.text().to_vec()).chain(self.messages.iter().cloned()).collect();
            self.context.extend(rows.iter().filter_map(|row| seen_by_model(Value::trusted(row))));
        }
        let Some(row) = seen_by_model(Value::trusted(row)) else { return };
        let new = Row::of(Value::trusted(&row));
        let old: Vec<Value<'_>> = sidecar.elements("context_messages").collect();
        let known: Vec<Value<'_>> = old.iter().copied().chain(self.context.iter().map(|row| Value::trusted(row))).collect();
        let is_there = if new.role == "user" {
            known.last().map(|last| Row::of(*last)).is_some_and(|last| {
                let second = |at: Option<f64>| at.map(f64::trunc);
                last.role == "user" && last.text == new.text && second(last.at) == second(new.at)
            })
        } else {
            known
                .iter()
                .rev()
                .take(8)
                .map(|row| Row::of(*row))
                .any(|row| row.role == new.role && row.text == new.text && !new.text.is_empty())
        };
        if !is_there {
            self.context.push(row);
        }
    }
}

/// Returns a row as the model sees it; nothing where it does not.
fn seen_by_model(row: Value<'_>) -> Option<Vec<u8>> {
    if !row.is_object() {
        return None;
    }
    let members: Vec<_> = row.all_members();
    let says = |key: &str| is_true(get(&members, key));
    let has_text = get(&members, "content").map(text_of).is_some_and(|text| !squeezed(&text).is_empty());
    if says("_error") || (!has_text && !says("tool_call_id") && !says("tool_calls")) {
        return None;
    }
    let kept: Vec<(String, Vec<u8>)> = members
        .iter()
        .filter(|member| member.name() != "reasoning")
        .map(|member| (member.name().into_owned(), compact(member.value())))
        .collect();
    let kept: Vec<(&str, Vec<u8>)> = kept.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    Some(object(&kept))
}

/// Puts a prompt and what its run had put out at the end of a transcript, with
/// a note that it was cut short, and ends the waiting for it.
pub(super) fn recovered(sidecar: &Document<'_>, prompt: &Prompt, run: Option<&[u8]>, stamp: f64) -> Vec<u8> {
    let rows: Vec<Row> = sidecar.elements("messages").map(Row::of).collect();
    let is_completed = run.and_then(runs::end_state).as_deref() == Some("completed");
    let is_prompt = |row: &&Row| row.role == "user" && row.text == prompt.text();
    let has_prompt = match is_completed {
        true => rows.iter().rev().find(|row| row.role == "user").filter(is_prompt).is_some(),
        false => rows.last().filter(is_prompt).is_some(),
    };
    let mut added = Added::default();
    let row = prompt.row(stamp);
    if !has_prompt {
        added.messages.push(row.clone());
    }
    if !has_prompt || !is_completed {
        added.context_row(sidecar, &row);
    }
    let mut output = run.map(output::read).unwrap_or_default();
    if is_completed {
        without_what_is_there(&mut output, &rows);
    }
    let first = rows.len() + added.messages.len();
    for said in &output.rows {
        let mut members = vec![
            ("role", quoted("assistant")),
            ("content", quoted(&said.content)),
            ("timestamp", whole(said.at.unwrap_or(stamp))),
            ("_recovered_from_run_journal", b"true".to_vec()),
            ("_recovered_stream_id", quoted(&prompt.stream)),
        ];
        if !said.reasoning.is_empty() {
            members.push(("reasoning", quoted(&said.reasoning)));
        }
        let row = object(&members);
        added.messages.push(row.clone());
        if !said.content.is_empty() {
            added.context_row(sidecar, &row);
        }
    }
    added.tool_calls = output.cards(first, &prompt.stream);
    if !is_completed {
        added.messages.push(marker(&output, &prompt.stream, stamp));
    }
    let mut edit = Edit::of(sidecar);
    if !has_prompt && sidecar.says("truncation_watermark") {
        edit.set("truncation_watermark", &whole(prompt.at.unwrap_or(stamp)));
    }
    finish(edit, sidecar, added, stamp)
}

/// What a completed run put out may stand in the transcript already.
fn without_what_is_there(output: &mut Output, rows: &[Row]) {
    /// From so many characters on a part of a row counts as the row.
    const ENOUGH: usize = 24;
    let is_there = |content: &str| {
        let text = squeezed(content);
        let same = |row: &Row| row.text == text || (text.chars().count() >= ENOUGH && row.text.contains(&text));
        !text.is_empty() && rows.iter().any(|row| row.role == "assistant" && !row.is_error && same(row))
    };
    output.leave_out(is_there);
}

/// Returns the note that a turn was cut short, in the program's own words.
fn marker(output: &Output, stream: &str, stamp: f64) -> Vec<u8> {
    let outcome = match (output.is_empty(), stream.is_empty()) {
        (false, _) => "The partial output above was recovered from the run journal, but the interrupted agent process could not continue.",
        (true, false) => "Recovering the partial output from the run journal — reload this session to retry.",
        (true, true) => "The user message above was preserved, but no agent output was recovered.",
    };
    let evidence = "Evidence: the WebUI process started after this turn began, so this looks like a real process crash or restart.";
    let content = format!("**Response interrupted.**\n\nThe live response stream stopped before this turn finished. {evidence} {outcome}");
    let mut members = vec![
        ("role", quoted("assistant")),
        ("content", quoted(&content)),
        ("timestamp", whole(stamp)),
        ("_error", b"true".to_vec()),
        ("type", quoted("interrupted")),
        ("interruption_cause", quoted("process_restart")),
    ];
    if output.is_empty() && !stream.is_empty() {
        members.extend([
            ("_pending_journal_recovery", b"true".to_vec()),
            ("_journal_retry_stream_id", quoted(stream)),
            ("_journal_retry_attempts", b"0".to_vec()),
            ("_journal_retry_first_seen_ts", whole(stamp)),
        ]);
    }
    object(&members)
}

/// Takes over what the database has of the turn that a sidecar waits for:
/// nothing where it has no more than the sidecar, or another turn.
pub(super) fn merged(sidecar: &Document<'_>, prompt: &Prompt, messages: &[Message], stamp: f64) -> Option<Vec<u8>> {
    let began = prompt.at?;
    let from = messages.iter().position(|message| message.at.is_some_and(|at| at >= began - 0.000_001))?;
    let turn = &messages[from..];
    let first = turn.first().filter(|first| first.role == "user" && first.text == prompt.text())?;
    let rows: Vec<Row> = sidecar.elements("messages").map(Row::of).collect();
    // A sidecar that was saved eagerly has the prompt already.
    let has_prompt = rows.last().is_some_and(|last| last.role == "user" && last.text == first.text);
    let new = if has_prompt { &turn[1..] } else { turn };
    if new.is_empty() {
        return None;
    }
    let mut added = Added { messages: new.iter().map(Message::full_row).collect(), ..Added::default() };
    if sidecar.elements("context_messages").next().is_some() || rows.is_empty() {
        added.context.clone_from(&added.messages);
    }
    Some(finish(Edit::of(sidecar), sidecar, added, stamp))
}

fn finish(mut edit: Edit<'_>, sidecar: &Document<'_>, added: Added, stamp: f64) -> Vec<u8> {
    edit.set("updated_at", &float(stamp));
    for (key, value) in PENDING {
        if sidecar.get(key).is_some_and(|old| compact(old) != value) {
            edit.set(key, value);
        }
    }
    if sidecar.get("message_count").and_then(number).is_some() {
        let count = sidecar.elements("messages").count() + added.messages.len();
        edit.set("message_count", count.to_string().as_bytes());
    }
    edit.append("messages", &added.messages);
    edit.append("tool_calls", &added.tool_calls);
    edit.append("context_messages", &added.context);
    edit.finish()
}
