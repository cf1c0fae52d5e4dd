//! What holds for every session: the promises, over all cases and generated sessions.

#[path = "../support/mod.rs"]
mod support;

mod documents;
mod every_session;
mod exports;
mod flat_messages;
mod library;
mod long_sessions;
mod mutations;
mod proof;
mod properties;
mod prune_laws;
mod shown_exports;
