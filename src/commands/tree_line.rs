//! The words of the tree's lines: what an entry is, and how it begins.

use std::borrow::Cow;

use crate::json::{self, Value};
use crate::model::event::{EventKind, EventRef};
use crate::model::ids::Seq;
use crate::report::text::{count, thousands};
use crate::verify::difference::visible;

/// Of a text so much is looked at: more than any terminal is wide.
const LOOKED_AT: usize = 2000;

/// An entry in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Who speaks, or what kind of entry it is.
    pub who: String,
    /// How it begins.
    pub text: String,
}

impl Words {
    /// Both, fit for a terminal.
    pub(super) fn visible(&self) -> Words {
        Words { who: visible(&self.who), text: visible(&self.text) }
    }
}

/// Returns an entry in words; `name` is what a node is called.
pub(super) fn words(event: &EventRef<'_>, mut name: impl FnMut(Seq) -> String) -> Words {
    let field = |key: &str| event.value().first(key).map(beginning).unwrap_or_default();
    let mut node = |key: &str| event.value().first(key).and_then(number).map(&mut name);
    let text = match event.kind {
        EventKind::Message => return Words { who: field("role"), text: said(event.value()) },
        EventKind::ModelChange => {
            [field("provider"), field("model")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
        }
        EventKind::Compaction => match node("first_kept") {
            Some(kept) => format!("{} (keeps from {kept} on)", field("summary")),
            None => field("summary"),
        },
        EventKind::BranchSummary => field("summary"),
        EventKind::Edit => {
            let target = node("target").unwrap_or_default();
            match event.value().first("replacement").filter(|new| new.is_object()) {
                Some(new) => format!("{target} says: {}", said(new)),
                None => format!("{target} is left out"),
            }
        }
        EventKind::Hide => format!("up to {} {}", node("up_to").unwrap_or_default(), field("why")),
        EventKind::Label => format!("{} at {}", field("label"), node("target").unwrap_or_default()),
        EventKind::SettingChange => format!("{} = {}", field("name"), field("value")),
        EventKind::Repeat => match (node("first").unwrap_or_default(), node("last").unwrap_or_default()) {
            (first, last) if first == last => first,
            (first, last) => format!("{first} to {last}"),
        },
        EventKind::Custom => {
            if event.value().first("custom_type").is_some() {
                field("custom_type")
            } else {
                field("type")
            }
        }
        EventKind::Usage
        | EventKind::Turn
        | EventKind::Run
        | EventKind::Meta
        | EventKind::Row
        | EventKind::Session
        | EventKind::Head
        | EventKind::Outcome
        | EventKind::Checkpoint
        | EventKind::Damage
        | EventKind::Shapes
        | EventKind::Residual
        | EventKind::File
        | EventKind::Seal
        | EventKind::Unknown => String::new(),
    };
    Words { who: event.kind.name().replace('_', " "), text }
}

/// Returns what a label says of which node; `None` where it takes one away.
pub(super) fn label(event: &EventRef<'_>) -> Option<(Seq, Option<String>)> {
    let target = event.value().first("target").and_then(number)?;
    let label = event.value().first("label").filter(|label| !label.is_null()).map(beginning);
    Some((target, label.filter(|label| !label.is_empty())))
}

/// Returns what a run is, before its words: `12 messages and 3 other entries`.
pub(super) fn run_count(messages: u64, others: u64) -> String {
    match (messages, others) {
        (0, 1) => "1 entry".to_owned(),
        (0, others) => format!("{} entries", thousands(others)),
        (messages, 0) => count(messages, "message"),
        (messages, 1) => format!("{} and 1 other entry", count(messages, "message")),
        (messages, others) => format!("{} and {} other entries", count(messages, "message"), thousands(others)),
    }
}

/// Returns how a message begins: its first text, or what else it holds.
fn said(payload: Value<'_>) -> String {
    let Some(content) = payload.first("content") else { return String::new() };
    if !content.is_array() {
        return beginning(content);
    }
    let mut otherwise = None;
    for part in content.elements() {
        if !part.is_object() {
            continue;
        }
        let field = |key: &str| part.first(key).map(beginning).unwrap_or_default();
        let (kind, text) = (field("type"), field("text"));
        if kind == "text" && !text.is_empty() {
            return text;
        }
        otherwise.get_or_insert_with(|| match kind.as_str() {
            "tool_call" => format!("[calls {}]", field("name")),
            // One step only: what a result holds may itself hold results.
            "tool_result" => part.first("content").and_then(first_text).unwrap_or_else(|| "[result]".to_owned()),
            "text" => String::new(),
            other => format!("[{other}]"),
        });
    }
    otherwise.unwrap_or_default()
}

fn first_text(content: Value<'_>) -> Option<String> {
    if !content.is_array() {
        return Some(beginning(content));
    }
    let mut texts = content.elements().filter(|part| part.is_object()).filter_map(|part| part.first("text"));
    texts.next().map(beginning)
}

fn number(value: Value<'_>) -> Option<Seq> {
    value.parse().map(Seq::new)
}

/// Returns how a value begins: a text without its quotes, anything else as it stands.
fn beginning(value: Value<'_>) -> String {
    let text = value.first(json::RAW_KEY).filter(|raw| raw.is_string()).unwrap_or(value);
    if text.is_string() { json::unescape(&shortened(text.text())).into_owned() } else { lossy(value.text()) }
}

fn lossy(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(LOOKED_AT)]).into_owned()
}

