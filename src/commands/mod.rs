//! One file per command, each handed a resolved job and a printer.

pub mod batch;
pub mod convert;
pub mod detect;
pub mod error;
pub mod formats;
pub mod logs;
pub mod migrate;
pub mod replay;
pub mod restore;
pub mod retire;
pub mod source;
pub mod verify;

pub use error::CommandError;
