//! The turns of a session: what each came to, and by whose word. A journal may
//! stop at any event, so its last one alone settles nothing: the journal of the
//! run, or the session itself, may know the end.

use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::json::{Kind, Value};
use crate::model::event::{EventKind, EventRef};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};
use crate::model::turn_terms::{PendingTerms, TurnTerms};

use super::projection::{Projection, Reach, Salvage};
use super::view::LogView;

/// Who says how a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    /// A last event in the turn's own journal.
    Journal,
    /// The journal of its run.
    Run,
    /// The session: an answer, or an error, follows the prompt.
    Session,
    /// Nobody.
    Open,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// Its id; none where only the session knows of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The run that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The last state that its journal's reader sees.
    pub state: String,
    /// Who says how it ended.
    pub settled: SettledBy,
    /// How it ended, in the words of whoever says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// Why it was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The time of each state, in order.
    pub times: Vec<(String, Option<String>)>,
    /// The events of its journal, by number.
    pub events: Vec<Seq>,
    /// The message that it asked with, and the one that answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<Seq>,
    /// See `asked`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Seq>,
    /// What its run left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// What one would expect and does not find.
    pub missing: Vec<&'static str>,
}

/// What the journal of one run holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Run {
    /// How many events.
    pub events: u64,
    /// The first and the last of them.
    pub first: Seq,
    /// See `first`.
    pub last: Seq,
    /// How it ended; none where it just stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// The tools that were called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The text that was streamed, as far as it came.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A message of the active path, as far as turns need it.
struct PathMessage {
    seq: Seq,
    is_user: bool,
    /// What a user said.
    text: String,
}

fn text(payload: Value<'_>, name: &str) -> Option<String> {
    payload.first(name)?.as_str().map(Cow::into_owned)
}

/// Returns the turns of a log, in the order of their first events.
///
/// # Errors
/// When the log cannot be read.
pub fn turns<R: ReadAt>(log: &mut LogView<R>, terms: &TurnTerms) -> Result<Vec<Turn>, StreamError> {
    let mut found = TurnsById::default();
    let mut runs: BTreeMap<String, Run> = BTreeMap::new();
    let mut pending = None;
    for seq in (1..=log.last().number()).map(Seq::new) {
        let kind = log.kind(seq);
        if kind == EventKind::Turn {
            found.note(&log.event(seq)?);
        } else if kind == EventKind::Run {
            note_run(&mut runs, &log.event(seq)?, terms);
        } else if kind == EventKind::Meta && pending.is_none() {
            pending = pending_turn(log.event(seq)?.value(), &terms.pending);
        }
    }
    let mut turns = found.turns;
    for turn in &mut turns {
        settle_by_journal(turn, terms);
    }
    if let Some(pending) = pending
        && !turns.iter().any(|turn| turn.stream.is_some() && turn.stream == pending.stream)
    {
        turns.push(pending);
    }
    let rows = Rows::of(log)?;
    let mut used = HashSet::new();
    let mut taken: HashMap<String, usize> = HashMap::new();
    for at in 0..turns.len() {
        let stream = turns[at].stream.clone().unwrap_or_default();
        // A turn may go on under a second id; both have the one run.
        let run = runs.remove(&stream).or_else(|| taken.get(&stream).and_then(|first| turns[*first].run.clone()));
        taken.entry(stream).or_insert(at);
        let turn = &mut turns[at];
        if let Some(run) = run {
            if let (SettledBy::Open, Some(end)) = (turn.settled, &run.end) {
                turn.settled = SettledBy::Run;
                turn.end = Some(end.clone());
            }
            turn.run = Some(run);
        }
        rows.settle(turn, &mut used);
        turn.missing = missing(turn, terms);
    }
    turns.sort_by(|a, b| a.times.first().map(|(_, ts)| ts).cmp(&b.times.first().map(|(_, ts)| ts)));
    Ok(turns)
}

/// The turns that the journals name.
#[derive(Default)]
struct TurnsById {
    turns: Vec<Turn>,
    by_id: HashMap<String, usize>,
}

