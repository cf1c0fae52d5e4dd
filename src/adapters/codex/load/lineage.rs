//! Which records are loaded: of a rollout of the older kind all, of a paginated
//! one those after its last metadata, and before them those of the rollouts
//! that it goes on from.

use crate::runtimes::rust::{is_blank, lines};

use super::record::{History, Meta, Record, What};
use super::rollout::Rollouts;

/// No line of the file says anything.
pub(super) const EMPTY: &str = "the rollout is empty";
/// The first line that is not blank is not the metadata of a session.
pub(super) const NO_META: &str = "the rollout does not start with session metadata";
/// The metadata name a kind of history that the program does not know.
pub(super) const UNKNOWN_MODE: &str = "the history mode is unknown";
/// The file is of the older kind, and not UTF-8 throughout.
pub(super) const NOT_UTF8: &str = "the rollout is not valid UTF-8";
/// The last record of a paginated rollout has no ordinal.
pub(super) const NO_ORDINAL: &str = "the last record has no ordinal";
/// The rollout that this one goes on from does not exist.
pub(super) const BASE_MISSING: &str = "the rollout that this one continues is missing";
/// The rollout that this one goes on from is of another kind.
pub(super) const BASE_NOT_PAGINATED: &str = "the rollout that this one continues is not paginated";
/// The rollout that this one goes on from ends before that point.
pub(super) const BASE_SHORT: &str = "the rollout that this one continues is too short";
/// A rollout goes on from itself.
pub(super) const CYCLE: &str = "the rollouts continue each other in a circle";

/// Reads a rollout, and those that it goes on from, oldest first; and says of which kind it
/// is.
pub(super) fn read(rollouts: &Rollouts<'_>, at: usize) -> Result<(History, Vec<Record>), &'static str> {
    let text = rollouts.text(at)?;
    let meta = first_meta(text)?;
    // Of a paginated rollout only the lines that are not UTF-8 are skipped.
    if meta.history != History::Paginated && std::str::from_utf8(text).is_err() {
        return Err(NOT_UTF8);
    }
    let records = records_of(text, at);
    let (History::Paginated, base) = (meta.history, meta.base) else { return Ok((meta.history, records)) };
    if records.last().is_none_or(|last| !last.has_ordinal) {
        return Err(NO_ORDINAL);
    }
    let mut files = vec![after_last_meta(records)];
    let (mut base, mut seen) = (base, vec![rollouts.id(at)]);
    while let Some(next) = base {
        let at = rollouts.find(next.rollout).ok_or(BASE_MISSING)?;
        if seen.contains(&Some(next.rollout)) {
            return Err(CYCLE);
        }
        seen.push(Some(next.rollout));
        let text = rollouts.text(at)?;
        let meta = first_meta(text).ok().filter(|meta| meta.history == History::Paginated).ok_or(BASE_NOT_PAGINATED)?;
        let part = usize::try_from(next.bytes).ok().and_then(|end| text.get(..end)).ok_or(BASE_SHORT)?;
        files.push(after_last_meta(records_of(part, at)));
        base = meta.base;
    }
    files.reverse();
    Ok((History::Paginated, files.concat()))
}

/// The metadata that a rollout starts with.
fn first_meta(text: &[u8]) -> Result<Meta, &'static str> {
    let (_, line) = lines(text).find(|(_, line)| !is_blank(line)).ok_or(EMPTY)?;
    let record = Record::read(line, 0, 0).ok_or(NO_META)?;
    let What::Meta(meta) = record.what else { return Err(NO_META) };
    if meta.history == History::Unknown { Err(UNKNOWN_MODE) } else { Ok(meta) }
}

fn records_of(text: &[u8], rollout: usize) -> Vec<Record> {
    lines(text).filter_map(|(start, line)| Record::read(line, rollout, start)).collect()
}

/// The program reads a paginated rollout from its end to the nearest metadata.
fn after_last_meta(mut records: Vec<Record>) -> Vec<Record> {
    let last = records.iter().rposition(|record| matches!(record.what, What::Meta(_)));
    records.split_off(last.map_or(0, |last| last + 1))
}
