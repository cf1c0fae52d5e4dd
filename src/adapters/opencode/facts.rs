//! Rows that are facts by themselves: each column that is not NULL is a member, and a
//! text that is a JSON object or list is given as that.

use crate::json::{self, Escapes, Kind, Value};
use crate::model::event::EventKind;
use crate::model::rows::{RowValue, RowsHeader};
use crate::runtimes::javascript;

use super::text::{Columns, quoted};

/// Tables whose rows are facts: what they are called there.
const TABLES: &[&str] =
    &["project", "project_directory", "workspace", "permission", "todo", "session_message", "session_input", "session_context_epoch"];

/// In `ext`: the hidden number of the row.
pub(super) const ROWID: &str = "$rowid";

/// The columns of a session by the facts that they are; a fact may be inside of
/// another. Those of one object stand together.
const SESSION: &[(&str, &str, &str)] = &[
    ("slug", "slug", ""),
    ("version", "program_version", ""),
    ("project_id", "project", ""),
    ("workspace_id", "workspace", ""),
    ("directory", "cwd", ""),
    ("path", "path", ""),
    ("parent_id", "parent_session", ""),
    ("title", "title", ""),
    ("agent", "agent", ""),
    ("model", "model", ""),
    ("permission", "permission", ""),
    ("time_created", "time", "created"),
    ("time_updated", "time", "updated"),
    ("time_compacting", "time", "compacting"),
    ("time_archived", "time", "archived"),
    ("summary_additions", "summary", "additions"),
    ("summary_deletions", "summary", "deletions"),
    ("summary_files", "summary", "files"),
    ("summary_diffs", "summary", "diffs"),
    ("tokens_input", "usage", "input"),
    ("tokens_output", "usage", "output"),
    ("tokens_reasoning", "usage", "reasoning"),
    ("tokens_cache_read", "usage", "cache_read"),
    ("tokens_cache_write", "usage", "cache_write"),
    ("cost", "usage", "cost"),
    ("share_url", "share", "url"),
    ("metadata", "metadata", ""),
    ("revert", "revert", ""),
];

/// A fact that a row is.
pub(super) struct Fact {
    pub(super) kind: EventKind,
    pub(super) payload: Vec<u8>,
}

/// The fact that the row of one of these tables is, where it gives the row back.
pub(super) fn fact(columns: &Columns<'_, '_>, own: &[u8]) -> Option<Fact> {
    let table = columns.header.table.as_str();
    let fact = if table == "session" && columns.header.all.is_some() {
        Fact { kind: EventKind::Meta, payload: session(columns) }
    } else if TABLES.contains(&table) {
        Fact { kind: EventKind::Custom, payload: other(table, columns) }
    } else {
        return None;
    };
    (row_of(fact.kind, Value::trusted(&fact.payload), columns.header).as_deref() == Some(own)).then_some(fact)
}

fn session(columns: &Columns<'_, '_>) -> Vec<u8> {
    let mut out = b"{\"of\":\"session\"".to_vec();
    let value = |column: &str| columns.values.iter().find(|(name, value)| *name == column && !value.is_null()).map(|(_, value)| *value);
    let mut open = "";
    for (column, member, inside) in SESSION {
        let Some(value) = value(column) else { continue };
        if !open.is_empty() && open != *member {
            out.push(b'}');
            open = "";
        }
        out.push(b',');
        if inside.is_empty() {
            push_name(member, &mut out);
        } else if open == *member {
            push_name(inside, &mut out);
        } else {
            push_name(member, &mut out);
            out.push(b'{');
            push_name(inside, &mut out);
            open = member;
        }
        push_value(value, &mut out);
    }
    if !open.is_empty() {
        out.push(b'}');
    }
    let unknown = columns.values.iter().filter(|(name, value)| !value.is_null() && SESSION.iter().all(|(column, _, _)| column != name));
    push_ext(columns.rowid, unknown, &mut out);
    out.push(b'}');
    out
}

fn other(table: &str, columns: &Columns<'_, '_>) -> Vec<u8> {
    let mut out = b"{\"type\":".to_vec();
    out.extend_from_slice(&quoted(table));
    out.extend_from_slice(b",\"data\":{");
    for (n, (name, value)) in columns.values.iter().filter(|(_, value)| !value.is_null()).enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_name(name, &mut out);
        push_value(*value, &mut out);
    }
    out.push(b'}');
    push_ext(columns.rowid, std::iter::empty(), &mut out);
    out.push(b'}');
    out
}

fn push_name(name: &str, out: &mut Vec<u8>) {
    json::push_string(name, out);
    out.push(b':');
}

/// Appends the member `ext`, where there is anything to say in it.
fn push_ext<'c, 'a: 'c>(rowid: Option<Value<'a>>, others: impl Iterator<Item = &'c (&'c str, Value<'a>)>, out: &mut Vec<u8>) {
    let all = rowid.map(|number| (ROWID, number)).into_iter().chain(others.copied());
    let members: Vec<Vec<u8>> = all.map(|(name, value)| [&quoted(name), b":".as_slice(), value.text()].concat()).collect();
    if !members.is_empty() {
        out.extend_from_slice(b",\"ext\":{");
        out.extend_from_slice(&members.join(&b','));
        out.push(b'}');
    }
}

/// Appends a value of a row; a text that is the program's print of an object or list
/// as that.
fn push_value(value: Value<'_>, out: &mut Vec<u8>) {
    let text = value.as_str().filter(|_| value.is_string());
    let structured = text.as_ref().and_then(|text| parsed(text)).filter(|parsed| !is_row_value(parsed.token()));
    match structured {
        Some(parsed) => json::push_carried_value(parsed.token(), Escapes::Utf8, out),
        None => out.extend_from_slice(value.text()),
    }
}

/// The object or list that a text is the program's print of.
fn parsed(text: &str) -> Option<javascript::Value<'_>> {
    let parsed = javascript::Value::parse(text.as_bytes()).filter(|_| text.starts_with(['{', '[']))?;
    (javascript::stringify(parsed.token()) == text.as_bytes()).then_some(parsed)
}

/// Tells whether a value has the form in which a row has bytes, or a text that is not
/// UTF-8.
fn is_row_value(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::Object && RowValue::read(Value::trusted(value)).is_some()
}

/// The row that a fact is.
pub(super) fn row_of(kind: EventKind, payload: Value<'_>, header: &RowsHeader) -> Option<Vec<u8>> {
    let ext = payload.first("ext");
    let data = payload.first("data");
    let of = |column: &str| -> Option<Value<'_>> {
        if kind == EventKind::Custom {
            return data?.first(column);
        }
        match SESSION.iter().find(|(name, _, _)| *name == column) {
            Some((_, member, "")) => payload.first(member),
            Some((_, member, inside)) => payload.first(member)?.first(inside),
            None => ext?.first(column),
        }
    };
    let mut others = vec![b'['];
    if header.rowid {
        others.extend_from_slice(ext?.first(ROWID)?.text());
    }
    for column in header.listed() {
        if others.len() > 1 {
            others.push(b',');
        }
        match of(column) {
            None => others.extend_from_slice(b"null"),
            Some(value) if (value.is_object() && !is_row_value(value.text())) || value.is_array() => {
                let text = String::from_utf8(javascript::stringify(value)).ok()?;
                others.extend_from_slice(&quoted(&text));
            }
            Some(value) => others.extend_from_slice(value.text()),
        }
    }
    others.push(b']');
    Some(others)
}
