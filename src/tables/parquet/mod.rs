//! Tables as Parquet files. Only the column writers and readers of the `parquet` crate
//! are used: its bridge to Arrow would take three times as long to build.

mod leaf;
mod read;
mod shape;
mod write;

pub use read::PartReader;
pub use write::{PartWriter, Written};
