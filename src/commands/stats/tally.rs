//! What is counted of one session, and of all of them.

use serde_json::Number;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use crate::api::{Message, MessageKind, Role, Usage};
use crate::commands::error::CommandError;
use crate::commands::sessions::SessionRow;
use crate::log::{decode_line, each_stretch};
use crate::model::event::{EventKind, EventRef, Outcome};
use crate::model::shown::Shown;
use crate::model::stream::StreamError;
use crate::store::disk;

/// What is counted of a group of messages. A number that no source says is
/// absent, and not 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counts {
    pub sessions: u64,
    pub messages: u64,
    /// Messages of a person.
    pub turns: u64,
    /// Answers of a model.
    pub answers: u64,
    pub with_usage: u64,
    pub with_cost: u64,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub cache_read: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
    pub cost: Option<f64>,
    /// Calls of tools.
    pub calls: u64,
    pub failed_calls: u64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.sessions += other.sessions;
        self.messages += other.messages;
        self.turns += other.turns;
        self.answers += other.answers;
        self.with_usage += other.with_usage;
        self.with_cost += other.with_cost;
        self.input = sum(self.input, other.input);
        self.output = sum(self.output, other.output);
        self.cache_read = sum(self.cache_read, other.cache_read);
        self.cache_write = sum(self.cache_write, other.cache_write);
        self.reasoning = sum(self.reasoning, other.reasoning);
        self.cost = match (self.cost, other.cost) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
    }

    fn of_usage(usage: &Usage) -> Counts {
        Counts {
            with_usage: u64::from(usage.input.is_some() || usage.output.is_some() || usage.total.is_some()),
            with_cost: u64::from(usage.cost.is_some()),
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            cost: usage.cost,
            ..Counts::default()
        }
    }
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// Counts by what people ask for. A name that the source does not say is empty.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub all: Counts,
    pub programs: BTreeMap<String, Counts>,
    pub models: BTreeMap<String, Counts>,
    pub months: BTreeMap<String, Counts>,
    pub tools: BTreeMap<String, Counts>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Tally) {
        self.all.add(&other.all);
        let groups = [
            (&mut self.programs, other.programs),
            (&mut self.models, other.models),
            (&mut self.months, other.months),
            (&mut self.tools, other.tools),
        ];
        for (mine, others) in groups {
            others.into_iter().for_each(|(key, counts)| mine.entry(key).or_default().add(&counts));
        }
    }
}

