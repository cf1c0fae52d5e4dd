//! Which files of the JSON tree are in a database, by the rules of the program's own
//! migration: a message or part is a row whose `data` is the file as JavaScript
//! prints it, without the ids that are columns; other files are rows by field.

use crate::adapters::containment::{Answer, Containment, FoundIn, Judged, NewStore, OldStore, RecordPlace, Rescue, Verdict};
use crate::model::database::{Cell, Query, Tables, TablesError};
use crate::model::files::RelPath;
use crate::runtimes::javascript::{Type, Value, push_string, stringify};

use super::rescue::Rescuer;
use super::tree::{Record, record};
use crate::maintenance::value_loss::lost;

/// The tree in the database.
pub(super) struct TreeInDatabase;

/// What a file's rows say of it.
struct Judgement {
    verdict: Verdict,
    why: Vec<String>,
}

impl Judgement {
    fn of(verdict: Verdict) -> Judgement {
        Judgement { verdict, why: Vec::new() }
    }

    fn changed(why: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Changed, why: vec![why.into()] }
    }
}

impl Containment for TreeInDatabase {
    fn knows(&self, tables: &dyn Tables) -> bool {
        let has = |table: &str, columns: &[&str]| {
            let known = tables.columns(table);
            columns.iter().all(|name| known.iter().any(|column| column == name))
        };
        has("message", &["id", "session_id", "data"]) && has("part", &["id", "message_id", "data"]) && has("session", &["project_id"])
    }

    fn cannot_rescue(&self) -> Option<&'static str> {
        None
    }

    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, rescue: Rescue, answer: &mut dyn Answer) -> Result<(), TablesError> {
        let OldStore::Files(files) = old else {
            return Err(TablesError("only the JSON tree can be compared with this program's database".to_owned()));
        };
        let paths = files.paths();
        let mut rescuer = (rescue == Rescue::Wanted).then(|| Rescuer::of(&paths));
        for path in &paths {
            let Some((below, record)) = record(path) else { continue };
            let bytes = files.read(path);
            let judged = match &bytes {
                Ok(bytes) => judge(&record, bytes, new.tables)?,
                Err(error) => Judgement { verdict: Verdict::Unreadable, why: vec![error.0.clone()] },
            };
            let (found, found_in) = if judged.verdict.is_contained() { (FoundIn::Live, None) } else { elsewhere(&below, new, bytes.ok()) };
            if let Some(rescuer) = &mut rescuer
                && matches!(judged.verdict, Verdict::Missing | Verdict::Changed)
            {
                rescuer.add(&below, &record);
            }
            answer.judged(Judged {
                verdict: judged.verdict,
                file: Some(below),
                place: RecordPlace::File,
                found,
                found_in,
                why: judged.why,
            });
        }
        rescuer.map_or(Ok(()), |rescuer| rescuer.write(files, answer))
    }
}

/// Returns where a file is besides the database: the tree that later versions leave beside it.
fn elsewhere(below: &str, new: NewStore<'_>, bytes: Option<Vec<u8>>) -> (FoundIn, Option<String>) {
    let path = format!("storage/{below}");
    let is_there = bytes.is_some() && new.state.read(&RelPath::new(&path)) == bytes;
    if is_there { (FoundIn::StateFolder, Some(path)) } else { (FoundIn::Nowhere, None) }
}

/// Returns what the database says of one record of the tree.
pub(super) fn verdict(record: &Record, bytes: &[u8], tables: &dyn Tables) -> Result<Verdict, TablesError> {
    judge(record, bytes, tables).map(|judged| judged.verdict)
}

fn judge(record: &Record, bytes: &[u8], tables: &dyn Tables) -> Result<Judgement, TablesError> {
    let Some(value) = std::str::from_utf8(bytes).ok().and_then(|_| Value::parse(bytes)) else {
        let why = if bytes.is_empty() { "an empty file" } else { "not JSON" };
        return Ok(Judgement { verdict: Verdict::Unreadable, why: vec![why.to_owned()] });
    };
    match record {
        Record::Message { session, id } => row(value, id, ("message", "session_id", session), tables),
        Record::Part { message, id } => row(value, id, ("part", "message_id", message), tables),
        Record::Session { id } => fields(value, id, ("session", SESSION_FIELDS), tables),
        Record::Project { id } => fields(value, id, ("project", PROJECT_FIELDS), tables),
        Record::Todo { session } => todo(value, session, tables),
    }
}

/// Returns the rows of a table with this id.
fn rows(tables: &dyn Tables, table: &str, columns: &[&str], only: (&str, &str), order: &[&str]) -> Result<Vec<Vec<Cell>>, TablesError> {
    let mut found = Vec::new();
    tables.rows(&Query { table, columns, only: Some(only), order }, &mut |cells| found.push(cells.to_vec()))?;
    Ok(found)
}

/// Judges a message or part by the row with its inner id.
fn row(value: Value<'_>, name: &str, (table, owner, owned_by): (&str, &str, &str), tables: &dyn Tables) -> Result<Judgement, TablesError> {
    let id = value.get("id").lossy().unwrap_or_else(|| name.to_owned());
    let found = rows(tables, table, &[owner, "data"], ("id", &id), &[])?;
    let Some(cells) = found.first() else { return Ok(Judgement::of(Verdict::Missing)) };
    if cells[0].text() != Some(owned_by) {
        return Ok(Judgement::changed(owner));
    }
    let printed = without_ids(value);
    if cells[1].text().map(str::as_bytes) != Some(printed.as_slice()) {
        return Ok(Judgement::changed("text"));
    }
    let why = lost(value.token());
    Ok(Judgement { verdict: if why.is_empty() { Verdict::Respelled } else { Verdict::Changed }, why })
}

