//! The database of the Hermes agent: the transcripts of its command line, its
//! gateway, its jobs and its subagents.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
mod discover;
mod layout;
mod load;
mod message;
mod read;
mod show;

use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::rows;
use crate::model::database::DatabaseFormat;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::MessageLine;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The adapter of the Hermes agent's database.
pub struct HermesStateDb;

impl Format for HermesStateDb {
    fn id(&self) -> &'static str {
        layout::ID
    }

    fn describe(&self) -> &'static str {
        "Hermes agent: the sessions in its database state.db (0.13 to 0.19, schemas 11 to 22)"
    }

    fn looked_for(&self) -> &'static str {
        "a state.db with the tables sessions and messages"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("HERMES_HOME", "state.db"), DefaultPlace::home(".hermes/state.db")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn database(&self) -> Option<&'static dyn DatabaseFormat> {
        Some(&layout::StateDb)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, _style: Option<&str>, _shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        (holds == rows::ROWS).then(|| rows::renderer(Box::new(message::row)))
    }

    fn message_line(&self, _shapes: &[Order]) -> Box<MessageLine> {
        Box::new(show::show)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
