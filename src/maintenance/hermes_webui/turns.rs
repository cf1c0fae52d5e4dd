//! Turn journals as their own reader takes them, each event with its place.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{self, Dialect};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::python::text::{Span, splitlines, strip, strip_str};

use super::document::{get, is_true, number, text_of};

/// One event that the reader takes.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub path: String,
    pub line: u64,
    pub turn: String,
    pub event: String,
    pub stream: String,
    /// The prompt, as text and as the JSON text that it was.
    pub content: String,
    pub raw_content: Option<Vec<u8>>,
    pub attachments: Option<Vec<u8>>,
    pub created_at: f64,
}

impl Event {
    /// Tells whether the turn ends here.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.event.as_str(), "completed" | "interrupted")
    }
}

/// A line that the reader cannot use.
#[derive(Debug, Clone)]
pub(super) struct Malformed {
    pub path: String,
    pub line: u64,
    pub byte: u64,
    pub why: &'static str,
}

/// All journals of a session.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Sorted by time, as the reader sorts them.
    pub events: Vec<Event>,
    pub malformed: Vec<Malformed>,
    /// Reading fails as a whole: a file is not UTF-8.
    pub fails: bool,
}

impl Journal {
    pub(super) fn read<'a>(files: impl Iterator<Item = (&'a str, Vec<u8>)>) -> Journal {
        let mut journal = Journal::default();
        for (path, bytes) in files {
            journal.file(path, &bytes);
        }
        journal.events.sort_by(|a, b| a.created_at.total_cmp(&b.created_at));
        journal
    }

    fn file(&mut self, path: &str, bytes: &[u8]) {
        if std::str::from_utf8(bytes).is_err() {
            self.fails = true;
            return;
        }
        for line in Lines::new(bytes, Newlines::Universal) {
            let mut why: Option<(usize, &'static str)> = None;
            let pieces: Vec<Span> = splitlines(line.text).collect();
            let is_split = pieces.len() > 1 && json::scan_object(line.text, Dialect::Python, &mut Vec::new()).is_ok();
            for Span { start: at, len, .. } in pieces {
                let text = &line.text[at..at + len];
                if strip(text).is_empty() {
                    continue;
                }
                match event(path, line.number, text) {
                    Ok(event) => self.events.push(event),
                    Err((byte, what)) => {
                        why.get_or_insert((at + byte, what));
                    }
                }
            }
            if let Some((byte, what)) = why {
                let (byte, why) = if is_split { (0, "its own reader breaks it at a line separator inside it") } else { (byte, what) };
                self.malformed.push(Malformed { path: path.to_owned(), line: line.number, byte: byte as u64 + 1, why });
            }
        }
    }

    /// Returns the last event of each turn, by turn.
    pub(super) fn latest(&self) -> BTreeMap<&str, &Event> {
        // Sorted by time: a later event is never an earlier one's.
        self.events.iter().filter(|event| !event.turn.is_empty()).map(|event| (event.turn.as_str(), event)).collect()
    }

    /// Lines, by file, that hold more than events of one turn: the reader also
    /// ends lines where no line feed stands.
    pub(super) fn shared_lines(&self) -> BTreeSet<(String, u64)> {
        let mut turns: BTreeMap<(&str, u64), &str> = BTreeMap::new();
        let mut shared: BTreeSet<(String, u64)> = self.malformed.iter().map(|bad| (bad.path.clone(), bad.line)).collect();
        for event in &self.events {
            if *turns.entry((&event.path, event.line)).or_insert(&event.turn) != event.turn {
                shared.insert((event.path.clone(), event.line));
            }
        }
        shared
    }

    /// Turns that end more than once, each with its last end.
    pub(super) fn collisions(&self) -> Vec<&Event> {
        let mut ends: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| !event.turn.is_empty() && event.is_end()) {
            ends.entry(&event.turn).or_default().push(event);
        }
        ends.into_values().filter(|ends| ends.len() > 1).filter_map(|ends| ends.last().copied()).collect()
    }

    /// Returns every prompt that was submitted.
    pub(super) fn prompts(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(|event| event.event == "submitted" && !event.content.is_empty())
    }

    /// Returns the prompt of a turn.
    pub(super) fn submitted(&self, turn: &str) -> Option<&Event> {
        self.prompts().find(|event| event.turn == turn)
    }
}

fn event(path: &str, line: u64, text: &[u8]) -> Result<Event, (usize, &'static str)> {
    let mut members = Vec::new();
    if let Err(error) = json::scan_object(text, Dialect::Python, &mut members) {
        let is_value = json::validate(text, Dialect::Python).is_ok();
        return Err(if is_value { (0, "it is not an object") } else { (error.at, error.what) });
    }
    let text = |key: &str| get(&members, key).map(text_of).unwrap_or_default();
    let created = get(&members, "created_at").filter(|value| is_true(Some(*value)));
    Ok(Event {
        path: path.to_owned(),
        line,
        turn: strip_str(&text("turn_id")).to_owned(),
        event: text("event"),
        stream: text("stream_id"),
        content: strip_str(&text("content")).to_owned(),
        raw_content: get(&members, "content").map(|content| content.text().to_vec()),
        attachments: get(&members, "attachments").map(|list| list.text().to_vec()),
        created_at: created.and_then(|value| number(value).or_else(|| text_of(value).trim().parse().ok())).unwrap_or(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_the_order_of_time_and_the_later_of_two_wins() {
        let a = br#"{"event":"completed","turn_id":"t","created_at":3}
{"event":"interrupted","turn_id":"t","created_at":4.5}
{"event":"submitted","turn_id":"u","content":" hi ","created_at":1}
"#;
        let b = b"{\"event\":\"submitted\",\"turn_id\":\" t \",\"content\":\"x\",\"created_at\":2}\n[1]\n{\"event\": \"a\xe2\x80\xa8b\"}\n{\"ev";
        let journal = Journal::read([("a", a.to_vec()), ("b", b.to_vec())].into_iter());
        assert_eq!(journal.events.iter().map(|event| event.created_at).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.5]);
        assert_eq!(journal.latest()["t"].event, "interrupted");
        assert_eq!(journal.collisions().iter().map(|event| (event.line, event.turn.as_str())).collect::<Vec<_>>(), [(2, "t")]);
        assert_eq!(journal.submitted("u").map(|event| event.content.as_str()), Some("hi"));
        let places: Vec<_> = journal.malformed.iter().map(|bad| (bad.path.as_str(), bad.line, bad.byte)).collect();
        assert_eq!(places, [("b", 2, 1), ("b", 3, 1), ("b", 4, 5)]);
        assert!(Journal::read([("c", b"\xff".to_vec())].into_iter()).fails);
    }
}
