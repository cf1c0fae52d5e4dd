//! picoclaw: a folder of sessions, each lines beside a meta file, or one whole
//! file from before.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
mod decode;
mod discover;
mod encode;
mod gotime;
mod judge;
mod layout;
mod lines;
mod list;
mod load;
mod normal;
mod promoted;
mod read;
mod retention;
mod usual;
mod whole;
mod wire;
mod write;

use std::cell::Cell;

use crate::adapters::adapter::{Adapter, Check, Found, PidFile, ReadSummary};
use crate::model::event::EventKind;
use crate::model::files::{Files, RelPath};
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::retention::{Item, Outlook, Rule};
use crate::model::shape::{Order, Shapes};
use crate::model::shown::Shower;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

const ID: &str = "picoclaw";

/// The picoclaw adapter.
pub struct Picoclaw;

impl Adapter for Picoclaw {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "picoclaw sessions: whole-file JSON, or JSONL beside a meta file (v0.0.1 to v0.2.9 and later)"
    }

    fn looked_for(&self) -> &'static str {
        "sessions/*.jsonl beside *.meta.json with key, skip and count, or *.json with key and messages (picoclaw)"
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
        write::renderer(holds, style, shapes)
    }

    fn shower(&self, shapes: &[Order]) -> Box<Shower> {
        let shapes = Shapes::with_others(wire::MESSAGE.order(), shapes.to_vec());
        let buffers = Cell::new((Vec::new(), Vec::new()));
        Box::new(move |shown, show| {
            if shown.event.kind != EventKind::Message {
                return Ok(());
            }
            let (mut record, mut line) = buffers.take();
            record.clear();
            line.clear();
            normal::show(&shown.event, &shapes, &mut record, &mut line)?;
            show(&line);
            buffers.set((record, line));
            Ok(())
        })
    }

    fn overwritten_by(&self, name: &RelPath, bytes: &[u8], folder: &FolderView<'_>) -> Option<RelPath> {
        discover::overwritten_by(name, bytes, folder)
    }

    fn pid_file(&self) -> Option<PidFile> {
        // Beside the workspace, which holds the sessions' folder.
        Some(PidFile { name: ".picoclaw.pid", levels_above: 2, home: "PICOCLAW_HOME", program: "picoclaw" })
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::HiddenLines]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &Outlook<'_>) -> Vec<Item> {
        retention::items(folder)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
