//! One file per command, each handed a resolved job and a printer.

pub mod audit;
pub mod batch;
pub mod convert;
pub mod detect;
pub mod error;
mod evidence;
pub mod formats;
pub mod logs;
pub mod migrate;
mod migrate_report;
pub mod replay;
pub mod restore;
pub mod retire;
pub mod source;
mod unchanged;
pub mod verify;

pub use error::CommandError;
