//! The log itself: written line by line, read through a window, sealed,
//! replayed, and turned back into files. Knows no source format.
//!
#![doc = include_str!("FORMAT.md")]

mod carry;
pub mod contain;
mod decode;
mod encode;
mod fold;
pub mod fork;
mod index;
mod pass;
mod projection;
pub mod restore;
mod tail;
pub mod turns;
mod view;

pub use carry::Carry;
pub use decode::decode_line;
pub use encode::{LogWriter, UnsealedLog, Written};
pub use fold::State;
pub use projection::{Item, Projection, Reach, Salvage};
pub use tail::LogTail;
pub use view::{LogProblem, LogView, SealState};
