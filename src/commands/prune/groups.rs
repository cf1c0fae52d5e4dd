//! Bundles in groups: few enough files to be held open at once, and few enough
//! bytes to be held in memory.

use std::borrow::Borrow;

use crate::store::pruned::Tombstone;

const FILES: usize = 128;
const BYTES: u64 = 64 * 1024 * 1024;

/// Splits bundles into groups, at least one bundle in each.
pub(super) fn of<S: Borrow<Tombstone>>(bundles: &[Vec<S>]) -> Vec<&[Vec<S>]> {
    let mut groups = Vec::new();
    let mut rest = bundles;
    while !rest.is_empty() {
        let (mut files, mut bytes) = (0, 0);
        let fit = rest.iter().take_while(|stones| {
            files += stones.len();
            bytes += stones.iter().map(|stone| stone.borrow().old.bytes).sum::<u64>();
            files <= FILES && bytes <= BYTES
        });
        let (group, after) = rest.split_at(fit.count().max(1));
        groups.push(group);
        rest = after;
    }
    groups
}
