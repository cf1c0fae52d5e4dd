//! The turn journal: all shards read as one, and the state of each turn.

use std::collections::HashMap;

use crate::json::Value;
use crate::runtimes::python::convert::float_or_zero;
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::sort::sort_by_float;
use crate::runtimes::python::strings::push_utf8;
use crate::runtimes::python::text::strip;
use crate::runtimes::python::value::{pick, str_or_empty};

use super::lines::{JournalLine, events};
use super::unit::PathContent;

/// So deep a nesting raises `RecursionError`, which nothing catches. Measured
/// with CPython 3.11.7, the reader being called from the top of a module; each
/// further caller takes one level away.
const TOO_DEEP: usize = 995;

/// What the reader gives, as far as it is needed.
#[derive(Debug, Default)]
pub struct Journal<'a> {
    events: Vec<Event<'a>>,
    /// How many lines were not blank and no objects.
    pub malformed: usize,
}

#[derive(Debug, Clone)]
struct Event<'a> {
    turn: Vec<u8>,
    name: Option<Value<'a>>,
    is_terminal: bool,
    time: Result<f64, Exception>,
}

impl Event<'_> {
    fn sort_key(&self) -> f64 {
        self.time.unwrap_or(0.0)
    }
}

/// Reads all shards; none where the reader raises.
#[must_use]
pub fn read<'a>(shards: &[PathContent<'a>]) -> Option<Journal<'a>> {
    let mut journal = Journal::default();
    for shard in shards {
        if *shard == PathContent::Nothing {
            continue;
        }
        for line in events(shard.text()?, TOO_DEEP) {
            match line.ok()? {
                JournalLine::Event(object) => journal.events.push(event(object)?),
                JournalLine::Malformed => journal.malformed += 1,
            }
        }
    }
    sort_by_float(&mut journal.events, Event::sort_key);
    Some(journal)
}

/// One event; none where its time is an integer that no double can hold, which
/// the sort of the events lets through as an exception.
fn event(object: Value<'_>) -> Option<Event<'_>> {
    let [turn, name, created] = pick(object, ["turn_id", "event", "created_at"]);
    let time = float_or_zero(created);
    if time == Err(Exception::Overflow) {
        return None;
    }
    let is_terminal = matches!(str_or_empty(name).as_ref(), b"completed" | b"interrupted");
    Some(Event { turn: strip(&str_or_empty(turn)).to_vec(), name, is_terminal, time })
}

/// The turns of a journal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// A JSON object: per turn the name of its latest event.
    pub states: Option<String>,
    /// A JSON list of the turns that ended more than once.
    pub collisions: Option<String>,
}

impl Journal<'_> {
    /// Returns how many events there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.events.len()
    }

    /// Returns the state of each turn, in the order of their first events; none where
    /// deriving them raises.
    #[must_use]
    pub fn turns(&self) -> Option<Turns> {
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        let mut turns: Vec<Turn<'_>> = Vec::new();
        // The turns that have ended, in the order in which they first did.
        let mut ended: Vec<usize> = Vec::new();
        for event in self.events.iter().filter(|event| !event.turn.is_empty()) {
            let place = *places.entry(&event.turn).or_insert(turns.len());
            match turns.get_mut(place) {
                Some(turn) => {
                    if event.time.ok()? >= turn.latest.time.ok()? {
                        turn.latest = event;
                    }
                }
                None => turns.push(Turn { latest: event, ends: 0 }),
            }
            if let Some(turn) = turns.get_mut(place).filter(|_| event.is_terminal) {
                turn.ends += 1;
                if turn.ends == 1 {
                    ended.push(place);
                }
            }
        }
        let collided = ended.iter().filter_map(|place| turns.get(*place)).filter(|turn| turn.ends > 1);
        Some(Turns { states: states(&turns), collisions: list(collided.map(|turn| turn.latest.turn.as_slice())) })
    }
}

/// What is known of one turn.
struct Turn<'e> {
    latest: &'e Event<'e>,
    /// How many of its events say that it ended.
    ends: usize,
}

fn states(turns: &[Turn<'_>]) -> Option<String> {
    let mut out = Vec::new();
    for Turn { latest, .. } in turns {
        out.push(if out.is_empty() { b'{' } else { b',' });
        push_utf8(&latest.turn, &mut out);
        out.push(b':');
        push(latest.name.unwrap_or_default(), Form::Utf8, &mut out);
    }
    (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned() + "}")
}

fn list<'t>(turns: impl Iterator<Item = &'t [u8]>) -> Option<String> {
    let mut out = Vec::new();
    for turn in turns {
        out.push(if out.is_empty() { b'[' } else { b',' });
        push_utf8(turn, &mut out);
    }
    (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned() + "]")
}
