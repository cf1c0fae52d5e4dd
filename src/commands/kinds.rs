//! How many sessions, and how many files about many sessions: they are counted
//! apart, and in the same words by every command.

use serde::{Deserialize, Serialize};

use crate::model::event::SessionKind;
use crate::report::text;

/// Units by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Kinds {
    sessions: u64,
    orphans: u64,
    stores: u64,
    indexes: u64,
    jobs: u64,
}

impl Kinds {
    /// Counts one unit.
    pub(super) fn add(&mut self, kind: SessionKind) {
        *self.of_mut(kind) += 1;
    }

    /// Counts those that were counted elsewhere.
    pub(super) fn add_all(&mut self, others: Kinds) {
        SessionKind::ALL.into_iter().for_each(|kind| *self.of_mut(kind) += others.of(kind));
    }

    /// Returns how many units there are of all kinds.
    pub(super) fn all(self) -> u64 {
        SessionKind::ALL.into_iter().map(|kind| self.of(kind)).sum()
    }

    /// Tells whether all of them are sessions.
    pub(super) fn are_sessions(self) -> bool {
        self.sessions == self.all()
    }

    /// Names those that there are: `58 sessions, 1 store`.
    pub(super) fn text(self) -> String {
        let counted = |kind: SessionKind| {
            let (count, (one, many)) = (self.of(kind), kind.words());
            let is_named = count > 0 || (kind == SessionKind::Session && self.all() == 0);
            is_named.then(|| format!("{} {}", text::thousands(count), if count == 1 { one } else { many }))
        };
        SessionKind::ALL.into_iter().filter_map(counted).collect::<Vec<_>>().join(", ")
    }

    fn of(mut self, kind: SessionKind) -> u64 {
        *self.of_mut(kind)
    }

    fn of_mut(&mut self, kind: SessionKind) -> &mut u64 {
        match kind {
            SessionKind::Session => &mut self.sessions,
            SessionKind::Orphan => &mut self.orphans,
            SessionKind::Store => &mut self.stores,
            SessionKind::Index => &mut self.indexes,
            SessionKind::Jobs => &mut self.jobs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_only_where_there_are_some() {
        let mut kinds = Kinds::default();
        assert_eq!((kinds.text().as_str(), kinds.are_sessions()), ("0 sessions", true));
        kinds.add(SessionKind::Store);
        assert_eq!((kinds.text().as_str(), kinds.are_sessions()), ("1 store", false));
        (0..1_200).for_each(|_| kinds.add(SessionKind::Session));
        (0..2).for_each(|_| kinds.add(SessionKind::Index));
        assert_eq!((kinds.text().as_str(), kinds.all()), ("1,200 sessions, 1 store, 2 lists of sessions", 1_203));
    }
}
