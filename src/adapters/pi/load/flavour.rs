//! Which of the three programs a file belongs to.
//!
//! - The *tutorial*: the header says `version: 1`, which pi itself never wrote,
//!   and at least one entry has a text as its `id`.
//! - The *harness*, version 3: at least one record is of type `leaf` or
//!   `active_tools_change`, the header says `version: 3`, and every line passes
//!   the checks of that strict loader.
//! - *pi*: everything else, whatever its version.

use crate::runtimes::javascript::{Type, Value, is_blank, lines, to_number};

use super::failure::Failure;
use super::record::{Kind, Records};

/// What pi does to the entries of a file before it uses them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Migration {
    /// Version 1: every entry gets a new id and hangs below the one before it.
    Chain,
    /// Version 2: messages of hooks get the role `custom`, as they do in
    /// version 1.
    Hooks,
    /// Version 3, and all that come after it.
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    Pi(Migration),
    Harness,
    Tutorial,
}

impl Flavour {
    /// Returns the flavour of a file whose first record is a session header.
    pub(super) fn of(records: &Records<'_>) -> Result<Flavour, Failure> {
        let version = records.value(0).get("version");
        if version.number() == Some(1.0) && has_ids(records) {
            return Ok(Flavour::Tutorial);
        }
        let has_signs = records.has(Kind::Leaf) || records.has(Kind::ActiveToolsChange);
        if has_signs && version.number() == Some(3.0) && is_strict(records.text()) {
            return Ok(Flavour::Harness);
        }
        Ok(Flavour::Pi(Migration::of(version)?))
    }
}

impl Migration {
    /// The version is compared as JavaScript compares, whatever it is.
    fn of(version: Value<'_>) -> Result<Migration, Failure> {
        let version = if version.is_nullish() { 1.0 } else { to_number(version.token())? };
        Ok(match version {
            _ if version < 2.0 => Migration::Chain,
            _ if version < 3.0 => Migration::Hooks,
            _ => Migration::None,
        })
    }
}

fn has_ids(records: &Records<'_>) -> bool {
    let is_entry = |index: &usize| !matches!(records.kind(*index), Kind::Session | Kind::Scalar);
    (0..records.len()).filter(is_entry).any(|index| records.id(index).type_of() == Type::String)
}

/// Tells whether the harness would take every line of the file.
fn is_strict(text: &[u8]) -> bool {
    let mut values = lines(text).map(|(_, line)| line).filter(|line| !is_blank(line)).map(Value::parse);
    values.next().flatten().is_some_and(is_strict_header) && values.all(|value| value.is_some_and(is_strict_entry))
}

fn is_filled_text(value: Value<'_>) -> bool {
    value.type_of() == Type::String && value.is_truthy()
}

fn is_strict_header(header: Value<'_>) -> bool {
    let [kind, version, id, timestamp, cwd] = header.get_all(["type", "version", "id", "timestamp", "cwd"]);
    let [parent, metadata] = header.get_all(["parentSession", "metadata"]);
    kind.is("session")
        && version.number() == Some(3.0)
        && [id, timestamp, cwd].into_iter().all(is_filled_text)
        && matches!(parent.type_of(), Type::Undefined | Type::String)
        && matches!(metadata.type_of(), Type::Undefined | Type::Object)
}

fn is_strict_entry(entry: Value<'_>) -> bool {
    let [kind, id, parent, timestamp, target] = entry.get_all(["type", "id", "parentId", "timestamp", "targetId"]);
    let is_null_or_text = |value: Value<'_>| matches!(value.type_of(), Type::Null | Type::String);
    kind.type_of() == Type::String
        && is_filled_text(id)
        && is_null_or_text(parent)
        && is_filled_text(timestamp)
        && (!kind.is("leaf") || is_null_or_text(target))
}
