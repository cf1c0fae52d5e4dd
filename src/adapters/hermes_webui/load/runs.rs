//! The run journals: what the program's summary of each run says.

use std::collections::BTreeMap;

use crate::json::Value;
use crate::runtimes::python::convert::int_or_zero;
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::strings::push_utf8;
use crate::runtimes::python::value::{is_truthy, pick};

use super::lines::{JournalLine, events};
use super::unit::{PathContent, is_journal_id};

/// As for the turn journal, one call further down.
const TOO_DEEP: usize = 994;

/// The runs of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// A JSON object: per run its summary.
    pub summaries: Option<String>,
    /// A JSON list of the runs whose summary raises.
    pub failures: Option<String>,
}

/// Summarises every run whose name is one, in byte order.
#[must_use]
pub fn summarise(runs: &BTreeMap<&[u8], PathContent<'_>>) -> Runs {
    let (mut summaries, mut failures) = (Vec::new(), Vec::new());
    for (id, found) in runs.iter().filter(|(id, found)| is_journal_id(id) && **found != PathContent::Nothing) {
        match summary(*found) {
            Some(summary) => {
                summaries.push(if summaries.is_empty() { b'{' } else { b',' });
                push_utf8(id, &mut summaries);
                summaries.push(b':');
                summary.push(&mut summaries);
            }
            None => {
                failures.push(if failures.is_empty() { b'[' } else { b',' });
                push_utf8(id, &mut failures);
            }
        }
    }
    let closed = |out: Vec<u8>, closer: &str| (!out.is_empty()).then(|| String::from_utf8_lossy(&out).into_owned() + closer);
    Runs { summaries: closed(summaries, "}"), failures: closed(failures, "]") }
}

struct Summary<'a> {
    state: State<'a>,
    events: usize,
    malformed: usize,
    last_seq: String,
    last_event: Option<Value<'a>>,
}

enum State<'a> {
    /// No event at all.
    Unknown,
    /// None that ends the run.
    Running,
    /// What the row that ends it says.
    Ended(Option<Value<'a>>),
}

impl Summary<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"state\":");
        match self.state {
            State::Unknown => out.extend_from_slice(b"\"unknown\""),
            State::Running => out.extend_from_slice(b"\"running\""),
            State::Ended(state) => push(state.unwrap_or_default(), Form::Utf8, out),
        }
        out.extend_from_slice(format!(",\"events\":{},\"last_seq\":{},\"last_event\":", self.events, self.last_seq).as_bytes());
        push(self.last_event.unwrap_or_default(), Form::Utf8, out);
        if self.malformed > 0 {
            out.extend_from_slice(format!(",\"malformed\":{}", self.malformed).as_bytes());
        }
        out.push(b'}');
    }
}

/// Returns the summary of one run; none where making it raises.
fn summary(found: PathContent<'_>) -> Option<Summary<'_>> {
    let (mut count, mut malformed) = (0, 0);
    let mut last = None;
    // The last row that ends the run, and the last such that does more than
    // close the stream, which goes first.
    let (mut any_end, mut real_end) = (None, None);
    for line in events(found.text()?, TOO_DEEP) {
        let object = match line.ok()? {
            JournalLine::Event(object) => object,
            JournalLine::Malformed => {
                malformed += 1;
                continue;
            }
        };
        count += 1;
        last = Some(object);
        let [terminal, name, state] = pick(object, ["terminal", "event", "terminal_state"]);
        if terminal.is_some_and(is_truthy) {
            any_end = Some(state);
            if !name.is_some_and(|name| name.is_str("stream_end")) {
                real_end = Some(state);
            }
        }
    }
    let state = match (real_end.or(any_end), last) {
        (Some(state), _) => State::Ended(state),
        (None, Some(_)) => State::Running,
        (None, None) => State::Unknown,
    };
    let [seq, last_event] = last.map_or([None, None], |last| pick(last, ["seq", "event"]));
    let last_seq = int_or_zero(seq).ok()?;
    Some(Summary { state, events: count, malformed, last_seq, last_event })
}