/// Prints a file as the migration does, without the ids that are columns.
fn without_ids(value: Value<'_>) -> Vec<u8> {
    if value.type_of() != Type::Object {
        return stringify(value.token());
    }
    let mut out = b"{".to_vec();
    for (name, value) in value.properties() {
        if matches!(name.as_ref(), b"id" | b"sessionID" | b"messageID") {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        push_string(&name, &mut out);
        out.push(b':');
        out.extend_from_slice(&stringify(value.token()));
    }
    out.push(b'}');
    out
}

/// A field of a file and the column that has it; the field may be a path.
type Field = (&'static str, &'static str, FieldKind);

/// How a field becomes a column.
#[derive(Clone, Copy)]
enum FieldKind {
    /// As it is; absent is NULL.
    Plain,
    /// As it is; absent is an empty text.
    PlainOrEmpty,
    /// As the text of its JSON; absent is NULL.
    Json,
    /// As the text of its JSON; absent is an empty list.
    List,
}

const SESSION_FIELDS: &[Field] = &[
    ("projectID", "project_id", FieldKind::Plain),
    ("parentID", "parent_id", FieldKind::Plain),
    ("slug", "slug", FieldKind::PlainOrEmpty),
    ("directory", "directory", FieldKind::Plain),
    ("title", "title", FieldKind::Plain),
    ("version", "version", FieldKind::Plain),
    ("share.url", "share_url", FieldKind::Plain),
    ("summary.additions", "summary_additions", FieldKind::Plain),
    ("summary.deletions", "summary_deletions", FieldKind::Plain),
    ("summary.files", "summary_files", FieldKind::Plain),
    ("summary.diffs", "summary_diffs", FieldKind::Json),
    ("revert", "revert", FieldKind::Json),
    ("permission", "permission", FieldKind::Json),
    ("time.created", "time_created", FieldKind::Plain),
    ("time.updated", "time_updated", FieldKind::Plain),
    ("time.compacting", "time_compacting", FieldKind::Plain),
    ("time.archived", "time_archived", FieldKind::Plain),
];

const PROJECT_FIELDS: &[Field] =
    &[("worktree", "worktree", FieldKind::Plain), ("vcs", "vcs", FieldKind::Plain), ("sandboxes", "sandboxes", FieldKind::List)];

/// Judges a file by the columns of the row with its inner id.
fn fields(value: Value<'_>, name: &str, (table, fields): (&str, &[Field]), tables: &dyn Tables) -> Result<Judgement, TablesError> {
    let id = value.get("id").lossy().unwrap_or_else(|| name.to_owned());
    let known = tables.columns(table);
    let fields: Vec<&Field> = fields.iter().filter(|(_, column, _)| known.iter().any(|name| name == column)).collect();
    let columns: Vec<&str> = fields.iter().map(|(_, column, _)| *column).collect();
    let found = rows(tables, table, &columns, ("id", &id), &[])?;
    let Some(cells) = found.first() else { return Ok(Judgement::of(Verdict::Missing)) };
    let differs = fields.iter().zip(cells).filter(|((path, _, kind), cell)| {
        let field =
            path.split('.').fold(value, |value, name| if value.type_of() == Type::Object { value.get(name) } else { Value::UNDEFINED });
        !is_same(field, *kind, cell)
    });
    let why: Vec<String> = differs.map(|((path, _, _), _)| (*path).to_owned()).collect();
    Ok(Judgement { verdict: if why.is_empty() { Verdict::Mapped } else { Verdict::Changed }, why })
}

fn is_same(field: Value<'_>, kind: FieldKind, cell: &Cell) -> bool {
    if field.is_nullish() {
        return match kind {
            FieldKind::Plain | FieldKind::Json => *cell == Cell::Null,
            FieldKind::PlainOrEmpty => matches!(cell, Cell::Null) || cell.text() == Some(""),
            FieldKind::List => matches!(cell, Cell::Null) || cell.text() == Some("[]"),
        };
    }
    match kind {
        FieldKind::Json | FieldKind::List => cell.text().map(str::as_bytes) == Some(stringify(field.token()).as_slice()),
        FieldKind::Plain | FieldKind::PlainOrEmpty => match field.number() {
            Some(number) if field.type_of() == Type::Number => cell.number() == Some(number),
            _ => cell.text().is_some_and(|text| field.text().is_some_and(|own| *own == *text.as_bytes())),
        },
    }
}

/// Judges a task list by the rows of its session.
fn todo(value: Value<'_>, session: &str, tables: &dyn Tables) -> Result<Judgement, TablesError> {
    let columns = ["content", "status", "priority"];
    let found = rows(tables, "todo", &columns, ("session_id", session), &["position"])?;
    if value.type_of() != Type::Array {
        return Ok(if found.is_empty() { Judgement::of(Verdict::Missing) } else { Judgement::changed("items") });
    }
    let items: Vec<Value<'_>> = crate::json::elements(value.token()).map(Value::accepted).collect();
    if found.is_empty() && !items.is_empty() {
        return Ok(Judgement::of(Verdict::Missing));
    }
    let is_item = |(item, cells): (&Value<'_>, &Vec<Cell>)| {
        columns.iter().zip(cells).all(|(name, cell)| is_same(item.get(name), FieldKind::PlainOrEmpty, cell))
    };
    let is_mapped = items.len() == found.len() && items.iter().zip(&found).all(is_item);
    Ok(if is_mapped { Judgement::of(Verdict::Mapped) } else { Judgement::changed("items") })
}
