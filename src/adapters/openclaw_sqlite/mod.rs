//! OpenClaw since 2026.7.2-beta.7: the transcripts of an agent in its database, with
//! everything else that the database holds.
//!
#![doc = include_str!("FORMAT.md")]

mod discover;
mod known;
mod layout;
mod load;
mod navigate;
mod pairs;
mod place;
mod read;
mod row;
mod schema;
mod show;
mod tables;

use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::model::database::DatabaseFormat;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The adapter of OpenClaw's databases.
pub struct OpenClawSqlite;

impl Format for OpenClawSqlite {
    fn id(&self) -> &'static str {
        schema::ID
    }

    fn describe(&self) -> &'static str {
        "OpenClaw: the sessions in an agent's database (2026.7.2-beta.7 to 2026.9.6, schemas 16 to 23)"
    }

    fn looked_for(&self) -> &'static str {
        "agents with an agent/openclaw-agent.sqlite that has the tables session_windows and transcript_events"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("OPENCLAW_STATE_DIR", "agents"),
                DefaultPlace::variable("OPENCLAW_HOME", ".openclaw/agents"),
                DefaultPlace::home(".openclaw/agents"),
            ]
        }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn database(&self) -> Option<&'static dyn DatabaseFormat> {
        Some(&layout::AgentDatabase)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, _style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        row::renderer(holds, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
        Box::new(move |shown, hand_on| show::show(shown, &shapes, hand_on))
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
