//! Where the part of a branch begins that a summary leaves standing.

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::array_index;

use super::entry::NONE;
use super::keys::Key;
use super::tree::{Age, Tree, is_entry};

/// Returns the id of the first entry that is kept, if any entry can be it.
pub fn first_kept(tree: &mut Tree<'_>, compaction: u32) -> Option<Key> {
    let named = named_first(tree, compaction).filter(|key| key.is_name())?;
    if tree.with_id(named) != NONE {
        return Some(named);
    }
    // A row that is not an entry stands for the entry above it, or else below it.
    if !tree.links.holds(named) {
        return None;
    }
    let above = tree.links.resolve(named);
    if above != Key::NULL {
        return Some(above).filter(|key| key.is_name());
    }
    let parent = tree.id(tree.parent(compaction));
    below_on_branch(tree, named, parent).or_else(|| below(tree, named)).or(Some(parent).filter(|key| key.is_name()))
}

/// Returns what the compaction itself names, which in a list without ids is a place.
fn named_first(tree: &Tree<'_>, compaction: u32) -> Option<Key> {
    let row = tree.row(compaction)?;
    let place = row.member("firstKeptEntryIndex").filter(|place| kind_of(place) == Kind::Number);
    if tree.age == Age::Linear
        && let Some(target) = place.and_then(array_index).and_then(|place| entry_at(tree, place))
    {
        // Ids are given one after another: a later entry still has its old one.
        return if target <= compaction { Some(tree.id(target)) } else { tree.row(target).map(|row| row.id) };
    }
    tree.rows.keys.find(row.member("firstKeptEntryId"))
}

/// Returns the entry at a place among everything, the header included, or else among
/// entries alone.
fn entry_at(tree: &Tree<'_>, place: usize) -> Option<u32> {
    let after_header = place.checked_sub(1)?;
    let row = tree.listed.get(after_header).copied().filter(|place| tree.rows.at(*place).is_some_and(|row| is_entry(row, tree.age)));
    let entry = match row {
        Some(row) => tree.entries.binary_search_by_key(&row, |entry| entry.row).ok()?,
        None => after_header,
    };
    (entry < tree.entries.len()).then_some(entry as u32)
}

/// Returns the entry that was passed last on the way up from an entry to this row, going
/// by what rows say themselves.
fn below_on_branch(tree: &Tree<'_>, row: Key, from: Key) -> Option<Key> {
    let mut seen = vec![false; tree.rows.keys.places()];
    let mut last = None;
    let mut at = from;
    while at.is_name() && seen.get_mut(at.place()).is_some_and(|seen| !std::mem::replace(seen, true)) {
        if at == row {
            return last;
        }
        at = match tree.entries.get(tree.with_id(at) as usize) {
            Some(entry) => {
                last = Some(entry.id);
                entry.named_parent
            }
            None => tree.links.parent(at),
        };
    }
    None
}

/// Returns the first entry of the file that stands below this row with nothing but such
/// rows between.
fn below(tree: &Tree<'_>, row: Key) -> Option<Key> {
    let mut leads_nowhere = vec![false; tree.rows.keys.places()];
    let found = tree.entries.iter().find(|entry| {
        let mut at = entry.named_parent;
        // A row passed before is either in this circle or was in vain before.
        while tree.links.holds(at) && leads_nowhere.get_mut(at.place()).is_some_and(|passed| !std::mem::replace(passed, true)) {
            if at == row {
                return true;
            }
            at = tree.links.parent(at);
        }
        false
    });
    found.map(|entry| entry.id)
}
