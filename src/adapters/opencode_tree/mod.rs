//! opencode's JSON tree: a session, each of its messages and each part of a message
//! in a file of its own.
//!
#![doc = include_str!("FORMAT.md")]

mod discover;
mod layout;
mod load;
mod read;
mod schema;
mod write;

use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::part_records;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// The adapter of opencode's JSON tree.
pub struct OpencodeTree;

impl Format for OpencodeTree {
    fn id(&self) -> &'static str {
        layout::ID
    }

    fn describe(&self) -> &'static str {
        "opencode sessions up to 1.1: a JSON file for each session, message and part"
    }

    fn looked_for(&self) -> &'static str {
        "session/<project>/ses_*.json with message/ses_*/msg_*.json and part/msg_*/prt_*.json (opencode)"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const { &[DefaultPlace::variable("XDG_DATA_HOME", "opencode/storage"), DefaultPlace::home(".local/share/opencode/storage")] }
    }

    fn discover(&self, folder: &FolderView<'_>) -> Found {
        discover::discover(folder)
    }

    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
        read::read(files, check, events, findings)
    }

    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        write::renderer(holds, style, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        part_records::message_renderer(shapes)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
