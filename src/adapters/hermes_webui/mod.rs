//! Hermes WebUI: a sessions folder with one sidecar per session, its backup,
//! turn journals and run journals.
//!
#![doc = include_str!("FORMAT.md")]

mod content;
pub(crate) mod discover;
mod export;
mod folder;
pub(crate) mod journal;
pub(crate) mod layout;
mod load;
mod message;
mod read;
mod reader;
mod runs;
mod salvage;
mod shared;
mod sidecar;
mod turns;
mod wire;
mod write;

use crate::adapters::exporter::Exporter;
use crate::adapters::format::{Check, DefaultPlace, Format, Found, ReadSummary};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::{Order, Shapes};
use crate::model::shown::MessageRenderer;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};
use crate::model::turn_terms::{PendingTerms, TurnTerms};

use layout::ID;

/// The Hermes WebUI adapter.
pub struct HermesWebui;

impl Format for HermesWebui {
    fn id(&self) -> &'static str {
        ID
    }

    fn describe(&self) -> &'static str {
        "Hermes WebUI sessions: sidecars, backups, turn journals, run journals, index (0.12 to 0.52)"
    }

    fn looked_for(&self) -> &'static str {
        "sessions folders of Hermes WebUI: sidecars with session_id, title and workspace, or its journals and index"
    }

    fn default_places(&self) -> &'static [DefaultPlace] {
        const {
            &[
                DefaultPlace::variable("HERMES_WEBUI_STATE_DIR", "sessions"),
                DefaultPlace::variable("HERMES_HOME", "webui/sessions"),
                DefaultPlace::home(".hermes/webui/sessions"),
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
        write::renderer(holds, style, shapes)
    }

    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        let shapes = Shapes::with_others(wire::MESSAGE.order(), shapes.to_vec());
        Box::new(move |item, line| write::show(item, &shapes, line))
    }

    fn turn_terms(&self) -> Option<TurnTerms> {
        Some(TurnTerms {
            submitted: "submitted",
            started: "worker_started",
            ends: &["completed", "interrupted"],
            run_kind: "stream",
            text_event: "token",
            tool_event: "tool",
            after_end: "stream_end",
            pending: PendingTerms {
                of: "sidecar",
                prompt: "pending_user_message",
                started_at: "pending_started_at",
                stream: "active_stream_id",
            },
        })
    }

    fn exporter(&self) -> Option<&dyn Exporter> {
        Some(&export::HermesWebUiExporter)
    }

    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f> {
        Box::new(shared::Facts(load::loader(files)))
    }
}
