//! Everlog moves AI-agent sessions out of the many formats they live in and
//! into one canonical, append-only event log, and proves that nothing was lost:
//! the log alone rebuilds the original files byte for byte, and replaying it
//! gives what the original program would have shown.
//!
//! The road of a session through the library, in memory:
//!
//! ```
//! use everlog::adapters::{adapter::Check, by_id};
//! use everlog::log::{LogView, LogWriter};
//! use everlog::model::files::{Entry, Files, RelPath, SourceFile};
//! use everlog::model::finding::Findings;
//! use everlog::model::stream::LogAccess;
//! use everlog::verify::prove;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let line = b"{\"role\": \"user\", \"content\": \"hello\", \"timestamp\": \"2026-01-01T00:00:00\"}\n";
//! let mut files = Files::new("my-chat");
//! files.insert(RelPath::new("conversation.jsonl"), Entry::File(SourceFile { bytes: line.to_vec(), mtime_ns: 0 }));
//!
//! // Files to events to a sealed log.
//! let gptme = by_id("gptme").ok_or("no such format")?;
//! let mut findings = Findings::default();
//! let mut writer = LogWriter::new(Vec::new());
//! gptme.read(&files, Check::EachRecord, &mut writer, &mut findings)?;
//! let (log, _) = writer.finish()?;
//!
//! // The log alone rebuilds the files, and replays what the program loads.
//! let mut view = LogView::open(log)?;
//! let proof = prove(&mut view, gptme, &files)?.map_err(|difference| difference.what)?;
//! assert_eq!((proof.bytes, proof.messages), (line.len() as u64, 1));
//!
//! // A head's history is a path of events.
//! let node = view.state().head(&view.active()).ok_or("no such head")?;
//! let path = view.path(node)?;
//! assert_eq!(view.event(path[0])?.ts, Some("2026-01-01T00:00:00"));
//! # Ok(())
//! # }
//! ```

pub mod adapters;
pub mod cli;
pub mod commands;
pub mod log;
pub mod model;
pub mod report;
pub mod store;
pub mod verify;
