//! The journals as the program's own readers see them: which events they take,
//! and what state they derive for each turn and each run.

use std::collections::{BTreeMap, HashMap};

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
    /// In the order of each turn's first event.
    states: Vec<(String, String)>,
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
            for (number, text) in lines(&file.bytes) {
                view.line(path, number, text);
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
        let mut place: HashMap<&str, usize> = HashMap::new();
        let mut states: Vec<(String, String)> = Vec::new();
        let mut ends: BTreeMap<&str, Vec<&Event<'a>>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| !event.turn.is_empty()) {
            if matches!(event.state.as_str(), "completed" | "interrupted") {
                ends.entry(&event.turn).or_default().push(event);
            }
            // Sorted by time, so a later event is never an earlier one's.
            match place.get(event.turn.as_str()) {
                Some(at) => states[*at].1.clone_from(&event.state),
                None => {
                    place.insert(&event.turn, states.len());
                    states.push((event.turn.clone(), event.state.clone()));
                }
            }
        }
        self.states = states;
        let twice = ends.into_iter().filter(|(_, ends)| ends.len() > 1);
        self.collisions = twice.filter_map(|(turn, ends)| ends.last().map(|last| (last.path, last.line, turn.to_owned()))).collect();
    }

    /// What a load would derive from the journals.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if !self.events.is_empty() {
            facts.push(("journal_events", self.events.len().to_string()));
        }
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

/// The lines of a journal as Python's `splitlines` has them, each with the
/// number that an editor would show.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    Lines::new(bytes, Newlines::Universal)
        .flat_map(|line| broken(line.text).into_iter().map(move |(at, len, _)| (line.number, &line.text[at..at + len])))
}

/// What the program sums up of one run.
pub(super) fn run_summary(file: &SourceFile) -> Option<String> {
    std::str::from_utf8(&file.bytes).ok()?;
    let (mut events, mut malformed) = (0u64, 0u64);
    let (mut last_seq, mut last_event) = ("0".to_owned(), String::new());
    let (mut end, mut stream_end) = (None, None);
    let mut members = Vec::new();
    for (_, text) in lines(&file.bytes).filter(|(_, text)| !trim_unicode(text).is_empty()) {
        if json::scan_object(text, Dialect::Python, &mut members).is_err() {
            malformed += 1;
            continue;
        }
        let get = |name: &str| members.iter().rev().find(|member| member.name() == name).map(|member| member.value);
        events += 1;
        last_event = get("event").map(text_of).unwrap_or_default();
        if let Some(seq) = get("seq").filter(|seq| json::kind_of(seq) == Kind::Number) {
            last_seq = text_of(seq);
        }
        if is_true(get("terminal")) {
            let state = get("terminal_state").filter(|state| is_true(Some(state))).map(text_of);
            let which = if last_event == "stream_end" { &mut stream_end } else { &mut end };
            *which = Some(state.unwrap_or_else(|| "completed".to_owned()));
        }
    }
    let mut out = b"{\"state\":".to_vec();
    json::push_string(&end.or(stream_end).unwrap_or_else(|| "running".to_owned()), &mut out);
    out.extend_from_slice(format!(",\"events\":{events},\"last_seq\":{last_seq},\"last_event\":").as_bytes());
    json::push_string(&last_event, &mut out);
    if malformed > 0 {
        out.extend_from_slice(format!(",\"malformed\":{malformed}").as_bytes());
    }
    out.push(b'}');
    Some(String::from_utf8_lossy(&out).into_owned())
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
