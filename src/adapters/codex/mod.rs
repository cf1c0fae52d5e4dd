//! Codex CLI: one thread per session, in rollouts of four generations, of which a fork or
//! a revert goes on from another one at a byte offset.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
mod discover;
mod document;
mod export;
mod history;
mod home;
mod item;
mod lay;
mod load;
mod marks;
mod members;
mod message;
mod names;
mod prepare;
mod read;
mod record;
mod render;
mod repeated;
mod rolled_back;
mod scan;
mod show;
mod tables;
mod typed;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

pub(crate) use rolled_back::rolled_back_turns;

/// The Codex adapter.
pub struct Codex;

impl Format for Codex {
    fn id(&self) -> &'static str {
        names::ID
    }

    fn describe(&self) -> &'static str {
        "Codex CLI rollouts: JSON documents, bare and enveloped lines, paginated and compressed ones (0.1 to 0.169)"
    }

    fn looked_for(&self) -> &'static str {
        "sessions/YYYY/MM/DD/rollout-*.jsonl or .jsonl.zst files that begin with a session_meta record (Codex CLI)"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("CODEX_HOME", ""), DefaultPlace::home(".codex")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        render::renderer(holds, style, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        show::message_renderer(shapes)
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::CodexExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        if home::files_of(files).is_empty() { load::loader(files) } else { Box::new(home::NoMessages) }
    }
}
