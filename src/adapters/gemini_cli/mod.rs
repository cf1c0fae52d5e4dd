//! Gemini CLI: a project's folder of sessions, each a patch log or one whole
//! file, and chats that were saved by hand.
//!
#![doc = include_str!("FORMAT.md")]

mod choose;
mod classify;
mod content;
mod discover;
mod export;
mod fields;
mod fold;
mod lane;
mod layout;
pub(crate) mod listed;
mod load;
mod message;
mod messages;
mod parts;
mod project;
mod read;
mod reader;
mod records;
mod render;
mod response;
mod schema;
mod show;
mod signs;
mod whole;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The Gemini CLI adapter.
pub struct GeminiCli;

impl Format for GeminiCli {
    fn id(&self) -> &'static str {
        layout::ID
    }

    fn describe(&self) -> &'static str {
        "Gemini CLI sessions: patch logs (0.39 to 0.61), whole-file JSON (0.4 to 0.38), and saved chats"
    }

    fn looked_for(&self) -> &'static str {
        "chats/session-*.jsonl or *.json with sessionId and projectHash, or checkpoint-*.json with a history (Gemini CLI)"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("GEMINI_CLI_HOME", ".gemini"), DefaultPlace::home(".gemini")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder, discover::Signs::Certain)
    }

    fn discover_chosen(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder, discover::Signs::Given)
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
        Some(&export::GeminiCliExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        if read::is_of_project(files) { Box::new(project::NoMessages) } else { load::loader(files) }
    }
}