/// Counts one session: every message once, on whatever branch.
pub(super) fn count(row: &SessionRow) -> Result<Tally, CommandError> {
    let stream = |source: StreamError| CommandError::Stream { path: row.path(), source };
    let mut session = Session::default();
    let mut failure = None;
    each_stretch(&disk::open(&row.path())?, |stretch| {
        for line in stretch.split(|byte| *byte == b'\n') {
            if let Err(error) = session.line(line) {
                failure = Some(error);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })
    .map_err(stream)?;
    match failure {
        Some(failure) => Err(stream(failure)),
        None => Ok(session.tally(&row.format)),
    }
}

/// A session that is being counted.
#[derive(Default)]
struct Session {
    tally: Tally,
    /// What answers took, by the id of the answer at its provider. A program may
    /// keep one answer as several messages, each of which says what the whole
    /// answer took so far: only the last of them counts.
    took: HashMap<String, Took>,
    /// The names of the tools that were called.
    called: HashMap<String, String>,
    anonymous: u64,
    /// What the log says of the session as a whole.
    outcome: Outcome,
    /// The month of the last answer.
    last_month: String,
}

/// The month of a time, empty where there is none.
fn month(ts: Option<&str>) -> String {
    ts.and_then(|ts| ts.get(..7)).unwrap_or_default().to_owned()
}

/// What one answer took, and where that is counted.
struct Took {
    model: String,
    month: String,
    counts: Counts,
}

impl Session {
    fn line(&mut self, line: &[u8]) -> Result<(), StreamError> {
        // What is no event is no message; `verify` says what it is.
        let Ok(event) = decode_line(line) else { return Ok(()) };
        if event.kind == EventKind::Usage {
            self.between_answers(&event);
        } else if event.kind == EventKind::Outcome {
            self.outcome = serde_json::from_slice(event.payload).unwrap_or_default();
        } else if matches!(event.kind, EventKind::Message | EventKind::Compaction | EventKind::BranchSummary)
            && !event.is_hidden_from("loader")
            && let Some(message) = Message::of(&Shown::plain(event), 0)?
        {
            self.message(&message);
        }
        Ok(())
    }

    /// Counts what was taken for no answer.
    fn between_answers(&mut self, event: &EventRef<'_>) {
        let Some(usage) = Usage::of_payload(event.payload) else { return };
        let model = event.value().members().find(|member| member.is("model")).and_then(|model| model.value().as_str().map(Cow::into_owned));
        let counts = Counts { with_usage: 0, with_cost: 0, ..Counts::of_usage(&usage) };
        self.anonymous += 1;
        let took = Took { model: model.unwrap_or_default(), month: month(event.ts), counts };
        self.took.insert(format!("\n{}", self.anonymous), took);
    }

    fn message(&mut self, message: &Message) {
        let is_message = message.kind == MessageKind::Message;
        let is_answer = is_message && message.role == Role::Assistant;
        let month = month(message.ts.as_deref());
        let model = message.model.clone().unwrap_or_default();
        let counts =
            Counts { messages: u64::from(is_message), turns: u64::from(is_message && message.role == Role::User), ..Counts::default() };
        self.tally.all.add(&counts);
        self.tally.months.entry(month.clone()).or_default().add(&counts);
        if is_answer {
            self.tally.models.entry(model.clone()).or_default().add(&counts);
        }
        if is_answer {
            self.last_month.clone_from(&month);
        }
        if is_answer || message.usage.is_some() {
            let id = message.answer_id().unwrap_or_else(|| {
                self.anonymous += 1;
                // No id of a provider has a line end in it.
                format!("\n{}", self.anonymous)
            });
            let usage = message.usage.as_ref().map(Counts::of_usage).unwrap_or_default();
            self.took.insert(id, Took { model, month, counts: Counts { answers: u64::from(is_answer), ..usage } });
        }
        for call in message.tool_calls() {
            let name = call.name.clone().unwrap_or_default();
            self.tool(&name, Counts { calls: 1, ..Counts::default() });
            self.called.extend(call.id.clone().map(|id| (id, name)));
        }
        for result in message.tool_results().filter(|result| result.is_error == Some(true)) {
            let called = result.call_id.as_ref().and_then(|id| self.called.get(id)).or(result.name.as_ref());
            let name = called.cloned().unwrap_or_default();
            self.tool(&name, Counts { failed_calls: 1, ..Counts::default() });
        }
    }

    /// Counts what the log says only of the whole session: the model of answers that
    /// name none, and what all of them took.
    fn as_a_whole(&mut self) {
        let whole = self.outcome.usage.take().unwrap_or_default();
        let model = whole.model.clone().or_else(|| self.outcome.model.take()).unwrap_or_default();
        // Where some answers name their model, nobody knows whose the others are.
        if self.tally.models.keys().chain(self.took.values().map(|took| &took.model)).all(String::is_empty) {
            if let Some(unnamed) = self.tally.models.remove("") {
                self.tally.models.entry(model.clone()).or_default().add(&unnamed);
            }
            self.took.values_mut().for_each(|took| took.model.clone_from(&model));
        }
        let is_counted = whole.input.or(whole.output).or(whole.total).is_some();
        if !is_counted || self.took.values().any(|took| took.counts.with_usage > 0) {
            return;
        }
        let answers = self.took.values().map(|took| took.counts.answers).sum();
        let cost = whole.cost.as_ref().and_then(Number::as_f64);
        let counts = Counts {
            with_usage: answers,
            with_cost: if cost.is_some() { answers } else { 0 },
            input: whole.input,
            output: whole.output,
            cache_read: whole.cache_read,
            cache_write: whole.cache_write,
            reasoning: whole.reasoning,
            cost,
            ..Counts::default()
        };
        self.took.insert("\n".to_owned(), Took { model, month: self.last_month.clone(), counts });
    }

    fn tool(&mut self, name: &str, counts: Counts) {
        self.tally.all.add(&counts);
        self.tally.tools.entry(name.to_owned()).or_default().add(&counts);
    }

    /// Counts what answers took, and the session itself, once for each group.
    fn tally(mut self, format: &str) -> Tally {
        self.as_a_whole();
        let mut took: Vec<(String, Took)> = self.took.drain().collect();
        // Sums of costs depend on their order.
        took.sort_by(|a, b| a.0.cmp(&b.0));
        for (_, Took { model, month, counts }) in took {
            self.tally.all.add(&counts);
            self.tally.months.entry(month).or_default().add(&counts);
            self.tally.models.entry(model).or_default().add(&counts);
        }
        let mut tally = self.tally;
        tally.all.sessions = 1;
        [&mut tally.models, &mut tally.months, &mut tally.tools]
            .into_iter()
            .flat_map(BTreeMap::values_mut)
            .for_each(|counts| counts.sessions = 1);
        tally.programs.insert(format.to_owned(), tally.all.clone());
        tally
    }
}
