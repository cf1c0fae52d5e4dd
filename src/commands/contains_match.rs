//! Which pieces of one side's sessions the other side lacks. A piece counts as
//! often as it stands, so it matters whose piece takes which: sessions of the
//! same name are matched first, then those that are most complete elsewhere.
//! Otherwise a session that is whole would be blamed for one that is missing.

use std::collections::BTreeMap;

use crate::verify::compare::{Multiset, Spoken};

/// A session whose pieces are looked for.
pub(super) struct Asked<'s> {
    pub name: &'s str,
    pub pieces: &'s [Spoken],
}

/// A session in which pieces may be found.
pub(super) struct Given<'s> {
    pub name: &'s str,
    pub pieces: &'s [Spoken],
}

/// What of a session was not found.
pub(super) struct Lacks {
    pub pieces: Vec<Spoken>,
    pub whole: Lacking,
}

/// How much of a session was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lacking {
    /// All of it.
    Everything,
    /// Some pieces, or none.
    Something,
}

/// Finds what each session lacks, in the order of sessions.
pub(super) fn lacking(asked: &[Asked<'_>], given: &[Given<'_>]) -> Vec<Lacks> {
    let mut by_name: BTreeMap<&str, Multiset> = BTreeMap::new();
    for session in given {
        by_name.entry(session.name).or_default().add(session.pieces);
    }
    // What the session of the same name has.
    let mut left: Vec<Vec<Spoken>> = Vec::with_capacity(asked.len());
    for session in asked {
        left.push(match by_name.get_mut(session.name) {
            Some(same) => session.pieces.iter().filter(|piece| !same.take(piece)).cloned().collect(),
            None => session.pieces.to_vec(),
        });
    }
    // What nobody has taken by now may belong to anyone.
    let mut elsewhere = Multiset::default();
    by_name.into_values().for_each(|rest| elsewhere.join(rest));
    let mut order: Vec<usize> = (0..asked.len()).collect();
    order.sort_by_cached_key(|n| elsewhere.count_lacking(&left[*n]));
    for n in order {
        left[n].retain(|piece| !elsewhere.take(piece));
    }
    let lacks = asked.iter().zip(left).map(|(session, pieces)| {
        let is_everything = !pieces.is_empty() && pieces.len() == session.pieces.len();
        Lacks { whole: if is_everything { Lacking::Everything } else { Lacking::Something }, pieces }
    });
    lacks.collect()
}
