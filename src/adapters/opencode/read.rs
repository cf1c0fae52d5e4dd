//! The rows of a session, or those that belong to none, as events.

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::rows;
use crate::model::event::{EventKind, Fidelity, Outcome, Session, SessionKind};
use crate::model::files::{Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::rows::RowValue;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::javascript::to_iso_string;

use super::facts;
use super::journal;
use super::layout::{CHANGES, ID, OLDER_CHANGES};
use super::messages::Messages;
use super::reader::Reader;
use super::text::RowsText;

/// Why the program's loader gives up.
const NOT_LOADED: &str = "the data of a message or of a part is not JSON";

/// Converts a session, or what belongs to none.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let to = Conversion::new(files, check, events, findings);
    let Some((path, bytes)) = files.rows() else { return to.trailer(&[]) };
    let text = RowsText::of(bytes);
    let session = session_of(&text);
    let mut reader = Reader::new(to, path, bytes, &text);
    reader.to.put_json(EventKind::Session, session.as_ref().unwrap_or(&rest_of(path, &text)))?;
    let error = match session {
        Some(_) => session_rows(&mut reader)?,
        None => {
            reader.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
            (0..text.lines.len()).try_for_each(|n| line(&mut reader, n))?;
            None
        }
    };
    finish(reader, error)
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

/// Puts the rows of a session: its own row, which stands first, then its messages, then
/// the rows that they and everything else are of. Returns why the program does not load
/// the session, if it does not.
fn session_rows(reader: &mut Reader<'_, '_, '_>) -> Result<Option<&'static str>, StreamError> {
    let count = reader.text.lines.len();
    let own = count.min(OWN_LINES);
    (0..own).try_for_each(|n| line(reader, n))?;
    let not_json = Messages::of(reader.text).put(reader)?;
    if let Some(id) = &not_json {
        let message = format!("the data of {id} is not JSON; its row is kept");
        reader.to.findings.add(FindingCode::NotJson, Location::file(reader.path.to_string()), message);
    }
    (own..count).try_for_each(|n| line(reader, n))?;
    Ok(not_json.map(|_| NOT_LOADED))
}

/// The header of the session's own row, and that row.
const OWN_LINES: usize = 2;

/// Puts the event that a line is, or notes from which message its row comes back.
fn line(reader: &mut Reader<'_, '_, '_>, n: usize) -> Result<(), StreamError> {
    let text = reader.text;
    let Some(line) = text.lines.get(n).copied() else { return Ok(()) };
    if reader.rebuild_from_piece(n, line)? {
        return Ok(());
    }
    let said = match text.row(n) {
        Some(row) if row.header.table == journal::TABLE && row.header.all.is_some() => journal::put(reader, &row, line.bytes)?,
        Some(row) => match facts::fact(&row, line.bytes) {
            Some(fact) => Some(reader.to.put(fact.kind, None, None, &fact.payload)?),
            None => None,
        },
        None => None,
    };
    let seq = match said {
        Some(seq) => seq,
        None => rows::put_line(&mut reader.to, reader.path, line.bytes)?,
    };
    reader.rebuild_from(seq);
    Ok(())
}

fn finish(mut reader: Reader<'_, '_, '_>, error: Option<&str>) -> Result<ReadSummary, StreamError> {
    if error.is_some() {
        let message = "opencode answers the request for this session's messages with an error";
        reader.to.findings.add(FindingCode::LoaderFails, Location::file(reader.to.files.name().to_owned()), message);
    }
    let active = HeadName::main().to_string();
    let outcome = Outcome { active: Some(active.clone()), error: error.map(str::to_owned), ..Outcome::default() };
    reader.to.put_json(EventKind::Outcome, &outcome)?;
    reader.to.events.close_facts(&active)?;
    reader.finish()
}
