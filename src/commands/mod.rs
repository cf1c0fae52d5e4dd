//! One file per command, each handed a resolved job and a printer.

pub mod audit;
pub mod batch;
pub mod convert;
pub mod detect;
mod earlier;
pub mod error;
mod evidence;
pub mod fork;
pub mod formats;
pub mod logs;
pub mod migrate;
mod migrate_report;
mod nodes;
pub mod prune;
pub mod repair;
pub mod replay;
pub mod restore;
pub mod retire;
pub mod source;
pub mod tree;
mod tree_line;
mod tree_names;
mod tree_shape;
pub mod turns;
mod unchanged;
pub mod verify;

pub use error::CommandError;
