//! A replay as a text that people review and Git compares: one per session,
//! the same from the same log for ever, and another as soon as anything that
//! is shown changes.

use sha2::{Digest, Sha256};
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;

use crate::adapters::format::Format;
use crate::json::{self, Kind, Name, Value};
use crate::log::LogView;
use crate::model::digest::hex;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{ReadAt, StreamError};

use super::difference::{DiffLine, Difference, DifferenceAt, Side, Sides};
use super::explain::deadline;
use super::messages::Replayed;
use super::proof::budget;

/// What the name of such a text ends in.
pub const GOLDEN_SUFFIX: &str = ".replay.txt";

/// Values that lie deeper stand on one line.
const DEEPEST: usize = 32;

/// So many lines of a difference are shown; the rest is counted.
const LONGEST_DIFFERENCE: usize = 60;

/// Returns the replay of a log: how its program's load ends, the messages of the head
/// that is shown by default, and a hash of what every other head shows.
///
/// # Errors
/// When the log cannot be read.
pub fn replay_text<R: ReadAt>(log: &mut LogView<R>, adapter: &dyn Format) -> Result<String, StreamError> {
    let mut text = String::from("everlog replay 1\n");
    let active = log.active();
    line(&mut text, "format", &log.session.format);
    line(&mut text, "session", &log.session.id);
    line(&mut text, "shows", &active.to_string());
    let outcome = log.outcome.clone();
    let ends = [("model", outcome.model), ("summary", outcome.summary), ("error", outcome.error)];
    for (name, value) in ends {
        value.into_iter().for_each(|value| line(&mut text, name, &value));
    }
    outcome.failures.iter().for_each(|(head, why)| line(&mut text, &format!("{head} fails"), why));
    outcome.facts.iter().for_each(|(name, fact)| line(&mut text, &format!("fact {name}"), fact.as_str()));
    let message_renderer = adapter.message_renderer(log.shapes());
    push_other_heads(log, &message_renderer, &active, &mut text)?;
    let node = log.state().head(&active).unwrap_or(Seq::ROOT);
    let mut replayed = Replayed::of(log, message_renderer.as_ref(), node)?;
    let mut number = 0;
    let mut push = |_: Seq, message: &[u8]| {
        number += 1;
        let _ = writeln!(text, "\n--- message {number}");
        push_value(Value::trusted(message), 0, &mut text);
    };
    while replayed.next_line(&mut push)?.is_some() {}
    Ok(text)
}

fn line(text: &mut String, name: &str, value: &str) {
    text.push_str(&quoted(name).trim_matches('"').replace('\n', "\\n"));
    text.push_str(": ");
    text.push_str(&quoted(value));
    text.push('\n');
}

/// Every head but the one that is shown in full, as far as walking them takes
/// no time without end.
fn push_other_heads<R: ReadAt>(
    log: &mut LogView<R>,
    message_renderer: &crate::model::shown::MessageRenderer,
    active: &HeadName,
    text: &mut String,
) -> Result<(), StreamError> {
    let mut heads: Vec<(String, Seq)> =
        log.state().heads().filter(|(name, _)| *name != active).map(|(name, node)| (name.to_string(), node)).collect();
    heads.sort();
    let mut left = Some(budget(log));
    for (name, node) in heads {
        let shown = match left {
            None => "not walked".to_owned(),
            Some(budget) => {
                let mut hash = Sha256::new();
                let mut count = 0;
                let mut replayed = Replayed::of(log, message_renderer, node)?;
                let mut add = |_: Seq, message: &[u8]| {
                    hash.update(Value::trusted(message).normal_form());
                    hash.update(b"\n");
                    count += 1;
                };
                while replayed.next_line(&mut add)?.is_some() {}
                left = budget.checked_sub(replayed.cost());
                format!("{count} messages, {}", &hex(&hash.finalize())[..16])
            }
        };
        line(text, "head", &format!("{name}: {shown}"));
    }
    Ok(())
}

/// Returns a text in quotes, with the escapes of the log.
fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// One value, a member or an element to a line, at this depth.
fn push_value(value: Value<'_>, depth: usize, text: &mut String) {
    if depth >= DEEPEST {
        return push_line(depth, &String::from_utf8_lossy(value.text()), text);
    }
    match value.kind() {
        Kind::Object if value.members().next().is_some() => {
            for member in value.members() {
                push_named(&plain_key(&member), member.value(), depth, text);
            }
        }
        Kind::Array if value.elements().next().is_some() => {
            for element in value.elements() {
                push_named("-", element, depth, text);
            }
        }
        Kind::String => push_named("", value, depth, text),
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => {
            push_line(depth, &String::from_utf8_lossy(value.text()), text);
        }
    }
}

fn plain_key(member: &json::Member<'_>) -> String {
    let name = match member.exact_name() {
        Name::Text(name) => name,
        // A lone surrogate: the key as it was written.
        Name::Units(_) => return format!("{}:", String::from_utf8_lossy(member.key())),
    };
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_word { format!("{name}:") } else { format!("{}:", quoted(&name)) }
}

