//! The journals as the program's own readers see them: which events they take,
//! and what state they derive for each turn and each run.

use std::collections::HashMap;

use crate::model::files::{RelPath, SourceFile};
use crate::model::json::{self, Dialect, Facts, Member};
use crate::model::jsonl::{Lines, Newlines, trim_unicode};

use super::journal::broken;
use super::layout::run_id;
use super::message::is_true;
use super::pynumber::{Seconds, integer, seconds};
use super::pytext::{Units, dumps, dumps_text, readable, str_of, stripped};

/// CPython gives up on values nested this deep…
pub(super) const DEEPEST: usize = 995;
/// …and on integers with more digits than this.
pub(super) const LONGEST_INTEGER: usize = 4300;

/// What the reader makes of all turn journals of one session.
#[derive(Default)]
pub(super) struct View<'a> {
    events: Vec<Event<'a>>,
    malformed: u64,
    /// Why the reading fails as a whole.
    fails: Option<&'static str>,
    /// Turns that end more than once, each with the place of its last end.
    pub collisions: Vec<(&'a RelPath, u64, Units)>,
    /// The last event of each turn, in the order of their first ones.
    states: Vec<(Units, usize)>,
}

struct Event<'a> {
    path: &'a RelPath,
    line: u64,
    turn: Units,
    /// The event's name as JSON, and as a text.
    event: String,
    state: String,
    at: Seconds,
}

/// What one line of a journal is to its reader.
enum Read<'t> {
    Object(Vec<Member<'t>>),
    Malformed,
    /// The reader gives up.
    Fatal,
}

impl<'a> View<'a> {
    pub(super) fn of(journals: &[(&'a RelPath, &'a SourceFile)]) -> View<'a> {
        let mut view = View::default();
        for (path, file) in journals {
            for (number, text) in lines(&file.bytes) {
                match read(text) {
                    Read::Object(members) => {
                        let event = Event::of(path, number, &members);
                        if event.at == Seconds::TooLarge {
                            view.fails = Some(UNREADABLE);
                        }
                        view.events.push(event);
                    }
                    Read::Malformed => view.malformed += 1,
                    Read::Fatal => view.fails = Some(UNREADABLE),
                }
            }
            if std::str::from_utf8(&file.bytes).is_err() {
                view.fails = Some(UNREADABLE);
            }
        }
        if view.fails.is_none() {
            view.derive();
        }
        view
    }

    fn derive(&mut self) {
        sort(&mut self.events);
        let mut place: HashMap<&[u16], usize> = HashMap::new();
        let mut states: Vec<(Units, usize)> = Vec::new();
        let mut ends: Vec<(usize, Vec<&Event<'a>>)> = Vec::new();
        for (n, event) in self.events.iter().enumerate().filter(|(_, event)| !event.turn.is_empty()) {
            let at = *place.entry(&event.turn).or_insert_with(|| {
                states.push((event.turn.clone(), n));
                ends.push((n, Vec::new()));
                states.len() - 1
            });
            if matches!(event.state.as_str(), "completed" | "interrupted") {
                ends[at].0 = ends[at].0.min(n);
                ends[at].1.push(event);
            }
            if states[at].1 == n {
                continue;
            }
            // Only now are the two times looked at.
            match (event.at.known(), self.events[states[at].1].at.known()) {
                (Some(now), Some(before)) if now >= before => states[at].1 = n,
                (Some(_), Some(_)) => {}
                _ => self.fails = Some(UNDERIVABLE),
            }
        }
        let mut twice: Vec<&(usize, Vec<&Event<'a>>)> = ends.iter().filter(|(_, ends)| ends.len() > 1).collect();
        twice.sort_by_key(|(first, _)| *first);
        let last = |ends: &[&Event<'a>]| ends.last().map(|last| (last.path, last.line, last.turn.clone()));
        self.collisions = twice.into_iter().filter_map(|(_, ends)| last(ends)).collect();
        self.states = states;
    }

    /// What a load would derive from the journals.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(why) = self.fails {
            facts.push(("journal_error", why.to_owned()));
            if why == UNREADABLE {
                return facts;
            }
        }
        if !self.events.is_empty() {
            facts.push(("journal_events", self.events.len().to_string()));
        }
        if self.malformed > 0 {
            facts.push(("journal_malformed", self.malformed.to_string()));
        }
        if self.fails.is_some() {
            return facts;
        }
        if !self.states.is_empty() {
            let states = self.states.iter().map(|(turn, last)| format!("{}:{}", dumps_text(turn), self.events[*last].event));
            facts.push(("turns", joined(("{", "}"), states)));
        }
        if !self.collisions.is_empty() {
            let turns = self.collisions.iter().map(|(_, _, turn)| dumps_text(turn));
            facts.push(("turn_collisions", joined(("[", "]"), turns)));
        }
        facts
    }
}

const UNREADABLE: &str = "turn journal cannot be read";
const UNDERIVABLE: &str = "turn states cannot be derived";

/// Python merges lists that are longer than this.
const INSERTED: usize = 63;

