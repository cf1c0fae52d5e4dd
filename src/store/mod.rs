//! Everything that touches the disk: listings, snapshots, the store of logs
//! with its receipts, blobs and lock, and atomic replacement.

pub mod blobs;
pub mod commit;
pub mod database;
pub mod database_builder;
pub mod disk;
pub mod error;
pub mod extend;
pub mod inside;
pub mod installed;
pub mod layout;
pub mod line_checksum;
pub mod listing;
pub mod live;
pub mod lock;
pub mod memory;
pub mod open_files;
pub mod processes;
pub mod prune;
pub mod pruned;
mod receipt;
pub mod receipts;
pub mod repairs;
pub mod replace;
pub mod restored;
pub mod root;
pub mod rows;
pub mod snapshot;
pub mod source_list;
pub mod walk;
mod whole;

pub use error::StoreError;
