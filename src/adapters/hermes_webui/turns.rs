//! The turn journals as the program's own reader sees them: which events it
//! takes, and what state it derives for each turn.

use std::collections::BTreeMap;

use crate::model::files::{RelPath, SourceFile};
use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::{Lines, Newlines, trim_unicode};

use super::journal::broken;
use super::message::is_true;

/// What the reader makes of all journals of one session.
#[derive(Default)]
pub(super) struct View<'a> {
    events: Vec<Event<'a>>,
    malformed: u64,
    /// The whole reading fails: one file is not UTF-8, or cannot be parsed.
    fails: bool,
    /// Turns that end more than once, each with the place of its last end.
    pub collisions: Vec<(&'a RelPath, u64, String)>,
    states: BTreeMap<String, String>,
}

struct Event<'a> {
    path: &'a RelPath,
    line: u64,
    turn: String,
    state: String,
    /// When; `None` where Python could not make a number of it.
    at: Option<f64>,
}

impl<'a> View<'a> {
    pub(super) fn of(journals: &[(&'a RelPath, &'a SourceFile)]) -> View<'a> {
        let mut view = View::default();
        for (path, file) in journals {
            if std::str::from_utf8(&file.bytes).is_err() {
                view.fails = true;
                continue;
            }
            for line in Lines::new(&file.bytes, Newlines::Universal) {
                for (at, len, _) in broken(line.text) {
                    view.line(path, line.number, &line.text[at..at + len]);
                }
            }
        }
        if !view.fails {
            view.derive();
        }
        view
    }

    fn line(&mut self, path: &'a RelPath, number: u64, text: &[u8]) {
        if trim_unicode(text).is_empty() {
            return;
        }
        let mut members = Vec::new();
        match json::scan_object(text, Dialect::Python, &mut members) {
            Ok(facts) if facts.depth >= 1000 || facts.longest_integer > 4300 => self.fails = true,
            Ok(_) => self.events.push(Event::of(path, number, &members)),
            Err(_) => self.malformed += 1,
        }
    }

    fn derive(&mut self) {
        self.events.sort_by(|a, b| a.at.unwrap_or(0.0).total_cmp(&b.at.unwrap_or(0.0)));
        let mut latest: BTreeMap<&str, &Event<'a>> = BTreeMap::new();
        let mut ends: BTreeMap<&str, Vec<&Event<'a>>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| !event.turn.is_empty()) {
            if matches!(event.state.as_str(), "completed" | "interrupted") {
                ends.entry(&event.turn).or_default().push(event);
            }
            latest.insert(&event.turn, event);
        }
        self.states = latest.into_iter().map(|(turn, event)| (turn.to_owned(), event.state.clone())).collect();
        let twice = ends.into_iter().filter(|(_, ends)| ends.len() > 1);
        self.collisions = twice.filter_map(|(turn, ends)| ends.last().map(|last| (last.path, last.line, turn.to_owned()))).collect();
    }

    /// What a load would derive from the journals.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if !self.states.is_empty() {
            let mut text = b"{".to_vec();
            for (turn, state) in &self.states {
                if text.len() > 1 {
                    text.push(b',');
                }
                json::push_string(turn, &mut text);
                text.push(b':');
                json::push_string(state, &mut text);
            }
            text.push(b'}');
            facts.push(("turns", String::from_utf8_lossy(&text).into_owned()));
        }
        if self.malformed > 0 {
            facts.push(("journal_malformed", self.malformed.to_string()));
        }
        facts
    }
}

impl<'a> Event<'a> {
    fn of(path: &'a RelPath, line: u64, members: &[Member<'_>]) -> Event<'a> {
        let get = |name: &str| members.iter().rev().find(|member| member.name() == name).map(|member| member.value);
        let text = |name: &str| get(name).filter(|value| is_true(Some(value))).map(text_of).unwrap_or_default();
        Event { path, line, turn: text("turn_id").trim().to_owned(), state: text("event"), at: seconds(get("created_at")) }
    }
}

fn text_of(value: &[u8]) -> String {
    if json::kind_of(value) == Kind::String { json::unescape(value).into_owned() } else { String::from_utf8_lossy(value).into_owned() }
}

/// A time as Python's `float(value or 0)` has it.
fn seconds(value: Option<&[u8]>) -> Option<f64> {
    let Some(value) = value.filter(|value| is_true(Some(value))) else { return Some(0.0) };
    match json::kind_of(value) {
        Kind::Number => std::str::from_utf8(value).ok()?.parse().ok(),
        Kind::True => Some(1.0),
        Kind::String => json::unescape(value).trim().replace('_', "").parse().ok(),
        Kind::False | Kind::Null | Kind::Object | Kind::Array => None,
    }
}