impl TurnsById {
    fn note(&mut self, event: &EventRef<'_>) {
        let Some(id) = text(event.value(), "turn_id").map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()) else { return };
        let at = *self.by_id.entry(id.clone()).or_insert_with(|| {
            self.turns.push(Turn::new(Some(id)));
            self.turns.len() - 1
        });
        let turn = &mut self.turns[at];
        let state = text(event.value(), "state").unwrap_or_default();
        turn.stream = turn.stream.take().or_else(|| text(event.value(), "stream_id"));
        turn.reason = text(event.value(), "reason").or(turn.reason.take());
        turn.prompt = turn.prompt.take().or_else(|| text(event.value(), "message"));
        turn.events.push(event.seq);
        let is_hidden = event.value().first("hidden").is_some();
        turn.times.push((if is_hidden { format!("({state})") } else { state }, event.ts.map(str::to_owned)));
    }
}

impl Turn {
    fn new(turn: Option<String>) -> Turn {
        Turn {
            turn,
            stream: None,
            state: String::new(),
            settled: SettledBy::Open,
            end: None,
            reason: None,
            prompt: None,
            times: Vec::new(),
            events: Vec::new(),
            asked: None,
            answered: None,
            run: None,
            missing: Vec::new(),
        }
    }

    fn has(&self, state: &str) -> bool {
        self.times.iter().any(|(known, _)| known.trim_matches(['(', ')']) == state)
    }
}

/// The latest event counts, of equally late ones the last; a record that its
/// reader does not see counts for nothing.
fn settle_by_journal(turn: &mut Turn, terms: &TurnTerms) {
    // Fractions of any length sort as texts once nothing follows them.
    let in_order = |ts: &Option<String>| ts.as_ref().map(|ts| ts.trim_end_matches('Z').to_owned());
    turn.times.sort_by_key(|(_, ts)| in_order(ts));
    let latest = turn.times.iter().rev().find(|(state, _)| !state.starts_with('('));
    turn.state = latest.map_or_else(|| "unseen".to_owned(), |(state, _)| state.clone());
    if terms.ends.contains(&turn.state.as_str()) {
        turn.settled = SettledBy::Journal;
        turn.end = Some(turn.state.clone());
    }
}

/// Returns a prompt that the session itself says it waits for.
fn pending_turn(meta: Value<'_>, terms: &PendingTerms) -> Option<Turn> {
    let prompt = text(meta, terms.prompt).filter(|prompt| !prompt.is_empty())?;
    if text(meta, "of").as_deref() != Some(terms.of) {
        return None;
    }
    let started = meta.first(terms.started_at).and_then(|at| crate::model::time::from_epoch(at.text()));
    let mut turn = Turn::new(None);
    turn.stream = text(meta, terms.stream);
    turn.state = "pending".to_owned();
    turn.prompt = Some(prompt);
    turn.times.push(("pending".to_owned(), started));
    Some(turn)
}

fn note_run(runs: &mut BTreeMap<String, Run>, event: &EventRef<'_>, terms: &TurnTerms) {
    let Some(id) = text(event.value(), "run_id") else { return };
    if text(event.value(), "kind").as_deref() != Some(terms.run_kind) {
        return;
    }
    let run = runs.entry(id).or_insert_with(|| Run { first: event.seq, ..Run::default() });
    run.events += 1;
    run.last = event.seq;
    let name = text(event.value(), "event").unwrap_or_default();
    let data = event.value().first("data").unwrap_or(Value::EMPTY_OBJECT);
    if name == terms.text_event {
        run.text.push_str(&text(data, "text").unwrap_or_default());
    } else if name == terms.tool_event {
        run.tools.extend(text(data, "name"));
    }
    // What follows the end of a run does not end it again.
    let is_terminal = event.value().first("terminal").is_some_and(|terminal| terminal.kind() == Kind::True);
    if is_terminal && (name != terms.after_end || run.end.is_none()) {
        run.end = Some(text(event.value(), "terminal_state").unwrap_or(name));
    }
}