/// Sorts by time as Python sorts, where a time that is no number (every
/// comparison with it is false) leaves short lists half sorted.
fn sort(events: &mut Vec<Event<'_>>) {
    let time = |event: &Event<'_>| event.at.known().unwrap_or(0.0);
    if events.len() > INSERTED || !events.iter().any(|event| time(event).is_nan()) {
        // Among many, those that are no number come last.
        return events.sort_by(|a, b| time(a).partial_cmp(&time(b)).unwrap_or_else(|| time(a).is_nan().cmp(&time(b).is_nan())));
    }
    let falls = |pair: &[Event<'_>]| time(&pair[1]) < time(&pair[0]);
    let falling = events.windows(2).take_while(|pair| falls(pair)).count();
    let rising = events.windows(2).take_while(|pair| !falls(pair)).count();
    if falling > 0 {
        events[..=falling].reverse();
    }
    for next in falling.max(rising) + 1..events.len() {
        let (mut from, mut to) = (0, next);
        while from < to {
            let middle = usize::midpoint(from, to);
            if time(&events[next]) < time(&events[middle]) { to = middle } else { from = middle + 1 }
        }
        events[from..=next].rotate_right(1);
    }
}

fn joined(ends: (&str, &str), items: impl Iterator<Item = String>) -> String {
    format!("{}{}{}", ends.0, items.collect::<Vec<_>>().join(","), ends.1)
}

/// The lines of a journal as Python's `splitlines` has them, blank ones left
/// out, each with the number that an editor would show.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    Lines::new(bytes, Newlines::Universal)
        .flat_map(|line| broken(line.text).into_iter().map(move |(at, len, _)| (line.number, &line.text[at..at + len])))
        .filter(|(_, text)| !trim_unicode(text).is_empty())
}

fn read(text: &[u8]) -> Read<'_> {
    let gives_up = |facts: Facts| facts.depth >= DEEPEST || facts.longest_integer > LONGEST_INTEGER;
    let mut members = Vec::new();
    if let Ok(facts) = json::scan_object(text, Dialect::Python, &mut members) {
        return if gives_up(facts) { Read::Fatal } else { Read::Object(members) };
    }
    match json::scan_value(text, Dialect::Python) {
        Err(error) if opens_too_deep(&text[..error.at.min(text.len())]) => Read::Fatal,
        Ok(scan) if gives_up(scan.facts) => Read::Fatal,
        Ok(_) | Err(_) => Read::Malformed,
    }
}

/// Whether a text that is no JSON opens so many containers before that shows
/// that the parser has given up by then.
fn opens_too_deep(text: &[u8]) -> bool {
    json::deepest(text) >= DEEPEST
}

/// What the program sums up of its runs, and which of them it cannot read.
pub(super) fn run_facts(runs: &[(&RelPath, &SourceFile)]) -> Vec<(&'static str, String)> {
    let (mut whole, mut failed) = (Vec::new(), Vec::new());
    for (path, file) in runs {
        let id = format!("\"{}\"", run_id(path));
        match run_summary(file) {
            Some(summary) => whole.push(format!("{id}:{summary}")),
            None => failed.push(id),
        }
    }
    let mut facts = Vec::new();
    if !whole.is_empty() {
        facts.push(("runs", joined(("{", "}"), whole.into_iter())));
    }
    if !failed.is_empty() {
        facts.push(("run_errors", joined(("[", "]"), failed.into_iter())));
    }
    facts
}

fn run_summary(file: &SourceFile) -> Option<String> {
    std::str::from_utf8(&file.bytes).ok()?;
    let (mut events, mut malformed) = (0u64, 0u64);
    let (mut seq, mut name) = (Some("0".to_owned()), "null".to_owned());
    let (mut end, mut stream_end) = (None, None);
    for (_, text) in lines(&file.bytes) {
        let members = match read(text) {
            Read::Object(members) => members,
            Read::Malformed => {
                malformed += 1;
                continue;
            }
            Read::Fatal => return None,
        };
        let get = |name: &str| members.iter().rev().find(|member| member.is(name)).map(|member| member.value);
        events += 1;
        name = dumps(get("event").unwrap_or(b"null"));
        seq = integer(get("seq"));
        if is_true(get("terminal")) {
            let which = if name == "\"stream_end\"" { &mut stream_end } else { &mut end };
            *which = Some(dumps(get("terminal_state").unwrap_or(b"null")));
        }
    }
    let seq = seq?;
    let open = if events == 0 { "\"unknown\"" } else { "\"running\"" };
    let state = end.or(stream_end).unwrap_or_else(|| open.to_owned());
    let malformed = if malformed > 0 { format!(",\"malformed\":{malformed}") } else { String::new() };
    Some(format!("{{\"state\":{state},\"events\":{events},\"last_seq\":{seq},\"last_event\":{name}{malformed}}}"))
}

impl<'a> Event<'a> {
    fn of(path: &'a RelPath, line: u64, members: &[Member<'_>]) -> Event<'a> {
        let get = |name: &str| members.iter().rev().find(|member| member.is(name)).map(|member| member.value);
        let text = |name: &str| get(name).filter(|value| is_true(Some(value))).map(str_of).unwrap_or_default();
        let turn = stripped(&text("turn_id")).to_vec();
        let event = dumps(get("event").unwrap_or(b"null"));
        Event { path, line, turn, event, state: readable(&text("event")), at: seconds(get("created_at")) }
    }
}
