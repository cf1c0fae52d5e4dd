//! Everlog moves AI-agent sessions out of the many formats they live in and
//! into one canonical, append-only event log, and proves that nothing was lost:
//! the log alone rebuilds the original files byte for byte, and replaying it
//! gives what the original program would have shown.
//!
//! This is the library. The command line has the same abilities and more; its
//! manual is in `docs/`.
//!
//! # Converting a folder
//!
//! A [`Source`] is a folder of sessions that was looked through. [`convert`] gives
//! each session a log, proves it, and leaves the sessions themselves as they are.
//! Running it again converts only what has changed.
//!
//! ```
//! use everlog::{ConvertOptions, Source, convert};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let dest = folder.path().join("logs");
//! let source = Source::open("examples/sessions")?;
//! let done = convert(source, &dest, &ConvertOptions::new(), |progress| {
//!     println!("{} of {} sessions", progress.sessions, progress.all_sessions);
//! })?;
//! for session in &done.sessions {
//!     println!("{}: {:?}, {} messages", session.name, session.status, session.messages);
//! }
//! assert!(done.is_complete());
//! # Ok(())
//! # }
//! ```
//!
//! # Reading a log
//!
//! [`Log::open`] checks the log's seal. A [`Session`] says what the log is of. A
//! log has [`Head`]s, its branches; [`Log::messages`] reads one of them, message by
//! message, without holding them all in memory.
//!
//! ```
//! use everlog::{Log, Role};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
//! let mut questions = Vec::new();
//! for message in log.messages(&log.active())? {
//!     let message = message?;
//!     if message.role == Role::User {
//!         questions.push(message.text());
//!     }
//! }
//! assert_eq!(questions, ["Add a --dry-run flag", "Rather read it from the environment.", "Now document it."]);
//!
//! // Another branch, which the program no longer shows.
//! let other = log.head("x1")?;
//! let last = log.messages(&other)?.last().ok_or("no message")??;
//! assert_eq!(last.text(), "Approach A: a flag in Args.");
//! # Ok(())
//! # }
//! ```
//!
//! A [`Message`] consists of [`Part`]s and means the same whatever program it comes
//! from. What a model would be given, after compactions and edits, is
//! [`Log::context`]; the other [`View`]s are with [`Log::messages_as`].
//!
//! # Flat messages
//!
//! For tables and pipes, [`Message::flat`] gives one object with the same members
//! for every program: the lines of `everlog replay --json`.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
//! for message in log.messages(&log.active())? {
//!     println!("{}", message?.flat(log.session()).to_json()?);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Restoring
//!
//! [`Log::restore_to`] rebuilds the session's original files, byte for byte.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let dest = folder.path();
//! let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
//! let restored = log.restore_to(dest)?;
//! assert_eq!(restored.files, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # The log itself
//!
//! [`log_format`] describes the log's bytes, for programs that read it without this
//! library. `docs/schema/` has JSON Schemas of its lines and of flat messages.
//!
//! # What is public
//!
//! The items on this page, [`api`] (where they live) and [`log_format`]. All other
//! modules are the program's own: the command line and the tests use them, so they
//! are reachable, but they are hidden from this documentation and change without
//! notice.

#[doc(hidden)]
pub mod adapters;
pub mod api;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod html;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod log;
#[doc(hidden)]
pub mod maintenance;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod pipeline;
#[doc(hidden)]
pub mod redact;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod runtimes;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod verify;

#[doc = include_str!("log/FORMAT.md")]
///
/// # Example
///
/// Any JSON parser reads a log.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let text = std::fs::read_to_string("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// let lines: Vec<serde_json::Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
/// let messages = lines.iter().filter(|line| line["type"] == "message");
/// assert_eq!(messages.count(), 7);
/// # Ok(())
/// # }
/// ```
pub mod log_format {}

pub use api::{
    Arguments, ConvertOptions, ConvertStatus, Converted, ConvertedSession, Error, FlatFile, FlatMessage, FlatShell, FlatToolCall,
    FlatToolResult, Head, HeadKind, Json, Log, Media, Message, MessageKind, Messages, Part, Progress, RestoredFiles, Role, Session,
    SessionKind, Shell, Source, SourceSession, StopReason, Text, Thinking, ToolCall, ToolResult, Usage, View, convert,
};
pub use log::LogProblem;
pub use model::finding::{Finding, FindingCode, Severity};
pub use model::ids::Seq;
pub use model::location::Location;
pub use model::stream::StreamError;
pub use store::StoreError;
