//! What `SessionDB.get_messages_as_conversation` of the Hermes agent (0.19.0)
//! returns for a session, from the text of its rows. Written again from its
//! behaviour; it shares Python itself and nothing else with the rest of this
//! adapter.
//!
//! Rows count that are active (all rows, where the schema has no such column), in the
//! order of their ids. There is one head, `branch:main`; a session always loads.
//! What belongs to no session shows nothing.

mod context;

use std::collections::BTreeMap;

use crate::json::{self, Value};
use crate::model::files::Files;
use crate::model::heads::HeadName;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::rows::{RowValue, RowsLine, lines};
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::loads;
use crate::runtimes::python::number::float_json;
use crate::runtimes::python::text::is_space;

/// Returns the loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session { text: files.rows().map(|(_, text)| text).unwrap_or_default() })
}

struct Session<'f> {
    text: &'f [u8],
}

/// A row by the names of its columns.
type Row<'f> = BTreeMap<String, RowValue<'f>>;

impl<'f> Session<'f> {
    /// Calls for every row of a table that names the session.
    fn rows(&self, table: &str, mut each: impl FnMut(Row<'f>)) {
        let mut columns: Option<(Vec<String>, usize)> = None;
        for line in lines(self.text) {
            match RowsLine::read(line) {
                Some(RowsLine::Rows(header)) => {
                    let is_its = header.table == table && header.all.is_some();
                    columns = is_its.then(|| (header.listed().map(str::to_owned).collect(), usize::from(header.rowid)));
                }
                Some(RowsLine::Row(row)) => {
                    if let Some((columns, skip)) = &columns {
                        each(columns.iter().cloned().zip(row.elements().skip(*skip).filter_map(RowValue::read)).collect());
                    }
                }
                Some(RowsLine::Database(_) | RowsLine::Schema(_) | RowsLine::LeftOut(_)) | None => {}
            }
        }
    }
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let mut active: Vec<(i64, Row<'_>)> = Vec::new();
        self.rows("messages", |row| {
            let is_active = row.get("active").is_none_or(|active| *active == RowValue::Integer(1));
            let has_role = matches!(row.get("role"), Some(RowValue::Text(role)) if std::str::from_utf8(role).is_ok());
            if let (Some(RowValue::Integer(id)), true) = (row.get("id"), is_active && has_role) {
                active.push((*id, row));
            }
        });
        active.sort_by_key(|(id, _)| *id);
        let mut skips_answer = false;
        for (_, row) in &active {
            let role = text(row, "role").unwrap_or_default();
            let is_answer = std::mem::take(&mut skips_answer) && role == "assistant";
            let is_review = (role == "user" || role == "system") && text(row, "content").is_some_and(is_review);
            skips_answer = is_review;
            if !is_answer && !is_review {
                show(&message(row, role));
            }
        }
        let mut model = None;
        self.rows("sessions", |row| model = text(&row, "model").filter(|model| !model.is_empty()).map(str::to_owned));
        if head.is_some() {
            return LoadOutcome::default();
        }
        LoadOutcome { active: Some(HeadName::main()), model, ..LoadOutcome::default() }
    }
}

fn text<'r>(row: &'r Row<'_>, column: &str) -> Option<&'r str> {
    row.get(column).and_then(RowValue::as_text)
}

fn is_review(content: &str) -> bool {
    let content = content.trim_start_matches(is_space);
    content.starts_with("Review the conversation above and update the skill library")
        || content.starts_with("Review the conversation above and consider saving to memory")
}

/// One message, as the program's dictionary of it in JSON.
fn message(row: &Row<'_>, role: &str) -> Vec<u8> {
    let mut members: Vec<(&str, Vec<u8>)> = vec![("role", quoted(role)), ("content", content(row, role))];
    let texts = |columns: &[(&'static str, &'static str)], members: &mut Vec<(&'static str, Vec<u8>)>| {
        let found = columns.iter().filter_map(|(key, column)| Some((*key, text(row, column).filter(|text| !text.is_empty())?)));
        members.extend(found.map(|(key, text)| (key, quoted(text))));
    };
    let parsed = |column: &'static str, otherwise: &str, members: &mut Vec<(&'static str, Vec<u8>)>| {
        if let Some(text) = text(row, column).filter(|text| !text.is_empty()) {
            members.push((column, value_of(text).unwrap_or_else(|| otherwise.as_bytes().to_vec())));
        }
    };
    texts(&[("api_content", "api_content")], &mut members);
    if let Some(RowValue::Real(seconds)) = row.get("timestamp")
        && *seconds != 0.0
    {
        members.push(("timestamp", float_json(*seconds).into_bytes()));
    }
    texts(&[("tool_call_id", "tool_call_id"), ("tool_name", "tool_name"), ("effect_disposition", "effect_disposition")], &mut members);
    parsed("tool_calls", "[]", &mut members);
    texts(&[("message_id", "platform_message_id")], &mut members);
    if row.get("observed").is_some_and(|observed| !matches!(observed, RowValue::Null | RowValue::Integer(0))) {
        members.push(("observed", b"true".to_vec()));
    }
    if role == "assistant" {
        texts(&[("finish_reason", "finish_reason"), ("reasoning", "reasoning")], &mut members);
        members.extend(text(row, "reasoning_content").map(|text| ("reasoning_content", quoted(text))));
        for column in ["reasoning_details", "codex_reasoning_items", "codex_message_items"] {
            parsed(column, "null", &mut members);
        }
    }
    let inside: Vec<Vec<u8>> = members.into_iter().map(|(key, value)| [quoted(key), value].join(&b':')).collect();
    [b"{".to_vec(), inside.join(&b','), b"}".to_vec()].concat()
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    out
}

/// Returns a JSON text as a value, or nothing where Python refuses it.
fn value_of(text: &str) -> Option<Vec<u8>> {
    let value: Value<'_> = loads::check(text.as_bytes(), 990).ok()?;
    let mut out = Vec::new();
    push(value, Form::Tokens, &mut out);
    Some(out)
}

/// `_decode_content`, and what is done to a text of the user and of the model.
fn content(row: &Row<'_>, role: &str) -> Vec<u8> {
    let Some(text) = text(row, "content") else { return b"null".to_vec() };
    if let Some(value) = text.strip_prefix("\0json:").and_then(value_of) {
        return value;
    }
    if role == "user" || role == "assistant" {
        return quoted(context::sanitized(text).trim_matches(is_space));
    }
    quoted(text)
}