fn push_named(name: &str, value: Value<'_>, depth: usize, text: &mut String) {
    let beside = |value: &str| if name.is_empty() { value.to_owned() } else { format!("{name} {value}") };
    match value.kind() {
        Kind::String => match value.as_exact_str() {
            Some(said) if said.contains('\n') => {
                push_line(depth, &beside("|"), text);
                // Lines stand as they are, so that Git compares line by line;
                // only what could not be told apart is escaped.
                said.split('\n').for_each(|line| push_line(depth + 1, &in_block(line), text));
            }
            Some(said) => push_line(depth, &beside(&quoted(&said)), text),
            // A lone surrogate: the token as it is.
            None => push_line(depth, &beside(&String::from_utf8_lossy(value.text())), text),
        },
        Kind::Object | Kind::Array if value.text().len() > 2 && depth < DEEPEST => {
            push_line(depth, name, text);
            push_value(value, depth + 1, text);
        }
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => {
            push_line(depth, &beside(&String::from_utf8_lossy(value.text())), text);
        }
    }
}

/// Returns a line of a text: `"` and tabs as they are, the rest with the escapes of the
/// log.
fn in_block(line: &str) -> String {
    let mut out = String::from(if line.is_empty() { "|" } else { "| " });
    for c in line.chars() {
        match c {
            '"' | '\t' => out.push(c),
            c => out.push_str(quoted(c.encode_utf8(&mut [0; 4])).trim_matches('"')),
        }
    }
    out
}

fn push_line(depth: usize, line: &str, text: &mut String) {
    (0..depth).for_each(|_| text.push_str("  "));
    text.push_str(line);
    text.push('\n');
}

/// Returns how a replay differs from the one that was kept in `file`.
#[must_use]
pub fn golden_difference(kept: &str, now: &str, file: &str, context: usize) -> Option<Difference> {
    if kept == now {
        return None;
    }
    let mut config = TextDiff::configure();
    if let Some(deadline) = deadline() {
        config.deadline(deadline);
    }
    let diff = config.diff_lines(kept, now);
    let (mut lines, mut more, mut first) = (Vec::new(), 0, None);
    for group in diff.grouped_ops(context) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let on = match change.tag() {
                ChangeTag::Equal => Side::Both,
                ChangeTag::Delete => Side::First,
                ChangeTag::Insert => Side::Second,
            };
            if on != Side::Both && first.is_none() {
                first = Some(change.old_index().unwrap_or(group[0].old_range().start) as u64 + 1);
            }
            if lines.len() < LONGEST_DIFFERENCE {
                lines.push(DiffLine { on, text: change.value().trim_end_matches('\n').to_owned() });
            } else {
                more += u64::from(on != Side::Both);
            }
        }
    }
    Some(Difference {
        what: "the replay is not the one that was kept".to_owned(),
        place: DifferenceAt::File(Location { line: first, ..Location::file(file) }),
        event: None,
        sides: Sides::Lines { lines, more },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: &str) -> String {
        let mut text = String::new();
        push_value(Value::trusted(value.as_bytes()), 0, &mut text);
        text
    }

    #[test]
    fn a_value_stands_line_by_line() {
        let value = r#"{"role":"user","content":"a \"b\"\nc\\d\n","n":1.10,"odd key":{},"list":[{"x":null},[1]]}"#;
        let expected =
            "role: \"user\"\ncontent: |\n  | a \"b\"\n  | c\\\\d\n  |\nn: 1.10\n\"odd key\": {}\nlist:\n  -\n    x: null\n  -\n    - 1\n";
        assert_eq!(shown(value), expected);
    }

    #[test]
    fn values_that_differ_never_look_alike() {
        let values = [
            r#"{"a":"x\ny"}"#,
            r#"{"a":"x\\ny"}"#,
            r#"{"a":"x\n| y"}"#,
            r#"{"a":"x\n\\\"y"}"#,
            r#"{"a":"x\n\"y"}"#,
            r#"{"a":"x\ny "}"#,
            r#"{"a":"x\n\ty"}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
            r#"{"\ud800":1}"#,
            r#"{"\ud801":1}"#,
        ];
        let texts: std::collections::BTreeSet<String> = values.iter().map(|value| shown(value)).collect();
        assert_eq!(texts.len(), values.len());
    }

    #[test]
    fn a_difference_shows_the_lines_and_where_they_are() {
        assert_eq!(golden_difference("a\n", "a\n", "f", 3), None);
        let difference = golden_difference("a\nb\nc\n", "a\nX\nc\n", "f", 1).unwrap();
        assert_eq!(difference.place.to_string(), "f:2");
        let Sides::Lines { lines, more } = difference.sides else { panic!() };
        let marks: Vec<(Side, &str)> = lines.iter().map(|line| (line.on, line.text.as_str())).collect();
        assert_eq!(marks, [(Side::Both, "a"), (Side::First, "b"), (Side::Second, "X"), (Side::Both, "c")]);
        assert_eq!(more, 0);
        let long = |word: &str| (0..500).map(|n| format!("{word} {n}\n")).collect::<String>();
        let Sides::Lines { lines, more } = golden_difference(&long("a"), &long("b"), "f", 1).unwrap().sides else { panic!() };
        assert!(lines.len() == LONGEST_DIFFERENCE && more > 900, "{more}");
    }
}
