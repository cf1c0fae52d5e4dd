//! The database of opencode, 1.2 and later: sessions, messages, the parts of messages,
//! and a journal of them.
//!
#![doc = include_str!("FORMAT.md")]

mod discover;
mod facts;
mod journal;
mod layout;
mod load;
mod messages;
mod read;
mod reader;
mod record;
mod text;
mod write;

use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::part_records;
use crate::model::database::DatabaseFormat;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The adapter of opencode's database.
pub struct Opencode;

impl Format for Opencode {
    fn id(&self) -> &'static str {
        layout::ID
    }

    fn describe(&self) -> &'static str {
        "opencode 1.2 and later: the sessions in its database opencode.db"
    }

    fn looked_for(&self) -> &'static str {
        "opencode*.db with the tables session, message and part"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("XDG_DATA_HOME", "opencode/opencode.db"), DefaultPlace::home(".local/share/opencode/opencode.db")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn discover_chosen(&self, folder: &FolderView<'_>) -> Found {
        discover::discover_chosen(folder)
    }

    fn database(&self) -> Option<&'static dyn DatabaseFormat> {
        Some(&layout::Database)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, _style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        write::renderer(holds, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        part_records::message_renderer(shapes)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
