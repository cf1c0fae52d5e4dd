//! gptme: one folder per conversation, with its branches, views and event logs.
//!
#![doc = include_str!("FORMAT.md")]

mod damage;
mod discover;
mod event_list;
mod event_log;
mod event_wire;
mod layout;
mod load;
mod message;
mod parts;
mod pytext;
mod read;
mod recover;
mod render;
mod retention;
mod time;
mod transcript;
mod wire;
mod write;

use std::cell::Cell;

use crate::adapters::adapter::{Adapter, Check, Claims, Found, ReadSummary};
use crate::model::event::EventKind;
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::retention::{Item, Outlook, Rule};
use crate::model::shape::{Order, Shapes};
use crate::model::shown::Shower;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

const ID: &str = "gptme";

/// The gptme adapter.
pub struct Gptme;

impl Adapter for Gptme {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "gptme conversations: conversation.jsonl, branches, views, event logs (0.1 to 0.35)"
    }

    fn looked_for(&self) -> &'static str {
        "folders with a conversation.jsonl of role and content, or an events.jsonl of gptme events"
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

    fn shower(&self, shapes: &[Order]) -> Box<Shower> {
        let shapes = Shapes::with_others(wire::usual_order(), shapes.to_vec());
        let buffer = Cell::new(Vec::new());
        Box::new(move |shown, show| {
            if shown.event.kind != EventKind::Message {
                return Ok(());
            }
            let mut line = buffer.take();
            line.clear();
            render::show(&shown.event, &shapes, &mut line)?;
            show(&line);
            buffer.set(line);
            Ok(())
        })
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::EventLog]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &Outlook<'_>) -> Vec<Item> {
        retention::items(folder)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
