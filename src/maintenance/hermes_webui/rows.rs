//! The rows of a transcript, as far as turns are told by them.

use crate::json::Value;
use crate::runtimes::python::text::strip_str;

use super::document::{get, is_true, number, squeezed, string, text_of, without_workspace};
use super::turns::Event;

/// One row of a transcript.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub role: String,
    /// What it says, as text, without the white space that does not matter.
    pub text: String,
    /// The text as the program compares it.
    pub plain: String,
    pub at: Option<f64>,
    /// The runs that it names.
    streams: Vec<String>,
    pub is_error: bool,
}

impl Row {
    pub(super) fn of(row: Value<'_>) -> Row {
        if !row.is_object() {
            return Row::default();
        }
        let members: Vec<_> = row.all_members();
        let text = |key: &str| get(&members, key).and_then(string);
        let content = get(&members, "content").map(text_of).unwrap_or_default();
        let token = text("_active_turn_token").and_then(|token| token.split_once(':').map(|(stream, _)| stream.to_owned()));
        let named = ["_recovered_stream_id", "_journal_retry_stream_id", "_anchor_stream_id"].into_iter().filter_map(text);
        Row {
            role: text("role").unwrap_or_default(),
            text: squeezed(without_workspace(&content)),
            plain: strip_str(&content).to_owned(),
            at: get(&members, "timestamp").or_else(|| get(&members, "_ts")).and_then(number),
            streams: token.into_iter().chain(named).filter(|stream| !stream.is_empty()).collect(),
            is_error: is_true(get(&members, "_error")),
        }
    }

    fn names(&self, stream: &str) -> bool {
        !stream.is_empty() && self.streams.iter().any(|named| named == stream)
    }
}

/// What a transcript shows of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing.
    Nothing,
    /// The prompt, and nothing after it.
    Prompt,
    /// The prompt and an answer.
    Answer,
    /// That it was cut short.
    Interruption,
}

/// Returns what a transcript shows of a turn with this prompt and run.
pub(super) fn shown(rows: &[Row], stream: &str, prompt: Option<&Event>) -> Shown {
    let is_prompt = |row: &Row| {
        row.role == "user"
            && (row.names(stream)
                || prompt.is_some_and(|prompt| {
                    row.text == squeezed(without_workspace(&prompt.content)) && row.at.is_none_or(|at| (at - prompt.created_at).abs() < 2.0)
                }))
    };
    let Some(from) = rows.iter().rposition(is_prompt) else {
        return match rows.iter().find(|row| row.role == "assistant" && row.names(stream)) {
            Some(row) if row.is_error => Shown::Interruption,
            Some(_) => Shown::Answer,
            None => Shown::Nothing,
        };
    };
    let after = rows[from + 1..].iter().take_while(|row| row.role != "user");
    let mut found = Shown::Prompt;
    for row in after.filter(|row| row.role == "assistant") {
        if row.is_error {
            return Shown::Interruption;
        }
        found = Shown::Answer;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<Row> {
        rows.iter().map(|row| Row::of(Value::trusted(row.as_bytes()))).collect()
    }

    #[test]
    fn a_turn_is_found_by_its_run_or_by_what_was_asked_and_when() {
        let prompt = |content: &str, created_at: f64| Event {
            path: String::new(),
            line: 1,
            turn: "t".to_owned(),
            event: "submitted".to_owned(),
            stream: "s".to_owned(),
            content: content.to_owned(),
            raw_content: None,
            attachments: None,
            created_at,
        };
        let user = r#"{"role":"user","content":"[Workspace::v1: /w]\nhi  there","timestamp":10.5}"#;
        let answer = r#"{"role":"assistant","content":"yes"}"#;
        let error = r#"{"role":"assistant","content":"cut","_error":true}"#;
        let asked = prompt("hi there", 10.4);
        assert_eq!(shown(&rows(&[user, answer]), "s", Some(&asked)), Shown::Answer);
        assert_eq!(shown(&rows(&[user, answer, error]), "s", Some(&asked)), Shown::Interruption);
        assert_eq!(shown(&rows(&[user, r#"{"role":"user","content":"next"}"#, answer]), "s", Some(&asked)), Shown::Prompt);
        assert_eq!(shown(&rows(&[user]), "s", Some(&prompt("hi there", 99.0))), Shown::Nothing);
        let named = r#"{"role":"user","content":"other","_active_turn_token":"s:1.5"}"#;
        assert_eq!(shown(&rows(&[named, answer]), "s", None), Shown::Answer);
        let recovered = r#"{"role":"assistant","content":"x","_recovered_stream_id":"s"}"#;
        assert_eq!(shown(&rows(&[recovered]), "s", None), Shown::Answer);
        assert_eq!(shown(&rows(&["1"]), "", None), Shown::Nothing);
    }
}