/// Returns a string token, or one of its first characters: a line of a hundred
/// megabytes is not read for its first words.
fn shortened(token: &[u8]) -> Cow<'_, [u8]> {
    if token.len() <= LOOKED_AT {
        return Cow::Borrowed(token);
    }
    let mut at = 1;
    while at < LOOKED_AT {
        at += match (token[at], token.get(at + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    while token.get(at).is_some_and(|b| b & 0xc0 == 0x80) {
        at += 1;
    }
    let mut short = token[..at.min(token.len() - 1)].to_vec();
    short.push(b'"');
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, payload: &str) -> EventRef<'_> {
        EventRef { seq: Seq::new(9), ts: None, kind, parent: Some(Seq::ROOT), payload: payload.as_bytes() }
    }

    fn in_words(kind: EventKind, payload: &str) -> String {
        let Words { who, text } = words(&event(kind, payload), |seq| format!("#{seq}")).visible();
        format!("{who}: {text}")
    }

    #[test]
    fn entries_begin_with_what_they_say() {
        let message = |content: &str| in_words(EventKind::Message, &format!("{{\"role\":\"user\",\"content\":{content}}}"));
        assert_eq!(message(r#"[{"type":"thinking","text":"hm"},{"type":"text","text":"a\u001b[1m\nb"}]"#), "user: a\\u{1b}[1m\\nb");
        assert_eq!(message(r#"[{"type":"tool_call","id":"1","name":"bash","arguments":{}}]"#), "user: [calls bash]");
        assert_eq!(message(r#"[{"type":"tool_result","content":[{"type":"text","text":"out"}]}]"#), "user: out");
        assert_eq!(message(r#"[{"type":"text","text":{"$raw":"\"\\ud800\""}}]"#), "user: \"\\ud800\"");
        assert_eq!(message("[]"), "user: ");
        assert_eq!(message("7"), "user: 7");
        assert_eq!(in_words(EventKind::Message, "{}"), ": ");
        assert_eq!(in_words(EventKind::Compaction, r#"{"summary":"s","first_kept":4}"#), "compaction: s (keeps from #4 on)");
        assert_eq!(in_words(EventKind::Edit, r#"{"target":4,"replacement":null}"#), "edit: #4 is left out");
        assert_eq!(in_words(EventKind::Edit, r#"{"target":4,"replacement":{"content":"new"}}"#), "edit: #4 says: new");
        assert_eq!(in_words(EventKind::ModelChange, r#"{"provider":"p","model":"m"}"#), "model change: p/m");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        for (text, shift) in [("é".repeat(5000), 0), (format!("x{}", "\\u00e9".repeat(5000)), 1), ("\\\\".repeat(5000), 0)] {
            let token = format!("\"{text}\"");
            let short = json::unescape(&shortened(token.as_bytes())).into_owned();
            assert!(short.len() > 300 + shift && short.len() < 3000, "{}", short.len());
            assert!(!short.contains('\u{fffd}'), "{short}");
        }
    }

    #[test]
    fn counts_read_well() {
        let said = [(1, 0), (2, 0), (0, 1), (0, 2000), (2, 1), (2, 2)].map(|(messages, others)| run_count(messages, others));
        assert_eq!(
            said,
            ["1 message", "2 messages", "1 entry", "2,000 entries", "2 messages and 1 other entry", "2 messages and 2 other entries"]
        );
    }
}
