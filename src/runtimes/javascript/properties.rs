//! The order of an object's properties.

use std::collections::HashMap;

/// The largest name that is an array index; larger numbers are plain names.
const LAST_INDEX: u64 = u32::MAX as u64 - 1;

/// Returns the array index that a name stands for: digits without a leading zero.
fn index_of(name: &[u8]) -> Option<u64> {
    let is_canonical = matches!(name, b"0" | [b'1'..=b'9', ..]) && name.len() <= 10 && name.iter().all(u8::is_ascii_digit);
    let index = || name.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
    is_canonical.then(index).filter(|index| *index <= LAST_INDEX)
}

/// Returns the order in which an engine lists properties that were assigned under these
/// names one after the other: array indices first, by size, then all others as
/// they first came. Of equal names the first decides the place and the last the
/// value, so the answer holds the position of the last. Nothing where the order
/// is that of the names, each of them standing once.
pub(super) fn order(names: &[&[u8]]) -> Option<Vec<usize>> {
    let has_index = names.iter().any(|name| index_of(name).is_some());
    if !has_index && !has_equal(names) {
        return None;
    }
    let mut last: HashMap<&[u8], usize> = HashMap::with_capacity(names.len());
    let mut first = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        if last.insert(name, at).is_none() {
            first.push(*name);
        }
    }
    // The sort is stable, so names keep their order among themselves.
    first.sort_by_key(|name| index_of(name).unwrap_or(u64::MAX));
    Some(first.iter().filter_map(|name| last.get(name).copied()).collect())
}

/// Tells whether two of the names are equal.
fn has_equal(names: &[&[u8]]) -> bool {
    /// Up to so many names, comparing each with each costs less than hashing.
    const FEW: usize = 16;
    if names.len() <= FEW {
        return names.iter().enumerate().any(|(at, name)| names[..at].contains(name));
    }
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    !names.iter().all(|name| seen.insert(*name))
}
