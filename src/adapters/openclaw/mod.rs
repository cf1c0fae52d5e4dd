//! OpenClaw: transcripts as trees of entries, the session store beside them,
//! scheduled jobs and their run logs.
//!
#![doc = include_str!("FORMAT.md")]

mod count;
mod cursors;
pub(crate) mod discover;
mod export;
mod load;
pub(crate) mod names;
mod place;
mod read;
mod runs;
mod schema;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::entries::show;
use crate::adapters::kit::members;
use crate::adapters::kit::tree::render;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The OpenClaw adapter.
pub struct OpenClaw;

impl Format for OpenClaw {
    fn id(&self) -> &'static str {
        schema::ID
    }

    fn describe(&self) -> &'static str {
        "OpenClaw transcripts, archives, session stores, scheduled jobs and their run logs (file-backed versions up to 2026.7)"
    }

    fn looked_for(&self) -> &'static str {
        "folders with a sessions.json and *.jsonl transcripts, or cron/jobs.json and cron/runs"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("OPENCLAW_STATE_DIR", "agents"),
                DefaultPlace::variable("CLAWDBOT_STATE_DIR", "agents"),
                DefaultPlace::variable("OPENCLAW_HOME", ".openclaw/agents"),
                DefaultPlace::home(".openclaw/agents"),
                DefaultPlace::home(".clawdbot/agents"),
                DefaultPlace::home(".moltbot/agents"),
                DefaultPlace::home(".moldbot/agents"),
            ]
        }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        match holds {
            members::MEMBERS => members::renderer(style),
            runs::RUNS => Some(runs::renderer(shapes)),
            _ => render::renderer(schema::SCHEMA, holds, shapes),
        }
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
        Box::new(move |shown, hand_on| show::show(shown, &shapes, schema::SCHEMA, hand_on))
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::OpenClawExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
