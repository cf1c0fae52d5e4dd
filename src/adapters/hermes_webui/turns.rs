//! The journals as the program's own readers see them: which events they take,
//! and what state they derive for each turn and each run.

use std::collections::HashMap;

use crate::json::{Member, Value};
use crate::model::fact::Fact;
use crate::model::files::{RelPath, SourceFile};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::python::convert::{float_or_zero, int_or_zero};
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::loads::{Failure, loads};
use crate::runtimes::python::sort::sort_by_float;
use crate::runtimes::python::strings::push_utf8;
use crate::runtimes::python::text::{splitlines, strip};
use crate::runtimes::python::value::{is_truthy, last_named, str_or_empty};

use super::layout::run_id;

/// CPython gives up on values nested this deep.
pub(super) const DEEPEST: usize = 995;

/// What the reader makes of all turn journals of one session.
#[derive(Default)]
pub(super) struct View<'a> {
    events: Vec<Event<'a>>,
    malformed: u64,
    /// Why the reading fails as a whole.
    fails: Option<&'static str>,
    /// Turns that end more than once, each with the place of its last end.
    pub collisions: Vec<(&'a RelPath, u64, Vec<u8>)>,
    /// The last event of each turn, in the order of their first ones.
    states: Vec<(Vec<u8>, usize)>,
}

struct Event<'a> {
    path: &'a RelPath,
    line: u64,
    turn: Vec<u8>,
    /// The event's name as JSON, and as a text.
    event: String,
    state: Vec<u8>,
    at: Result<f64, Exception>,
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
                        if event.at == Err(Exception::Overflow) {
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
        sort_by_float(&mut self.events, |event| event.at.unwrap_or(0.0));
        let mut place: HashMap<&[u8], usize> = HashMap::new();
        let mut states: Vec<(Vec<u8>, usize)> = Vec::new();
        let mut ends: Vec<(usize, Vec<&Event<'a>>)> = Vec::new();
        for (n, event) in self.events.iter().enumerate().filter(|(_, event)| !event.turn.is_empty()) {
            let at = *place.entry(&event.turn).or_insert_with(|| {
                states.push((event.turn.clone(), n));
                ends.push((n, Vec::new()));
                states.len() - 1
            });
            if matches!(event.state.as_slice(), b"completed" | b"interrupted") {
                ends[at].0 = ends[at].0.min(n);
                ends[at].1.push(event);
            }
            if states[at].1 == n {
                continue;
            }
            // Only now are the two times looked at.
            match (event.at.ok(), self.events[states[at].1].at.ok()) {
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

    /// Returns what a load would derive from the journals.
    pub(super) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let mut facts = Vec::new();
        if let Some(why) = self.fails {
            facts.push(("journal_error", Fact::from(why)));
            if why == UNREADABLE {
                return facts;
            }
        }
        if !self.events.is_empty() {
            facts.push(("journal_events", Fact::Json(self.events.len().to_string())));
        }
        if self.malformed > 0 {
            facts.push(("journal_malformed", Fact::Json(self.malformed.to_string())));
        }
        if self.fails.is_some() {
            return facts;
        }
        if !self.states.is_empty() {
            let states = self.states.iter().map(|(turn, last)| format!("{}:{}", quoted(turn), self.events[*last].event));
            facts.push(("turns", Fact::Json(joined(("{", "}"), states))));
        }
        if !self.collisions.is_empty() {
            let turns = self.collisions.iter().map(|(_, _, turn)| quoted(turn));
            facts.push(("turn_collisions", Fact::Json(joined(("[", "]"), turns))));
        }
        facts
    }
}

const UNREADABLE: &str = "turn journal cannot be read";
const UNDERIVABLE: &str = "turn states cannot be derived";

fn joined(ends: (&str, &str), items: impl Iterator<Item = String>) -> String {
    format!("{}{}{}", ends.0, items.collect::<Vec<_>>().join(","), ends.1)
}

/// Returns the lines of a journal as Python's `splitlines` has them, blank ones left
/// out, each with the number that an editor would show.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    Lines::new(bytes, Newlines::Universal)
        .flat_map(|line| splitlines(line.text).map(move |part| (line.number, &line.text[part.start..part.start + part.len])))
        .filter(|(_, text)| !strip(text).is_empty())
}

fn read(text: &[u8]) -> Read<'_> {
    let mut members = Vec::new();
    match loads(text, DEEPEST, &mut members) {
        Ok(value) if value.is_object() => Read::Object(members),
        Ok(_) | Err(Failure::Syntax(_)) => Read::Malformed,
        Err(Failure::LongInteger | Failure::TooDeep) => Read::Fatal,
    }
}

/// Returns a value as JSON of one form, so that equal ones have equal texts.
fn dumps(value: Option<Value<'_>>) -> String {
    let mut out = Vec::new();
    push(value.unwrap_or_default(), Form::Utf8, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns a text as JSON.
pub(super) fn quoted(text: &[u8]) -> String {
    let mut out = Vec::new();
    push_utf8(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns what the program sums up of its runs, and which of them it cannot read.
pub(super) fn run_facts(runs: &[(&RelPath, &SourceFile)]) -> Vec<(&'static str, Fact)> {
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
        facts.push(("runs", Fact::Json(joined(("{", "}"), whole.into_iter()))));
    }
    if !failed.is_empty() {
        facts.push(("run_errors", Fact::Json(joined(("[", "]"), failed.into_iter()))));
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
        let get = |name: &str| last_named(&members, name);
        events += 1;
        name = dumps(get("event"));
        seq = int_or_zero(get("seq")).ok();
        if get("terminal").is_some_and(is_truthy) {
            let which = if name == "\"stream_end\"" { &mut stream_end } else { &mut end };
            *which = Some(dumps(get("terminal_state")));
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
        let text = |name: &str| str_or_empty(last_named(members, name));
        Event {
            path,
            line,
            turn: strip(&text("turn_id")).to_vec(),
            event: dumps(last_named(members, "event")),
            state: text("event").into_owned(),
            at: float_or_zero(last_named(members, "created_at")),
        }
    }
}
