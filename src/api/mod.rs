//! The library's public face: reading logs, converting sessions, restoring them.
//!
//! Everything here is re-exported at the root of the crate, where the guide is.
//!
//! ```
//! use everlog::api::Log;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let log = Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
//! assert_eq!(log.messages(&log.active())?.count(), 7);
//! # Ok(())
//! # }
//! ```

mod call;
mod convert;
mod error;
mod flat;
mod head;
mod json;
mod log;
mod message;
mod messages;
mod other;
mod part;
mod reading;
mod restore;
mod rewrite;
mod role;
mod session;
mod source;
mod stop_reason;
mod text;
mod time;
mod usage;

pub(crate) use call::{CallFacts, Edit, PatchLine, is_patch, patch_lines};
pub use convert::{ConvertOptions, ConvertStatus, Converted, ConvertedSession, Progress, convert};
pub use error::Error;
pub use flat::{FlatFile, FlatMessage, FlatShell, FlatToolCall, FlatToolResult};
pub use head::{Head, HeadKind};
pub use json::Json;
pub use log::Log;
pub use message::{Message, MessageKind};
pub use messages::{Messages, View};
pub(crate) use other::OtherFacts;
pub use part::{Arguments, Media, Part, Shell, Thinking, ToolCall, ToolResult};
pub use restore::RestoredFiles;
pub(crate) use rewrite::{NamesOf, SaidIn, TextToRewrite};
pub use role::Role;
pub use session::{Session, SessionKind};
pub use source::{Source, SourceSession};
pub use stop_reason::StopReason;
pub use text::Text;
pub(crate) use time::utc;
pub use usage::Usage;
