//! What OpenClaw 2026.7.1 itself would show of a session: its loader, written
//! again from its behaviour. It owns the rules of `SessionManager.open` and
//! `buildSessionContext`, odd ones included, and shares nothing with the rest
//! of this adapter, so that the two cannot be wrong together.
//!
//! Not followed: values nested so deeply that the program's own stack overflows
//! (some 2,300 lists or 4,400 objects inside one another).

mod branch;
mod compaction;
mod date;
mod failure;
mod index;
mod keys;
mod links;
mod names;
mod older;
mod rows;
mod show;
mod text;
mod tree;
mod unit;
mod value;

use crate::model::files::Files;
use crate::model::loaded::Loader;

/// The loader of a unit.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(unit::Unit::new(files))
}

#[cfg(test)]
mod tests;
