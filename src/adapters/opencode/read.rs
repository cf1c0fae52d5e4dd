//! The rows of a session, or those that belong to none, as events.

use std::collections::HashMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::part_records::MESSAGE;
use crate::adapters::kit::rows;
use crate::model::event::{EventKind, Fidelity, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::rows::RowValue;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::javascript::to_iso_string;

use super::facts;
use super::journal;
use super::layout::{CHANGES, ID, OLDER_CHANGES};
use super::messages::{Messages, Source};
use super::text::RowsText;

/// Why the program's loader gives up.
const NOT_LOADED: &str = "the data of a message or of a part is not JSON";

/// Converts a session, or what belongs to none.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let to = Conversion::new(files, check, events, findings);
    let Some((path, bytes)) = rows_of(files) else { return to.trailer(&[]) };
    let text = RowsText::of(bytes);
    let session = session_of(&text);
    let mut reader = Reader {
        to,
        path,
        bytes,
        text: &text,
        shapes: Shapes::new(MESSAGE.order()),
        recipe: RecipeBuilder::default(),
        sources: HashMap::new(),
        pieces: HashMap::new(),
    };
    reader.to.put_json(EventKind::Session, session.as_ref().unwrap_or(&rest_of(path, &text)))?;
    if session.is_none() {
        reader.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
    }
    let error = reader.rows(session.is_some())?;
    reader.finish(error)
}

pub(super) fn rows_of(files: &Files) -> Option<(&RelPath, &[u8])> {
    files.iter().find_map(|(path, entry)| match entry {
        Entry::Rows(rows) => Some((path, rows.bytes.as_slice())),
        Entry::File(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
    })
}

/// What the log says of itself where it is of no session.
fn rest_of(path: &RelPath, text: &RowsText<'_>) -> Session {
    let mut session = Session::new(SessionKind::Store, ID, path.to_string());
    session.fidelity = Some(Fidelity::Rows);
    let changes = (0..text.lines.len()).filter_map(|n| text.row(n)).filter_map(|row| match row.header.table.as_str() {
        CHANGES => row.text("id"),
        OLDER_CHANGES => row.get("created_at").map(|time| String::from_utf8_lossy(&time.to_json()).into_owned()),
        _ => None,
    });
    session.format_version = changes.max();
    session
}

/// What the log says of its session, from its own row, which comes first.
fn session_of(text: &RowsText<'_>) -> Option<Session> {
    let (_, row) = text.rows_of("session").next()?;
    let mut session = Session::new(SessionKind::Session, ID, row.session());
    session.fidelity = Some(Fidelity::Rows);
    // The log lies in a folder that has the name of the database.
    session.above = Some(1);
    let some = |column: &str| row.text(column).filter(|text| !text.is_empty());
    session.title = some("title");
    session.cwd = some("directory");
    session.format_version = some("version");
    session.parent_session = some("parent_id");
    session.created = row.get("time_created").and_then(|time| match time {
        RowValue::Integer(ms) => to_iso_string(ms),
        RowValue::Null | RowValue::Real(_) | RowValue::Text(_) | RowValue::Blob(_) => None,
    });
    Some(session)
}

/// A conversion in progress.
pub(super) struct Reader<'a, 's, 't> {
    pub(super) to: Conversion<'a, 's>,
    pub(super) path: &'a RelPath,
    bytes: &'a [u8],
    pub(super) text: &'t RowsText<'a>,
    pub(super) shapes: Shapes,
    recipe: RecipeBuilder,
    /// Where each message and part of the log is from, by its id.
    pub(super) sources: HashMap<String, Source>,
    /// How the rows of messages and parts are rebuilt, by the numbers of their lines.
    pieces: HashMap<usize, Piece>,
}

/// How the row of a message or part is rebuilt.
struct Piece {
    of: Seq,
    /// As the recipe has it.
    json: String,
    /// What it is rendered to, where that is not the row.
    other: Option<Vec<u8>>,
}

impl<'a> Reader<'a, '_, '_> {
    /// Puts an event for each line, and the messages before the rows that they are of.
    /// Returns why the program does not load the session, if it does not.
    fn rows(&mut self, is_session: bool) -> Result<Option<&'static str>, StreamError> {
        let text = self.text;
        let mut error = None;
        let mut is_put = false;
        for (n, line) in text.lines.iter().enumerate() {
            let Some(header) = text.header(*line) else {
                let seq = rows::put_line(&mut self.to, line.bytes)?;
                self.recipe.events(seq, seq, |_, _| true);
                // The session's own row is the first line of all that has a header.
                if is_session && n > 1 && !std::mem::replace(&mut is_put, true) {
                    error = self.messages()?;
                }
                continue;
            };
            if let Some(piece) = self.pieces.remove(&n) {
                self.piece(line.bytes, piece)?;
                continue;
            }
            let columns = text.row(n);
            let said = match &columns {
                Some(columns) if header.table == journal::TABLE && header.all.is_some() => journal::put(self, columns, line.bytes)?,
                Some(columns) => match facts::fact(columns, line.bytes) {
                    Some(fact) => Some(self.to.put(fact.kind, None, None, &fact.payload)?),
                    None => None,
                },
                None => None,
            };
            let seq = match said {
                Some(seq) => seq,
                None => rows::put_line(&mut self.to, line.bytes)?,
            };
            self.recipe.events(seq, seq, |_, _| true);
        }
        if is_session && !is_put {
            error = self.messages()?;
        }
        Ok(error)
    }

    /// Puts the messages of the session, those that are gone from its tables included.
    fn messages(&mut self) -> Result<Option<&'static str>, StreamError> {
        let not_json = Messages::of(self.text).put(self)?;
        if let Some(id) = &not_json {
            let message = format!("the data of {id} is not JSON; its row is kept");
            self.to.findings.add(FindingCode::NotJson, Location::file(self.path.to_string()), message);
        }
        Ok(not_json.map(|_| NOT_LOADED))
    }

    /// Notes how the row at a line is rebuilt.
    pub(super) fn note_piece(&mut self, line: usize, of: Seq, json: String, rendered: Vec<u8>) {
        let is_it = self.text.lines.get(line).is_some_and(|line| line.bytes == rendered);
        self.pieces.insert(line, Piece { of, json, other: (!is_it).then_some(rendered) });
    }

    /// Notes how the row of a message or part is rebuilt.
    fn piece(&mut self, own: &'a [u8], piece: Piece) -> Result<(), StreamError> {
        let Piece { of, json, other } = piece;
        let Some(rendered) = other else {
            self.recipe.own(json);
            return Ok(());
        };
        // A piece renders the end of its line too.
        let span = crate::json::span_in(self.bytes, own);
        let with_end = self.bytes.get(span.start..=span.end).unwrap_or(own);
        let count = self.to.residual_piece(of, json, &[rendered.as_slice(), b"\n"].concat(), with_end)?;
        self.recipe.residual(count);
        Ok(())
    }

    fn finish(mut self, error: Option<&str>) -> Result<ReadSummary, StreamError> {
        if error.is_some() {
            let message = "opencode answers the request for this session's messages with an error";
            self.to.findings.add(FindingCode::LoaderFails, Location::file(self.to.files.name().to_owned()), message);
        }
        let active = HeadName::main().to_string();
        let outcome = Outcome { active: Some(active.clone()), error: error.map(str::to_owned), ..Outcome::default() };
        self.to.put_json(EventKind::Outcome, &outcome)?;
        self.to.events.close_facts(&active)?;
        self.to.rebuilt(self.path, rows::ROWS, None, self.recipe);
        self.to.trailer(self.shapes.others())
    }
}