/// The messages of the active path, and ways to find a prompt among them.
struct Rows {
    rows: Vec<PathMessage>,
    /// By what their data begins with: a row may name its run.
    by_name: HashMap<String, usize>,
    /// By the second they were written in; an empty text where none is said.
    by_second: HashMap<String, Vec<usize>>,
}

impl Rows {
    fn of<R: ReadAt>(log: &mut LogView<R>) -> Result<Rows, StreamError> {
        let mut found = Rows { rows: Vec::new(), by_name: HashMap::new(), by_second: HashMap::new() };
        let Some(node) = log.state().head(&log.active()) else { return Ok(found) };
        let mut shown = Projection::of(log, node, Reach::Path, Salvage::Hidden)?;
        while let Some(item) = shown.next_shown(log)? {
            if item.event.kind == EventKind::Message {
                found.add(&item.event);
            }
        }
        Ok(found)
    }

    fn add(&mut self, event: &EventRef<'_>) {
        let is_user = text(event.value(), "role").as_deref() == Some("user");
        let at = self.rows.len();
        let mut said = Vec::new();
        if is_user {
            let payload = event.value();
            said.extend(payload.first("content").into_iter().flat_map(Value::elements).filter_map(|part| text(part, "text")));
            let held = payload.first("ext").into_iter().flat_map(Value::members).map(|member| member.value());
            for value in held.filter(|value| value.text().len() < 200).filter_map(Value::as_str) {
                let name = value.split(':').next().unwrap_or_default();
                self.by_name.entry(name.to_owned()).or_insert(at);
            }
            self.by_second.entry(second(event.ts)).or_default().push(at);
        }
        self.rows.push(PathMessage { seq: event.seq, is_user, text: said.join("\n") });
    }

    /// Finds a turn's prompt, and whether anything was said after it.
    fn settle(&self, turn: &mut Turn, used: &mut HashSet<usize>) {
        let prompt = turn.prompt.as_deref().unwrap_or_default().trim();
        // Something of the program's may stand before it.
        let is_prompt = |at: &&usize| !prompt.is_empty() && !used.contains(*at) && self.rows[**at].text.trim().ends_with(prompt);
        let by_name = turn.stream.as_ref().and_then(|stream| self.by_name.get(stream)).filter(|at| !used.contains(at));
        let started = second(turn.times.first().and_then(|(_, ts)| ts.as_deref()));
        let near = [started.as_str(), ""].into_iter().filter_map(|second| self.by_second.get(second)).flatten();
        let Some(&at) = by_name.or_else(|| near.into_iter().find(is_prompt)) else { return };
        used.insert(at);
        turn.asked = Some(self.rows[at].seq);
        turn.answered = self.rows[at + 1..].iter().take_while(|row| !row.is_user).last().map(|row| row.seq);
        if turn.settled == SettledBy::Open && turn.answered.is_some() {
            turn.settled = SettledBy::Session;
            turn.end = Some("answered".to_owned());
        }
    }
}

/// Returns the second of a time: a program may round it off.
fn second(ts: Option<&str>) -> String {
    ts.and_then(|ts| ts.get(..19)).unwrap_or_default().to_owned()
}

fn missing(turn: &Turn, terms: &TurnTerms) -> Vec<&'static str> {
    let mut missing = Vec::new();
    let mut note = |lacks: bool, what: &'static str| {
        if lacks {
            missing.push(what);
        }
    };
    note(!turn.has(terms.submitted), "submission");
    note(turn.has(terms.submitted) && !turn.has(terms.started) && turn.settled == SettledBy::Open, "start");
    note(turn.settled != SettledBy::Journal, "end in its journal");
    note(turn.stream.is_some() && turn.run.is_none(), "run journal");
    note(turn.run.as_ref().is_some_and(|run| run.end.is_none()), "end of its run");
    note(turn.asked.is_none(), "prompt in the session");
    note(turn.asked.is_some() && turn.answered.is_none(), "answer in the session");
    missing
}
