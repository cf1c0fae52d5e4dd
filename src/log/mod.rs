//! The log itself: written line by line, read through a window, sealed,
//! replayed, and turned back into files. Knows no source format. `FORMAT.md`
//! describes its bytes; the crate's documentation has it as `log_format`.

mod about;
mod carry;
pub mod contain;
mod decode;
mod encode;
mod fold;
pub mod fork;
mod index;
mod pass;
mod problem;
mod projection;
pub mod restore;
mod scan;
mod tail;
pub mod turns;
mod view;

pub use carry::Carry;
pub use decode::decode_line;
pub use encode::{LogWriter, UnsealedLog, Written};
pub use fold::State;
pub use problem::{LogProblem, SealState};
pub use projection::{ProjectedNode, Projection, Reach, Salvage, edited_payload};
pub use scan::each_stretch;
pub use tail::LogTail;
pub use view::LogView;
