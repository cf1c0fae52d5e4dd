//! Claude Code: one transcript per session, a tree of records by uuid, with the
//! transcripts of its subagents and other files that hang on it.
//!
#![doc = include_str!("FORMAT.md")]

mod beside;
mod content;
pub(crate) mod discover;
mod export;
mod load;
mod place;
mod queue;
mod read;
mod schema;
mod show;
mod tables;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::tree::render;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The Claude Code adapter.
pub struct ClaudeCode;

impl Format for ClaudeCode {
    fn id(&self) -> &'static str {
        schema::ID
    }

    fn describe(&self) -> &'static str {
        "Claude Code transcripts with their subagents, tool results, file history, todo and task lists (1.0 to 2.1)"
    }

    fn looked_for(&self) -> &'static str {
        "projects/*/<uuid>.jsonl files that hold records with uuid, parentUuid and sessionId"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("CLAUDE_CONFIG_DIR", ""), DefaultPlace::home(".claude")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, _: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        render::renderer(schema::Transcript, holds, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
        Box::new(move |shown, hand_on| show::show(shown, &shapes, hand_on))
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::ClaudeCodeExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
