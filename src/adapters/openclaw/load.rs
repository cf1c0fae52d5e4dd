//! What OpenClaw 2026.7.1 itself would show of a session: its loader, written
//! again from its behaviour. It owns the rules of `SessionManager.open` and
//! `buildSessionContext`, odd ones included, and shares JavaScript itself
//! ([`crate::runtimes::javascript`]) and nothing else with the rest of this
//! adapter, so that the two cannot be wrong together.
//!
//! Heads are `branch:main` (the active branch, always there), `branch:ID` for
//! every other entry that none has for its parent, and `backup:NAME` for every
//! copy of the transcript. Half of a surrogate pair in an id is U+FFFD in the
//! name, the first of equal names counts, and an id `main` has no head.
//!
//! Not followed: values nested so deeply that the program's own stack overflows
//! (from some 2,300 lists or 4,400 objects inside one another, depending on the
//! machine), files too long for one JavaScript string, and zones other than UTC
//! for times that name none.

mod branch;
mod compaction;
mod entry;
mod failure;
mod index;
mod keys;
mod links;
pub(super) mod names;
mod older;
mod rows;
mod show;
mod tree;
mod unit;

use crate::model::files::Files;
use crate::model::loaded::Loader;

/// Returns the loader of a unit.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(unit::Unit::new(files))
}

#[cfg(test)]
mod tests;
