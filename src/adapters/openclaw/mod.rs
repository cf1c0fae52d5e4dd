//! OpenClaw: transcripts as trees of entries, the session store beside them,
//! scheduled jobs and their run logs.
//!
#![doc = include_str!("FORMAT.md")]

mod count;
mod cursors;
mod discover;
mod load;
mod names;
mod place;
mod read;
mod retention;
mod runs;

use crate::adapters::adapter::{Adapter, Check, Found, ReadSummary};
use crate::adapters::members;
use crate::adapters::tree::render;
use crate::adapters::tree::show::{self, Habits};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::retention::{Item, Outlook, Rule};
use crate::model::shape::{Order, Shapes};
use crate::model::shown::Shower;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

const ID: &str = "openclaw";
const PROGRAM: &str = "OpenClaw";

/// The OpenClaw adapter.
pub struct OpenClaw;

impl Adapter for OpenClaw {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "OpenClaw transcripts, archives, session stores, scheduled jobs and their run logs (file-backed versions up to 2026.7)"
    }

    fn looked_for(&self) -> &'static str {
        "folders with a sessions.json and *.jsonl transcripts, or cron/jobs.json and cron/runs"
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
            _ => render::renderer(holds, shapes),
        }
    }

    fn shower(&self, shapes: &[Order]) -> Box<Shower> {
        let shapes = Shapes::with_others(Order::default(), shapes.to_vec());
        Box::new(move |shown, hand_on| show::show(shown, &shapes, Habits::OpenClaw, hand_on))
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::CronRunLog]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &Outlook<'_>) -> Vec<Item> {
        retention::items(folder)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        load::loader(files)
    }
}
