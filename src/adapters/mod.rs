//! The source formats, one folder each, and how files are told apart.

pub mod adapter;
mod conversion;
pub mod discover;
mod document;
mod gptme;
mod known;
mod mapping;
mod picoclaw;
mod place;
mod surgery;
mod tree;

use adapter::Adapter;

/// Every format that this build converts.
pub const ALL: &[&dyn Adapter] = &[&gptme::Gptme, &picoclaw::Picoclaw];

/// The adapter with this id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|adapter| adapter.id() == id)
}
