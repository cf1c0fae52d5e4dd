//! picoclaw: a folder of sessions, each lines beside a meta file, or one whole
//! file from before.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
mod decode;
pub(crate) mod discover;
mod export;
mod judge;
pub(crate) mod layout;
mod lines;
mod list;
mod load;
mod normal;
mod promoted;
mod read;
mod reader;
mod usual;
mod whole;
mod wire;
mod write;

use std::cell::Cell;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::adapters::kit::members;
use crate::model::files::Files;
use crate::model::finding::{FindingCode, Findings};
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageLine;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

use layout::ID;

/// The picoclaw adapter.
pub struct Picoclaw;

impl Format for Picoclaw {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "picoclaw sessions: whole-file JSON, or JSONL beside a meta file (v0.0.1 to v0.2.9 and later)"
    }

    fn looked_for(&self) -> &'static str {
        "sessions/*.jsonl beside *.meta.json with key, skip and count, or *.json with key and messages (picoclaw)"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("PICOCLAW_AGENTS_DEFAULTS_WORKSPACE", "sessions"),
                DefaultPlace::variable("PICOCLAW_HOME", "workspace/sessions"),
                DefaultPlace::home(".picoclaw/workspace/sessions"),
            ]
        }
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
        match holds {
            members::MEMBERS => members::renderer(style),
            _ => write::renderer(holds, style, shapes),
        }
    }

    fn message_line(&self, shapes: &[Order]) -> Box<MessageLine> {
        let shapes = Shapes::with_others(wire::MESSAGE.order(), shapes.to_vec());
        let buffer = Cell::new(Vec::new());
        Box::new(move |message, line| {
            let mut record = buffer.take();
            record.clear();
            let shown = normal::show(message, &shapes, &mut record, line);
            buffer.set(record);
            shown
        })
    }

    fn discovery_codes(&self) -> &'static [FindingCode] {
        &[
            FindingCode::WouldOverwrite,
            FindingCode::ImportStops,
            FindingCode::KeyTwice,
            FindingCode::KeyElsewhere,
            FindingCode::AliasOfAnother,
            FindingCode::PromotedCopy,
        ]
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::PicoclawExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
