//! A message or part as one object: the ids, which are columns, and then what the
//! column `data` says. So has the program itself them everywhere but in its tables.

use crate::json::{self, Kind};
use crate::model::rows::RowValue;
use crate::runtimes::javascript::{Value, decode_utf8, is_key};

use super::text::{Columns, quoted};

/// The ids of a message, and of a part.
pub(super) const MESSAGE_IDS: &[&str] = &["id", "sessionID"];
pub(super) const PART_IDS: &[&str] = &["id", "sessionID", "messageID"];

/// What the column of a message or part with its data is called.
pub(super) const DATA: &str = "data";

/// Why a row is not a message or part that the program can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRecord {
    /// It has no id that is a text.
    NoId,
    /// Its data is not JSON.
    NotJson,
}

/// A message or part.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) id: String,
    /// The whole object.
    pub(super) object: Vec<u8>,
}

impl Record {
    /// Reads the row of a message.
    pub(super) fn of_message(row: &Columns<'_, '_>) -> Result<Record, NoRecord> {
        let id = row.text("id").ok_or(NoRecord::NoId)?;
        let object = object(MESSAGE_IDS, &[&id, row.session()], row)?;
        Ok(Record { id, object })
    }

    /// Reads the row of a part.
    pub(super) fn of_part(row: &Columns<'_, '_>) -> Result<Record, NoRecord> {
        let (id, message) = row.text("id").zip(row.text("message_id")).ok_or(NoRecord::NoId)?;
        let object = object(PART_IDS, &[&id, row.session(), &message], row)?;
        Ok(Record { id, object })
    }
}

fn object(names: &[&str], ids: &[&str], row: &Columns<'_, '_>) -> Result<Vec<u8>, NoRecord> {
    let data = match row.get(DATA) {
        Some(RowValue::Text(text)) => decode_utf8(&text).into_owned(),
        Some(RowValue::Blob(_)) => return Err(NoRecord::NotJson),
        // What is not text is parsed as the text of it, and has no properties.
        Some(RowValue::Null | RowValue::Integer(_) | RowValue::Real(_)) | None => b"{}".to_vec(),
    };
    let data = Value::parse(&data).ok_or(NoRecord::NotJson)?;
    let mut out = vec![b'{'];
    for (name, id) in names.iter().zip(ids) {
        push_member(&quoted(name), &quoted(id), &mut out);
    }
    for member in data.members().filter(|member| !names.iter().any(|name| is_key(member.key(), name))) {
        push_member(member.key(), member.value().text(), &mut out);
    }
    out.push(b'}');
    Ok(out)
}

fn push_member(key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(key);
    out.push(b':');
    out.extend_from_slice(value);
}

/// Takes an object apart again: the ids at its beginning, and the text of its data.
/// `None` where it does not begin with these ids.
pub(super) fn apart(object: &[u8], names: &[&str]) -> Option<(Vec<String>, String)> {
    let members = (json::kind_of(object) == Kind::Object).then(|| json::all_members(object))?;
    let begins = members.len() >= names.len() && members.iter().zip(names).all(|(member, name)| member.is(name));
    if !begins {
        return None;
    }
    let (ids, rest) = members.split_at(names.len());
    let ids = ids.iter().map(|id| json::Value::trusted(id.value).as_str().map(|id| id.into_owned())).collect::<Option<Vec<String>>>()?;
    let mut data = vec![b'{'];
    rest.iter().for_each(|member| push_member(member.key, member.value, &mut data));
    data.push(b'}');
    Some((ids, String::from_utf8(data).ok()?))
}
