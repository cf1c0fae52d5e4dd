//! How many messages the generations before 2026.5.28 would show of a file: the
//! last line is the leaf, whatever names no parent has none, and rows of any
//! kind are nodes.

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::{array_index, to_number};

use super::keys::Key;
use super::rows::{Row, Rows, Type, What};
use super::show::needs_time;
use super::tree::Age;

/// Returns how many messages are shown. None where the program fails, never returns, or
/// finds no header and starts the file afresh.
#[must_use]
pub fn count(rows: &Rows<'_>) -> usize {
    counted(rows).unwrap_or(0)
}

fn counted(rows: &Rows<'_>) -> Option<usize> {
    let header = rows.rows.first().filter(|row| row.is_header())?;
    let age = Age::of(header).ok()?;
    if rows.rows.iter().any(|row| row.what == What::Null) {
        return None;
    }
    let path = if age == Age::Linear { linear(rows)? } else { tree(rows)? };
    let row = |place: &u32| rows.at(*place);
    if path.iter().filter_map(row).any(|row| row.kind() == Type::Message && !row.has_message()) {
        return None;
    }
    let cut = path.iter().rposition(|place| row(place).is_some_and(|row| row.kind() == Type::Compaction));
    let Some(cut) = cut else { return messages(path.iter().filter_map(row)) };
    let (before, rest) = path.split_at(cut);
    let (compaction, after) = rest.split_first()?;
    let is_first = kept(rows, age, *compaction);
    let start = before.iter().position(is_first).unwrap_or(cut);
    let kept = messages(before.iter().skip(start).filter_map(row))?;
    let summary = row(compaction).filter(|row| can_have_time(row)).map(|_| 1)?;
    Some(summary + kept + messages(after.iter().filter_map(row))?)
}

/// Returns a list without ids: everything but headers, one below the other.
fn linear(rows: &Rows<'_>) -> Option<Vec<u32>> {
    // Giving an id to what is not an object fails.
    if rows.rows.iter().any(|row| matches!(row.what, What::Falsy | What::Scalar)) {
        return None;
    }
    Some((0..).zip(&rows.rows).filter(|(_, row)| row.kind() != Type::Session).map(|(place, _)| place).collect())
}

/// Returns the walk from the last row upwards; `None` where it goes round.
fn tree(rows: &Rows<'_>) -> Option<Vec<u32>> {
    let nodes = || (0_u32..).zip(&rows.rows).filter(|(_, row)| row.kind() != Type::Session);
    let Some((leaf, last)) = nodes().last() else { return Some(Vec::new()) };
    if last.id == Key::NULL {
        return Some(Vec::new());
    }
    let by_id: std::collections::HashMap<Key, u32> = nodes().map(|(place, row)| (row.id, place)).collect();
    let mut path = vec![leaf];
    let mut at = last;
    while at.parent.is_truthy()
        && at.parent.can_match()
        && let Some(parent) = by_id.get(&at.parent)
    {
        if path.len() > rows.rows.len() {
            return None;
        }
        path.push(*parent);
        at = rows.at(*parent)?;
    }
    path.reverse();
    Some(path)
}

/// Tells the first row that a compaction keeps.
fn kept<'r>(rows: &'r Rows<'_>, age: Age, compaction: u32) -> impl Fn(&u32) -> bool + 'r {
    let row = rows.at(compaction);
    let place = row.and_then(|row| row.member("firstKeptEntryIndex")).filter(|place| kind_of(place) == Kind::Number).and_then(array_index);
    let named = row.and_then(|row| rows.keys.find(row.member("firstKeptEntryId")));
    move |place_of_row| match age {
        // Old ids are no longer there, so that only a place before can count.
        Age::Linear => place == Some(*place_of_row as usize),
        Age::Hooks | Age::Current => {
            let id = rows.at(*place_of_row).map(|row| row.id);
            id == named && id.is_some_and(|id| id.can_match())
        }
    }
}

/// Returns how many messages these rows become; `None` where one of them fails.
fn messages<'r, 'a: 'r>(rows: impl Iterator<Item = &'r Row<'a>>) -> Option<usize> {
    rows.filter(|row| row.kind() == Type::Message || needs_time(row))
        .map(|row| (row.kind() == Type::Message || can_have_time(row)).then_some(1))
        .sum()
}

/// Any time will do but one that cannot be coerced.
fn can_have_time(row: &Row<'_>) -> bool {
    row.member("timestamp").is_none_or(|time| to_number(time).is_ok())
}
