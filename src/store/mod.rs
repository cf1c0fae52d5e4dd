//! Everything that touches the disk: listings, snapshots, the store of logs
//! with its receipts, blobs and lock, and atomic replacement.

pub mod blobs;
pub mod database;
pub mod disk;
pub mod error;
pub mod extend;
pub mod inside;
pub mod layout;
pub mod listing;
pub mod live;
pub mod lock;
pub mod open_files;
pub mod processes;
pub mod prune;
pub mod pruned;
mod receipt_lines;
pub mod receipts;
pub mod repairs;
pub mod replace;
pub mod restored;
pub mod snapshot;
mod whole;

pub use error::StoreError;
