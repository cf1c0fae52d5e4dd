//! gptme: one folder per conversation, with its branches, views and event logs.
//!
#![doc = include_str!("FORMAT.md")]

mod damage;
mod discover;
mod event_list;
mod event_log;
mod event_wire;
mod export;
mod files;
pub(crate) mod layout;
mod load;
mod message;
mod parts;
mod read;
mod recover;
mod render;
mod spoken;
mod transcript;
mod wire;
mod write;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, Claims, DefaultPlace, Format, Found, ReadSummary};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageLine;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

use layout::ID;

/// The gptme adapter.
pub struct Gptme;

impl Format for Gptme {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "gptme conversations: conversation.jsonl, branches, views, event logs (0.1 to 0.35)"
    }

    fn looked_for(&self) -> &'static str {
        "folders with a conversation.jsonl of role and content, or an events.jsonl of gptme events"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("GPTME_LOGS_HOME", ""),
                DefaultPlace::variable("XDG_DATA_HOME", "gptme/logs"),
                DefaultPlace::home(".local/share/gptme/logs"),
                DefaultPlace::home("Library/Application Support/gptme/logs"),
            ]
        }
    }

    fn claims(&self) -> Claims {
        Claims::Folders
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        Found { units: discover::discover(folder).into_iter().collect(), strays: Vec::new() }
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        write::renderer(holds, style, shapes)
    }

    fn message_line(&self, shapes: &[Order]) -> Box<MessageLine> {
        let shapes = Shapes::with_others(wire::usual_order(), shapes.to_vec());
        Box::new(move |message, line| render::show(message, &shapes, line))
    }

    fn spares_branches(&self, error: &str) -> bool {
        // Raised for the main transcript; branches have files of their own.
        error == "FileNotFoundError"
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::GptmeExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
