//! The rows of a session, or those that belong to none, as events.

use serde_json::Number;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::rows;
use crate::json::Value;
use crate::model::event::{EventKind, Fidelity, Outcome, Session, SessionKind, SessionUsage};
use crate::model::files::{Files, RelPath};
use crate::model::finding::Findings;
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::rows::{RowValue, RowsHeader, RowsLine, lines};
use crate::model::stream::{EventSink, StreamError};
use crate::model::time::from_epoch;
use crate::runtimes::python::text::strip_str;

use super::layout::ID;
use super::message::{Columns, Hidden, message};

/// Converts a session, or what belongs to none.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut to = Conversion::new(files, check, events, findings);
    let Some((path, text)) = files.rows() else { return to.trailer(&[]) };
    let session = session_of(text);
    let (session, mut usage) = session.unwrap_or_else(|| (rest_of(path, text), SessionUsage::default()));
    let model = usage.model.take();
    to.put_json(EventKind::Session, &session)?;
    let mut chain = Chain { last: Seq::ROOT, review: Review::default() };
    rows::read(&mut to, path, text, &mut |to, header, row| chain.put(to, header, row))?;
    if chain.last.is_root() {
        to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
    }
    let active = HeadName::main().to_string();
    let outcome = Outcome { active: Some(active.clone()), model, usage: usage.if_any(), ..Outcome::default() };
    to.put_json(EventKind::Outcome, &outcome)?;
    to.events.close_facts(&active)?;
    to.trailer(&[])
}

/// What the log says of itself where it is of no session.
fn rest_of(path: &RelPath, text: &[u8]) -> Session {
    let mut session = Session::new(SessionKind::Store, ID, path.to_string());
    session.fidelity = Some(Fidelity::Rows);
    let mut is_version = false;
    for line in lines(text) {
        match RowsLine::read(line) {
            Some(RowsLine::Rows(header)) => is_version = header.table == "schema_version",
            Some(RowsLine::Row(row)) if is_version => {
                session.format_version = row.elements().last().map(|version| String::from_utf8_lossy(version.text()).into_owned());
                break;
            }
            _ => {}
        }
    }
    session
}

/// What the log says of its session, and what the session took: from its own row,
/// which comes first.
fn session_of(text: &[u8]) -> Option<(Session, SessionUsage)> {
    let mut lines = lines(text);
    let Some(RowsLine::Rows(header)) = lines.next().and_then(RowsLine::read) else { return None };
    let (_, id) = header.all.clone().filter(|_| header.table == "sessions")?;
    let Some(RowsLine::Row(row)) = lines.next().and_then(RowsLine::read) else { return None };
    let columns = Columns::of(&header, row);
    let text = |column: &str| columns.get(column).and_then(|value| value.as_text().map(str::to_owned)).filter(|text| !text.is_empty());
    let mut session = Session::new(SessionKind::Session, ID, id);
    session.fidelity = Some(Fidelity::Rows);
    // The log lies in a folder that has the name of the database.
    session.above = Some(1);
    session.title = text("title");
    session.cwd = text("cwd");
    session.parent_session = text("parent_session_id");
    session.created = columns.get("started_at").and_then(|value| match value {
        RowValue::Real(seconds) => from_epoch(format!("{seconds:?}").as_bytes()),
        RowValue::Integer(seconds) => from_epoch(seconds.to_string().as_bytes()),
        RowValue::Null | RowValue::Text(_) | RowValue::Blob(_) => None,
    });
    let count = |column: &str| match columns.get(column) {
        Some(RowValue::Integer(count)) => u64::try_from(count).ok(),
        None | Some(RowValue::Null | RowValue::Real(_) | RowValue::Text(_) | RowValue::Blob(_)) => None,
    };
    let cost = |column: &str| match columns.get(column) {
        Some(RowValue::Real(cost)) => Number::from_f64(cost),
        Some(RowValue::Integer(cost)) => Some(Number::from(cost)),
        None | Some(RowValue::Null | RowValue::Text(_) | RowValue::Blob(_)) => None,
    };
    let usage = SessionUsage {
        model: text("model"),
        input: count("input_tokens"),
        output: count("output_tokens"),
        reasoning: count("reasoning_tokens"),
        cache_read: count("cache_read_tokens"),
        cache_write: count("cache_write_tokens"),
        total: None,
        // An estimate of nothing is what the program writes of a model whose price it
        // does not know.
        cost: cost("actual_cost_usd").or_else(|| cost("estimated_cost_usd").filter(|cost| cost.as_f64() > Some(0.0))),
    };
    Some((session, usage))
}

/// The messages of a session, one after the other.
struct Chain {
    last: Seq,
    review: Review,
}

impl Chain {
    fn put<'a>(&mut self, to: &mut Conversion<'a, '_>, header: &RowsHeader, row: Value<'a>) -> Result<Option<Seq>, StreamError> {
        if header.table != "messages" || header.all.is_none() || header.rowid {
            return Ok(None);
        }
        let columns = Columns::of(header, row);
        let hidden = match (columns.get("active"), columns.get("compacted")) {
            (None | Some(RowValue::Integer(1)), _) => self.review.hides(&columns).then_some(Hidden::Review),
            (_, Some(RowValue::Integer(1))) => Some(Hidden::Compacted),
            (_, _) => Some(Hidden::Rewound),
        };
        let Some(message) = message(&columns, hidden) else { return Ok(None) };
        self.last = to.put(EventKind::Message, message.ts.as_deref(), Some(self.last), &message.payload)?;
        Ok(Some(self.last))
    }
}

/// The program's own review of a conversation: a prompt of its own and the answer
/// directly after it, which it does not show.
#[derive(Default)]
struct Review {
    answer_is_next: bool,
}

const REVIEWS: [&str; 2] =
    ["Review the conversation above and update the skill library", "Review the conversation above and consider saving to memory"];

impl Review {
    /// Whether a message of the program's view is a part of a review.
    fn hides(&mut self, columns: &Columns<'_>) -> bool {
        let role = columns.get("role");
        let role = role.as_ref().and_then(RowValue::as_text).unwrap_or_default();
        if std::mem::take(&mut self.answer_is_next) && role == "assistant" {
            return true;
        }
        let content = columns.get("content");
        let text = content.as_ref().and_then(RowValue::as_text).unwrap_or_default();
        let is_prompt = matches!(role, "user" | "system") && REVIEWS.iter().any(|prompt| strip_str(text).starts_with(prompt));
        self.answer_is_next = is_prompt;
        is_prompt
    }
}
