//! Documents: what a session can be exported to that no program continues, for
//! people to read and for programs that learn from sessions.
//!
//! A document is made as the session of a program is (`prepare`, `pairing`), and
//! read again, so that its loss list is as exact.

mod atif;
mod atif_read;
mod atif_wire;
pub mod blocks;
mod images;
mod kind;
mod markdown;
mod openai;
mod run;
mod said;

pub use kind::{DOCUMENT, Document, SessionForm, Sharing};
pub use run::{WantedDocument, export_document};
pub use said::Said;

/// All kinds of documents.
pub const ALL: &[&dyn Document] = &[&markdown::Markdown, &openai::OpenAi, &atif::Atif];
