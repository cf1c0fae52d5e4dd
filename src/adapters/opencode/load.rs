//! What opencode itself would load: `GET /session/<id>/message` of 1.18.33, from the
//! text of a session's rows. Written again from its behaviour. It shares JavaScript
//! itself ([`crate::runtimes::javascript`]) and nothing else with the rest of this
//! adapter.
//!
//! The rows of `message` come by `time_created` and `id`, each with the rows of `part`
//! that name it, by `id`. What is shown is the object in `data` with the ids, which are
//! columns; here they come first. Data that is not JSON makes the request fail. The
//! session's own row and its journal are not looked at.
//!
//! Heads: `branch:main`. Facts: none. Error: [`NOT_LOADED`].

use std::collections::BTreeMap;

use crate::model::files::Files;
use crate::model::heads::HeadName;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::rows::{RowValue, RowsLine, lines};
use crate::runtimes::javascript::{Numbers, ObjectWriter, Value, decode_utf8, is_key, printed_raw, push_string};

/// Some data is not JSON.
const NOT_LOADED: &str = "the data of a message or of a part is not JSON";

/// The loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session { text: files.rows().map(|(_, text)| text).unwrap_or_default() })
}

struct Session<'f> {
    text: &'f [u8],
}

/// A row by the names of its columns.
type Row<'f> = BTreeMap<String, RowValue<'f>>;

impl<'f> Session<'f> {
    /// The rows of a table that name the session, and its id.
    fn rows(&self, table: &str) -> (Vec<Row<'f>>, String) {
        let mut columns: Option<(Vec<String>, usize)> = None;
        let (mut rows, mut session) = (Vec::new(), String::new());
        for line in lines(self.text) {
            match RowsLine::read(line) {
                Some(RowsLine::Rows(header)) => {
                    columns = None;
                    if let Some((_, id)) = header.all.clone().filter(|_| header.table == table) {
                        columns = Some((header.listed().map(str::to_owned).collect(), usize::from(header.rowid)));
                        session = id;
                    }
                }
                Some(RowsLine::Row(row)) => {
                    if let Some((columns, skip)) = &columns {
                        rows.push(columns.iter().cloned().zip(row.elements().skip(*skip).filter_map(RowValue::read)).collect());
                    }
                }
                Some(RowsLine::Database(_) | RowsLine::Schema(_) | RowsLine::LeftOut(_)) | None => {}
            }
        }
        (rows, session)
    }

    /// Every message as one line; `None` where the request fails.
    fn lines(&self) -> Option<Vec<Vec<u8>>> {
        let (mut messages, session) = self.rows("message");
        // SQLite sorts numbers before texts, and texts by their bytes.
        messages.sort_by(|a, b| time_of(a).total_cmp(&time_of(b)).then_with(|| id_of(a).cmp(&id_of(b))));
        let (mut parts, _) = self.rows("part");
        parts.sort_by_key(id_of);
        let mut of_message: BTreeMap<String, Vec<&Row<'_>>> = BTreeMap::new();
        for part in &parts {
            if let Some(message) = text(part, "message_id") {
                of_message.entry(message.to_owned()).or_default().push(part);
            }
        }
        let mut lines = Vec::with_capacity(messages.len());
        for message in &messages {
            let Some(id) = text(message, "id") else { continue };
            let mut line = b"{\"info\":".to_vec();
            push_object(message, &[("id", id), ("sessionID", &session)], &mut line)?;
            line.extend_from_slice(b",\"parts\":[");
            let mut count = 0;
            for part in of_message.get(id).into_iter().flatten() {
                let Some(own) = text(part, "id") else { continue };
                if count > 0 {
                    line.push(b',');
                }
                push_object(part, &[("id", own), ("sessionID", &session), ("messageID", id)], &mut line)?;
                count += 1;
            }
            line.extend_from_slice(b"]}");
            // A number as a key comes before all names.
            lines.push(printed_raw(Value::accepted(line.as_slice()).token(), Numbers::Printed).into_owned());
        }
        Some(lines)
    }
}

/// `{...data, ...ids}`, with the ids first.
fn push_object(row: &Row<'_>, ids: &[(&str, &str)], out: &mut Vec<u8>) -> Option<()> {
    let data = match row.get("data") {
        Some(RowValue::Text(data)) => decode_utf8(data).into_owned(),
        Some(RowValue::Blob(_)) => return None,
        Some(RowValue::Null | RowValue::Integer(_) | RowValue::Real(_)) | None => b"null".to_vec(),
    };
    let data = Value::parse(&data)?;
    let mut object = ObjectWriter::new(out);
    for (name, id) in ids {
        object.raw(name, |out| push_string(id.as_bytes(), out));
    }
    for member in data.members() {
        if !ids.iter().any(|(name, _)| is_key(member.key(), name)) {
            object.copy(member.key(), Value::accepted(member.value()));
        }
    }
    object.close();
    Some(())
}

fn text<'r>(row: &'r Row<'_>, column: &str) -> Option<&'r str> {
    row.get(column).and_then(RowValue::as_text)
}

fn id_of(row: &Row<'_>) -> String {
    text(row, "id").unwrap_or_default().to_owned()
}

fn time_of(row: &Row<'_>) -> f64 {
    match row.get("time_created") {
        None | Some(RowValue::Null) => f64::NEG_INFINITY,
        Some(RowValue::Integer(time)) => *time as f64,
        Some(RowValue::Real(time)) => *time,
        Some(RowValue::Text(_) | RowValue::Blob(_)) => f64::INFINITY,
    }
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        LoadOutcome::of_one_list(head, self.lines().ok_or(NOT_LOADED), show)
    }
}

#[cfg(test)]
mod tests;
