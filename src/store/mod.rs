//! Everything that touches the disk: listings, snapshots, the store of logs
//! with its receipts, blobs and lock, and atomic replacement.

pub mod blobs;
pub mod commit;
// All that a build without databases has otherwise is these three modules.
#[cfg_attr(not(feature = "databases"), path = "without_databases/database.rs")]
pub mod database;
#[cfg_attr(not(feature = "databases"), path = "without_databases/database_builder.rs")]
pub mod database_builder;
pub mod database_files;
#[cfg(feature = "databases")]
mod database_lock;
pub mod disk;
pub mod error;
pub mod extend;
pub mod inside;
pub mod installed;
pub mod layout;
pub mod line_checksum;
pub mod listed;
pub mod listing;
pub mod live;
pub mod lock;
pub mod memory;
pub mod open_files;
#[cfg(feature = "databases")]
pub mod private_folder;
pub mod processes;
pub mod prune;
pub mod pruned;
mod receipt;
pub mod receipts;
pub mod repairs;
pub mod replace;
pub mod restored;
pub mod root;
#[cfg_attr(not(feature = "databases"), path = "without_databases/rows.rs")]
pub mod rows;
pub mod snapshot;
pub mod source_list;
pub mod walk;
mod whole;

pub use error::StoreError;
