//! The turn journal: all shards read as one, and the state of each turn.

use std::collections::HashMap;

use super::lines::{Line, events};
use super::number::{Unconvertible, float_or_zero};
use super::text::{push_json, strip};
use super::unit::Found;
use super::value::{pick, text_or_empty};
use super::write::{Form, push};

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
    name: Option<&'a [u8]>,
    is_terminal: bool,
    time: Result<f64, Unconvertible>,
}

impl Event<'_> {
    fn sort_key(&self) -> f64 {
        self.time.unwrap_or(0.0)
    }
}

/// Reads all shards; none where the reader raises.
#[must_use]
pub fn read<'a>(shards: &[Found<'a>]) -> Option<Journal<'a>> {
    let mut journal = Journal::default();
    for shard in shards {
        if *shard == Found::Nothing {
            continue;
        }
        for line in events(shard.text()?, TOO_DEEP) {
            match line.ok()? {
                Line::Event(object) => journal.events.push(event(object)?),
                Line::Malformed => journal.malformed += 1,
            }
        }
    }
    sort(&mut journal.events);
    Some(journal)
}

/// One event; none where its time is an integer that no double can hold, which
/// the sort of the events lets through as an exception.
fn event(object: &[u8]) -> Option<Event<'_>> {
    let [turn, name, created] = pick(object, ["turn_id", "event", "created_at"]);
    let time = float_or_zero(created);
    if time == Err(Unconvertible::TooLarge) {
        return None;
    }
    let is_terminal = matches!(text_or_empty(name).as_ref(), b"completed" | b"interrupted");
    Some(Event { turn: strip(&text_or_empty(turn)).to_vec(), name, is_terminal, time })
}

/// As many items `list.sort` puts in order without merging.
const FEW: usize = 63;

/// `list.sort` by time.
fn sort(events: &mut Vec<Event<'_>>) {
    if events.len() <= FEW && events.iter().any(|event| event.sort_key().is_nan()) {
        return sort_without_order(events);
    }
    // Where a time is no number among many, what Python leaves depends on how
    // it merges; here such events come last.
    let order = |a: f64, b: f64| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    events.sort_by(|a, b| order(a.sort_key(), b.sort_key()));
}

/// What `list.sort` leaves of few items where a time is no number, and so the
/// order is none: the first run, turned round if it falls, and the rest put in
/// by halving.
fn sort_without_order(events: &mut Vec<Event<'_>>) {
    let keys: Vec<f64> = events.iter().map(Event::sort_key).collect();
    let key = |at: usize| keys.get(at).copied().unwrap_or_default();
    let falls = |at: usize| key(at + 1) < key(at);
    let is_falling = falls(0);
    let run = 1 + (0..keys.len().saturating_sub(1)).take_while(|at| falls(*at) == is_falling).count();
    let mut order: Vec<usize> = (0..run.min(keys.len())).collect();
    if is_falling {
        order.reverse();
    }
    for pivot in order.len()..keys.len() {
        let (mut left, mut right) = (0, order.len());
        while left < right {
            let middle = left + (right - left) / 2;
            if order.get(middle).is_some_and(|other| key(pivot) < key(*other)) {
                right = middle;
            } else {
                left = middle + 1;
            }
        }
        order.insert(left, pivot);
    }
    *events = order.iter().filter_map(|at| events.get(*at).cloned()).collect();
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
    /// How many events there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.events.len()
    }

    /// The state of each turn, in the order of their first events; none where
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
        push_json(&latest.turn, &mut out);
        out.push(b':');
        push(latest.name.unwrap_or(b"null"), Form::Fact, &mut out);
    }
    (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned() + "}")
}

fn list<'t>(turns: impl Iterator<Item = &'t [u8]>) -> Option<String> {
    let mut out = Vec::new();
    for turn in turns {
        out.push(if out.is_empty() { b'[' } else { b',' });
        push_json(turn, &mut out);
    }
    (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned() + "]")
}
