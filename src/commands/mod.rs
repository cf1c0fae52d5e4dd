//! One file per command, each handed a resolved job and a printer.

pub mod audit;
pub mod batch;
pub mod compare;
pub mod contains;
pub mod convert;
pub mod detect;
pub mod diff;
mod earlier;
pub mod error;
mod evidence;
pub mod fork;
pub mod formats;
pub mod golden;
pub mod logs;
pub mod migrate;
mod migrate_report;
mod nodes;
pub mod prune;
pub mod repair;
pub mod replay;
pub mod restore;
pub mod retire;
mod retired;
pub mod sample;
pub mod source;
pub mod tree;
mod tree_line;
mod tree_names;
mod tree_shape;
pub mod turns;
mod unchanged;
mod unretire;
pub mod verify;
mod verify_check;
mod verify_report;

pub use error::CommandError;
