//! pi: one file per session, a tree of entries that name the one above.
//!
#![doc = include_str!("FORMAT.md")]

mod discover;
mod export;
mod harness;
mod load;
mod place;
mod read;
mod schema;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::entries::show;
use crate::adapters::kit::tree::render;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The pi adapter.
pub struct Pi;

impl Format for Pi {
    fn id(&self) -> &'static str {
        schema::ID
    }

    fn describe(&self) -> &'static str {
        "pi coding agent sessions: tree-shaped JSONL of versions 1 to 3, the agent core's harness files (3 and 4), the tutorial's format"
    }

    fn looked_for(&self) -> &'static str {
        "*.jsonl files that begin with a `session` header or hold entries with id and parentId"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("PI_CODING_AGENT_SESSION_DIR", ""),
                DefaultPlace::variable("PI_CODING_AGENT_DIR", "sessions"),
                DefaultPlace::home(".pi/agent/sessions"),
            ]
        }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, _: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        render::renderer(schema::SCHEMA, holds, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
        Box::new(move |shown, hand_on| show::show(shown, &shapes, schema::SCHEMA, hand_on))
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::PiExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
