//! What a run had put out before it was cut short, as rows of a transcript: the
//! text and the tool cards that were on the screen, and nothing else.

use crate::json::{Member, Value};
use crate::runtimes::python::text::strip_str;
use crate::runtimes::python::value::str_of;
use crate::runtimes::wtf8::lossy;

use super::document::{get, is_true, number, text_of};
use super::edit::{compact, object, quoted};
use super::runs::{each_event, payload};

/// A row of recovered output.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecoveredOutput {
    pub content: String,
    pub reasoning: String,
    pub at: Option<f64>,
}

/// A tool card.
#[derive(Debug, Clone, PartialEq)]
struct Card {
    name: String,
    preview: String,
    number: String,
    /// Which of the rows it hangs below.
    row: usize,
    args: Vec<(String, String)>,
    /// How long it took and whether it failed, once it is done.
    done: Option<(Option<Vec<u8>>, bool)>,
}

/// The output of one run.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub rows: Vec<RecoveredOutput>,
    cards: Vec<Card>,
}

/// Reads a run journal.
pub(super) fn read(bytes: &[u8]) -> Output {
    let mut reading = Reading::default();
    each_event(bytes, |members| reading.event(members));
    reading.flush();
    reading.output
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.cards.is_empty()
    }

    /// Leaves out rows with such a text. Cards hang below rows: where one is
    /// known already, so are they.
    pub(super) fn leave_out(&mut self, is_known: impl Fn(&str) -> bool) {
        let before = self.rows.len();
        self.rows.retain(|said| !is_known(&said.content));
        if self.rows.len() < before {
            self.cards.clear();
        }
    }

    /// Returns the tool cards, for a transcript in which the rows begin at this place.
    pub(super) fn cards(&self, first_row: usize, stream: &str) -> Vec<Vec<u8>> {
        self.cards.iter().map(|card| card.text(first_row, stream)).collect()
    }
}

impl Card {
    fn text(&self, first_row: usize, stream: &str) -> Vec<u8> {
        let args: Vec<(&str, Vec<u8>)> = self.args.iter().map(|(key, value)| (key.as_str(), quoted(value))).collect();
        let mut members = vec![
            ("name", quoted(&self.name)),
            ("preview", quoted(&self.preview)),
            ("snippet", quoted(&self.preview)),
            ("tid", quoted(&format!("journal-{}", self.number))),
            ("assistant_msg_idx", (first_row + self.row).to_string().into_bytes()),
            ("args", object(&args)),
            ("done", if self.done.is_some() { b"true".to_vec() } else { b"false".to_vec() }),
            ("_recovered_from_run_journal", b"true".to_vec()),
            ("_recovered_stream_id", quoted(stream)),
        ];
        if let Some((duration, is_error)) = &self.done {
            members.extend(duration.clone().map(|duration| ("duration", duration)));
            members.push(("is_error", if *is_error { b"true".to_vec() } else { b"false".to_vec() }));
        }
        object(&members)
    }
}

#[derive(Default)]
struct Reading {
    output: Output,
    text: String,
    reasoning: String,
    began: Option<f64>,
}

