//! Whether a tombstone is one that everlog can have written. Whoever can write to
//! the store can write tombstones, so nothing is put into a source because a
//! tombstone says so: the file must be one that its rule takes something from,
//! it must be the same file as in the log, and putting the old bytes back must
//! not cost a byte of the present file.

use crate::adapters::format::RETIRED_SUFFIX;
use crate::maintenance;
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::retention::{Edit, Rule, edited};
use crate::store::layout::Store;
use crate::store::pruned::Tombstone;

/// Returns why a tombstone cannot be genuine. `old` are the bytes that its file
/// had, and `bundle` are the tombstones that it came with.
pub(crate) fn doubt(stone: &Tombstone, old: &[u8], bundle: &[&Tombstone]) -> Option<&'static str> {
    let Some(path) = path_in_session(stone) else {
        return Some("the file is not the one that its log has under that name");
    };
    if stone.log.as_ref().is_some_and(|log| !Store::is_log_name(&stone.unit, log)) {
        return Some("the log that it names is not the log of its session");
    }
    let is_of_rule = if stone.rule == Rule::Retired {
        stone.new.is_none() && is_of_retired(stone, bundle)
    } else {
        let path = path.as_text();
        path.is_some_and(|path| maintenance::ALL.iter().any(|format| format.can_prune(stone.rule, path, old)))
    };
    if !is_of_rule {
        return Some("its rule takes nothing from such a file");
    }
    if !leaves_what_it_says(stone, old) {
        return Some("its edits do not lead from the old file to the new one");
    }
    None
}

/// Returns the path of a file below its folder of sessions, as its log has it.
/// Nothing where the two names do not belong together.
fn path_in_session(stone: &Tombstone) -> Option<RelPath> {
    let file = stone.path();
    let Some(path) = stone.log_path.as_deref().map(RelPath::from_key) else { return Some(file) };
    let bytes = file.as_bytes();
    let live_name = bytes.strip_suffix(RETIRED_SUFFIX.as_bytes()).filter(|_| stone.rule == Rule::Retired);
    let above = [Some(bytes), live_name].into_iter().flatten().find_map(|name| name.strip_suffix(path.as_bytes()))?;
    let unit = RelPath::from_key(&stone.unit);
    let is_above_unit = above.is_empty() || (above.ends_with(b"/") && [unit.as_bytes(), b"/"].concat().starts_with(above));
    is_above_unit.then_some(path)
}

/// Tells whether a file was removed with a session that was retired: one of the
/// session's files had the name that retiring gives.
fn is_of_retired(stone: &Tombstone, bundle: &[&Tombstone]) -> bool {
    let has_suffix = |other: &&&Tombstone| other.path().as_bytes().ends_with(RETIRED_SUFFIX.as_bytes());
    bundle.iter().filter(|other| other.unit == stone.unit && other.rule == Rule::Retired).any(|other| has_suffix(&other))
}

/// Tells whether the recorded edits make the new file of the old one, by nothing
/// but cuts and numbers in the place of numbers. Then the old file has every
/// byte of the new one, and putting it back loses none.
fn leaves_what_it_says(stone: &Tombstone, old: &[u8]) -> bool {
    let Some(new) = &stone.new else { return true };
    let is_number = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let replaced = |edit: &Edit| old.get(usize::try_from(edit.from).ok()?..usize::try_from(edit.to).ok()?);
    let is_harmless = |edit: &Edit| edit.put.is_empty() || (is_number(edit.put.as_bytes()) && replaced(edit).is_some_and(is_number));
    stone.edits.iter().all(is_harmless) && edited(old, &stone.edits).is_some_and(|made| sha256_hex(&made) == new.sha256)
}
