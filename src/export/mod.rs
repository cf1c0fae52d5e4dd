//! Export: the session of one program as one that another program lists, loads
//! and continues. Pure: a log in, files and losses out; `commands` writes them.
//!
//! The events of a path become drafts that the target can say (`prepare`), in an
//! order that every provider takes (`pairing`). The target writes them, and its
//! own reader and loader say what came out of it (`prove`): what differs from the
//! log must have been declared as lost, and what was declared must differ.

mod arguments;
pub mod carry;
pub mod document;
mod error;
mod facts;
mod finish;
mod pairing;
mod possible;
mod prepare;
mod prove;
mod redaction;
mod run;
mod shorten;
pub mod source;
mod understand;
mod wanted;

pub use error::ExportError;
pub use possible::may_lose;
pub use prove::files_of;
pub use run::{export, export_redacted, originals};
pub use understand::understand;
pub use wanted::{Export, Extension, Wanted};
