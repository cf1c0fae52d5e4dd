//! The source formats, one folder each, and how files are told apart.

pub mod adapter;
mod conversion;
pub mod discover;
mod document;
mod gptme;
mod hermes_webui;
mod known;
mod mapping;
mod members;
mod openclaw;
mod pi;
mod picoclaw;
mod place;
mod surgery;
mod tree;

use adapter::Adapter;

/// Every format that this build converts.
pub const ALL: &[&dyn Adapter] = &[&gptme::Gptme, &hermes_webui::HermesWebui, &openclaw::OpenClaw, &pi::Pi, &picoclaw::Picoclaw];

/// The adapter with this id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static dyn Adapter> {
    ALL.iter().copied().find(|adapter| adapter.id() == id)
}
