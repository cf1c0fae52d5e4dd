//! One file per command, each handed a resolved job and a printer.

pub mod audit;
mod baseline;
mod calls;
pub mod clock;
pub mod compare;
pub mod contains;
mod contains_database;
mod contains_folders;
mod contains_match;
mod contains_rescue;
mod contains_store;
pub mod detect;
pub mod diff;
pub mod error;
mod evidence;
pub mod explain;
pub mod export;
mod export_files;
pub mod export_install;
mod export_report;
#[cfg(feature = "databases")]
pub mod export_sqlite;
#[cfg(feature = "parquet")]
pub mod export_tables;
pub mod fork;
pub mod formats;
pub mod golden;
pub mod html;
mod html_folder;
mod html_session;
mod kinds;
pub mod logs;
pub mod ls;
pub mod migrate;
pub mod migrate_each;
mod migrate_job;
mod migrate_report;
mod migrate_unit;
mod nodes;
mod overlap;
mod place;
pub mod places;
pub mod prune;
mod redactions;
pub mod repair;
mod repair_genuine;
pub mod replay;
pub mod restore;
pub mod retire;
pub mod sample;
pub mod search;
pub mod sessions;
pub mod show;
pub mod stats;
pub mod store;
#[cfg(any(feature = "databases", feature = "parquet"))]
mod tables_listing;
#[cfg(feature = "parquet")]
mod tables_parts;
pub mod tree;
mod tree_line;
mod tree_names;
mod tree_shape;
pub mod turns;
mod unretire;
pub mod verify;
mod verify_check;
mod verify_job;
pub mod verify_merge;
mod verify_places;
mod verify_report;
mod verify_row;
mod verify_rows;
mod verify_store;
#[cfg(feature = "parquet")]
pub mod verify_tables;
mod verify_totals;

pub use error::CommandError;