impl Reading {
    fn event(&mut self, members: &[Member<'_>]) {
        let name = get(members, "event").or_else(|| get(members, "type")).map(text_of).unwrap_or_default();
        let payload = payload(members);
        let text = |key: &str| get(&payload, key).map(text_of).unwrap_or_default();
        let at = get(members, "created_at").and_then(number);
        match name.as_str() {
            "reasoning" => {
                let thought = ["text", "reasoning", "thinking"].into_iter().map(text).find(|text| !text.is_empty()).unwrap_or_default();
                self.begin(&thought, at);
                self.reasoning.push_str(&thought);
            }
            "token" => {
                let text = text("text");
                self.begin(&text, at);
                self.text.push_str(&text);
            }
            "interim_assistant" if is_true(get(&payload, "already_streamed")) => self.flush(),
            "interim_assistant" => {
                let text = text("text");
                let text = strip_str(&text);
                if text.is_empty() {
                    return;
                }
                self.begin(text, at);
                if !self.text.is_empty() && !self.text.ends_with(['\n', ' ']) {
                    self.text.push_str("\n\n");
                }
                self.text.push_str(text);
                self.flush();
            }
            "tool" => self.tool(&payload, get(members, "seq"), at),
            "tool_complete" => self.tool_done(&payload),
            "done" | "stream_end" | "cancel" | "apperror" | "error" => self.flush(),
            _ => {}
        }
    }

    fn begin(&mut self, text: &str, at: Option<f64>) {
        if !text.is_empty() && self.text.is_empty() && self.reasoning.is_empty() {
            self.began = at;
        }
    }

    fn flush(&mut self) {
        let (text, reasoning) = (std::mem::take(&mut self.text), std::mem::take(&mut self.reasoning));
        let (content, reasoning) = (strip_str(&text).to_owned(), strip_str(&reasoning).to_owned());
        if !content.is_empty() || !reasoning.is_empty() {
            self.output.rows.push(RecoveredOutput { content, reasoning, at: self.began.take() });
        }
    }

    fn tool(&mut self, payload: &[Member<'_>], number: Option<Value<'_>>, at: Option<f64>) {
        self.flush();
        if self.output.rows.is_empty() {
            // A run may begin with a tool: its card needs a row to hang below.
            self.output.rows.push(RecoveredOutput { content: String::new(), reasoning: String::new(), at });
        }
        let name = get(payload, "name").map(text_of).filter(|name| !name.is_empty()).unwrap_or_else(|| "tool".to_owned());
        let args = get(payload, "args").filter(|args| args.is_object());
        let args =
            args.into_iter().flat_map(Value::members).take(4).map(|member| (member.name().into_owned(), cut(&plain(member.value()))));
        let number = number.filter(|number| is_true(Some(*number))).map(text_of);
        self.output.cards.push(Card {
            name,
            preview: get(payload, "preview").map(text_of).unwrap_or_default(),
            number: number.unwrap_or_else(|| (self.output.cards.len() + 1).to_string()),
            row: self.output.rows.len() - 1,
            args: args.collect(),
            done: None,
        });
    }

    fn tool_done(&mut self, payload: &[Member<'_>]) {
        let name = get(payload, "name").map(text_of).unwrap_or_default();
        let open = self.output.cards.iter_mut().rev().find(|card| card.done.is_none() && (name.is_empty() || card.name == name));
        if let Some(card) = open {
            let duration = get(payload, "duration").filter(|value| !value.is_null()).map(compact);
            card.done = Some((duration, is_true(get(payload, "is_error"))));
            if let Some(preview) = get(payload, "preview").filter(|preview| is_true(Some(*preview))) {
                card.preview = text_of(preview);
            }
        }
    }
}

/// `str(value)`, with U+FFFD for lone surrogates.
fn plain(value: Value<'_>) -> String {
    lossy(&str_of(value)).into_owned()
}

/// At most so many characters of an argument are kept.
const LONGEST_ARGUMENT: usize = 120;

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_ARGUMENT) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(event: &str, payload: &str, n: u32) -> String {
        format!("{{\"seq\":{n},\"event\":\"{event}\",\"created_at\":{n}.5,\"payload\":{payload}}}\n")
    }

    #[test]
    fn text_comes_in_pieces_and_cards_hang_below_it() {
        let journal = [
            line("tool", r#"{"name":"ls","preview":"p","args":{"a":"1","b":true,"c":"3","d":null,"e":"5"}}"#, 1),
            line("reasoning", r#"{"text":" hm"}"#, 2),
            line("token", r#"{"text":"one "}"#, 3),
            line("token", r#"{"text":"two "}"#, 4),
            line("tool", r#"{"name":"cat"}"#, 5),
            line("tool_complete", r#"{"name":"cat","is_error":true,"duration":0.50}"#, 6),
            line("interim_assistant", r#"{"text":"x","already_streamed":true}"#, 7),
            line("token", r#"{"text":"three"}"#, 8),
        ]
        .concat();
        let output = read(journal.as_bytes());
        let said: Vec<_> = output.rows.iter().map(|row| (row.content.as_str(), row.reasoning.as_str(), row.at)).collect();
        assert_eq!(said, [("", "", Some(1.5)), ("one two", "hm", Some(2.5)), ("three", "", Some(8.5))]);
        let cards: Vec<String> = output.cards(10, "s").into_iter().map(|card| String::from_utf8(card).unwrap()).collect();
        let recovered = r#""_recovered_from_run_journal":true,"_recovered_stream_id":"s""#;
        assert_eq!(
            cards,
            [
                format!(
                    r#"{{"name":"ls","preview":"p","snippet":"p","tid":"journal-1","assistant_msg_idx":10,"args":{{"a":"1","b":"True","c":"3","d":"None"}},"done":false,{recovered}}}"#
                ),
                format!(
                    r#"{{"name":"cat","preview":"","snippet":"","tid":"journal-5","assistant_msg_idx":11,"args":{{}},"done":true,{recovered},"duration":0.50,"is_error":true}}"#
                )
            ]
        );
        assert!(read(b"").is_empty() && read(line("metering", "{}", 1).as_bytes()).is_empty());
        assert_eq!(cut(&"é".repeat(121)), format!("{}...", "é".repeat(120)));
    }
}
